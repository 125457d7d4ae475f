//! A file that says anything at all is refused, or read as a Run that can be
//! shown, compared and drawn.

#![no_main]

#[path = "../../crates/report/tests/report/any_run.rs"]
mod any_run;

use libfuzzer_sys::fuzz_target;
use punctual_record::Measurement;
use punctual_report::{explained, text};
use punctual_zero::COMPARED;
use punctual_zero::rows::ZeroRow;

fuzz_target!(|file: &str| {
    any_run::check::<Measurement>(file, explained, &[]);
    any_run::check::<ZeroRow>(file, text, &[COMPARED]);
});
