//! The rules of a process. A wait takes one that is free, for the moment in which it asks when it ends.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_rules::{Host, Time};

use crate::Call;
use crate::page::{Run, SLOTS};

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

/// Makes all rules; whether there is such a rule.
pub(super) fn fill(run: &Run) -> bool {
    for (number, slot) in ALL.iter().enumerate() {
        let Some(host) = run.host(number) else {
            return false;
        };
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
    call: Call,
    called: u64,
    asked: u64,
    note: impl FnOnce() -> T,
) -> Option<(Time, usize, T)> {
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
        let answer = host.as_mut().map(|host| {
            let method = call.method(host.rule().methods());
            let now = Time::from_ns(called);
            let end = host.end(method, now, now + Time::from_ns(asked));
            (end, number, note())
        });
        slot.is_taken.store(false, Ordering::Release);
        return answer;
    }
    None
}
