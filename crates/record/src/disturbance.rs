//! Other activity of a computer during a measurement.

use punctual_core::Nanos;
use serde::{Deserialize, Serialize};

/// Other users of the measured CPUs, and interruptions of the measurement, from the start of the
/// first batch to the end of the last. `None` where the system does not tell.
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
    /// The share that no visible process used: interrupts, exits from idle states, other
    /// containers, and processes that ended before the end of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen_fraction: Option<f64>,
    /// Other processes with a share of 1 % or more, most first, at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<OtherProcess>,
    /// The time the hypervisor took from these CPUs while there was work.
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
    /// Of the other CPUs that this process may use, the one that was idle most, if it was idle for
    /// longer than the measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quieter_cpu: Option<usize>,
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
    /// By how much; negative is back. Less than [`LEAST_NS`](Self::LEAST_NS) where only the
    /// system told of it: by so little, or forward and back between two looks.
    pub by_ns: i64,
}

impl ClockStep {
    /// Two looks at the clocks show steps from here on: a thread may be interrupted between two
    /// readings, and clocks differ in their resolution.
    pub const LEAST_NS: u64 = 10_000_000;
}

/// The part that no counter of stolen time can show.
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

/// A limit of CPU time in each period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuQuota {
    /// The CPU time, of all CPUs together.
    pub time_ns: u64,
    /// The period.
    pub period_ns: u64,
}

impl CpuQuota {
    /// A quota of `time` in each `period`.
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

    /// Whether it can stop a process that may use so many CPUs: one that leaves it all of their
    /// time never does. Where their number is not known, it may.
    pub fn can_bind(&self, cpus: Option<usize>) -> bool {
        cpus.is_none_or(|cpus| self.cpus() < cpus as f64)
    }
}

/// The effects of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttled {
    /// Periods in which it stopped the process.
    pub periods: u64,
    /// For how long, summed over CPUs.
    pub time_ns: u64,
    /// Periods that the kernel counted, whether it stopped the process in them or not. A kernel
    /// that shows a quota and enforces none counts none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods_counted: Option<u64>,
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
    /// Others are to be known from this share on, as is a hypervisor, and a quota from this share
    /// of its periods on. Less is what every system does beside.
    const NOTABLE: f64 = 0.05;

    /// From this share on, the parts of the system and of others cannot be told apart: every
    /// fourth wake-up meets a busy CPU.
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

    /// Whether others, a hypervisor or a quota took so much of the CPUs that the measurements
    /// describe them rather than the system.
    pub fn is_too_busy(&self) -> bool {
        self.busy_fraction() >= Self::TOO_BUSY || self.is_throttled()
    }

    /// The share that others had, seen or not, as far as it is more than waiting itself
    /// takes, and that a hypervisor had.
    pub fn busy_fraction(&self) -> f64 {
        let stolen = self.notably_stolen().unwrap_or(0.0);
        (self.others() + self.unseen().unwrap_or(0.0) + stolen).min(1.0)
    }

    /// The share that a hypervisor had, if a reader has to know it.
    pub fn notably_stolen(&self) -> Option<f64> {
        self.stolen_fraction()
            .filter(|share| *share >= Self::NOTABLE)
    }

    /// Whether a quota throttled the process for a notable share of the time, or in a notable
    /// share of its periods. A wait of a few periods meets such a stop.
    pub fn is_throttled(&self) -> bool {
        let throttled = self.throttled.unwrap_or_default();
        let notable = Self::NOTABLE * self.elapsed_ns.max(1) as f64;
        let period_ns = self.quota.map_or(0, |quota| quota.period_ns);
        throttled.time_ns as f64 >= notable
            || throttled.periods as f64 * period_ns as f64 >= notable
    }

    /// Whether the kernel shows a quota and counted none of its periods, though two or more have
    /// passed: apparently nothing enforces it.
    pub fn is_quota_a_stub(&self) -> bool {
        let counted = self.throttled.and_then(|it| it.periods_counted);
        let passed = |quota: CpuQuota| self.elapsed_ns / 2 >= quota.period_ns;
        counted == Some(0) && self.quota.is_some_and(passed)
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
                    periods_counted: None,
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

    /// A second on one CPU with 20 ms in each 100, looked at for so long.
    fn limited(periods: u64, counted: Option<u64>, elapsed_ms: u64) -> Disturbance {
        Disturbance {
            elapsed_ns: elapsed_ms * 1_000_000,
            quota: Some(CpuQuota {
                time_ns: 20_000_000,
                period_ns: 100_000_000,
            }),
            throttled: Some(Throttled {
                periods,
                time_ns: periods * 100_000,
                periods_counted: counted,
            }),
            ..Disturbance::default()
        }
    }

    /// 158 stops of a third of a millisecond are less than a hundredth of the time.
    #[test]
    fn a_quota_that_stops_the_process_often_is_too_much_however_short_each_stop_is() {
        assert!(limited(158, Some(160), 16_000).is_too_busy());
        assert!(!limited(7, Some(160), 16_000).is_too_busy());
    }

    #[test]
    fn a_quota_of_which_no_period_is_counted_is_a_stub() {
        for (counted, elapsed_ms, is_stub) in [
            (Some(0), 1_000, true),
            (Some(10), 1_000, false),
            (None, 1_000, false),
            (Some(0), 150, false),
        ] {
            let seen = limited(0, counted, elapsed_ms);
            assert_eq!(seen.is_quota_a_stub(), is_stub, "{counted:?} {elapsed_ms}");
        }
        assert!(!Disturbance::default().is_quota_a_stub());
    }

    #[test]
    fn a_quota_of_all_that_may_be_used_cannot_bind() {
        let cpus = |cpus: u64| CpuQuota {
            time_ns: cpus * 100_000_000,
            period_ns: 100_000_000,
        };
        for (quota, usable, binds) in [
            (cpus(1), Some(2), true),
            (cpus(1), None, true),
            (cpus(1), Some(1), false),
            (cpus(2), Some(2), false),
            (cpus(128), Some(2), false),
        ] {
            assert_eq!(quota.can_bind(usable), binds, "{quota:?} {usable:?}");
        }
    }

    #[test]
    fn what_a_hypervisor_has_counts_from_a_twentieth_on() {
        let stolen = |ms: u64| Disturbance {
            elapsed_ns: 1_000_000_000,
            cpus: vec![1],
            stolen_ns: Some(ms * 1_000_000),
            ..Disturbance::default()
        };
        assert_eq!(stolen(16).notably_stolen(), None);
        assert_eq!(stolen(60).notably_stolen(), Some(0.06));
        assert!(!stolen(240).is_too_busy() && stolen(260).is_too_busy());
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
