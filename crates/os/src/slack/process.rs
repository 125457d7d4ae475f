//! The timer slack of the threads of a process, `/proc/TID/timerslack_ns`.
//!
//! The kernel serves that file for the number of any thread, though only
//! processes are listed in `/proc`.

use super::ThreadSlack;
use crate::Error;
use punctual_core::Nanos;
use std::fs;
use std::io;

pub(super) fn of(pid: u32) -> Result<Vec<ThreadSlack>, Error> {
    let mut slacks = Vec::new();
    for thread in threads(pid)? {
        match read(thread) {
            Ok(slack) => slacks.push((thread, slack)),
            Err(cause) if has_ended(&cause) && fs::exists(folder(pid)).unwrap_or(true) => {}
            Err(cause) => return Err(refused(pid, &cause)),
        }
    }
    present(pid, slacks)
}

pub(super) fn set_of(pid: u32, slack: Nanos) -> Result<Vec<ThreadSlack>, Error> {
    for thread in threads(pid)? {
        match write(thread, slack) {
            Err(cause) if !has_ended(&cause) => return Err(refused(pid, &cause)),
            _ => {}
        }
    }
    of(pid)
}

pub(super) fn restore(threads: &[ThreadSlack]) -> Result<(), Error> {
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
pub(super) fn started(pid: u32) -> Option<u64> {
    start_in(&fs::read_to_string(format!("{}/stat", folder(pid))).ok()?)
}

/// The name of the program comes second, may hold anything, and is in brackets.
fn start_in(stat: &str) -> Option<u64> {
    let behind_name = stat.rsplit_once(')')?.1;
    behind_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The numbers of the threads of a process, in ascending order.
pub(super) fn threads(pid: u32) -> Result<Vec<u32>, Error> {
    let tasks =
        fs::read_dir(format!("{}/task", folder(pid))).map_err(|cause| refused(pid, &cause))?;
    let mut threads: Vec<u32> = tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable();
    Ok(threads)
}

/// A process without any thread that could be read has ended meanwhile.
fn present(pid: u32, slacks: Vec<ThreadSlack>) -> Result<Vec<ThreadSlack>, Error> {
    if slacks.is_empty() {
        return Err(no_such_process(pid));
    }
    Ok(slacks)
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

/// The file is gone, or its thread is.
fn has_ended(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotFound || cause.raw_os_error() == Some(libc::ESRCH)
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
    use crate::slack::{current, hold_of};
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
                assert_eq!(guard.before(), [(child.id(), before)]);
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
