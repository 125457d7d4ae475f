//! How the errors of the accurate-sleep article's *preciseSleep* grow with the
//! scheduler period: the experiment `robustness` on its fake OS.

use punctual_core::Method;
use punctual_core::strategies::StrategySpec;
use punctual_program::program::Subject;
use punctual_program::{Machine, Refusal};
use punctual_record::OfExperiment;
use punctual_record::experiment::Robustness;
use punctual_sim::{Model, SimMachine};

use super::see::Figure;
use crate::experiments::robustness;

/// As published: with the ordinary sleep, and one standard deviation.
const PRECISE: StrategySpec = StrategySpec::Precise {
    method: Method::Sleep,
    x: 1.0,
};

/// The lengths of the experiment for which a nap is never too long.
const SLEPT_MS: [u64; 5] = [10, 15, 20, 30, 50];

/// What chance does to a nap differs from draw to draw.
const DRAWS: u64 = 10;

/// The mean errors of each length with periods up to 5 ms and over: they are to
/// grow with the period, and to fall with the length.
pub(super) fn figure() -> Result<Figure, Refusal> {
    let mut sums = [[0.0; 2]; SLEPT_MS.len()];
    for draw in 1..=DRAWS {
        let mut machine = |period| -> Box<dyn Machine> {
            let model = Model::fake(period).expect("1 to 10 ms are periods of a fake OS");
            Box::new(SimMachine::new(model, draw))
        };
        for result in robustness::run(&[Subject::Strategy(PRECISE)], &mut machine)? {
            let Some(of) = Robustness::of(&result) else {
                continue;
            };
            let length = SLEPT_MS.iter().position(|ms| ms * 1_000_000 == of.asked_ns);
            let is_long = of.scheduler_period_ns > 5_000_000;
            if let (Some(length), Some(error)) = (length, of.relative_error) {
                sums[length][usize::from(is_long)] += error;
            }
        }
    }
    let errors = sums.map(|sums| sums.map(|sum| sum / (5 * DRAWS) as f64));
    let grow = errors.iter().all(|[short, long]| short < long);
    let fall = errors.windows(2).all(|pair| pair[0][1] > pair[1][1]);
    let shown = SLEPT_MS.iter().zip(errors).map(|(ms, errors)| {
        let [short, long] = errors.map(|error| 100.0 * error);
        format!("{ms} ms {short:.2} -> {long:.2} %")
    });
    Ok(Figure {
        values: vec![],
        shown: shown.collect::<Vec<_>>().join(" / "),
        quiet: false,
        holds: grow && fall,
    })
}
