//! The waiting threads of one process: when their spins offer the CPU to each other, and
//! when their naps keep the timer slack.
//!
//! A thread that spins keeps its CPU from every other thread. Where many threads wait, each spin
//! makes the waits of others late, and these learn from that to spin longer: 64 threads on two
//! CPUs end up spinning all the time. Thus a spin offers its CPU (`sched_yield`, `SwitchToThread`)
//! while other threads of the process spin too. It does so for a while after another thread took
//! the offer or a wait was disturbed. Threads that offer the CPU to each other share it within
//! microseconds.
//!
//! A busy thread that takes the offer keeps the CPU for a whole time slice, which makes the wait
//! milliseconds late. Where that happens to more than a few spins, spins keep their CPU for a
//! while: the more often, the longer. Where several threads wait, spins are also short then.
//! The scheduler owes the busy threads the time that was spun, and takes it back from the waits
//! that follow. Where spins meet others for long, naps keep their slack: an interrupt for each nap takes
//! CPU time, and delays the spins. They do so too where threads of other processes take most offers. Where more threads spin than the CPUs can serve, spins are limited,
//! because the queue of threads that offer their CPUs grows with them. Where most spins still end as
//! late as a nap would, they are in vain. For a while they are short and keep their CPU, and naps keep
//! their slack. Waits that end that late although their spins are short count too. The threads
//! themselves keep the CPUs busy then, and not busy threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::time::Nanos;

/// A yield that no thread takes returns sooner: it takes 0.3 to 1 us, a switch to another thread
/// and back 2 us and more.
const TAKEN: Nanos = Nanos::new(2_500);
/// A thread that waits gives the CPU back within this, and within `QUEUE` more for each other
/// one that spins. A busy thread keeps it for a time slice: 2.8 ms on most Linux computers,
/// 0.7 ms at least.
const SOON: Nanos = Nanos::from_us(600);
const QUEUE: Nanos = Nanos::from_us(30);
const SOON_MAX: Nanos = Nanos::from_us(2_500);
/// A spin that kept the CPU and ended this late, but less than `SOON`, met a waiting thread.
const DISTURBED: Nanos = Nanos::from_us(50);
/// How long that is remembered: a dozen waits at 60 Hz.
const MEMORY_NS: u64 = 250_000_000;
/// Where a spin that begins meets more others than that in the mean, in parts of `ONE`, several
/// threads wait.
const SEVERAL: u32 = ONE / 8;
const ONE: u32 = 1 << 12;
/// The mean is over so many spins.
const MEAN: u32 = 64;
/// Where so many more spins began with `MANY` others in the mean than with fewer, naps keep their
/// slack. New threads spin longer, and have learned by then.
const MANY: u32 = ONE / 2;
const AMONG_MANY: u32 = 1 << 14;
/// Naps also keep their slack where other threads took the CPU of more spins than that in the mean. If
/// none of them was of the process, many processes wait.
const MOST: u32 = ONE / 2;
/// For this long, and each time twice as long, because each change makes waits learn anew.
const SLACK_FIRST_NS: u64 = 2_000_000_000;
const SLACK_MAX_NS: u64 = 64_000_000_000;
/// A spin that ended soon adds one to the credit. One that met a busy thread costs this much. It
/// costs less where other threads wait too, because it may have met many of them.
const BUSY: u32 = 16;
/// One loss more than that is forgiven at first. Many processes that begin at the same instant run
/// uncached code, and queue for longer than `SOON`.
const CREDIT_FIRST: u32 = 2 * BUSY - 1;
const BUSY_AMONG: u32 = 4;
const CREDIT_MAX: u32 = 64;
/// Without credit spins keep the CPU for this long, and four times as long the next time. After
/// each spin that ended soon it is a part of 64 less.
const PAUSE_FIRST_NS: u64 = 128_000_000;
const PAUSE_MAX_NS: u64 = 16_000_000_000;
const PAUSE_FADES: u64 = 64;
/// The most that a wait spins meanwhile, where several threads wait. The pause is then at most this
/// long, because waits without spins are later where the busy threads have gone.
const SHORT: Nanos = Nanos::from_us(5);
const SHORT_MAX_NS: u64 = 4_000_000_000;
/// The CPUs are overloaded where spins met so many others for each CPU in the mean, and that for so
/// long.
const OVERLOADED_NS: u64 = 32_000_000;
const OVERLOADED_BY: u32 = 2;
/// A spin that is alone ends that, if none met another for this long. Threads that wait for the same
/// instants meet many others, and leave the CPUs idle in between.
const ALONE_NS: u64 = 200_000;
/// The most that a wait spins there: a tenth of its length, within these bounds. Without a limit new
/// threads, which all queue, learn to spin their whole waits.
const OVERLOADED_PART: u64 = 10;
const OVERLOADED_LEAST: Nanos = Nanos::from_us(60);
const OVERLOADED_MOST: Nanos = Nanos::from_us(100);
/// A spin that ended so late gained nothing: on Linux a nap with slack ends no later.
const VAIN: Nanos = Nanos::from_us(50);
/// Where so many more spins ended that late than did not, spins are in vain for a while. New threads
/// end many waits late until they have learned.
const VAIN_MANY: u32 = 4_096;
const VAIN_LASTS_NS: u64 = 1_000_000_000;

