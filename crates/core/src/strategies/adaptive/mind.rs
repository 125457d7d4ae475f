//! What a waiter has in mind: what it knows of its OS calls, and whether to
//! sleep now.

use std::ops::{Range, RangeInclusive};

use crate::estimators::grid::Grid;
use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::Wake;

use super::class::{CLASSES, Class};
use super::plan::{Rest, SHORTEST_NS, SPIN_MAX};
use super::way::{Offer, Way};

/// A waiter that has spun so many waits of a class tries to sleep again,
/// however bad it was. It waits eight times as long each time that was in vain,
/// and four times after each further nap of a wait, whatever came of that.
const PATIENCE: RangeInclusive<u32> = 2..=64;
/// The most if the wait has slept already and spins for its rest.
const PATIENCE_FOR_MORE: u32 = 1_024;
/// On a grid: there it is known when sleeping is of no use.
const PATIENCE_ON_GRID: u32 = 4_096;
/// The first naps are taken in any case: they show whether there is a grid.
const TRY_FIRST: u32 = 24;
/// A wait as short as this is not worth trying.
const TRY_FROM: Nanos = Nanos::from_us(10);

/// Naps between two looks at the call that seems worse.
const COMPARE_EVERY: u32 = 64;
/// Naps with each call before one of them is preferred.
const COMPARE_FIRST: u32 = 4;
/// A call that seems this many times as expensive is not looked at.
const HOPELESS: f32 = 4.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mind {
    pub(super) late_weight: f32,
    /// The calls to choose from, and at the end the one that the machine uses
    /// for waits that an event may end.
    pub(super) ways: Vec<Way>,
    rest: Rest,
    /// The nap under way.
    nap: Option<Attempt>,
    naps: u32,
    /// For each class of time left, how often it was spun since the last nap,
    /// and how often it may be.
    spins: [Spins; CLASSES],
    has_slept: bool,
    /// Waits since the last nap.
    awake: u32,
    /// How much longer than asked the last nap took.
    over_ns: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Spins {
    so_far: u32,
    patience: u32,
}

impl Spins {
    const NONE: Self = Self {
        so_far: 0,
        patience: *PATIENCE.start(),
    };
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Attempt {
    way: usize,
    class: Class,
    purpose: Purpose,
}

/// A nap to be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nap {
    pub(super) method: Method,
    pub(super) length: Nanos,
    /// Whether its CPU time should be measured.
    pub(super) metered: bool,
}

/// What a nap is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// It is the cheapest way to go on.
    Plan,
    /// To see whether sleeping is any good again.
    Try,
    /// The same, in a wait that has slept already.
    TryMore,
}

impl Mind {
    /// Nothing seen yet, and these calls to choose from.
    pub(super) fn new(late_weight: f32, methods: &[Method]) -> Self {
        let calls = methods.iter().chain(methods.first());
        Self {
            late_weight,
            ways: calls.map(|&method| Way::new(method)).collect(),
            rest: Rest::new(),
            nap: None,
            naps: 0,
            spins: [Spins::NONE; CLASSES],
            has_slept: false,
            awake: 0,
            over_ns: 0.0,
        }
    }

    /// A wait begins, which an event may end or not.
    pub(super) fn begin(&mut self, or_event: bool) {
        self.has_slept = false;
        self.nap = None;
        self.renew_a_plan(or_event);
    }

    pub(super) fn ways_for(&self, or_event: bool) -> Range<usize> {
        let calls = self.ways.len() - 1;
        if or_event { calls..calls + 1 } else { 0..calls }
    }

    /// Learns what became of the nap that was chosen last, and whether it ended
    /// before the deadline.
    pub(super) fn learn<C: Clock>(&mut self, nap: &Wake<C>, in_time: bool) {
        let Some(attempt) = self.nap.take() else {
            return;
        };
        let way = &mut self.ways[attempt.way];
        let spins = &mut self.spins[attempt.class.index()];
        match attempt.purpose {
            Purpose::Plan => {}
            // A success makes it impatient, with other classes too, a failure
            // more patient than that.
            Purpose::Try if in_time => {
                for spins in &mut self.spins {
                    spins.patience = (spins.patience / 4).max(*PATIENCE.start());
                }
            }
            Purpose::Try => spins.patience = spins.patience.saturating_mul(8),
            // That it was in time does not mean that it was worth it.
            Purpose::TryMore => spins.patience = spins.patience.saturating_mul(4),
        }
        self.over_ns = (nap.slept - nap.asked).as_ns() as f32;
        let was_on_grid = way.grid().is_some();
        let now_ns = way.learn(
            attempt.class,
            nap.asked,
            nap.slept,
            nap.now.as_ns(),
            nap.cpu,
        );
        let is_fresh = |grid: &Grid| grid.is_fresh(nap.now.as_ns());
        if was_on_grid && !way.grid().is_some_and(is_fresh) {
            // What was known of all classes is in doubt.
            self.spins = [Spins::NONE; CLASSES];
        }
        if let Some(now_ns) = now_ns {
            // What has changed for one call has changed for the others.
            self.ways.iter_mut().for_each(|way| way.start_over(now_ns));
        }
    }

