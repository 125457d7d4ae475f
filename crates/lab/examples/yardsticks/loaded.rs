//! The cost of spinning where others want the CPU, in virtual time.
//!
//! There a spin is paid twice. It ends late, when another thread has been given the CPU in the
//! midst of it. It also uses up what lets the next nap end on time. A waiter that takes the
//! following late naps for a reason to spin more is trapped.

use punctual_core::strategies::{AnyStrategy, Defaults};
use punctual_core::wait::{Event, Limit, Reason};
use punctual_core::{Clock, Driver, Goal, Method, Nanos, Rate, StrategySpec, Tick, drive};
use punctual_program::machine::Section;
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::{Machine, Program, Refusal};
use punctual_record::WEIGHTS;
use punctual_sim::{Model, Random, SimMachine, Time};

/// The cycles of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Loaded {
    /// Waits that were made, of those that there were cycles for.
    pub(crate) done: f64,
    /// CPU time as a part of all time.
    pub(crate) cpu: f64,
    /// Mean lateness, each counted up to 1 ms.
    pub(crate) late_ns: f64,
    /// The part of the seconds in which a fifth of the CPU or more was taken.
    pub(crate) trapped: f64,
}

/// More than a fifth of a CPU is no longer waiting.
const TRAPPED: f64 = 0.2;
const LATE_MAX_NS: i64 = 1_000_000;

impl Loaded {
    fn of(seconds: &[Second], hz: u64) -> Self {
        let sum = |part: fn(&Second) -> f64| seconds.iter().map(part).sum::<f64>();
        let (waits, count) = (sum(|s| s.waits), seconds.len() as f64);
        Self {
            done: waits / (hz as f64 * count),
            cpu: sum(|s| s.cpu) / count,
            late_ns: sum(|s| s.late_ns) / waits.max(1.0),
            trapped: sum(|s| f64::from(s.cpu > TRAPPED)) / count,
        }
    }
}

/// One of them, or so.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    waits: f64,
    /// As a part of it.
    cpu: f64,
    /// Of all waits together.
    late_ns: f64,
}

/// A loop for so many `seconds` beside a thread that computes all the time, on one CPU
/// of a Linux `model`, such as `linux-6.18,hz=1000`.
///
/// # Errors
/// There is no such model, or it lacks what the strategy needs.
pub(crate) fn beside_a_hog(
    model: &str,
    spec: StrategySpec,
    hz: u64,
    seconds: u64,
    seed: u64,
) -> Result<Loaded, Refusal> {
    let model = format!("{model},cpus=1,wake=40us,jitter=30us,nap=20us");
    let model = Model::parse(&model).map_err(Refusal::new)?;
    let rate = Rate::from_hz(hz).map_err(Refusal::new)?;
    let hog = Op::repeat(u64::MAX, [Op::Work(Nanos::from_ms(1))]);
    let mut ops = vec![Op::spawn(SpawnKind::Thread, "hog", vec![hog])];
    for _ in 0..seconds {
        let waits = Op::repeat(hz, [Op::wait(Due::NextCycle)]);
        ops.extend([Op::Record, Op::Pace(rate), waits]);
    }
    let program = Program::of(Subject::Strategy(spec), ops);
    let seen = SimMachine::new(model, seed).run(&program)?;
    let second = |section: &Section| {
        let late = section
            .samples
            .iter()
            .map(|s| s.outcome.late.as_ns().min(LATE_MAX_NS) as f64);
        let cpu = section.cpu.thread.unwrap_or_default().as_secs_f64();
        Second {
            waits: section.samples.len() as f64,
            cpu: cpu / section.cpu.elapsed.as_secs_f64(),
            late_ns: late.sum(),
        }
    };
    let threads = seen.threads.iter().take(1);
    let sections = threads.flat_map(|thread| thread.sections.iter().skip(1));
    let seconds: Vec<_> = sections.map(second).collect();
    Ok(Loaded::of(&seconds, hz))
}

/// A loop beside a hog, and what it costs over the best of the ways that learn nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// The Linux.
    pub(crate) model: &'static str,
    /// How often it waits a second.
    pub(crate) hz: u64,
    /// The cost of a nanosecond of lateness, in nanoseconds of CPU time.
    pub(crate) late_weight: f64,
    /// Its cost over theirs.
    pub(crate) over: f64,
    /// As [`Loaded::trapped`].
    pub(crate) trapped: f64,
}

/// With a tick as long as the loop's period who is late once is late again.
const MODELS: [&str; 4] = [
    "linux-6.6,hz=1000",
    "linux-6.18",
    "linux-6.18,hz=1000",
    "linux-7.1,hz=1000",
];
const RATES: [u64; 4] = [60, 250, 1_000, 3_000];
const CONSTANT: [&str; 4] = [
    "system",
    "max-nap",
    "fixed-margin",
    "fixed-margin:margin=60us:method=clock_nanosleep+slack=1ns",
];
const SEEDS: u64 = 3;
const SECONDS: u64 = 16;

