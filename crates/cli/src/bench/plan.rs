//! What a `bench` command line comes to.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use punctual_core::strategies::Defaults;
use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_lab::experiments::decades::Repeats;
use punctual_lab::experiments::interval::Waits;
use punctual_lab::experiments::pace::Batch;
use punctual_lab::experiments::{Conditions, decades, interval, naps, pace, robustness};
use punctual_lab::host::usual_cpu;
use punctual_lab::rounds::{self, Case};
use punctual_program::Machine;
use punctual_program::program::Subject;
use punctual_record::MachineFacts;
use punctual_sim::Model;

use super::args::{BenchArgs, Experiment};
use crate::progress::Progress;
use crate::{peers, say, session};

/// What is going to be measured.
pub(super) struct Plan {
    /// The races, one after the other.
    pub(super) races: Vec<Race>,
    /// Whether the robustness of `strategies` is simulated at the end.
    pub(super) robustness: bool,
    /// The subjects that can be simulated.
    pub(super) strategies: Vec<Subject>,
    pub(super) conditions: Conditions,
}

/// Heats that take turns.
pub(super) struct Race {
    pub(super) cases: Vec<Case>,
    pub(super) rounds: u32,
}

/// What a default race may take: less than a minute, with what its threads and
/// counters take on top.
const BUDGET: Nanos = Nanos::from_secs(54);
const QUICK: Nanos = Nanos::from_secs(12);
const ROUNDS: u32 = 6;

/// What a default race may take where that is what percentiles need.
const LONGEST: Nanos = Nanos::from_secs(90);

/// Waits of which ten lie above the 99th percentile.
const FOR_P99: u64 = 1_000;

/// So many waits of a slow loop take a quarter of a minute for each subject.
/// Unless more are asked for, only those have them that a game would choose
/// among: what `std::thread::sleep` does, the accurate-sleep article's function,
/// the crate that does likewise, and the library's own.
const SLOW: Nanos = Nanos::from_ms(10);
const OF_A_GAME: [&str; 4] = ["system", "precise", "spin_sleep", "adaptive-balanced"];

/// The functions of the accurate-sleep article.
const ARTICLE: [&str; 4] = ["system", "spin", "precise", "timer"];

