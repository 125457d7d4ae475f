//! Two sockets of Rome: sixteen caches of four cores in each.

use punctual_sim::model::Confidence::{C, D};

use super::common::{BANDWIDTH_OF_16_DDR4_3200, ZERO_AS_MILAN};
use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "rome-256",
    what: "2 x EPYC 7742: 2 sockets x 16 caches x 4 cores x 2",
    topology: Topology {
        sockets: 2,
        caches: 16,
        cores: 4,
        threads: 2,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCore,
            Figure::new(8.0, C, "core-to-core-latency, EPYC 7742"),
        ),
        (
            Quantity::SameCache,
            Figure::between(20.0, 25.0, 35.0, D, "a guess: as in Milan-X, 25 ns"),
        ),
        (
            Quantity::SameSocket,
            Figure::between(
                109.0,
                196.0,
                261.0,
                C,
                "what is left for these, 120 of each CPU's 255 pairs, of a mean of 226 ns (core-to-core-latency, EPYC 7742) with 1 at 8, 6 at 25 and 128 at 265 ns; the fastest 5 % of all are below 109",
            ),
        ),
        (
            Quantity::Across,
            Figure::new(
                265.0,
                C,
                "core-to-core-latency, EPYC 7742; all pairs: median 261, p95 277",
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
        ZERO_AS_MILAN,
        BANDWIDTH_OF_16_DDR4_3200,
    ],
};
