//! The product of everything that was asked for, without what cannot be.

use punctual_program::Refusal;
use punctual_record::Warning;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, Dequeue, LockKind};

use super::sizes::Sizes;
use super::{Area, Cell, Memory, Settings};
use crate::Grid;

/// Cells, and what became none.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    pub(super) cells: Vec<Cell>,
    pub(super) left_out: Vec<Warning>,
}

impl Cells {
    /// Everything that `settings` ask for, on a computer with such `sizes`.
    ///
    /// # Errors
    /// What is asked for cannot be, or nothing of it can.
    pub(super) fn of(settings: &Settings, sizes: &Sizes) -> Result<Self, Refusal> {
        let mut cells = Self::default();
        let areas = cells.areas(settings, sizes)?;
        let kernels = kernels(settings)?;
        let dequeues = settings.dequeues.clone().unwrap_or(vec![Dequeue::Range]);
        for dequeue in dequeues {
            let (asked, left_out) = grid(settings, sizes.cpus, dequeue)?.settings();
            for why in left_out {
                cells.leave_out(format!("Left out: {why}."), "Leave one of them out.");
            }
            for &area in &areas {
                for &kernel in &kernels {
                    for &setting in &asked {
                        let bursts = settings.bursts;
                        let cell = Cell {
                            setting,
                            kernel,
                            area,
                            bursts,
                        };
                        cells.add(cell, settings, sizes.cpus);
                    }
                }
            }
        }
        if cells.cells.is_empty() {
            let why: Vec<&str> = cells
                .left_out
                .iter()
                .map(|w| w.what.trim_start_matches("Left out: "))
                .collect();
            return Err(Refusal::new(format!(
                "nothing is left to measure: {}",
                why.join(" ")
            )));
        }
        Ok(cells)
    }

    fn add(&mut self, cell: Cell, settings: &Settings, cpus: usize) {
        let crowded = cell.setting.workers > cpus && cell.area.memory == Memory::Hot;
        if crowded && settings.threads.is_none() {
            self.leave_out(
                format!(
                    "{} workers on hot memory were left out: a pass would be over within a time slice of one of them.",
                    cell.setting.workers
                ),
                "Name them with --threads to measure them all the same.",
            );
        } else if !self.cells.contains(&cell) {
            self.cells.push(cell);
        }
    }

    /// One line for each reason.
    fn leave_out(&mut self, what: String, remedy: &str) {
        let left_out = Warning {
            what,
            remedy: remedy.to_owned(),
        };
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }

    /// What a name stands for may be too much for this computer: of several, that
    /// one is left out.
    fn areas(&mut self, settings: &Settings, sizes: &Sizes) -> Result<Vec<Area>, Refusal> {
        if let Some(bytes) = settings.bytes {
            return Ok(vec![sizes.given(bytes, settings)?]);
        }
        let memories = settings.memories.clone();
        let memories = memories.unwrap_or_else(|| vec![Memory::Hot, Memory::Cold]);
        let mut areas = Vec::new();
        for &memory in &memories {
            match sizes.named(memory, settings) {
                Ok(area) => areas.push(area),
                Err(why) if memories.len() == 1 => return Err(why),
                Err(why) => self.leave_out(
                    format!("{} memory was left out: {why}.", memory.name()),
                    "Free memory, or allow more.",
                ),
            }
        }
        Ok(areas)
    }
}

/// # Errors
/// There can be no such team.
fn grid(settings: &Settings, cpus: usize, dequeue: Dequeue) -> Result<Grid, Refusal> {
    let locks = || locks(settings);
    let batches = || batches(settings);
    Ok(Grid {
        threads: threads(settings, cpus)?,
        locks: settings.locks.clone().unwrap_or_else(locks),
        batches: settings.batches.clone().unwrap_or_else(batches),
        dequeue,
        returns: settings.returns,
    })
}

/// # Errors
/// This CPU does not have one of those that were named.
fn kernels(settings: &Settings) -> Result<Vec<Kernel>, Refusal> {
    let kernels = settings.kernels.clone().unwrap_or(vec![Kernel::Memset]);
    for kernel in &kernels {
        kernel
            .check()
            .map_err(|why| Refusal::new(why.to_string()))?;
    }
    Ok(kernels)
}

/// Up to so many workers for each CPU. With 39, as in the article's first test,
/// this computer is far beyond what makes sense already, and each is a thread.
const MOST_PER_CPU: usize = 64;

