//! What many wakes come to.

use std::cmp::Reverse;
use std::collections::VecDeque;

use punctual_core::Nanos;
use punctual_os::meter::Counts;
use punctual_os::processes::Ran;
use punctual_program::machine::Stopped;
use punctual_record::experiment::{Cause, Hiccup};
use punctual_record::{CpuQuota, Histogram, Late};

use super::Wake;
use super::cause::{self, Readings, SETTLES, is_possible};

/// Upper bounds, inclusive, of the buckets that lateness is counted in beside
/// the histogram: exact, and few enough to be scraped every second.
pub const BUCKETS_US: [u64; 16] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000,
];

/// So many hiccups are kept; more are counted.
const KEPT: usize = 10_000;

/// So many of those who ran meanwhile are told of.
const OTHERS: usize = 4;

/// The statistics of a watch. It is told of wakes and of stolen time, in the
/// order in which they came.
#[derive(Debug, Default)]
pub struct Tally {
    /// From which lateness on a wait is a hiccup.
    pub threshold: Nanos,
    /// Waits that are later than this are counted too.
    pub limit: Option<Nanos>,
    /// How many these are.
    pub over_limit: u64,
    /// The lateness of all waits.
    pub whole: Histogram,
    window: Histogram,
    /// By the first of [`BUCKETS_US`] that holds it; the last is for the rest.
    buckets: [u64; BUCKETS_US.len() + 1],
    first: Counts,
    last: Counts,
    readings: Readings,
    /// What is counted of a quota that there is.
    throttled: Readings,
    quota: Option<CpuQuota>,
    /// Who else ran on the CPU, and by when.
    others: VecDeque<(Nanos, Vec<Ran>)>,
    /// Until when was looked at that, if somebody still does.
    pub(super) looked: Option<Nanos>,
    /// When punctual itself went on after it was stopped, and for how long it was late
    /// then.
    pub(super) went_on: Vec<Nanos>,
    /// The waits in which punctual itself was stopped.
    pub stopped: Stopped,
    period: Nanos,
    /// After so many deadlines there is none that could be missed.
    pub deadlines: Option<u64>,
    /// Hiccups for which stolen time may still be counted.
    unsettled: VecDeque<Hiccup>,
    /// Settled, and not taken yet.
    news: Vec<Hiccup>,
    /// The first 10,000 hiccups that are settled.
    pub hiccups: Vec<Hiccup>,
    by_cause: [u64; Cause::ALL.len()],
    /// So many deadlines were skipped by now.
    pub(super) skipped: u64,
    /// Waits that were not collected in time, and of which nothing is known.
    pub lost: u64,
}

/// The thread that notes the end of a stop has the CPU so soon, even if it is busy.
const NOTED_WITHIN: Nanos = Nanos::from_ms(10);

impl Tally {
    /// Of a thread that began with the counts `first` and has a deadline in each
    /// `period`. Who is later than `threshold` has had a hiccup.
    pub fn new(threshold: Nanos, period: Nanos, first: Counts) -> Self {
        Self {
            threshold,
            period,
            first,
            last: first,
            ..Self::default()
        }
    }

    /// One more wait.
    pub fn wake(&mut self, wake: &Wake) {
        let late_ns = wake.late.as_ns();
        // Another thread may note it, once the wait has ended.
        let noted = match wake.late > self.threshold {
            true => wake.woke() + NOTED_WITHIN,
            false => wake.woke(),
        };
        let own_stop = (self.went_on.iter()).any(|at| (wake.due..=noted).contains(at));
        if own_stop {
            let period = self.period.as_ns().max(1);
            let left =
                (self.deadlines.unwrap_or(u64::MAX)).saturating_sub(wake.due.as_ns() / period);
            self.stopped += Stopped {
                waits: 1,
                late: wake.late,
                missed: (late_ns / period).min(left),
            };
        } else {
            self.whole.record(late_ns);
            self.window.record(late_ns);
            self.buckets[BUCKETS_US.partition_point(|bound| bound * 1_000 < late_ns)] += 1;
            self.over_limit += u64::from(self.limit.is_some_and(|limit| wake.late > limit));
        }
        if wake.late > self.threshold {
            let mut hiccup = cause::between(wake.woke(), wake.late, &self.last, &wake.counts);
            if own_stop {
                hiccup.cause = Cause::OwnStop;
            }
            self.unsettled.push_back(hiccup);
        }
        self.last = wake.counts;
        // Nobody who is due later needs what was read before this wake, unless a
        // hiccup before it is still to be settled.
        let needed = self.unsettled.front().map_or(wake.woke(), cause::due);
        self.readings.forget_before(needed);
        self.throttled.forget_before(needed);
        while self.others.front().is_some_and(|(by, _)| *by < needed) {
            self.others.pop_front();
        }
    }

