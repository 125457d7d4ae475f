//! Runs a scenario, and turns what was observed into measurements.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_program::Machine;
use punctual_program::machine::{ComputerUse, IdleStretches, Observations, Section};
use punctual_record::{Cpu, Expectation, Late, Measurement, Value, modes, percentile};
use punctual_sim::{Limits, Model, SimMachine, Trace};
use serde_json::json;

use super::expect::Figure;
use super::group::{Group, began_here, mean};
use super::{Scenario, computer, judge, limits};

/// What a simulation of a scenario may come to: some minutes of real time, and
/// some hundred megabytes.
pub const LIMITS: Limits = Limits {
    steps: 1 << 31,
    // The director is one more.
    threads: limits::THREADS as usize + 1,
    samples: 1 << 22,
};

/// What the measurements of the whole computer have as their subject.
pub const COMPUTER: &str = "(computer)";

/// What came out of a scenario on one machine.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Phase by phase: one for each name of threads, and one of the computer.
    pub measurements: Vec<Measurement>,
    /// What the scenario says should come out of it on this model; on another
    /// machine its sources say nothing.
    pub expectations: Vec<Expectation>,
    /// Whether the user ended it before its end; what was measured until then is
    /// there.
    pub interrupted: bool,
    /// What happened, if that was asked for.
    pub trace: Option<Trace>,
}

/// What was observed, sorted out.
pub(super) struct Seen {
    /// For each phase, the threads by name, in the order of the scenario.
    pub(super) groups: Vec<Vec<(String, Group)>>,
    /// For each phase, if the model has a computer.
    pub(super) computer: Vec<ComputerUse>,
}

/// Says whether `model` can run `scenario`.
///
/// # Errors
/// Says in one line what the model cannot do.
pub fn check(scenario: &Scenario, model: &Model) -> Result<(), String> {
    let machine = SimMachine::new(model.clone(), 0);
    machine
        .check(&scenario.program)
        .map_err(|why| format!("{}: {why}", scenario.name))
}

/// Runs `scenario` on `model`, within [`LIMITS`].
///
/// # Errors
/// Says in one line what the model cannot do, or which limit was met.
pub fn run(scenario: &Scenario, model: &Model, seed: u64, traced: bool) -> Result<Ran, String> {
    check(scenario, model)?;
    let mut machine = machine(model, seed);
    let ran = if traced {
        let ran = machine.run_traced(&scenario.program);
        ran.map(|(observations, trace)| (observations, Some(trace)))
    } else {
        machine
            .run(&scenario.program)
            .map(|observations| (observations, None))
    };
    let (observations, trace) = ran.map_err(|why| on_model(scenario, model, &why))?;
    let seen = Seen::of(scenario, &observations);
    Ok(Ran {
        measurements: seen.measurements(scenario, model.name()),
        expectations: judge::expectations(scenario, model.name(), &seen),
        interrupted: observations.interrupted,
        trace,
    })
}

/// Runs `scenario` on a machine that is called `name`. What its sources expect
/// is of models, so nothing is expected here.
///
/// # Errors
/// Says in one line what the machine cannot do.
pub fn run_on(scenario: &Scenario, machine: &mut dyn Machine, name: &str) -> Result<Ran, String> {
    let observations = machine
        .run(&scenario.program)
        .map_err(|why| format!("{} on {name}: {why}", scenario.name))?;
    Ok(Ran {
        measurements: Seen::of(scenario, &observations).measurements(scenario, name),
        interrupted: observations.interrupted,
        ..Ran::default()
    })
}

/// The computer on which scenarios run.
pub(super) fn machine(model: &Model, seed: u64) -> SimMachine {
    SimMachine::new(model.clone(), seed).with_limits(LIMITS)
}

/// An error on a model, in one line.
pub(super) fn on_model(scenario: &Scenario, model: &Model, why: &dyn std::fmt::Display) -> String {
    format!("{} on {}: {why}", scenario.name, model.name())
}

