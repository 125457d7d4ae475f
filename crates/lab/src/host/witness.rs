//! Other users of the CPUs during a measurement.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use punctual_core::Nanos;
use punctual_os::cgroups::CpuGroups;
use punctual_os::facts::{self, CpuTimes};
use punctual_os::processes::Runtimes;
use punctual_os::thread::allowed_cpus;
use punctual_os::{clock, stops, usage};
use punctual_program::machine::Stopped;
use punctual_record::{Disturbance, OtherProcess, StealDoubt, Throttled, visible};

use super::clocks::Clocks;
use super::{STEAL_STEPS, lock};
use crate::wall_clock::{Reading, WallClock};

/// Looks at the computer before and after each batch, and never during one, so that it
/// costs a measurement nothing. Clones are the same.
///
/// Where many threads make a look expensive it looks less often: it takes at most a
/// fiftieth of the time.
#[derive(Clone, Debug)]
pub struct Witness(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    groups: CpuGroups,
    last: Option<Look>,
    seen: Disturbance,
    by_process: BTreeMap<(u32, String), Nanos>,
    others: Option<Nanos>,
    /// In nanoseconds; signed, as idle time is counted in steps that even out.
    unseen: Option<i64>,
    /// The time of all CPUs that were looked at.
    time: Nanos,
    /// How long each CPU that may be used was idle before the first batch.
    idle: Vec<(usize, Nanos)>,
    /// Whether the counter of stolen time fell.
    has_steal_fallen: bool,
    wall_clock: WallClock,
    clocks: Clocks,
    /// Whether there was a batch since the last look.
    is_behind: bool,
}

/// Of what this process measures from now on.
impl Default for Witness {
    fn default() -> Self {
        stops::note();
        let groups = CpuGroups::of_this_process();
        let quota = groups.quota();
        Self(Arc::new(Mutex::new(Inner {
            groups,
            seen: Disturbance {
                quota,
                ..Disturbance::default()
            },
            idle: facts::idle_of_each(&allowed_cpus()),
            ..Inner::default()
        })))
    }
}

impl Witness {
    /// Looks before and after `batch`, which is on `cpus`.
    pub fn during<T>(&self, cpus: &[usize], batch: impl FnOnce() -> T) -> T {
        lock(&self.0).begin(cpus);
        let done = batch();
        lock(&self.0).end();
        done
    }

    /// Waits were left out, as this process was stopped.
    pub(crate) fn left_out(&self, waits: impl Iterator<Item = Stopped>) {
        let sum = &mut lock(&self.0).seen.own_stops;
        for stopped in waits {
            sum.waits += stopped.waits;
            sum.late_ns += stopped.late.as_ns();
            sum.missed += stopped.missed;
        }
    }

    /// The disturbance by now; `None` if there was no batch.
    pub fn disturbance(&self) -> Option<Disturbance> {
        let mut inner = lock(&self.0);
        inner.look(|_| true);
        (!inner.time.is_zero()).then(|| {
            let idle = facts::idle_of_each(&allowed_cpus());
            Disturbance {
                quieter_cpu: quieter(&inner.idle, &idle, &inner.seen.cpus),
                ..inner.sum()
            }
        })
    }
}

/// Of the CPUs that nothing was measured on the one that was idle most, if that is longer than
/// any of those was.
fn quieter(before: &[(usize, Nanos)], now: &[(usize, Nanos)], measured: &[usize]) -> Option<usize> {
    let idle = |cpu: usize| {
        let of = |all: &[(usize, Nanos)]| all.iter().find(|(it, _)| *it == cpu).map(|(_, ns)| *ns);
        Some(of(now)? - of(before)?)
    };
    let most_here = measured.iter().filter_map(|cpu| idle(*cpu)).max()?;
    let others = now.iter().map(|(cpu, _)| *cpu);
    let others = others.filter(|cpu| !measured.contains(cpu));
    let (most, cpu) = others.filter_map(|cpu| Some((idle(cpu)?, cpu))).max()?;
    (most > most_here).then_some(cpu)
}

