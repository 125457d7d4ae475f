//! What a worker keeps, and which of it counts.

use punctual_core::Nanos;
use punctual_zero_pool::{Accounting, Sample};

/// Accounting whose room has been touched, so that no page fault is timed.
pub(super) fn with_room(every: u32, room: usize) -> Accounting {
    let mut accounting = Accounting::new(every, room);
    accounting.samples.resize(room, Sample::default());
    accounting.samples.clear();
    accounting
}

/// By how many takes to move on so that in pass number `number` the first one that
/// is timed is the first of the pass, the second, and so on in turn.
///
/// Else it could be the same ones of each pass, as where their number is a multiple
/// of `every`; and the first of a pass and the last, which finds nothing, are like
/// no other.
pub(super) fn skip(acquisitions: u64, number: u64, every: u32) -> u64 {
    let every = u64::from(every.max(1));
    // Timed are those takes before which there was a multiple of `every`.
    let first = number % every;
    (2 * every - first - acquisitions % every) % every
}

/// Where the accounting was, to bring it back there.
#[derive(Debug)]
pub(super) struct Mark {
    sums: Accounting,
    pub(super) samples: usize,
}

impl Mark {
    pub(super) fn of(accounting: &Accounting) -> Self {
        Self {
            samples: accounting.samples.len(),
            sums: Accounting {
                samples: Vec::new(),
                ..*accounting
            },
        }
    }

    pub(super) fn restore(self, accounting: &mut Accounting) {
        let mut samples = std::mem::take(&mut accounting.samples);
        samples.truncate(self.samples);
        *accounting = Accounting {
            samples,
            ..self.sums
        };
    }
}

/// More than waiting for a few cache lines takes, and less than a time slice.
const LONG: Nanos = Nanos::from_us(100);

/// Takes samples out of the accounting of a pass, which begin with number `first`, and whose
/// worker was off its CPU for so long; in its waits too, as they are meant to be, where it
/// `can_park`.
///
/// The clock goes on while a worker has lost its CPU, and its CPU time does not.
/// Few takes are timed, and each stands for many: one in whose middle the worker
/// was off its CPU for a time slice would outweigh all others. How long that was
/// in the whole pass is known. So the longest takes are taken out of which that can
/// be half, until they explain it. (Of a long wait the other half may be spinning,
/// while somebody else is off the CPU who has the lock. It is CPU time that no
/// sample has any more.) Their pages are taken out with them, so that zeroing
/// stands for as many as before: a take can be a large part of all pages.
pub(super) fn sift(accounting: &mut Accounting, first: usize, off_cpu: Nanos, can_park: bool) {
    let length = |sample: &Sample| {
        let wait = if can_park { Nanos::ZERO } else { sample.wait };
        wait + sample.hold + sample.zeroing
    };
    let mut off_cpu = off_cpu;
    while off_cpu >= LONG {
        let samples = accounting.samples.iter().enumerate().skip(first);
        let lengths = samples.map(|(i, sample)| (length(sample), i));
        let explained = lengths.filter(|(length, _)| (LONG..=off_cpu.times(2)).contains(length));
        let Some((length, i)) = explained.max() else {
            return;
        };
        off_cpu = off_cpu - length;
        let out = accounting.samples.swap_remove(i);
        accounting.sampled -= 1;
        accounting.pages_sampled -= out.pages;
        accounting.wait = accounting.wait - out.wait;
        accounting.hold = accounting.hold - out.hold;
        accounting.zeroing = accounting.zeroing - out.zeroing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes of so many nanoseconds and pages.
    fn accounting(samples: &[([u64; 3], u64)]) -> Accounting {
        let samples: Vec<Sample> = samples
            .iter()
            .map(|&(ns, pages)| {
                let [wait, hold, zeroing] = ns.map(Nanos::new);
                Sample {
                    wait,
                    hold,
                    zeroing,
                    pages,
                }
            })
            .collect();
        let sum = |of: fn(&Sample) -> Nanos| samples.iter().map(of).fold(Nanos::ZERO, |a, b| a + b);
        Accounting {
            acquisitions: 64,
            sampled: samples.len() as u64,
            wait: sum(|sample| sample.wait),
            hold: sum(|sample| sample.hold),
            zeroing: sum(|sample| sample.zeroing),
            pages_sampled: samples.iter().map(|sample| sample.pages).sum(),
            samples,
            ..Accounting::default()
        }
    }

    /// The second half is of a pass of its own.
    const FOUR: [([u64; 3], u64); 4] = [
        ([20, 30, 50], 1),
        ([20, 30, 900_000], 2),
        ([20, 30, 50], 3),
        ([20, 800_000, 50], 4),
    ];

    #[test]
    fn a_take_is_taken_out_with_its_pages_if_the_time_off_the_cpu_explains_it() {
        for (off_cpu, kept) in [(0, 4), (300_000, 4), (500_000, 3), (9_000_000, 3)] {
            let mut left = accounting(&FOUR);
            sift(&mut left, 2, Nanos::new(off_cpu), false);
            assert_eq!(left, accounting(&FOUR[..kept]));
        }
        // Half of what is left is taken each time, and the first take is interrupted for as
        // long as it works.
        let ms = |ms: u64, pages| ([0, 0, ms * 1_000_000], pages);
        let takes = [ms(16, 8), ms(4, 4), ms(2, 2), ms(1, 1), ms(0, 0)];
        let mut left = accounting(&takes);
        sift(&mut left, 0, Nanos::from_ms(8), false);
        assert_eq!((left.sampled, left.pages_sampled), (4, 7));
        assert_eq!(left.zeroing, Nanos::from_ms(7));
    }

    #[test]
    fn a_wait_that_was_parked_stays() {
        for (can_park, kept) in [(true, 1), (false, 0)] {
            let waited = [([500_000, 0, 0], 0)];
            let mut left = accounting(&waited);
            sift(&mut left, 0, Nanos::new(500_000), can_park);
            assert_eq!(left, accounting(&waited[..kept]));
        }
    }

    #[test]
    fn every_take_of_a_pass_is_timed_equally_often() {
        for (takes, every) in [(3, 2), (4, 2), (7, 8), (64, 64), (129, 64), (5, 1)] {
            let mut timed = vec![0; takes];
            let mut acquisitions = 0;
            for pass in 0..u64::from(every) * 3 {
                acquisitions += skip(acquisitions, pass, every);
                for take in &mut timed {
                    *take += u32::from(acquisitions % u64::from(every) == 0);
                    acquisitions += 1;
                }
            }
            assert_eq!(timed, vec![3; takes], "{takes} {every}");
        }
    }

    #[test]
    fn accounting_comes_back_to_where_it_was_and_has_room() {
        let mut now = accounting(&FOUR);
        let mark = Mark::of(&now);
        now.samples.push(Sample::default());
        now.pages += 7;
        now.acquisitions += 1;
        mark.restore(&mut now);
        assert_eq!(now, accounting(&FOUR));
        let empty = with_room(16, 100);
        assert!(empty.samples.is_empty() && empty.samples.capacity() >= 100);
    }
}
