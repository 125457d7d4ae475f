//! The results of a sweep, in one screen.

use punctual_record::Cost;
use punctual_record::regimes::Verdict as Judged;
use punctual_record::sweep::{By, Cell, LIMIT, Sweep};

use crate::tables::table::Table;
use crate::verdict::Verdict;
use crate::{prose, select, units};

const NEXT: &str = "Next: cells.csv has every cell; docs/sweeping.md has queries for DuckDB.";

/// The number of entries of each kind, so that all fits a screen.
const SHOWN: usize = 4;

/// The verdict of `sweep`, with the `command` above it.
pub fn sweep_verdict(sweep: &Sweep, command: &str) -> Verdict {
    let mut verdict = match &sweep.by {
        By::Cost { of, cost } => of_costs(sweep, of, *cost),
        By::Figure { .. } => of_figure(sweep),
    };
    if sweep.unjudged > 0 {
        verdict.sentences.push(format!(
            "Cells without {}, which are left out: {}.",
            figure_in_words(&sweep.by),
            sweep.unjudged
        ));
    }
    Verdict {
        heading: format!("{command}: {}", sweep.title),
        ..verdict
    }
}

/// Every cell that is judged as a line of CSV: its place, what is said of it, with how many seeds, and beside whom.
pub fn sweep_cells(sweep: &Sweep) -> String {
    let axes = sweep.axes.iter().map(|axis| axis.name.clone());
    let figures = ["value", "low", "high", "seeds", "verdict", "best_other"];
    let head = axes.chain(figures.map(str::to_owned)).collect::<Vec<_>>();
    let is_cost = matches!(sweep.by, By::Cost { .. });
    let line = |cell: &Cell| {
        let mut fields: Vec<String> = labels(sweep, cell).collect();
        let value = cell.value;
        fields.extend(
            [value.median, value.low, value.high].map(|it| match is_cost {
                true => format!("{it:.6}"),
                false => it.to_string(),
            }),
        );
        fields.push(cell.seeds.to_string());
        let verdict = is_cost.then(|| cell.verdict().name());
        fields.push(verdict.unwrap_or_default().to_owned());
        fields.push(cell.best.clone().unwrap_or_default());
        fields
    };
    let lines = std::iter::once(head).chain(sweep.cells.iter().map(line));
    lines.map(csv).collect()
}

/// RFC 4180, but that lines end as on Unix.
fn csv(fields: Vec<String>) -> String {
    let quoted = |field: &String| match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.clone(),
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// The geometric mean of ratios, or the mean of figures.
pub(crate) fn mean_of<'c>(by: &By, cells: impl Iterator<Item = &'c Cell>) -> Option<f64> {
    let is_ratio = matches!(by, By::Cost { .. });
    let (mut sum, mut n) = (0.0, 0.0);
    for cell in cells {
        sum += match is_ratio {
            true => libm::log(cell.value.median),
            false => cell.value.median,
        };
        n += 1.0;
    }
    let mean = sum / n;
    (n > 0.0).then(|| if is_ratio { libm::exp(mean) } else { mean })
}

/// `late_ns_p99 of game in play`.
pub(crate) fn figure_in_words(by: &By) -> String {
    match by {
        By::Cost { of, .. } => format!("cost of {of}"),
        By::Figure { figure, of, phase } => format!("{figure} of {of} in {phase}"),
    }
}

fn of_costs(sweep: &Sweep, judged: &str, cost: Cost) -> Verdict {
    let cells = &sweep.cells;
    let part = |verdict| {
        let n = cells
            .iter()
            .filter(|cell| cell.verdict() == verdict)
            .count();
        let share = n as f64 / cells.len().max(1) as f64;
        format!("{n} ({} %)", units::percent(share))
    };
    let seeds = select::counts(cells.iter().map(|cell| cell.seeds));
    let mut sentences = vec![format!(
        "Beside the best of the others {judged} is dearer in {} of {} cells, cheaper in {}, the same in {}; {} are \
         undecided.",
        part(Judged::Dearer),
        cells.len(),
        part(Judged::Cheaper),
        part(Judged::Same),
        part(Judged::Undecided),
    )];
    if let Some(mean) = mean_of(&sweep.by, cells.iter()) {
        sentences.push(format!(
            "In the geometric mean it costs {} times what the best other does.",
            units::ratio(mean)
        ));
    }
    sentences.extend(by_axis(sweep));
    let others = dearer_than(sweep);
    let table = Table::new("", &others)
        .column("best other", |(other, ..)| *other)
        .column("dearer in", |(_, n, _)| *n)
        .column("worst ratio", |(.., worst)| {
            units::ratio(worst.value.median)
        })
        .column("where", |(.., worst)| place(sweep, worst));
    let counts = match cost.capped {
        true => " (at most 1 ms counts)",
        false => "",
    };
    Verdict::new(sentences, NEXT).told(
        table,
        format!(
            "Cells in which {judged} is dearer than the best other, by who that most often is, and the worst of them. where: \
             {}. ratio: its cost over the other's, the median of {seeds} seeds; dearer: all of its 95 % interval above {LIMIT}. \
             Cost: CPU time + weight x lateness{counts}.",
            names(sweep)
        ),
    )
}

