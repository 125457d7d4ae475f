//! Waits that are only logged, as `punctual trace` has it: the real call with what the caller asked for.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use super::wait::{errno, set_errno};
use super::{delay, process};
use crate::traced::{Ended, Record, Ring, System, Timer, What};

static RING: OnceLock<Ring<'static>> = OnceLock::new();

/// Has the waits of this process logged, if the page is that of such a run.
pub(super) fn take_part(words: &'static [AtomicU64]) -> bool {
    let Some(ring) = Ring::new(words) else {
        return false;
    };
    ring.count();
    delay::prepare();
    RING.get_or_init(|| ring);
    true
}

/// Whether the waits of this process are logged.
#[inline]
pub(super) fn takes_part() -> bool {
    RING.get().is_some()
}

/// The end that a caller asks for.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    /// After so many nanoseconds.
    Length(u64),
    /// At an instant of CLOCK_MONOTONIC.
    Instant(u64),
}

/// A wait under way. It holds nothing: the thread may be cancelled meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    ring: Ring<'static>,
    is_sleep: bool,
    due: u64,
    process: u32,
    thread: u32,
    delay: Option<u64>,
}

impl Wait {
    /// A call that begins; `None` if the waits of this process are not logged.
    pub(super) fn begin(call: System, asked: Asked) -> Option<Self> {
        let ring = *RING.get()?;
        let error = errno();
        let (process, thread) = this_thread();
        let mut name = [0_u8; 16];
        // SAFETY: these read the slack, the name, which has 16 bytes, the policy and the nice value of this thread.
        let (slack, policy, nice) = unsafe {
            libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
            let nice = match call.timer() {
                Timer::Poll => libc::getpriority(libc::PRIO_PROCESS, 0),
                _ => 0,
            };
            (
                libc::prctl(libc::PR_GET_TIMERSLACK),
                libc::sched_getscheduler(0),
                nice,
            )
        };
        let delay = delay::of_this_thread(process, thread);
        set_errno(error);
        // Last, as a length counts from here.
        let now = process::now(libc::CLOCK_MONOTONIC);
        let (due, is_instant) = match asked {
            Asked::Length(length) => (now.saturating_add(length), false),
            Asked::Instant(due) => (due, true),
        };
        let real_time = [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_DEADLINE];
        let policy = policy & !libc::SCHED_RESET_ON_FORK;
        let what = What::Begin {
            call,
            due,
            is_instant,
            slack: u64::try_from(slack).unwrap_or(0),
            is_real_time: real_time.contains(&policy),
            is_nice: nice > 0,
            name,
        };
        ring.write(Record {
            time: now,
            process,
            thread,
            what,
        });
        Some(Self {
            ring,
            is_sleep: matches!(call.timer(), Timer::Sleep),
            due,
            process,
            thread,
            delay,
        })
    }

    /// Whether the time that the caller asked for is over.
    pub(super) fn is_over(&self) -> bool {
        process::now(libc::CLOCK_MONOTONIC) >= self.due
    }

    /// The call has returned: whether by its timer, and else whether by a signal.
    pub(super) fn finish(self, is_timer: bool, is_signal: bool) {
        let ended = match (is_timer, is_signal || self.is_sleep) {
            (true, _) => Ended::ByTime,
            (false, true) => Ended::BySignal,
            (false, false) => Ended::ByEvent,
        };
        let delay = (self.delay).and_then(|before| {
            delay::of_this_thread(self.process, self.thread)?.checked_sub(before)
        });
        self.ring.write(Record {
            // Last, as the program has to wait for this too.
            time: process::now(libc::CLOCK_MONOTONIC),
            process: self.process,
            thread: self.thread,
            what: What::End { ended, delay },
        });
    }
}

/// The process and the number of this thread.
fn this_thread() -> (u32, u32) {
    thread_local! {
        static KNOWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }
    // SAFETY: it has no arguments.
    let process = unsafe { libc::getpid() } as u32;
    let (of, thread) = KNOWN.get();
    if of == process {
        return (process, thread);
    }
    // SAFETY: it has no arguments. After a fork the number is another.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    KNOWN.set((process, thread));
    (process, thread)
}
