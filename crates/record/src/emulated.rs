//! A command whose waits ended as another system's would.

use serde::{Deserialize, Serialize};

/// The results of `punctual emulate`.
///
/// The model is the first of [`Findings::models`](crate::Findings::models), and the first seed is
/// [`Findings::seed`](crate::Findings::seed).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Emulated {
    /// The command, word for word.
    pub command: Vec<String>,
    /// The settings of every process of a run.
    pub settings: EmulatedSettings,
    /// The runs in their order.
    pub runs: Vec<EmulatedRun>,
    /// The processes of all emulated runs.
    pub processes: u64,
    /// The ports as which processes of runtimes were emulated, such as `python-3.11`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<String>,
    /// In how many processes clocks of the runtime moved in the steps of the other system.
    #[serde(default)]
    pub clocks_replaced: u64,
    /// The waits of all emulated runs, most frequent first.
    pub waits: Vec<EmulatedWaits>,
    /// The limits of these runs, a sentence each.
    #[serde(default)]
    pub limits: Vec<String>,
}

/// The settings of every process of an emulated run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmulatedSettings {
    /// The timer interval that each process requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_ns: Option<u64>,
    /// Whether all processes are neither visible nor audible.
    #[serde(default)]
    pub hidden: bool,
    /// Whether the computer runs on its battery.
    #[serde(default)]
    pub battery: bool,
    /// The priority of all threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// The port as which programs of runtimes are emulated by request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_for: Option<String>,
    /// Whether clocks of runtimes may be replaced.
    #[serde(default)]
    pub clocks: bool,
    /// How the waits were reached: `preload`, a library that the programs load, or `ptrace`, a tracer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// One run of the command to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmulatedRun {
    /// The seed of the ticks; `None` of a native run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The exit code, if it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl EmulatedRun {
    /// Whether it ended by a signal or with an exit code other than 0.
    pub fn is_failure(self) -> bool {
        self.exit_code != Some(0)
    }
}

/// Waits of one call and about one length, from one line of the program where that is known.
///
/// Lengths are means of the waits that their timer ended and of those whose return was not observed, in nanoseconds; the
/// measured length is that of the former only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EmulatedWaits {
    /// The function of libc.
    pub call: String,
    /// The line of the program, such as `tests/test_rate.py:41`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The length that the line asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_asked_ns: Option<u64>,
    /// How many waits their timer ended.
    pub ended_by_timer: u64,
    /// How many waits an event or a signal ended.
    pub ended_by_event: u64,
    /// How many waits ended by their timer or an event, of which the return was not observed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended_unobserved: u64,
    /// The length that the call asks for.
    pub asked_ns: u64,
    /// The length by the timer rule of the computer itself, without the wake-up; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_ns: Option<u64>,
    /// The length by the rule of the model; `None` if an event ended each such wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_rule_ns: Option<u64>,
    /// The measured length; `None` if no timer ended such a wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The least difference of a wait that counts: a wake-up takes as long.
const DIFFERENCE_NS: u64 = 100_000;

impl EmulatedWaits {
    /// The line of the program with its length, or else the call.
    pub fn name(&self) -> String {
        match (self.line_asked_ns, &self.line) {
            (Some(ns), Some(line)) => format!("time.sleep({}) in {line}", ns as f64 / 1e9),
            (Some(ns), None) => format!("time.sleep({}), its line not noted", ns as f64 / 1e9),
            (None, _) => self.call.clone(),
        }
    }

    /// How much the rule changes all of them together, in nanoseconds; zero if it changes each by less than 0.1 ms.
    pub fn difference_ns(&self) -> u64 {
        let native = self.native_ns.unwrap_or(self.asked_ns);
        let each = self.by_rule_ns.map_or(0, |rule| rule.abs_diff(native));
        let counted = if each < DIFFERENCE_NS { 0 } else { each };
        counted.saturating_mul(self.not_by_event())
    }

    /// How many waits were ended by their timer, or may have been.
    pub fn not_by_event(&self) -> u64 {
        self.ended_by_timer + self.ended_unobserved
    }
}

impl Emulated {
    /// The runs under the model and the native ones: how many there were, and how many failed.
    pub fn counts(&self) -> [[u64; 2]; 2] {
        let count = |is_emulated: bool| {
            let runs = self.runs.iter();
            let runs = runs.filter(|run| run.seed.is_some() == is_emulated);
            let failed = runs.clone().filter(|run| run.is_failure());
            [runs.count() as u64, failed.count() as u64]
        };
        [count(true), count(false)]
    }

    /// The waits that the rule changes most, all of a kind together: three at most, and none of a tenth of the first or
    /// less.
    pub fn that_differ_most(&self) -> Vec<&EmulatedWaits> {
        let mut waits: Vec<&EmulatedWaits> = self.waits.iter().collect();
        waits.sort_by_key(|waits| std::cmp::Reverse(waits.difference_ns()));
        let most = waits.first().map_or(0, |waits| waits.difference_ns());
        waits.retain(|waits| waits.difference_ns() > most / 10);
        waits.truncate(3);
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(call: &str, n: u64, native_ns: u64, by_rule_ns: u64) -> EmulatedWaits {
        EmulatedWaits {
            call: call.to_owned(),
            ended_by_timer: n,
            native_ns: Some(native_ns),
            by_rule_ns: Some(by_rule_ns),
            ..EmulatedWaits::default()
        }
    }

    #[test]
    fn the_waits_that_differ_most_come_first_and_small_ones_not_at_all() {
        let emulated = Emulated {
            waits: vec![
                waits("poll", 10, 1_000_000, 1_100_000),
                waits("usleep", 2, 20_000_000, 10_000_000),
                waits("select", 1, 1_000_000, 16_000_000),
                waits("futex", 500, 1_000_000, 1_050_000),
            ],
            ..Emulated::default()
        };
        let most = emulated.that_differ_most();
        let names: Vec<String> = most.iter().map(|waits| waits.name()).collect();
        assert_eq!(names, ["usleep", "select"]);
        let [_, _, _, futex] = &emulated.waits[..] else {
            panic!("{emulated:?}");
        };
        let small = Emulated {
            waits: vec![futex.clone()],
            ..Emulated::default()
        };
        assert!(small.that_differ_most().is_empty());
    }

    #[test]
    fn failures_count_on_both_sides() {
        let run = |seed, exit_code, signal| EmulatedRun {
            seed,
            exit_code,
            signal,
        };
        let emulated = Emulated {
            runs: vec![
                run(Some(1), Some(0), None),
                run(None, Some(0), None),
                run(None, None, Some(9)),
                run(Some(2), Some(3), None),
                run(Some(3), None, Some(6)),
            ],
            ..Emulated::default()
        };
        assert_eq!(emulated.counts(), [[3, 2], [2, 1]]);
    }
}
