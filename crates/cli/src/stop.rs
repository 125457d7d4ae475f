//! Ctrl-C and termination end a measurement and keep what it has.

use anyhow::{Context, Result};
use punctual_lab::host::Stop;

/// Is requested when the user wants an end.
pub(crate) fn on_ctrl_c() -> Result<Stop> {
    let stop = Stop::new();
    let handler = stop.clone();
    ctrlc::set_handler(move || handler.request()).context("cannot listen for Ctrl-C")?;
    Ok(stop)
}
