//! Any two Runs, and what holds of them side by side. The tests of page zeroing use this file too.

use proptest::prelude::*;
use punctual_record::compare::Comparison;
use punctual_record::{Run, RunRow, Value};

/// Numbers at which arithmetic breaks, and some at which it should not.
pub(crate) fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(f64::MIN_POSITIVE),
        -1e9..1e9_f64,
    ]
}

pub(crate) fn run<R: RunRow>(row: impl Strategy<Value = R>) -> impl Strategy<Value = Run<R>> {
    prop::collection::vec(row, 0..12).prop_map(Run::of)
}

pub(crate) fn check<R: RunRow>(a: &Run<R>, b: &Run<R>) -> Result<(), TestCaseError> {
    let compared = Comparison::of(&[("a", a), ("b", b)]);
    for row in &compared.rows {
        prop_assert_eq!(row.cells.len(), compared.columns.len());
        for cell in row.cells.iter().flatten() {
            for (metric, estimate) in &cell.known {
                prop_assert!(estimate.value.is_finite(), "{:?}", metric);
                if let Some(bounds) = estimate.interval {
                    prop_assert!(bounds.low <= estimate.value);
                    prop_assert!(bounds.high >= estimate.value);
                }
                let ratio = estimate.over_first.and_then(|ratio| ratio.value);
                prop_assert!(ratio.is_none_or(f64::is_finite));
            }
        }
    }
    let text = compared.to_json();
    prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
    Ok(())
}
