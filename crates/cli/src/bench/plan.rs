//! The plan of a `bench` command line.

use anyhow::{Result, anyhow, bail};
use punctual_core::strategies::{Defaults, Target};
use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_lab::experiments::{Ask, Conditions, robustness};
use punctual_lab::host::usual_cpu;
use punctual_lab::plan::Interleaved;
use punctual_lab::plan::article::fake;
use punctual_lab::plan::bench::{self, Bench};
use punctual_program::Machine;
use punctual_program::program::Subject;
use punctual_record::{Findings, MachineFacts};
use punctual_report::prose;
use punctual_sim::Model;

use super::{BenchArgs, Experiment};
use crate::options::refuse;
use crate::values::twice;
use crate::{host, say, session};

/// The planned measurements.
pub(super) struct BenchPlan {
    /// The rounds, one after the other.
    pub(super) interleaved: Vec<Interleaved>,
    /// Whether the robustness of `strategies` is simulated at the end.
    pub(super) robustness: bool,
    /// The subjects that can be simulated.
    pub(super) strategies: Vec<Subject>,
    conditions: Conditions,
}

impl BenchPlan {
    pub(super) fn of(
        args: &BenchArgs,
        machine: &dyn Machine,
        facts: &MachineFacts,
    ) -> Result<Self> {
        check(args)?;
        let experiment = args.experiment();
        let (subjects, conditions) = (subjects(args)?, conditions(args, machine)?);
        let bench = Bench {
            experiment,
            rates: rates(args)?,
            subjects,
            are_named: args.strategy.is_some(),
            is_quick: args.effort.quick,
            is_here: args.runs_here(),
            rounds: args.effort.rounds,
            conditions,
        };
        let is_strategy = |subject: &&Subject| subject.spec().is_some();
        Ok(Self {
            interleaved: bench.interleaved(machine, facts),
            robustness: experiment.ends_with_robustness(),
            strategies: bench.subjects.iter().filter(is_strategy).cloned().collect(),
            conditions: bench.conditions,
        })
    }

    /// Finds out whether `machine`, and the simulated ones that come after it,
    /// can do all this.
    pub(super) fn check(&self, machine: &dyn Machine) -> Result<()> {
        for case in self.interleaved.iter().flat_map(|part| &part.cases) {
            machine.check(&case.program)?;
        }
        if self.robustness {
            let fake = fake(Nanos::from_ms(1), 0);
            robustness::check(&self.strategies, &fake)?;
        }
        Ok(())
    }

    /// The plan, for the Run.
    pub(super) fn findings(&self, args: &BenchArgs) -> Findings {
        let is_random = !args.place.is_here() || self.robustness;
        Findings {
            cpu: self.conditions.cpu,
            load_threads: Some(self.conditions.hogs),
            hold_ns: self.conditions.ask.interval().map(Nanos::as_ns),
            seed: is_random.then(|| args.place.seed()),
            ..Findings::default()
        }
    }
}

/// A part of the plan, as it is announced; `None` if nothing of it is measured.
pub(super) fn in_words(part: &Interleaved) -> Option<String> {
    let experiment = part.cases.first()?.experiment();
    Some(format!("{experiment}: {}", session::rounds_of_runs(part)))
}

/// Refuses options that mean nothing to the experiment.
fn check(args: &BenchArgs) -> Result<()> {
    let experiment = args.experiment();
    let alone = experiment == bench::Experiment::Robustness;
    let of_others = [
        ("--rate", args.rate.is_some()),
        ("--crowd", args.crowd.is_some()),
        // There is one plan for each rate, and nothing learned goes on.
        ("--explain", args.explain),
        ("--on", alone && !args.place.is_here()),
        ("--rounds", alone && args.effort.rounds.is_some()),
        ("--hold", alone && args.hold.is_some()),
        ("--quick", alone && args.effort.quick),
        (
            "--strategy",
            experiment == bench::Experiment::Naps && args.strategy.is_some(),
        ),
    ];
    if experiment != bench::Experiment::Pace {
        let name = experiment.name();
        refuse(
            of_others,
            &format!("for `bench {name}`; leave one of them out"),
        )?;
    }
    match experiment.ends_with_robustness() {
        true => Ok(()),
        false => args.place.check(),
    }
}

fn rates(args: &BenchArgs) -> Result<Option<Vec<Rate>>> {
    let rates = args.rate.as_ref().map(|list| list.0.clone());
    if let Some(rate) = rates.as_deref().and_then(twice) {
        bail!("--rate names {rate} twice");
    }
    Ok(rates)
}

impl BenchArgs {
    pub(super) fn experiment(&self) -> bench::Experiment {
        match &self.experiment {
            None => bench::Experiment::Pace,
            Some(Experiment::Decades) => bench::Experiment::Decades,
            Some(Experiment::Interval) => bench::Experiment::Interval,
            Some(Experiment::Robustness) => bench::Experiment::Robustness,
            Some(Experiment::Naps) => bench::Experiment::Naps,
            Some(Experiment::Article) => bench::Experiment::Article,
            Some(Experiment::Regimes(_)) => bench::Experiment::Regimes,
        }
    }

