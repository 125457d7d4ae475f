//! Which measurement is which figure of the simulated computer.

use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_sim::model::Confidence;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Figure, Job, Machine, Matrix, Quantity, Topology, simulate};

use crate::rows::{PAGE_BYTES, TakeCost, ZeroCalibration};
use crate::run::Memory;

/// The computer that was calibrated, as a pool under `setting` finds it that
/// zeroes `memory` and times one take in `timed_every`, or none if that is 0.
pub(super) fn machine(
    calibration: &ZeroCalibration,
    setting: &Setting,
    memory: Memory,
    timed_every: u32,
) -> Result<Machine, Refusal> {
    let zeroing = Zeroing::of(calibration, memory)?;
    let machine = bare(calibration)?;
    let machine = with_takes(machine, calibration, setting, &zeroing, timed_every)?;
    with_zeroing(machine, setting.workers, &zeroing)
}

fn bare(calibration: &ZeroCalibration) -> Result<Machine, Refusal> {
    // Each worker has the CPU of its own number.
    let topology = Topology::of_cores(calibration.cpus);
    let mut machine = Machine::new("host", "this computer, as calibrated", topology);
    for (quantity, interval) in [
        (Quantity::Hit, calibration.hit_ns),
        (Quantity::Rmw, calibration.rmw_ns),
        (Quantity::Relax, calibration.relax_ns),
        // Who spins on a copy looks, gives the hint, and looks again.
        (Quantity::Look, calibration.relax_ns),
    ] {
        // What overlaps with what comes before can seem to take no time at all.
        let (least, _) = quantity.bounds();
        machine = machine.try_with(quantity, measured(interval.map(|ns| ns.max(least))))?;
    }
    machine = machine.try_with(Quantity::Posted, exactly(1.0))?;
    if let Some(parking) = &calibration.parking {
        // Nobody knows how the two share what they cost together.
        let half = parking.cpu_ns.scaled(0.5);
        machine = machine
            .try_with(Quantity::Park, measured(half))?
            .try_with(Quantity::Wake, measured(half))?
            .try_with(Quantity::Turnaround, measured(parking.turnaround_ns))?;
    }
    if let Some(apart) = calibration.start_apart_ns {
        // Each begins at an instant of chance within the spread; the median of how
        // far apart two are is 1 - sqrt(1/2) of it.
        let spread = apart.scaled(1.0 / (1.0 - 0.5_f64.sqrt()));
        machine = machine.try_with(Quantity::Spread, measured(spread))?;
    }
    match calibration.line(|line| line.taken_ns) {
        None => machine.try_with(Quantity::SameCache, exactly(0.0)),
        Some(taken) => with_lines(machine, calibration, taken),
    }
}

/// Transfers between CPUs, which take so long.
fn with_lines(
    machine: Machine,
    calibration: &ZeroCalibration,
    taken: Interval,
) -> Result<Machine, Refusal> {
    let lines = &calibration.lines;
    let median = |of| calibration.line(of).map_or(0.0, |interval| interval.median);
    let share = |of| median(of) / taken.median;
    // Who has a line goes on with it until it is told that the other wants it: with
    // a part of every transfer, and one addition more than fit into that part.
    let each = calibration.rmw_ns.median;
    let contended = median(|line| line.contended_ns);
    let notice = (each / contended - each / taken.median).clamp(0.0, 1.0);
    let machine = machine
        .try_with(Quantity::SameCache, measured(taken))?
        .try_with(Quantity::ReadShare, exactly(share(|line| line.read_ns)))?
        .try_with(
            Quantity::UpgradeShare,
            exactly(share(|line| line.upgraded_ns)),
        )?
        .try_with(Quantity::NoticeShare, exactly(notice))?;
    if lines.len() == 1 {
        return Ok(machine);
    }
    let between = |from: usize, to: usize| {
        let pair = (from.min(to), from.max(to));
        let line = lines.iter().find(|line| (line.from, line.to) == pair);
        line.map_or(taken.median, |line| line.taken_ns.median)
    };
    Ok(machine.with_matrix(Matrix::between(calibration.cpus, between)?))
}

