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

/// What a page takes to zero on an Opteron.
pub(super) const OPTERON_ZERO: (Quantity, Figure) = (
    Quantity::Zero,
    Figure::between(
        600.0,
        1_500.0,
        2_500.0,
        D,
        "Xen's boot scrub, 64 Opteron cores: 2.6 GiB/s alone",
    ),
);

/// What its memory takes together.
pub(super) const OPTERON_BANDWIDTH: (Quantity, Figure) = (
    Quantity::Bandwidth,
    Figure::between(
        20.0,
        45.8,
        90.0,
        D,
        "Xen's boot scrub, 64 Opteron cores: 42.7 GiB/s together",
    ),
);

/// What parking costs, where it is known in cycles only.
pub(super) const PARK_AT_2100_MHZ: (Quantity, Figure) = (
    Quantity::Park,
    Figure::new(
        1_000.0,
        C,
        "2,100 cycles (Unlocking Energy, ATC'16) at 2.1 GHz",
    ),
);

/// The same of waking somebody up.
pub(super) const WAKE_AT_2100_MHZ: (Quantity, Figure) = (
    Quantity::Wake,
    Figure::new(
        1_286.0,
        C,
        "2,700 cycles (Unlocking Energy, ATC'16) at 2.1 GHz",
    ),
);

/// The same of being awake again.
pub(super) const TURNAROUND_AT_2100_MHZ: (Quantity, Figure) = (
    Quantity::Turnaround,
    Figure::between(
        3_333.0,
        3_333.0,
        50_000.0,
        C,
        "7,000 cycles at least (Unlocking Energy, ATC'16) at 2.1 GHz; more out of deep idle states",
    ),
);

/// What a page takes to zero on a computer of Milan's time.
pub(super) const ZERO_AS_MILAN: (Quantity, Figure) = (
    Quantity::Zero,
    Figure::between(
        150.0,
        300.0,
        600.0,
        D,
        "a guess: 4 KiB at 13.7 GB/s, as Milan's rep stosb",
    ),
);

/// What two sockets with eight channels each take.
pub(super) const BANDWIDTH_OF_16_DDR4_3200: (Quantity, Figure) = (
    Quantity::Bandwidth,
    Figure::between(
        153.6,
        163.8,
        348.2,
        C,
        "2 x 8 x DDR4-3200 = 409.6 GB/s, of which 75 to 85 % (McCalpin), half of that for stores that read first",
    ),
);
