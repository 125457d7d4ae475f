//! The traced program, from its start to its end.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use punctual_os::program;
use rustix::process::{Pid, Signal, kill_process};

/// The time that a program has to end after SIGTERM, and after SIGKILL. Both pass within the second that
/// this command has after a SIGTERM of its own.
const GRACE: Duration = Duration::from_millis(500);
const DEATH: Duration = Duration::from_millis(200);

/// A program that was started.
pub(super) struct Program {
    child: Child,
}

impl Program {
    /// Starts it, on the thread that has the events open.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        program::keep_ignored(command);
        Ok(Self {
            child: command.spawn()?,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends it, unless it has ended. `meanwhile` is called while it takes its time.
    pub(super) fn end(&mut self, mut meanwhile: impl FnMut()) -> Option<ExitStatus> {
        for (signal, time) in [(Signal::TERM, GRACE), (Signal::KILL, DEATH)] {
            if let Some(status) = self.status() {
                return Some(status);
            }
            if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
                // It may have ended, but is not collected yet: the number is still its own.
                let _ = kill_process(pid, signal);
            }
            let over = Instant::now() + time;
            while Instant::now() < over {
                if let Some(status) = self.status() {
                    return Some(status);
                }
                meanwhile();
            }
        }
        self.status()
    }
}
