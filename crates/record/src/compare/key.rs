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
    use crate::run::Measurement;

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
