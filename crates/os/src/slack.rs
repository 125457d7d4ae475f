//! Timer slack, of this thread as `punctual-sys` has it, and of the threads of any
//! process.

pub use punctual_sys::slack::*;

use crate::Error;
use punctual_core::Nanos;
use std::{fs, io};

/// A thread, by its number in the system, and its timer slack.
pub type ThreadSlack = (u32, Nanos);

/// The timer slack of every thread of process number `pid`, in ascending order
/// of the threads' numbers. A thread that ends meanwhile is left out.
///
/// # Errors
/// Unsupported where there is no timer slack. Range when there is no such process. Permission when
/// it belongs to another user: it takes root or CAP_SYS_NICE.
pub fn of(pid: u32) -> Result<Vec<ThreadSlack>, Error> {
    refuse_elsewhere()?;
    let mut slacks = Vec::new();
    for thread in threads(pid)? {
        match read(thread) {
            Ok(slack) => slacks.push((thread, slack)),
            Err(cause) if has_ended(&cause) && fs::exists(folder(pid)).unwrap_or(true) => {}
            Err(cause) => return Err(refused(pid, &cause)),
        }
    }
    match slacks.is_empty() {
        // It has ended meanwhile.
        true => Err(no_such_process(pid)),
        false => Ok(slacks),
    }
}

/// Sets the timer slack of every thread of process number `pid`, and returns
/// what is in force then. The threads that it starts later get it from these.
///
/// # Errors
/// As [`of`]. Range as [`set`]: for zero, and for more than Linux gives back. After an error
/// each thread has the slack that it had.
///
/// # Platform notes
/// Through `/proc/PID/timerslack_ns`, since Linux 4.6 (proc_pid_timerslack_ns(5)).
pub fn set_of(pid: u32, slack: Nanos) -> Result<Vec<ThreadSlack>, Error> {
    refuse(slack)?;
    let before = of(pid)?;
    set_each(&before, slack, write).map_err(|cause| refused(pid, &cause))?;
    let in_force = of(pid);
    if in_force.as_ref().is_err_and(|error| !error.is_range()) {
        // The process has not ended.
        let _ = restore(&before);
    }
    in_force
}