/// The shared notes of the waiting threads of one process.
///
/// Times are nanoseconds of the machine's clock. All methods may be called in signal handlers.
/// Two threads that write at the same time may lose one of the two notes, which does no harm.
#[derive(Debug)]
pub struct Crowd {
    cpus: AtomicU32,
    spinning: AtomicU32,
    others: AtomicU32,
    credit: AtomicU32,
    met_at: AtomicU64,
    among_many: AtomicU32,
    taken: AtomicU32,
    slack_until: AtomicU64,
    slack_ns: AtomicU64,
    overloaded_at: AtomicU64,
    disturbed_at: AtomicU64,
    paused_until: AtomicU64,
    short_until: AtomicU64,
    vain: AtomicU32,
    vain_until: AtomicU64,
    together_since: AtomicU64,
    pause_ns: AtomicU64,
}

/// How a spin went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spun {
    /// It kept the CPU, and ended this late.
    Kept(Nanos),
    /// It offered the CPU, which other threads took and gave back soon, or did not take.
    Shared {
        /// How late it ended.
        late: Nanos,
        /// Whether one took it.
        is_taken: bool,
    },
    /// It offered the CPU, and a busy thread took it.
    Lost,
}

/// The fate of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// No thread took the CPU.
    Declined,
    /// A thread took it, and gave it back soon.
    Taken,
    /// A busy thread took it: the rest of the spin keeps the CPU.
    Lost,
}

impl Spun {
    /// A spin that offers the CPU begins.
    pub const OFFERED: Self = Self::Shared {
        late: Nanos::ZERO,
        is_taken: false,
    };

    /// An offer was made. Returns whether the spin offers the CPU again.
    #[must_use]
    pub fn goes_on(&mut self, offer: Offer) -> bool {
        let Self::Shared { is_taken, .. } = self else {
            return false;
        };
        *is_taken |= offer == Offer::Taken;
        let goes_on = offer != Offer::Lost;
        if !goes_on {
            *self = Self::Lost;
        }
        goes_on
    }

    /// The same when it ended, this late.
    #[must_use]
    pub fn ended(self, late: Nanos) -> Self {
        match self {
            Self::Kept(_) => Self::Kept(late),
            Self::Shared { is_taken, .. } => Self::Shared { late, is_taken },
            Self::Lost => self,
        }
    }
}

impl Crowd {
    /// Spins keep the CPU from this long before their end, so that it ends on time.
    pub const KEEPS: Nanos = Nanos::from_us(3);

    /// Among many spins naps keep up to this much timer slack, so that one interrupt wakes several.
    /// Linux gives a thread 50 us.
    pub const SLACK_MOST: Nanos = Nanos::from_us(200);

    /// A process in which no thread has waited yet.
    pub const fn new() -> Self {
        Self {
            cpus: AtomicU32::new(0),
            spinning: AtomicU32::new(0),
            others: AtomicU32::new(0),
            credit: AtomicU32::new(CREDIT_FIRST),
            met_at: AtomicU64::new(0),
            among_many: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            slack_until: AtomicU64::new(0),
            slack_ns: AtomicU64::new(SLACK_FIRST_NS),
            overloaded_at: AtomicU64::new(0),
            disturbed_at: AtomicU64::new(0),
            paused_until: AtomicU64::new(0),
            short_until: AtomicU64::new(0),
            vain: AtomicU32::new(0),
            vain_until: AtomicU64::new(0),
            together_since: AtomicU64::new(0),
            pause_ns: AtomicU64::new(PAUSE_FIRST_NS),
        }
    }

