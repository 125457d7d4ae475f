//! An OS on which waiting takes no time. Only the work of the strategy and of the accounts of its
//! waits is left. Also [`locks`].

pub mod locks;

use punctual_core::strategies::AnyStrategy;
use punctual_core::{
    Clock, Driver, Event, Goal, Limit, Method, Nanos, Outcome, Reason, Strategy, StrategySpec,
    Tick, drive,
};

/// The clock of the [`Timeless`] OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoTime;
impl Clock for NoTime {}

/// How many different chances there are.
const CHANCES: usize = 4_096;

/// Naps are 30 to 60 us late here, some of them up to 40 us more, and take 4 to
/// 6 us of the CPU, as on Linux; but they are over at once.
pub struct Timeless {
    now: Tick<NoTime>,
    cpu: Nanos,
    nap: usize,
    naps: Vec<(Nanos, Nanos)>,
    lengths: Vec<Nanos>,
    wait: usize,
}

/// How long the waits are.
#[derive(Clone, Copy, Debug)]
pub enum Lengths {
    /// All the same.
    Fixed(Nanos),
    /// From 1 us to 50 ms, each order of magnitude as often: all that is
    /// learned is in use.
    AnyStrategy,
}

/// Waits of one strategy on an OS of its own.
pub struct Waits {
    strategy: AnyStrategy,
    os: Timeless,
}

impl Waits {
    /// After so many that it has learned what there is to learn.
    pub fn of(spec: StrategySpec, lengths: Lengths) -> Self {
        Self::after(10_000, spec, lengths)
    }

    /// After so many.
    pub fn after(count: u32, spec: StrategySpec, lengths: Lengths) -> Self {
        let mut waits = Self {
            strategy: spec.build(),
            os: Timeless::new(lengths),
        };
        (0..count).for_each(|_| {
            waits.next_wait();
        });
        waits
    }

    /// One whole wait.
    pub fn next_wait(&mut self) -> Outcome {
        self.os.wait(&mut self.strategy)
    }

    /// The strategy with all that it has learned.
    pub fn strategy(&self) -> &AnyStrategy {
        &self.strategy
    }

    /// The strategy and its OS, to put something between them.
    pub fn into_parts(self) -> (AnyStrategy, Timeless) {
        (self.strategy, self.os)
    }
}

impl Timeless {
    fn new(lengths: Lengths) -> Self {
        let mut state = 1_u64;
        let mut chance = || {
            // Knuth's MMIX generator; the upper bits are good enough.
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let ns = |ns: f64| Nanos::new(ns as u64);
        Self {
            now: Tick::from_ns(1_000_000_000),
            cpu: Nanos::ZERO,
            nap: 0,
            naps: (0..CHANCES)
                .map(|_| {
                    let late = 30e3 + 20e3 * chance() + 50e3 * chance().powi(8);
                    (ns(late), ns(4e3 + 2e3 * chance()))
                })
                .collect(),
            lengths: (0..CHANCES)
                .map(|_| match lengths {
                    Lengths::Fixed(length) => length,
                    Lengths::AnyStrategy => ns(1e3 * 50_000_f64.powf(chance())),
                })
                .collect(),
            wait: 0,
        }
    }

    /// One whole wait, a microsecond after the last one.
    #[inline]
    pub fn wait(&mut self, strategy: &mut impl Strategy<NoTime>) -> Outcome {
        self.wait = (self.wait + 1) % CHANCES;
        self.now = self.now + Nanos::from_us(1);
        let goal = Goal::until(self.now + self.lengths[self.wait]);
        drive(strategy, goal, self.now, self)
    }
}

impl Driver<NoTime> for Timeless {
    fn now(&mut self) -> Tick<NoTime> {
        self.now
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        Some(self.cpu)
    }

    fn block(&mut self, _: Method, limit: Limit<NoTime>, _: Option<Event>) -> Reason {
        self.nap = (self.nap + 1) % CHANCES;
        let (late, cpu) = self.naps[self.nap];
        self.now = self.now + limit.length(self.now) + late;
        self.cpu += cpu;
        Reason::Timer
    }

    fn spin(&mut self, until: Tick<NoTime>, _: Option<Event>) -> (Tick<NoTime>, Reason) {
        self.now = self.now.max(until);
        (self.now, Reason::Ran)
    }

    fn yield_now(&mut self, _: Option<Event>) -> Reason {
        self.now = self.now + Nanos::from_us(1);
        Reason::Ran
    }
}
