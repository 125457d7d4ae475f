//! The cost of zeroing pages, by one CPU or by all at the same time: many in one go, by earlier
//! writer; and each alone, under an uncontended lock.
//!
//! As in a pool, each worker has written a share of the pages, in one piece. The pages are zeroed
//! in order, each by the worker whose turn it is. Thus a worker finds pages of its own and of
//! others.
//!
//! A lock costs more right after a page than with nothing else under way, because a
//! read-modify-write waits for the stores to the page. The extra cost depends on how far ahead the
//! CPU runs, so it is measured with each lock. It is also measured where the CPU cannot run ahead
//! at all, with a clock that waits for the stores.

use std::ops::Range;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::blocking::{Computer, Pool};
use punctual_zero_pool::{Accounting, Batch, LockKind, Setting};

use crate::calibration::operations::{middle, per};
use crate::host::{Cpus, HostComputer, HostMemory};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// How many pages there are.
    pub(super) pages: u64,
    /// How many CPUs zero them at the same time.
    pub(super) workers: usize,
    /// They also take pages one by one, each under its own of these.
    pub(super) locks: Vec<LockKind>,
}

/// One sample: what a page takes, in nanoseconds; `None` where there was none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// Of many in one go, those that the worker had written itself.
    pub(super) here: Option<f64>,
    /// Of many in one go, those of others.
    pub(super) elsewhere: Option<f64>,
    /// By which share of the usual each takes longer or shorter at most, were all
    /// lengths in between equally likely.
    pub(super) jitter: Option<f64>,
    /// Each until its stores are done, with any earlier writer.
    pub(super) settled: Option<f64>,
    /// Each by itself, under each lock, with any earlier writer.
    pub(super) under: Vec<Option<f64>>,
}

/// Pages that are zeroed in one go. Workers meet after each go: none gets far ahead, as in a pool.
const GO: u64 = 64;

/// Pages that follow each other, and how they are zeroed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    treatment: Treatment,
    first: u64,
    pages: u64,
    /// Worker 0 has this of its parts, and the others follow: where a row is all there
    /// is, everybody zeroes pages of everybody in turn.
    begins_with: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    Go,
    /// Each timed by itself, by a clock that waits for its stores.
    Timed,
    /// Each taken by itself under one of the locks.
    Under(usize),
}

impl Row {
    fn part(&self, worker: usize, workers: usize) -> Range<u64> {
        let part = (worker + self.begins_with) % workers;
        let begin = |part| self.first + self.pages * part as u64 / workers as u64;
        begin(part)..begin(part + 1)
    }
}

impl Field {
    /// The rows of a pass, of all treatments in turn; each pass begins with another one.
    fn rows(&self, pass: u64) -> Vec<Row> {
        let treatments = self.locks.len() + 2;
        let row = (GO * self.workers as u64).min(self.pages).max(1);
        let rows = (0..self.pages / row).map(|index| {
            let turn = (pass + index) as usize;
            let treatment = match turn % treatments {
                0 => Treatment::Go,
                1 => Treatment::Timed,
                treatment => Treatment::Under(treatment - 2),
            };
            Row {
                treatment,
                first: index * row,
                pages: row,
                begins_with: turn / treatments,
            }
        });
        rows.collect()
    }

    /// Measures so many passes, or fewer if the user wants an end. Each begins with
    /// pages that are not zero.
    pub(super) fn measure(
        &self,
        team: &Cpus,
        memory: &HostMemory,
        computer: HostComputer<'_>,
        passes: u64,
    ) -> Sample {
        let length = |work: &dyn Fn()| {
            let begun = computer.now();
            work();
            computer.now() - begun
        };
        let workers: Vec<usize> = (0..self.workers).collect();
        let tallies = team.together(&workers, |member| {
            let share = self.share(member.number);
            let mut tally = Tally {
                under: vec![Sum::default(); self.locks.len()],
                ..Tally::default()
            };
            let nothing = (0..99).map(|_| length(&|| ()).as_ns() as f64);
            let nothing = Nanos::new(middle(nothing.collect()) as u64);
            for pass in 0..passes {
                memory
                    .mapping
                    .dirty(share.start as usize..share.end as usize);
                for row in self.rows(pass) {
                    if memory.is_stopped() {
                        member.leave();
                        return tally;
                    }
                    member.meet();
                    let go = row.part(member.number, self.workers);
                    match row.treatment {
                        Treatment::Go => tally.add_go(
                            go.clone(),
                            &share,
                            length(&|| {
                                computer.zero(go.clone());
                            }),
                        ),
                        Treatment::Timed => tally.add_timed(
                            go.map(|page| length(&|| computer.zero(page..page + 1))),
                            nothing,
                        ),
                        Treatment::Under(lock) => {
                            let pages = go.end - go.start;
                            let length = one_by_one(computer, self.locks[lock], go);
                            tally.under[lock].add(length, pages);
                        }
                    }
                }
                member.meet();
            }
            tally
        });
        Tally::mean(&tallies)
    }

