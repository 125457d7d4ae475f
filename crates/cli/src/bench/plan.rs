//! What a `bench` command line comes to.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use punctual_core::program::Subject;
use punctual_core::strategies::Defaults;
use punctual_core::{Machine, Nanos, Rate, Spec};
use punctual_lab::experiments::decades::Repeats;
use punctual_lab::experiments::interval::Waits;
use punctual_lab::experiments::pace::Batch;
use punctual_lab::experiments::{Conditions, decades, interval, naps, pace, robustness};
use punctual_lab::host::usual_cpu;
use punctual_lab::race::{self, Heat};
use punctual_record::MachineFacts;
use punctual_sim::Model;

use super::args::{BenchArgs, Experiment};
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
    pub(super) heats: Vec<Heat>,
    pub(super) rounds: u32,
}

/// What a default race may take: less than a minute, with what its threads and
/// counters take on top.
const BUDGET: Nanos = Nanos::from_secs(54);
const QUICK: Nanos = Nanos::from_secs(12);
const ROUNDS: u32 = 6;

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
        if let Some(experiment) = args.experiment {
            let alone = experiment == Experiment::Robustness;
            let no_strategy = experiment == Experiment::Naps;
            for (option, given) in [
                ("--rate", args.rate.is_some()),
                // There is one plan for each rate, and nothing learned goes on.
                ("--explain", args.explain),
                ("--on", alone && !args.place.is_here()),
                ("--rounds", alone && args.effort.rounds.is_some()),
                (
                    "--quick",
                    (alone || experiment == Experiment::Article) && quick,
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
        let race = |heats, rounds| Race {
            heats,
            rounds: args.effort.rounds.unwrap_or(rounds),
        };
        let races = match args.experiment {
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
                let batches = (subjects.len() * rates.len()) as u64 * u64::from(ROUNDS);
                let batch = Nanos::new(budget.as_ns() / batches)
                    .clamp(Nanos::from_ms(100), Nanos::from_secs(2));
                // A twentieth of a batch is warm-up.
                let batch = Batch::Lasting(Nanos::new(batch.as_ns() / 21 * 20));
                vec![race(
                    pace::heats(&subjects, &rates, batch, conditions),
                    ROUNDS,
                )]
            }
            Some(Experiment::Decades) => vec![race(
                decades::heats(&subjects, Repeats::Short, conditions),
                if quick { 1 } else { 3 },
            )],
            Some(Experiment::Interval) => {
                let each = Nanos::new(budget.as_ns() / (25 * subjects.len() as u64))
                    .min(Nanos::from_ms(500));
                vec![race(
                    interval::heats(&subjects, Waits::Lasting(each), conditions),
                    1,
                )]
            }
            Some(Experiment::Robustness) => vec![],
            Some(Experiment::Naps) => vec![race(
                naps::heats(&naps::methods(machine, facts), conditions),
                if quick { 2 } else { naps::ROUNDS },
            )],
            Some(Experiment::Article) => {
                let sixty = Rate::from_hz(60).map_err(|e| anyhow!(e))?;
                vec![
                    race(
                        pace::heats(&subjects, &[sixty], Batch::Frames(1_000), conditions),
                        1,
                    ),
                    race(
                        interval::heats(&subjects, Waits::Exactly(100), conditions),
                        1,
                    ),
                    race(decades::heats(&subjects, Repeats::Article, conditions), 1),
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
        for heat in self.races.iter().flat_map(|race| &race.heats) {
            machine.check(&heat.program)?;
        }
        if self.robustness {
            let fake = super::fake(Nanos::from_ms(1), 0);
            robustness::check(&self.strategies, &*fake)?;
        }
        Ok(())
    }

    /// Says on standard error what is about to happen and how long it takes.
    pub(super) fn announce(&self, in_virtual_time: bool) {
        for race in &self.races {
            let Some(first) = race.heats.first() else {
                continue;
            };
            let length = race::length(&race.heats, race.rounds);
            say!(
                "{}: {} subject runs in {}, {}",
                first.experiment,
                race.heats.len(),
                session::rounds(race.rounds),
                session::about(length, in_virtual_time),
            );
        }
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

impl Experiment {
    fn name(self) -> &'static str {
        match self {
            Self::Decades => "decades",
            Self::Interval => "interval",
            Self::Robustness => "robustness",
            Self::Naps => "naps",
            Self::Article => "article",
        }
    }
}

impl BenchArgs {
    /// Whether it runs on this machine, and not in virtual time.
    pub(super) fn runs_here(&self) -> bool {
        self.place.is_here() && self.experiment != Some(Experiment::Robustness)
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
            _ if args.runs_here() => Spec::ALL
                .iter()
                .map(|s| s.name())
                .chain(peers::names())
                .collect(),
            _ => Spec::ALL.iter().map(|s| s.name()).collect(),
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
    let peers = if peers.is_empty() {
        String::new()
    } else {
        format!("; the peers are {}", peers.join(", "))
    };
    Spec::parse(name, defaults)
        .map(Subject::Strategy)
        .map_err(|why| anyhow!("{why}{peers}"))
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
