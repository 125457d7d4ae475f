//! The sums over the rounds of a cell.

use punctual_core::Nanos;
use punctual_record::Interval;
use punctual_zero_pool::Accounting;

use super::Cell;
use crate::host::{Observed, can_park};
use crate::rows::{CpuSplit, Spread, ZeroRow, ZeroedPages, Zeroing, ZeroingRound};

/// The sums over the rounds of a cell, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    rounds: Vec<ZeroingRound>,
    /// Per pass, by round.
    acquisitions: Vec<f64>,
    every: u32,
    cpu: f64,
    /// From when workers began until the last one ended, for each of them.
    present: f64,
    /// Of that, when they had begun and not ended, and were off the CPU.
    off_cpu: f64,
    parts: Parts,
    /// The cost of reading the clock, for all that was timed.
    overhead: f64,
    waits: Vec<u64>,
    holds: Vec<u64>,
}

/// Parts of a CPU time, as the clock saw them.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    zeroing: f64,
    hold: f64,
    waiting: f64,
    /// Waits whose workers may have been off it.
    parked: f64,
}

/// A wait this long for a blocking lock has been off the CPU. Before blocking, the standard
/// library's mutex looks a hundred times with PAUSE between (`sys/sync/mutex/futex.rs`, 1.95). A
/// wake-up takes microseconds.
const PARKED_NS: u64 = 5_000;

/// Readings of the clock for a take that is timed: before, with the lock, without
/// it again, and when its pages are zero. The last take of a worker, which finds
/// none, has one less.
const READINGS: f64 = 4.0;

impl Tally {
    /// Adds what came of a round, in which one take in `every` was timed with a
    /// clock whose reading takes `reading_ns`.
    pub(super) fn add(&mut self, cell: &Cell, observed: &Observed, every: u32, reading_ns: f64) {
        if observed.passes == 0 {
            return;
        }
        let passes = f64::from(observed.passes);
        let gigabytes = passes * cell.area.bytes() as f64 / 1e9;
        let ns = |length: Nanos| length.as_ns() as f64;
        // A system whose count did not move at all leaves the time that passed.
        let elapsed = ns(observed.elapsed).max(1.0);
        let cpu = if observed.cpu.is_zero() {
            elapsed
        } else {
            ns(observed.cpu)
        };
        self.rounds.push(ZeroingRound {
            wall_gb_per_s: gigabytes / ns(observed.wall).max(1.0) * 1e9,
            gb_per_cpu_s: gigabytes / cpu * 1e9,
        });
        self.cpu += cpu;
        self.present += ns(observed.wall).max(1.0) * cell.setting.workers as f64;
        self.off_cpu += (elapsed - cpu).max(0.0);
        self.every = every;
        let takes = observed
            .accounting
            .iter()
            .map(|accounting| accounting.acquisitions);
        self.acquisitions.push(takes.sum::<u64>() as f64 / passes);
        for accounting in &observed.accounting {
            self.note(accounting, can_park(&cell.setting), reading_ns);
        }
    }

    /// The timed takes stand for the others: waits and holds by takes, and zeroing by pages,
    /// because takes differ and the longest may be missing. Each measured length contains one
    /// reading of the clock.
    fn note(&mut self, accounting: &Accounting, can_park: bool, reading_ns: f64) {
        if accounting.sampled == 0 {
            return;
        }
        let sampled = accounting.sampled as f64;
        let times = accounting.acquisitions as f64 / sampled;
        let read = |length: Nanos| (length.as_ns() as f64 - sampled * reading_ns).max(0.0);
        let waiting = read(accounting.wait) * times;
        let waits = accounting.samples.iter().map(|sample| sample.wait.as_ns());
        let long = waits.filter(|ns| *ns >= PARKED_NS);
        let parked = if can_park {
            (long.sum::<u64>() as f64 * times).min(waiting)
        } else {
            0.0
        };
        if accounting.pages_sampled > 0 {
            let times = accounting.pages as f64 / accounting.pages_sampled as f64;
            self.parts.zeroing += read(accounting.zeroing) * times;
        }
        self.parts.hold += read(accounting.hold) * times;
        self.parts.waiting += waiting - parked;
        self.parts.parked += parked;
        self.overhead += READINGS * sampled * reading_ns;
        let reading = Nanos::new(reading_ns.round() as u64);
        for sample in &accounting.samples {
            self.waits.push((sample.wait - reading).as_ns());
            self.holds.push((sample.hold - reading).as_ns());
        }
    }