    fn share(&self, worker: usize) -> Range<u64> {
        let begin = |worker: usize| self.pages * worker as u64 / self.workers as u64;
        begin(worker)..begin(worker + 1)
    }
}

/// The sums over the pages of a worker.
#[derive(Clone, Debug, Default)]
struct Tally {
    here: Sum,
    elsewhere: Sum,
    jitters: Vec<f64>,
    settled: Sum,
    under: Vec<Sum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    length: Nanos,
    pages: u64,
}

impl Sum {
    fn add(&mut self, length: Nanos, pages: u64) {
        self.pages += pages;
        self.length += length;
    }
}

impl Tally {
    /// A go of a worker that had written this share.
    fn add_go(&mut self, go: Range<u64>, share: &Range<u64>, length: Nanos) {
        // Pages that are partly here and partly elsewhere say nothing.
        if go.start >= share.start && go.end <= share.end {
            self.here.add(length, go.end - go.start);
        } else if go.start >= share.end || go.end <= share.start {
            self.elsewhere.add(length, go.end - go.start);
        }
    }

    /// Pages of one go, each timed by itself, which takes so long where there is nothing
    /// to be timed.
    fn add_timed(&mut self, pages: impl Iterator<Item = Nanos>, nothing: Nanos) {
        let lengths: Vec<Nanos> = pages.collect();
        for &length in &lengths {
            self.settled.add(length - nothing, 1);
        }
        let lengths = lengths.iter().map(|length| length.as_ns() as f64);
        self.jitters.extend(jitter(lengths.collect()));
    }

    fn mean(tallies: &[Self]) -> Sample {
        let mean = |of: &dyn Fn(&Self) -> Sum| {
            let length: u64 = tallies.iter().map(|tally| of(tally).length.as_ns()).sum();
            let pages: u64 = tallies.iter().map(|tally| of(tally).pages).sum();
            (pages > 0).then(|| length as f64 / pages as f64)
        };
        let locks = tallies.first().map_or(0, |tally| tally.under.len());
        let jitters = tallies
            .iter()
            .flat_map(|tally| tally.jitters.iter().copied());
        let jitters: Vec<f64> = jitters.collect();
        Sample {
            here: mean(&|tally| tally.here),
            elsewhere: mean(&|tally| tally.elsewhere),
            jitter: (!jitters.is_empty()).then(|| middle(jitters)),
            settled: mean(&|tally| tally.settled),
            under: (0..locks)
                .map(|lock| mean(&|tally| tally.under[lock]))
                .collect(),
        }
    }
}

/// Half the range of a uniform distribution with the same median absolute deviation, as a share of
/// its middle. The range is twice that deviation, which ignores the few lengths that an interrupt
/// stretched. `None` of too few.
fn jitter(lengths: Vec<f64>) -> Option<f64> {
    const FEW: usize = 8;
    if lengths.len() < FEW {
        return None;
    }
    let median = middle(lengths.clone());
    let deviations = lengths.iter().map(|length| (length - median).abs());
    Some(2.0 * middle(deviations.collect()) / median)
}

/// One sample with nothing else under way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DequeueTime {
    pub(super) take: f64,
    /// The cost of a take that is timed.
    pub(super) timed: f64,
    /// How many pages it took on average.
    pub(super) pages: f64,
}

const TAKES: u64 = 1_000;

