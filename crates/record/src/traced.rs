//! Waits of other programs, as events of the kernel show them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::experiment::Parameters;

/// Waits of one thread with one call and of about one length.
///
/// [`Measurement::late_ns`](crate::Measurement::late_ns) has the lateness of those that ended because
/// their time was over, and [`Measurement::missed`](crate::Measurement::missed) counts deadlines that
/// had passed before their wait began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traced {
    /// The name of the thread.
    pub thread: String,
    /// The number of the thread.
    pub tid: u32,
    /// The number of its process.
    pub pid: u32,
    /// The system call.
    pub call: String,
    /// The kind of its timeout.
    pub timeout: TracedTimeout,
    /// Whether each wait begins when the work before it ends, so that lateness adds up.
    pub lateness_adds_up: bool,
    /// The lengths asked for; `None` if no timer of them was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ns: Option<TracedLengths>,
    /// The greatest slack in force: how late the kernel might let the timer be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack_ns: Option<u64>,
    /// The median of their lateness as it would be with a timer slack of 1 ns, or with that of `--try`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns_p50_with_slack: Option<i64>,
    /// How many ended per second, for any reason.
    pub per_s: f64,
    /// How many an event ended.
    pub ended_by_event: u64,
    /// How many a signal ended.
    pub ended_by_signal: u64,
    /// How many returned at once, as their timeout is zero.
    pub polled: u64,
    /// How many ended in time, but their deadline is not known.
    pub deadline_unknown: u64,
    /// The cause of most of their lateness, if they are later than usual and the events show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<LateCause>,
    /// How late all of them were together.
    pub late_total_ns: u64,
    /// The parts of that.
    pub all: LateShare,
    /// The same of the waits about the median.
    pub middle: LateShare,
    /// The same of the latest 1 %, or of a few more: whole bins of a histogram.
    pub latest: LateShare,
}

impl Parameters for Traced {
    fn params(&self) -> Value {
        json!({ "call": self.call, "timeout": self.timeout })
    }
}

/// The cause of late waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LateCause {
    /// The timer slack.
    Slack,
    /// The rounding of the timer wheel.
    Wheel,
    /// Interrupts that came late.
    Interrupt,
    /// Wake-ups that took long.
    WakeUp,
    /// Threads with real-time priorities that had the CPU.
    RealTime,
    /// Other threads that had the CPU.
    Busy,
    /// The quota of its control group, which stopped its threads.
    Quota,
    /// Something else that kept a ready thread from an idle CPU.
    Held,
    /// A signal that stopped the thread.
    Stopped,
    /// Something else that the call waited for.
    Blocked,
}

/// A wait that is later than this on average, or than a tenth of its length, is late for a reason. The slack of
/// 50 us that Linux gives a thread, its interrupt and its wake-up are together below that.
const USUAL_NS: u64 = 150_000;

impl Traced {
    /// Finds the [cause](Self::cause): of at least half of the lateness. A quota is the cause if it
    /// held threads for a twentieth of the time. That must be half of the time without a CPU in these waits.
    pub fn find_cause(&self, facts: &TraceFacts) -> Option<LateCause> {
        let total = self.all.parts_ns.sum();
        let parts = &self.all.parts_ns;
        let kept = parts.cpu + parts.held;
        let throttled = facts.throttled_ns.unwrap_or(0);
        if throttled >= facts.elapsed_ns / 20 && throttled > 0 && throttled >= kept / 2 {
            return Some(LateCause::Quota);
        }
        let mean = total / self.all.n.max(1);
        let length = self.asked_ns.map_or(0.0, |asked| asked.mean);
        let is_late =
            mean > USUAL_NS || self.all.n > 0 && mean as f64 > length / 10.0 && mean > 100_000;
        let real_time = self.all.behind.iter().filter(|it| it.is_real_time);
        let real_time: u64 = real_time.map(|it| it.ns).sum();
        let by_cpu = match real_time > parts.cpu / 2 {
            true => LateCause::RealTime,
            false => LateCause::Busy,
        };
        let causes = [
            (parts.slack, LateCause::Slack),
            (parts.wheel, LateCause::Wheel),
            (parts.interrupt, LateCause::Interrupt),
            (parts.wake_up, LateCause::WakeUp),
            (parts.cpu, by_cpu),
            (parts.held, LateCause::Held),
            (parts.stopped, LateCause::Stopped),
            (parts.blocked, LateCause::Blocked),
        ];
        let most = causes.into_iter().max_by_key(|(ns, _)| *ns);
        most.filter(|(ns, _)| is_late && *ns >= total / 2)
            .map(|(_, cause)| cause)
    }
}

