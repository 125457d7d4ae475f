//! Whether naps end on the ticks of a clock, and when those come.

use std::mem;

/// Ticks closer together than this are of no use to a waiter.
const PERIOD_MIN_NS: f64 = 300_000.0;
/// No known clock ticks more slowly than 64 times a second.
const PERIOD_MAX_NS: f64 = 17_000_000.0;
/// After this many periods without a nap on them, ticks may be gone.
const FRESH: f64 = 8.0;
/// A nap that ends off a tick by this part of a period, or by this much more than
/// usual, was disturbed; this many in a row end the belief in ticks.
const OFF: f64 = 1.0 / 16.0;
const OFF_NS: f64 = 20_000.0;
const DOUBTED: u8 = 2;
/// A nap that ends so many periods late did not end on a tick.
const FAR: f64 = 2.5;
/// Ticks are used while wakes are off them by less than this part of a period, and by less than
/// this. Chance would make it a quarter.
const BELIEVED: f64 = 1.0 / 32.0;
const BELIEVED_NS: f64 = 50_000.0;
/// Two naps that end whole periods apart are evidence if they were due this far from whole periods
/// apart. Otherwise it may be the rhythm of the waits themselves.
const TELLS_NS: f64 = 100_000.0;
/// Wakes further apart than this say nothing about the period.
const DISTANCE_MAX_NS: f64 = 200_000_000.0;
/// The variance of a wake about its tick: 6 us.
const NOISE: f64 = 32e6;
/// The delay of a wake-up after steps, until it is known.
const WAKING_NS: f64 = 12_000.0;
/// By this the variances of the tick and of the period grow with each wake, as clocks drift.
const PHASE_DRIFT: f64 = 1e6;
const DRIFT: f64 = 4.0;
/// A period is known after this many distances in a row that are multiples of it.
const AGREE: u32 = 8;
/// How exactly a tick is known, and the least time from now to one that is aimed at.
const JUST_NS: f64 = 10_000.0;
/// Wakes are off their tick by up to so many times their mean distance from it.
const SPREAD: f32 = 3.0;
/// Waits follow each other in a rhythm if it is off by at most this part of a step.
const IRREGULAR: f32 = 1.0 / 16.0;
/// Waits that end later or earlier by more than this tell whether the next ones follow; and the
/// step of their running mean.
const FOLLOWED_NS: f32 = 1e3;
const FOLLOWED_STEP: f32 = 1.0 / 4.0;
/// For so many waits the cost of being late is followed.
const AHEAD: u8 = 32;
/// The step of running means.
const STEP: f32 = 1.0 / 16.0;

/// The ticks on which naps end.
///
/// The distances between wakes are multiples of the period. The first distance is the
/// first guess. One that is no multiple of the guess leaves a remainder, which is the
/// next guess, as in Euclid's algorithm; one that is sharpens it. Where naps end at any
/// time, the guess soon becomes shorter than any tick. From then on a Kalman filter
/// follows phase and period together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    kind: Kind,
    period: f64,
    /// A tick, in nanoseconds of the waiter's clock; of steps, how long after a whole
    /// number of them a nap ends.
    tick: f64,
    /// The variances of the tick and of the period, and their covariance.
    of_tick: f64,
    of_period: f64,
    of_both: f64,
    agree: u32,
    last_wake: Option<u64>,
    /// When the last nap was due, or of steps its asked length.
    last_place: f64,
    /// Naps in a row that did not end on a tick.
    off_it: u8,
    /// The mean distance of wakes from ticks, by naps that are evidence of ticks, and by all.
    off_ns: f32,
    spread_ns: f32,
    /// The share of naps that end one tick too late.
    next: f32,
    rhythm: Rhythm,
}

