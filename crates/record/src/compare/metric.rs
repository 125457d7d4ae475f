//! The metrics by which rows are compared.

use serde::{Serialize, Serializer};

/// One number of a row: its name, its unit, and which end of it is better. The metrics of waits
/// are here; every other product has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metric {
    /// Where it stands among those of the same row.
    place: u8,
    /// The name the user types and reads.
    pub name: &'static str,
    key: &'static str,
    /// The quantity it measures.
    pub quantity: Quantity,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Whether rounds can hold it in an interval.
    pub has_intervals: bool,
}

/// The quantity of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// A length of time in nanoseconds.
    Length,
    /// A share of time.
    Share,
    /// A share of the deadlines that fell due.
    Deadlines,
    /// GB, of 1e9 bytes, per second.
    Rate,
}

impl Metric {
    /// A number of which less is better, in its place among those of a row. `name` is
    /// what the user types and reads, `key` what files call it.
    pub const fn new(place: u8, name: &'static str, key: &'static str, quantity: Quantity) -> Self {
        Self {
            place,
            name,
            key,
            quantity,
            more_is_better: false,
            has_intervals: true,
        }
    }

    /// The same, of which more is better, as of work that gets done.
    pub const fn of_work(self) -> Self {
        Self {
            more_is_better: true,
            ..self
        }
    }

    /// The same, which rounds never hold in an interval.
    const fn bare(self) -> Self {
        Self {
            has_intervals: false,
            ..self
        }
    }

    /// The median lateness.
    pub const LATE_P50: Self = Self::new(0, "late_p50", "late_p50_ns", Quantity::Length);
    /// The lateness that 90 % do not exceed.
    pub const LATE_P90: Self = Self::new(1, "late_p90", "late_p90_ns", Quantity::Length);
    /// The lateness that 99 % do not exceed.
    pub const LATE_P99: Self = Self::new(2, "late_p99", "late_p99_ns", Quantity::Length);
    /// The lateness that 99.9 % do not exceed.
    pub const LATE_P999: Self = Self::new(3, "late_p99.9", "late_p999_ns", Quantity::Length);
    /// The greatest lateness. Samples never hold it in an interval: it grows with the
    /// time one waits for it.
    pub const LATE_MAX: Self = Self::new(4, "late_max", "late_max_ns", Quantity::Length).bare();
    /// The mean lateness, not capped.
    pub const LATE_MEAN: Self = Self::new(5, "late_mean", "late_mean_ns", Quantity::Length);
    /// The CPU time billed to the waiting thread, as a share of the time.
    pub const CPU: Self = Self::new(6, "cpu", "cpu_fraction", Quantity::Share);
    /// CPU time + lateness per wait, each lateness counted as at most 1 ms.
    pub const COST_W1: Self = Self::new(7, "cost_w1", "cost_w1_ns", Quantity::Length);
    /// CPU time + 10 x lateness.
    pub const COST_W10: Self = Self::new(8, "cost_w10", "cost_w10_ns", Quantity::Length);
    /// CPU time + 100 x lateness.
    pub const COST_W100: Self = Self::new(9, "cost_w100", "cost_w100_ns", Quantity::Length);
    /// The step of a clock: the median of the smallest seen, which is all that is
    /// recorded.
    pub const STEP: Self = Self::new(10, "step", "step_p50_ns", Quantity::Length).bare();
    /// The cost of reading a clock: the median over the batches, which is all that is recorded.
    pub const READ_COST: Self =
        Self::new(11, "read_cost", "read_cost_p50_ns", Quantity::Length).bare();
    /// The deadlines that had passed before their wait began, as a share of those that fell due.
    pub const MISSED: Self = Self::new(12, "missed", "missed_fraction", Quantity::Deadlines).bare();
    /// The waits that ended later than the threshold of a watch, as a share of the deadlines that
    /// fell due.
    pub const HICCUPS: Self =
        Self::new(13, "hiccups", "hiccup_fraction", Quantity::Deadlines).bare();

    /// The median length of the waits or frames of a log.
    pub const LENGTH_P50: Self =
        Self::new(14, "length_p50", "length_p50_ns", Quantity::Length).bare();
    /// The length that 99 % do not exceed.
    pub const LENGTH_P99: Self =
        Self::new(15, "length_p99", "length_p99_ns", Quantity::Length).bare();
    /// The length that 99.9 % do not exceed.
    pub const LENGTH_P999: Self =
        Self::new(16, "length_p99.9", "length_p999_ns", Quantity::Length).bare();
    /// The greatest length.
    pub const LENGTH_MAX: Self =
        Self::new(17, "length_max", "length_max_ns", Quantity::Length).bare();

    /// The metrics of waits, in the order in which they are listed to the user.
    pub const OF_WAITS: [Self; 18] = [
        Self::LATE_P50,
        Self::LATE_P90,
        Self::LATE_P99,
        Self::LATE_P999,
        Self::LATE_MAX,
        Self::LATE_MEAN,
        Self::CPU,
        Self::COST_W1,
        Self::COST_W10,
        Self::COST_W100,
        Self::STEP,
        Self::READ_COST,
        Self::MISSED,
        Self::HICCUPS,
        Self::LENGTH_P50,
        Self::LENGTH_P99,
        Self::LENGTH_P999,
        Self::LENGTH_MAX,
    ];
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_list_is_that_of_the_type_and_names_differ() {
        assert!(Metric::OF_WAITS.is_sorted());
        let names: std::collections::BTreeSet<_> =
            Metric::OF_WAITS.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), Metric::OF_WAITS.len());
    }
}
