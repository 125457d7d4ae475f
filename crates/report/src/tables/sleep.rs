//! The wait calls of the OS: how much longer than asked each takes.

use punctual_record::experiment::Sleep;
use punctual_record::{Measurement, Run};

use super::WIDTH;
use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::histogram::histogram_of;
use crate::select::{self, Row, asked_ns};
use crate::{prose, units};

/// The length whose distribution is shown.
const SHOWN_NS: f64 = 1e6;

/// So many early returns are told one by one.
const MOST_EARLY: usize = 8;

/// The overshoot of each call by the time asked for: the median, a high
/// percentile, the largest; and the distributions of the plain calls at 1 ms.
pub(crate) fn sleep(run: &Run, measurements: &[Row<'_, Sleep>]) -> Vec<String> {
    let calls = select::by_subject(measurements);
    let asked = select::values(measurements, asked_ns);
    let table = |of, lengths: &[f64]| {
        Table {
            of,
            calls: &calls,
            measurements,
        }
        .section(lengths)
    };
    let mut sections = Vec::new();
    for of in Of::backed(measurements) {
        sections.extend(in_lines_that_fit(&asked, |lengths| table(of, lengths)));
    }
    sections.extend(remarks(measurements));
    sections.extend(distributions(run, &calls));
    sections
}

/// A column for each length, in as many tables as it takes.
fn in_lines_that_fit(lengths: &[f64], table: impl Fn(&[f64]) -> (usize, String)) -> Vec<String> {
    let tables =
        |each: usize| -> Vec<(usize, String)> { lengths.chunks(each).map(&table).collect() };
    for parts in 1..lengths.len() {
        let tables = tables(lengths.len().div_ceil(parts));
        if tables.iter().all(|(width, _)| *width <= WIDTH) {
            return tables.into_iter().map(|(_, text)| text).collect();
        }
    }
    tables(1).into_iter().map(|(_, text)| text).collect()
}

/// What a table shows of the overshoot.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Median,
    P90,
    P99,
    Max,
}

impl Of {
    /// The median, the highest of the percentiles that there are samples for
    /// somewhere, and the largest.
    fn backed(measurements: &[Row<'_, Sleep>]) -> Vec<Self> {
        let any =
            |of: fn(&Measurement) -> Option<i64>| measurements.iter().any(|m| of(m).is_some());
        let high = if any(|m| m.late_ns.p99) {
            Some(Self::P99)
        } else {
            any(|m| m.late_ns.p90).then_some(Self::P90)
        };
        [Some(Self::Median), high, Some(Self::Max)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Median => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::Max => "max",
        }
    }
}

/// A table of one figure: calls below each other, lengths beside.
struct Table<'a> {
    of: Of,
    calls: &'a [(&'a str, Vec<Row<'a, Sleep>>)],
    measurements: &'a [Row<'a, Sleep>],
}

