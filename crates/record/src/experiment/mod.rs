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

/// One experiment each. Files name them by the tag `experiment`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "experiment", rename_all = "kebab-case")]
pub enum Experiment {
    /// Waits at a rate.
    Pace(Pace),
    /// Requests of every length.
    Decades(Decades),
    /// CPU time by the length of the interval.
    Interval(IntervalLength),
    /// Naps by OS call and length.
    Naps(Naps),
    /// Relative error by the request and the scheduler's period.
    Robustness(Robustness),
    /// `adaptive` beside the best of the others, by regime and condition.
    Regimes(Regimes),
    /// Steps of clocks and what reading them takes.
    Clocks(Clocks),
    /// The lengths of short sleeps, and the ticks behind them.
    Timers(Timers),
    /// Waits with each call of the OS.
    Sleep(Sleep),
    /// Yields alone and beside a competitor.
    Yield(Yield),
    /// Waits on a loaded computer.
    Load(Load),
    /// Waits on each CPU.
    Cores(Cores),
    /// Waking up by the time asleep.
    Gap(Gap),
    /// The threads of a scenario in one phase.
    Scenario(Box<ScenarioThreads>),
    /// The computer under them in one phase.
    ScenarioComputer(Box<ScenarioComputer>),
    /// How late a host's timers were while it was watched.
    Watch(Box<Watch>),
    /// Waits beside what the timer rule in force predicts.
    Doctor(Doctor),
    /// Waits or frames that another program logged.
    Log(Box<Logged>),
    /// Waits of another program, by thread, call and length.
    Trace(Box<Traced>),
}

/// A default that was never measured: nothing of any clock.
impl Default for Experiment {
    fn default() -> Self {
        Self::Clocks(Clocks::default())
    }
}

impl Experiment {
    /// The parameters that make a difference between two measurements of a subject.
    ///
    /// Some fields tell something of the run instead. The round and the model are
    /// pooled and set side by side; a type of core is a property of the machine; waits
    /// of the warm-up follow from the number of rounds, and learning from the deadlines;
    /// what a watch takes exception to changes no wait, and its CPU is the one of
    /// however many the machine has. (`cores` compares CPUs, so that there it counts.)
    pub fn params(&self) -> BTreeMap<String, Value> {
        let params = match self {
            Self::Pace(of) => {
                let mut params = json!({
                    "period_ns": of.period_ns, "rate_hz": of.rate_hz, "deadlines": of.deadlines,
                    "learning": of.learning,
                });
                // Where a waiter lives as long as the rounds, it warms up once.
                if of.learning == Learning::StartsOver {
                    params[WARM_UP] = json!(of.warm_up_waits);
                }
                if let Some(Crowd { threads, same }) = of.crowd {
                    params["threads"] = json!(threads);
                    params["instants"] = json!(if same { "same" } else { "spread" });
                }
                params
            }
            Self::Decades(Decades { asked_ns }) | Self::Doctor(Doctor { asked_ns, .. }) => {
                json!({ "asked_ns": asked_ns })
            }
            Self::Interval(of) => json!({ "period_ns": of.period_ns }),
            Self::Naps(Naps { method, asked_ns })
            | Self::Sleep(Sleep { method, asked_ns })
            | Self::Gap(Gap { method, asked_ns }) => {
                json!({ "method": method, "asked_ns": asked_ns })
            }
            Self::Robustness(of) => json!({
                "asked_ns": of.asked_ns, "scheduler_period_ns": of.scheduler_period_ns,
            }),
            Self::Regimes(of) => json!(of),
            Self::Clocks(_) => json!({}),
            Self::Timers(of) => json!({ "asked_ns": of.asked_ns, "arming": of.arming }),
            Self::Yield(of) => json!(of),
            Self::Load(of) => json!(of),
            Self::Cores(of) => json!({ "cpu": of.on_cpu, "asked_ns": of.asked_ns }),
            Self::Scenario(of) => of.at.params(),
            Self::ScenarioComputer(of) => of.at.params(),
            Self::Watch(of) => json!({ "period_ns": of.period_ns }),
            Self::Log(of) => match of.period_ns {
                Some(period_ns) => json!({ "of": of.of, "period_ns": period_ns }),
                None => json!({ "of": of.of }),
            },
            Self::Trace(of) => json!({ "call": of.call, "timeout": of.timeout }),
        };
        match params {
            Value::Object(params) => params.into_iter().collect(),
            _ => BTreeMap::new(),
        }
    }

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

impl Phase {
    fn params(&self) -> Value {
        json!({ "scenario": self.scenario, "phase": self.phase, "phase_index": self.phase_index })
    }
}

/// The parameter that is how long a fresh waiter warms up.
const WARM_UP: &str = "warm_up_waits";

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

macro_rules! of_experiment {
    ($($file_name:literal: $variant:ident($name:ident),)*) => {
        impl Experiment {
            /// Its name, as files have it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $file_name,)*
                }
            }
        }
        $(
            impl OfExperiment for $name {
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

of_experiment! {
    "pace": Pace(Pace),
    "decades": Decades(Decades),
    "interval": Interval(IntervalLength),
    "naps": Naps(Naps),
    "robustness": Robustness(Robustness),
    "regimes": Regimes(Regimes),
    "clocks": Clocks(Clocks),
    "timers": Timers(Timers),
    "sleep": Sleep(Sleep),
    "yield": Yield(Yield),
    "load": Load(Load),
    "cores": Cores(Cores),
    "gap": Gap(Gap),
    "scenario": Scenario(ScenarioThreads),
    "scenario-computer": ScenarioComputer(ScenarioComputer),
    "watch": Watch(Watch),
    "doctor": Doctor(Doctor),
    "log": Log(Logged),
    "trace": Trace(Traced),
}
