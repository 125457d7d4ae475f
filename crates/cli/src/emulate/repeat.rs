//! The program many times, under the rule and natively in turns.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use punctual_os::signals;
use punctual_preload::page::SLOTS;
use punctual_sim::Model;
use rustix::process::{Pid, Signal, kill_process_group};

use super::books::{Books, Waits};
use super::run::{Stage, cannot_run, prepared};
use super::summary::{shown, summary};
use super::{EmulateArgs, Failure, REFUSED};
use crate::say;

/// No run failed.
const ALIKE: u8 = 0;
/// Runs failed under the model, and none natively.
const FAILS: u8 = 1;
/// Runs failed natively too, or not all turns were whole.
const INCONCLUSIVE: u8 = 3;

/// Where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Emulated,
    Native,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Code(i32),
    Signal(i32),
}

impl Ended {
    fn of(status: ExitStatus) -> Self {
        let signal = || Self::Signal(status.signal().unwrap_or_default());
        status.code().map_or_else(signal, Self::Code)
    }

    fn is_failure(self) -> bool {
        self != Self::Code(0)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(0) => f.write_str("passes"),
            Self::Code(code) => write!(f, "fails with exit code {code}"),
            Self::Signal(signal) => write!(f, "is ended by signal {signal}"),
        }
    }
}

/// A run that ended by itself.
#[derive(Clone, Copy, Debug)]
struct Ran {
    side: Side,
    ended: Ended,
    seed: u64,
}

/// Runs the program so many times on each side, and says how often it failed; the exit code.
pub(super) fn run(
    args: &EmulateArgs,
    turns: u32,
    model: &Model,
    seed: u64,
    stage: &Stage<'_>,
) -> Result<u8, Failure> {
    signals::on_ask(|_| end()).map_err(|why| Failure::new(REFUSED, why.to_string()))?;
    let mut ran = Vec::new();
    let mut books = Books::default();
    for turn in 0..turns {
        // A first run can leave files behind that make the second one faster.
        let sides = match turn % 2 {
            0 => [Side::Emulated, Side::Native],
            _ => [Side::Native, Side::Emulated],
        };
        // Each slot of a process has a seed of its own.
        let seed = seed.wrapping_add(SLOTS as u64 * u64::from(turn));
        let mut said = Vec::new();
        for side in sides {
            let ended = match side {
                Side::Native => once(&mut stage.native(), stage)?,
                Side::Emulated => {
                    let (mut command, page) = stage.emulated(&prepared(args, model, seed)?, 0)?;
                    let ended = once(&mut command, stage)?;
                    let failed =
                        |why| Failure::new(REFUSED, format!("cannot read the page: {why}"));
                    if ended.is_some() {
                        books.add(Books::read(&page).map_err(failed)?);
                    }
                    ended
                }
            };
            let Some((ended, output)) = ended else { break };
            let where_it_is = match side {
                Side::Emulated => format!("under {}", model.name()),
                Side::Native => "natively".to_owned(),
            };
            said.push(format!("{ended} {where_it_is}"));
            let is_first = !ran
                .iter()
                .any(|ran: &Ran| ran.side == side && ran.ended.is_failure());
            if ended.is_failure() && is_first {
                say!("the first run that {ended} {where_it_is}; its output:");
                show(output);
            }
            ran.push(Ran { side, ended, seed });
        }
        if is_ended() {
            break;
        }
        if !args.quiet {
            say!("turn {} of {turns}: {}", turn + 1, said.join(", "));
        }
    }
    let answer = Answer::of(&ran);
    if is_ended() {
        say!("ended early, after {} whole runs", ran.len());
    }
    if !args.quiet && !ran.is_empty() {
        answer
            .lines(model, &books)
            .iter()
            .for_each(|line| say!("{line}"));
        summary(model, &books, args.verbose)
            .iter()
            .for_each(|line| say!("{line}"));
        say!("seed {seed}, and {SLOTS} more for each turn");
    }
    Ok(if is_ended() {
        INCONCLUSIVE
    } else {
        answer.code()
    })
}

/// The result of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    /// How many runs there were under the model and natively, and how many of them failed.
    emulated: [u64; 2],
    native: [u64; 2],
    /// The seed of the first run that failed under the model.
    failing: Option<u64>,
}

impl Answer {
    fn of(ran: &[Ran]) -> Self {
        let mut answer = Self::default();
        for one in ran {
            let counts = match one.side {
                Side::Emulated => &mut answer.emulated,
                Side::Native => &mut answer.native,
            };
            counts[0] += 1;
            counts[1] += u64::from(one.ended.is_failure());
            if one.side == Side::Emulated && one.ended.is_failure() {
                answer.failing.get_or_insert(one.seed);
            }
        }
        answer
    }

    const fn code(self) -> u8 {
        match (self.emulated[1], self.native[1]) {
            (0, 0) => ALIKE,
            (_, 0) => FAILS,
            _ => INCONCLUSIVE,
        }
    }

