//! Finds the measurements of an experiment in a run.

use std::collections::BTreeMap;

use punctual_record::{Measurement, Mode, Run, RunRow, Value};

use crate::units;

/// The experiments this crate has tables and figures of their own for. A
/// measurement counts as one only if it has the parameters they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Waits for the cycles of a rate.
    Pace,
    /// Waits at a rate, each begun when the one before it ended: the article's
    /// frames.
    Frames,
    /// Requests of every length.
    Decades,
    /// CPU time by the length of the interval.
    Interval,
    /// Naps by OS call and length.
    Naps,
    /// Relative error by the request and the scheduler's period.
    Robustness,
    /// `adaptive` beside the best of the others, by regime and condition.
    Regimes,
    /// Steps of clocks and what reading them takes.
    Clocks,
    /// The lengths of short sleeps, and the ticks behind them.
    Timers,
    /// Waits with each call of the OS.
    Sleep,
    /// Yields alone and beside a competitor.
    Yield,
    /// Waits on a loaded computer.
    Load,
    /// Waits on each CPU.
    Cores,
    /// Waking up by the time asleep.
    Gap,
    /// What threads, or the computer, did in a phase of a scenario.
    Scenario,
    /// How late a host's timers were while it was watched.
    Watch,
    /// Any other.
    Other,
}

impl Kind {
    pub(crate) fn of(measurement: &Measurement) -> Self {
        let has = |key| param(measurement, key).is_some();
        match measurement.experiment.as_str() {
            "pace" if rate_hz(measurement).is_none() => Self::Other,
            "pace"
                if measurement
                    .params
                    .get("deadlines")
                    .is_some_and(|d| d == "relative") =>
            {
                Self::Frames
            }
            "pace" => Self::Pace,
            "decades" if has("asked_ns") => Self::Decades,
            "interval" if has("period_ns") => Self::Interval,
            "naps" if has("asked_ns") => Self::Naps,
            "robustness" if has("asked_ns") && has("scheduler_period_ns") => Self::Robustness,
            punctual_record::regimes::REGIMES => Self::Regimes,
            "clocks" => Self::Clocks,
            "timers" if has("asked_ns") => Self::Timers,
            "sleep" if has("asked_ns") => Self::Sleep,
            "yield" => Self::Yield,
            "load" if has("load_per_cpu") => Self::Load,
            "cores" => Self::Cores,
            "gap" if has("asked_ns") => Self::Gap,
            "scenario" if has("phase_index") => Self::Scenario,
            "watch" if has("period_ns") && has("threshold_ns") => Self::Watch,
            _ => Self::Other,
        }
    }
}

/// The measurements of one kind, in the order of the run.
pub(crate) fn of_kind(run: &Run, kind: Kind) -> Vec<&Measurement> {
    run.results.iter().filter(|m| Kind::of(m) == kind).collect()
}

/// The rows with equal keys together, in order of first appearance.
pub fn grouped<'a, R, K: PartialEq>(
    measurements: impl IntoIterator<Item = &'a R>,
    key: impl Fn(&'a R) -> K,
) -> Vec<(K, Vec<&'a R>)> {
    let mut groups: Vec<(K, Vec<&R>)> = Vec::new();
    for measurement in measurements {
        let key = key(measurement);
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, group)) => group.push(measurement),
            None => groups.push((key, vec![measurement])),
        }
    }
    groups
}

/// Each subject with its measurements.
pub fn by_subject<'a, R: RunRow>(
    measurements: impl IntoIterator<Item = &'a R>,
) -> Vec<(&'a str, Vec<&'a R>)> {
    grouped(measurements, |m| m.subject())
}

