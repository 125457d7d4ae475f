use std::time::Duration;

use punctual_core::strategies;

use crate::error::Error;

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
