//! The tally of many wakes.

use std::cmp::Reverse;
use std::collections::VecDeque;

use punctual_core::Nanos;
use punctual_os::meter::Counts;
use punctual_os::processes::Ran;
use punctual_program::machine::Stopped;
use punctual_record::experiment::{Cause, Hiccup};
use punctual_record::{CpuQuota, Histogram, Late, steps_up_to};

use super::cause::{self, Readings, SETTLES, is_possible};
use super::{Missed, Seen, Wake};

/// Upper bounds, inclusive, of the buckets that lateness is counted in beside
/// the histogram: exact, and few enough to be scraped every second.
pub const BUCKETS_US: [u64; 16] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000,
];

/// The number of hiccups that are kept; more are only counted.
const KEPT: usize = 10_000;

/// The number of other processes that are named.
const OTHERS: usize = 4;

/// The statistics of a watch. It is told of wakes and of stolen time, in the
/// order in which they came.
#[derive(Debug, Default)]
pub struct Tally {
    /// From which lateness on a wait is a hiccup.
    pub threshold: Nanos,
    /// Deadlines that are later than this are counted too.
    pub limit: Option<Nanos>,
    /// How many these are.
    pub over_limit: u64,
    /// The lateness of all deadlines, missed ones included.
    pub whole: Histogram,
    /// Deadlines that were waited for.
    pub waits: u64,
    /// Deadlines that had passed before their wait began.
    pub missed: u64,
    window: Histogram,
    /// By the first of [`BUCKETS_US`] that holds it; the last is for the rest.
    buckets: [u64; BUCKETS_US.len() + 1],
    first: Counts,
    last: Counts,
    readings: Readings,
    /// The counts of a quota, if there is one.
    throttled: Readings,
    quota: Option<CpuQuota>,
    /// The other processes on the CPU, with their times.
    others: VecDeque<(Nanos, Vec<Ran>)>,
    /// Until when that was read, if it still is.
    pub(super) looked: Option<Nanos>,
    /// When punctual itself went on after it was stopped, and for how long it was late
    /// then.
    pub(super) went_on: Vec<Nanos>,
    /// The waits in which punctual itself was stopped, and what was missed by that.
    pub stopped: Stopped,
    period: Nanos,
    /// Hiccups for which stolen time may still be counted.
    unsettled: VecDeque<Hiccup>,
    /// Settled, and not taken yet.
    news: Vec<Hiccup>,
    /// The first 10,000 hiccups that are settled.
    pub hiccups: Vec<Hiccup>,
    by_cause: [u64; Cause::ALL.len()],
    /// Deadlines that were not collected in time, and of which nothing is known.
    pub lost: u64,
}

/// The thread that notes the end of a stop has the CPU so soon, even if it is busy.
const NOTED_WITHIN: Nanos = Nanos::from_ms(10);

impl Tally {
    /// Of a thread that began with the counts `first` and has a deadline in each `period`. A wait
    /// later than `threshold` is a hiccup.
    pub fn new(threshold: Nanos, period: Nanos, first: Counts) -> Self {
        Self {
            threshold,
            period,
            first,
            last: first,
            ..Self::default()
        }
    }

    /// Adds the next deadlines.
    pub fn add(&mut self, seen: &Seen) {
        match seen {
            Seen::Wake(wake) => self.wake(wake),
            Seen::Missed(missed) => self.give_up(missed),
        }
    }

    fn give_up(&mut self, missed: &Missed) {
        let count = missed.count;
        if self.is_own_stop(missed.first, missed.given_up) {
            self.stopped.missed += count;
            return;
        }
        let last = missed.first + self.period.times(count.saturating_sub(1));
        self.missed += count;
        self.late(missed.given_up - last, count);
    }

    /// Adds `count` deadlines, a period apart, of which the last was so late.
    fn late(&mut self, last: Nanos, count: u64) {
        let (least_ns, step_ns) = (last.as_ns(), self.period.as_ns());
        let up_to = |bound_ns| steps_up_to(least_ns, step_ns, count, bound_ns);
        let mut counted = 0;
        for (bucket, bound_us) in self.buckets.iter_mut().zip(BUCKETS_US) {
            let within = up_to(bound_us * 1_000);
            *bucket += within - counted;
            counted = within;
        }
        self.buckets[BUCKETS_US.len()] += count - counted;
        let over = self.limit.map(|limit| count - up_to(limit.as_ns()));
        self.over_limit += over.unwrap_or(0);
        self.whole.record_steps(least_ns, step_ns, count);
        self.window.record_steps(least_ns, step_ns, count);
    }

    /// Whether punctual itself was stopped between `due` and `seen`. Another thread may note that
    /// a moment later.
    fn is_own_stop(&self, due: Nanos, seen: Nanos) -> bool {
        let noted = match seen - due > self.threshold {
            true => seen + NOTED_WITHIN,
            false => seen,
        };
        self.went_on.iter().any(|at| (due..=noted).contains(at))
    }