/// The kind of a timeout.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TracedTimeout {
    /// A length.
    Relative,
    /// An instant.
    Absolute,
    /// A number of ticks of the timer wheel.
    Ticks,
    /// None: it waits for an event, or does not wait.
    #[default]
    None,
}

/// Lengths of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedLengths {
    /// The least.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: u64,
}

/// Some waits, and the parts of their lateness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateShare {
    /// How many waits.
    pub n: u64,
    /// The parts of their lateness, summed over them.
    pub parts_ns: LateParts,
    /// The threads that had the CPU while they waited for it, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Behind>,
}

/// A thread that had a CPU for which others waited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Behind {
    /// Its name.
    pub thread: String,
    /// The CPU.
    pub on_cpu: u32,
    /// Whether it had a real-time priority.
    pub is_real_time: bool,
    /// For how long.
    pub ns: u64,
}

/// The parts of a lateness, in nanoseconds. Their sum is the lateness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LateParts {
    /// From the call until its timer was armed.
    pub before: u64,
    /// The timer slack, as far as it was used.
    pub slack: u64,
    /// The rounding of the timer wheel.
    pub wheel: u64,
    /// Until the interrupt let the timer expire.
    pub interrupt: u64,
    /// From then until the thread was ready, and until its idle CPU began to run it.
    pub wake_up: u64,
    /// The thread was ready, and other threads had its CPU.
    pub cpu: u64,
    /// The thread was ready for long and its CPU was idle, as under a quota.
    pub held: u64,
    /// A signal had stopped the thread.
    pub stopped: u64,
    /// The thread waited for something else within the call.
    pub blocked: u64,
    /// The thread ran until the call returned.
    pub return_: u64,
    /// The events do not show it.
    pub unknown: u64,
}

impl LateParts {
    /// How many parts there are.
    pub const N: usize = 11;

    /// Each part, in the order of time.
    pub fn each(&self) -> [u64; Self::N] {
        [
            self.before,
            self.slack,
            self.wheel,
            self.interrupt,
            self.wake_up,
            self.cpu,
            self.held,
            self.stopped,
            self.blocked,
            self.return_,
            self.unknown,
        ]
    }

    /// All parts together: the lateness.
    pub fn sum(&self) -> u64 {
        self.each().into_iter().fold(0, u64::saturating_add)
    }

    /// Adds those of another wait.
    pub fn add(&mut self, other: &Self) {
        let mut more = other.each().into_iter();
        for part in self.each_mut() {
            *part = part.saturating_add(more.next().unwrap_or(0));
        }
    }

    /// Each part, in the same order.
    pub fn each_mut(&mut self) -> [&mut u64; Self::N] {
        [
            &mut self.before,
            &mut self.slack,
            &mut self.wheel,
            &mut self.interrupt,
            &mut self.wake_up,
            &mut self.cpu,
            &mut self.held,
            &mut self.stopped,
            &mut self.blocked,
            &mut self.return_,
            &mut self.unknown,
        ]
    }
}

/// The trace that a Run was made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceFacts {
    /// Where the events come from: `perf`, `library`, `file`, or the format of a file of another tracer.
    pub source: String,
    /// How long it was traced.
    pub elapsed_ns: u64,
    /// The events.
    pub events: u64,
    /// Events that were lost, as they were not read in time.
    pub lost_events: u64,
    /// The facts that this source does not show, a sentence each.
    #[serde(default)]
    pub unseen: Vec<String>,
    /// CPUs that show no events of their idle threads: no end of a timer that comes while they are idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus_without_idle: Vec<u32>,
    /// The command that would show more, with a sentence on that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<String>,
    /// Whether slack and ticks are upper bounds, as timers were not seen.
    #[serde(default)]
    pub has_bounds: bool,
    /// The length of a tick of the timer wheel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_ns: Option<u64>,
    /// For how long quotas of the control groups of these programs held their threads meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Waits that were not counted apart, as there are too many threads, calls and lengths.
    #[serde(default)]
    pub waits_not_noted: u64,
    /// The exit code of the traced command, if it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the traced command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The wake-ups of the computer by the name of the thread, most first.
    #[serde(default)]
    pub wake_ups: Vec<WakeUps>,
}

