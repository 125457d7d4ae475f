//! `adaptive`: sleeps as long as it may and spins as long as it must, so that
//! CPU time and lateness together cost least.

mod budget;
mod class;
mod learned;
mod promise;
mod regular;
mod spins;

pub use budget::Budget;
pub use learned::{Learned, LearnedClass};
pub use promise::{Binding, Promise, Promised, Tried};
pub(super) use promise::{LateAtMost, percent};

use crate::estimators::grid::Grid;
use crate::estimators::margins::{Margin, Margins};
use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Limit, Reason, Step, Strategy, Turn, Wake};

use budget::{Purse, SPIN_MAX};
use class::{CLASSES, Class};
use promise::Keeper;
use regular::{Nap, Regular};
use spins::Spins;

/// How much too early a nap may end, and on ticks this part of its length. One that
/// ends earlier, as on a clock that stands still, says nothing about lateness.
const EARLY_NS: f32 = 20e3;
const EARLY: f32 = 1.0 / 8.0;
/// Lateness counts up to this: what is beyond is no matter of margins.
const LATE_MAX_NS: f32 = 1e6;
/// The shortest nap that is asked for.
const SHORTEST_NS: f32 = 5e3;
/// A wait as short as this is not worth trying.
const TRY_FROM_NS: f32 = 12e3;
/// Of so many waits that are spun though they could be slept through, one is
/// slept through all the same.
const PATIENCE: u16 = 64;
/// The same on ticks, where it is known when sleeping is of no use.
const PATIENCE_ON_TICKS: u16 = 4_096;
/// Where nearly all of an overshoot follows from the length, what does not is
/// taken for this part of it: the share is not known that well.
const SCALE_MIN: f32 = 16.0;
/// A wait naps a second time only if that costs so many times less than to spin:
/// each nap is another chance of a stall.
const AGAIN: f32 = 2.0;
/// So many naps of a wait may take less than they were to: beyond that the clock
/// stands still, and naps until an instant end at once.
const TOO_SHORT_MAX: u8 = 8;
/// A nap that was only tried, and overshot by so many times less than was usual,
/// shows that it is another time. Of half as many, those that vary by a factor of
/// four, as of 40 to 190 us, show it too often: each time margins begin too short.
const BETTER: f32 = 4.0;
/// While others want the CPU, what overshoots by more than this many times the
/// usual, and a slice or so, was queueing: no margin covers that.
const QUEUED: f32 = 4.0;
const QUEUED_NS: f32 = 100e3;

/// Naps once, so much before the deadline that what is left to spin and what is
/// late are expected to cost least, where a nanosecond of CPU time costs 1 and a
/// nanosecond of lateness `late_weight`. Spins for what is too short for that.
///
/// The usual overshoot of naps is learned for each power of two of their
/// length; the margin is a multiple of it, chosen by what each of some two dozen
/// would have brought. Where others want the CPU it spins little, as spins do not end
/// on time there. It never stops trying to sleep, and keeps a [`Budget`].
///
/// The method is explained in `docs/adaptive.md`. It begins a cache line, as
/// what a usual wait touches of it is cold by then: `.ci/instructions` counts six.
#[derive(Clone, Debug, PartialEq)]
#[repr(align(64))]
pub struct Adaptive {
    late_weight: f32,
    method: Method,
    purse: Purse,
    spins: Spins,
    /// What this wait may spin, and whether it would have spun more if only its
    /// budget had let it.
    most: Nanos,
    is_bound: bool,
    /// Naps of this wait that took less than they were to.
    too_short: u8,
    /// With less left than this no wait naps again.
    little_ns: f32,
    /// Waits since the last nap.
    awake: u16,
    /// What is known of the last wait, and not learned yet: that is done at the
    /// begin of the next, so that this one ends on time.
    nap: Option<Attempt>,
    spun_ns: f32,
    late_ns: f32,
    margins: Margins,
    best: Margin,
    classes: [Class; CLASSES],
    regular: Option<Box<Regular>>,
    keeper: Option<Box<Keeper>>,
}

/// A nap that was chosen, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Attempt {
    class: usize,
    /// The time that was left, which spinning would have cost.
    left_ns: f32,
    /// Whether it was taken though spinning seemed to cost less.
    is_try: bool,
    ended: Option<Nap>,
    cpu_ns: Option<f32>,
}

/// How to sleep.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// How long.
    length: Nanos,
    /// What it would leave to spin at most, if there were no limit to that.
    margin_ns: f32,
    /// What the wait is expected to cost from here on with it.
    cost_ns: f32,
}

