//! What is said of a wait that ended too late.

use std::fmt;

use punctual_core::Nanos;
use punctual_os::cgroups::CpuQuota;
use punctual_os::meter::{Counts, Faults};
use punctual_os::processes::Ran;
use punctual_record::visible;

/// Why a wait was too late, as far as a counter shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Somebody stopped punctual itself, as by Ctrl-Z: it says nothing of the system, and
    /// counts in no lateness.
    OwnStop,
    /// The quota of its control group was used up.
    Throttled,
    /// The thread could run and waited for its CPU, which did something else.
    Queued,
    /// The hypervisor ran something else on the CPU.
    Stolen,
    /// No counter covers it.
    Unknown,
}

impl Cause {
    /// Every cause, in the order in which they are listed.
    pub const ALL: [Self; 5] = [
        Self::OwnStop,
        Self::Throttled,
        Self::Queued,
        Self::Stolen,
        Self::Unknown,
    ];

    /// Its name in files and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OwnStop => "own_stop",
            Self::Throttled => "throttled",
            Self::Queued => "queued",
            Self::Stolen => "stolen",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A wait that ended later than the threshold, with what was counted between
/// the wake before it and its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hiccup {
    /// When the thread woke, counted from the beginning of the watch.
    pub woke: Nanos,
    /// How late that was.
    pub late: Nanos,
    /// How long the thread could run but waited for a CPU.
    pub queued: Option<Nanos>,
    /// How often it had to leave its CPU although it could have gone on.
    pub involuntary: Option<u64>,
    /// How often it left its CPU because it blocked.
    pub voluntary: Option<u64>,
    /// Pages it touched that were not there.
    pub faults: Option<Faults>,
    /// What the hypervisor took of its CPU around that time.
    pub stolen: Option<Stolen>,
    /// For how long a quota stopped its group around that time, and that quota.
    pub throttled: Option<(Nanos, CpuQuota)>,
    /// Other processes that ran on its CPU around that time, most first.
    pub others: Vec<Ran>,
    /// Whether punctual itself was stopped.
    pub own_stop: bool,
}

/// The time the hypervisor ran something else while a CPU had work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stolen {
    /// As counted, in steps of 10 ms.
    pub counted: Nanos,
    /// The time between the two readings of the counter.
    pub within: Nanos,
}

/// In whole milliseconds: `10 ms in 121 ms`.
impl fmt::Display for Stolen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [counted, within] = [self.counted, self.within].map(|n| n.as_ns() / 1_000_000);
        write!(f, "{counted} ms in {within} ms")
    }
}

impl Hiccup {
    /// A wait that woke at `woke`, between two readings of its thread's counts.
    pub(super) fn between(woke: Nanos, late: Nanos, before: &Counts, after: &Counts) -> Self {
        let switches = before.switches.zip(after.switches);
        let faults = before.faults.zip(after.faults);
        Self {
            woke,
            late,
            queued: before.queued.zip(after.queued).map(|(b, a)| a - b),
            involuntary: switches.map(|(b, a)| a.involuntary.saturating_sub(b.involuntary)),
            voluntary: switches.map(|(b, a)| a.voluntary.saturating_sub(b.voluntary)),
            faults: faults.map(|(b, a)| Faults {
                minor: a.minor.saturating_sub(b.minor),
                major: a.major.saturating_sub(b.major),
            }),
            stolen: None,
            throttled: None,
            others: Vec::new(),
            own_stop: false,
        }
    }

    /// When it was to wake.
    pub(super) fn due(&self) -> Nanos {
        self.woke - self.late
    }

    /// The first cause whose counter covers at least half of the lateness: a quota,
    /// which also counts as waiting for a CPU, then
    /// waiting for one, which is counted to the nanosecond, before stolen
    /// time. That is counted in steps of 10 ms, so it says nothing of a lateness
    /// below half of a step.
    pub fn cause(&self) -> Cause {
        let covers = |counted: Nanos| counted.times(2) >= self.late;
        let covered = |stolen: Stolen| self.late >= HALF_A_STEP && covers(stolen.counted);
        if self.own_stop {
            Cause::OwnStop
        } else if self.throttled.is_some_and(|(time, _)| covers(time)) {
            Cause::Throttled
        } else if self.queued.is_some_and(covers) {
            Cause::Queued
        } else if self.stolen.is_some_and(covered) {
            Cause::Stolen
        } else {
            Cause::Unknown
        }
    }
}

/// Of the counter of stolen time.
const HALF_A_STEP: Nanos = Nanos::from_ms(5);

