//! `prctl(PR_SET_TIMERSLACK)`.
//!
//! Through `syscall`, because the C library cuts the answer of
//! `PR_GET_TIMERSLACK` down to an int, so slack above 2.1 s would look negative.

use crate::Error;
use libc::{PR_GET_TIMERSLACK, PR_SET_TIMERSLACK, SYS_prctl, c_long, c_ulong, syscall};
use punctual_core::Nanos;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest slack that may be set: what the answer of the call can say as a positive
/// number. 292 years, and 2.1 s on 32-bit processors.
pub(super) const MOST: Nanos = Nanos::new(c_long::MAX as u64);

pub(super) fn current() -> Option<Nanos> {
    match answer() {
        // An error, or slack so close to 2^64 ns that the C library takes it for one.
        -1 => behind_an_error(),
        slack => Some(Nanos::new(slack as usize as u64)),
    }
}

/// Slack above [`MOST`], which other code may set, is a negative answer.
fn answer() -> c_long {
    // SAFETY: reads one number of this thread; no pointers.
    unsafe { syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0) }
}

/// `prctl(PR_SET_TIMERSLACK, -1)` has the same answer as a sandbox that refuses the call.
/// Only slack can be changed and brought back.
#[cold]
fn behind_an_error() -> Option<Nanos> {
    let cause = io::Error::last_os_error();
    // The C library has negated the answer.
    let below = usize::try_from(cause.raw_os_error()?).ok()?;
    let slack = Nanos::new(0_usize.wrapping_sub(below) as u64);
    let is_slack = put(LEAST) && answer() == 1;
    // The default where only reading is refused.
    put(if is_slack { slack } else { Nanos::ZERO });
    is_slack.then_some(slack)
}

/// Zero resets the thread to its default slack, which the guard relies on for a
/// real-time thread, whose slack reads as zero. On an error the slack is that of before.
pub(super) fn set(slack: Nanos) -> Result<Nanos, Error> {
    let Some(before) = current() else {
        return Err(Error::last_os("reading timer slack"));
    };
    if !put(slack) {
        return Err(Error::last_os(format_args!(
            "setting timer slack to {slack}"
        )));
    }
    let Some(granted) = current() else {
        let error = Error::last_os("reading timer slack back");
        put(before);
        return Err(error);
    };
    THREAD.with(|thread| {
        if thread.back_to.get() != 0 {
            thread.back_to.set(granted.as_ns());
        }
    });
    Ok(granted)
}

/// The slack of this thread, as it is while nothing here lowers it.
pub(crate) fn own() -> Option<Nanos> {
    let back_to = THREAD.with(|thread| thread.back_to.get());
    current().map(|slack| match back_to {
        1.. if slack == LEAST => Nanos::new(back_to),
        _ => slack,
    })
}

/// Sets the slack of this thread, or what it goes back to where something here lowers it.
pub(crate) fn give_back(slack: Nanos) -> Result<Nanos, Error> {
    if THREAD.with(|thread| thread.back_to.get()) == 0 {
        return set(slack);
    }
    // The slack that is given back may have replaced it.
    put(LEAST);
    THREAD.with(|thread| thread.back_to.set(slack.as_ns()));
    Ok(slack)
}

/// Calls with the least slack there is, 1 ns, and brings back the slack that
/// the thread had just before, also if the call panics. Without a call that could
/// change it, it calls as things stand.
///
/// The thread's slack is read each time, a system call of about 100 ns. The thread itself may have
/// changed it since the last time, and so may any process that may trace this one
/// (`/proc/PID/timerslack_ns`). A thread that has no more slack than that, such as a real-time
/// one, pays for the reading only.
#[inline]
pub fn without<T>(call: impl FnOnce() -> T) -> T {
    within(LEAST, call)
}

/// As [`without`], but leaves a slack of at most `most` as it is.
#[inline]
pub(crate) fn within<T>(most: Nanos, call: impl FnOnce() -> T) -> T {
    let _lowered = Lowered::lower(most);
    call()
}

const LEAST: Nanos = Nanos::new(1);

