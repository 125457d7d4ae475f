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
    let cause = std::os::unix::process::CommandExt::exec(command);
    let program = command.get_program().to_string_lossy();
    Error::io(format_args!("cannot run `{program}`"), &cause)
}

/// Fails on Windows.
#[cfg(windows)]
pub fn replace(_command: &mut Command) -> Error {
    Error::unsupported("Windows cannot replace a process by another program")
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
