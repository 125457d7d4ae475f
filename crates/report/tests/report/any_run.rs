//! Properties of any file that is read as a Run. The fuzzer in `fuzz/` checks the same; its kept
//! inputs are in `fuzz/seeds/run`.

use punctual_record::compare::Comparison;
use punctual_record::{Run, is_visible};
use punctual_report::tables::Compared;
use punctual_report::{Page, Report, comparison, comparison_figures, figures};
use roxmltree::Document;

/// Whether it is read, as a Run of such rows. If so, it can be shown in full and drawn,
/// alone and beside others, and nothing that a terminal obeys comes out of it.
pub(crate) fn check<R: Report>(
    file: &str,
    shown: fn(&Run<R>) -> String,
    tables: &[Compared],
) -> bool {
    let run = match Run::<R>::from_json(file) {
        Ok(run) => run,
        Err(why) => {
            assert!(why.chars().all(is_visible), "{why:?}");
            return false;
        }
    };
    let alone = Comparison::of(&[("one", &run)]);
    let beside = Comparison::of(&[("one", &run), ("other", &run)]);
    let compared = [comparison(&alone, tables), comparison(&beside, tables)];
    for text in compared.iter().chain(&[shown(&run)]) {
        check_text(text);
    }
    let [alone, beside] = [comparison_figures(&alone), comparison_figures(&beside)];
    for figure in [figures(&run), alone, beside].iter().flatten() {
        if let Err(why) = Document::parse(&figure.svg) {
            panic!("{}: {why}\n{}", figure.name, figure.svg);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        assert!(figure.name.chars().all(is_plain), "{}", figure.name);
    }
    let mut page = Page::new("punctual report");
    page.add(&run);
    check_text(&page.html());
    true
}

fn check_text(text: &str) {
    let hidden = text.chars().find(|c| *c != '\n' && !is_visible(*c));
    assert_eq!(hidden, None, "{text}");
}