/// The values of one parameter, each once, from the smallest.
pub(crate) fn values(measurements: &[&Measurement], key: &str) -> Vec<f64> {
    let mut values: Vec<f64> = measurements.iter().filter_map(|m| param(m, key)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The measurement at one value of a parameter.
pub(crate) fn at<'a>(
    measurements: &[&'a Measurement],
    key: &str,
    value: f64,
) -> Option<&'a Measurement> {
    measurements
        .iter()
        .find(|m| param(m, key) == Some(value))
        .copied()
}

/// A parameter that is a number.
pub(crate) fn param(measurement: &Measurement, key: &str) -> Option<f64> {
    measurement.params.get(key)?.as_f64()
}

/// A parameter that is a word.
pub(crate) fn word<'a>(measurement: &'a Measurement, key: &str) -> &'a str {
    let word = measurement.params.get(key).and_then(|word| word.as_str());
    word.unwrap_or("unknown")
}

/// A number inside something the record crate has no field for.
pub(crate) fn part(measurement: &Measurement, key: &str, part: &str) -> Option<f64> {
    measurement.other.get(key)?.get(part)?.as_f64()
}

/// A number the record crate has no field for.
pub(crate) fn extra(measurement: &Measurement, key: &str) -> Option<f64> {
    measurement.other.get(key)?.as_f64()
}

/// The lengths that sleeps have, where they are noted.
pub(crate) fn modes(measurement: &Measurement) -> Vec<Mode> {
    modes_of(measurement.other.get("modes"))
}

pub(crate) fn modes_of(modes: Option<&Value>) -> Vec<Mode> {
    let modes = modes.and_then(|modes| serde_json::from_value(modes.clone()).ok());
    modes.unwrap_or_default()
}

/// How long each wait took: as noted, or what was asked and how late it ended.
pub(crate) fn slept_ns(measurement: &Measurement) -> Vec<i64> {
    if measurement.samples_slept_ns.is_empty() {
        let asked = param(measurement, "asked_ns").unwrap_or(0.0) as i64;
        let late = measurement.samples_late_ns.iter();
        late.map(|late| late.saturating_add(asked)).collect()
    } else {
        let slept = measurement.samples_slept_ns.iter();
        slept
            .map(|&ns| i64::try_from(ns).unwrap_or(i64::MAX))
            .collect()
    }
}

/// How long each sleep of some rounds was, and the modes of all of them. They
/// are named by ticks where the OS has an interval that ends sleeps, if that
/// was the same in each round.
pub(crate) fn lengths(rounds: &[&Measurement]) -> (Vec<i64>, Vec<Mode>) {
    let samples: Vec<i64> = rounds.iter().flat_map(|m| slept_ns(m)).collect();
    let slept: Vec<u64> = samples.iter().map(|&ns| ns.max(0) as u64).collect();
    let mut ticks: Vec<f64> = rounds
        .iter()
        .filter_map(|m| extra(m, "stated_ns"))
        .collect();
    ticks.sort_by(f64::total_cmp);
    let tick = match (ticks.first(), ticks.last()) {
        (Some(least), Some(most)) if *most <= least * 1.01 => Some(ticks[ticks.len() / 2] as u64),
        _ => None,
    };
    let modes = punctual_record::modes(&slept, tick);
    (samples, modes)
}

/// By how much a clock moves on at once: the median of its steps.
pub(crate) fn step_ns(measurement: &Measurement) -> Option<f64> {
    let step = extra(measurement, "step_ns").or_else(|| part(measurement, "step_ns", "p50"));
    step.filter(|ns| *ns > 0.0)
}

/// Whether a clock shows the time of the last tick, where that is known.
pub(crate) fn is_written_by_the_tick(measurement: &Measurement) -> Option<bool> {
    measurement.other.get("tick_written")?.as_bool()
}

/// Who else is on the CPU of a thread that yields, in words.
pub(crate) fn company(measurement: &Measurement) -> String {
    match param(measurement, "competitors") {
        Some(0.0) => "alone".to_owned(),
        Some(1.0) => "with a competitor".to_owned(),
        Some(many) => format!("with {} competitors", units::plain(many)),
        None => "unknown".to_owned(),
    }
}

