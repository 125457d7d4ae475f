//! What it takes to zero pages, without any lock: how many in one go, by one CPU
//! or by all at the same time, and who had written them.
//!
//! As in a pool, each worker has written a share of the pages, in one piece, and
//! the pages are zeroed in their order, by whoever's turn it is: so a worker finds
//! pages of its own and of others. After each go stands a read-modify-write of a
//! line of the CPU's own, as a lock would be taken: until then the stores of the
//! go have to be done, so that nothing of it is hidden behind the next.

use std::sync::atomic::{AtomicU64, Ordering::AcqRel};

use punctual_core::Nanos;
use punctual_pool::{Computer, ready};

use super::crew::Crew;
use super::lines::Alone;
use crate::zero::host::{HostComputer, HostMemory};

/// Pages that are zeroed, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// So many, the first of the memory, are written.
    pub(super) written: u64,
    /// So many of them are zeroed.
    pub(super) zeroed: u64,
    /// How many CPUs do it at the same time.
    pub(super) workers: usize,
}

/// How many pages are zeroed in one go.
pub(super) const GOES: [u64; 4] = [1, 4, 16, 64];

/// One sample: for each of [`GOES`] what a page takes, in nanoseconds, of those
/// that the worker had written itself and of those of others; `None` where there
/// were none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::zero) struct Sample {
    pub(super) here: [Option<f64>; GOES.len()],
    pub(super) elsewhere: [Option<f64>; GOES.len()],
}

/// Workers meet after so many pages each, or after a longer go: whoever is faster
/// does not get far ahead, as it would not in a pool.
const BETWEEN_MEETINGS: u64 = 16;

impl Field {
    /// All of so many pages.
    pub(super) fn all(pages: u64, workers: usize) -> Self {
        Self {
            written: pages,
            zeroed: pages,
            workers,
        }
    }

    /// The rows of a pass: how long a go of it is, as an index of [`GOES`], where
    /// it begins and how many pages it has. The lengths take turns, and each pass
    /// begins with another one.
    fn rows(&self, pass: u64) -> Vec<(usize, u64, u64)> {
        let row = |kind: usize| GOES[kind].max(BETWEEN_MEETINGS) * self.workers as u64;
        let (mut rows, mut at) = (Vec::new(), 0);
        for turn in pass.. {
            let fits = |kind: &usize| at + row(*kind) <= self.zeroed;
            let kinds = (0..GOES.len()).map(|i| (turn as usize + i) % GOES.len());
            let Some(kind) = kinds.into_iter().find(fits) else {
                break;
            };
            rows.push((kind, at, row(kind)));
            at += row(kind);
        }
        if rows.is_empty() {
            // Fewer pages than that: one row of what there is.
            rows.push((0, 0, self.zeroed));
        }
        rows
    }

    /// Measures so many passes. Each begins with pages that are not zero.
    pub(super) fn measure(
        &self,
        crew: &Crew,
        memory: &HostMemory,
        computer: HostComputer<'_>,
        passes: u64,
    ) -> Sample {
        let workers: Vec<usize> = (0..self.workers).collect();
        let tallies = crew.together(&workers, |member| {
            let line = Alone(AtomicU64::new(0));
            let share = self.share(member.number);
            let mut tally = Tally::default();
            for pass in 0..passes {
                let rows = self.rows(pass);
                memory
                    .mapping()
                    .dirty(share.start as usize..share.end as usize);
                for (kind, first, pages) in rows {
                    member.meet();
                    let go = GOES[kind];
                    let turns = (0..pages.div_ceil(go)).skip(member.number);
                    let (begun, mut done) = (computer.now(), 0);
                    for turn in turns.step_by(self.workers) {
                        let begin = first + turn * go;
                        let end = (begin + go).min(first + pages);
                        ready(computer.zero(begin..end));
                        line.0.fetch_add(1, AcqRel);
                        done += end - begin;
                    }
                    let length = computer.now() - begun;
                    let is_here = share.contains(&first) && share.contains(&(first + pages - 1));
                    let is_elsewhere = first >= share.end || first + pages <= share.start;
                    tally.add(kind, is_here, is_elsewhere, done, length);
                }
                member.meet();
            }
            tally
        });
        Tally::mean(&tallies)
    }

