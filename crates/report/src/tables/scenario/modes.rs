//! The few lengths that sleeps have on a tick.

use punctual_record::experiment::ScenarioThreads;
use punctual_record::{Measurement, Mode};

use crate::select::{Row, model, phase};
use crate::{prose, units};

type Threads<'r> = Row<'r, ScenarioThreads>;

/// So many modes are told; of more, that there are others.
const SHOWN: usize = 4;

/// The share of a mode that is more than an accident.
const LEAST_SHARE: f64 = 0.01;

fn common(m: Threads<'_>) -> Vec<Mode> {
    let mut modes = m.of.modes.clone();
    modes.retain(|mode| mode.share >= LEAST_SHARE);
    modes
}

/// Whether the length asked for is another each time, so that it is the
/// lateness that tells.
pub(super) fn varies(m: Threads<'_>) -> bool {
    m.of.asked_ns.is_some_and(|asked| asked.min != asked.max)
}

/// Whether events ended waits.
pub(super) fn is_signalled(m: Threads<'_>) -> bool {
    m.of.since_signal_ns.is_some()
}

/// Whether any sleep can be told in ticks.
pub(super) fn has_ticks(m: Threads<'_>) -> bool {
    m.of.modes.iter().any(|mode| mode.ticks.is_some())
}

/// The lengths of the sleeps in ticks, the commonest first: `1`, `2, 3`.
pub(super) fn ticks(m: Threads<'_>) -> Option<String> {
    let common = common(m);
    let ticks: Option<Vec<String>> = common
        .iter()
        .take(SHOWN)
        .map(|mode| Some(mode.ticks?.to_string()))
        .collect();
    let mut text = ticks?.join(", ");
    if common.len() > SHOWN {
        text += ", ...";
    }
    Some(text).filter(|text| !text.is_empty())
}

/// The modes of each measurement whose sleeps have several, as lines below the
/// table.
pub(super) fn several(group: &[Threads<'_>]) -> String {
    let lines: Vec<(String, String)> = group
        .iter()
        .filter(|m| common(**m).len() > 1 && !is_signalled(**m) && !varies(**m))
        .map(|m| (whose(m, group), in_words(&m.of.modes)))
        .collect();
    under("Sleeps of several lengths:", &lines)
}

/// What was read and was not the same each time, as lines below the table.
pub(super) fn several_readings(group: &[Threads<'_>]) -> String {
    let mut lines = Vec::new();
    for m in group {
        for (key, reading) in &m.of.readings {
            let modes = &reading.modes;
            if modes.len() > 1 {
                let whose = [whose(m, group), key.trim_end_matches("_ns").to_owned()];
                let whose = whose.into_iter().filter(|part| !part.is_empty());
                lines.push((whose.collect::<Vec<_>>().join(", "), in_words(modes)));
            }
        }
    }
    under("Readings of several values:", &lines)
}

/// Lines below a table, each with whose it is; nothing if there are none.
fn under(title: &str, lines: &[(String, String)]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let widest = lines.iter().map(|(whose, _)| whose.chars().count()).max();
    let widest = widest.unwrap_or(0);
    let mut text = format!("{title}\n");
    for (whose, modes) in lines {
        text += &prose::indented(&format!("  {whose:<widest$}  "), modes);
    }
    text
}

/// What tells a measurement from the others of its table.
fn whose(m: &Measurement, group: &[Threads<'_>]) -> String {
    let differs = |of: fn(&Measurement) -> &str| group.iter().any(|other| of(other) != of(m));
    let parts: [fn(&Measurement) -> &str; 3] = [|m| m.subject.as_str(), phase, model];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter(|of| differs(*of))
        .map(|of| of(m))
        .collect();
    parts.join(", ")
}

/// `2 ticks (1.999 ms) 70 %, 3 ticks (2.999 ms) 30 %`.
fn in_words(modes: &[Mode]) -> String {
    let told = modes.iter().filter(|mode| mode.share >= LEAST_SHARE);
    let mut told: Vec<String> = told.take(SHOWN).map(one_in_words).collect();
    if modes.len() > told.len() {
        told.push("and others".to_owned());
    }
    format!(
        "{} (n = {})",
        told.join(", "),
        modes.iter().map(|m| m.n).sum::<u64>()
    )
}

fn one_in_words(mode: &Mode) -> String {
    let length = units::fine(mode.center_ns);
    let share = mode.share * 100.0;
    match mode.ticks {
        Some(1) => format!("1 tick ({length}) {share:.0} %"),
        Some(ticks) => format!("{ticks} ticks ({length}) {share:.0} %"),
        None => format!("{length} {share:.0} %"),
    }
}
