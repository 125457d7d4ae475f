//! `adaptive`: one nap, then a spin, with the margin between the two learned so
//! that CPU time and weighted lateness together cost least.

mod budget;
mod class;
mod contention;
mod profile;
mod regular;
mod target;

pub use budget::Budget;
pub use profile::{Profile, ProfileClass};
pub(super) use target::{LateAtMost, percent};
pub use target::{LimitedBy, Target, TargetStatus, Tradeoff};

use std::mem;

use crate::estimators::grid::Grid;
use crate::estimators::margins::{Margin, Margins};
use crate::method::{Ends, Method};
use crate::time::{Clock, Nanos, Tick};
use crate::wait::{Goal, Limit, Reason, Step, Strategy, Turn, Wake};

use budget::{Allowance, SPIN_MAX};
use class::{CLASSES, Class};
use contention::Contention;
use regular::{Nap, Share, Ticks};
use target::Keeper;

/// Lateness counts up to this: no margin covers a longer stall.
const LATE_MAX_NS: f32 = 1e6;
/// The shortest nap worth asking for.
const SHORTEST_NS: f32 = 5e3;
/// With less left than this no nap is tried.
const TRY_FROM_NS: f32 = 12e3;
/// At the latest after this many waits that were spun through, one tries a nap, so
/// that no history locks napping out.
const TRY_EVERY_MAX: u16 = 64;
/// The same on known ticks, where it is certain that no nap fits.
const TRY_EVERY_MAX_ON_TICKS: u16 = 4_096;
/// A wait naps a second time only if spinning would cost this many times more: each
/// nap is another chance of a stall. Planning two naps from the start costs recorded
/// waits 5 to 21 % more.
const AGAIN: f32 = 2.0;
/// After this many naps of one wait that ended early, the clock is taken to stand
/// still, and the wait spins.
const TOO_SHORT_MAX: u8 = 8;
/// A try that overshoots by this many times less than usual starts the estimates
/// anew. With 2 instead, overshoots that vary by a factor of four (40 to 190 us) do
/// so by chance, and each time the margin begins too short.
const BETTER: f32 = 4.0;
/// An overshoot of more than `QUEUED` times the usual and `QUEUED_NS` was time in the
/// run queue, or a stall. On a contended CPU no margin is to cover that.
const QUEUED: f32 = 4.0;
const QUEUED_NS: f32 = 100e3;
/// The most that lateness weighs where a quota of CPU time is used up. A stopped thread is late by
/// more than a margin avoids.
const STOPPED_WEIGHT: f32 = 1.0;

/// Naps once and spins the rest, with the margin that is expected to cost least. A nanosecond of
/// CPU time costs 1, a nanosecond of lateness `late_weight`. Waits too short for a nap are spun.
///
/// The usual overshoot is learned for each power of two of the length; the margin is
/// a multiple of it, chosen among two dozen by what each would have cost. Where
/// others want the CPU spins do not end on time, and it spins less. It never
/// stops trying to sleep, and keeps within its [`Budget`].
///
/// `docs/adaptive.md` explains the method. Aligned to a cache line, because after a
/// nap its state is in no cache: `.ci/instructions` counts the lines a wait touches.
#[derive(Clone, Debug, PartialEq)]
#[repr(align(64))]
pub struct Adaptive {
    late_weight: f32,
    method: Method,
    ends: Ends,
    allowance: Allowance,
    contention: Contention,
    /// Whether the last spin offered the CPU.
    has_shared: bool,
    /// The most this wait may spin, whether that is its budget, and whether it would have
    /// spun more with a larger one.
    spin_limit: Nanos,
    is_budget: bool,
    is_bound: bool,
    /// Naps of this wait that ended early.
    too_short: u8,
    /// Waits since the last nap, whatever their length.
    waits_spun: u16,
    /// The last wait, learned from when the next begins, so that it ends on time.
    nap: Option<Attempt>,
    spun_ns: f32,
    late_ns: f32,
    margins: Margins,
    best: Margin,
    classes: [Class; CLASSES],
    share: Share,
    ticks: Option<Box<Ticks>>,
    keeper: Option<Box<Keeper>>,
}

/// A nap of the last wait, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Attempt {
    class: usize,
    /// The time left when it began: what spinning would have cost.
    left_ns: f32,
    /// With less left after it another one cannot pay.
    little_ns: f32,
    /// Whether it was taken only to learn: spinning seemed cheaper.
    is_try: bool,
    ended: Option<Nap>,
}

