//! A file that says anything at all is refused in one line, or is read as a Run that can be written and
//! shown. The parts of its waits sum to their lateness.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_record::{Experiment, Run, TraceFacts};
use punctual_trace::{Engine, text};

/// Reads events of our own, or a file of another tracer.
fn read(file: &str) -> Result<Engine, String> {
    if file.starts_with(text::HEAD) {
        return text::read(file);
    }
    let of = punctual_import::events(file)?;
    let mut engine = Engine::new(of.tick_ns);
    of.events.iter().for_each(|event| engine.feed(event));
    engine.close();
    Ok(engine)
}

fuzz_target!(|file: &str| match read(file) {
    Ok(engine) => {
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
    }
    Err(why) => assert!(!why.contains('\n'), "{why}"),
});