impl Plan {
    pub(super) fn of(
        args: &BenchArgs,
        machine: &dyn Machine,
        facts: &MachineFacts,
    ) -> Result<Self> {
        let quick = args.effort.quick;
        let budget = if quick { QUICK } else { BUDGET };
        if let Some(experiment) = &args.experiment {
            let alone = matches!(experiment, Experiment::Robustness);
            let no_strategy = matches!(experiment, Experiment::Naps);
            for (option, given) in [
                ("--rate", args.rate.is_some()),
                // There is one plan for each rate, and nothing learned goes on.
                ("--explain", args.explain),
                ("--on", alone && !args.place.is_here()),
                ("--rounds", alone && args.effort.rounds.is_some()),
                (
                    "--quick",
                    (alone || matches!(experiment, Experiment::Article)) && quick,
                ),
                ("--strategy", no_strategy && args.strategy.is_some()),
            ] {
                if given {
                    bail!(
                        "{option} has no meaning for `bench {}`; leave one of them out",
                        experiment.name()
                    );
                }
            }
        }
        let simulated = matches!(
            args.experiment,
            Some(Experiment::Robustness | Experiment::Article)
        );
        if !simulated {
            args.place.check()?;
        }
        let subjects = subjects(args)?;
        let is_strategy = |s: &&Subject| s.spec().is_some();
        let strategies: Vec<Subject> = subjects.iter().filter(is_strategy).cloned().collect();
        let conditions = conditions(args)?;
        let race = |cases, rounds| Race {
            cases,
            rounds: args.effort.rounds.unwrap_or(rounds),
        };
        let races = match &args.experiment {
            None => {
                let rates = match &args.rate {
                    Some(list) => list.0.clone(),
                    None => vec![Rate::from_hz(60), Rate::from_hz(1_000)]
                        .into_iter()
                        .flatten()
                        .collect(),
                };
                if let Some(rate) = rates
                    .iter()
                    .enumerate()
                    .find_map(|(i, rate)| rates[..i].contains(rate).then_some(rate))
                {
                    bail!("--rate names {rate} twice");
                }
                let whole = args.rate.is_some() || args.strategy.is_some();
                let of_rate = |rate: Rate| {
                    let all = whole || rate.period() < SLOW;
                    let at_this = |subject: &&Subject| all || is_of_a_game(subject);
                    (rate, subjects.iter().filter(at_this).cloned().collect())
                };
                let cells: Vec<(Rate, Vec<Subject>)> = rates.into_iter().map(of_rate).collect();
                let most = match (quick, args.runs_here()) {
                    (true, _) => budget,
                    (false, true) => LONGEST,
                    (false, false) => Nanos::MAX,
                };
                let lengths = batch_lengths(&cells, budget, most);
                let cases = cells
                    .iter()
                    .zip(lengths)
                    .flat_map(|((rate, subjects), length)| {
                        pace::cases(subjects, &[*rate], Batch::Lasting(length), conditions)
                    });
                vec![race(cases.collect(), ROUNDS)]
            }
            Some(Experiment::Decades) => vec![race(
                decades::cases(&subjects, Repeats::Short, conditions),
                if quick { 1 } else { 3 },
            )],
            Some(Experiment::Interval) => {
                let each = Nanos::new(budget.as_ns() / (25 * subjects.len() as u64))
                    .min(Nanos::from_ms(500));
                vec![race(
                    interval::cases(&subjects, Waits::Lasting(each), conditions),
                    1,
                )]
            }
            // The latter has a plan of its own.
            Some(Experiment::Robustness | Experiment::Regimes(_)) => vec![],
            Some(Experiment::Naps) => vec![race(
                naps::cases(&naps::methods(machine, facts), conditions),
                if quick { 2 } else { naps::ROUNDS },
            )],
            Some(Experiment::Article) => {
                let sixty = Rate::from_hz(60).map_err(|e| anyhow!(e))?;
                vec![
                    race(
                        pace::cases(&subjects, &[sixty], Batch::Frames(1_000), conditions),
                        1,
                    ),
                    race(
                        interval::cases(&subjects, Waits::Exactly(100), conditions),
                        1,
                    ),
                    race(decades::cases(&subjects, Repeats::Article, conditions), 1),
                ]
            }
        };
        Ok(Self {
            races,
            robustness: simulated,
            strategies,
            conditions,
        })
    }

    /// Finds out whether `machine`, and the simulated ones that come after it,
    /// can do all this.
    pub(super) fn check(&self, machine: &dyn Machine) -> Result<()> {
        for case in self.races.iter().flat_map(|race| &race.cases) {
            machine.check(&case.program)?;
        }
        if self.robustness {
            let fake = super::fake(Nanos::from_ms(1), 0);
            robustness::check(&self.strategies, &fake)?;
        }
        Ok(())
    }

    /// Says on standard error what is about to happen and how long it takes.
    pub(super) fn announce(&self, in_virtual_time: bool) {
        for race in &self.races {
            let Some(first) = race.cases.first() else {
                continue;
            };
            let length = rounds::length(&race.cases, race.rounds);
            say!(
                "{}: {} subject runs in {}, {}",
                first.experiment(),
                race.cases.len(),
                session::rounds(race.rounds),
                session::about(length, in_virtual_time),
            );
        }
    }

    /// Before it begins.
    pub(super) fn progress(&self) -> Progress {
        let batches = self
            .races
            .iter()
            .map(|race| race.cases.len() * race.rounds as usize);
        let lengths = self
            .races
            .iter()
            .map(|race| rounds::length(&race.cases, race.rounds));
        Progress::new(
            batches.sum(),
            lengths.fold(Nanos::ZERO, |sum, race| sum + race),
        )
    }

