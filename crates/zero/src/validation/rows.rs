//! The experiments behind the rows. Of Windows: the machine of the page-zeroing article, others,
//! and other versions. Of papers on locks: models, collapse, and the gain of queues.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::chain::{Chain, HandOff};
use punctual_zero_sim::{
    Active, Bursts, Bursty, Contest, ContestLock, EVERY, Job, Machine, PoolResult, Quantity,
    System, predict, presets, simulate,
};

use crate::loads::load;
use crate::published::{CostItem, FIGURES, MB_BYTES};
use crate::rows::PAGE_BYTES;
use crate::simulation::closed_form;
use crate::validation::{Seen, pages, pool, system, windows, worst};

pub(super) fn cpu_seconds() -> Seen {
    let cpu = worst()?.cpu.as_secs_f64();
    Ok((format!("{cpu:.0} CPU-s"), vec![cpu]))
}

pub(super) fn gib_per_cpu_s() -> Seen {
    let worst = worst()?;
    let (gib, gb) = (worst.gib_per_cpu_s(), worst.gb_per_cpu_s());
    Ok((format!("{gib:.4} GiB ({gb:.4} GB) a CPU-s"), vec![gib, gb]))
}

pub(super) fn us_per_page() -> Seen {
    let us = worst()?.cpu_us_per_page();
    Ok((format!("{us:.1} us"), vec![us]))
}

/// Bursts of Windows 10 for what is freed in a second.
fn bursts(pages_per_s: f64) -> Result<Bursty, Refusal> {
    let (machine, setting) = system("windows-10", None)?;
    let every = EVERY;
    Bursts { pages_per_s, every }.simulate(&machine, &Job::new(setting, 0))
}

/// Bursts for what the first trace zeroed in a second.
fn trace() -> Result<Bursty, Refusal> {
    load("browser-trace")?.bursts()
}

pub(super) fn first_trace() -> Seen {
    let trace = trace()?;
    let (cpus, seconds) = (trace.cpus(), trace.cpus() * FIGURES.trace.s);
    let busy = 100.0 * trace.duty();
    let got = format!("{seconds:.1} CPU-s, {cpus:.2} CPUs, busy {busy:.0} % of the time");
    Ok((got, vec![seconds, cpus]))
}

pub(super) fn spinning() -> Seen {
    let active = load("browser-trace")?.workers;
    let split = windows("windows-10", Some(active))?.split;
    let percent = 100.0 * split.waiting;
    Ok((format!("{percent:.1} % waiting"), vec![percent]))
}

pub(super) fn unexpected_cpus() -> Seen {
    let ratio = trace()?.cpus() / 0.28;
    Ok((format!("{ratio:.1}"), vec![ratio]))
}

/// Bursts for what the article's test saw zeroed in a second.
pub(super) fn test() -> Result<Bursty, Refusal> {
    load("zeropage-test")?.bursts()
}

pub(super) fn zeropage_test() -> Seen {
    let test = test()?;
    let (cpus, busy) = (test.cpus(), 100.0 * test.duty());
    let got = format!("{cpus:.1} CPUs, busy {busy:.0} % of the time");
    Ok((got, vec![cpus]))
}

pub(super) fn system_to_test() -> Seen {
    let ratio = test()?.cpus() / 2.0;
    Ok((format!("{ratio:.1}"), vec![ratio]))
}

pub(super) fn against_serial() -> Seen {
    let rate = worst()?.gb_per_cpu_s();
    let (least, most) = (6.1 / rate, 6.7 / rate);
    Ok((format!("{least:.0} to {most:.0} times"), vec![least, most]))
}

pub(super) fn against_no_waiting() -> Seen {
    let split = windows("windows-10", None)?.split;
    let times = 1.0 / (1.0 - split.waiting);
    Ok((format!("{times:.1} times"), vec![times]))
}

