//! The output for the user: results on standard output, all else on standard error.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use punctual_record::{visible, visible_lines};
use punctual_report::prose;
use punctual_report::tables::table::is_best;

use crate::stop;

/// Says a line on standard error, as `println!` does on standard output. A failure to print is
/// ignored: it changes neither the work nor the exit code.
macro_rules! say {
    ($($words:tt)*) => { $crate::console::tell(format_args!($($words)*)) };
}
pub(crate) use say;

/// How many columns the terminal has, if there is one.
pub(crate) fn columns() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| width.0.into())
}

/// See [`say!`].
pub(crate) fn tell(line: impl Display) {
    let stderr = std::io::stderr();
    let columns = if stderr.is_terminal() {
        columns()
    } else {
        None
    };
    let told = told(&visible(&line.to_string()), columns);
    let _ = write(stderr.lock(), &told);
}

/// A line, broken between words where a terminal has no room for it.
fn told(line: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) if prose::width(line) > columns => {
            prose::lines(line, columns).join("\n") + "\n"
        }
        _ => format!("{line}\n"),
    }
}

/// Whether standard output belongs to an output that is called `-`.
static STDOUT_IS_GIVEN_AWAY: AtomicBool = AtomicBool::new(false);

/// From now on what would be printed there goes to standard error. Returns whether standard output
/// was still free.
pub(crate) fn give_away_stdout() -> bool {
    !STDOUT_IS_GIVEN_AWAY.swap(true, Ordering::Relaxed)
}

/// Whether lines with the mark of the best are printed in bold.
static IS_BOLD: AtomicBool = AtomicBool::new(false);

/// From now on table rows with the best value of a column are in bold.
pub(crate) fn embolden() {
    IS_BOLD.store(true, Ordering::Relaxed);
}

/// Prints on standard output, and returns whether anybody reads it.
pub(crate) fn print(text: &str) -> Result<bool> {
    let mut text = visible_lines(text);
    if IS_BOLD.load(Ordering::Relaxed) {
        let lines = text.split_inclusive('\n').map(|line| {
            match line
                .trim_end()
                .split("  ")
                .skip(1)
                .map(str::trim_start)
                .any(is_best)
            {
                true => format!("\x1b[1m{}\x1b[0m\n", line.trim_end_matches('\n')),
                false => line.to_owned(),
            }
        });
        text = lines.collect();
    }
    if STDOUT_IS_GIVEN_AWAY.load(Ordering::Relaxed) {
        let _ = write(std::io::stderr().lock(), &text);
        return Ok(true);
    }
    stop::while_printing(|| write(std::io::stdout().lock(), &text))
        .context("cannot write to standard output")
}

/// Whether what read standard output has gone, as a pipe tells before anything is
/// written to it.
#[cfg(unix)]
pub(crate) fn reader_has_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = std::io::stdout();
    let mut out = [PollFd::new(&stdout, PollFlags::empty())];
    let asked = poll(&mut out, Some(&Timespec::default()));
    asked.is_ok() && out[0].revents().contains(PollFlags::ERR)
}

#[cfg(not(unix))]
pub(crate) fn reader_has_gone() -> bool {
    false
}

/// Writes it all, and returns whether anybody reads it: a reader that has gone
/// away is no error, as it has read what it wanted.
pub(crate) fn write(mut out: impl Write, text: &str) -> std::io::Result<bool> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_broken_between_words_on_a_terminal_only() {
        let line = "watching clock_nanosleep every 1 ms  on CPU 1";
        assert_eq!(told(line, None), format!("{line}\n"));
        assert_eq!(told(line, Some(80)), format!("{line}\n"));
        let broken = told(line, Some(24));
        assert_eq!(broken, "watching clock_nanosleep\nevery 1 ms on CPU 1\n");
    }
}