    /// The plan, for the Run.
    pub(super) fn describe(&self, args: &BenchArgs) -> BTreeMap<String, punctual_record::Value> {
        let mut facts = BTreeMap::new();
        if let Some(cpu) = self.conditions.cpu {
            facts.insert("cpu".to_owned(), cpu.into());
        }
        facts.insert("load_threads".to_owned(), self.conditions.hogs.into());
        if !args.place.is_here() || self.robustness {
            facts.insert("seed".to_owned(), args.place.seed().into());
        }
        facts
    }
}

fn is_of_a_game(subject: &Subject) -> bool {
    OF_A_GAME.contains(&subject.to_string().as_str())
}

/// How long the batches of each rate last, without their warm-up: long enough for
/// a 99th percentile if that takes `most` or less in all, and longer as far as
/// the `budget` reaches.
fn batch_lengths(cells: &[(Rate, Vec<Subject>)], budget: Nanos, most: Nanos) -> Vec<Nanos> {
    let rounds = u64::from(ROUNDS);
    // A twentieth of a batch is warm-up.
    let with_warm_up = |length: Nanos| Nanos::new(length.as_ns() / 20 * 21);
    let without = |length: Nanos| Nanos::new(length.as_ns() / 21 * 20);
    let needed = |rate: &Rate| rate.offset(FOR_P99.div_ceil(rounds) + 1);
    let in_all = cells.iter().fold(Nanos::ZERO, |sum, (rate, subjects)| {
        sum + with_warm_up(needed(rate)).times(subjects.len() as u64 * rounds)
    });
    let fits = in_all <= most;
    let spare = if fits { budget - in_all } else { budget };
    let batches: u64 = cells
        .iter()
        .map(|(_, subjects)| subjects.len() as u64)
        .sum();
    let spare = without(Nanos::new(spare.as_ns() / (batches * rounds).max(1)));
    let (shortest, longest) = (Nanos::from_ms(100), Nanos::from_secs(2));
    let length = |(rate, _): &(Rate, Vec<Subject>)| {
        let needed = if fits { needed(rate) } else { Nanos::ZERO };
        (needed + spare)
            .clamp(without(shortest), without(longest))
            .max(needed)
    };
    cells.iter().map(length).collect()
}

impl Experiment {
    fn name(&self) -> &'static str {
        match self {
            Self::Decades => "decades",
            Self::Interval => "interval",
            Self::Robustness => "robustness",
            Self::Naps => "naps",
            Self::Article => "article",
            Self::Regimes(_) => "regimes",
        }
    }
}

impl BenchArgs {
    /// Whether it runs on this machine, and not in virtual time.
    pub(super) fn runs_here(&self) -> bool {
        self.place.is_here() && !matches!(self.experiment, Some(Experiment::Robustness))
    }
}

fn subjects(args: &BenchArgs) -> Result<Vec<Subject>> {
    let defaults = match args.runs_here() {
        true if cfg!(windows) => Defaults::WINDOWS,
        _ => Defaults::ELSEWHERE,
    };
    let Some(list) = &args.strategy else {
        let all: Vec<&str> = match args.experiment {
            Some(Experiment::Article) => ARTICLE.to_vec(),
            _ if args.runs_here() => StrategySpec::ALL
                .iter()
                .map(|s| s.name())
                .chain(peers::names())
                .collect(),
            _ => StrategySpec::ALL.iter().map(|s| s.name()).collect(),
        };
        return all
            .into_iter()
            .map(|name| subject(name, defaults))
            .collect();
    };
    let mut subjects = Vec::new();
    for name in &list.0 {
        let subject = subject(name, defaults)?;
        if subjects
            .iter()
            .any(|s: &Subject| s.to_string() == subject.to_string())
        {
            bail!("--strategy names `{subject}` twice");
        }
        if matches!(subject, Subject::Peer(_)) && !args.runs_here() {
            bail!(
                "`{name}` is real code and runs on this machine only, not in virtual time; leave it out"
            );
        }
        subjects.push(subject);
    }
    Ok(subjects)
}

