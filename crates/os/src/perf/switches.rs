//! Switches of own threads: `PERF_RECORD_SWITCH` by `perf_event_open(2)`.
//!
//! Each process may ask for those of its children where `kernel.perf_event_paranoid` is 2 or less. They tell when a thread
//! left its CPU, got one again and ended, and not what ran meanwhile.

use std::os::fd::OwnedFd;

use punctual_trace::{Event, Left, What};

use super::ring::{Record, Ring};
use super::{Attributes, MoreFiles, abi, online_cpus, open, refused, wait_for};
use crate::Error;

/// An open source of switches.
#[derive(Debug)]
pub struct Switches {
    rings: Vec<Ring>,
    /// Keep the events on.
    _events: Vec<OwnedFd>,
}

impl Switches {
    /// Turns on those of the programs that the calling thread starts from now on, and of their children.
    ///
    /// # Errors
    /// Permission: the system lets no process have them. Unsupported: the kernel lacks them.
    pub fn open() -> Result<Self, Error> {
        let attributes = Attributes {
            kind: abi::TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: abi::SW_DUMMY,
            sample_type: abi::SAMPLE_TID | abi::SAMPLE_TIME,
            flags: abi::DISABLED
                | abi::INHERIT
                | abi::EXCLUDE_KERNEL
                | abi::EXCLUDE_HV
                | abi::ENABLE_ON_EXEC
                | abi::TASK
                | abi::WATERMARK
                | abi::SAMPLE_ID_ALL
                | abi::USE_CLOCKID
                | abi::CONTEXT_SWITCH,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        let _room = MoreFiles::new();
        let (mut rings, mut events) = (Vec::new(), Vec::new());
        for cpu in online_cpus()? {
            let event = open(&attributes, true, cpu).map_err(|why| refused(why, "switches"))?;
            rings.push(Ring::map(cpu, &event)?);
            events.push(event);
        }
        Ok(Self {
            rings,
            _events: events,
        })
    }

    /// Waits until a ring buffer is half full, or for `ms`.
    pub fn wait(&self, ms: u16) {
        wait_for(&self.rings, ms);
    }

    /// Gives the switches so far to `take`: of each CPU in the order of time.
    pub fn read(&mut self, mut take: impl FnMut(Event)) {
        for ring in &mut self.rings {
            let cpu = ring.cpu();
            ring.read(|record| {
                let (time, thread, what) = match record {
                    Record::Switch {
                        time,
                        thread,
                        is_out,
                        is_preempted,
                    } => match (is_out, is_preempted) {
                        (false, _) => (time, thread, What::On),
                        (true, true) => (time, thread, What::Off { left: Left::Ready }),
                        (true, false) => (time, thread, What::Off { left: Left::Asleep }),
                    },
                    Record::Exit { time, thread } => (time, thread, What::End),
                    Record::Lost { time, n } => (time, 0, What::Lost { n }),
                    Record::Sample { .. } => return,
                };
                take(Event {
                    time,
                    cpu,
                    thread,
                    what,
                });
            });
        }
    }
}
