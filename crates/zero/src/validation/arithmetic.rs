//! What follows from published numbers without a simulation.

use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind};
use punctual_zero_sim::{Machine, PRESETS, Quantity};

use super::{PAGES, Seen, is_near, pool};
use crate::article::published;
use crate::published::allocation::{CostItem, HiddenCost, MB_BYTES, ZEROPAGE_TEST};
use crate::rows::PAGE_BYTES;

pub(super) fn share_of_system() -> Seen {
    let percent = 100.0 * published::TRACE_CPU_S / published::TRACE_SYSTEM_CPU_S;
    Ok((format!("{percent:.1} %"), format!("{percent:.1}") == "65.2"))
}

/// Microseconds for a MB, in 2014.
fn us(part: CostItem) -> f64 {
    HiddenCost::of(part).us
}

pub(super) fn share_of_faults() -> Seen {
    let faults = 100.0 * published::TRACE_FAULTS_S / published::TRACE_S;
    let zeroing = faults * us(CostItem::Zeroing) / us(CostItem::Faults);
    Ok((
        format!("{faults:.2} %; {zeroing:.2} %"),
        (faults - 16.0).abs() <= 0.1 && (zeroing - 13.7).abs() <= 0.1,
    ))
}

pub(super) fn memory_bandwidth() -> Seen {
    let gb_per_s: f64 = 4_096.0 / 76.0;
    let machine = Machine::parse("cascade-lake-96")?;
    let least = machine.figure(Quantity::Bandwidth).map(|figure| figure.low);
    Ok((
        format!("{gb_per_s:.1} GB/s"),
        least == Some((gb_per_s * 10.0).round() / 10.0),
    ))
}

pub(super) fn page_in_cache() -> Seen {
    // The widest store port of any core that is sold, at a clock that few exceed.
    let (bytes_a_cycle, ghz) = (64.0, 3.2);
    let at_ten_ns = 4_096.0 / 10.0 / ghz;
    let least_ns = 4_096.0 / bytes_a_cycle / ghz;
    let simulated = PRESETS.iter().map(|preset| {
        let machine = preset.machine();
        machine
            .figure(Quantity::Zero)
            .map_or(0.0, |figure| figure.low)
    });
    let simulated = simulated.fold(f64::MAX, f64::min);
    Ok((
        format!(
            "10 ns are {at_ten_ns:.0} B a cycle; 64 B a cycle take {least_ns:.0} ns, 32 B {:.0}; simulated cores take \
             {simulated:.0} at least",
            2.0 * least_ns
        ),
        at_ten_ns > bytes_a_cycle && (19.0..=21.0).contains(&least_ns) && simulated >= least_ns,
    ))
}

pub(super) fn bytes_of_the_test() -> Seen {
    let bytes = ZEROPAGE_TEST.bytes();
    let gib = bytes as f64 / 1_073_741_824.0;
    let simulated = PAGES * 4_096;
    let more = 100.0 * (simulated as f64 / bytes as f64 - 1.0);
    Ok((
        format!("{} B = {gib:.3} GiB; {more:.1} % more", bytes),
        bytes == 6_553_600_000 && format!("{gib:.3}") == "6.104" && format!("{more:.1}") == "0.4",
    ))
}

pub(super) fn cost_of_fresh_memory() -> Seen {
    let parts = [CostItem::Faults, CostItem::Unmap, CostItem::Zeroing];
    let us_per_mb: f64 = parts.map(us).iter().sum();
    let us_per_page = us_per_mb * PAGE_BYTES as f64 / MB_BYTES as f64;
    Ok((
        format!("{us_per_mb} us a MB = {us_per_page:.2} us a page"),
        is_near(us_per_page, 1.56, 10.0),
    ))
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
    let planned = batches.map(|batch| batch.planned(PAGES, 39));
    Ok((
        planned.map(|takes| takes.to_string()).join(", "),
        planned == [41_204, 20_602, 22, 432, 815, 611, 156],
    ))
}

pub(super) fn half_of_the_rest() -> Seen {
    let wall = |workers| {
        // Memory is no limit, so that nothing but the policy is.
        let fast = "cascade-lake-96,bandwidth=1000";
        Ok::<_, Refusal>(pool(fast, workers, LockKind::Mcs, Batch::Half)?.wall_gb_per_s())
    };
    let times = wall(39)? / wall(1)?;
    Ok((format!("{times:.3} times"), (1.9..=2.001).contains(&times)))
}