/// Where measurements that were simulated beside a run on another machine come
/// from, as a sentence; nothing for others.
pub(crate) fn simulated_in_words(measurements: &[&Measurement]) -> String {
    let mut on = measurements
        .iter()
        .filter_map(|m| m.other.get("simulated_on")?.as_str());
    on.next().map_or_else(String::new, |model| {
        format!(" Simulated on {model}, whatever the machine of the run.")
    })
}

/// The waits per second of a paced measurement.
pub(crate) fn rate_hz(measurement: &Measurement) -> Option<f64> {
    hz(&measurement.params)
}

fn hz(params: &BTreeMap<String, Value>) -> Option<f64> {
    let number = |key| params.get(key)?.as_f64();
    let rate = number("rate_hz").or_else(|| Some(1e9 / number("period_ns")?));
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// The rate in words: `60 Hz`. Rates that read the same are the same.
pub(crate) fn rate(measurement: &Measurement) -> String {
    rate_of(&measurement.params).unwrap_or_else(|| "unknown rate".to_owned())
}

/// The rate among parameters, in words.
pub(crate) fn rate_of(params: &BTreeMap<String, Value>) -> Option<String> {
    Some(format!("{} Hz", units::plain(hz(params)?)))
}

/// The time from one deadline to the next.
pub(crate) fn period_ns(measurement: &Measurement) -> Option<f64> {
    param(measurement, "period_ns").or_else(|| Some(1e9 / rate_hz(measurement)?))
}

/// The median lateness, or where the samples are too few for one, the mean.
/// The second value tells whether it is the median. Nothing if no lateness was
/// measured.
pub(crate) fn typical_late_ns(measurement: &Measurement) -> Option<(f64, bool)> {
    let late = &measurement.late_ns;
    if late.n == 0 {
        return None;
    }
    Some(
        late.p50
            .map_or((late.mean, false), |p50| (p50 as f64, true)),
    )
}

/// A number that follows from the lateness; nothing if none was measured.
pub(crate) fn extra_of_late(measurement: &Measurement, key: &str) -> Option<f64> {
    extra(measurement, key).filter(|_| measurement.late_ns.n > 0)
}

/// How many samples there are: `100`, or `90 to 100` where they differ.
pub fn counts(counts: impl IntoIterator<Item = u64>) -> String {
    let mut counts: Vec<u64> = counts.into_iter().collect();
    counts.sort_unstable();
    match (counts.first(), counts.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (Some(all), _) => all.to_string(),
        _ => "0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(experiment: &str, params: &[(&str, f64)]) -> Measurement {
        Measurement {
            experiment: experiment.to_owned(),
            params: params
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.into()))
                .collect(),
            ..Measurement::default()
        }
    }

    #[test]
    fn a_known_experiment_without_its_parameters_is_an_unknown_one() {
        assert_eq!(
            Kind::of(&made_up("decades", &[("asked_ns", 1.0)])),
            Kind::Decades
        );
        assert_eq!(Kind::of(&made_up("decades", &[])), Kind::Other);
        assert_eq!(Kind::of(&made_up("pace", &[("rate_hz", 0.0)])), Kind::Other);
    }

    #[test]
    fn a_rate_can_be_told_from_the_period() {
        let frames = made_up("pace", &[("period_ns", 16_666_667.0)]);
        assert_eq!(rate(&frames), "60 Hz");
        let pace = made_up("pace", &[("rate_hz", 59.94)]);
        assert_eq!(rate(&pace), "59.94 Hz");
        assert_eq!(period_ns(&pace).map(f64::round), Some(16_683_350.0));
    }

    #[test]
    fn counts_that_differ_are_a_range() {
        assert_eq!(counts([5, 5]), "5");
        assert_eq!(counts([9, 5, 7]), "5 to 9");
        assert_eq!(counts([]), "0");
    }
}
