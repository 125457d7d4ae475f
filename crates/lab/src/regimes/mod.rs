//! The regimes in which programs wait, and the conditions in which they do:
//! `adaptive` beside the best of the others, round by round.
//!
//! A B C A B C ...: every subject has a batch in a fresh thread of its own, with the host's slack
//! for threads. It waits as its users do: through [`punctual::Waiter`], or the API of a peer.
//! Therefore this experiment runs here alone, and in no simulation.
//!
//! - **Cost**: the CPU time of the thread, and its weight x lateness, capped at 1 ms.
//!   A wait is as late as the caller sees it, on its own clock after the call has
//!   returned; what the waiter reported is kept beside that.
//! - **Trapped** is a second of a loaded batch with more than three times the normal share of a
//!   CPU and a mean lateness above 0.5 ms. The normal share is that before the load, or in the
//!   quiet batches of the run if that is less. Batches of 8 s or more are examined.
//! - **Back to normal** is a subject after the load once 8 waits in a row cost at most twice the
//!   mean before the load.
//!
//! [`workload`](crate::workload) has the regimes, `surroundings` the conditions, `batch` one turn of
//! one subject.
//! [`punctual_record::regimes`] judges the results.

mod batch;
mod surroundings;

pub use batch::Sleeper;
pub use surroundings::Condition;

use std::time::Duration;

use punctual_core::{Nanos, StrategySpec};
use punctual_os::Error;
use punctual_record::experiment::{RegimeBatch, Regimes};
use punctual_record::regimes::{ROUNDS_MIN, Verdict, cells, is_beaten};
use punctual_record::{Cost, Cpu, Experiment, Interval, Late, Measurement, Round, median};

use crate::host::{MakePeer, Stop, Witness};
use crate::workload::Regime;
use batch::{Batch, Seen};

/// The error of the library as one of the lab.
fn refused(error: punctual::Error) -> Error {
    match error.is_unsupported() {
        true => Error::unsupported(error.to_string()),
        false => Error::range(error.to_string()),
    }
}

/// A subject.
#[derive(Clone, Debug)]
pub struct Subject {
    /// As the results name it.
    pub name: String,
    /// The cost of a nanosecond of lateness for it, if it was asked for that.
    pub weight: Option<f64>,
    /// Its way of waiting.
    pub sleeper: Sleeper,
}

impl Subject {
    /// A strategy of the library.
    ///
    /// # Errors
    /// It cannot wait here.
    pub fn strategy(spec: StrategySpec) -> Result<Self, Error> {
        let strategy = punctual::Strategy::of(spec);
        // Refused now rather than in the middle of it.
        punctual::Waiter::builder()
            .strategy(strategy.clone())
            .build()
            .map_err(refused)?;
        Ok(Self {
            name: spec.to_string(),
            weight: match spec {
                StrategySpec::Adaptive { weight, .. } | StrategySpec::Quantile { weight, .. } => {
                    Some(weight)
                }
                _ => None,
            },
            sleeper: Sleeper::Waiter(strategy),
        })
    }

    /// Foreign code.
    pub fn peer(name: &str, make: MakePeer) -> Self {
        Self {
            name: name.to_owned(),
            weight: None,
            sleeper: Sleeper::Peer(make),
        }
    }
}

/// The plan of a comparison.
#[derive(Clone, Debug)]
pub struct RegimesPlan {
    /// The subjects that take turns, in this order.
    pub subjects: Vec<Subject>,
    /// In which regimes.
    pub regimes: Vec<Regime>,
    /// In which conditions.
    pub conditions: Vec<Condition>,
    /// The most rounds.
    pub rounds: u32,
    /// The measured time of a quiet batch.
    pub quiet: Duration,
    /// The measured time of a batch in any other condition.
    pub loaded: Duration,
    /// The time before it.
    pub warm_up: Duration,
    /// Whether cells end that are decided, and subjects that are clearly beaten in
    /// one no longer take part in it.
    pub decides: bool,
}

/// The weights that subjects without one of their own are made for, if none are
/// named.
pub fn usual_weights(decides: bool) -> Vec<f64> {
    match decides {
        true => punctual_record::WEIGHTS.to_vec(),
        false => vec![10.0],
    }
}

