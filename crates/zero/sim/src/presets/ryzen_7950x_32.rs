//! A desktop: the class of machines on which nobody noticed anything.

use punctual_sim::model::Confidence::{C, D};

use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "ryzen-7950x-32",
    what: "Ryzen 9 7950X: 2 caches x 8 cores x 2",
    topology: Topology {
        sockets: 1,
        caches: 2,
        cores: 8,
        threads: 2,
        numbering: Numbering::SiblingsTogether,
    },
    figures: &[
        (
            Quantity::SameCore,
            Figure::new(5.0, C, "core-to-core-latency, Ryzen 9 7950X"),
        ),
        (
            Quantity::SameCache,
            Figure::new(15.7, C, "core-to-core-latency, Ryzen 9 7950X"),
        ),
        (
            Quantity::SameSocket,
            Figure::new(68.0, C, "core-to-core-latency, Ryzen 9 7950X: 68 to 73"),
        ),
        (
            Quantity::Relax,
            Figure::between(
                2.0,
                14.0,
                30.0,
                D,
                "a guess: between the 10 cycles of old Intel cores and the 140 of new ones",
            ),
        ),
        (
            Quantity::Zero,
            Figure::between(
                107.0,
                200.0,
                300.0,
                D,
                "a guess: faster than a server core; Milan's 38 GB/s at best",
            ),
        ),
        (
            Quantity::Bandwidth,
            Figure::between(
                31.2,
                33.3,
                70.7,
                C,
                "2 x DDR5-5200 = 83.2 GB/s, of which 75 to 85 % (McCalpin), half of that for stores that read first",
            ),
        ),
    ],
};
