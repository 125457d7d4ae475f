//! Single waits by the time asked for.

use punctual_record::Run;
use punctual_record::experiment::Decades;

use super::lengths::{Points, lateness};
use crate::select::{self, Row, asked_ns};
use crate::tables::Section;
use crate::tables::columns::typical;
use crate::tables::table::Table;
use crate::units;
use crate::verdict::Verdict;

/// Median lateness by the time asked for, a column per subject.
pub(crate) fn tables(measurements: &[Row<'_, Decades>]) -> Vec<Section> {
    let lengths = select::by_value(measurements, asked_ns);
    let any_mean = measurements.iter().any(|m| select::is_mean(m));
    let table = Table::new("decades: lateness by the time asked for", &lengths)
        .column("asked", |(asked, _)| units::nominal(*asked))
        .column("n", |(_, of_length)| select::waits(of_length))
        .each(select::subjects(measurements), |(_, of_length), subject| {
            select::of_subject(of_length, subject).and_then(|m| typical(&m))
        })
        .caption("Median lateness of n requests of each length.")
        .captions(any_mean.then_some("`m`: the mean, as fewer than 20 samples allow no median."));
    vec![table.section()]
}

const DECADES: Points = Points {
    low: "had the least median lateness",
    points: "lengths",
    caption: "Median lateness, by the length of the wait.",
    written: units::duration,
};

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    DECADES.of(lateness(&select::of_run::<Decades>(run), asked_ns))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::experiments::lengths::figure::ByLength;
    use crate::figures::Figure;

    /// Article figure 2: requests of every length.
    const DECADES: ByLength = ByLength {
        name: "decades",
        title: "Lateness by the time asked for",
        late: "lateness",
        counted: "requests of each length and subject",
    };

    /// Lateness by the time asked for.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        DECADES.draw::<Decades>(run)
    }
}
