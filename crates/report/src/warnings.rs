//! Warnings to read before the numbers, each with a remedy; other activity during a measurement;
//! and the causes of a late wait.

use punctual_core::Nanos;
use punctual_record::experiment::{Cause, Deadlines, Hiccup, Pace, RanMeanwhile};
use punctual_record::{
    ClockStep, CpuQuota, Disturbance, Late, MachineFacts, Measurement, NotDone, OfExperiment,
    OtherProcess, StealDoubt, Warning,
};

use crate::{prose, select};

/// How a Run came about, as far as warnings depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Rounds that were asked for.
    pub rounds: u32,
    /// Whether it was simulated.
    pub simulated: bool,
}

/// The warning about fewer rounds than intervals of 95 % need.
pub fn too_few_rounds(rounds: u32) -> String {
    format!(
        "Rounds were too few for 95 % intervals ({rounds} of 6): the intervals are the whole range."
    )
}

/// The warnings that results on a machine deserve.
pub fn warnings(facts: &MachineFacts, results: &[Measurement], setting: Setting) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String, remedy: &str| warnings.push(Warning::new(what, remedy));

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
        warn(too_few_rounds(setting.rounds), "Use --rounds 6 or more.");
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

/// A request that was not carried out, with its remedy.
pub fn not_done(what: &NotDone) -> Warning {
    let (what, remedy) = match what {
        NotDone::Priority {
            name,
            why: Some(why),
        } => (
            format!("Priority `{name}` was not measured: {why}."),
            "Measure it where there is one.",
        ),
        NotDone::Priority { name, why: None } => (
            format!(
                "Priority `{name}` was not measured: the system does not permit it to this user."
            ),
            "Run it as a user who may raise the priority of a thread.",
        ),
        NotDone::Setting { name, threads, why } => {
            let threads = prose::list(threads.iter().map(|thread| format!("`{thread}`")));
            let remedy = match name.as_str() {
                "nice" => "It is as before. Run it as root, or raise what `ulimit -e` shows.",
                "quota" => {
                    "There is none. Run it as root, or in a group of your own: systemd-run --user --scope -p \
                     Delegate=yes COMMAND."
                }
                _ => "It is as before. Run it as a user who may, or give it another value.",
            };
            (
                format!("`{name}` of {threads} could not be set: {why}."),
                remedy,
            )
        }
        NotDone::Expectations { n, of, models } => (
            format!(
                "Not checked are {n} of {of} expectations. They are of {}.",
                prose::list(models)
            ),
            "Run it on these, or write `on` of [[expect]] as the model is called here, parameters included.",
        ),
    };
    Warning::new(what, remedy)
}

/// The subjects that returned early, each once, with how often and of how many.
fn early(results: &[Measurement]) -> Vec<(&str, u64, u64)> {
    let early = results.iter().filter(|m| m.late_ns.early > 0);
    let subjects = select::grouped(early, |m| m.subject.as_str()).into_iter();
    let sum = |all: &[&Measurement], of: fn(&Late) -> u64| all.iter().map(|m| of(&m.late_ns)).sum();
    let told = subjects.map(|(subject, all)| (subject, sum(&all, |l| l.early), sum(&all, |l| l.n)));
    told.collect()
}

