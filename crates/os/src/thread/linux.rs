//! CPU affinity masks of any size, and the switches of one thread.

use super::{Switches, no_such_cpu};
use crate::{Error, usage};
use libc::c_ulong;
use punctual_core::Nanos;
use punctual_program::setting::Policy;
use std::io;

pub(super) fn pin(cpu: usize) -> Result<(), Error> {
    if cpu >= MOST_CPUS {
        return Err(no_such_cpu(cpu, &allowed_cpus()));
    }
    let mut mask: Vec<c_ulong> = vec![0; cpu / WORD + 1];
    mask[cpu / WORD] = 1 << (cpu % WORD);
    // SAFETY: the mask is as long as stated; 0 names the calling thread.
    let answer = unsafe { libc::sched_setaffinity(0, size_of_val(&*mask), mask.as_ptr().cast()) };
    if answer == 0 {
        return Ok(());
    }
    let cause = io::Error::last_os_error();
    // The kernel says EINVAL when nothing of the mask is there to run on.
    if cause.raw_os_error() == Some(libc::EINVAL) {
        return Err(no_such_cpu(cpu, &allowed_cpus()));
    }
    Err(Error::io(format_args!("pinning to CPU {cpu}"), &cause))
}

pub(super) fn allowed_cpus() -> Vec<usize> {
    let mut mask: Vec<c_ulong> = vec![0; 1024 / WORD];
    loop {
        let bytes = size_of_val(&*mask);
        // SAFETY: the mask is as long as stated; 0 names the calling thread.
        let answer = unsafe { libc::sched_getaffinity(0, bytes, mask.as_mut_ptr().cast()) };
        if answer == 0 {
            break;
        }
        // The kernel refuses a mask that is shorter than its own.
        if mask.len() * WORD >= MOST_CPUS {
            return vec![0];
        }
        mask.resize(mask.len() * 2, 0);
    }
    (0..mask.len() * WORD)
        .filter(|cpu| mask[cpu / WORD] >> (cpu % WORD) & 1 == 1)
        .collect()
}

pub(super) fn switches() -> Option<Switches> {
    usage::rusage_of_thread().map(|usage| Switches {
        voluntary: usage.ru_nvcsw as u64,
        involuntary: usage.ru_nivcsw as u64,
    })
}

/// The second number of `/proc/thread-self/schedstat` (Linux,
/// Documentation/scheduler/sched-stats.rst).
pub(super) fn queued() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Nanos::new(ns))
}

/// The slice is `sched_runtime` of `sched_getattr`; before Linux 6.12 that is zero for an ordinary
/// thread.
pub(super) fn slice() -> Option<Nanos> {
    let attributes = attributes()?;
    let is_ordinary = attributes.policy == SCHED_OTHER && attributes.runtime > 0;
    is_ordinary.then(|| Nanos::new(attributes.runtime))
}

pub(super) fn set_slice(slice: Nanos) -> Result<(), Error> {
    let unsupported =
        || Error::unsupported("slices of threads take Linux 6.12 and an ordinary policy");
    self::slice().ok_or_else(unsupported)?;
    let mut attributes = attributes().ok_or_else(unsupported)?;
    attributes.runtime = slice.as_ns();
    // SAFETY: the kernel reads as many bytes as `size` says; 0 names the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
    match answer {
        0 => Ok(()),
        _ => Err(Error::last_os("setting the slice of this thread")),
    }
}

pub(super) fn set_nice(nice: i8) -> Result<(), Error> {
    // SAFETY: takes numbers; 0 names the calling thread.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice.into()) } {
        0 => Ok(()),
        _ => Err(Error::last_os("setting the nice value of this thread")),
    }
}

/// `linux/sched.h`; libc does not name it for Android.
const SCHED_OTHER: u32 = 0;

/// A thread with a reservation creates no others, unless they are ordinary ones.
const RESET_ON_FORK: u64 = 1;