fn subject(name: &str, defaults: Defaults) -> Result<Subject> {
    if peers::names().any(|peer| peer == name) {
        return Ok(Subject::Peer(name.to_owned()));
    }
    let peers: Vec<_> = peers::names().collect();
    StrategySpec::parse(name, defaults)
        .map(Subject::Strategy)
        .map_err(|why| anyhow!("{why}; the peers are {}", peers.join(", ")))
}

fn conditions(args: &BenchArgs) -> Result<Conditions> {
    if args.runs_here() {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        return Ok(Conditions {
            cpu: args.place.cpu.or_else(usual_cpu),
            hogs: hogs(args, cpus),
        });
    }
    let cpus = args.place.on.as_ref().and_then(Model::cpus);
    for (option, given) in [
        ("--cpu", args.place.cpu.is_some()),
        ("--load", args.load.is_some()),
    ] {
        if given && cpus.is_none() {
            bail!(
                "{option} has no meaning on the fake OS: each thread has a CPU of its own; leave it out"
            );
        }
    }
    Ok(Conditions {
        cpu: args.place.cpu,
        hogs: hogs(args, cpus.unwrap_or(0)),
    })
}

/// How many threads that compute all the time the user wants.
fn hogs(args: &BenchArgs, cpus: usize) -> usize {
    (args.load.unwrap_or(0.0) * cpus as f64).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(of: &[(u64, usize)]) -> Vec<(Rate, Vec<Subject>)> {
        let spin = Subject::Strategy(StrategySpec::Spin);
        let cell = |(hz, n): &(u64, usize)| (Rate::from_hz(*hz).unwrap(), vec![spin.clone(); *n]);
        of.iter().map(cell).collect()
    }

    /// The waits of a subject in all rounds at each rate, and the seconds in all.
    fn planned(of: &[(u64, usize)], most: Nanos) -> (Vec<u64>, u64) {
        let cells = cells(of);
        let lengths = batch_lengths(&cells, BUDGET, most);
        let mut waits = Vec::new();
        let mut cases = Vec::new();
        for ((rate, subjects), length) in cells.iter().zip(lengths) {
            let of_rate = pace::cases(
                subjects,
                &[*rate],
                Batch::Lasting(length),
                Conditions::default(),
            );
            let with_warm_up = of_rate[0].program.samples_max().unwrap();
            let punctual_record::Experiment::Pace(pace) = &of_rate[0].cells[0] else {
                panic!("{of_rate:?}");
            };
            let warm_up = pace.warm_up_waits;
            waits.push((with_warm_up - warm_up) * u64::from(ROUNDS));
            cases.extend(of_rate);
        }
        (
            waits,
            rounds::length(&cases, ROUNDS).as_ns() / 1_000_000_000,
        )
    }

    #[test]
    fn a_default_bench_has_a_99th_percentile_at_each_rate_in_90_s() {
        let (waits, seconds) = planned(&[(60, OF_A_GAME.len()), (1_000, 13)], LONGEST);
        assert!(waits.iter().all(|n| *n >= FOR_P99), "{waits:?}");
        assert!((80..90).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_race_takes_its_budget_unless_percentiles_need_more() {
        for (of, p99, takes) in [
            (&[(60, 13)][..], false, 50..56),
            (&[(144, 3), (240, 3)], true, 50..56),
            (&[(60, 2), (1_000, 2)], true, 44..56),
            (&[(1_000, 2)], true, 20..25),
        ] {
            let (waits, seconds) = planned(of, LONGEST);
            assert_eq!(waits.iter().all(|n| *n >= FOR_P99), p99, "{of:?} {waits:?}");
            assert!(takes.contains(&seconds), "{of:?} {seconds}");
        }
        let (waits, _) = planned(&[(60, 13)], Nanos::MAX);
        assert!(waits[0] >= FOR_P99);
    }
}
