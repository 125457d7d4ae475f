//! Events of the kernel: tracepoints of the timers, the scheduler and the system calls, by
//! `perf_event_open(2)`.
//!
//! Each CPU has one ring buffer of a fixed size, into which the kernel writes all events of that CPU.
//! Nothing stays on when the process ends, however it ends: the kernel closes its descriptors.

mod ring;
mod switches;
mod tracefs;
mod tracepoint;

use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use punctual_trace::{Event, Merge, Offsets, What};

use crate::Error;
use ring::{Record, Ring};
pub use switches::Switches;
use tracefs::TraceFs;
use tracepoint::{Context, Tracepoint};

/// The threads whose system calls are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Threads of the programs that the calling thread starts from now on, and of their children.
    Children,
    /// Threads of the process with this number.
    Process(u32),
    /// All threads, except those of this process.
    All,
}

/// An event is in its buffer at most so long after its time, unless its CPU stood still: nanoseconds.
const LATEST: u64 = 10_000_000;

/// An open source of events.
#[derive(Debug)]
pub struct Perf {
    scope: Scope,
    rings: Vec<Ring>,
    /// Keep the events on.
    _events: Vec<OwnedFd>,
    tracepoints: Vec<Tracepoint>,
    context: Context,
    merge: Merge,
    clocks: Option<Offsets>,
    /// Threads of which calls were taken: only their exits are.
    in_calls: HashSet<u32>,
}

impl Perf {
    /// Turns the events on; those of children are on once they run their program.
    ///
    /// # Errors
    /// Permission: this process may not trace. Unsupported: the kernel lacks these events.
    pub fn open(scope: Scope) -> Result<Self, Error> {
        let files = TraceFs::open()?;
        let context = Context::read(tick_ns());
        let tracepoints = tracepoint::all(&files)?;
        let cpus = online_cpus()?;
        let _room = MoreFiles::new();
        let mut rings = Vec::new();
        let mut events = Vec::new();
        for cpu in cpus {
            let mut of_cpu: Option<i32> = None;
            for point in &tracepoints {
                let event = open_event(point, scope, cpu)?;
                if let Some(filter) = &point.filter {
                    set_filter(&event, filter)?;
                }
                match of_cpu {
                    None => {
                        rings.push(Ring::map(cpu, &event)?);
                        of_cpu = Some(event.as_raw_fd());
                    }
                    Some(ring) => set_output(&event, ring)?,
                }
                events.push(event);
            }
        }
        let mut perf = Self {
            scope,
            rings,
            _events: events,
            tracepoints,
            context,
            merge: Merge::default(),
            clocks: None,
            in_calls: HashSet::new(),
        };
        // Waits of the first moments have deadlines on other clocks too.
        perf.note_clocks(monotonic_ns());
        Ok(perf)
    }

    /// The length of a tick of the timer wheel, in nanoseconds.
    pub fn tick_ns(&self) -> Option<u64> {
        self.context.tick_ns
    }

    /// Waits until a ring buffer is half full, or for `ms`.
    pub fn wait(&self, ms: u16) {
        wait_for(&self.rings, ms);
    }

    /// Gives the events so far to `take`, in the order of time; of the last instants, of which not
    /// all may be there, only if it is the `last` time.
    pub fn read(&mut self, last: bool, mut take: impl FnMut(&Event)) {
        let now = monotonic_ns();
        self.note_clocks(now);
        let mut records = Vec::new();
        for ring in &mut self.rings {
            let cpu = ring.cpu();
            ring.read(|record| records.push((cpu, record)));
        }
        for (cpu, record) in records {
            self.decode(cpu, &record);
        }
        let until = if last {
            u64::MAX
        } else {
            now.saturating_sub(LATEST)
        };
        self.merge.take(until, |event| take(&event));
    }

    /// Notes how far other clocks are ahead now, if that has changed.
    fn note_clocks(&mut self, now: u64) {
        let clocks = offsets(now);
        if self.clocks != clocks {
            self.clocks = clocks;
            self.merge.push(Event {
                time: now,
                cpu: 0,
                thread: 0,
                what: What::Clocks(clocks.unwrap_or_default()),
            });
        }
    }

