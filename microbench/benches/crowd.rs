//! Many waiting threads and processes: what a wait costs, beside `std::thread::sleep` and
//! spin_sleep.
//!
//!     cargo bench --bench crowd                    24 rounds, ten minutes
//!     cargo bench --bench crowd -- 6               as many as that
//!     cargo bench --bench crowd -- 6 threads:64    of the crowds that are called so
//!     cargo bench --bench crowd -- 6 threads:128:200us    of a crowd that is not in the list
//!
//! Subjects take turns, and each round begins with another one. A turn lasts a quarter of a
//! second, with new threads and processes in each, so that the time they take to learn counts. The
//! notes that a process keeps of all its threads stay from turn to turn.
//! The cost of a wait is its CPU time and w x its lateness, counted up to 1 ms; each `adaptive`
//! is held against the better of the two others at the weight that it is for. A ratio is that of
//! one round; the interval holds the median with 95 %.

use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant, SystemTime};

use punctual::{Strategy, Waiter};
use punctual_record::Interval;

/// Each with the weight at which it is judged.
const SUBJECTS: [(&str, f64); 5] = [
    ("std", 10.0),
    ("spin_sleep", 10.0),
    ("adaptive-frugal", 1.0),
    ("adaptive-balanced", 10.0),
    ("adaptive-exact", 100.0),
];

/// A crowd: `threads` or `processes`, how many, the mean length of a wait in microseconds, whether
/// at the same instants, and the busy programs beside it.
#[derive(Clone, Copy)]
struct Crowd {
    kind: &'static str,
    many: u32,
    us: f64,
    hogs: u32,
}

const fn crowd(kind: &'static str, many: u32, us: f64, hogs: u32) -> Crowd {
    Crowd {
        kind,
        many,
        us,
        hogs,
    }
}

const CROWDS: [Crowd; 15] = [
    crowd("threads", 3, 1_000.0, 0),
    crowd("threads", 8, 1_000.0, 0),
    crowd("threads", 24, 1_000.0, 0),
    crowd("threads", 64, 1_000.0, 0),
    crowd("threads", 256, 1_000.0 * 5.0, 0),
    crowd("threads", 64, 200.0, 0),
    crowd("threads", 24, 16_700.0, 0),
    // Every 2 ms, all at the same instants.
    crowd("same", 24, 2_000.0, 0),
    // Loops of 60 to 1,000 Hz.
    crowd("loops", 48, 2_000.0, 0),
    crowd("processes", 8, 1_000.0, 0),
    crowd("processes", 24, 1_000.0, 0),
    crowd("processes", 64, 1_000.0, 0),
    crowd("threads", 1, 1_000.0, 2),
    crowd("threads", 8, 1_000.0, 2),
    crowd("threads", 64, 1_000.0, 2),
];

const TURN: Duration = Duration::from_millis(250);
const LATE_MAX_NS: u64 = 1_000_000;

/// The crowds of the list whose names begin so, else the one that is so described.
fn crowds_of(name: &str) -> Vec<Crowd> {
    let is_it = |crowd: &Crowd| crowd.to_string().starts_with(name);
    let listed: Vec<Crowd> = CROWDS.into_iter().filter(is_it).collect();
    if !listed.is_empty() {
        return listed;
    }
    let Some(crowd) = named_crowd(name) else {
        eprintln!("error: {name} is no crowd; write one as threads:128:200us");
        std::process::exit(2);
    };
    vec![crowd]
}

/// `threads:128:200us` is 128 threads that wait for 200 us in the mean.
fn named_crowd(name: &str) -> Option<Crowd> {
    let mut parts = name.split(':');
    let kinds = ["threads", "same", "loops", "processes"];
    let first = parts.next()?;
    let kind = kinds.into_iter().find(|kind| *kind == first)?;
    let many = parts.next()?.parse().ok()?;
    let us = parts.next()?.strip_suffix("us")?.parse().ok()?;
    Some(crowd(kind, many, us, 0))
}

