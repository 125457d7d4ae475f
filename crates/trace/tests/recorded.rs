//! Events that `punctual trace --events` wrote on a virtual machine with two CPUs and Linux 6.18.
//! A Python program slept for 5 ms again and again, or received from a socket with a timeout of 10 ms.
//! Each file has 30 waits or a few more, and of other threads only what happened on their CPU.

use std::fs;

use punctual_record::experiment::Experiment;
use punctual_record::{LateCause, Measurement, TraceFacts, Traced};
use punctual_trace::text;

/// The waits of a recording, most first.
fn recorded(name: &str) -> (Vec<Measurement>, TraceFacts) {
    let file = format!("{}/tests/recorded/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let engine = text::read(&fs::read_to_string(file).unwrap()).unwrap();
    let mut rows = engine.rows();
    rows.sort_by_key(|row| std::cmp::Reverse(row.late_ns.n));
    let facts = TraceFacts {
        elapsed_ns: engine.elapsed_ns(),
        tick_ns: engine.tick_ns(),
        throttled_ns: engine.throttled_ns(),
        ..TraceFacts::default()
    };
    (rows, facts)
}

fn traced(row: &Measurement) -> &Traced {
    match &row.experiment {
        Experiment::Trace(of) => of,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_cause_is_named_and_none_where_there_is_none() {
    for (name, cause) in [
        ("usual", None),
        ("slack", Some(LateCause::Slack)),
        ("busy", Some(LateCause::Busy)),
        ("real-time", Some(LateCause::RealTime)),
        ("stop", Some(LateCause::Stopped)),
        ("wheel", Some(LateCause::Wheel)),
    ] {
        let (rows, facts) = recorded(name);
        let of = traced(&rows[0]);
        assert!((29..=40).contains(&of.all.n), "{name}: {of:?}");
        assert_eq!(of.find_cause(&facts), cause, "{name}: {of:?}");
        for row in &rows {
            let late = row.late_ns.mean * row.late_ns.n as f64;
            let parts = traced(row).all.parts_ns.sum() as f64;
            assert!((late - parts).abs() < 1.0, "{name}: {row:?}");
        }
    }
}

#[test]
fn the_slack_in_force_is_that_of_the_thread() {
    assert_eq!(traced(&recorded("usual").0[0]).slack_ns, Some(50_000));
    assert_eq!(traced(&recorded("slack").0[0]).slack_ns, Some(2_000_000));
}

/// Python turns each length into an instant, counted from the present.
#[test]
fn sleeps_of_python_add_up() {
    assert!(traced(&recorded("usual").0[0]).lateness_adds_up);
    assert!(!traced(&recorded("wheel").0[0]).lateness_adds_up);
}

#[test]
fn a_recording_that_is_cut_off_anywhere_is_read_or_refused_by_its_line() {
    let file = format!("{}/tests/recorded/stop.txt", env!("CARGO_MANIFEST_DIR"));
    let whole = fs::read_to_string(file).unwrap();
    for end in (0..whole.len()).step_by(97) {
        match text::read(&whole[..end]) {
            Ok(engine) => assert!(engine.rows().len() < 4),
            Err(why) => assert!(why.contains("line") || why.contains("begin"), "{why}"),
        }
    }
}
