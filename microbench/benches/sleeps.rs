//! How late sleeps of tasks end, and the CPU time of each: punctual's beside those of tokio,
//! tokio-timerd, async-io and futures-timer. One task sleeps again and again in tokio's
//! current-thread runtime.
//!
//!     cargo bench --bench sleeps             25 rounds, a minute and three quarters
//!     cargo bench --bench sleeps -- 6        as many as that
//!
//! Subjects take turns, and each round begins with another one. CPU time is that of the whole
//! process, so also of threads behind the timers. The last part counts the wake-ups of punctual's
//! timer thread for calls with a tolerance. Beside it are the fewest wake-ups that serve them all
//! (interval stabbing). *hogs*: a busy process for each CPU. Cost is CPU time + 10 x lateness,
//! each lateness at most 1 ms. Ratios are another's over punctual's, per round; their interval
//! holds the median with 95 %.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use punctual_core::Nanos;
use punctual_core::arrivals::Arrivals;
use punctual_os::usage;
use punctual_record::Interval;
use punctual_timers::Timers;
use tokio::runtime::Runtime;

const PERIODS: [(&str, Duration, usize); 3] = [
    ("100 us", Duration::from_micros(100), 200),
    ("1 ms", Duration::from_millis(1), 100),
    ("10 ms", Duration::from_millis(10), 20),
];
const SUBJECTS: [Subject; 5] = [
    Subject::Punctual,
    Subject::Tokio,
    Subject::Timerd,
    Subject::AsyncIo,
    Subject::FuturesTimer,
];

#[derive(Clone, Copy, Debug)]
enum Subject {
    Punctual,
    Tokio,
    Timerd,
    AsyncIo,
    FuturesTimer,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Punctual => "punctual_timers",
            Self::Tokio => "tokio::time",
            Self::Timerd => "tokio-timerd",
            Self::AsyncIo => "async-io",
            Self::FuturesTimer => "futures-timer",
        }
    }

    async fn sleep_until(self, deadline: Instant) {
        match self {
            Self::Punctual => drop(punctual_timers::time::sleep_until(deadline).await),
            Self::Tokio => tokio::time::sleep_until(deadline.into()).await,
            Self::Timerd => {
                let delay = tokio_timerd::Delay::new(deadline);
                delay.expect("a timer").await.expect("it expires");
            }
            Self::AsyncIo => drop(async_io::Timer::at(deadline).await),
            Self::FuturesTimer => {
                futures_timer::Delay::new(deadline.saturating_duration_since(Instant::now())).await
            }
        }
    }
}

/// The results of one turn, in us.
struct Turn {
    late: Vec<f64>,
    cpu: f64,
}

impl Turn {
    fn of(subject: Subject, period: Duration, waits: usize, runtime: &Runtime) -> Self {
        runtime.block_on(async {
            let mut late = Vec::with_capacity(waits);
            let before = usage::of_process();
            for _ in 0..waits {
                let deadline = Instant::now() + period;
                subject.sleep_until(deadline).await;
                let now = Instant::now();
                assert!(now >= deadline, "{subject:?} was early");
                late.push((now - deadline).as_secs_f64() * 1e6);
            }
            let used = usage::of_process().zip(before);
            let used = used.map(|(after, before)| Duration::from(after.cpu() - before.cpu()));
            let cpu = used.map_or(f64::NAN, |used| used.as_secs_f64() * 1e6 / waits as f64);
            late.sort_by(f64::total_cmp);
            Self { late, cpu }
        })
    }

    fn p50(&self) -> f64 {
        self.late[self.late.len() / 2]
    }

    fn cost(&self) -> f64 {
        let late: f64 = self.late.iter().map(|us| us.min(1_000.0)).sum();
        self.cpu + 10.0 * late / self.late.len() as f64
    }
}

/// A busy process for each CPU, as long as this lives.
struct Hogs(Vec<Child>);

