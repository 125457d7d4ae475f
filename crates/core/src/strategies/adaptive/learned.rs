//! What a waiter has learned: to be shown, to be kept, and to begin another
//! waiter with.

use crate::estimators::margins::Margins;
use crate::estimators::share::Share;
use crate::method::Method;
use crate::time::{Lateness, Nanos};

use super::class::{self, CLASSES};
use super::regular::Regular;
use super::{Adaptive, Plan};

/// What an [`Adaptive`] has learned.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Learned {
    /// The OS call that this is of.
    pub method: Method,
    /// How often it was used.
    pub naps: u32,
    /// The distance of the ticks by which its naps are predicted, if that is
    /// how they are.
    pub grid: Option<Nanos>,
    /// Naps by the time that was left when they began, the shortest first;
    /// those that were taken.
    pub classes: Vec<LearnedClass>,
    margins: Margins,
}

/// What was learned of naps with about so much time left.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LearnedClass {
    /// At least this much was left.
    pub at_least: Nanos,
    /// And less than this, if it is not the last class.
    pub below: Option<Nanos>,
    /// How many there were.
    pub naps: u32,
    /// How much longer than asked they usually take: about three of five no longer
    /// than this. At the shortest length of the class, where that depends on the
    /// length.
    pub usual: Nanos,
    /// The same of half of them, nine in ten, and 99 in a hundred, if they spread
    /// about the usual one as those of all classes together do: to a tenth or so,
    /// and up to five times that.
    pub over_p50: Nanos,
    /// See `over_p50`.
    pub over_p90: Nanos,
    /// See `over_p50`.
    pub over_p99: Nanos,
    /// By which part of its length a nap is longer than that.
    pub share: f64,
    /// What one takes of the CPU.
    pub cpu: Nanos,
    /// How long before its goal one should end.
    pub margin: Nanos,
    /// What a wait is expected to cost with it.
    pub cost: Nanos,
}

/// What a waiter would do, one step after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlannedStep {
    /// Take a nap.
    Nap {
        /// The time left when it begins.
        left: Nanos,
        /// When it is asked to end.
        until: Until,
        /// How late it usually ends, the median, seen from the deadline:
        /// negative before it. `None` where that depends on the ticks.
        usually_ends: Option<Lateness>,
        /// What the wait is expected to cost from here on.
        cost: Nanos,
    },
    /// Spin until the deadline.
    Spin {
        /// The time left when it begins, which is what it costs.
        left: Nanos,
    },
}

/// When a nap is asked to end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// So long before the deadline.
    Before(Nanos),
    /// On the tick that costs least, of ticks with this distance; it spins for
    /// what is left then, and where no tick is better, for all of it.
    Tick(Nanos),
}

/// In so many places between two ticks a wait is imagined to begin.
const PHASES: u32 = 64;
/// When it does if there are none, in nanoseconds of the waiter's clock.
const SOME_INSTANT: u64 = 1 << 40;

fn nanos(ns: f32) -> Nanos {
    Nanos::new(ns as u64)
}

impl Adaptive {
    /// What a nanosecond of lateness costs, in nanoseconds of CPU time.
    pub fn late_weight(&self) -> f64 {
        // As it was given: 0.3, not 0.30000001192092896.
        let shortest = self.late_weight.to_string().parse();
        shortest.unwrap_or_else(|_| f64::from(self.late_weight))
    }

    /// What it has learned.
    pub fn learned(&self) -> Learned {
        let classes = (0..CLASSES).filter(|&class| self.classes[class].naps > 0);
        Learned {
            method: self.method,
            naps: (self.classes.iter()).fold(0, |sum, class| sum.saturating_add(class.naps)),
            grid: self.ticks(),
            classes: classes.map(|class| self.learned_class(class)).collect(),
            margins: self.margins.clone(),
        }
    }

    fn learned_class(&self, class: usize) -> LearnedClass {
        let known = &self.classes[class];
        let usual_ns = known.usual.ns();
        let scale_ns = self.scale_ns(class);
        let at = |multiple: f32| nanos(usual_ns + scale_ns * (multiple - 1.0));
        let over = |q| at(self.margins.quantile(q));
        LearnedClass {
            at_least: Nanos::new(if class == 0 { 0 } else { class::from_ns(class) }),
            below: (class + 1 < CLASSES).then(|| Nanos::new(class::from_ns(class + 1))),
            naps: known.naps,
            usual: nanos(usual_ns),
            over_p50: over(0.5),
            over_p90: over(0.9),
            over_p99: over(0.99),
            share: self.share(class),
            cpu: nanos(known.cpu_ns),
            margin: at(self.best.margin),
            cost: nanos(known.cpu_ns + scale_ns * self.best.cost),
        }
    }

