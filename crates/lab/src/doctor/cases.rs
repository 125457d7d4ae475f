//! The measurements: the machine's own calls at two common lengths. Each wait stands beside one
//! that shows the cost of a wake-up in the same round.

use punctual_core::strategies::{Defaults, StrategySpec};
use punctual_core::{Method, Nanos, Rate};
use punctual_program::Machine;
use punctual_program::program::{Due, Op, Subject};
use punctual_record::experiment::Doctor;
use punctual_record::{Experiment, Late, Situation, System};
use punctual_sim::SimMachine;

use crate::rounds::Case;
use crate::timer_rule::Rule;

/// The shortest sleep that everybody knows, and a frame at 60 Hz.
pub(super) const LENGTHS: [Nanos; 2] = [SHORT, Nanos::from_us(16_670)];

/// See [`LENGTHS`].
pub(super) const SHORT: Nanos = Nanos::from_ms(1);

/// Long enough for the caps of macOS's latency tiers to show.
pub(super) const LONG: Nanos = Nanos::from_ms(100);

/// Six, the fewest whose medians have an interval of 95 %.
pub const ROUNDS: u32 = 6;

/// The first waits of a fresh thread are not what comes after them; where they
/// are long it does not show.
const fn warm_up(length: Nanos) -> u64 {
    if length.as_ns() < LONG.as_ns() { 2 } else { 0 }
}

/// The strategy that is measured beside the calls.
pub(super) const STRATEGY: &str = "adaptive-balanced";

/// How many waits are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Under 4 s.
    Quick,
    /// About 10 s: a p90 at both lengths.
    Usual,
}

impl Pace {
    /// Waits of a length in one round, if each takes so long. They fit into a fraction of a
    /// second, or it would take minutes with a long slack or coarse ticks.
    fn waits(self, length: Nanos, takes: Nanos) -> u64 {
        let (time, short, frame) = match self {
            Self::Quick => (Nanos::from_ms(150), 25, 8),
            Self::Usual => (Nanos::from_ms(360), 67, 17),
        };
        let most = match length {
            LONG => 4,
            SHORT => short,
            _ => frame,
        };
        let fit = time.as_ns() / takes.as_ns().max(1);
        // Never so few that there is no median.
        fit.clamp(4, most)
    }
}

/// One case for each wait that `machine` can make. `late` tells how late a wait
/// is expected to be.
pub fn cases(
    situation: &Situation,
    machine: &dyn Machine,
    pace: Pace,
    cpu: Option<usize>,
    late: &dyn Fn(Method, Nanos) -> Nanos,
) -> Vec<Case> {
    let pin = || cpu.map(Op::Pin).into_iter().collect::<Vec<_>>();
    let has = |method: Method| machine.check(&vec![Op::nap(method, SHORT)].into()).is_ok();
    let mut cases = Vec::new();
    for length in LENGTHS {
        for method in methods(situation).into_iter().filter(|m| has(*m)) {
            let takes = length + late(method, length);
            let times = pace.waits(length, takes);
            let naps = vec![Op::nap(method, length)];
            let mut case = case(method.name(), length, times, pin(), naps);
            case.length = takes.times(times + warm_up(length));
            cases.push(case);
        }
        if let Some(rest) = longer_rest(situation, length, late)
            && has(Method::SlacklessNanosleep)
        {
            let method = Method::SlacklessNanosleep;
            let times = pace.waits(length, rest);
            let naps = vec![Op::nap(method, rest)];
            cases.push(case(method.name(), rest, times, pin(), naps));
        }
        if length == SHORT {
            let times = pace.waits(length, length);
            cases.push(strategy(length, times, cpu));
        }
    }
    if situation.system == System::MacOs
        && let Some(method) = situation.sleep.filter(|m| has(*m))
    {
        let times = pace.waits(LONG, LONG);
        cases.push(case(
            method.name(),
            LONG,
            times,
            pin(),
            vec![Op::nap(method, LONG)],
        ));
    }
    cases
}

/// How long a CPU rests while the sleep waits for this `length`, slack included, if that is much
/// longer. The cost of a wake-up grows with the rest, so it is measured after one as long.
/// [`LONG`] stands for all that are longer.
fn longer_rest(
    situation: &Situation,
    length: Nanos,
    late: &dyn Fn(Method, Nanos) -> Nanos,
) -> Option<Nanos> {
    let sleep = situation
        .sleep
        .filter(|_| situation.system == System::Linux)?;
    let late = late(sleep, length);
    let rest = Nanos::from_us((length + late).as_ns() / 1_000).min(LONG);
    (late.times(10) > length).then_some(rest)
}