/// On which axes it depends most where it is dearer, the one with the greatest difference first.
fn by_axis(sweep: &Sweep) -> Option<String> {
    let share = |axis: usize, value: usize| {
        let here = sweep.cells.iter().filter(|cell| cell.at[axis] == value);
        let (all, dearer) = here.fold((0, 0), |(all, dearer), cell| {
            (
                all + 1,
                dearer + usize::from(cell.verdict() == Judged::Dearer),
            )
        });
        dearer as f64 / all.max(1) as f64
    };
    let mut spans: Vec<_> = (sweep.axes.iter().enumerate())
        .map(|(i, axis)| {
            let shares = (0..axis.values.len()).map(|value| (share(i, value), axis.label(value)));
            let mut shares: Vec<_> = shares.collect();
            shares.sort_by(|one, other| one.0.total_cmp(&other.0));
            let (least, most) = (shares[0].clone(), shares[shares.len() - 1].clone());
            (most.0 - least.0, &axis.name, least, most)
        })
        .collect();
    spans.sort_by(|one, other| other.0.total_cmp(&one.0));
    let told = spans.iter().filter(|span| span.0 > 0.0).take(SHOWN);
    let told: Vec<_> = told
        .map(|(_, name, (least, there), (most, elsewhere))| {
            let [least, most] = [least, most].map(|share| units::percent(*share));
            format!("{name} ({least} % at {there}, {most} % at {elsewhere})")
        })
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "How often it is dearer depends most on {}.",
            told.join(", ")
        )
    })
}

/// For the others that are most often the cheapest: in how many cells, and the worst of these.
fn dearer_than(sweep: &Sweep) -> Vec<(&str, usize, &Cell)> {
    let cells = sweep.cells.iter();
    let dearer = cells.filter(|cell| cell.verdict() == Judged::Dearer);
    let mut others = select::grouped(dearer, |cell| cell.best.as_deref().unwrap_or_default());
    others.sort_by_key(|(_, cells)| std::cmp::Reverse(cells.len()));
    let ratio = |cell: &Cell| cell.value.median;
    let told = others.into_iter().take(SHOWN).filter_map(|(other, cells)| {
        let worst = cells.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        Some((other, cells.len(), *worst))
    });
    told.collect()
}

fn of_figure(sweep: &Sweep) -> Verdict {
    let what = figure_in_words(&sweep.by);
    let written = |value: f64| match what.contains("_ns") {
        true => units::duration(value),
        false => units::plain(value),
    };
    let mut cells: Vec<&Cell> = sweep.cells.iter().collect();
    cells.sort_by(|one, other| one.value.median.total_cmp(&other.value.median));
    let least = cells.len().min(SHOWN);
    let most = (cells.len() - SHOWN.min(cells.len())).max(least);
    let shown = [&cells[..least], &cells[most..]].concat();
    let table = Table::new("", &shown)
        .column("where", |cell| place(sweep, cell))
        .column("median", |cell| written(cell.value.median))
        .column("95 % interval", |cell| {
            let [low, high] = [cell.value.low, cell.value.high].map(written);
            format!("{low} to {high}")
        });
    let seeds = select::counts(cells.iter().map(|cell| cell.seeds));
    let sentence = match (cells.first(), cells.last()) {
        (Some(first), Some(last)) => format!(
            "{what} is from {} to {} over {} cells.",
            written(first.value.median),
            written(last.value.median),
            cells.len()
        ),
        _ => "There are no cells.".to_owned(),
    };
    Verdict::new(vec![sentence], NEXT).told(
        table,
        format!(
            "The least and the greatest; {seeds} seeds. where: {}.",
            names(sweep)
        ),
    )
}

