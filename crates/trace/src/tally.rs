//! Statistics of waits: one tally for each thread, call and class of lengths.

use punctual_record::experiment::Experiment;
use punctual_record::{LateShare, Measurement, Traced, TracedLengths, TracedTimeout, WakeUps};

use crate::call::{Call, Ended, Timeout};
use crate::histogram::{Bins, Histogram, Share};
use crate::slack::Slack;
use crate::wait::Wait;

/// Lengths of one class lie within an octave from a multiple of this. Usual lengths, as 1, 2, 5 and
/// 10 ms, lie well inside of one.
const FIRST_NS: u64 = 700;

/// The common properties of the waits of a tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Class {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) call: Call,
    pub(crate) timeout: TracedTimeout,
    pub(crate) octave: Option<u32>,
}

/// The kind of its timeout.
pub(crate) fn kind(wait: &Wait) -> TracedTimeout {
    match wait.timeout {
        _ if wait.timer.is_some_and(|timer| timer.in_wheel) => TracedTimeout::Ticks,
        Timeout::Length(_) | Timeout::Relative => TracedTimeout::Relative,
        Timeout::Until(_) => TracedTimeout::Absolute,
        Timeout::Never | Timeout::Zero | Timeout::OfFile => TracedTimeout::None,
    }
}

impl Class {
    pub(crate) fn of(process: u32, thread: u32, wait: &Wait) -> Self {
        let octave = wait
            .asked()
            .map(|ns| (ns / FIRST_NS).checked_ilog2().map_or(0, |log| log + 1));
        Self {
            process,
            thread,
            call: wait.call,
            timeout: kind(wait),
            octave,
        }
    }
}

/// Waits of a class.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    late: Histogram,
    /// How late they would be with the slack that is tried.
    with_slack: Bins,
    ended: u64,
    by_event: u64,
    by_signal: u64,
    polled: u64,
    missed: u64,
    deadline_unknown: u64,
    asked: Lengths,
    slack: Option<u64>,
    rhythm: Rhythm,
}

#[derive(Debug, Default)]
struct Lengths {
    n: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Lengths {
    fn note(&mut self, ns: u64) {
        (self.min, self.max) = match self.n {
            0 => (ns, ns),
            _ => (self.min.min(ns), self.max.max(ns)),
        };
        self.n += 1;
        self.sum += u128::from(ns);
    }

    fn add(&mut self, other: &Self) {
        if other.n > 0 {
            (self.min, self.max) = match self.n {
                0 => (other.min, other.max),
                _ => (self.min.min(other.min), self.max.max(other.max)),
            };
        }
        self.n += other.n;
        self.sum += other.sum;
    }

    fn summed_up(&self) -> Option<TracedLengths> {
        (self.n > 0).then(|| TracedLengths {
            min: self.min,
            mean: self.sum as f64 / self.n as f64,
            max: self.max,
        })
    }
}

/// Waits of all threads with one name that are alike.
#[derive(Debug, Default)]
pub struct Pooled {
    ended: u64,
    late: Bins,
    with_slack: Bins,
    asked: Lengths,
}

/// The common properties of such waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The name of the threads.
    pub thread: String,
    /// The call.
    pub call: Call,
    /// The kind of its timeout.
    pub timeout: TracedTimeout,
    pub(crate) octave: Option<u32>,
}

impl Pooled {
    /// How many ended, for any reason.
    pub const fn ended(&self) -> u64 {
        self.ended
    }

    /// How many ended because their time was over.
    pub const fn by_time(&self) -> u64 {
        self.late.n()
    }

    /// A percentile of their lateness in nanoseconds, if there are enough of them.
    pub fn late_ns(&self, thousandths: u64) -> Option<i64> {
        self.late.percentile(thousandths)
    }

    /// Their median lateness as it would be with the [slack](Slack) that the engine was given.
    pub fn late_ns_p50_with_slack(&self) -> Option<i64> {
        self.with_slack.percentile(500)
    }

    /// The lengths that they asked for.
    pub fn asked_ns(&self) -> Option<TracedLengths> {
        self.asked.summed_up()
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.ended += other.ended;
        self.late.add(&other.late);
        self.with_slack.add(&other.with_slack);
        self.asked.add(&other.asked);
    }
}

