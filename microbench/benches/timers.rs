//! The cost of inserting and of cancelling a timer while many others wait. Punctual's queue stands
//! beside tokio's two wheels, and the standard library's tree and heap.
//!
//!     cargo bench --bench timers
//!
//! Deadlines lie anywhere in ten seconds, and any of those that wait is cancelled.
//! A binary heap remembers cancelled timers that it cannot remove. Subjects take turns;
//! ratios are per round, and their interval holds the median with 95 %.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use punctual_core::Nanos;
use punctual_core::arrivals::Arrivals;
use punctual_record::Interval;
use punctual_timers::{Key, Time, TimerQueue};
use tokio_util::time::{DelayQueue, delay_queue};

const WAITING: [usize; 2] = [1_000, 1_000_000];
/// The number that is inserted at once, and then cancelled.
const BATCH: usize = 500;
const SPREAD_NS: u64 = 10_000_000_000;

trait Timers {
    type Key;
    fn insert(&mut self, ns: u64) -> Self::Key;
    fn cancel(&mut self, key: Self::Key);
}

struct Ours(TimerQueue<u64>);

impl Timers for Ours {
    type Key = Key;

    fn insert(&mut self, ns: u64) -> Key {
        self.0.insert(Time::from_ns(ns), ns)
    }

    fn cancel(&mut self, key: Key) {
        black_box(self.0.cancel(key));
    }
}

struct Delays {
    begin: tokio::time::Instant,
    queue: DelayQueue<u64>,
}

impl Timers for Delays {
    type Key = delay_queue::Key;

    fn insert(&mut self, ns: u64) -> delay_queue::Key {
        // An hour on, so that none is due while this is measured.
        let after = Duration::from_nanos(ns) + Duration::from_secs(3_600);
        self.queue.insert_at(ns, self.begin + after)
    }

    fn cancel(&mut self, key: delay_queue::Key) {
        black_box(self.queue.remove(&key));
    }
}

/// The runtime's own timers, each polled once.
struct Sleeps(tokio::time::Instant);

impl Timers for Sleeps {
    type Key = Pin<Box<tokio::time::Sleep>>;

    fn insert(&mut self, ns: u64) -> Self::Key {
        let after = Duration::from_nanos(ns) + Duration::from_secs(3_600);
        let mut sleep = Box::pin(tokio::time::sleep_until(self.0 + after));
        let polled = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        sleep
    }

    fn cancel(&mut self, key: Self::Key) {
        drop(key);
    }
}

#[derive(Default)]
struct Tree {
    map: BTreeMap<(u64, u64), u64>,
    count: u64,
}

impl Timers for Tree {
    type Key = (u64, u64);

    fn insert(&mut self, ns: u64) -> (u64, u64) {
        self.count += 1;
        self.map.insert((ns, self.count), ns);
        (ns, self.count)
    }

    fn cancel(&mut self, key: (u64, u64)) {
        black_box(self.map.remove(&key));
    }
}

#[derive(Default)]
struct Lazy {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    cancelled: HashSet<u64>,
    count: u64,
}

impl Timers for Lazy {
    type Key = u64;

    fn insert(&mut self, ns: u64) -> u64 {
        self.count += 1;
        self.heap.push(Reverse((ns, self.count)));
        self.count
    }

    fn cancel(&mut self, key: u64) {
        self.cancelled.insert(key);
        // Cancelled timers are removed once they outnumber the waiting ones.
        if self.cancelled.len() * 2 > self.heap.len() {
            let cancelled = std::mem::take(&mut self.cancelled);
            self.heap.retain(|Reverse((_, n))| !cancelled.contains(n));
        }
    }
}

fn below(random: &mut Arrivals, end: u64) -> u64 {
    random.between(Nanos::ZERO, Nanos::new(end - 1)).as_ns()
}

/// The subject, with the number of timers that wait all the time.
struct Subject<Q: Timers> {
    name: &'static str,
    queue: Q,
    keys: Vec<Q::Key>,
    random: Arrivals,
}

