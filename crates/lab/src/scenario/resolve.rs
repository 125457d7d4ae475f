//! From what a file expects to what can be checked: phases by number, lists
//! taken apart.

use std::collections::BTreeMap;

use super::compile::no_phase;
use super::error::{Flaw, line, list};
use super::expect::Expect;
use super::file::{Expected, File};
use super::table::Placed;

/// The expectations of a file whose threads have these names; `text` is what
/// it was read from.
pub(super) fn expects(file: &File, names: &[String], text: &str) -> Result<Vec<Expect>, Flaw> {
    let names_of_phases = file.phases.iter().map(|phase| phase.name.as_str());
    let numbers: BTreeMap<&str, usize> = names_of_phases.zip(0..).collect();
    let mut expects = Vec::new();
    for expected in &file.expects {
        check_name(expected, names)?;
        let number = |phase: &Placed<String>| {
            let number = numbers.get(phase.value.as_str()).copied();
            number.map(Some).ok_or_else(|| no_phase(file, phase))
        };
        let phases = expected
            .phases
            .iter()
            .map(number)
            .collect::<Result<_, _>>()?;
        let on = expected
            .on
            .iter()
            .map(|on| Some(on.value.clone()))
            .collect();
        let on = or_all(on);
        for phase in or_all(phases) {
            expects.extend(on.iter().map(|on| Expect {
                phase,
                on: on.clone(),
                of: expected.of.as_ref().map(|of| of.value.clone()),
                what: expected.what,
                target: expected.target,
                source: expected.source.clone(),
                line: line(text, expected.at),
            }));
        }
    }
    Ok(expects)
}

fn check_name(expected: &Expected, names: &[String]) -> Result<(), Flaw> {
    match &expected.of {
        Some(of) if !names.contains(&of.value) => Err(Flaw::new(
            of.at,
            format!(
                "there is no thread `{}`; the threads are {}",
                of.value,
                list(names.iter().map(String::as_str))
            ),
        )),
        _ => Ok(()),
    }
}

/// What names nothing is for everything.
fn or_all<T>(some: Vec<Option<T>>) -> Vec<Option<T>> {
    if some.is_empty() { vec![None] } else { some }
}
