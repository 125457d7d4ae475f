//! What a worker keeps of its work, and how it times its passages through locks.

use punctual_core::Nanos;

/// The accounting of one worker. Reading the clock takes as long as zeroing a small
/// part of a page does, so only one take in `every` is timed: the sums of wait,
/// hold and zeroing are over those. Wait and hold, which a take has however large
/// it is, are to be multiplied by `acquisitions / sampled`, and zeroing by
/// `pages / pages_sampled`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// One take in so many is timed, the first at first; none if it is 0.
    pub every: u32,
    /// The pages that were zeroed.
    pub pages: u64,
    /// The takes, with the last, which found nothing. What a worker steals is
    /// part of the take that found its own share empty.
    pub acquisitions: u64,
    /// How many of these were timed.
    pub sampled: u64,
    /// The pages that these took.
    pub pages_sampled: u64,
    /// From asking for the lock to having it, or with no lock to having pages;
    /// where zeroed pages are put into a list, for the lock of that too. Who steals
    /// waits from giving back one lock to having the next.
    pub wait: Nanos,
    /// From having it to having given it back, likewise.
    pub hold: Nanos,
    /// Zeroing what was taken.
    pub zeroing: Nanos,
    /// The waits of takes in nanoseconds, each by itself, as long as there is room;
    /// without those for the list of zeroed pages.
    pub waits: Vec<u64>,
    /// The holds of the same takes.
    pub holds: Vec<u64>,
    /// How long their pages took to be zeroed; 0 where there were none.
    pub zeroings: Vec<u64>,
    /// How many pages they took.
    pub sizes: Vec<u64>,
}

impl Accounting {
    /// Empty accounting that time one take in `every`, none if that is 0, with room for
    /// so many samples.
    pub fn new(every: u32, room: usize) -> Self {
        Self {
            every,
            waits: Vec::with_capacity(room),
            holds: Vec::with_capacity(room),
            zeroings: Vec::with_capacity(room),
            sizes: Vec::with_capacity(room),
            ..Self::default()
        }
    }

    /// Whether the next take is timed.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.every != 0 && self.acquisitions.is_multiple_of(u64::from(self.every))
    }

    /// A take has been timed. Whether there was room to keep it.
    pub(crate) fn note_take(&mut self, take: Timed) -> bool {
        self.sampled += 1;
        self.wait += take.wait;
        self.hold += take.hold;
        let has_room = self.waits.len() < self.waits.capacity();
        if has_room {
            self.waits.push(take.wait.as_ns());
            self.holds.push(take.hold.as_ns());
            self.zeroings.push(0);
            self.sizes.push(0);
        }
        has_room
    }

    /// So many pages of the take that was noted last, and maybe kept, have been
    /// zeroed.
    pub(crate) fn note_zeroing(&mut self, pages: u64, length: Nanos, is_kept: bool) {
        self.pages_sampled += pages;
        self.zeroing += length;
        let last = self.zeroings.last_mut().zip(self.sizes.last_mut());
        if let Some((zeroing, size)) = last.filter(|_| is_kept) {
            (*zeroing, *size) = (length.as_ns(), pages);
        }
    }

    /// Putting pages into the list of zeroed ones has been timed.
    pub(crate) fn note_return(&mut self, put: Timed) {
        self.wait += put.wait;
        self.hold += put.hold;
    }
}

/// What a passage took that is over.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    /// From asking for a lock to having it.
    pub(crate) wait: Nanos,
    /// From having it to having given it back.
    pub(crate) hold: Nanos,
    /// When the last was given back.
    pub(crate) end: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(accounting: &mut Accounting, ns: u64) {
        let length = Nanos::new(ns);
        let take = Timed {
            wait: length,
            hold: length,
            end: length,
        };
        let is_kept = accounting.note_take(take);
        accounting.note_zeroing(1, length, is_kept);
    }

    #[test]
    fn a_take_has_its_zeroing_beside_it_also_where_others_were_taken_out() {
        let mut accounting = Accounting::new(1, 2);
        for ns in [1, 2, 3] {
            note(&mut accounting, ns);
        }
        assert_eq!(accounting.zeroings, [1, 2]);
        // Somebody finds that a sample cannot be.
        accounting.sampled -= 1;
        for samples in [
            &mut accounting.waits,
            &mut accounting.holds,
            &mut accounting.zeroings,
            &mut accounting.sizes,
        ] {
            samples.pop();
        }
        note(&mut accounting, 4);
        assert_eq!(
            [&accounting.waits, &accounting.holds, &accounting.zeroings],
            [&[1, 4]; 3]
        );
        assert_eq!(
            (accounting.sampled, accounting.zeroing),
            (3, Nanos::new(10))
        );
    }
}