    /// At `at`, a quota had stopped the group of the thread for so long.
    pub fn throttled(&mut self, at: Nanos, quota: CpuQuota, time: Nanos) {
        self.quota = Some(quota);
        self.throttled.add(at, time);
    }

    /// These processes ran on the watched CPU since they were looked at before, up to
    /// `at`.
    pub fn others(&mut self, at: Nanos, ran: Vec<Ran>) {
        self.others.push_back((at, ran));
        self.looked = Some(at);
    }

    /// At `at`, so much time of the watched CPU had been stolen since boot.
    pub fn stolen(&mut self, at: Nanos, stolen: Nanos) {
        self.readings.add(at, stolen);
    }

    /// Gives those hiccups their stolen time for which it is counted by now, and who had
    /// the CPU.
    pub fn settle(&mut self) {
        let read = self.readings.last();
        while let Some(hiccup) = self.unsettled.front() {
            let woke = Nanos::new(hiccup.at_ns);
            if read.is_some_and(|at| at < woke + SETTLES) || self.looked.is_some_and(|by| by < woke)
            {
                break;
            }
            self.settle_first();
        }
    }

    /// There is nothing to come.
    pub fn finish(&mut self) {
        while !self.unsettled.is_empty() {
            self.settle_first();
        }
    }

    /// The hiccups that were settled since this was asked last.
    pub fn take_news(&mut self) -> Vec<Hiccup> {
        std::mem::take(&mut self.news)
    }

    /// The lateness since this was asked last.
    pub fn take_window(&mut self) -> Late {
        let late = self.window.late();
        self.window.clear();
        late
    }

    /// How many waits were at most as late as each of [`BUCKETS_US`].
    pub fn cumulative(&self) -> impl Iterator<Item = (Nanos, u64)> {
        let counts = self.buckets.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        BUCKETS_US.into_iter().map(Nanos::from_us).zip(counts)
    }

    /// How many settled hiccups have that cause, kept or not.
    pub fn hiccups_by(&self, cause: Cause) -> u64 {
        self.by_cause[cause as usize]
    }

    /// How many hiccups are settled, kept or not.
    pub fn hiccups_in_all(&self) -> u64 {
        self.by_cause.iter().sum()
    }

    /// Deadlines that were skipped, because they had passed before their wait
    /// began.
    pub fn missed(&self) -> u64 {
        self.skipped.saturating_sub(self.stopped.missed)
    }

    /// How long the thread waited for a CPU, where that is counted.
    pub fn queued(&self) -> Option<Nanos> {
        Some(self.last.queued? - self.first.queued?)
    }

    /// The CPU time the thread used, where that is counted.
    pub fn cpu(&self) -> Option<Nanos> {
        Some(self.last.cpu? - self.first.cpu?)
    }

    /// The time of its CPU that was stolen, where that is counted.
    pub fn stolen_in_all(&self) -> Option<Nanos> {
        let believable =
            |total: &(Nanos, Nanos)| !self.readings.has_fallen() && is_possible(*total);
        let total = self.readings.total().filter(believable);
        total.map(|(counted, _)| counted)
    }

