//! execve(2), wait(2).

use crate::Error;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

pub(super) fn replace(command: &mut Command) -> Error {
    let cause = command.exec();
    let program = command.get_program().to_string_lossy();
    Error::io(format_args!("cannot run `{program}`"), &cause)
}

pub(super) fn was_told_to_end(status: ExitStatus) -> bool {
    let signal = status.signal();
    signal.is_some_and(|signal| [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].contains(&signal))
}
