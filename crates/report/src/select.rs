//! Finds the measurements of an experiment in a run.

use std::ops::Deref;

use punctual_record::experiment::{Arming, Crowd, Deadlines, Pace, Robustness, Timers, Yield};
use punctual_record::{Measurement, Mode, OfExperiment, OfLength, Run, median};

use crate::units;

/// A measurement of one experiment.
pub(crate) struct Row<'r, E> {
    /// Its parameters, and what it alone has to say.
    pub(crate) of: &'r E,
    /// All of it.
    pub(crate) m: &'r Measurement,
}

impl<E> Clone for Row<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Row<'_, E> {}

impl<E> Deref for Row<'_, E> {
    type Target = Measurement;

    fn deref(&self) -> &Measurement {
        self.m
    }
}

/// The measurements of one experiment, in their order.
pub(crate) fn rows<'r, E: OfExperiment>(
    measurements: impl IntoIterator<Item = &'r Measurement>,
) -> Vec<Row<'r, E>> {
    let measurements = measurements.into_iter();
    measurements
        .filter_map(|m| Some(Row { of: E::of(m)?, m }))
        .collect()
}

/// The measurements of a run.
pub(crate) fn of_run<E: OfExperiment>(run: &Run) -> Vec<Row<'_, E>> {
    rows(&run.results)
}

/// The measurements of a run with such deadlines.
pub(crate) fn paced(run: &Run, deadlines: Deadlines) -> Vec<Row<'_, Pace>> {
    let mut rows = of_run::<Pace>(run);
    rows.retain(|row| row.of.deadlines == deadlines);
    rows
}

/// The measurements, whatever they are of.
pub(crate) fn plain<'r, E>(rows: &[Row<'r, E>]) -> Vec<&'r Measurement> {
    rows.iter().map(|row| row.m).collect()
}

/// The rows with equal keys together, in order of first appearance.
pub fn grouped<R: Copy, K: PartialEq>(
    rows: impl IntoIterator<Item = R>,
    key: impl Fn(R) -> K,
) -> Vec<(K, Vec<R>)> {
    let mut groups: Vec<(K, Vec<R>)> = Vec::new();
    for row in rows {
        let key = key(row);
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, group)) => group.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups
}

/// Each subject with its rows.
pub(crate) fn by_subject<'r, E>(rows: &[Row<'r, E>]) -> Vec<(&'r str, Vec<Row<'r, E>>)> {
    grouped(rows.iter().copied(), |row| row.m.subject.as_str())
}

/// Each subject, as the head of a column and what to look for.
pub(crate) fn subjects<'r, E>(rows: &[Row<'r, E>]) -> Vec<(&'r str, &'r str)> {
    let named = by_subject(rows).into_iter();
    named.map(|(subject, _)| (subject, subject)).collect()
}

/// The row of that subject.
pub(crate) fn of_subject<'r, E>(rows: &[Row<'r, E>], subject: &str) -> Option<Row<'r, E>> {
    rows.iter().find(|row| row.m.subject == subject).copied()
}

/// The rows with equal values together, from the smallest.
pub(crate) fn by_value<'r, E>(
    rows: &[Row<'r, E>],
    of: impl Fn(&E) -> f64,
) -> Vec<(f64, Vec<Row<'r, E>>)> {
    let mut groups = grouped(rows.iter().copied(), |row| of(row.of));
    groups.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    groups
}

/// The first row of each value, from the smallest.
pub(crate) fn ascending<'r, E>(rows: &[Row<'r, E>], of: impl Fn(&E) -> f64) -> Vec<Row<'r, E>> {
    let groups = by_value(rows, of).into_iter();
    groups.map(|(_, group)| group[0]).collect()
}

/// The values of some rows, each once, from the smallest.
pub(crate) fn values<E>(rows: &[Row<'_, E>], of: impl Fn(&E) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = rows.iter().map(|row| of(row.of)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The phase of a scenario that it was measured in.
pub(crate) fn phase(m: &Measurement) -> &str {
    m.experiment.phase().map_or("unknown", |at| &at.phase)
}

/// The model that a scenario ran on.
pub(crate) fn model(m: &Measurement) -> &str {
    m.experiment.on().unwrap_or("unknown")
}

/// The length that was asked for.
pub(crate) fn asked_ns<E: OfLength>(of: &E) -> f64 {
    of.asked_ns() as f64
}

/// The period of the simulated scheduler.
pub(crate) fn scheduler_ns(of: &Robustness) -> f64 {
    of.scheduler_period_ns as f64
}

/// The row that says so.
pub(crate) fn at<'r, E>(
    rows: &[Row<'r, E>],
    of: impl Fn(&E) -> f64,
    value: f64,
) -> Option<Row<'r, E>> {
    rows.iter().find(|row| of(row.of) == value).copied()
}

/// The sleeps of one call and length, begun in one way, of all rounds; one at least.
pub(crate) struct Sleeps<'r> {
    pub(crate) call: &'r str,
    pub(crate) arming: Arming,
    pub(crate) asked_ns: f64,
    /// How long the timer rule in force makes a sleep, if waking up cost nothing.
    pub(crate) predicted_ns: Option<f64>,
    /// From the shortest.
    pub(crate) slept_ns: Vec<i64>,
    pub(crate) modes: Vec<Mode>,
}

