//! Where the logical CPUs of a computer are: in which socket, at which
//! last-level cache, on which core; and what was measured between them, as a matrix.

use punctual_program::Refusal;
use serde::Deserialize;

use super::quantity::Quantity;

/// The logical CPUs of a computer, every socket alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Sockets.
    pub sockets: usize,
    /// Last-level caches of each socket.
    pub caches: usize,
    /// Cores at each of these caches.
    pub cores: usize,
    /// Logical CPUs of each core.
    pub threads: usize,
    /// How its CPUs are numbered.
    pub numbering: Numbering,
}

/// In which order the logical CPUs are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// One logical CPU of each core, then the second of each: Linux on most
    /// servers.
    SiblingsLast,
    /// All logical CPUs of a core, then those of the next: Windows.
    SiblingsTogether,
}

/// How far apart two logical CPUs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// They are one.
    Same,
    /// On one core.
    Core,
    /// At one last-level cache.
    Cache,
    /// In one socket.
    Socket,
    /// In two sockets.
    Across,
}

impl Topology {
    /// Cores at one cache, with one thread each.
    pub const fn of_cores(cores: usize) -> Self {
        Self {
            sockets: 1,
            caches: 1,
            cores,
            threads: 1,
            numbering: Numbering::SiblingsLast,
        }
    }

    /// How many logical CPUs there are.
    pub const fn cpus(&self) -> usize {
        self.all_cores() * self.threads
    }

    const fn all_cores(&self) -> usize {
        self.sockets * self.caches * self.cores
    }

    /// The core of a CPU, counted over the whole computer.
    const fn core(&self, cpu: usize) -> usize {
        match self.numbering {
            Numbering::SiblingsLast => cpu % self.all_cores(),
            Numbering::SiblingsTogether => cpu / self.threads,
        }
    }

    /// How far apart two CPUs are.
    pub fn distance(&self, one: usize, other: usize) -> Distance {
        let (a, b) = (self.core(one), self.core(other));
        // Whether they are among the same so many cores.
        let share = |cores: usize| a / cores == b / cores;
        if one == other {
            Distance::Same
        } else if a == b {
            Distance::Core
        } else if share(self.cores) {
            Distance::Cache
        } else if share(self.caches * self.cores) {
            Distance::Socket
        } else {
            Distance::Across
        }
    }

    /// The distances that there can be, each with whether two CPUs are that far apart.
    pub(super) const fn distances(&self) -> [(Quantity, bool); 4] {
        [
            (Quantity::SameCore, self.threads > 1),
            (Quantity::SameCache, self.cores > 1),
            (Quantity::SameSocket, self.caches > 1),
            (Quantity::Across, self.sockets > 1),
        ]
    }

    /// The CPUs of so many workers, one each. The sockets take turns, inside each its caches do,
    /// and a core gets a second worker only when all cores have one. Schedulers place busy threads
    /// like that. The order of the cores of a cache makes no difference here.
    ///
    /// # Errors
    /// There are more workers than CPUs. Queued locks hand over to a named waiter; one without a
    /// CPU stops all the others for a time slice. That is another experiment than that of a
    /// crowded lock.
    pub fn placement(&self, workers: usize) -> Result<Vec<usize>, Refusal> {
        if workers > self.cpus() {
            return Err(Refusal::new(format!(
                "{workers} workers on {} CPUs cannot be simulated: every worker needs a CPU of its own; ask for at most {}",
                self.cpus(),
                self.cpus()
            )));
        }
        let all = (0..self.threads).flat_map(|thread| {
            (0..self.all_cores()).map(move |turn| {
                let (socket, turn) = (turn % self.sockets, turn / self.sockets);
                let (cache, core) = (turn % self.caches, turn / self.caches);
                let core = (socket * self.caches + cache) * self.cores + core;
                match self.numbering {
                    Numbering::SiblingsLast => thread * self.all_cores() + core,
                    Numbering::SiblingsTogether => core * self.threads + thread,
                }
            })
        });
        Ok(all.take(workers).collect())
    }
}

