//! The results that a source expects of an experiment.

use std::fmt;

use punctual_core::Nanos;
use punctual_program::probe::{OsClock, Probe};

/// One thing to check after a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// The number of the phase; `None` is each one.
    pub phase: Option<usize>,
    /// The model on which it holds; `None` is any.
    pub on: Option<String>,
    /// The name of the threads; `None` for figures of the computer.
    pub of: Option<String>,
    /// The figure.
    pub what: Figure,
    /// The expected value.
    pub target: Target,
    /// The source.
    pub source: String,
    /// The line of the file.
    pub line: usize,
}

/// A figure of one phase. Threads of one name are taken together: the samples
/// of all, and the mean of their rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// How many sleeps and waits of a thread end each second.
    WakesPerS,
    /// A statistic of observed lengths.
    Of(Series, Stat),
    /// The mean of what a thread reads of the OS.
    Reading(Probe),
    /// How many cycles of a pace are over each second before the thread waits for them.
    MissedPerS,
    /// The share of one CPU that a thread takes.
    Cpu,
    /// Timer interrupts and clock ticks of the computer each second.
    InterruptsPerS,
    /// How often each second a CPU of the computer goes from one thread to
    /// another, or between a thread and being idle.
    SwitchesPerS,
    /// How often each second an idle CPU of the computer is woken, or is for a thread.
    WakeupsPerS,
    /// The share of the CPUs' idle time in stretches of 8 ms or more.
    GoodIdle,
    /// The share of the time of all CPUs in which a thread runs.
    Busy,
    /// CPU time and wake-ups of idle CPUs on one scale, of which 100 is a busy CPU.
    EnergyImpact,
    /// The power of all cores, in watts, if the table of idle states has their power in each.
    Power,
}

/// Lengths that are seen of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Of sleeps and waits, from the call to the end.
    Slept,
    /// How long after the time asked for they end.
    Late,
    /// From the signal to the end of the wait, for waits that an event ends.
    Signal,
    /// From the end of one wait or sleep to the end of the next.
    Frame,
}

/// The statistics of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Their mean.
    Mean,
    /// The median, of however few.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The standard deviation.
    Sd,
    /// The shortest.
    Min,
    /// The longest.
    Max,
}

/// Of what a figure can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of a name.
    Threads,
    /// The computer.
    Computer,
    /// Either.
    Both,
}

/// As much of the energy impact as this CPU time is one wake-up of an idle CPU: `kcpu_wakeups` of
/// /usr/share/pmenergy/default.plist, by which the Activity Monitor of macOS reckons, and Chromium
/// (`energy_impact_mac.cc`) after it. It tells no idle state from another; [`Figure::Power`] does.
const WAKEUP: Nanos = Nanos::from_us(200);

/// The energy impact of a `cpu` share and `wakeups_per_s`.
pub(super) fn energy_impact(cpu: f64, wakeups_per_s: f64) -> f64 {
    100.0 * (cpu + wakeups_per_s * WAKEUP.as_secs_f64())
}

const fn reading(probe: Probe) -> (&'static str, Figure) {
    (probe.name(), Figure::Reading(probe))
}

/// The units of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Lengths of time, in nanoseconds.
    Length,
    /// Times a second.
    PerSecond,
    /// A share, from 0 to 1.
    Share,
    /// A number without a unit.
    Number,
}