impl std::fmt::Display for Crowd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, many, us, .. } = self;
        write!(f, "{kind}:{many}:{us}us")?;
        match self.hogs {
            0 => Ok(()),
            hogs => write!(f, ", beside {hogs} busy programs"),
        }
    }
}

/// Of all waits of a turn.
#[derive(Clone, Default)]
struct Waits {
    late_ns: Vec<u64>,
    cpu_ns: u64,
}

impl Waits {
    fn made(&self) -> f64 {
        self.late_ns.len().max(1) as f64
    }

    fn cost_ns(&self, weight: f64) -> f64 {
        let late: u64 = self.late_ns.iter().map(|ns| ns.min(&LATE_MAX_NS)).sum();
        (self.cpu_ns as f64 + weight * late as f64) / self.made()
    }
}

/// The `place`th of the crowd waits from `start` on.
fn wait(subject: &str, crowd: Crowd, place: u32, start: Instant) -> Vec<u64> {
    let mut waiter = match subject {
        "std" | "spin_sleep" => None,
        name => {
            let strategy: Strategy = name.parse().expect("it is a strategy");
            let waiter = Waiter::builder().strategy(strategy).build();
            Some(waiter.expect("each system has it"))
        }
    };
    let mut until = |deadline: Instant| {
        match (&mut waiter, subject) {
            (Some(waiter), _) => {
                waiter.sleep_until(deadline);
            }
            (None, "std") => {
                std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
            }
            (None, _) => spin_sleep::sleep_until(deadline),
        }
        Instant::now()
    };
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(u64::from(place) + 1);
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as f64 / (1_u64 << 53) as f64
    };
    let part = f64::from(place) / f64::from(crowd.many);
    let period_us = match crowd.kind {
        "loops" => 1e6 / (60.0 + 940.0 * part),
        _ => crowd.us,
    };
    let after = |us: f64| Duration::from_nanos((us * 1e3) as u64);
    let mut late_ns = Vec::with_capacity((TURN.as_micros() as f64 / period_us * 2.5) as usize + 64);
    until(start);
    loop {
        let now = Instant::now();
        let passed = now.saturating_duration_since(start);
        if passed >= TURN {
            return late_ns;
        }
        let deadline = match crowd.kind {
            "same" | "loops" => {
                let cycles = (passed.as_secs_f64() * 1e6 / period_us).floor() + 1.0;
                start + after(cycles * period_us)
            }
            _ => now + after(period_us * (0.5 + random())),
        };
        late_ns.push((until(deadline) - deadline).as_nanos() as u64);
    }
}

/// One turn of a subject.
fn turn(subject: &str, crowd: Crowd) -> Waits {
    if crowd.kind == "processes" {
        return in_processes(subject, crowd);
    }
    let all_are_there = Barrier::new(crowd.many as usize + 1);
    let start = Instant::now() + Duration::from_millis(30);
    let (late_ns, cpu_ns) = std::thread::scope(|scope| {
        let waits = |place| {
            all_are_there.wait();
            wait(subject, crowd, place, start)
        };
        let threads: Vec<_> = (0..crowd.many)
            .map(|place| scope.spawn(move || waits(place)))
            .collect();
        all_are_there.wait();
        let before = cpu_ns();
        let all = threads.into_iter().map(|thread| thread.join());
        let late: Vec<u64> = all.flat_map(|late| late.expect("it waits only")).collect();
        (late, cpu_ns() - before)
    });
    Waits { late_ns, cpu_ns }
}

