//! Operations of one CPU alone, of two CPUs with one cache line, and the wake-up of a thread.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use punctual_core::Nanos;
use punctual_os::quick::QuickClock;
use punctual_os::thread;
use punctual_record::Interval;

use crate::host::{Alone, Barrier, CpuClock, Cpus, Links, Rescue};
use crate::joined;

/// One sample of each, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operations {
    pub(super) hit: f64,
    pub(super) rmw: f64,
    pub(super) relax: f64,
    pub(super) clock: f64,
}

/// The number of repetitions in a row. They take tens of microseconds, less than the time between
/// two interrupts and much more than two readings of the clock.
const TIMES: u32 = 2_000;

impl Operations {
    /// Measures each on the CPU of the caller.
    pub(super) fn measure(clock: QuickClock) -> Self {
        let line = Alone(AtomicU64::new(0));
        Self {
            hit: row(clock, || {
                black_box(line.0.load(Acquire));
            }),
            rmw: row(clock, || {
                line.0.fetch_add(1, AcqRel);
            }),
            relax: row(clock, std::hint::spin_loop),
            clock: row(clock, || {
                black_box(clock.now());
            }),
        }
    }
}

fn row(clock: QuickClock, operation: impl Fn()) -> f64 {
    // The first few come with misses of their own.
    operation();
    let begun = clock.now();
    for _ in 0..TIMES {
        operation();
    }
    per(clock.now() - begun, TIMES.into())
}

pub(super) fn middle(rows: Vec<f64>) -> f64 {
    Interval::of(&rows).unwrap_or_default().median
}

/// The nanoseconds of each of so many.
pub(super) fn per(length: Nanos, times: u64) -> f64 {
    length.as_ns() as f64 / times as f64
}

/// One sample between two CPUs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Between {
    /// Reading a line that the other wrote last.
    pub(super) read: f64,
    /// A read-modify-write of one.
    pub(super) taken: f64,
    /// A read-modify-write of one by who has just read it.
    pub(super) upgraded: f64,
    /// Each of the additions of both to the same line.
    pub(super) contended: f64,
    /// How far apart they go on that have waited for each other.
    pub(super) apart: f64,
}

/// The lines that are passed from one CPU to the other in a row. They take some tens of
/// microseconds at 50 ns each, and fit any first cache.
const LINES: usize = 256;

const SEED: u64 = 1;

const ADDITIONS: u64 = 400;

/// The number of rows, of which the median counts: one time slice of another thread spoils one
/// row.
const ROWS: usize = 15;

/// The rows that do not count, because both CPUs were idle before.
const WARM_UP: usize = 30;

const MEETINGS: usize = 16;

impl Between {
    /// Measures between the CPUs of two workers, in both directions.
    pub(super) fn measure(team: &Cpus, clock: QuickClock, from: usize, to: usize) -> Self {
        let (lines, line) = (Lines::new(), Alone(AtomicU64::new(0)));
        let done = team.together(&[from, to], |member| {
            let [mut taken, mut read, mut upgraded, mut contended] = [const { Vec::new() }; 4];
            for row in 0..WARM_UP + 2 * ROWS {
                let is_first = row.saturating_sub(WARM_UP) / ROWS == member.number;
                let rows = [
                    (&mut taken, lines.row(clock, member, is_first, Lines::take)),
                    (&mut read, lines.row(clock, member, !is_first, Lines::read)),
                    (
                        &mut upgraded,
                        lines.row(clock, member, !is_first, Lines::take),
                    ),
                ];
                if row >= WARM_UP {
                    rows.into_iter().for_each(|(rows, row)| rows.extend(row));
                }
            }
            for _ in 0..ROWS {
                member.meet();
                let begun = clock.now();
                for _ in 0..ADDITIONS {
                    line.0.fetch_add(1, AcqRel);
                }
                // The other has added as often meanwhile.
                contended.push(per(clock.now() - begun, 2 * ADDITIONS));
            }
            let rows = [read, taken, upgraded, contended];
            (rows, meetings(clock, member))
        });
        let [(one, went_on), (other, other_went_on)] = &done[..] else {
            unreachable!("two workers were asked for");
        };
        let both = |i: usize| middle([&one[i][..], &other[i]].concat());
        let [read, taken, upgraded, contended] = std::array::from_fn(both);
        Self {
            read,
            taken,
            upgraded,
            contended,
            apart: apart(went_on, other_went_on),
        }
    }
}