impl Inner {
    /// A look that is younger than this is not repeated: later events count for the next batch.
    const STILL: Nanos = Nanos::from_ms(50);

    /// A look may take this part of the time.
    const SHARE: u64 = 50;

    fn begin(&mut self, cpus: &[usize]) {
        let is_fresh = |last: &Look| {
            last.cpus == cpus && clock::now().since(last.at) <= Self::STILL.max(last.worth())
        };
        if !self.last.as_ref().is_some_and(is_fresh) {
            // Activity since the last look is not lost.
            self.look(|_| true);
            let look = Look::at(cpus, &self.groups, &self.clocks);
            self.wall_clock.read(look.clocks);
            self.last = Some(look);
        }
    }

    fn end(&mut self) {
        self.is_behind = true;
        self.look(|last| clock::now().since(last.at) >= last.worth());
    }

    /// Adds what happened in batches since the last look, if that `is_due`.
    fn look(&mut self, is_due: impl Fn(&Look) -> bool) {
        if self.is_behind
            && let Some(last) = self.last.take_if(|last| is_due(last))
        {
            let now = Look::at(&last.cpus, &self.groups, &self.clocks);
            self.wall_clock.read(now.clocks);
            self.add(&last, &now);
            self.last = Some(now);
            self.is_behind = false;
        }
    }

    /// Adds what happened between two looks.
    fn add(&mut self, before: &Look, now: &Look) {
        let elapsed = now.at.since(before.at);
        let time = elapsed.times(now.cpus.len() as u64);
        self.time += time;
        let seen = &mut self.seen;
        seen.elapsed_ns += elapsed.as_ns();
        for cpu in &now.cpus {
            if !seen.cpus.contains(cpu) {
                seen.cpus.push(*cpu);
            }
        }
        let mut others = Nanos::ZERO;
        if let (Some(before), Some(now_ran)) = (&before.runtimes, &now.runtimes) {
            let ran = now_ran.others_since(before);
            for ran in ran.into_iter().filter(|ran| now.cpus.contains(&ran.cpu)) {
                others += ran.time;
                *self.by_process.entry((ran.pid, ran.name)).or_default() += ran.time;
            }
            self.others = Some(self.others.unwrap_or_default() + others);
        }
        if let (Some(was), Some(is)) = (before.times, now.times) {
            self.has_steal_fallen |= is.stolen < was.stolen;
            let stolen = is.stolen - was.stolen;
            let known = (is.idle - was.idle) + stolen + others + (now.own - before.own);
            let signed = |length: Nanos| i64::try_from(length.as_ns()).unwrap_or(i64::MAX);
            let unseen = signed(time).saturating_sub(signed(known));
            self.unseen = Some(self.unseen.unwrap_or(0).saturating_add(unseen));
            let before = seen.stolen_ns.unwrap_or(0);
            seen.stolen_ns = Some(before.saturating_add(stolen.as_ns()));
        }
        if let (Some(was), Some(is)) = (before.throttled, now.throttled) {
            seen.throttled_fell |= is.periods < was.periods || is.time_ns < was.time_ns;
            let sum = seen.throttled.unwrap_or_default();
            seen.throttled = Some(Throttled {
                periods: sum.periods + is.periods.saturating_sub(was.periods),
                time_ns: sum.time_ns + is.time_ns.saturating_sub(was.time_ns),
                periods_counted: (is.periods_counted.zip(was.periods_counted))
                    .map(|(is, was)| is.saturating_sub(was) + sum.periods_counted.unwrap_or(0)),
            });
        }
        if let (Some(was), Some(is)) = (before.suspended, now.suspended) {
            // The two clocks are not read at once.
            let suspended = (is - was).as_ns();
            seen.suspended_ns += if suspended < 1_000_000 { 0 } else { suspended };
        }
    }

