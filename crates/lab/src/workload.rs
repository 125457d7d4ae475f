//! How the waits of a program follow each other: on this computer as a `Script`, on any machine
//! as the program of a [`Course`].

use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;

use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_program::Program;
use punctual_program::program::{self, Op, Subject};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::experiments::Conditions;

/// A way in which programs wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// A fresh waiter for every 40 waits of 5 ms.
    Cold,
    /// The number of waits a second.
    Rate(u32),
    /// Waits of one period, of a rate that is not whole.
    Every(Duration),
    /// Lengths from 20 us to 30 ms, each decade as often as the others.
    Log,
    /// 0.5, 1, 2, 4, 8 and 16.7 ms in any order.
    Mixed,
    /// Any length from 0.1 to 30 ms.
    Uniform,
    /// 40 waits at 60 Hz, 40 at 1 kHz, and so on.
    Switch,
    /// 40 waits of 1 ms after 5 s without any.
    Burst,
}

impl Regime {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 11] = [
        Self::Cold,
        Self::Rate(1_000),
        Self::Rate(60),
        Self::Rate(144),
        Self::Rate(240),
        Self::Rate(5_000),
        Self::Log,
        Self::Mixed,
        Self::Uniform,
        Self::Switch,
        Self::Burst,
    ];

    /// The number of waits that belong together; a batch ends with the last of them.
    pub(crate) fn unit(self) -> u64 {
        match self {
            Self::Cold | Self::Burst => UNIT,
            Self::Switch => 2 * UNIT,
            _ => 1,
        }
    }

    /// Whether one waiter goes on without a rest, so that it can be warm before the
    /// batch, and trapped in it.
    pub(crate) fn is_steady(self) -> bool {
        !matches!(self, Self::Cold | Self::Burst)
    }

    /// The duration of a batch in which about this time is measured.
    pub(crate) fn takes(self, about: Duration) -> Duration {
        let unit = match self {
            Self::Cold => UNIT as u32 * COLD,
            Self::Burst => REST + UNIT as u32 * MS,
            Self::Switch => UNIT as u32 * (period(60) + MS),
            _ => return about,
        };
        unit * (about.as_secs_f64() / unit.as_secs_f64()).ceil() as u32
    }
}

/// As the user types and reads it: `1000Hz`, `cold`.
impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(hz) => return write!(f, "{hz}Hz"),
            Self::Every(period) => return write!(f, "{}", Nanos::from(*period).exact()),
            Self::Cold => "cold",
            Self::Log => "log",
            Self::Mixed => "mixed",
            Self::Uniform => "uniform",
            Self::Switch => "switch",
            Self::Burst => "burst",
        }
        .fmt(f)
    }
}

impl FromStr for Regime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(Self::ALL, text, ["regime", "regimes"])
    }
}

