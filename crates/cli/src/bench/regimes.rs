//! `punctual bench regimes`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use punctual_core::strategies::Defaults;
use punctual_core::{Nanos, StrategySpec};
use punctual_lab::host::{Stop, Witness};
use punctual_lab::regimes::{self, Condition, RegimesPlan, Subject};
use punctual_lab::workload::Regime;
use punctual_record::{BatchLengths, Run, Warning};
use punctual_record::{regimes::Verdict, regimes::cells};

use punctual_report::{Setting, warnings};

use super::BenchArgs;
use crate::files::{self, Target};
use crate::options::refuse;
use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::values::{List, list};
use crate::{Done, host, say, stop};

/// Runs the command.
pub(super) fn run(bench: &BenchArgs, args: &RegimesArgs) -> Result<Done> {
    refuse(
        [
            ("--rate", bench.rate.is_some()),
            ("--load", bench.load.is_some()),
            ("--hold", bench.hold.is_some()),
            ("--explain", bench.explain),
            ("--on", !bench.place.is_here()),
            ("--seed", bench.place.seed.is_some()),
            ("--cpu", bench.place.cpu.is_some()),
            ("--plots", bench.output.plots.is_some()),
        ],
        "for `bench regimes`; leave one of them out",
    )?;
    refuse_together(bench, args)?;
    let mut plan = plan(bench, args)?;
    let unavailable = leave_out(&mut plan)?;
    // Found out before anything is measured.
    let mut output = bench.output.clone();
    output.json = args.resume.clone().or(output.json);
    let outputs = Outputs::new(&output)?;
    host::refuse_a_faked_clock()?;
    let stop = stop::on_ctrl_c()?;
    let mut run = match args.resume.as_deref().filter(|file| file.exists()) {
        Some(file) => resumed(file, &plan)?,
        None => Run {
            started_at: Some(session::now()),
            ..session::run()
        },
    };
    run.failed = None;
    run.beside.plan = Some(lengths(&plan));
    announce(&plan);
    let witness = Witness::default();
    let measured = measure(&plan, &mut run, &stop, &witness, outputs.json.as_ref());
    stop.end();
    run.failed = measured.err().map(|why| format!("{why:#}"));
    run.interrupted = stop.is_requested() || run.failed.is_some();
    let setting = Setting {
        rounds: plan.rounds,
        simulated: false,
    };
    run.machine = session::host_facts();
    run.warnings = unavailable;
    (run.warnings).extend(warnings(&run.machine, &run.results, setting));
    let run = session::disturbed(run, witness.disturbance());
    let cells = cells(&run.results);
    let is_lost = cells.iter().any(|cell| cell.verdict == Verdict::Dearer);
    match outputs.answer(&run)? {
        Done::Whole if args.gate && is_lost => Ok(Done::Differs),
        done => Ok(done),
    }
}

/// Options of all benches are no arguments of this one, so that the parser
/// cannot tell.
fn refuse_together(bench: &BenchArgs, args: &RegimesArgs) -> Result<()> {
    for (one, other, given) in [
        ("--deciding", "--quick", args.deciding && bench.effort.quick),
        (
            "--weight",
            "--strategy",
            args.weight.is_some() && bench.strategy.is_some(),
        ),
        (
            "--resume",
            "--json",
            args.resume.is_some() && bench.output.json.is_some(),
        ),
    ] {
        if given {
            bail!("{one} and {other} cannot be used together; leave one of them out");
        }
    }
    Ok(())
}

fn plan(bench: &BenchArgs, args: &RegimesArgs) -> Result<RegimesPlan> {
    let subjects = subjects(bench, args)?;
    let mut plan = match args.deciding {
        true => RegimesPlan::deciding(subjects),
        false => RegimesPlan::quick(subjects),
    };
    plan.rounds = bench.effort.rounds.unwrap_or(plan.rounds);
    if let Some(list) = &args.regime {
        plan.regimes.clone_from(&list.0);
    }
    if let Some(list) = &args.condition {
        plan.conditions.clone_from(&list.0);
    }
    Ok(plan)
}

