//! What the simulated computers are held against: rules and figures that
//! others documented or measured, one row each.
//!
//! The rows are data: the files of `scenarios/validation`, whose README says
//! how one is written. Each row runs programs on a model and compares what came
//! out.
//!
//! | file | what it does |
//! |---|---|
//! | `row` | a row, and what comes of running it |
//! | `read` | TOML to rows, with lists of parameters and shared steps written out |
//! | `see` | what a row looks at, and what it is held to |
//! | `robustness` | the one experiment that is no single program |

mod read;
mod robustness;
mod row;
mod see;

pub use read::{rows, sources};
pub use row::{Evidence, Finding, Row};
