//! Article figure 2: requests of every length.

use punctual_record::Run;
use punctual_record::experiment::Decades;

use super::by_length::ByLength;
use super::figure::Figure;

/// Lateness by the time asked for.
pub(super) fn decades(run: &Run) -> Option<Figure> {
    let requests = ByLength {
        name: "decades",
        title: "Lateness by the time asked for",
        late: "lateness",
        counted: "requests of each length and subject",
    };
    requests.draw::<Decades>(run)
}
