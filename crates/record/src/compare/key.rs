//! What makes measurements of different runs measurements of the same thing:
//! their experiment, their subject and their parameters.
//!
//! Some parameters tell something of the run instead, and make no difference:
//!
//! - `round`: measurements that differ in nothing else are repetitions, and
//!   are pooled;
//! - `on`: the model of a simulation, which is a machine, and gets a column;
//! - `core_type`: a property of the machine, too;
//! - `warm_up_waits`: how many there are follows from the number of rounds;
//! - `learning`: follows from the deadlines, and older files lack it;
//! - `threshold_ns` and `fail_over_ns`: what a watch takes exception to, which
//!   changes no wait;
//! - `cpu` of a watch: the one that was watched, of however many the machine
//!   has. (`cores` compares CPUs, so that there it stays.)
//! - `bytes` of pools that zero pages, where `memory` says whether it is hot or
//!   cold: how much is hot follows from the machine's caches, and how much is
//!   cold from them and from what is free.
//!
//! Numbers are equal whether they are written as whole ones or not.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::run::Measurement;

/// The parameters that tell something of the run.
const OF_THE_RUN: [&str; 7] = [
    "round",
    "on",
    "core_type",
    "warm_up_waits",
    "learning",
    "threshold_ns",
    "fail_over_ns",
];

/// What stands for the subject where that is the sleep call of the OS itself,
/// whatever its name there.
const OWN_SLEEP_CALL: &str = "\0sleep";

/// Equal for measurements of the same thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    experiment: String,
    subject: String,
    params: Vec<(String, String)>,
}

impl Key {
    pub(super) fn of(measurement: &Measurement) -> Self {
        // `timers` asks what the OS makes of its own sleep call for 1 ms. It
        // is `Sleep(1)` on Windows and has other names elsewhere.
        let subject = match measurement.experiment.as_str() {
            "timers" => OWN_SLEEP_CALL,
            _ => &measurement.subject,
        };
        Self {
            experiment: measurement.experiment.clone(),
            subject: subject.to_owned(),
            params: params(measurement)
                .into_iter()
                .map(|(key, value)| (key, canonical(&value)))
                .collect(),
        }
    }
}

/// The parameters that make a difference.
pub(super) fn params(measurement: &Measurement) -> BTreeMap<String, Value> {
    let mut params = measurement.params.clone();
    params.retain(|key, _| !OF_THE_RUN.contains(&key.as_str()));
    match measurement.experiment.as_str() {
        "watch" => drop(params.remove("cpu")),
        "zero-pool" if params.contains_key("memory") => drop(params.remove("bytes")),
        _ => {}
    }
    params
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

    fn key(experiment: &str, subject: &str, params: &[(&str, Value)]) -> Key {
        Key::of(&Measurement {
            experiment: experiment.to_owned(),
            subject: subject.to_owned(),
            params: params
                .iter()
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
            ..Measurement::default()
        })
    }

    #[test]
    fn what_tells_something_of_the_run_makes_no_difference() {
        let plain = key("pace", "spin", &[("rate_hz", 60.into())]);
        let more = [
            ("rate_hz", 60.0.into()),
            ("round", 3.into()),
            ("on", "linux".into()),
            ("warm_up_waits", 5.into()),
            ("learning", "goes on".into()),
        ];
        assert_eq!(key("pace", "spin", &more), plain);
    }

    #[test]
    fn a_watch_is_the_same_whatever_it_takes_exception_to() {
        let period = ("period_ns", 1_000_000.into());
        let judged = [
            period.clone(),
            ("cpu", 7.into()),
            ("threshold_ns", 500_000.into()),
            ("fail_over_ns", 1_000_000.into()),
        ];
        let plain = key("watch", "timerfd", std::slice::from_ref(&period));
        assert_eq!(key("watch", "timerfd", &judged), plain);
        assert_ne!(
            key("cores", "timerfd", &judged[..2]),
            key("cores", "timerfd", &[period])
        );
    }

    #[test]
    fn memory_is_hot_or_cold_however_much_of_it_a_machine_needs_for_that() {
        let pool = |experiment, params: &[(&str, Value)]| key(experiment, "mcs", params);
        let hot = [("memory", "hot".into()), ("threads", 2.into())];
        let mut sized = hot.to_vec();
        sized.push(("bytes", 1_048_576.into()));
        assert_eq!(pool("zero-pool", &sized), pool("zero-pool", &hot));
        assert_ne!(pool("zero-probe", &sized), pool("zero-probe", &hot));
        assert_ne!(pool("zero-pool", &sized[1..]), pool("zero-pool", &hot[1..]));
    }

    #[test]
    fn everything_else_does() {
        let plain = key("sleep", "poll", &[("asked_ns", 1_000.into())]);
        for other in [
            key("naps", "poll", &[("asked_ns", 1_000.into())]),
            key("sleep", "select", &[("asked_ns", 1_000.into())]),
            key("sleep", "poll", &[("asked_ns", 1_001.into())]),
            key("sleep", "poll", &[("asked_ns", "1000".into())]),
            key("sleep", "poll", &[]),
        ] {
            assert_ne!(other, plain);
        }
    }

    #[test]
    fn the_own_sleep_call_of_each_os_is_the_same_thing() {
        let on = |subject, arming: &str| {
            let params = [("asked_ns", 1_000_000.into()), ("arming", arming.into())];
            key("timers", subject, &params)
        };
        assert_eq!(on("Sleep(1)", "after-wake"), on("usleep", "after-wake"));
        assert_ne!(on("Sleep(1)", "after-wake"), on("Sleep(1)", "random-phase"));
    }
}