/// The processes begin at the next half of a second.
fn in_processes(subject: &str, crowd: Crowd) -> Waits {
    let program = std::env::current_exe().expect("this runs");
    let start = |place: u32| {
        let args = [
            subject.to_owned(),
            place.to_string(),
            crowd.many.to_string(),
        ];
        Command::new(&program)
            .args(["one"].into_iter().chain(args.iter().map(String::as_str)))
            .arg(crowd.us.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was started once")
    };
    let processes: Vec<Child> = (0..crowd.many).map(start).collect();
    let mut all = Waits::default();
    for process in processes {
        let said = process.wait_with_output().expect("it ends by itself");
        let text = String::from_utf8_lossy(&said.stdout);
        let mut numbers = text.split_ascii_whitespace().filter_map(|n| n.parse().ok());
        all.cpu_ns += numbers.next().unwrap_or(0);
        all.late_ns.extend(numbers);
    }
    all
}

/// One of the processes: it prints its CPU time and how late each wait was.
fn one(args: &[String]) {
    let place = args[1].parse().expect("this program wrote it");
    let many = args[2].parse().expect("this program wrote it");
    let us = args[3].parse().expect("this program wrote it");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let into_half = now.map_or(0, |now| (now.as_nanos() % 500_000_000) as u64);
    let start = Instant::now() + Duration::from_nanos(500_000_000 - into_half);
    let before = cpu_ns();
    let late = wait(&args[0], crowd("processes", many, us, 0), place, start);
    let late: Vec<String> = late.iter().map(u64::to_string).collect();
    println!("{} {}", cpu_ns() - before, late.join(" "));
}

/// The CPU time of this process.
fn cpu_ns() -> u64 {
    // SAFETY: fills in a structure of numbers that is large enough; no other pointers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

fn busy() -> Child {
    let mut program = Command::new("sh");
    program.args(["-c", "while :; do :; done"]);
    program.spawn().expect("there is a shell")
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == "one") {
        return one(&args[1..]);
    }
    // `cargo test` comes by here as well, and wants no numbers.
    let is_bench = args.iter().any(|arg| arg == "--bench");
    let asked = args.iter().find_map(|arg| arg.parse().ok());
    let rounds = if is_bench { asked.unwrap_or(24) } else { 1 };
    let named: Vec<&String> = args.iter().filter(|arg| arg.contains(':')).collect();
    let crowds: Vec<Crowd> = match named.is_empty() {
        true => CROWDS.to_vec(),
        false => named.iter().flat_map(|name| crowds_of(name)).collect(),
    };
    for crowd in crowds {
        let name = crowd.to_string();
        if !is_bench && crowd.many > 3 {
            continue;
        }
        let mut hogs: Vec<Child> = (0..crowd.hogs).map(|_| busy()).collect();
        let mut turns = SUBJECTS.map(|_| Vec::new());
        for round in 0..rounds {
            for i in 0..SUBJECTS.len() {
                let i = (i + round) % SUBJECTS.len();
                turns[i].push(turn(SUBJECTS[i].0, crowd));
            }
        }
        for hog in &mut hogs {
            let _ = hog.kill();
            let _ = hog.wait();
        }
        show(&name, rounds, &turns);
    }
}

fn show(name: &str, rounds: usize, turns: &[Vec<Waits>; SUBJECTS.len()]) {
    println!("{name}, {rounds} rounds");
    for ((subject, weight), own) in SUBJECTS.iter().zip(turns) {
        let mut late: Vec<u64> = own.iter().flat_map(|waits| waits.late_ns.clone()).collect();
        late.sort_unstable();
        let at = |part: f64| late[(late.len() as f64 * part) as usize % late.len()] as f64 / 1e3;
        let cpus = own.iter().map(|waits| waits.cpu_ns).sum::<u64>() as f64;
        let cpus = cpus / (rounds as f64 * TURN.as_nanos() as f64);
        let both = turns[0].iter().zip(&turns[1]);
        let best = both.map(|(std, other)| std.cost_ns(*weight).min(other.cost_ns(*weight)));
        let ratios: Vec<f64> = own
            .iter()
            .zip(best)
            .map(|(waits, best)| waits.cost_ns(*weight) / best)
            .collect();
        let Interval { median, low, high } = Interval::of(&ratios).unwrap_or_default();
        println!(
            "  {subject:18} w = {weight:3}: x {median:5.2} [{low:.2}..{high:.2}], {:5.0} waits a turn, {cpus:.2} CPUs, late p50 {:6.1} p99 {:8.1} us",
            late.len() as f64 / rounds as f64,
            at(0.5),
            at(0.99),
        );
    }
}