/// The mean time of a line from one CPU of this process to another, over the pairs of the first
/// CPU with a few others. Zero with one CPU.
pub(crate) fn mean_transfer(clock: QuickClock) -> Nanos {
    const OTHERS: usize = 8;
    const SAMPLES: usize = 5;
    let team = Cpus::of_this_process();
    let pairs = 1..team.at_once.min(OTHERS + 1);
    let transfers = pairs.map(|other| {
        let sample = |_| Between::measure(&team, clock, 0, other).taken;
        middle((0..SAMPLES).map(sample).collect())
    });
    let transfers: Vec<f64> = transfers.collect();
    if transfers.is_empty() {
        return Nanos::ZERO;
    }
    let mean = transfers.iter().sum::<f64>() / transfers.len() as f64;
    Nanos::new(mean.round() as u64)
}

/// Lines, each of which says which is the next: so nothing is under way for the next
/// before this one is here.
#[derive(Debug)]
struct Lines(Vec<Alone<AtomicU64>>);

/// The bits of the next line's number; those above change with each taking.
const NEXT: u64 = (1 << 32) - 1;

impl Lines {
    fn new() -> Self {
        // In random order: even a large step is one that CPUs learn, and fetch ahead.
        // In steps of 101 lines each seemed to take 55 ns of 85 on a Xeon.
        let links = Links::new(LINES as u64, SEED);
        let line = |line| Alone(AtomicU64::new(links.next(line)));
        Self((0..LINES as u64).map(line).collect())
    }

    fn read(line: &AtomicU64) -> u64 {
        line.load(Acquire)
    }

    fn take(line: &AtomicU64) -> u64 {
        line.fetch_add(NEXT + 1, AcqRel)
    }

    /// The time for each line if it is this CPU's turn to change all of them; nothing if it is the
    /// other's.
    fn row(
        &self,
        clock: QuickClock,
        member: &Member<'_>,
        is_turn: bool,
        access: fn(&AtomicU64) -> u64,
    ) -> Option<f64> {
        member.meet();
        is_turn.then(|| {
            let begun = clock.now();
            let mut at = 0;
            for _ in 0..LINES {
                at = (access(&self.0[at].0) & NEXT) as usize;
            }
            black_box(at);
            per(clock.now() - begun, LINES as u64)
        })
    }
}

/// When this one went on after each meeting.
fn meetings(clock: QuickClock, member: &Member<'_>) -> Vec<u64> {
    let went_on = |_| {
        member.meet();
        clock.now().as_ns()
    };
    (0..MEETINGS).map(went_on).collect()
}

/// The median of how far apart two went on.
fn apart(one: &[u64], other: &[u64]) -> f64 {
    let apart = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b) as f64);
    middle(apart.collect())
}

/// One sample, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parking {
    /// CPU time of waking the other and parking, together.
    pub(super) cpu: f64,
    /// From waking the other to its having woken this one in turn.
    pub(super) turn: f64,
}

const TURNS: u64 = 20;

/// The number of rows, of which the median counts: one time slice of another thread spoils one
/// row.
const ROWS_OF_PARKING: usize = 9;

