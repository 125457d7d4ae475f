//! A pool of workers that zero the memory of this computer, under many settings
//! that take turns in rounds.
//!
//! | file | what it is about |
//! |---|---|
//! | this one | what the user asks for, and how much memory a pass is about, hot or cold; facts and warnings that a reader has to know |
//! | `cells` | one setting on one memory; the product of everything that was asked for, without what cannot be |
//! | `plan` | what is measured, the memory for it and how fast that is, how long it takes, and the rounds |
//! | `tally` | what the rounds of a cell add up to |
//!
//! How a pass goes, and what it does not time, is in
//! [`host`](crate::host).

mod cells;
mod plan;
mod tally;

use punctual_program::Refusal;
use punctual_record::{MachineFacts, Warning};
use punctual_zero_memory::{Cache, Kernel, PAGE};
use punctual_zero_pool::{Batch, Dequeue, LockKind};

use crate::probe::in_words;
use crate::rows::ZeroRow;

pub use crate::host::Bursts;
pub use cells::{Area, Cell, Memory};
pub use plan::PoolPlan;

/// The measurements that the user wants. Open choices are made to suit this computer.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether to measure less.
    pub quick: bool,
    /// The numbers of workers. Else 1, 2, 4 and so on up to the number of CPUs,
    /// and twice that.
    pub threads: Option<Vec<usize>>,
    /// The locks. Else all.
    pub locks: Option<Vec<LockKind>>,
    /// How many pages are taken at a time. Else 1, twice the number of workers, 64
    /// and guided.
    pub batches: Option<Vec<Batch>>,
    /// How they are taken. Else as ranges.
    pub dequeues: Option<Vec<Dequeue>>,
    /// The lock of the list that zeroed pages are put into, if there is one.
    pub returns: Option<LockKind>,
    /// How a page is zeroed. Else by `memset`.
    pub kernels: Option<Vec<Kernel>>,
    /// How much memory. Else so much that it stays in a cache, and so much that
    /// it does not.
    pub memories: Option<Vec<Memory>>,
    /// Or so many bytes.
    pub bytes: Option<u64>,
    /// Whether pages come in bursts. Else they are all there.
    pub bursts: Option<Bursts>,
    /// How often each setting gets its turn. Else 6 times, in a quick run 3 times.
    pub rounds: Option<u32>,
    /// The most memory to use, in bytes. Else half of what is free.
    pub memory_limit: Option<u64>,
}

/// The warnings that pools on this computer deserve, after so many rounds.
pub fn warnings(facts: &MachineFacts, results: &[ZeroRow], rounds: u32) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String, remedy| warnings.push(Warning::new(what, remedy));
    if facts.host.wine.is_some() {
        warn(
            "This is Wine: threads and memory are those of the system underneath.".to_owned(),
            "Measure on Windows itself to learn about Windows.",
        );
    }
    let mut zeroed = results.iter().filter_map(ZeroRow::zeroed);
    if zeroed.any(|zeroed| zeroed.cpu_is_approximate) {
        warn(
            format!(
                "The CPU time of a thread is not counted exactly here ({}): where the count is too coarse for a pass, \
                 the time that passed stands for it, and a worker that is parked for one that computes.",
                facts.cpu_time
            ),
            "Do not read anything into small differences of GB per CPU-s.",
        );
    }
    if rounds < 6 && !results.is_empty() {
        warn(
            punctual_report::too_few_rounds(rounds),
            "Leave out --quick; of `zero run` give --rounds 6 or more.",
        );
    }
    let mut zeroings = results.iter().filter_map(ZeroRow::zeroing);
    if zeroings.any(|zeroing| zeroing.oversubscribed) {
        warn(
            "Some settings have more workers than CPUs: they measure the scheduler, and a queued lock waits for \
             a worker without a CPU."
                .to_owned(),
            "Do not draw them into one curve with the others.",
        );
    }
    if facts.host.governor.as_deref() == Some("powersave") {
        warn(
            "The CPU frequency governor is `powersave`: a pass may be over before the CPU is fast."
                .to_owned(),
            "Compare with: sudo cpupower frequency-set -g performance",
        );
    }
    if facts.host.virtual_machine == Some(true) {
        warn(
            "This is a virtual machine: its host can take the CPU from the owner of the lock while others wait for \
             it, which does not show here."
                .to_owned(),
            "Look at medians, and trust ratios within this run rather than absolute rates.",
        );
    }
    warnings
}

