//! The CPUs of a simulated computer, and the books of what they did.

use std::sync::Arc;

use punctual_core::Nanos;
use punctual_program::machine;
use punctual_program::machine::{ComputerUse, IdleStretches};
use punctual_rules::{Grid, Rule, ThreadId, Time};

use crate::model::{IdleState, IdleTable, Model};

/// A CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) running: Option<ThreadId>,
    /// Threads that have been woken and will come to it.
    pub(crate) waking: u32,
    /// While it is idle: since when.
    rest: Option<Rest>,
    /// Since when no thread runs on it although it is not idle.
    waking_since: Option<Time>,
    /// Up to when the thread of the kernel that ends waits runs on it.
    pub(crate) timers_until: Time,
    /// The thread that ran on it last; `None` once it is idle.
    last: Option<ThreadId>,
    /// Up to when its ticks have been counted.
    counted: Time,
    /// The last tick that was counted, and the next one to count.
    last_tick: Time,
    next_tick: Time,
}

/// An idle CPU.
#[derive(Clone, Copy, Debug)]
struct Rest {
    since: Time,
    /// When it expected to be woken as it came to rest.
    expected: Option<Time>,
    /// The idle state, by number, that an interrupt at `since` ended, if it
    /// was resting before.
    left: Option<usize>,
    /// Whether an interrupt at `since` ended it.
    is_interrupted: bool,
    /// Whether the tick that the CPU kept has come.
    has_ticked: bool,
}

impl Rest {
    fn since(now: Time, expected: Option<Time>) -> Self {
        Self {
            since: now,
            expected,
            left: None,
            is_interrupted: false,
            has_ticked: false,
        }
    }
}

/// The CPUs, and what they did in the phase under way.
#[derive(Debug)]
pub(crate) struct Computer {
    pub(crate) cpus: Vec<Cpu>,
    /// None are counted where each thread has a CPU of its own.
    is_counted: bool,
    idle: Arc<IdleTable>,
    began: Time,
    busy: Time,
    waking: Time,
    interrupts: u64,
    switches: u64,
    wakeups: u64,
    /// By length: shorter than the shortest bound, then from each bound to
    /// twice as much.
    stretches: [(u64, Time); BOUNDS],
    /// Of each state.
    rested: Vec<(u64, Time)>,
}

/// Up to two days.
const BOUNDS: usize = 35;

/// 8 ms divided by a power of two.
const SHORTEST_BOUND: Time = Time::from_ns(15_625);

impl Computer {
    pub(crate) fn new(model: &Model, now: Time) -> Self {
        let idle = Arc::clone(&model.idle);
        let cpu = Cpu {
            rest: Some(Rest::since(now, None)),
            counted: now,
            ..Cpu::default()
        };
        Self {
            cpus: vec![cpu; model.cpus().unwrap_or(0)],
            is_counted: model.cpus().is_some(),
            rested: vec![(0, Time::ZERO); idle.states.len()],
            idle,
            began: now,
            busy: Time::ZERO,
            waking: Time::ZERO,
            interrupts: 0,
            switches: 0,
            wakeups: 0,
            stretches: [(0, Time::ZERO); BOUNDS],
        }
    }

    /// A CPU for another thread, where each has its own.
    pub(crate) fn add_cpu(&mut self) {
        self.cpus.push(Cpu::default());
    }

    /// Whether no thread runs on a CPU or is about to.
    pub(crate) fn is_free(&self, cpu: usize) -> bool {
        let cpu = &self.cpus[cpu];
        cpu.running.is_none() && cpu.waking == 0
    }

    /// Whether who sets out for a CPU now ends its rest, or an interrupt has for them.
    pub(crate) fn is_at_rest(&self, cpu: usize, now: Time) -> bool {
        let rest = self.cpus[cpu].rest;
        rest.is_some_and(|rest| rest.since < now || rest.is_interrupted)
    }

    /// A thread has its turn on a CPU.
    pub(crate) fn turn_of(&mut self, cpu: usize, thread: ThreadId) {
        let before = self.cpus[cpu].last.replace(thread);
        self.switches += u64::from(before != Some(thread));
    }

    /// A thread ran for `length`.
    pub(crate) fn ran(&mut self, length: Time) {
        self.busy = self.busy + length;
    }

    /// No thread runs on the CPU any more.
    pub(crate) fn rests(&mut self, cpu: usize, now: Time, rule: &dyn Rule) {
        if !self.is_counted || self.cpus[cpu].rest.is_some() {
            return;
        }
        self.count_ticks(cpu, now, rule);
        self.woke(cpu, now);
        self.switches += u64::from(self.cpus[cpu].last.take().is_some());
        let expected = rule.next_wake_on(cpu);
        self.cpus[cpu].rest = Some(Rest::since(now, expected));
    }

