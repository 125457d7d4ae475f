//! Papers on locks: models, collapse, and what queues are worth.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind};
use punctual_zero_sim::chain::{Chain, HandOff};
use punctual_zero_sim::{Contest, ContestLock, Machine};

use super::{PAGES, Seen, WORST_US, is_near, pool};

/// A request in the product form, in cycles.
const REQUEST: f64 = 500.0;
const CORES: usize = 48;

/// The speed-up of so many cores by the chain, times in cycles.
fn speed_up(section: f64, serial: f64, cores: usize) -> f64 {
    let away = |cores| {
        let chain = Chain {
            cores,
            away: section / serial,
            abreast: f64::INFINITY,
            section,
            hand_off: HandOff::Product { c: REQUEST },
        };
        chain.settle().away()
    };
    away(cores) / away(1)
}

/// Where a curve over the number of cores is highest, and how high.
fn peak(curve: impl Fn(usize) -> f64) -> (usize, f64) {
    let all = (1..=CORES).map(|cores| (cores, curve(cores)));
    all.max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("there are cores")
}

/// The highest speed-up of short sections by the chain, where it is, and that of all cores.
fn short_sections(serial: f64) -> (f64, usize, f64) {
    let curve = |cores| speed_up(400.0, serial, cores);
    let (at, height) = peak(curve);
    (height, at, curve(CORES))
}

pub(super) fn chain_0_4_percent() -> Seen {
    let (height, at, last) = short_sections(0.004);
    Ok((
        format!("{height:.1} at {at}, {last:.1} at {CORES}"),
        is_near(height, 25.0, 8.0) && at.abs_diff(27) <= 2 && is_near(last, 4.8, 8.0),
    ))
}

pub(super) fn chain_3_2_percent() -> Seen {
    let (height, at, last) = short_sections(0.032);
    Ok((
        format!("{height:.1} at {at}, {last:.2} at {CORES}"),
        is_near(height, 5.3, 15.0) && (6..=8).contains(&at) && is_near(last, 0.65, 15.0),
    ))
}

pub(super) fn chain_long_sections() -> Seen {
    let at_47 = speed_up(25_600.0, 0.02, 47);
    let (at, height) = peak(|cores| speed_up(25_600.0, 0.02, cores));
    Ok((
        format!("{at_47:.1} at 47, the peak is {height:.1} at {at}"),
        at_47 >= 40.0 * 0.95 && at >= 46,
    ))
}

/// A contest on a computer, in takes a second.
fn takes(
    machine: &Machine,
    lock: ContestLock,
    workers: usize,
    section: f64,
    away: f64,
) -> Result<f64, Refusal> {
    let contest = Contest {
        workers,
        lock,
        section: Nanos::new(section as u64),
        away: Nanos::new(away as u64),
        length: Nanos::from_ms(3),
        seed: 1,
    };
    contest.takes_per_s(machine)
}

const TICKET: ContestLock = ContestLock::Of(LockKind::Ticket);
const MCS: ContestLock = ContestLock::Of(LockKind::Mcs);
const TAS: ContestLock = ContestLock::Of(LockKind::Tas);

/// The numbers of workers, from 1 on, with what they take; where most; what is left
/// two workers on, at worst.
fn curve(takes: impl Fn(usize) -> Result<f64, Refusal>) -> Result<(usize, f64, f64), Refusal> {
    let all = (1..=CORES).map(takes).collect::<Result<Vec<_>, _>>()?;
    let (at, height) = peak(|cores| all[cores - 1] / all[0]);
    let falls = all.windows(3).map(|three| three[2] / three[0]);
    Ok((at, height, falls.fold(1.0, f64::min)))
}

pub(super) fn sharper_than_the_chain() -> Seen {
    let machine = Machine::parse("opteron-48")?;
    let mut got = Vec::new();
    let mut holds = true;
    for serial in [0.02, 0.004] {
        let section = 400.0 / 2.4;
        let simulated = curve(|cores| takes(&machine, TICKET, cores, section, section / serial))?;
        let chain = curve(|cores| Ok(speed_up(400.0, serial, cores)))?;
        let left = [simulated.2, chain.2].map(|share| 100.0 * share);
        got.push(format!(
            "{} %: {:.1} at {}, {:.0} % are left two cores on (chain: {:.1} at {}, {:.0} %)",
            100.0 * serial,
            simulated.1,
            simulated.0,
            left[0],
            chain.1,
            chain.0,
            left[1],
        ));
        holds &= simulated.1 > chain.1 && left[0] <= 60.0 && left[0] < left[1];
    }
    Ok((got.join("; "), holds))
}