impl Adaptive {
    /// A waiter that has seen nothing, and sleeps with `method`.
    pub const fn new(late_weight: f64, method: Method, budget: Budget) -> Self {
        let margins = Margins::new();
        let late_weight = late_weight as f32;
        Self {
            late_weight,
            method,
            purse: Purse::new(budget),
            spins: Spins::NONE,
            most: SPIN_MAX,
            is_bound: false,
            too_short: 0,
            little_ns: 0.0,
            awake: 0,
            nap: None,
            spun_ns: 0.0,
            late_ns: 0.0,
            best: margins.best(late_weight, 10.0, f32::MAX),
            margins,
            classes: [Class::new(regular::Ends::of(method).believed_ns()); CLASSES],
            regular: None,
            keeper: None,
        }
    }

    /// Keeps a promise from now on, which sets the weight and, of a promise to spin no more
    /// than so much, the budget.
    pub fn keep(&mut self, promise: Promise) {
        if let Some(share) = promise.spin {
            self.purse = Purse::new(Budget::Share(share));
        }
        self.keeper = Some(Box::new(Keeper::new(promise, self.late_weight)));
    }

    /// What has come true of the promise that it keeps.
    pub fn promised(&self) -> Option<Promised> {
        self.keeper.as_ref().map(|keeper| keeper.promised())
    }

    /// Whether the last wait would have spun more than its budget let it.
    pub fn was_bound(&self) -> bool {
        self.is_bound
    }

    /// Makes room for what is regular about naps, if that is anything.
    #[cold]
    fn make_regular(&mut self) -> Option<&mut Regular> {
        if self.regular.is_none() {
            self.regular = Regular::new(self.method).map(Box::new);
        }
        self.regular.as_deref_mut()
    }

    /// The ticks on which naps end, if they do.
    fn grid(&self) -> Option<&Grid> {
        self.regular.as_ref()?.grid()
    }

    /// Learns from the wait before.
    #[inline]
    fn settle(&mut self) {
        if self.spun_ns > 0.0 {
            self.spins.learn(self.spun_ns, self.late_ns);
            self.purse.pay(self.spun_ns);
            self.spun_ns = 0.0;
        }
        self.settle_nap();
    }

    /// Learns from the last nap, if that was not done.
    #[inline]
    fn settle_nap(&mut self) {
        let Some(attempt) = self.nap.take() else {
            return;
        };
        if let Some(nap) = attempt.ended {
            self.learn(&attempt, nap);
        }
    }

    #[inline]
    fn learn(&mut self, attempt: &Attempt, nap: Nap) {
        let (asked_ns, mut over_ns) = (nap.asked.as_ns() as f32, nap.over_ns());
        if over_ns < -EARLY_NS.max(asked_ns * EARLY) {
            return;
        }
        let scale_ns = self.scale_ns(attempt.class);
        let known = &mut self.classes[attempt.class];
        known.naps = known.naps.saturating_add(1);
        if let Some(cpu_ns) = attempt.cpu_ns {
            known.meter(cpu_ns);
        }
        let usual_ns = known.usual.ns();
        if let Some(regular) = &mut self.regular {
            if regular.learn(attempt.class, nap, usual_ns) {
                // All that was learned was learned on another line.
                known.usual.forget();
            }
            let beyond_ns = asked_ns - class::from_ns(attempt.class) as f32;
            over_ns -= regular.share(attempt.class) * beyond_ns;
        }
        let on_ticks = self.regular.as_ref().is_some_and(|r| r.grid().is_some());
        if nap.over_ns() < 0.0 && !on_ticks {
            return;
        }
        if self.spins.is_contended() && over_ns > QUEUED * usual_ns + QUEUED_NS {
            return;
        }
        let late_ns = self.late_ns.min(LATE_MAX_NS);
        if nap.over_ns().max(self.late_weight * late_ns) > attempt.left_ns {
            known.patience = (known.patience * 4).min(PATIENCE);
        } else if attempt.is_try {
            known.patience = (known.patience / 4).max(1);
        }
        let is_another = attempt.is_try && over_ns > 0.0 && over_ns < usual_ns / BETTER;
        let mut is_news = false;
        if is_another {
            known.usual.restart(over_ns);
        } else if known.usual.is_known() {
            is_news = self
                .margins
                .learn(1.0 + (over_ns.max(0.0) - usual_ns) / scale_ns);
        }
        if is_another || known.usual.learn(over_ns) {
            self.margins = Margins::new();
            is_news = true;
        }
        if is_news {
            self.best = self.best_of(attempt.class, f32::MAX);
        }
    }

