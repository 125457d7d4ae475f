//! The wait calls of the OS: overshoot by the time asked for.

use punctual_record::Run;

use super::by_length::ByLength;
use super::figure::Figure;
use crate::select::Kind;

/// A line for each call.
pub(super) fn sleep(run: &Run) -> Option<Figure> {
    let calls = ByLength {
        kind: Kind::Sleep,
        name: "sleep",
        title: "How much longer than asked each call waits",
        late: "overshoot",
        counted: "waits of each length and call",
    };
    calls.draw(run)
}
