//! A backlog of any size, as it is or a sample of it counted up, and what comes of it; pages
//! that arrive all the time.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_sim::Time;
use punctual_zero_pool::suspending::Pool;
use punctual_zero_pool::{Accounting, Sample, Setting};
use serde::{Deserialize, Serialize};

use super::computer::{SimComputer, Task};
use super::costs::{Costs, PAGE_BYTES};
use super::machine::Machine;
use super::world::{Preemption, World};

/// A closed backlog for a pool: all pages are there from the begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The pool.
    pub setting: Setting,
    /// The pages.
    pub pages: u64,
    /// Whether CPUs are taken away.
    pub preemption: Option<Preemption>,
    /// The seed of all randomness. It decides when each worker begins, when a worker loses its
    /// CPU, and the order of those that read a line at the same time.
    pub seed: u64,
}

impl Job {
    /// A job on CPUs that are never taken away.
    pub const fn new(setting: Setting, pages: u64) -> Self {
        Self {
            setting,
            pages,
            preemption: None,
            seed: 0,
        }
    }
}

/// The most operations of a simulation: some seconds. The largest pools on the largest
/// computers take a tenth of it.
const MOST_OPERATIONS: u64 = 1 << 24;

/// In a sample each worker takes so often, on average.
const TAKES_OF_EACH: u64 = 4;
/// With a lock that blocks it takes longer until all is as it stays, and each
/// take is soon simulated.
const BLOCKING_TAKES_OF_EACH: u64 = 40;
/// All together take so often at least.
const TAKES: u64 = 1_500;
/// In a sample each CPU is taken away so often.
const LOSSES_OF_EACH: f64 = 20.0;

/// Simulates a job.
///
/// A long backlog with constant portions is in a steady state nearly all the time. Two parts of it
/// are simulated from begin to end, one twice as long as the other. The difference between them is
/// the steady state, which is extrapolated to the whole. Where CPUs are taken away, the longer
/// part continues until that shows. [`PoolResult::simulated_pages`] states how much was really
/// done. All other batches depend on the remaining pages and run whole.
///
/// # Errors
/// There can be no such pool, or not on this computer, or it takes too long.
pub fn simulate(machine: &Machine, job: &Job) -> Result<PoolResult, Refusal> {
    job.setting.check().map_err(Refusal::new)?;
    let least_ns = match &job.preemption {
        Some(preemption) => {
            preemption.check()?;
            LOSSES_OF_EACH * preemption.every.as_ns() as f64
        }
        None => 0.0,
    };
    let part = sample(&job.setting);
    let of = |pages| drain(machine, job, pages);
    if let Some(part) = part.filter(|part| job.pages > 2 * part) {
        let short = of(part)?;
        let mut pages = 2 * part;
        while pages < job.pages {
            let long = of(pages)?;
            if long.times.wall - short.times.wall >= least_ns {
                let parts = (job.pages - part) as f64 / (pages - part) as f64;
                let times = short.times.extrapolate(&long.times, parts);
                return Ok(PoolResult::new(job, pages, times, long));
            }
            pages *= 2;
        }
    }
    let all = of(job.pages)?;
    let times = all.times;
    Ok(PoolResult::new(job, job.pages, times, all))
}

/// How many pages show what all are like; `None` if all have to be simulated.
fn sample(setting: &Setting) -> Option<u64> {
    let workers = setting.workers as u64;
    let each = setting.batch.constant(workers)?;
    let takes_of_each = match setting.lock.blocks() {
        true => BLOCKING_TAKES_OF_EACH,
        false => TAKES_OF_EACH,
    };
    Some(each * (takes_of_each * workers).max(TAKES))
}

/// Two parts of a backlog are zeroed equally fast if that is within so much.
const SETTLED: f64 = 0.02;
/// The samples of a backlog double so often at most.
const DOUBLINGS: u32 = 6;

/// Simulates samples of a job, each twice as long as the previous one. The last is the one whose
/// second half takes as long as that of the one before, or the whole backlog. `None` where it has
/// not settled by then, or takes change all the time.
pub(crate) fn settle(machine: &Machine, job: &Job) -> Option<PoolResult> {
    let part = sample(&job.setting)?;
    let mut short = drain(machine, job, part).ok()?;
    let mut before = f64::INFINITY;
    for doubling in 0..DOUBLINGS {
        let pages = part << doubling;
        if job.pages < 2 * pages {
            let all = drain(machine, job, job.pages).ok()?;
            let times = all.times;
            return Some(PoolResult::new(job, job.pages, times, all));
        }
        let long = drain(machine, job, 2 * pages).ok()?;
        let per_page = (long.times.wall - short.times.wall) / pages as f64;
        if (per_page / before - 1.0).abs() < SETTLED {
            let parts = (job.pages - pages) as f64 / pages as f64;
            let times = short.times.extrapolate(&long.times, parts);
            return Some(PoolResult::new(job, 2 * pages, times, long));
        }
        (short, before) = (long, per_page);
    }
    None
}