    /// Notes how many CPUs the process may use. Until it is known they are never overloaded.
    pub fn set_cpus(&self, cpus: u32) {
        self.cpus.store(cpus, Relaxed);
    }

    /// Whether [`set_cpus`](Self::set_cpus) was called.
    pub fn knows_cpus(&self) -> bool {
        self.cpus.load(Relaxed) > 0
    }

    /// A thread begins to spin `now`. Returns whether it offers the CPU.
    ///
    /// [`end`](Self::end) must follow.
    #[inline]
    pub fn begin(&self, now: u64) -> bool {
        let others = self.spinning.fetch_add(1, Relaxed);
        if others == 0 && !is_recent(&self.met_at, now, ALONE_NS) {
            self.together_since.store(0, Relaxed);
        }
        let mean = self.others.load(Relaxed);
        if others > 0 || mean > 0 {
            self.meet(others, mean, now);
        }
        if others > 0 {
            self.met_at.store(now, Relaxed);
            self.join(mean, now);
        } else if self.disturbed_at.load(Relaxed) == 0 {
            // The first wait of the process: it may be one of many processes that wait.
            self.disturbed_at.store(now, Relaxed);
        }
        let is_recent = |at| is_recent(at, now, MEMORY_NS);
        (others > 0 || is_recent(&self.met_at) || is_recent(&self.disturbed_at))
            && now >= self.paused_until.load(Relaxed)
            && now >= self.vain_until.load(Relaxed)
    }

    /// A thread that offers the CPU got it back `now`, after `took`.
    #[inline]
    pub fn offered(&self, now: u64, took: Nanos) -> Offer {
        if took <= TAKEN {
            return Offer::Declined;
        }
        let others = self.spinning.load(Relaxed);
        if took > (SOON + QUEUE.times(others.into())).min(SOON_MAX) {
            return Offer::Lost;
        }
        self.met_at.store(now, Relaxed);
        Offer::Taken
    }

    /// A spin ended `now`.
    #[inline]
    pub fn end(&self, now: u64, spun: Spun) {
        let _ = (self.spinning).fetch_update(Relaxed, Relaxed, |others| others.checked_sub(1));
        match spun {
            Spun::Kept(late) if late > DISTURBED && late < SOON => {
                self.disturbed_at.store(now, Relaxed);
            }
            Spun::Kept(_) => {}
            Spun::Shared { late, is_taken } => {
                self.earn();
                self.judge(now, late);
                self.share(now, is_taken);
            }
            Spun::Lost => self.lose(now),
        }
    }

    /// The most that a wait for `left` may spin that begins `now`: 5 us where several threads wait and
    /// busy threads take their offers, and where spins are in vain; a tenth of the wait where the CPUs
    /// are overloaded, but 60 us at least and 100 us at most; else there is no limit.
    #[inline]
    pub fn spin_most(&self, now: u64, left: Nanos) -> Nanos {
        let is_before = |until: &AtomicU64| now < until.load(Relaxed);
        if is_before(&self.short_until) || is_before(&self.vain_until) {
            SHORT
        } else if is_recent(&self.overloaded_at, now, MEMORY_NS) {
            Nanos::new(left.as_ns() / OVERLOADED_PART).clamp(OVERLOADED_LEAST, OVERLOADED_MOST)
        } else {
            Nanos::MAX
        }
    }

    /// A wait that [`spin_most`](Self::spin_most) limited ended `now`, this late.
    #[inline]
    pub fn end_limited(&self, now: u64, late: Nanos) {
        // Spins that are in vain are short for a second; then the others decide.
        if now < self.short_until.load(Relaxed) && now >= self.vain_until.load(Relaxed) {
            self.count_vain(now, late);
        }
    }

