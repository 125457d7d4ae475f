//! The locks between workers, and all that is known of each: one table.
//!
//! A lock is a row here. One that spins is also a type in `suspending/locks.rs`, and a name in
//! `for_each_spin_lock!` there; a mutex and a counter have no type. Simulations, advice, figures,
//! help and tests go by the rows.

use std::fmt;
use std::str::FromStr;

/// The properties of a lock.
#[derive(Clone, Copy, Debug)]
pub struct LockFacts {
    /// The name that users type.
    pub name: &'static str,
    /// How it works, in a clause.
    pub about: &'static str,
    /// The words for its cost besides the work of the pool, a property of a simulated computer.
    pub extra: &'static str,
    /// Its place among all, the simplest first. Of pools that are equally good, the advice
    /// is the one with the simplest lock.
    pub complexity: u8,
    /// Its parts, in a few words: the reason of its complexity.
    pub parts: &'static str,
    /// How a worker waits for it.
    pub waiting: Waiting,
    /// How it gets from its owner to the next.
    pub passing: Passing,
    /// The simulated computers on which pools have it if no lock is named.
    pub simulated: SimulatedOn,
    /// Whether a quick run has it if no lock is named.
    pub is_in_quick_runs: bool,
}

/// How a worker waits for a lock. The costs that this has are properties of a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Not at all.
    Never,
    /// It tells the CPU after each attempt that it waits.
    Relaxing,
    /// It reads a copy of a line.
    Reading,
    /// As that, and it stays away for a while after an attempt in vain.
    BackingOff,
    /// It may give up its CPU.
    Blocking,
}

/// How a lock gets from its owner to the next, where a formula is known for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// No formula is known.
    Unknown,
    /// All waiting workers try to write its line.
    Writes,
    /// All waiting workers read its line again.
    Reads,
    /// One waiting worker is told on a line of its own.
    Link,
}

/// The simulated computers on which pools have a lock if none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedOn {
    /// None.
    Nowhere,
    /// Computers of up to 100 CPUs.
    UpTo100Cpus,
    /// All.
    Everywhere,
}

macro_rules! locks {
    ($($(#[$doc:meta])* $lock:ident { $($fact:ident: $value:expr,)* })*) => {
        /// The kinds of locks between workers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LockKind {
            $($(#[$doc])* $lock,)*
        }

        impl LockKind {
            /// Every kind, in the order in which they are listed to the user. Figures colour them
            /// by their place, so a new one belongs at the end.
            pub const ALL: [Self; [$(stringify!($lock)),*].len()] = [$(Self::$lock),*];

            /// Its row of the table.
            pub const fn facts(self) -> &'static LockFacts {
                match self {
                    $(Self::$lock => &LockFacts { $($fact: $value,)* },)*
                }
            }
        }
    };
}

locks! {
    /// Test-and-set.
    Tas {
        name: "tas",
        about: "test-and-set: every waiting thread keeps trying to write one word",
        extra: "what a take under a TAS lock costs besides",
        complexity: 1,
        parts: "a word",
        waiting: Waiting::Relaxing,
        passing: Passing::Writes,
        simulated: SimulatedOn::Everywhere,
        is_in_quick_runs: true,
    }
    /// Test, then test-and-set, and back off where that fails.
    Ttas {
        name: "ttas",
        about: "test, then test-and-set: threads read the word until it is free, and back off where another was faster",
        extra: "what a take under a TTAS lock costs besides",
        complexity: 3,
        parts: "a word, and a delay to choose",
        waiting: Waiting::BackingOff,
        passing: Passing::Unknown,
        simulated: SimulatedOn::Nowhere,
        is_in_quick_runs: false,
    }
    /// A ticket lock.
    Ticket {
        name: "ticket",
        about: "each thread draws a number and reads a shared word until its number is served",
        extra: "what a take under a ticket lock costs besides",
        complexity: 2,
        parts: "two words",
        waiting: Waiting::Reading,
        passing: Passing::Reads,
        // With more it is as bad as test-and-set.
        simulated: SimulatedOn::UpTo100Cpus,
        is_in_quick_runs: false,
    }
    /// A queue of waiters who spin on lines of their own (Mellor-Crummey and Scott).
    Mcs {
        name: "mcs",
        about: "a queue (Mellor-Crummey and Scott): each thread waits on a cache line of its own",
        extra: "what a take under an MCS lock costs besides",
        complexity: 5,
        parts: "a node for each worker",
        waiting: Waiting::Reading,
        passing: Passing::Link,
        simulated: SimulatedOn::Everywhere,
        is_in_quick_runs: true,
    }
    /// The lock that blocks, of the standard library.
    Mutex {
        name: "mutex",
        about: "the lock of the operating system: a waiting thread sleeps",
        extra: "what a take under a blocking lock costs besides",
        complexity: 4,
        parts: "the operating system",
        waiting: Waiting::Blocking,
        passing: Passing::Unknown,
        simulated: SimulatedOn::Everywhere,
        is_in_quick_runs: true,
    }
    /// No lock, but an atomic counter.
    Counter {
        name: "counter",
        about: "no lock: one atomic addition takes the pages",
        extra: "what a take from a counter costs besides",
        complexity: 0,
        parts: "nothing to hold",
        waiting: Waiting::Never,
        passing: Passing::Unknown,
        simulated: SimulatedOn::Everywhere,
        is_in_quick_runs: true,
    }
}

impl LockKind {
    /// The name that users type.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Every kind, the simplest first.
    pub fn by_complexity() -> [Self; Self::ALL.len()] {
        let mut locks = Self::ALL;
        locks.sort_by_key(|lock| lock.facts().complexity);
        locks
    }

    /// Whether a worker that waits for it may be off the CPU.
    pub fn blocks(self) -> bool {
        self.facts().waiting == Waiting::Blocking
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for LockKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is no lock; there are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_are_written() {
        for kind in LockKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "spin".parse::<LockKind>().unwrap_err();
        assert!(error.contains("tas, ttas, ticket, mcs, mutex, counter"));
    }

    #[test]
    fn no_two_locks_are_equally_complex() {
        let order = LockKind::by_complexity().map(LockKind::name);
        assert_eq!(order[..3], ["counter", "tas", "ticket"]);
        let complexities = LockKind::by_complexity().map(|lock| lock.facts().complexity);
        assert!(complexities.is_sorted_by(|a, b| a < b), "{complexities:?}");
    }
}
