//! Threads, processes and phases begin and end, and threads signal to each other.

use std::collections::BTreeSet;

use punctual_core::{Event, Nanos, Reason};
use punctual_program::Program;
use punctual_program::lengths::Draws;
use punctual_program::machine::Recorder;
use punctual_program::program::{Cursor, Op, SpawnKind, Subject};
use punctual_program::setting::Priority;
use punctual_rules::{ThreadId, Time};

use super::World;
use super::agenda;
use crate::scheduler::{Policy, Share};
use crate::thread::{Burst, Doing, Place, Thread};
use crate::trace::{Happened, ThreadInfo};

impl<'p> World<'p> {
    /// Starts a thread that runs `program`.
    pub(super) fn create(
        &mut self,
        name: &'p str,
        program: &'p Program,
        by: Option<(ThreadId, SpawnKind)>,
    ) {
        let id = self.threads.len();
        if id >= self.limits.threads {
            return self.refuse(format!(
                "the simulation came to more than {} threads",
                self.limits.threads
            ));
        }
        let process = match by {
            Some((by, SpawnKind::Thread)) => self.threads[by].process,
            _ => self.processes.len(),
        };
        let group = match by {
            Some((by, _)) => self.threads[by].share.group,
            None => self.scheduler.first_group(),
        };
        if process == self.processes.len() {
            self.processes.push(Vec::new());
            let crowd = punctual_core::crowd::Crowd::new();
            crowd.set_cpus(self.model.cpus().map_or(0, |cpus| cpus as u32));
            self.crowds.push(crowd);
            self.groups.push(group);
        }
        self.processes[process].push(id);
        self.rule.created(id, process, by.map(|(by, _)| by));
        let parent = by.filter(|_| self.rule.inherits());
        let pinned = parent.and_then(|(by, _)| self.threads[by].pinned);
        let mut share = parent.map_or(Share::default(), |(by, _)| self.threads[by].share);
        share.group = group;
        let mut priority = parent.map_or(Priority::Normal, |(by, _)| self.threads[by].priority);
        if share.policy == Policy::Deadline {
            // A reservation is of one thread: the child is as `SCHED_FLAG_RESET_ON_FORK` has it (sched(7)).
            (share.policy, share.nice, priority) = (Policy::Other, Some(0), Priority::Normal);
        }
        // The machine has refused peers.
        let mut has = |method| self.model.resolve(method);
        let build = |subject: &Subject| subject.build(&mut has);
        let strategies = program.subjects.iter().filter_map(build);
        let cpu = match self.model.cpus() {
            Some(cpus) => pinned.unwrap_or(id % cpus),
            None => {
                self.computer.add_cpu();
                id
            }
        };
        self.threads.push(Thread {
            name,
            process,
            first_phase: self.phase,
            began: Nanos::new((self.now - self.began).floor_ns()),
            cursor: Cursor::new(program),
            strategies: strategies.collect(),
            cycles: None,
            // The instant is another in each run and with each seed, and the same on
            // all models.
            draws: Draws::new(self.began.as_thirds(), id),
            arranged: None,
            doing: Doing::Running,
            waiting: None,
            place: Place::Asleep,
            burst: Burst::Work(Time::ZERO),
            nap: Time::ZERO,
            reason: Reason::Ran,
            signalled: None,
            priority,
            share,
            woken_by: by
                .filter(|(by, _)| self.threads[*by].place != Place::Outside)
                .map(|(by, _)| self.threads[by].cpu),
            pinned,
            cpu,
            since: self.now,
            on_cpu_since: self.now,
            recorder: Recorder::new(self.face.show(self.now), 0),
            used: Time::ZERO,
            used_before: Time::ZERO,
            ticked: self.model.counts_by_ticks.then_some(Time::ZERO),
            queued: Time::ZERO,
            switches: 0,
            wakeups: self.model.cpus().map(|_| 0),
            ended: None,
        });
        if let Some(trace) = &mut self.trace {
            trace.threads.push(ThreadInfo {
                name: name.to_owned(),
                process,
            });
        }
        if by.is_none() && is_director(program) {
            self.threads[id].place = Place::Outside;
            return self.direct(id);
        }
        self.set_out(id, Time::ZERO);
    }

    /// Actions of the experimenter take no time and no CPU.
    pub(super) fn direct(&mut self, id: ThreadId) {
        while let Some(op) = self.threads[id].cursor.next() {
            self.step();
            if self.refused.is_some() {
                return;
            }
            match op {
                Op::Until(since_began) => return self.await_hand(id, *since_began),
                Op::Spawn {
                    name,
                    kind,
                    program,
                } => self.create(name, program, Some((id, *kind))),
                Op::Phase => self.begin_phase(),
                _ => break,
            }
        }
        self.end(id);
    }

    /// Has a thread go on so long after the beginning.
    pub(super) fn await_hand(&mut self, id: ThreadId, since_began: Nanos) {
        let at = self.began + since_began.into();
        self.agenda.set(at.max(self.now), agenda::Event::Hand(id));
    }

