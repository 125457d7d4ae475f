use std::sync::Arc;

use punctual_core::{Lateness, Method, Nanos};

use crate::{Draw, Random, Request, Time, Why};

/// Overshoots that were recorded on a real computer, met again in their order.
///
/// They lie in [banks](Bank). A nap meets the next overshoot of the bank of its call whose length
/// is nearest to what it asks for, in the logarithm. In each run every bank begins at a random
/// place, and goes round. Recordings are of the whole overshoot; nothing is added for waking up,
/// and the CPU time of a nap is a part of it.
#[derive(Clone, Debug)]
pub struct Recorded {
    recording: Arc<Recording>,
    /// Which overshoot of each bank is next; `None` before the first nap of a
    /// run.
    next: Vec<Option<usize>>,
}

/// Naps of one OS call that asked for the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct Bank {
    /// The OS call.
    pub method: Method,
    /// The length they asked for.
    pub asked: Nanos,
    /// How much longer each of them took, in the order of the naps; negative if
    /// it was shorter.
    pub overshoots: Vec<Lateness>,
    /// The CPU time of one nap, with the readings of the clock before and after it; `None` where
    /// it was not counted.
    pub cpu: Option<Nanos>,
}

#[derive(Debug)]
struct Recording {
    methods: Vec<Method>,
    naps: Vec<Nap>,
}

/// A bank in its place: what a waiter can do with it.
#[derive(Debug)]
pub struct Nap {
    /// `None` for any.
    method: Option<Method>,
    /// The shortest length whose overshoot comes from it.
    pub shortest: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// The overshoots, in their order.
    pub overshoots: Vec<Lateness>,
    /// The CPU time of one nap, without any reading of the clock; `None` where it was not counted.
    pub cpu: Option<Nanos>,
    /// The part of the overshoot that comes after the timer.
    after: Time,
}

impl Recorded {
    /// One bank for all calls and lengths: how late each nap was, in the order of the naps; early
    /// if negative. The recording should be of naps such as those to come. Their CPU time is not
    /// known.
    ///
    /// # Errors
    /// The recording is empty.
    pub fn new(overshoots: Vec<Lateness>) -> Result<Self, String> {
        if overshoots.is_empty() {
            return Err("there are no overshoots in the recording".to_owned());
        }
        let nap = Nap {
            method: None,
            shortest: Nanos::ZERO,
            longest: Nanos::MAX,
            overshoots,
            cpu: None,
            after: Time::ZERO,
        };
        Ok(Self::of(vec![Method::Sleep, Method::Timer], vec![nap]))
    }

    /// Naps by call and length, on a machine on which `sleep` and `timer` stand
    /// for these calls, and one reading of the clock takes `read`.
    ///
    /// # Errors
    /// A bank is empty or there twice, or the recording lacks one of those two
    /// calls.
    pub fn naps(
        mut banks: Vec<Bank>,
        sleep: Method,
        timer: Method,
        read: Nanos,
    ) -> Result<Self, String> {
        for (name, method) in [("sleep", sleep), ("timer", timer)] {
            if !banks.iter().any(|bank| bank.method == method) {
                return Err(format!(
                    "the recording has no naps with `{method}`, the `{name}` of its machine"
                ));
            }
        }
        // `sleep` comes first and `timer` last, as with all rules.
        let mut methods = vec![sleep];
        for method in banks.iter().map(|bank| bank.method) {
            if method != timer && !methods.contains(&method) {
                methods.push(method);
            }
        }
        if timer != sleep {
            methods.push(timer);
        }
        let place = |bank: &Bank| (methods.iter().position(|m| *m == bank.method), bank.asked);
        banks.sort_by_key(place);
        let mut naps: Vec<Nap> = Vec::with_capacity(banks.len());
        let mut before: Option<(Method, Nanos)> = None;
        for Bank {
            method,
            asked,
            overshoots,
            cpu,
        } in banks
        {
            if overshoots.is_empty() {
                return Err(format!("there are no naps of {asked} with `{method}`"));
            }
            let shortest = match (before, naps.last_mut()) {
                (Some((of, shorter)), Some(last)) if of == method => {
                    if shorter == asked {
                        return Err(format!("naps of {asked} with `{method}` are there twice"));
                    }
                    last.longest = between(shorter, asked);
                    last.longest + Nanos::new(1)
                }
                _ => Nanos::ZERO,
            };
            let cpu = cpu.map(|cpu| cpu - read.times(2));
            naps.push(Nap {
                method: Some(method),
                shortest,
                longest: Nanos::MAX,
                overshoots,
                cpu,
                after: Time::from(cpu.unwrap_or_default() + read),
            });
            before = Some((method, asked));
        }
        Ok(Self::of(methods, naps))
    }

    fn of(methods: Vec<Method>, naps: Vec<Nap>) -> Self {
        Self {
            next: vec![None; naps.len()],
            recording: Arc::new(Recording { methods, naps }),
        }
    }

    /// All that a waiter can do on this machine besides spinning. Each nap draws
    /// from one of these.
    pub fn all(&self) -> &[Nap] {
        &self.recording.naps
    }

