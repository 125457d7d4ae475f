//! A wait that ended too late, in a sentence.

use punctual_core::Nanos;
use punctual_record::experiment::{Cause, Hiccup, RanMeanwhile};

/// How late, why, and then the other counters: `1.2 ms late: waited 1.15 ms for
/// a CPU, which sh (pid 4711) had; stolen 0 ms in 120 ms; preempted 1; faults 0`.
pub fn hiccup(hiccup: &Hiccup) -> String {
    let cause = hiccup.cause;
    let late = Nanos::new(hiccup.late_ns);
    if cause == Cause::OwnStop {
        return format!("{late} late: punctual itself was stopped, as by Ctrl-Z; not counted");
    }
    let waited = hiccup
        .queued_ns
        .map(|ns| format!("waited {} for a CPU", Nanos::new(ns)));
    // Counted in steps of 10 ms.
    let stolen = hiccup.stolen_ns.zip(hiccup.stolen_within_ns);
    let stolen = stolen.map(|(counted, within)| {
        format!("{} ms in {} ms", counted / 1_000_000, within / 1_000_000)
    });
    let why = match cause {
        Cause::Queued => waited
            .as_ref()
            .map(|waited| format!("{waited}{}", had_it(hiccup))),
        Cause::Stolen => stolen
            .as_ref()
            .map(|of| format!("stolen by the hypervisor ({of})")),
        Cause::Throttled => throttled(hiccup),
        Cause::OwnStop | Cause::Unknown => None,
    };
    let mut parts = vec![format!(
        "{late} late: {}",
        why.as_deref().unwrap_or("unknown")
    )];
    parts.extend(waited.filter(|_| cause != Cause::Queued));
    parts.extend(
        stolen
            .filter(|_| cause != Cause::Stolen)
            .map(|of| format!("stolen {of}")),
    );
    parts.extend(hiccup.involuntary.map(|n| format!("preempted {n}")));
    parts.extend(match (hiccup.minor_faults, hiccup.major_faults) {
        (Some(minor), Some(major @ 1..)) => Some(format!("faults {minor}, from disk {major}")),
        (minor, _) => minor.map(|minor| format!("faults {minor}")),
    });
    parts.join("; ")
}

fn throttled(hiccup: &Hiccup) -> Option<String> {
    let (ns, quota) = hiccup.throttled_ns.zip(hiccup.quota)?;
    let [stopped, time, period] = [ns, quota.time_ns, quota.period_ns].map(Nanos::new);
    Some(format!(
        "throttled by the cgroup: {stopped}; {time} of CPU time in {period}"
    ))
}

/// Who had the CPU: `, which sh (pid 4711) and cargo (pid 12) had`.
fn had_it(hiccup: &Hiccup) -> String {
    let name = |other: &RanMeanwhile| format!("{} (pid {})", other.name, other.pid);
    let names: Vec<_> = hiccup.others.iter().take(2).map(name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(", which {} had", names.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::CpuQuota;

    use super::*;

    fn of(cause: Cause, late_us: u64, queued_us: u64, stolen_ms: u64) -> Hiccup {
        Hiccup {
            cause,
            late_ns: late_us * 1_000,
            queued_ns: Some(queued_us * 1_000),
            stolen_ns: Some(stolen_ms * 1_000_000),
            stolen_within_ns: Some(120_000_000),
            involuntary: Some(0),
            ..Hiccup::default()
        }
    }

    #[test]
    fn a_cause_is_said_with_its_counter_and_unknown_with_all_of_them() {
        let other = |name: &str, pid| RanMeanwhile {
            name: name.to_owned(),
            pid,
            ran_ns: 1,
        };
        for (late, words) in [
            (
                of(Cause::Queued, 1_200, 1_150, 0),
                "1.2 ms late: waited 1.15 ms for a CPU; stolen 0 ms in 120 ms; preempted 0",
            ),
            (
                Hiccup {
                    others: vec![other("sh", 9), other("cargo", 8), other("cc", 7)],
                    ..of(Cause::Queued, 40_000, 40_000, 0)
                },
                "40 ms late: waited 40 ms for a CPU, which sh (pid 9) and cargo (pid 8) had; stolen 0 ms in 120 ms; \
                 preempted 0",
            ),
            (
                of(Cause::Stolen, 9_000, 3, 10),
                "9 ms late: stolen by the hypervisor (10 ms in 120 ms); waited 3 us for a CPU; preempted 0",
            ),
            (
                of(Cause::Unknown, 700, 3, 0),
                "700 us late: unknown; waited 3 us for a CPU; stolen 0 ms in 120 ms; preempted 0",
            ),
            (
                Hiccup {
                    late_ns: 700_000,
                    minor_faults: Some(2),
                    major_faults: Some(1),
                    ..Hiccup::default()
                },
                "700 us late: unknown; faults 2, from disk 1",
            ),
            (
                Hiccup {
                    throttled_ns: Some(81_000_000),
                    quota: Some(CpuQuota {
                        time_ns: 20_000_000,
                        period_ns: 100_000_000,
                    }),
                    minor_faults: Some(0),
                    major_faults: Some(0),
                    late_ns: 82_000_000,
                    cause: Cause::Throttled,
                    ..Hiccup::default()
                },
                "82 ms late: throttled by the cgroup: 81 ms; 20 ms of CPU time in 100 ms; faults 0",
            ),
            (
                of(Cause::OwnStop, 9_000, 3, 10),
                "9 ms late: punctual itself was stopped, as by Ctrl-Z; not counted",
            ),
        ] {
            assert_eq!(hiccup(&late), words);
        }
    }
}
