//! The model of this computer: what was measured of its parts, put into the
//! simulated computer, on which the very same pools run.
//!
//! | file | what it is about |
//! |---|---|
//! | `machine` | which measurement is which figure of the simulated computer |
//! | `curve` | what zeroing costs: so much for each go, so much for each page |
//! | `gauge` | the few things that change from one moment to the next, measured beside each batch |
//! | `forecast` | predictions beside a run, with a gauge for each |
//! | `agreement` | how far predictions are from what was measured |
//!
//! Nothing in it is fitted to a pool.

mod agreement;
mod curve;
mod forecast;
mod gauge;
mod machine;

use punctual_core::Refusal;
use punctual_pool::Setting;
use punctual_record::{Interval, ZeroCalibration, ZeroingPrediction};
use punctual_sim::zeroing::{Active, Between, Job, Outcome, Prediction, predict as simulate};

pub use agreement::{Agreement, Ratio, TARGET_MEAN, TARGET_WORST, agreement};
pub use forecast::{Forecast, Forecasts};
pub use gauge::Gauge;
pub use machine::machine;

/// A pass over few pages is over before chance evens out: so many pages at least
/// are simulated, with other chances each time.
const PAGES: u64 = 2_000;

/// What the model says of a pool that zeroes `pages` pages of a memory that was
/// calibrated, `hot` or `cold`: the central value, and the interval over what is
/// not known better of its figures.
///
/// # Errors
/// There can be no such pool, or nothing is known of that memory or lock.
pub fn predict(
    calibration: &ZeroCalibration,
    setting: &Setting,
    memory: &str,
    pages: u64,
) -> Result<ZeroingPrediction, Refusal> {
    let machine = machine(calibration, setting, memory)?;
    let seeds = 0..PAGES.div_ceil(pages.max(1));
    let of_seed = |seed| {
        let job = Job {
            seed,
            ..Job::new(*setting, pages)
        };
        simulate(&machine, &job, Active::All)
    };
    let all: Vec<Prediction> = seeds.map(of_seed).collect::<Result<_, _>>()?;
    Ok(ZeroingPrediction {
        wall_gb_per_s: mean(&all, Outcome::wall_gb_per_s),
        gb_per_cpu_s: mean(&all, Outcome::gb_per_cpu_s),
        wait_share: mean(&all, |outcome| outcome.split.waiting),
    })
}

/// The mean over chance of a number with its interval.
fn mean(all: &[Prediction], number: impl Fn(&Outcome) -> f64) -> Interval {
    let between: Vec<Between> = all.iter().map(|one| one.of(&number)).collect();
    let mean = |of: fn(&Between) -> f64| between.iter().map(of).sum::<f64>() / all.len() as f64;
    Interval {
        median: mean(|b| b.central),
        low: mean(|b| b.low),
        high: mean(|b| b.high),
    }
}
