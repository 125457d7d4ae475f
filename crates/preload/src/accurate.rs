//! Waits that end when they were asked to end: what the processes of a run of `punctual exec --accurate` share.
//!
//! A wait blocks for a little less than it was asked for, and spins the rest: the strategy `adaptive` of the library says
//! how much. Here are the page of such a run, its books of lateness, and the limit of spinning of a process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use punctual_core::{Nanos, bins};

use crate::Call;

/// The first word of a page of this kind.
const MAGIC: u64 = u64::from_le_bytes(*b"pnctlac1");

/// Places of words.
pub mod at {
    use super::{BINS, Class};

    /// It says what page this is.
    pub const MAGIC: usize = 0;
    /// The share of a CPU that a process may spin, as the bits of an `f64`.
    pub const SPIN: usize = 1;
    /// The weight of lateness, as the bits of an `f64`.
    pub const WEIGHT: usize = 2;
    /// Whether only sleeps end on time, and not other timeouts.
    pub const ONLY_SLEEPS: usize = 3;
    /// How many waits of a class, ended by their timers, are left alone.
    pub const LEFT_ALONE: usize = 4;
    /// How many processes loaded the library.
    pub const PROCESSES: usize = 5;
    /// How long all waits spun, in nanoseconds.
    pub const SPUN: usize = 6;
    /// How many waits began with little of the budget.
    pub const LIMITED: usize = 7;
    /// How many waits an event or a signal ended.
    pub const BY_EVENT: usize = 8;
    /// How many waits of each class began.
    pub const BEGUN: usize = 16;
    /// How many waits of each class that were left alone their timers ended.
    pub const ALONE: usize = 24;
    /// How late waits were: [`BINS`] words for each class and kind.
    pub const BOOKS: usize = 64;
    /// The words of a page.
    pub const WORDS: usize = BOOKS + 2 * Class::ALL.len() * BINS;
}

/// A run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accurate {
    /// The share of a CPU that each process may spin, from 0 to 1.
    pub spin: f64,
    /// How many nanoseconds of CPU time a nanosecond of lateness is worth.
    pub weight: f64,
    /// Whether timeouts of waits for events and locks are as without this.
    pub only_sleeps: bool,
    /// How many waits of each class are left alone, to compare with; of the first waits one in [`ONE_IN`], or
    /// [all](ALL_ALONE) of them.
    pub left_alone: u64,
}

/// The [share](Accurate::spin) where no other is asked for.
pub const SPIN: f64 = 0.05;

/// The [weight](Accurate::weight) where no other is asked for: who changes a program wants its latest waits on time, and
/// [`SPIN`] limits the price.
pub const WEIGHT: f64 = 100.0;

/// All waits are left alone: they are only measured.
pub const ALL_ALONE: u64 = u64::MAX;

/// One in so many waits is left alone, until there are enough.
pub const ONE_IN: u64 = 8;

impl Accurate {
    /// The words of a page before anything has happened.
    pub fn page(&self) -> Vec<u64> {
        let mut words = vec![0; at::WORDS];
        words[at::MAGIC] = MAGIC;
        words[at::SPIN] = self.spin.to_bits();
        words[at::WEIGHT] = self.weight.to_bits();
        words[at::ONLY_SLEEPS] = u64::from(self.only_sleeps);
        words[at::LEFT_ALONE] = self.left_alone;
        words
    }

    /// Reads a page; `None` if it is of another kind.
    pub fn read(word: impl Fn(usize) -> u64) -> Option<Self> {
        let number = |at: usize, most: f64| {
            let number = f64::from_bits(word(at));
            (0.0..=most).contains(&number).then_some(number)
        };
        (word(at::MAGIC) == MAGIC).then_some(())?;
        Some(Self {
            spin: number(at::SPIN, 1.0)?,
            weight: number(at::WEIGHT, 1e6)?,
            only_sleeps: word(at::ONLY_SLEEPS) != 0,
            left_alone: word(at::LEFT_ALONE),
        })
    }