fn subjects(bench: &BenchArgs, args: &RegimesArgs) -> Result<Vec<Subject>> {
    let names: Vec<String> = match &bench.strategy {
        Some(list) => list.0.clone(),
        None => {
            let weights = args.weight.as_ref().map(|list| list.0.clone());
            let weights = weights.unwrap_or_else(|| regimes::usual_weights(args.deciding));
            let is_beyond = |weight: &&f64| !StrategySpec::WEIGHTS.contains(*weight);
            if let Some(weight) = weights.iter().find(is_beyond) {
                bail!("--weight {weight}: a weight is a number from 0.01 to 10000");
            }
            let mut names = regimes::usual_subjects(&weights, args.deciding);
            // A peer may not be in this build.
            names.retain(|name| subject(name).is_ok());
            names
        }
    };
    let mut subjects: Vec<Subject> = Vec::new();
    for name in names {
        let subject = subject(&name)?;
        if subjects.iter().any(|other| other.name == subject.name) {
            bail!("`{}` is named twice", subject.name);
        }
        subjects.push(subject);
    }
    Ok(subjects)
}

const DEFAULTS: Defaults = if cfg!(windows) {
    Defaults::WINDOWS
} else {
    Defaults::ELSEWHERE
};

fn subject(name: &str) -> Result<Subject> {
    if let Some(make) = host::peer(name) {
        return Ok(Subject::peer(name, make));
    }
    let spec = StrategySpec::parse(name, DEFAULTS).map_err(|why| anyhow!(why))?;
    Ok(Subject::strategy(spec)?)
}

/// Takes the conditions out of it that cannot be had here, and says why not.
fn leave_out(plan: &mut RegimesPlan) -> Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    plan.conditions.retain(|condition| match condition.check() {
        Ok(()) => true,
        Err(why) => {
            warnings.push(Warning::new(
                format!("Condition `{condition}` is not possible here: {why}."),
                "Measure it where it is, as another user or on another machine.",
            ));
            false
        }
    });
    match warnings.first() {
        Some(warning) if plan.conditions.is_empty() => bail!("{}", warning.what),
        _ => Ok(warnings),
    }
}

/// The settings that make batches of two runs comparable.
fn lengths(plan: &RegimesPlan) -> BatchLengths {
    let ns = |length: Duration| Nanos::from(length).as_ns();
    BatchLengths {
        quiet_ns: ns(plan.quiet),
        loaded_ns: ns(plan.loaded),
        warm_up_ns: ns(plan.warm_up),
    }
}

fn resumed(file: &Path, plan: &RegimesPlan) -> Result<Run> {
    let text = files::text(file, files::LONGEST)?;
    let run: Run = Run::from_json(&text)
        .map_err(|why| anyhow!(why))
        .with_context(|| format!("cannot go on with {}", files::name(file)))?;
    if run.beside.plan != Some(lengths(plan)) {
        bail!(
            "{} has batches of other lengths: give the options again that it was begun with",
            files::name(file)
        );
    }
    Ok(run)
}

fn announce(plan: &RegimesPlan) {
    let round = plan.round_takes();
    let all = round.times(u64::from(plan.rounds));
    let until = if plan.decides {
        " at most; less for what is decided or beaten before"
    } else {
        ""
    };
    say!(
        "regimes: {} subjects in {} regimes and {} conditions: {} of {}, {}{until}",
        plan.subjects.len(),
        plan.regimes.len(),
        plan.conditions.len(),
        session::rounds(plan.rounds),
        about(round),
        about(all),
    );
}

fn about(length: Nanos) -> String {
    let hours = length.as_secs_f64() / 3600.0;
    if hours < 2.0 {
        session::about(length, false)
    } else {
        format!("about {hours:.0} h")
    }
}