    /// Why the counter of stolen time is unbelievable.
    fn steal_doubt(&self) -> Option<StealDoubt> {
        let stolen = self.seen.stolen_ns?;
        let most = self.time + STEAL_STEPS.times(self.seen.cpus.len() as u64);
        match self.has_steal_fallen {
            true => Some(StealDoubt::Fell),
            false => (stolen > most.as_ns()).then_some(StealDoubt::BeyondTime(stolen)),
        }
    }

    fn sum(&self) -> Disturbance {
        /// A smaller share is of no interest.
        const LEAST: f64 = 0.01;
        let mut seen = self.seen.clone();
        seen.cpus.sort_unstable();
        let share = |of: Nanos| of.as_ns() as f64 / self.time.as_ns() as f64;
        let processes = self
            .by_process
            .iter()
            .map(|((pid, name), ran)| OtherProcess {
                name: visible(name).into_owned(),
                pid: *pid,
                fraction: share(*ran),
            });
        seen.processes = processes.filter(|other| other.fraction >= LEAST).collect();
        seen.processes
            .sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
        seen.processes.truncate(8);
        // A thread may have run on another CPU than the one it was on last.
        seen.others_fraction = self.others.map(|others| share(others).min(1.0));
        let unseen = self.unseen.map(|ns| Nanos::new(ns.max(0) as u64));
        seen.unseen_fraction = unseen.map(share);
        seen.steal_doubt = self.steal_doubt();
        if seen.steal_doubt.is_some() {
            // Unseen activity is counted beside it.
            (seen.stolen_ns, seen.unseen_fraction) = (None, None);
        }
        // No quota can have stopped it.
        seen.throttled = seen.throttled.filter(|_| seen.quota.is_some());
        seen.throttled_fell &= seen.quota.is_some();
        if seen.throttled_fell {
            seen.throttled = None;
        }
        seen.clock_steps = self.wall_clock.steps();
        seen
    }
}

/// The counts at one instant.
#[derive(Debug)]
struct Look {
    at: punctual_os::Tick,
    cpus: Vec<usize>,
    runtimes: Option<Runtimes>,
    times: Option<CpuTimes>,
    /// The CPU time of this process, and of those it started that have ended.
    own: Nanos,
    throttled: Option<Throttled>,
    suspended: Option<Nanos>,
    clocks: Reading,
}

impl Look {
    fn at(cpus: &[usize], groups: &CpuGroups, clocks: &Clocks) -> Self {
        let at = clock::now();
        let own = [usage::of_process(), usage::of_children()]
            .into_iter()
            .flatten();
        Self {
            at,
            cpus: cpus.to_vec(),
            times: facts::cpu_times(cpus),
            own: own.fold(Nanos::ZERO, |sum, usage| sum + usage.cpu()),
            throttled: groups.throttled(),
            suspended: stops::suspended(),
            clocks: clocks.read(punctual_os::Tick::from_ns(0)),
            runtimes: Runtimes::read(),
        }
    }

