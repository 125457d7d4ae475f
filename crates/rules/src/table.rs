//! Things by number, whatever the numbers are.

use std::num::NonZero;

/// Things that each have a number, up to 2^32 - 2. The memory is proportional to the most things that
/// there were at once, whatever their numbers.
///
/// Open addressing with at most half of the places taken. Numbers in a row, as those of threads, lie
/// apart from each other by the golden ratio (D. Knuth, "The Art of Computer Programming", volume 3,
/// section 6.4), so that they hardly ever meet.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    /// A power of two of places, or none.
    places: Vec<Option<(Key, T)>>,
    len: usize,
    /// How far a spread number is shifted to be a place.
    shift: u32,
}

/// A number, and one: an empty place takes no more room than another.
type Key = NonZero<u32>;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            len: 0,
            shift: 0,
        }
    }
}

/// 2^32 by the golden ratio.
const GOLDEN: u32 = 0x9E37_79B9;

const LEAST_PLACES: usize = 8;

fn key(number: usize) -> Key {
    Key::MIN.saturating_add(number as u32)
}

fn number(key: Key) -> usize {
    key.get() as usize - 1
}

impl<T> Table<T> {
    /// The thing of this number.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let at = self.find(key(number));
        let (_, thing) = self.places.get(at)?.as_ref()?;
        Some(thing)
    }

    /// The thing of this number.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let at = self.find(key(number));
        let (_, thing) = self.places.get_mut(at)?.as_mut()?;
        Some(thing)
    }

    /// Puts in a thing, instead of that which has the number.
    #[inline]
    pub(crate) fn insert(&mut self, number: usize, thing: T) {
        if 2 * self.len >= self.places.len() {
            self.grow();
        }
        let key = key(number);
        let at = self.find(key);
        let before = self.places[at].replace((key, thing));
        self.len += usize::from(before.is_none());
    }

    /// Takes out the thing of this number.
    #[inline]
    pub(crate) fn remove(&mut self, number: usize) -> Option<T> {
        let mut hole = self.find(key(number));
        let (_, thing) = self.places.get_mut(hole)?.take()?;
        self.len -= 1;
        // Things behind it that would not be found across the hole move up.
        let mut at = hole;
        loop {
            at = self.behind(at);
            let Some((other, _)) = &self.places[at] else {
                return Some(thing);
            };
            let mask = self.places.len() - 1;
            let way = at.wrapping_sub(self.home(*other)) & mask;
            if way >= at.wrapping_sub(hole) & mask {
                self.places.swap(hole, at);
                hole = at;
            }
        }
    }

    /// All of them, in no order to rely on.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let taken = self.places.iter().flatten();
        taken.map(|(key, thing)| (number(*key), thing))
    }

    /// How many places there are.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Where a number is, or would be put; of an empty table nowhere.
    #[inline]
    fn find(&self, key: Key) -> usize {
        let mut at = self.home(key);
        while let Some(Some((other, _))) = self.places.get(at)
            && *other != key
        {
            at = self.behind(at);
        }
        at
    }

    #[inline]
    fn home(&self, key: Key) -> usize {
        (key.get().wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    #[inline]
    fn behind(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let places = (2 * self.places.len()).max(LEAST_PLACES);
        let mut empty = Vec::new();
        empty.resize_with(places, || None);
        self.shift = u32::BITS - places.ilog2();
        let full = std::mem::replace(&mut self.places, empty);
        for (key, thing) in full.into_iter().flatten() {
            let at = self.find(key);
            self.places[at] = Some((key, thing));
        }
    }
}

impl<T: Default> Table<T> {
    /// The thing of this number, which is put in if there is none.
    pub(crate) fn of(&mut self, number: usize) -> &mut T {
        if self.get(number).is_none() {
            self.insert(number, T::default());
        }
        let at = self.find(key(number));
        &mut self.places[at].as_mut().expect("it is there").1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Numbers that all have the same home, and others.
        #[test]
        fn a_table_is_a_map(
            steps in prop::collection::vec((0_usize..40, 0_u8..5), 0..300),
            stride in prop::sample::select(vec![1_usize, 64, 1 << 20, 1 << 26]),
        ) {
            let mut table = Table::default();
            let mut map = BTreeMap::new();
            for (step, (number, what)) in steps.into_iter().enumerate() {
                let number = number * stride;
                match what {
                    0 | 1 => {
                        table.insert(number, step);
                        map.insert(number, step);
                    }
                    2 | 3 => prop_assert_eq!(table.remove(number), map.remove(&number)),
                    _ => prop_assert_eq!(table.of(number), map.entry(number).or_default()),
                }
                for number in 0..40 {
                    let number = number * stride;
                    prop_assert_eq!(table.get(number), map.get(&number));
                    prop_assert_eq!(table.get_mut(number), map.get_mut(&number));
                }
                let mut all: Vec<_> = table.iter().collect();
                all.sort_unstable();
                prop_assert_eq!(all, map.iter().map(|(n, t)| (*n, t)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_million_that_come_and_go_take_the_room_of_those_that_are_there() {
        let mut table = Table::default();
        for number in 0..1_000_000_usize {
            table.insert(number, number);
            if number >= 100 {
                assert_eq!(table.remove(number - 100), Some(number - 100));
            }
        }
        assert_eq!((table.iter().count(), table.places()), (100, 256));
    }
}