    /// Whether naps keep the timer slack of the thread, so that one interrupt wakes several. They do
    /// where spins meet many others. Where spins are short because of busy threads they do not,
    /// unless spins are in vain.
    #[inline]
    pub fn is_crowded(&self, now: u64) -> bool {
        let is_before = |until: &AtomicU64| now < until.load(Relaxed);
        is_before(&self.vain_until)
            || (is_before(&self.slack_until) && !is_before(&self.short_until))
    }

    /// Whether [`is_crowded`](Self::is_crowded) was ever true, for which no time is needed.
    #[inline]
    pub fn was_crowded(&self) -> bool {
        self.slack_until.load(Relaxed) > 0
    }

    /// The child of a fork has one thread: nothing holds for it that holds for several.
    pub fn forked(&self) {
        self.spinning.store(0, Relaxed);
        self.others.store(0, Relaxed);
        self.taken.store(0, Relaxed);
        let limits = [
            &self.vain_until,
            &self.overloaded_at,
            &self.slack_until,
            &self.short_until,
        ];
        limits.iter().for_each(|limit| limit.store(0, Relaxed));
    }

    /// A spin begins among others; the ones before met so many in the mean.
    fn join(&self, mean: u32, now: u64) {
        let since = self.together_since.load(Relaxed);
        if since == 0 {
            self.together_since.store(now, Relaxed);
        } else if now.saturating_sub(since) > OVERLOADED_NS {
            let cpus = self.cpus.load(Relaxed);
            // The mean of so many others as always spin comes near to them from below.
            let most = cpus.saturating_mul(OVERLOADED_BY * (ONE / MEAN));
            if cpus > 0 && mean.div_ceil(MEAN) >= most {
                // Another thread may have seen it at the same time: that counts once.
                let seen = &self.together_since;
                if seen.compare_exchange(since, now, Relaxed, Relaxed).is_ok() {
                    self.overloaded_at.store(now, Relaxed);
                    self.keep_slack(now);
                }
            }
        }
    }

    /// Naps keep their slack for a while.
    fn keep_slack(&self, now: u64) {
        if now < self.slack_until.load(Relaxed) {
            return;
        }
        let slack_ns = self.slack_ns.load(Relaxed);
        self.slack_until
            .store(now.saturating_add(slack_ns), Relaxed);
        self.slack_ns
            .store((slack_ns * 2).min(SLACK_MAX_NS), Relaxed);
    }

    /// A spin ended `now` that offered the CPU, and others took it or not.
    fn share(&self, now: u64, is_taken: bool) {
        let taken = self.taken.load(Relaxed);
        let next = taken - taken.div_ceil(MEAN) + u32::from(is_taken) * (ONE / MEAN);
        if next != taken {
            self.taken.store(next, Relaxed);
        }
        if next > MOST && self.others.load(Relaxed) == 0 {
            self.keep_slack(now);
        }
    }

    /// A spin that offered the CPU ended `now`, this late.
    fn judge(&self, now: u64, late: Nanos) {
        // The slack comes first.
        if late < VAIN || now < self.slack_until.load(Relaxed) {
            self.count_vain(now, late);
        }
    }

    /// One more that ended `now` in vain, or not.
    fn count_vain(&self, now: u64, late: Nanos) {
        let vain = self.vain.load(Relaxed);
        let next = match late < VAIN {
            true => vain.saturating_sub(1),
            false => (vain + 1) % (VAIN_MANY + 1),
        };
        if next == vain {
            return;
        }
        // Another thread may note one at the same time: one of the two counts.
        let noted = self.vain.compare_exchange(vain, next, Relaxed, Relaxed);
        if noted.is_ok() && vain == VAIN_MANY && next == 0 {
            let until = now.saturating_add(VAIN_LASTS_NS);
            self.vain_until.store(until, Relaxed);
            self.keep_slack(now);
            // The limit is there when spins begin again.
            self.overloaded_at.store(until, Relaxed);
        }
    }

    /// A spin begins `now` among `others`, which were so many in the mean before.
    fn meet(&self, others: u32, mean: u32, now: u64) {
        let mean = mean - mean.div_ceil(MEAN) + others.min(MEAN) * (ONE / MEAN);
        self.others.store(mean, Relaxed);
        let among_many = self.among_many.load(Relaxed);
        if mean < MANY {
            // A mean of 0 is not counted further.
            let fewer = match mean {
                0 => 0,
                _ => among_many.saturating_sub(1),
            };
            if fewer < among_many {
                self.among_many.store(fewer, Relaxed);
            }
        } else if among_many < AMONG_MANY {
            self.among_many.store(among_many + 1, Relaxed);
        } else {
            self.keep_slack(now);
        }
    }