pub(super) fn build() -> Seen {
    // As much as needs 24 CPUs at the CPU time of a page.
    let us = windows("windows-10", None)?.cpu_us_per_page();
    let build = bursts(24.0 / us * 1e6)?;
    let (cpus, s) = (build.cpus(), build.period.as_secs_f64());
    let gb = build.burst.bytes() / s / 1e9;
    let got = format!("{gb:.2} GB, which keep {cpus:.1} CPUs busy");
    Ok((got, vec![]))
}

pub(super) fn rule_of_thumb() -> Seen {
    // Where memory is no limit, so that nothing but the lock holds anybody up.
    let fast = "cascade-lake-96,bandwidth=1000";
    let of = |lock, batch| pool(fast, 39, lock, batch);
    let one_page = of(LockKind::Mcs, Batch::One)?;
    let hand_off = one_page.wall.as_ns() as f64 / pages() as f64;
    let zero = Machine::parse(fast)?.value(Quantity::Zero);
    let batch = Batch::Fixed((39.0 * hand_off / zero) as u64);
    let percent = |lock, batch| Ok::<_, Refusal>(100.0 * of(lock, batch)?.split.waiting);
    let waiting = percent(LockKind::Mcs, batch)?;
    let spinning = percent(LockKind::Tas, batch)?;
    let half = Batch::Fixed((39.0 * hand_off / zero / 2.0) as u64);
    let setting = Setting::new(39, LockKind::Mcs, batch);
    let chain = closed_form(&Machine::parse(fast)?, &setting).expect("MCS has a closed form");
    let (half, chain) = (
        percent(LockKind::Mcs, half)?,
        100.0 * chain.settle().waiting(),
    );
    let got = format!(
        "{waiting:.0} % with packets of {batch} pages and hand-offs of {hand_off:.0} ns, {half:.0} % with half of that; \
         {spinning:.0} % with a spin lock; {chain:.0} % by the chain"
    );
    Ok((got, vec![waiting]))
}

pub(super) fn hand_off() -> Seen {
    let worst = worst()?;
    let us = worst.wall.as_ns() as f64 / 1e3 / pages() as f64;
    let (least, most) = (us / 0.5, us / 0.2);
    let got = format!("{us:.2} us, {least:.0} to {most:.0} times the guess");
    Ok((got, vec![us]))
}

pub(super) fn windows_11() -> Seen {
    let both = windows("windows-11", None)?;
    let percent = 100.0 * both.split.waiting;
    let queued = pool("ice-lake-128", 12, LockKind::Mcs, Batch::One)?;
    let (system, busier) = (System::parse("windows-11")?, System::parse("windows-10")?);
    let machine = system.machine();
    let machine = machine.with(Quantity::Bookkeeping, busier.bookkeeping());
    let busier = simulate(&machine, &Job::new(system.setting, pages()))?;
    Ok((
        format!(
            "{percent:.1} %; with the queued lock alone {:.1} %, or {:.1} % where handing over counts as having it; \
             {:.0} % with the 2.3 us a page of Windows 10",
            100.0 * queued.split.waiting,
            100.0 * queued.waiting_without_hand_off(),
            100.0 * busier.split.waiting,
        ),
        vec![percent],
    ))
}

pub(super) fn server_2022() -> Seen {
    let outcome = windows("server-2022", None)?;
    let (percent, rate) = (100.0 * outcome.split.waiting, outcome.gb_per_cpu_s());
    let got = format!("{percent:.1} % waiting, {rate:.4} GB a CPU-s");
    Ok((got, vec![percent, rate]))
}

pub(super) fn windows_10_on_128() -> Seen {
    let us = pool("ice-lake-128", 39, LockKind::Tas, Batch::One)?.cpu_us_per_page();
    let times = us / FIGURES.test.us_per_page();
    Ok((format!("{us:.0} us a page: {times:.2} times"), vec![times]))
}

