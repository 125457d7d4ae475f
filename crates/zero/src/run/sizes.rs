//! How much memory a pass is about.

use punctual_program::Refusal;
use punctual_zero_memory::{Cache, PAGE};

use super::{Area, Memory, Settings};
use crate::probe::in_words;

#[derive(Clone, Debug)]
pub(super) struct Sizes {
    pub(super) caches: Vec<Cache>,
    pub(super) cpus: usize,
    /// The bytes that are free, where the system tells.
    pub(super) free: Option<u64>,
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
    pub(super) fn limit(&self, settings: &Settings) -> Result<u64, Refusal> {
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
    pub(super) fn given(&self, bytes: u64, settings: &Settings) -> Result<Area, Refusal> {
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
    pub(super) fn named(&self, memory: Memory, settings: &Settings) -> Result<Area, Refusal> {
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
    use super::*;
    use punctual_zero_memory::CacheKind;

    fn cache(level: u8, bytes: u64, shared_by: usize) -> Cache {
        Cache {
            level,
            kind: CacheKind::Unified,
            bytes,
            line_bytes: Some(64),
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
