//! What should be known before numbers are believed, each with a remedy.

use punctual_record::{MachineFacts, Measurement, Warning};

/// How a Run came about, as far as warnings depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Rounds that were asked for.
    pub rounds: u32,
    /// Threads that computed beside the measurement.
    pub hogs: usize,
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
    if facts.other.contains_key("wine") {
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
    let has_intervals = |m: &Measurement| {
        m.params
            .get("deadlines")
            .is_some_and(|deadlines| deadlines == "absolute")
    };
    if setting.rounds < 6 && results.iter().any(has_intervals) {
        warn(
            format!(
                "{} of the 6 rounds that 95 % intervals need: the intervals are the whole range.",
                setting.rounds
            ),
            "Use --rounds 6 or more.",
        );
    }
    if setting.hogs == 0 {
        host_is_busy(results, &mut warn);
    }
    if facts.other.get("governor").and_then(|g| g.as_str()) == Some("powersave") {
        warn(
            "The CPU frequency governor is `powersave`: wake-ups may be slow.".to_owned(),
            "Compare with: sudo cpupower frequency-set -g performance",
        );
    }
    if facts.other.get("virtual_machine").and_then(|v| v.as_bool()) == Some(true) {
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

/// A CPU that was busy with something else, or taken away.
fn host_is_busy(results: &[Measurement], warn: &mut impl FnMut(String, &str)) {
    const SHARE: f64 = 0.15;
    /// The OS counts idle time in steps of 10 ms, so less than this says
    /// nothing.
    const LONG_ENOUGH_NS: u64 = 1_000_000_000;
    let other = |m: &&Measurement| {
        let period_ns = m
            .params
            .get("period_ns")
            .and_then(|p| p.as_u64())
            .unwrap_or(0);
        let others = m
            .cpu
            .busy_fraction
            .zip(m.cpu.fraction)
            .map(|(busy, own)| busy - own);
        m.late_ns.n * period_ns > LONG_ENOUGH_NS && others.is_some_and(|share| share > SHARE)
    };
    let busy: Vec<&str> = results
        .iter()
        .filter(other)
        .map(|m| m.subject.as_str())
        .collect();
    if !busy.is_empty() {
        warn(
            format!(
                "The CPU was busy with something else for more than {:.0} % of the time of: {}.",
                SHARE * 100.0,
                unique(&busy)
            ),
            "Close other programs, or choose a quieter CPU with --cpu.",
        );
    }
    let stolen: f64 = results
        .iter()
        .filter_map(|m| Some(m.stolen_per_wait_ns? * m.late_ns.n as f64))
        .sum();
    if stolen >= 50e6 {
        warn(
            format!(
                "The hypervisor gave the CPU to others for {:.0} ms of the run.",
                stolen / 1e6
            ),
            "Repeat the run when the host is quieter, and look at medians rather than tails.",
        );
    }
}

/// The names, each once, in order.
fn unique(names: &[&str]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !seen.contains(name) {
            seen.push(name);
        }
    }
    seen.join(", ")
}