/// Has `write` set the slack of each thread. After an error those that have it already get
/// back what they had `before`.
fn set_each(
    before: &[ThreadSlack],
    slack: Nanos,
    write: impl Fn(u32, Nanos) -> io::Result<()>,
) -> io::Result<()> {
    for (done, &(thread, _)) in before.iter().enumerate() {
        match write(thread, slack) {
            Err(cause) if !has_ended(&cause) => {
                for &(thread, slack) in &before[..done] {
                    let _ = write(thread, slack);
                }
                return Err(cause);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Holds a timer slack for every thread of process number `pid` until it is
/// dropped.
///
/// # Errors
/// As [`set_of`]; then every thread has what it had before.
pub fn hold_of(pid: u32, slack: Nanos) -> Result<ProcessGuard, Error> {
    refuse(slack)?;
    let guard = ProcessGuard {
        pid,
        started: started(pid),
        before: of(pid)?,
    };
    guard.set(slack)?;
    Ok(guard)
}

/// A timer slack held for all threads of a process; dropping it brings back
/// what each of them had. A thread that was started meanwhile gets what the
/// first thread of the process had, from which it would have come by default.
#[derive(Debug)]
#[must_use = "the slack is restored when the guard is dropped"]
pub struct ProcessGuard {
    pid: u32,
    /// The number of a process that has ended may be given to another.
    started: Option<u64>,
    before: Vec<ThreadSlack>,
}

impl ProcessGuard {
    /// Changes the slack that is held, and returns what is in force then.
    ///
    /// # Errors
    /// As [`set_of`]. Range also when the process has ended.
    pub fn set(&self, slack: Nanos) -> Result<Vec<ThreadSlack>, Error> {
        if self.has_ended() {
            return Err(Error::range(format!(
                "process {} has ended: there is no timer slack to change",
                self.pid
            )));
        }
        set_of(self.pid, slack)
    }

    /// Brings back what each thread had now, and says whether that worked. A
    /// process that has ended is as it should be.
    ///
    /// # Errors
    /// The first refusal; the other threads are tried all the same.
    pub fn restore(mut self) -> Result<(), Error> {
        let done = self.bring_back();
        self.before.clear();
        done
    }

    fn bring_back(&self) -> Result<(), Error> {
        if self.before.is_empty() || self.has_ended() {
            return Ok(());
        }
        match threads(self.pid) {
            Ok(now) => restore(&brought_back(&self.before, &now)),
            // It has ended just now.
            Err(error) if error.is_range() => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn has_ended(&self) -> bool {
        started(self.pid) != self.started
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        // A caller that needs the result calls `restore`.
        let _ = self.bring_back();
    }
}

/// The slack that each present thread gets back. Ended threads are left out: their numbers may
/// belong to other processes now.
fn brought_back(before: &[ThreadSlack], now: &[u32]) -> Vec<ThreadSlack> {
    let Some(&(_, of_first)) = before.first() else {
        return Vec::new();
    };
    let had = |thread: u32| before.iter().find(|before| before.0 == thread);
    let slack = |thread: u32| had(thread).map_or(of_first, |before| before.1);
    now.iter().map(|&thread| (thread, slack(thread))).collect()
}

/// Only Linux has the file `/proc/TID/timerslack_ns`. The kernel serves it for the number of any
/// thread, though only processes are listed in `/proc`.
fn refuse_elsewhere() -> Result<(), Error> {
    match cfg!(any(target_os = "linux", target_os = "android")) {
        true => Ok(()),
        false => Err(Error::unsupported(
            "timer slack is a Linux setting: this system has none, so leave it out",
        )),
    }
}

fn restore(threads: &[ThreadSlack]) -> Result<(), Error> {
    let mut first_refusal = Ok(());
    for &(thread, slack) in threads {
        match write(thread, slack) {
            Err(cause) if !has_ended(&cause) && first_refusal.is_ok() => {
                first_refusal = Err(refused(thread, &cause));
            }
            _ => {}
        }
    }
    first_refusal
}

/// When a process was started, which tells it from a later one with its number:
/// `starttime` of proc_pid_stat(5).
fn started(pid: u32) -> Option<u64> {
    start_in(&fs::read_to_string(format!("{}/stat", folder(pid))).ok()?)
}

/// The name of the program comes second, may hold anything, and is in brackets.
fn start_in(stat: &str) -> Option<u64> {
    let behind_name = stat.rsplit_once(')')?.1;
    behind_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The numbers of the threads of a process, in ascending order.
fn threads(pid: u32) -> Result<Vec<u32>, Error> {
    let tasks =
        fs::read_dir(format!("{}/task", folder(pid))).map_err(|cause| refused(pid, &cause))?;
    let mut threads: Vec<u32> = tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable();
    Ok(threads)
}

fn read(thread: u32) -> io::Result<Nanos> {
    let text = fs::read_to_string(file(thread))?;
    let ns = text.trim().parse().map_err(io::Error::other)?;
    Ok(Nanos::new(ns))
}

fn write(thread: u32, slack: Nanos) -> io::Result<()> {
    fs::write(file(thread), slack.as_ns().to_string())
}

fn folder(pid: u32) -> String {
    format!("/proc/{pid}")
}

fn file(thread: u32) -> String {
    format!("/proc/{thread}/timerslack_ns")
}

/// The error of Linux for a process that does not exist.
const ESRCH: i32 = 3;

/// The file is gone, or its thread is.
fn has_ended(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotFound || cause.raw_os_error() == Some(ESRCH)
}

fn no_such_process(pid: u32) -> Error {
    Error::range(format!(
        "there is no process {pid} with timer slack to read: give the number of one that runs"
    ))
}

fn refused(pid: u32, cause: &io::Error) -> Error {
    if has_ended(cause) {
        return no_such_process(pid);
    }
    match cause.kind() {
        io::ErrorKind::PermissionDenied => Error::io(
            format_args!("the timer slack of process {pid}: run as root, or with CAP_SYS_NICE"),
            cause,
        ),
        _ => Error::io(format_args!("the timer slack of process {pid}"), cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    #[test]
    fn a_started_thread_gets_what_the_first_had_and_an_ended_one_nothing() {
        let us = Nanos::from_us;
        let before = [(7, us(50)), (8, us(3)), (9, us(2))];
        let now = [7, 9, 11];
        assert_eq!(
            brought_back(&before, &now),
            [(7, us(50)), (9, us(2)), (11, us(50))]
        );
        assert_eq!(brought_back(&[], &now), []);
    }

    #[test]
    fn a_thread_that_refuses_brings_back_what_the_others_had() {
        let us = Nanos::from_us;
        let before = [(7, us(50)), (8, us(3)), (9, us(50)), (10, us(2))];
        for refusing in 7..=11 {
            let now = RefCell::new(BTreeMap::from(before));
            let written = set_each(&before, us(1), |thread, slack| {
                match thread {
                    // It has ended.
                    8 => return Err(io::ErrorKind::NotFound.into()),
                    thread if thread == refusing => {
                        return Err(io::ErrorKind::PermissionDenied.into());
                    }
                    _ => {}
                }
                now.borrow_mut().insert(thread, slack);
                Ok(())
            });
            let now = now.into_inner();
            match written {
                Ok(()) => assert_eq!(
                    now,
                    [(7, us(1)), (8, us(3)), (9, us(1)), (10, us(1))].into()
                ),
                Err(_) => assert_eq!(now, before.into(), "{refusing}"),
            }
            assert_eq!(written.is_ok(), [8, 11].contains(&refusing));
        }
    }

    #[test]
    fn a_process_that_is_not_there_has_no_slack() {
        let error = of(u32::MAX).unwrap_err();
        assert!(error.is_range() || error.is_unsupported(), "{error}");
        for slack in [Nanos::ZERO, Nanos::new(1 << 63), Nanos::MAX] {
            for error in [
                set_of(std::process::id(), slack).unwrap_err(),
                hold_of(std::process::id(), slack).map(drop).unwrap_err(),
            ] {
                assert!(error.is_range() || error.is_unsupported(), "{error}");
            }
        }
        let error = set_of(u32::MAX, Nanos::new(1)).unwrap_err();
        assert!(error.is_range() || error.is_unsupported(), "{error}");
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    mod on_linux {
        use super::*;
        use std::process::Command;

        #[test]
        fn the_slack_of_a_thread_is_in_its_file() {
            // SAFETY: returns the number of this thread.
            let this = unsafe { libc::gettid() };
            assert_eq!(read(this as u32).ok(), current());
        }

        /// A process of this test's own. Another process takes a privilege.
        #[test]
        fn a_guard_brings_back_what_a_process_had() {
            let mut child = Command::new("sleep").arg("60").spawn().unwrap();
            let slacks = || of(child.id()).map(|slacks| slacks[0].1);
            match slacks() {
                Ok(before) => {
                    let guard = hold_of(child.id(), Nanos::from_us(21)).unwrap();
                    assert_eq!(guard.before, [(child.id(), before)]);
                    assert_eq!(slacks().unwrap(), Nanos::from_us(21));
                    let changed = guard.set(Nanos::from_us(3)).unwrap();
                    assert_eq!(changed, [(child.id(), Nanos::from_us(3))]);
                    guard.restore().unwrap();
                    assert_eq!(slacks().unwrap(), before);
                    drop(hold_of(child.id(), Nanos::new(1)).unwrap());
                    assert_eq!(slacks().unwrap(), before);
                }
                Err(error) => assert!(error.is_permission(), "{error}"),
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }

        #[test]
        fn a_guard_leaves_a_later_process_of_the_same_number_alone() {
            let mut child = Command::new("sleep").arg("60").spawn().unwrap();
            if let Ok(mut guard) = hold_of(child.id(), Nanos::from_us(21)) {
                guard.started = guard.started.map(|ticks| ticks - 1);
                assert!(guard.set(Nanos::from_us(3)).unwrap_err().is_range());
                guard.restore().unwrap();
                assert_eq!(of(child.id()).unwrap()[0].1, Nanos::from_us(21));
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }

        #[test]
        fn the_start_of_a_process_is_behind_its_name() {
            let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 9 9\n";
            assert_eq!(start_in(stat), Some(987_654));
            assert_eq!(start_in("7 (a) S 1"), None);
            assert!(started(std::process::id()).is_some());
        }

        #[test]
        fn a_refusal_says_what_to_do() {
            let error = refused(7, &io::Error::from_raw_os_error(libc::EPERM));
            assert!(error.is_permission() && error.to_string().contains("run as root"));
            let error = refused(7, &io::Error::from_raw_os_error(libc::ESRCH));
            assert!(error.is_range() && error.to_string().contains("no process 7"));
        }
    }
}
