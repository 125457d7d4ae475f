//! The zeroing threads of Windows, as far as the page-zeroing article shows them,
//! each on a computer like the one it was seen on.

use punctual_program::Refusal;
use punctual_sim::model::Confidence::D;
use punctual_zero_pool::{Batch, LockKind, Setting};

use super::machine::Machine;
use super::quantity::{Figure, Quantity};

/// A system that zeroes pages.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// What the user types.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// The computer that it was seen on, by its name.
    pub machine: &'static str,
    /// Its pool.
    pub setting: Setting,
    /// What it does for each page besides zeroing it, in nanoseconds.
    pub bookkeeping: &'static Figure,
    /// Where the setting comes from.
    pub source: &'static str,
}

/// One page at a time under a spin lock that all threads hammer.
const SPIN: Setting = Setting::new(39, LockKind::Tas, Batch::One);

/// A queued lock where pages are taken, and a spin lock where they are put.
const HALF_QUEUED: Setting = Setting {
    returns: Some(LockKind::Tas),
    ..Setting::new(12, LockKind::Mcs, Batch::One)
};

const WINDOWS_10: Figure = Figure::between(
    0.0,
    2_300.0,
    3_660.0,
    D,
    "fitted with this simulator: of the 3.96 us a page that the article's first trace did not spin, a simulated page \
     takes 0.3 to zero and 1.4 under the lock, and this is the rest; at most all but zeroing",
);

const WINDOWS_11: Figure = Figure::between(
    0.0,
    0.0,
    2_300.0,
    D,
    "not known, and left out: with as much as Windows 10, twelve threads would hardly wait, and they do",
);

/// All there are.
pub const SYSTEMS: &[System] = &[
    System {
        name: "windows-10",
        what: "Windows 10: 39 threads, one page at a time, a spin lock",
        machine: "cascade-lake-96",
        setting: SPIN,
        bookkeeping: &WINDOWS_10,
        source: "the article: at least 39 threads on 96 CPUs, 4 KiB each time, ExpWaitForSpinLockExclusiveAndAcquire; \
                 its CPU is a guess",
    },
    System {
        name: "windows-11",
        what: "Windows 11: 12 threads, one page at a time, a queued lock and a spin lock",
        machine: "ice-lake-128",
        setting: HALF_QUEUED,
        bookkeeping: &WINDOWS_11,
        source: "the article: about 12 threads on 128 CPUs, KeAcquireInStackQueuedSpinLock, two locks or more of which \
                 one seems to be queued; its CPU is a guess",
    },
    System {
        name: "server-2022",
        what: "Windows Server 2022: as Windows 10, on 128 CPUs",
        machine: "ice-lake-128",
        setting: SPIN,
        bookkeeping: &WINDOWS_10,
        source: "the article: 128 CPUs, no fix; the number of threads and the CPU are a guess",
    },
];

impl System {
    /// Reads a system as the user writes it.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn parse(text: &str) -> Result<&'static Self, Refusal> {
        let known = SYSTEMS.iter().find(|system| system.name == text);
        known.ok_or_else(|| {
            let names: Vec<_> = SYSTEMS.iter().map(|system| system.name).collect();
            Refusal::new(format!(
                "there is no system `{text}` that zeroes; there are {}",
                names.join(", ")
            ))
        })
    }

    /// The computer that it was seen on, with what it does for each page.
    pub fn machine(&self) -> Machine {
        let machine = Machine::parse(self.machine).expect("it is among the presets");
        machine.with(Quantity::Bookkeeping, self.bookkeeping.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_has_its_computer() {
        for system in SYSTEMS {
            let found = System::parse(system.name).unwrap();
            assert_eq!(found.machine().name(), system.machine);
            assert!(found.setting.workers <= found.machine().topology().cpus());
        }
        let refusal = System::parse("windows-95").unwrap_err().to_string();
        assert!(
            refusal.contains("there are windows-10, windows-11"),
            "{refusal}"
        );
    }
}
