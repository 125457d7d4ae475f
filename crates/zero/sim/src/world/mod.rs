//! The events on a simulated computer, and their order.
//!
//! | file | what it is about |
//! |---|---|
//! | this one | the computer, and whose turn it is; lines that travel between workers, and stores that are posted |
//! | `worker` | what each worker does, and where its time goes; the memory that they zero |
//!
//! Every worker does one thing at a time. A line serves one request at a time, so at most one of
//! its workers has a timer; all others just wait. Events of one instant happen in the order of the
//! workers' numbers, then that of the memory, then lines that are brought for stores.

mod worker;

use punctual_core::Nanos;
use punctual_sim::{Random, Time, Timers};
use worker::{Account, Bandwidth, Doing, Losses, Posted, Worker, part};

use super::costs::Costs;
use super::lines::{Access, Answer, Line, Request};
use super::quantity::Quantity;

pub use worker::Preemption;

pub(crate) use worker::Wanted;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) costs: Costs,
    random: Random,
    now: Time,
    timers: Timers<Time>,
    lines: Vec<Line>,
    memory: Bandwidth,
    workers: Vec<Worker>,
    /// The worker that runs. `None` while the pool is built, when everything is free of cost.
    current: Option<usize>,
    /// The workers that gave up the CPU, each with the line it waits for, in that order.
    parked: Vec<(usize, usize)>,
    /// Of how many pages each worker dirtied an equal part.
    pages: u64,
    /// How many operations there were, and may be.
    pub(crate) operations: u64,
    most: u64,
    disturbed: Vec<Request>,
}

impl World {
    /// A computer where each worker begins at an instant of its own. `pages` is
    /// how many they have dirtied, an equal part each.
    pub(crate) fn new(
        costs: Costs,
        pages: u64,
        preemption: Option<Preemption>,
        seed: u64,
        most: u64,
    ) -> Self {
        let mut random = Random::new(seed);
        let mut timers = Timers::default();
        let workers = (0..costs.workers).map(|worker| {
            let begun = random.below(costs[Quantity::Spread]);
            timers.insert(worker, begun);
            let account = Account {
                begun,
                ..Account::default()
            };
            Worker {
                losses: Losses::new(preemption, &mut random),
                account,
                ..Worker::default()
            }
        });
        Self {
            workers: workers.collect(),
            memory: Bandwidth::new(costs.abreast),
            costs,
            random,
            now: Time::ZERO,
            timers,
            lines: Vec::new(),
            current: None,
            parked: Vec::new(),
            pages,
            operations: 0,
            most,
            disturbed: Vec::new(),
        }
    }

    pub(crate) fn line(&mut self, words: [u64; 4]) -> usize {
        self.lines.push(Line::new(words, self.workers.len()));
        self.lines.len() - 1
    }

    /// The time in whole nanoseconds. For a worker whose stores to pages are on their way it is
    /// their end. The time of a page counts as zeroing it, not as waiting for the next lock.
    pub(crate) fn now(&self) -> Nanos {
        let drained = self.current.map(|worker| self.workers[worker].drained);
        let now = drained.map_or(self.now, |drained| drained.max(self.now));
        Nanos::new(now.floor_ns())
    }

    /// The result of the running worker's last request.
    pub(crate) fn answer(&self) -> u64 {
        self.workers[self.running()].answer
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.operations > self.most
    }

