//! A hard limit on spinning, beside the weight of lateness.

use std::fmt;
use std::str::FromStr;

use crate::time::Nanos;

/// The most a wait spins without a budget: two of the coarsest known ticks, which
/// are 15.6 ms apart, and little enough to be no trap.
pub(super) const SPIN_MAX: Nanos = Nanos::from_ms(40);

/// A hard limit on spinning. The rest of a wait is slept, however late the OS ends
/// that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Budget {
    /// Only the limit of 40 ms a wait.
    #[default]
    Unlimited,
    /// No spinning at all.
    NeverSpin,
    /// At most this much in one wait.
    PerWait(Nanos),
    /// At most this share of the time, from 0 to 1, by a token bucket that holds the share
    /// of a second.
    Share(f32),
}

impl Budget {
    /// The most that one wait may spin.
    pub const fn per_wait(self) -> Nanos {
        match self {
            Self::NeverSpin => Nanos::ZERO,
            Self::PerWait(most) if most.as_ns() < SPIN_MAX.as_ns() => most,
            _ => SPIN_MAX,
        }
    }
}

/// The forms that [`Budget::from_str`] reads: `none`, `never`, `50us`, `5%`.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("none"),
            Self::NeverSpin => f.write_str("never"),
            Self::PerWait(most) => write!(f, "{}", most.exact()),
            Self::Share(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

/// # Errors
/// It is none of these; the text says which there are.
impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = |percent: &str| {
            let percent: f32 = percent.trim().parse().ok()?;
            (percent > 0.0 && percent <= 100.0).then_some(Self::Share(percent / 100.0))
        };
        match text {
            "none" => Some(Self::Unlimited),
            "never" => Some(Self::NeverSpin),
            _ => match text.strip_suffix('%') {
                Some(percent) => share(percent),
                None => text.parse().ok().map(Self::PerWait),
            },
        }
        .ok_or_else(|| {
            format!(
                "`{text}` is no budget for spinning: it is none, never, a length of time per wait \
                 such as 50us, or a share of the time such as 5%"
            )
        })
    }
}

/// The rest of a budget; of a share, a token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allowance {
    budget: Budget,
    tokens_ns: f32,
    /// When the bucket was last filled, in nanoseconds of the waiter's clock.
    filled_at: u64,
}

/// The bucket holds the share of one second, and is full at the start.
const BUCKET_NS: f32 = 1e9;

impl Allowance {
    pub(super) fn budget(&self) -> Budget {
        self.budget
    }

    pub(super) const fn new(budget: Budget) -> Self {
        Self {
            budget,
            tokens_ns: 0.0,
            filled_at: 0,
        }
    }

    /// The time that a wait may spin if it begins `now`.
    #[inline]
    pub(super) fn at(&mut self, now: u64) -> Nanos {
        match self.budget {
            Budget::Share(share) => {
                let passed = now.saturating_sub(self.filled_at) as f32;
                self.filled_at = now;
                self.tokens_ns = (self.tokens_ns + passed * share).min(BUCKET_NS * share);
                Nanos::new(self.tokens_ns.max(0.0) as u64).min(SPIN_MAX)
            }
            budget => budget.per_wait(),
        }
    }

    #[inline]
    pub(super) fn spend(&mut self, spun_ns: f32) {
        if let Budget::Share(_) = self.budget {
            self.tokens_ns -= spun_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_second_is_saved_at_most() {
        let mut allowance = Allowance::new(Budget::Share(0.01));
        let second = 1_000_000_000;
        // However long the rest before it.
        assert_eq!(allowance.at(3_600 * second), Nanos::from_ms(10));
        allowance.spend(12e6);
        assert_eq!(allowance.at(3_600 * second), Nanos::ZERO);
        let later = allowance.at(3_600 * second + second / 2).as_ns();
        assert!(later.abs_diff(3_000_000) < 2_000, "{later}");
    }

    #[test]
    fn the_other_budgets_are_the_same_for_each_wait() {
        for (budget, most) in [
            (Budget::Unlimited, SPIN_MAX),
            (Budget::NeverSpin, Nanos::ZERO),
            (Budget::PerWait(Nanos::from_us(5)), Nanos::from_us(5)),
            (Budget::PerWait(Nanos::MAX), SPIN_MAX),
        ] {
            let mut allowance = Allowance::new(budget);
            for now in 0..3 {
                assert_eq!(allowance.at(now), most);
                allowance.spend(1e6);
            }
        }
    }
}
