//! A Run without anything that tells whose computer it was made on.

use std::collections::BTreeMap;

use punctual_record::{Disturbance, Run, Warning};

use crate::disturbed::disturbed;

/// The run as it can be shown to strangers: the measurements, what bears on
/// waiting, and of the command line its name and `options` only. Names of hosts
/// and users, paths, and whatever is not known to be harmless are left out.
pub fn anonymous(run: &Run, options: &[String]) -> Run {
    let mut machine = run.machine.clone();
    // Of a model, whose name has them.
    machine.other.clear();
    let disturbance = run.disturbance.clone().map(nameless);
    let command = std::iter::once("punctual doctor").chain(options.iter().map(String::as_str));
    Run {
        command: command.collect::<Vec<_>>().join(" "),
        machine,
        warnings: warnings(run, disturbance.as_ref()),
        disturbance,
        other: BTreeMap::new(),
        ..run.clone()
    }
}

/// All but those that name others; these anew.
fn warnings(run: &Run, nameless: Option<&Disturbance>) -> Vec<Warning> {
    let naming = run.disturbance.as_ref().map(disturbed).unwrap_or_default();
    let mut warnings = nameless.map(disturbed).unwrap_or_default();
    let others = run
        .warnings
        .iter()
        .filter(|warning| !naming.contains(warning));
    warnings.extend(others.cloned());
    warnings
}

/// What others had, but not who they are.
fn nameless(mut disturbance: Disturbance) -> Disturbance {
    for process in &mut disturbance.processes {
        (process.name, process.pid) = ("another".to_owned(), 0);
    }
    disturbance
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::OtherProcess;

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
