//! The knowledge of a waiter, to show and to begin another waiter with.

use crate::estimators::grid::Grid;
use crate::estimators::margins::Margins;
use crate::method::{Ends, Method};
use crate::time::Nanos;

use super::Adaptive;
use super::class::{self, CLASSES};

/// The knowledge of an [`Adaptive`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profile {
    /// The OS call it was learned of.
    pub method: Method,
    /// How many naps it was learned from.
    pub naps: u32,
    /// The period of the ticks on which naps end, if they do.
    pub grid: Option<Nanos>,
    /// Naps by the time left when they began, the shortest first; classes that saw
    /// none are left out.
    pub classes: Vec<ProfileClass>,
    margins: Margins,
}

/// The estimates for naps that began with about the same time left.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProfileClass {
    /// The least time left in this class.
    pub at_least: Nanos,
    /// The first time beyond it; the last class has none.
    pub below: Option<Nanos>,
    /// How many naps.
    pub naps: u32,
    /// The usual overshoot, which about 60 % do not exceed. Where it depends on the
    /// length: that of the shortest nap of the class.
    pub usual: Nanos,
    /// The median overshoot, if this class spreads as all classes together do. It is exact to
    /// about a tenth, and at most eight times the usual one. The same holds for `over_p90` and
    /// `over_p99`.
    pub over_p50: Nanos,
    /// See `over_p50`.
    pub over_p90: Nanos,
    /// See `over_p50`.
    pub over_p99: Nanos,
    /// The share of the length beyond `at_least` that is added to the overshoot: learned on macOS, and none elsewhere.
    pub share: f64,
    /// The CPU time of a nap.
    pub cpu: Nanos,
    /// How long before the deadline a nap is asked to end.
    pub margin: Nanos,
    /// The expected cost of a wait with such a nap.
    pub cost: Nanos,
}

fn nanos(ns: f32) -> Nanos {
    Nanos::new(ns as u64)
}

impl Adaptive {
    /// The cost of a nanosecond of lateness, in nanoseconds of CPU time.
    pub fn late_weight(&self) -> f64 {
        // 0.3 as it was given, not 0.30000001192092896.
        let shortest = self.late_weight.to_string().parse();
        shortest.unwrap_or_else(|_| f64::from(self.late_weight))
    }

    /// The estimates.
    pub fn profile(&self) -> Profile {
        let period_ns = self.grid().and_then(Grid::period_ns);
        let classes = (0..CLASSES).filter(|&class| self.classes[class].naps > 0);
        Profile {
            method: self.method,
            naps: (self.classes.iter()).fold(0, |sum, class| sum.saturating_add(class.naps)),
            grid: period_ns.map(|ns| Nanos::new(ns as u64)),
            classes: classes.map(|class| self.profile_class(class)).collect(),
            margins: self.margins.clone(),
        }
    }

    fn profile_class(&self, class: usize) -> ProfileClass {
        let known = &self.classes[class];
        let usual_ns = known.usual.ns();
        let at = |multiple: f32| nanos(usual_ns * multiple);
        let over = |q| at(self.margins.quantile(q));
        ProfileClass {
            at_least: Nanos::new(if class == 0 { 0 } else { class::from_ns(class) }),
            below: (self.class_of(Nanos::MAX) > class)
                .then(|| Nanos::new(class::from_ns(class + 1))),
            naps: known.naps,
            usual: nanos(usual_ns),
            over_p50: over(0.5),
            over_p90: over(0.9),
            over_p99: over(0.99),
            share: match self.ends {
                Ends::LateByAShare => self.share.at_most().into(),
                _ => 0.0,
            },
            cpu: nanos(known.cpu_ns),
            margin: at(self.best.margin),
            cost: nanos(known.cpu_ns + usual_ns * self.best.cost),
        }
    }

