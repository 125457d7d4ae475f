//! Pools that never zeroed a page. Their numbers follow from a formula that is
//! simple and wrong: they are of the size that real ones have, and they say
//! nothing about any machine.

use punctual_record::{Interval, Run};
use punctual_zero::rows::{
    CpuSplit, LineCost, ParkingCost, PoolOf, Spread, TakeCost, ZeroCalibration, ZeroCost, ZeroRow,
    ZeroedPages, Zeroing, ZeroingPrediction, ZeroingRound,
};

use crate::invented::Dice;
pub(crate) use crate::invented::of;

pub(crate) const LOCKS: [&str; 6] = ["tas", "ttas", "ticket", "mcs", "mutex", "counter"];
pub(crate) const BATCHES: [&str; 8] = ["1", "8", "64", "n", "2n", "half", "guided", "growing"];

/// A pool of the invented computer.
#[derive(Clone, Copy)]
pub(crate) struct Pool<'a> {
    pub(crate) lock: &'a str,
    pub(crate) batch: &'a str,
    pub(crate) threads: u64,
    pub(crate) memory: &'a str,
    /// How many CPUs the computer has.
    pub(crate) cpus: u64,
    pub(crate) rounds: usize,
    /// Its name, where it is a model.
    pub(crate) on: Option<&'a str>,
}

impl Pool<'_> {
    /// Pages of a take, on the average.
    fn pages(self) -> f64 {
        match self.batch {
            "n" => self.threads as f64,
            "2n" => 2.0 * self.threads as f64,
            "half" => 4_000.0,
            "guided" => 400.0,
            "growing" => 100.0,
            number => number.parse().unwrap(),
        }
    }

    /// Zeroing of a page: no more than 80 GB/s in all.
    fn zero_ns(self) -> f64 {
        let alone = if self.memory == "hot" { 90.0 } else { 330.0 };
        f64::max(alone, self.threads as f64 * 4096.0 / 80.0)
    }

    /// From one worker's take to the next, and what of that is the hold.
    fn lock_ns(self) -> (f64, f64) {
        let others = self.threads as f64 - 1.0;
        match self.lock {
            "tas" => (100.0 + 65.0 * others, 60.0 + 20.0 * others),
            "ttas" => (100.0 + 20.0 * others, 70.0),
            "ticket" => (90.0 + 45.0 * others, 60.0),
            "mcs" => (120.0 + if others > 0.0 { 200.0 } else { 0.0 }, 60.0),
            "mutex" => (80.0 + 25.0 * others.min(12.0), 70.0),
            _ => (30.0 + 10.0 * others, 0.0),
        }
    }

    fn zeroing(self, dice: &mut Dice) -> Zeroing {
        let (pages, zero, (turn, hold)) = (self.pages(), self.zero_ns(), self.lock_ns());
        let threads = self.threads as f64;
        let busy = pages * zero + turn;
        // Takes per nanosecond: as many as workers can make, or as the lock lets by.
        let takes = f64::min(threads / busy, 1.0 / turn);
        let crowded = self.threads > self.cpus;
        let lost = if crowded { 0.4 } else { 1.0 };
        let cpu_of_take = threads / takes;
        let gb_per_cpu_s = 4096.0 * pages / cpu_of_take * lost;
        let wall_gb_per_s = gb_per_cpu_s * threads.min(self.cpus as f64);
        let share = |ns: f64| ns / cpu_of_take;
        let (zeroing, held) = (share(pages * zero) * 0.98, share(hold));
        let other = 0.01;
        let rounds: Vec<ZeroingRound> = (0..self.rounds)
            .map(|_| {
                let noise = if self.rounds > 1 {
                    0.97 + 0.06 * dice.even()
                } else {
                    1.0
                };
                ZeroingRound {
                    wall_gb_per_s: wall_gb_per_s * noise,
                    gb_per_cpu_s: gb_per_cpu_s * noise,
                }
            })
            .collect();
        let over = |of: fn(&ZeroingRound) -> f64| {
            Interval::of(&rounds.iter().map(of).collect::<Vec<_>>()).unwrap_or_default()
        };
        let per_cpu_s = over(|r| r.gb_per_cpu_s);
        let spread = |ns: f64| match self.lock {
            "counter" => Spread::default(),
            _ => Spread::of(
                (0..1_500)
                    .map(|i| (ns * (0.5 + f64::from(i) / 1_400.0)) as u64)
                    .collect(),
            ),
        };
        let takes_of_pass = 262_144.0 / pages;
        let around = |value: f64| Interval {
            median: value,
            low: value * 0.94,
            high: value * 1.05,
        };
        let waiting = (1.0 - zeroing - held - other).max(0.0);
        let known = (self.lock, self.batch) != ("mcs", "1") || self.threads == 1;
        let error = 0.8 + 0.35 * dice.even() + if known { 0.0 } else { 0.5 };
        Zeroing {
            pages: 262_144,
            wall_gb_per_s: over(|r| r.wall_gb_per_s),
            gb_per_cpu_s: per_cpu_s,
            gib_per_cpu_s: per_cpu_s.median / 1.073_741_824,
            cpu: CpuSplit {
                zeroing,
                hold: held,
                waiting,
                other: 1.0 - zeroing - held - waiting,
            },
            parked_share: if self.lock == "mutex" { 0.08 } else { 0.0 },
            wait_ns: spread(waiting * cpu_of_take + 20.0),
            hold_ns: spread(hold + 12.0),
            acquisitions: takes_of_pass + threads,
            sampled_every: if pages < 4.0 { 16 } else { 1 },
            sampling_overhead: 0.004,
            oversubscribed: crowded,
            rounds,
            predicted: (!crowded).then(|| ZeroingPrediction {
                wall_gb_per_s: around(wall_gb_per_s * error),
                gb_per_cpu_s: around(gb_per_cpu_s * error),
                wait_share: around(waiting),
            }),
        }
    }

    fn measurement(self, dice: &mut Dice) -> ZeroRow {
        let pool = PoolOf {
            on: self.on.map(str::to_owned),
            threads: self.threads,
            batch: self.batch.to_owned(),
            dequeue: "range".to_owned(),
            kernel: "memset".to_owned(),
            memory: self.memory.to_owned(),
            bytes: if self.memory == "hot" {
                1 << 20
            } else {
                1 << 30
            },
            ..PoolOf::default()
        };
        let zeroed = ZeroedPages {
            pool,
            zero: self.zeroing(dice),
            ..ZeroedPages::default()
        };
        ZeroRow::pool(self.lock, zeroed)
    }
}

