//! The advice of a computer's model.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Machine, Quantity};

use crate::advice::{Candidate, Goal, longest_take, naive, pick, within};
use crate::rows::{PAGE_BYTES, RatedPool, ZeroAdvice, ZeroBounds, ZeroHold, ZeroPick, ZeroPool};
use crate::{distinct, simulation};

/// A pool for each goal.
#[derive(Clone, Debug)]
pub struct Advised {
    /// With intervals.
    picks: Vec<(Goal, Candidate)>,
    naive: Candidate,
    pages: u64,
    considered: usize,
}

impl Advised {
    /// Picks from `candidates` for `goals`, and predicts the picked pools and the naive one with
    /// intervals.
    ///
    /// # Errors
    /// There are no candidates, or one cannot be simulated.
    pub fn of(
        machine: &Machine,
        candidates: &[Candidate],
        goals: &[Goal],
        pages: u64,
    ) -> Result<Self, Refusal> {
        let rate = |setting| rated(machine, setting, pages);
        Self::by(machine, candidates, goals, pages, rate)
    }

    /// The same from those candidates that were predicted before the user ended it. No pool is
    /// predicted again, so all intervals are empty.
    ///
    /// # Errors
    /// The naive pool is not among the candidates.
    pub fn of_some(
        machine: &Machine,
        candidates: &[Candidate],
        goals: &[Goal],
        pages: u64,
    ) -> Result<Self, Refusal> {
        let known = |setting| {
            let mut all = candidates.iter();
            let known = all.find(|candidate| candidate.setting == setting);
            known.copied().ok_or_else(none)
        };
        Self::by(machine, candidates, goals, pages, known)
    }

    /// `rate` rates the pools that the advice is about.
    fn by(
        machine: &Machine,
        candidates: &[Candidate],
        goals: &[Goal],
        pages: u64,
        rate: impl Fn(Setting) -> Result<Candidate, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut picks: Vec<(Goal, Candidate)> = Vec::new();
        for &goal in goals {
            let scored = candidates.iter();
            let scored = scored.map(|c| (c.setting, Interval::exactly(c.score(goal))));
            let best = pick(&scored.collect::<Vec<_>>(), pages).ok_or_else(none)?;
            let same = picks.iter().find(|(_, c)| c.setting == best);
            let rated = match same {
                Some((_, known)) => *known,
                None => rate(best)?,
            };
            picks.push((goal, rated));
        }
        Ok(Self {
            picks,
            naive: rate(naive(machine.topology.cpus()))?,
            pages,
            considered: candidates.len(),
        })
    }

    /// The advice for a Run.
    pub fn record(&self, machine: &Machine) -> ZeroAdvice {
        let bounds = bounds(machine);
        let pick = |(goal, candidate): &(Goal, Candidate)| {
            let setting = &candidate.setting;
            let longest_take_pages = longest_take(setting, self.pages);
            let locks = distinct([LockKind::Tas, setting.lock]).into_iter();
            ZeroPick {
                goal: goal.name().to_owned(),
                pool: ZeroPool::of(setting),
                rates: candidate.rates,
                longest_take_pages,
                longest_take_ns: longest_take_pages as f64 * bounds.zero_ns,
                holds: locks
                    .filter_map(|lock| hold(machine, lock, setting.workers))
                    .collect(),
            }
        };
        ZeroAdvice {
            on: machine.name.to_string(),
            model_only: true,
            pages: self.pages,
            considered: self.considered as u64,
            ideal_gb_per_cpu_s: bounds.core_gb_per_s,
            picks: self.picks.iter().map(pick).collect(),
            naive: RatedPool {
                pool: ZeroPool::of(&self.naive.setting),
                rates: self.naive.rates,
            },
            bounds,
        }
    }
}

fn none() -> Refusal {
    Refusal::new("there is no pool to advise")
}

fn rated(machine: &Machine, setting: Setting, pages: u64) -> Result<Candidate, Refusal> {
    let rates = within(machine, &setting, pages)?;
    Ok(Candidate { setting, rates })
}

/// How long Linux zeroes without offering the CPU to others: up to 32 MiB, which
/// take some 3 ms (its series on clearing ranges of pages, January 2026: units of
/// that size where the kernel is not pre-emptible).
pub(super) const LONGEST_TAKE: Nanos = Nanos::from_ms(3);

/// See above, in pages.
pub(super) const LARGEST_TAKE: u64 = (32 << 20) / PAGE_BYTES;

/// `N <= BW_total / BW_core`, and the most pages of a batch.
pub(super) fn bounds(machine: &Machine) -> ZeroBounds {
    let zero_ns = machine.value(Quantity::Zero);
    // Bytes in nanoseconds are GB in a second.
    let core_gb_per_s = PAGE_BYTES as f64 / zero_ns;
    let total_gb_per_s = machine.value(Quantity::Bandwidth);
    let threads = total_gb_per_s / core_gb_per_s;
    // A bandwidth that was made of that of all CPUs is no limit, however rounded.
    let all = machine.topology.cpus() as f64 * (1.0 - 1e-9);
    let is_limit = threads < all;
    let in_time = LONGEST_TAKE.as_ns() as f64 / zero_ns;
    ZeroBounds {
        zero_ns,
        core_gb_per_s,
        total_gb_per_s: is_limit.then_some(total_gb_per_s),
        threads: is_limit.then_some(threads),
        most_pages: (in_time as u64).clamp(1, LARGEST_TAKE),
    }
}

