//! Logs of waits whose rule is known to the one who made them, and the scores of `identify` on them.
//!
//! The logs use neither the simulator nor the code that fits: each rule is written out anew from
//! what is published of it. A quarter of the logs follow no rule at all.

use std::collections::BTreeMap;
use std::ops::Range;

use punctual_lab::identify::{Waits, identify};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// The maker of a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Truth {
    /// Ticks of so many nanoseconds.
    Tick(u64),
    /// A timer slack.
    Slack(u64),
    /// A latency tier of macOS.
    Tier(u32),
    /// A quota with such a period in ms.
    Quota(u64),
    /// A busy CPU at so many ticks a second.
    Busy(u64),
    /// Slack, and a hypervisor that takes the CPU away.
    Stolen(u64),
    /// No rule.
    None(&'static str),
}

impl Truth {
    pub(crate) fn family(&self) -> &'static str {
        match self {
            Self::Tick(_) => "tick or interval",
            Self::Slack(..100_000) => "timer slack",
            Self::Slack(_) => "timer slack of 0.5 ms or more",
            Self::Tier(_) => "macOS tier",
            Self::Quota(_) => "quota",
            Self::Busy(_) => "busy CPU",
            Self::Stolen(_) => "slack, on a virtual machine",
            Self::None(what) => what,
        }
    }

    /// Whether a rule that was named is the one that made the log.
    pub(crate) fn is_named(&self, rule: &str) -> bool {
        let has = |words: String| rule.contains(&words);
        match self {
            Self::Tick(ns) => {
                let hz = 1_000_000_000 / ns;
                has(format!("every {}", punctual_core::Nanos::new(*ns)))
                    || has(format!("ticks of {}", punctual_core::Nanos::new(*ns)))
                    || (has(format!("at {hz} Hz")) && rule.starts_with("Linux"))
            }
            Self::Slack(ns) | Self::Stolen(ns) => {
                has(format!("slack of {}", punctual_core::Nanos::new(*ns)))
            }
            Self::Tier(tier) => has(format!("latency tier {tier}")),
            Self::Quota(ms) => has(format!("quota with a period of {ms} ms")),
            Self::Busy(hz) => has(format!("busy CPU, with ticks at {hz} Hz")),
            Self::None(_) => false,
        }
    }
}

/// How often a rule was named rightly, not named, and named wrongly. A log without a rule is right
/// if none is named.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    pub(crate) right: u32,
    pub(crate) abstained: u32,
    pub(crate) wrong: u32,
}

impl Score {
    pub(crate) fn all(self) -> u32 {
        self.right + self.abstained + self.wrong
    }
}

/// The scores of some logs.
#[derive(Debug, Default)]
pub(crate) struct Scores {
    pub(crate) with: Score,
    pub(crate) without: Score,
    /// By what made the logs.
    pub(crate) by: BTreeMap<String, Score>,
}

impl Scores {
    /// The scores of the logs of these seeds.
    pub(crate) fn of(seeds: Range<u64>) -> Self {
        let mut scores = Self::default();
        for seed in seeds {
            let (truth, waits) = log(seed);
            let rule = identify(&waits).rule;
            let (all, name) = match truth {
                Truth::None(what) => (&mut scores.without, format!("no rule: {what}")),
                _ => (&mut scores.with, truth.family().to_owned()),
            };
            let is_none = matches!(truth, Truth::None(_));
            for score in [all, scores.by.entry(name).or_default()] {
                match &rule {
                    Some(rule) if truth.is_named(rule) => score.right += 1,
                    Some(_) => score.wrong += 1,
                    None if is_none => score.right += 1,
                    None => score.abstained += 1,
                }
            }
        }
        scores
    }
}

/// Chances, the same for the same seed.
pub(crate) struct Chance(Pcg64Mcg);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::new(
            u128::from(seed) << 64 | 0x5851_f42d_4c95_7f2d,
        ))
    }

    /// Anywhere from 0 to 1.
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Each factor of it as likely as another.
    fn log_between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[((self.share() * all.len() as f64) as usize).min(all.len() - 1)]
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.share()).ln() * mean
    }
}

/// The cost of waking up on a computer.
struct Wake {
    least: f64,
    median: f64,
    sigma: f64,
    outliers: f64,
}

impl Wake {
    fn draw(chance: &mut Chance) -> Self {
        Self {
            least: chance.log_between(1_500.0, 30_000.0),
            median: chance.log_between(1_000.0, 15_000.0),
            sigma: chance.between(0.2, 1.0),
            outliers: chance.one_of(&[0.0, 0.0, 0.005, 0.02]),
        }
    }

