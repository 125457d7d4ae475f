//! Other activity while a batch is measured.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use punctual::Waiter;
use punctual_core::Nanos;
use punctual_os::Error;
use punctual_os::cgroups::OwnGroup;
use punctual_os::thread::set_nice;
use punctual_record::CpuQuota;

use super::batch::Sleeper;
use crate::workload::named;

/// In which surroundings a subject waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing else runs.
    Quiet,
    /// A number of threads per CPU compute all the time.
    Load(u32),
    /// The thread may use so many percent of a CPU, in periods of 100 ms.
    Quota(u32),
    /// One thread per CPU computes, and the subject is at nice 19.
    Nice,
    /// A number of threads of this process, including the subject, wait as it does: each for 0.5
    /// to 1.5 ms, again and again.
    Crowd(u32),
}

impl Condition {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 9] = [
        Self::Quiet,
        Self::Load(1),
        Self::Load(2),
        Self::Quota(5),
        Self::Quota(50),
        Self::Nice,
        Self::Crowd(8),
        Self::Crowd(32),
        Self::Crowd(128),
    ];

    /// Whether it can be had here.
    ///
    /// # Errors
    /// It cannot, and why.
    pub fn check(self) -> Result<(), Error> {
        match self {
            Self::Quiet | Self::Load(_) | Self::Crowd(_) => Ok(()),
            Self::Quota(percent) => {
                let group = OwnGroup::new(quota(percent))?;
                on_a_thread(move || group.enter().and_then(|()| group.leave()))
            }
            Self::Nice => on_a_thread(|| set_nice(19)),
        }
    }
}

fn on_a_thread(try_it: impl FnOnce() -> Result<(), Error> + Send) -> Result<(), Error> {
    thread::scope(|scope| scope.spawn(try_it).join())
        .unwrap_or_else(|_| Err(Error::unsupported("the thread that tried it failed")))
}

fn quota(percent: u32) -> CpuQuota {
    CpuQuota::new(Nanos::from_ms(percent.into()), Nanos::from_ms(100))
}

/// As the user types and reads it: `quiet`, `load1`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quiet => punctual_record::regimes::QUIET.fmt(f),
            Self::Load(hogs) => write!(f, "load{hogs}"),
            Self::Quota(percent) => write!(f, "quota{percent}"),
            Self::Nice => "nice19".fmt(f),
            Self::Crowd(threads) => write!(f, "crowd{threads}"),
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(Self::ALL, text, ["condition", "conditions"])
    }
}

/// A condition, made ready by one thread for another that begins and ends it.
#[derive(Debug)]
pub(super) struct Surroundings {
    others: Vec<JoinHandle<()>>,
    orders: Arc<Orders>,
    quota: Option<OwnGroup>,
    nice: bool,
}

#[derive(Debug, Default)]
struct Orders {
    go_on: AtomicBool,
    end: AtomicBool,
}

impl Surroundings {
    /// The surroundings of a subject that waits with `sleeper`.
    pub(super) fn of(condition: Condition, sleeper: &Sleeper) -> Result<Self, Error> {
        let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        let (hogs, waiting) = match condition {
            Condition::Load(hogs) => (hogs * cpus, 0),
            Condition::Nice => (cpus, 0),
            Condition::Crowd(threads) => (0, threads.saturating_sub(1)),
            Condition::Quiet | Condition::Quota(_) => (0, 0),
        };
        let orders = Arc::new(Orders::default());
        let hog = |_| {
            let orders = orders.clone();
            thread::spawn(move || orders.obey(compute))
        };
        let waits = |place| {
            let (orders, sleeper) = (orders.clone(), sleeper.clone());
            thread::spawn(move || wait(&orders, &sleeper, place))
        };
        Ok(Self {
            others: (0..hogs).map(hog).chain((0..waiting).map(waits)).collect(),
            quota: match condition {
                Condition::Quota(percent) => Some(OwnGroup::new(quota(percent))?),
                _ => None,
            },
            nice: condition == Condition::Nice,
            orders,
        })
    }

    /// The preparation of the waiting thread before its first wait.
    pub(super) fn prepare(&self) -> Result<(), Error> {
        if self.nice {
            set_nice(19)?;
        }
        Ok(())
    }

    /// From now on, for the calling thread.
    pub(super) fn begin(&self) -> Result<(), Error> {
        if let Some(quota) = &self.quota {
            quota.enter()?;
        }
        self.order(true);
        Ok(())
    }

    /// No longer.
    pub(super) fn end(&self) -> Result<(), Error> {
        self.order(false);
        self.quota.as_ref().map_or(Ok(()), OwnGroup::leave)
    }

    fn order(&self, go_on: bool) {
        self.orders.go_on.store(go_on, Ordering::Release);
        if go_on {
            (self.others.iter()).for_each(|other| other.thread().unpark());
        }
    }
}

impl Orders {
    /// Takes one turn after the other while it is to go on.
    fn obey(&self, mut turn: impl FnMut()) {
        while !self.end.load(Ordering::Acquire) {
            while self.go_on.load(Ordering::Relaxed) {
                turn();
            }
            if !self.end.load(Ordering::Acquire) {
                thread::park();
            }
        }
    }
}

fn compute() {
    // No pause, at which a hypervisor may take the CPU away.
    (0..1_000_u32).for_each(|i| {
        std::hint::black_box(i);
    });
}

/// Waits as the subject does, the `place`th of those beside it.
fn wait(orders: &Orders, sleeper: &Sleeper, place: u32) {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(u64::from(place) + 1);
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        Instant::now() + Duration::from_nanos(500_000 + seed % 1_000_000)
    };
    match sleeper {
        Sleeper::Waiter(strategy) => {
            // The subject's was built before.
            if let Ok(mut waiter) = Waiter::builder().strategy(strategy.clone()).build() {
                orders.obey(|| {
                    waiter.sleep_until(next());
                });
            }
        }
        Sleeper::Peer(make) => {
            let mut peer = make();
            orders.obey(|| peer(next()));
        }
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        self.orders.end.store(true, Ordering::Release);
        self.orders.go_on.store(false, Ordering::Release);
        for other in self.others.drain(..) {
            other.thread().unpark();
            // It takes its turns and returns; there is nothing in it that could fail.
            let _ = other.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for condition in Condition::ALL {
            assert_eq!(condition.to_string().parse(), Ok(condition));
        }
        assert!(
            "load3"
                .parse::<Condition>()
                .unwrap_err()
                .contains("load2, ")
        );
    }

    #[test]
    fn surroundings_come_and_go_and_what_cannot_be_had_says_why() {
        for condition in Condition::ALL {
            if let Err(why) = condition.check() {
                assert!(!why.to_string().is_empty());
                continue;
            }
            on_a_thread(|| {
                let sleeper = Sleeper::Waiter(punctual::Strategy::default());
                let surroundings = Surroundings::of(condition, &sleeper)?;
                surroundings.prepare()?;
                surroundings.begin()?;
                surroundings.end()
            })
            .unwrap();
        }
    }
}