impl Seen {
    fn of(scenario: &Scenario, observations: &Observations) -> Self {
        let mut begins = vec![Nanos::ZERO];
        for phase in &scenario.phases {
            begins.push(begins[begins.len() - 1] + phase.length);
        }
        let mut phases: Vec<BTreeMap<&str, Group>> = vec![BTreeMap::new(); scenario.phases.len()];
        for thread in &observations.threads {
            for (k, section) in thread.sections.iter().enumerate() {
                let phase = thread.first_phase + k;
                let length = scenario.phases.get(phase).map(|phase| phase.length);
                let is_last = k + 1 == thread.sections.len();
                if length.is_none_or(|length| is_last && is_only_the_end(section, length)) {
                    continue;
                }
                let began = if k == 0 { thread.began } else { begins[phase] };
                let group = phases[phase].entry(&thread.name).or_default();
                group.add(began, section);
            }
        }
        let in_order = |mut phase: BTreeMap<&str, Group>| {
            let names = scenario.names.iter();
            let groups = names.filter_map(|name| {
                let group = phase.remove(name.as_str())?;
                Some((name.clone(), group.finish()))
            });
            groups.collect()
        };
        Self {
            groups: phases.into_iter().map(in_order).collect(),
            computer: observations.computer.clone(),
        }
    }

    fn measurements(&self, scenario: &Scenario, on: &str) -> Vec<Measurement> {
        let mut all = Vec::new();
        for (k, phase) in scenario.phases.iter().enumerate() {
            let params = BTreeMap::from([
                ("scenario".to_owned(), Value::from(scenario.name.as_str())),
                ("on".to_owned(), on.into()),
                ("phase".to_owned(), phase.name.as_str().into()),
                ("phase_index".to_owned(), k.into()),
            ]);
            let used = self.computer.get(k);
            let tick = used.and_then(|used| used.interval);
            all.extend(self.groups[k].iter().map(|(name, group)| Measurement {
                subject: name.clone(),
                params: params.clone(),
                ..of_threads(group, tick)
            }));
            all.extend(used.map(|used| Measurement {
                experiment: "scenario".to_owned(),
                subject: COMPUTER.to_owned(),
                params,
                other: of_computer(used),
                ..Measurement::default()
            }));
        }
        all
    }
}

/// Whether a thread only ended in a phase, in its last section: soon after that began,
/// or after a wait that had begun before it.
fn is_only_the_end(section: &Section, phase: Nanos) -> bool {
    let Section {
        samples,
        readings,
        denied,
        cpu,
        stopped: _,
    } = section;
    let did_nothing = !samples.iter().any(began_here) && readings.is_empty() && *denied == 0;
    let woke = samples.last().map_or(Nanos::ZERO, |last| last.woke);
    let ended_in_it = cpu.elapsed.times(100) < phase.times(99);
    did_nothing && ended_in_it && (cpu.elapsed - woke).times(100) < phase
}

/// What threads of one name did; `tick` is the timer interval at the end of
/// the phase.
fn of_threads(group: &Group, tick: Option<Nanos>) -> Measurement {
    let late_ns = group.late();
    let per_wake = |total: f64| (group.wakes > 0).then(|| total / group.wakes as f64);
    let per_wake_ns = |total: Nanos| per_wake(total.as_ns() as f64);
    Measurement {
        experiment: "scenario".to_owned(),
        late_ns: Late::of(&late_ns),
        cpu: Cpu {
            fraction: group.cpu_share(),
            per_wait_ns: per_wake_ns(group.cpu),
            ..Cpu::default()
        },
        wakes_per_wait: per_wake(group.naps as f64),
        queued_per_wait_ns: per_wake_ns(group.queued),
        missed: group.missed,
        samples_late_ns: late_ns,
        samples_slept_ns: group.sleeps().iter().map(|s| s.slept.as_ns()).collect(),
        samples_woke_ns: group.sleeps().iter().map(|s| s.woke.as_ns()).collect(),
        other: details(group, tick),
        ..Measurement::default()
    }
}

