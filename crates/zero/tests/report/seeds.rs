//! What the fuzzer has found, and begins with.

use std::fs;
use std::path::Path;

use punctual_report::text;
use punctual_zero::COMPARED;
use punctual_zero::rows::ZeroRow;

use crate::any_run;

#[test]
fn every_seed_is_refused_or_shown_without_what_terminals_obey() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/run");
    let files = fs::read_dir(seeds).unwrap();
    let read = files.filter(|file| {
        let file = fs::read_to_string(file.as_ref().unwrap().path()).unwrap();
        any_run::check::<ZeroRow>(&file, text, &[COMPARED])
    });
    assert!(read.count() > 2);
}
