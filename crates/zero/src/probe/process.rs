//! One process of the two that allocate a page, over and over.
//!
//! What goes in is a line of JSON, a [`Start`]. What comes out is an empty line
//! when the process is there. What goes in next is an empty line when it is to
//! begin, and what comes out, in the end, is a line of JSON: a [`Report`]. The
//! end of what goes in ends it, and also comes when whoever started it is killed.

use std::io::{BufRead, Error, ErrorKind, Write};

use punctual_lab::host::Stop;
use punctual_os::{clock, usage};
use serde::{Deserialize, Serialize};

use super::amounts::BLOCK;
use super::blocks::fill_fresh;
use super::payers::paid;
use crate::rows::Paid;

/// What a process has to know.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Start {
    /// How often it allocates a page.
    pub(super) iterations: u64,
}

/// What became of it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Report {
    /// How often it did.
    pub(super) iterations: u64,
    /// When it began, on the clock that all processes share.
    pub(super) began_ns: u64,
    /// When it ended.
    pub(super) ended_ns: u64,
    /// What it was charged in between; `None` where that is not counted.
    pub(super) paid: Option<Paid>,
    /// Why it ended before its end, if it did.
    pub(super) failed: Option<String>,
}

/// Is one of the two processes, for whoever started it: hears what to do from
/// `input`, does it until it is done, `input` ends or `stop` is requested, and
/// says what it took on `output`.
///
/// # Errors
/// What comes in is not what a probe says: `UnexpectedEof` if it ends too soon,
/// because whoever sends it is gone. Nobody listens: `BrokenPipe`.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    output: &mut impl Write,
    stop: &Stop,
) -> std::io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let start: Start = serde_json::from_str(&line)?;
    writeln!(output)?;
    output.flush()?;
    if input.read_line(&mut line)? == 0 {
        return Err(Error::from(ErrorKind::UnexpectedEof));
    }
    let listener = stop.clone();
    std::thread::Builder::new().spawn(move || {
        // Nothing more is to come but the end.
        let _ = input.read_line(&mut String::new());
        listener.request();
    })?;
    serde_json::to_writer(&mut *output, &allocate(start.iterations, stop))?;
    writeln!(output)?;
    output.flush()
}

/// Gets a page, fills it and gives it back, so many times.
fn allocate(iterations: u64, stop: &Stop) -> Report {
    let before = usage::of_process();
    let began = clock::now();
    let mut done = 0;
    let mut failed = None;
    while done < iterations && !stop.is_requested() {
        if let Err(refusal) = fill_fresh(BLOCK) {
            failed = Some(refusal.to_string());
            break;
        }
        done += 1;
    }
    let ended = clock::now();
    let after = usage::of_process();
    Report {
        iterations: done,
        began_ns: began.as_ns(),
        ended_ns: ended.as_ns(),
        paid: after.zip(before).map(|(now, before)| paid(&now, &before)),
        failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// What it says to these lines. The end of them would end it, so they are
    /// read from something that goes on.
    fn said(lines: &'static str, iterations: u64) -> Report {
        let (input, mut keep) = std::io::pipe().unwrap();
        keep.write_all(lines.as_bytes()).unwrap();
        let mut output = Vec::new();
        let input = std::io::BufReader::new(input);
        serve(input, &mut output, &Stop::new()).unwrap();
        drop(keep);
        let text = String::from_utf8(output).unwrap();
        let report = text.strip_prefix('\n').unwrap();
        let report: Report = serde_json::from_str(report).unwrap();
        assert_eq!(report.iterations, iterations);
        report
    }

    #[test]
    fn it_does_what_it_is_told() {
        let report = said("{\"iterations\": 300}\n\n", 300);
        assert!(report.ended_ns > report.began_ns);
        assert_eq!(report.failed, None);
        if cfg!(target_os = "linux") {
            let page_bytes = punctual_zero_memory::page_bytes().unwrap();
            let least = 300 * BLOCK / page_bytes;
            assert!(report.paid.unwrap().faults.unwrap() >= least as u64);
        }
    }

    #[test]
    fn it_ends_when_it_is_stopped() {
        let stop = Stop::new();
        stop.request();
        assert_eq!(allocate(u64::MAX, &stop).iterations, 0);
    }

    /// Liveness: otherwise this would not end.
    #[test]
    fn it_ends_when_nobody_is_there_any_more() {
        let input = Cursor::new("{\"iterations\": 18446744073709551615}\n\n");
        let mut output = Vec::new();
        serve(input, &mut output, &Stop::new()).unwrap();
        assert!(!output.is_empty());
    }

    #[test]
    fn what_is_no_start_is_an_error() {
        for input in ["", "\n", "{}\n", "{\"iterations\": 1}\n"] {
            let served = serve(Cursor::new(input), &mut Vec::new(), &Stop::new());
            assert!(served.is_err(), "{input:?}");
        }
    }
}