    /// Whether several threads wait, as seen by a spin that just met a busy thread. Where that was
    /// so before, one other spin is enough: short spins meet few.
    fn has_several(&self, now: u64, is_among_others: bool) -> bool {
        is_recent(&self.overloaded_at, now, MEMORY_NS)
            || self.others.load(Relaxed) > SEVERAL
            || (is_among_others && self.short_until.load(Relaxed) > 0)
    }

    fn earn(&self) {
        let credit = self.credit.load(Relaxed);
        if credit < CREDIT_MAX {
            self.credit.store(credit + 1, Relaxed);
        }
        let pause = self.pause_ns.load(Relaxed);
        if pause > PAUSE_FIRST_NS {
            self.pause_ns.store(pause - pause / PAUSE_FADES, Relaxed);
        }
    }

    #[cold]
    fn lose(&self, now: u64) {
        let is_among_others = self.spinning.load(Relaxed) > 0;
        let price = if is_among_others { BUSY_AMONG } else { BUSY };
        let left = self.credit.load(Relaxed).checked_sub(price);
        self.credit.store(left.unwrap_or(0), Relaxed);
        // Others lose at the same time: that counts once.
        if left.is_none() && now >= self.paused_until.load(Relaxed) {
            let is_shared = self.has_several(now, is_among_others);
            let most = if is_shared {
                SHORT_MAX_NS
            } else {
                PAUSE_MAX_NS
            };
            let pause = self.pause_ns.load(Relaxed);
            let until = now.saturating_add(pause.min(most));
            self.paused_until.store(until, Relaxed);
            if is_shared {
                self.short_until.store(until, Relaxed);
            }
            self.pause_ns.store((pause * 4).min(PAUSE_MAX_NS), Relaxed);
        }
    }
}

impl Default for Crowd {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn is_recent(at: &AtomicU64, now: u64, memory_ns: u64) -> bool {
    let at = at.load(Relaxed);
    at > 0 && now.saturating_sub(at) < memory_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// After the first wait is forgotten.
    const LATER: u64 = 1_000 * MS;

    /// A process whose first wait was long ago.
    fn quiet() -> Crowd {
        let crowd = Crowd::new();
        crowd.begin(MS);
        crowd.end(MS, Spun::Kept(Nanos::ZERO));
        crowd
    }

    /// One thread spins alone, and offers the CPU if it is to; each yield takes so long.
    fn spin(crowd: &Crowd, now: u64, took: Nanos) -> bool {
        let offers = crowd.begin(now);
        let mut spun = match offers {
            false => Spun::Kept(Nanos::ZERO),
            true => Spun::OFFERED,
        };
        let _ = spun.goes_on(crowd.offered(now, took));
        crowd.end(now, spun);
        offers
    }

    #[test]
    fn who_waits_alone_keeps_the_cpu() {
        let crowd = quiet();
        for wait in 0..100 {
            assert!(!crowd.begin(LATER + wait * MS));
            crowd.end(LATER + wait * MS, Spun::Kept(Nanos::from_us(wait % 50)));
            assert!(!crowd.was_crowded());
        }
    }

    #[test]
    fn the_first_waits_of_a_process_offer_it() {
        let crowd = Crowd::new();
        assert!(spin(&crowd, LATER, Nanos::new(500)));
        assert!(spin(&crowd, LATER + 200 * MS, Nanos::new(500)));
        assert!(!spin(&crowd, LATER + 500 * MS, Nanos::new(500)));
    }

