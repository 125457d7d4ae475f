//! The machine A-64 of LiTL (Guiroux, Lachaize, Quema, ATC'16 and the journal
//! version): eight nodes of eight Opteron cores.

use punctual_sim::model::Confidence::{C, D};

use super::common::{
    OPTERON_BANDWIDTH, OPTERON_ZERO, PARK_AT_2100_MHZ, TURNAROUND_AT_2100_MHZ, WAKE_AT_2100_MHZ,
};
use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "opteron-64",
    what: "8 nodes x 8 Opteron cores (LiTL's A-64)",
    topology: Topology {
        sockets: 8,
        caches: 1,
        cores: 8,
        threads: 1,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCache,
            Figure::new(
                38.6,
                D,
                "81 cycles at 2.1 GHz: SOSP'13's Opteron, which is a generation older",
            ),
        ),
        (
            Quantity::Across,
            Figure::between(
                76.7,
                101.0,
                120.0,
                D,
                "161 to 252 cycles at 2.1 GHz: SOSP'13's Opteron, which is a generation older",
            ),
        ),
        (
            Quantity::QueuedShare,
            Figure::between(
                0.67,
                2.2,
                2.4,
                D,
                "as fitted for the 48 cores of an older Opteron",
            ),
        ),
        (Quantity::Relax, Figure::new(4.8, C, "10 cycles at 2.1 GHz")),
        OPTERON_ZERO,
        OPTERON_BANDWIDTH,
        PARK_AT_2100_MHZ,
        WAKE_AT_2100_MHZ,
        TURNAROUND_AT_2100_MHZ,
    ],
};
