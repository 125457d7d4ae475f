//! Workers that want one lock again and again, and zero nothing: what papers on
//! locks measure.

use std::cell::RefCell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_sim::{Random, Time};
use punctual_zero_pool::LockKind;
use punctual_zero_pool::suspending::{AnyLock, Computer, Line, Lock};

use super::computer::{LOOKS, SimComputer, SimLine, Task};
use super::machine::Machine;
use super::quantity::Costs;
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
        let world = World::new(costs, 0, None, self.seed, MOST_OPERATIONS);
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

/// An MCS lock where a waiter that has spun for a while gives up its CPU. Each hand-over of
/// that may cost a wake-up, with everybody else waiting for it; no pool has it, it is
/// here because others have measured it.
#[derive(Debug)]
struct ParkingMcs {
    tail: SimLine,
    nodes: Vec<SimLine>,
    computer: SimComputer,
}

const NEXT: usize = 0;
const STATE: usize = 1;

const GOES: u64 = 0;
const SPINS: u64 = 1;
const SLEEPS: u64 = 2;

impl ParkingMcs {
    fn new(computer: &SimComputer, workers: usize) -> Self {
        Self {
            tail: computer.line([0; 4]),
            nodes: (0..workers).map(|_| computer.line([0; 4])).collect(),
            computer: computer.clone(),
        }
    }

    fn node(&self, number: u64) -> &SimLine {
        &self.nodes[number as usize - 1]
    }

    async fn acquire(&self, mine: u64) {
        let node = self.node(mine);
        node.store(NEXT, 0, Relaxed).await;
        node.store(STATE, SPINS, Relaxed).await;
        let before = self.tail.swap(0, mine, AcqRel).await;
        if before != 0 {
            self.node(before).store(NEXT, mine, Release).await;
            self.wait(node).await;
        }
    }

    async fn wait(&self, node: &SimLine) {
        for _ in 0..LOOKS {
            if node.load(STATE, Acquire).await == GOES {
                return;
            }
            self.computer.relax().await;
        }
        if node.exchange(STATE, SPINS, SLEEPS, Acquire).await.is_ok() {
            node.park(STATE, SLEEPS).await;
        }
    }

    async fn release(&self, mine: u64) {
        let node = self.node(mine);
        let mut behind = node.load(NEXT, Acquire).await;
        if behind == 0 {
            if self.tail.exchange(0, mine, 0, Release).await.is_ok() {
                return;
            }
            behind = node.wait_while(NEXT, 0).await;
        }
        let next = self.node(behind);
        if next.swap(STATE, GOES, Release).await == SLEEPS {
            next.wake().await;
        }
    }
}

impl Lock for ParkingMcs {
    async fn section<R>(&self, worker: usize, inside: impl AsyncFnOnce() -> R) -> R {
        let mine = worker as u64 + 1;
        self.acquire(mine).await;
        let result = inside().await;
        self.release(mine).await;
        result
    }
}