/// A subject of whatever kind.
trait Turns {
    fn name(&self) -> &'static str;

    /// The time to insert a timer, and to cancel one, in ns.
    fn turn(&mut self, batches: usize) -> [f64; 2];
}

impl<Q: Timers + 'static> Subject<Q> {
    fn boxed(name: &'static str, queue: Q, waiting: usize) -> Box<dyn Turns> {
        let mut subject = Self {
            name,
            queue,
            keys: Vec::with_capacity(waiting + BATCH),
            random: Arrivals::new(1),
        };
        for _ in 0..waiting {
            let key = subject.queue.insert(below(&mut subject.random, SPREAD_NS));
            subject.keys.push(key);
        }
        // Where memory lies after a while, and not as it was filled.
        subject.turn(waiting / BATCH);
        Box::new(subject)
    }
}

impl<Q: Timers> Turns for Subject<Q> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn turn(&mut self, batches: usize) -> [f64; 2] {
        let mut took = [Duration::ZERO; 2];
        for _ in 0..batches {
            let deadlines = (0..BATCH).map(|_| below(&mut self.random, SPREAD_NS));
            let deadlines: Vec<u64> = deadlines.collect();
            let begin = Instant::now();
            for ns in deadlines {
                self.keys.push(self.queue.insert(ns));
            }
            took[0] += begin.elapsed();
            let mut cancelled = Vec::with_capacity(BATCH);
            for _ in 0..BATCH {
                let which = below(&mut self.random, self.keys.len() as u64) as usize;
                cancelled.push(self.keys.swap_remove(which));
            }
            let begin = Instant::now();
            for key in cancelled.drain(..) {
                self.queue.cancel(key);
            }
            took[1] += begin.elapsed();
        }
        took.map(|took| took.as_nanos() as f64 / (batches * BATCH) as f64)
    }
}

fn subjects(waiting: usize) -> Vec<Box<dyn Turns>> {
    let begin = tokio::time::Instant::now();
    let delays = Delays {
        begin,
        queue: DelayQueue::new(),
    };
    vec![
        Subject::boxed("punctual_timers", Ours(TimerQueue::new()), waiting),
        Subject::boxed("tokio::time::Sleep", Sleeps(begin), waiting),
        Subject::boxed("tokio_util DelayQueue", delays, waiting),
        Subject::boxed("BTreeMap", Tree::default(), waiting),
        Subject::boxed("BinaryHeap, lazy", Lazy::default(), waiting),
    ]
}

fn main() {
    // `cargo test` comes by here as well, and wants no numbers.
    let (rounds, batches, most) = match std::env::args().any(|arg| arg == "--bench") {
        true => (15, 20, 1_000_000),
        false => (1, 1, 1_000),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime can be made");
    let _entered = runtime.enter();
    println!(
        "{rounds} rounds of {} each; ns, and ratios to punctual_timers",
        batches * BATCH
    );
    for waiting in WAITING.into_iter().filter(|&waiting| waiting <= most) {
        // Subjects take turns, and each round begins with another one.
        let mut subjects = subjects(waiting);
        let mut turns = vec![Vec::new(); subjects.len()];
        for round in 0..rounds {
            for i in 0..subjects.len() {
                let i = (i + round) % subjects.len();
                turns[i].push(subjects[i].turn(batches));
            }
        }
        println!("beside {waiting} that wait");
        for (subject, own) in subjects.iter().zip(&turns) {
            let [insert, cancel] = [0, 1].map(|what| {
                let ns = Interval::of(&own.iter().map(|turn| turn[what]).collect::<Vec<_>>());
                let ratios = own.iter().zip(&turns[0]).map(|(a, b)| a[what] / b[what]);
                let ratio = Interval::of(&ratios.collect::<Vec<_>>()).expect("there are rounds");
                let Interval { median, low, high } = ratio;
                let ns = ns.expect("there are rounds").median;
                format!("{ns:7.1} x {median:.2} [{low:.2}..{high:.2}]")
            });
            println!("  {:22} insert {insert:32} cancel {cancel}", subject.name());
        }
    }
}
