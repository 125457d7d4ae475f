//! `punctual trace --try`: a program with a change and without it, in turns.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use anyhow::anyhow;
use punctual_lab::host::Stop;
use punctual_os::perf::Scope;
use punctual_preload::accurate::{Class, SPIN, SPIN_MOST};
use punctual_record::{Interval, Run, Tried, TriedRound, TriedWaits};
use punctual_report::units;
use punctual_trace::{Engine, Kind, Pooled, Slack};

use super::attempt::Attempt;
use super::follow::{self, Trace, after, deliver};
use super::program::Program;
use super::source::Source;
use super::{Failure, TraceArgs, facts, refused, run_of};
use crate::emulate::tried::{self, OfClass, Prepared, Seen, in_words};
use crate::exec::{self, code};
use crate::session::{self, Outputs};
use crate::stop;

/// Rounds each way: the fewest that show how much rounds differ.
const ROUNDS: u64 = 3;

/// A round that is over.
struct Round {
    engine: Engine,
    /// The source of its events, and what that does not see.
    by: &'static str,
    unseen: Vec<String>,
    /// The waits that the library measured.
    seen: Option<Seen>,
    /// How the program ended, unless that was the end of the time.
    ended: Option<ExitStatus>,
}

pub(super) fn run(args: &TraceArgs, attempt: &Attempt) -> Result<ExitCode, Failure> {
    let outputs = Outputs::new(&args.output).map_err(refused)?;
    let machine = session::host_facts();
    let library = match attempt {
        Attempt::Slack(_) => None,
        Attempt::Accurate => Some(tried::Change::Accurate),
        Attempt::Emulate(model) => Some(tried::Change::Emulate(model)),
    };
    let library = library.map(|change| tried::Tried::new(&args.command, change));
    let library = library.transpose().map_err(of_library)?;
    let rounds = Rounds {
        args,
        attempt,
        library,
        stop: stop::on_ctrl_c().map_err(refused)?,
    };
    let started_at = session::now();
    let (plain, changed) = rounds.all()?;
    rounds.stop.end();

    let waits = compared(&plain, &changed, attempt);
    let last = plain.last().ok_or_else(|| {
        let why = "it ended before the program ran once each way";
        refused(anyhow!("{why}: nothing can be compared"))
    })?;
    let mut facts = facts(&last.engine);
    last.by.clone_into(&mut facts.source);
    facts.unseen.clone_from(&last.unseen);
    // Of all rounds.
    let all = || plain.iter().chain(&changed).map(|round| &round.engine);
    facts.events = all().map(Engine::events).sum();
    facts.lost_events = all().map(Engine::lost).sum();
    facts.elapsed_ns = all().map(Engine::elapsed_ns).sum();
    let mut run: Run = run_of(&last.engine, facts);
    run.started_at = Some(started_at);
    run.machine = machine;
    run.interrupted = (changed.len() as u64) < ROUNDS;
    run.beside.tried = Some(Tried {
        change: attempt.to_string(),
        source: match rounds.library {
            Some(_) => "library".to_owned(),
            None => "perf".to_owned(),
        },
        waits,
    });
    let delivered = deliver(outputs, &args.output, &run);
    let mut ended = plain.iter().chain(&changed).filter_map(|round| round.ended);
    let failed = ended.find(|status| !status.success());
    Ok(after(failed.map_or(0, code), delivered.err()))
}

fn of_library(why: crate::emulate::Failure) -> Failure {
    (why.code, anyhow!(why.why))
}

struct Rounds<'a> {
    args: &'a TraceArgs,
    attempt: &'a Attempt,
    library: Option<tried::Tried<'a>>,
    stop: Stop,
}