    /// Whether it runs on this machine, and not in virtual time.
    pub(super) fn runs_here(&self) -> bool {
        self.place.is_here() && !matches!(self.experiment, Some(Experiment::Robustness))
    }
}

fn subjects(args: &BenchArgs) -> Result<Vec<Subject>> {
    let defaults = match &args.place.on {
        Some(model) => model.strategy_defaults(),
        None if args.runs_here() && cfg!(windows) => Defaults::WINDOWS,
        None => Defaults::ELSEWHERE,
    };
    let Some(list) = &args.strategy else {
        let peers = host::peers().filter(|_| args.runs_here());
        let all = match args.crowd {
            Some(_) => bench::IN_CROWDS.to_vec(),
            None => args.experiment().subjects(peers),
        };
        let all = all.into_iter();
        return all.map(|name| subject(args, name, defaults)).collect();
    };
    let mut subjects: Vec<Subject> = Vec::new();
    for name in &list.0 {
        let subject = subject(args, name, defaults)?;
        let written = subject.to_string();
        if subjects.iter().any(|other| other.to_string() == written) {
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

fn subject(args: &BenchArgs, name: &str, defaults: Defaults) -> Result<Subject> {
    // In virtual time a strategy does what the peer of that name does.
    let is_modelled = !args.runs_here() && StrategySpec::parse(name, defaults).is_ok();
    if !is_modelled && host::peers().any(|peer| peer == name) {
        return Ok(Subject::Peer(name.to_owned()));
    }
    possible_target(name)?;
    StrategySpec::parse(name, defaults)
        .map(Subject::Strategy)
        .map_err(|why| {
            let word = name.split_once(':').map_or(name, |(word, _)| word);
            // A known strategy with a wrong parameter is not a misspelt peer.
            match StrategySpec::parse(word, defaults) {
                Ok(_) => anyhow!(why),
                Err(_) => anyhow!("{why}; the peers are {}", prose::list(host::peers())),
            }
        })
}

/// Refuses a share in per cent that no target can have, in the words of the user: the
/// library's own range is a fraction.
fn possible_target(name: &str) -> Result<()> {
    for parameter in name.split(':').skip(1) {
        let Some((key, value)) = parameter.split_once('=') else {
            continue;
        };
        let (share, range, of) = match key.trim() {
            "late" => (
                value.rsplit('/').next().unwrap_or_default(),
                [*Target::OFTEN.start(), *Target::OFTEN.end()],
                "waits that may be late",
            ),
            "spin" => (value, [Target::SPIN_MIN, 1.0], "a CPU that may be spun"),
            _ => continue,
        };
        let share = share.trim();
        let percent: Option<f32> = share
            .strip_suffix('%')
            .and_then(|number| number.trim().parse().ok());
        let [low, high] = range;
        if percent.is_some_and(|percent| !(low..=high).contains(&(percent / 100.0))) {
            let [low, high] = range.map(|share| share * 100.0);
            bail!("`{name}`: {share} is not a share of {of}; give {low}% to {high}%");
        }
    }
    Ok(())
}

fn conditions(args: &BenchArgs, machine: &dyn Machine) -> Result<Conditions> {
    let ask = args.hold.map_or(Ask::Nobody, Ask::Itself);
    let ask = possible(ask, machine);
    if args.runs_here() {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // Many threads on one CPU would say nothing of the others.
        let usual_cpu = || usual_cpu().filter(|_| args.crowd.is_none());
        return Ok(Conditions {
            cpu: args.place.cpu.or_else(usual_cpu),
            hogs: hogs(args, cpus),
            crowd: args.crowd,
            ask,
        });
    }
    let cpus = args.place.on.as_ref().and_then(Model::cpus);
    refuse(
        [
            ("--cpu", cpus.is_none() && args.place.cpu.is_some()),
            ("--load", cpus.is_none() && args.load.is_some()),
            ("--crowd", cpus.is_none() && args.crowd.is_some()),
        ],
        "on the fake OS: each thread has a CPU of its own; leave it out",
    )?;
    Ok(Conditions {
        cpu: args.place.cpu,
        hogs: hogs(args, cpus.unwrap_or(0)),
        crowd: args.crowd,
        ask,
    })
}

/// The request, where the machine has timer intervals to ask for. If not, that is said.
fn possible(ask: Ask, machine: &dyn Machine) -> Ask {
    let refused = machine.check(&ask.ops().into()).err();
    match (refused, ask.interval()) {
        (Some(why), Some(interval)) => {
            say!("--hold {} does nothing here: {why}", interval.exact());
            Ask::Nobody
        }
        _ => ask,
    }
}

/// How many threads that compute all the time the user wants.
fn hogs(args: &BenchArgs, cpus: usize) -> usize {
    (args.load.unwrap_or(0.0) * cpus as f64).ceil() as usize
}
