//! What `punctual bench` takes.

use clap::{Args, Subcommand};
use punctual_core::{Rate, StrategySpec};
use punctual_lab::regimes::{Condition, Regime};
use punctual_sim::Model;

use crate::options::{Effort, Output, Place};
use crate::values::{List, list, load};
use crate::{models, peers};

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Race ways of waiting: how late and how expensive each of them is.

Without a subcommand: loops at 1000 Hz of every strategy and every peer, and at 60 Hz of those that a game would \
choose among (system, precise, spin_sleep and adaptive-balanced), in rounds, each in a fresh thread kept on one CPU. \
Takes about 85 s, with --quick about 15 s; says how long before it begins. A loop has the 1000 waits that a 99th \
percentile takes if all of them fit into 90 s. All at 60 Hz: --rate 60, in 54 s; with --rounds 25 their percentiles, in \
four minutes.";

/// What the help lists is what there is.
pub(crate) fn after() -> String {
    let strategies: Vec<_> = StrategySpec::ALL.iter().map(|spec| spec.name()).collect();
    let peers: Vec<_> = peers::names().collect();
    let models: Vec<_> = Model::known()
        .iter()
        .map(|known| format!("  {}: {}", known.name, known.what))
        .collect();
    format!(
        "\
Strategies: {}; with parameters after a colon: precise:x=2, fixed-margin:margin=200us, \
system:method=timerfd, adaptive:weight=30, quantile:weight=10. Peers, real code that runs here only: {}; \
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
  punctual bench naps --json naps.json
  punctual bench --on recorded,file=naps.json
  punctual bench --rate 1000 --strategy precise,adaptive-exact --explain
  punctual bench article --plots figures",
        strategies.join(", "),
        peers.join(", "),
        models.join("\n"),
        models::SYNTAX,
    )
}

#[derive(Debug, Default, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) experiment: Option<Experiment>,

    /// Rates to loop at, in Hz: 60, 59.94, 60000/1001 [default: 60,1000]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Rate>)]
    pub(crate) rate: Option<List<Rate>>,

    /// Say at the end what the strategies that learn had learned
    #[arg(long)]
    pub(crate) explain: bool,

    /// Strategies and peers to compare [default: all of them; article: the article's four]
    #[arg(long, value_name = "LIST", global = true, value_parser = list::<String>)]
    pub(crate) strategy: Option<List<String>>,

    /// Threads that compute all the time beside the measurement, per CPU: 0.5, 1, 2
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = load)]
    pub(crate) load: Option<f64>,

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
    /// What strategies make of a scheduler that steals time; simulated (under 1 s)
    Robustness,
    /// How much longer than asked naps are, by OS call and length, and their CPU time (about 45 s)
    ///
    /// No strategy waits here: each OS call that a strategy could use is made again and again, for lengths from 10 us to
    /// 16.7 ms. The model `recorded,file=F` replays what `--json F` wrote.
    Naps,
    /// Whether adaptive is cheaper than the best of the others in 11 regimes, quiet and loaded (about 3 minutes)
    #[command(long_about = REGIMES_ABOUT, after_long_help = REGIMES_AFTER)]
    Regimes(Box<RegimesArgs>),
    /// The accurate-sleep article at its own sizes: 1000 frames, 100 waits per decade, CPU by interval, heat map (about 11 minutes, with --quick half of one)
    Article,
}

/// What the help of `bench regimes` begins with.
const REGIMES_ABOUT: &str = "\
Is adaptive cheaper than the best of the others, whatever the program waits for, and whatever else runs?

Every subject waits as its users do, through the library or its own API, in a fresh thread for each turn, and takes turns \
with the others. Without --deciding: 1000 Hz, 60 Hz and mixed lengths, quiet and beside one busy thread per CPU, at w = 10, \
in about 3 minutes; that aims at intervals within 15 %. With it: all regimes, conditions and weights, batches of 16 s \
beside load so that a subject can fall into a trap, rounds until each ratio is known within 3 % or told from 1, at \
most 30 of them. That takes days if nothing is decided before; it says how long before it begins, and --resume goes on \
another day.";

/// What it ends with.
const REGIMES_AFTER: &str = "\
Regimes: cold (a fresh waiter for every 40 waits of 5 ms), 1000Hz, 60Hz, 144Hz, 240Hz, 5000Hz, log (20 us to 30 ms), mixed \
(0.5 to 16.7 ms), uniform (0.1 to 30 ms), switch (60 Hz, 1 kHz, 60 Hz), burst (40 waits of 1 ms after 5 s of rest).
Conditions: quiet, load1 and load2 (busy threads per CPU), quota5 and quota50 (percent of a CPU, by a control group), nice19 \
(beside one busy thread per CPU).

Trapped is a second of a loaded batch of 8 s or more in which a subject takes more than three times the share of a CPU \
that it took before the load, or quiet if that is less, and is more than 0.5 ms late on the average.

Exit codes: 0 done, 1 with --gate, a cell is lost: the whole interval of its ratio lies above 1.03 (quiet) or 1.05 (else), \
2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual bench regimes
  punctual bench regimes --regime cold,burst --condition quiet --rounds 12
  punctual bench regimes --deciding --resume decided.json --gate";

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RegimesArgs {
    /// Measure until every cell is decided: hours or days
    #[arg(long)]
    pub(super) deciding: bool,

    /// Regimes to measure [default: 1000Hz,60Hz,mixed; with --deciding all]
    #[arg(long, value_name = "LIST", value_parser = list::<Regime>)]
    pub(super) regime: Option<List<Regime>>,

    /// Conditions to measure in [default: quiet,load1; with --deciding all]
    #[arg(long, value_name = "LIST", value_parser = list::<Condition>)]
    pub(super) condition: Option<List<Condition>>,

    /// What lateness costs against CPU time; each adaptive counts at its own [default: 10; with --deciding 1,10,100]
    #[arg(long, value_name = "LIST", value_parser = list::<f64>)]
    pub(super) weight: Option<List<f64>>,

    /// Go on with what FILE has, if it is there, and write what comes to it after each part
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<std::path::PathBuf>,

    /// Exit with 1 where adaptive is dearer than the best of the others
    #[arg(long)]
    pub(super) gate: bool,
}
