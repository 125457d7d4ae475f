use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use punctual_core::strategies::Defaults;
use punctual_core::{Method, Spec};
use punctual_sys::Error;

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
/// | [`system`](Self::system) | as the OS wakes you | nothing |
/// | [`spin`](Self::spin) | the time of one clock reading | a whole core |
/// | [`yield_spin`](Self::yield_spin) | the same, or a scheduler quantum | a whole core, if nobody else wants it |
/// | [`fixed_margin`](Self::fixed_margin) | as `spin` while the OS is within the margin | the margin, per wait |
/// | [`max_nap`](Self::max_nap) | as `spin` while the OS is regular | a wake-up each millisecond, and 1 to 2 ms per wait |
/// | [`precise`](Self::precise), [`timer`](Self::timer) | as published in 2022 | see the accurate-sleep article; one bad sleep can make them spin for ever |
///
/// `punctual bench` measures all of them on your machine.
///
/// As text a strategy is a name with parameters, `fixed-margin:margin=200us`.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy(Spec);

impl Strategy {
    /// One OS sleep, like `std::thread::sleep`.
    pub fn system() -> Self {
        Self(Spec::System {
            method: Method::Sleep,
        })
    }

    /// Spins all the time.
    pub fn spin() -> Self {
        Self(Spec::Spin)
    }

    /// Spins all the time, offering the CPU to other threads between readings
    /// of the clock.
    pub fn yield_spin() -> Self {
        Self(Spec::YieldSpin)
    }

    /// *preciseSleep* of the accurate-sleep article: naps of 1 ms while the
    /// time left is more than their mean plus `x` standard deviations.
    /// The article uses `x = 1`.
    pub fn precise(x: f64) -> Self {
        Self(Spec::Precise {
            method: Method::Sleep,
            x,
        })
    }

    /// *timerSleep* of the accurate-sleep article: timer waits for the time
    /// left less the timer's mean error plus `x` standard deviations.
    /// The article uses `x = 1`.
    pub fn timer(x: f64) -> Self {
        Self(Spec::Timer {
            method: Method::Timer,
            x,
        })
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
        Self(Spec::MaxNap {
            method: Method::Sleep,
        })
    }

    /// The strategy's name.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    pub(crate) fn spec(&self) -> Result<Spec, Error> {
        match self.0 {
            Spec::Precise { x, .. } | Spec::Timer { x, .. } if !(0.0..=100.0).contains(&x) => {
                Err(Error::range(format!(
                    "`{}` with x = {x}: the number of standard deviations goes from 0 to 100",
                    self.name()
                )))
            }
            spec => Ok(spec),
        }
    }
}

/// [`fixed_margin`](Strategy::fixed_margin) with the margin that is usual on
/// this OS: 700 us on Windows, 125 us elsewhere.
impl Default for Strategy {
    fn default() -> Self {
        Self(DEFAULTS.fixed_margin())
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
        Spec::parse(text, DEFAULTS).map(Self).map_err(Error::range)
    }
}
