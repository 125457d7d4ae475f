//! What a waiter knows of one OS call.

use crate::estimators::grid::{Grid, Kind};
use crate::estimators::overshoot::{LONGEST_NS, Overshoot};
use crate::estimators::share::Share;
use crate::method::Method;
use crate::time::Nanos;

use super::class::{CLASSES, Class};
use super::plan::{Plan, Rest, SHORTEST_NS};
use super::prior::{self, Prior};

/// How many naps a distribution of overshoots remembers.
const MEMORY: f32 = 1024.0;
/// Samples' worth of what is believed without having been seen.
const BELIEF: f32 = 0.5;
/// What naps of another length tell.
const HEARSAY: f32 = 2.0;
/// When so many were seen, nothing has to be believed any more.
const SEEN: u32 = 8;
/// Naps of which fewer were seen seem better than is believed of them, so that
/// they are seen.
const UNKNOWN: u32 = 4;
const OPTIMISM: f32 = 0.5;
/// A nap is not believed to take more CPU time than this: what is above was
/// somebody else's work.
const CPU_MAX_NS: f32 = 400_000.0;
/// After so many metered naps of a class every sixteenth will do.
const METERED_FIRST: u8 = 4;
const METERED_EVERY: u32 = 16;
/// What is longer than usual by this, and four times that, says nothing about
/// a share.
const USUAL_NS: f32 = 200e3;
/// What is rare counts less with each nap, and with each wait that has none,
/// until it comes again: to be afraid of it for long costs more.
const FADING: f32 = 1.0 - 1.0 / 48.0;
/// When so little is left of it, or when that it did not come again would have
/// a probability of one in a thousand, it is forgotten.
const FADED: f32 = 0.01;
const OVERDUE: f32 = 7.0;
/// So many naps in a row that are shorter than nine tenths of those before them
/// are not chance.
const RUN: u8 = 5;
/// How many naps a plan may be old, at first and later.
const STALE_SOON: u8 = 1;
const STALE_LATER: u8 = 8;
const SOON: u32 = 16;

/// Naps of one class of lengths.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Naps {
    pub(super) overshoot: Overshoot,
    share: Share,
    share_believed: f32,
    /// How many there were.
    pub(super) seen: u32,
    cpu_ns: f32,
    metered: u8,
    /// Naps since the plan was made.
    stale: u8,
    /// What comes out of it: how long before its goal such a nap should end,
    /// at the reference length of the class, and what it costs in all.
    /// The second is for what is left at the short end of the class.
    plans: [Plan; 2],
    typical_ns: f32,
}

/// One OS call, with what was seen of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    pub(super) method: Method,
    unit: Nanos,
    classes: [Naps; CLASSES],
    clock: Grid,
    steps: Grid,
    pub(super) naps: u32,
    /// Naps in a row, of any class, that were shorter than nine tenths of those
    /// before them, and how long the longest of them was.
    below: u8,
    below_ns: f32,
    /// Naps since the last that took rarely long, and how much those count.
    clean: f32,
    afraid: f32,
}

/// A nap that could be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) length: Nanos,
    /// What the wait is expected to cost from here on with it.
    pub(super) cost_ns: f32,
}

impl Naps {
    fn new() -> Self {
        Self {
            overshoot: Overshoot::new(MEMORY),
            share: Share::default(),
            share_believed: 0.0,
            seen: 0,
            cpu_ns: prior::CPU_NS,
            metered: 0,
            stale: u8::MAX,
            plans: [Plan {
                margin_ns: LONGEST_NS,
                cost_ns: LONGEST_NS,
            }; 2],
            typical_ns: 0.0,
        }
    }

    /// The part of its length by which such a nap is late.
    pub(super) fn share(&self) -> f32 {
        self.share.share().max(self.share_believed)
    }

    /// What one takes of the CPU.
    pub(super) fn cpu_ns(&self) -> f32 {
        self.cpu_ns
    }

    /// The plan for so much left, of those that can be kept.
    pub(super) fn plan(&self, left_ns: f32) -> Plan {
        let [free, tight] = self.plans;
        if free.is_for(left_ns) { free } else { tight }
    }

    pub(super) fn plans(&self) -> [Plan; 2] {
        self.plans
    }

    fn is_stale(&self) -> bool {
        let limit = if self.seen < SOON {
            STALE_SOON
        } else {
            STALE_LATER
        };
        self.stale >= limit
    }
}

