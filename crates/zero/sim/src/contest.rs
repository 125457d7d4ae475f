//! Workers that want one lock again and again, and zero nothing: what papers on
//! locks measure.

use std::cell::RefCell;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_sim::Random;
use punctual_sim::Time;
use punctual_zero_pool::LockKind;
use punctual_zero_pool::suspending::{AnyLock, Computer, Lock};

use super::computer::{SimComputer, Task};
use super::costs::Costs;
use super::machine::Machine;
use super::mutex::ParkingMcs;
use super::world::World;

/// A contest for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    /// How many workers want it.
    pub workers: usize,
    /// The lock.
    pub lock: ContestLock,
    /// How long each holds it.
    pub section: Nanos,
    /// How long each does something else before it wants it again, a tenth more or
    /// less.
    pub away: Nanos,
    /// How long they go on. The first quarter does not count.
    pub length: Nanos,
    /// The seed of all chance.
    pub seed: u64,
}

/// A lock in a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContestLock {
    /// One that pools have too. ([`LockKind::Counter`] is none.)
    Of(LockKind),
    /// A queue whose waiters sleep when they have spun for a while.
    ParkingMcs,
}

/// The most operations of a contest: a minute or so.
const MOST_OPERATIONS: u64 = 1 << 28;

impl Contest {
    /// How often the lock is taken in a second.
    ///
    /// # Errors
    /// There are more workers than CPUs, or no lock, or it takes too long.
    pub fn takes_per_s(&self, machine: &Machine) -> Result<f64, Refusal> {
        if self.workers == 0 {
            return Err(Refusal::new("a contest needs one worker at least"));
        }
        let kind = match self.lock {
            ContestLock::Of(kind) => kind,
            ContestLock::ParkingMcs => LockKind::Mcs,
        };
        let costs = Costs::new(machine, self.workers, kind)?;
        let world = World::new(costs, self.workers, 0, None, self.seed, MOST_OPERATIONS);
        let computer = SimComputer::new(world);
        let takes = match self.lock {
            ContestLock::ParkingMcs => {
                let lock = ParkingMcs::new(&computer, self.workers);
                self.run(&computer, &lock)?
            }
            ContestLock::Of(kind) => {
                let lock = AnyLock::new(kind, &computer, self.workers);
                let lock =
                    lock.ok_or_else(|| Refusal::new("a counter is no lock; give another"))?;
                self.run(&computer, &lock)?
            }
        };
        let counted = self.length - self.warm_up();
        Ok(takes as f64 / counted.as_secs_f64())
    }

    fn warm_up(&self) -> Nanos {
        Nanos::new(self.length.as_ns() / 4)
    }

    fn run(&self, computer: &SimComputer, lock: &impl Lock) -> Result<u64, Refusal> {
        let takes = RefCell::new(0);
        let workers = (0..self.workers)
            .map(|worker| Box::pin(self.work(worker, computer, lock, &takes)) as Task<'_>);
        computer.run(workers.collect())?;
        Ok(takes.into_inner())
    }

    async fn work(
        &self,
        worker: usize,
        computer: &SimComputer,
        lock: &impl Lock,
        takes: &RefCell<u64>,
    ) {
        let mut random = Random::new(self.seed.wrapping_add(worker as u64));
        let tenth = Time::from(self.away).as_thirds() / 10;
        while computer.now() < self.length {
            let more = random.below(Time::from_thirds(2 * tenth));
            let away = Time::from(self.away) - Time::from_thirds(tenth) + more;
            computer.pause(Nanos::new(away.floor_ns())).await;
            lock.section(worker, async || {
                computer.overhead().await;
                computer.pause(self.section).await;
            })
            .await;
            let now = computer.now();
            if (self.warm_up()..self.length).contains(&now) {
                *takes.borrow_mut() += 1;
            }
        }
    }
}
