//! The validation of simulated computers against documented or measured rules and figures, one row
//! each.
//!
//! The rows are data: the files of `scenarios/validation`, whose README says
//! how one is written. Each row runs programs on a model and compares what came
//! out.
//!
//! | file | what it does |
//! |---|---|
//! | `read` | TOML to rows, with lists of parameters and shared steps written out |
//! | `see` | what a row looks at, and what it is held to |
//! | `preset` | a row as a scenario to watch |

mod preset;
mod read;
mod see;

pub use preset::Preset;
pub use read::{rows, sources};

use punctual_core::Method;
use punctual_core::strategies::StrategySpec;
use punctual_program::program::Subject;
use punctual_program::{Machine, Program, Refusal};
use punctual_record::OfExperiment;
use punctual_record::experiment::Robustness;
use punctual_sim::{Model, SimMachine};

use crate::experiments::robustness;
use crate::scenario::{self, Expect, Scenario, Target, Unit};
use see::{Figure, SEED, See};

/// One thing that the models are held against.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name: `V47`.
    pub id: String,
    /// The rule, in a few words.
    pub rule: String,
    /// The input.
    pub input: String,
    /// The result according to the source.
    pub expected: String,
    /// How far from that is still the same.
    pub tolerance: String,
    /// The ground of the expectation.
    pub kind: Evidence,
    /// The parameter that was fitted to the very figure of the row. Such a row shows that the rule
    /// can make this figure, not that it predicts it.
    pub fitted: Option<String>,
    /// Where the expectation comes from, with the short names of [`sources`].
    pub source: String,
    /// How it was made, and why it deviates if it does; may be empty.
    pub note: String,
    /// How what was seen is shown: `{1}` is the first figure. Without it, all
    /// of them in a line.
    got: Option<String>,
    runs: Vec<Run>,
}

/// The grounds of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The vendor's documentation or source.
    Documented,
    /// A measurement by others.
    Measured,
    /// A consequence of a rule that agrees with data.
    Inferred,
    /// A consequence of a rule that was never checked. Not asserted.
    Predicted,
    /// The data that a parameter was taken from, so that it must agree. Not
    /// asserted.
    Calibrated,
}

impl Evidence {
    /// All of them, each with its name in a file.
    pub const NAMED: [(&str, Self); 5] = [
        ("documented", Self::Documented),
        ("measured", Self::Measured),
        ("inferred", Self::Inferred),
        ("predicted", Self::Predicted),
        ("calibrated", Self::Calibrated),
    ];

    /// The letter that stands for it in a table: the first of its name.
    pub fn letter(self) -> char {
        let named = Self::NAMED.iter().find(|(_, kind)| *kind == self);
        let first = named.and_then(|(name, _)| name.chars().next());
        first.unwrap_or(' ').to_ascii_uppercase()
    }

    /// Whether a row of this kind that does not hold is a defect.
    pub const fn is_asserted(self) -> bool {
        matches!(self, Self::Documented | Self::Measured | Self::Inferred)
    }
}

#[derive(Clone, Debug)]
enum Run {
    /// Programs on their models, and what is looked at of all of them together.
    Seen {
        experiments: Vec<(String, Program)>,
        /// The steps of the first of them, as the file of a scenario has them.
        steps: String,
        sees: Vec<See>,
    },
    /// A scenario that comes with punctual, with those of its expectations that name the row.
    Expected(Box<Scenario>),
    /// `punctual simulate robustness`, which is no single program.
    Robustness,
}

impl Run {
    /// Whether it can be other than expected.
    fn is_held(&self) -> bool {
        match self {
            Self::Seen { sees, .. } => sees.iter().any(See::is_held),
            Self::Expected(_) | Self::Robustness => true,
        }
    }

    /// How far from the first figure is still the same, in words.
    fn tolerance(&self) -> Option<String> {
        match self {
            Self::Seen { sees, .. } => sees.iter().find_map(See::tolerance),
            Self::Expected(scenario) => scenario.expects.iter().find_map(percentage),
            Self::Robustness => None,
        }
    }

