//! The cost of `adaptive` over the cheapest of the other strategies, in virtual time.

use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_lab::workload::{Course, Regime};
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::setting::Setting;
use punctual_program::{Machine, Program};
use punctual_record::WEIGHTS;
use punctual_sim::{Model, SimMachine};

/// The simple strategies.
const OTHERS: [&str; 8] = [
    "quantile:weight=1",
    "quantile:weight=10",
    "quantile:weight=100",
    "fixed-margin",
    "max-nap",
    "precise",
    "timer",
    "system",
];
/// Seeds of the others begin here: they are chosen on other chances than those judged.
const OF_OTHERS: u64 = 1_000;
/// A fresh waiter learns for so many waits, and for so many seconds; then as much is judged.
const WAITS: u64 = 200;
const SECONDS: f64 = 2.0;
/// The same of waits of any length.
const WARM_UP: usize = 400;
const JUDGED: usize = 600;

/// A computer, and what happens on it beside the waits.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    model: Model,
    before: Vec<Op>,
}

impl Place {
    /// A model, then any of `+other=1ms` and `+own=1ms` (another process, or this one, asks for
    /// an interval) and `+minimised`.
    ///
    /// # Errors
    /// The text is none of these.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('+');
        let model = Model::parse(parts.next().unwrap_or_default())?;
        let before = parts.map(|part| match part.split_once('=') {
            Some(("own", interval)) => Ok(Op::Set(Setting::request(interval.parse()?))),
            Some(("other", interval)) => {
                let ask = Op::Set(Setting::request(interval.parse()?));
                let stay = Op::Until(Nanos::from_secs(1_000_000));
                Ok(Op::spawn(SpawnKind::Process, "other", vec![ask, stay]))
            }
            _ if part == "minimised" => Ok(Op::Set(Setting::Window {
                visible: false,
                foreground: false,
                audible: false,
            })),
            _ => Err(format!(
                "`{part}` is not other=LENGTH, own=LENGTH or minimised"
            )),
        });
        let before = before.collect::<Result<_, String>>()?;
        Ok(Self { model, before })
    }

    /// Waits at a rate, or with the lengths of `mixed`, `uniform` or `log`. Cycles begin once: who
    /// began them anew after the warm-up would begin on a tick if the last wait ended late.
    fn program(
        &self,
        strategy: StrategySpec,
        workload: &str,
        seed: u64,
    ) -> Result<Program, String> {
        if let Ok(regime) = workload.parse::<Regime>() {
            return Ok(Course::new(regime, seed, WARM_UP, JUDGED).program(strategy, &self.before));
        }
        let rate: Rate = workload.parse()?;
        let waits = WAITS.max((SECONDS * rate.as_hz()) as u64);
        let waits = Op::repeat(waits, [Op::wait(Due::NextCycle)]);
        let mut ops = self.before.clone();
        ops.extend([Op::Pace(rate), waits.clone(), Op::Record, waits]);
        Ok(Program::of(Subject::Strategy(strategy), ops))
    }

    /// The CPU time of a wait and its lateness, in nanoseconds.
    fn measure(&self, strategy: &str, workload: &str, seed: u64) -> Result<(f64, f64), String> {
        let strategy = StrategySpec::parse(strategy, self.model.strategy_defaults())?;
        let program = self.program(strategy, workload, seed)?;
        let mut machine = SimMachine::new(self.model.clone(), seed);
        let mut seen = machine.run(&program).map_err(|why| why.to_string())?;
        let section = seen.threads[0]
            .sections
            .pop()
            .ok_or("nothing was recorded")?;
        let waits = section.samples.len() as f64;
        let late = section
            .samples
            .iter()
            .map(|s| s.outcome.late.as_ns() as f64);
        let cpu = section.cpu.thread.ok_or("models know CPU time")?;
        Ok((cpu.as_ns() as f64 / waits, late.sum::<f64>() / waits))
    }

    /// For each weight, the median cost of `adaptive` over the median cost of the cheapest
    /// other, each over so many seeds.
    ///
    /// # Errors
    /// The workload is none.
    pub(crate) fn over_others(&self, workload: &str, seeds: u64) -> Result<Vec<Over>, String> {
        let all = |strategy: &str, first: u64| {
            let seeds = (first..first + seeds).map(|seed| self.measure(strategy, workload, seed));
            seeds.collect::<Result<Vec<_>, String>>()
        };
        let cost = |seen: &[(f64, f64)], weight: f64| {
            let mut costs: Vec<_> = seen.iter().map(|(cpu, late)| cpu + weight * late).collect();
            costs.sort_by(f64::total_cmp);
            costs[costs.len() / 2]
        };
        let others = OTHERS.map(|other| all(other, OF_OTHERS));
        let others = others.into_iter().collect::<Result<Vec<_>, _>>()?;
        let over = |weight: f64| {
            let mine = cost(&all(&format!("adaptive:weight={weight}"), 1)?, weight);
            let others = others.iter().map(|seen| cost(seen, weight)).zip(OTHERS);
            let (least_ns, other) =
                (others.min_by(|a, b| a.0.total_cmp(&b.0))).ok_or("there are others")?;
            Ok(Over {
                weight,
                over: mine / least_ns,
                least_ns,
                other,
            })
        };
        WEIGHTS.into_iter().map(over).collect()
    }
}

/// How dear `adaptive` is at one weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Over {
    pub(crate) weight: f64,
    /// Its cost over that of the cheapest other.
    pub(crate) over: f64,
    /// The cost and the name of the cheapest other.
    pub(crate) least_ns: f64,
    pub(crate) other: &'static str,
}
