//! Predictions of a simulation if unknown values are a little different, and if a pool starts in
//! another state.

use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_sim::model::Confidence;
use punctual_zero_pool::{Dequeue, LockKind, Passing, Setting, Waiting};

use super::machine::Machine;
use super::quantity::{Figure, Quantity};
use super::simulate::{Job, PoolResult, settle, simulate};
use super::topology::Distance;

/// The result of a job, and the results if one value or another were different.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// With every figure as it is given.
    pub central: PoolResult,
    /// With one of them at an end of its interval.
    pub others: Vec<PoolResult>,
    /// The steady states of the pool if all workers start at once, and if they start one after
    /// another. `None` if the start makes no difference.
    pub settled: Option<[PoolResult; 2]>,
}

/// One of which nothing else is known.
impl From<PoolResult> for Prediction {
    fn from(central: PoolResult) -> Self {
        Self {
            central,
            others: vec![],
            settled: None,
        }
    }
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
    pub fn of(&self, number: fn(&PoolResult) -> f64) -> Interval {
        let median = number(&self.central);
        let all = self.others.iter().chain(self.settled.iter().flatten());
        let (low, high) = all
            .map(number)
            .fold((median, median), |(low, high), other| {
                (low.min(other), high.max(other))
            });
        Interval { median, low, high }
    }

    /// A number in each of the two states that the pool stays in, if there are two.
    pub fn states(&self, number: fn(&PoolResult) -> f64) -> Option<[f64; 2]> {
        self.settled
            .as_ref()
            .map(|both| both.each_ref().map(number))
    }
}

/// Simulates a job on a computer and on similar ones. Each figure that is only known as an
/// interval is taken at both ends, with the others unchanged. With several sockets, all line
/// transfers are taken as within one socket and as across; or as the fastest and the slowest of
/// the matrix between two cores. Where that is unknown, half of the workers are simulated. The
/// resulting interval is that of one unknown at a time.
///
/// # Errors
/// As of [`simulate`].
pub fn predict(machine: &Machine, job: &Job, active: Active) -> Result<Prediction, Refusal> {
    let central = simulate(machine, job)?;
    let neighbours = neighbours(machine, &job.setting).into_iter();
    let others = neighbours.map(|machine| simulate(&machine, job));
    let mut others: Vec<PoolResult> = others.collect::<Result<_, _>>()?;
    let workers = job.setting.workers;
    if active == Active::HalfToAll && workers > 1 {
        let mut job = *job;
        job.setting.workers = workers.div_ceil(2);
        others.push(simulate(machine, &job)?);
    }
    Ok(Prediction {
        central,
        others,
        settled: settled(machine, job),
    })
}

/// Two states differ if one zeroes so much more than the other.
const APART: f64 = 1.1;

/// The steady states of a pool from both starts; `None` if they are the same. A lock that is
/// passed on more slowly the more workers wait can stay overloaded once it is. Near that point the
/// start decides.
fn settled(machine: &Machine, job: &Job) -> Option<[PoolResult; 2]> {
    let is_slowed = |lock: LockKind| {
        let lock = lock.facts();
        lock.waiting != Waiting::Never && lock.passing != Passing::Link
    };
    if !job.setting.locks().any(is_slowed) || job.setting.workers <= 2 || job.preemption.is_some() {
        return None;
    }
    let workers = job.setting.workers as f64;
    // The workers start so far apart that each finds the lock free at first.
    let transfer = machine.mean_transfer_ns(job.setting.workers).ok()?;
    let wide = workers * (machine.value(Quantity::Section) + 4.0 * transfer);
    let [at_once, apart] = [0.0, wide].map(|ns| {
        let spread = Figure::new(ns, Confidence::D, "an end");
        settle(&machine.clone().with(Quantity::Spread, spread), job)
    });
    let both = [at_once?, apart?];
    let [a, b] = both.each_ref().map(PoolResult::gb_per_cpu_s);
    (a.max(b) > APART * a.min(b)).then_some(both)
}

/// The computers that this one might be as well.
fn neighbours(machine: &Machine, setting: &Setting) -> Vec<Machine> {
    let mut all = Vec::new();
    let figures = machine.figures();
    let figures = figures.filter(|(quantity, _)| matters(*quantity, machine, setting));
    for (quantity, figure) in figures {
        for value in [figure.low, figure.high] {
            if value != figure.value {
                let other = Figure::new(value, figure.confidence, "an end of its interval");
                all.push(machine.clone().with(quantity, other));
            }
        }
    }
    if machine.topology.sockets > 1 {
        all.extend(ends(machine).map(|ns| machine.clone().with_one_distance(ns)));
    }
    all
}

/// The least and the most that a transfer between two cores may be, wherever the
/// workers of a computer with several sockets are.
fn ends(machine: &Machine) -> [f64; 2] {
    let topology = machine.topology;
    if let Some(matrix) = machine.matrix() {
        let cpus = 0..topology.cpus();
        let pairs = cpus.flat_map(|a| (0..a).map(move |b| (a, b)));
        let pairs = pairs.filter(|&(a, b)| topology.distance(a, b) > Distance::Core);
        let both_ways = pairs.flat_map(|(a, b)| [matrix.ns(a, b), matrix.ns(b, a)]);
        return both_ways.fold([f64::MAX, 0.0], |[least, most], ns| {
            [ns.min(least), ns.max(most)]
        });
    }
    let within = match topology.caches {
        1 => Quantity::SameCache,
        _ => Quantity::SameSocket,
    };
    [within, Quantity::Across].map(|quantity| machine.value(quantity))
}

