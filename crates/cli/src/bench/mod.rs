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
    ("robustness", &["hold", "on", "rounds", "quick"]),
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

Without a subcommand: loops at 1000 Hz of every strategy and every peer, and at 60 Hz of those that a game would \
choose among (system, precise, spin_sleep and adaptive-balanced), in rounds, each in a fresh thread kept on one CPU. \
Takes about 110 s, with --quick about 20 s; says how long before it begins. A loop has the 1000 waits that a 99th \
percentile takes if all of them fit into 115 s. Each round begins with a fresh waiter of each subject. One that learns \
has 128 warm-up waits, or as many as fit into 2.2 s; other subjects have a sixteenth. All at 60 Hz: --rate 60, in about two minutes.";

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
Strategies: {}; with parameters after a colon: precise:x=2, fixed-margin:margin=200us, \
system:method=timerfd, adaptive:weight=30, quantile:weight=10. Targets of adaptive, which sets the weight itself: \
adaptive:late=50us/1% (at most 1 % of waits are later than 50 us), adaptive:spin=5% (at most 5 % of a CPU is spun). Peers, real code that runs here only: {}; \
`punctual` is the library as its users call it.

Models, with parameters after commas, linux,slack=1ns:
{}
  {}: what `bench naps --json FILE` saw of a computer, or the \
lateness in another Run

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

    /// Rates to loop at, in Hz: 60, 59.94, 60000/1001 [default: 60,1000]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Rate>)]
    pub(crate) rate: Option<List<Rate>>,

    /// Threads that wait at the same time, 2 to 1024, at instants of their own or, with `,same`, for the same instants: 24 or 24,same
    ///
    /// All of them are measured, and the CPU is left to the OS. The costs are those of all threads per wait.
    #[arg(long, value_name = "N[,same]", allow_hyphen_values = true, value_parser = crowd)]
    pub(crate) crowd: Option<Crowd>,

    /// Say at the end what the strategies that learn had learned
    #[arg(long)]
    pub(crate) explain: bool,

    /// Strategies and peers to compare [default: all of them; article: the article's four]
    #[arg(long, value_name = "LIST", global = true, value_parser = list::<String>)]
    pub(crate) strategy: Option<List<String>>,

    /// Threads that compute all the time beside the measurement, per CPU: 0.5, 1, 2
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = load)]
    pub(crate) load: Option<f64>,

    /// Hold a request for this timer interval meanwhile, as games do on Windows: 1ms
    ///
    /// On models of Windows and on Windows. Other systems have no timer interval to ask for.
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
    Decades,
    /// CPU time at intervals of 1 to 25 ms (about 60 s)
    Interval,
    /// Strategies beside a scheduler that steals time; simulated (under 1 s)
    Robustness,
    /// How much longer than asked naps are, by OS call and length, and their CPU time (about 45 s)
    ///
    /// No strategy waits here: each OS call that a strategy could use is made again and again, for lengths from 10 us to
    /// 16.7 ms. The model `recorded,file=F` replays what `--json F` wrote.
    Naps,
    /// Whether adaptive is cheaper than the best of the others in 11 regimes, quiet and loaded (about 3 minutes)
    #[command(long_about = regimes::ABOUT, after_long_help = regimes::AFTER)]
    Regimes(Box<RegimesArgs>),
    /// The accurate-sleep article at its own sizes: 1000 frames, 100 waits per decade, CPU by interval, heat map (about 11 minutes, with --quick half of one)
    Article,
}
