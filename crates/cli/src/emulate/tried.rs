//! A program whose waits the library measures, with a change and without it, for `punctual trace --try`.
//!
//! The library changes the waits: the kernel is asked for other ones than the program asked for. How late the program got
//! its own is in the page. Without the change the same library leaves all waits alone and only measures them.

use std::ffi::OsString;
use std::fs::File;
use std::process::Command;

use punctual_core::Nanos;
use punctual_preload::accurate::{
    ALL_ALONE, Accurate, BINS, Class, Lateness, SPIN, WEIGHT, at, bin,
};
use punctual_preload::page::{self, By as EndedBy, Logged, SLOTS, at as log_at};
use punctual_record::{TriedRound, has_percentile};
use punctual_sim::Model;

use super::run::{LOG_ROOM, each_logged, prepared, read, seed_by_time, under};
use super::stage::{Stage, cannot_write};
use super::{By, EmulateArgs, Failure};
use crate::exec::REFUSED;

const ACCURATE: Accurate = Accurate {
    spin: SPIN,
    weight: WEIGHT,
    only_sleeps: false,
    left_alone: 0,
};

/// A change of waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'m> {
    /// They end when they were asked to end, as with `exec --accurate`.
    Accurate,
    /// They end when those of this system would.
    Emulate(&'m Model),
}

/// The program that is started again and again, and the change.
pub(crate) struct Tried<'a> {
    stage: Stage<'a>,
    change: Change<'a>,
    args: EmulateArgs,
    seed: u64,
}

/// A run that was prepared: its command, and where its waits will be.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    page: File,
    book: Book,
}

#[derive(Clone, Copy)]
enum Book {
    /// Of waits of all classes that were left alone, or were not.
    Accurate {
        were_left_alone: bool,
    },
    Log,
}

/// The waits of a class in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OfClass {
    pub(crate) measured: TriedRound,
    /// The median by the rule of a model.
    pub(crate) by_rule_ns_p50: Option<f64>,
}

/// The waits of each class in a run, in the order of [`Class::ALL`].
pub(crate) type Seen = [OfClass; Class::ALL.len()];

impl<'a> Tried<'a> {
    /// Finds the program, and refuses one that does not load the library.
    pub(crate) fn new(command: &'a [OsString], change: Change<'a>) -> Result<Self, Failure> {
        let args = EmulateArgs::default();
        let seed = seed_by_time();
        let run = match change {
            Change::Accurate => None,
            Change::Emulate(model) => Some(prepared(&args, model, seed)?),
        };
        Ok(Self {
            stage: Stage::new(command, run.as_ref(), Some(By::Preload))?,
            change,
            args,
            seed,
        })
    }

    /// The program with the change or without it, for the run of this number.
    pub(crate) fn prepare(&self, turn: u64, is_changed: bool) -> Result<Prepared, Failure> {
        let ((command, page), book) = match self.change {
            Change::Emulate(model) if is_changed => {
                // Each slot of a process has a seed of its own.
                let seed = self.seed.wrapping_add(SLOTS as u64 * turn);
                let run = prepared(&self.args, model, seed)?;
                (under(&run, &self.stage, LOG_ROOM)?, Book::Log)
            }
            _ => {
                let accurate = Accurate {
                    left_alone: if is_changed { 0 } else { ALL_ALONE },
                    ..ACCURATE
                };
                let staged = self.stage.with_page(&accurate.page(), 0)?;
                let were_left_alone = !is_changed;
                (staged, Book::Accurate { were_left_alone })
            }
        };
        Ok(Prepared {
            command,
            page,
            book,
        })
    }
}

impl Prepared {
    /// The waits of the run, after its end.
    pub(crate) fn seen(&self) -> Result<Seen, Failure> {
        let unread = |what| cannot_write(what);
        match self.book {
            Book::Accurate { were_left_alone } => {
                let words = read(&self.page, at::WORDS).map_err(unread("the summary"))?;
                loaded(words.get(at::PROCESSES))?;
                Ok(of_books(&words, were_left_alone))
            }
            Book::Log => {
                let words = read(&self.page, page::WORDS).map_err(unread("the summary"))?;
                let word = |at: usize| words.get(at).copied().unwrap_or_default();
                loaded(words.get(log_at::PROCESSES))?;
                let mut waits = Waits::default();
                let count = word(log_at::LOGGED).min(LOG_ROOM);
                each_logged(&self.page, count, |wait| {
                    waits.note(&wait);
                    Ok(())
                })
                .map_err(unread("the log"))?;
                Ok(waits.seen())
            }
        }
    }
}