    fn wake(&mut self, wake: &Wake) {
        let own_stop = self.is_own_stop(wake.due, wake.woke());
        if own_stop {
            self.stopped += Stopped {
                waits: 1,
                late: wake.late,
                missed: 0,
            };
        } else {
            self.waits += 1;
            self.late(wake.late, 1);
        }
        if wake.late > self.threshold {
            let mut hiccup = cause::between(wake.woke(), wake.late, &self.last, &wake.counts);
            if own_stop {
                hiccup.cause = Cause::OwnStop;
            }
            self.unsettled.push_back(hiccup);
        }
        self.last = wake.counts;
        // A later deadline does not need the readings before this wake, unless an earlier hiccup
        // is still unsettled.
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

    /// How many deadlines were at most as late as each of [`BUCKETS_US`].
    pub fn cumulative(&self) -> impl Iterator<Item = (Nanos, u64)> {
        let counts = self.buckets.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        BUCKETS_US.into_iter().map(Nanos::from_us).zip(counts)
    }

    /// How many settled hiccups have that cause, kept or not; also waits in which punctual itself was
    /// stopped.
    pub fn hiccups_by(&self, cause: Cause) -> u64 {
        self.by_cause[cause as usize]
    }

    /// How many hiccups are settled, kept or not, without those in which punctual itself was stopped.
    pub fn hiccups_in_all(&self) -> u64 {
        self.by_cause.iter().sum::<u64>() - self.hiccups_by(Cause::OwnStop)
    }

    /// How long the thread waited for a CPU, where that is counted.
    pub fn queued(&self) -> Option<Nanos> {
        Some(self.last.queued? - self.first.queued?)
    }

    /// The CPU time the thread used, where that is counted.
    pub fn cpu(&self) -> Option<Nanos> {
        Some(self.last.cpu? - self.first.cpu?)
    }

    /// Whether the counters of stolen and of throttled time fell, so that no hiccup has them from then
    /// on.
    pub fn have_fallen(&self) -> [bool; 2] {
        [self.readings.has_fallen(), self.throttled.has_fallen()]
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
        let throttled = throttled.filter(|_| !self.throttled.has_fallen());
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

    fn missed(first_ms: u64, count: u64, given_up_us: u64) -> Seen {
        Seen::Missed(Missed {
            first: Nanos::from_ms(first_ms),
            count,
            given_up: Nanos::from_us(given_up_us),
        })
    }

    /// A stall of 100 ms in a second makes a tenth of the deadlines late, not one in nine hundred.
    #[test]
    fn missed_deadlines_are_as_late_as_they_were_given_up() {
        let mut tally = tally();
        tally.limit = Some(Nanos::from_ms(50));
        (1..=900).for_each(|ms| tally.wake(&wake(ms, 60, 100)));
        tally.wake(&wake(901, 99_900, 100));
        tally.add(&missed(902, 99, 1_000_950));
        let late = tally.whole.late();
        assert_eq!((late.n, tally.waits, tally.missed), (1_000, 901, 99));
        assert_eq!((late.min, late.max), (60_000, 99_900_000));
        assert!(late.p90.unwrap() < 100_000 && late.p99.unwrap() > 80_000_000);
        assert_eq!(tally.over_limit, 50);
        let counts: Vec<u64> = tally.cumulative().map(|(_, count)| count).collect();
        // The last missed deadline was given up 950 us after it.
        let expected = [900, 900, 900, 901, 902, 905, 910, 920, 950, 1_000];
        assert_eq!(counts[6..], expected);
        assert_eq!(tally.take_window().n, 1_000);
        tally.finish();
        assert_eq!(tally.hiccups_in_all(), 1);
    }

    #[test]
    fn throttled_time_that_falls_is_no_cause() {
        let at = Nanos::from_ms;
        let quota = CpuQuota::new(at(20), at(100));
        let mut tally = tally();
        for (ms, throttled) in [(0, 500), (5, 3)] {
            tally.throttled(at(ms), quota, at(throttled));
        }
        tally.wake(&wake(10, 82_000, 82_100));
        tally.throttled(at(120), quota, at(84));
        tally.finish();
        let news = tally.take_news();
        assert_eq!((news[0].throttled_ns, news[0].cause), (None, Cause::Queued));
        assert_eq!(tally.have_fallen(), [false, true]);
    }

    #[test]
    fn a_stop_of_its_own_counts_in_no_lateness() {
        // In the wait, or a little after it.
        for noted in [4_000, 4_005] {
            let mut tally = tally();
            tally.wake(&wake(1, 60, 100));
            tally.went_on = vec![Nanos::from_ms(noted)];
            tally.wake(&wake(2, 3_998_100, 100));
            tally.add(&missed(3, 3_998, 4_000_101));
            tally.wake(&wake(4_001, 60, 100));
            tally.finish();
            assert_eq!((tally.whole.late().n, tally.waits, tally.missed), (2, 2, 0));
            assert_eq!((tally.stopped.waits, tally.stopped.missed), (1, 3_998));
            assert_eq!(tally.hiccups_in_all(), 0);
            assert_eq!(tally.hiccups_by(Cause::OwnStop), 1);
            assert_eq!(tally.take_news()[0].cause, Cause::OwnStop);
        }
    }

    #[test]
    fn a_stop_excuses_only_the_deadlines_it_fell_upon() {
        let mut tally = tally();
        tally.went_on = vec![Nanos::from_ms(40)];
        tally.add(&missed(20, 5, 25_100));
        tally.add(&missed(60, 3, 62_100));
        assert_eq!((tally.missed, tally.stopped.missed), (8, 0));
    }

    /// Even where every wait is one, for any duration of a watch.
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