    /// It in words, with the waits that differ most.
    fn lines(self, model: &Model, books: &Books) -> Vec<String> {
        let [[runs, failed], [natively, failed_natively]] = [self.emulated, self.native];
        let (s, name) = (if runs == 1 { "" } else { "s" }, model.name());
        let most = books.that_differ_most();
        let names: Vec<String> = most.iter().map(|waits| waits.name_with_length()).collect();
        let named = match names.is_empty() {
            true => "no wait differs".to_owned(),
            false => format!("the waits that differ most: {}", names.join(", ")),
        };
        let mut lines = vec![format!(
            "fails in {failed} of {runs} run{s} under {name}, in {failed_natively} of {natively} natively; {named}"
        )];
        lines.extend(most.iter().map(|waits| differing(waits, runs)));
        if let Some(seed) = self.failing {
            lines.push(format!(
                "`--seed {seed}` has the ticks of the first run that failed under {name}"
            ));
        }
        lines
    }
}

/// How one kind of waits differs.
fn differing(waits: &Waits, runs: u64) -> String {
    format!(
        "  {}: {} by the rule, about {} here, {:.1} times a run",
        waits.name_with_length(),
        shown(waits.by_rule()),
        waits.native().map_or_else(|| "?".to_owned(), shown),
        waits.by_timer as f64 / runs.max(1) as f64,
    )
}

/// Runs the program to its end, with an input that is empty: how it ended, and its output. `None` if all was ended.
fn once(command: &mut Command, stage: &Stage<'_>) -> Result<Option<(Ended, File)>, Failure> {
    let failed = |why: io::Error| {
        Failure::new(
            REFUSED,
            format!("cannot keep the output of the program: {why}"),
        )
    };
    let output = tempfile::tempfile().map_err(failed)?;
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(failed)?)
        .stderr(output.try_clone().map_err(failed)?)
        // A signal ends all processes of a run, and none that this command belongs to.
        .process_group(0);
    if is_ended() {
        return Ok(None);
    }
    let mut child = command.spawn().map_err(cannot_run(&stage.file))?;
    GROUP.store(child.id() as i32, Ordering::SeqCst);
    if is_ended() {
        send(Signal::KILL);
    }
    let status = child.wait().map_err(cannot_run(&stage.file))?;
    if is_ended() {
        send(Signal::KILL);
        return Ok(None);
    }
    GROUP.store(0, Ordering::SeqCst);
    Ok(Some((Ended::of(status), output)))
}

/// Copies the output of a run to standard output. A reader that has gone does not matter.
fn show(mut output: File) {
    let _ = output
        .rewind()
        .and_then(|()| io::copy(&mut output, &mut io::stdout().lock()));
}

/// The processes of the run that is under way.
static GROUP: AtomicI32 = AtomicI32::new(0);

/// Whether the user wants an end.
static IS_ENDED: AtomicBool = AtomicBool::new(false);

fn is_ended() -> bool {
    IS_ENDED.load(Ordering::SeqCst)
}

fn send(signal: Signal) {
    if let Some(group) = Pid::from_raw(GROUP.load(Ordering::SeqCst)) {
        // They may have ended.
        let _ = kill_process_group(group, signal);
    }
}

/// Ends all within a second: the processes have half of it to end by themselves.
fn end() {
    IS_ENDED.store(true, Ordering::SeqCst);
    send(Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    send(Signal::KILL);
    // The answer takes a moment; its reader may not read.
    std::thread::sleep(Duration::from_millis(400));
    std::process::exit(128 + Signal::TERM.as_raw());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(runs: &[(Side, i32)]) -> Answer {
        let ran = runs.iter().zip(0..).map(|((side, code), seed)| Ran {
            side: *side,
            ended: Ended::Code(*code),
            seed,
        });
        Answer::of(&ran.collect::<Vec<_>>())
    }

    #[test]
    fn the_exit_code_says_on_which_side_it_fails() {
        use Side::{Emulated, Native};
        for (runs, code) in [
            (&[(Emulated, 0), (Native, 0)][..], 0),
            (&[(Emulated, 0), (Native, 0), (Native, 0), (Emulated, 7)], 1),
            (&[(Emulated, 1), (Native, 1)], 3),
            (&[(Emulated, 0), (Native, 1)], 3),
        ] {
            assert_eq!(answer(runs).code(), code, "{runs:?}");
        }
        assert!(Ended::Signal(9).is_failure());
    }

    #[test]
    fn the_answer_counts_failures_on_both_sides() {
        use Side::{Emulated, Native};
        let runs = [
            (Emulated, 0),
            (Native, 0),
            (Native, 1),
            (Emulated, 2),
            (Emulated, 3),
        ];
        let model = Model::parse("windows-11").unwrap();
        assert_eq!(
            answer(&runs).lines(&model, &Books::default()),
            [
                "fails in 2 of 3 runs under windows-11, in 1 of 2 natively; no wait differs",
                "`--seed 3` has the ticks of the first run that failed under windows-11",
            ]
        );
    }
}
