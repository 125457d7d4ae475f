//! What a waiter has learned, and what it would do with that, to be shown.

use crate::estimators::grid::Grid;
use crate::method::Method;
use crate::time::{Lateness, Nanos};

use super::class::Class;
use super::way::{Offer, Way};
use super::{Adaptive, Mind};

/// What an [`Adaptive`](super::Adaptive) has learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// What a nanosecond of lateness costs, in nanoseconds of CPU time.
    pub late_weight: f64,
    /// Each OS call it may sleep with.
    pub methods: Vec<LearnedMethod>,
}

/// What was learned of an OS call.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedMethod {
    /// The call.
    pub method: Method,
    /// How often it was used.
    pub naps: u32,
    /// The distance of the ticks by which its naps are predicted, if that is
    /// how they are.
    pub grid: Option<Nanos>,
    /// Naps by the time that was left when they began, the shortest first;
    /// those that were taken.
    pub classes: Vec<LearnedClass>,
}

/// What was learned of naps with about so much time left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnedClass {
    /// At least this much was left.
    pub at_least: Nanos,
    /// And less than this, if it is not the last class.
    pub below: Option<Nanos>,
    /// How many there were.
    pub naps: u32,
    /// How much longer they took than asked: half of them, nine in ten, and
    /// 99 in a hundred, no more than this. At the shortest length of the class,
    /// where that depends on the length.
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
        /// The call.
        method: Method,
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

/// A plan has no more steps than this.
const STEPS_MAX: usize = 8;
/// In so many places between two ticks a wait is imagined to begin.
const PHASES: u32 = 64;
/// When it does if there are none, in nanoseconds of the waiter's clock.
const SOME_INSTANT: u64 = 1 << 40;

impl Adaptive {
    /// What it would do with so much time `left` if each nap took what half of
    /// them take no longer than; at most eight steps. What it does only once in
    /// a while, to learn, is not part of it.
    ///
    /// Where naps end on the ticks of a clock, it depends on when the wait
    /// begins: the cost is then what it is on average over waits that begin
    /// anywhere between two ticks, and the plan ends with such a nap.
    pub fn plan(&self, left: Nanos) -> Vec<PlannedStep> {
        // A copy, as plans that have become old are renewed when needed.
        let mut mind = Mind::clone(&self.mind);
        let mut steps = Vec::new();
        let mut left = left;
        while !left.is_zero() && steps.len() < STEPS_MAX {
            let Some(forecast) = mind.forecast(left) else {
                steps.push(PlannedStep::Spin { left });
                break;
            };
            steps.push(PlannedStep::Nap {
                left,
                method: forecast.method,
                until: forecast.until,
                usually_ends: forecast.usually_ends,
                cost: forecast.cost,
            });
            let Some(ends) = forecast.usually_ends else {
                break;
            };
            left = Nanos::new(ends.as_ns().min(0).unsigned_abs());
        }
        steps
    }
}

impl Mind {
    /// The nap it would take, if any.
    fn forecast(&mut self, left: Nanos) -> Option<Forecast> {
        let ways = self.ways_for(false);
        self.complete_plans(ways.clone(), left);
        self.ways[ways]
            .iter()
            .filter_map(|way| Forecast::of(way, left, self.late_weight))
            .min_by_key(|forecast| forecast.cost)
    }
}

/// A nap with one call, as it is on average over the [`PHASES`].
struct Forecast {
    method: Method,
    until: Until,
    usually_ends: Option<Lateness>,
    cost: Nanos,
}

impl Forecast {
    /// `None` if it would always cost more than to spin.
    fn of(way: &Way, left: Nanos, late_weight: f32) -> Option<Self> {
        let spin_ns = left.as_ns() as f32;
        let period_ns = way.grid().and_then(Grid::period_ns).unwrap_or(0.0);
        let offer = |phase: u32| {
            let since = f64::from(phase) / f64::from(PHASES) * period_ns;
            way.offer(SOME_INSTANT + since as u64, left, late_weight)
                .filter(|offer| offer.cost_ns < spin_ns)
        };
        let offers: Vec<Option<Offer>> = (0..PHASES).map(offer).collect();
        let length = offers.iter().flatten().next()?.length;
        let is_same = |offer: &Option<Offer>| offer.is_some_and(|o| o.length == length);
        let (until, usually_ends) = if offers.iter().all(is_same) {
            let ends = usually_ends(way, left, length);
            (Until::Before(left - length), Some(ends))
        } else {
            (Until::Tick(Nanos::new(period_ns as u64)), None)
        };
        let costs = offers.iter().map(|o| o.map_or(spin_ns, |o| o.cost_ns));
        let cost_ns = costs.map(f64::from).sum::<f64>() / f64::from(PHASES);
        Some(Self {
            method: way.method,
            until,
            usually_ends,
            cost: Nanos::new(cost_ns as u64),
        })
    }
}