impl Rounds<'_> {
    /// All rounds without the change, and as many with it: fewer if an end was wanted.
    fn all(&self) -> Result<(Vec<Round>, Vec<Round>), Failure> {
        let (mut plain, mut changed) = (Vec::new(), Vec::new());
        for turn in 0..ROUNDS {
            // A first run can leave files behind that make the second one faster.
            for is_changed in [turn % 2 == 1, turn % 2 == 0] {
                let Some(round) = self.one(turn, is_changed)? else {
                    plain.truncate(changed.len());
                    changed.truncate(plain.len());
                    return Ok((plain, changed));
                };
                match is_changed {
                    true => changed.push(round),
                    false => plain.push(round),
                }
            }
        }
        Ok((plain, changed))
    }

    /// Runs the program once; `None` if an end was wanted meanwhile.
    fn one(&self, turn: u64, is_changed: bool) -> Result<Option<Round>, Failure> {
        let prepared = self.library.as_ref();
        let prepared = prepared.map(|library| library.prepare(turn, is_changed));
        let mut prepared = prepared.transpose().map_err(of_library)?;
        let source = match Source::perf(Scope::Children) {
            // It only predicts what the library measures.
            Err((_, why)) if self.library.is_some() => Source::None(format!("{why:#}")),
            source => source?,
        };
        let (by, unseen) = (source.name(), source.unseen());
        let predicting = match self.attempt {
            Attempt::Slack(slack) => Slack(slack.as_ns()),
            Attempt::Accurate | Attempt::Emulate(_) => Slack::default(),
        };
        let mut trace = Trace::new(source, None, None)
            .map_err(refused)?
            .predicting(predicting);
        let mut program = self.start(prepared.as_mut(), is_changed)?;
        let end = trace.whole(Some(&mut program), None, self.args.length, &self.stop);
        if !end.is_over {
            return Ok(None);
        }
        let seen = prepared.map(|prepared| prepared.seen());
        Ok(Some(Round {
            by,
            unseen,
            seen: seen.transpose().map_err(of_library)?,
            ended: end.by_itself,
            engine: trace.into_engine(),
        }))
    }

    fn start(&self, prepared: Option<&mut Prepared>, is_changed: bool) -> Result<Program, Failure> {
        let mut plain;
        let command = match prepared {
            Some(prepared) => &mut prepared.command,
            None => {
                plain = Command::new(&self.args.command[0]);
                plain.args(&self.args.command[1..])
            }
        };
        // It is there for one round only.
        command.stdin(Stdio::null());
        // A program has the slack of the thread that starts it.
        let held = match self.attempt {
            Attempt::Slack(wanted) if is_changed => {
                Some(exec::hold_slack(*wanted).map_err(refused)?)
            }
            _ => None,
        };
        let started = Program::start(command);
        drop(held);
        started.map_err(|why| follow::not_started(self.args, &why))
    }
}

/// The waits of both sides, as they were measured.
fn compared(plain: &[Round], changed: &[Round], attempt: &Attempt) -> Vec<TriedWaits> {
    let seen =
        |rounds: &[Round]| -> Option<Vec<Seen>> { rounds.iter().map(|round| round.seen).collect() };
    match (attempt, seen(plain), seen(changed)) {
        (Attempt::Slack(_), ..) | (_, None, _) | (_, _, None) => {
            let pooled = |rounds: &[Round]| -> Vec<_> {
                rounds.iter().map(|round| round.engine.pooled()).collect()
            };
            by_thread(&pooled(plain), &pooled(changed))
        }
        (_, Some(before), Some(after)) => {
            let predicted = |class| match attempt {
                // The engine sees the waits of these rounds as they are.
                Attempt::Accurate => predicted(plain, &before, class),
                _ => by_rule(&before, &after, class),
            };
            by_class(&before, &after, predicted)
        }
    }
}

/// By thread, call and length, as the kernel shows them.
fn by_thread(
    plain: &[BTreeMap<Kind, Pooled>],
    changed: &[BTreeMap<Kind, Pooled>],
) -> Vec<TriedWaits> {
    let mut kinds: BTreeMap<&Kind, Pooled> = BTreeMap::new();
    for (kind, pooled) in plain.iter().flatten() {
        kinds.entry(kind).or_default().add(pooled);
    }
    let mut kinds: Vec<(&Kind, Pooled)> = kinds.into_iter().collect();
    let late = |pooled: &Pooled| pooled.by_time() as i64 * pooled.late_ns(500).unwrap_or(0);
    kinds.sort_by_key(|(_, pooled)| std::cmp::Reverse(late(pooled)));
    kinds.retain(|(_, pooled)| pooled.by_time() > 0);
    let rounds = |side: &[BTreeMap<Kind, Pooled>], kind: &Kind| -> Vec<TriedRound> {
        let round = |round: &BTreeMap<Kind, Pooled>| round.get(kind).map(round_of);
        side.iter()
            .map(|side| round(side).unwrap_or_default())
            .collect()
    };
    let waits = kinds.into_iter().map(|(kind, pooled)| {
        let length = pooled.asked_ns().map(|asked| units::duration(asked.mean));
        let length = length.map_or_else(String::new, |length| format!(" of {length}"));
        let predicted = plain
            .iter()
            .filter_map(|side| side.get(kind)?.late_ns_p50_with_slack());
        let predicted: Vec<f64> = predicted.map(|ns| ns as f64).collect();
        TriedWaits {
            waits: format!("Thread {}, {}{length}", kind.thread, kind.call.name()),
            predicted_ns_p50: Interval::of(&predicted),
            before: rounds(plain, kind),
            after: rounds(changed, kind),
        }
    });
    waits.collect()
}

