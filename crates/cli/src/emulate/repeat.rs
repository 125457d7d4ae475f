//! The program many times, under the rule and natively in turns.

use std::fs::File;
use std::io::{self, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use punctual_os::signals;
use punctual_preload::page::{Run as Rules, SLOTS};
use punctual_record::{Emulated, EmulatedRun, EmulatedWaits};
use punctual_sim::Model;
use punctual_supervise::Event;
use rustix::process::{Pid, Signal, kill_process_group};

use super::books::Books;
use super::record::{Output, emulated};
use super::run::{ended, prepared, to_its_end, under};
use super::stage::{Stage, cannot_write};
use super::summary::{shown, summary};
use super::{EmulateArgs, Failure};
use crate::exec::REFUSED;
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

/// The end of a run in words.
fn in_words(run: EmulatedRun) -> String {
    match (run.exit_code, run.signal.unwrap_or_default()) {
        (Some(0), _) => "passes".to_owned(),
        (Some(code), _) => format!("fails with exit code {code}"),
        (None, signal) => format!("is ended by signal {signal}"),
    }
}

/// Runs the program so many times on each side, and says how often it failed; the exit code.
pub(super) fn run(
    args: &EmulateArgs,
    turns: u32,
    model: &Model,
    first: &Rules,
    stage: &Stage<'_>,
    output: Output,
) -> Result<u8, Failure> {
    signals::on_ask(|_| end()).map_err(|why| Failure::new(REFUSED, why.to_string()))?;
    let mut runs: Vec<EmulatedRun> = Vec::new();
    let mut books = Books::default();
    for turn in 0..turns {
        // A first run can leave files behind that make the second one faster.
        let sides = match turn % 2 {
            0 => [Side::Emulated, Side::Native],
            _ => [Side::Native, Side::Emulated],
        };
        // Each slot of a process has a seed of its own.
        let seed = first.seed.wrapping_add(SLOTS as u64 * u64::from(turn));
        let mut said = Vec::new();
        for side in sides {
            let (ran, place) = match side {
                Side::Native => (
                    once(&mut stage.native(), stage, None)?,
                    "natively".to_owned(),
                ),
                Side::Emulated => {
                    let rules = prepared(args, model, seed)?;
                    let (mut command, page) = under(&rules, stage, 0)?;
                    let ran = once(&mut command, stage, Some((&rules, &page)))?;
                    if ran.is_some() {
                        books.add(Books::read(&page).map_err(cannot_write("the summary"))?);
                    }
                    (ran, format!("under {}", model.name()))
                }
            };
            let Some((ran, printed)) = ran else { break };
            let how = format!("{} {place}", in_words(ran));
            let failed_before =
                |one: &EmulatedRun| one.is_failure() && one.seed.is_some() == ran.seed.is_some();
            if ran.is_failure() && !runs.iter().any(failed_before) {
                say!("the first run that {how}; its output:");
                show(printed);
            }
            said.push(how);
            runs.push(ran);
        }
        if is_ended() {
            break;
        }
        if !args.quiet {
            say!("turn {} of {turns}: {}", turn + 1, said.join(", "));
        }
    }
    if is_ended() {
        say!("ended early, after {} whole runs", runs.len());
    }
    let emulated = emulated(args, (first, stage.checked.by), runs, &books);
    if !args.quiet && !emulated.runs.is_empty() {
        let answer = answer(model, &emulated);
        let summary = summary(model, &books, &emulated, args.verbose);
        answer
            .iter()
            .chain(&summary)
            .for_each(|line| say!("{line}"));
        say!("seed {}, and {SLOTS} more for each turn", first.seed);
    }
    output.write(model, first.seed, &emulated, is_ended())?;
    Ok(match is_ended() {
        true => INCONCLUSIVE,
        false => code(&emulated),
    })
}

fn code(emulated: &Emulated) -> u8 {
    match emulated.counts() {
        [[_, 0], [_, 0]] => ALIKE,
        [_, [_, 0]] => FAILS,
        _ => INCONCLUSIVE,
    }
}

/// The answer, a line each, with the waits that differ most.
fn answer(model: &Model, emulated: &Emulated) -> Vec<String> {
    let [[runs, failed], [natively, failed_natively]] = emulated.counts();
    let (s, name) = (if runs == 1 { "" } else { "s" }, model.name());
    let most = emulated.that_differ_most();
    let names: Vec<String> = most.iter().map(|waits| with_length(waits)).collect();
    let named = match names.is_empty() {
        true => "no wait differs".to_owned(),
        false => format!("the waits that differ most: {}", names.join(", ")),
    };
    let mut lines = vec![format!(
        "fails in {failed} of {runs} run{s} under {name}, in {failed_natively} of {natively} natively; {named}"
    )];
    lines.extend(most.iter().map(|waits| {
        format!(
            "  {}: {} by the rule, about {} here, {:.1} times a run",
            with_length(waits),
            shown(waits.by_rule_ns),
            shown(waits.native_ns),
            waits.not_by_event() as f64 / runs.max(1) as f64,
        )
    }));
    let mut failing = emulated.runs.iter().filter(|run| run.is_failure());
    if let Some(seed) = failing.find_map(|run| run.seed) {
        lines.push(format!(
            "`--seed {seed}` has the ticks of the first run that failed under {name}"
        ));
    }
    lines
}

/// A kind of waits, with its length.
fn with_length(waits: &EmulatedWaits) -> String {
    match waits.line_asked_ns {
        Some(_) => waits.name(),
        None => format!(
            "{} of {}",
            waits.name(),
            punctual_report::units::ms(waits.asked_ns, 1)
        ),
    }
}

/// Runs the program to its end, with an input that is empty: the run, and its output. `None` if all was ended.
fn once(
    command: &mut Command,
    stage: &Stage<'_>,
    emulated: Option<(&Rules, &File)>,
) -> Result<Option<(EmulatedRun, File)>, Failure> {
    let failed = cannot_write("the output of the program");
    let output = tempfile::tempfile().map_err(&failed)?;
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(&failed)?)
        .stderr(output.try_clone().map_err(&failed)?)
        // A signal ends all processes of a run, and none that this command belongs to.
        .process_group(0);
    if is_ended() {
        return Ok(None);
    }
    let status = to_its_end(command, stage, emulated, |event| {
        if let Event::Started(program) = event {
            GROUP.store(program as i32, Ordering::SeqCst);
        }
        if is_ended() {
            send(Signal::KILL);
        }
    })?;
    if is_ended() {
        send(Signal::KILL);
        return Ok(None);
    }
    GROUP.store(0, Ordering::SeqCst);
    let seed = emulated.map(|(rules, _)| rules.seed);
    Ok(Some((ended(seed, status), output)))
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

    /// The seed of an emulated run, and the exit code.
    fn runs(runs: &[(Option<u64>, i32)]) -> Emulated {
        let run = |&(seed, code)| EmulatedRun {
            seed,
            exit_code: Some(code),
            signal: None,
        };
        Emulated {
            runs: runs.iter().map(run).collect(),
            ..Emulated::default()
        }
    }

    #[test]
    fn the_exit_code_says_on_which_side_it_fails() {
        for (ran, expected) in [
            (&[(Some(1), 0), (None, 0)][..], 0),
            (&[(Some(1), 0), (None, 0), (None, 0), (Some(2), 7)], 1),
            (&[(Some(1), 1), (None, 1)], 3),
            (&[(Some(1), 0), (None, 1)], 3),
        ] {
            assert_eq!(code(&runs(ran)), expected, "{ran:?}");
        }
    }

    #[test]
    fn the_answer_names_failures_waits_and_a_seed() {
        let mut ran = runs(&[
            (Some(3), 0),
            (None, 0),
            (None, 1),
            (Some(4), 2),
            (Some(5), 3),
        ]);
        let model = Model::parse("windows-11").unwrap();
        let begin = "fails in 2 of 3 runs under windows-11, in 1 of 2 natively; ";
        let end = "`--seed 4` has the ticks of the first run that failed under windows-11";
        assert_eq!(
            answer(&model, &ran),
            [&format!("{begin}no wait differs"), end]
        );
        ran.waits.push(EmulatedWaits {
            call: "poll".to_owned(),
            ended_by_timer: 6,
            asked_ns: 1_000_000,
            native_ns: Some(1_050_000),
            by_rule_ns: Some(15_600_000),
            ..EmulatedWaits::default()
        });
        assert_eq!(
            answer(&model, &ran),
            [
                &format!("{begin}the waits that differ most: poll of 1.0 ms"),
                "  poll of 1.0 ms: 15.600 ms by the rule, about 1.050 ms here, 2.0 times a run",
                end
            ]
        );
    }
}
