//! How tests look at reports and figures. The tests of page zeroing use this file too.

use std::fs;
use std::path::Path;

use punctual_record::Run;
use punctual_report::{Figure, Report};
use roxmltree::Document;

/// The report, of lines that fit a page.
pub(crate) fn report<R: Report>(run: &Run<R>) -> String {
    let text = punctual_report::text(run);
    for line in text.lines() {
        assert!(line.len() <= 120 && line.trim_end() == line, "{line}");
        assert!(line.is_ascii(), "{line}");
    }
    text
}

/// The same without its head.
pub(crate) fn sections<R: Report>(run: &Run<R>) -> String {
    let text = report(run);
    text[text.find("\n\n").unwrap() + 2..].to_owned()
}

/// All text of a figure, which must be well-formed, a piece per line.
pub(crate) fn texts(figure: &Figure) -> String {
    let document = Document::parse(&figure.svg)
        .unwrap_or_else(|error| panic!("{}: {error}\n{}", figure.name, figure.svg));
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    texts
        .map(|n| n.text().unwrap_or_default().trim().to_owned() + "\n")
        .collect()
}

/// Writes the figures to the temporary directory of the tests, for a person to look at.
pub(crate) fn leave_to_look_at(figures: &[Figure], folder: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    for figure in figures {
        fs::write(folder.join(format!("{}.svg", figure.name)), &figure.svg).unwrap();
    }
}
