//! How much longer than asked naps are, each call through lengths in ascending order. There are
//! ladders of every call, of a waiter's calls, and after ever longer rests.

use punctual_core::{Method, Nanos};
use punctual_program::{Machine, Refusal};
use punctual_record::experiment::{Gap, Naps, Sleep};
use punctual_record::{Experiment, MachineFacts};

use super::{Call, Conditions, Effort, has, naps, there, through, usual_calls};
use crate::rounds::Case;

/// The lengths asked for. 16.667 ms is a frame at 60 Hz.
pub const SLEEP_LENGTHS_US: [u64; 10] = [
    0, 100, 300, 1_000, 2_000, 5_000, 10_000, 16_667, 50_000, 100_000,
];

/// How late is each wait call of the OS, for lengths up to 100 ms, and what CPU
/// time does one take?
///
/// Calls that look alike are not: some round to milliseconds, some to ticks;
/// some have slack, some none; some return early.
///
/// Every call through all lengths in ascending order.
///
/// A CPU's wake-up depends on how long it has rested of late. Many naps of a length in a row thus
/// tell more than several short rows.
pub fn sleep_cases(calls: &[Call], effort: Effort, conditions: Conditions) -> Vec<Case> {
    // In six rounds a quick run has 20 naps of each length up to 2 ms, and a shared one of each up
    // to 10 ms. That is enough for a median.
    let (naps_max, part, longest) = match effort {
        Effort::Quick => (4, Nanos::from_ms(9), Nanos::from_ms(10)),
        Effort::Shared => (8, Nanos::from_ms(40), Nanos::from_ms(100)),
        Effort::Whole => (60, Nanos::from_ms(100), Nanos::from_ms(100)),
    };
    let ladder = Ladder {
        cell: |method, asked_ns| Experiment::Sleep(Sleep { method, asked_ns }),
        lengths_us: &SLEEP_LENGTHS_US,
        longest,
        naps_max,
        part,
        warm_up: (3, Nanos::from_us(100)),
    };
    ladder.cases(calls, conditions)
}

/// The lengths: from the shortest useful nap to a frame at 60 Hz, each twice as long as the
/// previous one.
pub const NAP_LENGTHS_US: [u64; 12] = [
    10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 16_667,
];

/// Many short rounds rather than a few long ones, so that what disturbs the
/// host for a second falls upon all calls and lengths.
pub const NAP_ROUNDS: u32 = 10;

/// The calls that a waiter could use there, by their own names: the sleep without timer slack, the
/// timer and the plain sleep. Calls that `machine`, with these `facts`, lacks are left out.
pub fn nap_methods(machine: &dyn Machine, facts: &MachineFacts) -> Vec<Method> {
    let named = [&facts.timer_method, &facts.sleep_method].map(|name| name.parse().ok());
    let slackless = [Some(Method::SlacklessNanosleep)];
    there(machine, slackless.into_iter().chain(named))
}

/// How much longer than asked naps are.
///
/// The OS alone is measured, without a strategy: one call of one length, again and again. A model
/// replays it (`recorded,file=naps.json`).
///
/// Every call through all lengths in ascending order.
pub fn nap_cases(methods: &[Method], conditions: Conditions) -> Vec<Case> {
    let ladder = Ladder {
        cell: |method, asked_ns| Experiment::Naps(Naps { method, asked_ns }),
        lengths_us: &NAP_LENGTHS_US,
        longest: Nanos::MAX,
        naps_max: 200,
        part: Nanos::from_ms(240),
        warm_up: (20, Nanos::from_us(100)),
    };
    // As if none was longer than it was asked to be.
    let over = Nanos::ZERO;
    let call = |&method| Call { method, over };
    ladder.cases(&methods.iter().map(call).collect::<Vec<_>>(), conditions)
}

/// The times asleep.
pub const GAP_LENGTHS_US: [u64; 10] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
];

