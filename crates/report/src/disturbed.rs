//! What a reader has to know of what else happened while something was measured.

use punctual_core::Nanos;
use punctual_record::{CpuQuota, Disturbance, Warning};

/// A warning for each thing that disturbed a measurement, the gravest first.
pub fn disturbed(seen: &Disturbance) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String, remedy: &str| {
        warnings.push(Warning {
            what,
            remedy: remedy.to_owned(),
        });
    };
    // Said once, of the first that is to blame.
    let mut too_busy = match seen.is_too_busy() {
        true => "Too busy to tell what is due to this system. ",
        false => "",
    };
    let on = cpus(&seen.cpus);
    if let Some((by, throttled)) = quota(seen).zip(seen.throttled)
        && throttled.periods > 0
    {
        let too_busy = match seen.is_throttled() {
            true => std::mem::take(&mut too_busy),
            false => "",
        };
        warn(
            format!(
                "{too_busy}Throttled by the cgroup: its quota of {by} stopped this process in {} periods, for {}.",
                throttled.periods,
                Nanos::new(throttled.time_ns)
            ),
            "Raise or lift the quota of CPU time: `max` in cpu.max, -1 in cpu.cfs_quota_us, docker run without --cpus.",
        );
    }
    if let Some(others) = seen.others_fraction.filter(|_| seen.is_notable()) {
        warn(
            format!(
                "{}Other processes had {} of {on}{}.",
                std::mem::take(&mut too_busy),
                per_cent(others),
                names(seen)
            ),
            "Close them, or choose a quieter CPU with --cpu.",
        );
    }
    if let Some(unseen) = seen.unseen() {
        warn(
            format!(
                "{too_busy}{} of {on} went to what is not seen from here: interrupts, other containers, or processes \
                 that have ended.",
                per_cent(unseen)
            ),
            "Close other programs, or choose a quieter CPU with --cpu.",
        );
    }
    if let Some(stolen) = seen.stolen_ns.filter(|stolen| *stolen >= STOLEN_NS) {
        warn(
            format!(
                "The hypervisor gave {on} to others for {} of the run.",
                Nanos::new(stolen)
            ),
            "Repeat the run when the host is quieter, and look at medians rather than tails.",
        );
    }
    if !seen.own_stops.is_empty() {
        warn(
            format!(
                "punctual itself was stopped for {}, as by Ctrl-Z or SIGSTOP: {} it was in {} left out.",
                Nanos::new(seen.own_stops.late_ns),
                plural(seen.own_stops.waits, "wait"),
                if seen.own_stops.waits == 1 {
                    "is"
                } else {
                    "are"
                },
            ),
            "None is needed: no figure has them.",
        );
    }
    if seen.suspended_ns > 0 {
        warn(
            format!(
                "The computer was suspended for {} meanwhile.",
                Nanos::new(seen.suspended_ns)
            ),
            "Keep it awake, as with systemd-inhibit, and measure again: what comes right after a resume is not usual.",
        );
    }
    warnings
}

/// What happened, and all warnings, without the names of other processes.
pub(crate) fn nameless(
    seen: Option<&Disturbance>,
    warnings: &[Warning],
) -> (Option<Disturbance>, Vec<Warning>) {
    let naming = seen.map(disturbed).unwrap_or_default();
    let seen = seen.cloned().map(|mut seen| {
        for process in &mut seen.processes {
            (process.name, process.pid) = ("another".to_owned(), 0);
        }
        seen
    });
    let mut nameless = seen.as_ref().map(disturbed).unwrap_or_default();
    let others = warnings.iter().filter(|warning| !naming.contains(warning));
    nameless.extend(others.cloned());
    (seen, nameless)
}

/// A counter in steps of 10 ms says little before.
const STOLEN_NS: u64 = 50_000_000;

/// The quota of a control group, in words: `20 ms of CPU time in 100 ms`.
pub(crate) fn quota(seen: &Disturbance) -> Option<String> {
    seen.quota.map(quota_in_words)
}