    /// What a worker writes.
    fn share(&self, worker: usize) -> std::ops::Range<u64> {
        let begin = |worker: usize| self.written * worker as u64 / self.workers as u64;
        begin(worker)..begin(worker + 1)
    }
}

/// What goes of each length add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    here: [Sum; GOES.len()],
    elsewhere: [Sum; GOES.len()],
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    length: Nanos,
    pages: u64,
}

impl Tally {
    /// Adds a row; one that is partly here and partly elsewhere says nothing.
    fn add(&mut self, kind: usize, is_here: bool, is_elsewhere: bool, pages: u64, length: Nanos) {
        let sum = match (is_here, is_elsewhere) {
            (true, _) => &mut self.here[kind],
            (_, true) => &mut self.elsewhere[kind],
            _ => return,
        };
        sum.pages += pages;
        sum.length += length;
    }

    /// What a page takes, of all workers together.
    fn mean(tallies: &[Self]) -> Sample {
        let mean = |of: &dyn Fn(&Self) -> Sum| {
            let length: u64 = tallies.iter().map(|tally| of(tally).length.as_ns()).sum();
            let pages: u64 = tallies.iter().map(|tally| of(tally).pages).sum();
            (pages > 0).then(|| length as f64 / pages as f64)
        };
        Sample {
            here: std::array::from_fn(|kind| mean(&|tally| tally.here[kind])),
            elsewhere: std::array::from_fn(|kind| mean(&|tally| tally.elsewhere[kind])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Stop;
    use punctual_sys::memory::{Kernel, PAGE};

    #[test]
    fn rows_follow_each_other_with_goes_of_every_length() {
        let rows = Field::all(256, 1).rows(0);
        assert_eq!(
            rows,
            [
                (0, 0, 16),
                (1, 16, 16),
                (2, 32, 16),
                (3, 48, 64),
                (0, 112, 16),
                (1, 128, 16),
                (2, 144, 16),
                (3, 160, 64),
                (0, 224, 16),
                (1, 240, 16)
            ]
        );
        // A long go comes first in one pass of four.
        let kinds = |pass| -> Vec<usize> {
            let rows = Field::all(128, 2).rows(pass).into_iter();
            rows.map(|(kind, ..)| kind).collect()
        };
        assert_eq!(kinds(0), [0, 1, 2, 0]);
        assert_eq!(kinds(3), [3]);
        assert_eq!(Field::all(5, 2).rows(0), [(0, 0, 5)]);
    }

    #[test]
    fn all_pages_of_the_rows_are_zero_afterwards() {
        let crew = Crew::new();
        let workers = crew.cpus().min(2);
        let memory = HostMemory::new(130 * PAGE, Stop::new()).unwrap();
        let computer = HostComputer::new(&memory, Kernel::Memset, None).unwrap();
        let sample = Field::all(128, workers).measure(&crew, &memory, computer, 4);
        assert_eq!(memory.mapping().first_dirty(0..128), None);
        assert!(sample.here[0].is_some_and(|ns| ns > 0.0), "{sample:?}");
        assert_eq!(sample.elsewhere[0].is_some(), workers == 2, "{sample:?}");
    }

    #[test]
    fn shares_are_even_and_in_one_piece() {
        let field = Field::all(10, 3);
        let shares: Vec<_> = (0..3).map(|worker| field.share(worker)).collect();
        assert_eq!(shares, [0..3, 3..6, 6..10]);
    }

    #[test]
    fn the_mean_is_over_pages_by_who_wrote_them() {
        let row = |ns, pages, is_here, is_elsewhere| {
            let mut tally = Tally::default();
            tally.add(0, is_here, is_elsewhere, pages, Nanos::new(ns));
            tally
        };
        let sample = Tally::mean(&[
            row(100, 1, true, false),
            row(500, 2, true, false),
            row(70, 1, false, true),
            row(9_000, 1, false, false),
        ]);
        assert_eq!(sample.here, [Some(200.0), None, None, None]);
        assert_eq!(sample.elsewhere, [Some(70.0), None, None, None]);
    }
}
