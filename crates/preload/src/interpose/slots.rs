//! The rules of a process. A wait takes one that is free, for the moment in which it asks when it ends.

use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_rules::{Host, OsClock, Time};

use crate::Call;
use crate::page::{Run, SLOTS};
use crate::runtime::{Port, TakenFor, Way};

struct Slot {
    is_taken: AtomicBool,
    host: UnsafeCell<Option<Host>>,
}

// SAFETY: only what has set `is_taken` uses the host.
unsafe impl Sync for Slot {}

static ALL: [Slot; SLOTS] = [const {
    Slot {
        is_taken: AtomicBool::new(true),
        host: UnsafeCell::new(None),
    }
}; SLOTS];

static PORT: OnceLock<Port> = OnceLock::new();

/// The way in which the port of this process waits instead of a call; `None` if the call keeps its length.
pub(super) fn way(call: Call) -> Option<Way> {
    PORT.get()?.way(call)
}

/// Makes all rules for a process that is taken for this; whether there is such a rule.
pub(super) fn fill(run: &Run, taken_for: TakenFor) -> bool {
    for (number, slot) in ALL.iter().enumerate() {
        let Some(host) = run.host(number, taken_for) else {
            return false;
        };
        PORT.get_or_init(|| Port::new(taken_for, host.rule().methods()));
        // SAFETY: all slots are taken until they have a rule, and this runs once.
        unsafe { *slot.host.get() = Some(host) };
        slot.is_taken.store(false, Ordering::Release);
    }
    true
}

/// The end of a wait in the rule's time, its slot, and the answer of `note`. `note` is called while the slot is
/// taken. `None` if no rule is free.
///
/// It never waits for a slot. A thread that is interrupted in here keeps one, and a fork can leave some
/// taken for ever; the next is as good.
pub(super) fn end<T>(
    way: Way,
    called: u64,
    asked: u64,
    note: impl FnOnce() -> T,
) -> Option<(Time, usize, T)> {
    with(|host, number| (way.end(host, called, asked), number, note()))
}

/// The time that a clock of the OS shows at an instant of the rule. `None` if no rule is free, or the OS has no such
/// clock.
pub(super) fn shows(clock: OsClock, now: Time) -> Option<Time> {
    with(|host, _| host.rule().shows(clock, now)).flatten()
}

/// The interval at which a clock is written, if it is written in steps.
pub(super) fn step(clock: OsClock) -> Option<Time> {
    with(|host, _| {
        let rule = host.rule();
        rule.shows(clock, Time::ZERO)?;
        let first = rule.moves(clock, Time::ZERO);
        Some(rule.moves(clock, first) - first)
    })
    .flatten()
}

/// Asks a free rule; `None` if none is free.
fn with<T>(ask: impl FnOnce(&mut Host, usize) -> T) -> Option<T> {
    // Threads begin at slots of their own, by where their stacks lie.
    let here = 0_u8;
    let begin = (&raw const here as usize >> 16) % SLOTS;
    let numbers = (begin..SLOTS).chain(0..begin);
    for number in numbers {
        let slot = &ALL[number];
        if slot.is_taken.swap(true, Ordering::Acquire) {
            continue;
        }
        // SAFETY: this thread has taken the slot.
        let host = unsafe { &mut *slot.host.get() };
        let answer = host.as_mut().map(|host| ask(host, number));
        slot.is_taken.store(false, Ordering::Release);
        return answer;
    }
    None
}
