//! Things by the numbers of their threads.

/// Things that each have a small number, as threads have. A rule looks one up at each wait, so this
/// is two steps of an index.
///
/// The memory is proportional to the most things that there were at once, in pages of [`SIZE`]; besides there
/// are eight bytes for each page up to the greatest number.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    pages: Vec<Option<Box<Page<T>>>>,
    /// The last page that became empty: a thread that is alone arms and disarms without allocating.
    spare: Option<Box<Page<T>>>,
}

#[derive(Clone, Debug)]
struct Page<T> {
    things: [Option<T>; SIZE],
    len: usize,
}

/// How many numbers a page has.
const SIZE: usize = 32;

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            spare: None,
        }
    }
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self {
            things: [const { None }; SIZE],
            len: 0,
        }
    }
}

impl<T> Table<T> {
    /// The thing of this number.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let page = self.pages.get(number / SIZE)?.as_ref()?;
        page.things[number % SIZE].as_ref()
    }

    /// The thing of this number.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let page = self.pages.get_mut(number / SIZE)?.as_mut()?;
        page.things[number % SIZE].as_mut()
    }

    /// Puts in a thing, instead of that which has the number.
    #[inline]
    pub(crate) fn insert(&mut self, number: usize, thing: T) {
        let page = self.page(number / SIZE);
        let before = page.things[number % SIZE].replace(thing);
        page.len += usize::from(before.is_none());
    }

    /// Takes out the thing of this number.
    #[inline]
    pub(crate) fn remove(&mut self, number: usize) -> Option<T> {
        let place = self.pages.get_mut(number / SIZE)?;
        let page = place.as_mut()?;
        let thing = page.things[number % SIZE].take()?;
        page.len -= 1;
        if page.len == 0 {
            self.spare = place.take();
        }
        Some(thing)
    }

    /// The thing of this number, at first the default.
    pub(crate) fn entry(&mut self, number: usize) -> &mut T
    where
        T: Default,
    {
        let page = self.page(number / SIZE);
        let place = &mut page.things[number % SIZE];
        page.len += usize::from(place.is_none());
        place.get_or_insert_default()
    }

    #[inline]
    fn page(&mut self, number: usize) -> &mut Page<T> {
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        self.pages[number].get_or_insert_with(|| self.spare.take().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_table_is_a_map(
            steps in prop::collection::vec((0_usize..40, 0_u8..5), 0..300),
            stride in prop::sample::select(vec![1, SIZE, 100]),
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
                    _ => prop_assert_eq!(table.entry(number), map.entry(number).or_default()),
                }
                for number in 0..40 {
                    let number = number * stride;
                    prop_assert_eq!(table.get(number), map.get(&number));
                    prop_assert_eq!(table.get_mut(number), map.get_mut(&number));
                }
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
        assert_eq!(
            table.pages.iter().flatten().count(),
            100_usize.div_ceil(SIZE)
        );
    }
}
