//! The tracepoints that are read, and their fields.
//!
//! The kernel lays out fields as it likes and says where in the file `format`: they are found by
//! name.

use punctual_trace::{Call, Left, Name, Timeout, What};

use super::tracefs::TraceFs;
use crate::Error;

/// Facts of the system that events are read with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context {
    pub(super) tick_ns: Option<u64>,
    /// The functions that wake a sleeping thread when a timer of either kind expires; `None` where
    /// the kernel hides its addresses.
    wakes: Option<u64>,
    wakes_of_wheel: Option<u64>,
}

impl Context {
    pub(super) fn read(tick_ns: Option<u64>) -> Self {
        let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let [wakes, wakes_of_wheel] = addresses(&symbols, ["hrtimer_wakeup", "process_timeout"]);
        Self {
            tick_ns,
            wakes,
            wakes_of_wheel,
        }
    }
}

/// The addresses of functions in `/proc/kallsyms`; zero is a hidden one.
fn addresses<const N: usize>(symbols: &str, names: [&str; N]) -> [Option<u64>; N] {
    let mut found = [None; N];
    for line in symbols.lines() {
        let mut words = line.split_ascii_whitespace();
        let (address, Some(name)) = (words.next(), words.nth(1)) else {
            continue;
        };
        if let Some(at) = names.iter().position(|of| *of == name) {
            let address = address.and_then(|hex| u64::from_str_radix(hex, 16).ok());
            found[at] = address.filter(|address| *address != 0);
        }
    }
    found
}

/// A tracepoint.
#[derive(Debug)]
pub(super) struct Tracepoint {
    pub(super) name: &'static str,
    pub(super) number: u16,
    pub(super) is_of_thread: bool,
    pub(super) filter: Option<String>,
    kind: Kind,
    fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Enter,
    Exit,
    Arm,
    ArmWheel,
    Expire,
    Waking,
    Ready,
    Migrate,
    Switch,
    End,
}

/// A field of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

/// Each tracepoint, whether its events are of the traced threads only, and its fields.
const TRACEPOINTS: [(Kind, &str, bool, &[&str]); 11] = [
    (Kind::Enter, "raw_syscalls/sys_enter", true, &["id", "args"]),
    (Kind::Exit, "raw_syscalls/sys_exit", true, &["id", "ret"]),
    (
        Kind::Arm,
        "timer/hrtimer_start",
        true,
        &["hrtimer", "function", "expires", "softexpires", "mode"],
    ),
    (
        Kind::ArmWheel,
        "timer/timer_start",
        true,
        &["timer", "function", "now", "expires", "bucket_expiry"],
    ),
    (
        Kind::Expire,
        "timer/hrtimer_expire_entry",
        false,
        &["hrtimer"],
    ),
    (Kind::Expire, "timer/timer_expire_entry", false, &["timer"]),
    (Kind::Waking, "sched/sched_waking", false, &["pid"]),
    (
        Kind::Ready,
        "sched/sched_wakeup",
        false,
        &["pid", "target_cpu"],
    ),
    (
        Kind::Migrate,
        "sched/sched_migrate_task",
        false,
        &["pid", "dest_cpu"],
    ),
    (
        Kind::Switch,
        "sched/sched_switch",
        false,
        &["prev_state", "next_pid", "next_comm", "next_prio"],
    ),
    (Kind::End, "sched/sched_process_exit", false, &[]),
];

/// Fields that all events have, before their own.
const COMMON: [&str; 2] = ["common_flags", "common_pid"];

/// All tracepoints.
pub(super) fn all(files: &TraceFs) -> Result<Vec<Tracepoint>, Error> {
    let of_calls = filter();
    let point = |(kind, name, is_of_thread, fields): &(Kind, &'static str, bool, &[&str])| {
        let read = |file| {
            let text = files.file(name, file);
            text.map_err(|why| match why.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::unsupported(format!("this kernel does not have the event {name}"))
                }
                _ => Error::io(
                    format_args!("cannot read the event {name} in tracefs"),
                    &why,
                ),
            })
        };
        let unknown = || Error::unsupported(format!("this kernel's event {name} has other fields"));
        let names = COMMON.iter().chain(*fields);
        let format = read("format")?;
        let found: Option<Vec<Field>> = names.map(|field| found(&format, field)).collect();
        let is_of_call = matches!(kind, Kind::Enter | Kind::Exit);
        Ok(Tracepoint {
            name,
            number: read("id")?.trim().parse().map_err(|_| unknown())?,
            is_of_thread: *is_of_thread,
            filter: is_of_call.then(|| of_calls.clone()),
            kind: *kind,
            fields: found.ok_or_else(unknown)?,
        })
    };
    TRACEPOINTS.iter().map(point).collect()
}