    /// Whether the wait of a class that begins as number `begun` is left alone, where `alone` were.
    pub fn is_left_alone(&self, begun: u64, alone: u64) -> bool {
        let is_its_turn = self.left_alone == ALL_ALONE || begun % ONE_IN == ONE_IN / 2;
        is_its_turn && alone < self.left_alone
    }
}

/// The kinds of waits, by what can end them on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Class {
    /// Only time ends it. It spins on the clock.
    Sleep,
    /// An event can end it. It spins by asking for the event, without a timeout.
    Event,
    /// Another thread can end it. It spins by asking for a lock or a futex again, or by looking for notifications of its
    /// condition variable.
    Lock,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sleep, Self::Event, Self::Lock];

    /// The class of a call.
    pub const fn of(call: Call) -> Self {
        match call {
            Call::Nanosleep
            | Call::ClockNanosleep
            | Call::Usleep
            | Call::Sleep
            | Call::ThrdSleep
            | Call::SelectNothing => Self::Sleep,
            Call::Poll
            | Call::Ppoll
            | Call::Select
            | Call::Pselect
            | Call::EpollWait
            | Call::EpollPwait
            | Call::EpollPwait2
            // The value of a semaphore stays until a thread takes it, as events stay.
            | Call::SemTimedwait
            | Call::SemClockwait
            | Call::Sigtimedwait
            // Another call waits for it.
            | Call::TimerfdSettime => Self::Event,
            Call::CondTimedwait | Call::CondTimedwaitEvent | Call::CondClockwait | Call::MutexTimedlock | Call::Futex => {
                Self::Lock
            }
        }
    }

    /// Where the page has how late waits of the class were that ended on time, or were left alone.
    pub const fn books(self, were_left_alone: bool) -> usize {
        at::BOOKS + (2 * self as usize + were_left_alone as usize) * BINS
    }
}

/// The bins of lateness: 16 for each power of two nanoseconds, the last from 33 s on.
pub const BINS: usize = 512;
const BITS: u32 = 4;

/// The bin of a lateness.
pub fn bin(late: Nanos) -> usize {
    (bins::bin(late.as_ns(), BITS) as usize).min(BINS - 1)
}

/// The middle of a bin.
fn middle(bin: usize) -> Nanos {
    let [begin, end] = [bin, bin + 1].map(|bin| bins::least(bin as u32, BITS));
    Nanos::new(begin.midpoint(end))
}

/// How late waits were.
#[derive(Clone, Copy, Debug)]
pub struct Lateness<'w>(pub &'w [u64]);

impl Lateness<'_> {
    /// How many waits there were.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// A part of the waits, from 0 to 1, was at most so late, to 3 %; `None` without waits.
    pub fn quantile(&self, part: f64) -> Option<Nanos> {
        let rank = (part * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.0.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map(middle)
    }
}

/// The most that a wait spins, whatever is left of the budget. A signal that is handled meanwhile does not end a sleep.
pub const SPIN_MOST: Nanos = Nanos::from_ms(1);

/// The limit of spinning of a process, which its threads share without a lock.
///
/// Spinning is paid by time: a nanosecond of spinning takes `1 / share` nanoseconds. The rest is saved, for a
/// second at most. Threads that spin at the same time can spend more than there is, each [`SPIN_MOST`] at most; nothing
/// spins until that is paid.
#[derive(Debug)]
pub struct SpinBudget {
    /// The instant up to which time is spent, in nanoseconds.
    paid_until: AtomicU64,
}

/// The most time that can be saved.
const SAVED_NS: u64 = 1_000_000_000;

impl SpinBudget {
    /// Nothing is spent.
    pub const fn new() -> Self {
        Self {
            paid_until: AtomicU64::new(0),
        }
    }

    /// How long a wait may spin that begins now.
    pub fn at(&self, share: f64, now: u64) -> Nanos {
        let saved = now
            .saturating_sub(self.paid_until.load(Relaxed))
            .min(SAVED_NS);
        Nanos::new((saved as f64 * share) as u64).min(SPIN_MOST)
    }

    /// A wait spun for so long.
    pub fn spend(&self, share: f64, now: u64, spun: Nanos) {
        let takes = (spun.as_ns() as f64 / share) as u64;
        let pay = |until: u64| {
            Some(
                until
                    .max(now.saturating_sub(SAVED_NS))
                    .saturating_add(takes),
            )
        };
        // It never refuses.
        let _ = self.paid_until.fetch_update(Relaxed, Relaxed, pay);
    }
}

