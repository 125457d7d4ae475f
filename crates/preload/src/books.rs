//! The books of a run: what each wait was asked for, when the rule ends it, and how it ended.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use punctual_core::Nanos;
use punctual_rules::Time;

use crate::Call;
use crate::page::{self, By, Kind, Logged, at};
use crate::runtime::{TakenFor, Way};

/// The words of the page of a run, which all its processes change.
#[derive(Clone, Copy, Debug)]
pub struct Page<'p> {
    words: &'p [AtomicU64],
    origin: u64,
}

impl<'p> Page<'p> {
    /// A page with these words; `None` if they are not as many as a page has.
    pub fn new(words: &'p [AtomicU64]) -> Option<Self> {
        let origin = words.get(at::ORIGIN)?.load(Relaxed);
        (words.len() >= page::WORDS).then_some(Self { words, origin })
    }

    /// The word at a place before the log.
    #[inline]
    pub fn word(self, at: usize) -> &'p AtomicU64 {
        &self.words[at]
    }

    /// An instant of CLOCK_MONOTONIC in the time of the rule.
    #[inline]
    pub fn time(self, now: u64) -> u64 {
        now.wrapping_sub(self.origin)
    }

    /// Takes the next entry of the log, if there is a log.
    pub fn next_entry(self) -> Option<u64> {
        let is_logged = self.word(at::LOG_ROOM).load(Relaxed) > 0;
        is_logged.then(|| self.word(at::LOGGED).fetch_add(1, Relaxed))
    }

    /// Counts a process that is emulated as this port.
    pub fn count(self, taken_for: TakenFor) {
        self.word(at::PROCESSES).fetch_add(1, Relaxed);
        if let Some((word, version)) = at::version(taken_for) {
            self.word(word).fetch_or(1 << (version % 64), Relaxed);
        }
    }

    /// Notes the name of a runtime that is not emulated, once.
    pub fn note_runtime(self, name: &[u8]) {
        let mut whole = [0; 32];
        let kept = name.len().min(31);
        whole[..kept].copy_from_slice(&name[..kept]);
        let (chunks, _) = whole.as_chunks();
        let mut name = chunks.iter().map(|bytes| u64::from_ne_bytes(*bytes));
        let first = name.next().unwrap_or_default();
        for place in 0..page::RUNTIMES {
            let begin = at::RUNTIMES + 4 * place;
            match (self.word(begin)).compare_exchange(0, first, Relaxed, Relaxed) {
                Ok(_) => {
                    for (word, value) in (begin + 1..).zip(name) {
                        self.word(word).store(value, Relaxed);
                    }
                    return;
                }
                Err(same) if same == first => return,
                Err(_) => {}
            }
        }
    }

    /// The words of an entry of the log, if there is room for it.
    fn log(self, entry: u64) -> Option<&'p [AtomicU64]> {
        let begin = usize::try_from(entry)
            .ok()?
            .checked_mul(8)?
            .checked_add(at::LOG)?;
        self.words.get(begin..begin + 8)
    }

    /// The place of waits of this kind in the books.
    fn entry(self, kind: Kind) -> Option<usize> {
        let key = kind.word();
        let begin = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        (0..16).find_map(|way| {
            let entry = at::BOOKS + 8 * ((begin + way) % page::BOOKS);
            let found = self.word(entry).compare_exchange(0, key, Relaxed, Relaxed);
            found
                .map_or_else(|other| other == key, |_| true)
                .then_some(entry)
        })
    }
}

/// How long the real call is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// In nanoseconds from the call on.
    pub length: u64,
    /// By how much more than the caller asked for; negative for less.
    pub more: i64,
}

impl Ask {
    /// The instant to ask for where the caller asks for one.
    pub fn instant(self, callers: u64) -> u64 {
        callers.saturating_add_signed(self.more)
    }
}

/// Longer waits are left alone.
const LONGEST: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// The slack of an ordinary thread of Linux: a wait of the kernel may be so late.
pub const USUAL_SLACK: u64 = 50_000;

/// Whether a wait of this length is emulated.
pub fn is_emulated(asked: u64) -> bool {
    asked > 0 && asked <= LONGEST
}