    /// Where the overshoots of such naps lie.
    fn find(&self, request: &Request) -> usize {
        let asked = Nanos::new((request.due - request.now).floor_ns());
        let naps = &self.recording.naps;
        let fits = |nap: &Nap| {
            nap.method.is_none_or(|method| method == request.method) && asked <= nap.longest
        };
        let found = naps.iter().position(fits);
        found.expect("a machine refuses a call that was not recorded")
    }
}

/// The longest length that is not nearer to `long` than to `short`, in the
/// logarithm.
fn between(short: Nanos, long: Nanos) -> Nanos {
    let product = u128::from(short.as_ns()) * u128::from(long.as_ns());
    // The root of a product of two is no longer than the longer one.
    Nanos::new(u64::try_from(product.isqrt()).unwrap_or(u64::MAX))
}

impl Draw for Recorded {
    fn end(&mut self, request: &Request, random: &mut Random) -> (Time, bool) {
        let found = self.find(request);
        let nap = &self.recording.naps[found];
        let count = nap.overshoots.len();
        let place = self.next[found].unwrap_or_else(|| {
            let bound = Time::from_thirds(count as u64);
            random.below(bound).as_thirds() as usize
        });
        self.next[found] = Some((place + 1) % count);
        let overshoot = nap.overshoots[place];
        let by = Time::from(Nanos::new(overshoot.as_ns().unsigned_abs()));
        let end = if overshoot.is_early() {
            request.due - by
        } else {
            request.due + by
        };
        ((end - nap.after).max(request.now), false)
    }

    fn methods(&self) -> &[Method] {
        &self.recording.methods
    }

    fn cpu_of(&self, request: &Request) -> Option<Time> {
        self.recording.naps[self.find(request)].cpu.map(Time::from)
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
    use crate::testing::{interrupt, request};
    use crate::{Expired, Naps, Rule};

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
        for (banks, says) in [
            (vec![], "no naps with `clock_nanosleep`, the `sleep`"),
            (vec![bank(SLEEP, 10, &[1])], "no naps with `timerfd`"),
            (
                vec![bank(SLEEP, 10, &[1]), bank(TIMER, 20, &[])],
                "no naps of 20 us with `timerfd`",
            ),
            (
                vec![
                    bank(TIMER, 10, &[1]),
                    bank(SLEEP, 10, &[1]),
                    bank(TIMER, 10, &[1]),
                ],
                "naps of 10 us with `timerfd` are there twice",
            ),
        ] {
            let error = Recorded::naps(banks, SLEEP, TIMER, READ).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    const SLEEP: Method = Method::ClockNanosleep;
    const TIMER: Method = Method::Timerfd;
    const READ: Nanos = Nanos::new(31);

    fn bank(method: Method, asked_us: u64, overshoots: &[i64]) -> Bank {
        Bank {
            method,
            asked: Nanos::from_us(asked_us),
            overshoots: overshoots.iter().map(|ns| Lateness::new(*ns)).collect(),
            cpu: None,
        }
    }

    /// The overshoot of one nap, as its bank has it.
    fn met(recorded: &mut Recorded, method: Method, length: u64) -> u64 {
        let nap = request(0, method, 1_000, length);
        let (at, _) = recorded.end(&nap, &mut Random::new(1));
        (at - nap.due + READ.into()).floor_ns()
    }

    #[test]
    fn a_nap_draws_from_the_nearest_length_of_its_call() {
        let banks = vec![
            bank(TIMER, 100, &[400]),
            bank(SLEEP, 90, &[300]),
            bank(SLEEP, 10, &[100]),
            bank(SLEEP, 40, &[200]),
        ];
        let mut recorded = Recorded::naps(banks, SLEEP, TIMER, READ).unwrap();
        assert_eq!(recorded.methods(), [SLEEP, TIMER]);
        // 20 us are as far from 10 as from 40, and 60 us as far from 40 as from 90.
        for (length, want) in [
            (0, 100),
            (20_000, 100),
            (20_001, 200),
            (60_000, 200),
            (60_001, 300),
            (1 << 40, 300),
        ] {
            assert_eq!(met(&mut recorded, SLEEP, length), want, "{length}");
        }
        assert_eq!(met(&mut recorded, TIMER, 1), 400);
        let lengths: Vec<_> = recorded
            .all()
            .iter()
            .map(|nap| (nap.shortest.as_ns(), nap.longest.as_ns()))
            .collect();
        let whole = (0, u64::MAX);
        assert_eq!(
            lengths,
            [(0, 20_000), (20_001, 60_000), (60_001, u64::MAX), whole]
        );
    }

    #[test]
    fn each_bank_goes_on_by_itself() {
        let banks = vec![bank(SLEEP, 10, &[100, 101]), bank(SLEEP, 40, &[200, 201])];
        let mut recorded = Recorded::naps(banks, SLEEP, SLEEP, READ).unwrap();
        assert_eq!(recorded.methods(), [SLEEP]);
        let lengths = [10_000, 40_000, 10_000, 10_000, 40_000];
        let met = lengths.map(|length| met(&mut recorded, SLEEP, length));
        assert_ne!(met[0], met[2]);
        assert_eq!(met[0], met[3]);
        assert_ne!(met[1], met[4]);
    }
}
