//! What should be known before numbers are believed, each with a remedy.

use punctual_record::experiment::{Deadlines, Pace};
use punctual_record::{MachineFacts, Measurement, OfExperiment, Warning};

/// How a Run came about, as far as warnings depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Rounds that were asked for.
    pub rounds: u32,
    /// Whether it was simulated.
    pub simulated: bool,
}

/// The warnings that results on a machine deserve.
pub fn warnings(facts: &MachineFacts, results: &[Measurement], setting: Setting) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String, remedy: &str| {
        warnings.push(Warning {
            what,
            remedy: remedy.to_owned(),
        })
    };

    for (subject, early, n) in early(results) {
        warn(
            format!("{subject} returned early {early} of {n} times."),
            "Do not use it where early is wrong.",
        );
    }
    if setting.simulated {
        return warnings;
    }
    if facts.host.wine.is_some() {
        warn(
            "This is Wine: its timers are those of the system underneath.".to_owned(),
            "Measure on Windows itself to learn about Windows.",
        );
    }
    // Threads that ended soon have none anywhere.
    let mut waited = results.iter().filter(|m| m.late_ns.n > 0);
    let counted = results.iter().any(|m| m.cpu.fraction.is_some());
    if let Some(m) = waited.next().filter(|_| !counted) {
        warn(
            format!(
                "The CPU time of a thread is not known here ({}), so costs are missing, as for {}.",
                facts.cpu_time, m.subject
            ),
            "Measure on a system that counts it to compare costs.",
        );
    } else if results.iter().any(|m| m.cpu.approximate) {
        warn(
            "CPU time is approximate on this system (marked ~).".to_owned(),
            "Do not read anything into small differences of CPU time.",
        );
    }
    let has_intervals =
        |m: &Measurement| Pace::of(m).is_some_and(|pace| pace.deadlines == Deadlines::Absolute);
    if setting.rounds < 6 && results.iter().any(has_intervals) {
        warn(
            format!(
                "{} of the 6 rounds that 95 % intervals need: the intervals are the whole range.",
                setting.rounds
            ),
            "Use --rounds 6 or more.",
        );
    }
    if facts.host.governor.as_deref() == Some("powersave") {
        warn(
            "The CPU frequency governor is `powersave`: wake-ups may be slow.".to_owned(),
            "Compare with: sudo cpupower frequency-set -g performance",
        );
    }
    if facts.host.virtual_machine == Some(true) {
        warn(
            "This is a virtual machine: its host can delay any wake-up, and each nap costs more than on bare metal.".to_owned(),
            "Trust ratios within this run rather than absolute times.",
        );
    }
    warnings
}

/// Who returned early, each once, with how often and of how many.
fn early(results: &[Measurement]) -> Vec<(&str, u64, u64)> {
    let mut early: Vec<(&str, u64, u64)> = Vec::new();
    for m in results.iter().filter(|m| m.late_ns.early > 0) {
        match early.iter_mut().find(|(subject, ..)| *subject == m.subject) {
            Some((_, times, n)) => {
                *times += m.late_ns.early;
                *n += m.late_ns.n;
            }
            None => early.push((&m.subject, m.late_ns.early, m.late_ns.n)),
        }
    }
    early
}
