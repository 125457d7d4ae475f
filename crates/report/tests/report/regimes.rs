//! `bench regimes`, of a run that never happened.

use punctual_record::experiment::{RegimeBatch, Regimes};
use punctual_record::regimes::QUIET;
use punctual_record::{Cost, Cpu, Experiment, Late, Measurement, Round, Run};
use punctual_report::text;

/// Six rounds in which each wait took so much CPU time, and was so late.
fn took(
    subject: &str,
    place: (&str, &str),
    weight: Option<f64>,
    cpu: u64,
    late: i64,
) -> Measurement {
    let rounds: Vec<Round> = (0..6)
        .map(|i| Round::of(&[late], None, Some(cpu + cpu / 50 * i)))
        .collect();
    let loaded = place.1 != QUIET;
    let batch = |i: u32| RegimeBatch {
        late_ns_p50: late,
        reported_late_ns_p50: weight.map(|_| late - 100),
        trapped_s: loaded.then_some(i / 5 * 3),
        back_after_waits: (loaded && i > 0).then_some(7),
        load_ended: loaded,
    };
    let of = Regimes {
        regime: place.0.to_owned(),
        condition: place.1.to_owned(),
    };
    Measurement {
        late_ns: Late {
            n: 6_000,
            p50: Some(late),
            mean_capped: late as f64,
            ..Late::default()
        },
        cpu: Cpu {
            per_wait_ns: Some(cpu as f64 * 1.05),
            ..Cpu::default()
        },
        late_weight: weight,
        cost_capped_interval_ns: Cost::default().of(&rounds),
        rounds,
        batches: (0..6).map(batch).collect(),
        ..Measurement::of(Experiment::Regimes(of), subject)
    }
}

#[test]
fn lost_cells_come_first() {
    let ten = Some(10.0);
    let mut results = Vec::new();
    for (place, mine, lines, other) in [
        (("60Hz", QUIET), 60_000, 75_000, 190_000),
        (("1000Hz", QUIET), 70_000, 55_000, 80_000),
        (("1000Hz", "load1"), 50_000, 50_000, 30_000),
    ] {
        results.push(took("adaptive-balanced", place, ten, mine, 600));
        results.push(took("quantile:weight=10", place, ten, lines, 500));
        results.push(took("spin_sleep", place, None, other, 400));
    }
    let run = Run::of(results);
    insta::assert_snapshot!("regimes", text(&run));
}