    fn settle_first(&mut self) {
        let Some(mut hiccup) = self.unsettled.pop_front() else {
            return;
        };
        let (due, woke) = (cause::due(&hiccup), Nanos::new(hiccup.at_ns));
        let stolen = self.readings.around(due, woke);
        let stolen = stolen.filter(|seen| !self.readings.has_fallen() && is_possible(*seen));
        hiccup.stolen_ns = stolen.map(|(counted, _)| counted.as_ns());
        hiccup.stolen_within_ns = stolen.map(|(_, within)| within.as_ns());
        let throttled = self.throttled.around(due, woke).zip(self.quota);
        hiccup.throttled_ns = throttled.map(|((counted, _), _)| counted.as_ns());
        hiccup.quota = throttled.map(|(_, quota)| quota);
        let first = self.others.partition_point(|(by, _)| *by <= due);
        let last = self.others.partition_point(|(by, _)| *by < woke);
        for (_, ran) in self.others.range(first..self.others.len().min(last + 1)) {
            for ran in ran {
                cause::ran(&mut hiccup, ran);
            }
        }
        hiccup.others.sort_by_key(|ran| Reverse(ran.ran_ns));
        hiccup.others.truncate(OTHERS);
        if hiccup.cause != Cause::OwnStop {
            hiccup.cause = cause::cause(&hiccup);
        }
        self.by_cause[hiccup.cause as usize] += 1;
        if self.hiccups.len() < KEPT {
            self.hiccups.push(hiccup.clone());
        }
        self.news.push(hiccup);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: Nanos = Nanos::from_us(500);

    /// A wait that was due at `due_ms`, `late_us` late, of a thread that has
    /// waited for a CPU for `queued_us` in its life.
    fn wake(due_ms: u64, late_us: u64, queued_us: u64) -> Wake {
        Wake {
            due: Nanos::from_ms(due_ms),
            late: Nanos::from_us(late_us),
            counts: Counts {
                queued: Some(Nanos::from_us(queued_us)),
                ..Counts::default()
            },
        }
    }

    fn tally() -> Tally {
        Tally::new(THRESHOLD, Nanos::from_ms(1), wake(0, 0, 100).counts)
    }

    #[test]
    fn a_window_begins_where_the_last_one_ended() {
        let mut tally = tally();
        (1..=20).for_each(|ms| tally.wake(&wake(ms, 60, 100)));
        assert_eq!(tally.take_window().n, 20);
        tally.wake(&wake(21, 400, 100));
        let window = tally.take_window();
        assert_eq!((window.n, window.min, window.p50), (1, 400_000, None));
        assert_eq!(tally.take_window(), Late::default());
        let whole = tally.whole.late();
        assert_eq!((whole.n, whole.min, whole.max), (21, 60_000, 400_000));
        assert!(whole.p50.is_some_and(|p50| (60_000..60_060).contains(&p50)));
    }

    #[test]
    fn buckets_are_cumulative_and_hold_their_bound() {
        let mut tally = tally();
        for late_us in [1, 2, 100, 101, 100_000, 100_001] {
            tally.wake(&wake(1, late_us, 100));
        }
        let counts: Vec<u64> = tally.cumulative().map(|(_, count)| count).collect();
        let expected = [1, 2, 2, 2, 2, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5];
        assert_eq!(counts, expected);
        assert_eq!(tally.whole.n(), 6);
    }

    #[test]
    fn the_counters_of_a_hiccup_are_those_since_the_wake_before() {
        let mut tally = tally();
        tally.wake(&wake(1, 500, 700));
        tally.wake(&wake(2, 501, 1_000));
        tally.wake(&wake(4, 800, 1_100));
        tally.settle();
        let news = tally.take_news();
        let seen: Vec<_> = news.iter().map(|h| (h.queued_ns, h.cause)).collect();
        assert_eq!(
            seen,
            [
                (Some(300_000), Cause::Queued),
                (Some(100_000), Cause::Unknown)
            ]
        );
        assert_eq!(news[0].at_ns, 2_501_000);
        assert!(tally.take_news().is_empty());
        assert_eq!(tally.hiccups, news);
        assert_eq!(tally.hiccups_by(Cause::Queued), 1);
        let queued = Some(Nanos::from_us(1_000));
        assert_eq!((tally.hiccups_in_all(), tally.queued()), (2, queued));
    }

    /// Stolen time comes into the counter late, so a hiccup waits for it.
    #[test]
    fn a_hiccup_is_settled_when_stolen_time_must_be_counted() {
        let mut tally = tally();
        let at = Nanos::from_ms;
        tally.stolen(at(0), at(50));
        (1..100).for_each(|ms| tally.wake(&wake(ms, 60, 100)));
        tally.stolen(at(95), at(50));
        tally.wake(&wake(100, 12_000, 100));
        tally.stolen(at(115), at(50));
        tally.settle();
        assert_eq!(tally.hiccups_in_all(), 0);
        tally.stolen(at(135), at(60));
        tally.settle();
        let news = tally.take_news();
        let [hiccup] = &news[..] else {
            panic!("there is one hiccup");
        };
        let stolen = [hiccup.stolen_ns, hiccup.stolen_within_ns];
        assert_eq!(stolen, [Some(10_000_000), Some(40_000_000)]);
        assert_eq!(hiccup.cause, Cause::Stolen);
        assert_eq!(tally.stolen_in_all(), Some(at(10)));
    }

    #[test]
    fn a_hiccup_says_who_had_the_cpu_when_that_was_looked_at() {
        let ran = |pid, ms| Ran {
            pid,
            name: format!("hog\x1b{pid}"),
            cpu: 1,
            time: Nanos::from_ms(ms),
        };
        let at = Nanos::from_ms;
        let mut tally = tally();
        tally.others(at(100), vec![ran(7, 90)]);
        tally.wake(&wake(150, 40_000, 40_100));
        tally.wake(&wake(200, 60, 40_100));
        tally.settle();
        assert!(tally.take_news().is_empty());
        tally.others(at(185), vec![ran(8, 2), ran(9, 1)]);
        tally.others(at(250), vec![ran(9, 30), ran(8, 1)]);
        tally.others(at(350), vec![ran(10, 90)]);
        tally.settle();
        let news = tally.take_news();
        assert_eq!(news[0].cause, Cause::Queued);
        let others = news[0].others.iter();
        let names: Vec<_> = others.map(|other| other.name.as_str()).collect();
        assert_eq!(names, [r"hog\u{1b}9", r"hog\u{1b}8"]);
    }

    #[test]
    fn a_quota_is_a_cause_before_the_cpu_that_it_makes_wait_for() {
        let at = Nanos::from_ms;
        let quota = CpuQuota::new(at(20), at(100));
        let mut tally = tally();
        tally.throttled(at(0), quota, at(500));
        tally.wake(&wake(10, 82_000, 82_100));
        tally.throttled(at(120), quota, at(581));
        tally.settle();
        let news = tally.take_news();
        assert_eq!(news[0].cause, Cause::Throttled);
        let throttled = (news[0].throttled_ns, news[0].quota);
        assert_eq!(throttled, (Some(81_000_000), Some(quota)));
    }

    #[test]
    fn a_stop_of_its_own_counts_in_no_lateness() {
        // In the wait, or a little after it.
        for noted in [4_000, 4_005] {
            let mut tally = tally();
            tally.wake(&wake(1, 60, 100));
            tally.went_on = vec![Nanos::from_ms(noted)];
            tally.wake(&wake(2, 3_998_100, 100));
            tally.wake(&wake(4_001, 60, 100));
            tally.skipped = 3_998;
            tally.finish();
            assert_eq!(tally.whole.late().n, 2);
            assert_eq!(tally.missed(), 0);
            assert_eq!((tally.stopped.waits, tally.stopped.missed), (1, 3_998));
            assert_eq!(tally.take_news()[0].cause, Cause::OwnStop);
        }
    }

    #[test]
    fn a_stop_beyond_the_last_deadline_misses_none_that_is_not_there() {
        let mut tally = tally();
        tally.deadlines = Some(10);
        tally.wake(&wake(1, 60, 100));
        tally.went_on = vec![Nanos::from_ms(4_000)];
        tally.skipped = 5;
        tally.wake(&wake(7, 3_993_100, 100));
        tally.skipped = 8;
        assert_eq!((tally.stopped.missed, tally.missed()), (3, 5));
    }

    /// Even where every wait is one, for as long as somebody watches.
    #[test]
    fn what_no_hiccup_needs_any_more_is_forgotten() {
        let mut tally = tally();
        for ms in 0..10_000 {
            tally.wake(&wake(ms, 600, 100));
            if ms % 100 == 0 {
                tally.stolen(Nanos::from_ms(ms + 1), Nanos::ZERO);
                tally.settle();
            }
        }
        assert!(tally.hiccups_in_all() > 9_000);
        assert!(tally.readings.len() < 5, "{}", tally.readings.len());
    }

    #[test]
    fn the_end_settles_what_is_left_and_no_more_than_10000_are_kept() {
        let mut tally = tally();
        tally.stolen(Nanos::ZERO, Nanos::ZERO);
        (1..=10_005).for_each(|ms| tally.wake(&wake(ms, 600, 100)));
        tally.settle();
        assert_eq!(tally.hiccups_in_all(), 0);
        tally.finish();
        assert_eq!(tally.hiccups_in_all(), 10_005);
        assert_eq!(tally.hiccups.len(), 10_000);
        assert_eq!(tally.take_news().len(), 10_005);
    }
}
