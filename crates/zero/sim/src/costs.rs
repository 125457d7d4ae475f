//! The costs of operations for a number of workers, in the simulator's own unit.

use std::ops::Index;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_sim::Time;
use punctual_zero_pool::LockKind;

use super::machine::Machine;
use super::quantity::Quantity;

pub(crate) const PAGE_BYTES: f64 = 4_096.0;

/// The costs of operations if each worker has a CPU of its own.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    pub(crate) workers: usize,
    /// In thirds of a nanosecond, from one worker to another, row by row: for a
    /// line that is free, and for who had to queue.
    transfer: Vec<[u64; 2]>,
    pub(crate) mean_transfer: Nanos,
    lengths: [Time; Quantity::ALL.len()],
    shares: [f64; Quantity::ALL.len()],
    pub(crate) posts: bool,
    /// For pages in the cache of another core, where that makes a difference.
    pub(crate) zero_remote: Option<Time>,
    /// How many can zero at full speed.
    pub(crate) abreast: f64,
    /// The cost of a take besides the pool's own work, under the lock.
    pub(crate) overhead: Time,
}

/// A length of time.
impl Index<Quantity> for Costs {
    type Output = Time;

    fn index(&self, quantity: Quantity) -> &Time {
        &self.lengths[quantity.index()]
    }
}

impl Costs {
    /// The costs of so many workers under a lock.
    pub(crate) fn new(machine: &Machine, workers: usize, lock: LockKind) -> Result<Self, Refusal> {
        machine.check()?;
        let cpus = machine.topology.placement(workers)?;
        let share = machine.value(Quantity::QueuedShare);
        let pairs = cpus
            .iter()
            .flat_map(|&from| cpus.iter().map(move |&to| (from, to)));
        let transfer = pairs.map(|(from, to)| {
            let ns = machine.transfer_ns(from, to);
            [ns, ns * share].map(|ns| time(ns).as_thirds())
        });
        let shares = Quantity::ALL.map(|quantity| machine.value(quantity));
        let lengths = shares.map(time);
        let mean_ns = machine.mean_transfer_ns(workers)?;
        let zero_remote = machine.figure(Quantity::ZeroRemote);
        Ok(Self {
            workers,
            transfer: transfer.collect(),
            mean_transfer: Nanos::new(mean_ns.round() as u64),
            posts: machine.value(Quantity::Posted) >= 0.5,
            zero_remote: zero_remote.map(|figure| time(figure.value)),
            // Bytes in a nanosecond are GB in a second.
            abreast: machine.value(Quantity::Bandwidth) * machine.value(Quantity::Zero)
                / PAGE_BYTES,
            overhead: time(machine.value(Quantity::Section))
                + time(machine.value(Quantity::Extra(lock))),
            lengths,
            shares,
        })
    }

    /// A share of 1.
    pub(crate) fn share(&self, quantity: Quantity) -> f64 {
        self.shares[quantity.index()]
    }

    /// The time a line takes from one worker to another, in thirds of a nanosecond.
    pub(crate) fn transfer(&self, from: usize, to: usize, has_queued: bool) -> u64 {
        self.transfer[from * self.workers + to][usize::from(has_queued)]
    }
}

/// Nanoseconds, to the nearest third.
pub(crate) fn time(ns: f64) -> Time {
    Time::from_thirds((ns * 3.0 + 0.5) as u64)
}
