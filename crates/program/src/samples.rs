//! Samples, kept in a few bytes each.

use punctual_core::{Lateness, Nanos, Outcome};
use serde::{Deserialize, Serialize};

/// One wait or block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The length asked for: from the call to the deadline.
    pub asked: Nanos,
    /// When it ended, counted from the start of the section.
    pub woke: Nanos,
    /// Cycles skipped before this one because they had passed already.
    pub missed: u64,
    /// If its event ended it: how long before that the event was signalled.
    /// `None` also where the machine does not tell.
    pub since_signal: Option<Nanos>,
    /// The outcome.
    pub outcome: Outcome,
}

/// The samples of a section, in order.
///
/// Of each is kept what the one before and its other fields do not tell: of one that only
/// slept some six bytes, not eighty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Sample>", into = "Vec<Sample>")]
pub struct Samples {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: usize,
}

/// Facts of the previous sample that bear on the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    asked: u64,
    pub(crate) woke: u64,
}

impl Before {
    /// How long the next slept, and when it woke, if it began as this one ended and all
    /// it did was to sleep.
    fn guess(self, asked: u64, late: u64) -> (u64, u64) {
        let slept = asked.wrapping_add(late);
        (slept, self.woke.wrapping_add(slept))
    }
}

/// Of each sample, so many numbers are kept that are not zero, after which of them are.
const NUMBERS: usize = 10;

/// The most bytes that one takes.
pub(crate) const LONGEST: usize = 2 + NUMBERS * 10;

impl Samples {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            bytes: self.bytes.iter(),
            before: Before::default(),
        }
    }

    /// The first.
    pub fn first(&self) -> Option<Sample> {
        self.iter().next()
    }

    /// From each wake to the next.
    pub fn gaps(&self) -> impl Iterator<Item = Nanos> + '_ {
        let wakes = || self.iter().map(|sample| sample.woke);
        wakes().skip(1).zip(wakes()).map(|(next, wake)| next - wake)
    }

    /// Adds one that comes after `before`, as what the next will come after.
    #[inline]
    pub(crate) fn push(&mut self, before: &mut Before, sample: &Sample) {
        let Sample {
            asked,
            woke,
            outcome,
            since_signal,
            ..
        } = *sample;
        let (asked, woke, late) = (asked.as_ns(), woke.as_ns(), outcome.late.as_ns() as u64);
        let (slept, guess) = before.guess(asked, late);
        let kind = u64::from(outcome.by_event) | u64::from(since_signal.is_some()) << 1;
        let numbers: [u64; NUMBERS] = [
            late,
            woke.wrapping_sub(guess),
            asked.wrapping_sub(before.asked),
            outcome.slept.as_ns().wrapping_sub(slept),
            outcome.spun.as_ns(),
            u64::from(outcome.naps).wrapping_sub(1),
            u64::from(outcome.steps).wrapping_sub(1),
            sample.missed,
            kind,
            since_signal.unwrap_or_default().as_ns(),
        ];
        *before = Before { asked, woke };
        self.count += 1;
        let fields = numbers.iter().enumerate();
        let has = fields.fold(0, |has, (field, number)| {
            has | u64::from(*number != 0) << field
        });
        let (mut row, mut length, mut left) = ([0; LONGEST], 0, has);
        put(&mut row, &mut length, has);
        while left != 0 {
            let number = numbers[left.trailing_zeros() as usize];
            // Small ones of either sign are short.
            let coded = number << 1 ^ (number as i64 >> 63) as u64;
            put(&mut row, &mut length, coded);
            left &= left - 1;
        }
        // Room for a few more, as memory is slow to get.
        self.bytes.reserve(32);
        self.bytes.extend_from_slice(&row[..length]);
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that more come.
#[inline]
fn put(row: &mut [u8; LONGEST], length: &mut usize, mut number: u64) {
    while number >= 0x80 {
        row[*length] = number as u8 | 0x80;
        *length += 1;
        number >>= 7;
    }
    row[*length] = number as u8;
    *length += 1;
}

fn take(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

/// See [`Samples::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'s> {
    bytes: std::slice::Iter<'s, u8>,
    before: Before,
}

impl Iterator for Iter<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        let has = take(&mut self.bytes)?;
        let mut numbers = [0_u64; NUMBERS];
        for (field, number) in numbers.iter_mut().enumerate() {
            if has >> field & 1 == 1 {
                let coded = take(&mut self.bytes)?;
                *number = coded >> 1 ^ (coded & 1).wrapping_neg();
            }
        }
        let [
            late,
            woke,
            asked,
            slept,
            spun,
            naps,
            steps,
            missed,
            kind,
            since_signal,
        ] = numbers;
        let asked = asked.wrapping_add(self.before.asked);
        let (slept_all, guess) = self.before.guess(asked, late);
        let woke = woke.wrapping_add(guess);
        self.before = Before { asked, woke };
        Some(Sample {
            asked: Nanos::new(asked),
            woke: Nanos::new(woke),
            missed,
            since_signal: (kind & 2 != 0).then(|| Nanos::new(since_signal)),
            outcome: Outcome {
                late: Lateness::new(late as i64),
                naps: naps.wrapping_add(1) as u32,
                steps: steps.wrapping_add(1) as u32,
                slept: Nanos::new(slept.wrapping_add(slept_all)),
                spun: Nanos::new(spun),
                by_event: kind & 1 != 0,
            },
        })
    }
}

