//! Which measurement is which figure of the simulated computer.

use punctual_core::Refusal;
use punctual_pool::{Batch, Dequeue, LockKind, Setting};
use punctual_record::{Interval, LineCost, TakeCost, ZeroCalibration};
use punctual_sim::zeroing::{
    Figure, Job, Machine, Matrix, Numbering, Quantity, Topology, simulate,
};

use super::curve::Curve;

/// The computer that was calibrated, as a pool under `setting` finds it that
/// zeroes `memory`.
///
/// # Errors
/// The calibration lacks something that this pool needs.
pub fn machine(
    calibration: &ZeroCalibration,
    setting: &Setting,
    memory: &str,
) -> Result<Machine, Refusal> {
    let machine = bare(calibration)?;
    let machine = with_takes(machine, calibration, setting)?;
    with_zeroing(machine, calibration, setting.workers, memory)
}

/// The CPUs, and what passes between them.
fn bare(calibration: &ZeroCalibration) -> Result<Machine, Refusal> {
    let topology = Topology {
        sockets: 1,
        caches: 1,
        cores: calibration.cpus,
        threads: 1,
        // Each worker has the CPU of its own number.
        numbering: Numbering::SiblingsTogether,
    };
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
        machine = machine.try_with(quantity, measured(at_least(interval, least)))?;
    }
    machine = machine.try_with(Quantity::Posted, exactly(1.0))?;
    if let Some(parking) = &calibration.parking {
        // Nobody knows how the two share what they cost together.
        let half = scaled(parking.cpu_ns, 0.5);
        machine = machine
            .try_with(Quantity::Park, measured(half))?
            .try_with(Quantity::Wake, measured(half))?
            .try_with(Quantity::Turnaround, measured(parking.turnaround_ns))?;
    }
    if let Some(apart) = calibration.start_apart_ns {
        // Each begins at an instant of chance within the spread; the median of how
        // far apart two are is 1 - sqrt(1/2) of it.
        let spread = scaled(apart, 1.0 / (1.0 - 0.5_f64.sqrt()));
        machine = machine.try_with(Quantity::Spread, measured(spread))?;
    }
    if calibration.lines.is_empty() {
        return machine.try_with(Quantity::SameCache, exactly(0.0));
    }
    with_lines(machine, calibration)
}

/// Transfers between CPUs.
fn with_lines(machine: Machine, calibration: &ZeroCalibration) -> Result<Machine, Refusal> {
    let lines = &calibration.lines;
    let taken = middle(lines, |line| line.taken_ns);
    let seen = middle(lines, |line| line.seen_ns);
    let contended = middle(lines, |line| line.contended_ns);
    // A write is seen when the copy of who waits for it has been taken back and
    // read again.
    let upgrade = (seen.median - taken.median).max(0.0) / taken.median;
    // Who has a line goes on with it until it is told that the other wants it, of
    // every transfer so long: the part of the time in which additions go on.
    let notice = (calibration.rmw_ns.median / contended.median).min(1.0);
    let machine = machine
        .try_with(Quantity::SameCache, measured(taken))?
        .try_with(Quantity::UpgradeShare, exactly(upgrade))?
        .try_with(Quantity::NoticeShare, exactly(notice))?;
    if lines.len() == 1 {
        return Ok(machine);
    }
    let between = |from: usize, to: usize| {
        let pair = (from.min(to), from.max(to));
        let line = lines.iter().find(|line| (line.from, line.to) == pair);
        line.map_or(taken.median, |line| line.taken_ns.median)
    };
    machine.with_matrix(Matrix::between(calibration.cpus, between)?)
}

/// What a take costs besides what the simulated pool does: what a policy computes
/// is under the lock, all else is taken for outside.
fn with_takes(
    machine: Machine,
    calibration: &ZeroCalibration,
    setting: &Setting,
) -> Result<Machine, Refusal> {
    let constant = setting.batch.constant(setting.workers as u64).is_some();
    let batch = if constant { Batch::One } else { setting.batch };
    let steals = setting.batch == Batch::StealHalf;
    let plain = take(calibration, setting.lock, Batch::One)?;
    // Stealing has no policy, but a take of its own.
    let own = if steals {
        take(calibration, setting.lock, setting.batch)?
    } else {
        plain
    };
    let policy = if steals {
        0.0
    } else {
        take(calibration, setting.lock, batch)?.median - plain.median
    };
    let simulated = take_on(&machine, setting, if steals { batch } else { Batch::One })?;
    let turn = Interval {
        median: (own.median - simulated).max(0.0),
        low: (own.low - simulated).max(0.0),
        high: (own.high - simulated).max(0.0),
    };
    let counts = setting.lock == LockKind::Counter;
    let policy = policy.max(0.0);
    let (section, turn) = match counts {
        // There is no lock for anything to be under.
        true => (0.0, shifted(turn, policy)),
        false => (policy, turn),
    };
    machine
        .try_with(Quantity::Section, exactly(section))?
        .try_with(Quantity::Turn, measured(turn))
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
    let alone = Setting {
        dequeue: Dequeue::Range,
        ..Setting::new(1, setting.lock, batch)
    };
    let outcome = simulate(&machine, &Job::new(alone, PAGES))?;
    let takes = outcome.acquisitions as f64;
    Ok((outcome.wall.as_ns() as f64 - PAGE_NS * PAGES as f64) / takes)
}

