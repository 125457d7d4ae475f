//! A pool of workers that zero the memory of this computer, under many settings
//! that take turns in rounds.
//!
//! | file | what it is about |
//! |---|---|
//! | `settings` | what the user asks for |
//! | `sizes` | how much memory a pass is about, hot or cold |
//! | `cell` | one setting on one memory |
//! | `cells` | the product of everything that was asked for, without what cannot be |
//! | `ground` | the memory for it, and how fast it is |
//! | `plan` | what is measured, how long it takes, and the rounds |
//! | `tally` | what the rounds of a cell add up to |
//! | `facts`, `warnings` | what a reader has to know |
//!
//! How a pass goes, and what it does not time, is in
//! [`host`](crate::host).

mod cell;
mod cells;
mod facts;
mod ground;
mod plan;
mod settings;
mod sizes;
mod tally;
mod warnings;

pub use cell::{Area, Cell, Memory};
pub use facts::facts;
pub use plan::{Plan, Progress, Ran};
pub use settings::{Bursts, Settings};
pub use warnings::warnings;
