//! The cases that take turns, and the charges for the steps of one round.

use std::hint::black_box;

use std::ops::Range;

use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_os::thread::CpuTime;
use punctual_os::usage::Usage;
use punctual_os::{Tick, clock, thread, usage};
use punctual_program::Refusal;
use punctual_zero_memory::PAGE;

use super::ProbePart;
use crate::rows::{Account, PageCost, Paid, Payments, Spent, ZeroProbe, ZeroRow};
use crate::{joined, refusal};

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
pub(super) const GIB: u64 = 1 << 30;

/// A size in the largest binary unit that leaves a whole number, or two digits.
pub(crate) fn in_words(bytes: u64) -> String {
    let (unit, name) = match bytes {
        GIB.. => (GIB, "GiB"),
        MIB.. => (MIB, "MiB"),
        KIB.. => (KIB, "KiB"),
        _ => return format!("{bytes} bytes"),
    };
    if bytes.is_multiple_of(unit) {
        format!("{} {name}", bytes / unit)
    } else {
        format!("{:.2} {name}", bytes as f64 / unit as f64)
    }
}

/// Where steps are made, and what ends them.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The CPU, if threads can be kept on one.
    pub(super) cpu: Option<usize>,
    /// Ends a round between two steps, and a long step between two pieces.
    pub(super) stop: Stop,
}

/// A piece takes about a tenth of a second, and is larger than what `memset` treats in another way.
const PIECE: usize = (128 << 20) / PAGE;

impl Place {
    /// # Errors
    /// The user wants an end.
    pub(super) fn going_on(&self) -> Result<(), Refusal> {
        match self.stop.is_requested() {
            true => Err(Refusal::new("the user wants an end")),
            false => Ok(()),
        }
    }

    /// Does something to so many pages, piece by piece.
    ///
    /// # Errors
    /// The user wants an end.
    pub(super) fn pieces(
        &self,
        pages: usize,
        mut work: impl FnMut(Range<usize>),
    ) -> Result<(), Refusal> {
        for start in (0..pages).step_by(PIECE) {
            self.going_on()?;
            work(start..pages.min(start + PIECE));
        }
        Ok(())
    }

    /// Does nothing for so long.
    ///
    /// # Errors
    /// The user wants an end.
    pub(super) fn rest(&self, length: Nanos) -> Result<(), Refusal> {
        /// Waking so rarely costs nothing that would show.
        const LOOK: Nanos = Nanos::from_ms(250);
        let from = clock::now();
        loop {
            let left = length - clock::now().since(from);
            if left.is_zero() {
                return Ok(());
            }
            self.going_on()?;
            std::thread::sleep(left.min(LOOK).into());
        }
    }
}

/// The steps of one round, in order, each with what it took of the thread that
/// made it.
#[derive(Debug)]
pub(super) struct Ledger {
    place: Place,
    steps: Vec<(&'static str, Spent)>,
    approximate: bool,
}

impl Ledger {
    /// One whose steps are made there.
    pub(super) fn new(place: &Place) -> Self {
        Self {
            place: place.clone(),
            steps: Vec::new(),
            approximate: false,
        }
    }

    /// Does something to so many pages and notes what it took.
    ///
    /// It runs on a fresh thread. Systems that divide CPU time by ticks divide the sum of a
    /// thread, so an old thread would carry its earlier ticks into this step.
    pub(super) fn step<R: Send>(
        &mut self,
        name: &'static str,
        pages: usize,
        work: impl FnOnce() -> Result<R, Refusal> + Send,
    ) -> Result<R, Refusal> {
        let timed = || {
            meet_allocator();
            let before = Reading::before();
            let done = work()?;
            let after = Reading::after();
            Ok((done, after.since(&before), after.is_approximate()))
        };
        let (done, spent, approximate) = apart(&self.place, timed)?;
        self.note(name, pages, (spent, approximate));
        Ok(done)
    }