impl<'r> Sleeps<'r> {
    pub(crate) fn of(rounds: &[Row<'r, Timers>]) -> Option<Self> {
        let first = rounds.first()?;
        let (mut slept_ns, modes) = lengths(rounds);
        slept_ns.sort_unstable();
        let late_ns = rounds.iter().find_map(|m| m.m.predicted_late_ns);
        let asked_ns = asked_ns(first.of);
        (!slept_ns.is_empty()).then_some(Self {
            call: &first.m.subject,
            arming: first.of.arming,
            asked_ns,
            predicted_ns: late_ns.map(|late_ns| asked_ns + late_ns as f64),
            slept_ns,
            modes,
        })
    }
}

/// How long each sleep of some rounds was, and the modes of all of them. They
/// are named by ticks where the OS has an interval that ends sleeps, if that
/// was the same in each round.
pub(crate) fn lengths(rounds: &[Row<'_, Timers>]) -> (Vec<i64>, Vec<Mode>) {
    let slept = rounds.iter().flat_map(|round| &round.m.samples_slept_ns);
    let slept: Vec<u64> = slept.copied().collect();
    let ticks: Vec<u64> = rounds.iter().filter_map(|m| m.of.stated_ns).collect();
    let tick = match (ticks.iter().min(), ticks.iter().max()) {
        (Some(least), Some(most)) if *most as f64 <= *least as f64 * 1.01 => median(&ticks),
        _ => None,
    };
    let modes = punctual_record::modes(&slept, tick);
    let whole = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    (slept.into_iter().map(whole).collect(), modes)
}

/// The competitors of a yielding thread on its CPU, in words.
pub(crate) fn background(of: &Yield) -> String {
    match of.competitors {
        0 => "alone".to_owned(),
        1 => "with a competitor".to_owned(),
        many => format!("with {many} competitors"),
    }
}

/// Where measurements that were simulated beside a run on another machine come
/// from, as a sentence; nothing for others.
pub(crate) fn simulated_in_words<E>(rows: &[Row<'_, E>]) -> String {
    let mut on = rows.iter().filter_map(|m| m.m.simulated_on.as_ref());
    on.next().map_or_else(String::new, |model| {
        format!(" Simulated on {model}, whatever the machine of the run.")
    })
}

/// The rate in words: `60 Hz`. Rates that read the same are the same.
pub(crate) fn rate(row: Row<'_, Pace>) -> String {
    let rate = hertz(row.of.rate_hz);
    match row.of.crowd {
        None => rate,
        Some(Crowd { threads, same }) => {
            let instants = if same { ", same instants" } else { "" };
            format!("{threads} x {rate}{instants}")
        }
    }
}

/// A rate, in words.
pub(crate) fn hertz(hz: f64) -> String {
    format!("{} Hz", units::plain(hz))
}

/// The median lateness, or where the samples are too few for one, the mean.
/// The second value tells whether it is the median. Nothing if no lateness was
/// measured.
pub(crate) fn typical_late_ns(measurement: &Measurement) -> Option<(f64, bool)> {
    let late = &measurement.late_ns;
    let typical = late
        .p50
        .map_or((late.mean, false), |p50| (p50 as f64, true));
    (late.n > 0).then_some(typical)
}

/// The same without which it is.
pub(crate) fn typical_ns(m: &Measurement) -> Option<f64> {
    Some(typical_late_ns(m)?.0)
}

/// Whether that is the mean.
pub(crate) fn is_mean(m: &Measurement) -> bool {
    matches!(typical_late_ns(m), Some((_, false)))
}

/// How many waits each of them has.
pub(crate) fn waits<E>(rows: &[Row<'_, E>]) -> String {
    counts(rows.iter().map(|row| row.m.late_ns.n))
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

    #[test]
    fn counts_that_differ_are_a_range() {
        assert_eq!(counts([5, 5]), "5");
        assert_eq!(counts([9, 5, 7]), "5 to 9");
        assert_eq!(counts([]), "0");
    }
}