/// The next wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Turn {
    /// The part before the wait.
    pub(crate) before: Before,
    /// For what it waits.
    pub(crate) due: Due,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Before {
    /// The wait before it.
    Nothing,
    /// Another waiter is made.
    Fresh,
    /// A rest.
    Rest(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Due {
    /// The next cycle of so long, counted from the first; one that has passed is
    /// skipped.
    Cycle(Duration),
    /// A length from now.
    After(Duration),
}

/// Waits that belong together.
const UNIT: u64 = 40;
const MS: Duration = Duration::from_millis(1);
const COLD: Duration = Duration::from_millis(5);
const REST: Duration = Duration::from_secs(5);
const MIXED_US: [u64; 6] = [500, 1_000, 2_000, 4_000, 8_000, 16_700];

fn period(hz: u32) -> Duration {
    Duration::from_secs(1) / hz
}

/// The waits of one batch; the same for the same seed.
#[derive(Debug)]
pub(crate) struct Script {
    regime: Regime,
    random: Pcg64Mcg,
    n: u64,
}

impl Script {
    pub(crate) fn new(regime: Regime, seed: u64) -> Self {
        Self {
            regime,
            random: Pcg64Mcg::new(u128::from(seed)),
            n: 0,
        }
    }

    pub(crate) fn next(&mut self) -> Turn {
        let n = self.n;
        self.n += 1;
        let begins = n.is_multiple_of(UNIT);
        let (before, due) = match self.regime {
            Regime::Cold => (Before::Fresh, Due::Cycle(COLD)),
            Regime::Burst => (Before::Rest(REST), Due::Cycle(MS)),
            Regime::Rate(hz) => (Before::Nothing, Due::Cycle(period(hz))),
            Regime::Every(period) => (Before::Nothing, Due::Cycle(period)),
            Regime::Switch if (n / UNIT).is_multiple_of(2) => {
                (Before::Nothing, Due::Cycle(period(60)))
            }
            Regime::Switch => (Before::Nothing, Due::Cycle(MS)),
            Regime::Log => {
                let length = 20.0 * (self.share() * 1_500_f64.ln()).exp();
                (Before::Nothing, due_after(length))
            }
            Regime::Uniform => (Before::Nothing, due_after(100.0 + self.share() * 29_900.0)),
            Regime::Mixed => {
                let us = MIXED_US[(self.random.next_u64() % 6) as usize];
                (Before::Nothing, Due::After(Duration::from_micros(us)))
            }
        };
        Turn {
            before: if begins { before } else { Before::Nothing },
            due,
        }
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn due_after(us: f64) -> Due {
    Due::After(Duration::from_nanos((us * 1e3) as u64))
}

/// The one of `all` that is written so; `kind` and `kinds` are what they are called.
pub(crate) fn named<T: Display, const N: usize>(
    all: [T; N],
    text: &str,
    [kind, kinds]: [&str; 2],
) -> Result<T, String> {
    let names = all.each_ref().map(T::to_string).join(", ");
    let found = all.into_iter().find(|one| one.to_string() == text);
    found.ok_or_else(|| format!("there is no {kind} `{text}`; the {kinds} are {names}"))
}

/// Waits of a regime as a program.
#[derive(Clone, Debug)]
pub struct Course {
    /// Waits before those that count.
    warm_up: Vec<Op>,
    /// The waits that count.
    counted: Vec<Op>,
    /// The lengths of these.
    lengths: Vec<Nanos>,
}

impl Course {
    /// A number of waits that do not count, and a number that do; `seed` is that of their lengths.
    pub fn new(regime: Regime, seed: u64, warm_up: usize, counted: usize) -> Self {
        let mut script = Script::new(regime, seed);
        let mut dues = |count| -> Vec<_> { (0..count).map(|_| script.next().due).collect() };
        let (warm_up, counted) = (dues(warm_up), dues(counted));
        let length = |due: &Due| match due {
            Due::Cycle(length) | Due::After(length) => Nanos::from(*length),
        };
        Self {
            lengths: counted.iter().map(length).collect(),
            counted: ops(&counted, warm_up.last().copied()),
            warm_up: ops(&warm_up, None),
        }
    }

    /// The program of a strategy that waits so under these conditions.
    pub fn program(&self, spec: StrategySpec, conditions: &Conditions) -> Program {
        let mut ops = conditions.set_up();
        ops.extend_from_slice(&self.warm_up);
        ops.push(Op::Record);
        ops.extend_from_slice(&self.counted);
        Program::of(Subject::Strategy(spec), ops)
    }

    /// The lengths of the waits that count.
    pub fn lengths(&self) -> &[Nanos] {
        &self.lengths
    }
}

/// The operations that wait like this, those of one period in a loop. The cycles of `last`, the
/// wait before them, go on: begun anew, they would begin late where that wait ended late.
fn ops(dues: &[Due], mut last: Option<Due>) -> Vec<Op> {
    let mut ops = vec![];
    for part in dues.chunk_by(|a, b| a == b) {
        let waits = |due| Op::repeat(part.len() as u64, [Op::wait(due)]);
        match part[0] {
            Due::After(length) => ops.push(waits(program::Due::After(length.into()))),
            Due::Cycle(period) => {
                if last != Some(part[0]) {
                    let rate = Rate::from_period(period.into());
                    ops.push(Op::Pace(rate.unwrap_or_else(|why| unreachable!("{why}"))));
                }
                ops.push(waits(program::Due::NextCycle));
            }
        }
        last = Some(part[0]);
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for regime in Regime::ALL {
            assert_eq!(regime.to_string().parse(), Ok(regime));
        }
        assert!("61Hz".parse::<Regime>().unwrap_err().contains("60Hz, "));
    }

    #[test]
    fn lengths_lie_where_they_should_and_are_the_same_for_everybody() {
        let lengths = |regime| {
            let mut script = Script::new(regime, 7);
            let length = |turn: Turn| match turn.due {
                Due::After(length) => length,
                Due::Cycle(_) => panic!("{regime}"),
            };
            (0..1_000)
                .map(|_| length(script.next()))
                .collect::<Vec<_>>()
        };
        let us = Duration::from_micros;
        for (regime, from, to, median) in [
            (Regime::Log, us(20), us(30_000), us(600)..us(1_000)),
            (Regime::Uniform, us(100), us(30_000), us(13_000)..us(17_000)),
            (Regime::Mixed, us(500), us(16_700), us(2_000)..us(4_001)),
        ] {
            let mut seen = lengths(regime);
            assert_eq!(seen, lengths(regime));
            seen.sort();
            assert!(seen[0] >= from && seen[999] <= to, "{regime}");
            assert!(median.contains(&seen[500]), "{regime} {:?}", seen[500]);
        }
    }

    #[test]
    fn fresh_waiters_rests_and_switches_come_every_40_waits() {
        let befores = |regime| {
            let mut script = Script::new(regime, 1);
            let turns: Vec<_> = (0..81).map(|_| script.next()).collect();
            let at = |i: usize| turns[i].before;
            assert_eq!(at(1), Before::Nothing);
            [at(0), at(40), at(80)]
        };
        assert_eq!(befores(Regime::Cold), [Before::Fresh; 3]);
        assert_eq!(befores(Regime::Burst), [Before::Rest(REST); 3]);
        let mut script = Script::new(Regime::Switch, 1);
        let due: Vec<_> = (0..81).map(|_| script.next().due).collect();
        assert_eq!([due[0], due[39], due[80]], [Due::Cycle(period(60)); 3]);
        assert_eq!([due[40], due[79]], [Due::Cycle(MS); 2]);
    }
}