impl Way {
    pub(super) fn new(method: Method) -> Self {
        Self {
            method,
            unit: prior::unit(method),
            classes: std::array::from_fn(|_| Naps::new()),
            clock: Grid::new(Kind::Clock),
            steps: Grid::new(Kind::Steps),
            naps: 0,
            below: 0,
            below_ns: 0.0,
            clean: 0.0,
            afraid: 1.0,
        }
    }

    pub(super) fn naps_of(&self, class: Class) -> &Naps {
        &self.classes[class.index()]
    }

    /// The ticks on which naps end, if that is how they are best predicted.
    pub(super) fn grid(&self) -> Option<&Grid> {
        [&self.clock, &self.steps]
            .into_iter()
            .filter(|grid| grid.period_ns().is_some())
            .min_by(|a, b| a.off_ns().total_cmp(&b.off_ns()))
    }

    /// Learns that a nap of `asked` took `slept`, and ended at `woke` of the
    /// waiter's clock; `cpu` is what it took of the CPU, if that was measured.
    /// If that shows that naps have become much shorter, how much longer than
    /// asked they take now.
    pub(super) fn learn(
        &mut self,
        class: Class,
        asked: Nanos,
        slept: Nanos,
        woke: u64,
        cpu: Option<Nanos>,
    ) -> Option<f32> {
        let asked_ns = asked.as_ns() as f32;
        // Both are far below 2^63: no nap that is learned from lasted centuries.
        let over_ns = (slept.as_ns() as i64 - asked.as_ns() as i64) as f32;
        self.naps = self.naps.saturating_add(1);
        let naps = &mut self.classes[class.index()];
        naps.seen = naps.seen.saturating_add(1);
        naps.stale = naps.stale.saturating_add(1);
        let is_telling = naps.seen.is_power_of_two();
        if let Some(cpu) = cpu {
            let cpu_ns = (cpu.as_ns() as f32).min(CPU_MAX_NS);
            naps.metered = naps.metered.saturating_add(1);
            let step = (1.0 / f32::from(naps.metered)).max(1.0 / 8.0);
            naps.cpu_ns += (cpu_ns - naps.cpu_ns) * step;
        }
        let is_usual = over_ns < 4.0 * naps.typical_ns + USUAL_NS;
        if is_usual && naps.share.learn(asked_ns, over_ns) {
            // All that was learned was learned on another line.
            naps.share_believed = 0.0;
            naps.overshoot.forget();
            naps.stale = u8::MAX;
        }
        let usual_ns = over_ns - naps.share() * (asked_ns - class.reference_ns());
        let off_ns = (usual_ns - naps.typical_ns).abs();
        let news = naps.overshoot.learn(usual_ns);
        if naps.seen == SEEN {
            naps.overshoot.keep_last(SEEN as u8);
        }
        if news.is_change {
            naps.stale = u8::MAX;
            naps.share = Share::default();
            naps.share_believed = 0.0;
        }
        if news.is_rare {
            (self.clean, self.afraid) = (0.0, 1.0);
        } else {
            self.clean += 1.0;
            self.afraid *= FADING;
        }
        if news.is_below {
            self.below += if news.is_far_below { RUN / 2 + 1 } else { 1 };
            self.below_ns = self.below_ns.max(usual_ns);
        } else {
            (self.below, self.below_ns) = (0, 0.0);
        }
        let now_ns = (self.below >= RUN).then_some(self.below_ns);
        if let Some(now_ns) = now_ns {
            self.start_over(now_ns);
        }
        if is_telling || news.is_change {
            // What is believed of other naps comes from these.
            for naps in self.classes.iter_mut().filter(|naps| naps.seen == 0) {
                naps.stale = u8::MAX;
            }
        }
        let begin = woke.saturating_sub(slept.as_ns());
        let due = begin.saturating_add(asked.as_ns());
        self.clock.learn(begin, due, woke, off_ns);
        self.steps.learn(begin, due, woke, off_ns);
        now_ns
    }

    /// No nap of `class` was taken.
    pub(super) fn pass(&mut self, class: Class) {
        self.afraid *= FADING;
        let naps = &mut self.classes[class.index()];
        // The mark of having no plan stays.
        if naps.stale < u8::MAX - 1 {
            naps.stale += 1;
        }
    }

    /// Naps take only so much longer than asked now: what is known of those that
    /// took more is of another time.
    pub(super) fn start_over(&mut self, now_ns: f32) {
        for naps in &mut self.classes {
            if naps.seen > 0 && naps.overshoot.quantile_ns(0.5) > 2.0 * now_ns {
                naps.seen = 0;
                naps.stale = u8::MAX;
            }
        }
        (self.below, self.below_ns) = (0, 0.0);
    }

