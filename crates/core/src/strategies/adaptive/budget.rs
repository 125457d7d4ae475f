//! What a waiter may spin at most, whatever lateness weighs.

use std::fmt;
use std::str::FromStr;

use crate::time::Nanos;

/// The most a wait spins whatever its budget: more than the coarsest known
/// ticks, which are 15.6 ms apart, and little enough to be no trap.
pub(super) const SPIN_MAX: Nanos = Nanos::from_ms(40);

/// A hard limit on spinning. What is not spun is slept, so a wait ends as late
/// as the OS makes it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Budget {
    /// None but 40 ms a wait.
    #[default]
    Unlimited,
    /// No spinning at all.
    NeverSpin,
    /// At most so much in one wait.
    PerWait(Nanos),
    /// At most this part of the time that passes, from 0 to 1, over the last
    /// second.
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

/// What [`Budget::from_str`] reads: `none`, `never`, `50us`, `5%`.
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

/// What of a budget is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Purse {
    budget: Budget,
    /// What may be spun now, of a share.
    ns: f32,
    /// When that was reckoned, in nanoseconds of the waiter's clock.
    at: u64,
}

/// A share is of the last second.
const OVER_NS: f32 = 1e9;

impl Purse {
    pub(super) const fn new(budget: Budget) -> Self {
        Self {
            budget,
            ns: 0.0,
            at: 0,
        }
    }

    /// What a wait that begins now may spin.
    #[inline]
    pub(super) fn open(&mut self, now: u64) -> Nanos {
        match self.budget {
            Budget::Share(share) => {
                // A second's worth of it at most is saved, and at the start.
                let passed = now.saturating_sub(self.at) as f32;
                self.at = now;
                self.ns = (self.ns + passed * share).min(OVER_NS * share);
                Nanos::new(self.ns.max(0.0) as u64).min(SPIN_MAX)
            }
            budget => budget.per_wait(),
        }
    }

    /// So much was spun.
    #[inline]
    pub(super) fn pay(&mut self, spun_ns: f32) {
        if let Budget::Share(_) = self.budget {
            self.ns -= spun_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_last_second() {
        let mut purse = Purse::new(Budget::Share(0.01));
        let second = 1_000_000_000;
        // After any rest, 10 ms and no more.
        assert_eq!(purse.open(3_600 * second), Nanos::from_ms(10));
        purse.pay(12e6);
        assert_eq!(purse.open(3_600 * second), Nanos::ZERO);
        let later = purse.open(3_600 * second + second / 2).as_ns();
        assert!(later.abs_diff(3_000_000) < 2_000, "{later}");
    }

    #[test]
    fn the_others_do_not_change() {
        for (budget, most) in [
            (Budget::Unlimited, SPIN_MAX),
            (Budget::NeverSpin, Nanos::ZERO),
            (Budget::PerWait(Nanos::from_us(5)), Nanos::from_us(5)),
            (Budget::PerWait(Nanos::MAX), SPIN_MAX),
        ] {
            let mut purse = Purse::new(budget);
            for now in 0..3 {
                assert_eq!(purse.open(now), most);
                purse.pay(1e6);
            }
        }
    }
}
