//! The machine I-48 of LiTL (Guiroux, Lachaize, Quema, ATC'16 and the journal
//! version): four nodes of twelve Xeon cores.

use punctual_sim::model::Confidence::{C, D};

use super::common::{PARK_AT_2100_MHZ, TURNAROUND_AT_2100_MHZ, WAKE_AT_2100_MHZ};
use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "xeon-48",
    what: "4 nodes x 12 Xeon cores (LiTL's I-48)",
    topology: Topology {
        sockets: 4,
        caches: 1,
        cores: 12,
        threads: 1,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCache,
            Figure::new(
                51.0,
                D,
                "109 cycles at 2.13 GHz: SOSP'13's Westmere-EX, some generations older",
            ),
        ),
        (
            Quantity::Across,
            Figure::between(
                118.0,
                136.0,
                188.0,
                D,
                "289 cycles at 2.13 GHz to a node one hop away, 400 two hops: SOSP'13's Westmere-EX",
            ),
        ),
        (
            Quantity::Relax,
            Figure::new(4.8, C, "10 cycles before Skylake, at 2.1 GHz"),
        ),
        (
            Quantity::Zero,
            Figure::between(300.0, 600.0, 1_200.0, D, "a guess: the 150 us/MB of 2014"),
        ),
        (
            Quantity::Bandwidth,
            Figure::between(30.0, 80.0, 200.0, D, "a guess: four sockets of its time"),
        ),
        PARK_AT_2100_MHZ,
        WAKE_AT_2100_MHZ,
        TURNAROUND_AT_2100_MHZ,
    ],
};