/// A nap that could be taken now.
#[derive(Clone, Copy, Debug)]
struct Plan {
    length: Nanos,
    /// The margin it would have without a limit on spinning.
    margin_ns: f32,
    /// The expected cost of the rest of the wait.
    cost_ns: f32,
}

impl Adaptive {
    /// A waiter that has seen nothing, and sleeps with `method`.
    pub const fn new(late_weight: f64, method: Method, budget: Budget) -> Self {
        let margins = Margins::new();
        let ends = method.ends();
        let late_weight = late_weight as f32;
        Self {
            late_weight,
            method,
            ends,
            allowance: Allowance::new(budget),
            contention: Contention::NONE,
            has_shared: false,
            spin_limit: SPIN_MAX,
            is_budget: true,
            is_bound: false,
            too_short: 0,
            waits_spun: 0,
            nap: None,
            spun_ns: 0.0,
            late_ns: 0.0,
            best: margins.best(late_weight, 10.0, f32::MAX),
            margins,
            classes: [Class::new(ends.believed_ns()); CLASSES],
            share: Share::new(ends),
            ticks: None,
            keeper: None,
        }
    }

    /// Returns one with the same weight, budget and target that has seen nothing, and sleeps with
    /// `method`.
    #[must_use]
    pub fn anew(&self, method: Method) -> Self {
        let mut anew = Self::new(self.late_weight.into(), method, self.allowance.budget());
        let keeper = self.keeper.as_ref();
        anew.keeper = keeper.map(|keeper| Box::new(keeper.anew(self.late_weight)));
        anew
    }

    /// A waiter that has seen nothing, and keeps this target if it is one.
    pub(super) fn meeting(
        late_weight: f64,
        method: Method,
        budget: Budget,
        target: Target,
    ) -> Self {
        let mut adaptive = Self::new(late_weight, method, budget);
        if target != Target::default() {
            adaptive.keep(target);
        }
        adaptive
    }

    /// Keeps a target from now on: it sets the weight, and the budget if it limits
    /// spinning.
    pub fn keep(&mut self, target: Target) {
        if let Some(share) = target.spin {
            self.allowance = Allowance::new(Budget::Share(share));
        }
        self.keeper = Some(Box::new(Keeper::new(target, self.late_weight)));
    }

    /// How well the target is met, if there is one.
    pub fn target_status(&self) -> Option<TargetStatus> {
        self.keeper.as_ref().map(|keeper| keeper.target_status())
    }

    /// Whether the last wait would have spun more than its budget let it.
    pub fn was_bound(&self) -> bool {
        self.is_bound
    }

    /// The ticks on which naps end, if they do.
    fn grid(&self) -> Option<&Grid> {
        self.ticks.as_ref()?.grid()
    }

    fn are_ticks_sought(&self) -> bool {
        self.ticks.as_ref().is_some_and(|ticks| ticks.are_sought())
    }

    /// Learns from the last wait.
    #[inline]
    fn settle(&mut self) {
        if self.spun_ns > 0.0 {
            let has_shared = mem::take(&mut self.has_shared);
            (self.contention).learn(self.spun_ns, self.late_ns, has_shared);
            self.allowance.spend(self.spun_ns);
            self.spun_ns = 0.0;
        } else {
            self.contention.learn_none();
        }
        self.settle_nap();
    }

    /// Learns from the last nap, once.
    #[inline]
    fn settle_nap(&mut self) {
        if let Some((attempt, nap)) = self.nap.take().and_then(|a| Some((a, a.ended?))) {
            self.learn(&attempt, nap);
        }
    }

