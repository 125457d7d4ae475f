//! Experiments, scenarios and pools on models, and what holds of the sources.

mod adaptive;
mod clairvoyant;
mod measure;
mod scenarios;
mod seam;
mod seeds;
mod validation;
mod zero_validation;
