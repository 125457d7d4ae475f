//! Lines that travel between workers.

use super::super::lines::{Access, Answer, Request};
use super::order::World;
use super::worker::Doing;
use punctual_sim::Time;

impl World {
    /// A worker wants something of a line: what came of it, if that is done at once.
    pub(super) fn ask(&mut self, line: usize, request: Request) -> Option<u64> {
        let worker = request.worker;
        match self.request(line, request) {
            Answer::Hit(value) => {
                self.workers[worker].answer = value;
                let cost = match request.access.is_rmw() {
                    true => self.costs.rmw,
                    false => self.costs.hit,
                };
                return self.work(worker, cost).then_some(value);
            }
            Answer::Spins => self.workers[worker].doing = Doing::Spins,
            Answer::Serve => self.serve(line, false),
            Answer::Queue => self.workers[worker].doing = Doing::Wants(line),
        }
        None
    }

    /// The running worker waits for a lock and then loads from a line: that is brought
    /// meanwhile, where cores go on while they wait.
    pub(crate) fn read_ahead(&mut self, line: usize) {
        if self.costs.posts {
            let request = Request {
                worker: self.running(),
                word: 0,
                access: Access::Ahead,
            };
            self.fetch(line, request);
        }
    }

    /// A worker's request comes to a line.
    pub(super) fn request(&mut self, line: usize, request: Request) -> Answer {
        let Self { random, costs, .. } = self;
        self.lines[line].ask(request, self.now, || random.chance(costs.overtakes))
    }

    /// A line begins to travel to the first who wants it.
    pub(super) fn serve(&mut self, line: usize, has_queued: bool) {
        let served = self.lines[line].served();
        let Request { worker, access, .. } = served.expect("somebody wants it");
        let costs = &self.costs;
        let transfer = self.lines[line].transfer(|from, to| costs.transfer(from, to, has_queued));
        let share = match access.writes() {
            false => costs.load_share,
            true if self.lines[line].newest() == Some(worker) => costs.upgrade_share,
            true => 1.0,
        };
        let length = transfer
            .map_or(costs.miss, |thirds| part(thirds, share))
            .max(costs.hit);
        let notice = part(length.as_thirds(), costs.notice_share);
        self.lines[line].notify(self.now + notice);
        let timer = match access {
            Access::Own | Access::Ahead => self.workers.len() + 1 + line,
            _ => {
                self.workers[worker].doing = Doing::Wants(line);
                worker
            }
        };
        self.timers.insert(timer, self.now + length);
    }

    /// A line has come to who was served; who is done, if anybody is.
    pub(super) fn arrive(&mut self, line: usize) -> Option<usize> {
        let mut disturbed = std::mem::take(&mut self.disturbed);
        let (request, value) = self.lines[line].arrive(&mut disturbed);
        let is_posted = request.access == Access::Own;
        if is_posted {
            // Before anybody can take it away again, however many want it.
            self.commit(request.worker, Some(line));
        }
        if self.lines[line].served().is_some() {
            self.serve(line, true);
        }
        self.random.shuffle(&mut disturbed);
        for request in disturbed.drain(..) {
            self.ask_again(line, request);
        }
        self.disturbed = disturbed;
        if request.access == Access::Ahead {
            return None;
        }
        let worker = request.worker;
        if is_posted {
            for store in &mut self.workers[worker].stores {
                store.asked &= store.line != line;
            }
            return self.drain(worker);
        }
        let Some(value) = value else {
            self.workers[worker].doing = Doing::Spins;
            return None;
        };
        self.workers[worker].answer = value;
        self.goes_on(worker, false)
    }

    /// Somebody spun on a copy that is gone, and reads again, as soon as it has its
    /// CPU.
    pub(super) fn ask_again(&mut self, line: usize, request: Request) {
        let worker = &mut self.workers[request.worker];
        let (mut late, lost) = worker.losses.until(self.now, false);
        worker.account.lost = worker.account.lost + lost;
        if self.costs.look > Time::ZERO {
            late = late + self.random.below(self.costs.look);
        }
        if late > Time::ZERO {
            worker.doing = Doing::AsksAgain(line, request);
            self.timers.insert(request.worker, self.now + late);
            return;
        }
        self.operations += 1;
        self.ask(line, request);
    }
}

/// A part of a length of time in thirds of a nanosecond.
pub(super) fn part(thirds: u64, share: f64) -> Time {
    if share == 1.0 {
        return Time::from_thirds(thirds);
    }
    Time::from_thirds((thirds as f64 * share + 0.5) as u64)
}
