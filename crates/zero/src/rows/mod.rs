//! The rows of a Run of page zeroing.

mod pools;
mod probe;

use std::collections::BTreeMap;

use punctual_record::compare::{Cell, Estimate, Metric, Missing, Quantity};
use punctual_record::{Interval, RunRow, Value};
use serde::{Deserialize, Serialize};

pub(crate) use pools::without_waiting;
pub use pools::{
    Arrivals, PoolOf, RatedPool, Simulated, Spread, ZeroAdvice, ZeroBounds, ZeroHold, ZeroPick,
    ZeroPool, ZeroRates, ZeroedPages, Zeroing, ZeroingRound,
};
pub(crate) use probe::over_rounds;
pub use probe::{Account, PAGE_BYTES, PageCost, Paid, Payments, Spent};
pub use punctual_zero_sim::CpuSplit;

const POOL: &str = "zero-pool";

/// The experiment of fresh memory, and who pays for it.
const PROBE: &str = "zero-probe";

/// The JSON Schema of a Run file of page zeroing, as the types have it.
#[cfg(feature = "schema")]
pub fn schema() -> Value {
    schemars::schema_for!(punctual_record::Run<ZeroRow>).to_value()
}

/// GB (1e9 bytes) zeroed per second of CPU time.
pub const GB_PER_CPU_S: Metric =
    Metric::new(0, "gb_per_cpu_s", "gb_per_cpu_s", Quantity::Rate).of_work();
/// GB zeroed per second that passed.
pub const WALL_GB_PER_S: Metric =
    Metric::new(1, "wall_gb_per_s", "wall_gb_per_s", Quantity::Rate).of_work();

/// The result of one subject in one experiment with memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroRow {
    /// The lock of a pool, or the step that was measured.
    pub subject: String,
    /// The experiment, with its result.
    #[serde(flatten)]
    pub experiment: ZeroExperiment,
}

/// One experiment each. Files name them by the tag `experiment`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "experiment", rename_all = "kebab-case")]
pub enum ZeroExperiment {
    /// Workers that zero pages, here or on a simulated computer.
    ZeroPool(Box<ZeroedPages>),
    /// The cost of fresh memory in the system.
    ZeroProbe(Box<ZeroProbe>),
}

/// The parts of the probe of fresh memory. Files name them by the tag `part`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "part", rename_all = "kebab-case")]
pub enum ZeroProbe {
    /// The first touch of memory, before all else.
    WarmUp(MemoryCost),
    /// A step with pages.
    Pages(PageStep),
    /// A block of memory.
    Blocks(MemoryCost),
    /// Processes that map, fill and unmap a page, over and over.
    Processes(ProcessesAccount),
    /// The accounts that are charged while this program does something, or nothing.
    Payers(PayersAccount),
}

/// The cost of some memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryCost {
    /// How much of it there was.
    pub bytes: u64,
    /// The cost.
    pub page_cost: PageCost,
}

/// The cost of a step with pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageStep {
    /// How many bytes all of them have.
    pub bytes: u64,
    /// Whether huge ones were asked for; of a step to compare with there is no such
    /// question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<HugePages>,
    /// In which order they were touched, where they were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// How they were zeroed in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// How many bytes of them in one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once_bytes: Option<u64>,
    /// The cost.
    pub page_cost: PageCost,
}

/// Whether huge pages were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HugePages {
    /// No: pages are ordinary ones.
    Off,
    /// Yes, so that they are huge where the system has such.
    On,
}

/// The result of processes that map, fill and unmap a block, over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessesAccount {
    /// The size of the block.
    pub bytes: u64,
    /// How many processes.
    pub processes: u64,
    /// How often each did it.
    pub iterations: u64,
    /// The accounts that were charged.
    pub account: Account,
}

/// The accounts that were charged while this program did something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PayersAccount {
    /// The size of the blocks that it fills.
    pub block_bytes: u64,
    /// The accounts that were charged.
    pub account: Account,
}

