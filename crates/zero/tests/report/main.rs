//! Tables and figures of made-up runs of page zeroing.

#[path = "../../../report/tests/report/any_run.rs"]
mod any_run;
#[path = "../../../report/tests/report/invented.rs"]
mod invented;
mod made_up;
mod pools;
mod probe;
mod seeds;
mod verdict;

use std::fs;
use std::path::Path;

use punctual_report::Figure;

/// Writes the figures to the temporary directory of the tests, for a person to look at.
fn leave_to_look_at(figures: &[Figure], folder: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    for figure in figures {
        fs::write(folder.join(format!("{}.svg", figure.name)), &figure.svg).unwrap();
    }
}