/// A warning for each thing that disturbed a measurement, the gravest first.
pub fn disturbed(seen: &Disturbance) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String, remedy: &str| warnings.push(Warning::new(what, remedy));
    // Said once, of the first that is to blame.
    let mut too_busy = match seen.is_too_busy() {
        true => "The computer was busy, so these results include the effect of other load. ",
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
                "{}{} of {on} went to what is not seen from here: interrupts, other containers, or processes \
                 that have ended.",
                std::mem::take(&mut too_busy),
                per_cent(unseen)
            ),
            "Close other programs, or choose a quieter CPU with --cpu.",
        );
    }
    if let Some(stolen) = seen.stolen_ns.filter(|stolen| *stolen >= STOLEN_NS) {
        warn(
            format!(
                "{too_busy}The hypervisor took {on} away for {} of the run.",
                Nanos::new(stolen)
            ),
            "Repeat the run when the host is quieter, and look at medians rather than tails.",
        );
    }
    if let Some(doubt) = seen.steal_doubt {
        let why = match doubt {
            StealDoubt::Fell => "fell".to_owned(),
            StealDoubt::BeyondTime(ns) => format!(
                "grew by {} in {}",
                Nanos::new(ns),
                Nanos::new(seen.elapsed_ns)
            ),
        };
        warn(
            format!(
                "The kernel's counter of time stolen from {on} is unbelievable: it {why}. No figure here uses it."
            ),
            "Report it to the operator of the hypervisor; `steal` in /proc/stat is wrong for every program.",
        );
    }
    if seen.throttled_fell {
        warn(
            "The kernel's counter of the time for which the cgroup's quota stopped this process fell. No figure here uses it."
                .to_owned(),
            "Measure again: the group may have been made anew, or what is mounted there is not the kernel's.",
        );
    }
    if !seen.clock_steps.is_empty() {
        warn(
            clock_steps(&seen.clock_steps),
            "None is needed for lateness, which a clock without steps measures. Time synchronisation sets the time of day \
             (chronyc tracking), and so does a virtual machine after a pause.",
        );
    }
    if !seen.own_stops.is_empty() {
        warn(
            format!(
                "punctual itself was stopped for {}, as by Ctrl-Z or SIGSTOP: {} left out.",
                Nanos::new(seen.own_stops.late_ns),
                match seen.own_stops.waits {
                    1 => "the wait it was in is".to_owned(),
                    n => format!("the {n} waits it was in are"),
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

/// The steps of the wall clock: `The time of day was set 3 times meanwhile, by +400 ms, ...`.
fn clock_steps(steps: &[ClockStep]) -> String {
    const NAMED: usize = 5;
    let named = prose::list(steps.iter().take(NAMED).map(clock_step));
    let more = steps.len().saturating_sub(NAMED);
    format!(
        "The time of day was set {} meanwhile: by {named}{}.",
        prose::counted(steps.len() as u64, "time"),
        prose::when(more > 0, || format!(", and {more} more"))
    )
}

/// By how much the wall clock was set: `+400 ms`.
pub fn clock_step(step: &ClockStep) -> String {
    if step.by_ns.unsigned_abs() < ClockStep::LEAST_NS {
        let least = Nanos::new(ClockStep::LEAST_NS);
        return format!("less than {least} (or forward and back)");
    }
    let sign = if step.by_ns < 0 { '-' } else { '+' };
    let ms = step.by_ns.unsigned_abs().saturating_add(500_000) / 1_000_000;
    format!("{sign}{}", Nanos::from_ms(ms))
}

/// The activity and all warnings, without the names of other processes.
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

/// The processes that had the CPUs, the longest first: `: sh (pid 4711) 50 %, cargo (pid 12) 3 %`.
fn names(seen: &Disturbance) -> String {
    const MOST: usize = 3;
    let shown = seen.processes.iter().take(MOST);
    let name = |other: &OtherProcess| {
        let share = per_cent(other.fraction);
        match other.pid {
            // Its number was left out with its name.
            0 => format!("{} {share}", other.name),
            pid => format!("{} (pid {pid}) {share}", other.name),
        }
    };
    let any = !seen.processes.is_empty();
    prose::when(any, || format!(": {}", prose::list(shown.map(name))))
}

fn cpus(cpus: &[usize]) -> String {
    match cpus {
        [cpu] => format!("CPU {cpu}"),
        [one, other] => format!("CPUs {one} and {other}"),
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
        why.as_deref().unwrap_or("cause unknown")
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

/// The processes that had the CPU: `, which sh (pid 4711) and cargo (pid 12) had`.
fn had_it(hiccup: &Hiccup) -> String {
    let name = |other: &RanMeanwhile| format!("{} (pid {})", other.name, other.pid);
    let names: Vec<_> = hiccup.others.iter().take(2).map(name).collect();
    let any = !names.is_empty();
    prose::when(any, || format!(", which {} had", names.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::{CpuQuota, OwnStops, Throttled};

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
    fn a_counter_that_time_does_not_allow_is_called_unbelievable() {
        let doubted = |doubt| {
            says(&Disturbance {
                stolen_ns: None,
                steal_doubt: Some(doubt),
                ..quiet()
            })
        };
        assert_eq!(
            doubted(StealDoubt::BeyondTime(90_000_000_000)),
            [
                "The kernel's counter of time stolen from CPU 1 is unbelievable: it grew by 90 s in 10 s. No figure here \
                 uses it."
            ]
        );
        assert_eq!(
            doubted(StealDoubt::Fell),
            [
                "The kernel's counter of time stolen from CPU 1 is unbelievable: it fell. No figure here uses it."
            ]
        );
    }

    #[test]
    fn steps_of_the_wall_clock_and_a_fallen_counter_are_said() {
        let step = |by_ms: i64| ClockStep {
            at_ns: 1,
            by_ns: by_ms * 1_000_000 - 3,
        };
        let seen = |steps_ms: &[i64]| Disturbance {
            clock_steps: steps_ms.iter().map(|by_ms| step(*by_ms)).collect(),
            ..quiet()
        };
        assert_eq!(
            says(&seen(&[400, 400, 400, -1_200, 3_600_000])),
            [
                "The time of day was set 5 times meanwhile: by +400 ms, +400 ms, +400 ms, -1.2 s, +3600 s."
            ]
        );
        assert_eq!(
            says(&seen(&[400, 0])),
            [
                "The time of day was set 2 times meanwhile: by +400 ms, less than 10 ms (or forward and back)."
            ]
        );
        assert!(says(&seen(&[-500; 100]))[0].ends_with(", -500 ms, and 95 more."));
        let fell = Disturbance {
            throttled_fell: true,
            ..quiet()
        };
        assert!(says(&fell)[0].ends_with("fell. No figure here uses it."));
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
                "The computer was busy, so these results include the effect of other load. Other processes had 99 % of CPU 1: sh (pid 4711) 50 %, \
              sh (pid 4712) 50 %."
            ]
        );
        let less = Disturbance {
            others_fraction: Some(0.062),
            cpus: vec![0, 1, 2],
            ..quiet()
        };
        assert_eq!(says(&less), ["Other processes had 6.2 % of CPUs 0 to 2."]);
        let two = Disturbance {
            cpus: vec![0, 1],
            ..less
        };
        assert_eq!(says(&two), ["Other processes had 6.2 % of CPUs 0 and 1."]);
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
                periods_counted: None,
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
                "The computer was busy, so these results include the effect of other load. Throttled by the cgroup: its quota of 20 ms of CPU time \
                 in 100 ms stopped this process in 102 periods, for 7.08 s.",
                "punctual itself was stopped for 4 s, as by Ctrl-Z or SIGSTOP: the wait it was in is left out.",
            ]
        );
    }

    #[test]
    fn what_is_not_checked_is_counted_and_whose_it_is() {
        let models = ["linux", "macos"].map(str::to_owned).to_vec();
        let warning = not_done(&NotDone::Expectations {
            n: 2,
            of: 3,
            models,
        });
        assert_eq!(
            warning.what,
            "Not checked are 2 of 3 expectations. They are of linux, macos."
        );
    }

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
                "700 us late: cause unknown; waited 3 us for a CPU; stolen 0 ms in 120 ms; preempted 0",
            ),
            (
                Hiccup {
                    late_ns: 700_000,
                    minor_faults: Some(2),
                    major_faults: Some(1),
                    ..Hiccup::default()
                },
                "700 us late: cause unknown; faults 2, from disk 1",
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
