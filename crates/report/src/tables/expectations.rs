//! What the sources of a scenario say, and what came out.

use punctual_record::Expectation;

use super::blank::Marks;
use super::grid::Grid;
use crate::prose;

/// A word of an expectation.
type Of = fn(&Expectation) -> &str;

/// A line for each thing that is expected, and the sources by number. Nothing
/// if nothing is expected.
pub(crate) fn expectations(all: &[Expectation]) -> Option<String> {
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
    let mut head = vec![""];
    head.extend(labels.iter().map(|(head, _)| *head));
    head.extend(["figure", "expected", "got", "source"]);
    let hold = all.iter().filter(|e| e.holds).count();
    let title = format!("What is expected: {hold} of {} hold", all.len());
    let mut grid = Grid::new(title, &head).with_names(labels.len() + 2);
    let mut sources: Vec<&str> = Vec::new();
    for e in all {
        let known = sources.iter().position(|source| *source == e.source);
        let source = known.unwrap_or(sources.len());
        if known.is_none() {
            sources.push(&e.source);
        }
        let verdict = if e.holds { "ok" } else { "differs" };
        let mut row = vec![verdict.to_owned()];
        row.extend(labels.iter().map(|(_, of)| of(e).to_owned()));
        row.extend([
            e.figure.clone(),
            e.expected.clone(),
            e.got.clone(),
            format!("[{}]", source + 1),
        ]);
        grid.row(row);
    }
    let mut text = grid.section::<&str>(&[], Marks::default());
    for (i, source) in sources.iter().enumerate() {
        text += &prose::indented(&format!("{:>4} ", format!("[{}]", i + 1)), source);
    }
    Some(text)
}
