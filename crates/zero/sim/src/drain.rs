//! One backlog, drained from begin to end.

use punctual_program::Refusal;
use punctual_sim::Time;
use punctual_zero_pool::suspending::Pool;
use punctual_zero_pool::{Accounting, Setting};

use super::computer::{SimComputer, Task};
use super::costs::Costs;
use super::machine::Machine;
use super::preemption::Preemption;
use super::world::World;

/// What a pool is to do, besides its setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) pages: u64,
    pub(crate) preemption: Option<Preemption>,
    pub(crate) seed: u64,
    pub(crate) most_operations: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drained {
    pub(crate) times: Times,
    pub(crate) operations: u64,
    /// In nanoseconds, sorted.
    pub(crate) waits: Vec<u64>,
    pub(crate) holds: Vec<u64>,
}

/// The sums of a backlog. All grow with the number of pages, so that what a part
/// of a backlog takes can be counted up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Times {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    pub(crate) zeroing: f64,
    pub(crate) hold: f64,
    pub(crate) wait: f64,
    pub(crate) parked: f64,
    pub(crate) lost: f64,
    pub(crate) acquisitions: f64,
}

/// Each of the samples of waits and holds is kept up to here.
const ROOM: usize = 1 << 16;

/// Drains a backlog.
///
/// # Errors
/// There can be no such pool, or it takes more operations than it may.
pub(crate) fn drain(
    machine: &Machine,
    setting: &Setting,
    order: &Order,
) -> Result<Drained, Refusal> {
    setting.check().map_err(Refusal::new)?;
    let workers = setting.workers;
    let costs = Costs::new(machine, workers, setting.lock)?;
    let world = World::new(
        costs,
        workers,
        order.pages,
        order.preemption,
        order.seed,
        order.most_operations,
    );
    let computer = SimComputer::new(world);
    let pool = Pool::new(&computer, setting, order.pages).map_err(Refusal::new)?;
    let mut accounting: Vec<_> = (0..workers)
        .map(|_| Accounting::new(1, ROOM / workers))
        .collect();
    let tasks = accounting.iter_mut().enumerate();
    let tasks =
        tasks.map(|(worker, accounting)| Box::pin(pool.work(worker, accounting)) as Task<'_>);
    computer.run(tasks.collect())?;
    Ok(Drained::new(&computer.world(), &accounting))
}

impl Drained {
    fn new(world: &World, accounting: &[Accounting]) -> Self {
        let mut times = Times::default();
        let begun = world.accounts().map(|account| account.begun).min();
        let begun = begun.unwrap_or(Time::ZERO);
        for account in world.accounts() {
            times.wall = times.wall.max(ns(account.ended - begun));
            times.cpu += ns(account.cpu());
            times.zeroing += ns(account.zeroing);
            times.parked += ns(account.parked);
            times.lost += ns(account.lost);
        }
        for accounting in accounting {
            times.hold += accounting.hold.as_ns() as f64;
            times.wait += accounting.wait.as_ns() as f64;
            times.acquisitions += accounting.acquisitions as f64;
        }
        let sorted = |of: fn(&Accounting) -> &Vec<u64>| {
            let mut all: Vec<_> = accounting
                .iter()
                .flat_map(|accounting| of(accounting).iter().copied())
                .collect();
            all.sort_unstable();
            all
        };
        Self {
            times,
            operations: world.operations(),
            waits: sorted(|accounting| &accounting.waits),
            holds: sorted(|accounting| &accounting.holds),
        }
    }
}

impl Times {
    /// This and `times` as much as `other` has more than this.
    pub(crate) fn extrapolate(&self, other: &Self, times: f64) -> Self {
        let far = |near: f64, far: f64| near + (far - near) * times;
        Self {
            wall: far(self.wall, other.wall),
            cpu: far(self.cpu, other.cpu),
            zeroing: far(self.zeroing, other.zeroing),
            hold: far(self.hold, other.hold),
            wait: far(self.wait, other.wait),
            parked: far(self.parked, other.parked),
            lost: far(self.lost, other.lost),
            acquisitions: far(self.acquisitions, other.acquisitions),
        }
    }
}

fn ns(time: Time) -> f64 {
    time.as_thirds() as f64 / 3.0
}
