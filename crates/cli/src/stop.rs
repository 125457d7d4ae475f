//! Ctrl-C and termination end a measurement and keep what it has, or end what
//! is held and bring back what was.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use anyhow::{Context, Result};
use clap::Args;
use punctual_core::Nanos;
use punctual_lab::host::Stop;

use crate::values::length;
use crate::{console, files};

/// What Ctrl-C requests.
static STOP: OnceLock<Stop> = OnceLock::new();

/// Is requested when the user wants an end.
pub(crate) fn on_ctrl_c() -> Result<Stop> {
    let stop = STOP.get_or_init(Stop::new);
    ctrlc::set_handler(|| stop.request()).context("cannot listen for Ctrl-C")?;
    Ok(stop.clone())
}

/// Ends a measurement of which nothing is kept, and whose report nobody reads any
/// more.
pub(crate) fn if_nobody_reads() {
    if let Some(stop) = STOP.get()
        && !files::is_anything_kept()
        && console::reader_has_gone()
    {
        stop.request();
    }
}

/// Waits for the user to want an end, instead of ending the process.
pub(crate) struct End {
    lengths: Sender<Option<Nanos>>,
    wanted: Receiver<bool>,
}

impl End {
    /// From now on.
    ///
    /// It waits on a thread of its own, which keeps the timer slack that is in
    /// force now: whoever holds a slack of minutes would wait for minutes.
    pub(crate) fn listen() -> Result<Self> {
        let (tell, end) = channel();
        let handler = move || {
            // The other side is gone when nobody waits any more.
            let _ = tell.send(());
        };
        ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")?;
        let (lengths, asked) = channel::<Option<Nanos>>();
        let (answer, wanted) = channel();
        let wait = move || {
            for length in asked {
                if answer.send(is_wanted(&end, length)).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().spawn(wait);
        thread.context("cannot start a thread that waits")?;
        Ok(Self { lengths, wanted })
    }

    /// Waits for so long, or without an end. Whether the user wanted one.
    pub(crate) fn within(&self, length: Option<Nanos>) -> bool {
        self.lengths.send(length).is_ok() && self.wanted.recv().unwrap_or(true)
    }
}

/// For how long something is held.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct HowLong {
    /// End by itself after so long: 500ms, 10s, 5m
    #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) length: Option<Nanos>,
}

/// For how long each of several things is held in turn.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Each {
    /// How long each is held
    #[arg(long, value_name = "LENGTH", default_value = "4s", allow_hyphen_values = true, value_parser = length)]
    pub(crate) each: Nanos,
}

/// Until when something is held, in words.
pub(crate) fn until(length: Option<Nanos>) -> String {
    length.map_or_else(
        || "until Ctrl-C".to_owned(),
        |length| format!("for {length}, or until Ctrl-C"),
    )
}

fn is_wanted(end: &Receiver<()>, length: Option<Nanos>) -> bool {
    match length {
        Some(length) => end.recv_timeout(length.into()) != Err(RecvTimeoutError::Timeout),
        None => end.recv().is_ok(),
    }
}