fn run(command: &str, results: Vec<ZeroRow>) -> Run<ZeroRow> {
    let mut run = Run {
        command: command.to_owned(),
        warnings: vec![],
        ..of(results)
    };
    run.machine.timer_rule = String::new();
    run.machine.sleep_method = String::new();
    run.machine.timer_method = String::new();
    run
}

fn grid(threads: &[u64], pool: Pool<'_>, dice: &mut Dice) -> Vec<ZeroRow> {
    let mut results = Vec::new();
    for &threads in threads {
        for lock in LOCKS {
            for batch in BATCHES {
                // A counter does not remember what was taken.
                if (lock, batch) != ("counter", "growing") {
                    let pool = Pool {
                        lock,
                        batch,
                        threads,
                        ..pool
                    };
                    results.push(pool.measurement(dice));
                }
            }
        }
    }
    results
}

const HOST: Pool<'static> = Pool {
    lock: "tas",
    batch: "1",
    threads: 1,
    memory: "cold",
    cpus: 2,
    rounds: 8,
    on: None,
};

/// The default grid on a small host, one of three numbers of threads being more
/// than there are CPUs.
pub(crate) fn host() -> Run<ZeroRow> {
    let mut dice = Dice(7);
    let mut results = Vec::new();
    for memory in ["hot", "cold"] {
        results.extend(grid(&[1, 2, 4], Pool { memory, ..HOST }, &mut dice));
    }
    run("punctual zero run", results)
}

/// Few cells, which need no matrix.
pub(crate) fn few() -> Run<ZeroRow> {
    let mut dice = Dice(7);
    let mut cell = |lock, threads| {
        let pool = Pool {
            lock,
            threads,
            batch: "64",
            ..HOST
        };
        pool.measurement(&mut dice)
    };
    let results = vec![cell("mcs", 1), cell("mcs", 2), cell("counter", 4)];
    run("punctual zero run --lock mcs,counter", results)
}