    pub(super) fn measurement(
        self,
        cell: &Cell,
        oversubscribed: bool,
        approximate: bool,
    ) -> Option<ZeroRow> {
        let of = |value: fn(&ZeroingRound) -> f64| {
            let values: Vec<f64> = self.rounds.iter().map(value).collect();
            Interval::of(&values)
        };
        let wall_gb_per_s = of(|round| round.wall_gb_per_s)?;
        let gb_per_cpu_s = of(|round| round.gb_per_cpu_s)?;
        let zeroing = Zeroing {
            pages: cell.area.pages,
            wall_gb_per_s,
            gb_per_cpu_s,
            gib_per_cpu_s: gb_per_cpu_s.median * 1e9 / f64::from(1 << 30),
            cpu: self.parts.shares(self.cpu),
            parked_share: (self.off_cpu / self.present).min(1.0),
            acquisitions: Interval::of(&self.acquisitions)?.median,
            sampled_every: self.every,
            sampling_overhead: self.overhead / self.cpu,
            oversubscribed,
            wait_ns: Spread::of(self.waits),
            hold_ns: Spread::of(self.holds),
            rounds: self.rounds,
        };
        let zeroed = ZeroedPages {
            cpu_is_approximate: approximate,
            ..ZeroedPages::of(cell.pool(), zeroing)
        };
        Some(ZeroRow::pool(cell.setting.lock, zeroed))
    }
}

impl Parts {
    /// The shares of a CPU time.
    ///
    /// The clock runs while a worker is off its CPU. Of parked waits, at most the rest of the CPU
    /// time is on the CPU. Lost CPUs can still make the parts exceed the CPU time. Then each part
    /// is scaled down alike, as far as is known.
    fn shares(self, cpu: f64) -> CpuSplit {
        let left = (cpu - self.zeroing - self.hold - self.waiting).max(0.0);
        let waiting = self.waiting + self.parked.min(left);
        let sum = self.zeroing + self.hold + waiting;
        let whole = cpu.max(sum);
        CpuSplit {
            zeroing: self.zeroing / whole,
            hold: self.hold / whole,
            waiting: waiting / whole,
            other: (whole - sum) / whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Area, Memory};
    use punctual_zero_memory::Kernel;
    use punctual_zero_pool::{Batch, LockKind, Sample, Setting};

    fn cell(lock: LockKind) -> Cell {
        let (memory, pages) = (Memory::Hot, 1_000);
        let setting = Setting::new(2, lock, Batch::One);
        Cell::of(Kernel::Memset, Area { memory, pages }, setting)
    }

    /// Two passes of 1000 pages by two workers, who both time every tenth take.
    fn observed() -> Observed {
        let sample = Sample {
            wait: Nanos::new(25),
            hold: Nanos::new(15),
            zeroing: Nanos::new(55),
            pages: 1,
        };
        let accounting = Accounting {
            every: 10,
            pages: 1_000,
            acquisitions: 1_000,
            sampled: 100,
            pages_sampled: 100,
            wait: Nanos::new(100 * 25),
            hold: Nanos::new(100 * 15),
            zeroing: Nanos::new(100 * 55),
            samples: vec![sample; 100],
        };
        Observed {
            passes: 2,
            wall: Nanos::from_us(125),
            cpu: Nanos::from_us(200),
            elapsed: Nanos::from_us(250),
            accounting: vec![accounting.clone(), accounting],
            late: false,
        }
    }

    fn zeroing(lock: LockKind, observed: &Observed) -> Zeroing {
        let mut tally = Tally::default();
        tally.add(&cell(lock), observed, 10, 5.0);
        let measurement = tally.measurement(&cell(lock), false, false).unwrap();
        assert_eq!(measurement.subject, lock.name());
        measurement.zeroing().unwrap().clone()
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} not {expected}");
    }

