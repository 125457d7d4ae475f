//! A grid of pools on a simulated computer, and the closed form beside it.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_record::{MachineFacts, Run, Value, Warning};
use punctual_zero_pool::{Batch, Dequeue, LockKind, Passing, Setting, SimulatedOn};
use punctual_zero_sim::chain::{Chain, HandOff};
use punctual_zero_sim::{
    Active, Bursts, Job, Machine, PoolResult, Prediction, Preemption, Quantity, Unit, predict,
};

use crate::rows::{Arrivals, PAGE_BYTES, PoolOf, Simulated, Spread, ZeroRow, ZeroedPages, Zeroing};

/// Simulates a job, and the same job with slightly different unknowns. The measurement states how
/// much of it was really done, and the value of the closed form, where it has one.
///
/// # Errors
/// As [`predict`].
pub fn measure(machine: &Machine, job: &Job) -> Result<ZeroRow, Refusal> {
    let prediction = predict(machine, job, Active::All)?;
    let zeroed = of_prediction(machine, job, &prediction);
    Ok(ZeroRow::pool(job.setting.lock, zeroed))
}

/// The same for pages that arrive all the time, so many GB in a second. All workers start at
/// intervals for the arrived pages. One burst is measured, once each is like the one before. The
/// measurement has the share of time in bursts, the mean number of busy CPUs, and whether the
/// workers keep up.
///
/// # Errors
/// As [`Bursts::simulate`].
pub fn measure_bursts(
    machine: &Machine,
    job: &Job,
    gb_per_s: f64,
    every: Nanos,
) -> Result<ZeroRow, Refusal> {
    let bursts = Bursts {
        pages_per_s: gb_per_s * 1e9 / PAGE,
        every,
    };
    let bursty = bursts.simulate(machine, job)?;
    let job = Job {
        pages: bursty.burst.pages,
        ..*job
    };
    let prediction = predict(machine, &job, Active::All)?;
    let mut zeroed = of_prediction(machine, &job, &prediction);
    zeroed.pool.arrivals = Arrivals::Burst;
    zeroed.pool.every_ns = Some(every.as_ns());
    zeroed.pool.arrive_gb_per_s = Some(gb_per_s);
    zeroed.simulated.duty = Some(bursty.duty());
    zeroed.simulated.busy_cpus = Some(bursty.cpus());
    zeroed.simulated.keeps_up = Some(bursty.keeps_up);
    Ok(ZeroRow::pool(job.setting.lock, zeroed))
}

/// How long it takes to simulate a pool beside others: about as long for each worker, and
/// something for the pool.
pub fn effort(setting: &Setting) -> f64 {
    setting.workers as f64 + 3.0
}

/// The Run of a `command` that had these results on `machine`.
pub fn run(machine: &Machine, results: Vec<ZeroRow>, command: String) -> Run<ZeroRow> {
    Run {
        machine: machine_facts(machine),
        warnings: warnings(&results),
        results,
        ..Run::new(command)
    }
}

/// The warnings that these deserve: pools that do not keep up with what arrives.
fn warnings(results: &[ZeroRow]) -> Vec<Warning> {
    let zeroed = results.iter().filter_map(ZeroRow::zeroed);
    let behind = zeroed.filter(|zeroed| zeroed.simulated.keeps_up == Some(false));
    let behind = behind.count();
    if behind == 0 {
        return vec![];
    }
    vec![Warning::new(
        format!(
            "Pages arrive faster than they are zeroed by {behind} of {} pools: each of their bursts would be longer than \
             the one before, and what is told is one of the longest that was tried.",
            results.len()
        ),
        "Let fewer GB arrive, or give larger batches, another lock or another number of threads.",
    )]
}

