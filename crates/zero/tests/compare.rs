//! Whatever Run files of page zeroing hold, they can be compared.

use proptest::prelude::*;
use punctual_record::compare::Comparison;
use punctual_record::{Run, Value};
use punctual_zero::rows::{PoolOf, ZeroRow, ZeroedPages, Zeroing, ZeroingRound};

/// Numbers at which arithmetic breaks, and some at which it should not.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(f64::MIN_POSITIVE),
        -1e9..1e9_f64,
    ]
}

fn zeroing() -> impl Strategy<Value = Zeroing> {
    let round = (number(), number()).prop_map(|(wall_gb_per_s, gb_per_cpu_s)| ZeroingRound {
        wall_gb_per_s,
        gb_per_cpu_s,
    });
    prop::collection::vec(round, 0..9).prop_map(|rounds| Zeroing {
        rounds,
        ..Zeroing::default()
    })
}

prop_compose! {
    fn pool()(
        subject in "mcs|tas",
        on in prop::option::of("[a-z]{0,3}"),
        (memory, bytes, threads) in ("hot|cold", 0..3_u64, 0..3_u64),
        arrive_gb_per_s in prop::option::of(number()),
        zero in zeroing(),
    ) -> ZeroRow {
        let pool = PoolOf { on, memory, bytes, threads, arrive_gb_per_s, ..PoolOf::default() };
        ZeroRow::pool(subject, ZeroedPages { pool, zero, ..ZeroedPages::default() })
    }
}

fn run() -> impl Strategy<Value = Run<ZeroRow>> {
    prop::collection::vec(pool(), 0..12).prop_map(|results| Run {
        results,
        ..Run::default()
    })
}

proptest! {
    #[test]
    fn any_two_runs(a in run(), b in run()) {
        let compared = Comparison::of(&[("a", &a), ("b", &b)]);
        for row in &compared.rows {
            prop_assert_eq!(row.cells.len(), compared.columns.len());
            let cells = row.cells.iter().flatten();
            for estimate in cells.flat_map(|cell| cell.known.values()) {
                prop_assert!(estimate.value.is_finite());
                let holds = estimate.interval.is_none_or(|bounds| {
                    bounds.low <= estimate.value && bounds.high >= estimate.value
                });
                let ratio = estimate.over_first.and_then(|ratio| ratio.value);
                prop_assert!(holds && ratio.is_none_or(f64::is_finite));
            }
        }
        let text = compared.to_json();
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
    }
}
