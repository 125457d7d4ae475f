//! A wait from its call to its return, and what is kept of it.

use std::sync::atomic::Ordering::Relaxed;

use super::process::{self, Page};
use super::wait::Ask;
use super::{lines, slots};
use crate::Call;
use crate::page::{self, Kind, Logged, at};
use crate::runtime::Way;
use punctual_core::Nanos;
use punctual_rules::Time;

/// A wait under way. It holds nothing: the thread may be cancelled meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    page: Page,
    call: Call,
    way: Way,
    /// Instants of CLOCK_MONOTONIC: the call, the end that it asked for, and the end by the rule.
    now: u64,
    due: u64,
    end: u64,
    ends: Time,
    slot: usize,
    entry: Option<u64>,
    /// The slack to go back to.
    slack: Option<libc::c_int>,
}

/// How late a wait of the kernel may be that has the slack of an ordinary thread.
const USUAL_SLACK: u64 = 50_000;

impl Wait {
    /// A call that asks for so many nanoseconds from an instant of CLOCK_MONOTONIC on; `None` if it is left alone.
    pub(super) fn begin_at(call: Call, now: u64, asked: u64) -> Option<Self> {
        let page = Page::get()?;
        let called = Page::time(now);
        let is_logged = page.word(at::LOG_ROOM).load(Relaxed) > 0;
        let note = || is_logged.then(|| page.word(at::LOGGED).fetch_add(1, Relaxed));
        let way = slots::way(call)?;
        let Some((ends, slot, entry)) = slots::end(way, called, asked, note) else {
            page.word(at::UNRULED).fetch_add(1, Relaxed);
            return None;
        };
        let end = now.saturating_add(ends.as_thirds().div_ceil(3) - called);
        let due = now + asked;
        let slack = (end < due + USUAL_SLACK).then(|| lower_slack(1)).flatten();
        let wait = Self {
            page,
            call,
            way,
            now,
            due,
            end,
            ends,
            slot,
            entry,
            slack,
        };
        wait.log(None, false);
        Some(wait)
    }

    /// How long the real call is to take.
    pub(super) fn ask(&self) -> Ask {
        Ask {
            length: self.end - self.now,
            more: self.end as i64 - self.due as i64,
        }
    }

    /// The rest of the time that the caller asked for.
    pub(super) fn left(&self) -> u64 {
        self.due.saturating_sub(process::now(libc::CLOCK_MONOTONIC))
    }

    /// The call has returned; whether by its timer.
    pub(super) fn finish(self, is_timer: bool) {
        if let Some(slack) = self.slack {
            set_slack(slack);
        }
        let returned = process::now(libc::CLOCK_MONOTONIC);
        self.log(Some(Page::time(returned)), is_timer);
        let here = lines::here();
        let kind = Kind {
            call: self.call,
            asked: Nanos::new(here.map_or(self.due - self.now, |here| here.asked)),
            line: here.map_or(0, |here| here.line),
        };
        let Some(entry) = entry(self.page, kind) else {
            self.page.word(at::OTHERS).fetch_add(1, Relaxed);
            return;
        };
        let add = |word: usize, value: u64| {
            self.page.word(entry + word).fetch_add(value, Relaxed);
        };
        if is_timer {
            add(1, 1);
            add(3, self.due - self.now);
            add(4, self.end - self.now);
            add(5, returned - self.now);
            add(6, here.map_or(0, |here| here.asked));
        } else {
            add(2, 1);
        }
    }

    fn log(&self, returned: Option<u64>, is_timer: bool) {
        let Some(entry) = self.entry else { return };
        let Some(place) = self.page.log(entry) else {
            if returned.is_none() {
                self.page.word(at::UNLOGGED).fetch_add(1, Relaxed);
            }
            return;
        };
        // SAFETY: both have no arguments.
        let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
        let logged = Logged {
            process: process as u32,
            thread: thread as u32,
            slot: self.slot,
            call: self.call,
            way: self.way,
            called: Page::time(self.now),
            asked: self.due - self.now,
            end: self.ends,
            returned,
            is_timer,
        };
        for (word, value) in place.iter().zip(logged.words()) {
            word.store(value, Relaxed);
        }
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

/// Where the books have waits of this kind.
fn entry(page: Page, kind: Kind) -> Option<usize> {
    let key = kind.word();
    let begin = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    (0..16).find_map(|way| {
        let entry = at::BOOKS + 8 * ((begin + way) % page::BOOKS);
        let found = page.word(entry).compare_exchange(0, key, Relaxed, Relaxed);
        found
            .map_or_else(|other| other == key, |_| true)
            .then_some(entry)
    })
}
