//! Linux.
//!
//! | file | rows | what |
//! |---|---|---|
//! | `slack` | V47-V52 | how late a sleep is, and why |
//! | `timers` | V54-V58 | which interrupts there are, and what they find |
//! | `computer` | V59, V60 | idle states and the scheduler |

mod computer;
mod slack;
mod timers;

use super::Row;

/// V47-V60.
pub(super) fn rows() -> Vec<Row> {
    [slack::rows(), timers::rows(), computer::rows()].concat()
}