    /// Begins with what another waiter has learned of the same OS call; of
    /// another call it is of no use and left out.
    pub fn begin_with(&mut self, learned: &Learned) {
        if learned.method != self.method {
            return;
        }
        self.margins = learned.margins.clone();
        self.best = self.margins.best(self.late_weight, 10.0, f32::MAX);
        for of in &learned.classes {
            let class = class::of_ns(of.at_least.as_ns());
            let known = &mut self.classes[class];
            known.usual.believe(of.usual.as_ns() as f32);
            known.cpu_ns = of.cpu.as_ns() as f32;
            // So that it is asked when another class knows nothing.
            known.naps = of.naps;
            if let Some(Regular::Share(shares)) = self.make_regular() {
                shares[class] = Share::believed(of.share as f32);
            }
        }
    }

    fn ticks(&self) -> Option<Nanos> {
        let grid = self.grid()?;
        Some(Nanos::new(grid.period_ns()? as u64))
    }

    fn share(&self, class: usize) -> f64 {
        f64::from(self.regular.as_ref().map_or(0.0, |r| r.share(class)))
    }

    /// What it would do with so much time `left` if the nap took what half of
    /// them take no longer than. What it does only once in a while, to learn, is not
    /// part of it.
    ///
    /// Where naps end on the ticks of a clock, it depends on when the wait
    /// begins: the cost is then what it is on average over waits that begin
    /// anywhere between two ticks, and the plan ends with such a nap.
    pub fn plan(&self, left: Nanos) -> Vec<PlannedStep> {
        if left.is_zero() {
            return vec![];
        }
        let mut waiter = self.clone();
        let class = class::of_ns(left.as_ns());
        if waiter.classes[class].naps == 0 {
            waiter.know(class);
        }
        let Some((length, cost)) = waiter.foresee(left) else {
            return vec![PlannedStep::Spin { left }];
        };
        let ends = length.map(|length| waiter.usually_ends(left, length));
        let until = match self.ticks() {
            Some(period) if length.is_none() => Until::Tick(period),
            _ => Until::Before(left - length.unwrap_or(Nanos::ZERO)),
        };
        let mut steps = vec![PlannedStep::Nap {
            left,
            until,
            usually_ends: ends,
            cost,
        }];
        if let Some(ends) = ends.filter(|ends| ends.is_early()) {
            let left = Nanos::new(ends.as_ns().unsigned_abs());
            steps.push(PlannedStep::Spin { left });
        }
        steps
    }

    /// How long it would sleep with so much left, if that does not depend on
    /// when, and what that costs; `None` if it would always spin.
    fn foresee(&self, left: Nanos) -> Option<(Option<Nanos>, Nanos)> {
        let class = class::of_ns(left.as_ns());
        let spin_ns = left.as_ns() as f32;
        let period_ns = self.ticks().map_or(0, Nanos::as_ns);
        let at = |phase: u32| {
            let since = u64::from(phase) * period_ns / u64::from(PHASES);
            (self.plan_nap(SOME_INSTANT + since, left, class)).filter(|plan| plan.cost_ns < spin_ns)
        };
        let plans: Vec<Option<Plan>> = (0..PHASES).map(at).collect();
        let length = plans.iter().flatten().next()?.length;
        let is_same = |plan: &Option<Plan>| plan.is_some_and(|plan| plan.length == length);
        let costs = plans.iter().map(|plan| plan.map_or(spin_ns, |p| p.cost_ns));
        let cost = nanos(costs.sum::<f32>() / PHASES as f32);
        Some((plans.iter().all(is_same).then_some(length), cost))
    }