    /// A thread is about to run on the CPU. Returns the time to leave its idle state.
    pub(crate) fn rises(&mut self, cpu: usize, now: Time, rule: &dyn Rule) -> Time {
        if !self.is_counted || self.cpus[cpu].rest.is_none() {
            return Time::ZERO;
        }
        self.count_ticks(cpu, now, rule);
        let Some(rest) = self.cpus[cpu].rest.take() else {
            return Time::ZERO;
        };
        self.cpus[cpu].waking_since = Some(now);
        let state = if now > rest.since {
            let state = self.state(cpu, rest, rule);
            self.stretch(now - rest.since, 1, state);
            self.wakeups += 1;
            state
        } else {
            rest.left
        };
        state.map_or(Time::ZERO, |state| self.idle.states[state].exit_latency)
    }

    /// A thread has begun to run on a CPU that was waking, or it goes back to
    /// rest.
    pub(crate) fn woke(&mut self, cpu: usize, now: Time) {
        if let Some(since) = self.cpus[cpu].waking_since.take() {
            self.waking = self.waking + (now - since);
        }
    }

    /// No thread runs on the CPU any more, but one is on its way to it.
    pub(crate) fn awaits(&mut self, cpu: usize, now: Time) {
        if self.is_counted {
            self.cpus[cpu].waking_since.get_or_insert(now);
        }
    }

    /// A timer interrupt on a CPU.
    pub(crate) fn interrupted(&mut self, cpu: usize, now: Time, rule: &dyn Rule) {
        if !self.is_counted {
            return;
        }
        self.count_ticks(cpu, now, rule);
        let Cpu {
            rest, last_tick, ..
        } = self.cpus[cpu];
        if last_tick == now && rule.ticks(cpu, rest.is_some()).is_some() {
            return;
        }
        self.interrupts += 1;
        if let Some(rest) = rest.filter(|rest| rest.since < now) {
            let state = self.state(cpu, rest, rule);
            self.stretch(now - rest.since, 1, state);
            self.wakeups += 1;
            self.cpus[cpu].rest = Some(Rest {
                left: state,
                is_interrupted: true,
                has_ticked: rest.has_ticked,
                ..Rest::since(now, None)
            });
        }
    }

    /// Counts everything up to `now`, before the ticks of the rule change.
    pub(crate) fn settle(&mut self, now: Time, rule: &dyn Rule) {
        if self.is_counted {
            for cpu in 0..self.cpus.len() {
                self.count_ticks(cpu, now, rule);
                self.cpus[cpu].next_tick = Time::ZERO;
            }
        }
    }

    /// Ends a phase.
    pub(crate) fn phase(&mut self, now: Time, rule: &dyn Rule) -> Option<ComputerUse> {
        if !self.is_counted {
            return None;
        }
        self.settle(now, rule);
        for cpu in 0..self.cpus.len() {
            if let Some(since) = &mut self.cpus[cpu].waking_since {
                self.waking = self.waking + (now - *since);
                *since = now;
            }
            if let Some(rest) = self.cpus[cpu].rest.filter(|rest| rest.since < now) {
                let state = self.state(cpu, rest, rule);
                self.stretch(now - rest.since, 1, state);
                self.cpus[cpu].rest = Some(Rest {
                    since: now,
                    is_interrupted: false,
                    ..rest
                });
            }
        }
        let nanos = |time: Time| Nanos::new(time.floor_ns());
        let stretches = self.stretches.iter().enumerate();
        let idle = stretches
            .filter(|(_, (count, _))| *count > 0)
            .map(|(i, &(count, total))| IdleStretches {
                at_least: match i {
                    0 => Nanos::ZERO,
                    i => nanos(SHORTEST_BOUND.times(1 << (i - 1))),
                },
                count,
                total: nanos(total),
            });
        let states = self.idle.states.iter().zip(&self.rested);
        let idle_states = states.map(|(state, &(entered, total))| machine::IdleState {
            name: state.name.to_owned(),
            entered,
            total: nanos(total),
        });
        let energy = self.idle.power.as_ref().map(|power| {
            let idle = self.rested.iter().zip(&power.idle);
            let idle = idle.map(|(&(_, total), &milliwatts)| (total, milliwatts));
            let all = idle.chain([(self.busy + self.waking, power.awake)]);
            let picojoules = |(time, milliwatts): (Time, u64)| {
                u128::from(time.floor_ns()) * u128::from(milliwatts)
            };
            (all.map(picojoules).sum::<u128>() / 1_000_000) as u64
        });
        let used = ComputerUse {
            elapsed: nanos(now) - nanos(self.began),
            cpus: self.cpus.len(),
            busy: Some(nanos(self.busy)),
            waking: Some(nanos(self.waking)),
            interrupts: Some(self.interrupts),
            switches: Some(self.switches),
            wakeups: Some(self.wakeups),
            idle: idle.collect(),
            idle_states: idle_states.collect(),
            energy_uj: energy,
            interval: rule.interval(),
        };
        self.began = now;
        self.busy = Time::ZERO;
        self.waking = Time::ZERO;
        self.interrupts = 0;
        self.switches = 0;
        self.wakeups = 0;
        self.stretches = [(0, Time::ZERO); BOUNDS];
        self.rested.fill((0, Time::ZERO));
        Some(used)
    }

