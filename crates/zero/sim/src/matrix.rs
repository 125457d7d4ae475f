//! What was measured between each pair of CPUs, as a table of text.

use punctual_program::Refusal;

/// How long a cache line takes from each CPU to each other, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    cpus: usize,
    /// Row by row.
    ns: Vec<f64>,
}

/// Larger ones are not simulated.
const MOST_CPUS: usize = 1_024;

impl Matrix {
    /// Reads a table as core-to-core-latency writes them with `--csv`: a line
    /// for each CPU, on it as many fields as there are CPUs, in nanoseconds.
    /// Fields on and above the diagonal may be empty: a latency counts for
    /// both directions.
    ///
    /// # Errors
    /// Says in which line what is wrong.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let lines: Vec<_> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let cpus = lines.len();
        if !(2..=MOST_CPUS).contains(&cpus) {
            return Err(Refusal::new(format!(
                "a table of latencies has a line for each CPU, from 2 to {MOST_CPUS}; this one has {cpus}"
            )));
        }
        let mut given = vec![None; cpus * cpus];
        let numbered = text.lines().enumerate();
        let rows = numbered.filter(|(_, line)| !line.trim().is_empty());
        for (row, (at, line)) in rows.enumerate() {
            let wrong = |what: String| Refusal::new(format!("line {}: {what}", at + 1));
            let fields: Vec<_> = line.split(',').collect();
            if fields.len() != cpus {
                return Err(wrong(format!(
                    "it has {} fields, and the table has {cpus} lines: there must be as many",
                    fields.len()
                )));
            }
            for (column, field) in fields.into_iter().enumerate() {
                let field = field.trim();
                if row != column && !field.is_empty() {
                    given[row * cpus + column] = Some(latency(field).map_err(wrong)?);
                }
            }
        }
        Self::completed(cpus, &given)
    }

    /// A table of what `ns` says of each two CPUs, in nanoseconds.
    ///
    /// # Errors
    /// There are too few CPUs or too many, or one of the latencies is none.
    pub fn between(cpus: usize, ns: impl Fn(usize, usize) -> f64) -> Result<Self, Refusal> {
        let field = |row: usize, column: usize| match row == column {
            true => String::new(),
            false => ns(row, column).to_string(),
        };
        let line = |row| -> String {
            let fields: Vec<_> = (0..cpus).map(|column| field(row, column)).collect();
            fields.join(",")
        };
        let lines: Vec<_> = (0..cpus).map(line).collect();
        Self::parse(&lines.join("\n"))
    }

    /// With each missing latency taken from the other direction.
    fn completed(cpus: usize, given: &[Option<f64>]) -> Result<Self, Refusal> {
        let mut ns = vec![0.0; cpus * cpus];
        for row in 0..cpus {
            for column in (0..cpus).filter(|column| *column != row) {
                let there = given[row * cpus + column].or(given[column * cpus + row]);
                ns[row * cpus + column] = there.ok_or_else(|| {
                    Refusal::new(format!(
                        "there is no latency between CPUs {column} and {row} in either direction"
                    ))
                })?;
            }
        }
        Ok(Self { cpus, ns })
    }

    /// How many CPUs there are.
    pub const fn cpus(&self) -> usize {
        self.cpus
    }

    /// How long a line takes from one CPU to another, in nanoseconds; zero to
    /// itself.
    ///
    /// # Panics
    /// There is no such CPU.
    pub fn ns(&self, from: usize, to: usize) -> f64 {
        self.ns[from * self.cpus + to]
    }

    /// The mean over all pairs, in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.ns.iter().sum::<f64>() / (self.cpus * (self.cpus - 1)) as f64
    }
}

fn latency(field: &str) -> Result<f64, String> {
    let ns: f64 = field
        .parse()
        .map_err(|_| format!("`{field}` is not a number of nanoseconds"))?;
    (ns > 0.0 && ns <= 1e6).then_some(ns).ok_or_else(|| {
        format!("`{field}` is no latency: it must be above 0 and at most a million nanoseconds")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_triangle_counts_for_both_directions() {
        let matrix = Matrix::parse(",,\n40.5,,\n130,7,\n").unwrap();
        assert_eq!(matrix.cpus(), 3);
        assert_eq!((matrix.ns(0, 1), matrix.ns(1, 0)), (40.5, 40.5));
        assert_eq!(matrix.ns(2, 1), 7.0);
        assert_eq!(matrix.ns(2, 2), 0.0);
        assert_eq!(matrix.mean_ns(), (40.5 + 130.0 + 7.0) / 3.0);
    }

    #[test]
    fn each_direction_can_have_its_own() {
        let matrix = Matrix::parse("0, 50\n60, 0\n").unwrap();
        assert_eq!((matrix.ns(0, 1), matrix.ns(1, 0)), (50.0, 60.0));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, why) in [
            ("", "this one has 0"),
            (
                "1,2\n\n3\n",
                "line 3: it has 1 fields, and the table has 2 lines",
            ),
            (",\nfast,\n", "line 2: `fast` is not a number"),
            (",\n-3,\n", "line 2: `-3` is no latency"),
            (",\nNaN,\n", "line 2: `NaN` is no latency"),
            (",,\n5,,\n5,,\n", "between CPUs 2 and 1"),
        ] {
            let refusal = Matrix::parse(text).unwrap_err().to_string();
            assert!(refusal.contains(why), "{text:?}: {refusal}");
        }
    }
}
