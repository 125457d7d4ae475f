//! How much longer than asked naps are.
//!
//! What is measured is the OS alone, without a strategy: so long a call, made
//! again and again. A model replays it (`recorded,file=naps.json`).

use punctual_core::{Method, Nanos};
use punctual_program::Machine;
use punctual_program::program::Op;
use punctual_record::experiment::Naps;
use punctual_record::{Experiment, MachineFacts};

use super::{Conditions, nap, program};
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

/// Naps of one length in a round: so many, and fewer of long ones, which take
/// this time together.
const NAPS_MAX: u64 = 200;
const PART: Nanos = Nanos::from_ms(240);

/// Before those that count, for the thread, which is a fresh one.
const WARM_UP: u64 = 20;
const WARM_UP_LENGTH: Nanos = Nanos::from_us(100);

/// The calls that a waiter could use there: the sleep without timer slack, the
/// timer and the plain sleep, by their own names, as far as `machine`, of which
/// `facts` tells, has them.
pub fn methods(machine: &dyn Machine, facts: &MachineFacts) -> Vec<Method> {
    let has = |method| super::can(machine, nap(method, Nanos::ZERO));
    let named = [&facts.timer_method, &facts.sleep_method].map(|name| name.parse().ok());
    let mut methods = Vec::new();
    for method in [Some(Method::SlacklessNanosleep)].into_iter().chain(named) {
        if let Some(method) = method.filter(|m| has(*m) && !methods.contains(m)) {
            methods.push(method);
        }
    }
    methods
}

/// Every call through all lengths in ascending order.
pub fn cases(methods: &[Method], conditions: Conditions) -> Vec<Case> {
    methods
        .iter()
        .map(|method| case(*method, conditions))
        .collect()
}

fn case(method: Method, conditions: Conditions) -> Case {
    let naps = |times, length| super::naps(times, method, length);
    let mut ops = conditions.set_up();
    ops.push(naps(WARM_UP, WARM_UP_LENGTH));
    let mut planned = WARM_UP_LENGTH.times(WARM_UP);
    for length in LENGTHS {
        let times = (PART.as_ns() / length.as_ns()).min(NAPS_MAX);
        ops.extend([Op::Record, naps(times, length)]);
        planned += length.times(times);
    }
    let cell = |length: Nanos| {
        Experiment::Naps(Naps {
            method: method.name().to_owned(),
            asked_ns: length.as_ns(),
        })
    };
    Case {
        subject: method.name().to_owned(),
        program: program(ops),
        cells: LENGTHS.map(cell).to_vec(),
        length: planned,
        // There is nobody who could learn.
        keeps_state: false,
    }
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
