//! One experiment on a simulated computer: what happens, in which order.
//!
//! | file | what it is about |
//! |---|---|
//! | `threads` | threads, processes and phases begin and end; events that threads signal to each other |
//! | `running` | from asleep to running, and back |
//! | `ops` | what a thread does: operations, and the steps of its waits |
//! | `settings` | what it changes about how the OS treats it |
//! | `agenda` | what is to happen, besides timer interrupts |
//! | `asking` | threads whose operations come from outside, one by one |

mod agenda;
pub(crate) mod asking;
mod ops;
mod running;
mod settings;
mod threads;
#[cfg(test)]
mod witness;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use punctual_core::crowd::Crowd;
use punctual_core::{Nanos, Tick};
use punctual_program::machine::ComputerUse;
use punctual_program::{Observations, Program, Refusal};
use punctual_rules::{Expired, ProcessId, Random, Rule, ThreadId, Time};

use agenda::{Agenda, Event};

use crate::clock::{Face, SimClock};
use crate::computer::Computer;
use crate::model::{Model, Scheduling};
use crate::scheduler::{GroupId, Scheduler};
use crate::thread::{Burst, Place, Thread};
use crate::trace::{Explanation, Happened, Trace};

/// How much a simulation may come to before it is given up, so that no program
/// hangs it or fills the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps: interrupts, and operations and parts of operations of threads. A
    /// second of real time is some millions.
    pub steps: u64,
    /// Threads, living or ended.
    pub threads: usize,
    /// Samples, readings and sections of threads together.
    pub samples: u64,
}

impl Default for Limits {
    /// For programs of one's own: hours, and some gigabytes.
    fn default() -> Self {
        Self {
            steps: 1 << 35,
            threads: 1 << 21,
            samples: 1 << 25,
        }
    }
}

/// Steps between two checks of the watcher: some hundredths of a second.
const WATCHED: u64 = 1 << 16;

/// An experiment under way.
pub(crate) struct World<'p> {
    model: Arc<Model>,
    rule: Box<dyn Rule>,
    pub(crate) random: Random,
    face: Face,
    costs: Costs,
    now: Time,
    threads: Vec<Thread<'p>>,
    /// Events that were signalled and not waited for yet, with the time.
    signalled: BTreeMap<punctual_core::Event, Time>,
    /// When the rule's next interrupt is, and on which CPU; [`Time::NEVER`] if there is
    /// none.
    next_interrupt: (Time, usize),
    began: Time,
    agenda: Agenda,
    processes: Vec<Vec<ThreadId>>,
    /// The waiting threads of each process.
    crowds: Vec<Crowd>,
    /// The group that each process was started in.
    groups: Vec<GroupId>,
    /// The group of its own that a process has had.
    own_groups: BTreeMap<ProcessId, OwnGroup>,
    /// The process whose window the user works with.
    foreground: Option<ProcessId>,
    computer: Computer,
    scheduler: Scheduler,
    /// Whether the CPUs are taken away.
    is_stalled: bool,
    waiters: BTreeMap<punctual_core::Event, BTreeSet<ThreadId>>,
    phases: Vec<ComputerUse>,
    phase: usize,
    trace: Option<Trace>,
    limits: Limits,
    steps: u64,
    /// Samples, readings and sections.
    kept: u64,
    /// Why the experiment is given up.
    refused: Option<Refusal>,
    /// The thread on its CPU that asks what comes next.
    asking: Option<ThreadId>,
    /// Is told now and then how much virtual time has gone by.
    pub(crate) watch: Option<&'p mut (dyn FnMut(Nanos) + Send)>,
}

/// The group of a process, inside that of its parent.
struct OwnGroup {
    group: GroupId,
    has_quota: bool,
    has_weight: bool,
}

/// The costs of operations, as [`model::Costs`](crate::Costs) states them.
struct Costs {
    yielding: Time,
    nap: Time,
    /// The least that a wake takes, and how much more it may.
    wake: Time,
    spread: Time,
    /// The part of a wake that the thread for timers of the kernel takes.
    timer_thread: Time,
}

impl Costs {
    fn of(model: &Model) -> Self {
        let costs = model.costs();
        let (wake, jitter) = (Time::from(costs.wake), Time::from(costs.jitter));
        let (wake, nap) = (wake - jitter, Time::from(costs.nap));
        let timer_thread = match &model.scheduling {
            Scheduling::Fair(fair) if fair.has_timer_thread => wake - nap,
            _ => Time::ZERO,
        };
        Self {
            yielding: costs.yielding.into(),
            nap,
            timer_thread,
            wake,
            spread: jitter.times(2),
        }
    }
}