/// The notes of a thread whose slack is lowered here. Numbers only, which exist from its first to
/// its last moment, and in its signal handlers.
struct OfThread {
    /// The slack that it goes back to, in nanoseconds; 0 while none is lowered.
    back_to: Cell<u64>,
    /// Whether `back_to` is in force for a moment, because it forks.
    forks: Cell<bool>,
    /// How many [`Kept`] it has.
    keepers: Cell<u32>,
    /// Which thread it is; 0 until that is asked.
    number: Cell<u64>,
}

thread_local! {
    static THREAD: OfThread = const {
        OfThread {
            back_to: Cell::new(0),
            forks: Cell::new(false),
            keepers: Cell::new(0),
            number: Cell::new(0),
        }
    };
}

impl OfThread {
    /// Lowers the slack, unless it is at most `most` or cannot be changed. Returns what
    /// it goes back to.
    #[inline]
    fn lower(&self, most: Nanos) -> Option<Nanos> {
        let before = current().filter(|slack| *slack > most)?;
        // Noted first: a signal handler that forks after it is lowered finds it.
        let outer = self.back_to.replace(before.as_ns());
        if !put(LEAST) {
            self.back_to.set(outer);
            return None;
        }
        Some(before)
    }

    /// Restores `slack`, unless another one was set meanwhile, as a signal handler may.
    #[inline]
    fn bring_back(&self, slack: Nanos) {
        if current() == Some(LEAST) {
            // It was in force before, so the system takes it back.
            put(slack);
        }
    }
}

/// The slack lowered for a call.
struct Lowered {
    before: Option<Nanos>,
    /// The slack that the thread was about to get back, if this runs in a signal handler.
    outer: u64,
}

impl Lowered {
    #[inline]
    fn lower(most: Nanos) -> Self {
        THREAD.with(|thread| Self {
            outer: thread.back_to.get(),
            before: thread.lower(most),
        })
    }
}

impl Drop for Lowered {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            THREAD.with(|thread| {
                thread.bring_back(before);
                thread.back_to.set(self.outer);
            });
        }
    }
}

/// Holds the least slack for the thread that lowered it last, until it is dropped
/// on that thread. Several count: the slack comes back with the last.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The number of that thread; 0 before the first.
    thread: u64,
}

impl Kept {
    pub(crate) const fn new() -> Self {
        Self { thread: 0 }
    }

    /// Lowers the slack of this thread, unless this holds it already.
    #[inline]
    pub(crate) fn lower(&mut self) {
        THREAD.with(|thread| {
            if self.thread == 0 || self.thread != thread.number.get() {
                *self = Self::lowered(thread);
            }
        });
    }

    #[cold]
    fn lowered(thread: &OfThread) -> Self {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        if thread.number.get() == 0 {
            (thread.number).set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
        }
        if thread.lower(LEAST).is_none() && thread.back_to.get() == 0 && current() == Some(LEAST) {
            // A guard may have lowered it, and end before this.
            thread.back_to.set(LEAST.as_ns());
        }
        thread.keepers.set(thread.keepers.get() + 1);
        Self {
            thread: thread.number.get(),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.thread == 0 {
            return;
        }
        THREAD.with(|thread| {
            if self.thread != thread.number.get() {
                return;
            }
            thread.keepers.set(thread.keepers.get() - 1);
            if thread.keepers.get() == 0 && thread.back_to.get() != 0 {
                thread.bring_back(Nanos::new(thread.back_to.get()));
                thread.back_to.set(0);
            }
        });
    }
}

/// A child process takes the slack of the thread that forks as its default, for
/// good: so that of before is in force meanwhile.
///
/// The handlers are registered as the program is loaded: registering takes a lock, or memory. The
/// first nap may be in a signal handler, which must not.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_FORK: extern "C" fn() = {
    extern "C" fn register() {
        // SAFETY: the handlers only use numbers of their thread and a system call. That is allowed
        // even in the child of a process with several threads. Without memory for them a child may
        // have 1 ns for its default.
        unsafe {
            libc::pthread_atfork(
                Some(before_fork),
                Some(after_fork),
                Some(after_fork_in_child),
            )
        };
    }
    register
};

