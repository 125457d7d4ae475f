//! What the fuzzer has found, and begins with.

use std::fs;
use std::path::Path;

use punctual_record::Measurement;
use punctual_report::explained;

use crate::any_run;

#[test]
fn every_seed_is_refused_or_shown_without_what_terminals_obey() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/run");
    let files = fs::read_dir(seeds).unwrap();
    let read = files.filter(|file| {
        let text = fs::read_to_string(file.as_ref().unwrap().path()).unwrap();
        any_run::check::<Measurement>(&text, explained, &[])
    });
    assert!(read.count() > 10);
}