    #[test]
    fn it_is_offered_among_others_and_for_a_while_after() {
        let crowd = quiet();
        assert!(!crowd.begin(LATER));
        assert!(crowd.begin(LATER + 1));
        crowd.end(LATER + 2, Spun::OFFERED);
        crowd.end(LATER + 2, Spun::Kept(Nanos::ZERO));
        assert!(spin(&crowd, LATER + 200 * MS, Nanos::new(500)));
        assert!(!spin(&crowd, LATER + 260 * MS, Nanos::new(500)));
        // Another process takes it: that is remembered too.
        crowd.begin(LATER + 500 * MS);
        crowd.end(LATER + 500 * MS, Spun::Kept(Nanos::from_us(80)));
        for wait in 1..20 {
            let now = LATER + (500 + wait * 200) * MS;
            assert!(spin(&crowd, now, Nanos::from_us(20)));
        }
    }

    /// A spin `now` that meets as many others.
    fn meet(crowd: &Crowd, now: u64, others: u32) {
        (0..=others).for_each(|_| _ = crowd.begin(now));
        (0..=others).for_each(|_| crowd.end(now, Spun::OFFERED));
    }

    /// Two CPUs on which `others` spin all the time from `from` on, and another for 40 ms.
    fn overload(crowd: &Crowd, from: u64, others: u32) -> u64 {
        crowd.set_cpus(2);
        (0..others).for_each(|_| _ = crowd.begin(from));
        // Enough for the mean.
        for at in 1..40 {
            for _ in 0..MEAN {
                crowd.begin(from + at * MS);
                crowd.end(from + at * MS, Spun::OFFERED);
            }
        }
        (0..others).for_each(|_| crowd.end(from + 40 * MS, Spun::OFFERED));
        from + 40 * MS
    }

    /// A wait of 100 us.
    fn most(crowd: &Crowd, now: u64) -> Nanos {
        crowd.spin_most(now, Nanos::from_us(100))
    }

    #[test]
    fn spins_are_limited_where_some_threads_always_spin() {
        for others in [4, 30] {
            let crowd = quiet();
            let now = overload(&crowd, LATER, others);
            let of = |wait| crowd.spin_most(now, wait);
            assert_eq!(of(Nanos::from_us(200)), OVERLOADED_LEAST);
            assert_eq!(of(Nanos::from_us(800)), Nanos::from_us(80));
            assert_eq!(of(Nanos::from_ms(20)), OVERLOADED_MOST);
            assert_eq!(most(&crowd, now + 250 * MS), Nanos::MAX);
        }
        // A thread that was killed while it spun is counted for ever, and does not matter.
        for others in [1, 3] {
            let crowd = quiet();
            let now = overload(&crowd, LATER, others);
            assert_eq!(most(&crowd, now), Nanos::MAX);
        }
        // Threads that wait for the same instants are alone in between.
        let crowd = quiet();
        for instant in 0..100 {
            meet(&crowd, LATER + instant * MS, 30);
        }
        assert_eq!(most(&crowd, LATER + 100 * MS), Nanos::MAX);
    }

    #[test]
    fn naps_keep_their_slack_where_other_processes_take_most_offers() {
        let [taken, declined] = [20_000, 500].map(Nanos::new);
        let after = |offers: &[Nanos]| {
            let crowd = Crowd::new();
            let spins = offers.iter().zip(1..);
            spins.for_each(|(took, wait)| assert!(spin(&crowd, wait * MS, *took)));
            crowd.was_crowded()
        };
        assert!(after(&[taken; 64]) && !after(&[taken; 16]));
        assert!(!after(&[declined, taken].repeat(100)));
        // Own threads take the others.
        let crowd = Crowd::new();
        for wait in 1..100 {
            crowd.begin(wait * MS);
            spin(&crowd, wait * MS, taken);
            crowd.end(wait * MS, Spun::OFFERED);
        }
        assert!(!crowd.was_crowded());
    }

    #[test]
    fn waits_that_are_late_although_spins_are_short_are_in_vain() {
        let crowd = quiet();
        let ends = |late: Nanos| (0..2 * VAIN_MANY).for_each(|_| crowd.end_limited(LATER, late));
        // Spins are not short yet.
        ends(VAIN);
        assert!(!crowd.was_crowded());
        crowd.short_until.store(LATER + MS, Relaxed);
        ends(VAIN - Nanos::new(1));
        assert!(!crowd.is_crowded(LATER));
        ends(VAIN);
        assert!(crowd.was_crowded() && crowd.is_crowded(LATER));
        assert_eq!(most(&crowd, LATER + 2 * MS), SHORT);
        // They are counted once.
        assert_eq!(crowd.vain.load(Relaxed), 0);
    }