/// How long a lock is with one holder while all workers of a pool want it, and
/// `B >= N h(N) / (e z)`; `None` of a lock that has no closed form.
pub(super) fn hold(machine: &Machine, lock: LockKind, workers: usize) -> Option<ZeroHold> {
    // The size of a take makes no difference to the lock.
    let setting = Setting::new(workers, lock, Batch::One);
    let hold_ns = match lock {
        LockKind::Counter => {
            // Its line goes from one who wants it to the next.
            let transfer = machine.mean_transfer_ns(workers).ok()?;
            let queued = transfer * machine.value(Quantity::QueuedShare);
            machine.value(Quantity::Extra(lock)) + machine.value(Quantity::Rmw) + queued
        }
        _ => simulation::closed_form(machine, &setting)?.service(workers),
    };
    let pages = |share: f64| workers as f64 * hold_ns / (share * machine.value(Quantity::Zero));
    Some(ZeroHold {
        lock: lock.to_string(),
        not_validated: !machine.not_validated(&setting).is_empty(),
        hold_ns,
        pages_for_5_percent: pages(0.05),
        pages_for_10_percent: pages(0.1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::central;
    use punctual_sim::model::Confidence;
    use punctual_zero_sim::{Figure, Topology};

    #[test]
    fn a_pool_is_advised_for_each_goal_and_compared_with_the_naive_way() {
        let machine = Machine::parse("ryzen-7950x-32").unwrap();
        let pages = 10_000;
        let settings = [
            Setting::new(1, LockKind::Counter, Batch::Fixed(64)),
            Setting::new(4, LockKind::Tas, Batch::Fixed(64)),
            Setting::new(32, LockKind::Tas, Batch::One),
        ];
        let candidates = settings.map(|setting| {
            let rates = central(&machine, &setting, pages).unwrap();
            Candidate { setting, rates }
        });
        let advised = Advised::of(&machine, &candidates, &Goal::ALL, pages).unwrap();
        let advice = advised.record(&machine);
        let goals: Vec<_> = advice.picks.iter().map(|p| p.goal.as_str()).collect();
        assert_eq!(goals, ["cpu", "wall", "balanced"]);
        assert_eq!(advice.picks[0].pool, ZeroPool::of(&settings[0]));
        assert_eq!(advice.picks[1].pool, ZeroPool::of(&settings[1]));
        let naive = &advice.naive;
        assert_eq!(naive.pool, ZeroPool::of(&settings[2]));
        let advised = &advice.picks[1].rates;
        assert!(advice.wasted(&naive.rates) > advice.wasted(advised));
        assert_eq!(advice.considered, 3);
        assert!(Advised::of(&machine, &[], &Goal::ALL, pages).is_err());
    }

    /// Four cores at one cache, all figures round.
    fn machine() -> Machine {
        let figures = [
            (Quantity::SameCache, 50.0),
            (Quantity::QueuedShare, 0.5),
            (Quantity::Rmw, 5.0),
            (Quantity::Section, 15.0),
            (Quantity::Extra(LockKind::Ticket), 7.0),
            (Quantity::Zero, 400.0),
            (Quantity::Bandwidth, 25.6),
        ];
        let machine = Machine::new("four", "a test", Topology::of_cores(4));
        figures
            .into_iter()
            .fold(machine, |machine, (quantity, value)| {
                machine.with(quantity, Figure::new(value, Confidence::D, "a test"))
            })
    }

    #[test]
    fn memory_keeps_up_with_so_many_threads() {
        let bounds = bounds(&machine());
        assert_eq!(bounds.core_gb_per_s, 10.24);
        assert_eq!(bounds.total_gb_per_s, Some(25.6));
        assert_eq!(bounds.threads, Some(2.5));
        // 3 ms / 400 ns.
        assert_eq!(bounds.most_pages, 7_500);
        let fast = machine().with(Quantity::Zero, Figure::new(100.0, Confidence::D, "a test"));
        assert_eq!(super::bounds(&fast).most_pages, 8_192);
    }

    #[test]
    fn a_bandwidth_that_nobody_reaches_is_no_limit() {
        for gb_per_s in [40.96, 1e6] {
            let figure = Figure::new(gb_per_s, Confidence::D, "a test");
            let bounds = bounds(&machine().with(Quantity::Bandwidth, figure));
            assert_eq!((bounds.total_gb_per_s, bounds.threads), (None, None));
        }
    }

    #[test]
    fn a_batch_has_to_be_so_large() {
        // 15 + 5 + 2 x 50 ns, and 25 ns for each who waits.
        let tas = hold(&machine(), LockKind::Tas, 4).unwrap();
        assert_eq!(tas.hold_ns, 120.0 + 3.0 * 25.0);
        // 4 x 195 / (0.05 x 400)
        assert!((tas.pages_for_5_percent - 39.0).abs() < 1e-9, "{tas:?}");
        assert!((tas.pages_for_10_percent - 19.5).abs() < 1e-9, "{tas:?}");
        let ns = |lock| hold(&machine(), lock, 4).map(|hold| hold.hold_ns);
        assert_eq!(ns(LockKind::Ticket), Some(7.0 + 120.0 + 3.0 * 25.0));
        assert_eq!(ns(LockKind::Mcs), Some(120.0 + 2.0 * 50.0));
        assert_eq!(ns(LockKind::Counter), Some(5.0 + 25.0));
        assert_eq!(ns(LockKind::Mutex), None);
        // One thread waits for no other, and no line travels.
        let alone = hold(&machine(), LockKind::Tas, 1).unwrap();
        assert_eq!(alone.hold_ns, 20.0);
    }
}