fn round_of(pooled: &Pooled) -> TriedRound {
    let percentile = |thousandths| pooled.late_ns(thousandths).map(|ns| ns as f64);
    TriedRound {
        n: pooled.by_time(),
        late_ns_p50: percentile(500),
        late_ns_p99: percentile(990),
    }
}

/// By class of waits, as the library measured them.
fn by_class(
    before: &[Seen],
    after: &[Seen],
    predicted: impl Fn(Class) -> Option<Interval>,
) -> Vec<TriedWaits> {
    let rounds = |side: &[Seen], class: Class| -> Vec<TriedRound> {
        side.iter()
            .map(|seen| seen[class as usize].measured)
            .collect()
    };
    let waits = Class::ALL.map(|class| TriedWaits {
        waits: in_words(class).to_owned(),
        predicted_ns_p50: predicted(class),
        before: rounds(before, class),
        after: rounds(after, class),
    });
    let mut waits = Vec::from(waits);
    waits.retain(|waits| waits.n() != [0, 0]);
    waits.sort_by_key(|waits| std::cmp::Reverse(waits.n()[0]));
    waits
}

/// A figure of a class over rounds.
fn over(
    rounds: &[Seen],
    class: Class,
    figure: impl Fn(&OfClass) -> Option<f64>,
) -> Option<Interval> {
    let values = rounds
        .iter()
        .filter_map(|seen| figure(&seen[class as usize]));
    Interval::of(&values.collect::<Vec<_>>())
}

/// The median lateness that the engine predicts for a class. The kernel does not see the classes: semaphores and condition
/// variables are futexes to it. There is no prediction where it counts other waits than the library.
fn predicted(plain: &[Round], before: &[Seen], class: Class) -> Option<Interval> {
    let values = plain.iter().zip(before).map(|(round, seen)| {
        let mut all = Pooled::default();
        for (kind, pooled) in round.engine.pooled() {
            let is_of_class = match class {
                Class::Sleep => kind.call.is_sleep(),
                Class::Event => kind.call.is_for_events(),
                Class::Lock => kind.call.is_futex(),
            };
            if is_of_class {
                all.add(&pooled);
            }
        }
        let n = seen[class as usize].measured.n;
        let is_same = all.by_time().abs_diff(n) <= n / 20;
        let each_ns = round.engine.elapsed_ns() / all.ended().max(1);
        let late_ns = all.late_ns_p50_with_slack().filter(|_| is_same)?;
        Some(spun(late_ns, each_ns))
    });
    Interval::of(&values.collect::<Option<Vec<_>>>()?)
}

/// The median lateness of waits that nap for less and spin the rest. There is one in so many nanoseconds, and this is their
/// median without slack. They spin for more than that, because lateness weighs more than CPU time. The limits of a wait and of
/// a process may allow less.
fn spun(late_ns: i64, each_ns: u64) -> f64 {
    /// Guessed: the time that the call itself and its return take.
    const LEAST_NS: f64 = 1_000.0;
    let allowed = (SPIN * each_ns as f64).min(SPIN_MOST.as_ns() as f64);
    (late_ns as f64 - allowed).max(LEAST_NS)
}

