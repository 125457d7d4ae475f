//! The states of each worker, and where its time goes. Workers zero pages in memory that several
//! write at once, and give up or lose their CPUs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_sim::{Random, Time};

use super::super::lines::{Access, Request};
use super::super::quantity::Quantity;
use super::World;

/// How CPUs are taken away for a while, as by a hypervisor from a guest. The guest does not know
/// of it, even if it holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemption {
    /// How often each CPU is, each at its own time; not zero.
    pub every: Nanos,
    /// For how long; less than that.
    pub length: Nanos,
}

impl Preemption {
    /// Whether CPUs can be taken away like this.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.length < self.every {
            return Ok(());
        }
        Err(Refusal::new(format!(
            "a CPU that is taken away every {} for {} is never there: it must be for less than how often it is",
            self.every, self.length
        )))
    }
}

#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) doing: Doing,
    pub(super) answer: u64,
    pub(super) losses: Losses,
    pub(super) account: Account,
    /// When the stores to the pages that it zeroed last are done.
    pub(super) drained: Time,
    /// Stores that are not done, the oldest first.
    pub(super) stores: VecDeque<Posted>,
    /// Its next wish after the stores are done.
    pub(super) then: Option<Wanted>,
    /// Whether it has taken pages since it last zeroed some.
    pub(super) has_taken: bool,
}

/// A store that is not done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) line: usize,
    pub(super) request: Request,
    /// Whether the line is on its way.
    pub(super) asked: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Doing {
    /// It does something that takes as long as its timer says.
    #[default]
    Works,
    /// It wants a line. If it is served, its timer says when it has it.
    Wants(usize),
    /// It spins on its copy of a line, until that is taken away.
    Spins,
    /// It has lost its copy of a line and its CPU, and asks again when it has the
    /// CPU back.
    AsksAgain(usize, Request),
    /// It waits until its stores are done.
    Drains,
    /// It zeroes so many pages since then.
    Zeroes(u64, Time),
    /// It gives up its CPU, and has done so from then on.
    Parks(Time),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) begun: Time,
    pub(crate) ended: Time,
    pub(crate) zeroing: Time,
    /// Off the CPU by its own will.
    pub(crate) parked: Time,
    /// Off the CPU because another thread had it.
    pub(crate) lost: Time,
}

impl Account {
    /// The CPU time of the worker, as it is billed: who takes the CPU away does
    /// not say so.
    pub(crate) fn cpu(&self) -> Time {
        (self.ended - self.begun) - self.parked
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Access {
        line: usize,
        word: usize,
        access: Access,
    },
    Work(Time),
    Relax,
    Miss,
    Overhead,
    Zero(Range<u64>),
    /// Gives up the CPU if a word is what it is expected to be.
    Park {
        line: usize,
        word: usize,
        expected: u64,
    },
    /// Wakes the first who gave up the CPU for a line.
    Wake(usize),
}

impl World {
    /// A worker gives up its CPU, if a word is as expected. Whether it is done.
    pub(super) fn park(&mut self, worker: usize, line: usize, word: usize, expected: u64) -> bool {
        if self.lines[line].words[word] != expected {
            return self.work(worker, self.costs[Quantity::Park]);
        }
        // Until then the call takes CPU time.
        self.workers[worker].doing = Doing::Parks(self.now + self.costs[Quantity::Park]);
        self.parked.push((line, worker));
        false
    }

    /// Wakes the first who gave up its CPU for a line, if there is anybody.
    pub(super) fn wake(&mut self, line: usize) {
        let Some(at) = self.parked.iter().position(|(of, _)| *of == line) else {
            return;
        };
        let (_, number) = self.parked.remove(at);
        let worker = &mut self.workers[number];
        let Doing::Parks(since) = worker.doing else {
            unreachable!("worker {number} is awake");
        };
        let awake = (self.now + self.costs[Quantity::Turnaround]).max(since);
        worker.account.parked = worker.account.parked + (awake - since);
        // A worker that does not run loses nothing.
        worker.losses.until(awake, false);
        worker.doing = Doing::Works;
        self.timers.insert(number, awake);
    }

    /// A worker zeroes pages. Never done at once.
    pub(super) fn zero(&mut self, worker: usize, pages: &Range<u64>) -> bool {
        let count = pages.end - pages.start;
        let work = match self.costs.zero_remote {
            Some(remote) => {
                let own = self.own(worker, pages);
                self.costs[Quantity::Zero].times(own) + remote.times(count - own)
            }
            None => self.costs[Quantity::Zero].times(count),
        };
        let work = self.jittered(work, count);
        self.workers[worker].doing = Doing::Zeroes(count, self.now);
        self.memory.begin(self.now, worker, work);
        self.watch_memory();
        false
    }

