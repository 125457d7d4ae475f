//! What is taken for granted of every computer where its own file says nothing.

use punctual_sim::model::Confidence::{C, D};

use super::{Figure, Quantity};

/// See above.
pub(crate) const COMMON: &[(Quantity, Figure)] = &[
    (
        Quantity::Hit,
        Figure::new(
            1.0,
            C,
            "an L1 hit of 3 to 5 cycles, partly hidden (SOSP'13: 3 to 5 cycles)",
        ),
    ),
    (
        Quantity::Rmw,
        Figure::new(
            5.0,
            C,
            "a locked instruction on a line in L1: about 20 cycles (SOSP'13, ccbench)",
        ),
    ),
    (
        Quantity::QueuedShare,
        Figure::between(
            0.5,
            2.0 / 3.0,
            1.0,
            D,
            "a guess: of three legs, request, forward and data, a request that had to queue has two ahead of it",
        ),
    ),
    (
        Quantity::LoadShare,
        Figure::new(1.0, D, "reading a line is taken for as slow as writing it"),
    ),
    (
        Quantity::UpgradeShare,
        Figure::new(
            1.0,
            D,
            "reaching those who have a copy is taken for as slow as getting one",
        ),
    ),
    (
        Quantity::NoticeShare,
        Figure::new(
            0.0,
            D,
            "a line is taken for lost to its owner as soon as it is asked for",
        ),
    ),
    (
        Quantity::Overtakes,
        Figure::between(
            0.25,
            0.5,
            0.75,
            D,
            "a guess: requests come by different ways, and either of two may be first",
        ),
    ),
    (
        Quantity::Posted,
        Figure::new(
            0.0,
            D,
            "a store is waited for: on x86 nothing that is stored later is seen earlier",
        ),
    ),
    (
        Quantity::Look,
        Figure::new(0.0, D, "who spins looks all the time"),
    ),
    (
        Quantity::Jitter,
        Figure::new(0.0, D, "all pages are taken to be alike"),
    ),
    (
        Quantity::Drain,
        Figure::new(0.0, D, "zeroing a page is taken for all there is"),
    ),
    (
        Quantity::Miss,
        Figure::between(
            60.0,
            80.0,
            120.0,
            C,
            "a local DRAM access of servers, 80 to 100 ns; partly overlapped",
        ),
    ),
    (
        Quantity::Section,
        Figure::new(0.0, D, "the pool's own loads and stores are all there is"),
    ),
    (
        Quantity::Bookkeeping,
        Figure::new(0.0, D, "the pool does nothing but zero"),
    ),
    (
        Quantity::Turn,
        Figure::new(0.0, D, "the pool does nothing but take and zero"),
    ),
    (
        Quantity::Park,
        Figure::new(
            700.0,
            C,
            "2,100 cycles (Falsafi et al., Unlocking Energy, ATC'16) at 3 GHz",
        ),
    ),
    (
        Quantity::Wake,
        Figure::new(900.0, C, "2,700 cycles (Unlocking Energy, ATC'16) at 3 GHz"),
    ),
    (
        Quantity::Turnaround,
        Figure::between(
            2_333.0,
            2_333.0,
            50_000.0,
            C,
            "7,000 cycles at least (Unlocking Energy, ATC'16) at 3 GHz; more out of deep idle states",
        ),
    ),
    (
        Quantity::Spread,
        Figure::new(
            10_000.0,
            D,
            "a guess at what waking the workers one after the other takes; keeps them out of step",
        ),
    ),
];
