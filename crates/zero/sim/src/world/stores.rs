//! Stores that are posted: a worker goes on when it has put one into its buffer.
//!
//! Lines are brought for all that are there at the same time; each store is done
//! when its line has come and all before it are done. A read-modify-write, and
//! zeroing, whose stores come to stand behind them, wait until there are none; the
//! line of a read-modify-write is brought with theirs.
//!
//! The stores of zeroing itself are on their way for a while when it is over; only a
//! read-modify-write waits for them, and asks for its line afterwards: a page has more
//! lines than can be under way at the same time.

use super::super::lines::{Access, Answer, Request};
use super::order::World;
use super::worker::{Doing, Posted, Wanted};

impl World {
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

    /// A worker stores something, and goes on.
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
        self.work(worker, self.costs.hit).then_some(0)
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
        self.goes_on(worker, false)
    }
}
