//! A file that says anything at all is refused in one line, or read as a Run that can be written and
//! shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_import::{Hints, read};
use punctual_record::Run;

fuzz_target!(|file: &[u8]| match read(file, &Hints::default()) {
    Ok(run) => {
        let again: Run = Run::from_json(&run.to_json()).expect("a Run reads back");
        let _ = punctual_report::text(&again);
    }
    Err(why) => assert!(!why.contains('\n'), "{why}"),
});