    #[inline]
    fn learn(&mut self, attempt: &Attempt, nap: Nap) {
        let class = attempt.class;
        let known = &mut self.classes[class];
        known.naps = known.naps.saturating_add(1);
        let usual_ns = known.usual.ns();
        let mut over_ns = nap.over_ns();
        if let Some(ticks) = &mut self.ticks {
            ticks.learn(nap);
        }
        if over_ns < 0.0 && self.grid().is_none() {
            // The clock may be standing still: this says nothing about overshoot.
            return;
        }
        let is_sought = self.are_ticks_sought();
        let known = &mut self.classes[class];
        let lateness_ns = self.late_weight * self.late_ns.min(LATE_MAX_NS);
        if is_sought {
            // The sooner the ticks are known, the better.
            known.try_every = 1;
        } else if over_ns > attempt.left_ns || lateness_ns > attempt.left_ns {
            known.try_every = (known.try_every * 4).min(TRY_EVERY_MAX);
        } else if attempt.is_try {
            known.try_every = (known.try_every / 4).max(1);
        }
        if self.ends == Ends::LateByAShare {
            let asked_ns = nap.asked.as_ns() as f32;
            let Some(beyond_ns) = self.share.learn(asked_ns, over_ns, usual_ns) else {
                return;
            };
            over_ns = beyond_ns;
        }
        let is_long = over_ns > QUEUED * usual_ns + QUEUED_NS;
        if is_long {
            // Where naps are only tried they may all be long, and on ticks many are.
            if !attempt.is_try && self.ends == Ends::AtAnyTime {
                self.contention.learn_queued(self.late_ns);
            }
        }
        let is_another = attempt.is_try && over_ns > 0.0 && over_ns < usual_ns / BETTER;
        let mut is_news = false;
        if is_another {
            known.usual.restart(over_ns);
        } else if known.usual.is_known() && !(is_long && self.contention.is_present()) {
            is_news = self
                .margins
                .learn(1.0 + (over_ns.max(0.0) - usual_ns) / usual_ns);
        }
        if is_another || known.usual.learn(over_ns) {
            self.margins = Margins::new();
            is_news = true;
        }
        if is_news {
            self.best = self.best_of(class, f32::MAX);
        }
    }

    /// The margin that costs least, of at most `longest` times the usual overshoot.
    #[cold]
    fn best_of(&self, class: usize, longest: f32) -> Margin {
        let late_most = LATE_MAX_NS / self.classes[class].usual.ns();
        let mut weight = self.late_weight;
        if self.contention.is_suspected() {
            weight /= self.contention.spin_price(weight);
        }
        if self.contention.is_stopped() {
            weight = weight.min(STOPPED_WEIGHT);
        }
        self.margins.best(weight, late_most, longest)
    }

    /// Notes how a step ended.
    #[inline]
    fn note_step<C: Clock>(&mut self, wake: &Wake<C>) {
        match (wake.reason, &mut self.nap) {
            (Reason::Timer, Some(nap)) => {
                self.too_short = self
                    .too_short
                    .saturating_add((wake.slept < wake.asked).into());
                nap.ended = Some(Nap {
                    asked: wake.asked,
                    slept: wake.slept,
                    woke: wake.now.as_ns(),
                });
                if let Some(cpu) = wake.cpu {
                    self.classes[nap.class].meter(cpu.as_ns() as f32);
                }
            }
            // A nap that was cut short says nothing about overshoot.
            (Reason::Event | Reason::Interrupted, Some(nap)) if nap.ended.is_none() => {
                self.nap = None;
            }
            (reason, _) => {
                self.spun_ns += wake.slept.as_ns() as f32;
                self.has_shared = reason == Reason::Shared;
            }
        }
    }

    /// Notes how late the wait ended.
    #[inline]
    fn note_end(&mut self, late: Nanos) {
        self.late_ns = late.as_ns() as f32;
        if let Some(keeper) = &mut self.keeper {
            keeper.late = Some(late);
        }
    }

    /// Lets a class that saw no nap begin with what its nearest neighbour knows.
    #[cold]
    fn begin_class(&mut self, class: usize) {
        let near = (0..CLASSES)
            .filter(|&near| self.classes[near].naps > 0)
            .min_by_key(|&near| near.abs_diff(class));
        if let Some(near) = near {
            let Class { usual, cpu_ns, .. } = self.classes[near];
            self.classes[class].usual.believe(usual.ns());
            self.classes[class].cpu_ns = cpu_ns;
        }
    }

    /// Where overshoots depend on lengths, the rest of them does not: all lengths are one class.
    #[inline]
    fn class_of(&self, left: Nanos) -> usize {
        match self.ends {
            Ends::LateByAShare => 0,
            _ => class::of_ns(left.as_ns()),
        }
    }