extern "C" fn before_fork() {
    THREAD.with(|thread| {
        let slack = Nanos::new(thread.back_to.get());
        if !slack.is_zero() && current() == Some(LEAST) {
            thread.forks.set(put(slack));
        }
    });
}

extern "C" fn after_fork_in_child() {
    crate::crowd::forked();
    after_fork();
}

/// In the parent and in the child, whose nap goes on too.
extern "C" fn after_fork() {
    THREAD.with(|thread| {
        if thread.forks.replace(false) {
            put(LEAST);
        }
    });
}

/// Sets the slack, and says whether the system took it.
fn put(slack: Nanos) -> bool {
    let ns = c_ulong::try_from(slack.as_ns()).unwrap_or(c_ulong::MAX);
    // SAFETY: sets one number of this thread; no pointers.
    unsafe { syscall(SYS_prctl, PR_SET_TIMERSLACK, ns, 0, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slack::hold;

    /// In a thread of its own, because slack stays with the thread.
    fn apart<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(test).join().unwrap()
    }

    #[test]
    fn slack_is_lowered_for_the_call_and_comes_back() {
        apart(|| {
            // The slack just before counts.
            for before in [Nanos::from_us(50), Nanos::from_us(7)] {
                assert_eq!(set(before).unwrap(), before);
                assert_eq!(without(current), Some(Nanos::new(1)));
                assert_eq!(current(), Some(before));
            }
            let panicked = std::panic::catch_unwind(|| without(|| panic!("in a nap")));
            assert!(panicked.is_err());
            assert_eq!(current(), Some(Nanos::from_us(7)));
            set(Nanos::new(1)).unwrap();
            assert_eq!(without(current), Some(Nanos::new(1)));
            assert_eq!(current(), Some(Nanos::new(1)));
        });
    }

    #[test]
    fn slack_that_linux_cannot_give_back_is_refused() {
        apart(|| {
            let before = current();
            for ns in [1 << 63, (1 << 63) + 5, u64::MAX - 4_095, u64::MAX] {
                let error = super::super::set(Nanos::new(ns)).unwrap_err();
                assert!(error.is_range(), "{error}");
                assert!(error.to_string().contains("the most"), "{error}");
                assert!(hold(Nanos::new(ns)).unwrap_err().is_range());
                assert_eq!(current(), before);
            }
            assert_eq!(set(MOST).unwrap(), MOST);
        });
    }

    /// Other code sets it, as with `prctl(PR_SET_TIMERSLACK, -1)`.
    #[test]
    fn slack_above_the_most_is_lowered_for_naps_and_comes_back() {
        apart(|| {
            let most = usize::MAX as u64;
            for ns in [MOST.as_ns() + 6, most - 4_096, most - 4_095, most] {
                let huge = Nanos::new(ns);
                assert!(put(huge));
                assert_eq!(current(), Some(huge));
                assert_eq!(without(current), Some(LEAST));
                assert_eq!(current(), Some(huge));
                drop(kept());
                assert_eq!(current(), Some(huge));
                drop(hold(Nanos::from_us(20)).unwrap());
                assert_eq!(current(), Some(huge));
            }
        });
    }

    fn kept() -> Kept {
        let mut kept = Kept::new();
        kept.lower();
        kept
    }

    #[test]
    fn guards_and_keepers_end_in_any_order() {
        apart(|| {
            let before = current();
            for held in [LEAST, Nanos::from_us(20)] {
                for (guard_first, guard_goes_first) in
                    [(true, false), (true, true), (false, true), (false, false)]
                {
                    let outer = guard_first.then(|| hold(held).unwrap());
                    let kept = kept();
                    let guard = outer.unwrap_or_else(|| hold(held).unwrap());
                    if guard_goes_first {
                        drop(guard);
                        assert_eq!(current(), Some(LEAST));
                        drop(kept);
                    } else {
                        drop(kept);
                        assert_eq!(current(), Some(held));
                        drop(guard);
                    }
                    assert_eq!(current(), before);
                }
            }
        });
    }
}
