//! Processes of an experiment: this program started again, with the program it
//! is to run.
//!
//! The input is one line of JSON, a [`Start`], then a line for the start of the experiment and for
//! each further phase. These lines have times, in nanoseconds of the clock. The end of the input
//! is the end of the experiment, and also comes when the parent process is killed. The output is
//! an empty line when the process is ready, and at the end the observations of its threads.

use std::ffi::OsString;
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use punctual_os::{Tick, program};
use punctual_program::machine::ThreadObservations;
use punctual_program::{Machine, Program, Refusal};
use serde::{Deserialize, Serialize};

use super::computer::Computer;
use super::timeline::{Timeline, tell};
use super::{HostMachine, Stop};

/// The command that runs one process of an experiment: it calls
/// [`HostMachine::serve`].
#[derive(Clone, Debug)]
pub struct ProcessCommand {
    program: PathBuf,
    args: Vec<OsString>,
}

impl ProcessCommand {
    /// The executable file `program`, with these arguments.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().collect(),
        }
    }

    /// It, not started yet.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        command
    }

    /// Starts it from the calling thread, which is the one it inherits from.
    pub(super) fn start(&self, start: &Start<&Program>) -> Result<(ChildStdin, Started), Refusal> {
        let text = serde_json::to_string(start).map_err(|why| start.failed(&why))?;
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| start.failed(&why))?;
        let mut inbox = child.stdin.take().expect("it was asked for");
        // One that is gone already says why when it is listened to.
        tell(&mut inbox, text);
        let name = start.name.clone();
        Ok((inbox, Started { name, child }))
    }
}

/// The input of a process.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Start<P> {
    /// The name of its first thread.
    pub(super) name: String,
    /// The program.
    pub(super) program: P,
    /// The phase it is in.
    pub(super) phase: usize,
    /// The CPUs that the experiment may use; a process that was started from a
    /// thread on one CPU sees only that.
    pub(super) cpus: Vec<usize>,
}

impl<P> Start<P> {
    fn failed(&self, why: &dyn std::fmt::Display) -> Refusal {
        Refusal::new(format!("cannot start the process `{}`: {why}", self.name))
    }
}

/// A process that was started.
#[derive(Debug)]
pub(super) struct Started {
    name: String,
    child: Child,
}

impl Started {
    /// Returns when it is there, or gone.
    pub(super) fn wait_until_there(&mut self) {
        if let Some(out) = &mut self.child.stdout {
            // One that is gone says why when it is heard out.
            let _ = out.read_exact(&mut [0]);
        }
    }

    /// The observations of its threads, after its end. `None` if it was ended before it could
    /// listen: Ctrl-C in a terminal reaches every process, also one that just starts.
    pub(super) fn observed(mut self) -> Result<Option<Vec<ThreadObservations>>, Refusal> {
        let mut text = Vec::new();
        let out = self.child.stdout.take().expect("it was asked for");
        let read = { out }.read_to_end(&mut text);
        let ended = self.child.wait();
        let failed = |why: &dyn std::fmt::Display| {
            Refusal::new(format!(
                "the process `{}` did not say what it observed: {why}",
                self.name
            ))
        };
        let status = read.and(ended).map_err(|why| failed(&why))?;
        if program::was_told_to_end(status) {
            return Ok(None);
        }
        let answer: Result<Vec<ThreadObservations>, String> =
            serde_json::from_slice(&text).map_err(|_| failed(&status))?;
        answer.map(Some).map_err(Refusal::new)
    }
}

impl HostMachine {
    /// Is one process of an experiment that another process runs. It reads its program from
    /// `input`, runs it until it or `input` ends, and writes its observations to `output`.
    ///
    /// # Errors
    /// The input is no program: `UnexpectedEof` if it ends too soon because the sender is gone.
    /// `BrokenPipe` if the reader of the observations is gone. Operations that this machine cannot
    /// do are part of the answer.
    pub fn serve(
        mut self,
        mut input: impl BufRead + Send + 'static,
        output: &mut impl Write,
    ) -> std::io::Result<()> {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let start: Start<Program> = serde_json::from_str(&line)?;
        self.cpus = Some(start.cpus);
        writeln!(output)?;
        output.flush()?;
        let timeline = Arc::new(Timeline::in_phase(start.phase));
        let listener = (Arc::clone(&timeline), self.stop.clone());
        std::thread::Builder::new().spawn(move || listen(input, &listener.0, &listener.1))?;
        // The first process keeps the books of the computer.
        let computer = Computer::default();
        let answer = self
            .check(&start.program)
            .and_then(|()| self.run_as(&start.name, &start.program, timeline, computer, false))
            .map(|observed| observed.threads)
            .map_err(|why| why.to_string());
        serde_json::to_writer(&mut *output, &answer)?;
        output.flush()
    }
}