/// Whether deadlines follow a plan, or each is counted from the end of the work before it. A plan may sleep for lengths too:
/// for what is left until its next deadline.
///
/// The lengths of a plan vary with the work between, and the distances of its deadlines do not; of
/// instants that are counted from the present it is the other way round. Each wait has one vote: one that is
/// very late, after which a plan skips some deadlines, says no more than others.
#[derive(Debug, Default)]
struct Rhythm {
    last: Option<(u64, u64, Option<u64>)>,
    /// Waits whose length varied less, and more, than the distance of their deadlines.
    from_present: u64,
    by_plan: u64,
}

impl Rhythm {
    fn note(&mut self, deadline: u64, asked: u64) {
        let mut distance = None;
        if let Some((last, last_asked, last_distance)) = self.last {
            let to_last = deadline.saturating_sub(last);
            if let Some(last_distance) = last_distance {
                let by_length = asked.abs_diff(last_asked);
                let by_distance = to_last.abs_diff(last_distance);
                self.from_present += u64::from(by_length < by_distance);
                self.by_plan += u64::from(by_length > by_distance);
            }
            distance = Some(to_last);
        }
        self.last = Some((deadline, asked, distance));
    }

    fn counts_from_present(&self) -> bool {
        self.from_present >= 10 && self.from_present > 2 * self.by_plan
    }
}

impl Tally {
    pub(crate) fn note(&mut self, wait: &Wait, ended: Ended, now: u64, tried: Slack) {
        self.ended += 1;
        self.slack = self.slack.max(wait.slack());
        if let Some(asked) = wait.asked().filter(|_| !wait.is_missed()) {
            self.asked.note(asked);
        }
        if wait.timeout == Timeout::Zero {
            self.polled += 1;
            return;
        }
        match (ended, wait.deadline) {
            (Ended::ByEvent, _) => self.by_event += 1,
            (Ended::BySignal | Ended::Interrupted, _) => self.by_signal += 1,
            (Ended::ByTime, None) => self.deadline_unknown += 1,
            (Ended::ByTime, Some(_)) if wait.is_missed() => self.missed += 1,
            (Ended::ByTime, Some(deadline)) => match wait.late(now) {
                Some(late) => {
                    self.late.record(late, &wait.parts, &wait.behind);
                    self.with_slack.record(tried.late(wait, late));
                    let asked = deadline.saturating_sub(wait.entered);
                    self.rhythm.note(deadline, asked);
                }
                None => self.deadline_unknown += 1,
            },
        }
    }

    pub(crate) const fn ended(&self) -> u64 {
        self.ended
    }

    /// Adds its waits to others.
    pub(crate) fn pool(&self, pooled: &mut Pooled) {
        pooled.ended += self.ended;
        pooled.late.add(self.late.bins());
        pooled.with_slack.add(&self.with_slack);
        pooled.asked.add(&self.asked);
    }

    /// As the row of a Run.
    pub(crate) fn row(&self, class: &Class, thread: &str, elapsed_ns: u64) -> Measurement {
        let share = |share: Share| LateShare {
            n: share.n,
            parts_ns: share.parts,
            behind: share.behind.sorted(),
        };
        let is_of_time = matches!(
            class.timeout,
            TracedTimeout::Relative | TracedTimeout::Absolute
        );
        let adds_up = is_of_time && class.call.is_sleep() && self.rhythm.counts_from_present();
        let traced = Traced {
            thread: thread.to_owned(),
            tid: class.thread,
            pid: class.process,
            call: class.call.name().to_owned(),
            timeout: class.timeout,
            lateness_adds_up: adds_up && self.late.n() >= 20,
            asked_ns: self.asked.summed_up(),
            slack_ns: self.slack,
            late_ns_p50_with_slack: self.with_slack.percentile(500),
            per_s: self.ended as f64 * 1e9 / elapsed_ns.max(1) as f64,
            ended_by_event: self.by_event,
            ended_by_signal: self.by_signal,
            polled: self.polled,
            deadline_unknown: self.deadline_unknown,
            cause: None,
            late_total_ns: self.late.total_ns(),
            all: share(self.late.all()),
            middle: share(self.late.middle()),
            latest: share(self.late.latest()),
        };
        let subject = format!("{thread} ({})", class.thread);
        Measurement {
            late_ns: self.late.late(),
            missed: self.missed,
            ..Measurement::of(Experiment::Trace(Box::new(traced)), subject)
        }
    }
}

/// Why a thread was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waker {
    Timer,
    Interrupt,
    Thread,
}

/// Counts a wake-up.
pub(crate) const fn count(of: &mut WakeUps, by: Waker) {
    match by {
        Waker::Timer => of.by_timer += 1,
        Waker::Interrupt => of.by_interrupt += 1,
        Waker::Thread => of.by_thread += 1,
    }
}
