//! Another program in the place of this one, or beside it.

use crate::Error;
use std::process::{Command, ExitStatus};

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
/// A system on which a process stays what it is.
#[cfg(not(any(unix, windows)))]
mod platform {
    use crate::Error;
    use std::process::{Command, ExitStatus};

    pub(super) fn replace(_command: &mut Command) -> Error {
        Error::unsupported("this system cannot replace a process by another program")
    }

    pub(super) fn was_told_to_end(_status: ExitStatus) -> bool {
        false
    }
}

/// Replaces this process by `command`, which keeps its number and what the
/// calling thread has: timer slack, priority, open files. Returns only when that
/// failed.
///
/// # Errors
/// Permission when the file must not be executed. Unsupported where a process
/// cannot be replaced.
pub fn replace(command: &mut Command) -> Error {
    platform::replace(command)
}

/// Whether a process has ended because the user, or the system, told it to, as
/// by Ctrl-C, and it did not listen for that. `false` where it does not show.
pub fn was_told_to_end(status: ExitStatus) -> bool {
    platform::was_told_to_end(status)
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
        // Whatever a script puts into the background ignores this one.
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
