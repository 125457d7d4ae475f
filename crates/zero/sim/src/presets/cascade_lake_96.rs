//! The class of the article's machine: two sockets of Cascade Lake, 96 logical
//! CPUs. The article does not name its CPU.

use punctual_sim::model::Confidence::{B, C, D};

use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "cascade-lake-96",
    what: "2 x Xeon Platinum 8275CL: 2 sockets x 24 cores x 2",
    topology: Topology {
        sockets: 2,
        caches: 1,
        cores: 24,
        threads: 2,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCore,
            Figure::new(7.0, C, "core-to-core-latency, Xeon Platinum 8275CL"),
        ),
        (
            Quantity::SameCache,
            Figure::new(47.0, C, "core-to-core-latency, Xeon Platinum 8275CL"),
        ),
        (
            Quantity::Across,
            Figure::new(
                134.0,
                C,
                "core-to-core-latency, Xeon Platinum 8275CL; all pairs: median 129, p95 138",
            ),
        ),
        (
            Quantity::Relax,
            Figure::new(47.0, B, "140 cycles since Skylake, at 3 GHz"),
        ),
        (
            Quantity::Zero,
            Figure::between(
                150.0,
                300.0,
                600.0,
                D,
                "a guess: 4 KiB at 13.7 GB/s, as Milan's rep stosb; up to the 150 us/MB of 2014",
            ),
        ),
        (
            Quantity::Bandwidth,
            Figure::between(
                53.9,
                112.6,
                225.3,
                C,
                "2 x 6 x DDR4-2933 = 281.6 GB/s, of which 80 % (McCalpin), half of that for stores that read first; at least the article's 76 ns a page",
            ),
        ),
    ],
};
