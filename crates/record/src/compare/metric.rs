//! What is compared of a measurement.

use serde::Serialize;

/// One number of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Metric {
    /// The median lateness.
    #[serde(rename = "late_p50_ns")]
    LateP50,
    /// The lateness that 90 % do not exceed.
    #[serde(rename = "late_p90_ns")]
    LateP90,
    /// The lateness that 99 % do not exceed.
    #[serde(rename = "late_p99_ns")]
    LateP99,
    /// The greatest lateness.
    #[serde(rename = "late_max_ns")]
    LateMax,
    /// The mean lateness, not capped.
    #[serde(rename = "late_mean_ns")]
    LateMean,
    /// The CPU time billed to the waiting thread, as a share of the time.
    #[serde(rename = "cpu_fraction")]
    Cpu,
    /// CPU time + lateness per wait, each lateness counted as at most 1 ms.
    #[serde(rename = "cost_w1_ns")]
    CostW1,
    /// CPU time + 10 x lateness.
    #[serde(rename = "cost_w10_ns")]
    CostW10,
    /// CPU time + 100 x lateness.
    #[serde(rename = "cost_w100_ns")]
    CostW100,
    /// The step of a clock: the median of the smallest seen.
    #[serde(rename = "step_p50_ns")]
    Step,
    /// What it takes to read a clock: the median over the batches.
    #[serde(rename = "read_cost_p50_ns")]
    ReadCost,
    /// GB (1e9 bytes) zeroed per second of CPU time.
    #[serde(rename = "gb_per_cpu_s")]
    GbPerCpuS,
    /// GB zeroed per second that passed.
    #[serde(rename = "wall_gb_per_s")]
    WallGbPerS,
}

/// What a metric is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A length of time in nanoseconds.
    Length,
    /// A share of time.
    Share,
    /// GB, of 1e9 bytes, per second.
    Rate,
}

impl Metric {
    /// Every metric, in the order in which they are listed to the user.
    pub const ALL: [Self; 13] = [
        Self::LateP50,
        Self::LateP90,
        Self::LateP99,
        Self::LateMax,
        Self::LateMean,
        Self::Cpu,
        Self::CostW1,
        Self::CostW10,
        Self::CostW100,
        Self::Step,
        Self::ReadCost,
        Self::GbPerCpuS,
        Self::WallGbPerS,
    ];

    /// The name the user types and reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LateP50 => "late_p50",
            Self::LateP90 => "late_p90",
            Self::LateP99 => "late_p99",
            Self::LateMax => "late_max",
            Self::LateMean => "late_mean",
            Self::Cpu => "cpu",
            Self::CostW1 => "cost_w1",
            Self::CostW10 => "cost_w10",
            Self::CostW100 => "cost_w100",
            Self::Step => "step",
            Self::ReadCost => "read_cost",
            Self::GbPerCpuS => "gb_per_cpu_s",
            Self::WallGbPerS => "wall_gb_per_s",
        }
    }

    /// What it is counted in.
    pub const fn quantity(self) -> Quantity {
        match self {
            Self::Cpu => Quantity::Share,
            Self::GbPerCpuS | Self::WallGbPerS => Quantity::Rate,
            _ => Quantity::Length,
        }
    }

    /// Whether more of it is better, as of work that gets done. Of everything
    /// else here, less is.
    pub const fn more_is_better(self) -> bool {
        matches!(self.quantity(), Quantity::Rate)
    }

    /// Whether samples can hold it in an interval. They never do a maximum,
    /// which grows with the time one waits for it, and of a clock only the
    /// median is recorded.
    pub const fn has_intervals(self) -> bool {
        !matches!(self, Self::LateMax | Self::Step | Self::ReadCost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_list_is_that_of_the_type_and_names_differ() {
        assert!(Metric::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> = Metric::ALL.iter().map(|m| m.name()).collect();
        assert_eq!(names.len(), Metric::ALL.len());
    }
}