/// What a take costs besides what the simulated pool does: what a policy computes
/// is under the lock, all else is taken for outside.
fn with_takes(
    machine: Machine,
    calibration: &ZeroCalibration,
    setting: &Setting,
    zeroing: &Zeroing<'_>,
    timed_every: u32,
) -> Result<Machine, Refusal> {
    let lock = setting.lock;
    let plain = take(calibration, lock, Batch::One)?;
    // Stealing has no policy, but a take of its own.
    let steals = setting.batch == Batch::StealHalf;
    let constant = setting.batch.constant(setting.workers as u64).is_some();
    let own = match constant {
        true => plain,
        false => take(calibration, lock, setting.batch)?,
    };
    let more = own.take_ns.median - plain.take_ns.median;
    let (policy, stealing) = if steals {
        (0.0, more)
    } else {
        (more.max(0.0), 0.0)
    };
    let timing = match timed_every {
        0 => 0.0,
        every => (plain.timed_ns.median - plain.take_ns.median).max(0.0) / f64::from(every),
    };
    // Right after a page, if that was measured.
    let after_page = zeroing.take(lock, setting.workers).unwrap_or(plain.take_ns);
    let simulated = take_on(
        &machine,
        setting,
        if steals { setting.batch } else { Batch::One },
    )?;
    let turn = |after_page: f64, alone: f64| {
        let take = alone.min(after_page);
        (take + stealing - simulated).max(0.0) + timing
    };
    let turn = after_page.with(plain.take_ns, turn);
    // What it costs more right after a page is waiting until the stores are done, besides
    // what the simulated take costs.
    let drain = |after_page: f64| match after_page > plain.take_ns.median {
        true => (after_page - simulated).max(0.0) + timing,
        false => 0.0,
    };
    let drain = after_page.map(drain);
    let stores = zeroing
        .stores(setting)
        .map(|stores| stores.map(|ns| (ns + timing).max(0.0)));
    let drain = stores
        .filter(|stores| stores.median > drain.median)
        .unwrap_or(drain);
    let (section, turn) = match lock {
        // There is no lock for anything to be under.
        LockKind::Counter => (0.0, turn.map(|ns| ns + policy)),
        _ => (policy, turn),
    };
    machine
        .try_with(Quantity::Section, exactly(section))?
        .try_with(Quantity::Turn, measured(turn))?
        .try_with(Quantity::Drain, measured(drain))
}

/// What a take that nobody else wants costs on a simulated computer as it is.
fn take_on(machine: &Machine, setting: &Setting, batch: Batch) -> Result<f64, Refusal> {
    const PAGES: u64 = 2_000;
    /// What a page costs, which has to be something.
    const PAGE_NS: f64 = 1.0;
    let machine = machine
        .clone()
        .try_with(Quantity::Zero, exactly(PAGE_NS))?
        .try_with(Quantity::Bandwidth, exactly(1e6))?
        .try_with(Quantity::Spread, exactly(0.0))?;
    let alone = Setting::new(1, setting.lock, batch);
    let outcome = simulate(&machine, &Job::new(alone, PAGES))?;
    let takes = outcome.acquisitions as f64;
    Ok((outcome.wall.as_ns() as f64 - PAGE_NS * PAGES as f64) / takes)
}

fn take(calibration: &ZeroCalibration, lock: LockKind, batch: Batch) -> Result<&TakeCost, Refusal> {
    let (lock, batch) = (lock.name(), batch.to_string());
    let mut takes = calibration.takes.iter();
    takes
        .find(|cost| cost.lock == lock && cost.batch == batch)
        .ok_or_else(|| lacks(&format!("a take under {lock} with batch {batch}")))
}

struct Zeroing<'c> {
    calibration: &'c ZeroCalibration,
    memory: Memory,
    /// One worker by itself.
    alone: Interval,
    /// All at the same time, pages that each had written itself.
    here: Interval,
    /// Pages that others had written.
    elsewhere: Interval,
    /// By which share pages differ where all are at work.
    jitter: f64,
}

