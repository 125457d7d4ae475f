//! `punctual bench`.

mod plan;
pub(crate) mod regimes;

use anyhow::Result;
use clap::{Args, Command as Definition, Subcommand};
use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_lab::experiments::robustness;
use punctual_lab::plan::article::fake;
use punctual_lab::rounds;
use punctual_lab::{informed, predict, robustness_facts, rule_in_force};
use punctual_program::Machine;
use punctual_record::Findings;
use punctual_record::experiment::Crowd;
use punctual_sim::Model;

use crate::options::{Effort, Output, Place};
use crate::session::{self, Measured, Session};
use crate::values::{List, SYNTAX, crowd, length, list, load};
use crate::{Done, host};
use plan::BenchPlan;
use regimes::RegimesArgs;

/// Runs the command.
pub(crate) fn run(args: &BenchArgs) -> Result<Done> {
    if let Some(Experiment::Regimes(regimes)) = &args.experiment {
        return regimes::run(args, regimes);
    }
    let on = machine(args)?;
    let plan = BenchPlan::of(args, &*on.machine, &on.facts)?;
    // Every refusal comes before anything is announced or made.
    plan.check(&*on.machine)?;
    let mut session = Session::begin(on, &args.output)?;
    session.announce(&plan.interleaved, plan::in_words);

    let mut results = session.measure(&plan.interleaved, |part, on, progress| {
        let watch = &mut progress.turns();
        let mut raced = rounds::run(&mut *on.machine, &part.cases, part.rounds, watch)?;
        if args.runs_here()
            && let Some(rule) = rule_in_force()
        {
            predict(&rule, &part.cases, part.rounds, &mut raced.measurements)?;
        }
        if let Some(recording) = args.place.on.as_ref().and_then(Model::recording) {
            informed::compare(recording, &mut raced.measurements);
        }
        Ok(raced)
    });
    if plan.robustness && !results.end.is_early() {
        let machine =
            &mut |period| -> Box<dyn Machine> { Box::new(fake(period, args.place.seed())) };
        let mut simulated = robustness::run(&plan.strategies, machine)?;
        if session.on.facts.name != robustness_facts().name {
            for measurement in &mut simulated {
                measurement.simulated_on = Some(robustness_facts().name);
            }
        }
        results.measurements.extend(simulated);
    }

    let beside = Findings {
        learned: std::mem::take(&mut results.learned),
        ..plan.findings(args)
    };
    let (run, outputs) = session.end(results, beside, vec![]);
    match args.explain {
        true => outputs.deliver(&run, &punctual_report::explained(&run)),
        false => outputs.answer(&run),
    }
}

fn machine(args: &BenchArgs) -> Result<Measured> {
    if matches!(args.experiment, Some(Experiment::Robustness)) {
        let machine = fake(Nanos::from_ms(1), args.place.seed());
        return Ok(Measured::simulated(machine, robustness_facts()));
    }
    session::machine(args.place.on.as_ref(), args.place.seed())
}

/// The options of `bench` that an experiment refuses.
const MEANINGLESS: [(&str, &[&str]); 3] = [
    ("regimes", &["load", "hold", "on", "seed", "cpu", "plots"]),
    (
        "robustness",
        &["hold", "on", "rounds", "quick", "load", "cpu"],
    ),
    ("naps", &["strategy"]),
];

