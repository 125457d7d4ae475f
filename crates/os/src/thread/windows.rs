//! CPU time from cycles, and processor groups.

use super::CpuTime;
use crate::scale::Scale;
use crate::{Error, clock, spin, usage};
use punctual_core::Nanos;
use std::ptr;
use std::sync::OnceLock;
use windows_sys::Win32::System::SystemInformation::GROUP_AFFINITY;
use windows_sys::Win32::System::Threading::{
    GetActiveProcessorCount, GetActiveProcessorGroupCount, GetCurrentThread,
    GetThreadGroupAffinity, SetThreadGroupAffinity,
};
use windows_sys::Win32::System::WindowsProgramming::QueryThreadCycleTime;

pub(super) fn cpu_time() -> Option<CpuTime> {
    let ns = match source() {
        Source::Cycles(scale) => scale.to_ns(cycles()?),
        Source::Ticks => ticks_ns()?,
        Source::Nothing => return None,
    };
    Some(CpuTime {
        ns,
        approximate: true,
    })
}

pub(super) fn cpu_time_source() -> &'static str {
    match source() {
        Source::Cycles(_) => "QueryThreadCycleTime, at a measured cycle rate",
        Source::Ticks => "GetThreadTimes, in timer ticks: QueryThreadCycleTime does not count here",
        Source::Nothing => "none: neither QueryThreadCycleTime nor GetThreadTimes counts here",
    }
}

pub(super) fn pin(cpu: usize) -> Result<(), Error> {
    let Some((group, bit)) = locate(cpu, &group_sizes()) else {
        let all: Vec<usize> = (0..group_sizes().iter().sum()).collect();
        return Err(super::no_such_cpu(cpu, &all));
    };
    let affinity = GROUP_AFFINITY {
        Mask: 1 << bit,
        Group: group,
        Reserved: [0; 3],
    };
    // SAFETY: the handle is the pseudo handle of this thread, `affinity` is
    // valid, and the null pointer says that the old one is not wanted.
    let set = unsafe { SetThreadGroupAffinity(GetCurrentThread(), &affinity, ptr::null_mut()) };
    if set == 0 {
        return Err(Error::last_os(format_args!("pinning to CPU {cpu}")));
    }
    Ok(())
}

pub(super) fn allowed_cpus() -> Vec<usize> {
    let mut affinity = GROUP_AFFINITY::default();
    // SAFETY: the pseudo handle of this thread, and a valid place for the answer.
    let told = unsafe { GetThreadGroupAffinity(GetCurrentThread(), &mut affinity) };
    if told == 0 || affinity.Mask == 0 {
        return super::counted_cpus();
    }
    let first: usize = group_sizes().iter().take(affinity.Group.into()).sum();
    (0..usize::BITS as usize)
        .filter(|bit| affinity.Mask >> bit & 1 == 1)
        .map(|bit| first + bit)
        .collect()
}

/// The source of a thread's CPU time.
#[derive(Debug)]
enum Source {
    /// Cycles, with the length of one.
    Cycles(Scale),
    /// `GetThreadTimes`, charged a whole timer tick at a time.
    Ticks,
    Nothing,
}

/// Found out once, by computing for a while and looking which count moves.
fn source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| match cycle_scale() {
        Some(scale) => Source::Cycles(scale),
        None if ticks_advance(THREE_TICKS) => Source::Ticks,
        None => Source::Nothing,
    })
}

/// The cycle rate of a thread that computes. A slice in which the thread lost
/// its CPU shows too low a rate, so the highest of several is taken.
fn cycle_scale() -> Option<Scale> {
    let mut highest = 0;
    for _ in 0..10 {
        let (start, first) = (clock::now(), cycles()?);
        let end = spin::until(start + Nanos::from_us(300));
        let counted = cycles()?.saturating_sub(first);
        let hz = u128::from(counted) * 1_000_000_000 / u128::from(end.since(start).as_ns());
        highest = highest.max(u64::try_from(hz).ok()?);
    }
    // Below a megahertz it is no count of cycles, whatever it is.
    (highest > 1_000_000).then(|| Scale::from_frequency(highest))?
}

/// Three of the longest ticks.
const THREE_TICKS: Nanos = Nanos::from_ms(50);

/// Whether `GetThreadTimes` moves while the thread computes for so long.
fn ticks_advance(length: Nanos) -> bool {
    let Some(first) = ticks_ns() else {
        return false;
    };
    let end = clock::now() + length;
    while clock::now() < end {
        if ticks_ns().is_some_and(|now| now > first) {
            return true;
        }
    }
    false
}

fn cycles() -> Option<u64> {
    let mut cycles = 0;
    // SAFETY: the pseudo handle of this thread, and a valid place for a number.
    let told = unsafe { QueryThreadCycleTime(GetCurrentThread(), &mut cycles) };
    (told != 0).then_some(cycles)
}

/// `GetThreadTimes`.
fn ticks_ns() -> Option<u64> {
    usage::of_thread().map(|usage| usage.cpu().as_ns())
}

/// The number of CPUs in each processor group, which has at most 64.
fn group_sizes() -> Vec<usize> {
    // SAFETY: both calls take and return numbers.
    let size = |group| unsafe { GetActiveProcessorCount(group) } as usize;
    // SAFETY: as above.
    (0..unsafe { GetActiveProcessorGroupCount() })
        .map(size)
        .collect()
}

/// The group of a CPU and its number therein, when CPUs are counted through all
/// groups.
fn locate(cpu: usize, group_sizes: &[usize]) -> Option<(u16, usize)> {
    let mut bit = cpu;
    for (group, size) in (0..).zip(group_sizes) {
        if bit < *size {
            return Some((group, bit));
        }
        bit -= size;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_counted_through_the_groups() {
        assert_eq!(locate(0, &[36, 36]), Some((0, 0)));
        assert_eq!(locate(35, &[36, 36]), Some((0, 35)));
        assert_eq!(locate(36, &[36, 36]), Some((1, 0)));
        assert_eq!(locate(72, &[36, 36]), None);
    }

    #[test]
    fn every_machine_has_a_group() {
        assert!(group_sizes().iter().sum::<usize>() >= 1);
    }

    /// The source that was chosen counts, or it is said that none does.
    #[test]
    fn the_source_is_what_it_says() {
        match source() {
            Source::Cycles(scale) => {
                let first = cycles().unwrap();
                spin::until(clock::now() + Nanos::from_us(300));
                assert!(cycles().unwrap() > first);
                assert!(scale.to_ns(1_000_000) > 0);
            }
            Source::Ticks => {
                // Others may have the CPU for some of them.
                assert!(ticks_advance(THREE_TICKS.times(200)));
                assert!(cpu_time_source().contains("does not count"));
            }
            Source::Nothing => {
                assert_eq!(cpu_time(), None);
                assert!(cpu_time_source().starts_with("none"));
            }
        }
    }
}