/// How late, why, and then the other counters: `1.2 ms late: waited 1.15 ms for
/// a CPU, which sh (pid 4711) had; stolen 0 ms in 120 ms; preempted 1; faults 0`.
impl fmt::Display for Hiccup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = self.cause();
        write!(f, "{} late: ", self.late)?;
        match (cause, self.queued, self.stolen) {
            (Cause::OwnStop, ..) => {
                return f.write_str("punctual itself was stopped, as by Ctrl-Z; not counted");
            }
            (Cause::Queued, Some(queued), _) => write!(f, "waited {queued} for a CPU")?,
            (Cause::Stolen, _, Some(stolen)) => write!(f, "stolen by the hypervisor ({stolen})")?,
            _ => match self.throttled.filter(|_| cause == Cause::Throttled) {
                Some((time, quota)) => {
                    let CpuQuota { time: of, period } = quota;
                    write!(
                        f,
                        "throttled by the cgroup: {time}; {of} of CPU time in {period}"
                    )?;
                }
                None => f.write_str("unknown")?,
            },
        }
        if cause == Cause::Queued {
            let names: Vec<_> = self.others.iter().take(2).map(in_words).collect();
            if !names.is_empty() {
                write!(f, ", which {} had", names.join(" and "))?;
            }
        }
        if let Some(queued) = self.queued.filter(|_| cause != Cause::Queued) {
            write!(f, "; waited {queued} for a CPU")?;
        }
        if let Some(stolen) = self.stolen.filter(|_| cause != Cause::Stolen) {
            write!(f, "; stolen {stolen}")?;
        }
        if let Some(involuntary) = self.involuntary {
            write!(f, "; preempted {involuntary}")?;
        }
        match self.faults {
            Some(Faults { minor, major: 0 }) => write!(f, "; faults {minor}"),
            Some(Faults { minor, major }) => write!(f, "; faults {minor}, from disk {major}"),
            None => Ok(()),
        }
    }
}

/// A process, as a reader can look for it.
fn in_words(ran: &Ran) -> String {
    format!("{} (pid {})", visible(&ran.name), ran.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_os::thread::Switches;

    fn hiccup(late_us: u64, queued_us: Option<u64>, stolen_ms: Option<u64>) -> Hiccup {
        let late = Nanos::from_us(late_us);
        let counts = |queued: Option<u64>, switches: u64| Counts {
            queued: queued.map(|us| Nanos::from_us(1_000 + us)),
            cpu: None,
            switches: Some(Switches {
                voluntary: 7 + switches,
                involuntary: 3,
            }),
            faults: None,
        };
        let before = counts(queued_us.map(|_| 0), 0);
        Hiccup {
            stolen: stolen_ms.map(|ms| Stolen {
                counted: Nanos::from_ms(ms),
                within: Nanos::from_ms(120),
            }),
            ..Hiccup::between(Nanos::from_ms(5), late, &before, &counts(queued_us, 1))
        }
    }

    #[test]
    fn a_cause_needs_a_counter_that_covers_half() {
        for (late, queued, stolen, cause) in [
            (1_000, Some(500), None, Cause::Queued),
            (1_000, Some(499), None, Cause::Unknown),
            (1_000, None, None, Cause::Unknown),
            (1_000, Some(0), Some(0), Cause::Unknown),
            (20_000, Some(0), Some(10), Cause::Stolen),
            (20_001, Some(0), Some(10), Cause::Unknown),
            (1_000, Some(900), Some(10), Cause::Queued),
            // What is less than half a step cannot be told from nothing.
            (5_000, None, Some(10), Cause::Stolen),
            (4_999, None, Some(10), Cause::Unknown),
            // Neither of two halves of a cause is one.
            (30_000, Some(14_000), Some(10), Cause::Unknown),
        ] {
            let hiccup = hiccup(late, queued, stolen);
            assert_eq!(hiccup.cause(), cause, "{hiccup}");
        }
    }

    #[test]
    fn a_cause_is_said_with_its_counter_and_unknown_with_all_of_them() {
        for (hiccup, words) in [
            (
                hiccup(1_200, Some(1_150), Some(0)),
                "1.2 ms late: waited 1.15 ms for a CPU; stolen 0 ms in 120 ms; preempted 0",
            ),
            (
                hiccup(9_000, Some(3), Some(10)),
                "9 ms late: stolen by the hypervisor (10 ms in 120 ms); waited 3 us for a CPU; preempted 0",
            ),
            (
                hiccup(700, Some(3), Some(0)),
                "700 us late: unknown; waited 3 us for a CPU; stolen 0 ms in 120 ms; preempted 0",
            ),
            (
                Hiccup {
                    faults: Some(Faults { minor: 2, major: 1 }),
                    involuntary: None,
                    ..hiccup(700, None, None)
                },
                "700 us late: unknown; faults 2, from disk 1",
            ),
        ] {
            assert_eq!(hiccup.to_string(), words);
        }
    }
}