    fn cost(&self, chance: &mut Chance) -> f64 {
        let usual = self.least + self.median * (self.sigma * chance.normal()).exp();
        match chance.share() < self.outliers {
            true => usual + chance.log_between(50_000.0, 5_000_000.0),
            false => usual,
        }
    }
}

/// How long the waits of a log are asked to be: of one length, of a few, or of any.
fn lengths(chance: &mut Chance, n: usize) -> Vec<f64> {
    const USUAL_MS: [f64; 9] = [1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 16.0, 20.0, 50.0];
    let kinds = chance.one_of(&[1, 1, 1, 3, 3, 0]);
    let few: Vec<f64> = (0..kinds).map(|_| chance.one_of(&USUAL_MS) * 1e6).collect();
    (0..n)
        .map(|_| match kinds {
            0 => (chance.log_between(0.5, 60.0) * 1_000.0).round() * 1_000.0,
            _ => chance.one_of(&few),
        })
        .collect()
}

/// A log, and what made it.
pub(crate) fn log(seed: u64) -> (Truth, Waits) {
    let chance = &mut Chance::new(seed);
    let truth = truth(chance);
    let n = chance.log_between(60.0, 3_000.0) as usize;
    let asked = lengths(chance, n);
    let wake = Wake::draw(chance);
    let work = chance.one_of(&[0.0, 0.0, 300_000.0, 12_000_000.0]);
    let mut rule = Rule::draw(&truth, chance);
    let has_times = chance.share() < 0.5;
    let mut now = chance.between(1e9, 2e9);
    let mut waits = Waits::default();
    for asked in asked {
        now += 500.0 + chance.between(0.0, 1.0) * work;
        let began = now;
        let until = rule.end(began, asked, chance).max(began);
        now = until + wake.cost(chance);
        let got = (now - began).round();
        waits.asked_ns.push(asked as u64);
        waits.got_ns.push(got as u64);
        if has_times {
            waits.ended_ns.push(now as u64);
        }
    }
    (truth, waits)
}

fn truth(chance: &mut Chance) -> Truth {
    if chance.share() < 0.25 {
        return Truth::None(chance.one_of(&[
            "mixture",
            "other grid",
            "foreign cost",
            "share of length",
            "other scheduler",
        ]));
    }
    match (chance.share() * 100.0) as u64 {
        0..=39 => Truth::Tick(chance.one_of(&[
            15_625_000, 15_625_000, 15_625_000, 10_000_000, 8_000_000, 5_000_000, 4_000_000,
            2_000_000, 1_000_000, 1_000_000, 500_000, 3_333_333,
        ])),
        40..=61 => Truth::Slack(match (chance.share() * 8.0) as u64 {
            0..=4 => 50_000,
            5..=6 => 1,
            _ => chance.one_of(&[500_000, 1_000_000, 2_000_000, 5_000_000, 40_000_000]),
        }),
        62..=76 => Truth::Tier(chance.one_of(&[0, 1, 1, 1, 2, 3])),
        77..=84 => Truth::Quota(chance.one_of(&[100, 100, 100, 50, 20])),
        85..=92 => Truth::Busy(chance.one_of(&[100, 250, 250, 300, 1_000])),
        _ => Truth::Stolen(50_000),
    }
}

/// A rule with its parameters drawn.
enum Rule {
    /// The first tick at or after the length has passed, counted from the last tick or from the call.
    Tick {
        period: f64,
        phase: f64,
        from_tick: bool,
    },
    /// A part of the length up to a cap, ended earlier by timers and interrupts of others. A slack has a cap only.
    Coalesced {
        part: f64,
        cap: f64,
        others: f64,
    },
    /// As slack, but in some phases of each period nothing runs.
    Quota {
        slack: f64,
        period: f64,
        phase: f64,
        runs: f64,
    },
    /// As slack, but some waits end in a tick of another thread.
    Busy {
        slack: f64,
        tick: f64,
        phase: f64,
        share: f64,
        slice: f64,
    },
    /// As slack, with times in which nothing runs, each as likely to begin as another.
    Stolen {
        slack: f64,
        every: f64,
        most: f64,
        next: (f64, f64),
    },
    /// Two costs.
    Mixture([f64; 2], f64, f64),
    Cost(f64, f64),
    Share(f64, f64),
    /// Turns of a length that is no tick of an OS.
    Turns(f64, f64),
}

