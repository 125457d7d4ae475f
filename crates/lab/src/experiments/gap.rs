//! Does waking take longer after a longer rest?
//!
//! The longer a CPU expects to rest, the deeper the idle state it goes into, and
//! the longer it takes to leave it; what it had in its caches goes too. Calls
//! without slack where there are any, or what is seen is the timer rather than
//! the waking: on macOS, whose slop grows with the length, and on the ticks of
//! Windows it is in the numbers.

use punctual_core::{Method, Nanos};
use punctual_program::{Machine, Refusal};
use punctual_record::experiment::Gap;
use punctual_record::{Experiment, MachineFacts};

use super::calls::Ladder;
use super::{Call, Conditions, Effort, has, usual_calls};
use crate::rounds::Case;

/// The times asleep.
pub const LENGTHS: [Nanos; 10] = [
    Nanos::from_ms(1),
    Nanos::from_ms(2),
    Nanos::from_ms(5),
    Nanos::from_ms(10),
    Nanos::from_ms(20),
    Nanos::from_ms(50),
    Nanos::from_ms(100),
    Nanos::from_ms(200),
    Nanos::from_ms(500),
    Nanos::from_secs(1),
];

/// The sleep without slack, and the timer.
///
/// # Errors
/// The machine refuses what it had agreed to.
pub fn calls(machine: &mut dyn Machine, facts: &MachineFacts) -> Result<Vec<Call>, Refusal> {
    let slackless = Method::SlacklessNanosleep;
    let mut calls = Vec::new();
    if has(machine, slackless) {
        calls.push(Call::tried(machine, slackless)?);
    }
    let timer = usual_calls(machine, facts)?.pop();
    calls.extend(timer.filter(|timer| timer.method != slackless));
    Ok(calls)
}

/// Every call through all lengths in ascending order.
pub fn cases(calls: &[Call], effort: Effort, conditions: Conditions) -> Vec<Case> {
    let (part, longest) = match effort {
        Effort::Quick => (Nanos::from_ms(8), Nanos::from_ms(20)),
        Effort::Shared => (Nanos::from_ms(40), Nanos::from_ms(200)),
        Effort::Whole => (Nanos::from_ms(60), Nanos::from_secs(1)),
    };
    let ladder = Ladder {
        cell: |method, asked_ns| Experiment::Gap(Gap { method, asked_ns }),
        lengths: &LENGTHS,
        longest,
        naps_max: 20,
        part,
        warm_up: (1, LENGTHS[0]),
    };
    ladder.cases(calls, conditions)
}
