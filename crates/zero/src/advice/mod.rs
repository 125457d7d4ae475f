//! Which pool to zero pages with: the model of a computer is asked about many
//! pools, and for each goal the best is advised.
//!
//! | file | what it is about |
//! |---|---|
//! | `goal` | what is to be had: little CPU time, little time, or something between |
//! | `considered` | the pools that the model is asked about |
//! | `model` | who is asked |
//! | `candidate` | one of them, and what the model says of it |
//! | `pick` | the best for a goal, or a simpler one that is as good |
//! | `bounds` | rules of thumb that say the same without a simulation |
//! | `advised` | all of it together |
//! | `verdict` | what was measured of it |

mod advised;
mod bounds;
mod candidate;
mod considered;
mod goal;
mod model;
mod pick;
mod verdict;

pub use advised::Advised;
pub use bounds::knee;
pub use candidate::Candidate;
pub use considered::considered;
pub use goal::Goal;
pub use model::Model;
pub use verdict::{check, with_predictions};
