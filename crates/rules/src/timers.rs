//! Armed timers in the order in which they fall due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::table::Table;

/// Timers by number, each with a key; the least key comes first, and of equal
/// keys the least number.
///
/// A timer that is disarmed stays in the heap until it is due. If the heap holds more such timers
/// than armed ones, it is made anew. The memory is thus proportional to the most that were armed
/// at once.
#[derive(Clone, Debug)]
pub struct Timers<K: Ord> {
    heap: BinaryHeap<Reverse<Entry<K>>>,
    /// The turn of each that is armed.
    turns: Table<u32>,
    armed: usize,
    /// How many have been armed so far. It begins anew after 2^32, long after what was disarmed
    /// before has left the heap.
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<K> {
    key: K,
    id: u32,
    /// How many were armed before it.
    turn: u32,
}

impl<K: Ord> Default for Timers<K> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            turns: Table::default(),
            armed: 0,
            count: 0,
        }
    }
}

impl<K: Copy + Ord> Timers<K> {
    /// Arms timer number `id`, which is not armed.
    pub fn insert(&mut self, id: usize, key: K) {
        debug_assert!(self.turns.get(id).is_none(), "timer {id} is armed");
        let turn = self.count;
        self.count = turn.wrapping_add(1);
        self.turns.insert(id, turn);
        self.armed += 1;
        let id = id as u32;
        self.heap.push(Reverse(Entry { key, id, turn }));
    }

    /// Disarms timer number `id`; whether it was armed.
    pub fn remove(&mut self, id: usize) -> bool {
        if self.turns.remove(id).is_none() {
            return false;
        }
        self.armed -= 1;
        if self.heap.len() > 2 * self.armed + 16 {
            let turns = &self.turns;
            self.heap
                .retain(|Reverse(entry)| turns.get(entry.id as usize) == Some(&entry.turn));
        } else {
            self.drop_disarmed();
        }
        true
    }

    /// The timer that comes first.
    pub fn first(&self) -> Option<(K, usize)> {
        let Reverse(first) = self.heap.peek()?;
        Some((first.key, first.id as usize))
    }

    /// Disarms the timer that comes first, if `due` says so of its key.
    pub fn pop_if(&mut self, due: impl FnOnce(K) -> bool) -> Option<(K, usize)> {
        let first = self.first().filter(|(key, _)| due(*key))?;
        self.heap.pop();
        self.turns.remove(first.1);
        self.armed -= 1;
        self.drop_disarmed();
        Some(first)
    }

    /// Disarms all timers; they are in no order to rely on.
    pub fn drain(&mut self) -> Vec<(K, usize)> {
        let heap = std::mem::take(&mut self.heap);
        let turns = &mut self.turns;
        let is_armed = |Reverse(entry): Reverse<Entry<K>>| {
            let id = entry.id as usize;
            let is_armed = turns.get(id) == Some(&entry.turn);
            is_armed.then_some((entry.key, id))
        };
        let all: Vec<_> = heap.into_iter().filter_map(is_armed).collect();
        for (_, id) in &all {
            turns.remove(*id);
        }
        self.armed = 0;
        all
    }

    /// The first of the heap is always an armed timer.
    fn drop_disarmed(&mut self) {
        while self.heap.len() > self.armed
            && let Some(Reverse(first)) = self.heap.peek()
            && self.turns.get(first.id as usize) != Some(&first.turn)
        {
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn timers_come_in_the_order_of_a_sorted_set(
            steps in prop::collection::vec((0_usize..24, 0_u64..8, 0_u8..4), 0..200),
        ) {
            let mut timers = Timers::default();
            let mut naive = BTreeSet::new();
            for (id, key, what) in steps {
                let armed = naive.iter().find(|(_, armed)| *armed == id).copied();
                match (what, armed) {
                    (0 | 1, None) => {
                        timers.insert(id, key);
                        naive.insert((key, id));
                    }
                    (2, _) => {
                        prop_assert_eq!(timers.remove(id), armed.is_some());
                        naive.retain(|(_, armed)| *armed != id);
                    }
                    _ => {
                        let first = naive.first().copied().filter(|(first, _)| *first <= key);
                        prop_assert_eq!(timers.pop_if(|first| first <= key), first);
                        naive.retain(|timer| Some(*timer) != first);
                    }
                }
                prop_assert_eq!(timers.first(), naive.first().copied());
            }
            let mut left = timers.drain();
            left.sort_unstable();
            prop_assert_eq!(left, naive.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(timers.first(), None);
        }
    }
}
