//! The ways of waiting, and [`StrategySpec`], which names one as data.
//!
//! | name | what it does |
//! |---|---|
//! | `system` | one OS sleep |
//! | `spin` | reads the clock until the deadline |
//! | `yield-spin` | the same, offering the CPU between readings |
//! | `precise` | the accurate-sleep article's *preciseSleep* |
//! | `timer` | the accurate-sleep article's *timerSleep* |
//! | `fixed-margin` | one OS sleep that ends a fixed margin early, then a spin |
//! | `spin_sleep` | what the crate of that name does, for models: one OS sleep, then a spin that offers the CPU |
//! | `quantile` | one OS sleep that ends before the deadline by a quantile of the last overshoots, then a spin |
//! | `adaptive` | naps and spins so that CPU time and lateness together cost least, as learned |
//! | `max-nap` | 1 ms naps while more than the longest of this wait is left, then a spin |

mod adaptive;
mod article;
mod plain;
mod quantile;
mod spec;

pub use adaptive::{
    Adaptive, Budget, LimitedBy, Profile, ProfileClass, Target, TargetStatus, Tradeoff,
};
pub use article::{Estimate, Precise, Timer};
pub use plain::{FixedMargin, MaxNap, Spin, SpinSleep, System, YieldSpin};
pub use quantile::Quantile;
pub use spec::{Defaults, StrategySpec};

use crate::time::Clock;
use crate::wait::{Goal, Step, Strategy, Turn};

/// A strategy that was built from a [`StrategySpec`].
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a waiter is made without allocating, and most of them are adaptive"
)]
pub enum AnyStrategy {
    /// See [`System`].
    System(System),
    /// See [`Spin`].
    Spin(Spin),
    /// See [`YieldSpin`].
    YieldSpin(YieldSpin),
    /// See [`Precise`].
    Precise(Precise),
    /// See [`Timer`].
    Timer(Timer),
    /// See [`FixedMargin`].
    FixedMargin(FixedMargin),
    /// See [`SpinSleep`].
    SpinSleep(SpinSleep),
    /// See [`MaxNap`].
    MaxNap(MaxNap),
    /// See [`Quantile`].
    Quantile(Quantile),
    /// See [`Adaptive`].
    Adaptive(Adaptive),
}