impl Default for SpinBudget {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Accurate = Accurate {
        spin: 0.05,
        weight: 10.0,
        only_sleeps: true,
        left_alone: 3,
    };

    #[test]
    fn a_run_crosses_as_words() {
        let words = RUN.page();
        assert_eq!(Accurate::read(|at| words[at]), Some(RUN));
        assert_eq!(crate::page::Run::read(|at| words[at]), None);
        assert_eq!(Accurate::read(|_| 0), None);
        for (at, wrong) in [(at::SPIN, 1.5), (at::SPIN, f64::NAN), (at::WEIGHT, -1.0)] {
            let mut words = words.clone();
            words[at] = wrong.to_bits();
            assert_eq!(Accurate::read(|at| words[at]), None);
        }
    }

    #[test]
    fn books_do_not_overlap_and_end_with_the_page() {
        let mut begins: Vec<usize> = (Class::ALL.iter())
            .flat_map(|class| [class.books(false), class.books(true)])
            .collect();
        begins.sort_unstable();
        assert!(begins.windows(2).all(|two| two[1] - two[0] == BINS));
        assert_eq!(begins.last().unwrap() + BINS, at::WORDS);
    }

    #[test]
    fn one_wait_in_eight_is_left_alone_until_there_are_enough() {
        let (mut alone, mut when) = (0, vec![]);
        for begun in 0..100 {
            if RUN.is_left_alone(begun, alone) {
                alone += 1;
                when.push(begun);
            }
        }
        assert_eq!(when, [4, 12, 20]);
        let all = Accurate {
            left_alone: ALL_ALONE,
            ..RUN
        };
        assert!((0..100).all(|begun| all.is_left_alone(begun, begun)));
    }

    #[test]
    fn a_lateness_is_in_the_bin_around_it() {
        for shift in 0..35 {
            for ns in [1_u64 << shift, (1 << shift) + (1 << shift) / 3] {
                let shown = middle(bin(Nanos::new(ns))).as_ns();
                assert!(shown.abs_diff(ns) * 30 <= ns, "{ns} is shown as {shown}");
            }
        }
        assert_eq!(bin(Nanos::ZERO), 0);
        assert_eq!(bin(Nanos::MAX), BINS - 1);
        assert!((1..10_000).all(|ns| bin(Nanos::new(ns)) >= bin(Nanos::new(ns - 1))));
    }

    #[test]
    fn a_part_of_the_waits_was_at_most_so_late() {
        let mut books = vec![0; BINS];
        for late in 0..100 {
            books[bin(Nanos::from_us(late))] += 1;
        }
        let late = Lateness(&books);
        let us = |part| late.quantile(part).unwrap().as_ns() / 1_000;
        assert_eq!(late.count(), 100);
        assert!((48..=51).contains(&us(0.5)) && (95..=101).contains(&us(0.99)));
        assert_eq!(Lateness(&[0; BINS]).quantile(0.5), None);
    }

    #[test]
    fn a_process_spins_no_more_than_its_share() {
        let budget = SpinBudget::new();
        let (ms, mut spun) = (1_000_000, 0);
        // Twenty threads that each take all that they may, each millisecond for ten seconds.
        for tick in 0..10_000 {
            let now = 5_000 * ms + tick * ms;
            let may = [(); 20].map(|()| budget.at(0.05, now));
            for may in may {
                budget.spend(0.05, now, may);
                spun += may.as_ns();
            }
        }
        // The share of these seconds, of the second before, and once what all may at the same time.
        assert!((500 * ms..=570 * ms).contains(&spun), "{spun}");
        assert_eq!(SpinBudget::new().at(0.0, 5_000 * ms), Nanos::ZERO);
        let unlimited = SpinBudget::new();
        unlimited.spend(1.0, 5_000 * ms, Nanos::from_ms(1));
        assert_eq!(unlimited.at(1.0, 5_002 * ms), SPIN_MOST);
    }
}
