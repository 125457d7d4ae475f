//! The target of a waiter, and how well it is met.

use std::time::Duration;

use punctual_core::strategies;

use crate::error::Error;

/// A target of a waiter: how often it may be late by how much, how much it may spin, or both. The
/// waiter finds the necessary weight of lateness on this machine, and reports whether it can meet
/// the target at all.
///
/// A target for spinning is also a [`Budget::Share`](crate::Budget::Share) and always met; time
/// not spun for a second may be spun later. A target for lateness is met as far as the machine
/// permits. The waiter aims at six tenths of the share that the target allows. Thus random
/// variation does not exceed it.
///
/// # Accuracy
/// A target to be late `q` of the time takes about 12 / `q` waits to be learned and
/// judged. Waits whose deadline has passed before they begin do not count.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual::{LimitedBy, Target, Waiter};
///
/// // Late by more than 50 us at most once in a hundred waits, for at most 5 % of a CPU.
/// let target = Target::lateness(Duration::from_micros(50), 0.01).and_spinning(0.05);
/// let mut waiter = Waiter::builder().target(target).build()?;
/// let mut next = Instant::now();
/// for _ in 0..100 {
///     next += Duration::from_micros(200);
///     waiter.sleep_until(next);
/// }
/// let status = waiter.target_status().expect("it has a target");
/// match status.limited_by {
///     LimitedBy::Unreachable => println!("not here; choose one of {:?}", status.tradeoffs),
///     limit => println!("{limit:?}: late {} of the time", status.late_share),
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target(strategies::Target);

impl Target {
    /// To be late by more than `by` at most this part of the time, `often`: from
    /// 0.0005 to 0.5.
    pub fn lateness(by: Duration, often: f64) -> Self {
        Self(strategies::Target::default()).and_lateness(by, often)
    }

    /// To spin at most this part of a CPU, from 0.0001 to 1, and to be as exact as that
    /// allows.
    pub fn spinning(share: f64) -> Self {
        Self(strategies::Target::default()).and_spinning(share)
    }

    /// [`lateness`](Self::lateness) too.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::Target;
    ///
    /// let by = Duration::from_micros(50);
    /// let target = Target::spinning(0.05).and_lateness(by, 0.01);
    /// assert_eq!(target, Target::lateness(by, 0.01).and_spinning(0.05));
    /// ```
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

    pub(crate) fn check(self) -> Result<strategies::Target, Error> {
        self.0.check().map_err(Error::range)?;
        Ok(self.0)
    }
}

/// How well a waiter meets its [`Target`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Target, Waiter};
///
/// let target = Target::spinning(0.05);
/// let mut waiter = Waiter::builder().target(target).build()?;
/// for _ in 0..20 {
///     waiter.sleep(Duration::from_micros(200));
/// }
/// let status = waiter.target_status().expect("it has a target");
/// println!("{:.1} % of the time spun", 100.0 * status.spun_share);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TargetStatus {
    /// The weight of lateness that is in force.
    pub late_weight: f32,
    /// The share of recent waits that were late by more than the target allows.
    pub late_share: f32,
    /// The share of the time spent spinning.
    pub spun_share: f32,
    /// The limit that decides the weight.
    pub limited_by: LimitedBy,
    /// The result of each weight that was tried, the lightest first: the choice that this machine
    /// offers.
    pub tradeoffs: Vec<Tradeoff>,
}

/// The limit that decides how much a waiter spins.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{LimitedBy, Target, Waiter};
///
/// let target = Target::lateness(Duration::from_micros(50), 0.01);
/// let waiter = Waiter::builder().target(target).build()?;
/// let status = waiter.target_status().expect("it has a target");
/// assert_eq!(status.limited_by, LimitedBy::Learning); // it has not waited yet
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// Too few waits to judge.
    Learning,
    /// Neither: the lowest weight meets both limits.
    Neither,
    /// Both limits are met; without the limit on lateness the weight would be lower.
    Lateness,
    /// Spinning takes more than half of its limit. The limit on lateness is met, if there is one.
    Spinning,
    /// The limit on lateness is not met: this computer cannot meet it, or not with so little spinning.
    Unreachable,
}

/// The lateness and the cost of waits with weights of one order of magnitude.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Target, Waiter};
///
/// let target = Target::spinning(0.05);
/// let mut waiter = Waiter::builder().target(target).build()?;
/// for _ in 0..20 {
///     waiter.sleep(Duration::from_micros(200));
/// }
/// let status = waiter.target_status().expect("it has a target");
/// for tradeoff in &status.tradeoffs {
///     println!("weight {}: {:.1} % spun", tradeoff.late_weight, 100.0 * tradeoff.spun_share);
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Tradeoff {
    /// The weight of lateness.
    pub late_weight: f32,
    /// How many waits; old ones count half.
    pub waits: f32,
    /// The share of them that were late by more than the target allows.
    pub late_share: f32,
    /// The share of the time spent spinning.
    pub spun_share: f32,
}

impl TargetStatus {
    pub(crate) fn of(core: strategies::TargetStatus) -> Self {
        Self {
            late_weight: core.late_weight,
            late_share: core.late_share,
            spun_share: core.spun_share,
            limited_by: match core.limited_by {
                strategies::LimitedBy::Neither => LimitedBy::Neither,
                strategies::LimitedBy::Lateness => LimitedBy::Lateness,
                strategies::LimitedBy::Spinning => LimitedBy::Spinning,
                strategies::LimitedBy::Unreachable => LimitedBy::Unreachable,
                _ => LimitedBy::Learning,
            },
            tradeoffs: core.tradeoffs.into_iter().map(Tradeoff::of).collect(),
        }
    }
}

impl Tradeoff {
    fn of(core: strategies::Tradeoff) -> Self {
        Self {
            late_weight: core.late_weight,
            waits: core.waits,
            late_share: core.late_share,
            spun_share: core.spun_share,
        }
    }
}