    /// The margin of at most so many times the usual overshoot that costs least.
    #[cold]
    fn best_of(&self, class: usize, longest: f32) -> Margin {
        let late_most = LATE_MAX_NS / self.scale_ns(class);
        self.margins.best(self.late_weight, late_most, longest)
    }

    /// A step ended.
    #[inline]
    fn woke<C: Clock>(&mut self, wake: &Wake<C>) {
        match (wake.reason, &mut self.nap) {
            (Reason::Ran, _) => self.spun_ns += wake.slept.as_ns() as f32,
            (Reason::Timer, Some(nap)) => {
                self.too_short = self
                    .too_short
                    .saturating_add((wake.slept < wake.asked).into());
                nap.ended = Some(Nap {
                    asked: wake.asked,
                    slept: wake.slept,
                    woke: wake.now.as_ns(),
                });
                nap.cpu_ns = wake.cpu.map(|cpu| cpu.as_ns() as f32);
            }
            // Nothing can be learned from its length.
            _ => self.nap = None,
        }
    }

    /// The wait came to its deadline, and was so late.
    #[inline]
    fn note_end(&mut self, late: Nanos) {
        if let Some(keeper) = &mut self.keeper {
            keeper.late = Some(late);
        }
    }

    /// Takes from the nearest class what is not known of this one.
    #[cold]
    fn know(&mut self, class: usize) {
        let near = (0..CLASSES)
            .filter(|&near| self.classes[near].naps > 0)
            .min_by_key(|&near| near.abs_diff(class));
        let is_share = matches!(self.regular.as_deref(), Some(Regular::Share(_)));
        if let Some(near) = near.filter(|_| !is_share) {
            self.classes[class]
                .usual
                .believe(self.classes[near].usual.ns());
            self.classes[class].cpu_ns = self.classes[near].cpu_ns;
        }
    }

    /// What margins of a class are multiples of: its usual overshoot, without what of
    /// that follows from the length.
    #[inline]
    fn scale_ns(&self, class: usize) -> f32 {
        let usual_ns = self.classes[class].usual.ns();
        match &self.regular {
            None => usual_ns,
            Some(regular) => {
                let follows_ns = regular.share(class) * class::from_ns(class) as f32;
                (usual_ns - follows_ns).max(usual_ns / SCALE_MIN)
            }
        }
    }

    /// The nap for a goal that is `left` away from `now`, if one fits in.
    #[inline]
    fn plan_nap(&self, now: u64, left: Nanos, class: usize) -> Option<Plan> {
        let known = &self.classes[class];
        let (usual_ns, scale_ns) = (known.usual.ns(), self.scale_ns(class));
        let left_ns = left.as_ns() as f32;
        let most_ns = left_ns - SHORTEST_NS;
        let margin_ns = |of: Margin| usual_ns + scale_ns * (of.margin - 1.0);
        let mut best = self.best;
        if margin_ns(best) > most_ns {
            best = self.best_of(class, 1.0 + (most_ns - usual_ns) / scale_ns);
        }
        let margin_ns = margin_ns(best);
        let before_ns = margin_ns.min(self.most.as_ns() as f32);
        let cost_ns = known.cpu_ns + scale_ns * best.cost;
        let Some(regular) = self.regular.as_deref() else {
            return (before_ns < most_ns).then(|| Plan {
                length: left - Nanos::new(before_ns as u64),
                margin_ns,
                cost_ns,
            });
        };
        let (length, cost_ns) = if let Some(grid) = regular.grid() {
            let deadline = now.saturating_add(left.as_ns());
            let aim = grid.aim(now, deadline, self.late_weight)?;
            let length = Nanos::new(aim.due.saturating_sub(now));
            (length, aim.cost_ns + known.cpu_ns)
        } else {
            // The share grows with the length, and the length is what is sought. In
            // f64, as an hour in f32 is known to a quarter of a millisecond only.
            let share = regular.share(class);
            let before_ns = f64::from(before_ns - share * class::from_ns(class) as f32);
            let length_ns = (left.as_ns() as f64 - before_ns) / f64::from(1.0 + share);
            if length_ns < f64::from(SHORTEST_NS) {
                return None;
            }
            let shorter = regular.varied_by(known.naps);
            (Nanos::new(length_ns as u64) - shorter, cost_ns)
        };
        let length = regular.whole(length)?;
        Some(Plan {
            length,
            margin_ns,
            cost_ns,
        })
    }

