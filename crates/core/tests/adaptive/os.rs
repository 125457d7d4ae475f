//! A small operating system that keeps time, for waiters to live on.
//!
//! Chance is a function of the seed, the number of the wait, and the number of the nap in it. Two
//! waiters that live through the same waits meet the same chance, with any past. A nap more or
//! less in one wait changes nothing in the next.

use punctual_core::{
    Clock, Event, Goal, Method, Nanos, Outcome, Reason, Step, Strategy, StrategySpec, Tick, Wait,
};

/// The clock of this OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OsTime;
impl Clock for OsTime {}

const US: f64 = 1e3;
const MS: f64 = 1e6;

/// A number from one up to about `most`, each octave as likely as any other.
/// Without powers and logarithms, which are not the same to the last bit on
/// every platform.
pub(crate) fn of_any_order(most: f64, chance: f64) -> f64 {
    let mut octaves = 0.0;
    let mut power = 1.0;
    while power * 2.0 <= most {
        power *= 2.0;
        octaves += 1.0;
    }
    let place = chance * (octaves + (most / power - 1.0));
    let octave = place.floor();
    (0..octave as u32).fold(1.0, |power, _| power * 2.0) * (1.0 + place - octave)
}

/// The eighth power: near one for few.
fn rarely(chance: f64) -> f64 {
    let square = chance * chance;
    let fourth = square * square;
    fourth * fourth
}

/// When naps end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Regime {
    /// 30 to 60 us late, some of them up to 40 us more: Linux.
    Good,
    /// Late by the timer slack of the thread, and 4 to 12 us.
    Slack(Nanos),
    /// At the first tick that is not before they are due, and up to 8 us
    /// later: Windows.
    Grid(Nanos),
    /// Late by an eighth of their length, at most 1 ms, and 15 to 25 us: macOS.
    Coalesced,
    /// As [`Good`](Self::Good), but one in so many is late by 20 ms.
    Spikes(u32),
    /// As [`Good`](Self::Good), but every other one ends early, by up to half
    /// its length.
    Early,
    /// As [`Good`](Self::Good), but a signal ends every other one somewhere.
    Interrupted,
}

impl Regime {
    /// All of them, with the parameters that matter.
    pub(crate) const ALL: [Self; 11] = [
        Self::Good,
        Self::Slack(Nanos::new(1)),
        Self::Slack(Nanos::from_us(50)),
        Self::Slack(Nanos::from_ms(2)),
        Self::Grid(Nanos::from_us(500)),
        Self::Grid(Nanos::from_us(15_625)),
        Self::Coalesced,
        Self::Spikes(1),
        Self::Spikes(100),
        Self::Early,
        Self::Interrupted,
    ];
}

/// How long waits are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lengths {
    /// All the same.
    Fixed(Nanos),
    /// Until the next whole multiple of this: a loop that keeps its rate.
    Paced(Nanos),
    /// From 1 us to 50 ms, each order of magnitude as often.
    Any,
}

impl Lengths {
    /// Audio, games at a thousand steps, frames, and anything.
    pub(crate) const ALL: [Self; 6] = [
        Self::Fixed(Nanos::from_us(200)),
        Self::Fixed(Nanos::from_ms(1)),
        Self::Fixed(Nanos::new(16_666_667)),
        Self::Paced(Nanos::from_ms(1)),
        Self::Paced(Nanos::new(16_666_667)),
        Self::Any,
    ];
}

/// The result of one wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) length: Nanos,
    pub(crate) outcome: Outcome,
    /// The CPU time of its naps and spins.
    pub(crate) cpu: Nanos,
}

impl Seen {
    /// In nanoseconds of CPU time, when one of lateness is worth `late_weight`
    /// of them.
    pub(crate) fn cost_ns(&self, late_weight: f64) -> f64 {
        self.cpu.as_ns() as f64 + late_weight * self.outcome.late.as_ns() as f64
    }

    /// The properties of each wait, with any past.
    pub(crate) fn check(&self, spec: StrategySpec) -> Result<(), String> {
        let Outcome {
            late,
            naps,
            spun,
            by_event,
            ..
        } = self.outcome;
        if late.is_early() && !by_event {
            return Err(format!("{} ns early: {self:?}", -late.as_ns()));
        }
        if let Some(budget) = spec.spin_budget()
            && spun > budget + READING
        {
            return Err(format!("spun {spun}: {self:?}"));
        }
        // As the conformance suite has it.
        if u64::from(naps) > 64 + self.length.as_ns() / 100_000 {
            return Err(format!("{naps} naps: {self:?}"));
        }
        Ok(())
    }
}

/// A reading of the clock takes less than this.
const READING: Nanos = Nanos::new(40);

/// An OS with one thread that waits.
#[derive(Clone, Debug)]
pub(crate) struct Os {
    pub(crate) regime: Regime,
    now: Tick<OsTime>,
    seed: u64,
    wait: u64,
    nap: u64,
}