    /// Does something to so many pages many times, each time after a
    /// preparation that does not count.
    ///
    /// Each time is too short to ask for its CPU time. Thus the share of the whole time that was on
    /// a CPU is used.
    pub(super) fn prepared(
        &mut self,
        name: &'static str,
        [times, pages]: [usize; 2],
        mut prepare: impl FnMut() + Send,
        mut work: impl FnMut() + Send,
    ) -> Result<(), Refusal> {
        let timed = move || {
            let mut wall = Nanos::ZERO;
            let before = Reading::before();
            for _ in 0..times {
                prepare();
                let start = clock::now();
                work();
                wall += clock::now().since(start);
            }
            let after = Reading::after();
            Ok((wall, after.since(&before), after.is_approximate()))
        };
        let (wall, spent, approximate) = apart(&self.place, timed)?;
        let share = wall.as_ns() as f64 / spent.wall_ns.max(1) as f64;
        let part = |ns: u64| (ns as f64 * share) as u64;
        let spent = Spent {
            wall_ns: wall.as_ns(),
            cpu_ns: spent.cpu_ns.map(part),
            user_ns: spent.user_ns.map(part),
            system_ns: spent.system_ns.map(part),
            ..spent
        };
        self.note(name, times * pages, (spent, approximate));
        Ok(())
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(|(name, _)| *name)
    }

    pub(super) fn of(&self, step: &str) -> Option<Spent> {
        let mut steps = self.steps.iter();
        steps
            .find(|(name, _)| *name == step)
            .map(|(_, spent)| *spent)
    }

    fn note(&mut self, name: &'static str, pages: usize, (spent, approximate): (Spent, bool)) {
        self.approximate |= approximate;
        let pages = pages as u64;
        self.steps.push((name, Spent { pages, ..spent }));
    }
}

/// Lets this thread have its part of the allocator, which some make when a
/// thread allocates for the first time.
fn meet_allocator() {
    drop(black_box(vec![1_u8; 64]));
}

/// The counts until now. The clock is read last before a step and first after it.
struct Reading {
    at: Tick,
    cpu: Option<CpuTime>,
    usage: Option<Usage>,
}

impl Reading {
    fn before() -> Self {
        let usage = usage();
        let cpu = thread::cpu_time();
        let at = clock::now();
        Self { at, cpu, usage }
    }

    fn after() -> Self {
        let at = clock::now();
        let cpu = thread::cpu_time();
        let usage = usage();
        Self { at, cpu, usage }
    }

    fn is_approximate(&self) -> bool {
        self.cpu.is_some_and(|cpu| cpu.approximate)
    }

    fn since(&self, before: &Self) -> Spent {
        let paid = paid_since(self.usage, before.usage);
        Spent {
            pages: 0,
            wall_ns: self.at.since(before.at).as_ns(),
            cpu_ns: self.cpu.zip(before.cpu).map(|(now, before)| {
                // Derived from cycles, it may go back a little.
                now.ns.saturating_sub(before.ns)
            }),
            user_ns: paid.map(|paid| paid.user_ns),
            system_ns: paid.map(|paid| paid.system_ns),
            faults: paid.and_then(|paid| paid.faults),
        }
    }
}

/// The CPU time used between two readings.
pub(super) fn paid_since(now: Option<Usage>, before: Option<Usage>) -> Option<Paid> {
    let (now, before) = (now?, before?);
    let faults = now.faults.zip(before.faults);
    Some(Paid {
        user_ns: (now.user - before.user).as_ns(),
        system_ns: (now.system - before.system).as_ns(),
        faults: faults.map(|(now, before)| now.saturating_sub(before)),
    })
}

/// Of this thread. Faults of single threads are counted on Linux only; elsewhere
/// they are those of the process, whose other threads wait meanwhile.
fn usage() -> Option<Usage> {
    let thread = usage::of_thread();
    if thread.is_some_and(|usage| usage.faults.is_some()) {
        return thread;
    }
    let process = usage::of_process();
    let faults = process.and_then(|usage| usage.faults);
    let counted = thread.or(process);
    counted.map(|usage| Usage { faults, ..usage })
}

/// Runs it in a thread of its own there: a fresh thread has used no CPU time yet, and has its
/// caches to itself.
pub(super) fn apart<R: Send>(
    place: &Place,
    work: impl FnOnce() -> Result<R, Refusal> + Send,
) -> Result<R, Refusal> {
    place.going_on()?;
    let work = move || {
        if let Some(cpu) = place.cpu {
            punctual_os::thread::pin(cpu).map_err(refusal)?;
        }
        work()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work);
        let thread = thread
            .map_err(|why| Refusal::new(format!("cannot start a thread to measure on: {why}")))?;
        joined(thread)
    })
}

/// A case that takes turns with others in rounds.
pub(super) struct Case {
    pub(super) part: ProbePart,
    /// The name of the measurement, for the progress.
    pub(super) name: String,
    /// About how long a round takes where touching a page for the first time and
    /// giving it back takes so many nanoseconds.
    pub(super) length: Box<dyn Fn(f64) -> Nanos>,
    pub(super) rounds: Rounds,
}

