//! A file that says anything at all is refused in one line, or read as a Run that can be written and shown; a file of a
//! tracer also as events, of which waits are made.
//!
//! With `PUNCTUAL_FUZZ_FORMAT=strace.txt`, a file of `crates/import/tests/files`, each input is of that format.

#![no_main]

mod engine;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use punctual_import::{Hints, events, read, text};
use punctual_record::Run;
use punctual_trace::Engine;

macro_rules! file {
    ($name:literal, $lines:literal) => {
        (
            $name,
            include_str!(concat!("../../crates/import/tests/files/", $name)),
            $lines,
        )
    };
}

/// A file of each format, and by how many lines it is recognised.
const FILES: [(&str, &str, usize); 11] = [
    file!("cyclictest-histogram.txt", 1),
    file!("cyclictest-summary.txt", 1),
    file!("cyclictest-verbose.txt", 2),
    file!("cyclictest.json", 1),
    file!("mangohud.csv", 3),
    file!("presentmon.csv", 1),
    file!("strace.txt", 1),
    file!("perf-switches.txt", 1),
    file!("perf-tracepoints.txt", 1),
    file!("hdr-histogram.hlog", 1),
    file!("plain.csv", 1),
];

/// The lines that all inputs begin with.
static HEAD: LazyLock<String> = LazyLock::new(|| {
    let Ok(format) = std::env::var("PUNCTUAL_FUZZ_FORMAT") else {
        return String::new();
    };
    let (_, file, lines) = FILES
        .iter()
        .find(|(name, ..)| *name == format)
        .unwrap_or_else(|| {
            panic!("PUNCTUAL_FUZZ_FORMAT={format} is no file of crates/import/tests/files")
        });
    file.split_inclusive('\n').take(*lines).collect()
});

fuzz_target!(|file: &[u8]| {
    let behind = file.strip_prefix(HEAD.as_bytes()).unwrap_or(file);
    let file = [HEAD.as_bytes(), behind].concat();
    match read(&file, &Hints::default()) {
        Ok(run) => {
            let again: Run = Run::from_json(&run.to_json()).expect("a Run reads back");
            let _ = punctual_report::text(&again);
        }
        Err(why) => assert!(!why.contains('\n'), "{why}"),
    }
    match events(&text(&file)) {
        Ok(of) => {
            let mut engine = Engine::new(of.tick_ns);
            of.events.iter().for_each(|event| engine.feed(event));
            engine.close();
            engine::check(&engine);
        }
        Err(why) => assert!(!why.contains('\n'), "{why}"),
    }
});
