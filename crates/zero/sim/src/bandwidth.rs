//! Memory that several workers write at the same time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use punctual_sim::Time;

/// Shares the bandwidth of the memory equally among those who zero.
///
/// As long as they are few, each is as fast as its core; if they are more than
/// the memory can serve, all are slower alike. So instead of every worker's
/// progress it is enough to know that of one who never ends: what begins when
/// that one has come to `v` and needs `work` ends when it has come to
/// `v + work`.
#[derive(Clone, Debug)]
pub(crate) struct Bandwidth {
    /// How many can work at full speed.
    abreast: f64,
    /// How far somebody who never ends has come, in thirds of a nanosecond of
    /// work at full speed.
    progress: f64,
    /// When that was.
    at: Time,
    /// Who works until when, in terms of that progress.
    jobs: BinaryHeap<Reverse<(Goal, usize)>>,
}

/// A progress to be reached, which is never negative: so the order of the bits
/// is the order of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Goal(u64);

impl Bandwidth {
    /// Memory that is fast enough for so many at full speed.
    pub(crate) fn new(abreast: f64) -> Self {
        Self {
            abreast,
            progress: 0.0,
            at: Time::ZERO,
            jobs: BinaryHeap::new(),
        }
    }

    /// Somebody begins with what takes `work` at full speed.
    pub(crate) fn begin(&mut self, now: Time, who: usize, work: Time) {
        self.advance(now);
        let goal = self.progress + work.as_thirds() as f64;
        self.jobs.push(Reverse((Goal(goal.to_bits()), who)));
    }

    /// When the first of them ends, if none begins before.
    pub(crate) fn next_end(&self) -> Option<Time> {
        let Reverse((goal, _)) = self.jobs.peek()?;
        let left = f64::from_bits(goal.0) - self.progress;
        // Upwards, so that the work is done by then.
        let thirds = (left / self.speed()).ceil() as u64;
        Some(self.at + Time::from_thirds(thirds))
    }

    /// Who ends at `now`, which is the time of the [next end](Self::next_end).
    pub(crate) fn end(&mut self, now: Time) -> usize {
        self.advance(now);
        let Reverse((goal, who)) = self.jobs.pop().expect("somebody works");
        self.progress = self.progress.max(f64::from_bits(goal.0));
        who
    }

    fn advance(&mut self, now: Time) {
        if !self.jobs.is_empty() {
            self.progress += (now - self.at).as_thirds() as f64 * self.speed();
        }
        self.at = now;
    }

    fn speed(&self) -> f64 {
        let active = self.jobs.len() as f64;
        if active > self.abreast {
            self.abreast / active
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn few_are_as_fast_as_their_cores() {
        let mut memory = Bandwidth::new(2.0);
        memory.begin(ns(0), 7, ns(300));
        memory.begin(ns(100), 8, ns(300));
        assert_eq!(memory.next_end(), Some(ns(300)));
        assert_eq!(memory.end(ns(300)), 7);
        assert_eq!(memory.next_end(), Some(ns(400)));
        assert_eq!(memory.end(ns(400)), 8);
        assert_eq!(memory.next_end(), None);
    }

    #[test]
    fn many_share_alike() {
        let mut memory = Bandwidth::new(2.0);
        for who in 0..4 {
            memory.begin(ns(0), who, ns(300));
        }
        // Four at half the speed.
        for who in 0..4 {
            assert_eq!(memory.next_end(), Some(ns(600)));
            assert_eq!(memory.end(ns(600)), who);
        }
    }

    #[test]
    fn who_comes_later_slows_those_who_are_there() {
        let mut memory = Bandwidth::new(1.0);
        memory.begin(ns(0), 0, ns(300));
        memory.begin(ns(200), 1, ns(300));
        // The 100 ns that are left take 200.
        assert_eq!(memory.next_end(), Some(ns(400)));
        assert_eq!(memory.end(ns(400)), 0);
        // The other has done 100 and goes on alone.
        assert_eq!(memory.next_end(), Some(ns(600)));
        assert_eq!(memory.end(ns(600)), 1);
        // A new beginning after a rest.
        memory.begin(ns(1_000), 0, ns(300));
        assert_eq!(memory.next_end(), Some(ns(1_300)));
    }
}