fn take(calibration: &ZeroCalibration, lock: LockKind, batch: Batch) -> Result<Interval, Refusal> {
    let (lock, batch) = (lock.name(), batch.to_string());
    let is_it = |cost: &&TakeCost| {
        cost.lock == lock && cost.batch == batch && cost.dequeue == Dequeue::Range.name()
    };
    let cost = calibration.takes.iter().find(is_it);
    cost.map(|cost| cost.take_ns)
        .ok_or_else(|| lacks(&format!("a take under {lock} with batch {batch}")))
}

/// What zeroing costs one worker, or as many as there are.
fn with_zeroing(
    machine: Machine,
    calibration: &ZeroCalibration,
    workers: usize,
    memory: &str,
) -> Result<Machine, Refusal> {
    let cpus = calibration.cpus;
    let curve = |workers: usize, elsewhere| {
        let of = calibration.zeroing.iter().filter(move |cost| {
            cost.memory == memory && cost.workers == workers && cost.elsewhere == elsewhere
        });
        Curve::through(of)
    };
    let alone = curve(1, false).ok_or_else(|| lacks(&format!("zeroing of {memory} memory")))?;
    let all = if cpus > 1 { curve(cpus, false) } else { None };
    let all = all.unwrap_or(alone);
    let elsewhere = if cpus > 1 { curve(cpus, true) } else { None };
    let elsewhere = elsewhere.unwrap_or(all);
    // The read-modify-write after each go is the lock's in a pool.
    let go = |curve: Curve| (curve.go - calibration.rmw_ns.median).max(0.0);
    if memory == "hot" {
        // Each has caches of its own; what changes with their number is how often
        // pages lie beside those of others.
        let crowd = (workers - 1) as f64 / (cpus - 1).max(1) as f64;
        let call = go(alone) + (go(all) - go(alone)) * crowd;
        return machine
            .try_with(Quantity::Call, exactly(call))?
            .try_with(Quantity::Zero, measured(mixed(alone.page, all.page, crowd)))?
            .try_with(Quantity::ZeroRemote, measured(elsewhere.page))?
            .try_with(Quantity::Bandwidth, exactly(1e6));
    }
    // All take from the same memory: so many can at full speed.
    let slowed = (both(all.page, elsewhere.page) / alone.page.median).max(1.0);
    let abreast = cpus as f64 / slowed;
    // Bytes in a nanosecond are GB in a second.
    let bandwidth = abreast * PAGE_BYTES / alone.page.median;
    machine
        .try_with(Quantity::Call, exactly(go(alone)))?
        .try_with(Quantity::Zero, measured(alone.page))?
        .try_with(Quantity::Bandwidth, exactly(bandwidth))
}

const PAGE_BYTES: f64 = 4_096.0;

fn lacks(what: &str) -> Refusal {
    Refusal::new(format!("the calibration lacks {what}; calibrate again"))
}

/// Of pages that are written here and elsewhere alike often.
fn both(here: Interval, elsewhere: Interval) -> f64 {
    (here.median + elsewhere.median) / 2.0
}

/// The median over pairs of CPUs, as far as each of them may be off.
fn middle(lines: &[LineCost], of: fn(&LineCost) -> Interval) -> Interval {
    let middle = |end: fn(Interval) -> f64| {
        let all: Vec<f64> = lines.iter().map(|line| end(of(line))).collect();
        Interval::of(&all).map_or(0.0, |interval| interval.median)
    };
    Interval {
        median: middle(|i| i.median),
        low: middle(|i| i.low),
        high: middle(|i| i.high),
    }
}

fn mixed(one: Interval, other: Interval, share: f64) -> Interval {
    let mix = |a: f64, b: f64| a + (b - a) * share;
    Interval {
        median: mix(one.median, other.median),
        low: mix(one.low, other.low),
        high: mix(one.high, other.high),
    }
}

fn scaled(interval: Interval, by: f64) -> Interval {
    Interval {
        median: interval.median * by,
        low: interval.low * by,
        high: interval.high * by,
    }
}

fn shifted(interval: Interval, by: f64) -> Interval {
    Interval {
        median: interval.median + by,
        low: interval.low + by,
        high: interval.high + by,
    }
}

fn measured(interval: Interval) -> Figure {
    Figure::measured(
        interval.low,
        interval.median,
        interval.high,
        "measured here".to_owned(),
    )
}

fn at_least(interval: Interval, least: f64) -> Interval {
    Interval {
        median: interval.median.max(least),
        low: interval.low.max(least),
        high: interval.high.max(least),
    }
}

fn exactly(value: f64) -> Figure {
    Figure::measured(
        value,
        value,
        value,
        "follows from what was measured here".to_owned(),
    )
}
