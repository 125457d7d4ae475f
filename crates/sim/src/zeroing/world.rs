//! What happens on a simulated computer, in which order.
//!
//! Every worker does one thing at a time. A line serves one request at a time,
//! so at most one of those who want it has a timer; all others just wait. What
//! falls due at one instant happens in the order of the workers' numbers, then
//! that of the memory, then lines that are brought for stores.
//!
//! Where stores are posted, a worker goes on when it has put one into its buffer.
//! Lines are brought for all that are there at the same time; each store is done
//! when its line has come and all before it are done. A read-modify-write, and
//! zeroing, whose stores come to stand behind them, wait until there are none.

use std::collections::VecDeque;
use std::ops::Range;

use punctual_core::Nanos;

use super::bandwidth::Bandwidth;
use super::costs::Costs;
use super::lines::{Access, Answer, Line, Request};
use super::preemption::{Losses, Preemption};
use crate::random::Random;
use crate::time::Time;
use crate::timers::Timers;

/// A computer with workers on it.
#[derive(Debug)]
pub(crate) struct World {
    costs: Costs,
    random: Random,
    now: Time,
    timers: Timers<Time>,
    lines: Vec<Line>,
    memory: Bandwidth,
    workers: Vec<Worker>,
    /// Who runs. Nobody while the pool is built, when everything is for nothing.
    current: Option<usize>,
    /// Who has given up the CPU for which line, in that order.
    parked: Vec<(usize, usize)>,
    /// Of how many pages each worker dirtied an equal part.
    pages: u64,
    /// How many operations there were, and may be.
    operations: u64,
    most: u64,
    /// Room for who is disturbed by a write.
    disturbed: Vec<Request>,
}

#[derive(Debug)]
struct Worker {
    doing: Doing,
    /// What came of it.
    answer: u64,
    losses: Losses,
    account: Account,
    /// Stores that are not done, the oldest first.
    stores: VecDeque<Posted>,
    /// What it wants when there are none.
    then: Option<Wanted>,
}

/// A store that is not done.
#[derive(Clone, Copy, Debug)]
struct Posted {
    line: usize,
    request: Request,
    /// Whether the line is on its way.
    asked: bool,
}

/// What a worker does.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// What takes as long as its timer says.
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

/// Where the time of a worker went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) begun: Time,
    pub(crate) ended: Time,
    pub(crate) zeroing: Time,
    pub(crate) bookkeeping: Time,
    /// Off the CPU by its own will.
    pub(crate) parked: Time,
    /// Off the CPU because somebody else had it.
    pub(crate) lost: Time,
}

impl Account {
    /// The CPU time of the worker, as it is billed: who takes the CPU away does
    /// not say so.
    pub(crate) fn cpu(&self) -> Time {
        (self.ended - self.begun) - self.parked
    }
}

