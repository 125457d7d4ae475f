//! What happens on a simulated computer, in which order.
//!
//! | file | what it is about |
//! |---|---|
//! | this one | the computer, and whose turn it is |
//! | `worker` | what each worker does, and where its time goes |
//! | `transfers` | lines that travel between workers, and stores that are posted |
//!
//! Every worker does one thing at a time. A line serves one request at a time,
//! so at most one of those who want it has a timer; all others just wait. What
//! falls due at one instant happens in the order of the workers' numbers, then
//! that of the memory, then lines that are brought for stores.

mod transfers;
mod worker;

pub(crate) use worker::Wanted;

use std::collections::VecDeque;

use punctual_core::Nanos;
use punctual_sim::{Random, Time, Timers};
use worker::{Account, Doing, Losses, Worker};

use super::bandwidth::Bandwidth;
use super::costs::Costs;
use super::lines::{Access, Line, Request};
use super::quantity::Quantity;
use super::simulate::Preemption;

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
        let workers = (0..costs.workers()).map(|worker| {
            let begun = random.below(costs[Quantity::Spread]);
            timers.insert(worker, begun);
            Worker {
                doing: Doing::Works,
                answer: 0,
                losses: Losses::new(preemption, &mut random),
                account: Account {
                    begun,
                    ..Account::default()
                },
                drained: Time::ZERO,
                stores: VecDeque::new(),
                then: None,
                has_taken: false,
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

    /// What a line takes between two workers, on average.
    pub(crate) fn transfer(&self) -> Nanos {
        self.costs.mean_transfer
    }

    /// The time in whole nanoseconds.
    /// For a worker whose stores to pages are on their way it is when they are done:
    /// what a page takes counts as zeroing it, and not as waiting for the next lock.
    pub(crate) fn now(&self) -> Nanos {
        let drained = self.current.map(|worker| self.workers[worker].drained);
        let now = drained.map_or(self.now, |drained| drained.max(self.now));
        Nanos::new(now.floor_ns())
    }

    /// What came of what the running worker asked for.
    pub(crate) fn answer(&self) -> u64 {
        self.workers[self.running()].answer
    }

    pub(crate) fn operations(&self) -> u64 {
        self.operations
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

    /// The running worker asks for something. What came of it, if nothing else
    /// happens before it is done.
    pub(crate) fn begin(&mut self, wanted: Wanted) -> Option<u64> {
        self.start(self.running(), wanted)
    }

    /// A worker asks for something. What came of it, if that is done at once.
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
