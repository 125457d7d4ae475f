//! Workers that give up their CPU and are woken.

use super::order::World;
use super::worker::Doing;

impl World {
    /// A worker gives up its CPU, if a word is as expected. Whether it is done.
    pub(super) fn park(&mut self, worker: usize, line: usize, word: usize, expected: u64) -> bool {
        if self.lines[line].word(word) != expected {
            return self.work(worker, self.costs.park);
        }
        // Until then the call takes CPU time.
        self.workers[worker].doing = Doing::Parks(self.now + self.costs.park);
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
        let awake = (self.now + self.costs.turnaround).max(since);
        worker.account.parked = worker.account.parked + (awake - since);
        // Who does not run loses nothing.
        worker.losses.until(awake, false);
        worker.doing = Doing::Works;
        self.timers.insert(number, awake);
    }
}
