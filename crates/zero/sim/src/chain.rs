//! Workers that want one lock again and again and zero nothing, as in papers on locks; and the
//! closed form beside the simulation: a birth-death chain over the number of workers that hold or
//! want the lock.
//!
//! Boyd-Wickizer, Kaashoek, Morris and Zeldovich, "Non-scalable locks are dangerous" (Linux
//! Symposium 2012). With `k` of `n` cores at the lock, the others come at a rate of `(n - k) / a`.
//! The lock is handed on at a rate that depends on `k`. All times are as if drawn from exponential
//! distributions. Real ones are not: real collapse is sharper.

use std::cell::RefCell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_sim::{Random, Time};
use punctual_zero_pool::LockKind;
use punctual_zero_pool::suspending::{AnyLock, Computer, Line, Lock};

use super::computer::{LOOKS, SimComputer, SimLine, Task};
use super::costs::Costs;
use super::machine::Machine;
use super::world::World;

/// How long the lock is with one holder, from hand-off to hand-off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandOff {
    /// `s + c k` with `k` at the lock, holder included: the product in the
    /// paper's closed form. (In its text the next holder is served half-way.)
    Product {
        /// The time to answer one request for the line.
        c: f64,
    },
    /// `s + c k` with `k` waiting: each waiter delays the hand-off by the same.
    PerWaiter {
        /// By how much.
        c: f64,
    },
    /// `s + first + more (k - 1)` with `k` waiting: all waiters read one line again, and the reads
    /// after the first may overlap.
    Reads {
        /// The first read.
        first: f64,
        /// The time that each other read adds.
        more: f64,
    },
    /// `s`, and `c` more if anybody waits: a queued lock.
    Constant {
        /// The time to pass the lock on.
        c: f64,
    },
}

/// A pool, or any group of cores at one lock. All times are in one unit, for
/// which any will do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// Cores.
    pub cores: usize,
    /// Mean time that a core is away from the lock.
    pub away: f64,
    /// How many can be away at that speed; if there are more, each takes longer
    /// in proportion. Infinite where nothing but the lock is shared.
    pub abreast: f64,
    /// Time that the lock is held.
    pub section: f64,
    /// How waiting workers lengthen it.
    pub hand_off: HandOff,
}

/// The steady state of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// How likely it is that so many hold or want the lock.
    pub at_lock: Vec<f64>,
    /// How often the lock is taken in a unit of time.
    pub rate: f64,
}

impl Chain {
    /// Solves the chain. The probabilities are made of the ratios of
    /// neighbours and normalised on the way, so that nothing overflows however
    /// many cores there are.
    pub fn settle(&self) -> Settled {
        // Beside a weight this large, the earlier ones are negligible.
        const LARGE: f64 = 1e200;
        let mut at_lock = vec![1.0];
        let mut last = 1.0;
        for k in 1..=self.cores {
            last *= self.arrivals(k - 1) * self.service(k);
            at_lock.push(last);
            if last > LARGE {
                at_lock.iter_mut().for_each(|p| *p /= LARGE);
                last /= LARGE;
            }
        }
        let sum: f64 = at_lock.iter().sum();
        at_lock.iter_mut().for_each(|p| *p /= sum);
        let rates = at_lock.iter().enumerate().skip(1);
        let rate = rates.map(|(k, p)| p / self.service(k)).sum();
        Settled { at_lock, rate }
    }

    /// How often a worker requests the lock while `k` are at it.
    fn arrivals(&self, k: usize) -> f64 {
        let away = (self.cores - k) as f64;
        let slowed = if away > self.abreast {
            self.abreast
        } else {
            away
        };
        slowed / self.away
    }

    /// How long until one of the `k` at the lock leaves it; of one at least.
    pub fn service(&self, k: usize) -> f64 {
        let waiting = (k - 1) as f64;
        self.section
            + match self.hand_off {
                HandOff::Product { c } => c * k as f64,
                HandOff::PerWaiter { c } => c * waiting,
                HandOff::Constant { .. } | HandOff::Reads { .. } if k == 1 => 0.0,
                HandOff::Reads { first, more } => first + more * (waiting - 1.0),
                HandOff::Constant { c } => c,
            }
    }
}

