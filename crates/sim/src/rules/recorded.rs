use std::sync::Arc;

use punctual_core::{Lateness, Nanos};

use super::{Draw, Request, Why};
use crate::random::Random;
use crate::time::Time;

/// Overshoots that were recorded on a real computer, met again in their order.
///
/// Each run begins at a random place of the recording, and goes round. The
/// length of a nap plays no part, so the recording should be of naps such as
/// those to come. What is recorded is the whole overshoot; nothing is added for
/// waking up.
#[derive(Clone, Debug)]
pub struct Recorded {
    overshoots: Arc<[Lateness]>,
    /// Which one is next; `None` before the first nap of a run.
    next: Option<usize>,
}

impl Recorded {
    /// How late each nap was, in the order of the naps; early if negative.
    ///
    /// # Errors
    /// The recording is empty.
    pub fn new(overshoots: Vec<Lateness>) -> Result<Self, String> {
        if overshoots.is_empty() {
            return Err("there are no overshoots in the recording".to_owned());
        }
        Ok(Self {
            overshoots: overshoots.into(),
            next: None,
        })
    }

    /// The overshoot that the next nap meets.
    fn draw(&mut self, random: &mut Random) -> Lateness {
        let count = self.overshoots.len();
        let place = self.next.unwrap_or_else(|| {
            let bound = Time::from_thirds(count as u64);
            random.below(bound).as_thirds() as usize
        });
        self.next = Some((place + 1) % count);
        self.overshoots[place]
    }
}

impl Draw for Recorded {
    fn end(&mut self, request: &Request, random: &mut Random) -> (Time, bool) {
        let overshoot = self.draw(random);
        let by = Time::from(Nanos::new(overshoot.as_ns().unsigned_abs()));
        let at = if overshoot.is_early() {
            (request.due - by).max(request.now)
        } else {
            request.due + by
        };
        (at, false)
    }

    fn why(&self, due: Time) -> Why {
        Why::Script { due }
    }

    fn in_words(&self) -> &'static str {
        "it is a recording, with nothing to set"
    }
}

#[cfg(test)]
mod tests {
    use punctual_core::{Method, Reason};

    use super::*;
    use crate::rules::testing::{interrupt, request};
    use crate::rules::{Expired, Naps, Rule};

    /// The overshoots that naps of these lengths meet.
    fn naps(recorded: &mut Naps<Recorded>, seed: u64, lengths: &[u64]) -> Vec<i64> {
        let mut random = Random::new(seed);
        let nap = |length: &u64| {
            let nap = request(0, Method::Sleep, 1_000, *length);
            recorded.arm(&nap, &mut random);
            let (at, cpu) = recorded.next_interrupt().unwrap();
            assert_eq!(recorded.next_interrupt_on(cpu), Some(at));
            assert_eq!(
                interrupt(recorded, cpu, at),
                [Expired {
                    thread: 0,
                    reason: Reason::Timer,
                    why: Why::Script { due: nap.due },
                }]
            );
            at.floor_ns() as i64 - nap.due.floor_ns() as i64
        };
        lengths.iter().map(nap).collect()
    }

    fn recorded(overshoots: &[i64]) -> Naps<Recorded> {
        let overshoots = overshoots.iter().map(|ns| Lateness::new(*ns));
        Naps::new(Recorded::new(overshoots.collect()).unwrap())
    }

    #[test]
    fn overshoots_come_in_their_order_from_a_random_place_on() {
        let all = [10, 20, 30, 40, 50];
        let twice = [all, all].concat();
        let mut begins = [false; 5];
        for seed in 0..100 {
            let met = naps(&mut recorded(&all), seed, &[100; 5]);
            let begin = all.iter().position(|ns| *ns == met[0]).unwrap();
            assert_eq!(met, twice[begin..begin + 5]);
            begins[begin] = true;
        }
        assert_eq!(begins, [true; 5]);
    }

    #[test]
    fn the_recording_goes_round() {
        let met = naps(&mut recorded(&[7, 9]), 1, &[3, 100, 5_000, 1, 0, 2]);
        assert_eq!(met[..2], met[2..4]);
        assert_eq!(met[..2], met[4..]);
    }

    #[test]
    fn an_early_one_is_not_before_the_call() {
        let met = naps(&mut recorded(&[-50]), 1, &[100, 50, 20, 0]);
        assert_eq!(met, [-50, -50, -20, 0]);
    }

    #[test]
    fn a_disarmed_timer_has_used_its_overshoot() {
        let mut recorded = recorded(&[7, 9]);
        let mut random = Random::new(1);
        recorded.arm(&request(0, Method::Sleep, 0, 5), &mut random);
        let first = recorded.next_interrupt().unwrap().0;
        recorded.disarm(0);
        assert_eq!(recorded.next_interrupt(), None);
        recorded.arm(&request(0, Method::Sleep, 0, 5), &mut random);
        let second = recorded.next_interrupt().unwrap().0;
        assert_eq!(first.floor_ns() + second.floor_ns(), 5 + 7 + 5 + 9);
    }

    #[test]
    fn there_is_no_empty_recording() {
        assert!(Recorded::new(vec![]).is_err());
    }
}
