//! Ctrl-C and termination end a measurement and keep what it has, or end what
//! is held and bring back what was.
//!
//! A wait may never end, as where a clock stands still, and the reader of a pipe may stop reading.
//! A second Ctrl-C therefore ends the process at once. A termination ends it after a second,
//! unless its waits have ended and it prepares or writes its results.

use std::process::exit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use punctual_core::{Nanos, Reason};
use punctual_lab::host::Stop;
use punctual_os::nap::{Cancel, Nap, Slack};
use punctual_os::signals::{self, Ask};
use punctual_os::{Tick, clock};

use crate::values::length;
use crate::{console, files};

/// The stop that Ctrl-C requests.
static STOP: OnceLock<Stop> = OnceLock::new();

/// Is requested when the user wants an end: the same one, however often it is asked for.
pub(crate) fn on_ctrl_c() -> Result<Stop> {
    if let Some(stop) = STOP.get() {
        return Ok(stop.clone());
    }
    let stop = Stop::new();
    let wanted = stop.clone();
    listen(move || wanted.request())?;
    Ok(STOP.get_or_init(|| stop).clone())
}

/// Is called whenever the user wants an end, and sees to it that there is one.
fn listen(wanted: impl Fn() + Send + 'static) -> Result<()> {
    let mut asked = Asked::default();
    let answer = move |ask| match asked.answer(ask) {
        Answer::AtOnce => exit(INTERRUPTED),
        Answer::InTime(begin) => {
            if begin {
                IS_TERMINATED.store(true, Ordering::SeqCst);
                end_within(GRACE, TERMINATED);
            }
            wanted();
        }
    };
    signals::on_ask(answer).map_err(anyhow::Error::msg)
}

/// The requests so far.
#[derive(Default)]
struct Asked {
    at_all: bool,
    to_terminate: bool,
}

/// The action when the user asks for an end.
#[derive(Debug, PartialEq)]
enum Answer {
    /// To end now.
    AtOnce,
    /// To end what is under way; whether there is a limit for that from now on.
    InTime(bool),
}

impl Asked {
    fn answer(&mut self, ask: Ask) -> Answer {
        let before = std::mem::replace(&mut self.at_all, true);
        match ask {
            Ask::Interrupt if before => Answer::AtOnce,
            Ask::Interrupt => Answer::InTime(false),
            Ask::Terminate => Answer::InTime(!std::mem::replace(&mut self.to_terminate, true)),
        }
    }
}

/// The time that a command has to end after a termination: within a second in all.
const GRACE: Duration = Duration::from_millis(900);

/// The additional time to put results together and write them: a disk may be slow.
const FINISHING_MOST: Duration = Duration::from_secs(10);

/// The time that a process has to end by itself after its parent ended.
const ORPHAN: Duration = Duration::from_secs(5);

/// Exit codes of processes that a signal ends, as shells have them: 128 and its number.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Whether there was a termination.
static IS_TERMINATED: AtomicBool = AtomicBool::new(false);

/// Whether results are being written.
static IS_WRITING: AtomicBool = AtomicBool::new(false);

/// Whether a reader has to read before this process continues.
static IS_PRINTING: AtomicBool = AtomicBool::new(false);

/// Whether this process does what takes its time and ends by itself.
fn is_finishing() -> bool {
    let has_ended = STOP.get().is_some_and(Stop::has_ended);
    let is_printing = IS_PRINTING.load(Ordering::Relaxed);
    IS_WRITING.load(Ordering::Relaxed) || has_ended && !is_printing
}

/// Writes results, in which a termination waits for them.
pub(crate) fn while_writing<T>(write: impl FnOnce() -> T) -> T {
    IS_WRITING.store(true, Ordering::Relaxed);
    let written = write();
    IS_WRITING.store(false, Ordering::Relaxed);
    written
}

/// Prints, in which no termination waits for the reader.
pub(crate) fn while_printing<T>(print: impl FnOnce() -> T) -> T {
    IS_PRINTING.store(true, Ordering::Relaxed);
    let printed = print();
    IS_PRINTING.store(false, Ordering::Relaxed);
    printed
}