#[derive(Clone, Debug)]
struct Sizes {
    caches: Vec<Cache>,
    cpus: usize,
    /// The bytes that are free, where the system tells.
    free: Option<u64>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The fewest pages of a hot pass: less is over before all workers have begun.
const LEAST_HOT: u64 = 64 * PAGE as u64;

/// Where nothing tells of caches: no more than any CPU has that runs this, and as
/// much as the largest of desktops.
const UNTOLD_SECOND: u64 = 512 * KIB;
const UNTOLD_LAST: u64 = 64 * MIB;

/// Where the system does not tell what is free.
const UNTOLD_FREE: u64 = 1 << 30;

impl Sizes {
    /// The most that may be used.
    fn limit(&self, settings: &Settings) -> Result<u64, Refusal> {
        match (settings.memory_limit, self.free) {
            (Some(limit), Some(free)) if limit > free => Err(Refusal::new(format!(
                "--memory-limit {}: only {} are free; give less",
                in_words(limit),
                in_words(free)
            ))),
            (Some(limit), _) => Ok(limit),
            (None, free) => Ok(free.unwrap_or(UNTOLD_FREE) / 2),
        }
    }

    /// As much as the user says.
    fn given(&self, bytes: u64, settings: &Settings) -> Result<Area, Refusal> {
        let limit = self.limit(settings)?;
        if bytes == 0 {
            return Err(Refusal::new(
                "--size 0: there is nothing to zero; give more",
            ));
        }
        if bytes > limit {
            let size = in_words(bytes);
            let limit = in_words(limit);
            return Err(Refusal::new(match (settings.memory_limit, self.free) {
                (Some(_), _) => format!(
                    "--size {size} is more than the {limit} of --memory-limit; give less, or allow more"
                ),
                (None, Some(free)) => format!(
                    "--size {size} is more than half of the {} that are free; give less, or allow more with \
                     --memory-limit",
                    in_words(free)
                ),
                (None, None) => format!(
                    "--size {size} is more than {limit}, and this system does not tell what is free; give less, or \
                     allow more with --memory-limit"
                ),
            }));
        }
        let memory = match bytes {
            _ if bytes <= self.second() => Memory::Hot,
            _ if bytes < 2 * self.last() => Memory::Warm,
            _ => Memory::Cold,
        };
        Ok(area(memory, bytes))
    }

    /// As much as belongs to a name, in a quick run less where that will do.
    fn named(&self, memory: Memory, settings: &Settings) -> Result<Area, Refusal> {
        let limit = self.limit(settings)?;
        let (least, wanted) = match memory {
            Memory::Hot => {
                let half = LEAST_HOT.max(self.second() / 2);
                (half, half)
            }
            Memory::Warm => (self.last() / 2, self.last() / 2),
            Memory::Cold => {
                let least = 2 * self.last();
                let (quick, whole) = (least.max(64 * MIB), (2 * least).max(256 * MIB));
                (least, if settings.quick { quick } else { whole })
            }
        };
        if limit < least {
            return Err(Refusal::new(format!(
                "{} memory is {} at least here, and {} may be used; allow more with --memory-limit",
                memory.name(),
                in_words(least),
                in_words(limit)
            )));
        }
        Ok(area(memory, wanted.min(limit)))
    }

    /// The second cache, the smallest there is.
    fn second(&self) -> u64 {
        let second = self.caches.iter().filter(|cache| cache.level == 2);
        second
            .map(|cache| cache.bytes)
            .min()
            .unwrap_or(UNTOLD_SECOND)
    }

    /// All caches of the last level together: workers use those of their CPUs.
    fn last(&self) -> u64 {
        let Some(last) = self.caches.last() else {
            return UNTOLD_LAST;
        };
        let each = last.shared_by.len().max(1);
        let told = !last.shared_by.is_empty();
        let caches = if told { self.cpus.div_ceil(each) } else { 1 };
        last.bytes * caches as u64
    }
}

fn area(memory: Memory, bytes: u64) -> Area {
    Area {
        memory,
        pages: bytes.div_ceil(PAGE as u64),
    }
}

#[cfg(test)]
mod tests {
    use punctual_zero_memory::CacheKind;