    /// How long to nap now, and whether only to see what comes of it, if at all.
    #[inline]
    fn choose(
        &mut self,
        now: u64,
        left: Nanos,
        class: usize,
        again: bool,
    ) -> Option<(Nanos, bool)> {
        let plan = self.plan_nap(now, left, class);
        let must = left > self.most;
        let left_ns = left.as_ns() as f32;
        let spin_ns =
            left_ns * self.spins.price(self.late_weight) / if again { AGAIN } else { 1.0 };
        let pays = |plan: &Plan| plan.cost_ns < spin_ns;
        if let Some(plan) = plan.filter(|plan| must || pays(plan)) {
            self.is_bound |= must && self.is_tight(plan.margin_ns, pays(&plan));
            return Some((plan.length, false));
        }
        if must {
            self.is_bound |= self.is_tight(0.0, false);
            return Some((left - self.most, false));
        }
        if again || left_ns < TRY_FROM_NS {
            return None;
        }
        let on_ticks = self.grid().is_some_and(|grid| grid.is_fresh(now));
        let known = &mut self.classes[class];
        known.spun = known.spun.saturating_add(1);
        self.awake = self.awake.saturating_add(1);
        let (patience, most) = if on_ticks {
            (PATIENCE_ON_TICKS, PATIENCE_ON_TICKS)
        } else {
            (known.patience, PATIENCE)
        };
        if known.spun < patience && self.awake < most {
            return None;
        }
        // Ticks that are gone are found out between them.
        if let Some(plan) = plan.filter(|_| self.grid().is_none()) {
            return Some((plan.length, true));
        }
        let length = Nanos::new(left.as_ns() / 2);
        let regular = self.regular.as_deref();
        let length = regular.map_or(Some(length), |regular| regular.whole(length))?;
        Some((length, true))
    }

    /// Whether a wait that has to nap would have spun more if its budget had let it.
    fn is_tight(&self, margin_ns: f32, pays: bool) -> bool {
        let would_spin = !pays || margin_ns > self.most.as_ns() as f32;
        would_spin && !self.spins.is_contended()
    }

    /// A wait begins.
    #[inline]
    fn begin(&mut self, now: u64, left: Nanos) {
        let keeper = self.keeper.as_mut();
        if let Some(weight) = keeper.and_then(|keeper| keeper.settle(now, self.spun_ns)) {
            self.late_weight = weight;
            self.best = self.best_of(class::of_ns(left.as_ns()), f32::MAX);
        }
        self.settle();
        if self.regular.is_none() && regular::Ends::of(self.method) != regular::Ends::AtAnyTime {
            self.make_regular();
        }
        self.is_bound = false;
        self.too_short = 0;
        self.most = self.purse.open(now);
        if self.spins.is_contended() {
            self.most = self.most.min(Spins::most(left));
        }
    }
}

impl<C: Clock> Strategy<C> for Adaptive {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        let now = turn.now();
        let left = goal.left(now);
        let again = matches!(turn, Turn::Woke(_));
        if let Turn::Woke(wake) = turn {
            self.woke(wake);
            self.late_ns = now.since(goal.deadline).as_ns() as f32;
            if left.is_zero() {
                self.note_end(now.since(goal.deadline));
            }
            let stands_still = self.too_short > TOO_SHORT_MAX;
            if stands_still {
                self.most = self.purse.open(now.as_ns());
            }
            // What is left after most naps: so little that it is not worth thinking.
            let is_little = (left.as_ns() as f32) < self.little_ns;
            if left <= self.most && (stands_still || is_little) {
                return goal.spin();
            }
        } else {
            self.begin(now.as_ns(), left);
        }
        let class = class::of_ns(left.as_ns());
        if self.classes[class].naps == 0 {
            self.know(class);
        }
        let Some((length, is_try)) = self.choose(now.as_ns(), left, class, again) else {
            return goal.spin();
        };
        self.settle_nap();
        self.awake = 0;
        let scale_ns = self.scale_ns(class);
        let known = &mut self.classes[class];
        // Shorter naps overshoot by less, but hardly by less than half.
        self.little_ns = AGAIN * (known.cpu_ns + scale_ns / 2.0 * self.best.cost);
        known.spun = 0;
        let metered = known.wants_metering();
        self.nap = Some(Attempt {
            class,
            left_ns: left.as_ns() as f32,
            is_try,
            ended: None,
            cpu_ns: None,
        });
        Step::Block {
            method: self.method,
            // Ticks and shares are of lengths.
            limit: match self.regular {
                Some(_) => Limit::For(length),
                None => Limit::Until(now + length),
            },
            or: goal.or,
            metered,
        }
    }
}