    /// The time for so many pages, this time. Each page differs, and many even out.
    fn jittered(&mut self, length: Time, pages: u64) -> Time {
        let share = self.costs.share(Quantity::Jitter) / (pages.max(1) as f64).sqrt();
        let most = part(length.as_thirds(), share);
        if most == Time::ZERO {
            return length;
        }
        length - most + self.random.below(most + most)
    }

    /// How many of some pages a worker dirtied itself: page `p` was by worker
    /// `p * workers / pages`.
    pub(super) fn own(&self, worker: usize, pages: &Range<u64>) -> u64 {
        let workers = self.workers.len() as u64;
        let first = |worker: u64| (worker * self.pages).div_ceil(workers);
        let start = pages.start.max(first(worker as u64));
        let end = pages.end.min(first(worker as u64 + 1));
        end.saturating_sub(start)
    }

    /// The memory's timer goes off when the next worker has zeroed its pages.
    pub(super) fn watch_memory(&mut self) {
        let number = self.workers.len();
        self.timers.remove(number);
        if let Some(end) = self.memory.next_end() {
            self.timers.insert(number, end);
        }
    }

    /// The worker whose pages are zeroed, which now accounts for them.
    pub(super) fn zeroed(&mut self) -> Option<usize> {
        let worker = self.memory.end(self.now);
        self.watch_memory();
        let Doing::Zeroes(count, since) = self.workers[worker].doing else {
            unreachable!("worker {worker} has zeroed nothing");
        };
        let Worker {
            account,
            doing,
            drained,
            has_taken,
            ..
        } = &mut self.workers[worker];
        *drained = self.now + self.costs[Quantity::Drain];
        account.zeroing = account.zeroing + (*drained - since);
        *doing = Doing::Works;
        // Pages of a list are zeroed one by one, and were taken together.
        let turn = match std::mem::take(has_taken) {
            true => self.costs[Quantity::Turn],
            false => Time::ZERO,
        };
        let bookkeeping = self.costs[Quantity::Bookkeeping].times(count) + turn;
        self.timers.insert(worker, self.now + bookkeeping);
        None
    }
}

/// A part of a length of time in thirds of a nanosecond.
pub(super) fn part(thirds: u64, share: f64) -> Time {
    if share == 1.0 {
        return Time::from_thirds(thirds);
    }
    Time::from_thirds((thirds as f64 * share + 0.5) as u64)
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    every: Time,
    length: Time,
    next: Time,
}

impl Losses {
    /// From an instant of chance on.
    pub(super) fn new(preemption: Option<Preemption>, random: &mut Random) -> Self {
        match preemption {
            Some(Preemption { every, length }) => Self {
                every: every.into(),
                length: length.into(),
                next: random.below(every.into()),
            },
            None => Self {
                every: Time::NEVER,
                length: Time::ZERO,
                next: Time::NEVER,
            },
        }
    }

    /// Whether it loses the CPU by then.
    pub(super) fn is_due(&self, then: Time) -> bool {
        self.next <= then
    }