    /// Makes a plan for naps of `class`, with `rest` for what comes after
    /// them.
    pub(super) fn plan(&mut self, class: Class, late_weight: f32, rest: &Rest) {
        if self.classes[class.index()].seen == 0 {
            self.imagine(class);
        }
        let naps = &mut self.classes[class.index()];
        if self.afraid < FADED || self.clean * naps.overshoot.rare_part() > OVERDUE {
            naps.overshoot.forget_rare();
        }
        let shortest_ns = class.reference_ns();
        let margins = naps.overshoot.margins(
            late_weight,
            [2.0 * shortest_ns, shortest_ns],
            self.afraid,
            |left| rest.cost_ns(left),
        );
        let optimism = if naps.seen < UNKNOWN { OPTIMISM } else { 1.0 };
        naps.plans = margins.map(|margin| Plan {
            margin_ns: margin.margin_ns,
            cost_ns: (margin.cost_ns + naps.cpu_ns) * optimism,
        });
        naps.typical_ns = naps.overshoot.quantile_ns(0.5);
        naps.stale = 0;
    }

    /// Fills a class of which nothing was seen with what is likely.
    fn imagine(&mut self, class: Class) {
        let near = (0..CLASSES)
            .filter(|&i| i != class.index() && self.classes[i].seen > 0)
            .min_by_key(|&i| i.abs_diff(class.index()));
        let prior = Prior::of(self.method, class);
        let mut naps = Naps::new();
        match near {
            Some(near) if prior.share == 0.0 && self.classes[near].share() == 0.0 => {
                let near = &self.classes[near];
                let (from, to) = (
                    near.overshoot.quantile_ns(0.05),
                    near.overshoot.quantile_ns(0.95),
                );
                naps.overshoot.believe(from, to, HEARSAY);
                naps.cpu_ns = near.cpu_ns;
            }
            _ => {
                naps.overshoot
                    .believe(prior.over_ns.0, prior.over_ns.1, BELIEF);
                naps.share_believed = prior.share;
            }
        }
        self.classes[class.index()] = naps;
    }

    /// Whether naps of `class` have no plan yet, or an old one.
    pub(super) fn is_stale(&self, class: Class) -> bool {
        self.classes[class.index()].is_stale()
    }

    pub(super) fn has_no_plan(&self, class: Class) -> bool {
        self.classes[class.index()].stale == u8::MAX
    }

    /// Whether the next nap of this length should be metered.
    pub(super) fn wants_metering(&self, class: Class) -> bool {
        let naps = &self.classes[class.index()];
        naps.metered < METERED_FIRST || self.naps.is_multiple_of(METERED_EVERY)
    }

    /// The nap for a goal that is `left` away from `now`, if one is of use.
    pub(super) fn offer(&self, now: u64, left: Nanos, late_weight: f32) -> Option<Offer> {
        let offer = if let Some(grid) = self.grid() {
            let aim = grid.aim(now, now.saturating_add(left.as_ns()), late_weight)?;
            let length = Nanos::new(aim.due.saturating_sub(now));
            let naps = &self.classes[Class::of_ns(left.as_ns()).index()];
            Offer {
                length,
                cost_ns: aim.cost_ns + naps.cpu_ns,
            }
        } else {
            self.offer_by_length(left)?
        };
        let length = self.whole(offer.length)?;
        Some(Offer { length, ..offer })
    }

    /// As much of a length as the call can count, if that is any: what is asked
    /// for beyond whole units would make it a whole one more.
    pub(super) fn whole(&self, length: Nanos) -> Option<Nanos> {
        let units = length.as_ns() / self.unit.as_ns();
        (units > 0).then(|| self.unit.times(units))
    }

    fn offer_by_length(&self, left: Nanos) -> Option<Offer> {
        let class = Class::of_ns(left.as_ns());
        let naps = &self.classes[class.index()];
        let share = naps.share();
        let plan = naps.plan(left.as_ns() as f32);
        // The share grows with the length, and the length is what is sought. In
        // f64, as an hour in f32 is known to a quarter of a millisecond only.
        let margin_ns = f64::from(plan.margin_ns - share * class.reference_ns());
        let length_ns = (left.as_ns() as f64 - margin_ns) / f64::from(1.0 + share);
        (length_ns >= f64::from(SHORTEST_NS)).then(|| Offer {
            length: Nanos::new(length_ns as u64),
            cost_ns: plan.cost_ns,
        })
    }
}
