//! The limits of a strategy, and its earlier knowledge.

use std::time::Duration;

use punctual_core::strategies;
use punctual_sys::Error;

/// A hard limit on spinning, which no weight overrules. The rest of a wait is slept, and the wait
/// then ends as late as the OS makes it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Budget, Strategy, Waiter};
///
/// let mut waiter = Waiter::builder()
///     .strategy(Strategy::exact())
///     .budget(Budget::Share(0.02))
///     .build()?;
/// let outcome = waiter.sleep(Duration::from_micros(300));
/// if outcome.hit_budget() {
///     println!("{:?} late, for want of CPU time to spin", outcome.lateness());
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Budget {
    /// No limit, except that no wait of `adaptive` spins for more than 40 ms.
    #[default]
    Unlimited,
    /// No spinning at all.
    NeverSpin,
    /// At most so much in one wait.
    PerWait(Duration),
    /// At most this part of elapsed time, above 0 and up to 1. It is a token bucket that holds the
    /// part of a second: up to twice as much in one second after a rest. It holds also under load,
    /// and in a CPU quota. There a spin counts until it ended, though others had the CPU.
    Share(f32),
}

impl Budget {
    pub(crate) fn core(self) -> Result<strategies::Budget, Error> {
        match self {
            Self::Unlimited => Ok(strategies::Budget::Unlimited),
            Self::NeverSpin => Ok(strategies::Budget::NeverSpin),
            Self::PerWait(most) => Ok(strategies::Budget::PerWait(most.into())),
            Self::Share(share) if share > 0.0 && share <= 1.0 => {
                Ok(strategies::Budget::Share(share))
            }
            Self::Share(share) => Err(Error::range(format!(
                "a budget of {share} of the time: it is above 0 and at most 1"
            ))),
        }
    }
}

/// A promise of a waiter: how often it may be late by how much, how much it may spin, or both. The
/// waiter finds the necessary weight of lateness on this machine, and tells whether the promise
/// can be kept at all.
///
/// A promise about spinning is also a [`Budget::Share`] and always kept; time not spun for a
/// second may be spun later. A promise about lateness is kept as far as the machine permits. The
/// waiter aims at six tenths of the promised share, so that random variation does not break the
/// promise.
///
/// # Accuracy
/// A promise to be late `q` of the time takes about 12 / `q` waits to be learned and
/// judged. Waits whose deadline has passed before they begin do not count.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual::{Binding, Promise, Waiter};
///
/// // Late by more than 50 us at most once in a hundred waits, for at most 5 % of a CPU.
/// let promise = Promise::lateness(Duration::from_micros(50), 0.01).and_spinning(0.05);
/// let mut waiter = Waiter::builder().promise(promise).build()?;
/// let mut next = Instant::now();
/// for _ in 0..100 {
///     next += Duration::from_micros(200);
///     waiter.sleep_until(next);
/// }
/// let seen = waiter.promised().expect("it was asked to");
/// match seen.binding {
///     Binding::Broken => println!("not here; what can be had: {:?}", seen.frontier),
///     binding => println!("{binding:?}: late {} of the time", seen.late_share),
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise(pub(crate) strategies::Promise);

impl Promise {
    /// To be late by more than `by` at most this part of the time, `often`: from
    /// 0.0005 to 0.5.
    pub fn lateness(by: Duration, often: f64) -> Self {
        Self(strategies::Promise::default()).and_lateness(by, often)
    }

    /// To spin at most this part of a CPU, from 0.0001 to 1, and to be as exact as that
    /// allows.
    pub fn spinning(share: f64) -> Self {
        Self(strategies::Promise::default()).and_spinning(share)
    }

    /// [`lateness`](Self::lateness) too.
    #[must_use]
    pub fn and_lateness(mut self, by: Duration, often: f64) -> Self {
        self.0.late = Some((by.into(), often as f32));
        self
    }

    /// [`spinning`](Self::spinning) too.
    #[must_use]
    pub fn and_spinning(mut self, share: f64) -> Self {
        self.0.spin = Some(share as f32);
        self
    }

    pub(crate) fn check(self) -> Result<strategies::Promise, Error> {
        self.0.check().map_err(Error::range)?;
        Ok(self.0)
    }
}

/// The knowledge of a waiter with `adaptive` about this machine: how late naps of each length
/// usually end, their cost, and the distribution of overshoots.
///
/// With the feature `serde` it can be kept in a file. It is of use on the same
/// machine under the same settings; what is no longer so is unlearned within
/// about 50 waits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::Waiter;
///
/// let mut first = Waiter::new();
/// for _ in 0..20 {
///     first.sleep(Duration::from_micros(300));
/// }
/// let learned = first.learned().expect("the default strategy learns");
/// let second = Waiter::builder().learned(&learned).build()?;
/// # drop(second);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Learned(pub(crate) strategies::Learned);
