//! `/proc/thread-self/schedstat`, kept open, and `getrusage`.

use super::{Counts, Faults};
use crate::thread::Switches;
use crate::usage::{Usage, posix};
use punctual_core::Nanos;
use std::fs::File;
use std::os::unix::fs::FileExt;

#[derive(Debug)]
pub(super) struct Meter {
    /// Open, it stays with the thread that opened it (proc(5), `thread-self`).
    schedstat: Option<File>,
}

impl Meter {
    pub(super) fn of_this_thread() -> Self {
        Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
        }
    }

    pub(super) fn read(&self) -> Counts {
        let usage = posix::of_thread();
        Counts {
            queued: self.queued(),
            cpu: usage.map(|u| Usage::from(&u).cpu()),
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
        let read = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        queued_in(text.get(..read)?)
    }
}

/// The second number of schedstat (Linux,
/// Documentation/scheduler/sched-stats.rst).
fn queued_in(schedstat: &[u8]) -> Option<Nanos> {
    let mut numbers = schedstat.split(u8::is_ascii_whitespace);
    let ns = std::str::from_utf8(numbers.nth(1)?).ok()?.parse().ok()?;
    Some(Nanos::new(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_is_read_as_its_manual_says() {
        assert_eq!(queued_in(b"12345 678 9\n"), Some(Nanos::new(678)));
        assert_eq!(queued_in(b"12345"), None);
        assert_eq!(queued_in(b""), None);
    }

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