    fn decode(&mut self, cpu: u32, record: &Record) {
        let event = match record {
            Record::Lost { time, n } => Some(Event {
                time: *time,
                cpu,
                thread: 0,
                what: What::Lost { n: *n },
            }),
            // Tracepoints tell of switches.
            Record::Switch { .. } | Record::Exit { .. } => None,
            Record::Sample { time, process, raw } => {
                let number = tracepoint::number(raw);
                let mut points = self.tracepoints.iter();
                let point = points.find(|point| Some(point.number) == number);
                point
                    .and_then(|point| point.event(raw, *process, &self.context))
                    .map(|(thread, what)| Event {
                        time: *time,
                        cpu,
                        thread,
                        what,
                    })
            }
        };
        if let Some(event) = event.filter(|event| self.takes(event)) {
            self.merge.push(event);
        }
    }

    /// Whether an event of a system call is of a traced thread; all others are taken.
    fn takes(&mut self, event: &Event) -> bool {
        match event.what {
            What::Enter { process, .. } => {
                let takes = match self.scope {
                    Scope::Children => true,
                    Scope::Process(of) => process == of,
                    Scope::All => process != std::process::id(),
                };
                if takes && self.scope != Scope::Children {
                    self.in_calls.insert(event.thread);
                }
                takes
            }
            What::Exit { .. } | What::Arm { .. } | What::ArmWheel { .. } => {
                self.scope == Scope::Children || self.in_calls.contains(&event.thread)
            }
            What::End => {
                self.in_calls.remove(&event.thread);
                true
            }
            _ => true,
        }
    }
}

/// Waits until a ring buffer is half full, or for `ms`.
fn wait_for(rings: &[Ring], ms: u16) {
    let poll = |ring: &Ring| libc::pollfd {
        fd: ring.file(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut files: Vec<_> = rings.iter().map(poll).collect();
    // SAFETY: the pointer and the number are those of a vector that lives during the call. A
    // failure is as good as the end of the time.
    unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, ms.into()) };
}

/// The part of `struct perf_event_attr` up to version 5 (`include/uapi/linux/perf_event.h`).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    /// Zero wakes the reader once a ring is half full.
    wakeup_watermark: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// Values from `include/uapi/linux/perf_event.h`.
mod abi {
    pub(super) const TYPE_SOFTWARE: u32 = 1;
    pub(super) const TYPE_TRACEPOINT: u32 = 2;
    pub(super) const SW_DUMMY: u64 = 9;
    pub(super) const SAMPLE_TID: u64 = 1 << 1;
    pub(super) const SAMPLE_TIME: u64 = 1 << 2;
    pub(super) const SAMPLE_RAW: u64 = 1 << 10;
    pub(super) const DISABLED: u64 = 1;
    pub(super) const INHERIT: u64 = 1 << 1;
    pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(super) const EXCLUDE_HV: u64 = 1 << 6;
    pub(super) const ENABLE_ON_EXEC: u64 = 1 << 12;
    pub(super) const TASK: u64 = 1 << 13;
    pub(super) const WATERMARK: u64 = 1 << 14;
    pub(super) const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub(super) const USE_CLOCKID: u64 = 1 << 25;
    pub(super) const CONTEXT_SWITCH: u64 = 1 << 26;
    pub(super) const FLAG_FD_CLOEXEC: u64 = 1 << 3;
    pub(super) const IOC_SET_OUTPUT: u64 = 0x2405;
    pub(super) const IOC_SET_FILTER: u64 = 0x4008_2406;
}

fn open_event(point: &Tracepoint, scope: Scope, cpu: u32) -> Result<OwnedFd, Error> {
    let of_children = scope == Scope::Children && point.is_of_thread;
    let mut flags = abi::WATERMARK | abi::SAMPLE_ID_ALL | abi::USE_CLOCKID;
    if of_children {
        flags |= abi::DISABLED | abi::INHERIT | abi::ENABLE_ON_EXEC;
    }
    let attributes = Attributes {
        kind: abi::TYPE_TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: point.number.into(),
        sample_period: 1,
        sample_type: abi::SAMPLE_TID | abi::SAMPLE_TIME | abi::SAMPLE_RAW,
        flags,
        clockid: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    let file = open(&attributes, of_children, cpu);
    file.map_err(|why| refused(why, point.name))
}

/// Opens an event on a CPU: of the calling thread, or of all.
fn open(attributes: &Attributes, is_own: bool, cpu: u32) -> io::Result<OwnedFd> {
    let thread: libc::pid_t = if is_own { 0 } else { -1 };
    // SAFETY: the attributes live during the call and say how large they are.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes as *const Attributes,
            thread,
            cpu as libc::c_int,
            -1 as libc::c_int,
            abi::FLAG_FD_CLOEXEC,
        )
    };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(file as i32) })
}