    /// The next nap, with so much left; `None` to spin for all of it.
    pub(super) fn choose(&mut self, now: u64, left: Nanos, or_event: bool) -> Option<Nap> {
        let (way, length, purpose) = self.choose_way(now, left, self.ways_for(or_event))?;
        let class = Class::of_ns(left.as_ns());
        self.nap = Some(Attempt {
            way,
            class,
            purpose,
        });
        self.spins[class.index()].so_far = 0;
        self.has_slept = true;
        self.awake = 0;
        Some(Nap {
            method: self.ways[way].method,
            length,
            metered: self.ways[way].wants_metering(class),
        })
    }

    fn choose_way(
        &mut self,
        now: u64,
        left: Nanos,
        ways: Range<usize>,
    ) -> Option<(usize, Nanos, Purpose)> {
        self.complete_plans(ways.clone(), left);
        let mut best: Option<(usize, Offer)> = None;
        for way in ways.clone() {
            let offer = self.ways[way].offer(now, left, self.late_weight);
            if let Some(offer) = offer
                && best.is_none_or(|(_, best)| offer.cost_ns < best.cost_ns)
            {
                best = Some((way, offer));
            }
        }
        let spin_ns = left.as_ns() as f32;
        if let Some((way, offer)) = best
            && offer.cost_ns < spin_ns
        {
            self.naps = self.naps.wrapping_add(1);
            let (way, offer) = self.compare(now, left, ways, (way, offer));
            return Some((way, offer.length, Purpose::Plan));
        }
        if left > SPIN_MAX {
            // No plan, but no spin of that length either.
            let way = best.map_or(ways.start, |(way, _)| way);
            let length = (left - SPIN_MAX).max(Nanos::new(SHORTEST_NS as u64));
            let length = self.ways[way].whole(length).unwrap_or(length);
            return Some((way, length, Purpose::Plan));
        }
        self.probe(now, left, ways)
    }

    /// Makes the plans that there are not yet, for so much left and for what may
    /// come after it.
    pub(super) fn complete_plans(&mut self, ways: Range<usize>, left: Nanos) {
        let class = Class::of_ns(left.as_ns());
        for way in ways {
            // Lower classes first: what comes after a nap decides its plan.
            for &class in &Class::ALL[..=class.index()] {
                if self.ways[way].has_no_plan(class) {
                    self.plan(way, class);
                }
            }
        }
    }

    /// Once in a while, and at first, another call than the best one: how else
    /// would it be known which is best?
    fn compare(
        &self,
        now: u64,
        left: Nanos,
        ways: Range<usize>,
        (best, offer): (usize, Offer),
    ) -> (usize, Offer) {
        let due = self.naps.is_multiple_of(COMPARE_EVERY);
        ways.filter(|&way| way != best)
            .filter(|&way| due || self.ways[way].naps < COMPARE_FIRST.min(self.ways[best].naps))
            .find_map(|way| {
                let other = self.ways[way].offer(now, left, self.late_weight)?;
                (other.cost_ns < HOPELESS * offer.cost_ns).then_some((way, other))
            })
            .unwrap_or((best, offer))
    }

    /// If no nap has been taken for long, half of what is left: long enough to
    /// show what naps are like, short enough to end in time if they are good
    /// again.
    fn probe(
        &mut self,
        now: u64,
        left: Nanos,
        ways: Range<usize>,
    ) -> Option<(usize, Nanos, Purpose)> {
        if left < TRY_FROM {
            return None;
        }
        let class = Class::of_ns(left.as_ns());
        let way = ways.max_by_key(|&way| self.ways[way].naps)?;
        let is_new = self.ways[way].naps < TRY_FIRST;
        let is_known = self.has_slept || self.awake < *PATIENCE.end();
        if !is_new && is_known && left.as_ns() as f32 <= 2.0 * self.over_ns {
            // The last nap has just shown that they take longer than that.
            self.awake += u32::from(!self.has_slept);
            return None;
        }
        let spins = &mut self.spins[class.index()];
        spins.so_far += 1;
        let (most, purpose) = if self.has_slept {
            (PATIENCE_FOR_MORE, Purpose::TryMore)
        } else {
            (*PATIENCE.end(), Purpose::Try)
        };
        let patience = if self.ways[way].grid().is_some_and(|grid| grid.is_fresh(now)) {
            PATIENCE_ON_GRID
        } else {
            spins.patience = spins.patience.min(most);
            spins.patience
        };
        let so_far = spins.so_far;
        for way in &mut self.ways {
            way.pass(class);
        }
        self.awake = if self.has_slept { 0 } else { self.awake + 1 };
        let is_due = is_new || so_far >= patience || self.awake >= patience;
        let length = self.ways[way].whole(Nanos::new(left.as_ns() / 2))?;
        is_due.then_some((way, length, purpose))
    }

    /// Makes one plan anew that is out of date, if there is one.
    pub(super) fn renew_a_plan(&mut self, or_event: bool) {
        for way in self.ways_for(or_event) {
            for class in Class::ALL {
                if self.ways[way].is_stale(class) && !self.ways[way].has_no_plan(class) {
                    self.plan(way, class);
                    return;
                }
            }
        }
    }

    fn plan(&mut self, way: usize, class: Class) {
        self.ways[way].plan(class, self.late_weight, &self.rest);
        // What a nap costs at best, with any of the calls.
        let calls = &self.ways[..self.ways.len() - 1];
        let plans = [0, 1].map(|i| {
            let plans = calls.iter().map(|way| way.naps_of(class).plans()[i]);
            plans.min_by(|a, b| a.cost_ns.total_cmp(&b.cost_ns))
        });
        if let [Some(free), Some(tight)] = plans {
            self.rest.set(class, [free, tight]);
        }
    }
}
