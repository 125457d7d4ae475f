//! Another program in the place of this one, or beside it.

use crate::Error;
use std::process::{Command, ExitStatus};

/// Replaces this process by `command`, which keeps its number and what the
/// calling thread has: timer slack, priority, open files. Returns only when that
/// failed.
///
/// # Errors
/// Permission when the file must not be executed. Unsupported where a process
/// cannot be replaced.
#[cfg(unix)]
pub fn replace(command: &mut Command) -> Error {
    keep_ignored(command);
    let cause = std::os::unix::process::CommandExt::exec(command);
    let program = command.get_program().to_string_lossy();
    Error::io(format_args!("cannot run `{program}`"), &cause)
}

/// Fails on Windows.
#[cfg(windows)]
pub fn replace(_command: &mut Command) -> Error {
    Error::unsupported("Windows cannot replace a process by another program")
}

/// Makes a program ignore the signals that this process was started with as ignored: SIGINT, SIGTERM, SIGHUP and SIGPIPE.
///
/// A shell starts background programs with an ignored SIGINT, nohup with an ignored SIGHUP, and systemd with an ignored
/// SIGPIPE. Else the program would have their default actions: this process handles the first three, and Rust's library
/// resets the last.
///
/// # Platform notes
/// Linux only; elsewhere it does nothing.
pub fn keep_ignored(command: &mut Command) {
    #[cfg(target_os = "linux")]
    ignored::keep(command);
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

#[cfg(target_os = "linux")]
mod ignored {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE];
    static AT_START: [AtomicBool; 4] = [const { AtomicBool::new(false) }; 4];

    /// The C library calls it before `main`, where Rust's library changes SIGPIPE.
    #[used]
    // SAFETY: the section holds pointers to functions with this calling convention.
    #[unsafe(link_section = ".init_array")]
    static NOTE: extern "C" fn() = note;

    extern "C" fn note() {
        for (signal, at_start) in SIGNALS.into_iter().zip(&AT_START) {
            // SAFETY: all fields of a sigaction may be zero, and the place for it is valid.
            let handler = unsafe {
                let mut now: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut now);
                now.sa_sigaction
            };
            at_start.store(handler == libc::SIG_IGN, Ordering::Relaxed);
        }
    }

    pub(super) fn keep(command: &mut Command) {
        let all = SIGNALS.into_iter().zip(&AT_START);
        for (signal, _) in all.filter(|(_, at_start)| at_start.load(Ordering::Relaxed)) {
            let ignore = move || {
                // SAFETY: no pointers; the call is safe after fork.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
                Ok(())
            };
            // SAFETY: it makes one call that is safe after fork, and allocates nothing.
            unsafe { command.pre_exec(ignore) };
        }
    }
}

/// Whether a process has ended because the user, or the system, told it to, as
/// by Ctrl-C, and it did not listen for that.
pub fn was_told_to_end(status: ExitStatus) -> bool {
    #[cfg(windows)]
    return status.code() == Some(windows_sys::Win32::Foundation::STATUS_CONTROL_C_EXIT);
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status)
        .is_some_and(|signal| [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].contains(&signal));
    #[cfg(not(any(unix, windows)))]
    {
        let _ = status;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn who_is_told_to_end_did_not_fail() {
        use std::os::unix::process::ExitStatusExt;
        let ended = |how: &str| {
            let status = Command::new("sh").args(["-c", how]).status().unwrap();
            was_told_to_end(status)
        };
        assert!(ended("kill -TERM $$"));
        // A process that a script puts into the background ignores this signal.
        assert!(was_told_to_end(ExitStatus::from_raw(libc::SIGINT)));
        assert!(!ended("kill -KILL $$") && !ended("exit 2") && !ended("exit 0"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = replace(&mut Command::new("punctual-is-no-program"));
        let text = error.to_string();
        assert!(
            error.is_unsupported() || text.contains("punctual-is-no-program"),
            "{text}"
        );
    }
}
