//! Scheduling policies, and nice values, which Linux has per thread
//! (setpriority(2), "C library/kernel differences").
//!
//! Policies through `syscall`, because musl refuses its `sched_` functions: POSIX means
//! processes by them, and the system threads.

use crate::{Error, slack};
use libc::{SCHED_RESET_ON_FORK, c_int, sched_param};
use punctual_core::Nanos;
use punctual_core::setting::Priority;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// `linux/sched.h`; libc does not name it for Android.
const SCHED_OTHER: c_int = 0;

pub(super) fn current() -> Option<String> {
    let before = Before::of_thread().ok()?;
    Some(match before.policy() {
        SCHED_OTHER => format!("SCHED_OTHER, nice {}", before.nice),
        libc::SCHED_BATCH => format!("SCHED_BATCH, nice {}", before.nice),
        libc::SCHED_IDLE => "SCHED_IDLE".to_owned(),
        libc::SCHED_FIFO => format!("SCHED_FIFO, priority {}", before.real_time),
        libc::SCHED_RR => format!("SCHED_RR, priority {}", before.real_time),
        libc::SCHED_DEADLINE => "SCHED_DEADLINE".to_owned(),
        policy => format!("policy {policy}"),
    })
}

pub(super) fn set(priority: Priority) -> Result<(), Error> {
    let before = Before::of_thread()?;
    // Only a privileged thread may drop the flag, which was not asked for.
    let flag = before.flags & SCHED_RESET_ON_FORK;
    let leaves_idle = before.policy() == libc::SCHED_IDLE;
    let ordinary = || put_policy(SCHED_OTHER | flag, 0);
    // First the step that the system may refuse, and that everyone may take back.
    let change = match wanted(priority) {
        Wanted::Nice(nice) if leaves_idle => ordinary().and_then(|()| put_nice(nice)),
        Wanted::Nice(nice) => put_nice(nice).and_then(|()| ordinary()),
        Wanted::RealTime => put_policy(libc::SCHED_FIFO | flag, LOWEST_REAL_TIME),
    };
    change.map_err(|cause| {
        let error = refused(priority, &cause);
        // This was in force before the first step; the error to report is that of the change.
        let _ = before.restore();
        error
    })
}

/// How a thread is scheduled.
#[derive(Debug)]
pub(super) struct Before {
    /// The policy, and `SCHED_RESET_ON_FORK` if its children do not get it.
    flags: c_int,
    real_time: c_int,
    nice: c_int,
    /// Newer kernels forget it when a thread becomes real-time, and give it the
    /// default when it goes back (`__setscheduler_params`, since Linux 6.12).
    slack: Option<Nanos>,
}

impl Before {
    pub(super) fn of_thread() -> Result<Self, Error> {
        // SAFETY: asks for a number; 0 names the calling thread.
        let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
        let mut param = parameters(0);
        // SAFETY: `param` is a valid place for one sched_param.
        let told = unsafe { libc::syscall(libc::SYS_sched_getparam, 0, &raw mut param) };
        if policy < 0 || told < 0 {
            return Err(Error::last_os("asking how this thread is scheduled"));
        }
        Ok(Self {
            flags: policy as c_int,
            real_time: param.sched_priority,
            nice: nice(),
            slack: slack::own(),
        })
    }

    fn policy(&self) -> c_int {
        self.flags & !SCHED_RESET_ON_FORK
    }