/// How waits follow each other. Where their deadlines are at a rate, one that ends late has the
/// steps of the next one begin later.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rhythm {
    /// Of the last wait: how late a nap would end at the first step after the deadline. And how
    /// late the wait before it ended.
    last_ns: (f32, f32),
    /// The first of these, if the wait before ended on time; and the mean distance from it.
    lag_ns: f32,
    off_ns: f32,
    /// The share of waits that followed the lateness of the wait before.
    follows: f32,
}

impl Rhythm {
    /// Unknown, with steps of this length.
    fn unknown(step_ns: f64) -> Self {
        Self {
            last_ns: (0.0, 0.0),
            lag_ns: 0.0,
            off_ns: step_ns as f32 * IRREGULAR * 2.0,
            follows: 1.0,
        }
    }

    /// Learns how late a nap from the begin of a wait would end, at the first step after its
    /// deadline. The wait before ended `late_ns` late.
    fn learn(&mut self, ends_ns: f32, late_ns: f32, step_ns: f32) {
        let within = |ns: f32| ns - (ns / step_ns).round() * step_ns;
        let off = within(ends_ns - late_ns - self.lag_ns);
        self.lag_ns = (self.lag_ns + off * STEP).rem_euclid(step_ns);
        self.off_ns += (off.abs() - self.off_ns) * STEP;
        let (last_ends, last_late) = mem::replace(&mut self.last_ns, (ends_ns, late_ns));
        let (moved, later) = (ends_ns - last_ends, late_ns - last_late);
        if later.abs() > FOLLOWED_NS {
            let follows = within(moved - later).abs() < within(moved).abs();
            self.follows += (f32::from(u8::from(follows)) - self.follows) * FOLLOWED_STEP;
        }
    }

    /// Whether the lateness of the wait before explains where naps end. It does not where
    /// deadlines are a length after the begin, or where work varies by much of a step.
    fn is_known(&self, step_ns: f32) -> bool {
        self.off_ns < IRREGULAR * step_ns && self.follows > 0.5
    }

    /// How much more the next waits cost after one that ends `late_ns` late than after one on time.
    /// Each ends at the first step after its deadline, until one spins and ends on time.
    fn carries(&self, late_ns: f32, late_weight: f32, step_ns: f32) -> f32 {
        if !self.is_known(step_ns) {
            return 0.0;
        }
        // The cost of so many waits, of which the last ends on time.
        let costs = |mut late: f32| {
            let mut before = 0.0;
            (1..=AHEAD).map(move |waits| {
                late += self.lag_ns;
                if late >= step_ns {
                    late -= step_ns;
                }
                let all = before + step_ns - late;
                before += late_weight * late;
                (f32::from(waits), all)
            })
        };
        let mean = costs(0.0)
            .map(|(waits, cost)| cost / waits)
            .fold(f32::MAX, f32::min);
        let more = costs(late_ns).map(|(waits, cost)| cost - waits * mean);
        more.fold(f32::MAX, f32::min)
    }
}

/// The period and the phase of the ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of a clock that runs by itself.
    Clock,
    /// Of a clock that starts with each nap, which so takes a whole number of steps.
    Steps,
}

/// A nap that ends on a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Aim {
    /// When to ask to be woken, in nanoseconds of the waiter's clock.
    pub(crate) due: u64,
    /// The expected cost after the nap.
    pub(crate) cost_ns: f32,
}

