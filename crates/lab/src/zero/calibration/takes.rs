//! What a take of pages costs that nobody else wants, through the pool itself,
//! with a worker that leaves the pages as they are.

use std::ops::Range;

use punctual_core::{Nanos, Refusal};
use punctual_pool::{Books, Computer, Pool, Setting, ready};

use super::operations::per;
use crate::zero::host::HostComputer;

/// This computer, but that nothing is zeroed.
#[derive(Clone, Copy, Debug)]
struct Idle<'m>(HostComputer<'m>);

impl<'m> Computer for Idle<'m> {
    type Line = <HostComputer<'m> as Computer>::Line;
    type Mutex = <HostComputer<'m> as Computer>::Mutex;

    fn line(&self) -> Self::Line {
        self.0.line()
    }

    fn mutex(&self) -> Self::Mutex {
        self.0.mutex()
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.0.now()
    }

    #[inline]
    fn relax(&self) -> impl Future<Output = ()> {
        self.0.relax()
    }

    #[inline]
    fn pause(&self, length: Nanos) -> impl Future<Output = ()> {
        self.0.pause(length)
    }

    #[inline]
    async fn zero(&self, pages: Range<u64>) {
        std::hint::black_box(pages);
    }

    #[inline]
    fn next_in_list(&self, page: u64) -> impl Future<Output = u64> {
        self.0.next_in_list(page)
    }
}

/// One sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Take {
    /// What a take costs, in nanoseconds.
    pub(super) take: f64,
    /// How many pages it took on average.
    pub(super) pages: f64,
}

/// So many takes at least.
const TAKES: u64 = 1_000;

impl Take {
    /// Measures on the CPU of the caller. One take in `every` is timed, as it is
    /// in the pool that is to be predicted; the pools have `pages` pages.
    ///
    /// # Errors
    /// There can be no such pool.
    pub(super) fn measure(
        computer: HostComputer<'_>,
        setting: &Setting,
        every: u32,
        pages: u64,
    ) -> Result<Self, Refusal> {
        let computer = Idle(computer);
        let setting = Setting {
            workers: 1,
            ..*setting
        };
        let (mut takes, mut length, mut pools) = (0, Nanos::ZERO, 0);
        while takes < TAKES {
            let pool = ready(Pool::new(&computer, &setting, pages)).map_err(Refusal::new)?;
            let mut books = Books::new(every, TAKES as usize);
            let begun = computer.now();
            ready(pool.work(0, &mut books));
            length += computer.now() - begun;
            takes += books.acquisitions;
            pools += 1;
        }
        Ok(Self {
            take: per(length, takes),
            pages: (pools * pages) as f64 / takes as f64,
        })
    }
}
