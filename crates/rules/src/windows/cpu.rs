//! The armed timers of one CPU.

use std::ops::RangeInclusive;

use super::ticks::{Class, Ticks};
use crate::rule::earlier;
use crate::{Random, ThreadId, Time, Timers};

/// The ticks in a default scan at which scans slip: at intervals of 4 to 8 ms (timer-rule
/// article). With 1 tick (9 ms and above) there was no noise, and none with 16 and 31 (PC-Tuning,
/// research.md; amitxv/TimerResolution issue 4). That 5 and 8 (3 and 2 ms) have none is a guess.
const DISORDERED: RangeInclusive<u64> = 2..=4;

/// The cause of a timer's interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// The tick, any.
    EveryTick,
    /// A tick with a default scan.
    DefaultScans,
    /// The tick that it has chosen in the window of its tolerance.
    Tolerant,
    /// An interrupt of its own.
    Own,
}

impl From<Class> for Queue {
    fn from(class: Class) -> Self {
        match class {
            Class::EveryTick => Self::EveryTick,
            Class::DefaultScans => Self::DefaultScans,
        }
    }
}

/// The armed timers whose interrupts are on one CPU.
///
/// Timers without a tolerance are in the order in which they are due. A change of the ticks leaves
/// that order: with a million timers it costs no more than with one.
#[derive(Clone, Debug, Default)]
pub(super) struct Cpu {
    /// By the instant at which they are due.
    every_tick: Timers<Time>,
    /// By the instant at which they are due.
    default_scans: Timers<Time>,
    /// By the instant of their interrupt.
    tolerant: Timers<Time>,
    /// By the instant of their interrupt.
    own: Timers<Time>,
    /// To which tick a default scan has slipped. It is for the timers that are
    /// due by then; those that are armed after it are due later.
    slipped: Option<Time>,
    /// Whether the last default scan came a tick late.
    was_late: bool,
}

impl Cpu {
    /// Puts a timer into a queue; `key` is what the queue is ordered by.
    pub(super) fn insert(&mut self, thread: ThreadId, queue: Queue, key: Time) {
        self.queue(queue).insert(thread, key);
    }

    /// Takes a timer out.
    pub(super) fn remove(&mut self, thread: ThreadId, queue: Queue) {
        self.queue(queue).remove(thread);
    }

    /// Takes out all that have chosen a tick.
    pub(super) fn drain_tolerant(&mut self) -> Vec<ThreadId> {
        let all = self.tolerant.drain().into_iter();
        all.map(|(_, thread)| thread).collect()
    }

    /// There are different ticks from `now` on; a scan that has slipped is at
    /// the first.
    pub(super) fn move_slip(&mut self, now: Time, ticks: &Ticks) {
        let pending = self.slipped.filter(|at| *at > now);
        self.slipped = pending.map(|_| ticks.look_at(Class::EveryTick, now));
    }

    /// The next interrupt that expires one of them, as things stand.
    pub(super) fn next(&self, ticks: &Ticks) -> Option<Time> {
        let every_tick = self.every_tick.first();
        let every_tick = every_tick.map(|(due, _)| ticks.look_at(Class::EveryTick, due));
        let default_scan = self.default_scans.first();
        let default_scan = default_scan.map(|(due, _)| match self.slipped {
            Some(at) if due <= at => at,
            _ => ticks.look_at(Class::DefaultScans, due),
        });
        let tolerant = self.tolerant.first().map(|(at, _)| at);
        let own = self.own.first().map(|(at, _)| at);
        earlier(earlier(every_tick, default_scan), earlier(tolerant, own))
    }

    /// The interrupt at `now`: takes out the timers that it expires. In `slip` of a
    /// hundred cases a default scan is late, by a tick, if the one before was not, or
    /// the other way round. Whether this one is late.
    pub(super) fn interrupt(
        &mut self,
        now: Time,
        ticks: &Ticks,
        slip: u64,
        random: &mut Random,
        expired: &mut Vec<ThreadId>,
    ) -> bool {
        let mut expire = |queue: &mut Timers<Time>, until: Option<Time>| {
            let Some(until) = until else { return };
            while let Some((_, thread)) = queue.pop_if(|key| key <= until) {
                expired.push(thread);
            }
        };
        let tick = ticks.last_look(Class::EveryTick, now);
        let was_slipped = self.slipped.is_some();
        let scan = self.scan(now, ticks, slip, random);
        let is_late = was_slipped && self.slipped.is_none();
        expire(&mut self.every_tick, tick);
        expire(&mut self.default_scans, scan);
        expire(&mut self.tolerant, Some(now));
        expire(&mut self.own, Some(now));
        is_late
    }

    /// The default scan that the interrupt at `now` carries out, if there is a
    /// timer for it.
    fn scan(&mut self, now: Time, ticks: &Ticks, slip: u64, random: &mut Random) -> Option<Time> {
        let (due, _) = self.default_scans.first()?;
        if let Some(at) = self.slipped.filter(|at| due <= *at) {
            if at > now {
                return None;
            }
            self.slipped = None;
            return Some(at);
        }
        let scan = ticks.last_look(Class::DefaultScans, now)?;
        let can_slip = slip > 0 && DISORDERED.contains(&ticks.one_in(Class::DefaultScans));
        if due > scan || !can_slip {
            return Some(scan);
        }
        self.was_late ^= random.percent(slip);
        if self.was_late {
            self.slipped = Some(ticks.grid().after(scan));
            return None;
        }
        Some(scan)
    }

    fn queue(&mut self, queue: Queue) -> &mut Timers<Time> {
        match queue {
            Queue::EveryTick => &mut self.every_tick,
            Queue::DefaultScans => &mut self.default_scans,
            Queue::Tolerant => &mut self.tolerant,
            Queue::Own => &mut self.own,
        }
    }
}
