//! What the sources of a scenario say, and what came out.

use punctual_record::Expectation;

use super::grid::Passage;
use super::table::{Cell, Table};
use crate::{prose, select};

/// A word of an expectation.
type Of = fn(&Expectation) -> &str;

/// A line for each thing that is expected, and the sources by number. Nothing
/// if nothing is expected.
pub(crate) fn expectations(all: &[Expectation]) -> Option<Passage> {
    let first = all.first()?;
    let differs = |of: Of| all.iter().any(|e| of(e) != of(first));
    let labels: Vec<(&str, Of)> = [
        ("of", (|e| &e.subject) as Of),
        ("phase", |e| &e.phase),
        ("on", |e| &e.on),
    ]
    .into_iter()
    .filter(|(head, of)| *head == "of" || differs(*of))
    .collect();
    let hold = all.iter().filter(|e| e.holds).count();
    let sources = select::grouped(all, |e| e.source.as_str());
    let number = |e: &Expectation| sources.iter().position(|(source, _)| *source == e.source);
    let mut passage = Table::new(
        format!("What is expected: {hold} of {} hold", all.len()),
        all,
    )
    .names(labels.len() + 2)
    .column("", |e| if e.holds { "ok" } else { "differs" })
    .each(labels, |e, of| Cell::from(of(e)))
    .column("figure", |e| e.figure.clone())
    .column("expected", |e| e.expected.clone())
    .column("got", |e| e.got.clone())
    .column("source", |e| Some(format!("[{}]", number(e)? + 1)))
    .section();
    for (i, (source, _)) in sources.iter().enumerate() {
        passage.add(&prose::indented(
            &format!("{:>4} ", format!("[{}]", i + 1)),
            source,
        ));
    }
    Some(passage)
}
