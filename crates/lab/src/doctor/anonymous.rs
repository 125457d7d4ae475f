//! A Run without anything that tells whose computer it was made on.

use std::collections::BTreeMap;

use punctual_record::{MachineFacts, Run, Value};

/// What is kept of the facts about a machine: what bears on waiting. Others
/// that a later version may add are left out until they are named here.
const KEPT: [&str; 18] = [
    "os_version",
    "kernel",
    "preemption",
    "arch",
    "cpu_model",
    "logical_cpus",
    "virtual_machine",
    "hypervisor",
    "wine",
    "clock_source",
    "clock_resolution_ns",
    "tick_hz",
    "slack_ns",
    "governor",
    "cpuidle_driver",
    "deepest_idle_state",
    "deepest_idle_exit_ns",
    "cpu_dma_latency_ns",
];

/// The run as it can be shown to strangers: the measurements, what bears on
/// waiting, and of the command line its name and `options` only. Names of hosts
/// and users, paths, and whatever is not known to be harmless are left out.
pub fn anonymous(run: &Run, options: &[String]) -> Run {
    let kept = |facts: &BTreeMap<String, Value>| {
        let mut kept = facts.clone();
        kept.retain(|key, _| KEPT.contains(&key.as_str()));
        kept
    };
    let command = std::iter::once("punctual doctor").chain(options.iter().map(String::as_str));
    Run {
        command: command.collect::<Vec<_>>().join(" "),
        machine: MachineFacts {
            other: kept(&run.machine.other),
            ..run.machine.clone()
        },
        other: BTreeMap::new(),
        ..run.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("kernel", "6.1.0-18-amd64"),
            ("cpu_model", "A CPU"),
        ] {
            run.machine.other.insert(key.to_owned(), value.into());
        }
        run.other.insert("home".to_owned(), "/home/mary".into());
        let shared = anonymous(&run, &["--quick".to_owned()]);
        let text = shared.to_json();
        assert!(!text.to_lowercase().contains("mary"), "{text}");
        assert!(text.contains("6.1.0-18-amd64") && text.contains("A CPU"));
        assert_eq!(shared.command, "punctual doctor --quick");
    }
}
