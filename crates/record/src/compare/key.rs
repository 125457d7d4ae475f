//! What makes measurements of different runs measurements of the same thing:
//! their experiment, their subject and their parameters.
//!
//! Numbers are equal whether they are written as whole ones or not.

use serde_json::Value;

use crate::row::RunRow;

/// Equal for measurements of the same thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    experiment: String,
    subject: String,
    params: Vec<(String, String)>,
}

impl Key {
    pub(super) fn of(row: &impl RunRow) -> Self {
        Self {
            experiment: row.experiment().to_owned(),
            subject: row.subject_anywhere().to_owned(),
            params: row
                .params()
                .into_iter()
                .map(|(key, value)| (key, canonical(&value)))
                .collect(),
        }
    }
}

fn canonical(value: &Value) -> String {
    match value {
        // Zero has two signs, which read the same.
        Value::Number(number) => number.as_f64().map_or_else(
            || number.to_string(),
            |number| format!("{:?}", number + 0.0),
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{
        Cores, Deadlines, Experiment, Learning, Naps, Pace, Sleep, Timers, Watch,
    };
    use crate::run::Measurement;

    fn key(experiment: Experiment, subject: &str) -> Key {
        Key::of(&Measurement::of(experiment, subject))
    }

    fn sleep(asked_ns: u64) -> Experiment {
        let method = "poll".to_owned();
        Experiment::Sleep(Sleep { method, asked_ns })
    }

    #[test]
    fn what_tells_something_of_the_run_makes_no_difference() {
        let of = |warm_up_waits, rate_hz| {
            let pace = Pace {
                period_ns: 16_666_667,
                rate_hz,
                deadlines: Deadlines::Absolute,
                warm_up_waits,
                learning: Learning::GoesOn,
                frames: None,
            };
            key(Experiment::Pace(pace), "spin")
        };
        assert_eq!(of(3, 60.0), of(5, 60.0));
        assert_ne!(of(3, 60.0), of(3, 50.0));
    }

    #[test]
    fn a_watch_is_the_same_whatever_it_takes_exception_to() {
        let plain = Watch {
            period_ns: 1_000_000,
            ..Watch::default()
        };
        let judged = Watch {
            on_cpu: Some(7),
            threshold_ns: 500_000,
            fail_over_ns: Some(1_000_000),
            ..plain.clone()
        };
        let watch = |watch| key(Experiment::Watch(Box::new(watch)), "timerfd");
        assert_eq!(watch(judged), watch(plain));
        let core = |on_cpu| {
            let core_type = None;
            let asked_ns = 1_000_000;
            let cores = Cores {
                on_cpu,
                asked_ns,
                core_type,
            };
            key(Experiment::Cores(cores), "timerfd")
        };
        assert_ne!(core(0), core(1));
    }

    #[test]
    fn everything_else_does() {
        let plain = key(sleep(1_000), "poll");
        let naps = Naps {
            method: "poll".to_owned(),
            asked_ns: 1_000,
        };
        for other in [
            key(Experiment::Naps(naps), "poll"),
            key(sleep(1_000), "select"),
            key(sleep(1_001), "poll"),
        ] {
            assert_ne!(other, plain);
        }
    }

    #[test]
    fn the_own_sleep_call_of_each_os_is_the_same_thing() {
        let on = |subject, arming: &str| {
            let timers = Timers {
                arming: arming.to_owned(),
                ..Timers::default()
            };
            key(Experiment::Timers(timers), subject)
        };
        assert_eq!(on("Sleep(1)", "after-wake"), on("usleep", "after-wake"));
        assert_ne!(on("Sleep(1)", "after-wake"), on("Sleep(1)", "random-phase"));
    }
}
