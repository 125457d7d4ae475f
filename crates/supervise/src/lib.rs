//! Timed waits of programs that load no library end when a timer rule ends them.
//!
//! A program that is linked statically, or that calls the kernel without libc, as Go does, cannot use the library of
//! `punctual-preload`. This crate starts it under a seccomp filter and traces it. The filter stops a thread as it begins
//! a timed wait, and lets all other calls through. The supervisor then writes another length into the call, by the same
//! rule and into the same books as the library does.
//!
//! - A wait costs one stop. The return of the call is not observed, so the books do not have it.
//! - No privileges are needed: the filter needs `PR_SET_NO_NEW_PRIVS` only, and the program is a child.
//! - Signals, exit codes and group stops pass through. The processes end if the supervisor is killed.
//! - The length goes into memory that the program cannot use, below its stack pointer. `select`, `pselect6` and `ppoll`
//!   are different: the kernel itself writes to the length of the caller, and so does the supervisor.
//! - A register that was changed is restored before a handler of a signal runs, and before the same wait begins again.
//!
//! | file | what is in it |
//! |---|---|
//! | `filter` | the calls at which a thread stops |
//! | `start` | a program is started under the filter |
//! | `timed` | the time of each call: its kind and its place |
//! | `tracee` | a stopped thread: its registers and its memory |
//! | `tracer` | the stops of all threads |
//! | `waits` | a wait of a thread from its stop to its next one |

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod filter;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod start;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod timed;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracee;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod waits;

use std::fs::File;
use std::io;
use std::process::{Command, ExitStatus};

use punctual_preload::page::Run;

/// Why a program was not started.
#[derive(Debug)]
pub enum Failure {
    /// This system does not permit to supervise it; a sentence.
    Refused(String),
    /// It cannot be started.
    Start(io::Error),
}

/// A report of the supervisor while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The program has this process.
    Started(u32),
    /// The program has ended. Processes that it started may go on.
    Ended,
}

/// A run to supervise.
#[derive(Clone, Copy, Debug)]
pub struct Supervised<'r> {
    /// The rule and the settings.
    pub run: &'r Run,
    /// The page of the run.
    pub page: &'r File,
    /// Whether `nanosleep` is let through: in programs of Go only the runtime calls it, very often, and for itself.
    pub lets_nanosleep: bool,
}

/// Runs a program and the processes that it starts under the rule, until the last of them has ended. Returns how the
/// program itself ended.
///
/// # Errors
/// The system does not permit it, or the program cannot be started.
///
/// # Platform notes
/// Linux on x86-64. Other systems refuse.
pub fn run(
    command: &mut Command,
    supervised: Supervised<'_>,
    report: impl Fn(Event) + Sync,
) -> Result<ExitStatus, Failure> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return start::run(command, supervised, &report);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        let _ = (command, supervised, report);
        Err(Failure::Refused(
            "tracing a program needs Linux on x86-64".to_owned(),
        ))
    }
}