    #[test]
    fn naps_keep_their_slack_where_spins_meet_many_others_for_long() {
        let crowd = quiet();
        // Each meets none, one and two others: 1 in the mean.
        let spins = |many: u32| (0..many / 3).for_each(|_| meet(&crowd, LATER, 2));
        let few = |many| (0..many).for_each(|_| meet(&crowd, LATER, 0));
        for _ in 0..10 {
            spins(AMONG_MANY / 2);
            few(AMONG_MANY / 2);
        }
        assert!(!crowd.was_crowded());
        spins(AMONG_MANY + MEAN);
        assert!(crowd.is_crowded(LATER) && crowd.is_crowded(LATER + 1_999 * MS));
        assert_eq!(most(&crowd, LATER), Nanos::MAX);
        // Then it begins anew, and lasts twice as long.
        let later = LATER + 2_000 * MS;
        assert!(!crowd.is_crowded(later));
        meet(&crowd, later, 1);
        assert!(crowd.is_crowded(later + 3_999 * MS) && !crowd.is_crowded(later + 4_000 * MS));
    }

    /// Of many waits a second some begin while no thread spins, by chance.
    #[test]
    fn a_moment_without_spins_ends_no_overload() {
        let overloaded = |idle_ns| {
            let crowd = quiet();
            crowd.set_cpus(2);
            for at in (LATER..LATER + 80 * MS).step_by(idle_ns as usize) {
                // The first of them is alone.
                (0..4).for_each(|_| meet(&crowd, at, 15));
            }
            crowd.overloaded_at.load(Relaxed) > 0
        };
        assert!(overloaded(ALONE_NS - 1));
        assert!(!overloaded(ALONE_NS));
    }

    /// As many spins that offered the CPU end `now`, this late.
    fn share(crowd: &Crowd, now: u64, spins: u32, late: Nanos) {
        (0..spins).for_each(|_| crowd.end(now, Spun::OFFERED.ended(late)));
    }

    #[test]
    fn spins_are_short_and_keep_the_cpu_where_they_are_in_vain() {
        let crowd = quiet();
        // While naps have no slack, that is tried first.
        share(&crowd, LATER, 2 * VAIN_MANY, VAIN);
        let now = overload(&crowd, LATER, 4);
        // Half of the spins end on time, or all of them nearly.
        for _ in 0..2 * VAIN_MANY {
            share(&crowd, now, 1, VAIN);
            share(&crowd, now, 1, Nanos::ZERO);
        }
        share(&crowd, now, 2 * VAIN_MANY, VAIN - Nanos::new(1));
        assert_eq!(most(&crowd, now), OVERLOADED_LEAST);
        crowd.begin(now);
        assert!(crowd.begin(now), "among others");

        share(&crowd, now, VAIN_MANY + 1, VAIN);
        assert_eq!(most(&crowd, now), SHORT);
        assert!(crowd.is_crowded(now) && !crowd.begin(now));
        // Busy threads or not.
        (0..40).for_each(|_| crowd.lose(now));
        assert!(crowd.is_crowded(now));
        let later = now + 1_001 * MS;
        assert_eq!(most(&crowd, later), OVERLOADED_LEAST);
        assert_eq!(most(&crowd, later + 250 * MS), Nanos::MAX);
    }

    #[test]
    fn busy_threads_get_ever_fewer_offers() {
        let crowd = Crowd::new();
        let mut lost = 0;
        // Ten minutes at 1 kHz, each wait disturbed and each offer taken for a slice.
        for wait in 1..600_000 {
            crowd.disturbed_at.store(wait * MS, Relaxed);
            lost += u64::from(spin(&crowd, wait * MS, Nanos::from_ms(3)));
        }
        assert!((20..60).contains(&lost), "{lost}");
    }

    /// A spin beside busy threads, which meets as many others and loses the CPU.
    fn lose(crowd: &Crowd, now: u64, others: u32) {
        (0..others).for_each(|_| _ = crowd.begin(now));
        crowd.begin(now);
        crowd.end(now, Spun::Lost);
        (0..others).for_each(|_| crowd.end(now, Spun::Kept(Nanos::ZERO)));
    }