impl Os {
    pub(crate) fn new(regime: Regime, now: Tick<OsTime>, seed: u64) -> Self {
        Self {
            regime,
            now,
            seed,
            wait: 0,
            nap: 0,
        }
    }

    pub(crate) fn now(&self) -> Tick<OsTime> {
        self.now
    }

    /// A number from 0 to 1, another one for each `what` of each nap.
    pub(crate) fn chance(&self, what: u64) -> f64 {
        let of = [self.seed, self.wait, self.nap, what];
        // The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
        let hash = of.into_iter().fold(0, |hash: u64, part| {
            let mut z = (hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        (hash >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next wait, a little after the last one.
    pub(crate) fn wait(&mut self, waiter: &mut impl Strategy<OsTime>, lengths: Lengths) -> Seen {
        self.wait_or(waiter, lengths, None)
    }

    /// The next wait, which an event may end: one that comes half the time.
    pub(crate) fn wait_or(
        &mut self,
        waiter: &mut impl Strategy<OsTime>,
        lengths: Lengths,
        or: Option<Event>,
    ) -> Seen {
        self.wait += 1;
        self.nap = 0;
        self.now = self.now + Nanos::new((20.0 * US * self.chance(1)) as u64);
        let length = match lengths {
            Lengths::Fixed(length) => length,
            Lengths::Paced(period) => {
                Nanos::new(period.as_ns() - self.now.as_ns() % period.as_ns())
            }
            Lengths::Any => Nanos::new((US * of_any_order(50_000.0, self.chance(0))) as u64),
        };
        let goal = Goal {
            or,
            ..Goal::until(self.now + length)
        };
        let signal = or
            .map(|_| self.now + Nanos::new((2.0 * self.chance(2) * length.as_ns() as f64) as u64));
        let mut cpu = Nanos::ZERO;
        let mut wait = Wait::begin(waiter, goal, self.now);
        loop {
            let began = self.now;
            let (mut reason, mut took) = (Reason::Ran, None);
            match wait.step() {
                Step::Done => break,
                Step::Block {
                    method,
                    limit,
                    metered,
                } => {
                    self.nap += 1;
                    reason = self.block(method, limit.length(began));
                    let nap = Nanos::new((4.0 * US + 2.0 * US * self.chance(3)) as u64);
                    cpu += nap;
                    took = metered.then_some(nap);
                }
                Step::Spin => {
                    let late_ns = READING.as_ns() as f64 * self.chance(4);
                    self.now = goal.deadline + Nanos::new(late_ns as u64);
                }
                Step::Yield => self.now = self.now + Nanos::new(500),
            }
            if let Some(signal) = signal.filter(|s| (began..self.now).contains(s)) {
                self.now = signal.max(began + Nanos::new(1));
                reason = Reason::Event;
            }
            wait.woke(waiter, self.now, reason, took);
        }
        let outcome = wait.outcome();
        cpu += outcome.spun;
        Seen {
            length,
            outcome,
            cpu,
        }
    }

    fn block(&mut self, method: Method, asked: Nanos) -> Reason {
        let asked_ns = asked.as_ns() as f64;
        let mut late_ns =
            30.0 * US + 20.0 * US * self.chance(5) + 50.0 * US * rarely(self.chance(6));
        let mut reason = Reason::Timer;
        let every_other = self.chance(8) < 0.5;
        match self.regime {
            Regime::Good => {}
            Regime::Slack(slack) => {
                // Slack does not apply to the sleep without it.
                let slack = if method == Method::SlacklessNanosleep {
                    Nanos::new(1)
                } else {
                    slack
                };
                late_ns = slack.as_ns() as f64 + 4.0 * US + 8.0 * US * self.chance(5);
            }
            Regime::Grid(period) => {
                let due = self.now + asked;
                let tick = due.as_ns().div_ceil(period.as_ns()) * period.as_ns();
                late_ns = (tick - due.as_ns()) as f64 + 8.0 * US * self.chance(5);
            }
            Regime::Coalesced => {
                late_ns = (asked_ns / 8.0).min(MS) + 15.0 * US + 10.0 * US * self.chance(5);
            }
            Regime::Spikes(one_in) => {
                if self.chance(9) * f64::from(one_in) < 1.0 {
                    late_ns += 20.0 * MS;
                }
            }
            Regime::Early if every_other => late_ns = -asked_ns / 2.0 * self.chance(5),
            Regime::Interrupted if every_other => {
                late_ns = -asked_ns * self.chance(5);
                reason = Reason::Interrupted;
            }
            Regime::Early | Regime::Interrupted => {}
        }
        // No call returns at once.
        let slept_ns = (asked_ns + late_ns).max(US);
        self.now = self.now + Nanos::new(slept_ns as u64);
        reason
    }
}