    /// The programs of both, seen as these here.
    fn and(mut self, other: Self) -> Self {
        if let (
            Self::Seen { experiments, .. },
            Self::Seen {
                experiments: more, ..
            },
        ) = (&mut self, other)
        {
            experiments.extend(more);
        }
        self
    }
}

/// The result of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The result of the model.
    pub got: String,
    /// Whether that is what was expected, within the tolerance.
    pub holds: bool,
}

impl Row {
    /// Does it on a model. Always the same.
    ///
    /// # Errors
    /// The model refuses it, or there is nothing to look at.
    pub fn run(&self) -> Result<Finding, Refusal> {
        self.run_showing(self.got.as_deref().unwrap_or_default())
    }

    /// As [`run`](Self::run), and shows these of its figures: `{1}` is the first; all of them if
    /// `shown` is empty.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub fn run_showing(&self, shown: &str) -> Result<Finding, Refusal> {
        let mut figures = Vec::new();
        for run in &self.runs {
            match run {
                Run::Seen {
                    experiments, sees, ..
                } => see::figures(experiments, sees, &mut figures)?,
                Run::Expected(scenario) => expected(scenario, &mut figures)?,
                Run::Robustness => figures.push(robustness_grows()?),
            }
        }
        let got = match shown {
            "" => {
                let loud = figures.iter().filter(|figure| !figure.quiet);
                let loud: Vec<_> = loud.map(|figure| figure.shown.as_str()).collect();
                loud.join(" / ")
            }
            text => (1..)
                .zip(&figures)
                .fold(text.to_owned(), |text, (nth, figure)| {
                    text.replace(&format!("{{{nth}}}"), &figure.shown)
                }),
        };
        Ok(Finding {
            got,
            holds: figures.iter().all(|figure| figure.holds),
        })
    }
}

fn percentage(expect: &Expect) -> Option<String> {
    let Target::Near { value, within } = expect.target else {
        return None;
    };
    Some(format!("{} %", Unit::Number.show(100.0 * within / value)))
}

/// Adds what a scenario expects of its models.
fn expected(scenario: &Scenario, figures: &mut Vec<Figure>) -> Result<(), Refusal> {
    for on in &scenario.on {
        let model = Model::parse(on).map_err(Refusal::new)?;
        let ran = scenario::run(scenario, &model, SEED, false).map_err(Refusal::new)?;
        figures.extend(ran.expectations.into_iter().map(|expectation| Figure {
            shown: expectation.got,
            holds: expectation.holds,
            ..Figure::default()
        }));
    }
    Ok(())
}

/// As the accurate-sleep article's *preciseSleep*, with the ordinary sleep, and one standard deviation.
const PRECISE: StrategySpec = StrategySpec::Precise {
    method: Method::Sleep,
    x: 1.0,
};

/// The lengths of the experiment for which a nap is never too long.
const SLEPT_MS: [u64; 5] = [10, 15, 20, 30, 50];

/// The effect of chance on a nap differs from draw to draw.
const DRAWS: u64 = 40;

/// How the errors of the accurate-sleep article's *preciseSleep* grow with the scheduler period:
/// the experiment `robustness` on its fake OS. The mean errors of each length are with periods up
/// to 5 ms and over. They are to grow with the period, and to fall with the length.
fn robustness_grows() -> Result<Figure, Refusal> {
    let mut sums = [[0.0; 2]; SLEPT_MS.len()];
    for draw in 1..=DRAWS {
        let mut machine = |period| -> Box<dyn Machine> {
            let model = Model::fake(period).expect("1 to 10 ms are periods of a fake OS");
            // Each period has chances of its own, or they would all tell one story.
            Box::new(SimMachine::new(model, draw ^ period.as_ns()))
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
        shown: shown.collect::<Vec<_>>().join(" / "),
        holds: grow && fall,
        ..Figure::default()
    })
}