impl ZeroRow {
    /// A pool under this lock.
    pub fn pool(lock: impl ToString, pool: ZeroedPages) -> Self {
        Self {
            subject: lock.to_string(),
            experiment: ZeroExperiment::ZeroPool(Box::new(pool)),
        }
    }

    /// A subject of the probe.
    pub fn probe(subject: &str, probe: ZeroProbe) -> Self {
        Self {
            subject: subject.to_owned(),
            experiment: ZeroExperiment::ZeroProbe(Box::new(probe)),
        }
    }

    /// Its pool, if it is of one.
    pub fn zeroed(&self) -> Option<&ZeroedPages> {
        match &self.experiment {
            ZeroExperiment::ZeroPool(pool) => Some(pool),
            ZeroExperiment::ZeroProbe(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn zeroed_mut(&mut self) -> Option<&mut ZeroedPages> {
        match &mut self.experiment {
            ZeroExperiment::ZeroPool(pool) => Some(pool),
            ZeroExperiment::ZeroProbe(_) => None,
        }
    }

    /// The result of its pool, if it is a pool.
    pub fn zeroing(&self) -> Option<&Zeroing> {
        Some(&self.zeroed()?.zero)
    }

    /// Its part of the probe, if it is of one.
    pub fn part(&self) -> Option<&ZeroProbe> {
        match &self.experiment {
            ZeroExperiment::ZeroPool(_) => None,
            ZeroExperiment::ZeroProbe(probe) => Some(probe),
        }
    }

    /// Its step with pages, if it is of one.
    pub fn page_step(&self) -> Option<&PageStep> {
        match self.part()? {
            ZeroProbe::Pages(step) => Some(step),
            _ => None,
        }
    }

    /// The size and cost of the memory.
    pub fn memory_cost(&self) -> Option<(u64, &PageCost)> {
        match self.part()? {
            ZeroProbe::WarmUp(cost) | ZeroProbe::Blocks(cost) => {
                Some((cost.bytes, &cost.page_cost))
            }
            ZeroProbe::Pages(step) => Some((step.bytes, &step.page_cost)),
            ZeroProbe::Processes(_) | ZeroProbe::Payers(_) => None,
        }
    }

    /// The cost of memory.
    pub fn page_cost(&self) -> Option<&PageCost> {
        Some(self.memory_cost()?.1)
    }

    /// The accounts that were charged.
    pub fn account(&self) -> Option<&Account> {
        match self.part()? {
            ZeroProbe::Processes(of) => Some(&of.account),
            ZeroProbe::Payers(of) => Some(&of.account),
            _ => None,
        }
    }
}

/// The parts of a Run of page zeroing besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroFindings {
    /// The advice of `punctual zero advise`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_advice: Option<ZeroAdvice>,
    /// Whether the system was told to use huge pages, and took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_for_huge_pages: Option<bool>,
    /// How long a batch of closed passes goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_length_ns: Option<u64>,
    /// The memory of a pass beyond all caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_bytes: Option<u64>,
    /// The CPU of a probe, if it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
    /// The CPUs of workers, in the order in which they are taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
    /// The memory of a pass in the second cache of a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_bytes: Option<u64>,
    /// How often each of two processes allocates a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// The time a cache line takes from one CPU to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_transfer_ns: Option<u64>,
    /// The most memory that is used at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// The parts of a probe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Whether workers are kept on their CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// How often each setting gets its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// The memory of a pass somewhere in the caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_bytes: Option<u64>,
}

impl RunRow for ZeroRow {
    type Beside = ZeroFindings;

    fn experiment(&self) -> &str {
        match &self.experiment {
            ZeroExperiment::ZeroPool(_) => POOL,
            ZeroExperiment::ZeroProbe(_) => PROBE,
        }
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    /// The bytes of a hot pool follow from the machine's caches, those of a cold one also from the
    /// free memory. They make no difference beside `memory`.
    fn params(&self) -> BTreeMap<String, Value> {
        let params = match &self.experiment {
            ZeroExperiment::ZeroPool(pool) => serde_json::to_value(&pool.pool),
            ZeroExperiment::ZeroProbe(probe) => serde_json::to_value(probe),
        };
        let Ok(Value::Object(mut params)) = params else {
            return BTreeMap::new();
        };
        if self.zeroed().is_some() {
            params.remove("on");
            params.remove("bytes");
        }
        // A measured result is an object.
        params.retain(|_, value| !value.is_object());
        params.into_iter().collect()
    }

    fn on(&self) -> Option<&str> {
        self.zeroed()?.pool.on.as_deref()
    }

    fn cell(rows: &[&Self]) -> Cell {
        let pools: Vec<&ZeroedPages> = rows.iter().filter_map(|row| row.zeroed()).collect();
        let zeroings: Vec<&Zeroing> = pools.iter().map(|pool| &pool.zero).collect();
        let mut cell = Cell {
            cpu_is_approximate: pools.iter().any(|pool| pool.cpu_is_approximate),
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
fn rate(zeroings: &[&Zeroing], of: fn(&ZeroingRound) -> f64) -> Result<Estimate, Missing> {
    let rounds = zeroings.iter().flat_map(|zeroing| rounds(zeroing));
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
        of(Zeroing {
            rounds: rounds.collect(),
            ..Zeroing::default()
        })
    }

    fn of(zero: Zeroing) -> ZeroRow {
        let pool = ZeroedPages {
            zero,
            ..ZeroedPages::default()
        };
        ZeroRow::pool("mcs", pool)
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
        let cell = ZeroRow::cell(&[&of(zeroing)]);
        assert_eq!(cell.known[&GB_PER_CPU_S], Estimate::bare(4.0));
        assert_eq!(cell.missing[&WALL_GB_PER_S], Missing::NotMeasured);
        assert!(ZeroRow::cell(&[]).known.is_empty());
    }

    #[test]
    fn memory_is_hot_or_cold_however_much_of_it_a_machine_needs_for_that() {
        let pool = |bytes, threads| {
            let mut pool = ZeroedPages::default();
            (pool.pool.bytes, pool.pool.threads) = (bytes, threads);
            ZeroRow::pool("tas", pool).params()
        };
        assert_eq!(pool(1 << 20, 2), pool(1 << 21, 2));
        assert_ne!(pool(1 << 20, 2), pool(1 << 20, 4));
        let block = |bytes| {
            let page_cost = PageCost::default();
            let cost = MemoryCost { bytes, page_cost };
            ZeroRow::probe("fresh", ZeroProbe::Blocks(cost)).params()
        };
        assert_eq!(block(1)["part"], "blocks");
        assert_ne!(block(1), block(2));
    }

    #[test]
    fn rows_read_back_as_they_are_written() {
        let bytes = 4096;
        let cost = MemoryCost {
            bytes,
            page_cost: PageCost::default(),
        };
        let account = Account::default();
        let probes = [
            ZeroProbe::WarmUp(cost.clone()),
            ZeroProbe::Pages(PageStep {
                bytes,
                huge_pages: Some(HugePages::On),
                order: Some("forward".to_owned()),
                ..PageStep::default()
            }),
            ZeroProbe::Blocks(cost),
            ZeroProbe::Processes(ProcessesAccount {
                bytes,
                processes: 2,
                iterations: 3,
                account: account.clone(),
            }),
            ZeroProbe::Payers(PayersAccount {
                block_bytes: bytes,
                account,
            }),
        ];
        let mut pool = ZeroedPages::default();
        pool.pool.arrive_gb_per_s = Some(0.1);
        pool.simulated.keeps_up = Some(false);
        let rows = probes.map(|probe| ZeroRow::probe("step", probe));
        for row in rows.into_iter().chain([ZeroRow::pool("mcs", pool)]) {
            let text = serde_json::to_string(&row).unwrap();
            assert_eq!(serde_json::from_str::<ZeroRow>(&text).unwrap(), row);
        }
    }
}