impl<C: Clock> Strategy<C> for AnyStrategy {
    #[inline]
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        match self {
            Self::System(s) => s.next(goal, turn),
            Self::Spin(s) => s.next(goal, turn),
            Self::YieldSpin(s) => s.next(goal, turn),
            Self::Precise(s) => s.next(goal, turn),
            Self::Timer(s) => s.next(goal, turn),
            Self::FixedMargin(s) => s.next(goal, turn),
            Self::SpinSleep(s) => s.next(goal, turn),
            Self::MaxNap(s) => s.next(goal, turn),
            Self::Quantile(s) => s.next(goal, turn),
            Self::Adaptive(s) => s.next(goal, turn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Method;
    use crate::time::{Nanos, Tick};
    use crate::wait::{Reason, Wait};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Fake;
    impl Clock for Fake {}

    /// Plays a wait of `length` against naps that overshoot by `overshoots`
    /// in turn, the last one again and again; returns the naps asked for and
    /// whether a spin ended it.
    fn play(strategy: &mut AnyStrategy, length: Nanos, overshoots: &[Nanos]) -> (Vec<Nanos>, bool) {
        let mut overshoots = overshoots.iter().copied();
        let mut last = Nanos::ZERO;
        let mut naps = Vec::new();
        let mut wait = Wait::begin(
            strategy,
            Goal::until(Tick::<Fake>::from_ns(0) + length),
            Tick::from_ns(0),
        );
        loop {
            match wait.step() {
                Step::Done => return (naps, false),
                Step::Block { limit, .. } => {
                    last = overshoots.next().unwrap_or(last);
                    let asked = limit.length(wait.now());
                    naps.push(asked);
                    let now = wait.now() + asked + last;
                    wait.woke(strategy, now, Reason::Timer, None);
                }
                Step::Spin | Step::Yield => return (naps, true),
            }
        }
    }

    #[test]
    fn precise_naps_until_the_estimate_swallows_the_rest() {
        // 5 ms, then naps of exactly 1 ms: after n naps the mean is (5 + n)/(1 + n) and the deviation
        // 4/sqrt(n + 1). With 2.67 ms left after 14 naps the bound is 2.30 ms, so there is a 15th;
        // with 1.67 ms left it is 2.25 ms.
        let mut strategy = StrategySpec::Precise {
            method: Method::Sleep,
            x: 1.0,
        }
        .build();
        let (naps, spun) = play(&mut strategy, Nanos::from_us(16_670), &[Nanos::ZERO]);
        assert_eq!(naps, vec![Nanos::from_ms(1); 15]);
        assert!(spun);
    }

    #[test]
    fn precise_does_not_nap_below_its_first_estimate() {
        let mut strategy = StrategySpec::Precise {
            method: Method::Sleep,
            x: 1.0,
        }
        .build();
        assert_eq!(
            play(&mut strategy, Nanos::from_ms(5), &[Nanos::ZERO]),
            (vec![], true)
        );
    }

    #[test]
    fn timer_waits_for_exactly_what_its_error_leaves() {
        // First nap: 16 - 5 = 11 ms. Its error 0 makes the mean 2.5 ms and the deviation sqrt(12.5) ms,
        // more than the 5 ms that are left: spin.
        let mut strategy = StrategySpec::Timer {
            method: Method::Timer,
            x: 1.0,
        }
        .build();
        assert_eq!(
            play(&mut strategy, Nanos::from_ms(16), &[Nanos::ZERO]),
            (vec![Nanos::from_ms(11)], true)
        );
        // The next wait starts from mean + deviation = 6.035534 ms.
        let AnyStrategy::Timer(timer) = &strategy else {
            panic!("{strategy:?}");
        };
        let learned = Estimate {
            mean: Nanos::from_us(2_500),
            bound: Nanos::new(6_035_533),
            deviations: 1.0,
        };
        assert_eq!(timer.learned(), learned);
        let (naps, _) = play(&mut strategy, Nanos::from_ms(16), &[Nanos::ZERO]);
        assert_eq!(naps[0], Nanos::new(16_000_000 - 6_035_534));
    }

    #[test]
    fn max_nap_stops_at_the_longest_nap_of_this_wait_only() {
        let mut strategy = StrategySpec::MaxNap {
            method: Method::Sleep,
        }
        .build();
        let spike = [Nanos::from_ms(4), Nanos::ZERO];
        assert_eq!(
            play(&mut strategy, Nanos::from_ms(10), &spike),
            (vec![Nanos::from_ms(1); 1], true)
        );
        assert_eq!(
            play(&mut strategy, Nanos::from_ms(10), &[Nanos::ZERO])
                .0
                .len(),
            9
        );
    }

    #[test]
    fn fixed_margin_survives_a_margin_longer_than_the_wait() {
        let mut strategy = StrategySpec::FixedMargin {
            method: Method::Sleep,
            margin: Nanos::from_ms(2),
        }
        .build();
        assert_eq!(
            play(&mut strategy, Nanos::from_ms(1), &[Nanos::ZERO]),
            (vec![], true)
        );
        assert_eq!(
            play(&mut strategy, Nanos::from_ms(5), &[Nanos::from_us(60)]),
            (vec![Nanos::from_ms(3)], true)
        );
    }

    #[test]
    fn quantile_ends_its_naps_by_what_most_of_the_last_overshot() {
        let mut strategy = StrategySpec::quantile(10.0).build();
        let ms = Nanos::from_ms(1);
        let (naps, spun) = play(&mut strategy, ms, &[Nanos::from_us(40)]);
        assert_eq!((naps, spun), (vec![Nanos::from_us(940)], true));
        let (naps, _) = play(&mut strategy, ms, &[Nanos::from_us(50)]);
        assert_eq!(naps, [Nanos::from_us(960)]);
        // Rank 1 x 10/11, rounded: the larger of the two.
        let (naps, _) = play(&mut strategy, ms, &[Nanos::from_us(50)]);
        assert_eq!(naps, [Nanos::from_us(950)]);
    }

    #[test]
    fn quantile_tries_a_nap_after_31_waits_that_it_spun_through() {
        let mut strategy = StrategySpec::quantile(10.0).build();
        let short = Nanos::from_us(50);
        for _ in 0..3 {
            for _ in 0..31 {
                assert_eq!(play(&mut strategy, short, &[short]), (vec![], true));
            }
            let nap = play(&mut strategy, short, &[Nanos::from_us(100)]);
            assert_eq!(nap.0, [Nanos::from_us(25)]);
        }
    }

    #[test]
    fn system_sleeps_to_the_end_and_never_spins() {
        let mut strategy = StrategySpec::System {
            method: Method::Sleep,
        }
        .build();
        assert_eq!(
            play(&mut strategy, Nanos::from_ms(5), &[Nanos::from_us(60)]),
            (vec![Nanos::from_ms(5)], false)
        );
    }
}