pub(crate) fn quota_in_words(quota: CpuQuota) -> String {
    let [time, period] = [quota.time_ns, quota.period_ns].map(Nanos::new);
    format!("{time} of CPU time in {period}")
}

/// Who had the CPUs, most first: `: sh (pid 4711) 50 %, cargo (pid 12) 3 %`.
pub(crate) fn names(seen: &Disturbance) -> String {
    const MOST: usize = 3;
    let shown = seen.processes.iter().take(MOST);
    let names: Vec<String> = shown
        .map(|other| {
            format!(
                "{} (pid {}) {}",
                other.name,
                other.pid,
                per_cent(other.fraction)
            )
        })
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(": {}", names.join(", ")),
    }
}

fn cpus(cpus: &[usize]) -> String {
    match cpus {
        [cpu] => format!("CPU {cpu}"),
        [first, .., last] if last - first + 1 == cpus.len() => format!("CPUs {first} to {last}"),
        cpus => format!("{} CPUs", cpus.len()),
    }
}

fn per_cent(fraction: f64) -> String {
    let per_cent = fraction * 100.0;
    match per_cent < 9.95 {
        true => format!("{per_cent:.1} %"),
        false => format!("{per_cent:.0} %"),
    }
}

fn plural(n: u64, what: &str) -> String {
    if n == 1 {
        format!("the {what}")
    } else {
        format!("the {n} {what}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::{CpuQuota, OtherProcess, OwnStops, Throttled};

    fn says(seen: &Disturbance) -> Vec<String> {
        disturbed(seen)
            .into_iter()
            .map(|warning| warning.what)
            .collect()
    }

    fn quiet() -> Disturbance {
        Disturbance {
            elapsed_ns: 10_000_000_000,
            cpus: vec![1],
            others_fraction: Some(0.01),
            unseen_fraction: Some(0.05),
            stolen_ns: Some(40_000_000),
            ..Disturbance::default()
        }
    }

    #[test]
    fn a_quiet_host_is_not_worth_a_word() {
        assert_eq!(says(&quiet()), [""; 0]);
        let unused = Disturbance {
            quota: Some(CpuQuota {
                time_ns: 20_000_000,
                period_ns: 100_000_000,
            }),
            throttled: Some(Throttled::default()),
            ..quiet()
        };
        assert_eq!(says(&unused), [""; 0]);
    }

    #[test]
    fn who_had_the_cpu_is_named_with_the_share() {
        let hog = |pid| OtherProcess {
            name: "sh".to_owned(),
            pid,
            fraction: 0.4951,
        };
        let busy = Disturbance {
            others_fraction: Some(0.9902),
            processes: vec![hog(4711), hog(4712)],
            ..quiet()
        };
        assert_eq!(
            says(&busy),
            [
                "Too busy to tell what is due to this system. Other processes had 99 % of CPU 1: sh (pid 4711) 50 %, \
              sh (pid 4712) 50 %."
            ]
        );
        let less = Disturbance {
            others_fraction: Some(0.062),
            cpus: vec![0, 1, 2],
            ..quiet()
        };
        assert_eq!(says(&less), ["Other processes had 6.2 % of CPUs 0 to 2."]);
    }

    #[test]
    fn a_quota_that_stopped_it_and_a_stop_of_its_own_are_told_apart() {
        let throttled = Disturbance {
            quota: Some(CpuQuota {
                time_ns: 20_000_000,
                period_ns: 100_000_000,
            }),
            throttled: Some(Throttled {
                periods: 102,
                time_ns: 7_080_000_000,
            }),
            own_stops: OwnStops {
                waits: 1,
                late_ns: 4_000_000_000,
                missed: 239,
            },
            ..quiet()
        };
        assert_eq!(
            says(&throttled),
            [
                "Too busy to tell what is due to this system. Throttled by the cgroup: its quota of 20 ms of CPU time \
                 in 100 ms stopped this process in 102 periods, for 7.08 s.",
                "punctual itself was stopped for 4 s, as by Ctrl-Z or SIGSTOP: the wait it was in is left out.",
            ]
        );
    }
}