impl Rule {
    fn draw(truth: &Truth, chance: &mut Chance) -> Self {
        let phase = chance.between(0.0, 1e8);
        match truth {
            Truth::Tick(ns) => Self::Tick {
                period: *ns as f64,
                phase,
                from_tick: chance.share() < 0.5,
            },
            Truth::Slack(ns) => Self::Coalesced {
                part: f64::INFINITY,
                cap: *ns as f64,
                others: chance.one_of(&[0.0, 0.0, 10.0, 50.0]),
            },
            // XNU, osfmk/arm/arm_timer.c: shifts and caps of the tiers.
            Truth::Tier(tier) => {
                let (part, cap) =
                    [(0.125, 1e6), (0.25, 5e6), (0.5, 20e6), (4.0, 75e6)][*tier as usize];
                Self::Coalesced {
                    part,
                    cap,
                    others: chance.one_of(&[0.0, 250.0]),
                }
            }
            Truth::Quota(ms) => Self::Quota {
                slack: 50_000.0,
                period: *ms as f64 * 1e6,
                phase,
                runs: chance.between(0.2, 0.8),
            },
            Truth::Busy(hz) => Self::Busy {
                slack: 50_000.0,
                tick: 1e9 / *hz as f64,
                phase,
                share: chance.between(0.1, 0.7),
                slice: chance.between(2.8e6, 6e6),
            },
            Truth::Stolen(slack) => Self::Stolen {
                slack: *slack as f64,
                every: chance.log_between(2e7, 1e9),
                most: chance.log_between(1e6, 3e7),
                next: (0.0, 0.0),
            },
            Truth::None("mixture") => Self::Mixture(
                [chance.log_between(2e4, 2e6), chance.log_between(2e5, 2e7)],
                chance.between(0.2, 0.8),
                chance.between(0.3, 1.2),
            ),
            Truth::None("other grid") => {
                let grids = [1.7e6, 3.1e6, 6.5e6, 7.3e6, 11.1e6, 12.7e6, 18.4e6, 27.0e6];
                Self::Tick {
                    period: chance.one_of(&grids) * chance.between(0.97, 1.03),
                    phase,
                    from_tick: chance.share() < 0.5,
                }
            }
            Truth::None("foreign cost") => {
                Self::Cost(chance.log_between(7e4, 2e7), chance.between(0.02, 1.0))
            }
            Truth::None("share of length") => {
                Self::Share(chance.log_between(0.02, 1.5), chance.between(0.05, 0.6))
            }
            Truth::None(_) => Self::Turns(chance.log_between(6e6, 4e7), chance.between(0.2, 0.8)),
        }
    }

    /// When a wait ends, if waking up cost nothing.
    fn end(&mut self, began: f64, asked: f64, chance: &mut Chance) -> f64 {
        let due = began + asked;
        let next_tick =
            |at: f64, period: f64, phase: f64| ((at - phase) / period).ceil() * period + phase;
        match self {
            Self::Tick {
                period,
                phase,
                from_tick,
            } => {
                let last = ((began - *phase) / *period).floor() * *period + *phase;
                let due = if *from_tick { last + asked } else { due };
                next_tick(due - 0.5, *period, *phase)
            }
            Self::Coalesced { part, cap, others } => {
                let window = (asked * *part).min(*cap);
                match *others > 0.0 {
                    true => due + window.min(chance.exponential(1e9 / *others)),
                    false => due + window,
                }
            }
            Self::Quota {
                slack,
                period,
                phase,
                runs,
            } => {
                let at = due + *slack;
                let into = (at - *phase).rem_euclid(*period) / *period;
                if into < *runs {
                    at
                } else {
                    next_tick(at, *period, *phase)
                }
            }
            Self::Busy {
                slack,
                tick,
                phase,
                share,
                slice,
            } => {
                let at = due + *slack;
                match chance.share() < *share {
                    true => next_tick(at + chance.share() * *slice, *tick, *phase),
                    false => at,
                }
            }
            Self::Stolen {
                slack,
                every,
                most,
                next,
            } => {
                let at = due + *slack;
                while next.1 < at {
                    next.0 = next.1.max(began) + chance.exponential(*every);
                    next.1 = next.0 + chance.share() * *most;
                }
                if next.0 <= at { next.1 } else { at }
            }
            Self::Mixture(medians, share, sigma) => {
                let median = medians[usize::from(chance.share() > *share)];
                due + median * (*sigma * chance.normal()).exp()
            }
            Self::Cost(median, sigma) => due + *median * (*sigma * chance.normal()).exp(),
            Self::Share(part, sigma) => due + asked * *part * (*sigma * chance.normal()).exp(),
            Self::Turns(turn, share) => match chance.share() < *share {
                true => due + *turn * chance.share().powi(2),
                false => due + 30_000.0,
            },
        }
    }
}