/// The definition of `bench`, whose experiments do not offer what they refuse.
pub(crate) fn without_what_means_nothing(bench: Definition) -> Definition {
    MEANINGLESS.iter().fold(bench, |bench, (name, options)| {
        bench.mut_subcommand(name, |experiment| {
            experiment.mut_args(|arg| {
                let is_refused = options.contains(&arg.get_id().as_str());
                if is_refused { arg.hide(true) } else { arg }
            })
        })
    })
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Race ways of waiting: how late and how expensive each of them is.

Without a subcommand, every strategy and peer waits in a loop at 1000 Hz. At 60 Hz only system, precise, spin_sleep and \
adaptive-balanced do; --rate 60 compares all of them, in about two minutes. Strategies take turns in rounds, each in a fresh \
thread kept on one CPU. That takes about 110 s, with --quick about 20 s; the time is announced before it begins. Each \
loop has the 1000 waits that a 99th percentile needs, if all loops fit into 115 s. In each round every strategy begins \
anew. If it learns, it first has 128 warm-up waits, or as many as fit into 2.2 s.";

/// The end of its help, generated from the tables.
pub(crate) fn after() -> String {
    let strategies: Vec<_> = StrategySpec::ALL.iter().map(|spec| spec.name()).collect();
    let peers: Vec<_> = host::peers().collect();
    let models: Vec<_> = Model::known()
        .iter()
        .map(|known| format!("  {}: {}", known.name, known.what))
        .collect();
    format!(
        "\
Strategies: {}, quantile:
  system: one sleep call of the OS; system:method=timerfd chooses the call
  spin, yield-spin: read the clock until the deadline; the latter also yields
  precise, timer: naps, then a spin, as in the accurate-sleep article; they
    expect the mean nap and x standard deviations, precise:x=2
  fixed-margin: one sleep that ends a margin early, then a spin;
    fixed-margin:margin=200us
  max-nap: naps of 1 ms, then a spin once less is left than the longest nap
  quantile: one nap that ends a learned margin early, then a spin;
    quantile:weight=10
  adaptive-*: learns to minimise CPU time + weight x lateness; the weights are
    1 (frugal), 10 (balanced) and 100 (exact), or adaptive:weight=30
  adaptive with a target, which sets the weight: adaptive:late=50us/1% (at most
    1 % of waits are later than 50 us), adaptive:spin=5% (of a CPU at most)
Peers, which run on this computer only: {}. `punctual` is the library as its users call it; with --on, \
spin_sleep is simulated.

Models, with parameters after commas, linux,slack=1ns; `punctual simulate --list` has all parameters:
{}
  {}: what `bench naps --json FILE` saw of a computer, or the \
lateness in another Run
The scheduler of `linux` is a simple one of no version. With --load take a model with a version.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual bench
  punctual bench --rate 144,240 --strategy system,fixed-margin,spin_sleep
  punctual bench --load 1 --json loaded.json --plots figures
  punctual bench --on linux,slack=1ns
  punctual bench --on windows-11 --hold 1ms
  punctual bench naps --json naps.json
  punctual bench --on recorded,file=naps.json
  punctual bench --rate 1000 --strategy precise,adaptive-exact --explain
  punctual bench article --plots figures",
        strategies.join(", "),
        peers.join(", "),
        models.join("\n"),
        SYNTAX,
    )
}

#[derive(Debug, Default, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) experiment: Option<Experiment>,

    /// Rates of the loops, in Hz, such as 144,59.94,60000/1001 [default: 60,1000]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Rate>)]
    pub(crate) rate: Option<List<Rate>>,

    /// Let 2 to 1024 threads wait at a time, for spread or for the same instants: 24 or 24,same
    ///
    /// All threads are measured, and the OS chooses their CPUs. Costs are means per wait, over all threads.
    #[arg(long, value_name = "N[,same]", allow_hyphen_values = true, value_parser = crowd)]
    pub(crate) crowd: Option<Crowd>,

    /// Say at the end what the strategies have learned about the OS
    #[arg(long)]
    pub(crate) explain: bool,

    /// Strategies and peers to compare, such as precise,spin_sleep
    ///
    /// `punctual bench --help` lists them. By default all are compared; `article` has system, spin, precise and timer.
    /// With --crowd and in `regimes` there are fewer too.
    #[arg(long, value_name = "LIST", global = true, value_parser = list::<String>)]
    pub(crate) strategy: Option<List<String>>,

    /// Busy threads beside the measurement, per CPU: from 0 to 64, such as 0.5
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = load)]
    pub(crate) load: Option<f64>,

    /// Hold a request for this timer interval meanwhile, as games do on Windows: 1ms
    ///
    /// On Windows and on models of Windows. Other systems have no timer interval to ask for.
    #[arg(long, value_name = "LENGTH", global = true, allow_hyphen_values = true, value_parser = length)]
    pub(crate) hold: Option<Nanos>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Experiment {
    /// Single waits from 1 ns to 1 s: how late? (about 60 s)
    ///
    /// `punctual bench --help` has the strategies, the models, the exit codes and examples.
    Decades,
    /// CPU time at intervals of 1 to 25 ms (about 60 s)
    ///
    /// `punctual bench --help` has the strategies, the models, the exit codes and examples.
    Interval,
    /// Strategies beside a scheduler that steals time; simulated (under 1 s)
    ///
    /// The simulated OS wakes threads once in each scheduler period, of 1 to 10 ms, as in the accurate-sleep article.
    /// `punctual bench --help` has the strategies, the exit codes and examples.
    Robustness,
    /// How much longer than asked naps are, by OS call and length, and their CPU time (about 45 s)
    ///
    /// No strategy waits here: each OS call that a strategy could use is made again and again, for lengths from 10 us to
    /// 16.7 ms. The model `recorded,file=F` replays what `--json F` wrote. `punctual measure sleep` has all wait calls.
    /// `punctual bench --help` has the models, the exit codes and examples.
    Naps,
    /// Whether adaptive is cheaper than the best of the others, quiet and loaded: in 3 regimes (about 3 minutes) or in all 11 (days)
    #[command(long_about = regimes::ABOUT, after_long_help = regimes::AFTER)]
    Regimes(Box<RegimesArgs>),
    /// The accurate-sleep article at its own sizes: 1000 frames, 100 waits per decade, CPU by interval, heat map (about 11 minutes, with --quick half of one)
    ///
    /// `punctual simulate article sleep` has its claims. `punctual bench --help` has the models, the exit codes and
    /// examples.
    Article,
}
