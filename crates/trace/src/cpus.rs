//! Which thread had which CPU, and when.

use std::collections::{HashMap, VecDeque};

use punctual_record::LateParts;

use crate::behind::{Behinds, Occupant};
use crate::event::Name;

/// The number of turns of a CPU that are remembered. A thread that waited through more of them waited for a
/// CPU all the same, but not all whom it waited for are named.
const TURNS: usize = 256;

/// CPUs that are told apart.
const MOST_CPUS: usize = 8192;

/// A ready thread whose CPU is idle for longer than this is held by something: a CPU wakes within
/// less. The deepest states of idle CPUs in Linux drivers need about 1 ms (`intel_idle.c`: at most
/// 1034 us; most 200).
const LONGEST_WAKE_UP: u64 = 2_000_000;

/// A CPU whose idle thread left so often without a switch, and never with one, shows no events of it.
const UNSEEN_ENDS: u64 = 10;

/// All CPUs.
#[derive(Debug, Default)]
pub(crate) struct Cpus(HashMap<u32, Cpu>);

#[derive(Debug, Default)]
struct Cpu {
    /// The running thread, and since when; `None` before its first switch.
    now: Option<Turn>,
    turns: VecDeque<(Turn, u64)>,
    /// When its last event was.
    seen: u64,
    /// Whether the last event of this CPU was a timer's expiry.
    expired: bool,
    /// How many turns of its idle thread ended with a switch, and how many without.
    idle_left: u64,
    idle_vanished: u64,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    from: u64,
    thread: u32,
    name: Name,
    is_real_time: bool,
}

impl Cpu {
    fn runs_idle(&self) -> bool {
        self.now.is_some_and(|now| now.thread == 0)
    }

    /// Another turn begins, and the last ended at this instant.
    fn next(&mut self, next: Turn, ended: u64) {
        if let Some(last) = self.now.replace(next) {
            if self.turns.len() == TURNS {
                self.turns.pop_front();
            }
            self.turns.push_back((last, ended));
        }
    }
}

impl Cpus {
    /// From now on this thread has the CPU.
    pub(crate) fn switch(
        &mut self,
        cpu: u32,
        time: u64,
        thread: u32,
        name: Name,
        is_real_time: bool,
    ) {
        if self.0.len() >= MOST_CPUS && !self.0.contains_key(&cpu) {
            return;
        }
        let next = Turn {
            from: time,
            thread,
            name,
            is_real_time,
        };
        let of = self.0.entry(cpu).or_default();
        of.idle_left += u64::from(of.runs_idle());
        of.next(next, time);
    }

    /// An event shows that the CPU runs this thread. If that is another one than it should be, some
    /// events did not come, and it is not known what ran since the last one.
    pub(crate) fn observe(&mut self, cpu: u32, time: u64, thread: u32, name: Name) {
        let Some(of) = self.0.get_mut(&cpu) else {
            return;
        };
        if of.now.is_some_and(|now| now.thread != thread) {
            of.idle_vanished += u64::from(of.runs_idle());
            let next = Turn {
                from: time,
                thread,
                name,
                is_real_time: false,
            };
            of.next(next, of.seen);
        }
        of.seen = time;
    }

    /// After lost events it is not known what ran.
    pub(crate) fn forget(&mut self, cpu: u32) {
        if let Some(of) = self.0.get_mut(&cpu) {
            of.now = None;
            of.turns.clear();
        }
    }

    /// The CPUs whose idle thread no event shows, although it ran.
    pub(crate) fn without_idle(&self) -> Vec<u32> {
        let is_hidden = |of: &Cpu| of.idle_left == 0 && of.idle_vanished >= UNSEEN_ENDS;
        let hidden = self.0.iter().filter(|(_, of)| is_hidden(of));
        let mut hidden: Vec<u32> = hidden.map(|(cpu, _)| *cpu).collect();
        hidden.sort_unstable();
        hidden
    }

    /// Notes whether this event of the CPU is a timer's expiry, and returns whether the one before
    /// was.
    pub(crate) fn follows_expiry(&mut self, cpu: u32, is_expiry: bool) -> bool {
        let room = self.0.len() < MOST_CPUS || self.0.contains_key(&cpu);
        room && std::mem::replace(&mut self.0.entry(cpu).or_default().expired, is_expiry)
    }

    /// Splits the time that a thread was ready on a CPU by what the CPU did.
    pub(crate) fn split(
        &self,
        cpu: u32,
        from: u64,
        to: u64,
        parts: &mut LateParts,
        behind: &mut Behinds,
    ) {
        let Some(of) = self.0.get(&cpu) else {
            parts.unknown += to - from;
            return;
        };
        let turns = of.turns.iter().copied();
        let turns = turns.chain(of.now.map(|now| (now, u64::MAX)));
        let (mut idle, mut known) = (0, 0);
        for (turn, until) in turns {
            let ns = until.min(to).saturating_sub(turn.from.max(from));
            known += ns;
            if turn.thread == 0 {
                idle += ns;
                continue;
            }
            parts.cpu += ns;
            let occupant = Occupant {
                name: turn.name,
                cpu,
                is_real_time: turn.is_real_time,
            };
            // The name of a thread that ran before the first event is not known.
            if !turn.name.is_empty() {
                behind.note(occupant, ns);
            }
        }
        match idle > LONGEST_WAKE_UP {
            true => parts.held += idle,
            false => parts.wake_up += idle,
        }
        parts.unknown += (to - from).saturating_sub(known);
    }
}
