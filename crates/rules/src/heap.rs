//! A heap of keys of one word.

/// Keys, of which the least is at hand.
///
/// Each has four children: half the levels of a binary heap, and siblings share a cache line. A
/// caller that needs the places of keys gives `placed`, which is called for each that moves.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    keys: Vec<u128>,
}

impl Heap {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The least of them.
    pub fn first(&self) -> Option<u128> {
        self.keys.first().copied()
    }

    /// Adds one.
    pub fn push(&mut self, key: u128, placed: impl FnMut(u128, usize)) {
        self.keys.push(key);
        self.rise(self.keys.len() - 1, key, placed);
    }

    /// Takes out the key at a place, which there is.
    pub fn remove(&mut self, at: usize, placed: impl FnMut(u128, usize)) {
        if let Some(last) = self.keys.pop()
            && at < self.keys.len()
        {
            self.change(at, last, placed);
        }
    }

    /// Puts another key in the stead of the one at a place.
    pub fn change(&mut self, at: usize, key: u128, placed: impl FnMut(u128, usize)) {
        if at > 0 && key < self.keys[(at - 1) / 4] {
            self.rise(at, key, placed);
        } else {
            self.sink(at, key, placed);
        }
    }

    /// Drops the keys of which `keep` does not say that they stay.
    pub fn retain(&mut self, keep: impl Fn(u128) -> bool) {
        self.keys.retain(|key| keep(*key));
        for at in (0..self.keys.len().div_ceil(4)).rev() {
            self.sink(at, self.keys[at], |_, _| ());
        }
    }

    fn rise(&mut self, mut at: usize, key: u128, mut placed: impl FnMut(u128, usize)) {
        while at > 0 {
            let parent = (at - 1) / 4;
            let above = self.keys[parent];
            if above <= key {
                break;
            }
            self.keys[at] = above;
            placed(above, at);
            at = parent;
        }
        self.keys[at] = key;
        placed(key, at);
    }

    fn sink(&mut self, mut at: usize, key: u128, mut placed: impl FnMut(u128, usize)) {
        loop {
            let first = 4 * at + 1;
            let (child, least) = match self.keys.get(first..) {
                Some(&[a, b, c, d, ..]) => {
                    let left = usize::from(b < a);
                    let right = 2 + usize::from(d < c);
                    let (a, c) = (a.min(b), c.min(d));
                    (if c < a { right } else { left }, a.min(c))
                }
                Some(few) => match few.iter().copied().enumerate().min_by_key(|(_, key)| *key) {
                    Some(least) => least,
                    None => break,
                },
                None => break,
            };
            if key <= least {
                break;
            }
            self.keys[at] = least;
            placed(least, at);
            at = first + child;
        }
        self.keys[at] = key;
        placed(key, at);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_come_in_order_and_are_where_it_was_told(
            steps in prop::collection::vec((0_u128..64, 0_u128..64, 0_u8..5), 0..300),
        ) {
            let mut heap = Heap::default();
            let mut naive = BTreeSet::new();
            let mut places = BTreeMap::new();
            for (key, other, what) in steps {
                let (has, has_other) = (naive.contains(&key), naive.contains(&other));
                let at: usize = places.get(&key).copied().unwrap_or_default();
                let placed = |key, at| {
                    places.insert(key, at);
                };
                match what {
                    0 | 1 if !has => {
                        heap.push(key, placed);
                        naive.insert(key);
                    }
                    2 if has => {
                        heap.remove(at, placed);
                        naive.remove(&key);
                    }
                    3 if has && !has_other => {
                        heap.change(at, other, placed);
                        naive.remove(&key);
                        naive.insert(other);
                    }
                    4 if other == 0 => {
                        heap.retain(|kept| kept % 3 != key % 3);
                        naive.retain(|kept| kept % 3 != key % 3);
                        places = heap.keys.iter().enumerate().map(|(at, key)| (*key, at)).collect();
                    }
                    _ => {}
                }
                prop_assert_eq!(heap.first(), naive.first().copied());
                prop_assert_eq!(heap.len(), naive.len());
                for key in &naive {
                    prop_assert_eq!(heap.keys[places[key]], *key);
                }
            }
        }
    }
}