/// Whether a figure makes any difference to a pool.
fn matters(quantity: Quantity, machine: &Machine, setting: &Setting) -> bool {
    let waits = |how| setting.locks().any(|lock| lock.facts().waiting == how);
    match quantity {
        _ if quantity.is_distance() => machine.matrix().is_none(),
        // One is served, one waits, one may overtake that; one wrote, one has read, one reads.
        Quantity::Overtakes | Quantity::LoadShare => setting.workers > 2,
        Quantity::BackoffCap => waits(Waiting::BackingOff) && setting.workers > 1,
        Quantity::Miss => setting.dequeue == Dequeue::List,
        Quantity::Park | Quantity::Wake | Quantity::Turnaround => waits(Waiting::Blocking),
        Quantity::Relax => waits(Waiting::Relaxing) || waits(Waiting::Blocking),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use punctual_zero_pool::Batch;

    use super::*;
    use crate::{Matrix, Numbering, Topology};

    /// Whether one of those that a computer might be has this figure.
    fn has(neighbours: &[Machine], quantity: Quantity, value: f64) -> bool {
        neighbours
            .iter()
            .any(|other| other.value(quantity) == value)
    }

    #[test]
    fn what_is_not_known_widens_the_prediction() {
        let machine = Machine::parse("cascade-lake-96").unwrap();
        let setting = Setting::new(39, LockKind::Tas, Batch::One);
        let job = Job::new(setting, 100_000);
        let prediction = predict(&machine, &job, Active::HalfToAll).unwrap();
        let rate = prediction.of(PoolResult::gb_per_cpu_s);
        let neighbours = neighbours(&machine, &setting);
        for (quantity, value) in [
            (Quantity::QueuedShare, 0.5),
            (Quantity::QueuedShare, 1.0),
            (Quantity::Overtakes, 0.25),
            // Every transfer as within a socket, and as across.
            (Quantity::Across, machine.value(Quantity::SameCache)),
            (Quantity::SameCache, machine.value(Quantity::Across)),
        ] {
            assert!(has(&neighbours, quantity, value), "{quantity:?} {value}");
        }
        assert_eq!(prediction.others.len(), neighbours.len() + 1);
        assert_eq!(prediction.others.last().unwrap().setting.workers, 20);
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
        let setting = Setting::new(8, LockKind::Mcs, Batch::One);
        let without = neighbours(&machine, &setting);
        assert!(has(&without, Quantity::SameCache, 22.5));
        let machine = machine.with_matrix(Matrix::between(8, ns).unwrap());
        assert_eq!(ends(&machine), [40.0, 130.0]);
        let with = neighbours(&machine, &setting);
        assert!(has(&with, Quantity::SameCache, 130.0));
        assert!(has(&with, Quantity::Zero, 150.0));
        assert!(!has(&with, Quantity::SameCache, 22.5));
    }

    /// Near the knee of a spin lock the beginning decides; a queue forgets it.
    #[test]
    fn a_spin_lock_can_stay_overloaded_and_a_queue_cannot() {
        let machine = Machine::parse("cascade-lake-96").unwrap();
        let of = |workers, lock| {
            let setting = Setting::new(workers, lock, Batch::Workers);
            predict(&machine, &Job::new(setting, 262_144), Active::All).unwrap()
        };
        let spin = of(46, LockKind::Tas);
        let [at_once, apart] = spin.states(PoolResult::gb_per_cpu_s).unwrap();
        assert!(apart > 1.3 * at_once, "{at_once} {apart}");
        let shown = spin.of(PoolResult::gb_per_cpu_s);
        assert!(shown.low <= at_once && apart <= shown.high, "{shown:?}");
        assert_eq!(of(46, LockKind::Mcs).settled, None);
        assert_eq!(of(12, LockKind::Tas).settled, None);
    }

    #[test]
    fn what_a_lock_depends_on_is_varied() {
        let machine = Machine::parse("cascade-lake-96").unwrap();
        let of = |workers, lock| neighbours(&machine, &Setting::new(workers, lock, Batch::One));
        for (lock, quantity, value) in [
            (LockKind::Ticket, Quantity::LoadShare, 0.05),
            (LockKind::Ticket, Quantity::LoadShare, 0.3),
            (LockKind::Tas, Quantity::NoticeShare, 0.2),
            (LockKind::Ttas, Quantity::BackoffCap, 1.0),
            (LockKind::Ttas, Quantity::BackoffCap, 32.0),
            (LockKind::Mutex, Quantity::Park, 2_100.0),
            (LockKind::Mutex, Quantity::Wake, 2_700.0),
            (LockKind::Mutex, Quantity::Turnaround, 50_000.0),
        ] {
            assert!(has(&of(12, lock), quantity, value), "{lock} {quantity:?}");
        }
        assert!(!has(&of(2, LockKind::Ticket), Quantity::LoadShare, 0.3));
        assert!(!has(&of(12, LockKind::Tas), Quantity::BackoffCap, 32.0));
    }

    /// Every computer says how sure its costs of locks are.
    #[test]
    fn what_a_lock_depends_on_has_an_interval_on_every_computer() {
        use Quantity::{BackoffCap, LoadShare, Park, Turnaround, Wake};
        for preset in crate::presets() {
            for quantity in [LoadShare, BackoffCap, Park, Wake, Turnaround] {
                let machine = preset.machine();
                let figure = machine.figure(quantity).unwrap();
                assert!(figure.low < figure.high, "{} {quantity:?}", preset.name);
            }
        }
    }
}