/// The number of the thread whose turn it is.
#[derive(Debug, Default)]
struct Turns {
    turn: Mutex<u64>,
    comes: Condvar,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn, and gives it on.
    fn take(&self, expected: u64) {
        let mut turn = self.lock();
        while *turn != expected {
            turn = self
                .comes
                .wait(turn)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *turn = expected + 1;
        drop(turn);
        self.comes.notify_one();
    }
}

impl Parking {
    /// Measures between the CPUs of the first two workers.
    pub(super) fn measure(team: &Cpus, cpu_clock: CpuClock) -> Self {
        let turns = Turns::default();
        let done = team.together(&[0, 1], |member: &Member<'_>| {
            let me = member.number as u64;
            turns.take(me);
            let mut index = 1;
            let row = |_| {
                let begun = cpu_clock.begin();
                for _ in 0..TURNS {
                    turns.take(2 * index + me);
                    index += 1;
                }
                let done = cpu_clock.end(&begun);
                let turn = per(done.at.since(begun.at), 2 * TURNS);
                (per(done.cpu, TURNS), turn)
            };
            let (cpu, turn): (Vec<f64>, Vec<f64>) = (0..ROWS_OF_PARKING).map(row).unzip();
            (middle(cpu), middle(turn))
        });
        let mean = |of: fn(&(f64, f64)) -> f64| done.iter().map(of).sum::<f64>() / 2.0;
        Self {
            cpu: mean(|sample| sample.0),
            turn: mean(|sample| sample.1),
        }
    }
}

/// One of several threads that do something at the same time.
#[derive(Debug)]
pub(super) struct Member<'b> {
    pub(super) number: usize,
    barrier: &'b Barrier,
}

impl Member<'_> {
    /// Waits for all others, unless one of them has left.
    pub(super) fn meet(&self) {
        // A worker that panics leaves too, which ends the team.
        let _ = self.barrier.wait();
    }

    /// Ends the waits of all workers for each other.
    pub(super) fn leave(&self) {
        self.barrier.break_up();
    }
}

/// To measure on, in the order in which a team uses them.
impl Cpus {
    /// Runs `work` on the CPU of each of these workers at the same time, and
    /// gives what comes of it.
    pub(super) fn together<T: Send>(
        &self,
        workers: &[usize],
        work: impl Fn(&Member<'_>) -> T + Sync,
    ) -> Vec<T> {
        let barrier = Barrier::new(workers.len(), false);
        std::thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter()
                .enumerate()
                .map(|(number, &worker)| {
                    let cpu = self.pinned.then(|| self.order[worker]);
                    let (barrier, work) = (&barrier, &work);
                    scope.spawn(move || {
                        if let Some(cpu) = cpu {
                            // It runs somewhere if it cannot run there.
                            let _ = thread::pin(cpu);
                        }
                        let _rescue = Rescue(barrier);
                        let member = Member { number, barrier };
                        member.meet();
                        work(&member)
                    })
                })
                .collect();
            threads.into_iter().map(joined).collect()
        })
    }

    /// Runs `work` on the CPU of the first worker.
    pub(super) fn alone<T: Send>(&self, work: impl Fn() -> T + Sync) -> T {
        let mut done = self.together(&[0], |_| work());
        done.pop().expect("one thread is one result")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn lines_travel_between_two_cpus() {
        let team = Cpus::of_this_process();
        if team.at_once < 2 {
            return;
        }
        let between = Between::measure(&team, QuickClock::new(), 0, 1);
        for ns in [
            between.read,
            between.taken,
            between.upgraded,
            between.contended,
        ] {
            assert!(ns > 0.0, "{between:?}");
        }
        assert!(mean_transfer(QuickClock::new()) > Nanos::ZERO);
    }

    #[test]
    fn apart_is_a_median_whoever_is_first() {
        assert_eq!(apart(&[10, 20, 30], &[13, 12, 31]), 3.0);
    }

    #[test]
    fn everybody_comes_before_anybody_goes_on() {
        let came = AtomicUsize::new(0);
        let team = Cpus::of_this_process();
        // On one CPU, if there is only one.
        let workers = [0, team.at_once - 1];
        let seen = team.together(&workers, |member| {
            came.fetch_add(1, Relaxed);
            member.meet();
            (member.number, came.load(Relaxed))
        });
        assert_eq!(seen, [(0, 2), (1, 2)]);
        assert_eq!(team.alone(|| 7), 7);
    }
}
