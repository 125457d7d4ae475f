//! The coming events, without timer interrupts.

use punctual_rules::heap::Heap;
use punctual_rules::{ThreadId, Time};

/// Something that will happen. Timer interrupts come first of what happens at the same
/// time; then these in this order, and threads in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// One of the stalls, by number.
    StallEnds(usize),
    StallBegins(usize),
    /// A period begins in which threads that wait for time have some.
    Replenish,
    /// The experimenter, or a thread that waits for the hand of the
    /// experimenter, goes on.
    Hand(ThreadId),
    /// A thread on its CPU has done what it was at.
    Burst(ThreadId),
    /// A thread that was woken arrives at its CPU.
    Ready(ThreadId),
    /// The turn of a thread on this CPU may be over.
    TurnEnd(usize),
}

/// The coming events with their times. A thread has at most one coming event, and a CPU at most
/// one end of a turn. Past events are thus never left in it.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// The keys, by time, kind and number, of the few that come first, the last of them
    /// first. Most of what is to come is set shortly before.
    soon: Vec<u128>,
    /// The events that come after these.
    later: Heap,
    /// Where what is to come is: of each stall, thread and CPU.
    places: [Vec<u32>; 5],
}

/// How many are kept in order.
const SOON_MAX: usize = 8;

/// The place of what is not to come, and of what is to come soon; others are places in the
/// heap.
const NOWHERE: u32 = u32::MAX;
const SOON: u32 = u32::MAX - 1;

const KIND: u32 = 56;

impl Event {
    /// The lower half of its key.
    #[inline]
    fn key(self) -> u64 {
        let (kind, number) = match self {
            Self::StallEnds(stall) => (0, stall),
            Self::StallBegins(stall) => (1, stall),
            Self::Replenish => (2, 0),
            Self::Hand(thread) => (3, thread),
            Self::Burst(thread) => (4, thread),
            Self::Ready(thread) => (5, thread),
            Self::TurnEnd(cpu) => (6, cpu),
        };
        kind << KIND | number as u64
    }

    fn from_key(key: u64) -> Self {
        let number = number(key);
        match key >> KIND {
            0 => Self::StallEnds(number),
            1 => Self::StallBegins(number),
            2 => Self::Replenish,
            3 => Self::Hand(number),
            4 => Self::Burst(number),
            5 => Self::Ready(number),
            _ => Self::TurnEnd(number),
        }
    }
}

fn number(key: u64) -> usize {
    (key & ((1 << KIND) - 1)) as usize
}

fn time(key: Option<u128>) -> Time {
    key.map_or(Time::NEVER, |key| Time::from_thirds((key >> 64) as u64))
}

/// Which of the lists of places has it: one is of threads.
fn list(key: u64) -> usize {
    let kind = (key >> KIND) as usize;
    kind.min(3) + kind / 6
}

/// Takes note of where a key is.
fn placing(places: &mut [Vec<u32>; 5]) -> impl FnMut(u128, usize) {
    |key, at| *place(places, key as u64) = at as u32
}

fn place(places: &mut [Vec<u32>; 5], key: u64) -> &mut u32 {
    &mut places[list(key)][number(key)]
}

impl Agenda {
    /// Has something happen at `at`, instead of what was to come of its thread or CPU.
    #[inline]
    pub(super) fn set(&mut self, at: Time, event: Event) {
        let lower = event.key();
        let (list, number) = (list(lower), number(lower));
        let places = &mut self.places[list];
        if places.len() <= number {
            places.resize(number + 1, NOWHERE);
        }
        if places[number] != NOWHERE {
            self.cancel(event);
        }
        let key = u128::from(at.as_thirds()) << 64 | u128::from(lower);
        if self.later.first().is_some_and(|first| first < key) {
            return self.later.push(key, placing(&mut self.places));
        }
        self.places[list][number] = SOON;
        let mut at = self.soon.len();
        self.soon.push(key);
        while at > 0 && self.soon[at - 1] < key {
            self.soon[at] = self.soon[at - 1];
            at -= 1;
        }
        self.soon[at] = key;
        if self.soon.len() > SOON_MAX {
            let last = self.soon.remove(0);
            self.later.push(last, placing(&mut self.places));
        }
    }