impl<'p> World<'p> {
    pub(crate) fn new(model: Arc<Model>, random: Random, limits: Limits, start: Time) -> Self {
        Self {
            rule: model.build_rule(),
            costs: Costs::of(&model),
            random,
            face: Face {
                read: model.costs().read.into(),
                step: model.clock_step,
                frozen: model
                    .frozen
                    .iter()
                    .map(|&(from, to)| (start + from, start + to))
                    .collect(),
            },
            now: start,
            threads: Vec::new(),
            signalled: BTreeMap::new(),
            next_interrupt: (Time::NEVER, 0),
            began: start,
            agenda: Agenda::default(),
            processes: Vec::new(),
            crowds: Vec::new(),
            groups: Vec::new(),
            own_groups: BTreeMap::new(),
            foreground: None,
            computer: Computer::new(&model, start),
            scheduler: Scheduler::new(model.scheduling, model.cpus().unwrap_or(0)),
            is_stalled: false,
            waiters: BTreeMap::new(),
            phases: Vec::new(),
            phase: 0,
            trace: None,
            limits,
            steps: 0,
            kept: 0,
            refused: None,
            asking: None,
            watch: None,
            model,
        }
    }

    /// Notes what happens from now on, and the interval that is in force.
    pub(crate) fn trace(&mut self) {
        self.trace = Some(Trace::new(self.began));
        self.note_interval(None);
    }

    /// Runs `program` as the first thread, and lets everything happen until it
    /// has ended.
    pub(crate) fn run(&mut self, program: &'p Program) -> Result<(), Refusal> {
        self.plan_stalls();
        self.plan_steal(self.began);
        self.create("", program, None);
        self.happen_all()
    }

    fn plan_stalls(&mut self) {
        let model = Arc::clone(&self.model);
        for (stall, &(from, to)) in model.stalls.iter().enumerate() {
            if to > from {
                self.agenda
                    .set(self.began + from, Event::StallBegins(stall));
                self.agenda.set(self.began + to, Event::StallEnds(stall));
            }
        }
    }

    /// Until the first thread has ended, or one asks what comes next.
    fn happen_all(&mut self) -> Result<(), Refusal> {
        let mut expired = Vec::new();
        while self.threads[0].place != Place::Ended && self.asking.is_none() {
            let at = self.next();
            if at == Time::NEVER {
                let is_asleep = !self.agenda.is_empty() || self.rule.next_interrupt().is_some();
                return Err(Refusal::new(if is_asleep {
                    "the program outlives virtual time, which ends after 195 years"
                } else {
                    "the program awaits an event that is never signalled"
                }));
            }
            self.step();
            self.now = self.now.max(at);
            if self.next_interrupt.0 == at {
                self.interrupt(&mut expired);
            } else if let Some(event) = self.agenda.pop() {
                self.happen(event);
            }
            if self.refused.is_some() {
                break;
            }
        }
        self.refused.take().map_or(Ok(()), Err)
    }

    pub(crate) fn finish(mut self) -> (Observations, Option<Trace>) {
        self.settle_threads();
        self.phases
            .extend(self.computer.phase(self.now, &*self.rule));
        for cpu in 0..self.computer.cpus.len() {
            if let Some(id) = self.computer.cpus[cpu].running {
                self.note_run(id);
            }
        }
        let now = self.face.show(self.now);
        let observations = Observations {
            threads: self.threads.into_iter().map(|t| t.finish(now)).collect(),
            computer: self.phases,
            interrupted: false,
        };
        (observations, self.trace)
    }

