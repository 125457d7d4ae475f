//! What a simulation says if what is not known is a little different.

use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_zero_pool::{Dequeue, LockKind, Setting};

use super::machine::Machine;
use super::quantity::{Figure, Quantity};
use super::simulate::{Job, PoolResult, simulate};
use super::topology::Distance;

/// What comes of a job, and what would if one thing or another were different.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// With every figure as it is given.
    pub central: PoolResult,
    /// With one of them at an end of its interval.
    pub others: Vec<(String, PoolResult)>,
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
    pub fn of(&self, number: impl Fn(&PoolResult) -> f64) -> Interval {
        let median = number(&self.central);
        let all = self.others.iter().map(|(_, outcome)| number(outcome));
        let (low, high) = all.fold((median, median), |(low, high), other| {
            (low.min(other), high.max(other))
        });
        Interval { median, low, high }
    }
}

/// Simulates a job on a computer and on those it might be as well: each figure
/// that is only known to lie in an interval at both ends of it, with the others as
/// they are; with several sockets, every line transfer as fast as within one and as
/// slow as across, or as the fastest and the slowest of its matrix between two cores;
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
    let figures = figures.filter(|(quantity, _)| matters(*quantity, machine, setting));
    for (quantity, figure) in figures {
        for value in [figure.low, figure.high] {
            if value != figure.value {
                let what = format!("{}={value}{}", quantity.key(), quantity.unit());
                let other = Figure::new(value, figure.confidence, "an end of its interval");
                all.push((what, machine.clone().with(quantity, other)));
            }
        }
    }
    if machine.topology().sockets > 1 {
        for (what, ns) in ends(machine) {
            all.push((what.to_owned(), machine.clone().with_one_distance(ns)));
        }
    }
    all
}

/// The least and the most that a transfer between two cores may be, wherever the
/// workers of a computer with several sockets are.
fn ends(machine: &Machine) -> [(&'static str, f64); 2] {
    let topology = machine.topology();
    if let Some(matrix) = machine.matrix() {
        let cpus = 0..topology.cpus();
        let pairs = cpus.flat_map(|a| (0..a).map(move |b| (a, b)));
        let pairs = pairs.filter(|&(a, b)| topology.distance(a, b) > Distance::Core);
        let both_ways = pairs.flat_map(|(a, b)| [matrix.ns(a, b), matrix.ns(b, a)]);
        let (least, most) = both_ways.fold((f64::MAX, 0.0_f64), |(least, most), ns| {
            (least.min(ns), most.max(ns))
        });
        return [
            ("every transfer as the fastest of the matrix", least),
            ("every transfer as the slowest of the matrix", most),
        ];
    }
    let within = match topology.caches {
        1 => Quantity::SameCache,
        _ => Quantity::SameSocket,
    };
    [
        ("every transfer as within a socket", machine.value(within)),
        (
            "every transfer as across sockets",
            machine.value(Quantity::Across),
        ),
    ]
}

/// Whether a figure makes any difference to a pool.
fn matters(quantity: Quantity, machine: &Machine, setting: &Setting) -> bool {
    let has = |lock| setting.lock == lock || setting.returns == Some(lock);
    match quantity {
        _ if quantity.is_distance() => machine.matrix().is_none(),
        // One is served, one waits, one may overtake that.
        Quantity::Overtakes => setting.workers > 2,
        Quantity::Miss => setting.dequeue == Dequeue::List,
        Quantity::Park | Quantity::Wake | Quantity::Turnaround => has(LockKind::Mutex),
        Quantity::Relax => has(LockKind::Tas) || has(LockKind::Mutex),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use punctual_sim::model::Confidence;
    use punctual_zero_pool::Batch;

    use super::*;
    use crate::{Matrix, Numbering, Topology};

    fn names(prediction: &Prediction) -> Vec<&str> {
        let others = prediction.others.iter();
        others.map(|(what, _)| &what[..]).collect()
    }

    #[test]
    fn what_is_not_known_widens_the_prediction() {
        let machine = Machine::parse("cascade-lake-96").unwrap();
        let setting = Setting::new(39, LockKind::Tas, Batch::One);
        let job = Job::new(setting, 100_000);
        let prediction = predict(&machine, &job, Active::HalfToAll).unwrap();
        let rate = prediction.of(PoolResult::gb_per_cpu_s);
        let names = names(&prediction);
        for what in [
            "queued-share=0.5",
            "queued-share=1",
            "overtakes=0.25",
            "every transfer as within a socket",
            "every transfer as across sockets",
            "20 of 39 workers active",
        ] {
            assert!(names.contains(&what), "{names:?}");
        }
        // Twice the cost of a transfer and half the workers, or so.
        assert!(
            rate.low < 0.7 * rate.median && rate.high > 2.0 * rate.median,
            "{rate:?}"
        );
        let all = predict(&machine, &job, Active::All).unwrap();
        assert!(all.of(PoolResult::gb_per_cpu_s).high < rate.high);
    }

    #[test]
    fn with_a_matrix_its_own_ends_are_what_is_not_known() {
        let topology = Topology {
            sockets: 2,
            caches: 1,
            cores: 2,
            threads: 2,
            numbering: Numbering::SiblingsLast,
        };
        // Siblings at 5 ns, 40 in one direction between two others.
        let ns = |a: usize, b: usize| match (a, b) {
            (0, 1) => 40.0,
            _ if a % 4 == b % 4 => 5.0,
            _ if a % 4 / 2 == b % 4 / 2 => 50.0,
            _ => 130.0,
        };
        let machine = [
            (Quantity::SameCore, 5.0),
            (Quantity::SameCache, 45.0),
            (Quantity::Across, 100.0),
            (Quantity::Zero, 300.0),
            (Quantity::Bandwidth, 100.0),
        ]
        .into_iter()
        .fold(
            Machine::new("eight", "a test", topology),
            |machine, (quantity, value)| {
                let figure = Figure::between(value / 2.0, value, value, Confidence::D, "a test");
                machine.with(quantity, figure)
            },
        );
        let job = Job::new(Setting::new(8, LockKind::Mcs, Batch::One), 1_000);
        let without = predict(&machine, &job, Active::All).unwrap();
        assert!(names(&without).contains(&"same-cache=22.5ns"));
        let machine = machine.with_matrix(Matrix::between(8, ns).unwrap());
        let machine = machine.unwrap();
        assert_eq!(ends(&machine).map(|(_, ns)| ns), [40.0, 130.0]);
        let with = predict(&machine, &job, Active::All).unwrap();
        let names = names(&with);
        assert!(names.contains(&"every transfer as the slowest of the matrix"));
        assert!(names.contains(&"zero=150ns"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("same-cache")));
    }
}