impl Figure {
    /// All of them with their names in a scenario, those of threads first.
    pub const NAMED: [(&str, Self); 38] = [
        ("wakes_per_s", Self::WakesPerS),
        ("slept_mean", Self::Of(Series::Slept, Stat::Mean)),
        ("slept_p50", Self::Of(Series::Slept, Stat::P50)),
        ("slept_p90", Self::Of(Series::Slept, Stat::P90)),
        ("slept_p99", Self::Of(Series::Slept, Stat::P99)),
        ("slept_p99.9", Self::Of(Series::Slept, Stat::P999)),
        ("slept_sd", Self::Of(Series::Slept, Stat::Sd)),
        ("slept_min", Self::Of(Series::Slept, Stat::Min)),
        ("slept_max", Self::Of(Series::Slept, Stat::Max)),
        ("late_mean", Self::Of(Series::Late, Stat::Mean)),
        ("late_p50", Self::Of(Series::Late, Stat::P50)),
        ("late_p90", Self::Of(Series::Late, Stat::P90)),
        ("late_p99", Self::Of(Series::Late, Stat::P99)),
        ("late_p99.9", Self::Of(Series::Late, Stat::P999)),
        ("late_sd", Self::Of(Series::Late, Stat::Sd)),
        ("late_max", Self::Of(Series::Late, Stat::Max)),
        reading(Probe::Resolution),
        reading(Probe::Slack),
        reading(Probe::Step(OsClock::TimeGetTime)),
        reading(Probe::Step(OsClock::GetTickCount)),
        reading(Probe::Step(OsClock::MonotonicCoarse)),
        ("signal_p50", Self::Of(Series::Signal, Stat::P50)),
        ("signal_p99", Self::Of(Series::Signal, Stat::P99)),
        ("signal_max", Self::Of(Series::Signal, Stat::Max)),
        ("frame_p50", Self::Of(Series::Frame, Stat::P50)),
        ("frame_p90", Self::Of(Series::Frame, Stat::P90)),
        ("frame_p99", Self::Of(Series::Frame, Stat::P99)),
        ("frame_sd", Self::Of(Series::Frame, Stat::Sd)),
        ("frame_max", Self::Of(Series::Frame, Stat::Max)),
        ("missed_per_s", Self::MissedPerS),
        ("cpu", Self::Cpu),
        ("interrupts_per_s", Self::InterruptsPerS),
        ("switches_per_s", Self::SwitchesPerS),
        ("wakeups_per_s", Self::WakeupsPerS),
        ("good_idle", Self::GoodIdle),
        ("busy", Self::Busy),
        ("energy_impact", Self::EnergyImpact),
        ("power_w", Self::Power),
    ];

    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        let named = Self::NAMED.iter().find(|(_, figure)| *figure == self);
        named.map_or("", |(name, _)| name)
    }

    /// Of what it can be.
    pub const fn scope(self) -> Scope {
        match self {
            Self::WakeupsPerS | Self::EnergyImpact => Scope::Both,
            Self::InterruptsPerS
            | Self::SwitchesPerS
            | Self::GoodIdle
            | Self::Busy
            | Self::Power => Scope::Computer,
            _ => Scope::Threads,
        }
    }

    /// Its unit.
    pub const fn unit(self) -> Unit {
        match self {
            Self::MissedPerS
            | Self::WakesPerS
            | Self::InterruptsPerS
            | Self::SwitchesPerS
            | Self::WakeupsPerS => Unit::PerSecond,
            Self::Cpu | Self::GoodIdle | Self::Busy => Unit::Share,
            Self::EnergyImpact | Self::Power => Unit::Number,
            _ => Unit::Length,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How finely a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// To a thousandth of its unit.
    Few,
    /// All of it.
    All,
}

impl Unit {
    /// A value for people: `15.625 ms`, `64`, `0.9`.
    pub fn show(self, value: f64) -> String {
        self.written(value, Digits::Few)
    }

    /// The same, as finely as that.
    pub fn written(self, value: f64, digits: Digits) -> String {
        if digits == Digits::All {
            return match self {
                Self::Length => format!("{value} ns"),
                _ => value.to_string(),
            };
        }
        match self {
            // Figures of lateness can be below zero.
            Self::Length if value < 0.0 => format!("-{}", Nanos::new(-value as u64)),
            Self::Length => Nanos::new(value as u64).to_string(),
            Self::PerSecond | Self::Share | Self::Number => {
                let text = format!("{value:.3}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }
}

/// The expected value of a figure, with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// This, or less than `within` away from it.
    Near {
        /// The expected value.
        value: f64,
        /// How far from it, either way.
        within: f64,
    },
    /// Between two values.
    Between {
        /// The lower one.
        from: f64,
        /// The upper one.
        to: f64,
    },
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
}

impl Target {
    /// Whether a value is as it should be; what is not a number never is.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Near { value: is, within } => (is - within..=is + within).contains(&value),
            Self::Between { from, to } => (from..=to).contains(&value),
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }

    /// The target times `by`.
    pub(super) fn times(self, by: f64) -> Self {
        match self {
            Self::Near { value, within } => Self::Near {
                value: value * by,
                within: within * by,
            },
            Self::Between { from, to } => Self::Between {
                from: from * by,
                to: to * by,
            },
            Self::AtLeast(least) => Self::AtLeast(least * by),
            Self::AtMost(most) => Self::AtMost(most * by),
        }
    }

    /// As finely as it takes to tell `got` from it, which is not as it should be.
    pub fn digits_beside(self, got: f64, unit: Unit) -> Digits {
        let ends = match self {
            Self::Near { value, within } => [value - within, value + within],
            Self::Between { from, to } => [from, to],
            Self::AtLeast(end) | Self::AtMost(end) => [end, end],
        };
        match !self.holds(got) && ends.map(|end| unit.show(end)).contains(&unit.show(got)) {
            true => Digits::All,
            false => Digits::Few,
        }
    }

    /// In words, as finely as that: `500 +- 5`, `1.494 ms to 1.496 ms`, `at least 1 ms`.
    pub fn written(self, unit: Unit, digits: Digits) -> String {
        let show = |value| unit.written(value, digits);
        match self {
            Self::Near { value, within } => format!("{} +- {}", show(value), show(within)),
            Self::Between { from, to } => format!("{} to {}", show(from), show(to)),
            Self::AtLeast(least) => format!("at least {}", show(least)),
            Self::AtMost(most) => format!("at most {}", show(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_belong_to_the_target() {
        let near = Target::Near {
            value: 500.0,
            within: 5.0,
        };
        let between = Target::Between { from: 1.0, to: 2.0 };
        for (target, good, bad) in [
            (near, [495.0, 505.0], [494.9, 505.1]),
            (between, [1.0, 2.0], [0.9, 2.1]),
            (Target::AtLeast(3.0), [3.0, f64::MAX], [2.9, -3.0]),
            (Target::AtMost(3.0), [3.0, -9.0], [3.1, f64::MAX]),
        ] {
            assert!(good.iter().all(|value| target.holds(*value)), "{target:?}");
            assert!(!bad.iter().any(|value| target.holds(*value)), "{target:?}");
            assert!(!target.holds(f64::NAN), "{target:?}");
        }
    }

    #[test]
    fn targets_and_values_are_shown_in_their_unit() {
        let near = Target::Near {
            value: 15_625_000.0,
            within: 156_250.0,
        };
        assert_eq!(
            near.written(Unit::Length, Digits::Few),
            "15.625 ms +- 156.25 us"
        );
        let between = Target::Between {
            from: 62.5,
            to: 64.0,
        };
        assert_eq!(between.written(Unit::PerSecond, Digits::Few), "62.5 to 64");
        assert_eq!(
            Target::AtLeast(0.9).written(Unit::Share, Digits::Few),
            "at least 0.9"
        );
        assert_eq!(Unit::Length.show(-1_500.0), "-1.5 us");
    }

    #[test]
    fn what_differs_looks_different() {
        let exact = Target::Near {
            value: 1_058_400.0,
            within: 0.0,
        };
        let digits = exact.digits_beside(1_058_387.0, Unit::Length);
        assert_eq!(exact.written(Unit::Length, digits), "1058400 ns +- 0 ns");
        assert_eq!(Unit::Length.written(1_058_387.0, digits), "1058387 ns");
        assert_eq!(exact.digits_beside(1_058_400.0, Unit::Length), Digits::Few);
        assert_eq!(exact.digits_beside(2e6, Unit::Length), Digits::Few);
        let most = Target::AtMost(0.5);
        assert_eq!(most.digits_beside(0.500_01, Unit::Share), Digits::All);
    }

    #[test]
    fn each_figure_has_a_name_of_its_own() {
        for (name, figure) in Figure::NAMED {
            assert_eq!(figure.name(), name);
        }
        let names: std::collections::BTreeSet<_> = Figure::NAMED.map(|(name, _)| name).into();
        assert_eq!(names.len(), Figure::NAMED.len());
    }
}