/// The costs of `strategy` beside a hog on some versions of Linux, at 60 Hz to 3 kHz, for each
/// weight. In `strategy`, `{w}` stands for the weight.
///
/// # Errors
/// It is no strategy.
pub(crate) fn over_constant(strategy: &str) -> Result<Vec<Beside>, Refusal> {
    let mut all = Vec::new();
    for model in MODELS {
        for hz in RATES {
            let run = |name: &str| -> Result<Loaded, Refusal> {
                let spec = StrategySpec::parse(name, Defaults::ELSEWHERE);
                let spec = spec.map_err(Refusal::new)?;
                let mut mean = Loaded::default();
                for seed in 1..=SEEDS {
                    let seen = beside_a_hog(model, spec, hz, SECONDS, seed)?;
                    mean.cpu += seen.cpu / SEEDS as f64;
                    mean.late_ns += seen.late_ns / SEEDS as f64;
                    mean.trapped += seen.trapped / SEEDS as f64;
                }
                Ok(mean)
            };
            let others: Vec<_> = CONSTANT.into_iter().map(run).collect::<Result<_, _>>()?;
            for late_weight in WEIGHTS {
                let seen = run(&strategy.replace("{w}", &late_weight.to_string()))?;
                let cost = |of: &Loaded| of.cpu * 1e9 / hz as f64 + late_weight * of.late_ns;
                let best = others.iter().map(cost).fold(f64::MAX, f64::min);
                all.push(Beside {
                    model,
                    hz,
                    late_weight,
                    over: cost(&seen) / best,
                    trapped: seen.trapped,
                });
            }
        }
    }
    Ok(all)
}

/// A loop for so many `seconds` in a control group. Its threads are throttled for the rest of each
/// 100 ms once they have used `quota` of it.
pub(crate) fn in_a_quota(
    spec: StrategySpec,
    quota: f64,
    hz: u64,
    seconds: u64,
    seed: u64,
) -> Loaded {
    const PERIOD: u64 = 100_000_000;
    let mut group = Group {
        now: 0,
        used: 0,
        period: PERIOD,
        quota: (quota * PERIOD as f64) as u64,
        used_in_period: 0,
        random: Random::new(seed),
    };
    let mut has = |method| match method {
        Method::SlacklessNanosleep => None,
        other => Some(other),
    };
    let mut strategy: AnyStrategy = spec.granted(&mut has).unwrap_or(spec).build();
    let cycle = 1_000_000_000 / hz.max(1);
    let mut all = Vec::new();
    for second in 0..seconds {
        let mut this = Second::default();
        let before = group.used;
        loop {
            let deadline = (group.now / cycle + 1) * cycle;
            if deadline > (second + 1) * 1_000_000_000 {
                break;
            }
            let now = group.now();
            let goal = Goal::until(Tick::from_ns(deadline));
            let outcome = drive(&mut strategy, goal, now, &mut group);
            this.waits += 1.0;
            this.late_ns += outcome.late.as_ns().min(LATE_MAX_NS) as f64;
        }
        this.cpu = (group.used - before) as f64 / 1e9;
        all.push(this);
    }
    Loaded::of(&all, hz)
}

/// Time on the CPU of a group with a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Virtual;
impl Clock for Virtual {}

/// A thread alone in a group with a quota of CPU time (Linux,
/// `kernel/sched/fair.c`, bandwidth control; that a CPU takes its share in slices is
/// left out). In nanoseconds.
struct Group {
    now: u64,
    used: u64,
    period: u64,
    quota: u64,
    used_in_period: u64,
    random: Random,
}

impl Group {
    /// The CPU time of one nap, and its overshoot.
    const NAP: u64 = 30_000;
    const OVERSHOOT: u64 = 40_000;
    const JITTER: u64 = 100_000;
    const READ: u64 = 31;

    /// Uses the CPU for so long, and is stopped in between as often as need be.
    fn compute(&mut self, length: u64) {
        let mut left = length;
        while left > 0 {
            let end = (self.now / self.period + 1) * self.period;
            let allowed = self.quota.saturating_sub(self.used_in_period);
            let step = left.min(allowed).min(end - self.now);
            self.now += step;
            self.used += step;
            self.used_in_period += step;
            left -= step;
            if left > 0 && step == allowed {
                self.now = end;
            }
            if self.now == end {
                self.used_in_period = 0;
            }
        }
    }

    fn rest_until(&mut self, end: u64) {
        if end / self.period > self.now / self.period {
            self.used_in_period = 0;
        }
        self.now = self.now.max(end);
    }
}

impl Driver<Virtual> for Group {
    fn now(&mut self) -> Tick<Virtual> {
        self.compute(Self::READ);
        Tick::from_ns(self.now)
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        Some(Nanos::new(self.used))
    }

    fn block(&mut self, _: Method, limit: Limit<Virtual>, _: Option<Event>) -> Reason {
        let length = limit.length(Tick::from_ns(self.now)).as_ns();
        let jitter = self.random.below(Time::from_ns(Self::JITTER)).floor_ns();
        let end = self.now.saturating_add(length) + Self::OVERSHOOT - Self::NAP + jitter;
        self.rest_until(end);
        self.compute(Self::NAP);
        Reason::Timer
    }

    fn spin(&mut self, until: Tick<Virtual>, _: Option<Event>) -> (Tick<Virtual>, Reason) {
        let left = until.since(Tick::from_ns(self.now)).as_ns();
        self.compute(left);
        (self.now(), Reason::Ran)
    }

    fn yield_now(&mut self, _: Option<Event>) -> Reason {
        self.compute(200);
        Reason::Ran
    }
}