    /// When something happens next that no thread does; [`Time::NEVER`] if nothing does.
    fn next(&self) -> Time {
        self.next_interrupt.0.min(self.agenda.next())
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::StallBegins(nth) if nth >= self.model.stalls.len() => self.steal(),
            Event::StallBegins(_) => self.stall(),
            Event::StallEnds(_) => self.unstall(),
            Event::Replenish => self.replenish(),
            Event::Hand(id) if self.threads[id].place == Place::Outside => self.direct(id),
            Event::Hand(id) => {
                self.threads[id].burst = Burst::Work(self.face.read);
                self.threads[id].woken_by = None;
                self.ready(id);
            }
            Event::Ready(id) => {
                let cpu = self.threads[id].cpu;
                self.computer.cpus[cpu].waking -= 1;
                self.ready(id);
            }
            Event::Burst(id) => {
                self.account(self.threads[id].cpu);
                if self.end_burst(id) {
                    self.go(id);
                }
            }
            Event::TurnEnd(cpu) => self.end_turn(cpu),
        }
    }

    fn interrupt(&mut self, expired: &mut Vec<Expired>) {
        while self.next_interrupt.0 <= self.now {
            self.step();
            if self.refused.is_some() {
                return;
            }
            let cpu = self.next_interrupt.1;
            self.computer.interrupted(cpu, self.now, &*self.rule);
            self.rule
                .interrupt(cpu, self.now, &mut self.random, expired);
            let mut timers_until = None;
            for Expired {
                thread,
                reason,
                why,
            } in expired.drain(..)
            {
                let (at, origin) = (self.now, self.began);
                self.note(|_| Happened::Expired {
                    thread,
                    cpu,
                    why: Explanation { why, at, origin },
                });
                if self.is_ended_by_thread(thread) {
                    let until = self.wake(thread, reason, cpu, Time::ZERO);
                    timers_until = timers_until.max(Some(until));
                } else {
                    self.wake(thread, reason, cpu, self.costs.timer_thread);
                }
            }
            if let Some(until) = timers_until {
                self.run_timer_thread(cpu, until);
            }
            self.look_at_timers();
        }
    }

    /// Takes note of the next interrupt, after whatever may have changed it.
    fn look_at_timers(&mut self) {
        self.next_interrupt = self.rule.next_interrupt().unwrap_or((Time::NEVER, 0));
    }

    /// Takes note that a setting or an end may have changed the interval and the requests for it.
    fn note_interval(&mut self, before: Option<Nanos>) {
        let after = self.rule.interval();
        if let Some(after) = after.filter(|after| Some(*after) != before) {
            self.note(|_| Happened::Interval(after));
        }
        if let Some(trace) = &mut self.trace {
            trace.note_requests(self.now, self.rule.outstanding());
        }
    }

    /// Before anything that can change the ticks.
    fn settle_ticks(&mut self) {
        self.computer.settle(self.now, &*self.rule);
    }

    /// The time of the simulated clock.
    fn show(&self) -> Tick<SimClock> {
        self.face.show(self.now)
    }

    /// Counts a step, and gives up after too many.
    fn step(&mut self) {
        self.steps += 1;
        if self.steps.is_multiple_of(WATCHED)
            && let Some(watch) = &mut self.watch
        {
            watch(Nanos::new((self.now - self.began).floor_ns()));
        }
        if self.steps > self.limits.steps {
            self.refuse(format!(
                "the simulation came to more than {} steps; make it shorter",
                self.limits.steps
            ));
        }
    }

    /// Counts what is kept of the experiment, and gives up at too much.
    fn count_kept(&mut self, more: u64) {
        self.kept += more;
        if self.kept > self.limits.samples {
            self.refuse(format!(
                "the simulation came to more than {} samples; make it shorter",
                self.limits.samples
            ));
        }
    }

    fn refuse(&mut self, why: String) {
        self.refused.get_or_insert_with(|| Refusal::new(why));
    }

    /// Notes something, if anybody wants to know.
    fn note(&mut self, what: impl FnOnce(&Trace) -> Happened) {
        if let Some(trace) = &mut self.trace {
            let what = what(trace);
            trace.note(self.now, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::strategies::AnyStrategy;
    use punctual_core::{Method, StrategySpec};
    use punctual_program::program::{Due, Op, SpawnKind, Subject};

    use super::*;

    /// The learned CPU time of the naps of thread number `id` of `program` on Linux, where one
    /// takes 3 us: the first ones are metered.
    fn learned(program: &Program, id: ThreadId) -> Vec<Nanos> {
        let model = Model::parse("linux,nap=3us,wake=10us,jitter=0ns,cpus=1").unwrap();
        let model = Arc::new(model);
        let mut world = World::new(model, Random::new(1), Limits::default(), Time::ZERO);
        world.run(program).unwrap();
        match &world.finish().0.threads[id].learned[..] {
            [Some(AnyStrategy::Adaptive(adaptive))] => {
                let classes = adaptive.profile().classes;
                let mut cpu: Vec<Nanos> = classes.iter().map(|class| class.cpu).collect();
                cpu.dedup();
                cpu
            }
            other => panic!("{other:?}"),
        }
    }

    fn waiting(ops: Vec<Op>) -> Program {
        let subject = Subject::Strategy(StrategySpec::adaptive(10.0));
        Program::of(subject, ops)
    }

    const WAIT: Op = Op::wait(Due::After(Nanos::from_ms(10)));
    /// The nap, and the reading of the clock after it.
    const CHARGED: Nanos = Nanos::new(3_000 + 31);

    #[test]
    fn a_metered_block_learns_what_the_model_charges() {
        assert_eq!(learned(&waiting(vec![WAIT; 3]), 0), [CHARGED]);
    }

    #[test]
    fn a_record_before_it_changes_nothing() {
        let program = waiting(vec![WAIT, Op::Record, WAIT, Op::Record, WAIT]);
        assert_eq!(learned(&program, 0), [CHARGED]);
    }

    /// A phase begins a new section in the middle of whatever threads do.
    #[test]
    fn a_phase_during_it_and_the_work_of_others_change_nothing() {
        let spawn = |ops| Op::spawn(SpawnKind::Thread, "", waiting(ops));
        // By then the other one has begun its block.
        let nap = Op::nap(Method::Sleep, Nanos::from_ms(6));
        let director = Program::from(vec![
            spawn(vec![WAIT, WAIT]),
            spawn(vec![nap, Op::Work(Nanos::from_secs(1))]),
            Op::Until(Nanos::from_ms(7)),
            Op::Phase,
            Op::Until(Nanos::from_ms(200)),
        ]);
        assert_eq!(learned(&director, 1), [CHARGED]);
    }
}