/// The subjects if none is named: `adaptive` and `quantile` at these weights, the fifteen lines
/// and a constant, and the peers.
pub fn usual_subjects(weights: &[f64], decides: bool) -> Vec<String> {
    let weighted = weights.iter().flat_map(|&weight| {
        [
            StrategySpec::adaptive(weight),
            StrategySpec::quantile(weight),
        ]
        .map(|spec| spec.to_string())
    });
    let others = [
        "fixed-margin:margin=60us:method=timer",
        "fixed-margin",
        "spin_sleep",
        "fixed-margin:margin=125us:method=timer",
        "precise",
        "timer",
        "max-nap",
        "std",
    ];
    let others = others.iter().take(if decides { others.len() } else { 3 });
    weighted
        .chain(others.map(|name| (*name).to_owned()))
        .collect()
}

/// After so many rounds it is looked at who is beaten.
const LOOK_AFTER: usize = 4;

/// A part of the plan: all subjects in one regime and condition, once.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// The round, counted from 0.
    pub round: u32,
    /// The regime.
    pub regime: Regime,
    /// The condition.
    pub condition: Condition,
}

impl Sweep {
    /// The cell of its measurements.
    fn cell(self) -> Experiment {
        Experiment::Regimes(Regimes {
            regime: self.regime.to_string(),
            condition: self.condition.to_string(),
        })
    }
}

impl RegimesPlan {
    /// Three regimes in two conditions, in about three minutes.
    pub fn quick(subjects: Vec<Subject>) -> Self {
        Self {
            subjects,
            regimes: vec![Regime::Rate(1_000), Regime::Rate(60), Regime::Mixed],
            conditions: vec![Condition::Quiet, Condition::Load(1)],
            rounds: 6,
            quiet: Duration::from_millis(800),
            loaded: Duration::from_millis(800),
            warm_up: Duration::from_millis(200),
            decides: false,
        }
    }

    /// All regimes in all conditions, until each cell is decided.
    pub fn deciding(subjects: Vec<Subject>) -> Self {
        Self {
            subjects,
            regimes: Regime::ALL.to_vec(),
            conditions: Condition::ALL.to_vec(),
            rounds: 30,
            quiet: Duration::from_secs(4),
            loaded: Duration::from_secs(16),
            warm_up: Duration::from_secs(2),
            decides: true,
        }
    }

    /// Every sweep, in order.
    pub fn sweeps(&self) -> impl Iterator<Item = Sweep> {
        let of_round = move |round| {
            let conditions = self.conditions.iter();
            conditions.flat_map(move |&condition| {
                self.regimes.iter().map(move |&regime| Sweep {
                    round,
                    regime,
                    condition,
                })
            })
        };
        (0..self.rounds).flat_map(of_round)
    }

    /// The duration of one batch.
    pub fn batch_takes(&self, regime: Regime, condition: Condition) -> Nanos {
        let warm_up = match regime.is_steady() {
            true => self.warm_up,
            false => Duration::ZERO,
        };
        Nanos::from(regime.takes(self.measured(condition)) + warm_up)
    }

    /// The duration of a round of all subjects.
    pub fn round_takes(&self) -> Nanos {
        let of_round = self.sweeps().take_while(|sweep| sweep.round == 0);
        of_round
            .fold(Nanos::ZERO, |sum, sweep| {
                sum + self.batch_takes(sweep.regime, sweep.condition)
            })
            .times(self.subjects.len() as u64)
    }

    fn measured(&self, condition: Condition) -> Duration {
        match condition {
            Condition::Quiet => self.quiet,
            _ => self.loaded,
        }
    }

