//! What the ticks make of a sleep of 1 ms: where it begins between two of them,
//! how far apart they are, and from where its length counts.

use punctual_core::{Method, Nanos};
use punctual_program::Probe;
use punctual_program::Refusal;
use punctual_program::probe::OsClock;
use punctual_program::program::Op;

use super::background::{ONE, asks, in_step, in_step_for_free};
use crate::validation::probe::{Lengths, block, exact, is_close, sleeps, to_the_interrupt};
use crate::validation::{Kind, Outcome, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            id: "V02",
            rule: "Windows: a sleep begun at any time, base=now",
            input: "single Sleep(1)",
            expected: "uniform 1.0 to 16.625 ms, mean 8.81 ms",
            tolerance: "exact bounds",
            kind: Kind::Documented,
            source: "RULE",
            run: at_any_time_counted_from_the_call,
        },
        Row {
            id: "V03",
            rule: "Windows: a sleep begun at any time, base=tick",
            input: "single Sleep(1), interval 15.625 ms",
            expected: "uniform 0 to 15.625 ms",
            tolerance: "exact bounds",
            kind: Kind::Documented,
            source: "MS-acc",
            run: at_any_time_counted_from_the_tick,
        },
        Row {
            id: "V10",
            rule: "Windows: a granted interval just under 1 ms, clock of 1.28 us",
            input: "request 1 ms",
            expected: "Sleep(1) takes 1.9994 ms",
            tolerance: "1 us",
            kind: Kind::Inferred,
            source: "PCT",
            run: a_hair_under_takes_two_ticks,
        },
        Row {
            id: "V11",
            rule: "Windows: an interval of exactly 1 ms, base=tick",
            input: "request 1 ms",
            expected: "Sleep(1) takes 1.000 ms",
            tolerance: "2 %",
            kind: Kind::Measured,
            source: "RULE (Windows 7/8)",
            run: exactly_one_takes_one_tick,
        },
        Row {
            id: "V15",
            rule: "Windows: Sleep(1) at 0.4992 ms",
            input: "loop, own request of 0.5 ms, AMD clock",
            expected: "1.4961-1.4979 ms",
            tolerance: "5 us",
            kind: Kind::Measured,
            source: "PCT",
            run: at_0_4992_as_measured,
        },
        Row {
            id: "V16",
            rule: "Windows: Sleep(1) at 0.5068 ms",
            input: "loop, own request of 0.507 ms, AMD clock",
            expected: "1.0115-1.0130 ms",
            tolerance: "5 us",
            kind: Kind::Measured,
            source: "PCT",
            run: at_0_5068_as_measured,
        },
        Row {
            id: "V17",
            rule: "Windows: Sleep(1) at 0.9996 ms",
            input: "loop, own request of 1 ms, AMD clock",
            expected: "1.9981-1.9991 ms",
            tolerance: "5 us",
            kind: Kind::Measured,
            source: "PCT",
            run: at_0_9996_as_measured,
        },
        Row {
            id: "V18",
            rule: "Windows: Sleep(1) at 0.9766 ms",
            input: "loop, own request of 1 ms, real-time clock",
            expected: "1.953 ms",
            tolerance: "1 %",
            kind: Kind::Measured,
            source: "GO17696",
            run: at_0_9766_as_measured,
        },
        Row {
            id: "V19",
            rule: "Windows 11: Sleep(1) at 0.5000 ms, base=now",
            input: "loop, own request of 0.5 ms",
            expected: "1.4953-1.4968 ms",
            tolerance: "10 us",
            kind: Kind::Measured,
            source: "PCT",
            run: at_exactly_0_5_from_the_call,
        },
        Row {
            id: "V20",
            rule: "Windows: Sleep(1) at 0.5000 ms, base=tick",
            input: "loop, own request of 0.5 ms, each call at a tick; waking takes 20 us",
            expected: "1.021-1.023 ms",
            tolerance: "10 us",
            kind: Kind::Measured,
            source: "SCHED",
            run: at_exactly_0_5_from_the_tick,
        },
        Row {
            id: "V22",
            rule: "Windows to 10 1909: Sleep(1) without a request, light noise",
            input: "loop with 0.07 to 0.58 ms of other work between the sleeps, once 12.575 ms",
            expected: "15.04-15.56 ms with a rare 3.05 ms",
            tolerance: "distribution: all but the rare one inside, that one within 1 %",
            kind: Kind::Measured,
            source: "SCHED",
            run: light_noise_shortens_sleeps,
        },
    ]
}