impl<'c> Zeroing<'c> {
    fn of(calibration: &'c ZeroCalibration, memory: Memory) -> Result<Self, Refusal> {
        let page = |workers, elsewhere| calibration.page(memory.name(), workers, elsewhere);
        let alone = page(1, false);
        let alone = alone.ok_or_else(|| lacks(&format!("zeroing of {} memory", memory.name())))?;
        let here = page(calibration.cpus, false).unwrap_or(alone);
        let elsewhere = page(calibration.cpus, true).unwrap_or(here);
        let jitter = here.jitter.unwrap_or_default();
        let [alone, here, elsewhere] = [alone, here, elsewhere].map(|cost| cost.page_ns);
        Ok(Self {
            calibration,
            memory,
            alone,
            here,
            elsewhere,
            jitter: jitter.min(1.0),
        })
    }

    /// How crowded it is: 0 with one worker, 1 with as many as there are CPUs.
    fn crowd(&self, workers: usize) -> f64 {
        (workers - 1) as f64 / (self.calibration.cpus - 1).max(1) as f64
    }

    /// What a take costs right after a page, under a lock that nobody else wants,
    /// with so many workers at work.
    fn take(&self, lock: LockKind, workers: usize) -> Option<Interval> {
        let (calibration, name) = (self.calibration, self.memory.name());
        self.among(workers, |workers| {
            calibration.take_after_page(name, lock.name(), workers)
        })
    }

    /// How long the pool's lock waits for the stores to a page, if it does.
    ///
    /// A CPU goes ahead past a lock that it has, and zeroes the next page meanwhile. It
    /// cannot when the lock comes from another CPU; nor past a counter, which says itself
    /// which page is next. Only with single pages one was seen to do that as well.
    fn stores(&self, setting: &Setting) -> Option<Interval> {
        let (calibration, name) = (self.calibration, self.memory.name());
        let of = |workers| calibration.stores_ns(name, workers);
        let goes_ahead = setting.lock != LockKind::Counter || setting.batch == Batch::One;
        match setting.workers {
            1 if goes_ahead => None,
            workers => self.among(workers, of),
        }
    }

    /// Something with so many workers, of which it is known with one, and maybe with as
    /// many as there are CPUs.
    fn among(&self, workers: usize, of: impl Fn(usize) -> Option<Interval>) -> Option<Interval> {
        let alone = of(1)?;
        let all = of(self.calibration.cpus).unwrap_or(alone);
        Some(mixed(alone, all, self.crowd(workers)))
    }
}

fn with_zeroing(
    machine: Machine,
    workers: usize,
    zeroing: &Zeroing<'_>,
) -> Result<Machine, Refusal> {
    let alone = zeroing.alone;
    let machine = machine.try_with(Quantity::Jitter, exactly(zeroing.jitter))?;
    if zeroing.memory == Memory::Hot {
        // Each has caches of its own; what changes with their number is how often
        // pages lie beside those of others.
        let here = mixed(alone, zeroing.here, zeroing.crowd(workers));
        return machine
            .try_with(Quantity::Zero, measured(here))?
            .try_with(Quantity::ZeroRemote, measured(zeroing.elsewhere))?
            .try_with(Quantity::Bandwidth, exactly(1e6));
    }
    // All take from the same memory: so many can at full speed.
    let (name, cpus) = (zeroing.memory.name(), zeroing.calibration.cpus);
    let crowded = zeroing.calibration.mixed_page_ns(name, cpus);
    let longer = crowded.map_or(1.0, |crowded| crowded / alone.median);
    let abreast = cpus as f64 / longer.max(1.0);
    // Bytes in a nanosecond are GB in a second.
    let bandwidth = abreast * PAGE_BYTES as f64 / alone.median;
    machine
        .try_with(Quantity::Zero, measured(alone))?
        .try_with(Quantity::Bandwidth, exactly(bandwidth))
}

fn lacks(what: &str) -> Refusal {
    Refusal::new(format!("the calibration lacks {what}; calibrate again"))
}

fn mixed(one: Interval, other: Interval, share: f64) -> Interval {
    one.with(other, |a, b| a + (b - a) * share)
}

fn measured(Interval { median, low, high }: Interval) -> Figure {
    Figure::between(low, median, high, Confidence::B, "measured here")
}

