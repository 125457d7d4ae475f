//! What of pools is compared between runs.

use punctual_report::tables::{Compared, Shows};

use crate::rows::{GB_PER_CPU_S, WALL_GB_PER_S};

/// GB zeroed, for `punctual compare`.
pub const COMPARED: Compared = Compared {
    what: "GB zeroed",
    caption: "GB (1e9 bytes) zeroed per second of CPU time that all workers used together, and per second that \
        passed. More is better.",
    columns: &[
        ("GB per CPU-s [95 %]", Shows::Within(GB_PER_CPU_S)),
        ("over A's", Shows::OverFirst(GB_PER_CPU_S)),
        ("wall GB/s [95 %]", Shows::Within(WALL_GB_PER_S)),
        ("over A's", Shows::OverFirst(WALL_GB_PER_S)),
    ],
};