/// The rounds of a case that are done, how another one goes, and what they come to.
pub(super) enum Rounds {
    Steps {
        go: Box<dyn Fn() -> Result<Ledger, Refusal>>,
        /// Which part of the probe a step with that cost is; `None` if it is measured
        /// elsewhere.
        part: Box<dyn Fn(&'static str, PageCost) -> Option<ZeroProbe>>,
        done: Vec<Ledger>,
    },
    /// All of it is charged to some account; nothing counts if the user asked for an end.
    Payments {
        subject: &'static str,
        go: Box<dyn Fn() -> Result<Option<Payments>, Refusal>>,
        part: Box<dyn Fn(Account) -> ZeroProbe>,
        done: Vec<Payments>,
    },
}

impl Case {
    pub(super) fn run(&mut self) -> Result<(), Refusal> {
        match &mut self.rounds {
            Rounds::Steps { go, done, .. } => done.push(go()?),
            Rounds::Payments { go, done, .. } => done.extend(go()?),
        }
        Ok(())
    }

    pub(super) fn measurements(&self) -> Vec<ZeroRow> {
        match &self.rounds {
            Rounds::Steps { part, done, .. } => of_steps(done, part),
            Rounds::Payments {
                subject,
                part,
                done,
                ..
            } => {
                let row = Account::of(done).map(|account| ZeroRow::probe(subject, part(account)));
                row.into_iter().collect()
            }
        }
    }
}

/// How long so many pages take that take so long each.
pub(super) fn pages_take(pages: usize, ns_per_page: f64) -> Nanos {
    Nanos::new((pages as f64 * ns_per_page) as u64)
}

/// The steps of some rounds, each of which has a measurement with what all its
/// rounds cost. `part` says which part of the probe a step with that cost is.
pub(super) fn of_steps(
    rounds: &[Ledger],
    part: impl Fn(&'static str, PageCost) -> Option<ZeroProbe>,
) -> Vec<ZeroRow> {
    let Some(first) = rounds.first() else {
        return Vec::new();
    };
    let of_step = |step: &'static str| {
        let spent: Vec<Spent> = rounds.iter().filter_map(|round| round.of(step)).collect();
        let cost = PageCost::of(&spent, rounds.iter().any(|round| round.approximate))?;
        Some(ZeroRow::probe(step, part(step, cost)?))
    };
    first.steps().filter_map(of_step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults are not asserted: they are the tests of `pages`.
    #[test]
    fn every_step_is_noted_with_its_pages() {
        let mut ledger = Ledger::new(&Place::default());
        assert_eq!(ledger.step("one", 3, || Ok(7)).unwrap(), 7);
        let (mut prepared, mut worked) = (0, 0);
        let work = ledger.prepared("two", [5, 4], || prepared += 1, || worked += 1);
        work.unwrap();
        assert_eq!((prepared, worked), (5, 5));
        assert_eq!(ledger.steps().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(ledger.of("one").unwrap().pages, 3);
        assert_eq!(ledger.of("two").unwrap().pages, 20);
        assert_eq!(ledger.of("three"), None);
    }

    #[test]
    fn a_stop_ends_steps_and_pieces() {
        let place = Place::default();
        let mut pieces = Vec::new();
        place
            .pieces(3 * PIECE + 1, |piece| pieces.push(piece))
            .unwrap();
        assert_eq!(pieces.len(), 4);
        assert_eq!((pieces[0].start, pieces[3].end), (0, 3 * PIECE + 1));
        assert!(pieces.windows(2).all(|two| two[0].end == two[1].start));

        let mut done = 0;
        let ended = place.pieces(3 * PIECE, |_| {
            done += 1;
            place.stop.request();
        });
        assert!(ended.is_err() && done == 1);
        assert!(place.rest(Nanos::from_secs(1_000_000)).is_err());
        let mut ledger = Ledger::new(&place);
        assert!(ledger.step("one", 3, || Ok(())).is_err());
        assert_eq!(ledger.of("one"), None);
    }

    #[test]
    fn a_step_that_fails_is_not_noted() {
        let mut ledger = Ledger::new(&Place::default());
        let failed: Result<(), _> = ledger.step("one", 3, || Err(Refusal::new("no")));
        assert_eq!(failed.unwrap_err().to_string(), "no");
        assert_eq!(ledger.of("one"), None);
    }
}
