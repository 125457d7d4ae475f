//! Whatever Run files of page zeroing hold, they can be compared.

use proptest::prelude::*;
use punctual_record::compare::Comparison;
use punctual_record::{Run, Value};
use punctual_zero::rows::{ZeroRow, Zeroing, ZeroingRound};

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

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        number().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
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
        params in prop::collection::btree_map("bytes|threads|memory|on", value(), 0..4),
        zeroing in prop::option::of(zeroing()),
    ) -> ZeroRow {
        let mut row = ZeroRow {
            experiment: "zero-pool".to_owned(),
            subject,
            params,
            ..ZeroRow::default()
        };
        if let Some(zeroing) = zeroing {
            zeroing.put(&mut row);
        }
        row
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
