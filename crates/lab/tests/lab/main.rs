//! Experiments, scenarios and pools on models, and what holds of the sources.

mod adaptive;
mod informed;
mod measure;
mod promises;
mod replay;
mod scenarios;
mod seam;
mod validation;
#[allow(dead_code, reason = "the example shows more than the tests look at")]
mod yardsticks;