/// How long a cache line takes from each CPU to each other, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    cpus: usize,
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
        let lines = text.lines().enumerate();
        let rows: Vec<_> = lines.filter(|(_, line)| !line.trim().is_empty()).collect();
        let cpus = rows.len();
        if !(2..=MOST_CPUS).contains(&cpus) {
            return Err(Refusal::new(format!(
                "a table of latencies has a line for each CPU, from 2 to {MOST_CPUS}; this one has {cpus}"
            )));
        }
        let mut given = vec![None; cpus * cpus];
        for (row, (at, line)) in rows.into_iter().enumerate() {
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
        // A missing one is taken from the other direction.
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

    /// The pair of CPUs that are the furthest from each other, the first of several, and how far that is.
    pub fn slowest(&self) -> (usize, usize, f64) {
        let pairs = (0..self.cpus).flat_map(|from| (from + 1..self.cpus).map(move |to| (from, to)));
        let all = pairs.map(|(from, to)| (from, to, self.ns(from, to).max(self.ns(to, from))));
        let slowest =
            |a: (usize, usize, f64), b: (usize, usize, f64)| if b.2 > a.2 { b } else { a };
        all.reduce(slowest).unwrap_or_default()
    }

    /// CPUs at one cache are in pairs on a core. Each has one other CPU that is closer than half
    /// as far as all others. All these pairs must be numbered alike.
    pub(super) fn topology(&self) -> Topology {
        let half = self.cpus / 2;
        let paired = |numbering| Topology {
            threads: 2,
            numbering,
            ..Topology::of_cores(half)
        };
        let are_pairs = |topology: &Topology| {
            (0..self.cpus).all(|cpu| {
                let among = |distance| {
                    let others = (0..self.cpus)
                        .filter(move |other| topology.distance(cpu, *other) == distance);
                    others
                        .map(|other| self.ns(cpu, other))
                        .fold(f64::INFINITY, f64::min)
                };
                among(Distance::Core) < among(Distance::Cache) / 2.0
            })
        };
        let numberings = [Numbering::SiblingsLast, Numbering::SiblingsTogether];
        let pairs = numberings.into_iter().map(paired).find(are_pairs);
        pairs
            .filter(|_| self.cpus > 2 && self.cpus.is_multiple_of(2))
            .unwrap_or(Topology::of_cores(self.cpus))
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
    use std::collections::BTreeSet;

    use super::*;

    const TWO_SOCKETS: Topology = Topology {
        sockets: 2,
        caches: 2,
        cores: 3,
        threads: 2,
        numbering: Numbering::SiblingsLast,
    };

    #[test]
    fn distances_follow_the_numbers() {
        let far = |a, b| TWO_SOCKETS.distance(a, b);
        assert_eq!(far(4, 4), Distance::Same);
        assert_eq!(far(4, 16), Distance::Core);
        assert_eq!(far(3, 5), Distance::Cache);
        assert_eq!(far(2, 3), Distance::Socket);
        assert_eq!(far(5, 6), Distance::Across);
        let together = Topology {
            numbering: Numbering::SiblingsTogether,
            ..TWO_SOCKETS
        };
        assert_eq!(together.distance(4, 5), Distance::Core);
        assert_eq!(together.distance(5, 6), Distance::Socket);
    }

    #[test]
    fn workers_alternate_between_sockets_and_take_siblings_last() {
        assert_eq!(
            TWO_SOCKETS.placement(14).unwrap(),
            [0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11, 12, 18]
        );
    }

    #[test]
    fn every_cpu_is_taken_once_whatever_its_number_is() {
        for numbering in [Numbering::SiblingsLast, Numbering::SiblingsTogether] {
            let topology = Topology {
                numbering,
                ..TWO_SOCKETS
            };
            let all: BTreeSet<_> = topology.placement(24).unwrap().into_iter().collect();
            assert_eq!(all, (0..24).collect());
        }
    }

    #[test]
    fn more_workers_than_cpus_are_refused() {
        let refusal = TWO_SOCKETS.placement(25).unwrap_err().to_string();
        assert!(refusal.contains("25 workers on 24 CPUs"), "{refusal}");
        assert!(refusal.contains("at most 24"), "{refusal}");
    }

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