/// A wait under way. It holds nothing: the thread may end meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Wait<'p> {
    page: Page<'p>,
    call: Call,
    way: Way,
    /// Instants of CLOCK_MONOTONIC: the call, the end that it asked for, and the end by the rule.
    now: u64,
    due: u64,
    end: u64,
    ends: Time,
    slot: usize,
    entry: Option<u64>,
}

/// The thread that waits.
#[derive(Clone, Copy, Debug)]
pub struct WaitingThread {
    /// Its process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
}

/// The line of a program that waits, and the length that it asks for, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// Its place in the table of the page, and one; zero if the table is full.
    pub line: u16,
    /// The length that it asks for, in nanoseconds.
    pub asked: u64,
}

impl<'p> Wait<'p> {
    /// A call that asks at `now`, an instant of CLOCK_MONOTONIC, for so many nanoseconds. `rule` takes the time of the
    /// rule, and answers with the end, the number of the rule, and the entry of the log. `None` if no rule is free.
    pub fn begin(
        page: Page<'p>,
        (call, way): (Call, Way),
        now: u64,
        asked: u64,
        rule: impl FnOnce(u64) -> Option<(Time, usize, Option<u64>)>,
    ) -> Option<Self> {
        let called = page.time(now);
        let Some((ends, slot, entry)) = rule(called) else {
            page.word(at::UNRULED).fetch_add(1, Relaxed);
            return None;
        };
        Some(Self {
            page,
            call,
            way,
            now,
            due: now + asked,
            end: now.saturating_add(ends.as_thirds().div_ceil(3) - called),
            ends,
            slot,
            entry,
        })
    }

    /// Whether it ends so soon that the slack of an ordinary thread matters.
    pub fn is_within_slack(&self) -> bool {
        self.end < self.due + USUAL_SLACK
    }

    /// The instants of CLOCK_MONOTONIC at which the caller and the rule want it to end.
    pub fn ends(&self) -> (u64, u64) {
        (self.due, self.end)
    }

    /// How long the real call is to take.
    pub fn ask(&self) -> Ask {
        Ask {
            length: self.end - self.now,
            more: self.end as i64 - self.due as i64,
        }
    }

    /// The rest of the time that the caller asked for, at an instant of CLOCK_MONOTONIC.
    pub fn left(&self, now: u64) -> u64 {
        self.due.saturating_sub(now)
    }

    /// Writes it into the log, if there is one; if it returned at a known instant of CLOCK_MONOTONIC, with that.
    pub fn log(&self, waiting: impl FnOnce() -> WaitingThread, by: By, returned: Option<u64>) {
        let Some(entry) = self.entry else { return };
        let Some(place) = self.page.log(entry) else {
            if by == By::UnderWay {
                self.page.word(at::UNLOGGED).fetch_add(1, Relaxed);
            }
            return;
        };
        let waiting = waiting();
        let logged = Logged {
            process: waiting.process,
            thread: waiting.thread,
            slot: self.slot,
            call: self.call,
            way: self.way,
            called: self.page.time(self.now),
            asked: self.due - self.now,
            end: self.ends,
            returned: returned.map(|returned| self.page.time(returned)),
            by,
        };
        for (word, value) in place.iter().zip(logged.words()) {
            word.store(value, Relaxed);
        }
    }

    /// Counts it in the books: how it ended, when it returned if that is known, and the line that waited if that is.
    pub fn count(&self, by: By, returned: Option<u64>, here: Option<Here>) {
        let kind = Kind {
            call: self.call,
            asked: Nanos::new(here.map_or(self.due - self.now, |here| here.asked)),
            line: here.map_or(0, |here| here.line),
        };
        let Some(entry) = self.page.entry(kind) else {
            self.page.word(at::OTHERS).fetch_add(1, Relaxed);
            return;
        };
        let add = |word: usize, value: u64| {
            self.page.word(entry + word).fetch_add(value, Relaxed);
        };
        match by {
            By::Event | By::UnderWay => return add(2, 1),
            By::Timer => add(1, 1),
            By::Unknown => add(7, 1),
        }
        add(3, self.due - self.now);
        add(4, self.end - self.now);
        add(5, returned.map_or(0, |returned| returned - self.now));
        add(6, here.map_or(0, |here| here.asked));
    }
}