/// What the record crate has no fields for.
fn details(group: &Group, tick: Option<Nanos>) -> BTreeMap<String, Value> {
    let mut other = BTreeMap::from([
        ("threads".to_owned(), group.threads.into()),
        ("cpu_total_ns".to_owned(), group.cpu.as_ns().into()),
        ("wakes".to_owned(), group.wakes.into()),
    ]);
    let mut add = |key: &str, value: Value| {
        other.insert(key.to_owned(), value);
    };
    if let Some(rate) = group.per_s(group.wakes) {
        add("wakes_per_s", rate.into());
    }
    if let Some((min, max)) = group.cpu_shares.filter(|_| group.threads > 1) {
        add("cpu_fraction", json!({ "min": min, "max": max }));
    }
    if group.denied > 0 {
        add("denied", group.denied.into());
    }
    let slept = group.slept();
    if let (Some(min), Some(max)) = (slept.first(), slept.last()) {
        let (n, mean, p50) = (slept.len(), mean(&slept), percentile(&slept, 500));
        add(
            "slept_ns",
            json!({ "n": n, "mean": mean, "p50": p50, "min": min, "max": max }),
        );
        let asked = group.sleeps().iter().map(|sleep| sleep.asked.as_ns());
        add(
            "asked_ns",
            json!({ "min": asked.clone().min(), "max": asked.max() }),
        );
        add("modes", json!(modes(&slept, tick.map(Nanos::as_ns))));
    }
    if let Some(max) = group.frames().last() {
        let (n, p50) = (group.frames().len(), percentile(group.frames(), 500));
        add("frame_ns", json!({ "n": n, "p50": p50, "max": max }));
    }
    let since = group.since_signal();
    if let Some(max) = since.last() {
        let (n, p50, p99) = (since.len(), percentile(since, 500), percentile(since, 990));
        add(
            "since_signal_ns",
            json!({ "n": n, "p50": p50, "p99": p99, "max": max }),
        );
    }
    let readings: BTreeMap<String, Value> = group
        .readings()
        .map(|(probe, read)| {
            let modes = modes(read, None);
            let reading =
                json!({ "mean": mean(read), "n": read.len(), "modes": modes, "samples": read });
            (format!("{probe}_ns"), reading)
        })
        .collect();
    if !readings.is_empty() {
        add("readings", json!(readings));
    }
    other
}

fn of_computer(used: &ComputerUse) -> BTreeMap<String, Value> {
    let mut other = BTreeMap::from([("cpus".to_owned(), used.cpus.into())]);
    for (key, figure) in [
        ("interrupts_per_s", Figure::InterruptsPerS),
        ("switches_per_s", Figure::SwitchesPerS),
        ("wakeups_per_s", Figure::WakeupsPerS),
        ("busy", Figure::Busy),
        ("good_idle", Figure::GoodIdle),
    ] {
        if let Some(value) = computer::figure(used, figure) {
            other.insert(key.to_owned(), value.into());
        }
    }
    let stretch = |s: &IdleStretches| json!({ "at_least_ns": s.at_least.as_ns(), "count": s.count, "total_ns": s.total.as_ns() });
    let stretches: Vec<Value> = used.idle.iter().map(stretch).collect();
    // Who tells of waking CPUs tells of idle ones: there may have been none.
    if used.waking.is_some() {
        other.insert("idle_stretches".to_owned(), stretches.into());
    }
    if !used.idle_states.is_empty() {
        let rested: u64 = used.idle_states.iter().map(|s| s.total.as_ns()).sum();
        let share = |total: Nanos| (rested > 0).then(|| total.as_ns() as f64 / rested as f64);
        let states: Vec<Value> = used
            .idle_states
            .iter()
            .map(|s| json!({ "name": s.name, "entered": s.entered, "share": share(s.total) }))
            .collect();
        other.insert("idle_states".to_owned(), states.into());
    }
    if let Some(interval) = used.interval {
        other.insert("interval_ns".to_owned(), interval.as_ns().into());
    }
    other
}

#[cfg(test)]
mod tests {
    use punctual_program::machine::{CpuUse, Sample};

    use super::*;

    #[test]
    fn who_ends_after_a_wait_of_the_phase_before_is_not_of_this_one() {
        let wait = |asked, woke| Sample {
            asked: Nanos::from_ms(asked),
            woke: Nanos::from_ms(woke),
            ..Sample::default()
        };
        let is_only_the_end = |samples: &[Sample], elapsed| {
            let section = Section {
                samples: samples.to_vec(),
                cpu: CpuUse {
                    elapsed: Nanos::from_ms(elapsed),
                    ..CpuUse::default()
                },
                ..Section::default()
            };
            is_only_the_end(&section, Nanos::from_ms(1_000))
        };
        assert!(is_only_the_end(&[], 1));
        assert!(!is_only_the_end(&[], 20));
        assert!(is_only_the_end(&[wait(16, 12)], 13));
        // It went on for a while, or waited here, or to the end of the phase.
        assert!(!is_only_the_end(&[wait(16, 12)], 40));
        assert!(!is_only_the_end(&[wait(16, 12), wait(16, 28)], 28));
        assert!(!is_only_the_end(&[wait(2_000, 1_000)], 1_000));
    }
}
