//! Turns what was observed of a scenario into measurements.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_program::machine::{self, ComputerUse, IdleStretches, Observations, Section};
use punctual_record::experiment::{
    BeganBefore, IdleState, IdleStretch, Lengths, Phase, Range, Reading, ScenarioComputer,
    ScenarioThreads, Tail,
};
use punctual_record::{Cpu, Experiment, Late, Measurement, modes, percentile};

use super::Scenario;
use super::expect::{Figure, energy_impact};
use super::group::{Group, Sleep, began_here, mean};

/// The subject of the measurements of the whole computer.
pub const COMPUTER: &str = "(computer)";

/// The observations, sorted.
pub(super) struct Seen {
    /// For each phase, the threads by name, in the order of the scenario.
    pub(super) groups: Vec<Vec<(String, Group)>>,
    /// For each phase, if the model has a computer.
    pub(super) computer: Vec<ComputerUse>,
}

impl Seen {
    pub(super) fn of(scenario: &Scenario, observations: &Observations) -> Self {
        let mut begins = vec![Nanos::ZERO];
        for phase in &scenario.phases {
            begins.push(begins[begins.len() - 1] + phase.length);
        }
        let mut phases: Vec<BTreeMap<&str, Group>> = vec![BTreeMap::new(); scenario.phases.len()];
        for thread in &observations.threads {
            for (k, section) in thread.sections.iter().enumerate() {
                let phase = thread.first_phase + k;
                let Some(length) = scenario.phases.get(phase).map(|phase| phase.length) else {
                    continue;
                };
                let is_last = k + 1 == thread.sections.len();
                if is_last && is_only_the_end(section, length) {
                    continue;
                }
                // The last is shorter where the user ended it.
                let length = match observations.computer.get(phase) {
                    Some(used) if observations.interrupted => used.elapsed,
                    _ => length,
                };
                let began = if k == 0 { thread.began } else { begins[phase] };
                let group = phases[phase].entry(&thread.name).or_default();
                group.add(began, length, section);
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

    pub(super) fn measurements(&self, scenario: &Scenario, on: &str) -> Vec<Measurement> {
        let mut all = Vec::new();
        for (k, phase) in scenario.phases.iter().enumerate() {
            let at = Phase {
                scenario: scenario.name.clone(),
                on: on.to_owned(),
                phase: phase.name.clone(),
                phase_index: k as u64,
            };
            let used = self.computer.get(k);
            let tick = used.and_then(|used| used.interval);
            let groups = self.groups[k].iter();
            all.extend(groups.map(|(name, group)| of_threads(name, group, tick, at.clone())));
            all.extend(used.map(|used| {
                let computer = Experiment::ScenarioComputer(Box::new(of_computer(used, at)));
                Measurement::of(computer, COMPUTER)
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
    let did_nothing =
        !samples.iter().any(|sample| began_here(&sample)) && readings.is_empty() && *denied == 0;
    let woke = || samples.iter().last().map_or(Nanos::ZERO, |last| last.woke);
    let ended_in_it = cpu.elapsed.times(100) < phase.times(99);
    did_nothing && ended_in_it && (cpu.elapsed - woke()).times(100) < phase
}

/// The measurement of the threads of one name; `tick` is the timer interval at the end of the
/// phase.
fn of_threads(name: &str, group: &Group, tick: Option<Nanos>, at: Phase) -> Measurement {
    let late_ns = group.late();
    let per_wake = |total: f64| (group.wakes > 0).then(|| total / group.wakes as f64);
    let per_wake_ns = |total: Nanos| per_wake(total.as_ns() as f64);
    let threads = Experiment::Scenario(Box::new(threads(group, tick, at)));
    Measurement {
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
        samples_slept_ns: group.sleeps.iter().map(|s| s.slept.as_ns()).collect(),
        samples_woke_ns: group.sleeps.iter().map(|s| s.woke.as_ns()).collect(),
        ..Measurement::of(threads, name)
    }
}

fn threads(group: &Group, tick: Option<Nanos>, at: Phase) -> ScenarioThreads {
    let slept = group.slept();
    let asked = || group.sleeps.iter().map(|sleep| sleep.asked.as_ns());
    let fractions = group.cpu_shares.filter(|_| group.threads > 1);
    let readings = group.readings.iter().map(|(probe, read)| {
        let reading = Reading {
            mean: mean(read).unwrap_or_default(),
            n: read.len() as u64,
            modes: modes(read, None),
            samples: read.clone(),
        };
        (format!("{probe}_ns"), reading)
    });
    ScenarioThreads {
        at,
        threads: group.threads,
        cpu_total_ns: group.cpu.as_ns(),
        wakes: group.wakes,
        wakes_per_s: group.per_s(group.wakes),
        cpu_fractions: fractions.map(|(min, max)| Range { min, max }),
        denied: group.denied,
        slept_ns: Lengths::of(&slept),
        asked_ns: asked()
            .min()
            .zip(asked().max())
            .map(|(min, max)| Range { min, max }),
        modes: modes(&slept, tick.map(Nanos::as_ns)),
        frame_ns: tail(&group.frames),
        since_signal_ns: tail(&group.since_signal),
        readings: readings.collect(),
        began_before: group.began_before.iter().map(began_before).collect(),
        samples_asked_ns: match group.sleeps.iter().all(|sleep| sleep.late.is_some()) {
            true => Vec::new(),
            false => asked().collect(),
        },
    }
}

fn began_before(sleep: &Sleep) -> BeganBefore {
    BeganBefore {
        asked_ns: sleep.asked.as_ns(),
        slept_ns: sleep.slept.as_ns(),
        woke_ns: sleep.woke.as_ns(),
    }
}

fn tail(sorted: &[u64]) -> Option<Tail> {
    Some(Tail {
        n: sorted.len() as u64,
        p50: percentile(sorted, 500),
        p99: percentile(sorted, 990),
        max: *sorted.last()?,
    })
}

fn of_computer(used: &ComputerUse, at: Phase) -> ScenarioComputer {
    let figure = |figure| computer_figure(used, figure);
    let stretch = |s: &IdleStretches| IdleStretch {
        at_least_ns: s.at_least.as_ns(),
        count: s.count,
        total_ns: s.total.as_ns(),
    };
    let rested: u64 = used.idle_states.iter().map(|s| s.total.as_ns()).sum();
    let state = |s: &machine::IdleState| IdleState {
        name: s.name.clone(),
        entered: s.entered,
        share: (rested > 0).then(|| s.total.as_ns() as f64 / rested as f64),
    };
    ScenarioComputer {
        at,
        cpus: used.cpus as u64,
        interrupts_per_s: figure(Figure::InterruptsPerS),
        switches_per_s: figure(Figure::SwitchesPerS),
        wakeups_per_s: figure(Figure::WakeupsPerS),
        busy: figure(Figure::Busy),
        good_idle: figure(Figure::GoodIdle),
        // A machine that tells of waking CPUs also tells of idle ones: there may have been none.
        idle_stretches: used.waking.map(|_| used.idle.iter().map(stretch).collect()),
        idle_states: used.idle_states.iter().map(state).collect(),
        power_w: figure(Figure::Power),
        interval_ns: used.interval.map(Nanos::as_ns),
    }
}

/// An idle stretch of this length or more saves power as it should
/// (timer-rule article: "8 ms or more").
const GOOD_STRETCH: Nanos = Nanos::from_ms(8);

/// A figure of the computer; `None` where there is nothing to take it from.
pub(super) fn computer_figure(used: &ComputerUse, figure: Figure) -> Option<f64> {
    let over = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let share = |part: Nanos, whole: Nanos| over(part.as_ns() as f64, whole.as_ns() as f64);
    let elapsed = used.elapsed.as_secs_f64();
    match figure {
        Figure::InterruptsPerS => over(used.interrupts? as f64, elapsed),
        Figure::SwitchesPerS => over(used.switches? as f64, elapsed),
        Figure::WakeupsPerS => over(used.wakeups? as f64, elapsed),
        Figure::Busy => share(used.busy?, used.elapsed.times(used.cpus as u64)),
        Figure::EnergyImpact => Some(energy_impact(
            share(used.busy?, used.elapsed)?,
            over(used.wakeups? as f64, elapsed)?,
        )),
        Figure::Power => over(used.energy_uj? as f64 / 1e6, elapsed),
        Figure::GoodIdle => {
            let good = |at_least: Nanos| at_least >= GOOD_STRETCH;
            share(idle(used, good), idle(used, |_| true))
        }
        _ => None,
    }
}

/// The idle time in stretches of some lengths.
fn idle(used: &ComputerUse, some: impl Fn(Nanos) -> bool) -> Nanos {
    let stretches = used.idle.iter().filter(|stretch| some(stretch.at_least));
    stretches.fold(Nanos::ZERO, |sum, stretch| sum + stretch.total)
}

#[cfg(test)]
mod tests {
    use punctual_program::Sample;
    use punctual_program::machine::CpuUse;

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
                samples: samples.to_vec().into(),
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

    #[test]
    fn figures_of_a_phase() {
        let stretches = |at_least, ms| IdleStretches {
            at_least: Nanos::from_ms(at_least),
            count: 1,
            total: Nanos::from_ms(ms),
        };
        let used = ComputerUse {
            elapsed: Nanos::from_secs(2),
            cpus: 4,
            busy: Some(Nanos::from_secs(2)),
            interrupts: Some(128),
            switches: Some(32),
            wakeups: Some(64),
            energy_uj: Some(3_000_000),
            idle: vec![stretches(4, 100), stretches(8, 200), stretches(16, 100)],
            ..ComputerUse::default()
        };
        for (what, is) in [
            (Figure::InterruptsPerS, 64.0),
            (Figure::SwitchesPerS, 16.0),
            (Figure::WakeupsPerS, 32.0),
            (Figure::Busy, 0.25),
            (Figure::GoodIdle, 0.75),
            // One busy CPU, and 32 wake-ups of 0.02 each.
            (Figure::EnergyImpact, 100.64),
            (Figure::Power, 1.5),
        ] {
            assert_eq!(computer_figure(&used, what), Some(is));
        }
        assert_eq!(computer_figure(&used, Figure::Cpu), None);
        for what in [Figure::Busy, Figure::Power, Figure::SwitchesPerS] {
            assert_eq!(computer_figure(&ComputerUse::default(), what), None);
        }
    }
}
