//! Windows, and the policies that need its rules: hybrid sleep, Chromium on
//! battery, a release without a request.
//!
//! | file | rows | what |
//! |---|---|---|
//! | `requests` | V01, V04-V09, V12, V68, V72 | who asks for which interval, and who gets it |
//! | `grid` | V02, V03, V10-V22 | what the ticks make of a sleep |
//! | `classes` | V23-V33 | processes that have not asked, since Windows 10 2004 |
//! | `throttling` | V34-V37 | processes whose request does not count, and the key that undoes that |
//! | `timers` | V38-V41, V45 | waitable timers, and the timers of Go |
//! | `computer` | V43, V44, V46 | quanta, interrupts, a full computer |
//! | `hybrid` | V69, V70 | sleep and spin |
//!
//! `background` has the programs of several processes that these share.

mod background;
mod classes;
mod computer;
mod grid;
mod hybrid;
mod requests;
mod throttling;
mod timers;

use super::Row;

/// V01-V46, V68-V70 and V72.
pub(super) fn rows() -> Vec<Row> {
    [
        requests::rows(),
        grid::rows(),
        classes::rows(),
        throttling::rows(),
        timers::rows(),
        computer::rows(),
        hybrid::rows(),
    ]
    .concat()
}
