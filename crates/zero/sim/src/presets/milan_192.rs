//! Two sockets of Milan: caches of eight cores, so that a line from the next
//! cache takes almost five times as long as one from the own.

use punctual_sim::model::Confidence::{C, D};

use super::common::BANDWIDTH_OF_16_DDR4_3200;
use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "milan-192",
    what: "2 x EPYC 7R13: 2 sockets x 6 caches x 8 cores x 2",
    topology: Topology {
        sockets: 2,
        caches: 6,
        cores: 8,
        threads: 2,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCore,
            Figure::new(10.0, C, "core-to-core-latency, EPYC 7R13"),
        ),
        (
            Quantity::SameCache,
            Figure::new(23.0, C, "core-to-core-latency, EPYC 7R13"),
        ),
        (
            Quantity::SameSocket,
            Figure::between(
                107.0,
                107.0,
                214.0,
                C,
                "core-to-core-latency, EPYC 7R13; twice as long inside the second socket",
            ),
        ),
        (
            Quantity::Across,
            Figure::new(
                197.0,
                C,
                "core-to-core-latency, EPYC 7R13; all pairs: median 195, p95 205",
            ),
        ),
        (
            Quantity::Relax,
            Figure::between(
                3.0,
                20.0,
                45.0,
                D,
                "a guess: between the 10 cycles of old Intel cores and the 140 of new ones",
            ),
        ),
        (
            Quantity::Zero,
            Figure::between(
                150.0,
                299.0,
                600.0,
                C,
                "rep stosb of 4 KiB regions on Milan: 13.7 GB/s (Linux, clearing of huge pages)",
            ),
        ),
        BANDWIDTH_OF_16_DDR4_3200,
    ],
};
