//! The rows of a Run of page zeroing.

mod account;
mod advice;
mod calibration;
mod page_cost;
mod zeroing;

use std::collections::BTreeMap;

use punctual_record::Value;
use serde::{Deserialize, Serialize};

use punctual_record::Cpu;
use punctual_record::Interval;
use punctual_record::RunRow;
use punctual_record::compare::{Cell, Estimate, Metric, Missing, Quantity};

pub use account::{Account, Paid, Payments};
pub use advice::{ZeroAdvice, ZeroBounds, ZeroChecked, ZeroForecast, ZeroHold, ZeroPick, ZeroPool};
pub use calibration::{LineCost, ParkingCost, TakeCost, ZeroCalibration, ZeroCost};
pub use page_cost::{PAGE_BYTES, PageCost, Spent};
pub use zeroing::{CpuSplit, Spread, Zeroing, ZeroingPrediction, ZeroingRound};

/// GB (1e9 bytes) zeroed per second of CPU time.
pub const GB_PER_CPU_S: Metric =
    Metric::new(0, "gb_per_cpu_s", "gb_per_cpu_s", Quantity::Rate).of_work();
/// GB zeroed per second that passed.
pub const WALL_GB_PER_S: Metric =
    Metric::new(1, "wall_gb_per_s", "wall_gb_per_s", Quantity::Rate).of_work();

/// What one subject did in one experiment with memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroRow {
    /// Which experiment.
    pub experiment: String,
    /// The lock of a pool, or the step that was measured.
    pub subject: String,
    /// The experiment's parameters, with their units in their names.
    pub params: BTreeMap<String, Value>,
    /// Of which only is told whether the CPU time is approximate.
    #[serde(default)]
    pub cpu: Cpu,
    /// What a pool did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero: Option<Zeroing>,
    /// What a step with pages cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cost: Option<PageCost>,
    /// Who paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// What else is known of a simulated pool.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// What a Run of page zeroing has beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroFindings {
    /// What `punctual zero advise` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_advice: Option<ZeroAdvice>,
    /// What the parts of a pool cost, of which the predictions are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_calibration: Option<ZeroCalibration>,
}

impl RunRow for ZeroRow {
    type Beside = ZeroFindings;

    fn experiment(&self) -> &str {
        &self.experiment
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    /// How many bytes are hot follows from the machine's caches, and how many are cold
    /// from them and from what is free: where `memory` says which, `bytes` of pools make
    /// no difference.
    fn params(&self) -> BTreeMap<String, Value> {
        let mut params = self.params.clone();
        params.retain(|key, _| key != "on");
        if self.experiment == "zero-pool" && params.contains_key("memory") {
            params.remove("bytes");
        }
        params
    }

    fn on(&self) -> Option<&str> {
        self.params.get("on")?.as_str()
    }

    fn cell(rows: &[&Self]) -> Cell {
        let zeroings: Vec<Zeroing> = rows.iter().filter_map(|row| Zeroing::of(row)).collect();
        let mut cell = Cell {
            cpu_is_approximate: rows.iter().any(|row| row.cpu.approximate),
            oversubscribed: zeroings.iter().any(|zeroing| zeroing.oversubscribed),
            ..Cell::default()
        };
        if !zeroings.is_empty() {
            cell.add(GB_PER_CPU_S, rate(&zeroings, |round| round.gb_per_cpu_s));
            cell.add(WALL_GB_PER_S, rate(&zeroings, |round| round.wall_gb_per_s));
        }
        cell
    }
}

/// The median over all rounds. Nothing per second is what only a file made up.
fn rate(zeroings: &[Zeroing], of: fn(&ZeroingRound) -> f64) -> Result<Estimate, Missing> {
    let rounds = zeroings.iter().flat_map(rounds);
    let rounds: Vec<f64> = rounds.map(|round| of(&round)).collect();
    let median = Interval::of(&rounds).map(|interval| interval.median);
    let median = median.filter(|gb| *gb > 0.0).ok_or(Missing::NotMeasured)?;
    Ok(Estimate::over_rounds(median, &rounds))
}

/// Each round of zeroing; where a file has none, the medians as one.
fn rounds(zeroing: &Zeroing) -> Vec<ZeroingRound> {
    match zeroing.rounds.as_slice() {
        [] => vec![ZeroingRound {
            wall_gb_per_s: zeroing.wall_gb_per_s.median,
            gb_per_cpu_s: zeroing.gb_per_cpu_s.median,
        }],
        rounds => rounds.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool of workers that zeroed so much in each round.
    fn zeroed(gb_per_cpu_s: &[f64]) -> ZeroRow {
        let rounds = gb_per_cpu_s.iter().map(|&gb_per_cpu_s| ZeroingRound {
            gb_per_cpu_s,
            wall_gb_per_s: 2.0 * gb_per_cpu_s,
        });
        let zeroing = Zeroing {
            rounds: rounds.collect(),
            ..Zeroing::default()
        };
        let mut row = ZeroRow::default();
        zeroing.put(&mut row);
        row
    }

    #[test]
    fn what_was_zeroed_per_second_follows_from_rounds() {
        let cell = ZeroRow::cell(&[&zeroed(&[5.0, 7.0, 6.0, 9.0, 8.0, 10.0])]);
        let per_cpu_s = cell.known[&GB_PER_CPU_S];
        assert_eq!((per_cpu_s.value, per_cpu_s.rounds), (7.5, 6));
        let ends = cell.known[&WALL_GB_PER_S].interval.unwrap();
        assert_eq!((ends.low, ends.high), (10.0, 20.0));
        let few = ZeroRow::cell(&[&zeroed(&[5.0, 7.0])]);
        assert_eq!(few.known[&GB_PER_CPU_S], Estimate::bare(6.0));
    }

    #[test]
    fn rows_of_one_setting_are_rounds_of_one_and_of_no_rounds_only_the_median_is_known() {
        let parts = [zeroed(&[5.0, 7.0, 6.0]), zeroed(&[9.0, 8.0, 10.0])];
        let together = ZeroRow::cell(&parts.each_ref());
        let together = together.known[&GB_PER_CPU_S];
        assert_eq!((together.value, together.rounds), (7.5, 6));

        let mut zeroing = Zeroing::default();
        zeroing.gb_per_cpu_s.median = 4.0;
        let mut row = ZeroRow::default();
        zeroing.put(&mut row);
        let cell = ZeroRow::cell(&[&row]);
        assert_eq!(cell.known[&GB_PER_CPU_S], Estimate::bare(4.0));
        assert_eq!(cell.missing[&WALL_GB_PER_S], Missing::NotMeasured);
        assert!(ZeroRow::cell(&[&ZeroRow::default()]).known.is_empty());
    }

    #[test]
    fn memory_is_hot_or_cold_however_much_of_it_a_machine_needs_for_that() {
        let pool = |experiment: &str, params: &[(&str, Value)]| {
            let params = params.iter();
            let row = ZeroRow {
                experiment: experiment.to_owned(),
                params: params.map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
                ..ZeroRow::default()
            };
            row.params()
        };
        let hot = [("memory", "hot".into()), ("threads", 2.into())];
        let mut sized = hot.to_vec();
        sized.push(("bytes", 1_048_576.into()));
        assert_eq!(pool("zero-pool", &sized), pool("zero-pool", &hot));
        assert_ne!(pool("zero-probe", &sized), pool("zero-probe", &hot));
        assert_ne!(pool("zero-pool", &sized[1..]), pool("zero-pool", &hot[1..]));
    }
}
