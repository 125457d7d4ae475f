//! Which pool to zero pages with: the model of a computer is asked about many
//! pools, and for each goal the best is advised.
//!
//! | file | what it is about |
//! |---|---|
//! | `considered` | the pools that the model is asked about, what it says of each, and the best for a goal, or a simpler one that is as good |
//! | `model` | who is asked |
//! | `bounds` | rules of thumb that say the same without a simulation |
//! | `advised` | all of it together |
//! | `verdict` | what was measured of it |

mod advised;
mod bounds;
mod considered;
mod model;
mod verdict;

pub use advised::Advised;
pub use considered::{Candidate, Goal, considered, pools};
pub use model::Model;
pub use verdict::{check, with_predictions};
