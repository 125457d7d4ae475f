//! The machine of "Non-scalable locks are dangerous" (Boyd-Wickizer, Kaashoek,
//! Morris, Zeldovich, 2012): eight chips of six cores.

use punctual_sim::model::Confidence::{C, D};

use super::common::{OPTERON_BANDWIDTH, OPTERON_ZERO};
use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "opteron-48",
    what: "8 x 6 Opteron cores at 2.4 GHz",
    topology: Topology {
        sockets: 8,
        caches: 1,
        cores: 6,
        threads: 1,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCache,
            Figure::new(
                38.6,
                C,
                "81 cycles at 2.1 GHz: an Opteron of 8 x 6 cores in SOSP'13",
            ),
        ),
        (
            Quantity::Across,
            Figure::between(
                76.7,
                101.0,
                120.0,
                C,
                "161, 172 and 252 cycles at 2.1 GHz to a chip in the same package, one hop and two hops away: an Opteron of 8 x 6 cores in SOSP'13",
            ),
        ),
        (
            Quantity::QueuedShare,
            Figure::between(
                2.0,
                2.2,
                2.4,
                D,
                "fitted: 500 cycles a request in the product form of the paper's model, which is what its curves in figures 8 and 9 show; more than a whole transfer, as each request asks all chips",
            ),
        ),
        (Quantity::Relax, Figure::new(4.2, C, "10 cycles at 2.4 GHz")),
        OPTERON_ZERO,
        OPTERON_BANDWIDTH,
    ],
};
