//! Idle states of a CPU: what leaving them takes, and for what they are entered.

use std::collections::BTreeSet;
use std::sync::Mutex;

use punctual_core::Nanos;
use punctual_rules::Time;
use serde::Deserialize;

/// An idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "(&'static str, u64, u64)")]
pub struct IdleState {
    /// Its name.
    pub name: &'static str,
    /// From an interrupt to running.
    pub exit_latency: Time,
    /// It is entered for what is expected to last at least this long.
    pub target_residency: Time,
}

/// Its name, and the two lengths in microseconds.
impl From<(&'static str, u64, u64)> for IdleState {
    fn from((name, exit_us, residency_us): (&'static str, u64, u64)) -> Self {
        Self {
            name,
            exit_latency: Nanos::from_us(exit_us).into(),
            target_residency: Nanos::from_us(residency_us).into(),
        }
    }
}

/// The idle states of a computer, the shallowest first.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdleTable {
    pub(super) name: &'static str,
    pub(crate) states: Vec<IdleState>,
    pub(crate) power: Option<Power>,
}

/// The power of a core, in milliwatts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Power {
    /// While it runs, or is on its way out of an idle state.
    pub(crate) awake: u64,
    /// In each idle state.
    pub(crate) idle: Vec<u64>,
}

/// The format of a table of one's own. It is that of the parameter `table` of Linux's intel_idle
/// except for the comma, which separates parameters.
pub(super) const SYNTAX: &str = "NAME:EXIT_US:RESIDENCY_US/...";

const STATES: usize = 16;
const LONGEST_NAME: usize = 16;
/// A second.
const LONGEST_US: u64 = 1_000_000;

/// Reads a table of one's own, and keeps its text.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn read(text: &str) -> Result<&'static str, String> {
    let states = text.split('/').map(state).collect::<Result<Vec<_>, _>>()?;
    if states.len() > STATES {
        return Err(format!("more than {STATES} idle states"));
    }
    let deeper = |pair: &[(&str, u64, u64)]| pair[0].1 <= pair[1].1 && pair[0].2 <= pair[1].2;
    if !states.windows(2).all(deeper) {
        return Err(
            "an idle state is no shallower than the one before it: neither length can be shorter"
                .to_owned(),
        );
    }
    Ok(kept(text))
}

/// The table whose text was [read](read).
pub(super) fn own(text: &'static str) -> IdleTable {
    let states = text.split('/').filter_map(|text| state(text).ok());
    IdleTable {
        name: text,
        states: states.map(IdleState::from).collect(),
        power: None,
    }
}

fn state(text: &str) -> Result<(&str, u64, u64), String> {
    let wrong = || format!("`{text}` is no idle state: write {SYNTAX}, such as C1:2:2/C6:133:600");
    let parts: Vec<_> = text.split(':').collect();
    let [name, exit, residency] = parts[..] else {
        return Err(wrong());
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_+".contains(c);
    let us = |text: &str| text.parse().ok().filter(|us| *us <= LONGEST_US);
    let is_named = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_name);
    match (us(exit), us(residency)) {
        (Some(exit), Some(residency)) if is_named => Ok((name, exit, residency)),
        _ => Err(wrong()),
    }
}

/// The same text for as long as the program runs. Each is kept once.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(same) = kept.get(text) {
        return same;
    }
    let text: &'static str = text.to_owned().leak();
    kept.insert(text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_ones_own_is_read_and_a_wrong_one_says_why() {
        let text = read("C1:1:1/C6:170:600").unwrap();
        assert_eq!(text.as_ptr(), read("C1:1:1/C6:170:600").unwrap().as_ptr());
        let states = own(text).states;
        assert_eq!(states, [("C1", 1, 1).into(), ("C6", 170, 600).into()]);
        for (wrong, says) in [
            ("", "`` is no idle state: write NAME"),
            ("C1", "`C1` is no idle state"),
            ("C1:1:1/", "`` is no idle state"),
            ("C1:1:1:1", "is no idle state"),
            (":1:1", "is no idle state"),
            ("C1:-1:1", "is no idle state"),
            ("C1:1:1000001", "is no idle state"),
            ("C\u{1b}1:1:1", "is no idle state"),
            ("C6:170:600/C1:1:1", "no shallower"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(says), "{wrong}: {error}");
        }
        assert!(read(&["C1:1:1"; 17].join("/")).is_err());
    }
}
