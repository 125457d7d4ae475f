//! The system's counters of one thread, read so cheaply that a thread can read them after each of
//! its waits.
//!
//! [`thread`](crate::thread) has the same counts one by one, and opens and
//! closes a file for some of them; here that is done once.

use crate::thread::Switches;
use punctual_core::Nanos;
#[cfg(any(target_os = "linux", target_os = "android"))]
use std::fs::File;
use std::marker::PhantomData;

/// Reads the counts of the thread that made it, and cannot leave that thread.
///
/// # Accuracy
/// A reading takes two system calls on Linux and allocates nothing: 1.0 us on
/// an AMD EPYC under KVM (Linux 6.18), where `thread::queued` alone takes 6.4 us.
#[derive(Debug)]
pub struct Meter {
    /// Open, it stays with the thread that opened it (proc(5), `thread-self`).
    #[cfg(any(target_os = "linux", target_os = "android"))]
    schedstat: Option<File>,
    thread: PhantomData<*const ()>,
}

/// The counts of one thread since it started; only differences within one thread have a meaning. A
/// count that the system lacks is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How long it could run but waited for a CPU.
    pub queued: Option<Nanos>,
    /// The CPU time it used, to the microsecond.
    pub cpu: Option<Nanos>,
    /// How often it left its CPU.
    pub switches: Option<Switches>,
    /// How often a page it touched was not there.
    pub faults: Option<Faults>,
}

/// Page faults of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Faults that were served from memory.
    pub minor: u64,
    /// Faults that had to read from a disk.
    pub major: u64,
}

impl Meter {
    /// A meter of the calling thread.
    pub fn of_this_thread() -> Self {
        Self {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            thread: PhantomData,
        }
    }

    /// The counts by now. All are `None` where the system has no such counts for each thread.
    ///
    /// # Platform notes
    /// Linux: `/proc/thread-self/schedstat`, if the kernel keeps it, and
    /// `getrusage(RUSAGE_THREAD)`.
    pub fn read(&self) -> Counts {
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        return Counts::default();
        #[cfg(any(target_os = "linux", target_os = "android"))]
        self.read_linux()
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl Meter {
    fn read_linux(&self) -> Counts {
        let usage = crate::usage::rusage_of_thread();
        Counts {
            queued: self.queued(),
            cpu: usage.map(|u| crate::usage::Usage::from(&u).cpu()),
            switches: usage.map(|u| Switches {
                voluntary: u.ru_nvcsw as u64,
                involuntary: u.ru_nivcsw as u64,
            }),
            faults: usage.map(|u| Faults {
                minor: u.ru_minflt as u64,
                major: u.ru_majflt as u64,
            }),
        }
    }

    /// Reading at the beginning of the file makes the kernel write it anew.
    fn queued(&self) -> Option<Nanos> {
        let mut text = [0; 96];
        let schedstat = self.schedstat.as_ref()?;
        let read = std::os::unix::fs::FileExt::read_at(schedstat, &mut text, 0).ok()?;
        queued_in(text.get(..read)?)
    }
}

/// The second number of schedstat (Linux,
/// Documentation/scheduler/sched-stats.rst).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn queued_in(schedstat: &[u8]) -> Option<Nanos> {
    let mut numbers = schedstat.split(u8::is_ascii_whitespace);
    let ns = std::str::from_utf8(numbers.nth(1)?).ok()?.parse().ok()?;
    Some(Nanos::new(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Liveness, not accuracy: counts never go back, and a thread that computes
    /// is charged sooner or later where CPU time is counted.
    #[test]
    fn counts_advance_or_are_absent() {
        let meter = Meter::of_this_thread();
        let first = meter.read();
        while meter.read().cpu.is_some_and(|cpu| Some(cpu) == first.cpu) {
            std::hint::spin_loop();
        }
        let second = meter.read();
        assert!(second.queued >= first.queued && second.cpu >= first.cpu);
        let switches = |counts: Counts| counts.switches.map(|s| (s.voluntary, s.involuntary));
        assert!(switches(second) >= switches(first));
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn schedstat_is_read_as_its_manual_says() {
        assert_eq!(queued_in(b"12345 678 9\n"), Some(Nanos::new(678)));
        assert_eq!(queued_in(b"12345"), None);
        assert_eq!(queued_in(b""), None);
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn the_counts_are_those_of_the_calls_for_one() {
        let meter = Meter::of_this_thread();
        let before = meter.read().switches.unwrap().voluntary;
        std::thread::sleep(std::time::Duration::from_micros(1));
        let after = meter.read();
        assert!(after.switches.unwrap().voluntary > before);
        assert_eq!(after.queued.is_some(), crate::thread::queued().is_some());
    }
}