impl Grid {
    /// No period known.
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            period: 0.0,
            tick: WAKING_NS,
            of_tick: NOISE,
            of_period: 0.0,
            of_both: 0.0,
            agree: 0,
            last_wake: None,
            last_place: 0.0,
            off_it: 0,
            off_ns: 0.0,
            spread_ns: 0.0,
            next: 0.0,
            rhythm: Rhythm::unknown(0.0),
        }
    }

    /// Learns that a wait begins with so much left until its deadline, and how late the one before
    /// it ended. For [steps](Kind::Steps) only.
    #[inline]
    pub(crate) fn begin(&mut self, left_ns: u64, late_ns: f32) {
        if self.is_known() {
            let ends = (self.tick - left_ns as f64).rem_euclid(self.period);
            (self.rhythm).learn(ends as f32, late_ns, self.period as f32);
        }
    }

    /// The period, if naps end on ticks.
    pub(crate) fn period_ns(&self) -> Option<f64> {
        let is_near = f64::from(self.off_ns) < BELIEVED_NS.min(self.period * BELIEVED);
        (self.is_known() && is_near).then_some(self.period)
    }

    /// Whether a nap ended on a tick shortly before `now`.
    pub(crate) fn is_fresh(&self, now: u64) -> bool {
        let since = |last| now.saturating_sub(last) as f64;
        let is_fresh = |last| since(last) < FRESH * self.period;
        self.off_it == 0 && self.last_wake.is_some_and(is_fresh)
    }

    /// Whether the last nap did not end on a tick.
    pub(crate) fn is_doubted(&self) -> bool {
        self.off_it > 0
    }

    /// The mean distance of wakes from ticks.
    pub(crate) fn off_ns(&self) -> f32 {
        self.off_ns
    }

    fn is_known(&self) -> bool {
        self.agree >= AGREE
    }

    /// Learns that a nap from `begin` that was to end at `due` ended at `woke`.
    pub(crate) fn learn(&mut self, begin: u64, due: u64, woke: u64) {
        let is_first = self.last_wake.replace(woke).is_none();
        let (begin, due, woke) = (begin as f64, due as f64, woke as f64);
        let tells = self.tells(begin, due);
        let is_known = self.is_known();
        let from = self.first_tick(begin);
        let distance = woke - from;
        let n = (distance / self.period).round();
        let off = distance - n * self.period;
        let uncertain = 3.0 * self.of_wake(n).sqrt();
        let usual = (OFF_NS + f64::from(self.off_ns)).min(OFF * self.period);
        let is_certain = uncertain < self.period / 4.0;
        let is_off = woke - due > FAR * self.period || is_certain && off.abs() > uncertain + usual;
        if is_known && is_off {
            self.off_it += 1;
            if self.off_it >= DOUBTED {
                self.guess(0.0, NOISE);
            }
        } else if is_certain && (is_known || tells && off.abs() < uncertain) {
            self.off_it = 0;
            let is_next = n > ((due + JUST_NS - from) / self.period).ceil();
            self.next += (f32::from(u8::from(is_next)) - self.next) * STEP;
            let off_ns = off.abs() as f32;
            self.spread_ns += (off_ns - self.spread_ns) * STEP;
            if tells {
                self.off_ns += (off_ns - self.off_ns) * STEP;
            }
            self.follow(n, off);
        } else {
            if !is_known && !is_first && tells {
                // A guess that cannot tell the next tick is of no use.
                let one = 3.0 * self.of_wake(1.0).sqrt();
                if n == 0.0 || one > self.period / 4.0 {
                    self.guess(distance, NOISE);
                } else if is_certain {
                    self.guess(off.abs(), self.of_wake(n));
                }
            }
            if self.kind == Kind::Clock {
                (self.tick, self.of_tick, self.of_both) = (woke, NOISE, 0.0);
            }
        }
    }

    /// A wake `n` periods after the first tick was off by `off`.
    fn follow(&mut self, n: f64, off: f64) {
        let of_wake = self.of_wake(n);
        let with_tick = self.of_tick + n * self.of_both;
        let with_period = self.of_both + n * self.of_period;
        self.tick += with_tick / of_wake * off;
        self.period += with_period / of_wake * off;
        self.of_tick -= with_tick * with_tick / of_wake - PHASE_DRIFT;
        self.of_both -= with_tick * with_period / of_wake;
        self.of_period -= with_period * with_period / of_wake - DRIFT;
        if self.kind == Kind::Clock {
            self.tick += n * self.period;
            self.of_tick += n * (2.0 * self.of_both + n * self.of_period);
            self.of_both += n * self.of_period;
        }
        if n >= 1.0 && self.period < PERIOD_MAX_NS {
            self.agree = self.agree.saturating_add(1);
            if self.agree == AGREE {
                self.spread_ns = self.off_ns;
                self.rhythm = Rhythm::unknown(self.period);
            }
        }
    }

    /// The variance of a wake so many periods after the first tick.
    fn of_wake(&self, n: f64) -> f64 {
        self.of_tick + n * (2.0 * self.of_both + n * self.of_period) + NOISE
    }

    /// Whether it is certain how many periods a nap from `now` to `deadline` has.
    pub(crate) fn reaches(&self, now: u64, deadline: u64) -> bool {
        let n = (deadline as f64 - self.first_tick(now as f64)) / self.period;
        3.0 * self.of_wake(n).sqrt() < self.period / 4.0
    }

    /// Whether a nap until `due` is evidence for or against ticks. One that was due whole periods
    /// after the last ends whole periods after it in any case.
    fn tells(&mut self, begin: f64, due: f64) -> bool {
        let place = due - self.origin(begin);
        let moved = place - mem::replace(&mut self.last_place, place);
        if self.period == 0.0 {
            return true;
        }
        let off = moved - (moved / self.period).round() * self.period;
        off.abs() > TELLS_NS.min(OFF * self.period)
    }

    /// Where the ticks that a nap from `begin` on sees are counted from.
    fn origin(&self, begin: f64) -> f64 {
        match self.kind {
            Kind::Clock => 0.0,
            Kind::Steps => begin,
        }
    }

    /// A tick that a nap from `begin` on sees.
    fn first_tick(&self, begin: f64) -> f64 {
        self.origin(begin) + self.tick
    }

    /// Guesses that the period is `length`, if it can be one.
    fn guess(&mut self, length: f64, variance: f64) {
        let plausible = (PERIOD_MIN_NS..DISTANCE_MAX_NS).contains(&length);
        self.period = if plausible { length } else { 0.0 };
        (self.of_tick, self.of_both, self.of_period) = (NOISE, 0.0, variance);
        self.tick = WAKING_NS;
        (self.agree, self.off_it, self.next) = (0, 0, 0.0);
        self.off_ns = (BELIEVED_NS.min(self.period * BELIEVED) / 2.0) as f32;
    }

    /// The nap from `now` on that ends on the tick that costs least, where a nanosecond
    /// before `deadline` costs 1 and one after it `late_weight`. A wait may spin for `spin_most_ns`.
    pub(crate) fn aim(
        &self,
        now: u64,
        deadline: u64,
        late_weight: f32,
        spin_most_ns: f64,
    ) -> Option<Aim> {
        let (now, deadline) = (now as f64, deadline as f64);
        let from = self.first_tick(now);
        let last = from + ((deadline - from) / self.period).floor() * self.period;
        let spread = SPREAD * self.spread_ns + 1.0;
        let cost = |tick: f64| {
            let left = (deadline - tick) as f32;
            // Wakes are spread evenly about ticks.
            let beyond = (spread - left.abs()).max(0.0);
            let both = beyond * beyond / (4.0 * spread);
            left.max(-left * late_weight) + both * (1.0 + late_weight)
        };
        // A single nap may have been disturbed.
        let often = if self.next > 2.0 * STEP {
            self.next
        } else {
            0.0
        };
        // The next waits can end on time only if they may spin for a step.
        let may_carry = self.kind == Kind::Steps && self.period < spin_most_ns;
        let carries = |late: f64| match may_carry && late > 0.0 {
            true => (self.rhythm).carries(late as f32, late_weight, self.period as f32),
            false => 0.0,
        };
        let aim = |ahead: i32| {
            let tick = last + f64::from(ahead) * self.period;
            let next = cost(tick + self.period);
            Aim {
                // Half a period before the tick, so that small errors do not matter.
                due: (tick - self.period / 2.0).min(deadline).max(now + 1_000.0) as u64,
                cost_ns: cost(tick) + often * (next - cost(tick)) + carries(tick - deadline),
            }
        };
        let soonest = match self.kind {
            Kind::Clock => now + JUST_NS,
            // One step.
            Kind::Steps => from + self.period / 2.0,
        };
        (-1..=1)
            .filter(|ahead| last + f64::from(*ahead) * self.period > soonest)
            .map(aim)
            .min_by(|a, b| a.cost_ns.total_cmp(&b.cost_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_NS: f32 = 500e3;

    fn lag(at_ns: f32) -> Rhythm {
        Rhythm {
            lag_ns: at_ns,
            off_ns: 0.0,
            ..Rhythm::unknown(STEP_NS.into())
        }
    }

    /// The first whole microsecond at which it costs less to spin from the step before.
    fn spun_from(rhythm: Rhythm, late_weight: f32) -> Option<u16> {
        (0..500).find(|late| {
            let late_ns = f32::from(*late) * 1e3;
            let late_cost = late_weight * late_ns;
            let carried = rhythm.carries(late_ns, late_weight, STEP_NS);
            late_cost + carried > STEP_NS - late_ns
        })
    }

    #[test]
    fn lateness_that_grows_with_each_wait_ends_where_the_mean_cost_is_least() {
        let grows = lag(2e3);
        // The mean cost of cycles is least at sqrt(2 x 500 us x 2 us / weight).
        for (late_weight, us) in [(1.0, 44), (10.0, 14), (100.0, 4)] {
            let from = spun_from(grows, late_weight).unwrap();
            assert!(from.abs_diff(us) <= 2, "{late_weight}: {from}");
        }
        // After half a step that comes again, a nap ends on time by itself.
        let halves = lag(250e3);
        assert!(halves.carries(249e3, 1.0, STEP_NS) < -100e3);
    }

    #[test]
    fn lateness_counts_for_the_next_wait_where_that_ends_later_by_it() {
        let mut rhythm = Rhythm::unknown(STEP_NS.into());
        // How late naps end, where the waits before end late by 0 to 16 us.
        let mut learn = |ends_us: fn(u16, u16) -> u16| {
            for i in 0..200 {
                let late_us = i % 5 * 4;
                let ends_us = ends_us(i, late_us) % 500;
                rhythm.learn(f32::from(ends_us) * 1e3, f32::from(late_us) * 1e3, STEP_NS);
            }
            spun_from(rhythm, 1.0)
        };
        // Work at random between waits; deadlines a length after each begin.
        assert_eq!(learn(|i, _| i * 79), Some(251));
        assert_eq!(learn(|_, _| 2), Some(251));
        assert!(learn(|_, late| 2 + late).is_some_and(|us| (40..48).contains(&us)));
        assert_eq!(learn(|_, _| 2), Some(251));
    }

    /// Naps of many lengths that end on a grid, with an error of a few
    /// microseconds; a nap asked for `lag` ticks too long.
    fn naps(grid: &mut Grid, period: f64, jitter: f64, lag: f64, count: u64) -> u64 {
        let mut now = 5_000_000_000.0;
        for i in 0..count {
            let chance = ((i * 7919 + 13) % 101) as f64 / 101.0;
            let due = now + 30_000.0 + chance * 17e6;
            let ends =
                ((due / period).ceil() + lag) * period + jitter * ((i * 31 % 7) as f64 / 7.0);
            grid.learn(now as u64, due as u64, ends as u64);
            now = ends + ((i * 37 % 11) as f64) * 50_000.0;
        }
        now as u64
    }

    #[test]
    fn grids_are_found() {
        for period in [
            15_625_000.0,
            15_600_100.0,
            1_000_000.0,
            976_563.0,
            500_000.0,
        ] {
            for lag in [0.0, 1.0] {
                let mut grid = Grid::new(Kind::Clock);
                naps(&mut grid, period, 6_000.0, lag, 60);
                let found = grid
                    .period_ns()
                    .unwrap_or_else(|| panic!("{period}: {grid:?}"));
                assert!((found / period - 1.0).abs() < 1e-4, "{period}: {found}");
            }
        }
    }

    #[test]
    fn the_last_tick_before_the_deadline_is_aimed_at() {
        for lag in [0.0, 1.0] {
            let mut grid = Grid::new(Kind::Clock);
            let period = 1_000_000.0;
            let now = naps(&mut grid, period, 2_000.0, lag, 200);
            let deadline = now + 10_300_000;
            let aim = grid.aim(now, deadline, 10.0, f64::MAX).unwrap();
            let ends = ((aim.due as f64 / period).ceil() + lag) * period;
            let left = deadline as f64 - ends;
            assert!((0.0..period).contains(&left), "{lag}: {left} {aim:?}");
            assert!(
                (f64::from(aim.cost_ns) - left).abs() < 20_000.0,
                "{left} {aim:?}"
            );
        }
    }

    #[test]
    fn naps_that_take_whole_steps_are_told_from_naps_that_end_on_ticks() {
        let mut steps = Grid::new(Kind::Steps);
        let mut clock = Grid::new(Kind::Clock);
        let mut now = 7_000_000_000_u64;
        for i in 0..200_u64 {
            let due = now + 100_000 + i * 7_919_131 % 9_000_000;
            let woke = now + (due - now).div_ceil(499_800) * 499_800 + 4_000 + i % 3 * 500;
            steps.learn(now, due, woke);
            clock.learn(now, due, woke);
            now = woke + i * 104_729 % 700_000;
        }
        let found = steps.period_ns().unwrap();
        assert!((found / 499_800.0 - 1.0).abs() < 1e-3, "{found}");
        assert_eq!(clock.period_ns(), None);
        // 16.667 ms hold 33 steps of 0.4998 ms, and 0.173 ms more.
        let aim = steps.aim(now, now + 16_667_000, 10.0, f64::MAX).unwrap();
        assert_eq!((aim.due - now).div_ceil(499_800), 33);
        assert!((aim.cost_ns - 169_000.0).abs() < 10_000.0, "{aim:?}");
        // At the first step after the deadline it ends 20 us late. In a loop that costs more than a
        // spin, where that may be.
        steps.rhythm = lag(2e3);
        let deadline = now + 33 * 499_800 - 16_000;
        let steps_of = |spin_most_ns| {
            let aim = steps.aim(now, deadline, 10.0, spin_most_ns).unwrap();
            (aim.due - now).div_ceil(499_800)
        };
        assert_eq!([f64::MAX, 100e3].map(steps_of), [32, 33]);
    }

    #[test]
    fn naps_that_end_anywhere_are_no_grid() {
        let mut grid = Grid::new(Kind::Clock);
        let mut now = 0_u64;
        for i in 0..2_000_u64 {
            let due = now + 30_000 + i * 7_919_131 % 9_000_000;
            let woke = due + 50_000 + i * 7_919 % 20_000;
            grid.learn(now, due, woke);
            assert_eq!(grid.period_ns(), None, "after {i} naps: {grid:?}");
            now = woke + 10_000;
        }
    }

    #[test]
    fn a_grid_that_changes_is_found_again() {
        let mut grid = Grid::new(Kind::Clock);
        for period in [500_000.0, 15_625_000.0, 500_000.0] {
            naps(&mut grid, period, 3_000.0, 0.0, 150);
            let found = grid
                .period_ns()
                .unwrap_or_else(|| panic!("{period}: {grid:?}"));
            assert!((found / period - 1.0).abs() < 1e-3, "{period}: {found}");
        }
    }
}