/// The result of a pool with one backlog. Times are for the whole backlog.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolResult {
    /// The pool.
    pub setting: Setting,
    /// The pages of the backlog.
    pub pages: u64,
    /// How many of them were simulated; the rest was counted up from these.
    pub simulated_pages: u64,
    /// Until the last worker was done.
    pub wall: Nanos,
    /// The CPU time of all workers, as it is billed to them.
    pub cpu: Nanos,
    /// Where it went.
    pub split: CpuSplit,
    /// The time that workers were off the CPU because they chose to, together.
    pub parked: Nanos,
    /// The time that workers had no CPU although it was billed to them.
    pub lost: Nanos,
    /// How often pages were taken, with the one time that each worker found none.
    pub acquisitions: u64,
    /// How long each wait for the lock was, in nanoseconds, sorted: of those that
    /// were simulated, or of the first thousands.
    pub waits_ns: Vec<u64>,
    /// How long the lock was held each time, likewise.
    pub holds_ns: Vec<u64>,
}

/// Where CPU time went, as shares of it; together 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuSplit {
    /// Zeroing, and being stalled on the memory.
    pub zeroing: f64,
    /// From having a lock to having given it back.
    pub hold: f64,
    /// From asking for a lock to having it, without what was spent off the CPU.
    pub waiting: f64,
    /// The rest: bookkeeping, and what is between these.
    pub other: f64,
}

impl PoolResult {
    fn new(job: &Job, simulated_pages: u64, times: Times, of: Drained) -> Self {
        let share = |ns: f64| ns / times.cpu;
        let (zeroing, hold) = (share(times.zeroing), share(times.hold));
        // Only waiting parks.
        let waiting = share(times.wait - times.parked);
        Self {
            setting: job.setting,
            pages: job.pages,
            simulated_pages,
            wall: nanos(times.wall),
            cpu: nanos(times.cpu),
            split: CpuSplit {
                zeroing,
                hold,
                waiting,
                // Samples are whole nanoseconds, so it can seem a little less than none.
                other: (1.0 - zeroing - hold - waiting).max(0.0),
            },
            parked: nanos(times.parked),
            lost: nanos(times.lost),
            acquisitions: nanos(times.acquisitions).as_ns(),
            waits_ns: of.waits,
            holds_ns: of.holds,
        }
    }

    /// The bytes of the backlog.
    pub fn bytes(&self) -> f64 {
        self.pages as f64 * PAGE_BYTES
    }

    /// 1e9 bytes zeroed in a second of CPU time.
    pub fn gb_per_cpu_s(&self) -> f64 {
        self.bytes() / 1e9 / self.cpu.as_secs_f64()
    }

    /// 2^30 bytes zeroed in a second of CPU time.
    pub fn gib_per_cpu_s(&self) -> f64 {
        self.bytes() / 1_073_741_824.0 / self.cpu.as_secs_f64()
    }

    /// 1e9 bytes zeroed in a second.
    pub fn wall_gb_per_s(&self) -> f64 {
        self.bytes() / 1e9 / self.wall.as_secs_f64()
    }

    /// Microseconds of CPU time for each page.
    pub fn cpu_us_per_page(&self) -> f64 {
        self.cpu.as_ns() as f64 / 1e3 / self.pages as f64
    }

    /// The share of the workers' time that was spent waiting for a lock. Handing it over counts as
    /// having it: of all that hold or want it, all but one wait. Meaningful for one lock that is
    /// wanted all the time.
    pub fn waiting_without_hand_off(&self) -> f64 {
        let at_lock = self.split.waiting + self.split.hold;
        let one = self.wall.as_ns() as f64 / self.cpu.as_ns() as f64;
        (at_lock - one).max(0.0)
    }
}

fn nanos(ns: f64) -> Nanos {
    Nanos::new((ns + 0.5) as u64)
}

/// When pages arrive and workers wake up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// How many pages arrive in a second.
    pub pages_per_s: f64,
    /// All workers start at multiples of this and drain what has arrived before.
    pub every: Nanos,
}

/// Windows wakes its zeroing threads every two seconds (the article).
pub const EVERY: Nanos = Nanos::from_secs(2);

/// The steady state of bursts, in which each is like the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Bursty {
    /// One of them.
    pub burst: PoolResult,
    /// From the begin of one to that of the next: what they start at multiples
    /// of, or a multiple where one takes longer.
    pub period: Nanos,
    /// Whether what arrives gets zeroed. If not, the burst is the longest that was
    /// tried, and there is no end to it.
    pub keeps_up: bool,
}

