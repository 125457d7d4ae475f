//! Waits on each CPU.

use punctual_record::Run;
use punctual_record::experiment::Cores;

use super::{TABLES, measured};
use crate::select::{self, Row, asked_ns};
use crate::tables::Section;
use crate::tables::columns::{MAX, N, P50, P90, P99, SUBJECT, named};
use crate::tables::table::{Table, Why};
use crate::units;
use crate::verdict::Verdict;

/// A line for each CPU, with its type.
pub(crate) fn tables(measurements: &[Row<'_, Cores>]) -> Vec<Section> {
    let lengths = select::grouped(measurements.iter().copied(), |m| asked_ns(m.of));
    let tables = lengths.iter().map(|(asked, group)| cores_at(*asked, group));
    tables.collect()
}

fn cores_at(asked: f64, group: &[Row<'_, Cores>]) -> Section {
    let asked = units::nominal(asked);
    Table::new(
        format!("cores: lateness of a wait asked for {asked} on each CPU"),
        group,
    )
    .names(2)
    .told([named("CPU", SUBJECT)])
    .column("type", |m| m.of.core_type.clone())
    .blank(Why::NOT_STATED)
    .told([N, P50, P90, P99, MAX])
    .caption("n: waits of a thread that is pinned to the CPU.")
    .captions(extremes(group))
    .section()
}

/// The quickest and the slowest.
fn extremes(group: &[Row<'_, Cores>]) -> Option<String> {
    let medians = || {
        let rows = group.iter();
        rows.filter_map(|m| Some((m.late_ns.p50?, m.m.subject.as_str())))
    };
    let ((low, quick), (high, slow)) = (medians().min()?, medians().max()?);
    let [low, high] = [low, high].map(units::duration);
    (quick != slow).then(|| format!("Lowest p50: {low}, {quick}. Highest: {high}, {slow}."))
}

/// Whether one CPU wakes later than another.
pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = measured::<Cores>(run)?;
    let known = rows
        .iter()
        .filter_map(|row| Some((row.m.late_ns.p50?, row.m.subject.as_str())));
    let known: Vec<(i64, &str)> = known.collect();
    let (least, most) = (known.iter().min()?, known.iter().max()?);
    let ratio = most.0 as f64 / least.0.max(1) as f64;
    let [quick, slow] = [least.0, most.0].map(units::duration);
    let asked = units::nominal(asked_ns(rows[0].of));
    let begin = format!("A wait of {asked} ends {quick} late in the median");
    let sentence = match ratio < ALIKE {
        true => format!("{begin}; no CPU differs by more than a tenth."),
        false => format!(
            "{begin} on {}, and {slow} on {}, {} times as late.",
            least.1,
            most.1,
            units::ratio(ratio)
        ),
    };
    let table = Table::new("", &rows)
        .told([named("CPU", SUBJECT)])
        .column("type", |row| row.of.core_type.clone())
        .told([named("late p50", P50), P99, MAX]);
    let next = format!(
        "Next: punctual bench --cpu {} measures on the CPU that is least late; {TABLES}",
        least.1.trim_start_matches("CPU ")
    );
    Some(Verdict::new(vec![sentence], next).told(
        table,
        format!(
            "n = {} waits of a thread that is pinned to the CPU.",
            select::waits(&rows)
        ),
    ))
}

/// Medians nearer than this are called alike.
const ALIKE: f64 = 1.1;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::plot::means_in_words;
    use crate::figures::rows::{Mark, RowChart};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// A row for each CPU: the median, a box up to the 90th percentile, and a line
    /// up to the 99th.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let mut cpus = select::of_run::<Cores>(run);
        cpus.retain(|m| m.late_ns.n > 0);
        if cpus.is_empty() {
            return None;
        }
        let kinds = select::grouped(cpus.iter().copied(), |m| core_type(m.of));
        let asked = select::values(&cpus, asked_ns);
        let row = |m: &Row<'_, Cores>| {
            let kind = kinds.iter().position(|(kind, _)| *kind == core_type(m.of));
            let mark = Mark::of(m, Look::nth(kind.unwrap_or(0)));
            (name_of_cpu(*m, asked.len() > 1), vec![mark])
        };
        let chart = RowChart {
            title: "Lateness of a wait on each CPU",
            caption: caption_of_cores(&cpus, &asked),
            x: "lateness",
            high: 30,
            rows: cpus.iter().map(row).collect(),
            legend: &[],
            beside: 0,
        };
        Some(figure("cores", chart.draw(run)))
    }

    fn core_type(of: &Cores) -> &str {
        of.core_type.as_deref().unwrap_or("")
    }

    fn name_of_cpu(m: Row<'_, Cores>, lengths: bool) -> String {
        let mut name = m.subject.clone();
        if !core_type(m.of).is_empty() {
            name += &format!(" ({})", core_type(m.of));
        }
        match lengths {
            true => format!("{name}, {}", units::nominal(asked_ns(m.of))),
            false => name,
        }
    }

    fn caption_of_cores(cpus: &[Row<'_, Cores>], asked: &[f64]) -> String {
        let of = match asked {
            [ns] => format!(" of {}", units::nominal(*ns)),
            _ => String::new(),
        };
        let n = select::waits(cpus);
        let mut caption = format!(
            "Waits{of} of a thread that is pinned to the CPU, n = {n} on each. The marker is the median, the box \
         ends at the 90th percentile, the line at the 99th."
        );
        caption += &means_in_words(cpus, "markers");
        if cpus.iter().any(|m| m.late_ns.p99.is_none()) {
            caption += " Percentiles with fewer than ten samples above them are left out.";
        }
        caption
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::Experiment;

    use super::*;
    use crate::experiments::tests::{run, sentences};

    #[test]
    fn a_slow_cpu_is_named_and_alike_ones_are_not() {
        let on = |on_cpu, name, late| {
            let of = Cores {
                on_cpu,
                asked_ns: 1_000_000,
                core_type: None,
            };
            (Experiment::Cores(of), name, late)
        };
        assert_eq!(
            sentences(&run([on(0, "CPU 0", 50_000), on(1, "CPU 1", 150_000)])),
            [
                "A wait of 1 ms ends 50.0 us late in the median on CPU 0, and 150 us on CPU 1, 3.00 times as late."
            ]
        );
        assert_eq!(
            sentences(&run([on(0, "CPU 0", 50_000), on(1, "CPU 1", 51_000)])),
            [
                "A wait of 1 ms ends 50.0 us late in the median; no CPU differs by more than a tenth."
            ]
        );
    }
}
