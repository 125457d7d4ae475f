//! What a simulation says if what is not known is a little different.

use punctual_core::Refusal;
use punctual_pool::{Dequeue, LockKind, Setting};

use super::machine::Machine;
use super::outcome::Outcome;
use super::quantity::{Figure, Quantity};
use super::simulate::{Job, simulate};
use crate::model::Confidence;

/// What comes of a job, and what would if one thing or another were different.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// With every figure as it is given.
    pub central: Outcome,
    /// With one of them at an end of its interval.
    pub others: Vec<(String, Outcome)>,
}

/// A number with the least and the most that it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The least.
    pub low: f64,
    /// With every figure as it is given.
    pub central: f64,
    /// The most.
    pub high: f64,
}

/// Whether all workers of a pool are known to have been at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Active {
    /// All are.
    All,
    /// The source does not say: half of them to all.
    HalfToAll,
}

impl Prediction {
    /// A number of the outcomes, with its interval.
    pub fn of(&self, number: impl Fn(&Outcome) -> f64) -> Between {
        let central = number(&self.central);
        let all = self.others.iter().map(|(_, outcome)| number(outcome));
        let (low, high) = all.fold((central, central), |(low, high), other| {
            (low.min(other), high.max(other))
        });
        Between { low, central, high }
    }
}

/// Simulates a job on a computer and on those it might be as well: each figure
/// that is only known to lie in an interval at both ends of it, with the others as
/// they are; every line transfer as fast as within a socket, and as slow as across;
/// and, where that is not known, with half of the workers. The interval that
/// follows is that of one unknown at a time.
///
/// # Errors
/// As of [`simulate`].
pub fn predict(machine: &Machine, job: &Job, active: Active) -> Result<Prediction, Refusal> {
    let central = simulate(machine, job)?;
    let mut others = Vec::new();
    for (what, machine) in neighbours(machine, &job.setting) {
        others.push((what, simulate(&machine, job)?));
    }
    let workers = job.setting.workers;
    if active == Active::HalfToAll && workers > 1 {
        let mut job = *job;
        job.setting.workers = workers.div_ceil(2);
        let what = format!("{} of {workers} workers active", job.setting.workers);
        others.push((what, simulate(machine, &job)?));
    }
    Ok(Prediction { central, others })
}

/// The computers that this one might be as well, each with what is different.
fn neighbours(machine: &Machine, setting: &Setting) -> Vec<(String, Machine)> {
    let mut all = Vec::new();
    let figures = machine.figures();
    for (quantity, figure) in figures.filter(|(quantity, _)| matters(*quantity, setting)) {
        for value in [figure.low, figure.high] {
            if value != figure.value {
                let what = format!("{}={value}{}", quantity.key(), quantity.unit());
                let other = Figure::new(value, figure.confidence, "an end of its interval");
                all.push((what, machine.clone().with(quantity, other)));
            }
        }
    }
    if machine.topology().sockets > 1 {
        for (quantity, what) in [
            (Quantity::SameCache, "every transfer as within a cache"),
            (Quantity::Across, "every transfer as across sockets"),
        ] {
            let ns = machine.value(quantity);
            all.push((what.to_owned(), machine.clone().with_one_distance(ns)));
        }
    }
    all
}

/// Whether a figure makes any difference to a pool.
fn matters(quantity: Quantity, setting: &Setting) -> bool {
    let has = |lock| setting.lock == lock || setting.returns == Some(lock);
    match quantity {
        Quantity::Miss => setting.dequeue == Dequeue::List,
        Quantity::Park | Quantity::Wake | Quantity::Turnaround => has(LockKind::Mutex),
        Quantity::Relax => has(LockKind::Tas) || has(LockKind::Mutex),
        _ => true,
    }
}

impl Machine {
    /// This computer with all CPUs equally far from each other.
    pub(super) fn with_one_distance(self, ns: f64) -> Self {
        let figure = Figure::new(ns, Confidence::D, "one distance for all");
        let all = [
            Quantity::SameCore,
            Quantity::SameCache,
            Quantity::SameSocket,
            Quantity::Across,
        ];
        all.into_iter()
            .fold(self.without_matrix(), |machine, quantity| {
                machine.with(quantity, figure.clone())
            })
    }
}

#[cfg(test)]
mod tests {
    use punctual_pool::Batch;

    use super::*;

    #[test]
    fn what_is_not_known_widens_the_prediction() {
        let machine = Machine::parse("cascade-lake-96").unwrap();
        let setting = Setting::new(39, LockKind::Tas, Batch::One);
        let job = Job::new(setting, 100_000);
        let prediction = predict(&machine, &job, Active::HalfToAll).unwrap();
        let rate = prediction.of(Outcome::gb_per_cpu_s);
        let names: Vec<_> = prediction
            .others
            .iter()
            .map(|(what, _)| &what[..])
            .collect();
        for what in [
            "queued-share=0.5",
            "queued-share=1",
            "every transfer as across sockets",
            "20 of 39 workers active",
        ] {
            assert!(names.contains(&what), "{names:?}");
        }
        // Twice the cost of a transfer and half the workers, or so.
        assert!(
            rate.low < 0.7 * rate.central && rate.high > 2.0 * rate.central,
            "{rate:?}"
        );
        let all = predict(&machine, &job, Active::All).unwrap();
        assert!(all.of(Outcome::gb_per_cpu_s).high < rate.high);
    }
}
