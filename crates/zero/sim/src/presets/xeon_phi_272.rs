//! The 272-CPU machine that somebody offered the article's author. Nobody
//! published what it did: whatever comes out is a prediction.

use punctual_sim::model::Confidence::{C, D};

use super::{Figure, Preset, Quantity, Topology};
use crate::Numbering;

pub(super) const PRESET: Preset = Preset {
    name: "xeon-phi-272",
    what: "Xeon Phi (Knights Landing): 68 cores x 4",
    topology: Topology {
        sockets: 1,
        caches: 1,
        cores: 68,
        threads: 4,
        numbering: Numbering::SiblingsLast,
    },
    figures: &[
        (
            Quantity::SameCore,
            Figure::between(
                5.0,
                20.0,
                91.0,
                D,
                "a guess; core-to-core-latency's Xeon Phi 7210 had one thread a core",
            ),
        ),
        (
            Quantity::SameCache,
            Figure::between(
                85.0,
                91.0,
                97.0,
                C,
                "core-to-core-latency, Xeon Phi 7210: median 91, p95 97",
            ),
        ),
        (Quantity::Hit, Figure::new(3.0, D, "4 cycles at 1.4 GHz")),
        (Quantity::Rmw, Figure::new(14.0, D, "20 cycles at 1.4 GHz")),
        (
            Quantity::Relax,
            Figure::between(
                7.0,
                7.0,
                20.0,
                D,
                "10 cycles, as cores before Skylake, at 1.4 GHz",
            ),
        ),
        (
            Quantity::Zero,
            Figure::between(
                300.0,
                600.0,
                1_200.0,
                D,
                "a guess: half as fast as a server core",
            ),
        ),
        (
            Quantity::Bandwidth,
            Figure::between(
                46.1,
                92.2,
                400.0,
                D,
                "6 x DDR4-2400 = 115.2 GB/s, of which 80 % (McCalpin), half of that at least; 400 from the memory in its package",
            ),
        ),
        (
            Quantity::Park,
            Figure::new(
                1_500.0,
                D,
                "2,100 cycles (Unlocking Energy, ATC'16) at 1.4 GHz",
            ),
        ),
        (
            Quantity::Wake,
            Figure::new(
                1_930.0,
                D,
                "2,700 cycles (Unlocking Energy, ATC'16) at 1.4 GHz",
            ),
        ),
        (
            Quantity::Turnaround,
            Figure::between(
                5_000.0,
                5_000.0,
                100_000.0,
                D,
                "7,000 cycles at least (Unlocking Energy, ATC'16) at 1.4 GHz",
            ),
        ),
    ],
};
