//! What the user is told: results on standard output, all else on standard error.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};
use punctual_record::{visible, visible_lines};

/// Says a line on standard error, as `println!` does on standard output. What
/// cannot be said there is lost: it changes neither what is done nor the exit code.
macro_rules! say {
    ($($words:tt)*) => { $crate::console::tell(format_args!($($words)*)) };
}
pub(crate) use say;

/// See [`say!`].
pub(crate) fn tell(line: impl Display) {
    let line = format!("{}\n", visible(&line.to_string()));
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Writes to standard output. A reader that has gone away is no error: it has
/// read what it wanted.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out
        .write_all(visible_lines(text).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}