pub(super) fn xeon_phi() -> Seen {
    let machine = Machine::parse("xeon-phi-272")?;
    let of = |workers, active| {
        let setting = Setting::new(workers, LockKind::Tas, Batch::One);
        let prediction = predict(&machine, &Job::new(setting, pages()), active)?;
        let us = prediction.of(PoolResult::cpu_us_per_page);
        Ok::<_, Refusal>(format!(
            "{:.0} ({:.0} to {:.0})",
            us.median, us.low, us.high
        ))
    };
    let (all, few) = (of(272, Active::HalfToAll)?, of(39, Active::All)?);
    let got = format!("{all} us of CPU a page; with 39 workers {few}");
    Ok((got, vec![]))
}

pub(super) fn desktop() -> Seen {
    let busy = "ryzen-7950x-32,bookkeeping=2300";
    let of = |machine, workers| pool(machine, workers, LockKind::Tas, Batch::One);
    let (one, two) = (of(busy, 1)?, of(busy, 2)?);
    let [alone, both] = [&one, &two].map(|outcome| 100.0 * outcome.split.waiting);
    let times = two.cpu_us_per_page() / one.cpu_us_per_page();
    let bare = 100.0 * of("ryzen-7950x-32", 2)?.split.waiting;
    let got = format!(
        "{alone:.1} and {both:.1} % waiting, {times:.2} times the CPU; two that do nothing but zero wait {bare:.0} % of \
         the time"
    );
    Ok((got, vec![alone.max(both), times]))
}

pub(super) fn share_of_system() -> Seen {
    let percent = 100.0 * FIGURES.trace.cpu_s / FIGURES.trace.system_cpu_s;
    Ok((format!("{percent:.1} %"), vec![percent]))
}

fn us(part: CostItem) -> f64 {
    FIGURES.hidden_costs.of(part).us
}

pub(super) fn share_of_faults() -> Seen {
    let faults = 100.0 * FIGURES.trace.faults_s / FIGURES.trace.s;
    let zeroing = faults * us(CostItem::Zeroing) / us(CostItem::Faults);
    let got = format!("{faults:.2} %; {zeroing:.2} %");
    Ok((got, vec![faults, zeroing]))
}

pub(super) fn memory_bandwidth() -> Seen {
    let gb_per_s: f64 = 4_096.0 / 76.0;
    let machine = Machine::parse("cascade-lake-96")?;
    let least = machine.figure(Quantity::Bandwidth);
    let least = least.map_or(f64::NAN, |figure| figure.low);
    Ok((format!("{gb_per_s:.1} GB/s"), vec![gb_per_s, least]))
}

pub(super) fn page_in_cache() -> Seen {
    // The widest store port of any core that is sold, at a clock that few exceed.
    let (bytes_a_cycle, ghz) = (64.0, 3.2);
    let at_ten_ns = 4_096.0 / 10.0 / ghz;
    let least_ns = 4_096.0 / bytes_a_cycle / ghz;
    let zero = |machine: Machine| Some(machine.figure(Quantity::Zero)?.low);
    let simulated = presets().iter().filter_map(|preset| zero(preset.machine()));
    let simulated = simulated.fold(f64::MAX, f64::min);
    let half = 2.0 * least_ns;
    let got = format!(
        "10 ns are {at_ten_ns:.0} B a cycle; 64 B a cycle take {least_ns:.0} ns, 32 B {half:.0}; simulated cores take \
         {simulated:.0} at least"
    );
    Ok((got, vec![at_ten_ns, least_ns, simulated]))
}

pub(super) fn bytes_of_the_test() -> Seen {
    let bytes = FIGURES.test.bytes();
    let gib = bytes as f64 / 1_073_741_824.0;
    let simulated = pages() * 4_096;
    let more = 100.0 * (simulated as f64 / bytes as f64 - 1.0);
    let got = format!("{bytes} B = {gib:.3} GiB; {more:.1} % more");
    Ok((got, vec![bytes as f64 / 1e9, gib, more]))
}

