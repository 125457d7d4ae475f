//! All the figures of a run.

use punctual_record::Run;

use super::figure::{Figure, make_names_unique};
use super::{cost, decades, frames, idle, interval, margin, robustness, sleeps};

/// The figures a run has data for:
///
/// - `frames-RATE`: period plus lateness of each wait, a strip per subject,
///   where each began when the one before it ended;
/// - `lateness-RATE`: the lateness of each wait for the cycles of a rate, a
///   strip per subject;
/// - `cost-RATE`: lateness against CPU time, a point per subject;
/// - `decades`: lateness by the time asked for;
/// - `interval`: CPU time by the interval between two waits;
/// - `margin`: what a nap of about 1 ms is expected to cost, by how long before
///   the deadline it is asked to end;
/// - `robustness-SUBJECT`: relative error by the time asked for and the
///   scheduler's period, as a heat map;
/// - `sleeps-THREAD`: the length of each sleep of a scenario's threads, over
///   time, a panel per model;
/// - `idle-stretches`: the share of a scenario's idle time by the length of the
///   stretch, a panel per model.
///
/// What lies beyond an axis is drawn at its end, and the caption says so.
pub fn figures(run: &Run) -> Vec<Figure> {
    let mut figures = frames::frames(run);
    figures.extend(cost::cost(run));
    figures.extend(decades::decades(run));
    figures.extend(interval::interval(run));
    figures.extend(margin::margin(run));
    figures.extend(robustness::robustness(run));
    figures.extend(sleeps::sleeps(run));
    figures.extend(idle::idle(run));
    make_names_unique(&mut figures);
    figures
}