pub(super) fn set_policy(policy: Policy) -> Result<(), Error> {
    let number = |policy: libc::c_int| policy.unsigned_abs();
    let mut wanted = Attributes {
        size: size_of::<Attributes>() as u32,
        // SAFETY: takes numbers; 0 names the calling thread, for which the call cannot fail.
        nice: unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) },
        ..Attributes::default()
    };
    let (policy, what) = match policy {
        Policy::Other => (SCHED_OTHER, "SCHED_OTHER"),
        Policy::Batch => (number(libc::SCHED_BATCH), "SCHED_BATCH"),
        Policy::Idle => (number(libc::SCHED_IDLE), "SCHED_IDLE"),
        Policy::Fifo(at) => {
            wanted.priority = at.into();
            (number(libc::SCHED_FIFO), "SCHED_FIFO")
        }
        Policy::RoundRobin(at) => {
            wanted.priority = at.into();
            (number(libc::SCHED_RR), "SCHED_RR")
        }
        Policy::Deadline(reserved) => {
            wanted.flags = RESET_ON_FORK;
            wanted.runtime = reserved.runtime.as_ns();
            wanted.deadline = reserved.deadline.as_ns();
            wanted.period = reserved.period.as_ns();
            (number(libc::SCHED_DEADLINE), "SCHED_DEADLINE")
        }
    };
    wanted.policy = policy;
    // SAFETY: the kernel reads as many bytes as `size` says; 0 names the calling thread.
    if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &wanted, 0) } == 0 {
        return Ok(());
    }
    let cause = io::Error::last_os_error();
    let doing = format!("setting the policy {what}");
    Err(match cause.raw_os_error() {
        // Of reservations: all together would be more than the kernel grants, or more than a CPU.
        Some(libc::EBUSY) => Error::range(format!(
            "{doing}: the reservations of all threads would be more than the kernel grants"
        )),
        _ => Error::io(doing, &cause),
    })
}

/// The first version of `struct sched_attr` (sched_setattr(2)); libc does not name it for Android.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

fn attributes() -> Option<Attributes> {
    let mut attributes = Attributes::default();
    let size = size_of::<Attributes>();
    // SAFETY: the kernel writes `size` bytes at most; 0 names the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut attributes, size, 0) };
    (answer == 0).then_some(attributes)
}

/// The bits in a word of a mask.
const WORD: usize = c_ulong::BITS as usize;

/// Twice what any Linux is built for (`CONFIG_NR_CPUS` up to 8192).
const MOST_CPUS: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    /// Of any CPU that a word of the mask can hold, and of the next words.
    #[test]
    fn a_thread_is_pinned_to_the_cpu_that_was_named_or_to_none() {
        std::thread::spawn(|| {
            let all = allowed_cpus();
            for cpu in [0, 31, 32, 63, 64, 99, 127, 4_000] {
                match pin(cpu) {
                    Ok(()) => assert_eq!(allowed_cpus(), [cpu]),
                    Err(error) => {
                        assert!(error.is_range() && !all.contains(&cpu), "{cpu}: {error}");
                    }
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_slice_is_set_and_passed_on_where_there_is_one() {
        std::thread::spawn(|| {
            let Some(usual) = slice() else {
                assert!(set_slice(Nanos::from_ms(3)).unwrap_err().is_unsupported());
                return;
            };
            set_slice(Nanos::from_us(99)).unwrap();
            assert_eq!(slice(), Some(Nanos::from_us(100)));
            set_slice(Nanos::from_ms(3)).unwrap();
            let of_child = std::thread::spawn(slice).join().unwrap();
            assert_eq!([slice(), of_child], [Some(Nanos::from_ms(3)); 2]);
            set_slice(Nanos::ZERO).unwrap();
            assert_eq!(slice(), Some(usual));
        })
        .join()
        .unwrap();
    }

    /// Ordinary policies are open to everyone, others may be refused.
    #[test]
    fn a_policy_is_set_or_refused() {
        std::thread::spawn(|| {
            let policy = || attributes().unwrap().policy;
            set_policy(Policy::Batch).unwrap();
            assert_eq!(policy(), libc::SCHED_BATCH.unsigned_abs());
            match set_policy(Policy::RoundRobin(3)) {
                Ok(()) => assert_eq!(attributes().unwrap().priority, 3),
                Err(error) => assert!(error.is_permission(), "{error}"),
            }
            assert!(set_policy(Policy::Fifo(100)).is_err());
            set_policy(Policy::Other).unwrap();
            assert_eq!((policy(), attributes().unwrap().priority), (SCHED_OTHER, 0));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn yielding_the_cpu_by_blocking_is_counted() {
        let before = switches().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(1));
        assert!(switches().unwrap().voluntary > before.voluntary);
    }
}
