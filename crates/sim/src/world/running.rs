//! From asleep to running, and back.

use punctual_core::Reason;
use punctual_program::setting::Priority;
use punctual_rules::{ProcessId, ThreadId, Time};

use super::World;
use super::agenda::Event;
use crate::model::{Fair, Scheduling, Turns};
use crate::scheduler::{Candidate, Scheduler, Woken};
use crate::thread::{Burst, Doing, Place, Thread};
use crate::trace::Happened;

/// The kernel's thread for timers, among those that a CPU ran last.
const KTIMERS: ThreadId = ThreadId::MAX;

impl World<'_> {
    /// On `PREEMPT_RT` a thread of the kernel ends the waits of ordinary threads (`ktimers`). It
    /// takes the CPU from any of them; they compete for it when it is done. Beside a real-time
    /// thread that computes, waits end on time without it: a simplification.
    pub(super) fn run_timer_thread(&mut self, cpu: usize, until: Time) {
        let running = self.computer.cpus[cpu].running;
        if running.is_some_and(|id| self.candidate(id).priority == Priority::RealTime) {
            return;
        }
        self.drive_away(cpu);
        let exit = self.computer.rises(cpu, self.now, &*self.rule);
        self.computer.awaits(cpu, self.now);
        self.computer.turn_of(cpu, KTIMERS);
        let timers_until = &mut self.computer.cpus[cpu].timers_until;
        *timers_until = (*timers_until).max(until + exit);
        self.agenda.set(*timers_until, Event::TurnEnd(cpu));
    }

    /// Whether the end of a wait of a thread is the work of the kernel's thread for timers.
    pub(super) fn is_ended_by_thread(&self, id: ThreadId) -> bool {
        self.costs.timer_thread > Time::ZERO && self.candidate(id).priority != Priority::RealTime
    }

    /// Whether the kernel's thread for timers runs on a CPU.
    fn has_timer_thread(&self, cpu: usize) -> bool {
        self.computer.cpus[cpu].running.is_none() && self.agenda.has_turn_end(cpu)
    }

    /// Something ended what a thread was blocked in; the CPU `by` carries that out, `sooner` than
    /// by way of the thread for timers. Returns until when that takes.
    pub(super) fn wake(&mut self, id: ThreadId, reason: Reason, by: usize, sooner: Time) -> Time {
        let latency = self.costs.wake + self.random.below(self.costs.spread) - sooner;
        self.stop_listening(id);
        let thread = &mut self.threads[id];
        let nap = thread.nap;
        thread.reason = reason;
        thread.woken_by = Some(by);
        // One that asks says itself that it reads the clock.
        let read = match thread.doing {
            Doing::Asking(_) => Time::ZERO,
            _ => self.face.read,
        };
        thread.burst = Burst::Work(nap + read);
        // The call itself is the end of the latency.
        self.set_out(id, latency - nap);
        self.now + (latency - nap)
    }

    /// Sends a thread to a CPU, where it arrives after `latency` and what that
    /// takes to leave its idle state.
    pub(super) fn set_out(&mut self, id: ThreadId, latency: Time) {
        let cpu = self.find_cpu(id);
        let ends_rest = self.computer.is_at_rest(cpu, self.now);
        let exit = self.computer.rises(cpu, self.now, &*self.rule);
        self.computer.cpus[cpu].waking += 1;
        let thread = &mut self.threads[id];
        thread.wakeups = thread.wakeups.map(|n| n + u64::from(ends_rest));
        thread.cpu = cpu;
        thread.place = Place::Waking;
        let at = self.now + exit + latency;
        self.agenda.set(at, Event::Ready(id));
    }

    pub(super) fn candidate(&self, id: ThreadId) -> Candidate {
        let thread = &self.threads[id];
        let candidate = thread.candidate(id, self.foreground);
        let efficient = self.model.efficient.from;
        let is_confined =
            efficient < self.computer.cpus.len() && self.rule.saves_energy(id, thread.process);
        Candidate {
            from: if is_confined { efficient } else { 0 },
            ..candidate
        }
    }

    /// The user works with a window of this process, or does not any more.
    pub(super) fn focus(&mut self, process: ProcessId, has_focus: bool) {
        match has_focus {
            true => self.foreground = Some(process),
            false => self.foreground = self.foreground.filter(|other| *other != process),
        }
        for cpu in 0..self.computer.cpus.len() {
            if let Some(running) = self.computer.cpus[cpu].running {
                let candidate = self.candidate(running);
                self.scheduler.changed(candidate);
            }
        }
    }

    /// Where a thread that wakes is to run: where it ran last, if that is free,
    /// or anywhere that is, else where it ran last.
    pub(super) fn find_cpu(&self, id: ThreadId) -> usize {
        if let Scheduler::Unlimited = self.scheduler {
            return self.threads[id].cpu;
        }
        let candidate = self.candidate(id);
        if let Some(pinned) = candidate.pinned {
            return pinned;
        }
        self.choose(&candidate, |cpu| self.computer.is_free(cpu))
            .unwrap_or(candidate.cpu.max(candidate.from))
    }

    /// Of the CPUs that are free the one on which a thread ran last, or the first; an efficiency
    /// core only if it is confined to them or no other is free.
    fn choose(&self, candidate: &Candidate, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        let is_fit = |cpu: &usize| candidate.may_run_on(*cpu) && is_free(*cpu);
        let all = self.computer.cpus.len();
        let fast = self.model.efficient.from.min(all);
        let last = Some(candidate.cpu).filter(is_fit);
        last.filter(|cpu| *cpu < fast)
            .or_else(|| (0..fast).find(is_fit))
            .or(last)
            .or_else(|| (fast..all).find(is_fit))
    }

    /// A thread can run: now, if there is a CPU for it.
    pub(super) fn ready(&mut self, id: ThreadId) {
        let mut candidate = self.candidate(id);
        let is_real_time = candidate.priority == Priority::RealTime;
        let is_free = |cpu: usize| {
            let is_idle = self.computer.cpus[cpu].running.is_none();
            is_idle && (is_real_time || !self.has_timer_thread(cpu))
        };
        if let Some(cpu) = self.choose(&candidate, is_free) {
            candidate.cpu = cpu;
            if !self.scheduler.admits(candidate, self.now) {
                self.threads[id].cpu = cpu;
                self.threads[id].place = Place::Queued;
                self.threads[id].since = self.now;
                self.plan_replenishment();
                if self.computer.cpus[cpu].waking == 0 {
                    self.computer.rests(cpu, self.now, &*self.rule);
                }
                return;
            }
            self.scheduler.runs(candidate, cpu);
            self.run_on(cpu, id);
            return self.go(id);
        }
        match self.scheduler {
            // Turns change as soon as a thread waits.
            Scheduler::Quantum(_) => {
                (0..self.computer.cpus.len()).for_each(|cpu| self.account(cpu))
            }
            _ => self.account(candidate.cpu),
        }
        self.threads[id].place = Place::Queued;
        self.threads[id].since = self.now;
        match self.scheduler.woken(candidate, self.now) {
            Woken::Takes(cpu) => {
                self.drive_away(cpu);
                self.scheduler.runs(candidate, cpu);
                self.run_on(cpu, id);
                return self.go(id);
            }
            Woken::Waits => {}
            Woken::Stops(cpu) => self.give_to_next(cpu),
            // The planned end may come after the tick.
            Woken::WaitsForTick(cpu) => self.agenda.cancel(Event::TurnEnd(cpu)),
        }
        (0..self.computer.cpus.len()).for_each(|cpu| self.plan_turn_end(cpu));
        self.plan_replenishment();
    }

    /// Has threads that wait for time go on when they have some, or when they have starved.
    pub(super) fn plan_replenishment(&mut self) {
        if let Some(at) = self.scheduler.replenishes_at(self.now) {
            self.agenda.set(at, Event::Replenish);
        }
    }

    /// Threads that waited for time, or have starved, may run.
    pub(super) fn replenish(&mut self) {
        (0..self.computer.cpus.len()).for_each(|cpu| self.account(cpu));
        self.scheduler.replenish(self.now);
        for cpu in 0..self.computer.cpus.len() {
            if self.scheduler.is_taken(cpu) {
                self.give_to_next(cpu);
            }
        }
        self.look_at_turns();
    }

    /// Gives free CPUs to threads that may run now, and checks the turns of others.
    pub(super) fn look_at_turns(&mut self) {
        for cpu in 0..self.computer.cpus.len() {
            if self.computer.cpus[cpu].running.is_some() {
                self.agenda.cancel(Event::TurnEnd(cpu));
                self.plan_turn_end(cpu);
            } else if !self.has_timer_thread(cpu)
                && let Some(id) = self.scheduler.next(cpu, self.now)
            {
                self.take_turn(cpu, id);
            }
        }
        self.plan_replenishment();
    }

    /// A hypervisor takes the CPUs away for a while, and will again, unless nothing else is to come.
    pub(super) fn steal(&mut self) {
        let Some(steal) = self.model.steal.filter(|_| self.next() != Time::NEVER) else {
            return;
        };
        self.stall();
        let (ends, nth) = (self.now + steal.length, self.model.stalls.len());
        self.agenda.set(ends, Event::StallEnds(nth));
        self.plan_steal(ends);
    }

    /// The next time, after `from`, that the CPUs are taken away.
    pub(super) fn plan_steal(&mut self, from: Time) {
        if let Some(steal) = self.model.steal {
            let gap = self.random.below(steal.every.times(2));
            let nth = self.model.stalls.len();
            self.agenda.set(from + gap, Event::StallBegins(nth));
        }
    }

    /// Gives a CPU, which is free, to a thread.
    pub(super) fn run_on(&mut self, cpu: usize, id: ThreadId) {
        self.computer.rises(cpu, self.now, &*self.rule);
        self.computer.woke(cpu, self.now);
        self.computer.turn_of(cpu, id);
        self.computer.cpus[cpu].running = Some(id);
        self.agenda.cancel(Event::TurnEnd(cpu));
        let thread = &mut self.threads[id];
        if thread.place == Place::Queued {
            thread.queued = thread.queued + (self.now - thread.since);
        }
        thread.place = Place::Running;
        thread.cpu = cpu;
        thread.since = self.now;
        thread.on_cpu_since = self.now;
        self.plan_turn_end(cpu);
    }

    /// Runs the thread on a CPU from now on, until it gives up the CPU or something else happens
    /// before the end of its work.
    pub(super) fn go(&mut self, id: ThreadId) {
        loop {
            if self.is_stalled || self.refused.is_some() {
                return;
            }
            let end = self.burst_end(id);
            // At the end of time nothing goes on by itself.
            if end == Time::NEVER || self.next() <= end {
                return self.agenda.set(end, Event::Burst(id));
            }
            self.step();
            self.now = end;
            self.account(self.threads[id].cpu);
            if !self.end_burst(id) {
                return;
            }
        }
    }

    /// A thread on its CPU has done what it was at. Whether it is still there,
    /// with more to do.
    pub(super) fn end_burst(&mut self, id: ThreadId) -> bool {
        if let Burst::Yield(_, after) = self.threads[id].burst {
            self.threads[id].burst = Burst::Work(after);
            let cpu = self.threads[id].cpu;
            if self.scheduler.yields(cpu) {
                self.give_to_next(cpu);
                self.plan_replenishment();
                return false;
            }
            return true;
        }
        self.advance(id)
    }

    /// Bills the thread of a CPU for its running until now.
    pub(super) fn account(&mut self, cpu: usize) {
        if self.is_stalled {
            return;
        }
        let Some(thread) = self.computer.cpus[cpu]
            .running
            .map(|id| &mut self.threads[id])
        else {
            return;
        };
        let ran = self.now - thread.since;
        thread.ran(&*self.rule, self.now);
        if let Burst::Work(left) | Burst::Yield(left, _) = &mut thread.burst {
            *left = *left - self.model.efficient.work_in(cpu, ran);
        }
        self.computer.ran(ran);
        self.scheduler.ran(cpu, ran, self.now);
    }

    /// A thread gives up its CPU for good, to the next one.
    pub(super) fn leave(&mut self, id: ThreadId) {
        let cpu = self.threads[id].cpu;
        self.scheduler.left(cpu);
        self.vacate(cpu, id);
        self.fill(cpu);
    }

    /// The thread of a CPU makes room, and waits for another turn.
    pub(super) fn drive_away(&mut self, cpu: usize) {
        self.account(cpu);
        let Some(id) = self.computer.cpus[cpu].running else {
            return;
        };
        self.vacate(cpu, id);
        self.agenda.cancel(Event::Burst(id));
        let thread = &mut self.threads[id];
        thread.place = Place::Queued;
        thread.since = self.now;
        let candidate = self.candidate(id);
        self.scheduler.requeue(candidate, self.now);
        if let Scheduler::Quantum(_) = self.scheduler {
            self.plan_replenishment();
        }
    }

    pub(super) fn vacate(&mut self, cpu: usize, id: ThreadId) {
        self.note_run(id);
        self.computer.cpus[cpu].running = None;
        self.agenda.cancel(Event::TurnEnd(cpu));
    }

    pub(super) fn note_run(&mut self, id: ThreadId) {
        if self.is_stalled {
            return;
        }
        let Thread {
            cpu, on_cpu_since, ..
        } = self.threads[id];
        self.note(|trace| Happened::Ran {
            thread: id,
            cpu,
            from: trace.since(on_cpu_since),
        });
    }

    pub(super) fn give_to_next(&mut self, cpu: usize) {
        self.drive_away(cpu);
        self.fill(cpu);
    }

    /// Gives a free CPU to the next thread, if there is one.
    pub(super) fn fill(&mut self, cpu: usize) {
        if self.has_timer_thread(cpu) {
            return;
        }
        let Some(id) = self.scheduler.next(cpu, self.now) else {
            if self.computer.cpus[cpu].waking == 0 {
                self.computer.rests(cpu, self.now, &*self.rule);
            } else {
                self.computer.awaits(cpu, self.now);
            }
            return;
        };
        self.take_turn(cpu, id);
    }

    fn take_turn(&mut self, cpu: usize, id: ThreadId) {
        self.run_on(cpu, id);
        if !self.is_stalled {
            self.schedule_burst(id);
        }
    }

    /// Has a thread on its CPU go on when it has done what it is at.
    pub(super) fn schedule_burst(&mut self, id: ThreadId) {
        let end = self.burst_end(id);
        self.agenda.set(end, Event::Burst(id));
    }

    pub(super) fn burst_end(&self, id: ThreadId) -> Time {
        match self.threads[id].burst {
            Burst::Work(left) | Burst::Yield(left, _) => {
                let cpu = self.threads[id].cpu;
                self.now + self.model.efficient.time_for(cpu, left)
            }
            Burst::Spin(until) => self.face.spin(self.now, until),
        }
    }

    /// Plans a check of the end of a CPU's turn, if a thread waits for it.
    pub(super) fn plan_turn_end(&mut self, cpu: usize) {
        if self.agenda.has_turn_end(cpu) || !self.scheduler.is_crowded(cpu) {
            return;
        }
        self.account(cpu);
        let Some(left) = self.scheduler.turn_left(cpu) else {
            return;
        };
        let over = self.now + left;
        let at = match &self.model.scheduling {
            Scheduling::Quantum {
                turns: Turns::AtTicks(_),
                ..
            } => {
                let ticks = self.rule.ticks(0, false);
                ticks.map_or(over, |grid| grid.at_or_after(over))
            }
            Scheduling::Fair(Fair {
                tick: Some(tick), ..
            }) => tick.times(over.as_thirds().div_ceil(tick.as_thirds())),
            _ => over,
        };
        self.agenda.set(at, Event::TurnEnd(cpu));
    }

    pub(super) fn end_turn(&mut self, cpu: usize) {
        if self.computer.cpus[cpu].running.is_none() {
            return self.fill(cpu);
        }
        self.account(cpu);
        while let Some((id, to)) = self.scheduler.balance(cpu) {
            self.threads[id].cpu = to;
            match self.computer.cpus[to].running {
                Some(_) => self.plan_turn_end(to),
                None => self.fill(to),
            }
        }
        if self.scheduler.turn_is_over(cpu) {
            // With HRTICK it is the interrupt of a timer that ends the turn.
            if matches!(
                self.model.scheduling,
                Scheduling::Fair(Fair { tick: None, .. })
            ) {
                self.computer.interrupted(cpu, self.now, &*self.rule);
            }
            self.give_to_next(cpu);
            self.plan_replenishment();
        } else {
            self.plan_turn_end(cpu);
        }
    }

    pub(super) fn stall(&mut self) {
        for cpu in 0..self.computer.cpus.len() {
            self.account(cpu);
            if let Some(id) = self.computer.cpus[cpu].running {
                self.note_run(id);
                self.agenda.cancel(Event::Burst(id));
            }
        }
        self.is_stalled = true;
    }

    pub(super) fn unstall(&mut self) {
        self.is_stalled = false;
        for cpu in 0..self.computer.cpus.len() {
            if let Some(id) = self.computer.cpus[cpu].running {
                self.threads[id].since = self.now;
                self.threads[id].on_cpu_since = self.now;
                self.schedule_burst(id);
            }
        }
    }

    /// The thread on its CPU matters more or less. Whether it has lost the CPU
    /// to one that matters more now.
    pub(super) fn reprioritise(&mut self, id: ThreadId) -> bool {
        let candidate = self.candidate(id);
        if self.scheduler.changed(candidate) {
            self.give_to_next(candidate.cpu);
            return true;
        }
        // Its turn may end sooner, or later, than was planned.
        self.agenda.cancel(Event::TurnEnd(candidate.cpu));
        self.plan_turn_end(candidate.cpu);
        false
    }

    /// Moves the thread on its CPU to the one that it is pinned to.
    pub(super) fn migrate(&mut self, id: ThreadId, cpu: usize) {
        self.threads[id].pinned = Some(cpu);
        if self.threads[id].cpu == cpu {
            let candidate = self.candidate(id);
            self.scheduler.changed(candidate);
        } else {
            self.moves(id);
        }
    }

    /// Has the thread on its CPU go on elsewhere.
    pub(super) fn moves(&mut self, id: ThreadId) {
        self.leave(id);
        self.threads[id].burst = Burst::Work(Time::ZERO);
        self.threads[id].woken_by = None;
        self.threads[id].reason = Reason::Ran;
        self.set_out(id, Time::ZERO);
    }
}