/// # Errors
/// There can be no such team.
fn threads(settings: &Settings, cpus: usize) -> Result<Vec<usize>, Refusal> {
    let Some(threads) = &settings.threads else {
        return Ok(usual_threads(settings, cpus));
    };
    let most = cpus * MOST_PER_CPU;
    for &workers in threads {
        if workers == 0 {
            return Err(Refusal::new(
                "0 threads zero nothing; give one at least with --threads",
            ));
        }
        if workers > most {
            return Err(Refusal::new(format!(
                "{workers} threads are too many for the CPUs of this process ({cpus}); give {most} at most with \
                 --threads"
            )));
        }
    }
    Ok(threads.clone())
}

fn usual_threads(settings: &Settings, cpus: usize) -> Vec<usize> {
    let mut threads: Vec<usize> = std::iter::successors(Some(1), |n| Some(2 * n))
        .take_while(|n| *n < cpus)
        .collect();
    if settings.quick {
        threads.truncate(1);
    }
    threads.push(cpus);
    if !settings.quick {
        threads.push(2 * cpus);
    }
    threads.dedup();
    threads
}

fn locks(settings: &Settings) -> Vec<LockKind> {
    let all = LockKind::all().into_iter();
    // One of each family.
    let is_quick = |lock: &LockKind| {
        let slow = matches!(lock, LockKind::Ttas(_) | LockKind::Ticket);
        !(settings.quick && slow)
    };
    all.filter(is_quick).collect()
}

/// What Windows 10 does, what the article advises at least and well beyond that,
/// and the usual way of loop schedulers.
fn batches(settings: &Settings) -> Vec<Batch> {
    if settings.quick {
        return vec![Batch::One, Batch::Fixed(64)];
    }
    vec![
        Batch::One,
        Batch::TwiceWorkers,
        Batch::Fixed(64),
        Batch::GUIDED,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(cpus: usize) -> Sizes {
        Sizes {
            caches: vec![],
            cpus,
            free: Some(8 << 30),
        }
    }

    fn cells(settings: &Settings) -> Cells {
        Cells::of(settings, &sizes(2)).unwrap()
    }

    #[test]
    fn the_usual_grid_doubles_workers_up_to_twice_the_cpus() {
        for (cpus, threads) in [
            (1, vec![1, 2]),
            (2, vec![1, 2, 4]),
            (6, vec![1, 2, 4, 6, 12]),
            (8, vec![1, 2, 4, 8, 16]),
        ] {
            assert_eq!(usual_threads(&Settings::default(), cpus), threads);
        }
        let cells = cells(&Settings::default());
        // 6 locks, 4 batches; 2 numbers of workers hot and 3 cold.
        assert_eq!(cells.cells.len(), 6 * 4 * (2 + 3));
        let crowded = |cell: &&Cell| cell.setting.workers > 2;
        let mut crowded = cells.cells.iter().filter(crowded);
        assert!(crowded.all(|cell| cell.area.memory == Memory::Cold));
        assert_eq!(cells.left_out.len(), 1);
    }

    #[test]
    fn what_cannot_be_is_left_out_once_and_refused_alone() {
        let both = Settings {
            threads: Some(vec![1, 2]),
            locks: Some(vec![LockKind::Mcs, LockKind::Counter]),
            batches: Some(vec![Batch::Growing]),
            ..Settings::default()
        };
        let cells = cells(&both);
        assert!(cells.cells.iter().all(|c| c.setting.lock == LockKind::Mcs));
        assert!(
            cells.left_out[0]
                .what
                .starts_with("Left out: batch growing remembers")
        );
        let alone = Settings {
            locks: Some(vec![LockKind::Counter]),
            ..both
        };
        let why = Cells::of(&alone, &sizes(2)).unwrap_err().to_string();
        assert!(
            why.starts_with("nothing is left to measure: batch growing"),
            "{why}"
        );
    }

    #[test]
    fn no_threads_and_absurdly_many_are_refused() {
        for (threads, says) in [(0, "give one at least"), (129, "give 128 at most")] {
            let settings = Settings {
                threads: Some(vec![1, threads]),
                ..Settings::default()
            };
            let why = Cells::of(&settings, &sizes(2)).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn named_twice_is_measured_once() {
        let settings = Settings {
            threads: Some(vec![1, 1]),
            batches: Some(vec![Batch::One, Batch::One]),
            locks: Some(vec![LockKind::Tas]),
            bytes: Some(1 << 20),
            ..Settings::default()
        };
        assert_eq!(cells(&settings).cells.len(), 1);
    }
}