    /// Begins with another waiter's knowledge of the same OS call. Knowledge of another call is
    /// ignored, and so are values that cannot have been profile.
    pub fn begin_with(&mut self, profile: &Profile) {
        if profile.method != self.method || !profile.margins.is_sound() {
            return;
        }
        self.margins = profile.margins.clone();
        self.best = self.margins.best(self.late_weight, 10.0, f32::MAX);
        for of in &profile.classes {
            let class = class::of_ns(of.at_least.as_ns());
            let known = &mut self.classes[class];
            known.usual.believe(of.usual.as_ns() as f32);
            known.cpu_ns = of.cpu.as_ns() as f32;
            // Other classes then begin with this one's knowledge.
            known.naps = of.naps;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::{AnyStrategy, Budget, StrategySpec};
    use crate::time::{Clock, Tick};
    use crate::wait::{Event, Goal, Reason, Step, Strategy, Turn, Wait};

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
                Step::Spin => return (first, deadline.since(wait.now())),
                Step::Done | Step::Yield => return (first, Nanos::ZERO),
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

    const FUTEX: Method = Method::SlacklessFutex;
    const WINDOWS: Method = Method::HighResolutionTimer;

    /// The estimates for waits of that length.
    fn known(strategy: &Adaptive) -> ProfileClass {
        let known = |class: &ProfileClass| class.at_least <= LENGTH && class.below > Some(LENGTH);
        let profile = strategy.profile();
        *profile.classes.iter().find(|class| known(class)).unwrap()
    }

    #[test]
    fn a_budget_that_binds_is_said_beside_others_too() {
        let queued: Os = |_, due| {
            due + if due / 7_000_000 % 4 == 0 {
                2_000_000
            } else {
                60_000
            }
        };
        for (budget, binds) in [
            (Budget::Unlimited, false),
            (Budget::PerWait(Nanos::from_us(5)), true),
        ] {
            let mut strategy = Adaptive::new(10.0, FUTEX, budget);
            for i in 0..200 {
                wait(&mut strategy, i * 7_000_000, queued);
            }
            assert!(strategy.contention.is_present());
            assert_eq!(strategy.was_bound(), binds, "{budget}");
        }
    }

    #[test]
    fn spins_that_an_event_ends_are_spent_too() {
        let mut strategy = Adaptive::new(10.0, FUTEX, Budget::Share(0.01));
        let mut now = Tick::<Fake>::from_ns(1_000_000_000);
        // Too short for a nap to be tried.
        let (length, mut spun) = (Nanos::from_us(5), Nanos::ZERO);
        for _ in 0..10_000 {
            let goal = Goal {
                or: Some(Event(1)),
                ..Goal::until(now + length + length)
            };
            let mut wait = Wait::begin(&mut strategy, goal, now);
            if wait.step() == Step::Spin {
                spun += length;
            }
            now = now + length;
            wait.woke(&mut strategy, now, Reason::Event, None);
        }
        // The rest after a second, and a hundredth of these 50 ms.
        let most = Nanos::from_us(10_500) + length;
        assert!((length.times(1_600)..=most).contains(&spun), "{spun}");
    }

    #[test]
    fn the_first_waits_spin_little_more_than_later_ones() {
        let late: [Os; 4] = [
            |_, due| due + 1_000,
            |_, due| due + 30_000,
            |_, due| due + 60_000,
            |_, due| due + 150_000,
        ];
        for (weight, os) in [1.0, 10.0, 100.0]
            .into_iter()
            .flat_map(|w| late.map(|os| (w, os)))
        {
            let (_, usually) = wait(&mut taught(weight, FUTEX, os), 30_000_000_000, os);
            let mut strategy = Adaptive::new(weight, FUTEX, Budget::Unlimited);
            for i in 0..16 {
                let (_, spun) = wait(&mut strategy, i * 7_000_000, os);
                let more = Nanos::from_us(if i < 8 { 200 } else { 100 });
                assert!(
                    spun <= usually + more,
                    "{weight}, wait {i}: {spun}, later {usually}"
                );
            }
        }
    }

    #[test]
    fn it_naps_and_spins_as_it_says() {
        let late: Os = |_, due| due + 60_000;
        for (method, weight) in [(FUTEX, 1.0), (FUTEX, 10.0), (FUTEX, 100.0), (WINDOWS, 10.0)] {
            let mut strategy = taught(weight, method, late);
            let known = known(&strategy);
            assert!(
                known.usual <= known.margin && known.cost < LENGTH,
                "{known:?}"
            );
            let (first, spun) = wait(&mut strategy, 30_000_000_000, late);
            let close = |a: Nanos, b: Nanos| a.as_ns().abs_diff(b.as_ns()) <= 30_000;
            assert!(
                first.is_some_and(|first| close(first, known.margin)),
                "{known:?}"
            );
            assert!(
                close(spun, known.margin - known.usual),
                "{known:?}, {spun} spun"
            );
        }
    }

    #[test]
    fn on_ticks_it_says_so() {
        let on_ticks: Os = |_, due| due.div_ceil(1_000_000) * 1_000_000;
        let ticks = taught(10.0, WINDOWS, on_ticks).profile().grid.unwrap();
        assert!(ticks.as_ns().abs_diff(1_000_000) < 1_000, "{ticks}");
    }

    #[test]
    fn where_no_nap_is_worth_it_one_costs_more_than_to_spin() {
        let known = known(&taught(10.0, FUTEX, |begin, _| begin + 20_000_000));
        assert!(known.cost > LENGTH, "{known:?}");
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
        let profile = taught(10.0, FUTEX, os).profile();
        let margin = |method| {
            let mut fresh = Adaptive::new(10.0, method, Budget::Unlimited);
            fresh.begin_with(&profile);
            wait(&mut fresh, 1, os).0.unwrap()
        };
        let taught = wait(&mut taught(10.0, FUTEX, os), 30_000_000_000, os)
            .0
            .unwrap();
        assert_eq!(margin(FUTEX), taught);
        assert!(margin(Method::Timerfd) > taught.times(2));
    }
}