/// What a worker can ask of its computer.
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
    /// A computer where each worker begins at an instant of its own. `pages` is
    /// how many they have dirtied, an equal part each.
    pub(crate) fn new(
        costs: Costs,
        workers: usize,
        pages: u64,
        preemption: Option<Preemption>,
        seed: u64,
        most: u64,
    ) -> Self {
        let mut random = Random::new(seed);
        let mut timers = Timers::default();
        let workers = (0..workers).map(|worker| {
            let begun = random.below(costs.spread);
            timers.insert(worker, begun);
            Worker {
                doing: Doing::Works,
                answer: 0,
                losses: Losses::new(preemption, &mut random),
                account: Account {
                    begun,
                    ..Account::default()
                },
                stores: VecDeque::new(),
                then: None,
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

    /// A new line.
    pub(crate) fn line(&mut self) -> usize {
        self.lines.push(Line::new(self.workers.len()));
        self.lines.len() - 1
    }

    /// The time in whole nanoseconds.
    pub(crate) fn now(&self) -> Nanos {
        Nanos::new(self.now.floor_ns())
    }

    /// What came of what the running worker asked for.
    pub(crate) fn answer(&self) -> u64 {
        self.workers[self.running()].answer
    }

    /// How many operations there were.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Whether there were more than there may be.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.operations > self.most
    }

    /// The running worker has come to its end.
    pub(crate) fn end(&mut self) {
        let worker = self.running();
        self.workers[worker].account.ended = self.now;
    }

    /// Where the workers' time went.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = Account> {
        self.workers.iter().map(|worker| worker.account)
    }

    fn running(&self) -> usize {
        self.current.expect("a worker runs")
    }

    /// The running worker asks for something. What came of it, if nothing else
    /// happens before it is done.
    pub(crate) fn begin(&mut self, wanted: Wanted) -> Option<u64> {
        let Some(worker) = self.current else {
            return Some(self.for_nothing(wanted));
        };
        self.start(worker, wanted)
    }

    /// A worker asks for something. What came of it, if that is done at once.
    fn start(&mut self, worker: usize, wanted: Wanted) -> Option<u64> {
        self.operations += 1;
        if self.has_to_drain(worker, &wanted) {
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
                    _ => self.ask(line, request),
                };
            }
            Wanted::Work(length) => self.work(worker, length),
            Wanted::Relax => self.work(worker, self.costs.relax),
            Wanted::Miss => self.work(worker, self.costs.miss),
            Wanted::Overhead => self.work(worker, self.costs.overhead),
            Wanted::Zero(pages) => self.zero(worker, &pages),
            Wanted::Park {
                line,
                word,
                expected,
            } => self.park(worker, line, word, expected),
            Wanted::Wake(line) => {
                self.wake(line);
                self.work(worker, self.costs.wake)
            }
        }
        .then_some(0)
    }

    /// Does at once, and for nothing, what is wanted while the pool is built.
    fn for_nothing(&mut self, wanted: Wanted) -> u64 {
        match wanted {
            Wanted::Access { line, word, access } => self.lines[line].apply(Request {
                worker: 0,
                word,
                access,
            }),
            other => unreachable!("{other:?} is wanted while nobody runs"),
        }
    }

    /// The next worker that is done with what it does; it runs then. Nobody if all
    /// have ended, or wait for ever.
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

    /// A worker's timer has gone off. Who is done with something, if anybody is.
    fn timer(&mut self, worker: usize) -> Option<usize> {
        match self.workers[worker].doing {
            Doing::Works => self.goes_on(worker, true),
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

    /// A worker is done, if it has its CPU. `worked` is whether it needed the CPU
    /// for what it did, so that what it lost comes on top.
    fn goes_on(&mut self, worker: usize, worked: bool) -> Option<usize> {
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

    /// A worker wants something of a line: what came of it, if that is done at once.
    fn ask(&mut self, line: usize, request: Request) -> Option<u64> {
        let worker = request.worker;
        let random = &mut self.random;
        match self.lines[line].ask(request, self.now, || random.percent(50)) {
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

    /// A line begins to travel to the first who wants it.
    fn serve(&mut self, line: usize, has_queued: bool) {
        let served = self.lines[line].served();
        let Request { worker, access, .. } = served.expect("somebody wants it");
        let costs = &self.costs;
        let transfer = self.lines[line].transfer(|from, to| costs.transfer(from, to, has_queued));
        let share = match access.writes() {
            false => costs.load_share,
            true if self.lines[line].has(worker) => costs.upgrade_share,
            true => 1.0,
        };
        let length = transfer
            .map_or(costs.miss, |thirds| part(thirds, share))
            .max(costs.hit);
        let notice = part(length.as_thirds(), costs.notice_share);
        self.lines[line].notify(self.now + notice);
        let timer = match access {
            Access::Own => self.workers.len() + 1 + line,
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
            // Before anybody can take it away again.
            self.commit(request.worker);
        }
        if self.lines[line].served().is_some() {
            self.serve(line, true);
        }
        self.random.shuffle(&mut disturbed);
        for request in disturbed.drain(..) {
            self.ask_again(line, request);
        }
        self.disturbed = disturbed;
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
    fn ask_again(&mut self, line: usize, request: Request) {
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

    /// A worker stores something, and goes on.
    fn post(&mut self, line: usize, request: Request) -> Option<u64> {
        let worker = request.worker;
        let stores = &self.workers[worker].stores;
        if stores.is_empty() && self.lines[line].owns(worker, self.now) {
            return self.ask(line, request);
        }
        let asked = stores.iter().any(|store| store.line == line && store.asked);
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
    fn bring(&mut self, worker: usize, at: usize) {
        let store = &mut self.workers[worker].stores[at];
        let line = store.line;
        let request = Request {
            access: Access::Own,
            ..store.request
        };
        let random = &mut self.random;
        let answer = self.lines[line].ask(request, self.now, || random.percent(50));
        store.asked = !matches!(answer, Answer::Hit(_));
        if answer == Answer::Serve {
            self.serve(line, false);
        }
    }

    /// Does those of a worker's stores that can be done.
    fn commit(&mut self, worker: usize) {
        while let Some(store) = self.workers[worker].stores.front() {
            let line = &mut self.lines[store.line];
            if !line.owns(worker, self.now) {
                break;
            }
            line.apply(store.request);
            self.workers[worker].stores.pop_front();
        }
    }

    /// Does those of a worker's stores that can be done. The worker, if it goes on.
    fn drain(&mut self, worker: usize) -> Option<usize> {
        self.commit(worker);
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

    /// A worker zeroes pages. Never done at once.
    fn zero(&mut self, worker: usize, pages: &Range<u64>) -> bool {
        let count = pages.end - pages.start;
        let work = match self.costs.zero_remote {
            Some(remote) => {
                let own = self.own(worker, pages);
                self.costs.zero.times(own) + remote.times(count - own)
            }
            None => self.costs.zero.times(count),
        };
        let work = self.costs.call + work;
        self.workers[worker].doing = Doing::Zeroes(count, self.now);
        self.memory.begin(self.now, worker, work);
        self.watch_memory();
        false
    }

    /// How many of some pages a worker dirtied itself: page `p` was by worker
    /// `p * workers / pages`.
    fn own(&self, worker: usize, pages: &Range<u64>) -> u64 {
        let workers = self.workers.len() as u64;
        let first = |worker: u64| (worker * self.pages).div_ceil(workers);
        let start = pages.start.max(first(worker as u64));
        let end = pages.end.min(first(worker as u64 + 1));
        end.saturating_sub(start)
    }

    /// The memory's timer goes off when the next worker has zeroed its pages.
    fn watch_memory(&mut self) {
        let number = self.workers.len();
        self.timers.remove(number);
        if let Some(end) = self.memory.next_end() {
            self.timers.insert(number, end);
        }
    }

    /// Somebody has zeroed its pages, and keeps the books of them.
    fn zeroed(&mut self) -> Option<usize> {
        let worker = self.memory.end(self.now);
        self.watch_memory();
        let Doing::Zeroes(count, since) = self.workers[worker].doing else {
            unreachable!("worker {worker} has zeroed nothing");
        };
        let bookkeeping = self.costs.bookkeeping.times(count) + self.costs.turn;
        let account = &mut self.workers[worker].account;
        account.zeroing = account.zeroing + (self.now - since);
        account.bookkeeping = account.bookkeeping + bookkeeping;
        self.workers[worker].doing = Doing::Works;
        self.timers.insert(worker, self.now + bookkeeping);
        None
    }

    /// A worker gives up its CPU, if a word is as expected. Whether it is done.
    fn park(&mut self, worker: usize, line: usize, word: usize, expected: u64) -> bool {
        if self.lines[line].word(word) != expected {
            return self.work(worker, self.costs.park);
        }
        // Until then the call takes CPU time.
        self.workers[worker].doing = Doing::Parks(self.now + self.costs.park);
        self.parked.push((line, worker));
        false
    }

    /// Wakes the first who gave up its CPU for a line, if there is anybody.
    fn wake(&mut self, line: usize) {
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

/// A part of a length of time in thirds of a nanosecond.
fn part(thirds: u64, share: f64) -> Time {
    if share == 1.0 {
        return Time::from_thirds(thirds);
    }
    Time::from_thirds((thirds as f64 * share + 0.5) as u64)
}
