//! The cost of `adaptive` over the cheapest of the other strategies, in virtual time.

use punctual_core::Rate;
use punctual_lab::experiments::Conditions;
use punctual_lab::rounds::{Seeded, at_weight};
use punctual_lab::workload::{Course, Regime};
use punctual_record::{Cost, Interval, WEIGHTS};
use punctual_sim::Model;

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
const WAITS: usize = 200;
const SECONDS: f64 = 2.0;
/// The same of waits of any length.
const WARM_UP: usize = 400;
const JUDGED: usize = 600;

/// How waits follow each other, and how many of them are learned from and judged.
fn course(workload: &str) -> Result<(Regime, usize, usize), String> {
    if let Ok(lengths) = workload.parse() {
        return Ok((lengths, WARM_UP, JUDGED));
    }
    let rate: Rate = workload.parse()?;
    let waits = WAITS.max((SECONDS * rate.as_hz()) as usize);
    Ok((Regime::Every(rate.period().into()), waits, waits))
}

/// A computer, and what happens on it beside the waits.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    model: Model,
    conditions: Conditions,
}

impl Place {
    /// A model, and after a `+` a request for a timer interval, as a sweep has it.
    ///
    /// # Errors
    /// The text is none of these.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (model, ask) = text.split_once('+').unwrap_or((text, "nobody"));
        Ok(Self {
            model: Model::parse(model)?,
            conditions: Conditions {
                ask: ask.parse()?,
                ..Conditions::default()
            },
        })
    }

    /// For each weight, the median cost of `adaptive` over the median cost of the cheapest
    /// other, each over so many seeds.
    ///
    /// # Errors
    /// The workload is none.
    pub(crate) fn over_others(&self, workload: &str, seeds: u64) -> Result<Vec<Over>, String> {
        let (regime, warm_up, judged) = course(workload)?;
        let mut rounds = Seeded::new(&self.model, |strategy, seed| {
            Course::new(regime, seed, warm_up, judged).program(strategy, &self.conditions)
        });
        let defaults = self.model.strategy_defaults();
        let mut median = |strategy: &'static str, weight: f64, first: u64| {
            let spec = at_weight(strategy, weight, defaults)?;
            let costs = rounds.costs((Cost::default(), weight), spec, first..first + seeds);
            let costs = costs.map_err(|why| why.to_string())?;
            let median = Interval::of(&costs).ok_or("there are no seeds")?.median;
            Ok::<_, String>((median, strategy))
        };
        let mut over = |weight| {
            let (mine, _) = median("adaptive:weight={weight}", weight, 1)?;
            let others = OTHERS.map(|other| median(other, weight, OF_OTHERS));
            let others: Vec<_> = others.into_iter().collect::<Result<_, _>>()?;
            let least = others.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
            let (least_ns, other) = least.ok_or("there are others")?;
            Ok(Over {
                weight,
                over: mine / least_ns,
                least_ns,
                other,
            })
        };
        WEIGHTS.into_iter().map(&mut over).collect()
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
