//! Armed timers in the order in which they fall due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timers by number, each with a key; the least key comes first, and of equal
/// keys the least number.
///
/// A timer that is disarmed stays in the heap until it reaches the top. The heap is made anew when
/// it holds more such than armed ones. The memory is thus proportional to the numbers in use.
#[derive(Clone, Debug)]
pub struct Timers<K: Ord> {
    heap: BinaryHeap<Reverse<Entry<K>>>,
    /// How often each timer was armed and disarmed: odd while it is armed.
    turns: Vec<u32>,
    armed: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<K> {
    key: K,
    id: u32,
    /// The turn in which it was armed.
    turn: u32,
}

impl<K: Ord> Default for Timers<K> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            turns: Vec::new(),
            armed: 0,
        }
    }
}

impl<K: Copy + Ord> Timers<K> {
    /// Arms timer number `id`, which is not armed.
    pub fn insert(&mut self, id: usize, key: K) {
        if self.turns.len() <= id {
            self.turns.resize(id + 1, 0);
        }
        debug_assert!(!self.is_armed(id), "timer {id} is armed");
        let turn = self.next_turn(id);
        self.armed += 1;
        let id = id as u32;
        self.heap.push(Reverse(Entry { key, id, turn }));
    }

    /// Disarms timer number `id`; whether it was armed.
    pub fn remove(&mut self, id: usize) -> bool {
        if !self.is_armed(id) {
            return false;
        }
        self.next_turn(id);
        self.armed -= 1;
        if self.heap.len() > 2 * self.armed + 16 {
            let turns = &self.turns;
            self.heap
                .retain(|Reverse(entry)| turns[entry.id as usize] == entry.turn);
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
        self.next_turn(first.1);
        self.armed -= 1;
        self.drop_disarmed();
        Some(first)
    }

    /// Disarms all timers; they are in no order to rely on.
    pub fn drain(&mut self) -> Vec<(K, usize)> {
        let heap = std::mem::take(&mut self.heap);
        let turns = &mut self.turns;
        let all = heap
            .into_iter()
            .filter_map(|Reverse(Entry { key, id, turn })| {
                let now = &mut turns[id as usize];
                (*now == turn).then(|| {
                    *now = now.wrapping_add(1);
                    (key, id as usize)
                })
            });
        self.armed = 0;
        all.collect()
    }

    fn is_armed(&self, id: usize) -> bool {
        self.turns.get(id).is_some_and(|turn| turn % 2 == 1)
    }

    fn next_turn(&mut self, id: usize) -> u32 {
        let turn = &mut self.turns[id];
        *turn = turn.wrapping_add(1);
        *turn
    }

    /// The first of the heap is always an armed timer.
    fn drop_disarmed(&mut self) {
        while let Some(Reverse(first)) = self.heap.peek()
            && self.turns[first.id as usize] != first.turn
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
