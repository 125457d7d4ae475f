//! A Run without anything that tells whose computer it was made on.

use std::collections::BTreeMap;

use punctual_record::Run;

use crate::disturbed::nameless;

/// The run as it can be shown to strangers: the measurements, what bears on
/// waiting, and of the command line its name and `options` only. Names of hosts
/// and users, paths, and whatever is not known to be harmless are left out.
pub fn anonymous(run: &Run, options: &[String]) -> Run {
    let mut machine = run.machine.clone();
    // Of a model, whose name has them.
    machine.other.clear();
    let (disturbance, warnings) = nameless(run.disturbance.as_ref(), &run.warnings);
    let command = std::iter::once("punctual doctor").chain(options.iter().map(String::as_str));
    Run {
        command: command.collect::<Vec<_>>().join(" "),
        machine,
        warnings,
        disturbance,
        other: BTreeMap::new(),
        ..run.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturbed;
    use punctual_record::{Disturbance, OtherProcess};

    #[test]
    fn names_and_paths_do_not_pass() {
        let mut run = Run {
            command: "punctual doctor --share /home/mary/x.json".to_owned(),
            ..Run::default()
        };
        run.machine.name = "host".to_owned();
        for (key, value) in [
            ("hostname", "marys-laptop"),
            ("user", "mary"),
            ("serial_number", "PF-MARY"),
        ] {
            run.machine.other.insert(key.to_owned(), value.into());
        }
        run.machine.host.kernel = Some("6.1.0-18-amd64".to_owned());
        run.machine.host.cpu_model = Some("A CPU".to_owned());
        run.other.insert("home".to_owned(), "/home/mary".into());
        let disturbance = Disturbance {
            cpus: vec![1],
            others_fraction: Some(0.5),
            processes: vec![OtherProcess {
                name: "mary-secret".to_owned(),
                pid: 4711,
                fraction: 0.5,
            }],
            ..Disturbance::default()
        };
        run.warnings = disturbed(&disturbance);
        run.disturbance = Some(disturbance);
        let shared = anonymous(&run, &["--quick".to_owned()]);
        let text = shared.to_json();
        assert!(!text.to_lowercase().contains("mary"), "{text}");
        assert!(text.contains("6.1.0-18-amd64") && text.contains("A CPU"));
        assert!(text.contains("had 50 % of CPU 1") && !text.contains("4711"));
        assert_eq!(shared.command, "punctual doctor --quick");
    }
}