fn exactly(value: f64) -> Figure {
    let source = "follows from what was measured here";
    Figure::new(value, Confidence::B, source)
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::calibration;

    fn of(setting: &Setting, memory: Memory, timed_every: u32) -> Machine {
        machine(&calibration(), setting, memory, timed_every).unwrap()
    }

    fn tas(workers: usize, batch: &str) -> Setting {
        Setting::new(workers, LockKind::Tas, batch.parse().unwrap())
    }

    #[test]
    fn each_measurement_is_a_figure_or_the_ratio_of_two() {
        let machine = of(&tas(2, "1"), Memory::Hot, 0);
        for (quantity, value) in [
            (Quantity::Hit, 1.0),
            (Quantity::Rmw, 5.0),
            (Quantity::SameCache, 60.0),
            (Quantity::ReadShare, 0.75),
            (Quantity::UpgradeShare, 0.5),
            // Three additions in every 60 ns: two in 10 ns of these, and one more.
            (Quantity::NoticeShare, 1.0 / 6.0),
            (Quantity::Zero, 110.0),
            (Quantity::ZeroRemote, 250.0),
            (Quantity::Section, 0.0),
        ] {
            let figure = machine.figure(quantity).map(|figure| figure.value);
            let figure = figure.unwrap();
            assert!(
                (figure - value).abs() < 1e-9,
                "{}: {figure}",
                quantity.key()
            );
        }
        let alone = of(&tas(1, "1"), Memory::Hot, 0);
        assert_eq!(alone.figure(Quantity::Zero).unwrap().value, 100.0);
    }

    #[test]
    fn a_policy_is_under_the_lock_if_there_is_one() {
        let section = |setting: Setting| {
            let machine = of(&setting, Memory::Hot, 0);
            let value = |quantity| machine.figure(quantity).map_or(0.0, |figure| figure.value);
            (value(Quantity::Section), value(Quantity::Turn))
        };
        let (plain, turn) = section(tas(1, "8"));
        assert_eq!((plain, section(tas(1, "guided"))), (0.0, (10.0, turn)));
        let counter = |batch: &str| Setting::new(1, LockKind::Counter, batch.parse().unwrap());
        let (_, turn) = section(counter("8"));
        assert_eq!(section(counter("guided")), (0.0, turn + 4.0));
    }

    #[test]
    fn a_lock_from_elsewhere_and_a_counter_wait_for_the_stores_to_a_page() {
        let mut calibration = calibration();
        // 90 ns more than a page of many, which takes 180 ns on average of both workers'.
        for cost in &mut calibration.zeroing {
            cost.settled_ns = Some(Interval::exactly(match cost.workers {
                1 => 190.0,
                _ => 270.0,
            }));
        }
        let drain = |setting| {
            let machine = machine(&calibration, &setting, Memory::Hot, 0).unwrap();
            machine.figure(Quantity::Drain).unwrap().value
        };
        let two = drain(tas(2, "1"));
        assert!((two - 90.0).abs() < 1e-9, "{two}");
        // Of the 30 ns that a take costs one worker there, some are the simulated take's.
        let one = drain(tas(1, "1"));
        assert!((0.0..30.0).contains(&one), "{one}");
        // A counter says which pages are next.
        let counter = |batch: &str| Setting::new(1, LockKind::Counter, batch.parse().unwrap());
        let [single, several] = ["1", "8"].map(|batch| drain(counter(batch)));
        assert_eq!(single, 0.0);
        assert!((several - 90.0).abs() < 1e-9, "{several}");
    }

    #[test]
    fn memory_beyond_the_caches_is_shared() {
        // Two that take 150 ns each on average do as much as one in 75.
        let machine = of(&tas(2, "1"), Memory::Cold, 0);
        let value = |quantity| machine.figure(quantity).unwrap().value;
        assert_eq!(value(Quantity::Zero), 100.0);
        assert!((value(Quantity::Bandwidth) - 4_096.0 / 75.0).abs() < 1e-9);
        assert_eq!(machine.figure(Quantity::ZeroRemote), None);
    }

    #[test]
    fn what_was_not_calibrated_is_named() {
        let calibration = calibration();
        let refused = |setting, memory| {
            let refused = machine(&calibration, &setting, memory, 0).unwrap_err();
            refused.to_string()
        };
        let mcs = Setting::new(1, LockKind::Mcs, Batch::One);
        assert!(refused(mcs, Memory::Hot).contains("a take under mcs with batch 1"));
        assert!(refused(tas(1, "growing"), Memory::Hot).contains("tas with batch growing"));
        assert!(refused(tas(1, "1"), Memory::Warm).contains("zeroing of warm memory"));
    }
}
