//! All the figures of a run.

use punctual_record::Run;
use punctual_record::experiment::{Decades, Sleep};

use super::by_length::{DECADES, SLEEP};
use super::figure::{Figure, make_names_unique};
use super::{
    clocks, cores, cost, distribution, doctor, frames, gap, idle, interval, load, margin,
    robustness, sleeps, timers, watch, yields,
};

/// The figures that a run of waits has data for:
///
/// - `frames-RATE`: period plus lateness of each wait, a strip per subject,
///   where each began when the one before it ended;
/// - `lateness-RATE`: the lateness of each wait for the cycles of a rate, a
///   strip per subject;
/// - `cost-RATE`: lateness against CPU time, a point per subject;
/// - `tail-RATE`: the share of waits that were later than so much, a line per subject;
/// - `histogram-RATE`: how many waits were how late, the counts on a logarithmic axis;
/// - `decades`: lateness by the time asked for;
/// - `interval`: CPU time by the interval between two waits;
/// - `margin`: what a nap of about 1 ms is expected to cost, by how long before
///   the deadline it is asked to end;
/// - `robustness-SUBJECT`: relative error by the time asked for and the
///   scheduler's period, as a heat map;
/// - `clocks`: the step of each clock and what a reading takes;
/// - `timers-CALL`: the lengths of short sleeps, a panel for each way to begin
///   them;
/// - `sleep`: overshoot by the time asked for, a line per call of the OS;
/// - `yield`: how long yields take, alone and with a competitor;
/// - `load-CALL`: lateness by the load of the computer;
/// - `cores`: lateness on each CPU;
/// - `gap`: the latency of waking up by the time asleep;
/// - `doctor`: lateness of each wait, predicted and measured;
/// - `watch-lateness`: the share of waits that were later than so much;
/// - `watch-hiccups`: hiccups over time, by cause;
/// - `sleeps-THREAD`: the length of each sleep of a scenario's threads, over
///   time, a panel per model;
/// - `idle-stretches`: the share of a scenario's idle time by the length of the
///   stretch, a panel per model;
///
/// Of several scenarios, each has its own figures, with its name.
///
/// What lies beyond an axis is drawn at its end, and the caption says so.
pub(crate) fn of_waits(run: &Run) -> Vec<Figure> {
    let mut figures = frames::frames(run);
    figures.extend(cost::cost(run));
    figures.extend(distribution::distributions(run));
    figures.extend(DECADES.draw::<Decades>(run));
    figures.extend(interval::interval(run));
    figures.extend(margin::margin(run));
    figures.extend(robustness::robustness(run));
    figures.extend(clocks::clocks(run));
    figures.extend(timers::timers(run));
    figures.extend(SLEEP.draw::<Sleep>(run));
    figures.extend(yields::yields(run));
    figures.extend(load::load(run));
    figures.extend(cores::cores(run));
    figures.extend(gap::gap(run));
    figures.extend(doctor::doctor(run));
    figures.extend(watch::watch(run));
    figures.extend(sleeps::sleeps(run));
    figures.extend(idle::idle(run));
    make_names_unique(&mut figures);
    figures
}
