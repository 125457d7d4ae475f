//! The waiting functions of the accurate-sleep article (2022), as published, to
//! compare with. The front of this library offers what it recommends instead.
//!
//! Both learn a mean and a deviation from all their sleeps, and forget nothing: one bad sleep can
//! make them spin for ever. They begin with an estimate of 5 ms, so that shorter waits are always
//! spun. `punctual bench` shows their cost.

use crate::Strategy;
use punctual_core::{Method, StrategySpec};

/// *preciseSleep*: naps of 1 ms while the time left is more than their mean plus
/// `x` standard deviations, from 0 to 100. The article uses `x = 1`.
pub fn precise(x: f64) -> Strategy {
    Strategy(StrategySpec::Precise {
        method: Method::Sleep,
        x,
    })
}

/// *timerSleep*: timer waits for the time left less the timer's mean error plus
/// `x` standard deviations, from 0 to 100. The article uses `x = 1`.
pub fn timer(x: f64) -> Strategy {
    Strategy(StrategySpec::Timer {
        method: Method::Timer,
        x,
    })
}
