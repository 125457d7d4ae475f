//! CPUs that are taken away for a while: by a hypervisor, from a guest that
//! does not know of it, even if it holds a lock.

use punctual_core::Nanos;
use punctual_program::Refusal;

use punctual_sim::Random;
use punctual_sim::Time;

/// How CPUs are taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemption {
    /// How often each CPU is, each at its own time; not zero.
    pub every: Nanos,
    /// For how long; less than that.
    pub length: Nanos,
}

impl Preemption {
    /// Whether CPUs can be taken away like this.
    ///
    /// # Errors
    /// Says what is wrong.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.length < self.every {
            return Ok(());
        }
        Err(Refusal::new(format!(
            "a CPU that is taken away every {} for {} is never there: it must be for less than how often it is",
            self.every, self.length
        )))
    }
}

/// When a worker loses its CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Losses {
    every: Time,
    length: Time,
    next: Time,
}

impl Losses {
    /// From an instant of chance on.
    pub(crate) fn new(preemption: Option<Preemption>, random: &mut Random) -> Self {
        match preemption {
            Some(Preemption { every, length }) => Self {
                every: every.into(),
                length: length.into(),
                next: random.below(every.into()),
            },
            None => Self {
                every: Time::NEVER,
                length: Time::ZERO,
                next: Time::NEVER,
            },
        }
    }

    /// Whether it loses the CPU by then.
    pub(crate) fn is_due(&self, then: Time) -> bool {
        self.next <= then
    }

    /// The worker would be done at `now`: by how much later it is, and for how
    /// long it had no CPU meanwhile. If it needed the CPU for what it did, all of
    /// that comes on top; else it is only late if it has none now.
    pub(crate) fn until(&mut self, now: Time, worked: bool) -> (Time, Time) {
        let (mut late, mut lost) = (Time::ZERO, Time::ZERO);
        while self.next <= now + late && self.next < Time::NEVER {
            late = match worked {
                true => late + self.length,
                false => late.max((self.next + self.length) - now),
            };
            lost = lost + self.length;
            self.next = self.next + self.every;
        }
        (late, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// 10 ns of every 100, at first at 50.
    const LOSSES: Losses = Losses {
        every: ns(100),
        length: ns(10),
        next: ns(50),
    };

    #[test]
    fn work_is_delayed_by_all_that_is_lost() {
        let mut losses = LOSSES;
        assert_eq!(losses.until(ns(49), true), (ns(0), ns(0)));
        // Those at 50 and 150, and the one at 250, as it is not done by then.
        assert_eq!(losses.until(ns(240), true), (ns(30), ns(30)));
        assert!(losses.is_due(ns(350)) && !losses.is_due(ns(349)));
    }

    #[test]
    fn who_waits_is_only_late_without_a_cpu() {
        let mut losses = LOSSES;
        assert_eq!(losses.until(ns(140), false), (ns(0), ns(10)));
        assert_eq!(losses.until(ns(155), false), (ns(5), ns(10)));
    }

    #[test]
    fn nothing_is_lost_without_preemption() {
        let mut losses = Losses::new(None, &mut Random::new(1));
        assert!(!losses.is_due(ns(u64::MAX / 4)));
        assert_eq!(losses.until(ns(1_000), true), (ns(0), ns(0)));
    }
}