fn loaded(processes: Option<&u64>) -> Result<(), Failure> {
    match processes {
        Some(1..) => Ok(()),
        _ => Err(Failure::new(
            REFUSED,
            "no process loaded the library, so no wait was changed or measured",
        )),
    }
}

/// A class in words.
pub(crate) const fn in_words(class: Class) -> &'static str {
    match class {
        Class::Sleep => "Sleeps",
        Class::Event => "Timeouts of waits for events",
        Class::Lock => "Timeouts of condition variables and locks",
    }
}

/// The waits in the books of `exec --accurate`.
fn of_books(words: &[u64], were_left_alone: bool) -> Seen {
    let of = |class: Class| {
        let begin = class.books(were_left_alone);
        let books = words.get(begin..begin + BINS).unwrap_or_default();
        OfClass {
            measured: round(Lateness(books)),
            by_rule_ns_p50: None,
        }
    };
    Class::ALL.map(of)
}

fn round(late: Lateness<'_>) -> TriedRound {
    let n = late.count();
    let percentile = |thousandths: u64| {
        let late = late.quantile(thousandths as f64 / 1e3);
        late.filter(|_| has_percentile(n, thousandths * 10))
            .map(|late| late.as_ns() as f64)
    };
    TriedRound {
        n,
        late_ns_p50: percentile(500),
        late_ns_p99: percentile(990),
    }
}

/// The waits of a log, in the same bins.
#[derive(Default)]
struct Waits([[Vec<u64>; 2]; Class::ALL.len()]);

impl Waits {
    /// Notes a wait that its timer ended: how late it was, and was by the rule.
    fn note(&mut self, wait: &Logged) {
        let (EndedBy::Timer, Some(returned)) = (wait.by, wait.returned) else {
            return;
        };
        let due = wait.called.saturating_add(wait.asked);
        let by_rule = wait.end.as_thirds().div_ceil(3);
        let books = &mut self.0[Class::of(wait.call) as usize];
        for (book, end) in books.iter_mut().zip([returned, by_rule]) {
            book.resize(BINS, 0);
            book[bin(Nanos::new(end.saturating_sub(due)))] += 1;
        }
    }

    fn seen(&self) -> Seen {
        let of = |class: Class| {
            let [measured, by_rule] = &self.0[class as usize];
            OfClass {
                measured: round(Lateness(measured)),
                by_rule_ns_p50: round(Lateness(by_rule)).late_ns_p50,
            }
        };
        Class::ALL.map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_preload::Call;
    use punctual_preload::runtime::{Again, Way};
    use punctual_sim::Time;

    #[test]
    fn books_have_the_side_that_was_asked_for() {
        let mut words = ACCURATE.page();
        words[Class::Sleep.books(true) + bin(Nanos::from_us(60))] = 2_000;
        words[Class::Sleep.books(false) + bin(Nanos::from_us(2))] = 30;
        let [alone, changed] =
            [true, false].map(|alone| of_books(&words, alone)[Class::Sleep as usize].measured);
        assert_eq!((alone.n, changed.n), (2_000, 30));
        assert!((alone.late_ns_p50.unwrap() - 60e3).abs() < 2e3);
        assert!(alone.late_ns_p99.is_some() && changed.late_ns_p99.is_none());
        assert_eq!(
            of_books(&words, true)[Class::Lock as usize],
            OfClass::default()
        );
    }

    #[test]
    fn a_log_has_what_was_measured_and_what_the_rule_says() {
        let mut waits = Waits::default();
        let wait = |by, returned| Logged {
            process: 1,
            thread: 1,
            slot: 0,
            call: Call::Poll,
            way: Way {
                method: punctual_core::Method::Poll,
                again: Again::Never,
            },
            called: 1_000_000,
            asked: 10_000_000,
            end: Time::from_ns(15_000_000),
            returned,
            by,
        };
        for _ in 0..30 {
            waits.note(&wait(EndedBy::Timer, Some(15_100_000)));
            waits.note(&wait(EndedBy::Event, Some(2_000_000)));
            waits.note(&wait(EndedBy::UnderWay, None));
        }
        let seen = &waits.seen()[Class::Event as usize];
        assert_eq!(seen.measured.n, 30);
        assert!((seen.measured.late_ns_p50.unwrap() - 4.1e6).abs() < 1.3e5);
        assert!((seen.by_rule_ns_p50.unwrap() - 4e6).abs() < 1.3e5);
    }
}
