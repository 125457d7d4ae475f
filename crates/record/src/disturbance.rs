//! What else happened to a computer while something was measured on it.

use punctual_core::Nanos;
use serde::{Deserialize, Serialize};

/// Who else had the CPUs that were measured on, and what stopped the measurement, from
/// the beginning of the first batch to the end of the last. What the system does not
/// tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbance {
    /// How long was looked at.
    pub elapsed_ns: u64,
    /// The CPUs that were measured on.
    pub cpus: Vec<usize>,
    /// The share of the time of these CPUs that other processes had, by the CPU that
    /// each of their threads was on last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_fraction: Option<f64>,
    /// The share that was used and that no process seen here had: by interrupts, on the
    /// way out of idle states, in other containers, by who had ended before the end of a
    /// batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen_fraction: Option<f64>,
    /// Other processes with a share of 1 % or more, most first, at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<OtherProcess>,
    /// What the hypervisor had of these CPUs while there was work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// Why the counter of stolen time is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_doubt: Option<StealDoubt>,
    /// The quota of CPU time of this process' control groups that leaves the least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<CpuQuota>,
    /// How the quota stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// The counter of throttled time fell, so that it is not used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub throttled_fell: bool,
    /// Waits that are left out, because this process was stopped in them.
    #[serde(default, skip_serializing_if = "OwnStops::is_empty")]
    pub own_stops: OwnStops,
    /// How long the computer was suspended meanwhile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspended_ns: u64,
    /// By how much the time of day was set meanwhile, the first hundred times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_steps: Vec<ClockStep>,
}

/// The time of day was set forward or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStep {
    /// When that was noticed, counted from the first look at the clocks.
    pub at_ns: u64,
    /// By how much; negative is back.
    pub by_ns: i64,
}

/// What no counter of stolen time can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StealDoubt {
    /// It fell.
    Fell,
    /// It grew by more than the time of the CPUs: by so many nanoseconds.
    BeyondTime(u64),
}

/// Another process that had a CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherProcess {
    /// Its name.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// Its share of the time of the CPUs that were measured on.
    pub fraction: f64,
}

/// So much CPU time in each period, and no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuQuota {
    /// The CPU time, of all CPUs together.
    pub time_ns: u64,
    /// The period.
    pub period_ns: u64,
}

impl CpuQuota {
    /// So much in each period.
    pub const fn new(time: Nanos, period: Nanos) -> Self {
        Self {
            time_ns: time.as_ns(),
            period_ns: period.as_ns(),
        }
    }

    /// How many CPUs that keeps busy.
    pub fn cpus(&self) -> f64 {
        self.time_ns as f64 / self.period_ns as f64
    }
}

/// What a quota did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttled {
    /// Periods in which it stopped the process.
    pub periods: u64,
    /// For how long, summed over CPUs.
    pub time_ns: u64,
}

/// Waits during which the process itself was stopped, as by Ctrl-Z: they say nothing of
/// the system, and are in no other figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnStops {
    /// How many.
    pub waits: u64,
    /// How late they ended, together: about as long as the stops.
    pub late_ns: u64,
    /// Cycles that passed meanwhile.
    pub missed: u64,
}

impl OwnStops {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Disturbance {
    /// Others are to be known from this share on. Less is what every system does
    /// beside.
    const NOTABLE: f64 = 0.05;

    /// Nobody can tell what is due to the system and what to others from this share on:
    /// every fourth wake-up meets a busy CPU.
    const TOO_BUSY: f64 = 0.25;

    /// The interrupts and idle exits of waits at 1 kHz come to less than this.
    const UNSEEN: f64 = 0.15;

    /// The share of the CPUs' time that a hypervisor gave to others.
    pub fn stolen_fraction(&self) -> Option<f64> {
        let time = self.elapsed_ns as f64 * self.cpus.len() as f64;
        let stolen = self.stolen_ns? as f64;
        (time > 0.0).then_some((stolen / time).min(1.0))
    }

    /// Whether other processes had a share that a reader has to know.
    pub fn is_notable(&self) -> bool {
        self.others() >= Self::NOTABLE
    }

    /// The share of something that is not seen, if it is more than waiting itself
    /// takes.
    pub fn unseen(&self) -> Option<f64> {
        self.unseen_fraction.filter(|share| *share >= Self::UNSEEN)
    }

    /// Whether others had so much of the CPUs, or a quota took so much, that what was
    /// measured tells of them rather than of the system.
    pub fn is_too_busy(&self) -> bool {
        self.busy_fraction() >= Self::TOO_BUSY || self.is_throttled()
    }

    /// The share that others had, seen or not, as far as it is more than waiting itself
    /// takes.
    pub fn busy_fraction(&self) -> f64 {
        (self.others() + self.unseen().unwrap_or(0.0)).min(1.0)
    }

    /// Whether a quota stopped the process for a notable share of the time.
    pub fn is_throttled(&self) -> bool {
        let throttled = self.throttled.unwrap_or_default();
        throttled.time_ns as f64 >= Self::NOTABLE * self.elapsed_ns.max(1) as f64
    }

    fn others(&self) -> f64 {
        self.others_fraction.unwrap_or(0.0)
    }
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_much_of_the_cpus_is_notable_and_more_is_too_much() {
        let of = |others: f64, unseen: f64, throttled_ms: u64| {
            let disturbance = Disturbance {
                elapsed_ns: 1_000_000_000,
                others_fraction: Some(others),
                unseen_fraction: Some(unseen),
                throttled: Some(Throttled {
                    periods: 1,
                    time_ns: throttled_ms * 1_000_000,
                }),
                ..Disturbance::default()
            };
            (disturbance.is_notable(), disturbance.is_too_busy())
        };
        assert_eq!(of(0.04, 0.1, 0), (false, false));
        assert_eq!(of(0.06, 0.14, 0), (true, false));
        assert_eq!(of(0.11, 0.15, 0), (true, true));
        assert_eq!(of(0.99, 0.0, 0), (true, true));
        assert_eq!(of(0.0, 0.0, 49), (false, false));
        assert_eq!(of(0.0, 0.0, 50), (false, true));
    }

    #[test]
    fn what_is_not_told_is_not_written() {
        let text = serde_json::to_string(&Disturbance::default()).unwrap();
        assert_eq!(text, r#"{"elapsed_ns":0,"cpus":[]}"#);
        assert_eq!(
            serde_json::from_str::<Disturbance>(&text).unwrap(),
            Disturbance::default()
        );
    }
}
