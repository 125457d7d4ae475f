//! Where the logical CPUs of a computer are: in which socket, at which
//! last-level cache, on which core.

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
    /// What their numbers are like.
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

/// Where a logical CPU is. All numbers count over the whole computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The socket.
    pub socket: usize,
    /// The last-level cache.
    pub cache: usize,
    /// The core.
    pub core: usize,
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
    /// How many logical CPUs there are.
    pub const fn cpus(&self) -> usize {
        self.all_cores() * self.threads
    }

    const fn all_cores(&self) -> usize {
        self.sockets * self.caches * self.cores
    }

    /// Where the CPU of this number is.
    pub const fn place(&self, cpu: usize) -> Place {
        let core = match self.numbering {
            Numbering::SiblingsLast => cpu % self.all_cores(),
            Numbering::SiblingsTogether => cpu / self.threads,
        };
        Place {
            socket: core / (self.caches * self.cores),
            cache: core / self.cores,
            core,
        }
    }

    /// How far apart two CPUs are.
    pub fn distance(&self, one: usize, other: usize) -> Distance {
        let (a, b) = (self.place(one), self.place(other));
        if one == other {
            Distance::Same
        } else if a.core == b.core {
            Distance::Core
        } else if a.cache == b.cache {
            Distance::Cache
        } else if a.socket == b.socket {
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

    /// The CPUs that so many workers run on, one each: the sockets take turns,
    /// inside each its caches do, and a core gets a second worker only when all
    /// cores have one. So schedulers place threads that are all busy; which
    /// core of a cache comes first makes no difference here.
    ///
    /// # Errors
    /// There are more workers than CPUs. Queued locks hand over to a named
    /// waiter, and a waiter without a CPU stops all the others for a time
    /// slice: that is another experiment than that of a crowded lock.
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
}