pub(super) fn cost_of_fresh_memory() -> Seen {
    let parts = [CostItem::Faults, CostItem::Unmap, CostItem::Zeroing];
    let us_per_mb: f64 = parts.map(us).iter().sum();
    let us_per_page = us_per_mb * PAGE_BYTES as f64 / MB_BYTES as f64;
    let got = format!("{us_per_mb} us a MB = {us_per_page:.2} us a page");
    Ok((got, vec![us_per_mb, us_per_page]))
}

pub(super) fn takes() -> Seen {
    let guided = |share| Batch::Guided { share, floor: 1 };
    let batches = [
        Batch::Workers,
        Batch::TwiceWorkers,
        Batch::Half,
        guided(1),
        guided(2),
        Batch::Factoring,
        Batch::Trapezoid,
    ];
    let planned = batches.map(|batch| batch.planned(pages(), 39));
    Ok((
        planned.map(|takes| takes.to_string()).join(", "),
        planned.map(|takes| takes as f64).to_vec(),
    ))
}

pub(super) fn half_of_the_rest() -> Seen {
    let wall = |workers| {
        // Memory is no limit, so that nothing but the policy is.
        let fast = "cascade-lake-96,bandwidth=1000";
        Ok::<_, Refusal>(pool(fast, workers, LockKind::Mcs, Batch::Half)?.wall_gb_per_s())
    };
    let times = wall(39)? / wall(1)?;
    Ok((format!("{times:.3} times"), vec![times]))
}

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
    let got = format!("{height:.1} at {at}, {last:.1} at {CORES}");
    Ok((got, vec![height, at as f64, last]))
}

pub(super) fn chain_3_2_percent() -> Seen {
    let (height, at, last) = short_sections(0.032);
    let got = format!("{height:.1} at {at}, {last:.2} at {CORES}");
    Ok((got, vec![height, at as f64, last]))
}

pub(super) fn chain_long_sections() -> Seen {
    let at_47 = speed_up(25_600.0, 0.02, 47);
    let (at, height) = peak(|cores| speed_up(25_600.0, 0.02, cores));
    let got = format!("{at_47:.1} at 47, the peak is {height:.1} at {at}");
    Ok((got, vec![at_47, at as f64]))
}

/// A contest on a computer, in takes a second.
fn takes_per_s(
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
    let (mut got, mut fall, mut sharper) = (Vec::new(), f64::MAX, f64::MAX);
    for serial in [0.02, 0.004] {
        let (section, percent) = (400.0 / 2.4, 100.0 * serial);
        let simulated = |cores| takes_per_s(&machine, TICKET, cores, section, section / serial);
        let (at, height, left) = curve(simulated)?;
        let (chain_at, chain, chain_left) = curve(|cores| Ok(speed_up(400.0, serial, cores)))?;
        let [left, chain_left] = [left, chain_left].map(|share| 100.0 * share);
        got.push(format!(
            "{percent} %: {height:.1} at {at}, {left:.0} % are left two cores on (chain: {chain:.1} at {chain_at}, \
             {chain_left:.0} %)"
        ));
        fall = fall.min(100.0 - left);
        sharper = sharper.min(height / chain).min(chain_left / left);
    }
    Ok((got.join("; "), vec![fall, sharper]))
}