pub(super) fn mempop() -> Seen {
    let machine = Machine::parse("opteron-48")?;
    // What is not published: with so many takes of the lock for each operation, the
    // lock is held for as long as makes the queued lock's 350 operations a ms, and
    // the rest is what one core takes at the ticket lock's peak, 290 / 9 a ms.
    const TAKES: f64 = 4.0;
    const SECTION: f64 = 518.0;
    const AWAY: f64 = 31_000.0 / TAKES - SECTION;
    let per_ms = |lock, cores| Ok(takes(&machine, lock, cores, SECTION, AWAY)? / TAKES / 1e3);
    let (queued, ticket) = (per_ms(MCS, CORES)?, per_ms(TICKET, CORES)?);
    let (at, _, _) = curve(|cores| per_ms(TICKET, cores))?;
    let (ratio, most) = (queued / ticket, per_ms(TICKET, at)?);
    Ok((
        format!("{ratio:.1} (ticket lock: {most:.0} a ms at {at} cores, {ticket:.0} at {CORES})"),
        is_near(ratio, 17.0, 25.0),
    ))
}

pub(super) fn radiosity() -> Seen {
    let machine = Machine::parse("opteron-64")?;
    // Nobody published either: the section makes the second ratio, the time away puts
    // the peak at 16 threads.
    const SECTION: f64 = 520.0;
    const AWAY: f64 = 14_000.0;
    let of = |lock, cores| takes(&machine, lock, cores, SECTION, AWAY);
    let spinning = [8, 12, 16, 20, 24, 32]
        .into_iter()
        .map(|cores| Ok((of(TAS, cores)?, cores)))
        .collect::<Result<Vec<_>, Refusal>>()?;
    let most = spinning.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (most, at) = most.expect("there are some");
    let (all, queued) = (of(TAS, 64)?, of(MCS, 64)?);
    let (fall, gain) = (most / all, queued / all);
    Ok((
        format!("{fall:.1} from the peak at {at} threads; {gain:.1}"),
        is_near(fall, 10.0, 30.0) && is_near(gain, 19.0, 30.0),
    ))
}

pub(super) fn sleepers() -> Seen {
    let of = |lock, turnaround| {
        let machine = Machine::parse(&format!("xeon-48,turnaround={turnaround}"))?;
        takes(&machine, lock, CORES, 100.0, 5_000.0)
    };
    let ratio = |turnaround| {
        Ok::<_, Refusal>(of(MCS, turnaround)? / of(ContestLock::ParkingMcs, turnaround)?)
    };
    let (least, deep) = (ratio("3333ns")?, ratio("20000ns")?);
    Ok((
        format!("{least:.0}; {deep:.0} where waking takes 20 us"),
        (6.3..=630.0).contains(&least),
    ))
}

pub(super) fn queued_is_flat() -> Seen {
    let one_socket = "cascade-lake-96,across=47";
    let walls = [8, 16, 24, 39, 64, 96].map(|workers| {
        let outcome = pool(one_socket, workers, LockKind::Mcs, Batch::One)?;
        Ok::<_, Refusal>(outcome.wall_gb_per_s())
    });
    let walls = walls.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (least, most) = walls
        .iter()
        .fold((f64::MAX, 0.0_f64), |(least, most), wall| {
            (least.min(*wall), most.max(*wall))
        });
    let two_sockets = pool("cascade-lake-96", 39, LockKind::Mcs, Batch::One)?;
    Ok((
        format!(
            "{least:.1} to {most:.1} GB/s; in two sockets {:.1} with 39",
            two_sockets.wall_gb_per_s()
        ),
        most / least <= 1.1,
    ))
}

pub(super) fn transfer_of_the_worst_case() -> Seen {
    // CPU time of a page in microseconds, by what each waiter adds.
    let us = |c: f64| {
        let chain = Chain {
            cores: 39,
            away: 300.0,
            abreast: f64::INFINITY,
            section: 100.0,
            hand_off: HandOff::PerWaiter { c },
        };
        39.0 / chain.settle().rate / 1e3
    };
    // It grows with `c`.
    let (mut low, mut high) = (0.0, 1_000.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if us(middle) < WORST_US {
            low = middle;
        } else {
            high = middle;
        }
    }
    let machine = Machine::parse("cascade-lake-96")?;
    Ok((
        format!(
            "{low:.1} ns a waiter: a transfer of {:.0} ns; the simulation has {:.0} ns a waiter of a mean transfer of \
             {:.0} ns",
            2.0 * low,
            simulated_per_waiter()?,
            machine.mean_transfer_ns(39)?
        ),
        (100.0..=160.0).contains(&(2.0 * low)),
    ))
}

/// By how much longer the simulated lock takes for each waiter more.
fn simulated_per_waiter() -> Result<f64, Refusal> {
    let hand_off = |workers| {
        let outcome = pool("cascade-lake-96", workers, LockKind::Tas, Batch::One)?;
        Ok::<_, Refusal>(outcome.wall.as_ns() as f64 / PAGES as f64)
    };
    Ok((hand_off(48)? - hand_off(30)?) / 18.0)
}
