//! The experiments: each with its parameters, and its findings besides the lateness and cost of
//! its waits.

mod clocks;
mod doctor;
mod lengths;
mod scenario;
mod waits;
mod watch;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::logged::{Logged, LoggedKind};
use crate::traced::Traced;

pub use clocks::{Arming, Clocks, Timers};
pub use doctor::{Doctor, WakeCost};
pub use lengths::{Lengths, Range, Tail};
pub use scenario::{
    BeganBefore, IdleState, IdleStretch, Phase, Reading, ScenarioComputer, ScenarioThreads,
};
pub use waits::{
    Cores, Crowd, Deadlines, Decades, Frames, Gap, IntervalLength, Learning, Load, Naps, Pace,
    RegimeBatch, Regimes, Robustness, Sleep, Yield,
};
pub use watch::{Cause, Hiccup, RanMeanwhile, Watch};

/// A default that was never measured: nothing of any clock.
impl Default for Experiment {
    fn default() -> Self {
        Self::Clocks(Clocks::default())
    }
}

impl Experiment {
    /// Equal for subjects that were measured under the same conditions. Each may have a warm-up
    /// of its own.
    pub fn cell(&self) -> (&'static str, BTreeMap<String, Value>) {
        let mut params = self.params();
        params.remove(WARM_UP);
        (self.name(), params)
    }

    /// The machine, where it is one of several that a scenario ran on.
    pub fn on(&self) -> Option<&str> {
        self.phase().map(|at| at.on.as_str())
    }

    /// Whether this log is of the same thing as that watch: both have the lateness of deadlines at a
    /// rate. A log that does not say its rate is beside a watch of any.
    pub fn is_log_like(&self, watch: &Self) -> bool {
        match (self, watch) {
            (Self::Log(log), Self::Watch(watch)) => {
                let is_at = |period_ns| period_ns == watch.period_ns;
                log.of == LoggedKind::Deadlines && !log.is_part && log.period_ns.is_none_or(is_at)
            }
            _ => false,
        }
    }

    /// Where in a scenario it was measured.
    pub fn phase(&self) -> Option<&Phase> {
        match self {
            Self::Scenario(of) => Some(&of.at),
            Self::ScenarioComputer(of) => Some(&of.at),
            _ => None,
        }
    }

    /// The time from one deadline to the next, of waits at a rate.
    pub const fn period_ns(&self) -> Option<u64> {
        match self {
            Self::Pace(of) => Some(of.period_ns),
            Self::Interval(of) => Some(of.period_ns),
            _ => None,
        }
    }

    /// Puts in the times from one wake to the next, where they are of interest.
    pub const fn frames_mut(&mut self) -> Option<&mut Option<Frames>> {
        match self {
            Self::Pace(of) => Some(&mut of.frames),
            Self::Interval(of) => Some(&mut of.frames),
            _ => None,
        }
    }
}

/// The parameter that is how long a fresh waiter warms up.
const WARM_UP: &str = "warm_up_waits";

/// The parameters of an experiment, by their names.
pub(crate) trait Parameters: Serialize {
    /// The parameters that make a difference between two measurements of a subject: all fields,
    /// unless the type says otherwise.
    ///
    /// Findings are no parameters. A round and a model are none either, as rounds are pooled and
    /// models are set side by side.
    fn params(&self) -> Value {
        json!(self)
    }
}

/// One experiment of the enum.
pub trait OfExperiment: Sized {
    /// The experiment of a measurement; `None` if it is of another kind.
    fn of(measurement: &impl AsRef<Experiment>) -> Option<&Self>;
}

/// An experiment with waits of one length.
pub trait OfLength: OfExperiment {
    /// The length asked for.
    fn asked_ns(&self) -> u64;
}

/// The enum, the names of its variants, and where in it each kind of experiment is, so that each
/// experiment is one row. An experiment with many findings is `in Box`.
macro_rules! experiments {
    ($($(#[$doc:meta])* $name:literal: $variant:ident($kind:ident $(in $pointer:ident)?),)*) => {
        /// One experiment each. Files name them by the tag `experiment`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "experiment", rename_all = "kebab-case")]
        pub enum Experiment {
            $($(#[$doc])* $variant(held!($kind $($pointer)?)),)*
        }

        impl Experiment {
            /// Its name, as files have it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// The parameters that make a difference between two measurements of a subject.
            pub fn params(&self) -> BTreeMap<String, Value> {
                let params = match self {
                    $(Self::$variant(of) => of.params(),)*
                };
                match params {
                    Value::Object(params) => params.into_iter().collect(),
                    _ => BTreeMap::new(),
                }
            }
        }

        $(
            impl OfExperiment for $kind {
                fn of(measurement: &impl AsRef<Experiment>) -> Option<&Self> {
                    match measurement.as_ref() {
                        Experiment::$variant(of) => Some(of),
                        _ => None,
                    }
                }
            }
        )*
    };
}

/// The contents of a variant.
macro_rules! held {
    ($kind:ident) => {
        $kind
    };
    ($kind:ident $pointer:ident) => {
        $pointer<$kind>
    };
}

experiments! {
    /// Waits at a rate.
    "pace": Pace(Pace),
    /// Requests of every length.
    "decades": Decades(Decades),
    /// CPU time by the length of the interval.
    "interval": Interval(IntervalLength),
    /// Naps by OS call and length.
    "naps": Naps(Naps),
    /// Relative error by the request and the scheduler's period.
    "robustness": Robustness(Robustness),
    /// `adaptive` beside the best of the others, by regime and condition.
    "regimes": Regimes(Regimes),
    /// Steps of clocks and what reading them takes.
    "clocks": Clocks(Clocks),
    /// The lengths of short sleeps, and the ticks behind them.
    "timers": Timers(Timers),
    /// Waits with each call of the OS.
    "sleep": Sleep(Sleep),
    /// Yields alone and beside a competitor.
    "yield": Yield(Yield),
    /// Waits on a loaded computer.
    "load": Load(Load),
    /// Waits on each CPU.
    "cores": Cores(Cores),
    /// Waking up by the time asleep.
    "gap": Gap(Gap),
    /// The threads of a scenario in one phase.
    "scenario": Scenario(ScenarioThreads in Box),
    /// The computer under them in one phase.
    "scenario-computer": ScenarioComputer(ScenarioComputer in Box),
    /// How late a host's timers were while it was watched.
    "watch": Watch(Watch in Box),
    /// Waits beside what the timer rule in force predicts.
    "doctor": Doctor(Doctor),
    /// Waits or frames that another program logged.
    "log": Log(Logged in Box),
    /// Waits of another program, by thread, call and length.
    "trace": Trace(Traced in Box),
}

macro_rules! of_length {
    ($($name:ident,)*) => {
        $(
            impl OfLength for $name {
                fn asked_ns(&self) -> u64 {
                    self.asked_ns
                }
            }
        )*
    };
}

of_length! { Decades, Naps, Robustness, Timers, Sleep, Load, Cores, Gap, Doctor, }
