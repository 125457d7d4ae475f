//! What follows from published numbers without a simulation.

use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind};
use punctual_zero_sim::{Machine, PRESETS, Quantity};

use super::{Kind, Outcome, Row, Verdict};
use super::{PAGES, is_near, pool};
use crate::article::published;
use crate::published::allocation::{CostItem, HiddenCost, MB_BYTES, ZEROPAGE_TEST};
use crate::rows::PAGE_BYTES;

/// Z06, Z08, Z20-Z22, Z25, Z55 and Z56.
pub(super) fn rows() -> Vec<Row> {
    let row = |id, source, input, expected, tolerance, run| Row {
        id,
        kind: Kind::Arithmetic,
        source,
        input,
        expected,
        tolerance,
        run,
        same_as: None,
    };
    vec![
        row(
            "Z06",
            "ZERO",
            "60.287 CPU-s of zeroing, of 92.445 of System",
            "65.2 %",
            "exact",
            share_of_system,
        ),
        row(
            "Z08",
            "ZERO; 2014",
            "2.422 s of faults in 15.1 s; times 150 / 175",
            "16.0 %; 13.7 %",
            "0.1 point",
            share_of_faults,
        ),
        row(
            "Z20",
            "ZERO",
            "4,096 B in 76 ns: the least bandwidth of the simulated 96 CPUs",
            "53.9 GB/s",
            "exact",
            memory_bandwidth,
        ),
        row(
            "Z21",
            "ZERO",
            "\"perhaps tens of ns\" a page in cache: 10 ns",
            "impossible: more than 64 B a cycle; 20 to 40 ns at best",
            "none",
            page_in_cache,
        ),
        row(
            "Z22",
            "ZERO",
            "2 x 800,000 x 4,096 B",
            "6.5536 GB = 6.104 GiB; the 6.13 GiB are 0.4 % more",
            "exact",
            bytes_of_the_test,
        ),
        row(
            "Z25",
            "2014",
            "175 + 75 + 150 us a MB, besides 7.5 us of new and delete themselves",
            "400 us a MB = 1.56 us a page",
            "10 %",
            cost_of_fresh_memory,
        ),
        row(
            "Z55",
            "POLICIES",
            "takes of 6.13 GiB by 39 workers: n, 2n, half, guided by N and by 2N, factoring, trapezoid",
            "41204, 20602, 22, 432, 815, 611, 156",
            "exact",
            takes,
        ),
        row(
            "Z56",
            "POLICIES",
            "half of the rest, 39 workers against one",
            "at most twice as fast",
            "exact",
            half_of_the_rest,
        ),
    ]
}

fn share_of_system() -> Result<Outcome, Refusal> {
    let percent = 100.0 * published::TRACE_CPU_S / published::TRACE_SYSTEM_CPU_S;
    Ok(Outcome {
        got: format!("{percent:.1} %"),
        verdict: Verdict::of(format!("{percent:.1}") == "65.2"),
        note: "",
    })
}

/// Microseconds for a MB, in 2014.
fn us(part: CostItem) -> f64 {
    HiddenCost::of(part).us
}

fn share_of_faults() -> Result<Outcome, Refusal> {
    let faults = 100.0 * published::TRACE_FAULTS_S / published::TRACE_S;
    let zeroing = faults * us(CostItem::Zeroing) / us(CostItem::Faults);
    Ok(Outcome {
        got: format!("{faults:.2} %; {zeroing:.2} %"),
        verdict: Verdict::of((faults - 16.0).abs() <= 0.1 && (zeroing - 13.7).abs() <= 0.1),
        note: "",
    })
}

fn memory_bandwidth() -> Result<Outcome, Refusal> {
    let gb_per_s: f64 = 4_096.0 / 76.0;
    let machine = Machine::parse("cascade-lake-96")?;
    let least = machine.figure(Quantity::Bandwidth).map(|figure| figure.low);
    Ok(Outcome {
        got: format!("{gb_per_s:.1} GB/s"),
        verdict: Verdict::of(least == Some((gb_per_s * 10.0).round() / 10.0)),
        note: "of all cores together",
    })
}

fn page_in_cache() -> Result<Outcome, Refusal> {
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
    Ok(Outcome {
        got: format!(
            "10 ns are {at_ten_ns:.0} B a cycle; 64 B a cycle take {least_ns:.0} ns, 32 B {:.0}; simulated cores take \
             {simulated:.0} at least",
            2.0 * least_ns
        ),
        verdict: Verdict::of(
            at_ten_ns > bytes_a_cycle && (19.0..=21.0).contains(&least_ns) && simulated >= least_ns,
        ),
        note: "at 3.2 GHz",
    })
}

fn bytes_of_the_test() -> Result<Outcome, Refusal> {
    let bytes = ZEROPAGE_TEST.bytes();
    let gib = bytes as f64 / 1_073_741_824.0;
    let simulated = PAGES * 4_096;
    let more = 100.0 * (simulated as f64 / bytes as f64 - 1.0);
    Ok(Outcome {
        got: format!("{} B = {gib:.3} GiB; {more:.1} % more", bytes),
        verdict: Verdict::of(
            bytes == 6_553_600_000
                && format!("{gib:.3}") == "6.104"
                && format!("{more:.1}") == "0.4",
        ),
        note: "",
    })
}

fn cost_of_fresh_memory() -> Result<Outcome, Refusal> {
    let parts = [CostItem::Faults, CostItem::Unmap, CostItem::Zeroing];
    let us_per_mb: f64 = parts.map(us).iter().sum();
    let us_per_page = us_per_mb * PAGE_BYTES as f64 / MB_BYTES as f64;
    Ok(Outcome {
        got: format!("{us_per_mb} us a MB = {us_per_page:.2} us a page"),
        verdict: Verdict::of(is_near(us_per_page, 1.56, 10.0)),
        note: "the sum alone; what it is here, `punctual zero probe` measures",
    })
}

fn takes() -> Result<Outcome, Refusal> {
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
    Ok(Outcome {
        got: planned.map(|takes| takes.to_string()).join(", "),
        verdict: Verdict::of(planned == [41_204, 20_602, 22, 432, 815, 611, 156]),
        note: "",
    })
}

fn half_of_the_rest() -> Result<Outcome, Refusal> {
    let wall = |workers| {
        // Memory is no limit, so that nothing but the policy is.
        let fast = "cascade-lake-96,bandwidth=1000";
        Ok::<_, Refusal>(pool(fast, workers, LockKind::Mcs, Batch::Half)?.wall_gb_per_s())
    };
    let times = wall(39)? / wall(1)?;
    Ok(Outcome {
        got: format!("{times:.3} times"),
        verdict: Verdict::of((1.9..=2.001).contains(&times)),
        note: "simulated: the first to come has half of all pages; one worker also takes 22 times",
    })
}