impl<'s> IntoIterator for &'s Samples {
    type Item = Sample;
    type IntoIter = Iter<'s>;

    fn into_iter(self) -> Iter<'s> {
        self.iter()
    }
}

impl FromIterator<Sample> for Samples {
    fn from_iter<I: IntoIterator<Item = Sample>>(all: I) -> Self {
        let (mut samples, mut before) = (Self::default(), Before::default());
        for sample in all {
            samples.push(&mut before, &sample);
        }
        samples
    }
}

impl From<Vec<Sample>> for Samples {
    fn from(all: Vec<Sample>) -> Self {
        all.into_iter().collect()
    }
}

impl From<Samples> for Vec<Sample> {
    fn from(samples: Samples) -> Self {
        samples.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_back_as_they_were_however_long() {
        let numbers = [
            0,
            1,
            2,
            63,
            64,
            1 << 31,
            u64::MAX / 2,
            u64::MAX / 2 + 1,
            u64::MAX,
        ];
        // Each number in each field beside each other one.
        let all: Vec<Sample> = (0..numbers.len().pow(3))
            .map(|nth| {
                let of = |field: usize| numbers[nth / 9_usize.pow(field as u32 % 3) % 9];
                Sample {
                    asked: Nanos::new(of(0)),
                    woke: Nanos::new(of(1)),
                    missed: of(2),
                    since_signal: (nth % 2 == 0).then(|| Nanos::new(of(1))),
                    outcome: Outcome {
                        late: Lateness::new(of(2) as i64),
                        naps: of(0) as u32,
                        steps: of(1) as u32,
                        slept: Nanos::new(of(1)),
                        spun: Nanos::new(of(2)),
                        by_event: nth % 3 == 0,
                    },
                }
            })
            .collect();
        let samples = Samples::from(all.clone());
        assert_eq!((samples.len(), samples.first()), (all.len(), Some(all[0])));
        assert_eq!(Vec::from(samples), all);
    }

    #[test]
    fn one_that_only_slept_takes_few_bytes() {
        let slept = |nth: u64| Sample {
            asked: Nanos::from_ms(1),
            woke: Nanos::new(1_057_100 * (nth + 1)),
            outcome: Outcome {
                late: Lateness::new(57_000),
                naps: 1,
                steps: 1,
                slept: Nanos::new(1_057_000),
                ..Outcome::default()
            },
            ..Sample::default()
        };
        let samples: Samples = (0..100).map(slept).collect();
        assert!(samples.bytes.len() < 7 * 100);
        assert!(samples.gaps().eq([Nanos::new(1_057_100); 99]));
    }
}
