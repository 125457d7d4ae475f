//! The results of `punctual sweep`: its rows, and the verdict on a cell of them.
//!
//! A sweep has axes, each with its values; a cell is a place on all of them. Rows of
//! one cell are of different subjects, which had the same seeds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cost::Cost;
use crate::interval::Interval;
use crate::regimes::Verdict;

/// The result of one subject in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The part it belongs to: a hash of version, parameters and seed, in hexadecimal.
    pub key: String,
    /// How many rows that part has.
    pub rows: u64,
    /// The model with its parameters.
    pub simulated_on: String,
    /// The strategy without its weight, or the threads of a scenario.
    pub subject: String,
    /// How many seeds it was run with.
    pub seeds: u64,
    /// The values by which it is judged, one per seed: a cost in nanoseconds, or the figure that
    /// the plan names.
    pub by_seed: Vec<f64>,
    /// Where the cell is, and all other figures.
    #[serde(flatten)]
    pub columns: BTreeMap<String, Value>,
}

/// Something that a sweep varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The column of the rows.
    pub name: String,
    /// Its values, in the order of the plan.
    pub values: Vec<Value>,
}

impl Axis {
    /// One of its values in writing.
    pub fn label(&self, at: usize) -> String {
        match self.values.get(at) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }
}

/// The measure by which cells are judged.
#[derive(Clone, Debug, PartialEq)]
pub enum By {
    /// The cost of a subject over that of the cheapest other.
    Cost {
        /// The subject.
        of: String,
        /// How it is counted.
        cost: Cost,
    },
    /// A figure of these threads in this phase.
    Figure {
        /// Its column.
        figure: String,
        /// The subject.
        of: String,
        /// The phase.
        phase: String,
    },
}

/// A place of a sweep, and what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Which value of each axis.
    pub at: Vec<usize>,
    /// The ratio, or the figure, over the seeds.
    pub value: Interval,
    /// How many these are.
    pub seeds: u64,
    /// The cheapest other, where costs are compared.
    pub best: Option<String>,
}

/// All cells of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The title.
    pub title: String,
    /// The measure.
    pub by: By,
    /// The dimensions.
    pub axes: Vec<Axis>,
    /// Pairs of axes to draw: across and up.
    pub maps: Vec<[usize; 2]>,
    /// In the order of the plan.
    pub cells: Vec<Cell>,
    /// How many there are besides whose rows lack what judges them.
    pub unjudged: usize,
}

/// A ratio up to this is the same: as in quiet cells of `bench regimes`.
pub const LIMIT: f64 = 1.03;

impl Cell {
    /// The verdict on a cell of costs.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.value, LIMIT, self.seeds as usize)
    }
}

impl Sweep {
    /// Adds the cells of `rows`, of which those of one cell follow each other.
    ///
    /// # Errors
    /// A row is of no cell of this sweep.
    pub fn add(&mut self, rows: &[Row]) -> Result<(), String> {
        let mut places = Vec::new();
        for row in rows {
            places.push((self.place(row)?, row));
        }
        for cell in places.chunk_by(|one, other| one.0 == other.0) {
            let rows: Vec<&Row> = cell.iter().map(|(_, row)| *row).collect();
            let Some((value, best, seeds)) = judge(&self.by, &rows) else {
                self.unjudged += 1;
                continue;
            };
            self.cells.push(Cell {
                at: cell[0].0.clone(),
                value,
                seeds,
                best,
            });
        }
        Ok(())
    }

    fn place(&self, row: &Row) -> Result<Vec<usize>, String> {
        let on = |axis: &Axis| {
            let value = row.columns.get(&axis.name);
            let at = axis.values.iter().position(|it| Some(it) == value);
            at.ok_or_else(|| format!("a row has no value of `{}` that the plan has", axis.name))
        };
        self.axes.iter().map(on).collect()
    }
}

