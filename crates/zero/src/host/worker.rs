//! One worker of a team.

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use punctual_core::{Carrier, Limit, Method, Nanos};
use punctual_os::wait::Sleeper;
use punctual_os::{Tick, clock, slack, thread};

use super::accounting;
use super::accounting::{Mark, Sifted, with_room};
use super::barrier::Broken;
use super::cpu_clock::Begun;
use super::job::{Arrivals, Tally, can_park};
use super::shared::Shared;

/// How long before a burst is due a worker sleeps with a timer: more than the tick
/// of any system, and little to wait for.
const REST: Nanos = Nanos::from_ms(20);

/// A worker, and what it shares with the others.
#[derive(Debug)]
pub(super) struct Worker<'s, 'a> {
    pub(super) number: usize,
    pub(super) shared: &'s Shared<'a>,
}

impl Worker<'_, '_> {
    /// Does its part of a batch, on this CPU if there is one.
    pub(super) fn work(&self, cpu: Option<usize>) -> Tally {
        if let Some(cpu) = cpu {
            // It runs somewhere if it cannot run there.
            let _ = thread::pin(cpu);
        }
        let job = &self.shared.job;
        let mut tally = Tally {
            accounting: with_room(job.every, job.room),
            ..Tally::default()
        };
        let mut sleeper = Sleeper::with_events(self.shared.events.clone());
        let (mut number, mut skipped) = (0, 0);
        while let Ok(true) = self.pass(&mut tally, &mut sleeper) {
            number += 1;
            let skip = accounting::skip(tally.accounting.acquisitions, number, job.every);
            tally.accounting.acquisitions += skip;
            skipped += skip;
        }
        tally.accounting.acquisitions -= skipped;
        tally
    }

    /// Whether there is another one.
    fn pass(&self, tally: &mut Tally, sleeper: &mut Sleeper) -> Result<bool, Broken> {
        let shared = self.shared;
        let share = self.share();
        // The pages it dirties are in the caches of its CPU, or on their way out.
        self.dirty(&share);
        let mark = Mark::of(&tally.accounting);
        let pool = shared.pool.read().unwrap_or_else(PoisonError::into_inner);
        shared.barrier.wait()?;
        let due = self.due()?;

        let begun = self.wait_for(due, sleeper);
        let late = due.map_or(Nanos::ZERO, |due| clock::now().since(due));
        pool.work(self.number, &mut tally.accounting);
        let done = shared.cpu_clock.end(&begun);

        shared.slots[self.number].set(begun.at, done.at);
        drop(pool);
        shared.barrier.wait()?;
        self.check(&share);
        // So that a page left dirty is known to the one who judges.
        shared.barrier.wait()?;
        if self.number == 0 {
            shared.judge(due);
        }
        shared.barrier.wait()?;
        let verdict = shared.verdict();
        if verdict.counts {
            let elapsed = done.at.since(due.unwrap_or(begun.at));
            tally.cpu += done.cpu;
            tally.elapsed += elapsed;
            let sifted = Sifted {
                first: mark.samples(),
                off_cpu: elapsed - done.cpu - late,
                can_park: can_park(&shared.job.setting),
            };
            sifted.sift(&mut tally.accounting);
        } else {
            mark.restore(&mut tally.accounting);
        }
        Ok(verdict.go_on)
    }

    /// Its part of the pages, while they are not zeroed but dirtied and checked.
    fn share(&self) -> Range<usize> {
        let job = &self.shared.job;
        let (pages, workers) = (job.pages as usize, job.setting.workers);
        let begin = |worker: usize| pages * worker / workers;
        begin(self.number)..begin(self.number + 1)
    }

    /// When the next burst is due, as one of the workers says for all.
    fn due(&self) -> Result<Option<Tick>, Broken> {
        let Arrivals::Burst { every, .. } = self.shared.job.arrivals else {
            return Ok(None);
        };
        if self.number == 0 {
            let began = self.shared.began;
            // Soon enough for all to be asleep by then.
            let passed = clock::now().since(began) + REST;
            let bursts = passed.as_ns() / every.as_ns() + 1;
            let due = began + every.times(bursts);
            self.shared.due.store(due.as_ns(), Relaxed);
        }
        self.shared.barrier.wait()?;
        Ok(Some(Tick::from_ns(self.shared.due.load(Relaxed))))
    }

    /// Sleeps until a burst is due: most of it in a way that the user's stop ends
    /// at once, and the rest with the timer of the system that is the least late.
    /// What comes next begins with that rest, so that the wake-up is charged where
    /// it can be.
    fn wait_for(&self, due: Option<Tick>, sleeper: &mut Sleeper) -> Begun {
        let Some(due) = due else {
            return self.shared.cpu_clock.begin();
        };
        let rest = REST + slack::current().unwrap_or_default();
        let left = due.since(clock::now());
        if left > rest {
            self.shared.events.sleep(left - rest);
        }
        let begun = self.shared.cpu_clock.begin();
        while clock::now() < due && !self.shared.events.is_closed() {
            sleeper.block(Method::Timer, Limit::Until(due), None);
        }
        self.shared.cpu_clock.after_sleep(begun)
    }

    fn dirty(&self, share: &Range<usize>) {
        self.in_parts(share, |part| self.shared.memory.mapping().dirty(part));
    }

    fn check(&self, share: &Range<usize>) {
        let shared = self.shared;
        self.in_parts(share, |part| {
            if let Some(page) = shared.memory.mapping().first_dirty(part) {
                let job = &shared.job;
                shared.fail(format!(
                    "page {page} of {} was left dirty by {} workers with lock {}, batch {} and {}: please report this",
                    job.pages,
                    job.setting.workers,
                    job.setting.lock,
                    job.setting.batch,
                    job.kernel
                ));
            }
        });
    }

    /// Goes through its pages, unless there is cutoff: then what is done does not
    /// count, and it may be that nobody zeroed anything.
    fn in_parts(&self, share: &Range<usize>, go: impl Fn(Range<usize>)) {
        /// 16 MiB: some milliseconds.
        const PART: usize = 1 << 12;
        for begin in share.clone().step_by(PART) {
            if self.shared.memory.cutoff().is_on() {
                return;
            }
            go(begin..(begin + PART).min(share.end));
        }
    }
}