    pub(super) fn begin_phase(&mut self) {
        self.settle_threads();
        self.phases
            .extend(self.computer.phase(self.now, &*self.rule));
        self.phase += 1;
        let (now, phase) = (self.face.show(self.now), self.phase);
        let mut sections = 1;
        for thread in &mut self.threads {
            if thread.place != Place::Ended {
                thread.section(now);
                sections += 1;
            }
        }
        self.count_kept(sections);
        self.note(|_| Happened::Phase(phase));
    }

    /// Brings the books of all threads up to date.
    pub(super) fn settle_threads(&mut self) {
        (0..self.computer.cpus.len()).for_each(|cpu| self.account(cpu));
        for thread in &mut self.threads {
            if thread.place == Place::Queued {
                thread.queued = thread.queued + (self.now - thread.since);
                thread.since = self.now;
            }
        }
    }

    /// A thread is over, and with the first thread of a process all of it.
    pub(super) fn end(&mut self, id: ThreadId) {
        let process = self.threads[id].process;
        if self.processes[process][0] != id {
            return self.remove(id);
        }
        for id in std::mem::take(&mut self.processes[process]) {
            self.remove(id);
        }
        self.processes[process].push(id);
        self.computer.settle(self.now, &*self.rule);
        let before = self.rule.interval();
        self.rule.ended(process, self.now);
        self.look_at_timers();
        self.note_interval(before);
    }

    pub(super) fn remove(&mut self, id: ThreadId) {
        let place = std::mem::replace(&mut self.threads[id].place, Place::Ended);
        if place == Place::Ended {
            return;
        }
        self.stop_listening(id);
        if self.threads[id].share.policy == Policy::Deadline {
            self.scheduler.reserve(id, None);
        }
        self.agenda.cancel(agenda::Event::Burst(id));
        let cpu = self.threads[id].cpu;
        match place {
            Place::Asleep => {
                self.rule.disarm(id);
                self.look_at_timers();
            }
            Place::Waking => {
                self.computer.cpus[cpu].waking -= 1;
                if self.computer.cpus[cpu].running.is_none() {
                    self.fill(cpu);
                }
            }
            Place::Queued => {
                self.scheduler.remove(id);
                let thread = &mut self.threads[id];
                thread.queued = thread.queued + (self.now - thread.since);
            }
            Place::Running => {
                self.account(cpu);
                self.leave(id);
            }
            Place::Outside | Place::Ended => {}
        }
        let now = self.face.show(self.now);
        let thread = &mut self.threads[id];
        thread.doing = Doing::Ended;
        thread.ended = Some(Box::new(thread.cpu_use(now)));
        self.rule.left(id);
        self.note(|_| Happened::Ended(id));
    }
}

/// Whether a first program only starts others and divides time into phases.
fn is_director(program: &Program) -> bool {
    fn directs(op: &Op) -> bool {
        match op {
            Op::Spawn { .. } | Op::Until(_) | Op::Phase | Op::Exit => true,
            Op::Loop { body, .. } => body.iter().all(directs),
            _ => false,
        }
    }
    let waits = |op: &Op| matches!(op, Op::Until(_));
    program.ops.iter().all(directs) && program.ops.iter().any(waits)
}

impl World<'_> {
    /// A thread can be ended by `event` in what it does from now on.
    pub(super) fn listen(&mut self, id: ThreadId, event: Event) {
        self.waiters.entry(event).or_default().insert(id);
    }

    pub(super) fn unlisten(&mut self, id: ThreadId, event: Event) {
        if let Some(waiters) = self.waiters.get_mut(&event) {
            waiters.remove(&id);
        }
    }

    /// Nothing can end what a thread is at any more.
    pub(super) fn stop_listening(&mut self, id: ThreadId) {
        if let Some(event) = self.threads[id].ended_by() {
            self.unlisten(id, event);
        }
    }

    /// A thread signals, on this CPU.
    pub(super) fn signal(&mut self, event: Event, by: usize) {
        let waiter = self.waiters.get_mut(&event).and_then(BTreeSet::pop_first);
        let Some(id) = waiter else {
            self.signalled.entry(event).or_insert(self.now);
            return;
        };
        self.threads[id].signalled = Some(self.now);
        match self.threads[id].place {
            Place::Asleep => {
                self.note(|_| Happened::Signalled { thread: id });
                self.rule.disarm(id);
                self.look_at_timers();
                self.wake(id, Reason::Event, by, self.costs.timer_thread);
            }
            place => {
                // It spins, and sees the event at its next reading.
                if place == Place::Running {
                    self.account(self.threads[id].cpu);
                }
                let read = self.face.read;
                let thread = &mut self.threads[id];
                thread.reason = Reason::Event;
                thread.burst = Burst::Work(read);
                if place == Place::Running && !self.is_stalled {
                    self.schedule_burst(id);
                }
            }
        }
    }
}
