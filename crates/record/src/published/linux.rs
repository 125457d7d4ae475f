//! Linux.

use super::Beside::{LoadedSleeps, Sleeps};
use super::Statistic::{Mean, Range, Untold};
use super::{Published, SCHED, SRT_637, Source, row};

const RYZEN: (&str, &str) = ("Linux 6.2, Ubuntu 22.04", "Ryzen 7, 16 threads");
const SPIN_SLEEP: Source = (
    "github.com/alexheretic/spin-sleep, the README of its experiments",
    None,
);
const JDK: Source = ("github.com/openjdk/jdk, pull request 13889", None);

pub(super) const ROWS: &[Published] = &[
    row(RYZEN.0, RYZEN.1, "usleep(1000)")
        .same_as(&["usleep"])
        .at(Sleeps(1_000_000))
        .total(Range, 1_079_000, 1_082_200)
        .note("50 us of timer slack and about 30 us more")
        .from(SCHED, 'B'),
    row(RYZEN.0, RYZEN.1, "usleep(300)")
        .same_as(&["usleep"])
        .at(Sleeps(300_000))
        .total(Range, 353_400, 353_520)
        .note("50 us of timer slack and about 3.4 us more")
        .from(SCHED, 'B'),
    java(100, 57_830),
    java(1_000, 59_320),
    java(10_000, 68_070),
    sleep_for(1_000, 65_000),
    sleep_for(5_000, 70_000),
    sleep_for(10_000, 76_000),
    sleep_for(50_000, 116_000),
    sleep_for(100_000, 169_000),
    sleep_for(500_000, 591_000),
    sleep_for(1_000_000, 1_097_000),
    sleep_for(5_000_000, 5_140_000),
    row("Linux", "Ryzen 5800X", "thread::sleep")
        .at(Sleeps(1_000))
        .total(Mean, 55_100, 55_100)
        .note("best 8.3 us, worst 60.4 us in all")
        .from(SPIN_SLEEP, 'B'),
    row("Linux", "Ryzen 5800X", "thread::sleep")
        .at(Sleeps(1_000_000))
        .total(Mean, 1_055_000, 1_055_000)
        .note("worst 1.058 ms in all")
        .from(SPIN_SLEEP, 'B'),
    row("Linux", "Ryzen 5800X", "thread::sleep")
        .at(LoadedSleeps(1_000))
        .total(Mean, 58_000, 58_000)
        .note("all cores loaded; worst 3.3 ms in all")
        .from(SPIN_SLEEP, 'C'),
];

/// The mean of Java's sleeps.
const fn java(asked_ns: u64, total_ns: u64) -> Published {
    row("Linux", "", "Java sleep")
        .at(Sleeps(asked_ns))
        .total(Mean, total_ns, total_ns)
        .from(JDK, 'B')
}

/// C++'s sleeps.
const fn sleep_for(asked_ns: u64, total_ns: u64) -> Published {
    row("Linux", "", "C++ sleep_for")
        .at(Sleeps(asked_ns))
        .total(Untold, total_ns, total_ns)
        .from(SRT_637, 'B')
}