    #[test]
    fn spins_are_short_while_busy_threads_take_the_offers_of_several_threads() {
        let crowd = quiet();
        for wait in 0..20 {
            assert_eq!(most(&crowd, LATER + wait), Nanos::MAX);
            meet(&crowd, LATER + wait, 1);
        }
        (0..20).for_each(|wait| lose(&crowd, LATER + MS + wait, 1));
        assert_eq!(most(&crowd, LATER + 2 * MS), SHORT);
        assert_eq!(most(&crowd, LATER + 140 * MS), Nanos::MAX);
        // Few spins meet others then, and the next losses tell as well.
        crowd.others.store(0, Relaxed);
        (0..4).for_each(|wait| lose(&crowd, LATER + 140 * MS + wait, 1));
        assert_eq!(most(&crowd, LATER + 141 * MS), SHORT);
        for second in 1..100 {
            let now = LATER + second * 5_000 * MS;
            (0..20).for_each(|_| lose(&crowd, now, 1));
            assert_eq!(most(&crowd, now + MS), SHORT);
            assert_eq!(most(&crowd, now + 4_001 * MS), Nanos::MAX);
        }
    }

    #[test]
    fn who_waits_alone_beside_busy_threads_spins_as_long_as_it_likes() {
        let crowd = quiet();
        for wait in 0..1_000 {
            crowd.disturbed_at.store(LATER + wait * MS, Relaxed);
            spin(&crowd, LATER + wait * MS, Nanos::from_ms(3));
            assert_eq!(most(&crowd, LATER + wait * MS), Nanos::MAX);
        }
        assert!(crowd.paused_until.load(Relaxed) > LATER);
    }

    #[test]
    fn a_long_queue_now_and_then_ends_no_sharing() {
        let crowd = Crowd::new();
        for wait in 1..10_000 {
            crowd.disturbed_at.store(wait * MS, Relaxed);
            let took = if wait % 20 == 0 {
                Nanos::from_ms(1)
            } else {
                Nanos::from_us(30)
            };
            assert!(spin(&crowd, wait * MS, took), "{wait}");
        }
    }

    #[test]
    fn a_pause_that_was_long_fades_where_offers_come_back() {
        let crowd = Crowd::new();
        for wait in 1..100_000 {
            crowd.disturbed_at.store(wait * MS, Relaxed);
            spin(&crowd, wait * MS, Nanos::from_ms(3));
        }
        let long = crowd.pause_ns.load(Relaxed);
        assert_eq!(long, PAUSE_MAX_NS);
        for wait in 200_000..201_000 {
            crowd.disturbed_at.store(wait * MS, Relaxed);
            spin(&crowd, wait * MS, Nanos::from_us(30));
        }
        assert!(crowd.pause_ns.load(Relaxed) <= PAUSE_FIRST_NS);
    }

    #[test]
    fn a_fork_while_others_spin_leaves_nobody_counted() {
        let crowd = quiet();
        crowd.begin(LATER);
        crowd.forked();
        // The thread that forked may have been one of them.
        crowd.end(LATER, Spun::Kept(Nanos::ZERO));
        assert!(!crowd.begin(LATER + 300 * MS));
    }

    #[test]
    fn the_child_of_a_fork_has_no_limit() {
        let crowd = quiet();
        let now = overload(&crowd, LATER, 4);
        share(&crowd, now, VAIN_MANY + 1, VAIN);
        (0..40).for_each(|_| crowd.lose(now));
        assert!(crowd.is_crowded(now) && crowd.short_until.load(Relaxed) > now);
        crowd.forked();
        assert_eq!(most(&crowd, now), Nanos::MAX);
        assert!(!crowd.is_crowded(now) && !crowd.was_crowded());
    }

    #[test]
    fn who_waits_alone_after_a_crowd_is_none() {
        let crowd = quiet();
        let now = overload(&crowd, LATER, 4) + 1_000 * MS;
        // The spins of the crowd are forgotten, its slack is not.
        (0..2_000).for_each(|_| meet(&crowd, now, 0));
        assert!(crowd.is_crowded(now));
        (0..10).for_each(|_| lose(&crowd, now, 0));
        assert!(crowd.paused_until.load(Relaxed) > now);
        assert_eq!(most(&crowd, now), Nanos::MAX);
    }
}
