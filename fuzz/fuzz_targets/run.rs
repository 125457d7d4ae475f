//! A file that says anything at all is refused, or read as a Run that can be
//! shown, compared and drawn.

#![no_main]

#[path = "../../crates/report/tests/report/any_run.rs"]
mod any_run;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    any_run::check(text);
});