/// The median lateness of a loop of waits under a rule, in nanoseconds; `None` if it does not
/// know the call.
pub(super) fn predicted_late(rule: &Rule, method: Method, length: Nanos) -> Option<i64> {
    let case = case(
        method.name(),
        length,
        20,
        vec![],
        vec![Op::nap(method, length)],
    );
    let program = rule.around(&case.program);
    let seen = SimMachine::new(rule.model().clone(), 1)
        .run(&program)
        .ok()?;
    let samples = &seen.threads.first()?.sections.get(1)?.samples;
    let late: Vec<i64> = samples.iter().map(|s| s.outcome.late.as_ns()).collect();
    Late::of(&late).p50.filter(|late| *late >= 0)
}

/// The sleep, the sleep without slack where there is slack, and the timer.
fn methods(situation: &Situation) -> Vec<Method> {
    let slackless = (situation.system == System::Linux).then_some(Method::SlacklessNanosleep);
    let mut methods = Vec::new();
    for method in [situation.sleep, slackless, situation.timer]
        .into_iter()
        .flatten()
    {
        if !methods.contains(&method) {
            methods.push(method);
        }
    }
    methods
}

/// The library's default in its usual use: in a loop, where it continues to learn. Waits one
/// after another would begin and end at the same point between two clock interrupts.
fn strategy(length: Nanos, times: u64, cpu: Option<usize>) -> Case {
    let spec =
        StrategySpec::parse(STRATEGY, Defaults::ELSEWHERE).expect("it is one of the strategies");
    let rate = Rate::from_period(length).expect("a loop may have this length");
    let wait = Op::wait(Due::NextCycle);
    let begin = cpu.map(Op::Pin).into_iter().chain([Op::Pace(rate)]);
    let mut case = case(STRATEGY, length, times, begin.collect(), vec![wait]);
    case.program.subjects = vec![Subject::Strategy(spec)];
    case.keeps_state = true;
    case
}

fn case(subject: &str, length: Nanos, times: u64, mut ops: Vec<Op>, body: Vec<Op>) -> Case {
    let first = Op::repeat(warm_up(length), body.clone());
    ops.extend([first, Op::Record, Op::repeat(times, body)]);
    let cell = Experiment::Doctor(Doctor {
        asked_ns: length.as_ns(),
        ..Doctor::default()
    });
    let length = length.times(times + warm_up(length));
    Case::new(subject, ops.into(), vec![cell], length)
}

#[cfg(test)]
mod tests {
    use punctual_sim::Model;

    use super::*;
    use crate::rounds;
    use crate::timer_rule::situation::of_model;

    fn on(name: &str) -> (Situation, SimMachine) {
        let computer = Model::parse(name).unwrap();
        let situation = of_model(&computer).unwrap();
        (situation, SimMachine::new(computer, 1))
    }

    fn planned(model: &str, pace: Pace, late: Nanos) -> f64 {
        let (situation, machine) = on(model);
        let sleep = situation.sleep;
        let late = |method, _| {
            if Some(method) == sleep {
                late
            } else {
                Nanos::ZERO
            }
        };
        let cases = cases(&situation, &machine, pace, None, &late);
        rounds::length(&cases, ROUNDS).as_secs_f64()
    }

    #[test]
    fn it_takes_ten_seconds_and_the_quick_one_four() {
        for (model, late) in [
            ("linux", Nanos::from_us(80)),
            ("windows-11", Nanos::from_us(14_700)),
            ("macos", Nanos::from_us(500)),
        ] {
            let usual = planned(model, Pace::Usual, late);
            assert!((5.0..11.0).contains(&usual), "{model}: {usual} s");
            let quick = planned(model, Pace::Quick, late);
            assert!(quick < 4.5, "{model}: {quick} s");
        }
    }

    #[test]
    fn the_wake_cost_is_measured_after_a_rest_as_long() {
        let (situation, machine) = on("linux");
        let wakes = |slack| {
            let late = |method, _| match method {
                Method::SlacklessNanosleep => Nanos::ZERO,
                _ => slack,
            };
            let cases = cases(&situation, &machine, Pace::Quick, None, &late);
            let name = Method::SlacklessNanosleep.name();
            let own = cases.iter().filter(|case| case.subject == name);
            own.map(|case| case.cells[0].params()["asked_ns"].as_u64().unwrap())
                .collect::<Vec<_>>()
        };
        let asked = LENGTHS.map(Nanos::as_ns);
        assert_eq!(wakes(Nanos::from_us(50)), asked);
        assert_eq!(
            wakes(Nanos::from_ms(2)),
            [asked[0], 3_000_000, asked[1], 18_670_000]
        );
    }

    #[test]
    fn a_slack_of_a_second_does_not_take_minutes() {
        assert!(planned("linux", Pace::Usual, Nanos::from_secs(1)) < 120.0);
    }

    #[test]
    fn both_lengths_have_enough_waits_for_a_p90() {
        for length in LENGTHS {
            let n = Pace::Usual.waits(length, length) * u64::from(ROUNDS);
            assert!(n >= 100, "{length}: {n}");
        }
        assert!(Pace::Quick.waits(SHORT, SHORT) * u64::from(ROUNDS) >= 100);
    }
}