    /// Nothing is to come of the thread or CPU of `event` any more.
    #[inline]
    pub(super) fn cancel(&mut self, event: Event) {
        let key = event.key();
        let (list, number) = (list(key), number(key));
        let Some(place) = self.places[list].get_mut(number) else {
            return;
        };
        match std::mem::replace(place, NOWHERE) {
            NOWHERE => {}
            SOON => self.soon.retain(|soon| {
                self::list(*soon as u64) != list || self::number(*soon as u64) != number
            }),
            at => self.later.remove(at as usize, placing(&mut self.places)),
        }
    }

    /// Whether the end of a turn is to come on a CPU.
    pub(super) fn has_turn_end(&self, cpu: usize) -> bool {
        let places = &self.places[list(Event::TurnEnd(cpu).key())];
        places.get(cpu).is_some_and(|place| *place != NOWHERE)
    }

    /// When the next is; [`Time::NEVER`] if there is none.
    #[inline]
    pub(super) fn next(&self) -> Time {
        time(self.first())
    }

    /// When the next is that is no burst of one of these threads, or an earlier time.
    pub(super) fn next_besides(&self, is_left_out: impl Fn(ThreadId) -> bool) -> Time {
        let is_left_out = |key: &u128| match Event::from_key(*key as u64) {
            Event::Burst(thread) => is_left_out(thread),
            _ => false,
        };
        let next = self.soon.iter().rev().find(|key| !is_left_out(key));
        time(next.copied().or_else(|| self.later.first()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Takes out the next.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let key = match self.soon.pop() {
            Some(key) => key,
            None => {
                let first = self.later.first()?;
                self.later.remove(0, placing(&mut self.places));
                first
            }
        };
        *place(&mut self.places, key as u64) = NOWHERE;
        Some(Event::from_key(key as u64))
    }

    fn first(&self) -> Option<u128> {
        self.soon.last().copied().or_else(|| self.later.first())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a map by thread.
        #[test]
        fn each_thread_has_one_event_and_they_come_in_order(
            steps in prop::collection::vec((0_usize..12, 0_u64..20, 0_u8..6), 0..300),
        ) {
            let mut agenda = Agenda::default();
            let mut naive: BTreeMap<usize, (Time, Event)> = BTreeMap::new();
            for (id, at, what) in steps {
                let at = Time::from_ns(at);
                match what {
                    0..3 => {
                        let event = [Event::Hand(id), Event::Burst(id), Event::Ready(id)][what as usize];
                        agenda.set(at, event);
                        naive.insert(id, (at, event));
                    }
                    3 => {
                        agenda.cancel(Event::Ready(id));
                        naive.remove(&id);
                    }
                    _ => {
                        let first = naive.iter().min_by_key(|(_, (at, event))| (*at, event.key()));
                        let first = first.map(|(id, (_, event))| (*id, *event));
                        prop_assert_eq!(agenda.pop(), first.map(|(_, event)| event));
                        first.map(|(id, _)| naive.remove(&id));
                    }
                }
                let next = naive.values().map(|(at, _)| *at).min();
                prop_assert_eq!(agenda.next(), next.unwrap_or(Time::NEVER));
                prop_assert_eq!(agenda.is_empty(), naive.is_empty());
                let is_even = |id: ThreadId| id.is_multiple_of(2);
                let rest = naive.iter().filter(|(id, (_, event))| !(is_even(**id) && matches!(event, Event::Burst(_))));
                let rest = rest.map(|(_, (at, _))| *at).min().unwrap_or(Time::NEVER);
                let besides = agenda.next_besides(is_even);
                prop_assert!(agenda.next() <= besides && besides <= rest);
                prop_assert_eq!(agenda.next_besides(|_| false), agenda.next());
            }
        }
    }
}