    pub(crate) fn end(&mut self) {
        let worker = self.running();
        self.workers[worker].account.ended = self.now;
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = Account> {
        self.workers.iter().map(|worker| worker.account)
    }

    fn running(&self) -> usize {
        self.current.expect("a worker runs")
    }

    /// The running worker asks for something. Returns the result, if nothing else happens before
    /// it is done.
    pub(crate) fn begin(&mut self, wanted: Wanted) -> Option<u64> {
        self.start(self.running(), wanted)
    }

    /// A worker asks for something. Returns the result, if it is done at once.
    fn start(&mut self, worker: usize, wanted: Wanted) -> Option<u64> {
        self.operations += 1;
        if self.has_to_drain(worker, &wanted) {
            self.bring_meanwhile(worker, &wanted);
            let worker = &mut self.workers[worker];
            worker.doing = Doing::Drains;
            worker.then = Some(wanted);
            return None;
        }
        match wanted {
            Wanted::Access { line, word, access } => {
                let request = Request {
                    worker,
                    word,
                    access,
                };
                return match access {
                    Access::Store(_) if self.costs.posts => self.post(line, request),
                    _ if access.is_rmw() => self.ask_when_drained(line, request),
                    _ => self.ask(line, request),
                };
            }
            Wanted::Work(length) => self.work(worker, length),
            Wanted::Relax => self.work(worker, self.costs[Quantity::Relax]),
            Wanted::Miss => self.work(worker, self.costs[Quantity::Miss]),
            Wanted::Overhead => {
                self.workers[worker].has_taken = true;
                self.work(worker, self.costs.overhead)
            }
            Wanted::Zero(pages) => self.zero(worker, &pages),
            Wanted::Park {
                line,
                word,
                expected,
            } => self.park(worker, line, word, expected),
            Wanted::Wake(line) => {
                self.wake(line);
                self.work(worker, self.costs[Quantity::Wake])
            }
        }
        .then_some(0)
    }

    /// Returns the next worker that completes its operation; it runs then. `None` if all have
    /// ended, or wait for ever.
    pub(crate) fn next(&mut self) -> Option<usize> {
        loop {
            let (now, number) = self.timers.pop_if(|_| true)?;
            self.now = now;
            let done = match number.checked_sub(self.workers.len()) {
                None => self.timer(number),
                Some(0) => self.zeroed(),
                Some(line) => self.arrive(line - 1),
            };
            if let Some(worker) = done {
                self.current = Some(worker);
                return Some(worker);
            }
        }
    }

    /// A worker's timer has fired. Returns the worker that is done, if any.
    fn timer(&mut self, worker: usize) -> Option<usize> {
        match self.workers[worker].doing {
            Doing::Works => self.continue_unless_delayed(worker, true),
            Doing::Wants(line) => self.arrive(line),
            Doing::AsksAgain(line, request) => self.ask(line, request).map(|_| worker),
            doing => unreachable!("a timer of worker {worker}, who {doing:?}"),
        }
    }

    /// A worker does what takes so long. Whether it is done at once, because
    /// nothing happens before.
    fn work(&mut self, worker: usize, length: Time) -> bool {
        let end = self.now + length;
        let is_first = self
            .timers
            .first()
            .is_none_or(|first| (end, worker) < first);
        if is_first && !self.workers[worker].losses.is_due(end) && !self.is_exhausted() {
            self.now = end;
            return true;
        }
        self.workers[worker].doing = Doing::Works;
        self.timers.insert(worker, end);
        false
    }

    /// A worker is done and continues, if it has its CPU. `worked` is whether it needed the CPU
    /// for what it did, so that what it lost comes on top.
    fn continue_unless_delayed(&mut self, worker: usize, worked: bool) -> Option<usize> {
        let Worker {
            losses,
            account,
            doing,
            ..
        } = &mut self.workers[worker];
        let (late, lost) = losses.until(self.now, worked);
        account.lost = account.lost + lost;
        if late == Time::ZERO {
            return Some(worker);
        }
        *doing = Doing::Works;
        self.timers.insert(worker, self.now + late);
        None
    }
}

/// Lines that travel between workers, also for stores that are posted: a worker goes on
/// when it has put one into its buffer.
///
/// Lines are brought for all stores that are there at the same time; each store is done
/// when its line has come and all before it are done. A read-modify-write, and
/// zeroing, whose stores come to stand behind them, wait until there are none; the
/// line of a read-modify-write is brought with theirs.
///
/// The stores of zeroing itself are on their way for a while when it is over. Only a
/// read-modify-write waits for them, and requests its line afterwards: a page has more lines than
/// can be under way at once.
impl World {
    /// A worker wants something of a line: what came of it, if that is done at once.
    fn ask(&mut self, line: usize, request: Request) -> Option<u64> {
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

    fn request(&mut self, line: usize, request: Request) -> Answer {
        let Self { random, costs, .. } = self;
        self.lines[line].ask(request, self.now, || {
            random.chance(costs.share(Quantity::Overtakes))
        })
    }

    /// A line begins to travel to the first who wants it.
    fn serve(&mut self, line: usize, has_queued: bool) {
        let served = self.lines[line].served();
        let Request { worker, access, .. } = served.expect("somebody wants it");
        let costs = &self.costs;
        let transfer = self.lines[line].transfer(|from, to| costs.transfer(from, to, has_queued));
        let share = match access.writes() {
            false if self.lines[line].is_shared() => costs.share(Quantity::LoadShare),
            false => costs.share(Quantity::ReadShare),
            true if self.lines[line].newest == Some(worker) => costs.share(Quantity::UpgradeShare),
            true => 1.0,
        };
        let length = transfer
            .map_or(costs[Quantity::Miss], |thirds| part(thirds, share))
            .max(costs[Quantity::Hit]);
        let notice = part(length.as_thirds(), costs.share(Quantity::NoticeShare));
        self.lines[line].notice = self.now + notice;
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
    fn arrive(&mut self, line: usize) -> Option<usize> {
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

    /// A worker that spun on a copy that is gone reads again, as soon as it has its CPU.
    fn ask_again(&mut self, line: usize, request: Request) {
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
    fn has_to_drain(&self, worker: usize, wanted: &Wanted) -> bool {
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
    fn ask_when_drained(&mut self, line: usize, request: Request) -> Option<u64> {
        let worker = request.worker;
        let drained = self.workers[worker].drained;
        if drained <= self.now {
            return self.ask(line, request);
        }
        self.workers[worker].doing = Doing::AsksAgain(line, request);
        self.timers.insert(worker, drained);
        None
    }

    fn post(&mut self, line: usize, request: Request) -> Option<u64> {
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
    fn bring(&mut self, worker: usize, at: usize) {
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
    fn fetch(&mut self, line: usize, request: Request) -> bool {
        let answer = self.request(line, request);
        if answer == Answer::Serve {
            self.serve(line, false);
        }
        matches!(answer, Answer::Hit(_))
    }

    /// Has the line of a read-modify-write brought that waits for a worker's stores.
    fn bring_meanwhile(&mut self, worker: usize, wanted: &Wanted) {
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
    fn commit(&mut self, worker: usize, come: Option<usize>) {
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
    fn drain(&mut self, worker: usize) -> Option<usize> {
        self.commit(worker, None);
        if let Some(store) = self.workers[worker].stores.front() {
            if !store.asked {
                // It was here and another worker has taken it away again.
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