impl DequeueTime {
    /// Measures on the CPU of the caller. The pools have `pages` pages.
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

/// The cost of a take where one in `every` is timed, and how many pages it took.
fn takes(
    computer: HostComputer<'_>,
    setting: &Setting,
    pages: u64,
    every: u32,
) -> Result<(f64, f64), Refusal> {
    let idle = computer.with_pages_from(None);
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

/// The time to zero pages, where the caller takes each by itself under an uncontended lock.
pub(super) fn one_by_one(computer: HostComputer<'_>, lock: LockKind, pages: Range<u64>) -> Nanos {
    let part = computer.with_pages_from(Some(pages.start));
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
    use punctual_lab::host::Stop;
    use punctual_zero_memory::{Kernel, PAGE};

    fn field(pages: u64, workers: usize, locks: &[LockKind]) -> Field {
        Field {
            pages,
            workers,
            locks: locks.to_vec(),
        }
    }

    #[test]
    fn the_ways_take_turns_and_each_pass_begins_with_another() {
        let field_of = field(260, 1, &[LockKind::Tas, LockKind::Mcs]);
        let treatments = |pass| -> Vec<_> {
            let rows = field_of.rows(pass).into_iter();
            rows.map(|row| (row.treatment, row.first, row.pages))
                .collect()
        };
        let (tas, mcs) = (Treatment::Under(0), Treatment::Under(1));
        assert_eq!(
            treatments(0),
            [
                (Treatment::Go, 0, 64),
                (Treatment::Timed, 64, 64),
                (tas, 128, 64),
                (mcs, 192, 64)
            ]
        );
        assert_eq!(treatments(2)[0], (tas, 0, 64));
        // Two workers have a row of 128, few pages a short one.
        assert_eq!(field(260, 2, &[]).rows(5).len(), 2);
        let few = field(5, 2, &[]).rows(0);
        assert_eq!((few.len(), few[0].pages), (1, 5));
        assert_eq!([0, 1].map(|worker| few[0].part(worker, 2)), [0..2, 2..5]);
        let next = field(5, 2, &[]).rows(2)[0];
        assert_eq!([0, 1].map(|worker| next.part(worker, 2)), [2..5, 0..2]);
    }

    #[test]
    fn all_pages_of_the_rows_are_zero_afterwards() {
        let team = Cpus::of_this_process();
        let memory = HostMemory::new(130 * PAGE, Stop::new()).unwrap();
        let computer = HostComputer::new(&memory, Kernel::Memset, None).unwrap();
        let locks = [LockKind::Counter, LockKind::Mutex];
        for workers in [1, team.at_once.min(2)] {
            let sample = field(128, workers, &locks).measure(&team, &memory, computer, 8);
            assert_eq!(memory.mapping.first_dirty(0..128), None);
            assert!(sample.here.is_some_and(|ns| ns > 0.0), "{sample:?}");
            assert_eq!(sample.elsewhere.is_some(), workers == 2, "{sample:?}");
            assert!(sample.settled.is_some_and(|ns| ns > 0.0), "{sample:?}");
            assert_eq!(sample.under.len(), locks.len());
            assert!(sample.under.iter().all(Option::is_some), "{sample:?}");
        }
    }

    #[test]
    fn shares_are_even_and_in_one_piece() {
        let field = field(10, 3, &[]);
        let shares: Vec<_> = (0..3).map(|worker| field.share(worker)).collect();
        assert_eq!(shares, [0..3, 3..6, 6..10]);
    }

    #[test]
    fn lengths_that_are_equally_likely_have_a_jitter_of_half_their_range() {
        let even = (80..=120).map(f64::from);
        assert_eq!(jitter(even.clone().collect()), Some(0.2));
        // An interrupt or two make no difference to speak of.
        let disturbed: Vec<f64> = even.chain([9_000.0]).collect();
        assert!(jitter(disturbed).is_some_and(|jitter| jitter < 0.22));
        assert_eq!(jitter(vec![1.0, 9.0]), None);
    }

    #[test]
    fn the_mean_is_over_pages_of_all_workers() {
        let sum = |ns, pages| Sum {
            length: Nanos::new(ns),
            pages,
        };
        let tallies = [
            Tally {
                here: sum(100, 1),
                elsewhere: Sum::default(),
                jitters: vec![0.1, 0.2],
                settled: sum(300, 2),
                under: vec![sum(7, 1), Sum::default()],
            },
            Tally {
                here: sum(500, 2),
                elsewhere: sum(70, 1),
                jitters: vec![0.3],
                settled: sum(150, 1),
                under: vec![sum(9, 1), Sum::default()],
            },
        ];
        assert_eq!(
            Tally::mean(&tallies),
            Sample {
                here: Some(200.0),
                elsewhere: Some(70.0),
                jitter: Some(0.2),
                settled: Some(150.0),
                under: vec![Some(8.0), None],
            }
        );
    }

    #[test]
    fn takes_leave_the_pages_as_they_are_and_one_by_one_zeroes_its_own() {
        let memory = HostMemory::new(8 * PAGE, Stop::new()).unwrap();
        let computer = HostComputer::new(&memory, Kernel::Memset, None).unwrap();
        memory.mapping.dirty(0..8);
        let setting = Setting::new(4, LockKind::Tas, Batch::Fixed(2));
        let take = DequeueTime::measure(computer, &setting, 8).unwrap();
        assert!(take.take > 0.0 && take.timed > 0.0, "{take:?}");
        // Four takes of two pages, and one that finds none.
        assert_eq!(take.pages, 1.6);
        assert_eq!(memory.mapping.first_dirty(0..8), Some(0));
        assert!(one_by_one(computer, LockKind::Mcs, 2..5) > Nanos::ZERO);
        assert_eq!(memory.mapping.first_dirty(2..5), None);
        assert_eq!(memory.mapping.first_dirty(0..8), Some(0));
        assert_eq!(memory.mapping.first_dirty(5..8), Some(5));
    }
}
