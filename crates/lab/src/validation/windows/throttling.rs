//! Processes whose request does not count, since Windows 11, and the registry
//! key that lets requests count for everybody again.

use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::program::Op;
use punctual_program::setting::Throttling;
use punctual_program::{Refusal, Setting};

use super::background::{ONE, asks, in_step, other_asks};
use super::grid::measured_sleeps;
use crate::validation::probe::{Lengths, exact, is_close, list, program, run, sleeps};
use crate::validation::{Kind, Outcome, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            id: "V34",
            rule: "Windows 11: the only requester is minimised",
            input: "0.5 ms requested, then minimised and silent",
            expected: "resolution 0.5 -> 15.625 ms; Sleep(1) 1.495 -> 15.62 ms",
            tolerance: "0.2 %",
            kind: Kind::Measured,
            source: "PCT",
            run: minimised_it_loses_its_interval,
        },
        Row {
            id: "V35",
            rule: "Windows 11: opt-out",
            input: "control mask 4, state mask 0; 0.5 ms requested, then minimised and silent",
            expected: "Sleep(1) stays at 1.494-1.496 ms",
            tolerance: "5 us",
            kind: Kind::Measured,
            source: "PCT",
            run: unless_it_objects,
        },
        Row {
            id: "V37",
            rule: "Windows 10 2004: the global key has no effect",
            input: "GlobalTimerResolutionRequests = 1, another process requests 0.5 ms",
            expected: "15.47-15.58 ms",
            tolerance: "0.7 %",
            kind: Kind::Measured,
            source: "PCT",
            run: windows_10_does_not_know_the_key,
        },
    ]
}

/// What a process sees that asks for 0.5 ms on Windows 11, and then is
/// minimised.
struct Seen {
    resolutions: [Lengths; 2],
    sleeps: [Lengths; 2],
}

fn minimised(before: Vec<Op>) -> Result<Seen, Refusal> {
    let window = |visible| {
        Op::Set(Setting::Window {
            visible,
            audible: false,
        })
    };
    let ops = [
        before,
        vec![
            window(true),
            asks(Nanos::from_us(500)),
            sleeps(ONE, 2),
            Op::Record,
        ],
        measured_sleeps(100),
        vec![Op::Record, window(false), sleeps(ONE, 2), Op::Record],
        measured_sleeps(100),
    ];
    let observed = run("windows-11,hardware=exact,base=now", &program(ops.concat()))?;
    let [_, seen, _, hidden] = &observed.threads[0].sections[..] else {
        return Err(Refusal::new("the program has four sections"));
    };
    let resolutions = |section: &punctual_program::machine::Section| {
        let readings = section.readings.iter();
        let of_it = readings.filter(|reading| reading.probe == Probe::Resolution);
        Lengths::new(of_it.map(|reading| reading.value))
    };
    let sleeps = |section: &punctual_program::machine::Section| {
        Lengths::new(section.samples.iter().map(|sample| sample.outcome.slept))
    };
    Ok(Seen {
        resolutions: [resolutions(seen)?, resolutions(hidden)?],
        sleeps: [sleeps(seen)?, sleeps(hidden)?],
    })
}

fn minimised_it_loses_its_interval() -> Result<Outcome, Refusal> {
    let Seen {
        resolutions,
        sleeps,
    } = minimised(vec![])?;
    let [seen, hidden] = &resolutions;
    let mut holds = seen.are(Nanos::from_us(500)) && hidden.are(Nanos::from_us(15_625));
    for (lasted, want) in sleeps.iter().zip([1_495, 15_620].map(Nanos::from_us)) {
        holds &= is_close(lasted.least(), want, 2) && is_close(lasted.most(), want, 2);
    }
    Ok(Outcome {
        got: format!(
            "resolution {seen} -> {hidden}; Sleep(1) {} -> {}",
            sleeps[0], sleeps[1]
        ),
        holds,
        note: "the measuring program is taken to need 4 us between two sleeps, as in V19",
    })
}

fn unless_it_objects() -> Result<Outcome, Refusal> {
    let objects = Op::Set(Setting::Throttling(Throttling::HonourRequests));
    let Seen {
        resolutions,
        sleeps: [_, hidden],
    } = minimised(vec![objects])?;
    let tolerance = Nanos::from_us(5);
    Ok(Outcome {
        got: format!("{hidden}, resolution {}", list(&resolutions)),
        holds: resolutions[1].are(Nanos::from_us(500))
            && hidden.are_within(
                Nanos::from_us(1_494) - tolerance,
                Nanos::from_us(1_496) + tolerance,
            ),
        note: "the measuring program is taken to need 4 us between two sleeps, as in V19",
    })
}

fn windows_10_does_not_know_the_key() -> Result<Outcome, Refusal> {
    let beside = |text| {
        let others = vec![other_asks(Nanos::from_us(500))];
        in_step(text, others, vec![sleeps(ONE, 100)])
    };
    let ten = beside("windows-10-2004,hardware=amd,global=1")?;
    let eleven = beside("windows-11,hardware=amd,global=1")?;
    let (least, most) = (Nanos::from_us(15_470), Nanos::from_us(15_580));
    let is_measured = |each: Nanos| is_close(each.clamp(least, most), each, 7);
    Ok(Outcome {
        got: format!("{ten}; on Windows 11 {} on average", exact(eleven.mean())),
        holds: is_measured(ten.least())
            && is_measured(ten.most())
            && eleven.most() < Nanos::from_ms(2),
        note: "on Windows 11 the key does have its effect",
    })
}