/// A simulated computer of 272 CPUs.
pub(crate) fn simulated() -> Run<ZeroRow> {
    let mut dice = Dice(7);
    let pool = Pool {
        cpus: 272,
        rounds: 1,
        on: Some("xeon-phi-272"),
        ..HOST
    };
    let results = grid(&[1, 2, 4, 8, 12, 39, 96, 128, 272], pool, &mut dice);
    let mut run = run("punctual zero simulate --on xeon-phi-272", results);
    for m in &mut run.results {
        let has_closed_form = ["tas", "mcs"].contains(&m.subject.as_str());
        let zeroed = m.zeroed_mut().unwrap();
        let zeroing = &mut zeroed.zero;
        zeroing.predicted = None;
        zeroing.rounds.clear();
        zeroing.gb_per_cpu_s.low *= 0.6;
        zeroing.gb_per_cpu_s.high *= 1.4;
        let chain = zeroing.gb_per_cpu_s.median * 1.1;
        zeroed.simulated.chain_gb_per_cpu_s = has_closed_form.then_some(chain);
    }
    run
}

/// What the parts of a pool cost on a computer of so many CPUs, one or three.
pub(crate) fn calibration(cpus: usize) -> ZeroCalibration {
    let mut calibration = ZeroCalibration {
        rounds: 6,
        cpus,
        kernel: "memset".to_owned(),
        hit_ns: about(0.348),
        rmw_ns: about(5.02),
        relax_ns: about(9.68),
        clock_ns: about(11.4),
        ..ZeroCalibration::default()
    };
    for (lock, ns) in [("tas", 24.3), ("mcs", 33.2), ("counter", 14.5)] {
        for (batch, more) in [("1", 0.0), ("guided", 12.0)] {
            calibration.takes.push(TakeCost {
                lock: lock.to_owned(),
                batch: batch.to_owned(),
                dequeue: "range".to_owned(),
                take_ns: about(ns + more),
                timed_ns: about(ns + more + 140.0),
                pages: 1.0,
            });
        }
    }
    for (memory, bytes, ns) in [("hot", 1 << 20, 86.7), ("cold", 1 << 30, 503.0)] {
        let cost = |workers, elsewhere, lock: Option<&str>, ns| ZeroCost {
            memory: memory.to_owned(),
            bytes,
            workers,
            elsewhere,
            lock: lock.map(str::to_owned),
            jitter: lock.is_none().then_some(0.0558 * workers as f64),
            settled_ns: lock.is_none().then_some(about(match workers {
                1 => ns + 30.0,
                _ => ns + 180.0,
            })),
            page_ns: about(ns),
        };
        let costs = &mut calibration.zeroing;
        costs.push(cost(1, false, None, ns));
        costs.push(cost(1, false, Some("tas"), ns + 20.0));
        // One page after the other costs no more than many in one go, by chance.
        costs.push(cost(1, false, Some("counter"), ns - 1.0));
        if cpus > 1 {
            costs.push(cost(cpus, false, None, ns + 10.0));
            costs.push(cost(cpus, true, None, ns + 220.0));
            // Of three CPUs, two have written their pages elsewhere.
            costs.push(cost(cpus, false, Some("tas"), ns + 150.0 + 60.0));
            costs.push(cost(cpus, false, Some("mcs"), ns + 150.0 + 80.0));
        }
    }
    if cpus > 1 {
        // A pair that is far from each other, and two that are near.
        for (from, to, far) in [(0, 1, 1.0), (0, 2, 1.2), (1, 2, 9.0)] {
            calibration.lines.push(LineCost {
                from,
                to,
                read_ns: about(50.0 * far),
                taken_ns: about(60.0 * far),
                upgraded_ns: about(5.0 * far),
                contended_ns: about(20.0 * far),
            });
        }
        calibration.parking = Some(ParkingCost {
            cpu_ns: about(15_105.0),
            turnaround_ns: about(24_396.0),
        });
        calibration.start_apart_ns = Some(about(115.0));
    }
    calibration
}

/// As if it had been measured in rounds.
fn about(median: f64) -> Interval {
    Interval {
        median,
        low: median * 0.9,
        high: median * 1.2,
    }
}
