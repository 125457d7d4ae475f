//! What it costs to insert a timer and to cancel one while so many others wait:
//! punctual's queue beside tokio's two wheels, and beside the standard library's
//! tree and heap.
//!
//!     cargo bench --bench timers
//!
//! Deadlines lie anywhere in the next ten seconds, and any of those that wait is
//! cancelled. What a binary heap cannot take out it remembers as cancelled.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use punctual_timers::{Key, Time, TimerQueue};
use tokio_util::time::{DelayQueue, delay_queue};

const WAITING: [usize; 2] = [1_000, 1_000_000];
/// So many are inserted and cancelled in turn.
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
        // What was cancelled goes once it is more than what waits.
        if self.cancelled.len() * 2 > self.heap.len() {
            let cancelled = std::mem::take(&mut self.cancelled);
            self.heap.retain(|Reverse((_, n))| !cancelled.contains(n));
        }
    }
}

/// A 64-bit linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) * end >> 32
    }

    fn ns(&mut self) -> u64 {
        self.below(1 << 32) * (SPREAD_NS >> 32) + self.below(1 << 31)
    }
}

/// The time that the inserting, or the cancelling, of so many took.
fn time<Q: Timers>(
    queue: &mut Q,
    keys: &mut Vec<Q::Key>,
    random: &mut Random,
    times: u64,
) -> [Duration; 2] {
    let mut took = [Duration::ZERO; 2];
    let mut left = times as usize;
    while left > 0 {
        let batch = left.min(BATCH);
        let deadlines: Vec<u64> = (0..batch).map(|_| random.ns()).collect();
        let begin = Instant::now();
        for ns in deadlines {
            keys.push(queue.insert(ns));
        }
        took[0] += begin.elapsed();
        let which = (0..batch).map(|_| random.below(keys.len() as u64) as usize);
        let mut chosen: Vec<Q::Key> = which
            .collect::<Vec<_>>()
            .into_iter()
            .map(|i| keys.swap_remove(i.min(keys.len() - 1)))
            .collect();
        let begin = Instant::now();
        for key in chosen.drain(..) {
            queue.cancel(key);
        }
        took[1] += begin.elapsed();
        left -= batch;
    }
    took
}

fn bench<Q: Timers>(c: &mut Criterion, name: &str, new: impl Fn() -> Q) {
    for waiting in WAITING {
        let mut random = Random(1);
        let mut queue = new();
        let mut keys: Vec<Q::Key> = (0..waiting).map(|_| queue.insert(random.ns())).collect();
        keys.reserve(BATCH);
        // Where memory lies after a while, and not as it was filled.
        time(&mut queue, &mut keys, &mut random, 2 * waiting as u64);
        for (which, what) in ["insert", "cancel"].into_iter().enumerate() {
            let mut group = c.benchmark_group(format!("{what} beside {waiting}"));
            group.sample_size(20);
            group.measurement_time(Duration::from_secs(1));
            group.warm_up_time(Duration::from_millis(300));
            group.bench_function(BenchmarkId::from_parameter(name), |b| {
                b.iter_custom(|times| time(&mut queue, &mut keys, &mut random, times)[which]);
            });
            group.finish();
        }
    }
}

fn timers(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be made");
    let _entered = runtime.enter();
    let begin = tokio::time::Instant::now();
    bench(c, "punctual_timers", || Ours(TimerQueue::new()));
    bench(c, "tokio_util::DelayQueue", || Delays {
        begin,
        queue: DelayQueue::new(),
    });
    bench(c, "tokio::time::Sleep", || Sleeps(begin));
    bench(c, "BTreeMap", Tree::default);
    bench(c, "BinaryHeap, lazy", Lazy::default);
}

criterion_group!(benches, timers);
criterion_main!(benches);