/// The median lateness by the rule of a model. After its end a wait is as late as it is now.
fn by_rule(before: &[Seen], after: &[Seen], class: Class) -> Option<Interval> {
    let now = over(before, class, |of| of.measured.late_ns_p50)?;
    let rule = over(after, class, |of| of.by_rule_ns_p50)?;
    Some(rule.map(|ns| ns + now.median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_trace::text;

    /// The same events again and again, a second apart: enough waits for a percentile.
    fn repeated(events: &str) -> String {
        const INSTANTS_FROM: u64 = 10_000_000_000_000;
        let mut lines = events.split_inclusive('\n');
        let head: String = lines.by_ref().take(2).collect();
        let events: Vec<&str> = lines.collect();
        let later = |seconds: u64| {
            let words = events
                .iter()
                .flat_map(|line| line.split_inclusive(char::is_whitespace));
            words.map(move |word| match word.trim_end().parse::<u64>() {
                Ok(ns @ INSTANTS_FROM..) => {
                    let end = &word[word.trim_end().len()..];
                    format!("{}{end}", ns + seconds * 1_000_000_000)
                }
                _ => word.to_owned(),
            })
        };
        head + &(0..5).flat_map(later).collect::<String>()
    }

    fn recorded(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/recorded");
        std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap()
    }

    #[test]
    fn threads_are_compared_by_name_call_and_length() {
        let [plain, changed] = [["slack"; 3], ["usual"; 3]]
            .map(|side| side.map(|name| text::read(&recorded(name)).unwrap().pooled()));
        let waits = by_thread(&plain, &changed);
        let first = &waits[0];
        assert_eq!(first.waits, "Thread python3, clock_nanosleep of 5.00 ms");
        let [before, after] = first.late_ns_p50().unwrap();
        assert!(before.median > 2e6 && after.median < 2e6, "{first:?}");
        let predicted = first.predicted_ns_p50.unwrap().median;
        assert!(predicted < 200e3, "{first:?}");
        // Waits of one side only are there, without a figure of the other.
        let none = by_thread(&plain, &[BTreeMap::new(), BTreeMap::new(), BTreeMap::new()]);
        assert_eq!((none[0].after.len(), none[0].late_ns_p50()), (3, None));
    }

    #[test]
    fn classes_are_compared_as_the_library_measured_them() {
        let seen = |late| {
            let mut seen = Seen::default();
            seen[Class::Event as usize] = OfClass {
                measured: TriedRound {
                    n: 100,
                    late_ns_p50: Some(late),
                    late_ns_p99: None,
                },
                by_rule_ns_p50: Some(late - 1e3),
            };
            seen
        };
        let (before, after) = ([seen(60e3), seen(62e3)], [seen(5e6), seen(5.2e6)]);
        let waits = by_class(&before, &after, |class| by_rule(&before, &after, class));
        assert_eq!(waits.len(), 1);
        assert_eq!(waits[0].waits, "Timeouts of waits for events");
        assert_eq!(waits[0].predicted_ns_p50.unwrap().high, 5.26e6);
        assert_eq!(waits[0].n(), [200, 200]);
    }

    #[test]
    fn a_class_is_predicted_if_the_kernel_counts_the_same_waits() {
        // Timeouts of a condition variable.
        let events = repeated(&recorded("slack"))
            .replace("clock_nanosleep", "futex")
            .replace("exit 0", "exit -110");
        let round = Round {
            by: "perf",
            unseen: vec![],
            engine: text::read(&events).unwrap(),
            seen: None,
            ended: None,
        };
        let pooled = round.engine.pooled();
        let n = pooled.values().map(Pooled::by_time).sum();
        let predicted = |n, class| {
            let mut seen = Seen::default();
            seen[class as usize].measured.n = n;
            predicted(std::slice::from_ref(&round), &[seen], class)
        };
        assert!(predicted(n, Class::Lock).is_some());
        assert!(predicted(2 * n, Class::Lock).is_none());
        assert!(predicted(n, Class::Event).is_none());
    }

    #[test]
    fn spinning_hides_what_is_usual_and_the_budget_allows() {
        const MS: u64 = 1_000_000;
        assert_eq!(spun(50_000, 5 * MS), 1_000.0);
        // 5 % of 0.4 ms are 20 us.
        assert_eq!(spun(50_000, 4 * MS / 10), 30_000.0);
        // No wait spins for more than a millisecond.
        assert_eq!(spun(3 * MS as i64, 1_000 * MS), 2e6);
    }
}
