//! The results of a sweep over two of its axes.

use punctual_record::sweep::{By, Cell, Sweep};

use super::heat::{HeatMap, Scale};
use super::{Figure, figure, make_names_unique};
use crate::sweep::{figure_in_words, mean_of};
use crate::units;

/// From half as dear as the best other to twice as dear; marked in steps of the root of two.
const RATIO: Scale = Scale {
    name: "cost ratio",
    ends: (-std::f64::consts::LOG10_2, std::f64::consts::LOG10_2),
    parts: 4,
    written: units::ratio,
};

/// A heat map for each pair of axes that the plan names.
pub fn sweep_figures(sweep: &Sweep) -> Vec<Figure> {
    let maps = sweep.maps.iter().map(|pair| map(sweep, *pair));
    let mut figures: Vec<Figure> = maps.collect();
    make_names_unique(&mut figures);
    figures
}

fn map(sweep: &Sweep, [x, y]: [usize; 2]) -> Figure {
    let (across, up) = (&sweep.axes[x], &sweep.axes[y]);
    let at = |column: usize, row: usize| {
        let here = |cell: &&Cell| cell.at[x] == column && cell.at[y] == row;
        mean_of(&sweep.by, sweep.cells.iter().filter(here))
    };
    let row = |row: usize| {
        let values = (0..across.values.len()).map(|column| at(column, row));
        (up.label(row), values.collect::<Vec<_>>())
    };
    let rows: Vec<_> = (0..up.values.len()).map(row).collect();
    let (what, scale) = match &sweep.by {
        By::Cost { of: judged, .. } => (
            format!(
                "Cost of {judged} over that of the best other, the geometric mean of all cells there: below 1, dark, it \
                 is cheaper. The colours end at 0.5 and 2"
            ),
            RATIO,
        ),
        By::Figure { figure, .. } => {
            let what = figure_in_words(&sweep.by);
            let values = rows.iter().flat_map(|row| row.1.iter().copied().flatten());
            (
                format!("{what}, the mean of all cells there"),
                spanning(figure, values),
            )
        }
    };
    let map = HeatMap {
        title: format!("{}: {} by {}", sweep.title, up.name, across.name),
        caption: format!("{what}; {} cells, simulated.", sweep.cells.len()),
        axes: [&across.name, &up.name],
        columns: (0..across.values.len()).map(|i| across.label(i)).collect(),
        rows,
        written: scale.written,
        scale,
    };
    let name = format!("map-{}-{}", across.name, up.name);
    figure(&name, map.draw(None))
}

/// A scale of whole powers of ten.
fn spanning(figure: &str, values: impl Iterator<Item = f64> + Clone) -> Scale {
    let logs = values.filter(|value| *value > 0.0).map(libm::log10);
    let least = logs.clone().fold(f64::INFINITY, f64::min).floor();
    let most = logs.fold(f64::NEG_INFINITY, f64::max).ceil();
    let (least, most) = match least.is_finite() {
        true => (least, most.max(least + 1.0)),
        false => (0.0, 1.0),
    };
    let (name, written): (_, fn(f64) -> String) = match figure.contains("_ns") {
        true => ("length", units::duration),
        false => ("figure", units::ratio),
    };
    Scale {
        name,
        ends: (least, most),
        parts: (most - least) as i32,
        written,
    }
}