impl Table<'_> {
    fn section(&self, lengths: &[f64]) -> (usize, String) {
        let mut head = vec![format!("{} by the time asked", self.of.name())];
        head.extend(lengths.iter().map(|&ns| units::nominal(ns)));
        let title = format!("sleep: how much longer than asked, {}", self.of.name());
        let mut grid = Grid::new(title, &head);
        let mut marks = Marks::default();
        let mut means = false;
        for (call, of_call) in self.calls {
            let mut row = vec![(*call).to_owned()];
            for &asked in lengths {
                let m = select::at(of_call, asked_ns, asked);
                row.push(match m {
                    Some(m) => self.cell(&mut marks, &m, &mut means),
                    None => marks.or_blank(None, Why::NotMeasured),
                });
            }
            grid.row(row);
            if self.predicts() == Predicted::Differently {
                grid.row(self.predicted("  predicted", of_call, lengths, &mut marks));
            }
        }
        if self.predicts() == Predicted::Alike {
            grid.row(self.predicted("(predicted)", self.measurements, lengths, &mut marks));
        }
        let mut row = vec!["n".to_owned()];
        row.extend(lengths.iter().map(|&asked| {
            let of_length = self.measurements.iter();
            let of_length = of_length.filter(|m| asked_ns(m.of) == asked);
            counts_in_a_cell(of_length.map(|m| m.late_ns.n))
        }));
        grid.row(row);
        let width = grid.width();
        (width, grid.section(&self.caption(means), marks))
    }

    fn cell(&self, marks: &mut Marks, m: &Measurement, means: &mut bool) -> String {
        let late = &m.late_ns;
        let early = if late.early > 0 { " e" } else { "" };
        match self.of {
            Of::Median => match select::typical_late_ns(m) {
                Some((ns, true)) => format!("{}{early}", units::duration(ns)),
                Some((ns, false)) => {
                    *means = true;
                    format!("{} m{early}", units::duration(ns))
                }
                None => marks.or_blank(None, Why::NotMeasured),
            },
            Of::P90 => marks.percentile(m, late.p90),
            Of::P99 => marks.percentile(m, late.p99),
            Of::Max => marks.measured(m, late.max as f64),
        }
    }

    /// Whether a rule predicts the median, and whether the same for all calls.
    fn predicts(&self) -> Predicted {
        let any = |m: &Row<'_, Sleep>| m.predicted_late_ns.is_some();
        if self.of != Of::Median || !self.measurements.iter().any(any) {
            return Predicted::Not;
        }
        let by_length = select::grouped(self.measurements.iter().copied().filter(any), |m| {
            asked_ns(m.of)
        });
        let alike = by_length.iter().all(|(_, group)| {
            group
                .iter()
                .all(|m| m.predicted_late_ns == group[0].predicted_late_ns)
        });
        if alike {
            Predicted::Alike
        } else {
            Predicted::Differently
        }
    }

    fn predicted(
        &self,
        name: &str,
        group: &[Row<'_, Sleep>],
        lengths: &[f64],
        marks: &mut Marks,
    ) -> Vec<String> {
        let mut row = vec![name.to_owned()];
        row.extend(lengths.iter().map(|&asked| {
            let mut of_length = group.iter().filter(|m| asked_ns(m.of) == asked);
            let predicted = of_length.find_map(|m| m.predicted_late_ns);
            let predicted = predicted.map(|ns| units::duration(ns as f64));
            marks.or_blank(predicted, Why::NotPredicted)
        }));
        row
    }

    fn caption(&self, means: bool) -> Vec<String> {
        let mut words = match self.of {
            Of::Median => "Median overshoot of n waits of each length.".to_owned(),
            Of::P90 => "90 % of n waits of each length are at most so much longer.".to_owned(),
            Of::P99 => "99 % of n waits of each length are at most so much longer.".to_owned(),
            Of::Max => "The largest overshoot of n waits of each length.".to_owned(),
        };
        if self.of == Of::Median {
            if means {
                words += " `m`: the mean, as fewer than 20 samples allow no median.";
            }
            if self.measurements.iter().any(|m| m.late_ns.early > 0) {
                words += " `e`: some returned early.";
            }
            if self.predicts() != Predicted::Not {
                words +=
                    " predicted: what the timer rule in force gives if waking up cost nothing.";
            }
        }
        vec![words]
    }
}

#[derive(PartialEq)]
enum Predicted {
    Not,
    Alike,
    Differently,
}

/// `90-100`, as `90 to 100` would widen the column.
fn counts_in_a_cell(counts: impl Iterator<Item = u64>) -> String {
    select::counts(counts).replace(" to ", "-")
}

/// Which calls returned early.
fn remarks(measurements: &[Row<'_, Sleep>]) -> Option<String> {
    let early: Vec<String> = measurements
        .iter()
        .filter(|m| m.late_ns.early > 0)
        .map(|m| {
            let late = &m.late_ns;
            let asked = units::nominal(asked_ns(m.of));
            let by = units::duration(-(late.min as f64));
            format!(
                "{} at {asked} {} of {} (by up to {by})",
                m.subject, late.early, late.n
            )
        })
        .collect();
    let mut text = String::new();
    if !early.is_empty() {
        let more = early.len().saturating_sub(MOST_EARLY);
        let told = early[..early.len() - more].join("; ");
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        text += &prose::paragraph(&format!("Early returns: {told}{more}."));
    }
    Some(text).filter(|text| !text.is_empty())
}

/// The distributions of the plain sleep call and of the timer at 1 ms.
fn distributions(run: &Run, calls: &[(&str, Vec<Row<'_, Sleep>>)]) -> Vec<String> {
    let machine = &run.machine;
    let plain = called(calls, "sleep", &machine.sleep_method).or(calls.first());
    let timer = called(calls, "timer", &machine.timer_method);
    let timer = timer.filter(|timer| plain.is_none_or(|plain| plain.0 != timer.0));
    [plain, timer]
        .into_iter()
        .flatten()
        .filter_map(|(call, of_call)| {
            let m = select::at(of_call, asked_ns, SHOWN_NS)?;
            let samples = &m.m.samples_late_ns;
            let asked = units::nominal(SHOWN_NS);
            let title = format!("sleep: how much longer than asked {call} took for {asked}");
            (!samples.is_empty()).then(|| histogram_of(&title, "waits", samples, &[]))
        })
        .collect()
}

/// The call of the library by that name, which the machine says is `method`.
fn called<'a, 'b>(
    calls: &'b [(&'a str, Vec<Row<'a, Sleep>>)],
    name: &str,
    method: &str,
) -> Option<&'b (&'a str, Vec<Row<'a, Sleep>>)> {
    let by_name = |wanted: &str| calls.iter().find(|(call, _)| *call == wanted);
    let first_word = method.split([' ', ',']).next().unwrap_or("");
    by_name(name)
        .or_else(|| by_name(method))
        .or_else(|| by_name(first_word))
}
