//! The ways of waiting, and [`StrategySpec`], which names one as data.
//!
//! A strategy is a type in a file here and a row in the table below.

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
pub use spec::Defaults;

use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Step, Strategy, Turn};
use spec::{NAMED, adaptive_name};

/// Defines the strategies as data and as types that are built, so that each is written once.
///
/// In a row, after the parameters: its name; the strategy that is built; the parameter that is
/// the OS call it blocks with, if it ever blocks; the most that it spins in one wait, where it
/// guarantees that; and with which parameters it is among [`StrategySpec::ALL`].
macro_rules! strategies {
    ($(
        $(#[$doc:meta])*
        $strategy:ident $({ $($(#[$about:meta])* $parameter:ident: $of:ty,)* })? => {
            name: $name:expr,
            build: $build:expr,
            blocks_with: $method:expr,
            spins_at_most: $spins:expr,
            listed: [$($listed:expr),*],
        }
    )*) => {
        /// A strategy with its parameters, as data: what to build, not one built.
        ///
        /// As text it is a name with parameters: `precise`, `precise:x=2`,
        /// `fixed-margin:margin=200us`, `timer:method=clock_nanosleep`.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum StrategySpec {
            $($(#[$doc])* $strategy $({ $($(#[$about])* $parameter: $of,)* })?,)*
        }

        /// A strategy that was built from a [`StrategySpec`].
        #[derive(Clone, Debug, PartialEq)]
        #[expect(
            clippy::large_enum_variant,
            reason = "a waiter is made without allocating, and most of them are adaptive"
        )]
        pub enum AnyStrategy {
            $(
                #[doc = concat!("See [`", stringify!($strategy), "`].")]
                $strategy($strategy),
            )*
        }

        impl<C: Clock> Strategy<C> for AnyStrategy {
            #[inline]
            fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
                match self {
                    $(Self::$strategy(strategy) => strategy.next(goal, turn),)*
                }
            }
        }

        // A row names only those parameters that it needs.
        #[allow(unused_variables)]
        impl StrategySpec {
            /// Every strategy with its usual parameters, in the order in which they
            /// are listed to the user.
            pub const ALL: [Self; [$($(stringify!($listed),)*)*].len()] = [$($($listed,)*)*];

            /// The strategy's name, without its parameters.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$strategy $({ $($parameter),* })? => $name,)*
                }
            }

            /// Builds the strategy, with nothing learned yet.
            pub fn build(self) -> AnyStrategy {
                match self {
                    $(Self::$strategy $({ $($parameter),* })? => AnyStrategy::$strategy($build),)*
                }
            }

            /// Whether this strategy ever blocks.
            pub const fn sleeps(self) -> bool {
                self.method().is_some()
            }

            const fn method_mut(&mut self) -> Option<&mut Method> {
                match self {
                    $(Self::$strategy $({ $($parameter),* })? => $method,)*
                }
            }

            /// The most this strategy ever spins in one wait, where it guarantees one.
            pub const fn spin_budget(self) -> Option<Nanos> {
                match self {
                    $(Self::$strategy $({ $($parameter),* })? => $spins,)*
                }
            }
        }
    };
}

strategies! {
    /// See [`System`].
    System {
        /// The OS call.
        method: Method,
    } => {
        name: "system",
        build: System { method },
        blocks_with: Some(method),
        spins_at_most: Some(Nanos::ZERO),
        listed: [Self::System { method: Method::Sleep }],
    }
    /// See [`Spin`].
    Spin => {
        name: "spin",
        build: Spin,
        blocks_with: None,
        spins_at_most: None,
        listed: [Self::Spin],
    }
    /// See [`YieldSpin`].
    YieldSpin => {
        name: "yield-spin",
        build: YieldSpin,
        blocks_with: None,
        spins_at_most: None,
        listed: [Self::YieldSpin],
    }
    /// See [`Precise`].
    Precise {
        /// The OS call.
        method: Method,
        /// Standard deviations above the mean.
        x: f64,
    } => {
        name: "precise",
        build: Precise::new(method, x),
        blocks_with: Some(method),
        spins_at_most: None,
        listed: [Self::Precise { method: Method::Sleep, x: 1.0 }],
    }
    /// See [`Timer`].
    Timer {
        /// The OS call.
        method: Method,
        /// Standard deviations above the mean.
        x: f64,
    } => {
        name: "timer",
        build: Timer::new(method, x),
        blocks_with: Some(method),
        spins_at_most: None,
        listed: [Self::Timer { method: Method::Timer, x: 1.0 }],
    }
    /// See [`FixedMargin`].
    FixedMargin {
        /// The OS call.
        method: Method,
        /// How long before the deadline the sleep ends.
        margin: Nanos,
    } => {
        name: "fixed-margin",
        build: FixedMargin { method, margin },
        blocks_with: Some(method),
        spins_at_most: Some(margin),
        listed: [Defaults::ELSEWHERE.fixed_margin()],
    }
    /// See [`SpinSleep`]. It is a yardstick for models, and not among [`ALL`](Self::ALL).
    SpinSleep {
        /// The OS call, and how long before the deadline the sleep ends.
        defaults: Defaults,
    } => {
        name: "spin_sleep",
        build: SpinSleep::of(defaults),
        blocks_with: Some(&mut defaults.margin_method),
        spins_at_most: Some(defaults.margin),
        listed: [],
    }
    /// See [`MaxNap`].
    MaxNap {
        /// The OS call.
        method: Method,
    } => {
        name: "max-nap",
        build: MaxNap::new(method),
        blocks_with: Some(method),
        spins_at_most: None,
        listed: [Self::MaxNap { method: Method::Sleep }],
    }
    /// See [`Quantile`].
    Quantile {
        /// The cost of a nanosecond of lateness, in nanoseconds of CPU time.
        weight: f64,
        /// The OS call.
        method: Method,
    } => {
        name: "quantile",
        build: Quantile::new(weight, method),
        blocks_with: Some(method),
        spins_at_most: None,
        listed: [],
    }
    /// See [`Adaptive`].
    Adaptive {
        /// The cost of a nanosecond of lateness, in nanoseconds of CPU time.
        weight: f64,
        /// The most that it may spin.
        budget: Budget,
        /// The target that it meets, by changing the weight.
        target: Target,
        /// The OS call.
        method: Method,
    } => {
        name: adaptive_name(weight),
        build: Adaptive::meeting(weight, method, budget, target),
        blocks_with: Some(method),
        spins_at_most: Some(budget.per_wait()),
        listed: [
            Self::adaptive(NAMED[0].1),
            Self::adaptive(NAMED[1].1),
            Self::adaptive(NAMED[2].1)
        ],
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