/// How late a nap of `length` usually ends with so much time `left`. Where naps
/// are aimed at ticks, they usually end as long after what was asked as before.
fn usually_ends(way: &Way, left: Nanos, length: Nanos) -> Lateness {
    let class = Class::of_ns(left.as_ns());
    let naps = way.naps_of(class);
    let longer = length.as_ns() as f32 - class.reference_ns();
    let over = naps.overshoot.quantile_ns(0.5) + naps.share() * longer;
    let margin = i64::try_from((left - length).as_ns()).unwrap_or(i64::MAX);
    Lateness::new((over as i64).saturating_sub(margin))
}

pub(super) fn of(mind: &Mind) -> Learned {
    let (_events, calls) = mind.ways.split_last().expect("there is one for events");
    Learned {
        late_weight: shortest(mind.late_weight),
        methods: calls.iter().map(method).collect(),
    }
}

/// The number as it was given: 0.3, not 0.30000001192092896.
fn shortest(number: f32) -> f64 {
    number
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(number))
}

fn method(way: &Way) -> LearnedMethod {
    let ns = |ns: f32| Nanos::new(ns as u64);
    let classes = Class::ALL
        .into_iter()
        .filter(|&class| way.naps_of(class).seen > 0)
        .map(|class| {
            let naps = way.naps_of(class);
            let over = |q| ns(naps.overshoot.quantile_ns(q));
            LearnedClass {
                at_least: class.from(),
                below: Class::ALL.get(class.index() + 1).map(|next| next.from()),
                naps: naps.seen,
                over_p50: over(0.5),
                over_p90: over(0.9),
                over_p99: over(0.99),
                share: f64::from(naps.share()),
                cpu: ns(naps.cpu_ns()),
                margin: ns(naps.plans()[0].margin_ns),
                cost: ns(naps.plans()[0].cost_ns),
            }
        });
    LearnedMethod {
        method: way.method,
        naps: way.naps,
        grid: way
            .grid()
            .and_then(Grid::period_ns)
            .map(|period| Nanos::new(period as u64)),
        classes: classes.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::{Any, Spec};
    use crate::time::{Clock, Tick};
    use crate::wait::{Goal, Reason, Step, Wait};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Fake;
    impl Clock for Fake {}

    const LENGTH: Nanos = Nanos::from_ms(5);

    /// How a fake OS ends a nap: when it begins and when it should end, and
    /// when it does.
    type Os = fn(u64, u64) -> u64;

    /// Waits once; returns how long before the deadline the first nap was to
    /// end, and how much was spun.
    fn wait(strategy: &mut Any, begin: u64, os: Os) -> (Option<Nanos>, Nanos) {
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
    fn taught(weight: f64, os: Os) -> Any {
        let mut strategy = Spec::adaptive(weight).with_method(Method::Timerfd).build();
        for i in 0..1_000_u64 {
            let begin = i * 25_000_000 + i * i * 7_919 % 10_000_000;
            wait(&mut strategy, begin, os);
        }
        strategy
    }

    fn plan(strategy: &Any) -> Vec<PlannedStep> {
        let Any::Adaptive(adaptive) = strategy else {
            panic!("{strategy:?}");
        };
        let plan = adaptive.plan(LENGTH);
        assert_eq!(adaptive.plan(LENGTH), plan);
        assert_eq!(adaptive.plan(Nanos::ZERO), []);
        plan
    }

    fn spun(plan: &[PlannedStep]) -> Nanos {
        match plan.last() {
            Some(PlannedStep::Spin { left }) => *left,
            _ => Nanos::ZERO,
        }
    }

    #[test]
    fn it_does_what_it_plans() {
        let late: Os = |_, due| due + 60_000;
        let in_steps: Os = |begin, due| begin + (due - begin).div_ceil(700_000) * 700_000 + 5_000;
        for (os, weight) in [(late, 1.0), (late, 10.0), (late, 100.0), (in_steps, 10.0)] {
            let mut strategy = taught(weight, os);
            let plan = plan(&strategy);
            let PlannedStep::Nap {
                until: Until::Before(before),
                ..
            } = plan[0]
            else {
                panic!("{plan:?}");
            };
            let (first, seen) = wait(&mut strategy, 30_000_000_000, os);
            // A length is known to 6 %.
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
        let plan = plan(&taught(10.0, |_, due| due.div_ceil(1_000_000) * 1_000_000));
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
        let plan = plan(&taught(10.0, |begin, _| begin + 20_000_000));
        assert_eq!(plan, [PlannedStep::Spin { left: LENGTH }]);
    }

    #[test]
    fn a_weight_is_told_as_it_was_given() {
        let Any::Adaptive(adaptive) = Spec::adaptive(0.3).with_method(Method::Sleep).build() else {
            panic!("a spec builds what it names");
        };
        assert_eq!(adaptive.learned().late_weight, 0.3);
    }
}