/// The default interval.
const DEFAULT: Nanos = Nanos::from_us(15_625);

fn at_any_time_counted_from_the_call() -> Result<Outcome, Refusal> {
    at_any_time("windows-10-1909,base=now", ONE)
}

fn at_any_time_counted_from_the_tick() -> Result<Outcome, Refusal> {
    at_any_time("windows-10-1909,base=tick", Nanos::ZERO)
}

/// A sleep is to last anything from `shortest` to the default interval more,
/// each length as likely as any other.
fn at_any_time(text: &str, shortest: Nanos) -> Result<Outcome, Refusal> {
    const PHASES: u64 = 1_000;
    let ops = (0..PHASES).flat_map(|nth| {
        // A sleep ends at a tick; the next begins so long after it.
        let phase = Nanos::new((2 * nth + 1) * DEFAULT.as_ns() / (2 * PHASES));
        [Op::Work(phase), block(Method::Sleep, ONE)]
    });
    // The first begins wherever the computer was started.
    let ops = [block(Method::Sleep, ONE)].into_iter().chain(ops);
    let all = to_the_interrupt(text, ops.collect())?;
    let lasted = Lengths::new(all.as_slice().iter().skip(1).copied())?;
    let mut tenths = [0_u64; 10];
    for each in lasted.as_slice() {
        let tenth = 10 * (*each - shortest).as_ns() / DEFAULT.as_ns();
        tenths[tenth.min(9) as usize] += 1;
    }
    let is_uniform = tenths.iter().all(|count| count.abs_diff(PHASES / 10) <= 1);
    let middle = shortest + Nanos::new(DEFAULT.as_ns() / 2);
    Ok(Outcome {
        got: format!("{lasted}, mean {}", exact(lasted.mean())),
        holds: is_uniform
            && lasted.are_within(shortest, shortest + DEFAULT)
            && is_close(lasted.mean(), middle, 1),
        note: "begun at 1000 instants evenly spread from one tick to the next; each tenth of the range must have its \
               hundred",
    })
}

fn a_hair_under_takes_two_ticks() -> Result<Outcome, Refusal> {
    let lasted = in_step_for_free("windows-10-1909,hardware=amd", vec![asks(ONE)], loop_of_1())?;
    let (least, most) = (Nanos::new(1_998_400), Nanos::new(2_000_400));
    Ok(Outcome {
        got: lasted.to_string(),
        holds: lasted.are_within(least, most),
        note: "twice 781 quanta, less the readings of the clock; nothing else takes time here",
    })
}

fn exactly_one_takes_one_tick() -> Result<Outcome, Refusal> {
    let lasted = in_step(
        "windows-7,hardware=exact,base=tick",
        vec![asks(ONE)],
        loop_of_1(),
    )?;
    Ok(Outcome {
        got: lasted.to_string(),
        holds: lasted.are_within(Nanos::from_us(980), Nanos::from_us(1_020)),
        note: "",
    })
}

fn at_0_4992_as_measured() -> Result<Outcome, Refusal> {
    on_amd(500, Nanos::new(1_496_100), Nanos::new(1_497_900))
}

fn at_0_5068_as_measured() -> Result<Outcome, Refusal> {
    on_amd(507, Nanos::new(1_011_500), Nanos::new(1_013_000))
}

fn at_0_9996_as_measured() -> Result<Outcome, Refusal> {
    on_amd(1_000, Nanos::new(1_998_100), Nanos::new(1_999_100))
}

/// Each sleep of a process that asks for so much is to last about what was
/// measured on Windows 10 with an AMD clock.
fn on_amd(asked_us: u64, least: Nanos, most: Nanos) -> Result<Outcome, Refusal> {
    let asked = asks(Nanos::from_us(asked_us));
    let lasted = in_step(
        "windows-10-2004,hardware=amd,base=tick",
        vec![asked],
        loop_of_1(),
    )?;
    let tolerance = Nanos::from_us(5);
    Ok(Outcome {
        got: lasted.to_string(),
        holds: lasted.are_within(least - tolerance, most + tolerance),
        note: "whole ticks but for the jitter of waking; what the measuring program does between two sleeps is left \
               out here and makes the source's figures a little shorter",
    })
}

