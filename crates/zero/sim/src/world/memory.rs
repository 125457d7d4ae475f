//! Workers that zero pages.

use std::ops::Range;

use super::order::World;
use super::transfers::part;
use super::worker::{Doing, Worker};
use punctual_sim::Time;

impl World {
    /// A worker zeroes pages. Never done at once.
    pub(super) fn zero(&mut self, worker: usize, pages: &Range<u64>) -> bool {
        let count = pages.end - pages.start;
        let work = match self.costs.zero_remote {
            Some(remote) => {
                let own = self.own(worker, pages);
                self.costs.zero.times(own) + remote.times(count - own)
            }
            None => self.costs.zero.times(count),
        };
        let work = self.jittered(work, count);
        self.workers[worker].doing = Doing::Zeroes(count, self.now);
        self.memory.begin(self.now, worker, work);
        self.watch_memory();
        false
    }

    /// What so many pages take this time. Each of them differs, and many even out.
    fn jittered(&mut self, length: Time, pages: u64) -> Time {
        let share = self.costs.jitter / (pages.max(1) as f64).sqrt();
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

    /// Somebody has zeroed its pages, and keeps the books of them.
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
        *drained = self.now + self.costs.drain;
        account.zeroing = account.zeroing + (*drained - since);
        *doing = Doing::Works;
        // Pages of a list are zeroed one by one, and were taken together.
        let turn = match std::mem::take(has_taken) {
            true => self.costs.turn,
            false => Time::ZERO,
        };
        let bookkeeping = self.costs.bookkeeping.times(count) + turn;
        self.timers.insert(worker, self.now + bookkeeping);
        None
    }
}