/// Why an event could not be opened, and what would help.
fn refused(why: io::Error, event: &str) -> Error {
    let hint = match why.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            ": that needs root, CAP_PERFMON, or kernel.perf_event_paranoid=-1"
        }
        _ => "",
    };
    Error::io(
        format_args!("cannot trace {event} by perf_event_open{hint}"),
        &why,
    )
}

fn set_output(event: &OwnedFd, ring: i32) -> Result<(), Error> {
    // SAFETY: both are open events, of the same CPU and clock.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), abi::IOC_SET_OUTPUT as _, ring) };
    match done {
        0 => Ok(()),
        _ => Err(Error::last_os("cannot share a ring buffer of events")),
    }
}

fn set_filter(event: &OwnedFd, filter: &str) -> Result<(), Error> {
    let text = CString::new(filter).map_err(|_| Error::range("a filter has a zero in it"))?;
    // SAFETY: the text ends in a zero and lives during the call.
    let done = unsafe { libc::ioctl(event.as_raw_fd(), abi::IOC_SET_FILTER as _, text.as_ptr()) };
    match done {
        0 => Ok(()),
        _ => Err(Error::last_os("cannot filter events in the kernel")),
    }
}

/// Each event needs a descriptor for each CPU: until dropped, this process may have as many as the
/// system allows it. Programs that it starts later keep the usual limit.
struct MoreFiles(Option<libc::rlimit>);

impl MoreFiles {
    fn new() -> Self {
        let mut usual = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the place is valid during the calls; a refusal changes nothing.
        let is_raised = unsafe {
            libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut usual) == 0 && {
                let all = libc::rlimit {
                    rlim_cur: usual.rlim_max,
                    ..usual
                };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const all) == 0
            }
        };
        Self(is_raised.then_some(usual))
    }
}

impl Drop for MoreFiles {
    fn drop(&mut self) {
        if let Some(usual) = &self.0 {
            // SAFETY: the limit is one that was in force.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, usual) };
        }
    }
}

/// The CPUs that are on.
fn online_cpus() -> Result<Vec<u32>, Error> {
    const FILE: &str = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(FILE)
        .map_err(|why| Error::io(format_args!("cannot read {FILE}"), &why))?;
    ranges(text.trim()).ok_or_else(|| Error::unsupported(format!("{FILE} lists no CPUs")))
}

/// Numbers in a list such as `0-3,8`.
fn ranges(list: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for range in list.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        all.extend(from.parse::<u32>().ok()?..=to.parse().ok()?);
    }
    Some(all)
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid during the call.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (done == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// How far other clocks are ahead, to a microsecond or so. Small differences from one reading to the
/// next are those of the readings.
fn offsets(now: u64) -> Option<Offsets> {
    let ahead = |clock| {
        let ns = clock_ns(clock)?;
        let ns = i64::try_from(ns).ok()? - i64::try_from(monotonic_ns()).ok()?;
        Some((ns + 500) / 1_000 * 1_000)
    };
    (now > 0).then(|| Offsets {
        realtime: ahead(libc::CLOCK_REALTIME),
        boottime: ahead(libc::CLOCK_BOOTTIME),
        tai: ahead(libc::CLOCK_TAI),
    })
}

/// The length of a tick of the timer wheel, in nanoseconds: the coarse clock moves with it.
pub fn tick_ns() -> Option<u64> {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid during the call.
    let done = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    (done == 0 && tick.tv_sec == 0 && tick.tv_nsec > 0).then_some(tick.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(ranges("0-1,4"), Some(vec![0, 1, 4]));
        assert_eq!(ranges("7"), Some(vec![7]));
        assert_eq!(ranges(""), None);
    }
}
