//! A wait, under a rule, on time, or only logged.

use libc::{c_int, clockid_t};

use super::notifications::Condition;
use super::process;
use super::traced::{self, Asked};
use super::{books, on_time};
use crate::Call;
pub(super) use crate::books::Ask;
use crate::books::is_emulated;
use crate::traced::System;

/// A wait under way. It holds nothing: the thread may be cancelled meanwhile.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    Ruled(books::Wait),
    OnTime(on_time::Wait),
    Logged(traced::Wait),
}

/// The instant that the caller waits for, on a clock that may be set or slewed.
#[derive(Clone, Copy)]
pub(super) struct Until {
    pub(super) clock: clockid_t,
    pub(super) ns: u64,
}

impl Wait {
    /// A call that asks for so many nanoseconds from now on; `None` if it is left alone.
    pub(super) fn begin(call: Call, asked: u64) -> Option<Self> {
        if traced::takes_part() {
            let system = System::of(call)?;
            let is_wait = asked > 0 || system.arms_for_no_time();
            let wait = is_wait.then(|| traced::Wait::begin(system, Asked::Length(asked)));
            return wait.flatten().map(Self::Logged);
        }
        let now = process::now(libc::CLOCK_MONOTONIC);
        Self::begin_at(call, now, now.saturating_add(asked), None)
    }

    /// The same until an instant of CLOCK_MONOTONIC, which may have passed `now`.
    pub(super) fn begin_at(call: Call, now: u64, due: u64, until: Option<Until>) -> Option<Self> {
        if traced::takes_part() {
            let asked = Asked::Instant(due);
            return traced::Wait::begin(System::of(call)?, asked).map(Self::Logged);
        }
        let asked = due.checked_sub(now).filter(|asked| is_emulated(*asked))?;
        match on_time::takes_part() {
            true => on_time::Wait::begin(call, now, asked, until).map(Self::OnTime),
            false => books::Wait::begin_at(call, now, asked).map(Self::Ruled),
        }
    }

    /// The wait ends by notifications of a condition variable. `None` is one that other processes may notify.
    pub(super) fn notified_by(self, condition: Option<Condition>) -> Self {
        match self {
            Self::OnTime(wait) => Self::OnTime(wait.notified_by(condition)),
            Self::Ruled(_) | Self::Logged(_) => self,
        }
    }

    /// Waits by `native`, the call of the program as it is, or by the real call with another length, of which this can take
    /// several. `is_timer` says of a result, and of the error of the thread, whether the time was over.
    pub(super) fn by<T: Copy + From<c_int> + PartialOrd>(
        self,
        native: impl FnOnce() -> T,
        mut real: impl FnMut(Ask) -> T,
        is_timer: impl Fn(T) -> bool,
    ) -> T {
        match self {
            Self::Ruled(wait) => {
                let result = real(wait.ask());
                let error = errno();
                wait.finish(is_timer(result));
                set_errno(error);
                result
            }
            Self::OnTime(wait) => wait.by(native, real, is_timer),
            Self::Logged(wait) => {
                let result = native();
                let error = errno();
                let is_signal = result < T::from(0) && error == libc::EINTR;
                wait.finish(is_timer(result), is_signal);
                set_errno(error);
                result
            }
        }
    }

    /// The rest of the time that the caller asked for; `None` if the call of the program said it.
    pub(super) fn left(&self) -> Option<u64> {
        match self {
            Self::Ruled(wait) => Some(wait.left()),
            Self::OnTime(wait) => wait.left(),
            Self::Logged(_) => None,
        }
    }
}

impl Ask {
    /// For an answer at once, without a wait.
    pub(super) const NOTHING: Self = Self {
        length: 0,
        more: i64::MIN,
    };

    /// For what the caller asked for, which is so long.
    pub(super) fn whole(length: u64) -> Self {
        Self { length, more: 0 }
    }

    /// For so long, which is `less` than what the caller asked for.
    pub(super) fn less(length: u64, less: u64) -> Self {
        let more = -i64::try_from(less).unwrap_or(i64::MAX);
        Self { length, more }
    }
}

impl Until {
    /// The time that is left on its clock.
    pub(super) fn left(self) -> u64 {
        self.ns.saturating_sub(process::now(self.clock))
    }
}

/// The last error of this thread.
pub(super) fn errno() -> c_int {
    // SAFETY: the place of this thread's error.
    unsafe { *libc::__errno_location() }
}

pub(super) fn set_errno(error: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}