/// The wake-ups of threads with one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeUps {
    /// The name.
    pub thread: String,
    /// By a timer.
    pub by_timer: u64,
    /// By another interrupt.
    pub by_interrupt: u64,
    /// By a thread.
    pub by_thread: u64,
}

impl WakeUps {
    /// All of them.
    pub fn n(&self) -> u64 {
        self.by_timer + self.by_interrupt + self.by_thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: TraceFacts = TraceFacts {
        elapsed_ns: 10_000_000_000,
        source: String::new(),
        events: 0,
        lost_events: 0,
        cpus_without_idle: vec![],
        unseen: vec![],
        more: None,
        has_bounds: false,
        tick_ns: None,
        throttled_ns: None,
        waits_not_noted: 0,
        exit_code: None,
        signal: None,
        wake_ups: vec![],
    };

    fn waits(n: u64, parts_ns: LateParts) -> Traced {
        let all = LateShare {
            n,
            parts_ns,
            behind: vec![],
        };
        let asked_ns = Some(TracedLengths {
            min: 5_000_000,
            mean: 5e6,
            max: 5_000_000,
        });
        Traced {
            all,
            asked_ns,
            ..Traced::default()
        }
    }

    #[test]
    fn a_cause_is_named_if_it_makes_half_of_an_unusual_lateness() {
        let usual = LateParts {
            slack: 5_000_000,
            interrupt: 500_000,
            wake_up: 1_000_000,
            ..LateParts::default()
        };
        // 65 us late each.
        assert_eq!(waits(100, usual).find_cause(&FACTS), None);
        let slack = LateParts {
            slack: 200_000_000,
            ..usual
        };
        assert_eq!(waits(100, slack).find_cause(&FACTS), Some(LateCause::Slack));
        let stopped = LateParts {
            stopped: 1_000_000_000,
            ..usual
        };
        assert_eq!(
            waits(100, stopped).find_cause(&FACTS),
            Some(LateCause::Stopped)
        );
        // Neither makes half.
        let several = LateParts {
            slack: 100_000_000,
            cpu: 100_000_000,
            held: 100_000_000,
            ..usual
        };
        assert_eq!(waits(100, several).find_cause(&FACTS), None);
        let unknown = LateParts {
            unknown: 900_000_000,
            ..usual
        };
        assert_eq!(waits(100, unknown).find_cause(&FACTS), None);
        assert_eq!(Traced::default().find_cause(&FACTS), None);
    }

    #[test]
    fn a_quota_is_the_cause_if_it_held_threads_for_long() {
        let parts = LateParts {
            cpu: 1_000_000_000,
            ..LateParts::default()
        };
        let by = |throttled_ns| {
            let facts = TraceFacts {
                throttled_ns: Some(throttled_ns),
                ..FACTS
            };
            waits(100, parts).find_cause(&facts)
        };
        assert_eq!(by(900_000_000), Some(LateCause::Quota));
        assert_eq!(by(90_000_000), Some(LateCause::Busy));
        assert_eq!(by(0), Some(LateCause::Busy));
    }

    #[test]
    fn a_busy_cpu_is_told_from_a_real_time_thread() {
        let parts = LateParts {
            cpu: 100_000_000,
            ..LateParts::default()
        };
        let mut busy = waits(100, parts);
        assert_eq!(busy.find_cause(&FACTS), Some(LateCause::Busy));
        busy.all.behind = vec![Behind {
            thread: "rt".to_owned(),
            on_cpu: 0,
            is_real_time: true,
            ns: 90_000_000,
        }];
        assert_eq!(busy.find_cause(&FACTS), Some(LateCause::RealTime));
    }
}