/// Passes on the beginning, each phase that begins, and the end.
fn listen(input: impl BufRead, timeline: &Timeline, stop: &Stop) {
    for line in input.lines().map_while(Result::ok) {
        match line.trim().parse().map(Tick::from_ns) {
            Ok(at) if timeline.has_begun() => timeline.begin_phase(at),
            Ok(at) => timeline.begin(at),
            Err(_) => {}
        }
    }
    stop.request();
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::strategies::Defaults;
    use punctual_core::{Event, Method, Nanos, Rate, StrategySpec};
    use punctual_program::Probe;
    use punctual_program::Sample;
    use punctual_program::Setting;
    use punctual_program::machine::Recorder;
    use punctual_program::probe::OsClock;
    use punctual_program::program::{Due, Op, SpawnKind, Subject};
    use punctual_program::setting::{Policy, Power, Priority, Reservation, Throttling};

    /// One of each operation.
    fn everything() -> Program {
        let specs = [
            "precise:x=0.1",
            "timer:method=timerfd",
            "adaptive:weight=0.3",
        ];
        let specs = specs.map(|text| StrategySpec::parse(text, Defaults::ELSEWHERE).unwrap());
        let margins = [Defaults::ELSEWHERE, Defaults::WINDOWS].map(Defaults::fixed_margin);
        let subjects = StrategySpec::ALL.into_iter().chain(specs).chain(margins);
        let subjects: Vec<_> = subjects.map(Subject::Strategy).collect();
        let due = [Due::After(Nanos::MAX), Due::NextCycle];
        let mut ops: Vec<_> = due
            .map(|due| Op::Wait {
                with: 3,
                due,
                or: Some(Event(7)),
            })
            .into();
        ops.extend(Method::ALL.map(|method| Op::nap(method, Nanos::new(1))));
        ops.extend(
            OsClock::ALL
                .iter()
                .map(|clock| Op::Read(Probe::Cost(*clock))),
        );
        let settings = [
            Setting::Slack(Nanos::ZERO),
            Setting::Priority(Priority::RealTime),
            Setting::request(Nanos::from_ms(1)),
            Setting::release(Nanos::from_ms(1)),
            Setting::Window {
                visible: true,
                foreground: true,
                audible: false,
            },
            Setting::Throttling(Throttling::HonourRequests),
            Setting::Power(Power::Battery),
            Setting::Nice(-20),
            Setting::Slice(Nanos::from_ms(3)),
            Setting::Quota {
                time: Nanos::from_ms(20),
                period: Nanos::from_ms(100),
                burst: Nanos::from_ms(5),
            },
            Setting::Weight(200),
            Setting::Policy(Policy::Deadline(Reservation {
                runtime: Nanos::from_ms(1),
                deadline: Nanos::from_ms(2),
                period: Nanos::from_ms(3),
            })),
        ];
        ops.extend(settings.map(Op::Set));
        ops.extend([
            Op::Until(Nanos::from_secs(1)),
            Op::Work(Nanos::from_us(3)),
            Op::Yield,
            Op::Pace("60000/1001".parse::<Rate>().unwrap()),
            Op::Pin(3),
            Op::Signal(Event(1)),
            Op::Await(Event(2)),
            Op::Record,
            Op::Phase,
            Op::Exit,
        ]);
        let program = Program::of(
            Subject::Peer("tokio".to_owned()),
            vec![Op::repeat(u64::MAX, ops)],
        );
        Program {
            subjects,
            ops: vec![Op::spawn(SpawnKind::Process, "a \"b\"\n", program)],
        }
    }

    #[test]
    fn a_program_arrives_as_it_was_sent() {
        let sent = everything();
        let text = serde_json::to_string(&Start {
            name: "name".to_owned(),
            program: &sent,
            phase: 2,
            cpus: vec![0, 3],
        })
        .unwrap();
        assert!(!text.contains('\n'));
        let came: Start<Program> = serde_json::from_str(&text).unwrap();
        assert_eq!(came.program, sent);
        assert_eq!((came.phase, came.cpus), (2, vec![0, 3]));
    }

    /// As many levels as a scenario can have.
    #[test]
    fn a_deep_program_arrives() {
        let mut program = Program::default();
        for _ in 0..16 {
            program = Program::from(vec![Op::spawn(SpawnKind::Thread, "", program)]);
        }
        let text = serde_json::to_string(&program).unwrap();
        assert_eq!(serde_json::from_str::<Program>(&text).unwrap(), program);
    }

    #[test]
    fn observations_arrive_but_for_what_was_learned() {
        let now = Tick::from_ns(100);
        let mut recorder = Recorder::new(now, 1);
        let outcome = punctual_core::Outcome::default();
        recorder.sample(now, now, 3, outcome, Some(Nanos::new(9)));
        recorder.reading(Probe::Slack, Nanos::from_us(50));
        recorder.denied();
        let mut seen = recorder.finish(Default::default());
        assert_ne!(seen.sections[0].samples.first(), Some(Sample::default()));
        seen.learned = vec![Some(StrategySpec::Spin.build())];
        let text = serde_json::to_string(&seen).unwrap();
        let came: ThreadObservations = serde_json::from_str(&text).unwrap();
        seen.learned.clear();
        assert_eq!(came, seen);
    }

    #[test]
    fn what_has_learned_is_not_sent() {
        let spec = StrategySpec::Spin;
        let subject = Subject::Learned(spec, Box::new(spec.build()));
        assert!(serde_json::to_string(&subject).is_err());
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        let serve = |input: &'static str| {
            HostMachine::new(Stop::new()).serve(input.as_bytes(), &mut Vec::new())
        };
        for input in ["", "\n", "{}\n", "5\n"] {
            assert!(serve(input).is_err(), "{input:?}");
        }
    }
}