pub(super) fn of_prediction(machine: &Machine, job: &Job, prediction: &Prediction) -> ZeroedPages {
    let locks = machine.not_validated(&job.setting);
    ZeroedPages {
        simulated: Simulated {
            simulated_pages: Some(prediction.central.simulated_pages),
            not_validated: locks.iter().map(ToString::to_string).collect(),
            states_gb_per_cpu_s: prediction.states(PoolResult::gb_per_cpu_s),
            chain_gb_per_cpu_s: chain(machine, &job.setting),
            ..Simulated::default()
        },
        ..ZeroedPages::of(pool(machine, job), zeroing(prediction))
    }
}

/// The facts of a simulated computer, for its Run.
pub fn machine_facts(machine: &Machine) -> MachineFacts {
    let matrix = machine.matrix();
    // The figures of the preset do not apply then.
    let figures = machine
        .figures()
        .filter(|(quantity, _)| matrix.is_none() || !quantity.is_distance());
    let figures = figures.map(|(quantity, figure)| {
        let unit = match quantity.unit() {
            Unit::Ns => "_ns",
            Unit::GbPerS => "_gb_per_s",
            Unit::Share => "",
        };
        let key = quantity.key().replace('-', "_") + unit;
        (key, Value::from(figure.value))
    });
    let of_matrix = matrix.into_iter().flat_map(|matrix| {
        let (from, to, ns) = matrix.slowest();
        let facts: [(&str, Value); 4] = [
            ("matrix_cpus", matrix.cpus().into()),
            ("matrix_mean_ns", matrix.mean_ns().into()),
            ("matrix_slowest_ns", ns.into()),
            ("matrix_slowest_pair", vec![from, to].into()),
        ];
        facts.map(|(key, value)| (key.to_owned(), value))
    });
    MachineFacts {
        name: machine.name.to_string(),
        os: format!("simulated: {}", machine.what),
        clock: "virtual time".to_owned(),
        cpu_time: "exact".to_owned(),
        other: figures.chain(of_matrix).collect(),
        ..MachineFacts::default()
    }
}

fn pool(machine: &Machine, job: &Job) -> PoolOf {
    let preemption = |of: fn(Preemption) -> Nanos| job.preemption.map(|p| of(p).as_ns());
    PoolOf {
        on: Some(machine.name.to_string()),
        arrivals: Arrivals::Closed,
        // The memory and kernel of the figures of simulated computers.
        memory: "cold".to_owned(),
        kernel: "memset".to_owned(),
        bytes: job.pages * PAGE_BYTES,
        preempted_every_ns: preemption(|p| p.every),
        preempted_for_ns: preemption(|p| p.length),
        ..PoolOf::of(&job.setting)
    }
}

fn zeroing(prediction: &Prediction) -> Zeroing {
    let outcome = &prediction.central;
    let off = (outcome.parked + outcome.lost).as_secs_f64();
    let of_all = outcome.wall.as_secs_f64() * outcome.setting.workers as f64;
    Zeroing {
        pages: outcome.pages,
        wall_gb_per_s: prediction.of(PoolResult::wall_gb_per_s),
        gb_per_cpu_s: prediction.of(PoolResult::gb_per_cpu_s),
        gib_per_cpu_s: outcome.gib_per_cpu_s(),
        cpu: outcome.split,
        parked_share: off / of_all,
        wait_ns: Spread::of(outcome.waits_ns.clone()),
        hold_ns: Spread::of(outcome.holds_ns.clone()),
        acquisitions: outcome.acquisitions as f64,
        sampled_every: 1,
        ..Zeroing::default()
    }
}

/// GB per second of CPU time after the closed form (Boyd-Wickizer and others,
/// 2012), fed with the same figures. It knows constant batches and no blocking.
fn chain(machine: &Machine, setting: &Setting) -> Option<f64> {
    let batch = setting.batch.constant(setting.workers as u64)? as f64;
    let pages_per_s = closed_form(machine, setting)?.settle().rate * batch * 1e9;
    Some(pages_per_s * PAGE / 1e9 / setting.workers as f64)
}

