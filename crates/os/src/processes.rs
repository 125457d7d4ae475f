//! Which processes ran, and where: what Linux tells of every thread in `/proc`.
//! Elsewhere, and where that is closed, nothing is told.

use crate::clock::{self, Tick};
use crate::thread;
use punctual_core::Nanos;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How long every thread of the computer had run by some instant.
#[derive(Clone, Debug)]
pub struct Runtimes {
    at: Tick,
    took: Nanos,
    threads: HashMap<Thread, Nanos>,
}

/// The numbers of a process and of one of its threads.
type Thread = (u32, u32);

/// The time one process ran between two instants, on one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its number.
    pub pid: u32,
    /// Its name, as it gave it to itself; at most 15 bytes, of any kind.
    pub name: String,
    /// The CPU that its threads were on last. They may have been on others.
    pub cpu: usize,
    /// For how long.
    pub time: Nanos,
}

impl Runtimes {
    /// Reads them; `None` where nothing is told.
    ///
    /// # Accuracy
    /// To the nanosecond for threads that were off their CPU since, to a tick for
    /// those that run. Takes some 5 us for each thread of the computer, as
    /// [`took`](Self::took) says.
    pub fn read() -> Option<Self> {
        let at = clock::now();
        let began = thread::cpu_time();
        let mut threads = HashMap::new();
        for (pid, process) in numbered(Path::new("/proc"))? {
            // One that has ended meanwhile is none.
            for (tid, task) in numbered(&process.join("task")).into_iter().flatten() {
                if let Some(ran) = runtime(&task) {
                    threads.insert((pid, tid), ran);
                }
            }
        }
        // The time it waits for a CPU is no cost.
        let took = match began.zip(thread::cpu_time()) {
            Some((began, ended)) => Nanos::new(ended.ns.saturating_sub(began.ns)),
            None => clock::now().since(at),
        };
        (!threads.is_empty()).then_some(Self { at, took, threads })
    }

    /// When it was read.
    pub fn at(&self) -> Tick {
        self.at
    }

    /// The CPU time that reading it took.
    pub fn took(&self) -> Nanos {
        self.took
    }

    /// The processes that ran after `before`, the longest first, without this process and those
    /// that it started. A thread that has ended since is missing.
    pub fn others_since(&self, before: &Self) -> Vec<Ran> {
        let mut others: Vec<Ran> = Vec::new();
        let mut is_own = HashMap::from([(std::process::id(), true), (0, false)]);
        for (&(pid, tid), &ran) in &self.threads {
            let time = ran - before.threads.get(&(pid, tid)).copied().unwrap_or_default();
            if time.is_zero() || descends(pid, &mut is_own) {
                continue;
            }
            let Some(stat) = Stat::read(&PathBuf::from(format!("/proc/{pid}/task/{tid}"))) else {
                continue;
            };
            match others
                .iter_mut()
                .find(|other| (other.pid, other.cpu) == (pid, stat.cpu))
            {
                Some(other) => other.time += time,
                None => others.push(Ran {
                    pid,
                    name: name(pid).unwrap_or(stat.name),
                    cpu: stat.cpu,
                    time,
                }),
            }
        }
        others.sort_by_key(|ran| (std::cmp::Reverse(ran.time), ran.pid, ran.cpu));
        others
    }
}

/// The entries of a folder that are called by numbers.
fn numbered(folder: &Path) -> Option<impl Iterator<Item = (u32, PathBuf)>> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    Some(entries.filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path()))
    }))
}

/// The first number of schedstat (Linux, Documentation/scheduler/sched-stats.rst).
fn runtime(task: &Path) -> Option<Nanos> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    let ns = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Nanos::new(ns))
}

/// Whether a process is this one or was started by it, directly or not.
fn descends(pid: u32, known: &mut HashMap<u32, bool>) -> bool {
    if let Some(&own) = known.get(&pid) {
        return own;
    }
    let parent = Stat::read(&PathBuf::from(format!("/proc/{pid}"))).map_or(0, |stat| stat.parent);
    let own = parent != pid && descends(parent, known);
    known.insert(pid, own);
    own
}

fn name(pid: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

/// The fields of proc_pid_stat(5) for a process or a thread.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    name: String,
    parent: u32,
    cpu: usize,
}

impl Stat {
    fn read(of: &Path) -> Option<Self> {
        Self::parse(&String::from_utf8_lossy(&fs::read(of.join("stat")).ok()?))
    }

    /// The name is in brackets and may contain some itself.
    fn parse(stat: &str) -> Option<Self> {
        /// Columns behind the name.
        const PARENT: usize = 1;
        const CPU: usize = 36;
        let (name, columns) = stat.split_once('(')?.1.rsplit_once(')')?;
        let columns: Vec<&str> = columns.split_ascii_whitespace().collect();
        Some(Self {
            name: name.to_owned(),
            parent: columns.get(PARENT)?.parse().ok()?,
            cpu: columns.get(CPU)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_end_of_itself() {
        let stat = "77 (a) R (b) S 12 77 77 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 17 3 0 0";
        let parsed = Stat::parse(stat).unwrap();
        assert_eq!(
            parsed,
            Stat {
                name: "a) R (b".to_owned(),
                parent: 12,
                cpu: 3
            }
        );
        assert_eq!(Stat::parse("77 (a"), None);
        assert_eq!(Stat::parse("77 (a) S 12"), None);
    }

    /// On a system that does not tell, there is nothing to see.
    #[test]
    fn this_process_is_no_other() {
        let Some(before) = Runtimes::read() else {
            return;
        };
        let computed = (0..100_000_u64).fold(0_u64, |sum, n| sum.wrapping_mul(31) ^ n);
        assert_ne!(computed, 1);
        std::thread::yield_now();
        let after = Runtimes::read().unwrap();
        assert!(after.at() > before.at());
        let others = after.others_since(&before);
        assert!(others.iter().all(|ran| ran.pid != std::process::id()));
        assert!(others.is_sorted_by(|a, b| a.time >= b.time));
        // The time that everything ran since the start.
        let nobody = Runtimes {
            threads: HashMap::new(),
            ..before
        };
        let since_boot = after.others_since(&nobody);
        assert!(since_boot.len() >= others.len());
    }
}