    /// The permission that raised this thread's priority may be gone. Every thread may give up its
    /// nice value or policy, but the way back needs the permission.
    pub(super) fn can_come_back(&self, priority: Priority) -> Result<(), Error> {
        if self.policy() == libc::SCHED_DEADLINE {
            return Err(Error::unsupported(
                "punctual cannot bring a thread back to SCHED_DEADLINE: leave its priority alone",
            ));
        }
        let nice_comes_back = match wanted(priority) {
            Wanted::Nice(nice) if nice > self.nice => least_nice() <= self.nice,
            _ => true,
        };
        let real_time_comes_back =
            self.real_time <= most_real_time() || self.is_what_it_would_be(priority);
        if privileged() || nice_comes_back && real_time_comes_back {
            return Ok(());
        }
        let cause = io::Error::from(io::ErrorKind::PermissionDenied);
        Err(Error::io(
            format_args!(
                "priority {priority} is refused, because this user could not bring back what \
                 the thread has: run as root, or raise `ulimit -e` or `ulimit -r`"
            ),
            &cause,
        ))
    }

    fn is_what_it_would_be(&self, priority: Priority) -> bool {
        matches!(wanted(priority), Wanted::RealTime)
            && (self.policy(), self.real_time) == (libc::SCHED_FIFO, LOWEST_REAL_TIME)
    }

    pub(super) fn restore(&self) -> Result<(), Error> {
        put_policy(self.flags, self.real_time)
            .and_then(|()| put_nice(self.nice))
            .map_err(|cause| Error::io("bringing back the priority of this thread", &cause))?;
        match self.slack {
            // A real-time thread reads zero, and its slack cannot be set.
            Some(before) if !before.is_zero() => slack::give_back(before).map(drop),
            _ => Ok(()),
        }
    }
}

enum Wanted {
    /// `SCHED_OTHER` with this nice value.
    Nice(c_int),
    RealTime,
}

fn wanted(priority: Priority) -> Wanted {
    match priority {
        Priority::Background => Wanted::Nice(19),
        Priority::Utility => Wanted::Nice(10),
        Priority::Normal => Wanted::Nice(0),
        Priority::Interactive => Wanted::Nice(-10),
        Priority::RealTime => Wanted::RealTime,
    }
}

/// Enough to come before everything ordinary, and the least that can get in the
/// way of the threads that others made real-time.
const LOWEST_REAL_TIME: c_int = 1;

/// Some C libraries have more in it than the kernel reads.
fn parameters(real_time: c_int) -> sched_param {
    // SAFETY: it is made of numbers.
    let mut param: sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = real_time;
    param
}