impl Hogs {
    fn new() -> Self {
        let own = std::env::current_exe().expect("this program has a path");
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let hog = |_| Command::new(&own).arg("hog").stdin(Stdio::piped()).spawn();
        Self(
            (0..cpus)
                .map(|n| hog(n).expect("it starts again"))
                .collect(),
        )
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// Busy until it is killed, or for five minutes at most.
fn hog() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(300) {}
}

/// Calls at random within two seconds.
const CALLS: usize = 2_000;
const SPREAD: Duration = Duration::from_secs(2);

/// How often the thread of the timers woke for such calls, and how often it had to.
fn wake_ups(tolerance: Duration, random: &mut Arrivals) -> [u64; 2] {
    let timers = Timers::spawn().expect("a thread can be started");
    let begin = Instant::now() + Duration::from_millis(20);
    let (late, served) = mpsc::channel();
    let mut windows: Vec<[Duration; 2]> = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let at = Duration::from(random.between(Nanos::ZERO, SPREAD.into()));
        windows.push([at + tolerance, at]);
        let late = late.clone();
        timers.call_within(begin + at, tolerance, move |by| {
            let _ = late.send(by);
        });
    }
    drop(late);
    let served = served.iter().count();
    assert_eq!(served, CALLS);
    // The window that closes first and is not served yet needs a wake-up, at the latest then.
    windows.sort();
    let (mut fewest, mut last) = (0, None);
    for [latest, earliest] in windows {
        if last.is_none_or(|last| last < earliest) {
            (fewest, last) = (fewest + 1, Some(latest));
        }
    }
    [timers.counts().wakes, fewest]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "hog") {
        return hog();
    }
    // `cargo test` comes by here as well, and wants no numbers.
    let is_bench = args.iter().any(|arg| arg == "--bench");
    let asked = args.iter().find_map(|arg| arg.parse().ok());
    let rounds = if is_bench { asked.unwrap_or(25) } else { 1 };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let mut random = Arrivals::new(1);
    println!("{rounds} rounds; late and CPU time a wait in us; ratios to punctual_timers");
    for condition in ["quiet", "hogs"] {
        let _hogs = (condition == "hogs").then(Hogs::new);
        for (text, period, waits) in PERIODS {
            let mut turns: Vec<Vec<Turn>> = SUBJECTS.map(|_| Vec::new()).into();
            for round in 0..rounds {
                for i in 0..SUBJECTS.len() {
                    let i = (i + round) % SUBJECTS.len();
                    turns[i].push(Turn::of(SUBJECTS[i], period, waits, &runtime));
                }
            }
            println!("\n{text}, {condition}, {} waits each", waits * rounds);
            for (subject, own) in SUBJECTS.iter().zip(&turns) {
                tell(subject.name(), own, &turns[0]);
            }
        }
        println!("\nwake-ups for {CALLS} calls in {SPREAD:?}, {condition}");
        for tolerance in [1, 5, 20].map(Duration::from_millis) {
            let runs: Vec<_> = (0..rounds.min(6))
                .map(|_| wake_ups(tolerance, &mut random))
                .map(|[made, fewest]| {
                    let ratio = made as f64 / fewest as f64;
                    format!("{made} of {fewest} ({ratio:.3})")
                })
                .collect();
            println!("  tolerance {tolerance:?}: {}", runs.join(", "));
        }
    }
}

fn tell(name: &str, own: &[Turn], ours: &[Turn]) {
    let mut late: Vec<f64> = own.iter().flat_map(|turn| turn.late.clone()).collect();
    late.sort_by(f64::total_cmp);
    let at = |q: f64| late[((late.len() - 1) as f64 * q) as usize];
    // Beyond a percentile there are ten waits at least.
    let p99 = if late.len() >= 1_000 {
        at(0.99)
    } else {
        f64::NAN
    };
    let median = |values: Vec<f64>| Interval::of(&values).map_or(f64::NAN, |i| i.median);
    let cpu = median(own.iter().map(|turn| turn.cpu).collect());
    let ratio = |of: fn(&Turn) -> f64| {
        let ratios: Vec<f64> = own.iter().zip(ours).map(|(a, b)| of(a) / of(b)).collect();
        let Interval { median, low, high } = Interval::of(&ratios).unwrap_or_default();
        format!("{median:.2} [{low:.2}..{high:.2}]")
    };
    println!(
        "  {name:16} late p50 {:7.1} p99 {p99:>7} cpu {cpu:5.1}  cost x {:20} late p50 x {:30} cpu x {}",
        at(0.5),
        ratio(Turn::cost),
        ratio(Turn::p50),
        ratio(|turn| turn.cpu),
    );
}