impl Settled {
    /// How many hold or want the lock, on average.
    pub fn mean_at_lock(&self) -> f64 {
        let each = self.at_lock.iter().enumerate();
        each.map(|(k, p)| k as f64 * p).sum()
    }

    /// The share of all cores' time that is spent waiting. A hand-off counts as service, not as
    /// waiting: the lock always has an owner.
    pub fn waiting(&self) -> f64 {
        let cores = (self.at_lock.len() - 1) as f64;
        let busy = 1.0 - self.at_lock[0];
        (self.mean_at_lock() - busy) / cores
    }

    /// How many cores are away from the lock, on average: the paper's speed-up,
    /// before it is divided by that of one core.
    pub fn away(&self) -> f64 {
        (self.at_lock.len() - 1) as f64 - self.mean_at_lock()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(got: f64, expected: f64, percent: f64) {
        assert!(
            (got / expected - 1.0).abs() <= percent / 100.0,
            "{got}, not {expected}"
        );
    }

    /// GB/s, GB per CPU-second and share of waiting of a pool that zeroes
    /// `batch` pages at a time, as in the prediction of facts 2.2: 100 ns
    /// of section, 300 ns a page and core, at most 80 GB/s.
    fn pool(cores: usize, batch: f64, hand_off: HandOff) -> [f64; 3] {
        let settled = Chain {
            cores,
            away: 300.0 * batch,
            abreast: 80.0 * 300.0 / 4_096.0,
            section: 100.0,
            hand_off,
        }
        .settle();
        let wall = settled.rate * batch * 4_096.0;
        [wall, wall / cores as f64, settled.waiting()]
    }

    const TAS: HandOff = HandOff::PerWaiter { c: 65.0 };
    const MCS: HandOff = HandOff::Constant { c: 200.0 };

    #[test]
    fn the_prediction_comes_out_as_it_is_written_down() {
        for (cores, hand_off, [wall, per_cpu, waiting]) in [
            (1, TAS, [10.2, 10.2, 0.0]),
            (2, TAS, [17.9, 9.0, 0.09]),
            (4, TAS, [19.2, 4.8, 0.42]),
            (8, TAS, [8.0, 1.0, 0.80]),
            (12, TAS, [5.2, 0.43, 0.89]),
            (39, TAS, [1.6, 0.041, 0.97]),
            (96, TAS, [0.65, 0.0068, 0.989]),
            (128, TAS, [0.49, 0.0038, 0.992]),
            (272, TAS, [0.23, 0.000_85, 0.996]),
            (2, MCS, [15.6, 7.8, 0.14]),
            (4, MCS, [14.7, 3.7, 0.49]),
            (8, MCS, [13.7, 1.7, 0.75]),
            (12, MCS, [13.7, 1.14, 0.83]),
            (39, MCS, [13.7, 0.35, 0.95]),
            (272, MCS, [13.7, 0.050, 0.99]),
        ] {
            let got = pool(cores, 1.0, hand_off);
            is_near(got[0], wall, 3.0);
            is_near(got[1], per_cpu, 3.0);
            assert!((got[2] - waiting).abs() < 0.011, "{cores}: {got:?}");
        }
    }

    #[test]
    fn with_as_many_pages_as_workers_the_memory_is_the_limit() {
        for (cores, least, most) in [(4, 44.0, 48.0), (8, 74.0, 78.0), (12, 79.0, 80.1)] {
            for hand_off in [TAS, MCS] {
                let [wall, _, waiting] = pool(cores, cores as f64, hand_off);
                assert!((least..=most).contains(&wall), "{cores}: {wall}");
                assert!(waiting < 0.09, "{cores}: {waiting}");
            }
        }
    }

    #[test]
    fn hundreds_of_cores_do_not_overflow() {
        let settled = Chain {
            cores: 1_024,
            away: 1.0,
            abreast: f64::INFINITY,
            section: 1e6,
            hand_off: HandOff::Product { c: 1e6 },
        }
        .settle();
        assert!((settled.at_lock.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        is_near(settled.rate, 1.0 / 1.025e9, 0.1);
    }
}
