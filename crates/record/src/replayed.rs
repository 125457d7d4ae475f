//! Recorded waits as a scenario, and how simulated computers ran it.

use serde::{Deserialize, Serialize};

/// A scenario of recorded waits, beside the trace that it was made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replayed {
    /// The model of the computer that was traced.
    pub model: String,
    /// The threads, those with the most waits first.
    pub threads: Vec<ReplayedThread>,
    /// How many threads with waits the scenario leaves out.
    #[serde(default)]
    pub left_out: usize,
    /// The time of the trace that the scenario has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_ns: Option<u64>,
}

impl Replayed {
    /// Whether the model of this computer is as late in the median of a thread, within 20 % or 10 us, and waits as often,
    /// within 3 %. One wait more or less does not count. `None` if too few waits have a median.
    pub fn agrees(&self, thread: &ReplayedThread) -> Option<bool> {
        let (traced, model) = (&thread.traced, thread.simulated.first()?);
        let (here, there) = (traced.late_ns_p50? as f64, model.late_ns_p50? as f64);
        let is_as_late = (there - here).abs() <= (here.abs() * LATE_SHARE).max(LATE_NS);
        let one = self
            .length_ns
            .map_or(0.0, |length| 1e9 / length.max(1) as f64);
        let differs = (model.per_s - traced.per_s).abs();
        let is_as_often = differs <= (traced.per_s * RATE_SHARE).max(one);
        Some(is_as_late && is_as_often)
    }
}

/// A thread, as it was traced and on simulated computers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedThread {
    /// Its name in the scenario.
    pub thread: String,
    /// Its waits as they were traced.
    pub traced: ReplayedWaits,
    /// The same on the model of this computer, then on those that were asked for.
    pub simulated: Vec<ReplayedWaits>,
}

/// The waits of a thread on one computer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedWaits {
    /// The computer.
    pub on: String,
    /// How many ended per second because their time was over.
    pub per_s: f64,
    /// The median of their lateness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns_p50: Option<i64>,
    /// 99 % were at most so late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns_p99: Option<i64>,
}

/// Waits agree up to these differences: of the median, a share or a length, and a share of the waits a second.
const LATE_SHARE: f64 = 0.2;
const LATE_NS: f64 = 10_000.0;
const RATE_SHARE: f64 = 0.03;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_agrees_within_20_percent_or_10_us_and_3_percent_of_its_waits() {
        let agrees_in = |length_ns, here: (i64, f64), there: (i64, f64)| {
            let waits = |(late, per_s)| ReplayedWaits {
                per_s,
                late_ns_p50: Some(late),
                ..ReplayedWaits::default()
            };
            let thread = ReplayedThread {
                traced: waits(here),
                simulated: vec![waits(there)],
                ..ReplayedThread::default()
            };
            let replayed = Replayed {
                length_ns,
                ..Replayed::default()
            };
            replayed.agrees(&thread).unwrap()
        };
        let agrees = |here, there| agrees_in(Some(10_000_000_000), here, there);
        assert!(agrees((100_000, 100.0), (120_000, 103.0)));
        assert!(!agrees((100_000, 100.0), (120_001, 100.0)));
        assert!(agrees((8_000, 100.0), (18_000, 97.0)));
        assert!(!agrees((8_000, 100.0), (18_001, 100.0)));
        assert!(!agrees((100_000, 100.0), (100_000, 96.9)));
        let none = ReplayedThread::default();
        assert_eq!(Replayed::default().agrees(&none), None);
        // Of 20 waits one more or less is 5 %.
        for (length_ns, is_so) in [
            (Some(1_000_000_000), true),
            (Some(2_000_000_000), false),
            (None, false),
        ] {
            assert_eq!(agrees_in(length_ns, (0, 20.0), (0, 21.0)), is_so);
        }
    }
}