    use super::*;
    use crate::rows::ZeroedPages;

    #[test]
    fn each_is_told_where_it_holds() {
        let mut facts = MachineFacts::default();
        let mut result = ZeroRow::pool("tas", ZeroedPages::default());
        let none: [Warning; 0] = [];
        assert_eq!(warnings(&facts, std::slice::from_ref(&result), 6), none);
        facts.host.virtual_machine = Some(true);
        facts.host.governor = Some("powersave".to_owned());
        facts.host.wine = Some("8.0".to_owned());
        let zeroed = result.zeroed_mut().unwrap();
        zeroed.cpu_is_approximate = true;
        zeroed.zero.oversubscribed = true;
        let warned = warnings(&facts, &[result], 5);
        for says in [
            "Wine",
            "not counted exactly",
            "(5 of 6)",
            "more workers than CPUs",
            "powersave",
            "virtual machine",
        ] {
            assert!(warned.iter().any(|w| w.what.contains(says)), "{says}");
        }
        assert_eq!(warned.len(), 6);
    }

    fn cache(level: u8, bytes: u64, shared_by: usize) -> Cache {
        Cache {
            level,
            kind: CacheKind::Unified,
            bytes,
            shared_by: (0..shared_by).collect(),
        }
    }

    /// An EPYC of two last caches.
    fn sizes() -> Sizes {
        Sizes {
            caches: vec![
                cache(1, 32 * KIB, 2),
                cache(2, MIB, 2),
                cache(3, 32 * MIB, 16),
            ],
            cpus: 32,
            free: Some(8 << 30),
        }
    }

    #[test]
    fn names_are_sizes_of_caches() {
        let quick = Settings {
            quick: true,
            ..Settings::default()
        };
        for (memory, settings, bytes) in [
            (Memory::Hot, Settings::default(), 512 * KIB),
            (Memory::Cold, Settings::default(), 256 * MIB),
            (Memory::Cold, quick, 128 * MIB),
        ] {
            let area = sizes().named(memory, &settings).unwrap();
            assert_eq!((area.memory, area.bytes()), (memory, bytes));
        }
        let untold = Sizes {
            caches: vec![],
            ..sizes()
        };
        let cold = untold.named(Memory::Cold, &Settings::default()).unwrap();
        assert_eq!(cold.bytes(), 256 * MIB);
    }

    #[test]
    fn cold_memory_is_less_where_little_is_free_and_refused_where_it_would_be_warm() {
        let with = |free| Sizes {
            free: Some(free),
            ..sizes()
        };
        let cold = |free| with(free).named(Memory::Cold, &Settings::default());
        assert_eq!(cold(300 * MIB).unwrap().bytes(), 150 * MIB);
        let why = cold(200 * MIB).unwrap_err().to_string();
        assert_eq!(
            why,
            "cold memory is 128 MiB at least here, and 100 MiB may be used; allow more with --memory-limit"
        );
    }

    #[test]
    fn a_size_is_called_what_it_is() {
        for (bytes, memory, pages) in [
            (1, Memory::Hot, 1),
            (MIB, Memory::Hot, 256),
            (2 * MIB, Memory::Warm, 512),
            (128 * MIB, Memory::Cold, 32_768),
        ] {
            let area = sizes().given(bytes, &Settings::default()).unwrap();
            assert_eq!((area.memory, area.pages), (memory, pages), "{bytes}");
        }
    }

    #[test]
    fn too_much_says_how_much_there_is_and_what_to_do() {
        let limited = |limit| Settings {
            memory_limit: Some(limit),
            ..Settings::default()
        };
        for (bytes, settings, says) in [
            (0, Settings::default(), "nothing to zero"),
            (
                5 << 30,
                Settings::default(),
                "--size 5 GiB is more than half of the 8 GiB that are free; give less, or allow more with --memory-limit",
            ),
            (2 * MIB, limited(MIB), "the 1 MiB of --memory-limit"),
            (
                MIB,
                limited(9 << 30),
                "--memory-limit 9 GiB: only 8 GiB are free",
            ),
        ] {
            let why = sizes().given(bytes, &settings).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
        assert!(sizes().given(5 << 30, &limited(6 << 30)).is_ok());
    }
}
