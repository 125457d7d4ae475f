//! Columns of numbers.

use punctual_import::{Hints, Unit};
use punctual_record::LoggedKind;

use super::{log, refusal, run, with};

#[test]
fn plain_columns_have_a_unit() {
    let pairs = run("# mine\nasked_us,slept (us)\n1000,1058.5\n1000,1100\n");
    assert_eq!(pairs.results[0].samples_late_ns, [58_500, 100_000]);
    assert_eq!(pairs.results[0].samples_slept_ns, [1_058_500, 1_100_000]);
    let timed = run("asked_us,got_us,ended_us\n1000,1058,5000\n1000,1100,6200\n");
    assert_eq!(timed.results[0].samples_woke_ns, [0, 1_200_000]);
    let noted = run("// made by a tool\n  # mine\nlate_us\n1\n // later\n2\n");
    assert_eq!(noted.results[0].samples_late_ns, [1_000, 2_000]);
    let late = run("Lateness [ms];note\n-0.5;x\n2;y\n");
    assert_eq!(late.results[0].samples_late_ns, [-500_000, 2_000_000]);
    assert_eq!(late.results[0].late_ns.early, 1);
    let frames = run("frame\tframe_time_ms\n1\t16.6\n2\t17\n");
    assert_eq!(frames.results[0].samples_slept_ns, [16_600_000, 17_000_000]);
    assert_eq!(log(&frames.results[0]).of, LoggedKind::Frames);
    assert!(refusal("asked,got\n1,2\n").contains("have no unit"));
    let hints = |columns: &str, unit| Hints {
        columns: Some(columns.to_owned()),
        unit,
        period_ns: None,
    };
    let named = with("1,2\n3,5\n", &hints("asked_ms,got_ms", None));
    assert_eq!(named.results[0].samples_late_ns, [1_000_000, 2_000_000]);
    let named = with("asked,got\n1,2\n", &hints("asked,got", Some(Unit::S)));
    assert_eq!(named.results[0].samples_late_ns, [1_000_000_000]);
    assert!(refusal("1,2\n3,4\n").contains("--columns asked_us,got_us"));
    for (text, why) in [
        ("late_us\nNaN\n", "line 2: `NaN` is not a number"),
        (
            "asked_us,got_us\n1,-5\n",
            "line 2: `-5` is a negative length",
        ),
        ("late_s\n1e300\n", "line 2: `1e300` s is more than 11 days"),
        ("late_us\n\n", "has no waits and no frames"),
        ("asked_us,other\n1,1\n", "not enough"),
    ] {
        assert!(refusal(text).contains(why), "{text}: {}", refusal(text));
    }
}
