use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use punctual_core::strategies::Defaults;
use punctual_core::{Method, StrategySpec};

use crate::budget::Budget;
use crate::error::Error;
use crate::target::Target;

const DEFAULTS: Defaults = if cfg!(windows) {
    Defaults::WINDOWS
} else {
    Defaults::ELSEWHERE
};

/// A way of waiting: how a wait divides its time between sleeping and
/// spinning.
///
/// | strategy | how late | how expensive |
/// |---|---|---|
/// | [`balanced`](Self::balanced), the default | as `spin` most of the time | a few wake-ups and what they leave to spin |
/// | [`frugal`](Self::frugal), [`exact`](Self::exact) | later, and less often late, than that | less, and more, than that |
/// | [`system`](Self::system) | as the OS wakes you | nothing |
/// | [`spin`](Self::spin) | the time of one clock reading | a whole core |
/// | [`yield_spin`](Self::yield_spin) | the same, or a scheduler quantum | a whole core, if no
/// other thread wants it |
/// | [`fixed_margin`](Self::fixed_margin) | as `spin` while the OS is within the margin | the margin, per wait |
/// | [`max_nap`](Self::max_nap) | as `spin` while the OS is regular | a wake-up each millisecond, and 1 to 2 ms per wait |
/// | [`quantile`](Self::quantile) | as `spin` for most of the last naps | one wake-up, and what most naps leave to spin |
///
/// `punctual bench` measures all of them on your machine.
///
/// As text a strategy is a name with parameters, `fixed-margin:margin=200us`. The strategies
/// `precise` and `timer` of the accurate-sleep article (2022) exist as text only, to compare
/// with: `precise:x=1`, where `x` is a number of standard deviations from 0 to 100. Both learn a
/// mean and a deviation from all their sleeps, and forget nothing: one bad sleep can make them
/// spin for ever.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Strategy, Waiter};
///
/// let strategy: Strategy = "fixed-margin:margin=200us".parse()?;
/// assert_eq!(strategy, Strategy::fixed_margin(Duration::from_micros(200)));
/// let mut waiter = Waiter::builder().strategy(strategy).build()?;
/// waiter.sleep(Duration::from_millis(1));
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy(pub(crate) StrategySpec);

impl Strategy {
    /// The strategy that core describes so, for the other crates of this repository.
    #[doc(hidden)]
    pub const fn of(spec: StrategySpec) -> Self {
        Self(spec)
    }

    /// Sleeps and spins so that CPU time and lateness together cost least. A nanosecond of CPU
    /// time costs 1 and a nanosecond of lateness `late_weight`, from 0.01 to 10000.
    ///
    /// It learns how late this OS wakes this thread after sleeps of each length,
    /// and what a nap costs; finds the ticks on which naps end, and never
    /// stops trying to sleep. Its spins offer the CPU to other threads that wait, are short
    /// while they are preempted, and never last more than 40 ms. A weight outside of that range is refused by
    /// [`WaiterBuilder::build`](crate::WaiterBuilder::build). `docs/adaptive.md` in the
    /// repository explains it.
    ///
    /// # Accuracy
    /// The first waits spin more than they will have to; after eight it is about
    /// as good as it will be. A change of how the OS wakes this thread takes it up
    /// to about 50 waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{Strategy, Waiter};
    ///
    /// // A microsecond late is as bad as 30 us of CPU time.
    /// let waiter = Waiter::builder().strategy(Strategy::adaptive(30.0)).build()?;
    /// assert_eq!(Strategy::balanced(), Strategy::adaptive(10.0));
    /// assert!(Waiter::builder().strategy(Strategy::adaptive(0.0)).build().is_err());
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn adaptive(late_weight: f64) -> Self {
        Self(StrategySpec::adaptive(late_weight))
    }

    /// [`adaptive`](Self::adaptive) with weight 1: lateness is no worse than
    /// CPU time.
    pub fn frugal() -> Self {
        Self::adaptive(1.0)
    }

    /// [`adaptive`](Self::adaptive) with weight 10: to be a microsecond late is
    /// as bad as to use ten of CPU time. The default.
    pub fn balanced() -> Self {
        Self::adaptive(10.0)
    }

