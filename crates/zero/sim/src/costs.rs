//! What things cost on a computer, in the simulator's own unit.

use punctual_program::Refusal;
use punctual_sim::Time;
use punctual_zero_pool::LockKind;

use super::machine::Machine;
use super::quantity::Quantity;

/// What operations of so many workers cost, each on a CPU of its own.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    workers: usize,
    /// In thirds of a nanosecond, from one worker to another, row by row: for a
    /// line that is free, and for who had to queue.
    transfer: Vec<[u64; 2]>,
    /// The parts of a transfer that reading takes, and writing where there is a
    /// copy, and after which the line is out of its owner's reach.
    pub(crate) load_share: f64,
    pub(crate) upgrade_share: f64,
    pub(crate) notice_share: f64,
    pub(crate) overtakes: f64,
    /// Whether stores are posted.
    pub(crate) posts: bool,
    pub(crate) look: Time,
    pub(crate) hit: Time,
    pub(crate) rmw: Time,
    pub(crate) miss: Time,
    pub(crate) relax: Time,
    pub(crate) zero: Time,
    /// For pages in the cache of another core, where that makes a difference.
    pub(crate) zero_remote: Option<Time>,
    /// Zeroing takes so much longer or shorter at most.
    pub(crate) jitter: f64,
    /// How long after zeroing its stores are on their way.
    pub(crate) drain: Time,
    /// How many can zero at full speed.
    pub(crate) abreast: f64,
    pub(crate) bookkeeping: Time,
    /// What a take costs besides what the pool does, outside the lock and under it.
    pub(crate) turn: Time,
    pub(crate) overhead: Time,
    pub(crate) park: Time,
    pub(crate) wake: Time,
    pub(crate) turnaround: Time,
    pub(crate) spread: Time,
}

/// A page.
pub(crate) const PAGE_BYTES: f64 = 4_096.0;

impl Costs {
    /// The costs of so many workers under a lock.
    ///
    /// # Errors
    /// There are more workers than CPUs, or too little is known of the computer.
    pub(crate) fn new(machine: &Machine, workers: usize, lock: LockKind) -> Result<Self, Refusal> {
        machine.check()?;
        let cpus = machine.topology().placement(workers)?;
        let share = machine.value(Quantity::QueuedShare);
        let pairs = cpus
            .iter()
            .flat_map(|&from| cpus.iter().map(move |&to| (from, to)));
        let transfer = pairs.map(|(from, to)| {
            let ns = machine.transfer_ns(from, to);
            [ns, ns * share].map(|ns| time(ns).as_thirds())
        });
        let length = |quantity| time(machine.value(quantity));
        let zero_ns = machine.value(Quantity::Zero);
        Ok(Self {
            workers,
            transfer: transfer.collect(),
            load_share: machine.value(Quantity::LoadShare),
            upgrade_share: machine.value(Quantity::UpgradeShare),
            notice_share: machine.value(Quantity::NoticeShare),
            overtakes: machine.value(Quantity::Overtakes),
            posts: machine.value(Quantity::Posted) >= 0.5,
            look: length(Quantity::Look),
            hit: length(Quantity::Hit),
            rmw: length(Quantity::Rmw),
            miss: length(Quantity::Miss),
            relax: length(Quantity::Relax),
            zero: length(Quantity::Zero),
            zero_remote: machine
                .figure(Quantity::ZeroRemote)
                .map(|figure| time(figure.value)),
            jitter: machine.value(Quantity::Jitter),
            drain: length(Quantity::Drain),
            // Bytes in a nanosecond are GB in a second.
            abreast: machine.value(Quantity::Bandwidth) * zero_ns / PAGE_BYTES,
            bookkeeping: length(Quantity::Bookkeeping),
            turn: length(Quantity::Turn),
            overhead: length(Quantity::Section) + length(Quantity::extra(lock)),
            park: length(Quantity::Park),
            wake: length(Quantity::Wake),
            turnaround: length(Quantity::Turnaround),
            spread: length(Quantity::Spread),
        })
    }

    /// What a line takes from one worker to another, in thirds of a nanosecond.
    pub(crate) fn transfer(&self, from: usize, to: usize, has_queued: bool) -> u64 {
        self.transfer[from * self.workers + to][usize::from(has_queued)]
    }
}

/// Nanoseconds, to the nearest third.
pub(crate) fn time(ns: f64) -> Time {
    Time::from_thirds((ns * 3.0 + 0.5) as u64)
}
