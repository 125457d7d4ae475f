//! Lines that travel between workers, also for stores that are posted: a worker goes on
//! when it has put one into its buffer.
//!
//! Lines are brought for all stores that are there at the same time; each store is done
//! when its line has come and all before it are done. A read-modify-write, and
//! zeroing, whose stores come to stand behind them, wait until there are none; the
//! line of a read-modify-write is brought with theirs.
//!
//! The stores of zeroing itself are on their way for a while when it is over; only a
//! read-modify-write waits for them, and asks for its line afterwards: a page has more
//! lines than can be under way at the same time.

use punctual_sim::Time;

use super::super::lines::{Access, Answer, Request};
use super::super::quantity::Quantity;
use super::World;
use super::worker::{Doing, Posted, Wanted, part};

impl World {
    /// A worker wants something of a line: what came of it, if that is done at once.
    pub(super) fn ask(&mut self, line: usize, request: Request) -> Option<u64> {
        let worker = request.worker;
        match self.request(line, request) {
            Answer::Hit(value) => {
                self.workers[worker].answer = value;
                let cost = match request.access.is_rmw() {
                    true => self.costs[Quantity::Rmw],
                    false => self.costs[Quantity::Hit],
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

    pub(super) fn request(&mut self, line: usize, request: Request) -> Answer {
        let Self { random, costs, .. } = self;
        self.lines[line].ask(request, self.now, || {
            random.chance(costs.share(Quantity::Overtakes))
        })
    }

    /// A line begins to travel to the first who wants it.
    pub(super) fn serve(&mut self, line: usize, has_queued: bool) {
        let served = self.lines[line].served();
        let Request { worker, access, .. } = served.expect("somebody wants it");
        let costs = &self.costs;
        let transfer = self.lines[line].transfer(|from, to| costs.transfer(from, to, has_queued));
        let share = match access.writes() {
            false => costs.share(Quantity::LoadShare),
            true if self.lines[line].newest() == Some(worker) => {
                costs.share(Quantity::UpgradeShare)
            }
            true => 1.0,
        };
        let length = transfer
            .map_or(costs[Quantity::Miss], |thirds| part(thirds, share))
            .max(costs[Quantity::Hit]);
        let notice = part(length.as_thirds(), costs.share(Quantity::NoticeShare));
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
        self.continue_unless_delayed(worker, false)
    }

    /// Somebody spun on a copy that is gone, and reads again, as soon as it has its
    /// CPU.
    pub(super) fn ask_again(&mut self, line: usize, request: Request) {
        let worker = &mut self.workers[request.worker];
        let (mut late, lost) = worker.losses.until(self.now, false);
        worker.account.lost = worker.account.lost + lost;
        if self.costs[Quantity::Look] > Time::ZERO {
            late = late + self.random.below(self.costs[Quantity::Look]);
        }
        if late > Time::ZERO {
            worker.doing = Doing::AsksAgain(line, request);
            self.timers.insert(request.worker, self.now + late);
            return;
        }
        self.operations += 1;
        self.ask(line, request);
    }

    /// Whether a worker's stores have to be done before what it wants.
    pub(super) fn has_to_drain(&self, worker: usize, wanted: &Wanted) -> bool {
        let stores = &self.workers[worker].stores;
        match wanted {
            _ if stores.is_empty() => false,
            Wanted::Access {
                access: Access::Store(_),
                ..
            } => false,
            Wanted::Access { line, word, access } => {
                // A load of anything else comes before them.
                let is_stored = |store: &Posted| (store.line, store.request.word) == (*line, *word);
                access.is_rmw() || stores.iter().any(is_stored)
            }
            Wanted::Zero(_) | Wanted::Park { .. } | Wanted::Wake(_) => true,
            Wanted::Work(_) | Wanted::Relax | Wanted::Miss | Wanted::Overhead => false,
        }
    }

    /// A worker wants a read-modify-write: it asks for the line when the stores to its
    /// pages are done.
    pub(super) fn ask_when_drained(&mut self, line: usize, request: Request) -> Option<u64> {
        let worker = request.worker;
        let drained = self.workers[worker].drained;
        if drained <= self.now {
            return self.ask(line, request);
        }
        self.workers[worker].doing = Doing::AsksAgain(line, request);
        self.timers.insert(worker, drained);
        None
    }

    pub(super) fn post(&mut self, line: usize, request: Request) -> Option<u64> {
        let worker = request.worker;
        let stores = &self.workers[worker].stores;
        if stores.is_empty() && self.lines[line].owns(worker, self.now) {
            return self.ask(line, request);
        }
        let asked = self.is_asked(worker, line);
        self.workers[worker].stores.push_back(Posted {
            line,
            request,
            asked,
        });
        if !asked {
            let at = self.workers[worker].stores.len() - 1;
            self.bring(worker, at);
        }
        self.work(worker, self.costs[Quantity::Hit]).then_some(0)
    }

    /// Asks for the line of one of a worker's stores, if it does not have it.
    pub(super) fn bring(&mut self, worker: usize, at: usize) {
        let Posted { line, request, .. } = self.workers[worker].stores[at];
        let access = Access::Own;
        let is_here = self.fetch(line, Request { access, ..request });
        self.workers[worker].stores[at].asked = !is_here;
    }

    /// Whether a line is on its way for one of a worker's stores.
    fn is_asked(&self, worker: usize, line: usize) -> bool {
        let mut stores = self.workers[worker].stores.iter();
        stores.any(|store| store.line == line && store.asked)
    }

    /// Has a line brought without anybody waiting for it. Whether it is here already.
    pub(super) fn fetch(&mut self, line: usize, request: Request) -> bool {
        let answer = self.request(line, request);
        if answer == Answer::Serve {
            self.serve(line, false);
        }
        matches!(answer, Answer::Hit(_))
    }

    /// Has the line of a read-modify-write brought that waits for a worker's stores.
    pub(super) fn bring_meanwhile(&mut self, worker: usize, wanted: &Wanted) {
        let Wanted::Access { line, word, access } = *wanted else {
            return;
        };
        if access.is_rmw() && !self.is_asked(worker, line) {
            let request = Request {
                worker,
                word,
                access: Access::Own,
            };
            self.fetch(line, request);
        }
    }

    /// Does those of a worker's stores that can be done: to lines that it has to
    /// itself, and to the one that has just come.
    pub(super) fn commit(&mut self, worker: usize, come: Option<usize>) {
        while let Some(store) = self.workers[worker].stores.front() {
            let line = &mut self.lines[store.line];
            if come != Some(store.line) && !line.owns(worker, self.now) {
                break;
            }
            line.apply(store.request);
            self.workers[worker].stores.pop_front();
        }
    }

    /// Does those of a worker's stores that can be done. The worker, if it goes on.
    pub(super) fn drain(&mut self, worker: usize) -> Option<usize> {
        self.commit(worker, None);
        if let Some(store) = self.workers[worker].stores.front() {
            if !store.asked {
                // It was here and somebody has taken it away again.
                self.bring(worker, 0);
            }
            return None;
        }
        let wanted = self.workers[worker].then.take()?;
        let answer = self.start(worker, wanted)?;
        self.workers[worker].answer = answer;
        self.continue_unless_delayed(worker, false)
    }
}
