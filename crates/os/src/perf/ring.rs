//! The ring buffer of a CPU, into which the kernel writes events.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

/// The length of a ring buffer: at 100,000 events a second of 120 bytes on one CPU, a third of a
/// second. Where the system does not let this process lock so much memory, it is shorter.
const LENGTHS: [usize; 4] = [4 << 20, 1 << 20, 256 << 10, 64 << 10];

/// Something that the kernel wrote.
pub(super) enum Record {
    /// An event, with the process of the thread that the CPU ran.
    Sample {
        time: u64,
        process: u32,
        raw: Vec<u8>,
    },
    /// A number of events were lost.
    Lost { time: u64, n: u64 },
    /// A thread ended.
    Exit { time: u64, thread: u32 },
    /// A thread left the CPU or got it.
    Switch {
        time: u64,
        thread: u32,
        is_out: bool,
        /// Whether the thread that left could go on.
        is_preempted: bool,
    },
}

/// A mapped ring buffer.
#[derive(Debug)]
pub(super) struct Ring {
    cpu: u32,
    file: RawFd,
    base: *mut u8,
    page: usize,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone and is valid on every thread.
unsafe impl Send for Ring {}

/// Offsets in the first page, `struct perf_event_mmap_page`, and types of records
/// (`include/uapi/linux/perf_event.h`).
const HEAD: usize = 1024;
const TAIL: usize = 1032;
const LOST: u32 = 2;
const EXIT: u32 = 4;
const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;

impl Ring {
    /// Maps the ring buffer of an event, which must live as long.
    pub(super) fn map(cpu: u32, event: &OwnedFd) -> Result<Self, Error> {
        // SAFETY: the call has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let file = event.as_raw_fd();
        let mapped = LENGTHS.iter().find_map(|&length| {
            // SAFETY: a new mapping of an open event, where the system wants it.
            let base = unsafe {
                let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
                libc::mmap(std::ptr::null_mut(), page + length, access, flags, file, 0)
            };
            (base != libc::MAP_FAILED).then_some((base, length))
        });
        let Some((base, length)) = mapped else {
            return Err(Error::last_os("cannot map a ring buffer of events"));
        };
        Ok(Self {
            cpu,
            file,
            base: base.cast(),
            page,
            length,
        })
    }

    pub(super) const fn cpu(&self) -> u32 {
        self.cpu
    }

    pub(super) const fn file(&self) -> RawFd {
        self.file
    }

    /// Gives each record since the last time to `take`.
    pub(super) fn read(&mut self, mut take: impl FnMut(Record)) {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let mut at = self.position(TAIL).load(Ordering::Relaxed);
        while at < head {
            let header = self.bytes(at, 8);
            let length = u64::from(u16::from_ne_bytes([header[6], header[7]]));
            // The kernel writes whole records only.
            if length < 8 || at + length > head {
                at = head;
                break;
            }
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let misc = u16::from_ne_bytes([header[4], header[5]]);
            if let Some(record) = parse(kind, misc, &self.bytes(at, length as usize)[8..]) {
                take(record);
            }
            at += length;
        }
        self.position(TAIL).store(at, Ordering::Release);
    }

    /// One of the positions that reader and kernel share.
    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped as long as this value lives, both positions are aligned,
        // and the kernel reads and writes them as wholes.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
    }

    /// A copy of bytes, which may go round the end.
    fn bytes(&self, at: u64, n: usize) -> Vec<u8> {
        let from = (at % self.length as u64) as usize;
        let first = n.min(self.length - from);
        let mut bytes = Vec::with_capacity(n);
        for (offset, n) in [(from, first), (0, n - first)] {
            // SAFETY: the range lies in the mapping, and the kernel does not write there until the
            // tail has passed it.
            let part = unsafe { std::slice::from_raw_parts(self.base.add(self.page + offset), n) };
            bytes.extend_from_slice(part);
        }
        bytes
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is that of `map`, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.page + self.length) };
    }
}

/// A record without its header, as `sample_type` and `sample_id_all` ask for it.
fn parse(kind: u32, misc: u16, bytes: &[u8]) -> Option<Record> {
    let word = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    match kind {
        SAMPLE => Some(Record::Sample {
            process: half(0)?,
            time: word(8)?,
            raw: bytes.get(20..20 + half(16)? as usize)?.to_vec(),
        }),
        // The id of the event, the number, then the thread and the time.
        LOST => Some(Record::Lost {
            n: word(8)?,
            time: word(24)?,
        }),
        // Processes and threads, of each also the parent, then the time.
        EXIT => Some(Record::Exit {
            thread: half(8)?,
            time: word(16)?,
        }),
        SWITCH => Some(Record::Switch {
            thread: half(4)?,
            time: word(8)?,
            is_out: misc & MISC_SWITCH_OUT != 0,
            is_preempted: misc & MISC_SWITCH_OUT_PREEMPT != 0,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_parsed_and_short_ones_are_none() {
        let mut sample = Vec::new();
        sample.extend(7_u32.to_ne_bytes());
        sample.extend(8_u32.to_ne_bytes());
        sample.extend(99_u64.to_ne_bytes());
        sample.extend(4_u32.to_ne_bytes());
        sample.extend([1, 2, 3, 4]);
        match parse(SAMPLE, 0, &sample) {
            Some(Record::Sample { time, process, raw }) => {
                assert_eq!((time, process, raw), (99, 7, vec![1, 2, 3, 4]));
            }
            _ => panic!("it is a sample"),
        }
        for n in 0..sample.len() {
            assert!(parse(SAMPLE, 0, &sample[..n]).is_none());
        }
        let lost: Vec<u8> = [1_u64, 12, 0, 77]
            .into_iter()
            .flat_map(u64::to_ne_bytes)
            .collect();
        assert!(matches!(
            parse(LOST, 0, &lost),
            Some(Record::Lost { time: 77, n: 12 })
        ));
        assert!(parse(1, 0, &lost).is_none());
    }

    #[test]
    fn switches_say_which_way_they_go() {
        let mut switch = Vec::new();
        switch.extend(7_u32.to_ne_bytes());
        switch.extend(8_u32.to_ne_bytes());
        switch.extend(99_u64.to_ne_bytes());
        let parsed = |misc: u16| match parse(SWITCH, misc, &switch) {
            Some(Record::Switch {
                time: 99,
                thread: 8,
                is_out,
                is_preempted,
            }) => (is_out, is_preempted),
            _ => panic!("it is a switch"),
        };
        assert_eq!(parsed(0x2000), (true, false));
        assert_eq!(parsed(0x6000), (true, true));
        assert_eq!(parsed(0), (false, false));
        assert!(parse(SWITCH, 0, &switch[..15]).is_none());
    }

    #[test]
    fn a_thread_that_ended_is_named() {
        let words = [7_u32, 1, 8, 7].into_iter().flat_map(u32::to_ne_bytes);
        let exit: Vec<u8> = words.chain(99_u64.to_ne_bytes()).collect();
        assert!(matches!(
            parse(EXIT, 0, &exit),
            Some(Record::Exit {
                time: 99,
                thread: 8
            })
        ));
        assert!(parse(EXIT, 0, &exit[..20]).is_none());
    }
}