    /// The cheapest nap for a deadline `left` away from `now`, if one fits.
    #[inline]
    fn plan_nap(&self, now: u64, left: Nanos, class: usize) -> Option<Plan> {
        let known = &self.classes[class];
        let usual_ns = known.usual.ns();
        let most_ns = left.as_ns() as f32 - SHORTEST_NS;
        let margin_ns = |of: Margin| usual_ns + usual_ns * (of.margin - 1.0);
        let mut best = self.best;
        if margin_ns(best) > most_ns {
            best = self.best_of(class, 1.0 + (most_ns - usual_ns) / usual_ns);
        }
        let margin_ns = margin_ns(best);
        let before_ns = margin_ns.min(self.spin_limit.as_ns() as f32);
        let mut plan = Plan {
            // It is at most `SPIN_MAX`.
            length: left - Nanos::new((before_ns as u32).into()),
            margin_ns,
            cost_ns: known.cpu_ns + usual_ns * best.cost,
        };
        if self.ends == Ends::AtAnyTime {
            return (before_ns < most_ns).then_some(plan);
        }
        let deadline = now.saturating_add(left.as_ns());
        if let Some(grid) = self.grid().filter(|grid| grid.reaches(now, deadline)) {
            let spin_most_ns = self.spin_limit.as_ns() as f64;
            let aim = grid.aim(now, deadline, self.late_weight, spin_most_ns)?;
            plan.length = Nanos::new(aim.due.saturating_sub(now));
            plan.cost_ns = aim.cost_ns + known.cpu_ns;
        } else {
            // Solved for the length, on which the overshoot depends. In f64: an hour in
            // f32 is exact to a quarter of a millisecond only.
            let share = match &self.ticks {
                Some(ticks) => ticks.share(),
                None => self.share.at_most(),
            };
            let length_ns = (left.as_ns() as f64 - f64::from(before_ns)) / f64::from(1.0 + share);
            if length_ns < f64::from(SHORTEST_NS) {
                return None;
            }
            plan.length = Nanos::new(length_ns as u64);
        }
        plan.length = self.whole(plan.length)?;
        Some(plan)
    }

    /// A length that the call can count; `None` if that is nothing.
    fn whole(&self, length: Nanos) -> Option<Nanos> {
        match &self.ticks {
            Some(ticks) => ticks.whole(length),
            None => Some(length),
        }
    }

    /// Notes how a step ended. Whether nothing is to be planned: a spin comes next, as after
    /// most naps, or the wait is over.
    #[inline]
    fn spins_after<C: Clock>(&mut self, goal: &Goal<C>, wake: &Wake<C>) -> bool {
        self.note_step(wake);
        let left = goal.left(wake.now);
        if left.is_zero() {
            self.note_end(wake.now.since(goal.deadline));
            return true;
        }
        if wake.reason == Reason::Event {
            // The wait is over.
            return true;
        }
        let stands_still = self.too_short > TOO_SHORT_MAX;
        if stands_still {
            self.spin_limit = self.allowance.at(wake.now.as_ns());
        }
        let is_little = |nap: &Attempt| (left.as_ns() as f32) < nap.little_ns;
        left <= self.spin_limit && (stands_still || self.nap.as_ref().is_some_and(is_little))
    }

    /// The next step of a wait.
    #[inline(always)]
    fn nap_or_spin<C: Clock>(&mut self, goal: &Goal<C>, now: Tick<C>, again: bool) -> Step<C> {
        let left = goal.left(now);
        let class = self.class_of(left);
        if self.classes[class].naps == 0 {
            self.begin_class(class);
        }
        let Some((length, is_try)) = self.choose(now.as_ns(), left, class, again) else {
            return Step::Spin;
        };
        if again {
            self.settle_nap();
        }
        self.waits_spun = 0;
        self.classes[class].spun = 0;
        let known = &self.classes[class];
        let metered = known.wants_metering();
        // A shorter nap hardly overshoots by less than half as much, except on ticks.
        let again_ns = match &self.ticks {
            Some(ticks) if ticks.are_sought_or_known() => 0.0,
            _ => known.cpu_ns + known.usual.ns() / 2.0 * self.best.cost,
        };
        self.nap = Some(Attempt {
            class,
            left_ns: left.as_ns() as f32,
            little_ns: AGAIN * again_ns,
            is_try,
            ended: None,
        });
        Step::Block {
            method: self.method,
            // Ticks and shares relate to lengths.
            limit: if self.ends == Ends::AtAnyTime {
                Limit::Until(now + length)
            } else {
                Limit::For(length)
            },
            metered,
        }
    }

