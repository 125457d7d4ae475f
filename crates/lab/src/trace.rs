//! The events of a simulation, for a trace viewer. One process has a track for each CPU and one has the phases. The
//! processes of the scenario have a track for each thread.

use std::collections::BTreeSet;

use punctual_core::Nanos;
use punctual_sim::Trace;
use punctual_sim::trace::Happened;

use crate::scenario::Scenario;
use crate::viewer::{HEAD, TAIL, Viewer, quoted, us};

const PHASES: usize = 1;
const CPUS: usize = 2;
/// The numbers of processes and threads come after this. No two tracks have
/// the same number, whatever their process: viewers mix them up.
const PROCESSES: usize = 1_000;
const THREADS: usize = 1_000_000;

/// The trace of a run of `scenario` on `model`, as JSON.
pub fn chrome_trace(scenario: &Scenario, model: &str, trace: &Trace) -> String {
    let blocked = vec![None; trace.threads.len()];
    let mut events = Events {
        trace,
        blocked,
        viewer: Viewer::default(),
    };
    let end = scenario.length();
    events.viewer.name_process(PHASES, "phases", 0);
    events
        .viewer
        .name_process(CPUS, &format!("CPUs of {model}"), 1);
    events.viewer.name_thread(PHASES, PHASES, "phase");
    let mut begin = Nanos::ZERO;
    for phase in &scenario.phases {
        events
            .viewer
            .slice((PHASES, PHASES), &phase.name, (begin, phase.length), "");
        begin += phase.length;
    }
    events.name_tracks();
    for (at, happened) in &trace.events {
        events.add(*at, happened);
    }
    // Events that had not ended when the simulation did, or when the trace was cut.
    let end = match trace.events.last() {
        Some((last, _)) if trace.is_cut => *last,
        Some((last, _)) => end.max(*last),
        None => end,
    };
    for id in 0..trace.threads.len() {
        events.unblock(id, end);
    }
    HEAD.to_owned() + &events.viewer.take() + TAIL
}

/// A thread's block: since when, and its name.
type Blocked = Option<(Nanos, String)>;

/// The events of a trace, as they are written.
struct Events<'t> {
    trace: &'t Trace,
    blocked: Vec<Blocked>,
    viewer: Viewer,
}

impl Events<'_> {
    /// Names what has a track; the experimenter, who has no name, has none.
    fn name_tracks(&mut self) {
        let trace = self.trace;
        let cpu = |(_, happened): &(Nanos, Happened)| match happened {
            Happened::Ran { cpu, .. } => Some(*cpu),
            _ => None,
        };
        let cpus: BTreeSet<usize> = trace.events.iter().filter_map(cpu).collect();
        for cpu in cpus {
            self.viewer
                .name_thread(CPUS, cpu_track(cpu), &format!("CPU {cpu}"));
        }
        let mut named = BTreeSet::new();
        for (id, thread) in trace.threads.iter().enumerate() {
            if thread.name.is_empty() {
                continue;
            }
            let process = PROCESSES + thread.process;
            if named.insert(process) {
                self.viewer.name_process(process, &thread.name, process);
            }
            self.viewer.name_thread(process, THREADS + id, &thread.name);
        }
    }

    fn add(&mut self, at: Nanos, happened: &Happened) {
        match happened {
            Happened::Armed {
                thread,
                method,
                due,
            } => {
                let length = *due - at;
                self.blocked[*thread] = Some((at, format!("{method} {length}")));
            }
            Happened::Expired { thread, why, .. } => {
                self.wake(*thread, at, &why.to_string());
            }
            Happened::Signalled { thread } => {
                self.wake(*thread, at, "an event was signalled");
            }
            Happened::Ran { thread, cpu, from } => {
                let name = &self.trace.threads[*thread].name;
                let length = at - *from;
                if !length.is_zero() {
                    self.viewer
                        .slice((CPUS, cpu_track(*cpu)), name, (*from, length), "");
                    let args = format!("\"cpu\":{cpu}");
                    let running = (*from, length);
                    self.viewer
                        .slice(self.track(*thread), "running", running, &args);
                }
            }
            Happened::Interval(interval) => {
                let args = format!("\"us\":{}", us(*interval));
                self.viewer
                    .push("C", (CPUS, 0), "timer interval (us)", at, "", &args);
            }
            Happened::Ended(thread) => self.unblock(*thread, at),
            Happened::Phase(_) => {}
        }
    }

    /// Draws what a thread was blocked in, if it was.
    fn unblock(&mut self, id: usize, at: Nanos) {
        if let Some((since, name)) = self.blocked[id].take() {
            self.viewer
                .slice(self.track(id), &name, (since, at - since), "");
        }
    }

    /// The process and the track of a thread.
    fn track(&self, id: usize) -> (usize, usize) {
        (PROCESSES + self.trace.threads[id].process, THREADS + id)
    }

    fn wake(&mut self, id: usize, at: Nanos, why: &str) {
        self.unblock(id, at);
        let args = format!("\"why\":{}", quoted(why));
        self.viewer
            .push("i", self.track(id), "timer", at, ",\"s\":\"t\"", &args);
    }
}

fn cpu_track(cpu: usize) -> usize {
    CPUS + 1 + cpu
}
