//! How much longer than asked naps are.
//!
//! What is measured is the OS alone, without a strategy: so long a call, made
//! again and again. A model replays it (`recorded,file=naps.json`).

use punctual_core::{Method, Nanos};
use punctual_program::Machine;
use punctual_record::experiment::Naps;
use punctual_record::{Experiment, MachineFacts};

use super::calls::{Call, Ladder};
use super::{Conditions, there};
use crate::rounds::Case;

/// The lengths asked for: from as short as a nap is of any use to a frame at
/// 60 Hz, each twice as long as the one before.
pub const LENGTHS: [Nanos; 12] = [
    Nanos::from_us(10),
    Nanos::from_us(20),
    Nanos::from_us(40),
    Nanos::from_us(80),
    Nanos::from_us(160),
    Nanos::from_us(320),
    Nanos::from_us(640),
    Nanos::from_us(1_280),
    Nanos::from_us(2_560),
    Nanos::from_us(5_120),
    Nanos::from_us(10_240),
    Nanos::from_us(16_667),
];

/// Many short rounds rather than a few long ones, so that what disturbs the
/// host for a second falls upon all calls and lengths.
pub const ROUNDS: u32 = 10;

/// The calls that a waiter could use there: the sleep without timer slack, the
/// timer and the plain sleep, by their own names, as far as `machine`, of which
/// `facts` tells, has them.
pub fn methods(machine: &dyn Machine, facts: &MachineFacts) -> Vec<Method> {
    let named = [&facts.timer_method, &facts.sleep_method].map(|name| name.parse().ok());
    let slackless = [Some(Method::SlacklessNanosleep)];
    there(machine, slackless.into_iter().chain(named))
}

/// Every call through all lengths in ascending order.
pub fn cases(methods: &[Method], conditions: Conditions) -> Vec<Case> {
    let ladder = Ladder {
        cell: |method, asked_ns| Experiment::Naps(Naps { method, asked_ns }),
        lengths: &LENGTHS,
        longest: Nanos::MAX,
        naps_max: 200,
        part: Nanos::from_ms(240),
        warm_up: (20, Nanos::from_us(100)),
    };
    // As if none was longer than it was asked to be.
    let over = Nanos::ZERO;
    let calls: Vec<_> = methods
        .iter()
        .map(|&method| Call { method, over })
        .collect();
    ladder.cases(&calls, conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_race_takes_three_quarters_of_a_minute() {
        let cases = cases(
            &[Method::Sleep, Method::Timer, Method::ThreadSleep],
            Conditions::default(),
        );
        let planned = crate::rounds::length(&cases, ROUNDS).as_secs_f64();
        // Naps are longer than asked: those up to 1 ms by a tenth of a
        // millisecond or so, and there are 200 of each in a round.
        assert!((38.0..45.0).contains(&planned), "{planned} s");
        assert!(cases.iter().all(|case| case.cells.len() == LENGTHS.len()));
    }
}