/// The sleep without slack, and the timer.
///
/// # Errors
/// The machine refuses what it had agreed to.
pub fn gap_calls(machine: &mut dyn Machine, facts: &MachineFacts) -> Result<Vec<Call>, Refusal> {
    let slackless = Method::SlacklessNanosleep;
    let mut calls = Vec::new();
    if has(machine, slackless) {
        calls.push(Call::tried(machine, slackless)?);
    }
    let timer = usual_calls(machine, facts)?.pop();
    calls.extend(timer.filter(|timer| timer.method != slackless));
    Ok(calls)
}

/// Does waking take longer after a longer rest?
///
/// The longer a CPU expects to rest, the deeper its idle state, and the longer it takes to leave
/// it; the contents of its caches go too. The ladder uses calls without slack where there are any,
/// or it would show the timer rather than the wake-up. On macOS, whose slop grows with the length,
/// and on the ticks of Windows the timer is in the numbers.
///
/// Every call through all lengths in ascending order.
pub fn gap_cases(calls: &[Call], effort: Effort, conditions: Conditions) -> Vec<Case> {
    let (part, longest) = match effort {
        Effort::Quick => (Nanos::from_ms(8), Nanos::from_ms(20)),
        Effort::Shared => (Nanos::from_ms(40), Nanos::from_ms(200)),
        Effort::Whole => (Nanos::from_ms(60), Nanos::from_secs(1)),
    };
    let ladder = Ladder {
        cell: |method, asked_ns| Experiment::Gap(Gap { method, asked_ns }),
        lengths_us: &GAP_LENGTHS_US,
        longest,
        naps_max: 20,
        part,
        warm_up: (1, Nanos::from_ms(1)),
    };
    ladder.cases(calls, conditions)
}

/// The experiment that a ladder makes of every call.
struct Ladder<'l> {
    /// The experiment of naps of one length with a call.
    cell: fn(method: String, asked_ns: u64) -> Experiment,
    /// In ascending order.
    lengths_us: &'l [u64],
    /// Longer ones are left out.
    longest: Nanos,
    /// Naps of one length in a batch: at most so many,
    naps_max: u64,
    /// and fewer of long ones, which take this time together.
    part: Nanos,
    /// Naps of this length before those that count, for the fresh thread.
    warm_up: (u64, Nanos),
}

impl Ladder<'_> {
    /// Every call through all lengths in ascending order.
    fn cases(&self, calls: &[Call], conditions: Conditions) -> Vec<Case> {
        let case = |call| self.case(call, conditions);
        calls.iter().map(case).collect()
    }

    fn case(&self, call: &Call, conditions: Conditions) -> Case {
        let (times, length) = self.warm_up;
        let mut ops = conditions.set_up();
        ops.push(naps(times, call.method, length));
        let name = call.method.name();
        let lengths = self.lengths_us.iter().copied().map(Nanos::from_us);
        let parts = lengths.filter(|length| *length <= self.longest);
        let parts = parts.map(|length| {
            let times = call.fit(self.part, length, self.naps_max);
            let cell = (self.cell)(name.to_owned(), length.as_ns());
            let takes = call.takes(length).times(times);
            (cell, takes, vec![naps(times, call.method, length)])
        });
        let mut case = through(name, ops.into(), parts);
        case.length += call.takes(length).times(times);
        case
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_race_takes_three_quarters_of_a_minute() {
        let cases = nap_cases(
            &[Method::Sleep, Method::Timer, Method::ThreadSleep],
            Conditions::default(),
        );
        let planned = crate::rounds::length(&cases, NAP_ROUNDS).as_secs_f64();
        // Naps are longer than asked: those up to 1 ms by a tenth of a
        // millisecond or so, and there are 200 of each in a round.
        assert!((38.0..45.0).contains(&planned), "{planned} s");
        assert!(
            cases
                .iter()
                .all(|case| case.cells.len() == NAP_LENGTHS_US.len())
        );
    }
}