    /// Counts the ticks of a CPU after those that have been counted, and the idle stretches
    /// between them: no event was spent on them.
    fn count_ticks(&mut self, cpu: usize, now: Time, rule: &dyn Rule) {
        let books = &mut self.cpus[cpu];
        let (rest, counted) = (books.rest, books.counted);
        books.counted = now;
        if now < books.next_tick {
            return;
        }
        let Some(grid) = rule.ticks(cpu, rest.is_some()) else {
            self.count_kept_tick(cpu, now, rule);
            return;
        };
        let ticks = grid.count(counted, now);
        books.next_tick = grid.after(now);
        if ticks == 0 {
            return;
        }
        books.last_tick = grid.at_or_before(now);
        self.interrupts += ticks;
        if let Some(rest) = rest {
            self.wakeups += ticks;
            let (first, last) = (grid.after(counted), grid.at_or_before(now));
            let state = self.state(cpu, rest, rule);
            self.stretch(first - rest.since, 1, state);
            let between = self.state_for(grid.period);
            self.stretch(grid.period, ticks - 1, between);
            self.cpus[cpu].rest = Some(Rest {
                since: last,
                left: if ticks > 1 { between } else { state },
                is_interrupted: true,
                ..rest
            });
        }
    }

    /// Counts the tick that an idle CPU keeps, once it has come.
    fn count_kept_tick(&mut self, cpu: usize, now: Time, rule: &dyn Rule) {
        let rest = self.cpus[cpu].rest.filter(|rest| !rest.has_ticked);
        let (Some(rest), Some(grid)) = (rest, rule.idle_tick()) else {
            return;
        };
        let tick = grid.after(rest.since);
        // At the same instant they are one interrupt.
        if tick >= now {
            return;
        }
        self.interrupts += 1;
        self.wakeups += 1;
        let state = self.state(cpu, rest, rule);
        self.stretch(tick - rest.since, 1, state);
        self.cpus[cpu].rest = Some(Rest {
            since: tick,
            left: state,
            is_interrupted: true,
            has_ticked: true,
            ..rest
        });
    }

    /// The idle state, by number, of a CPU that came to rest as `rest` says.
    fn state(&self, cpu: usize, rest: Rest, rule: &dyn Rule) -> Option<usize> {
        if self.idle.states.is_empty() {
            return None;
        }
        let tick = rule
            .ticks(cpu, true)
            .map(|grid: Grid| grid.after(rest.since));
        let next = match (tick, rest.expected.filter(|at| *at > rest.since)) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(Time::NEVER),
        };
        self.state_for(next - rest.since)
    }

    /// The deepest state whose target residency fits into `expected`, else the
    /// shallowest.
    fn state_for(&self, expected: Time) -> Option<usize> {
        let fits = |state: &IdleState| state.target_residency <= expected;
        let deepest = self.idle.states.iter().rposition(fits);
        deepest.or((!self.idle.states.is_empty()).then_some(0))
    }

    fn stretch(&mut self, length: Time, times: u64, state: Option<usize>) {
        if length == Time::ZERO || times == 0 {
            return;
        }
        let bucket = match length.div(SHORTEST_BOUND) {
            0 => 0,
            n => (1 + n.ilog2() as usize).min(BOUNDS - 1),
        };
        let total = length.times(times);
        let add = |sum: &mut (u64, Time)| *sum = (sum.0 + times, sum.1 + total);
        add(&mut self.stretches[bucket]);
        if let Some(state) = state {
            add(&mut self.rested[state]);
        }
    }
}
