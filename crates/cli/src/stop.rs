//! Ctrl-C and termination end a measurement and keep what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// A flag that is set when the user wants an end. The second time ends the
/// process at once.
pub(crate) fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if handler.swap(true, Ordering::SeqCst) {
            std::process::exit(3);
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}