    /// [`adaptive`](Self::adaptive) with weight 100.
    pub fn exact() -> Self {
        Self::adaptive(100.0)
    }

    /// One OS sleep, like `std::thread::sleep`.
    pub fn system() -> Self {
        Self(StrategySpec::System {
            method: Method::Sleep,
        })
    }

    /// Spins all the time.
    pub fn spin() -> Self {
        Self(StrategySpec::Spin)
    }

    /// Spins all the time, offering the CPU to other threads between readings
    /// of the clock.
    pub fn yield_spin() -> Self {
        Self(StrategySpec::YieldSpin)
    }

    /// One OS sleep that ends `margin` before the deadline, then a spin. On
    /// Windows the sleep is a high-resolution timer, where the system has one.
    pub fn fixed_margin(margin: Duration) -> Self {
        let margin = margin.into();
        Self(Defaults { margin, ..DEFAULTS }.fixed_margin())
    }

    /// Naps of 1 ms while more than the longest nap of this wait is left, then
    /// a spin.
    pub fn max_nap() -> Self {
        Self(StrategySpec::MaxNap {
            method: Method::Sleep,
        })
    }

    /// One OS sleep, then a spin. The sleep ends as much before the deadline as all but a share
    /// 1 / (1 + `late_weight`) of the last 64 sleeps overshot; `late_weight` goes from 0.01 to
    /// 10000.
    ///
    /// It is the simple alternative to [`adaptive`](Self::adaptive). It
    /// costs about as much in a loop of one rate on Linux. It knows no ticks of the OS, no other
    /// threads and no budget, and it learns one margin for waits of all lengths.
    pub fn quantile(late_weight: f64) -> Self {
        Self(StrategySpec::quantile(late_weight))
    }

    /// The strategy's name.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::Strategy;
    ///
    /// let simple = [Strategy::system(), Strategy::spin(), Strategy::yield_spin(), Strategy::max_nap()];
    /// assert_eq!(simple.map(|it| it.name()), ["system", "spin", "yield-spin", "max-nap"]);
    /// assert_eq!(Strategy::quantile(10.0).name(), "quantile");
    /// ```
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// With this budget and this target, if they are given.
    pub(crate) fn spec(
        &self,
        within: Option<Budget>,
        meeting: Option<Target>,
    ) -> Result<StrategySpec, Error> {
        let mut spec = self.0;
        match &mut spec {
            StrategySpec::Adaptive { weight, .. } | StrategySpec::Quantile { weight, .. }
                if !StrategySpec::WEIGHTS.contains(weight) =>
            {
                return Err(Error::range(format!(
                    "`{}` with a weight of {weight}: it goes from 0.01 to 10000",
                    self.name()
                )));
            }
            StrategySpec::Adaptive { budget, target, .. } => {
                *budget = within.map_or(Ok(*budget), Budget::core)?;
                *target = meeting.map_or(Ok(*target), Target::check)?;
            }
            _ if meeting.is_some() => {
                return Err(Error::range(format!(
                    "`{}` has no target: only `adaptive` has one",
                    self.name()
                )));
            }
            _ if within.is_some_and(|budget| budget != Budget::Unlimited) => {
                return Err(Error::range(format!(
                    "`{}` has no budget: only `adaptive` has one",
                    self.name()
                )));
            }
            _ => {}
        }
        match spec.method() {
            Some(Method::Sleep | Method::Timer) | None => Ok(spec),
            Some(other) => Err(Error::unsupported(format!(
                "`{other}` as the call to sleep with: a waiter takes the best this system has; \
                 `punctual bench` takes any"
            ))),
        }
    }
}

/// [`balanced`](Strategy::balanced).
impl Default for Strategy {
    fn default() -> Self {
        Self::balanced()
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// # Errors
/// A range error when the text names no strategy, or a parameter that the
/// strategy does not have; it says which there are.
impl FromStr for Strategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        StrategySpec::parse(text, DEFAULTS)
            .map(Self)
            .map_err(Error::range)
    }
}