    #[test]
    fn rates_are_of_all_passes_and_samples_stand_for_all() {
        let z = zeroing(LockKind::Tas, &observed());
        // 2000 pages of 4096 bytes in 125 us, and in 200 us of CPU time.
        assert_near(z.wall_gb_per_s.median, 65.536);
        assert_near(z.gb_per_cpu_s.median, 40.96);
        assert_near(z.gib_per_cpu_s, 40.96e9 / f64::from(1 << 30));
        assert_near(z.acquisitions, 1_000.0);
        // 2 x 1000 takes of 20, 10 and 50 ns without the reading of the clock.
        assert_near(z.cpu.waiting, 0.2);
        assert_near(z.cpu.hold, 0.1);
        assert_near(
            z.cpu.zeroing,
            0.7 + 0.3 - z.cpu.waiting - z.cpu.hold - z.cpu.other,
        );
        assert_near(z.parked_share, 0.2);
        // 200 takes of 4 readings of 5 ns.
        assert_near(z.sampling_overhead, 0.02);
        assert_eq!((z.wait_ns.p50, z.hold_ns.p50), (Some(20), Some(10)));
        assert_eq!((z.wait_ns.n, z.wait_ns.max), (200, 20));
    }

    /// 15 pages of a millisecond, in takes of 8, 4, 2, 1 and none, of which the
    /// first is no sample any more.
    #[test]
    fn zeroing_is_scaled_by_pages() {
        let accounting = Accounting {
            every: 1,
            pages: 15,
            acquisitions: 5,
            sampled: 4,
            pages_sampled: 7,
            zeroing: Nanos::from_ms(7) + Nanos::new(4 * 5),
            ..Accounting::default()
        };
        let z = zeroing(
            LockKind::Tas,
            &Observed {
                passes: 1,
                wall: Nanos::from_ms(16),
                cpu: Nanos::from_ms(16),
                elapsed: Nanos::from_ms(16),
                accounting: vec![accounting],
                late: false,
            },
        );
        assert_near(z.cpu.zeroing, 15.0 / 16.0);
    }

    #[test]
    fn the_split_is_a_whole_whatever_the_clock_saw() {
        let sum = |s: CpuSplit| s.zeroing + s.hold + s.waiting + s.other;
        for ([zeroing, hold, waiting, parked], expected) in [
            ([50.0, 10.0, 20.0, 0.0], [0.5, 0.1, 0.2, 0.2]),
            // Parked for most of the wait.
            ([50.0, 10.0, 5.0, 900.0], [0.5, 0.1, 0.4, 0.0]),
            ([50.0, 10.0, 5.0, 10.0], [0.5, 0.1, 0.15, 0.25]),
            // Off the CPU in the middle of everything.
            ([100.0, 20.0, 80.0, 70.0], [0.5, 0.1, 0.4, 0.0]),
        ] {
            let parts = Parts {
                zeroing,
                hold,
                waiting,
                parked,
            };
            let split = parts.shares(100.0);
            assert_near(sum(split), 1.0);
            for (found, expected) in [split.zeroing, split.hold, split.waiting, split.other]
                .into_iter()
                .zip(expected)
            {
                assert_near(found, expected);
            }
        }
    }

    #[test]
    fn only_a_lock_that_blocks_can_have_parked_a_long_wait() {
        let mut observed = observed();
        for accounting in &mut observed.accounting {
            accounting.wait += Nanos::new(1_000_000);
            accounting.samples[0].wait += Nanos::new(1_000_000);
        }
        let spun = zeroing(LockKind::Tas, &observed).cpu;
        let parked = zeroing(LockKind::Mutex, &observed).cpu;
        assert!(spun.waiting > 0.9);
        // The rest of the CPU time, which was `other` before.
        assert_near(parked.waiting, 0.4);
        assert_near(parked.zeroing, 0.5);
    }

    #[test]
    fn a_cell_without_a_pass_has_no_measurement() {
        let mut tally = Tally::default();
        tally.add(&cell(LockKind::Tas), &Observed::default(), 1, 5.0);
        assert!(
            tally
                .measurement(&cell(LockKind::Tas), false, false)
                .is_none()
        );
    }

    #[test]
    fn a_count_that_did_not_move_leaves_the_time_that_passed() {
        let still = Observed {
            cpu: Nanos::ZERO,
            ..observed()
        };
        let z = zeroing(LockKind::Tas, &still);
        assert_near(z.gb_per_cpu_s.median, 32.768);
        assert_near(z.parked_share, 0.0);
    }
}
