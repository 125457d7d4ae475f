//! From the watching thread to the collecting one, without a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_core::Nanos;
use punctual_os::meter::{Counts, Faults};
use punctual_os::thread::Switches;

use super::{Missed, Seen, Wake};

/// The two ends of a ring with room for so many entries, all of it touched.
pub(super) fn ring(room: usize) -> (Writer, Reader) {
    // Not zero, which an allocator may hand out without a page behind it.
    let slot = || std::array::from_fn(|_| AtomicU64::new(NOT_COUNTED));
    let shared = Arc::new(Shared {
        slots: (0..room).map(|_| slot()).collect(),
        written: AtomicU64::new(0),
        read: AtomicU64::new(0),
        lost: AtomicU64::new(0),
    });
    (Writer(Arc::clone(&shared)), Reader(shared))
}

/// The end of the thread that waits.
#[derive(Debug)]
pub(super) struct Writer(Arc<Shared>);

/// The end of the thread that collects.
#[derive(Debug)]
pub(super) struct Reader(Arc<Shared>);

impl Writer {
    /// Puts in what was seen, or counts its deadlines as lost where there is no room.
    pub(super) fn push(&mut self, seen: &Seen) {
        let ring = &*self.0;
        let written = ring.written.load(Ordering::Relaxed);
        // With the reader's release: what it has read may be written over.
        if written - ring.read.load(Ordering::Acquire) == ring.slots.len() as u64 {
            ring.lost.fetch_add(seen.deadlines(), Ordering::Relaxed);
            return;
        }
        for (word, value) in ring.slot(written).iter().zip(words_of(seen)) {
            word.store(value, Ordering::Relaxed);
        }
        ring.written.store(written + 1, Ordering::Release);
    }
}

impl Reader {
    /// Takes out the oldest entry.
    pub(super) fn pop(&mut self) -> Option<Seen> {
        let ring = &*self.0;
        let read = ring.read.load(Ordering::Relaxed);
        // With the writer's release: what it has written is there.
        if read == ring.written.load(Ordering::Acquire) {
            return None;
        }
        let slot = ring.slot(read);
        let words = std::array::from_fn(|i| slot[i].load(Ordering::Relaxed));
        ring.read.store(read + 1, Ordering::Release);
        Some(seen_of(words))
    }