    /// The next step of a wait that has had a nap.
    #[cold]
    fn again<C: Clock>(&mut self, goal: &Goal<C>, now: Tick<C>) -> Step<C> {
        self.nap_or_spin(goal, now, true)
    }

    /// How long to nap now, if at all, and whether only to learn.
    #[inline]
    fn choose(
        &mut self,
        now: u64,
        left: Nanos,
        class: usize,
        again: bool,
    ) -> Option<(Nanos, bool)> {
        let plan = self.plan_nap(now, left, class);
        let left_ns = left.as_ns() as f32;
        let spin_ns = left_ns * self.contention.spin_price(self.late_weight)
            / if again { AGAIN } else { 1.0 };
        let pays = plan.is_some_and(|plan| plan.cost_ns < spin_ns);
        if left > self.spin_limit {
            // Whether it would spin more with a larger budget.
            let limit_ns = self.spin_limit.as_ns() as f32;
            let wants_more = !pays || plan.is_some_and(|plan| plan.margin_ns > limit_ns);
            self.is_bound |= wants_more && self.is_budget;
            return Some((
                plan.map_or(left - self.spin_limit, |plan| plan.length),
                false,
            ));
        }
        if let Some(plan) = plan.filter(|_| pays) {
            return Some((plan.length, false));
        }
        // While ticks are sought a wait has several naps, as long as the next of them should end
        // in time. Waits with one each may all end on ticks of the same kind.
        let slept = self
            .nap
            .as_ref()
            .and_then(|nap| nap.ended)
            .map(|nap| nap.slept);
        let is_sought = self.are_ticks_sought();
        let may_try = !again || is_sought && slept.is_some_and(|slept| slept < left);
        if !may_try || left_ns < TRY_FROM_NS {
            return None;
        }
        let on_ticks = self.grid().is_some_and(|grid| grid.is_fresh(now));
        let is_doubted = self.grid().is_some_and(Grid::is_doubted);
        let known = &mut self.classes[class];
        known.spun = known.spun.saturating_add(1);
        self.waits_spun = self.waits_spun.saturating_add(1);
        let (try_every, most) = if on_ticks {
            (TRY_EVERY_MAX_ON_TICKS, TRY_EVERY_MAX_ON_TICKS)
        } else {
            (known.try_every, TRY_EVERY_MAX)
        };
        if known.spun < try_every && self.waits_spun < most && !is_doubted {
            return None;
        }
        // On ticks the plan would end on one, and could not tell that they are gone.
        let is_telling = self.grid().is_none();
        if let Some(plan) = plan.filter(|_| is_telling) {
            return Some((plan.length, true));
        }
        // Naps of one length may tell no ticks.
        let part = left.as_ns() / u64::from(2 + self.classes[class].naps % 3);
        Some((self.whole(Nanos::new(part))?, true))
    }

    /// A wait begins.
    #[inline]
    fn begin(&mut self, now: u64, left: Nanos, spin_most: Nanos) {
        let keeper = self.keeper.as_mut();
        if let Some(weight) = keeper.and_then(|keeper| keeper.settle(now, self.spun_ns)) {
            self.late_weight = weight;
            self.best = self.best_of(self.class_of(left), f32::MAX);
        }
        self.settle();
        if mem::take(&mut self.contention.is_news) {
            // Spinning has just become dearer.
            self.best = self.best_of(self.class_of(left), f32::MAX);
        }
        match &mut self.ticks {
            Some(ticks) => ticks.begin(left, self.late_ns),
            None if self.ends != Ends::AtAnyTime => {
                self.ticks = Ticks::new(self.ends).map(Box::new);
            }
            None => {}
        }
        self.is_bound = false;
        self.too_short = 0;
        self.late_ns = 0.0;
        let budget = self.allowance.at(now);
        let most = self.contention.spin_most().min(spin_most);
        self.spin_limit = budget.min(most);
        self.is_budget = budget <= self.spin_limit;
    }
}

impl<C: Clock> Strategy<C> for Adaptive {
    #[inline]
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        match turn {
            Turn::Begin(now) => {
                self.begin(now.as_ns(), goal.left(*now), goal.spin_most);
                self.nap_or_spin(goal, *now, false)
            }
            Turn::Woke(wake) if self.spins_after(goal, wake) => Step::Spin,
            Turn::Woke(wake) => self.again(goal, wake.now),
        }
    }
}
