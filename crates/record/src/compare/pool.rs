//! The measurements of waits of one run that are of the same thing, as one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::RunRow;
use super::comparison::Cell;
use super::estimate::estimate;
use super::metric::Metric;
use crate::cost::Round;
use crate::experiment::{Clocks, Experiment, OfExperiment as _};
use crate::late::Late;
use crate::logged::Logged;
use crate::punctuality::Punctuality;
use crate::run::{Findings, Measurement};

/// Mostly one measurement; several where an experiment writes one per round.
pub(super) struct Pool<'r> {
    parts: Vec<&'r Measurement>,
    /// The lateness of all of them.
    pub(super) late: Late,
    /// How punctually deadlines were served, where there are any.
    pub(super) punctuality: Option<Punctuality>,
}

impl<'r> Pool<'r> {
    /// Of at least one measurement.
    pub(super) fn of(parts: Vec<&'r Measurement>) -> Self {
        let late = match parts[..] {
            [only] => only.late_ns.clone(),
            _ => together(&parts),
        };
        let punctuality = Punctuality::of(&parts);
        Self {
            parts,
            late,
            punctuality,
        }
    }

    /// Every sample of lateness, round by round; nothing where the file has
    /// not kept them all.
    pub(super) fn samples(&self) -> Option<Vec<&'r [i64]>> {
        let mut rounds = Vec::new();
        for part in self.parts.iter().filter(|part| part.late_ns.n > 0) {
            let mut rest = part.samples_late_ns.as_slice();
            if rest.len() as u64 != part.late_ns.n {
                return None;
            }
            for round in &part.rounds {
                let Some((one, after)) = usize::try_from(round.n)
                    .ok()
                    .and_then(|n| rest.split_at_checked(n))
                else {
                    // The rounds are not those of the samples.
                    break;
                };
                rounds.push(one);
                rest = after;
            }
            rounds.push(rest);
        }
        rounds.retain(|round| !round.is_empty());
        (!rounds.is_empty()).then_some(rounds)
    }

    /// Each round that had waits.
    pub(super) fn rounds(&self) -> Vec<Round> {
        let of_part = |part: &&Measurement| match part.rounds.as_slice() {
            [] if self.parts.len() > 1 && part.late_ns.n > 0 => vec![Round {
                n: part.late_ns.n,
                cpu_per_wait_ns: part.cpu.per_wait_ns,
                cpu_fraction: part.cpu.fraction,
                naps_per_wait: part.wakes_per_wait,
                late_mean_ns: part.late_ns.mean,
                late_mean_capped_ns: part.late_ns.mean_capped,
            }],
            rounds => rounds.to_vec(),
        };
        let mut rounds: Vec<Round> = self.parts.iter().flat_map(of_part).collect();
        rounds.retain(|round| round.n > 0);
        rounds
    }

    /// Whether the lateness of any of them leaves out missed deadlines.
    pub(super) fn leaves_out_missed(&self) -> bool {
        self.parts.iter().any(|part| part.leaves_out_missed())
    }

    /// The lengths that a log has, where it has some.
    pub(super) fn logged(&self) -> Option<&'r Late> {
        let lengths = &Logged::of(self.only()?)?.lengths_ns;
        (lengths.n > 0).then_some(lengths)
    }

    /// Whether some of the values of a log lie beyond its histogram.
    pub(super) fn has_beyond(&self) -> bool {
        let logs = self.parts.iter().copied().filter_map(Logged::of);
        logs.filter_map(|log| log.beyond).any(|beyond| beyond.n > 0)
    }

    /// The only measurement, if there is one only.
    pub(super) fn only(&self) -> Option<&'r Measurement> {
        match self.parts[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The share of CPU time of each measurement, where all of them tell.
    pub(super) fn cpu_fractions(&self) -> Option<Vec<f64>> {
        let known = |part: &&Measurement| part.cpu.fraction.filter(|share| share.is_finite());
        self.parts.iter().map(known).collect()
    }

    /// Whether the CPU time of any of them is approximate.
    pub(super) fn cpu_is_approximate(&self) -> bool {
        self.parts.iter().any(|part| part.cpu.approximate)
    }

    /// The readings of a clock.
    pub(super) fn clock(&self) -> Option<&'r Clocks> {
        self.parts.iter().copied().find_map(Clocks::of)
    }
}

