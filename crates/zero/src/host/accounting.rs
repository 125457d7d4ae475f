//! What a worker keeps, and which of it counts.

use punctual_core::Nanos;
use punctual_zero_pool::Accounting;

/// Accounting whose room has been touched, so that no page fault is timed.
pub(super) fn with_room(every: u32, room: usize) -> Accounting {
    let mut accounting = Accounting::new(every, room);
    for samples in columns(&mut accounting) {
        samples.resize(room, 0);
        samples.clear();
    }
    accounting
}

/// What is kept of each sample.
fn columns(accounting: &mut Accounting) -> [&mut Vec<u64>; 4] {
    let Accounting {
        waits,
        holds,
        zeroings,
        sizes,
        ..
    } = accounting;
    [waits, holds, zeroings, sizes]
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

/// Where the accounting was, to bring them back there.
#[derive(Debug)]
pub(super) struct Mark {
    sums: Accounting,
    samples: usize,
}

impl Mark {
    pub(super) fn of(accounting: &Accounting) -> Self {
        Self {
            samples: accounting.waits.len(),
            sums: Accounting {
                waits: Vec::new(),
                holds: Vec::new(),
                zeroings: Vec::new(),
                sizes: Vec::new(),
                ..*accounting
            },
        }
    }

    /// How many samples there were.
    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    pub(super) fn restore(self, accounting: &mut Accounting) {
        let [waits, holds, zeroings, sizes] = columns(accounting).map(|samples| {
            samples.truncate(self.samples);
            std::mem::take(samples)
        });
        *accounting = Accounting {
            waits,
            holds,
            zeroings,
            sizes,
            ..self.sums
        };
    }
}

/// What is taken out of the accounting of a pass.
///
/// The clock goes on while a worker has lost its CPU, and its CPU time does not.
/// Few takes are timed, and each stands for many: one in whose middle the worker
/// was off its CPU for a time slice would outweigh all others. How long that was
/// in the whole pass is known. So the longest takes are taken out of which that can
/// be half, until they explain it. (Of a long wait the other half may be spinning,
/// while somebody else is off the CPU who has the lock. It is CPU time that no
/// sample has any more.) Their pages are taken out with them, so that zeroing
/// stands for as many as before: a take can be a large part of all pages.
#[derive(Debug)]
pub(super) struct Sifted {
    /// The first sample of the pass.
    pub(super) first: usize,
    /// How long its worker was off its CPU.
    pub(super) off_cpu: Nanos,
    /// Whether its waits may be, as they are meant to be.
    pub(super) can_park: bool,
}

/// 100 us: more than waiting for a few cache lines takes, and less than a time
/// slice.
const LONG: u64 = 100_000;

impl Sifted {
    pub(super) fn sift(mut self, accounting: &mut Accounting) {
        while let Some(i) = self.longest(accounting) {
            self.off_cpu = self.off_cpu - Nanos::new(self.length(accounting, i));
            accounting.sampled -= 1;
            accounting.pages_sampled -= accounting.sizes.swap_remove(i);
            accounting.wait = accounting.wait - Nanos::new(accounting.waits.swap_remove(i));
            accounting.hold = accounting.hold - Nanos::new(accounting.holds.swap_remove(i));
            accounting.zeroing =
                accounting.zeroing - Nanos::new(accounting.zeroings.swap_remove(i));
        }
    }

    /// The longest sample that the time off the CPU explains, if it is long at all.
    fn longest(&self, accounting: &Accounting) -> Option<usize> {
        let off_cpu = self.off_cpu.as_ns();
        if off_cpu < LONG {
            return None;
        }
        let lengths = (self.first..accounting.waits.len()).map(|i| (self.length(accounting, i), i));
        let explained = lengths.filter(|(length, _)| (LONG..=2 * off_cpu).contains(length));
        explained.max().map(|(_, i)| i)
    }

    fn length(&self, accounting: &Accounting, i: usize) -> u64 {
        let wait = if self.can_park {
            0
        } else {
            accounting.waits[i]
        };
        wait + accounting.holds[i] + accounting.zeroings[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four takes, the second of a pass that began with the third.
    fn accounting() -> Accounting {
        let samples = [
            [20, 30, 50],
            [20, 30, 900_000],
            [20, 30, 50],
            [20, 800_000, 50],
        ];
        let column = |i: usize| samples.map(|sample| sample[i]).to_vec();
        let sum = |i: usize| Nanos::new(samples.iter().map(|sample| sample[i]).sum());
        Accounting {
            acquisitions: 64,
            sampled: 4,
            wait: sum(0),
            hold: sum(1),
            zeroing: sum(2),
            waits: column(0),
            holds: column(1),
            zeroings: column(2),
            pages_sampled: 1 + 2 + 3 + 4,
            sizes: vec![1, 2, 3, 4],
            ..Accounting::new(16, 4)
        }
    }

    #[test]
    fn a_take_is_taken_out_if_the_time_off_the_cpu_explains_it() {
        for (off_cpu, kept) in [(0, 4), (300_000, 4), (500_000, 3), (9_000_000, 3)] {
            let mut accounting = accounting();
            let sifted = Sifted {
                first: 2,
                off_cpu: Nanos::new(off_cpu),
                can_park: false,
            };
            sifted.sift(&mut accounting);
            assert_eq!(
                (accounting.sampled, accounting.waits.len() as u64),
                (kept, kept)
            );
            assert_eq!(accounting.zeroing, Nanos::new(900_000 + 50 * (kept - 1)));
            // The last had 4 of the pages.
            assert_eq!(accounting.pages_sampled, if kept == 4 { 10 } else { 6 });
            assert_eq!(
                accounting.sizes.iter().sum::<u64>(),
                accounting.pages_sampled
            );
            let held: u64 = accounting.holds.iter().sum();
            assert_eq!(
                (accounting.hold, accounting.acquisitions),
                (Nanos::new(held), 64)
            );
        }
    }

    /// Half of what is left is taken each time, and the first take is interrupted
    /// for as long as it works.
    #[test]
    fn a_large_take_is_taken_out_with_its_pages() {
        let mut accounting = Accounting {
            pages: 15,
            acquisitions: 5,
            sampled: 5,
            pages_sampled: 15,
            zeroing: Nanos::from_ms(8 + 8 + 4 + 2 + 1),
            waits: vec![0; 5],
            holds: vec![0; 5],
            zeroings: [16, 4, 2, 1, 0].map(|ms| ms * 1_000_000).to_vec(),
            sizes: vec![8, 4, 2, 1, 0],
            ..Accounting::default()
        };
        let sifted = Sifted {
            first: 0,
            off_cpu: Nanos::from_ms(8),
            can_park: false,
        };
        sifted.sift(&mut accounting);
        assert_eq!((accounting.sampled, accounting.pages_sampled), (4, 7));
        assert_eq!(
            accounting.zeroing,
            Nanos::from_ms(1).times(accounting.pages_sampled)
        );
    }

    #[test]
    fn a_wait_that_was_parked_stays() {
        for (can_park, kept) in [(true, 1), (false, 0)] {
            let wait = 500_000;
            let mut accounting = Accounting {
                sampled: 1,
                wait: Nanos::new(wait),
                waits: vec![wait],
                holds: vec![0],
                zeroings: vec![0],
                sizes: vec![0],
                ..Accounting::default()
            };
            let sifted = Sifted {
                first: 0,
                off_cpu: Nanos::new(wait),
                can_park,
            };
            sifted.sift(&mut accounting);
            assert_eq!(
                (accounting.sampled, accounting.wait),
                (kept, Nanos::new(wait * kept))
            );
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
    fn books_come_back_to_where_they_were() {
        let mut now = accounting();
        let mark = Mark::of(&now);
        assert_eq!(mark.samples(), 4);
        now.waits.push(1);
        now.pages += 7;
        now.acquisitions += 1;
        mark.restore(&mut now);
        assert_eq!(now, accounting());
    }

    #[test]
    fn room_is_there_and_empty() {
        let accounting = with_room(16, 100);
        assert!(accounting.waits.is_empty() && accounting.waits.capacity() >= 100);
        assert!(accounting.zeroings.capacity() >= 100);
    }
}