pub(super) fn closed_form(machine: &Machine, setting: &Setting) -> Option<Chain> {
    let workers = setting.workers;
    let batch = setting.batch.constant(workers as u64)? as f64;
    if setting.returns.is_some() {
        return None;
    }
    let transfer = machine.mean_transfer_ns(workers).ok()?;
    let queued = transfer * machine.value(Quantity::QueuedShare);
    // Waiting for a line whose requests are served one after the other.
    let hand_off = match setting.lock.facts().passing {
        Passing::Writes => HandOff::PerWaiter { c: queued },
        // The store that releases a ticket lock comes after the reads of all waiters. Between two
        // of these a worker draws a number, which is lost among the reads unless they overlap.
        Passing::Reads => {
            let share = machine.value(Quantity::LoadShare);
            HandOff::Reads {
                first: queued + (1.0 - share).max(0.0) * transfer,
                more: queued * share,
            }
        }
        // The link to the one behind, and its release.
        Passing::Link => HandOff::Constant { c: 2.0 * transfer },
        Passing::Unknown => return None,
    };
    let value = |quantity| machine.value(quantity);
    let zero = value(Quantity::Zero);
    let zeroing = batch * zero;
    // The work for a take continues while stores to pages are on their way.
    let besides = value(Quantity::Turn).max(value(Quantity::Drain));
    let away = zeroing + batch * value(Quantity::Bookkeeping) + besides;
    Some(Chain {
        cores: workers,
        away,
        // A worker that is away needs the memory for only a part of that time.
        abreast: value(Quantity::Bandwidth) * zero / PAGE * away / zeroing,
        // The lock is taken, and the line of the backlog comes from its last owner: to be read,
        // and then to be written.
        section: value(Quantity::Section)
            + value(Quantity::Extra(setting.lock))
            + value(Quantity::Rmw)
            + 2.0 * transfer,
        hand_off,
    })
}

const PAGE: f64 = PAGE_BYTES as f64;

/// The dimensions of a grid. Impossible settings are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The numbers of workers.
    pub threads: Vec<usize>,
    /// The locks.
    pub locks: Vec<LockKind>,
    /// The batches.
    pub batches: Vec<Batch>,
    /// How pages are taken.
    pub dequeue: Dequeue,
    /// The lock of the list of zeroed pages, if there is such a list.
    pub returns: Option<LockKind>,
}

impl Grid {
    /// The usual grid for a simulated computer of so many CPUs. With many CPUs it is smaller,
    /// because contention for a line takes long to simulate.
    pub fn usual(cpus: usize) -> Self {
        use Batch::{Growing, Half, One, TwiceWorkers, Workers};
        let is_large = cpus > LARGE;
        let mut batches = vec![One, Workers, TwiceWorkers, Half, Batch::GUIDED, Growing];
        if is_large {
            batches.retain(|batch| !matches!(batch, TwiceWorkers | Growing));
        }
        Self {
            threads: steps(cpus, if is_large { 4 } else { 2 }),
            locks: usual_locks(is_large),
            batches,
            dequeue: Dequeue::Range,
            returns: None,
        }
    }

    /// Its settings, batch by batch, lock by lock; and of those that cannot be,
    /// why, each reason once.
    pub fn settings(&self) -> (Vec<Setting>, Vec<String>) {
        let (mut settings, mut left_out) = (Vec::new(), Vec::new());
        for &batch in &self.batches {
            for &lock in &self.locks {
                for &workers in &self.threads {
                    let setting = Setting {
                        dequeue: self.dequeue,
                        returns: self.returns,
                        ..Setting::new(workers, lock, batch)
                    };
                    match setting.check() {
                        Ok(()) => settings.push(setting),
                        Err(why) if left_out.contains(&why) => {}
                        Err(why) => left_out.push(why),
                    }
                }
            }
        }
        (settings, left_out)
    }
}

