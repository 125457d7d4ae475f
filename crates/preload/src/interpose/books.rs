//! A wait under a rule, from its call to its return.

use super::{lines, process, slots};
use crate::Call;
use crate::books::{Ask, Wait as Booked, WaitingThread};
use crate::page::By;

/// A wait under way. It holds nothing: the thread may be cancelled meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    booked: Booked<'static>,
    /// The slack to go back to.
    slack: Option<libc::c_int>,
}

impl Wait {
    /// A call that asks for so many nanoseconds from an instant of CLOCK_MONOTONIC on; `None` if it is left alone.
    pub(super) fn begin_at(call: Call, now: u64, asked: u64) -> Option<Self> {
        let booked = booked(call, now, asked)?;
        let slack = (booked.is_within_slack()).then(|| lower_slack(1)).flatten();
        booked.log(this_thread, By::UnderWay, None);
        Some(Self { booked, slack })
    }

    /// How long the real call is to take.
    pub(super) fn ask(&self) -> Ask {
        self.booked.ask()
    }

    /// The rest of the time that the caller asked for.
    pub(super) fn left(&self) -> u64 {
        self.booked.left(process::now(libc::CLOCK_MONOTONIC))
    }

    /// The call has returned; whether by its timer.
    pub(super) fn finish(self, is_timer: bool) {
        if let Some(slack) = self.slack {
            set_slack(slack);
        }
        let returned = Some(process::now(libc::CLOCK_MONOTONIC));
        let by = if is_timer { By::Timer } else { By::Event };
        self.booked.log(this_thread, by, returned);
        self.booked.count(by, returned, lines::here());
    }
}

/// How long a timer is to take that is set now, at an instant of CLOCK_MONOTONIC, and asks for so many nanoseconds; `None` if
/// it is left alone. When it expires is not seen.
pub(super) fn set(call: Call, now: u64, asked: u64) -> Option<Ask> {
    let booked = booked(call, now, asked)?;
    booked.log(this_thread, By::Unknown, None);
    booked.count(By::Unknown, None, lines::here());
    Some(booked.ask())
}

fn booked(call: Call, now: u64, asked: u64) -> Option<Booked<'static>> {
    let page = process::page()?;
    let way = slots::way(call)?;
    let rule = |called| slots::end(way, called, asked, || page.next_entry());
    Booked::begin(page, (call, way), now, asked, rule)
}

/// This thread.
fn this_thread() -> WaitingThread {
    // SAFETY: both have no arguments.
    let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    WaitingThread {
        process: process as u32,
        thread: thread as u32,
    }
}

pub(super) fn set_slack(slack: libc::c_int) {
    // SAFETY: it changes the slack of this thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
}

/// Lowers the slack of this thread to `most` nanoseconds if it has more; what it was then.
pub(super) fn lower_slack(most: libc::c_int) -> Option<libc::c_int> {
    // SAFETY: these concern the slack of this thread.
    unsafe {
        let before = libc::prctl(libc::PR_GET_TIMERSLACK);
        (before > most && libc::prctl(libc::PR_SET_TIMERSLACK, most) == 0).then_some(before)
    }
}