fn measure(
    plan: &RegimesPlan,
    run: &mut Run,
    stop: &Stop,
    witness: &Witness,
    target: Option<&Target>,
) -> Result<()> {
    let all = plan.round_takes().times(u64::from(plan.rounds));
    let batches = plan.sweeps().count() * plan.subjects.len();
    let mut progress = Progress::new(batches, all);
    for sweep in plan.sweeps() {
        let turns = plan.turns(sweep, &run.results);
        for subject in &turns {
            let what = format!("{} {} {}", sweep.regime, sweep.condition, subject.name);
            progress.next(&what, plan.batch_takes(sweep.regime, sweep.condition));
            plan.run(sweep, subject, &mut run.results, stop, witness)
                .with_context(|| what)?;
            if stop.is_requested() {
                return Ok(());
            }
        }
        if let Some(file) = target.filter(|target| target.is_file() && !turns.is_empty()) {
            run.interrupted = true;
            run.machine = session::host_facts();
            file.write(&run.to_json())?;
        }
    }
    Ok(())
}

/// The start of the help of `bench regimes`.
pub(super) const ABOUT: &str = "\
Is adaptive cheaper than the best of the others, whatever the program waits for, and whatever else runs?

Strategies and peers take turns, each turn in a fresh thread, and wait as their users do. A cell is one regime, \
condition and weight. Its result is the cost of adaptive over that of the cheapest other: CPU time + weight x lateness.

Without --deciding: 1000 Hz, 60 Hz and mixed lengths, quiet and beside one busy thread per CPU, at a weight of 10, in \
about 3 minutes. Confidence intervals of 15 % to either side are the aim. With --deciding: all regimes, conditions and \
weights, in at most 30 rounds. A cell ends if its ratio is known within 3 %, or differs from 1. That takes days; the \
time is announced before it begins, and --resume goes on another day. Nothing of it is simulated.";

/// The end of it.
pub(super) const AFTER: &str = "\
Regimes: cold (a fresh waiter for every 40 waits of 5 ms), 1000Hz, 60Hz, 144Hz, 240Hz, 5000Hz, log (20 us to 30 ms), mixed \
(0.5 to 16.7 ms), uniform (0.1 to 30 ms), switch (60 Hz, 1 kHz, 60 Hz), burst (40 waits of 1 ms after 5 s of rest).
Conditions: quiet, load1 and load2 (busy threads per CPU), quota5 and quota50 (percent of a CPU, by a control group), nice19 \
(beside one busy thread per CPU), crowd8, crowd32 and crowd128 (so many threads of the process that wait as the subject does).

With --deciding, the results count the seconds in which a strategy is trapped. It then takes more than three times \
its usual share of a CPU, and is more than 0.5 ms late on average. The usual share is that before the load, or that in \
quiet if it is less.

Exit codes: 0 done, 1 with --gate, a cell is lost: the whole 95 % interval of its ratio lies above 1.03 (quiet) or 1.05 (else), \
2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual bench regimes
  punctual bench regimes --regime cold,burst --condition quiet --rounds 12
  punctual bench regimes --deciding --resume decided.json --gate";

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RegimesArgs {
    /// Measure all regimes, conditions and weights until every cell is decided: days
    #[arg(long)]
    deciding: bool,

    /// Regimes to measure [default: 1000Hz,60Hz,mixed; with --deciding all]
    #[arg(long, value_name = "LIST", value_parser = list::<Regime>)]
    regime: Option<List<Regime>>,

    /// Conditions to measure in [default: quiet,load1; with --deciding all]
    #[arg(long, value_name = "LIST", value_parser = list::<Condition>)]
    condition: Option<List<Condition>>,

    /// Weights of lateness that adaptive and quantile are made for [default: 10; with --deciding 1,10,100]
    #[arg(long, value_name = "LIST", value_parser = list::<f64>)]
    weight: Option<List<f64>>,

    /// Continue from the rounds in FILE, if it exists, and append new ones to it after each part
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Exit with 1 if adaptive is dearer than the best of the others in a cell
    #[arg(long)]
    gate: bool,
}