fn names(sweep: &Sweep) -> String {
    prose::list(sweep.axes.iter().map(|axis| &axis.name))
}

/// Its value on each axis, without of what it is a share.
fn place(sweep: &Sweep, cell: &Cell) -> String {
    let short = |label: String| match label.split_once(" of ") {
        Some((share, _)) => share.to_owned(),
        None => label,
    };
    let labels = labels(sweep, cell).map(short);
    labels.collect::<Vec<_>>().join(" ")
}

fn labels(sweep: &Sweep, cell: &Cell) -> impl Iterator<Item = String> {
    let places = sweep.axes.iter().zip(&cell.at);
    places.map(|(axis, at)| axis.label(*at))
}

#[cfg(test)]
mod tests {
    use punctual_record::Interval;
    use punctual_record::sweep::Axis;

    use super::*;

    fn axis(name: &str, values: &[&str]) -> Axis {
        Axis {
            name: name.to_owned(),
            values: values.iter().map(|it| (*it).into()).collect(),
        }
    }

    fn cell(at: [usize; 2], ratio: f64, best: Option<&str>) -> Cell {
        Cell {
            at: at.to_vec(),
            value: Interval {
                median: ratio,
                low: ratio * 0.99,
                high: ratio * 1.01,
            },
            seeds: 6,
            best: best.map(str::to_owned),
        }
    }

    fn by_cost() -> By {
        By::Cost {
            of: "adaptive".to_owned(),
            cost: Cost::CAPPED,
        }
    }

    fn sweep(by: By) -> Sweep {
        let cells = [0.5, 0.8, 1.0, 1.5, 2.0, 4.0];
        let other = matches!(by, By::Cost { .. }).then_some("spin");
        Sweep {
            title: "made up".to_owned(),
            by,
            axes: vec![
                axis("slack", &["1ns", "50us"]),
                axis("jitter", &["0% of wake", "50% of wake", "100% of wake"]),
            ],
            maps: vec![[0, 1]],
            cells: cells
                .iter()
                .enumerate()
                .map(|(i, it)| cell([i / 3, i % 3], *it, other))
                .collect(),
            unjudged: 0,
        }
    }

    #[test]
    fn a_sweep_of_costs_is_told_on_one_screen() {
        let sweep = sweep(by_cost());
        let text = sweep_verdict(&sweep, "punctual sweep plan.toml").text(80);
        insta::assert_snapshot!(text);
        assert!(text.lines().count() <= 24);
        let figures = crate::sweep_figures(&sweep);
        assert_eq!(figures[0].name, "map-slack-jitter");
        let svg = roxmltree::Document::parse(&figures[0].svg).unwrap();
        let texts: Vec<_> = svg
            .descendants()
            .filter_map(|node| node.text())
            .map(str::trim)
            .collect();
        for want in ["4.00", "1.41", "slack", "50% of wake"] {
            assert!(texts.contains(&want), "{want}: {texts:?}");
        }
    }

    #[test]
    fn a_sweep_of_a_figure_has_its_least_and_greatest() {
        let by = By::Figure {
            figure: "wakes_per_s".to_owned(),
            of: "game".to_owned(),
            phase: "play".to_owned(),
        };
        let text = sweep_verdict(&sweep(by), "punctual sweep plan.toml").text(80);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_cell_is_a_line_of_csv() {
        let by = by_cost();
        let mut sweep = sweep(by);
        sweep.axes[0].values[0] = "linux,\"1ns\"".into();
        let text = sweep_cells(&sweep);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7);
        assert_eq!(
            lines[..2],
            [
                "slack,jitter,value,low,high,seeds,verdict,best_other",
                "\"linux,\"\"1ns\"\"\",0% of wake,0.500000,0.495000,0.505000,6,cheaper,spin",
            ]
        );
        assert!(
            lines[6].ends_with(",4.000000,3.960000,4.040000,6,dearer,spin"),
            "{text}"
        );
    }

    #[test]
    fn means_of_ratios_are_geometric() {
        let two = [cell([0, 0], 0.5, None), cell([0, 0], 2.0, None)];
        let mean = mean_of(&by_cost(), two.iter()).unwrap();
        assert!((mean - 1.0).abs() < 1e-12);
        assert_eq!(mean_of(&by_cost(), [].iter()), None);
    }
}
