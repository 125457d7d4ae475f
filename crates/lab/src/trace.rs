//! The events of a simulation, for a trace viewer.
//!
//! The Chrome trace event format (Google, "Trace Event Format", 2016), which
//! <https://ui.perfetto.dev> opens: one process for the CPUs with a track for
//! each, one for the phases, and the processes of the scenario with a track
//! for each thread. Times are microseconds with as many decimals as make them
//! exact.

use std::collections::BTreeSet;

use punctual_core::Nanos;
use punctual_sim::Trace;
use punctual_sim::trace::Happened;

use crate::scenario::Scenario;

const PHASES: usize = 1;
const CPUS: usize = 2;
/// The numbers of processes and threads come after this. No two tracks have
/// the same number, whatever their process: viewers mix them up.
const PROCESSES: usize = 1_000;
const THREADS: usize = 1_000_000;

/// The trace of a run of `scenario` on `model`, as JSON.
pub fn chrome_trace(scenario: &Scenario, model: &str, trace: &Trace) -> String {
    let blocked = vec![None; trace.threads.len()];
    let json = String::new();
    let mut events = Events {
        trace,
        blocked,
        json,
    };
    let end = scenario.length();
    events.name_process(PHASES, "phases", 0);
    events.name_process(CPUS, &format!("CPUs of {model}"), 1);
    events.name_thread(PHASES, PHASES, "phase");
    let mut begin = Nanos::ZERO;
    for phase in &scenario.phases {
        events.slice((PHASES, PHASES), &phase.name, (begin, phase.length), "");
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
    format!(
        "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n",
        events.json
    )
}

/// A thread's block: since when, and its name.
type Blocked = Option<(Nanos, String)>;

/// The events of a trace, as they are written.
struct Events<'t> {
    trace: &'t Trace,
    blocked: Vec<Blocked>,
    json: String,
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
            self.name_thread(CPUS, cpu_track(cpu), &format!("CPU {cpu}"));
        }
        let mut named = BTreeSet::new();
        for (id, thread) in trace.threads.iter().enumerate() {
            if thread.name.is_empty() {
                continue;
            }
            let process = PROCESSES + thread.process;
            if named.insert(process) {
                self.name_process(process, &thread.name, process);
            }
            self.name_thread(process, THREADS + id, &thread.name);
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
                    self.slice((CPUS, cpu_track(*cpu)), name, (*from, length), "");
                    let args = format!("\"cpu\":{cpu}");
                    let running = (*from, length);
                    self.slice(self.track(*thread), "running", running, &args);
                }
            }
            Happened::Interval(interval) => {
                let args = format!("\"us\":{}", us(*interval));
                self.push("C", (CPUS, 0), "timer interval (us)", at, "", &args);
            }
            Happened::Ended(thread) => self.unblock(*thread, at),
            Happened::Phase(_) => {}
        }
    }

    /// Draws what a thread was blocked in, if it was.
    fn unblock(&mut self, id: usize, at: Nanos) {
        if let Some((since, name)) = self.blocked[id].take() {
            self.slice(self.track(id), &name, (since, at - since), "");
        }
    }

    /// The process and the track of a thread.
    fn track(&self, id: usize) -> (usize, usize) {
        (PROCESSES + self.trace.threads[id].process, THREADS + id)
    }

    fn name_process(&mut self, pid: usize, name: &str, order: usize) {
        for (what, args) in [
            ("process_name", format!("\"name\":{}", quoted(name))),
            ("process_sort_index", format!("\"sort_index\":{order}")),
        ] {
            self.push("M", (pid, 0), what, Nanos::ZERO, "", &args);
        }
    }

    fn name_thread(&mut self, pid: usize, tid: usize, name: &str) {
        let args = format!("\"name\":{}", quoted(name));
        self.push("M", (pid, tid), "thread_name", Nanos::ZERO, "", &args);
    }

    fn slice(
        &mut self,
        track: (usize, usize),
        name: &str,
        (from, length): (Nanos, Nanos),
        args: &str,
    ) {
        let duration = format!(",\"dur\":{}", us(length));
        self.push("X", track, name, from, &duration, args);
    }

    fn wake(&mut self, id: usize, at: Nanos, why: &str) {
        self.unblock(id, at);
        let args = format!("\"why\":{}", quoted(why));
        self.push("i", self.track(id), "timer", at, ",\"s\":\"t\"", &args);
    }

    fn push(
        &mut self,
        phase: &str,
        (pid, tid): (usize, usize),
        name: &str,
        at: Nanos,
        more: &str,
        args: &str,
    ) {
        let before = if self.json.is_empty() { "" } else { ",\n" };
        let name = quoted(name);
        let at = us(at);
        self.json += &format!(
            "{before}{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}{more},\
             \"name\":{name},\"args\":{{{args}}}}}"
        );
    }
}

fn cpu_track(cpu: usize) -> usize {
    CPUS + 1 + cpu
}

/// A string in JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Microseconds, exactly: what is written of such a number is the least that tells it from
/// others.
fn us(time: Nanos) -> f64 {
    time.as_ns() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        for (ns, text) in [
            (0, "0"),
            (1, "0.001"),
            (1_500, "1.5"),
            (20_000, "20"),
            (86_399_999_999_999, "86399999999.999"),
        ] {
            assert_eq!(us(Nanos::new(ns)).to_string(), text);
        }
    }
}
