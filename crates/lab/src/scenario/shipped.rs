//! The scenarios that come with punctual: all files of the folder `scenarios`.

use super::{Error, Scenario};

/// A scenario that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name: that of the file, without `.toml`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// All of them, those that explain a rule first.
pub const ALL: &[Shipped] = shipped![
    "lowest-request-wins",
    "change-interval",
    "inherit-request",
    "timer-tool-that-no-longer-helps",
    "minimised-game",
    "chrome-on-battery",
    "game-loop",
    "hybrid-sleep",
    "browser-timer-clamp",
    "device-interrupts",
    "idle-power",
    "job-system",
    "inherit-slack",
    "waiting-styles",
    "linux-slack-sweep",
    "thousand-timers-coalescing",
    "macos-tiers",
];

/// The one of this name.
pub fn find(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|shipped| shipped.name == name)
}

impl Shipped {
    /// Reads it.
    ///
    /// # Errors
    /// None in a release: the tests read each of them.
    pub fn read(&self) -> Result<Scenario, Error> {
        Scenario::read(self.name, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_shipped() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        let shipped: BTreeSet<String> = ALL.iter().map(|s| s.name.to_owned()).collect();
        assert_eq!(shipped, files);
        assert_eq!(shipped.len(), ALL.len());
    }

    #[test]
    fn each_can_be_read() {
        for shipped in ALL {
            let scenario = shipped.read().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name, shipped.name);
        }
    }
}
