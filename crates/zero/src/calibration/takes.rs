//! What a take of pages costs that nobody else wants: the code of the pool itself,
//! with a single worker.

use std::ops::Range;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::blocking::{Computer, Pool};
use punctual_zero_pool::{Accounting, Batch, LockKind, Setting};

use super::operations::per;
use crate::host::HostComputer;

/// This computer, where the pages of a pool are some of its memory, from the first of
/// them on, or none at all: then nothing is zeroed.
#[derive(Clone, Copy, Debug)]
struct PoolMemory<'m> {
    computer: HostComputer<'m>,
    first: Option<u64>,
}

impl<'m> Computer for PoolMemory<'m> {
    type Line = <HostComputer<'m> as Computer>::Line;
    type Mutex = <HostComputer<'m> as Computer>::Mutex;

    fn line(&self, words: [u64; 4]) -> Self::Line {
        self.computer.line(words)
    }

    fn mutex(&self) -> Self::Mutex {
        self.computer.mutex()
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.computer.now()
    }

    #[inline]
    fn relax(&self) {
        self.computer.relax()
    }

    #[inline]
    fn pause(&self, length: Nanos) {
        self.computer.pause(length)
    }

    #[inline]
    fn zero(&self, pages: Range<u64>) {
        match self.first {
            Some(first) => self.computer.zero(first + pages.start..first + pages.end),
            None => drop(std::hint::black_box(pages)),
        }
    }

    #[inline]
    fn next_in_list(&self, page: u64) -> u64 {
        self.computer.next_in_list(page)
    }

    #[inline]
    fn gives_up(&self) -> bool {
        self.computer.gives_up()
    }
}

/// One sample with nothing else under way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Take {
    /// What a take costs, in nanoseconds.
    pub(super) take: f64,
    /// What one costs that is timed.
    pub(super) timed: f64,
    /// How many pages it took on average.
    pub(super) pages: f64,
}

/// So many takes at least.
const TAKES: u64 = 1_000;

impl Take {
    /// Measures on the CPU of the caller. The pools have `pages` pages.
    ///
    /// # Errors
    /// There can be no such pool.
    pub(super) fn measure(
        computer: HostComputer<'_>,
        setting: &Setting,
        pages: u64,
    ) -> Result<Self, Refusal> {
        let (take, of) = takes(computer, setting, pages, 0)?;
        let (timed, _) = takes(computer, setting, pages, 1)?;
        Ok(Self {
            take,
            timed,
            pages: of,
        })
    }
}

/// What a take costs where one in `every` is timed, and how many pages it took.
fn takes(
    computer: HostComputer<'_>,
    setting: &Setting,
    pages: u64,
    every: u32,
) -> Result<(f64, f64), Refusal> {
    let idle = PoolMemory {
        computer,
        first: None,
    };
    let alone = Setting {
        workers: 1,
        ..*setting
    };
    let (mut takes, mut length, mut pools) = (0, Nanos::ZERO, 0);
    while takes < TAKES && !idle.gives_up() {
        let pool = Pool::new(&idle, &alone, pages).map_err(Refusal::new)?;
        let mut accounting = Accounting::new(every, TAKES as usize);
        let begun = computer.now();
        pool.work(0, &mut accounting);
        length += computer.now() - begun;
        takes += accounting.acquisitions;
        pools += 1;
    }
    Ok((per(length, takes), (pools * pages) as f64 / takes as f64))
}

/// How long the caller takes to zero pages, where it takes each by itself under a
/// lock that nobody else wants.
pub(super) fn one_by_one(computer: HostComputer<'_>, lock: LockKind, pages: Range<u64>) -> Nanos {
    let part = PoolMemory {
        computer,
        first: Some(pages.start),
    };
    let setting = Setting::new(1, lock, Batch::One);
    let pool = Pool::new(&part, &setting, pages.end - pages.start);
    let pool = pool.expect("any lock does for one worker that takes single pages");
    let mut accounting = Accounting::default();
    let begun = computer.now();
    pool.work(0, &mut accounting);
    computer.now() - begun
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostMemory;
    use punctual_lab::host::Stop;
    use punctual_zero_memory::{Kernel, PAGE};

    #[test]
    fn takes_leave_the_pages_as_they_are_and_one_by_one_zeroes_its_own() {
        let memory = HostMemory::new(8 * PAGE, Stop::new()).unwrap();
        let computer = HostComputer::new(&memory, Kernel::Memset, None).unwrap();
        memory.mapping().dirty(0..8);
        let setting = Setting::new(4, LockKind::Tas, Batch::Fixed(2));
        let take = Take::measure(computer, &setting, 8).unwrap();
        assert!(take.take > 0.0 && take.timed > 0.0, "{take:?}");
        // Four takes of two pages, and one that finds none.
        assert_eq!(take.pages, 1.6);
        assert_eq!(memory.mapping().first_dirty(0..8), Some(0));
        assert!(one_by_one(computer, LockKind::Mcs, 2..5) > Nanos::ZERO);
        assert_eq!(memory.mapping().first_dirty(2..5), None);
        assert_eq!(memory.mapping().first_dirty(0..8), Some(0));
        assert_eq!(memory.mapping().first_dirty(5..8), Some(5));
    }
}