    /// The subjects whose turn it is, by the earlier results. There are none if the sweep is done
    /// or its cell decided, and beaten subjects are left out.
    pub fn turns<'a>(&'a self, sweep: Sweep, results: &[Measurement]) -> Vec<&'a Subject> {
        let cell = sweep.cell();
        let here: Vec<Measurement> = (results.iter())
            .filter(|m| m.experiment == cell)
            .cloned()
            .collect();
        let round = sweep.round as usize;
        let is_decided = || {
            let mut cells = cells(&here).into_iter().peekable();
            cells.peek().is_some()
                && cells.all(|cell| {
                    matches!(cell.verdict, Verdict::Cheaper | Verdict::Dearer)
                        || cell.spread() <= 0.03
                })
        };
        let is_first = here.iter().all(|m| m.rounds.len() <= round);
        if self.decides && round >= ROUNDS_MIN && is_first && is_decided() {
            return vec![];
        }
        let mine = |subject: &Subject| here.iter().find(|m| m.subject == subject.name);
        let is_next = |subject: &&Subject| match mine(subject) {
            None => round == 0,
            Some(m) if m.rounds.len() != round => false,
            Some(m) => !(self.decides && round >= LOOK_AFTER && is_beaten(&here, m)),
        };
        self.subjects.iter().filter(is_next).collect()
    }

    /// Lets one subject have its turn, and adds what came of it to `results`; nothing
    /// if the user ended it.
    ///
    /// # Errors
    /// The condition, or the subject, cannot be had here.
    pub fn run(
        &self,
        sweep: Sweep,
        subject: &Subject,
        results: &mut Vec<Measurement>,
        stop: &Stop,
        witness: &Witness,
    ) -> Result<(), Error> {
        let batch = Batch {
            sleeper: &subject.sleeper,
            weight: subject.weight.unwrap_or(10.0),
            regime: sweep.regime,
            condition: sweep.condition,
            quiet_share: quiet_share(results, sweep, subject),
            warm_up: self.warm_up,
            length: self.measured(sweep.condition),
            seed: u64::from(sweep.round) + 1,
        };
        let cpus = punctual_os::thread::allowed_cpus();
        if let Some(seen) = witness.during(&cpus, || batch.run(stop))? {
            add(results, sweep, subject, seen);
        }
        Ok(())
    }
}

/// The median over its rounds.
fn quiet_share(results: &[Measurement], sweep: Sweep, subject: &Subject) -> Option<f64> {
    let quiet = Sweep {
        condition: Condition::Quiet,
        ..sweep
    };
    let quiet = quiet.cell();
    let mut results = results.iter();
    let rounds = &results
        .find(|m| m.experiment == quiet && m.subject == subject.name)?
        .rounds;
    let shares: Vec<f64> = rounds.iter().filter_map(|r| r.cpu_fraction).collect();
    Some(Interval::of(&shares)?.median)
}

fn add(results: &mut Vec<Measurement>, sweep: Sweep, subject: &Subject, seen: Seen) {
    let cell = sweep.cell();
    let known = results
        .iter()
        .position(|m| m.experiment == cell && m.subject == subject.name);
    let i = known.unwrap_or_else(|| {
        results.push(Measurement {
            late_weight: subject.weight,
            ..Measurement::of(cell.clone(), subject.name.clone())
        });
        results.len() - 1
    });
    let m = &mut results[i];
    m.rounds.push(seen.waits.round());
    m.batches.push(seen.more);
    m.missed += seen.waits.missed;
    m.late_ns = merged(&m.late_ns, &Late::of(&seen.waits.late_ns), &m.batches);
    m.cpu = Cpu {
        fraction: mean(&m.rounds, |round| round.cpu_fraction),
        per_wait_ns: mean(&m.rounds, |round| round.cpu_per_wait_ns),
        ..Cpu::default()
    };
    m.cost_capped_interval_ns = Cost::CAPPED.of(&m.rounds);
}

fn mean(rounds: &[Round], of: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
    let sum: Option<f64> = rounds.iter().map(of).sum();
    Some(sum? / rounds.len() as f64)
}

/// Of all rounds, whose samples are too many to keep: of the percentiles only the median of their
/// medians is kept.
fn merged(all: &Late, next: &Late, batches: &[RegimeBatch]) -> Late {
    let medians: Vec<i64> = batches.iter().map(|batch| batch.late_ns_p50).collect();
    let n = all.n + next.n;
    let before = (all.n > 0).then_some(all);
    let mean = |of: fn(&Late) -> f64| {
        (of(all) * all.n as f64 + of(next) * next.n as f64) / n.max(1) as f64
    };
    Late {
        n,
        early: all.early + next.early,
        min: before.map_or(next.min, |all| all.min.min(next.min)),
        p50: median(&medians),
        max: before.map_or(next.max, |all| all.max.max(next.max)),
        mean: mean(|late| late.mean),
        mean_capped: mean(|late| late.mean_capped),
        ..Late::default()
    }
}