/// A burst that takes longer than so many wake-ups never ends.
const MOST_PERIODS: u64 = 8;

impl Bursts {
    /// Simulates them. The pages of `job` do not count.
    ///
    /// # Errors
    /// As of [`simulate`], or nothing arrives.
    pub fn simulate(&self, machine: &Machine, job: &Job) -> Result<Bursty, Refusal> {
        let mut periods = 1;
        loop {
            let period = self.every.times(periods);
            let pages = (self.pages_per_s * period.as_secs_f64()) as u64;
            if pages == 0 || self.pages_per_s > 1e12 {
                return Err(Refusal::new(
                    "between two bursts, a page at least and not more than 1e12 a second must arrive",
                ));
            }
            let burst = simulate(machine, &Job { pages, ..*job })?;
            let keeps_up = burst.wall <= period;
            if keeps_up || periods >= MOST_PERIODS {
                return Ok(Bursty {
                    burst,
                    period,
                    keeps_up,
                });
            }
            periods = burst.wall.as_ns().div_ceil(self.every.as_ns());
            periods = periods.min(MOST_PERIODS);
        }
    }
}

impl Bursty {
    /// The share of time in which there is a burst.
    pub fn duty(&self) -> f64 {
        self.burst.wall.as_secs_f64() / self.length().as_secs_f64()
    }

    /// How many CPUs are busy, on average.
    pub fn cpus(&self) -> f64 {
        self.burst.cpu.as_secs_f64() / self.length().as_secs_f64()
    }

    fn length(&self) -> Nanos {
        self.period.max(self.burst.wall)
    }
}

#[derive(Clone, Debug, Default)]
struct Drained {
    times: Times,
    waits: Vec<u64>,
    holds: Vec<u64>,
}

/// The sums of a backlog. All grow with the number of pages, so that what a part
/// of a backlog takes can be counted up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Times {
    wall: f64,
    cpu: f64,
    zeroing: f64,
    hold: f64,
    wait: f64,
    parked: f64,
    lost: f64,
    acquisitions: f64,
}

/// Each of the samples of waits and holds is kept up to here.
const ROOM: usize = 1 << 16;

/// Drains a backlog.
fn drain(machine: &Machine, job: &Job, pages: u64) -> Result<Drained, Refusal> {
    let (setting, workers) = (&job.setting, job.setting.workers);
    let costs = Costs::new(machine, workers, setting.lock)?;
    let world = World::new(costs, pages, job.preemption, job.seed, MOST_OPERATIONS);
    let computer = SimComputer::new(world);
    let pool = Pool::new(&computer, setting, pages).map_err(Refusal::new)?;
    let mut accounting: Vec<_> = (0..workers)
        .map(|_| Accounting::new(1, ROOM / workers))
        .collect();
    let tasks = accounting.iter_mut().enumerate();
    let tasks =
        tasks.map(|(worker, accounting)| Box::pin(pool.work(worker, accounting)) as Task<'_>);
    computer.run(tasks.collect())?;
    let world = computer.world();
    let mut times = Times::default();
    let begun = world.accounts().map(|account| account.begun).min();
    let begun = begun.unwrap_or(Time::ZERO);
    for account in world.accounts() {
        times.wall = times.wall.max(ns(account.ended - begun));
        times.cpu += ns(account.cpu());
        times.zeroing += ns(account.zeroing);
        times.parked += ns(account.parked);
        times.lost += ns(account.lost);
    }
    for accounting in &accounting {
        times.hold += accounting.hold.as_ns() as f64;
        times.wait += accounting.wait.as_ns() as f64;
        times.acquisitions += accounting.acquisitions as f64;
    }
    let samples = accounting.iter().flat_map(|accounting| &accounting.samples);
    let sorted = |of: fn(&Sample) -> Nanos| {
        let mut all: Vec<u64> = samples.clone().map(|sample| of(sample).as_ns()).collect();
        all.sort_unstable();
        all
    };
    Ok(Drained {
        times,
        waits: sorted(|sample| sample.wait),
        holds: sorted(|sample| sample.hold),
    })
}

impl Times {
    /// This and `times` as much as `other` has more than this.
    fn extrapolate(&self, other: &Self, times: f64) -> Self {
        let far = |near: f64, far: f64| near + (far - near) * times;
        Self {
            wall: far(self.wall, other.wall),
            cpu: far(self.cpu, other.cpu),
            zeroing: far(self.zeroing, other.zeroing),
            hold: far(self.hold, other.hold),
            wait: far(self.wait, other.wait),
            parked: far(self.parked, other.parked),
            lost: far(self.lost, other.lost),
            acquisitions: far(self.acquisitions, other.acquisitions),
        }
    }
}

fn ns(time: Time) -> f64 {
    time.as_thirds() as f64 / 3.0
}
