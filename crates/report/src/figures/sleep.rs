//! The wait calls of the OS: overshoot by the time asked for.

use punctual_record::Run;
use punctual_record::experiment::Sleep;

use super::by_length::ByLength;
use super::figure::Figure;

/// A line for each call.
pub(super) fn sleep(run: &Run) -> Option<Figure> {
    let calls = ByLength {
        name: "sleep",
        title: "How much longer than asked each call waits",
        late: "overshoot",
        counted: "waits of each length and call",
    };
    calls.draw::<Sleep>(run)
}