const LARGE: usize = 100;

/// The locks of pools on simulated computers, of large ones or others, if none is named.
fn usual_locks(is_large: bool) -> Vec<LockKind> {
    let usual = |lock: &LockKind| match lock.facts().simulated {
        SimulatedOn::Everywhere => true,
        SimulatedOn::UpTo100Cpus => !is_large,
        SimulatedOn::Nowhere => false,
    };
    LockKind::ALL.into_iter().filter(usual).collect()
}

/// 1, and that many times more each, and the last one.
fn steps(last: usize, factor: usize) -> Vec<usize> {
    let steps = std::iter::successors(Some(1), |n| Some(factor * n));
    // The last step but one is not next to the last.
    let mut numbers: Vec<usize> = steps.take_while(|n| factor * n < 2 * last).collect();
    numbers.push(last);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_sim::{Matrix, System, simulate};

    /// By how much the closed form is above the simulation, as a part of that.
    fn above(machine: &Machine, setting: Setting) -> f64 {
        let simulated = simulate(machine, &Job::new(setting, 100_000)).unwrap();
        chain(machine, &setting).unwrap() / simulated.gb_per_cpu_s() - 1.0
    }

    #[test]
    fn the_closed_form_agrees_with_the_simulation_before_and_in_saturation() {
        for on in [
            "cascade-lake-96,bandwidth=1000",
            "cascade-lake-96,bandwidth=1000,drain=200,turn=500,section=50,ticket=40",
        ] {
            let machine = Machine::parse(on).unwrap();
            for lock in [LockKind::Tas, LockKind::Ticket, LockKind::Mcs] {
                for workers in [1, 12, 24, 39, 96] {
                    let above = above(&machine, Setting::new(workers, lock, Batch::One));
                    assert!(above.abs() < 0.12, "{on} {lock} {workers}: {above}");
                }
            }
        }
    }

    #[test]
    fn bookkeeping_needs_no_memory() {
        let machine = System::parse("windows-10").unwrap().machine();
        let above = above(&machine, Setting::new(39, LockKind::Tas, Batch::Workers));
        assert!(above.abs() < 0.05, "{above}");
    }

    #[test]
    fn a_run_says_which_distances_were_simulated() {
        let machine = Machine::parse("ryzen-7950x-32").unwrap();
        let facts = machine_facts(&machine).other;
        assert_eq!(facts["same_core_ns"], 5.0);
        assert!(!facts.contains_key("matrix_mean_ns"));
        let matrix = Matrix::between(32, |_, _| 40.0).unwrap();
        let facts = machine_facts(&machine.with_matrix(matrix)).other;
        assert_eq!(facts["matrix_mean_ns"], 40.0);
        assert_eq!(
            (&facts["matrix_cpus"], &facts["matrix_slowest_pair"]),
            (&32.into(), &vec![0, 1].into())
        );
        assert_eq!(facts["zero_ns"], 200.0);
        assert!(!facts.keys().any(|key| key.starts_with("same_")));
    }

    #[test]
    fn what_cannot_be_is_left_out_with_a_reason() {
        let grid = Grid {
            threads: vec![1, 2],
            locks: vec![LockKind::Tas, LockKind::Counter],
            batches: vec![Batch::One, Batch::Growing],
            dequeue: Dequeue::Range,
            returns: None,
        };
        let (settings, left_out) = grid.settings();
        assert_eq!(settings.len(), 6);
        assert_eq!(left_out.len(), 1);
        assert!(left_out[0].contains("growing"), "{left_out:?}");
    }

    #[test]
    fn numbers_of_threads_end_with_all_cpus() {
        assert_eq!(steps(96, 2), [1, 2, 4, 8, 16, 32, 64, 96]);
        assert_eq!(steps(256, 4), [1, 4, 16, 64, 256]);
        assert_eq!(steps(272, 4), [1, 4, 16, 64, 272]);
    }
}
