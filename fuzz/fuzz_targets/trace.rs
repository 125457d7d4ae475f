//! A file of events that says anything at all is refused in one line, or is read as waits. The parts of their lateness sum
//! to it.

#![no_main]

mod engine;

use libfuzzer_sys::fuzz_target;
use punctual_trace::{Engine, text};

fuzz_target!(|file: &str| {
    // Without this line nothing else is read.
    let file = match file.starts_with(text::HEAD) {
        true => file.to_owned(),
        false => text::head(Some(4_000_000)) + file,
    };
    let new = |tick_ns| Engine::new(tick_ns).recording();
    match text::read_with(&file, new, Engine::feed) {
        Ok(of) => engine::check(&of),
        Err(why) => assert!(!why.contains('\n'), "{why}"),
    }
});
