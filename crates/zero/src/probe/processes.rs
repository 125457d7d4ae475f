//! Two processes that allocate one page, fill it and free it, over and over: the
//! page-zeroing article's test, in which Windows zeroed one page at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use punctual_core::Nanos;
use punctual_lab::host::{ProcessCommand, Stop};
use punctual_os::program;
use punctual_program::Refusal;

use super::ProbePart;
use super::amounts::BLOCK;
use super::case::Case;
use super::payers::{Watched, settling_time};
use super::process::{Report, Start};
use crate::rows::{Account, Paid, Payments, ProcessesAccount, ZeroProbe, ZeroRow};

/// So many at once: the article's program starts itself once more.
const PROCESSES: usize = 2;

/// What an iteration costs beside touching and unmapping a page: two calls of
/// the system, a few times as much as what they are about.
const CALLS: f64 = 5.0;

/// How often it looks whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the test once in each round.
#[derive(Debug)]
pub(super) struct Processes {
    command: ProcessCommand,
    iterations: u64,
    stop: Stop,
    rounds: Vec<Payments>,
}

impl Processes {
    /// Each process is `command`, which calls [`serve`](super::serve).
    pub(super) fn new(command: ProcessCommand, iterations: u64, stop: Stop) -> Self {
        Self {
            command,
            iterations,
            stop,
            rounds: Vec::new(),
        }
    }

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
        let watched = Watched::now();
        for process in &mut processes {
            process.line("");
        }
        let reports = self.hear_out(processes)?;
        Ok(reports.map(|reports| (watched.until_settled(), reports)))
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
            if self.stop.is_requested() {
                // Whose input ends, ends.
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
}

impl Case for Processes {
    fn part(&self) -> ProbePart {
        ProbePart::Processes
    }

    fn name(&self) -> String {
        "two processes".to_owned()
    }

    fn length(&self, ns_per_page: f64) -> Nanos {
        let ns = self.iterations as f64 * ns_per_page * CALLS;
        Nanos::new(ns as u64) + settling_time().times(2)
    }

    fn run(&mut self) -> Result<(), Refusal> {
        let Some((watched, reports)) = self.reports()? else {
            return Ok(());
        };
        if let Some(why) = reports.iter().find_map(|report| report.failed.as_ref()) {
            return Err(failed(why));
        }
        let began = reports.iter().map(|report| report.began_ns).min();
        let ended = reports.iter().map(|report| report.ended_ns).max();
        let iterations: u64 = reports.iter().map(|report| report.iterations).sum();
        let paid = reports.iter().map(|report| report.paid);
        self.rounds.push(Payments {
            wall_ns: ended.unwrap_or(0) - began.unwrap_or(0),
            bytes: iterations * BLOCK as u64,
            children: paid.reduce(|a, b| Some(sum(a?, b?))).flatten(),
            ..watched
        });
        Ok(())
    }

    fn measurements(&self) -> Vec<ZeroRow> {
        let probe = |account| {
            ZeroProbe::Processes(ProcessesAccount {
                bytes: BLOCK as u64,
                processes: PROCESSES as u64,
                iterations: self.iterations,
                account,
            })
        };
        let account = Account::of(&self.rounds).map(probe);
        let row = account.map(|account| ZeroRow::probe("zeropage-test", account));
        row.into_iter().collect()
    }
}

/// One of them.
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

/// What a process says in the end, once it has ended. `None` if it was told to
/// end before it could listen for that: Ctrl-C in a terminal reaches every
/// process, also one that just starts.
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
