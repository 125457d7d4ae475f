//! Tables and figures of runs of page zeroing.

#[path = "../../../report/tests/report/any_run.rs"]
mod any_run;
mod pools;
mod probe;
mod runs;
mod verdict;

use std::fs;
use std::path::Path;

use punctual_report::{Figure, text};
use punctual_zero::COMPARED;
use punctual_zero::rows::ZeroRow;

/// Writes the figures to the temporary directory of the tests, for a person to look at.
fn leave_to_look_at(figures: &[Figure], folder: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    for figure in figures {
        fs::write(folder.join(format!("{}.svg", figure.name)), &figure.svg).unwrap();
    }
}

/// What the fuzzer has found, and begins with.
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
