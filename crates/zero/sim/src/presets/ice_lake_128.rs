//! The class of the article's 128-CPU machines: two sockets of Ice Lake.

use punctual_sim::model::Confidence::{B, C};

use super::common::{BANDWIDTH_OF_16_DDR4_3200, ZERO_AS_MILAN};
use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "ice-lake-128",
    what: "2 x Xeon Platinum 8375C: 2 sockets x 32 cores x 2",
    topology: Topology {
        sockets: 2,
        caches: 1,
        cores: 32,
        threads: 2,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCore,
            Figure::new(8.0, C, "core-to-core-latency, Xeon Platinum 8375C"),
        ),
        (
            Quantity::SameCache,
            Figure::new(51.0, C, "core-to-core-latency, Xeon Platinum 8375C"),
        ),
        (
            Quantity::Across,
            Figure::new(
                108.0,
                C,
                "core-to-core-latency, Xeon Platinum 8375C; all pairs: median 99, p95 112",
            ),
        ),
        (
            Quantity::Relax,
            Figure::new(48.0, B, "140 cycles since Skylake, at 2.9 GHz"),
        ),
        ZERO_AS_MILAN,
        BANDWIDTH_OF_16_DDR4_3200,
    ],
};
