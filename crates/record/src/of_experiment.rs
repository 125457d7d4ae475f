//! What a measurement has of one experiment, by its type.

use crate::experiment::{
    Clocks, Cores, Decades, Doctor, Experiment, Gap, IntervalLength, Load, Naps, Pace, Regimes,
    Robustness, ScenarioComputer, ScenarioThreads, Sleep, Timers, Watch, Yield,
};
use crate::run::Measurement;

/// One experiment of the enum.
pub trait OfExperiment: Sized {
    /// What a measurement has of it; `None` if it is of another.
    fn of(measurement: &Measurement) -> Option<&Self>;
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
    ($($name:ident => $variant:ident,)*) => {
        $(
            impl OfExperiment for $name {
                fn of(measurement: &Measurement) -> Option<&Self> {
                    match &measurement.experiment {
                        Experiment::$variant(of) => Some(of),
                        _ => None,
                    }
                }
            }
        )*
    };
}

of_experiment! {
    Pace => Pace,
    Decades => Decades,
    IntervalLength => Interval,
    Naps => Naps,
    Robustness => Robustness,
    Regimes => Regimes,
    Clocks => Clocks,
    Timers => Timers,
    Sleep => Sleep,
    Yield => Yield,
    Load => Load,
    Cores => Cores,
    Gap => Gap,
    ScenarioThreads => Scenario,
    ScenarioComputer => ScenarioComputer,
    Watch => Watch,
    Doctor => Doctor,
}
