//! The ring buffer of a CPU, into which the kernel writes events.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

/// The length of a ring buffer: at 100,000 events a second of 120 bytes on one CPU, a third of a
/// second. Where the system does not let this process lock so much memory, it is shorter.
const LENGTHS: [usize; 4] = [4 << 20, 1 << 20, 256 << 10, 64 << 10];

/// The kernel wakes the reader once so much is in the ring: a quarter of the longest.
pub(super) const ENOUGH: u32 = 1 << 20;

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
const SAMPLE: u32 = 9;

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
            if let Some(record) = parse(kind, &self.bytes(at, length as usize)[8..]) {
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
fn parse(kind: u32, bytes: &[u8]) -> Option<Record> {
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
        match parse(SAMPLE, &sample) {
            Some(Record::Sample { time, process, raw }) => {
                assert_eq!((time, process, raw), (99, 7, vec![1, 2, 3, 4]));
            }
            _ => panic!("it is a sample"),
        }
        for n in 0..sample.len() {
            assert!(parse(SAMPLE, &sample[..n]).is_none());
        }
        let lost: Vec<u8> = [1_u64, 12, 0, 77]
            .into_iter()
            .flat_map(u64::to_ne_bytes)
            .collect();
        assert!(matches!(
            parse(LOST, &lost),
            Some(Record::Lost { time: 77, n: 12 })
        ));
        assert!(parse(1, &lost).is_none());
    }
}