pub(super) fn mempop() -> Seen {
    let machine = Machine::parse("opteron-48")?;
    // Not published. Each operation is taken to take the lock so many times. Then the hold time
    // follows from the queued lock's 350 operations a ms. The rest is the time of one core at the
    // ticket lock's peak, 290 / 9 a ms.
    const TAKES: f64 = 4.0;
    const SECTION: f64 = 518.0;
    const AWAY: f64 = 31_000.0 / TAKES - SECTION;
    let per_ms = |lock, cores| Ok(takes_per_s(&machine, lock, cores, SECTION, AWAY)? / TAKES / 1e3);
    let (queued, ticket) = (per_ms(MCS, CORES)?, per_ms(TICKET, CORES)?);
    let (at, _, _) = curve(|cores| per_ms(TICKET, cores))?;
    let (ratio, most) = (queued / ticket, per_ms(TICKET, at)?);
    let got =
        format!("{ratio:.1} (ticket lock: {most:.0} a ms at {at} cores, {ticket:.0} at {CORES})");
    Ok((got, vec![ratio]))
}

pub(super) fn radiosity() -> Seen {
    let machine = Machine::parse("opteron-64")?;
    // Neither is published: the section gives the second ratio, the time away puts the peak at 16
    // threads.
    const SECTION: f64 = 520.0;
    const AWAY: f64 = 14_000.0;
    let of = |lock, cores| takes_per_s(&machine, lock, cores, SECTION, AWAY);
    let spinning = [8, 12, 16, 20, 24, 32]
        .into_iter()
        .map(|cores| Ok((of(TAS, cores)?, cores)))
        .collect::<Result<Vec<_>, Refusal>>()?;
    let most = spinning.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (most, at) = most.expect("there are some");
    let (all, queued) = (of(TAS, 64)?, of(MCS, 64)?);
    let (fall, gain) = (most / all, queued / all);
    let got = format!("{fall:.1} from the peak at {at} threads; {gain:.1}");
    Ok((got, vec![fall, gain]))
}

pub(super) fn sleepers() -> Seen {
    let of = |lock, turnaround| {
        let machine = Machine::parse(&format!("xeon-48,turnaround={turnaround}"))?;
        takes_per_s(&machine, lock, CORES, 100.0, 5_000.0)
    };
    let ratio = |turnaround| {
        Ok::<_, Refusal>(of(MCS, turnaround)? / of(ContestLock::ParkingMcs, turnaround)?)
    };
    let (least, deep) = (ratio("3333ns")?, ratio("20000ns")?);
    let got = format!("{least:.0}; {deep:.0} where waking takes 20 us");
    Ok((got, vec![least]))
}

pub(super) fn queued_is_flat() -> Seen {
    let one_socket = "cascade-lake-96,across=47";
    let wall = |machine, workers| {
        let outcome = pool(machine, workers, LockKind::Mcs, Batch::One)?;
        Ok::<_, Refusal>(outcome.wall_gb_per_s())
    };
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    for workers in [8, 16, 24, 39, 64, 96] {
        let wall = wall(one_socket, workers)?;
        (least, most) = (least.min(wall), most.max(wall));
    }
    let two = wall("cascade-lake-96", 39)?;
    let got = format!("{least:.1} to {most:.1} GB/s; in two sockets {two:.1} with 39");
    Ok((got, vec![100.0 * (most / least - 1.0)]))
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
        if us(middle) < FIGURES.test.us_per_page() {
            low = middle;
        } else {
            high = middle;
        }
    }
    let transfer = 2.0 * low;
    let (simulated, mean) = (
        simulated_per_waiter()?,
        Machine::parse("cascade-lake-96")?.mean_transfer_ns(39)?,
    );
    let got = format!(
        "{low:.1} ns a waiter: a transfer of {transfer:.0} ns; the simulation has {simulated:.0} ns a waiter of a mean \
         transfer of {mean:.0} ns"
    );
    Ok((got, vec![transfer]))
}

/// By how much longer the simulated lock takes for each waiter more.
fn simulated_per_waiter() -> Result<f64, Refusal> {
    let hand_off = |workers| {
        let outcome = pool("cascade-lake-96", workers, LockKind::Tas, Batch::One)?;
        Ok::<_, Refusal>(outcome.wall.as_ns() as f64 / pages() as f64)
    };
    Ok((hand_off(48)? - hand_off(30)?) / 18.0)
}
