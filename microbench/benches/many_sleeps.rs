//! CPU time and lateness of many tasks that sleep at once: punctual's sleeps beside
//! those of tokio and tokio-timerd, under tokio with two workers.
//!
//!     cargo bench --bench many_sleeps             7 rounds, two minutes
//!     cargo bench --bench many_sleeps -- 3 8 100  3 rounds of 8 and of 100 tasks
//!
//! Each task sleeps for 9 to 11 ms at random, again and again for a second. Subjects take turns,
//! and each round begins with another one. CPU time is that of the whole process. Each figure is
//! the median over the rounds. 10,000 tasks need more CPU time than two CPUs have, so the sleeps
//! per second differ there, too. tokio-timerd needs a descriptor for each sleep (`ulimit -n`), and
//! is left out without.

use std::time::{Duration, Instant};

use punctual_core::Nanos;
use punctual_core::arrivals::Arrivals;
use punctual_os::usage;
use punctual_record::Interval;
use tokio::runtime::{Builder, Runtime};

const TASKS: [usize; 6] = [1, 8, 30, 100, 1_000, 10_000];
const SUBJECTS: [Subject; 3] = [Subject::Punctual, Subject::Tokio, Subject::Timerd];
const SHORTEST: Duration = Duration::from_millis(9);
const LONGEST: Duration = Duration::from_millis(11);

#[derive(Clone, Copy, Debug)]
enum Subject {
    Punctual,
    Tokio,
    Timerd,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Punctual => "punctual_timers",
            Self::Tokio => "tokio::time",
            Self::Timerd => "tokio-timerd",
        }
    }

    /// Whether there was a timer.
    async fn sleep_until(self, deadline: Instant) -> bool {
        match self {
            Self::Punctual => drop(punctual_timers::time::sleep_until(deadline).await),
            Self::Tokio => tokio::time::sleep_until(deadline.into()).await,
            Self::Timerd => match tokio_timerd::Delay::new(deadline) {
                Ok(delay) => return delay.await.is_ok(),
                Err(_) => return false,
            },
        }
        true
    }
}

/// One turn: lateness in us, CPUs in use, sleeps per second.
struct Turn {
    late_p50: f64,
    late_p99: f64,
    cpus: f64,
    sleeps: f64,
}

impl Turn {
    /// `None` if there were not enough timers.
    fn of(subject: Subject, tasks: usize, length: Duration) -> Option<Self> {
        let runtime = runtime();
        let before = usage::of_process()?.cpu();
        let begin = Instant::now();
        let end = begin + length;
        let tasks: Vec<_> = (0..tasks)
            .map(|task| runtime.spawn(sleeper(subject, task as u64, end)))
            .collect();
        let mut late = Vec::new();
        for task in tasks {
            late.extend(runtime.block_on(task).ok()??);
        }
        let elapsed = begin.elapsed().as_secs_f64();
        let cpus = Duration::from(usage::of_process()?.cpu() - before).as_secs_f64() / elapsed;
        late.sort_by(f64::total_cmp);
        let at = |q: f64| late[((late.len() - 1) as f64 * q) as usize];
        Some(Self {
            late_p50: at(0.5),
            late_p99: at(0.99),
            cpus,
            sleeps: late.len() as f64 / elapsed,
        })
    }
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime can be made")
}

async fn sleeper(subject: Subject, seed: u64, end: Instant) -> Option<Vec<f64>> {
    let mut random = Arrivals::new(seed);
    let mut late = Vec::new();
    while Instant::now() < end {
        let length = random.between(Nanos::from(SHORTEST), Nanos::from(LONGEST));
        let deadline = Instant::now() + Duration::from(length);
        if !subject.sleep_until(deadline).await {
            return None;
        }
        let now = Instant::now();
        assert!(now >= deadline, "{subject:?} was early");
        late.push((now - deadline).as_secs_f64() * 1e6);
    }
    Some(late)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` comes by here as well, and wants no numbers.
    let is_bench = args.iter().any(|arg| arg == "--bench");
    let mut asked = args.iter().filter_map(|arg| arg.parse().ok());
    let (rounds, length, most) = match is_bench {
        true => (
            asked.next().unwrap_or(7),
            Duration::from_secs(1),
            usize::MAX,
        ),
        false => (1, Duration::from_millis(20), 30),
    };
    let only: Vec<usize> = asked.collect();
    let is_asked = |tasks: &usize| only.is_empty() || only.contains(tasks);
    println!("medians of {rounds} rounds; late in us; CPUs x: another's over punctual_timers'");
    for tasks in TASKS
        .into_iter()
        .filter(|&tasks| tasks <= most)
        .filter(is_asked)
    {
        let mut turns = SUBJECTS.map(|_| Vec::new());
        for round in 0..rounds {
            for i in 0..SUBJECTS.len() {
                let i = (i + round) % SUBJECTS.len();
                turns[i].push(Turn::of(SUBJECTS[i], tasks, length));
            }
        }
        println!("\n{tasks} tasks");
        for (subject, own) in SUBJECTS.iter().zip(&turns) {
            tell(subject.name(), own, &turns[0]);
        }
    }
}

fn tell(name: &str, own: &[Option<Turn>], ours: &[Option<Turn>]) {
    let median = |of: fn(&Turn) -> f64| {
        let values: Vec<f64> = own.iter().flatten().map(of).collect();
        Interval::of(&values).map_or(f64::NAN, |interval| interval.median)
    };
    let pairs = own.iter().flatten().zip(ours.iter().flatten());
    let ratios: Vec<f64> = pairs.map(|(own, ours)| own.cpus / ours.cpus).collect();
    let ratio = Interval::of(&ratios).unwrap_or_default();
    println!(
        "  {name:16} late p50 {:8.1} p99 {:8.1}  CPUs {:6.3} x {:6.2} [{:.2}..{:.2}]  sleeps/s {:8.0}",
        median(|turn| turn.late_p50),
        median(|turn| turn.late_p99),
        median(|turn| turn.cpus),
        ratio.median,
        ratio.low,
        ratio.high,
        median(|turn| turn.sleeps),
    );
}