/// The lateness of several measurements: from all their samples, or as much as
/// follows from their own summaries, which is no percentile.
fn together(parts: &[&Measurement]) -> Late {
    let complete = |part: &&Measurement| part.samples_late_ns.len() as u64 == part.late_ns.n;
    if parts.iter().all(complete) {
        let samples: Vec<i64> = parts
            .iter()
            .flat_map(|part| part.samples_late_ns.iter().copied())
            .collect();
        return Late::of(&samples);
    }
    let measured = || parts.iter().map(|part| &part.late_ns).filter(|l| l.n > 0);
    let n: u64 = measured().fold(0, |sum, late| sum.saturating_add(late.n));
    let mean = |of: fn(&Late) -> f64| {
        measured().map(|late| of(late) * late.n as f64).sum::<f64>() / n.max(1) as f64
    };
    Late {
        n,
        early: measured().fold(0, |sum, late| sum.saturating_add(late.early)),
        min: measured().map(|late| late.min).min().unwrap_or(0),
        max: measured().map(|late| late.max).max().unwrap_or(0),
        mean: mean(|late| late.mean),
        mean_capped: mean(|late| late.mean_capped),
        ..Late::default()
    }
}

/// The name for the OS's own sleep call, whose name differs between systems.
const OWN_SLEEP_CALL: &str = "\0sleep";

impl RunRow for Measurement {
    type Beside = Findings;

    fn experiment(&self) -> &str {
        self.experiment.name()
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    fn subject_anywhere(&self) -> &str {
        // `timers` asks what the OS makes of its own sleep call for 1 ms. It
        // is `Sleep(1)` on Windows and has other names elsewhere.
        match self.experiment {
            Experiment::Timers(_) => OWN_SLEEP_CALL,
            _ => &self.subject,
        }
    }

    fn params(&self) -> BTreeMap<String, Value> {
        self.experiment.params()
    }

    fn stands_beside(&self, other: &Self) -> bool {
        self.experiment.is_log_like(&other.experiment)
    }

    fn on(&self) -> Option<&str> {
        self.experiment.on()
    }

    fn cell(rows: &[&Self]) -> Cell {
        let pool = Pool::of(rows.to_vec());
        let mut cell = Cell {
            n: pool.late.n,
            cpu_is_approximate: pool.cpu_is_approximate(),
            punctuality: pool.punctuality.clone(),
            ..Cell::default()
        };
        for metric in Metric::OF_WAITS {
            if let Some(found) = estimate(metric, &pool) {
                cell.add(metric, found);
            }
        }
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Decades, Experiment};

    fn measurement(samples: &[i64], rounds: &[u64]) -> Measurement {
        Measurement {
            late_ns: Late::of(samples),
            samples_late_ns: samples.to_vec(),
            rounds: rounds
                .iter()
                .map(|&n| Round {
                    n,
                    ..Round::default()
                })
                .collect(),
            ..Measurement::of(Experiment::Decades(Decades { asked_ns: 1 }), "spin")
        }
    }

    #[test]
    fn samples_fall_into_their_rounds() {
        let m = measurement(&[1, 2, 3, 4, 5], &[2, 3]);
        assert_eq!(
            Pool::of(vec![&m]).samples().unwrap(),
            [&[1, 2][..], &[3, 4, 5]]
        );
        let without = measurement(&[1, 2, 3], &[]);
        assert_eq!(Pool::of(vec![&without]).samples().unwrap(), [[1, 2, 3]]);
        let other = measurement(&[1, 2, 3], &[7]);
        assert_eq!(Pool::of(vec![&other]).samples().unwrap(), [[1, 2, 3]]);
        let mut dropped = m.clone();
        dropped.samples_late_ns.clear();
        assert_eq!(Pool::of(vec![&dropped]).samples(), None);
    }

    #[test]
    fn several_measurements_are_rounds_of_one() {
        let parts = [measurement(&[1, 3], &[]), measurement(&[5, 7, 9], &[])];
        let pool = Pool::of(parts.iter().collect());
        assert_eq!(pool.samples().unwrap(), [&[1, 3][..], &[5, 7, 9]]);
        assert_eq!(pool.late, Late::of(&[1, 3, 5, 7, 9]));
        let means: Vec<f64> = pool.rounds().iter().map(|r| r.late_mean_ns).collect();
        assert_eq!(means, [2.0, 7.0]);
    }

    #[test]
    fn without_samples_only_what_adds_up_is_known_of_several() {
        let mut parts = [measurement(&[10; 40], &[]), measurement(&[20; 60], &[])];
        parts[0].samples_late_ns.clear();
        let pool = Pool::of(parts.iter().collect());
        assert_eq!((pool.late.n, pool.late.min, pool.late.max), (100, 10, 20));
        assert_eq!((pool.late.mean, pool.late.p50), (16.0, None));
    }
}
