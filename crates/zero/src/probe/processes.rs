//! Two processes that allocate one page, fill it and free it, over and over. This is the
//! page-zeroing article's test, in which Windows zeroed one page at a time.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use punctual_core::Nanos;
use punctual_lab::host::{ProcessCommand, Stop};
use punctual_os::{clock, program, usage};
use punctual_program::Refusal;
use punctual_zero_memory::PAGE;
use serde::{Deserialize, Serialize};

use super::ProbePart;
use super::blocks::{Watched, fill_fresh, settling_time};
use super::ledger::{Case, Place, Rounds, paid_since};
use crate::rows::{Paid, Payments, ProcessesAccount, ZeroProbe};

/// The block that each of the two processes allocates each time.
pub(super) const BLOCK: usize = PAGE;

/// The number of processes at once: the article's program starts itself once more.
const PROCESSES: usize = 2;

/// The cost of an iteration besides touching and unmapping a page: two system calls, a few times
/// as much as the page.
const CALLS: f64 = 5.0;

/// How often it looks whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the test once in each round. Each process is `command`, which calls [`serve`].
pub(super) fn processes(command: ProcessCommand, iterations: u64, place: Place) -> Case {
    let processes = Processes {
        command,
        iterations,
        place,
    };
    let part = move |account| {
        ZeroProbe::Processes(ProcessesAccount {
            bytes: BLOCK as u64,
            processes: PROCESSES as u64,
            iterations,
            account,
        })
    };
    Case {
        part: ProbePart::Processes,
        name: "two processes".to_owned(),
        length: Box::new(move |ns_per_page| {
            let ns = iterations as f64 * ns_per_page * CALLS;
            Nanos::new(ns as u64) + settling_time().times(2)
        }),
        rounds: Rounds::Payments {
            subject: "zeropage-test",
            go: Box::new(move || processes.round()),
            part: Box::new(part),
            done: Vec::new(),
        },
    }
}

#[derive(Debug)]
struct Processes {
    command: ProcessCommand,
    iterations: u64,
    place: Place,
}

impl Processes {
    /// The reports of both. When the user wants an end they end with what they
    /// have, unless they do not listen yet.
    fn reports(&self) -> Result<Option<(Payments, Vec<Report>)>, Refusal> {
        let mut processes = Vec::new();
        for _ in 0..PROCESSES {
            processes.push(Process::start(&self.command, self.iterations)?);
        }
        for process in &mut processes {
            process.wait_until_there();
        }
        let watched = Watched::now(&self.place)?;
        for process in &mut processes {
            process.line("");
        }
        let reports = self.hear_out(processes)?;
        let Some(reports) = reports else {
            return Ok(None);
        };
        Ok(Some((watched.until_settled(&self.place)?, reports)))
    }

    /// Listens on threads, one for each, because a process may end without a
    /// word.
    fn hear_out(&self, processes: Vec<Process>) -> Result<Option<Vec<Report>>, Refusal> {
        let (tell, heard) = channel();
        let mut inputs = Vec::new();
        for process in processes {
            let Process { child, input, .. } = process;
            inputs.push(input);
            let tell = tell.clone();
            let listen = move || {
                // The other side is there until all have been heard.
                let _ = tell.send(report(child, process.output));
            };
            let thread = std::thread::Builder::new().spawn(listen);
            thread.map_err(|why| failed(&why))?;
        }
        let mut reports = Vec::new();
        while reports.len() < PROCESSES {
            if self.place.stop.is_requested() {
                // A process ends when its input ends.
                inputs.clear();
            }
            match heard.recv_timeout(LOOK) {
                Ok(report) => reports.push(report?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
        // One that was told to end by the user before it listened has none.
        Ok(reports.into_iter().collect())
    }

    fn round(&self) -> Result<Option<Payments>, Refusal> {
        let Some((watched, reports)) = self.reports()? else {
            return Ok(None);
        };
        if let Some(why) = reports.iter().find_map(|report| report.failed.as_ref()) {
            return Err(failed(why));
        }
        let began = reports.iter().map(|report| report.began_ns).min();
        let ended = reports.iter().map(|report| report.ended_ns).max();
        let iterations: u64 = reports.iter().map(|report| report.iterations).sum();
        let paid = reports.iter().map(|report| report.paid);
        Ok(Some(Payments {
            wall_ns: ended.unwrap_or(0) - began.unwrap_or(0),
            bytes: iterations * BLOCK as u64,
            children: paid.reduce(|a, b| Some(sum(a?, b?))).flatten(),
            ..watched
        }))
    }
}

struct Process {
    child: Child,
    /// Dropping it ends the process.
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start(command: &ProcessCommand, iterations: u64) -> Result<Self, Refusal> {
        let start = serde_json::to_string(&Start { iterations }).map_err(|why| failed(&why))?;
        let mut child = command
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| failed(&why))?;
        let input = child.stdin.take().expect("it was asked for");
        let output = child.stdout.take().expect("it was asked for");
        let mut process = Self {
            child,
            input,
            output: BufReader::new(output),
        };
        process.line(&start);
        Ok(process)
    }

    /// One that has ended need not hear it.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.input, "{text}").and_then(|()| self.input.flush());
    }

    /// Returns when it is there, or gone.
    fn wait_until_there(&mut self) {
        let _ = self.output.read_line(&mut String::new());
    }
}

/// The report of a process after its end. `None` if it was ended before it could listen: Ctrl-C in
/// a terminal reaches every process, also one that just starts.
fn report(mut child: Child, mut output: impl Read) -> Result<Option<Report>, Refusal> {
    let mut text = String::new();
    let read = output.read_to_string(&mut text);
    let status = child.wait().map_err(|why| failed(&why))?;
    if program::was_told_to_end(status) {
        return Ok(None);
    }
    read.map_err(|why| failed(&why))?;
    serde_json::from_str(&text).map_err(|_| failed(&status))
}

fn failed(why: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(format!("a process of the test failed: {why}"))
}

fn sum(a: Paid, b: Paid) -> Paid {
    Paid {
        user_ns: a.user_ns + b.user_ns,
        system_ns: a.system_ns + b.system_ns,
        faults: a.faults.zip(b.faults).map(|(a, b)| a + b),
    }
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Start {
    pub(super) iterations: u64,
}

/// The result of a process.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Report {
    pub(super) iterations: u64,
    /// When it began, on the clock that all processes share.
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    /// The CPU time it was charged in between; `None` where that is not counted.
    pub(super) paid: Option<Paid>,
    /// Why it ended before its end, if it did.
    pub(super) failed: Option<String>,
}

/// Runs one of the two processes for its parent. It reads its work from `input` and does it until
/// it is done, `input` ends or `stop` is requested. It writes the cost to `output`.
///
/// # Errors
/// The input is not that of a probe: `UnexpectedEof` if it ends too soon because the sender is
/// gone. `BrokenPipe` if the reader is gone.
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
    // A block is over at once, so that nothing need end it.
    let place = Place::default();
    while done < iterations && !stop.is_requested() {
        if let Err(refusal) = fill_fresh(BLOCK, &place) {
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
        paid: paid_since(after, before),
        failed,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// The answer to these lines. Their end would end the process, so they come from an input that
    /// stays open.
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