    /// The worker would be done at `now`: by how much later it is, and for how
    /// long it had no CPU meanwhile. If it needed the CPU for what it did, all of
    /// that comes on top; else it is only late if it has none now.
    pub(super) fn until(&mut self, now: Time, worked: bool) -> (Time, Time) {
        let (mut late, mut lost) = (Time::ZERO, Time::ZERO);
        while self.next <= now + late && self.next < Time::NEVER {
            late = match worked {
                true => late + self.length,
                false => late.max((self.next + self.length) - now),
            };
            lost = lost + self.length;
            self.next = self.next + self.every;
        }
        (late, lost)
    }
}

/// Shares the bandwidth of the memory equally among those who zero.
///
/// While they are few, each is as fast as its core. If they are more than the memory can serve,
/// all are slowed down alike. The progress of one endless worker is therefore enough. Work of
/// length `work` that begins at its progress `v` ends when it has reached `v + work`.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    /// How many can work at full speed.
    abreast: f64,
    /// The progress of a worker that never ends, in thirds of a nanosecond of work at full speed.
    progress: f64,
    /// When that was.
    at: Time,
    /// The workers, by the progress at which each ends: as bits, whose order is that of the
    /// numbers, since no progress is negative.
    jobs: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Bandwidth {
    /// Memory that is fast enough for so many at full speed.
    pub(super) fn new(abreast: f64) -> Self {
        Self {
            abreast,
            progress: 0.0,
            at: Time::ZERO,
            jobs: BinaryHeap::new(),
        }
    }

    /// The worker `who` begins with work that takes `work` at full speed.
    pub(super) fn begin(&mut self, now: Time, who: usize, work: Time) {
        self.advance(now);
        let goal = self.progress + work.as_thirds() as f64;
        self.jobs.push(Reverse((goal.to_bits(), who)));
    }

    /// When the first of them ends, if none begins before.
    pub(super) fn next_end(&self) -> Option<Time> {
        let Reverse((goal, _)) = self.jobs.peek()?;
        let left = f64::from_bits(*goal) - self.progress;
        // Upwards, so that the work is done by then.
        let thirds = (left / self.speed()).ceil() as u64;
        Some(self.at + Time::from_thirds(thirds))
    }

    /// Returns the worker that ends at `now`, the time of the [next end](Self::next_end).
    pub(super) fn end(&mut self, now: Time) -> usize {
        self.advance(now);
        let Reverse((goal, who)) = self.jobs.pop().expect("somebody works");
        self.progress = self.progress.max(f64::from_bits(goal));
        who
    }

    fn advance(&mut self, now: Time) {
        if !self.jobs.is_empty() {
            self.progress += (now - self.at).as_thirds() as f64 * self.speed();
        }
        self.at = now;
    }

    fn speed(&self) -> f64 {
        let active = self.jobs.len() as f64;
        if active > self.abreast {
            self.abreast / active
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// 10 ns of every 100, at first at 50.
    const LOSSES: Losses = Losses {
        every: ns(100),
        length: ns(10),
        next: ns(50),
    };

    #[test]
    fn work_is_delayed_by_all_that_is_lost() {
        let mut losses = LOSSES;
        assert_eq!(losses.until(ns(49), true), (ns(0), ns(0)));
        // The losses at 50 and 150, and the one at 250, which is not over by then.
        assert_eq!(losses.until(ns(240), true), (ns(30), ns(30)));
        assert!(losses.is_due(ns(350)) && !losses.is_due(ns(349)));
    }

    #[test]
    fn who_waits_is_only_late_without_a_cpu() {
        let mut losses = LOSSES;
        assert_eq!(losses.until(ns(140), false), (ns(0), ns(10)));
        assert_eq!(losses.until(ns(155), false), (ns(5), ns(10)));
    }

    #[test]
    fn nothing_is_lost_without_preemption() {
        let mut losses = Losses::new(None, &mut Random::new(1));
        assert!(!losses.is_due(ns(u64::MAX / 4)));
        assert_eq!(losses.until(ns(1_000), true), (ns(0), ns(0)));
    }

    #[test]
    fn few_are_as_fast_as_their_cores() {
        let mut memory = Bandwidth::new(2.0);
        memory.begin(ns(0), 7, ns(300));
        memory.begin(ns(100), 8, ns(300));
        assert_eq!(memory.next_end(), Some(ns(300)));
        assert_eq!(memory.end(ns(300)), 7);
        assert_eq!(memory.next_end(), Some(ns(400)));
        assert_eq!(memory.end(ns(400)), 8);
        assert_eq!(memory.next_end(), None);
    }

    #[test]
    fn many_share_alike() {
        let mut memory = Bandwidth::new(2.0);
        for who in 0..4 {
            memory.begin(ns(0), who, ns(300));
        }
        // Four at half the speed.
        for who in 0..4 {
            assert_eq!(memory.next_end(), Some(ns(600)));
            assert_eq!(memory.end(ns(600)), who);
        }
    }

    #[test]
    fn who_comes_later_slows_those_who_are_there() {
        let mut memory = Bandwidth::new(1.0);
        memory.begin(ns(0), 0, ns(300));
        memory.begin(ns(200), 1, ns(300));
        // The 100 ns that are left take 200.
        assert_eq!(memory.next_end(), Some(ns(400)));
        assert_eq!(memory.end(ns(400)), 0);
        // The other has done 100 and goes on alone.
        assert_eq!(memory.next_end(), Some(ns(600)));
        assert_eq!(memory.end(ns(600)), 1);
        // A new beginning after a rest.
        memory.begin(ns(1_000), 0, ns(300));
        assert_eq!(memory.next_end(), Some(ns(1_300)));
    }
}
