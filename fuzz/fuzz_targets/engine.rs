//! The waits of an engine, whatever events it took.

use punctual_lab::scenario::Scenario;
use punctual_record::{Experiment, Run, TraceFacts};
use punctual_trace::{Engine, Head};

/// The parts of each lateness sum to it. The Run can be written, read and shown; the scenario is read or refused.
pub fn check(engine: &Engine) {
    let mut run: Run = Run::of(engine.rows());
    for row in &run.results {
        let Experiment::Trace(of) = &row.experiment else {
            panic!("a trace has waits only");
        };
        assert_eq!(of.late_total_ns, of.all.parts_ns.sum());
    }
    run.beside.traced = Some(TraceFacts {
        elapsed_ns: engine.elapsed_ns(),
        wake_ups: engine.wake_ups(),
        ..TraceFacts::default()
    });
    let again: Run = Run::from_json(&run.to_json()).expect("a Run reads back");
    let _ = punctual_report::text(&again);
    let _ = punctual_report::verdict(&again);
    let head = Head {
        source: "fuzzed",
        on: "linux",
    };
    let replay = engine
        .replay(head)
        .filter(|replay| !replay.threads.is_empty());
    if let Some(replay) = replay {
        // Times of weeks, of a hostile file, are refused.
        let _ = Scenario::read("recorded", &replay.text);
    }
}