/// The verdict of a cell's rows, the best other subject, and the number of seeds; `None` if the
/// judged subject is missing.
pub fn judge(by: &By, rows: &[&Row]) -> Option<(Interval, Option<String>, u64)> {
    match by {
        By::Cost { of, .. } => {
            let mine = rows.iter().find(|row| row.subject == *of)?;
            let others = rows.iter().filter(|row| row.subject != *of);
            let costs = others.filter_map(|row| Some((Interval::of(&row.by_seed)?.median, row)));
            let (_, best) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
            let pairs = mine.by_seed.iter().zip(&best.by_seed);
            let ratios: Vec<f64> = pairs.map(|(mine, best)| mine / best).collect();
            Some((
                Interval::of(&ratios)?,
                Some(best.subject.clone()),
                mine.seeds,
            ))
        }
        By::Figure { of, phase, .. } => {
            let is_it = |row: &&&Row| {
                row.subject == *of && row.columns.get("phase").is_some_and(|it| it == phase)
            };
            let row = rows.iter().find(is_it)?;
            Some((Interval::of(&row.by_seed)?, None, row.seeds))
        }
    }
}

/// Whether the interval reaches to either side by at most so large a part of the median.
pub fn is_narrow(value: Interval, within: f64) -> bool {
    (value.high - value.low) / 2.0 <= within * value.median.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(subject: &str, load: u64, by_seed: &[f64]) -> Row {
        Row {
            key: "0".to_owned(),
            rows: 3,
            simulated_on: "linux".to_owned(),
            subject: subject.to_owned(),
            seeds: by_seed.len() as u64,
            by_seed: by_seed.to_vec(),
            columns: BTreeMap::from([("load".to_owned(), Value::from(load))]),
        }
    }

    fn sweep() -> Sweep {
        Sweep {
            title: String::new(),
            by: By::Cost {
                of: "adaptive".to_owned(),
                cost: Cost::CAPPED,
            },
            axes: vec![Axis {
                name: "load".to_owned(),
                values: vec![Value::from(0), Value::from(1)],
            }],
            maps: vec![],
            cells: vec![],
            unjudged: 0,
        }
    }

    #[test]
    fn a_cell_is_judged_beside_its_cheapest_other_seed_by_seed() {
        let mut sweep = sweep();
        let rows = [
            row("adaptive", 0, &[90.0; 6]),
            row("spin", 0, &[900.0; 6]),
            row("timer", 0, &[100.0; 6]),
            row("adaptive", 1, &[220.0; 6]),
            row("spin", 1, &[200.0; 6]),
            row("timer", 1, &[300.0; 6]),
        ];
        sweep.add(&rows).unwrap();
        let told: Vec<_> = sweep
            .cells
            .iter()
            .map(|c| (c.value.median, c.verdict(), c.best.as_deref()))
            .collect();
        let want = [
            (0.9, Verdict::Cheaper, Some("timer")),
            (1.1, Verdict::Dearer, Some("spin")),
        ];
        assert_eq!(told, want);
        assert_eq!(sweep.cells[1].at, [1]);
    }

    #[test]
    fn rows_of_another_sweep_are_refused() {
        let elsewhere = row("adaptive", 7, &[1.0]);
        assert!(sweep().add(&[elsewhere]).unwrap_err().contains("`load`"));
    }

    #[test]
    fn a_cell_without_what_judges_it_is_counted_and_no_more() {
        let mut sweep = sweep();
        sweep.add(&[row("adaptive", 0, &[1.0])]).unwrap();
        assert_eq!((sweep.cells.len(), sweep.unjudged), (0, 1));
    }

    #[test]
    fn rows_read_back_as_they_were_written() {
        let row = row("adaptive", 0, &[0.1 + 0.2, 3.0]);
        let text = serde_json::to_string(&row).unwrap();
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }

    #[test]
    fn narrow_is_a_part_of_the_median() {
        let value = Interval {
            median: 2.0,
            low: 1.9,
            high: 2.1,
        };
        assert!(is_narrow(value, 0.06) && !is_narrow(value, 0.04));
    }
}
