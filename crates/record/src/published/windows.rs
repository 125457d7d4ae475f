//! Windows. Its sleeps depend on the timer interval in force and on who asked
//! for it: the note of each row tells.

use super::Beside::{LoadedSleeps, RandomSleeps, Sleeps, Yields};
use super::Statistic::{Mean, Range, Rule};
use super::{Published, RULE, SCHED, SPIN_22, SRT_637, Source, row};

const MS: u64 = 1_000_000;

const PCT: Source = ("github.com/valleyofdoom/PC-Tuning, docs/research.md", None);
const HAUK_17: Source = (
    "github.com/HakanL/Haukcode.HighResolutionTimer, issue 17",
    None,
);
const TR_4: Source = ("github.com/valleyofdoom/TimerResolution, issue 4", None);
const GO_17696: Source = ("github.com/golang/go, issue 17696", None);
const STACK_OVERFLOW: Source = ("Stack Overflow, question 85122", None);

const OLD: &str = "Windows 10 until 1909, and older";
const SINCE_2004: &str = "Windows 10 since 2004";

pub(super) const ROWS: &[Published] = &[
    sleep_1("Windows", "")
        .total(Range, 3_050_000, 15_560_000)
        .note(
            "no request, in a loop: six sleeps, 15.39, 15.04, 15.20, 3.05, 15.56, 15.52 ms in all",
        )
        .from(SCHED, 'B'),
    sleep_1("Windows", "")
        .total(Range, 1_021_000, 1_023_000)
        .note("own request for 0.5 ms")
        .from(SCHED, 'B'),
    sleep_1(OLD, "")
        .at(RandomSleeps(MS))
        .total(Rule, MS, 16_625_000)
        .note("no request by anybody")
        .from(RULE, 'A'),
    sleep_1(OLD, "")
        .total(Mean, 2 * MS, 2 * MS)
        .note("500 wakes a second while another process asks for 2 ms")
        .from(RULE, 'A'),
    sleep_1("Windows 10 1909, XP", "")
        .total(Mean, 2 * MS, 2 * MS)
        .note("interval 1 ms")
        .from(RULE, 'B'),
    sleep_1("Windows 7, 8", "")
        .total(Mean, MS, MS)
        .note("interval 1 ms")
        .from(RULE, 'B'),
    sleep_1(SINCE_2004, "")
        .total(Mean, 15_625_000, 15_625_000)
        .note("about 64 wakes a second while another process asks for 2 ms")
        .from(RULE, 'C'),
    sleep_1(SINCE_2004, "")
        .total(Mean, 12 * MS, 12 * MS)
        .note("about, while another process asks for 6 ms")
        .from(RULE, 'B'),
    sleep_1("Windows 10", "")
        .total(Range, 1_496_100, 1_497_900)
        .note("own request, interval 0.4992 ms; ten sleeps")
        .from(PCT, 'B'),
    sleep_1("Windows 10", "")
        .total(Range, 1_011_500, 1_013_000)
        .note("interval 0.5068 ms")
        .from(PCT, 'B'),
    sleep_1("Windows 10", "")
        .total(Range, 1_998_100, 1_999_100)
        .note("interval 0.9996 ms")
        .from(PCT, 'B'),
    sleep_1("Windows", "")
        .total(Mean, 1_953_000, 1_953_000)
        .note("interval 0.9766 ms")
        .from(GO_17696, 'B'),
    sleep_1("Windows 10 21H2", "")
        .total(Range, 15_474_000, 15_581_000)
        .note("another process holds the interval at 0.4992 ms, ten sleeps")
        .from(PCT, 'B'),
    sleep_1("Windows 10 22H2", "")
        .total(Range, 15_986_000, 15_993_000)
        .note(
            "another process holds the interval at 0.9994 ms, eight sleeps; the first was 3.52 ms",
        )
        .from(TR_4, 'B'),
    sleep_1("Windows 11 22H2", "")
        .total(Range, 1_495_300, 1_496_800)
        .note("interval 0.5 ms")
        .from(PCT, 'B'),
    sleep_1("Windows 11", "")
        .total(Range, 15_616_100, 15_624_500)
        .note("interval 15.625 ms")
        .from(PCT, 'B'),
    sleep_1("Windows 11", "")
        .total(Mean, 15_620_000, 15_620_000)
        .note("own request for 0.5 ms, window minimised")
        .from(PCT, 'B'),
    high_resolution("", MS, 1_551_000)
        .note("standard deviation 0.0037 ms")
        .from(HAUK_17, 'B'),
    high_resolution("", 10 * MS, 10_334_000)
        .note("standard deviation 0.0199 ms")
        .from(HAUK_17, 'B'),
    high_resolution("", 100 * MS, 100_099_000)
        .note("standard deviation 0.2045 ms")
        .from(HAUK_17, 'B'),
    high_resolution("Ryzen 5800X", 1_000, 446_700)
        .note("2.3 to 725.8 us in all")
        .from(SPIN_22, 'B'),
    high_resolution("Ryzen 5800X", MS, 1_775_000)
        .note("1.502 to 2.012 ms in all")
        .from(SPIN_22, 'B'),
    high_resolution("Ryzen 5800X", 1_000, 14_900_000)
        .at(LoadedSleeps(1_000))
        .total(Mean, 14_900_000, 14_900_000)
        .note("16 threads of full load; worst 46.9 ms in all")
        .from(SPIN_22, 'B'),
    high_resolution("Ryzen 5800X", MS, 16_000_000)
        .at(LoadedSleeps(MS))
        .total(Mean, 16_000_000, 16_000_000)
        .note("16 threads of full load; 2.0 to 30.1 ms in all")
        .from(SPIN_22, 'B'),
    plain("Windows", MS, 14_960_000).from(HAUK_17, 'B'),
    plain("Windows", 10 * MS, 14_970_000).from(HAUK_17, 'B'),
    plain("Windows", 100 * MS, 108_300_000).from(HAUK_17, 'B'),
    plain("Windows 10", 1_000, 15_200_000)
        .note("in 2019; 0.21 to 28.3 ms in all")
        .from(SRT_637, 'B'),
    plain("Windows 10", MS, 16_000_000)
        .note("in 2019; from 0.98 ms in all")
        .from(SRT_637, 'B'),
    row("Windows", "", "Sleep(0)")
        .same_as(&["yield"])
        .at(Yields)
        .total(Range, 2_000, 3_000)
        .note("when nobody else wants the CPU; up to a quantum or more otherwise")
        .from(SCHED, 'B'),
    row("Windows", "", "Sleep(0)")
        .same_as(&["yield"])
        .at(Yields)
        .total(Range, 1_000, 3_000)
        .from(STACK_OVERFLOW, 'B'),
];

const fn sleep_1(os: &'static str, machine: &'static str) -> Published {
    row(os, machine, "Sleep(1)")
        .same_as(&["Sleep", "Sleep(1)"])
        .at(Sleeps(MS))
}

/// The mean of a waitable timer of high resolution.
const fn high_resolution(machine: &'static str, asked_ns: u64, total_ns: u64) -> Published {
    row("Windows", machine, "high-resolution waitable timer")
        .same_as(&["high-resolution-timer"])
        .at(Sleeps(asked_ns))
        .total(Mean, total_ns, total_ns)
}

/// The mean of a waitable timer without that flag.
const fn plain(os: &'static str, asked_ns: u64, total_ns: u64) -> Published {
    row(os, "", "plain waitable timer")
        .same_as(&["waitable-timer"])
        .at(Sleeps(asked_ns))
        .total(Mean, total_ns, total_ns)
}