    /// How long it should stand, for what it took.
    fn worth(&self) -> Nanos {
        let took = self.runtimes.as_ref().map(Runtimes::took);
        took.unwrap_or_default().times(Inner::SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::{ClockStep, CpuQuota};

    fn look(begun: punctual_os::Tick, i: u64) -> Look {
        let before = Nanos::from_ms(100 * i);
        Look {
            at: begun + before,
            cpus: vec![1],
            runtimes: None,
            times: None,
            own: Nanos::ZERO,
            throttled: None,
            suspended: None,
            clocks: Reading {
                before,
                wall_ns: 100_000_000 * i as i64,
                after: before,
                suspended: None,
                was_set: false,
            },
        }
    }

    /// The disturbance of a second of one CPU with ten looks.
    fn seen(looked: impl Fn(usize, Look) -> Look) -> Disturbance {
        let begun = clock::now();
        let looks = (0..11).map(|i| looked(i, look(begun, i as u64)));
        let looks: Vec<Look> = looks.collect();
        let mut inner = Inner {
            seen: Disturbance {
                quota: Some(CpuQuota::new(Nanos::from_ms(20), Nanos::from_ms(100))),
                ..Disturbance::default()
            },
            ..Inner::default()
        };
        for two in looks.windows(2) {
            inner.add(&two[0], &two[1]);
        }
        inner.sum()
    }

    /// The counter of stolen time at each look.
    fn stolen(stolen_ms: [u64; 11]) -> Disturbance {
        seen(|i, look| Look {
            times: Some(CpuTimes {
                idle: Nanos::from_ms(50 * i as u64),
                stolen: Nanos::from_ms(stolen_ms[i]),
            }),
            ..look
        })
    }

    fn growing_by(step_ms: u64) -> [u64; 11] {
        std::array::from_fn(|i| 1_000 + step_ms * i as u64)
    }

    #[test]
    fn another_cpu_is_quieter_if_it_was_idle_for_longer() {
        let idle =
            |ms: [u64; 3]| -> Vec<(usize, Nanos)> { (0..).zip(ms.map(Nanos::from_ms)).collect() };
        let of = |ms, measured: &[usize]| quieter(&idle([5_000, 0, 0]), &idle(ms), measured);
        assert_eq!(of([5_900, 700, 300], &[2]), Some(0));
        assert_eq!(of([5_200, 700, 300], &[2]), Some(1));
        assert_eq!(of([5_200, 100, 300], &[2]), None);
        assert_eq!(of([5_200, 700, 300], &[0, 1, 2]), None);
        assert_eq!(of([5_200, 700, 300], &[9]), None);
    }

    #[test]
    fn stolen_time_that_the_time_allows_is_believed() {
        for step_ms in [0, 30, 100] {
            let seen = stolen(growing_by(step_ms));
            assert_eq!(seen.stolen_ns, Some(10_000_000 * step_ms));
            assert_eq!(seen.steal_doubt, None);
            assert!(seen.unseen_fraction.is_some());
        }
    }

    #[test]
    fn a_counter_of_stolen_time_that_time_does_not_allow_is_not_used() {
        let beyond = stolen(growing_by(900));
        let doubt = StealDoubt::BeyondTime(9_000_000_000);
        assert_eq!(beyond.steal_doubt, Some(doubt));
        assert_eq!((beyond.stolen_ns, beyond.stolen_fraction()), (None, None));
        assert_eq!(beyond.unseen_fraction, None);
        let mut fallen = growing_by(10);
        fallen[5] = 3;
        assert_eq!(stolen(fallen).steal_doubt, Some(StealDoubt::Fell));
        let mut huge = growing_by(0);
        (huge[9], huge[10]) = (1 << 43, 1 << 43);
        assert!(stolen(huge).steal_doubt.is_some());
    }

    #[test]
    fn throttled_time_that_falls_is_said_and_not_used() {
        let throttled = |time_ms: [u64; 11]| {
            seen(|i, look| Look {
                throttled: Some(Throttled {
                    periods: i as u64,
                    time_ns: time_ms[i] * 1_000_000,
                    periods_counted: None,
                }),
                ..look
            })
        };
        let grows = throttled(growing_by(5));
        let all = Throttled {
            periods: 10,
            time_ns: 50_000_000,
            periods_counted: None,
        };
        assert_eq!((grows.throttled, grows.throttled_fell), (Some(all), false));
        let mut fallen = growing_by(5);
        fallen[5] = 3;
        let falls = throttled(fallen);
        assert_eq!((falls.throttled, falls.throttled_fell), (None, true));
    }

    #[test]
    fn steps_of_the_wall_clock_are_in_what_it_saw() {
        let mut inner = Inner::default();
        let begun = clock::now();
        for i in 0..10 {
            let mut clocks = look(begun, i).clocks;
            clocks.wall_ns += if i < 6 { 0 } else { -1_200_000_000 };
            inner.wall_clock.read(clocks);
        }
        let steps = inner.sum().clock_steps;
        let [ClockStep { at_ns, by_ns }] = steps[..] else {
            panic!("one step: {steps:?}");
        };
        assert_eq!((at_ns, by_ns), (600_000_000, -1_200_000_000));
    }
}