    /// Deadlines of entries for which there was no room.
    pub(super) fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

/// An entry, a word for each number: one line of the cache.
type Slot = [AtomicU64; WORDS];
const WORDS: usize = 8;

/// Stands for what the OS does not count.
const NOT_COUNTED: u64 = u64::MAX;

#[derive(Debug)]
struct Shared {
    slots: Box<[Slot]>,
    /// Entries ever put in.
    written: AtomicU64,
    /// Entries ever taken out.
    read: AtomicU64,
    lost: AtomicU64,
}

impl Shared {
    fn slot(&self, index: u64) -> &Slot {
        &self.slots[(index % self.slots.len() as u64) as usize]
    }
}

/// In the first word, whose other bits are an instant: these are missed deadlines.
const MISSED: u64 = 1 << 63;

fn words_of(seen: &Seen) -> [u64; WORDS] {
    match seen {
        Seen::Wake(wake) => words_of_wake(wake),
        Seen::Missed(missed) => {
            let mut words = [0; WORDS];
            words[0] = missed.first.as_ns() | MISSED;
            words[1] = missed.count;
            words[2] = missed.given_up.as_ns();
            words
        }
    }
}

fn seen_of(words: [u64; WORDS]) -> Seen {
    let [first, count, given_up, ..] = words;
    match first & MISSED {
        0 => Seen::Wake(wake_of(words)),
        _ => Seen::Missed(Missed {
            first: Nanos::new(first & !MISSED),
            count,
            given_up: Nanos::new(given_up),
        }),
    }
}

fn words_of_wake(wake: &Wake) -> [u64; WORDS] {
    let Counts {
        queued,
        cpu,
        switches,
        faults,
    } = wake.counts;
    [
        wake.due.as_ns(),
        wake.late.as_ns(),
        queued.map_or(NOT_COUNTED, Nanos::as_ns),
        cpu.map_or(NOT_COUNTED, Nanos::as_ns),
        switches.map_or(NOT_COUNTED, |s| s.voluntary),
        switches.map_or(NOT_COUNTED, |s| s.involuntary),
        faults.map_or(NOT_COUNTED, |f| f.minor),
        faults.map_or(NOT_COUNTED, |f| f.major),
    ]
}

fn wake_of(words: [u64; WORDS]) -> Wake {
    let [due, late, counted @ ..] = words;
    let counted = counted.map(|word| (word != NOT_COUNTED).then_some(word));
    let [queued, cpu, voluntary, involuntary, minor, major] = counted;
    let switches = voluntary.zip(involuntary);
    Wake {
        due: Nanos::new(due),
        late: Nanos::new(late),
        counts: Counts {
            queued: queued.map(Nanos::new),
            cpu: cpu.map(Nanos::new),
            switches: switches.map(|(voluntary, involuntary)| Switches {
                voluntary,
                involuntary,
            }),
            faults: minor
                .zip(major)
                .map(|(minor, major)| Faults { minor, major }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: u64) -> Seen {
        match number % 3 {
            0 => Seen::Missed(Missed {
                first: Nanos::new(number),
                count: number + 1,
                given_up: Nanos::new(number + 2),
            }),
            _ => Seen::Wake(wake(number)),
        }
    }

    fn number_of(seen: Seen) -> u64 {
        match seen {
            Seen::Wake(wake) => wake.due.as_ns(),
            Seen::Missed(missed) => missed.first.as_ns(),
        }
    }

    fn wake(number: u64) -> Wake {
        let counted = number.is_multiple_of(2).then_some(number);
        Wake {
            due: Nanos::new(number),
            late: Nanos::new(number + 1),
            counts: Counts {
                queued: counted.map(Nanos::new),
                cpu: Some(Nanos::new(number + 2)),
                switches: counted.map(|n| Switches {
                    voluntary: n + 3,
                    involuntary: n + 4,
                }),
                faults: counted.map(|n| Faults {
                    minor: n + 5,
                    major: n + 6,
                }),
            },
        }
    }

    #[test]
    fn what_goes_in_comes_out_until_there_is_no_room() {
        let (mut writer, mut reader) = ring(3);
        assert_eq!(reader.pop(), None);
        for round in 0..5 {
            (0..3).for_each(|i| writer.push(&seen(9 * round + i)));
            writer.push(&Seen::Wake(wake(7)));
            for i in 0..3 {
                assert_eq!(reader.pop(), Some(seen(9 * round + i)));
            }
            assert_eq!(reader.pop(), None);
            assert_eq!(reader.lost(), round + 1);
        }
        (0..3).for_each(|i| writer.push(&seen(i)));
        writer.push(&seen(12));
        assert_eq!(reader.lost(), 5 + 13);
    }

    /// Two threads at once: all that was not lost arrives, whole and in order.
    #[test]
    fn nothing_is_torn_between_threads() {
        const ENTRIES: u64 = 100_000;
        let (mut writer, mut reader) = ring(64);
        let writing = std::thread::spawn(move || {
            (0..ENTRIES).for_each(|i| writer.push(&seen(i)));
        });
        let (mut came, mut next) = (0, 0);
        loop {
            let over = writing.is_finished();
            while let Some(found) = reader.pop() {
                let number = number_of(found);
                assert!(number >= next);
                assert_eq!(found, seen(number));
                (came, next) = (came + found.deadlines(), number + 1);
            }
            if over {
                break;
            }
        }
        writing.join().unwrap();
        let deadlines: u64 = (0..ENTRIES).map(|i| seen(i).deadlines()).sum();
        assert_eq!(came + reader.lost(), deadlines);
    }
}
