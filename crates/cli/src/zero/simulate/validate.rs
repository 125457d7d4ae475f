//! The simulated pools against what is published.

use anyhow::{Result, anyhow};
use punctual_zero::validation::{self, Verdict};

use crate::progress::Progress;
use crate::{Done, print};

/// Prints a line for each figure; whether one deviates that nobody has explained
/// is the exit code.
pub(super) fn run() -> Result<Done> {
    let rows = validation::rows();
    let mut bar = Progress::alike(rows.len());
    let mut outcomes = Vec::new();
    for row in &rows {
        bar.step(row.id);
        outcomes.push((row, (row.run)().map_err(|why| anyhow!(why))?));
    }
    drop(bar);
    let count = |name| {
        outcomes
            .iter()
            .filter(|(_, o)| o.verdict.name() == name)
            .count()
    };
    let of_their_own = outcomes
        .iter()
        .filter(|(row, o)| row.is_observation() && o.verdict != Verdict::Predicted);
    let title = format!(
        "The simulated pools against what is published: {} of {} figures within their tolerance, {} deviate and are \
         explained, {} nobody knows. {} are observations of their own; the others are the same as another one in other \
         units, arithmetic or predictions. W: Windows as somebody saw it; L: a lock as a paper has it; A: numbers that \
         follow from numbers.",
        count("ok"),
        outcomes.len(),
        count("explained"),
        count("prediction"),
        of_their_own.count(),
    );
    let cells = outcomes.iter().map(|(row, outcome)| {
        let why = match outcome.verdict {
            Verdict::Explained(why) => why,
            _ => outcome.note,
        };
        let got = match why {
            "" => outcome.got.clone(),
            why => format!("{} ({why})", outcome.got),
        };
        vec![
            format!("{} {}", row.id, row.kind.letter()),
            row.input.to_owned(),
            [row.expected, row.tolerance].join(", "),
            got,
            row.source.to_owned(),
            row.same_as.unwrap_or_default().to_owned(),
            outcome.verdict.name().to_owned(),
        ]
    });
    let head = [
        "id",
        "what is done",
        "expected",
        "got",
        "source",
        "same as",
        "verdict",
    ];
    let mut text = punctual_report::table(&title, &head, cells);
    text.push_str("\nSources:\n");
    for (name, source) in validation::SOURCES {
        text.push_str(&format!("  {name}: {source}\n"));
    }
    print(&text)?;
    Ok(match count("differs") {
        0 => Done::Whole,
        _ => Done::Differs,
    })
}