    /// How late a nap of `length` usually ends with so much time `left`.
    fn usually_ends(&self, left: Nanos, length: Nanos) -> Lateness {
        let class = class::of_ns(left.as_ns());
        let usual_ns = self.classes[class].usual.ns();
        let over = usual_ns + self.scale_ns(class) * (self.margins.quantile(0.5) - 1.0);
        let beyond = length.as_ns() as f64 - class::from_ns(class) as f64;
        let over = f64::from(over) + self.share(class) * beyond;
        let margin = i64::try_from((left - length).as_ns()).unwrap_or(i64::MAX);
        Lateness::new((over as i64).saturating_sub(margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::{AnyStrategy, Budget, StrategySpec};
    use crate::time::{Clock, Tick};
    use crate::wait::{Goal, Reason, Step, Strategy, Turn, Wait};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Fake;
    impl Clock for Fake {}

    const LENGTH: Nanos = Nanos::from_ms(5);

    /// How a fake OS ends a nap: when it begins and when it should end, and
    /// when it does.
    type Os = fn(u64, u64) -> u64;

    /// Waits once; returns how long before the deadline the first nap was to
    /// end, and how much was spun.
    fn wait(strategy: &mut Adaptive, begin: u64, os: Os) -> (Option<Nanos>, Nanos) {
        let begin = Tick::<Fake>::from_ns(begin);
        let deadline = begin + LENGTH;
        let mut first = None;
        let mut wait = Wait::begin(strategy, Goal::until(deadline), begin);
        loop {
            match wait.step() {
                Step::Block { limit, .. } => {
                    let due = wait.now() + limit.length(wait.now());
                    first = first.or(Some(deadline.since(due)));
                    let woke = Tick::from_ns(os(wait.now().as_ns(), due.as_ns()));
                    wait.woke(strategy, woke, Reason::Timer, Some(Nanos::from_us(4)));
                }
                Step::Spin { .. } => return (first, deadline.since(wait.now())),
                Step::Done | Step::Yield { .. } => return (first, Nanos::ZERO),
            }
        }
    }

    /// One that has waited a thousand times, not at a steady rate, which would
    /// look like ticks.
    fn taught(weight: f64, method: Method, os: Os) -> Adaptive {
        let mut strategy = Adaptive::new(weight, method, Budget::Unlimited);
        for i in 0..1_000_u64 {
            let begin = i * 7_000_000 + i * i * 7_919 % 1_900_000;
            wait(&mut strategy, begin, os);
        }
        // A wait is learned from when the next begins.
        let goal = Goal::until(Tick::<Fake>::from_ns(2));
        strategy.next(&goal, &Turn::Begin(Tick::from_ns(1)));
        strategy
    }

    fn spun(plan: &[PlannedStep]) -> Nanos {
        match plan.last() {
            Some(PlannedStep::Spin { left }) => *left,
            _ => Nanos::ZERO,
        }
    }

    const FUTEX: Method = Method::SlacklessFutex;
    const WINDOWS: Method = Method::HighResolutionTimer;

    #[test]
    fn it_does_what_it_plans() {
        let late: Os = |_, due| due + 60_000;
        for (os, method, weight) in [
            (late, FUTEX, 1.0),
            (late, FUTEX, 10.0),
            (late, FUTEX, 100.0),
            (late, WINDOWS, 10.0),
        ] {
            let mut strategy = taught(weight, method, os);
            let plan = strategy.plan(LENGTH);
            assert_eq!(strategy.plan(LENGTH), plan);
            assert_eq!(strategy.plan(Nanos::ZERO), []);
            let PlannedStep::Nap {
                until: Until::Before(before),
                ..
            } = plan[0]
            else {
                panic!("{plan:?}");
            };
            let (first, seen) = wait(&mut strategy, 30_000_000_000, os);
            let close = |a: Nanos, b: Nanos| a.as_ns().abs_diff(b.as_ns()) <= 30_000;
            assert!(first.is_some_and(|first| close(first, before)), "{plan:?}");
            assert!(close(seen, spun(&plan)), "{plan:?}, {seen} spun");
        }
    }

    /// With ticks P apart and a weight w, the best tick leaves P/2 w/(1 + w)
    /// to pay on average: integrated over the places at which the deadline can
    /// lie between two ticks.
    #[test]
    fn on_ticks_the_average_wait_is_planned() {
        let on_ticks: Os = |_, due| due.div_ceil(1_000_000) * 1_000_000;
        let plan = taught(10.0, WINDOWS, on_ticks).plan(LENGTH);
        let [
            PlannedStep::Nap {
                until: Until::Tick(period),
                usually_ends: None,
                cost,
                ..
            },
        ] = plan[..]
        else {
            panic!("{plan:?}");
        };
        let close = |seen: Nanos, us: f64| (seen.as_ns() as f64 / 1e3 / us - 1.0).abs() < 0.1;
        assert!(close(period, 1_000.0), "{period}");
        assert!(close(cost, 500.0 * 10.0 / 11.0 + 4.0), "{cost}");
    }

    #[test]
    fn where_no_nap_is_worth_it_the_plan_is_to_spin() {
        let plan = taught(10.0, FUTEX, |begin, _| begin + 20_000_000).plan(LENGTH);
        assert_eq!(plan, [PlannedStep::Spin { left: LENGTH }]);
    }

    #[test]
    fn a_weight_is_told_as_it_was_given() {
        let AnyStrategy::Adaptive(adaptive) = StrategySpec::adaptive(0.3).build() else {
            panic!("a spec builds what it names");
        };
        assert_eq!(adaptive.late_weight(), 0.3);
    }

    /// Another weight may be behind it, but not another OS call.
    #[test]
    fn who_begins_with_what_another_learned_waits_like_it() {
        let os: Os = |_, due| due + 37_000;
        let learned = taught(10.0, FUTEX, os).learned();
        let margin = |method| {
            let mut fresh = Adaptive::new(10.0, method, Budget::Unlimited);
            fresh.begin_with(&learned);
            wait(&mut fresh, 1, os).0.unwrap()
        };
        let taught = wait(&mut taught(10.0, FUTEX, os), 30_000_000_000, os)
            .0
            .unwrap();
        assert_eq!(margin(FUTEX), taught);
        assert!(margin(Method::Timerfd) > taught.times(2));
    }
}