fn put_policy(policy: c_int, real_time: c_int) -> io::Result<()> {
    let param = parameters(real_time);
    // SAFETY: `param` is valid; 0 names the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn put_nice(nice: c_int) -> io::Result<()> {
    // SAFETY: takes numbers; 0 names the calling thread.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The call cannot fail for the calling thread, so -1 is a nice value.
fn nice() -> c_int {
    // SAFETY: takes numbers; 0 names the calling thread.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// The lowest nice value that `ulimit -e` allows: 20 minus the limit
/// (getrlimit(2), `RLIMIT_NICE`).
fn least_nice() -> c_int {
    20 - limit(libc::RLIMIT_NICE as c_int).min(40)
}

/// The highest real-time priority that `ulimit -r` allows.
fn most_real_time() -> c_int {
    limit(libc::RLIMIT_RTPRIO as c_int)
}

/// C libraries differ in the sign of the number.
fn limit(resource: c_int) -> c_int {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for one rlimit.
    unsafe { libc::getrlimit(resource as _, &mut limit) };
    c_int::try_from(limit.rlim_cur).unwrap_or(c_int::MAX)
}

/// Whether this thread may do as it likes with its priority. Capabilities in a
/// user namespace of its own, as in a container without root, are none here.
fn privileged() -> bool {
    /// `PROC_USER_INIT_INO` of the kernel, the first user namespace.
    const FIRST: u64 = 0xEFFF_FFFD;
    let elsewhere = fs::metadata("/proc/self/ns/user").is_ok_and(|space| space.ino() != FIRST);
    if elsewhere {
        return false;
    }
    fs::read_to_string("/proc/thread-self/status")
        .ok()
        .and_then(|status| effective(&status))
        .is_some_and(|mask| mask >> CAP_SYS_NICE & 1 == 1)
}

/// capabilities(7).
const CAP_SYS_NICE: u32 = 23;

/// The effective capabilities in proc_pid_status(5).
fn effective(status: &str) -> Option<u64> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// `setpriority` says EACCES, `sched_setscheduler` EPERM.
fn refused(priority: Priority, cause: &io::Error) -> Error {
    let remedy = match wanted(priority) {
        Wanted::Nice(nice) => format!("run as root, or allow it with `ulimit -e {}`", 20 - nice),
        Wanted::RealTime => {
            "run as root, allow it with `ulimit -r 1`, or ask rtkit for it".to_owned()
        }
    };
    match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            Error::io(format_args!("priority {priority}: {remedy}"), cause)
        }
        _ => Error::io(format_args!("setting priority {priority}"), cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::priority::hold;

    #[test]
    fn each_priority_is_what_its_name_says() {
        for (priority, words) in [
            (Priority::Background, "SCHED_OTHER, nice 19"),
            (Priority::Utility, "SCHED_OTHER, nice 10"),
            (Priority::Normal, "SCHED_OTHER, nice 0"),
            (Priority::Interactive, "SCHED_OTHER, nice -10"),
            (Priority::RealTime, "SCHED_FIFO, priority 1"),
        ] {
            let apart = std::thread::spawn(move || match set(priority) {
                Ok(()) => assert_eq!(current().as_deref(), Some(words)),
                Err(error) => assert!(error.is_permission(), "{error}"),
            });
            apart.join().unwrap();
        }
    }

    /// A flag that others set, such as rtkit, and only a privileged thread may
    /// take away.
    #[test]
    fn what_children_get_stays_as_it_was() {
        let has_flag = || Before::of_thread().unwrap().flags & SCHED_RESET_ON_FORK != 0;
        for priority in Priority::ALL {
            let apart = std::thread::spawn(move || {
                put_policy(SCHED_OTHER | SCHED_RESET_ON_FORK, 0).unwrap();
                let guard = hold(priority);
                assert!(has_flag(), "{priority}");
                drop(guard);
                assert!(has_flag(), "{priority}");
            });
            apart.join().unwrap();
        }
    }

    /// To leave SCHED_IDLE takes a privilege, to raise the nice value does not.
    #[test]
    fn a_refused_change_leaves_nothing_behind() {
        std::thread::spawn(|| {
            put_policy(libc::SCHED_IDLE, 0).unwrap();
            // Through `syscall` it is of this thread alone.
            let nobody = 65_534;
            // SAFETY: takes numbers.
            unsafe { libc::syscall(libc::SYS_setresuid, nobody, nobody, nobody) };
            let state = || (Before::of_thread().unwrap().flags, nice());
            let before = state();
            match set(Priority::Background) {
                // An `ulimit -e` allows it.
                Ok(()) => assert_eq!(state(), (SCHED_OTHER, 19)),
                Err(error) => {
                    assert!(error.is_permission(), "{error}");
                    assert_eq!(state(), before);
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_with_a_deadline_is_left_alone() {
        let before = Before {
            flags: libc::SCHED_DEADLINE,
            ..Before::of_thread().unwrap()
        };
        let refused = before.can_come_back(Priority::Background).unwrap_err();
        assert!(refused.is_unsupported());
    }

    #[test]
    fn capabilities_are_read_as_their_manual_says() {
        let status = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000800000\n";
        assert_eq!(effective(status).unwrap() >> CAP_SYS_NICE & 1, 1);
        assert_eq!(effective("Name:\tx\n"), None);
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let cause = io::Error::from_raw_os_error(libc::EPERM);
        let error = refused(Priority::RealTime, &cause);
        assert!(error.is_permission() && error.to_string().contains("ulimit -r 1"));
        let error = refused(Priority::Interactive, &cause);
        assert!(error.is_permission() && error.to_string().contains("ulimit -e 30"));
    }
}
