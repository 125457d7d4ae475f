//! Article figure 2: requests of every length.

use punctual_record::Run;

use super::by_length::ByLength;
use super::figure::Figure;
use crate::select::Kind;

/// Lateness by the time asked for.
pub(super) fn decades(run: &Run) -> Option<Figure> {
    let requests = ByLength {
        kind: Kind::Decades,
        name: "decades",
        title: "Lateness by the time asked for",
        late: "lateness",
        counted: "requests of each length and subject",
    };
    requests.draw(run)
}