/// Ends this process when `stop` is requested and it has not ended soon: the process that started it
/// may be gone.
pub(crate) fn end_after(stop: &Stop) {
    stop.then(|| end_within(ORPHAN, TERMINATED));
}

/// A thread that cannot be started is no reason to go on.
fn end_within(length: Duration, code: i32) {
    const LOOK: Duration = Duration::from_millis(50);
    let wait = move || {
        std::thread::sleep(length);
        let mut left = FINISHING_MOST;
        while is_finishing() && !left.is_zero() {
            std::thread::sleep(LOOK);
            left = left.saturating_sub(LOOK);
        }
        exit(code)
    };
    if std::thread::Builder::new().spawn(wait).is_err() {
        exit(code);
    }
}

/// Ends a measurement whose results are neither kept nor read any more.
pub(crate) fn if_nobody_reads() {
    if let Some(stop) = STOP.get()
        && !files::is_anything_kept()
        && console::reader_has_gone()
    {
        stop.request();
    }
}

/// The result of `work`, or `None` if the user ends it first. The work then continues in its
/// thread until the process ends.
pub(crate) fn unless_stopped<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>> {
    let done = unless(|| stop.is_requested(), work)?;
    if done.is_none() {
        // From here on a termination waits for what is written.
        stop.end();
    }
    Ok(done)
}

/// The same after a measurement that Ctrl-C may have ended: then a termination alone ends the work, and a second Ctrl-C ends
/// the process. After a termination the work is not begun.
pub(crate) fn unless_stopped_again<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>> {
    let before = stop.is_requested();
    let is_wanted = || IS_TERMINATED.load(Ordering::SeqCst) || !before && stop.is_requested();
    unless(is_wanted, work)
}

fn unless<T: Send + 'static>(
    is_wanted: impl Fn() -> bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>> {
    /// A user does not notice so much.
    const LOOK: Duration = Duration::from_millis(50);
    // One of many pieces of work may end before the first look.
    if is_wanted() {
        return Ok(None);
    }
    let (tell, told) = channel();
    let work = move || tell.send(work());
    let thread = std::thread::Builder::new().spawn(work);
    let thread = thread.context("cannot start a thread to simulate on")?;
    loop {
        match told.recv_timeout(LOOK) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if is_wanted() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    match thread.join() {
        Ok(_) => Ok(None),
        Err(panic) => std::panic::resume_unwind(panic),
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
    /// It waits on a thread of its own, which keeps the present timer slack: a thread with a slack
    /// of minutes would wait for minutes.
    pub(crate) fn listen() -> Result<Self> {
        let end = Cancel::new();
        let handler = end.clone();
        listen(move || handler.cancel())?;
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
    /// How long each step lasts
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

/// Naps, which end on any clock, at the slack of the thread.
fn is_wanted(end: &Cancel, length: Option<Nanos>) -> bool {
    let over = length.map_or(Tick::NEVER, |length| clock::now() + length);
    let mut nap = Nap::new();
    while clock::now() < over {
        match nap.until(over, Slack::Leave, Some(end)) {
            Reason::Event => return true,
            Reason::Standstill => return false,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_not_begun_after_an_end_is_wanted() {
        assert_eq!(unless(|| false, || 7).unwrap(), Some(7));
        assert_eq!(unless(|| true, || 7).unwrap(), None);
    }

    #[test]
    fn a_second_ctrl_c_ends_at_once_and_a_termination_in_time() {
        use Answer::{AtOnce, InTime};
        use Ask::{Interrupt, Terminate};
        for (asks, answers) in [
            (
                [Interrupt, Interrupt, Interrupt],
                [InTime(false), AtOnce, AtOnce],
            ),
            (
                [Terminate, Terminate, Interrupt],
                [InTime(true), InTime(false), AtOnce],
            ),
            (
                [Interrupt, Terminate, Terminate],
                [InTime(false), InTime(true), InTime(false)],
            ),
        ] {
            let mut asked = Asked::default();
            assert_eq!(asks.map(|ask| asked.answer(ask)), answers);
        }
    }
}