fn at_0_9766_as_measured() -> Result<Outcome, Refusal> {
    let lasted = in_step("windows-xp,hardware=rtc", vec![asks(ONE)], loop_of_1())?;
    let want = Nanos::from_us(1_953);
    Ok(Outcome {
        got: lasted.to_string(),
        holds: is_close(lasted.least(), want, 10) && is_close(lasted.most(), want, 10),
        note: "",
    })
}

fn at_exactly_0_5_from_the_call() -> Result<Outcome, Refusal> {
    let asked = asks(Nanos::from_us(500));
    let ops = measured_sleeps(100);
    let lasted = in_step("windows-11,hardware=exact,base=now", vec![asked], ops)?;
    Ok(Outcome {
        got: lasted.to_string(),
        holds: lasted.are_within(Nanos::new(1_485_300), Nanos::new(1_506_800)),
        note: "three ticks less the 4 us that the measuring program is taken to need between two sleeps, which were \
               taken from this figure; that it is three ticks was not",
    })
}

/// Sleeps of 1 ms as MeasureSleep makes them: it reads the resolution and
/// prints between two of them, which is taken to last 4 us as its figures for
/// an interval of exactly 0.5 ms, 1.4953 to 1.4968 ms, fall short of three
/// ticks by 3 to 5 us (PCT).
pub(super) fn measured_sleeps(times: u64) -> Vec<Op> {
    vec![Op::Loop {
        times,
        body: vec![
            Op::Read(Probe::Resolution),
            Op::Work(Nanos::from_us(4)),
            block(Method::Sleep, ONE),
        ],
    }]
}

fn at_exactly_0_5_from_the_tick() -> Result<Outcome, Refusal> {
    let asked = asks(Nanos::from_us(500));
    let at_a_tick = Op::Loop {
        times: 100,
        body: vec![
            Op::Read(Probe::Step(OsClock::TimeGetTime)),
            block(Method::Sleep, ONE),
        ],
    };
    let lasted = in_step(
        "windows-7,hardware=exact,base=tick,wake=20us",
        vec![asked],
        vec![at_a_tick],
    )?;
    Ok(Outcome {
        got: lasted.to_string(),
        holds: lasted.are_within(Nanos::from_us(1_011), Nanos::from_us(1_033)),
        note: "a loop of sleeps alone gives 1.000 ms on average, whatever waking takes: a late sleep begins the next \
               one late. So each is called as timeGetTime moves. The 20 us were taken from this very figure; that it \
               is two ticks was not",
    })
}

fn light_noise_shortens_sleeps() -> Result<Outcome, Refusal> {
    const SLEEPS: u64 = 200;
    let gap = |nth: u64| match nth {
        // Once in all of them.
        137 => Nanos::from_us(12_575),
        nth => Nanos::from_us(70 + 510 * (nth * 7 % SLEEPS) / (SLEEPS - 1)),
    };
    let ops = (0..SLEEPS).flat_map(|nth| [Op::Work(gap(nth)), block(Method::Sleep, ONE)]);
    let lasted = in_step("windows-10-1909", vec![], ops.collect())?;
    let is_rare = |each: &Nanos| *each < Nanos::from_ms(10);
    let (rare, usual): (Vec<_>, Vec<_>) = lasted.as_slice().iter().partition(|each| is_rare(each));
    let (rare, usual) = (Lengths::new(rare)?, Lengths::new(usual)?);
    Ok(Outcome {
        got: format!("{usual}; {} of {SLEEPS}: {rare}", rare.as_slice().len()),
        holds: rare.as_slice().len() == 1
            && is_close(rare.most(), Nanos::from_us(3_050), 10)
            && usual.are_within(Nanos::from_us(15_040), Nanos::from_us(15_560)),
        note: "the source does not say what the noise was: the lengths of the work are inferred from these very \
               figures. That a sleep and the work before it make one interval together, for all these lengths, is the rule's",
    })
}

fn loop_of_1() -> Vec<Op> {
    vec![sleeps(ONE, 100)]
}