/// The field of this name in a file `format`.
fn found(format: &str, name: &str) -> Option<Field> {
    let lines = format
        .lines()
        .filter_map(|line| line.trim().strip_prefix("field:"));
    let mut fields = lines.filter_map(|line| {
        let mut parts = line.split(';').map(str::trim);
        let declared = parts.next()?.rsplit([' ', '*']).next()?;
        let own = declared.split('[').next()?;
        let mut number = |of: &str| parts.next()?.strip_prefix(of)?.parse().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        Some((own, Field { offset, size }))
    });
    fields.find(|(own, _)| *own == name).map(|(_, field)| field)
}

/// The number of the tracepoint of an event: the first field of each (`struct trace_entry`).
pub(super) fn number(raw: &[u8]) -> Option<u16> {
    raw.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

/// Lets the events of calls that wait pass.
fn filter() -> String {
    let calls: Vec<String> = CALLS
        .iter()
        .map(|(number, _)| format!("id=={number}"))
        .collect();
    calls.join("||")
}

impl Tracepoint {
    /// The event, with the thread that its CPU ran; `None` of one that does not matter.
    pub(super) fn event(&self, raw: &[u8], process: u32, with: &Context) -> Option<(u32, What)> {
        let at = |n: usize| integer(raw, self.fields[n]);
        let own = |n: usize| at(COMMON.len() + n);
        let thread = at(1)? as u32;
        let what = match self.kind {
            Kind::Enter => {
                let number = own(0)? as i64;
                let call = CALLS.iter().find(|(of, _)| *of == number)?.1;
                let args = self.fields[COMMON.len() + 1];
                let args = std::array::from_fn(|n| {
                    let size = args.size / 6;
                    let offset = args.offset + n * size;
                    integer(raw, Field { offset, size }).unwrap_or(0)
                });
                let timeout: Timeout = call.timeout(&args)?;
                What::Enter {
                    process,
                    call,
                    timeout,
                }
            }
            Kind::Exit => What::Exit {
                result: own(1)? as i64,
            },
            Kind::Arm => {
                const RELATIVE: u64 = 1;
                is_function(own(1)?, with.wakes)?;
                What::Arm {
                    timer: own(0)?,
                    hard: own(2)?,
                    soft: own(3)?,
                    is_relative: own(4)? & RELATIVE != 0,
                }
            }
            Kind::ArmWheel => {
                is_function(own(1)?, with.wakes_of_wheel)?;
                What::ArmWheel {
                    timer: own(0)?,
                    now: own(2)?,
                    expires: own(3)?,
                    slot: own(4)?,
                }
            }
            Kind::Expire => What::Expire { timer: own(0)? },
            Kind::Waking => {
                // TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ (include/linux/trace_events.h).
                const INTERRUPT: u64 = 0x08 | 0x10;
                What::Waking {
                    thread: own(0)? as u32,
                    by_interrupt: at(0)? & INTERRUPT != 0,
                }
            }
            Kind::Ready => What::Ready {
                thread: own(0)? as u32,
                on: own(1)? as u32,
            },
            Kind::Migrate => What::Migrate {
                thread: own(0)? as u32,
                to: own(1)? as u32,
            },
            Kind::Switch => {
                let name = self.fields[COMMON.len() + 2];
                What::Switch {
                    left: left(own(0)?),
                    next: own(1)? as u32,
                    name: Name::new(raw.get(name.offset..)?.get(..name.size)?),
                    // MAX_RT_PRIO (include/linux/sched/prio.h).
                    is_real_time: (own(3)? as i32) < 100,
                }
            }
            Kind::End => What::End,
        };
        Some((thread, what))
    }
}

/// Whether a timer calls this function, as far as its address is known.
fn is_function(function: u64, known: Option<u64>) -> Option<()> {
    known.is_none_or(|known| known == function).then_some(())
}

/// The state of the thread that left its CPU (`TASK_*` in `include/linux/sched.h`): 0 can go on, 4
/// is stopped, 8 traced, and 0x100 preempted.
const fn left(state: u64) -> Left {
    match state & 0xff {
        0 => Left::Ready,
        bits if bits & (4 | 8) != 0 => Left::Stopped,
        _ => Left::Asleep,
    }
}

fn integer(raw: &[u8], field: Field) -> Option<u64> {
    let bytes = raw.get(field.offset..)?.get(..field.size)?;
    Some(match field.size {
        1 => bytes[0].into(),
        2 => u16::from_ne_bytes(*bytes.first_chunk()?).into(),
        // Numbers of threads and results are signed.
        4 => i64::from(i32::from_ne_bytes(*bytes.first_chunk()?)) as u64,
        8 => u64::from_ne_bytes(*bytes.first_chunk()?),
        _ => return None,
    })
}

/// The numbers of the calls that wait; those without a constant are the same on all architectures.
#[rustfmt::skip]
const CALLS: &[(i64, Call)] = &[
    (libc::SYS_clock_nanosleep, Call::ClockNanosleep),
    (libc::SYS_nanosleep, Call::Nanosleep),
    (libc::SYS_futex, Call::Futex),
    (455, Call::FutexWait),
    (449, Call::FutexWaitv),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, Call::Poll),
    (libc::SYS_ppoll, Call::Ppoll),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_select, Call::Select),
    (libc::SYS_pselect6, Call::Pselect6),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_epoll_wait, Call::EpollWait),
    (libc::SYS_epoll_pwait, Call::EpollPwait),
    (441, Call::EpollPwait2),
    (libc::SYS_rt_sigtimedwait, Call::RtSigtimedwait),
    (libc::SYS_semtimedop, Call::Semtimedop),
    (libc::SYS_mq_timedreceive, Call::MqTimedreceive),
    (libc::SYS_mq_timedsend, Call::MqTimedsend),
    (libc::SYS_io_getevents, Call::IoGetevents),
    (libc::SYS_recvfrom, Call::Recvfrom),
    (libc::SYS_recvmsg, Call::Recvmsg),
    (libc::SYS_recvmmsg, Call::Recvmmsg),
    (libc::SYS_sendto, Call::Sendto),
    (libc::SYS_sendmsg, Call::Sendmsg),
    (libc::SYS_accept, Call::Accept),
    (libc::SYS_accept4, Call::Accept4),
    (libc::SYS_connect, Call::Connect),
    (libc::SYS_restart_syscall, Call::RestartSyscall),
];

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: sched_switch
ID: 350
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:void * timer;\toffset:24;\tsize:8;\tsigned:0;
\tfield:const struct timespec *ts;\toffset:32;\tsize:8;\tsigned:0;
";

    #[test]
    fn fields_are_found_by_name() {
        let field = |offset, size| Some(Field { offset, size });
        assert_eq!(found(FORMAT, "common_pid"), field(4, 4));
        assert_eq!(found(FORMAT, "prev_comm"), field(8, 16));
        assert_eq!(found(FORMAT, "timer"), field(24, 8));
        assert_eq!(found(FORMAT, "ts"), field(32, 8));
        assert_eq!(found(FORMAT, "next_pid"), None);
    }

    #[test]
    fn hidden_addresses_are_not_known() {
        let symbols = "ffffffff8141e4b0 t hrtimer_wakeup\n0000000000000000 t process_timeout\n";
        let found = addresses(symbols, ["hrtimer_wakeup", "process_timeout", "missing"]);
        assert_eq!(found, [Some(0xffff_ffff_8141_e4b0), None, None]);
    }

    #[test]
    fn states_of_threads() {
        assert_eq!(left(0), Left::Ready);
        assert_eq!(left(0x100), Left::Ready);
        assert_eq!(left(1), Left::Asleep);
        assert_eq!(left(2), Left::Asleep);
        assert_eq!(left(4), Left::Stopped);
    }

    #[test]
    fn an_event_that_is_cut_off_is_none() {
        let fields = vec![Field { offset: 2, size: 1 }, Field { offset: 4, size: 4 }];
        let point = Tracepoint {
            name: "sched/sched_process_exit",
            number: 1,
            is_of_thread: false,
            filter: None,
            kind: Kind::End,
            fields,
        };
        let raw = [1, 0, 0, 0, 9, 0, 0, 0];
        let with = Context::default();
        assert_eq!(point.event(&raw, 9, &with), Some((9, What::End)));
        assert_eq!(point.event(&raw[..7], 9, &with), None);
    }
}
