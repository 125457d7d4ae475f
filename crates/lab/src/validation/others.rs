//! Wine.

use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::program::Op;
use punctual_program::{Refusal, Setting};

use super::probe::{Lengths, program, run};
use super::{Kind, Outcome, Row};

/// V67.
pub(super) fn rows() -> Vec<Row> {
    vec![Row {
        id: "V67",
        rule: "Wine: the answer about resolution",
        input: "requests for 0.5, 1, 5 and 15.625 ms, each withdrawn again",
        expected: "the query answers 156250/10000/10000 at all times",
        tolerance: "exact",
        kind: Kind::Documented,
        source: "WINE",
        run: wine_answers_always_the_same,
    }]
}

fn wine_answers_always_the_same() -> Result<Outcome, Refusal> {
    let read = Op::Read(Probe::Resolution);
    let mut ops = vec![read.clone()];
    for us in [500, 1_000, 5_000, 15_625] {
        let interval = Nanos::from_us(us);
        ops.extend([
            Op::Set(Setting::request(interval)),
            read.clone(),
            Op::Set(Setting::release(interval)),
            read.clone(),
        ]);
    }
    let asked = ops.iter().filter(|op| **op == read).count();
    let observed = run("wine", &program(ops))?;
    let section = &observed.threads[0].sections[0];
    let answers = Lengths::new(section.readings.iter().map(|reading| reading.value))?;
    let in_force = Nanos::from_ms(1);
    Ok(Outcome {
        got: format!(
            "{} answers: {answers} in force; {} settings denied",
            section.readings.len(),
            section.denied
        ),
        holds: section.readings.len() == asked && answers.are(in_force) && section.denied == 0,
        note: "only the last of the three, the interval in force: programs read no other, and the model has no longest \
               and no shortest",
    })
}
