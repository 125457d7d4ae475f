//! All of the advice together.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Machine, Quantity};

use crate::advice::{Candidate, Goal, Model, longest_take, pick};
use crate::rows::{
    PAGE_BYTES, ZeroAdvice, ZeroBounds, ZeroChecked, ZeroForecast, ZeroHold, ZeroPick, ZeroPool,
    ZeroRow,
};
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
    /// Picks from `candidates` for `goals`, and asks the model of the computer once
    /// more about what it picked, now with intervals; and about the naive way.
    ///
    /// # Errors
    /// There are no candidates, or as of [`Model::within`].
    pub fn of(
        model: &dyn Model,
        candidates: &[Candidate],
        goals: &[Goal],
        pages: u64,
    ) -> Result<Self, Refusal> {
        let within = |setting| {
            let predicted = model.within(&setting, pages)?;
            Ok(Candidate { setting, predicted })
        };
        Self::told(model.cpus(), candidates, goals, pages, within)
    }

    /// Picks from the `candidates` of a computer of so many CPUs without asking its model again:
    /// all intervals are empty. For what was asked before the user ended it; the naive way is to
    /// be among it.
    ///
    /// # Errors
    /// The naive way is not among the candidates.
    pub fn of_what_there_is(
        cpus: usize,
        candidates: &[Candidate],
        goals: &[Goal],
        pages: u64,
    ) -> Result<Self, Refusal> {
        let known = |setting| {
            let mut all = candidates.iter();
            let known = all.find(|candidate| candidate.setting == setting);
            known.copied().ok_or_else(none)
        };
        Self::told(cpus, candidates, goals, pages, known)
    }

    /// `tell` says of a pool what the advice is to say of it.
    fn told(
        cpus: usize,
        candidates: &[Candidate],
        goals: &[Goal],
        pages: u64,
        tell: impl Fn(Setting) -> Result<Candidate, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut picks: Vec<(Goal, Candidate)> = Vec::new();
        for &goal in goals {
            let best = pick(candidates, goal, pages).ok_or_else(none)?;
            let same = picks.iter().find(|(_, c)| c.setting == best.setting);
            let told = match same {
                Some((_, known)) => *known,
                None => tell(best.setting)?,
            };
            picks.push((goal, told));
        }
        Ok(Self {
            picks,
            naive: tell(naive(cpus))?,
            pages,
            considered: candidates.len(),
        })
    }

    /// Asks the model about each of `settings`, and picks for `goals`; `next` hears of each
    /// before, and says whether to go on: `None` if not.
    ///
    /// # Errors
    /// As of [`Self::of`] and [`Model::central`].
    pub fn ask(
        model: &dyn Model,
        settings: Vec<Setting>,
        goals: &[Goal],
        pages: u64,
        next: &mut dyn FnMut(&Setting) -> bool,
    ) -> Result<Option<(Self, Vec<Candidate>)>, Refusal> {
        let mut candidates = Vec::new();
        for setting in settings {
            if !next(&setting) {
                return Ok(None);
            }
            let predicted = model.central(&setting, pages)?;
            candidates.push(Candidate { setting, predicted });
        }
        let advised = Self::of(model, &candidates, goals, pages)?;
        Ok(Some((advised, candidates)))
    }

    /// What is advised, each pool once, then the naive way, and those of `others` that
    /// are none of these.
    pub fn settings(&self, others: &[Candidate]) -> Vec<Setting> {
        let all = self.candidates().chain(others);
        distinct(all.map(|candidate| candidate.setting))
    }

    /// What is advised, with what the model says of it, some of them twice.
    pub fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        let picks = self.picks.iter().map(|(_, candidate)| candidate);
        picks.chain([&self.naive])
    }

    /// The advice for a Run; `model_only` where nothing of it is measured, as the
    /// computer is another one.
    ///
    /// # Errors
    /// As of [`Model::machine`].
    pub fn record(&self, model: &dyn Model, model_only: bool) -> Result<ZeroAdvice, Refusal> {
        let bounds = of_model(model)?;
        let pick = |goal: &str, candidate: &Candidate| {
            let setting = &candidate.setting;
            let longest_take_pages = longest_take(setting, self.pages);
            let locks = distinct([LockKind::Tas, setting.lock]);
            let holds = locks.into_iter().map(|lock| {
                let machine = model.machine(&Setting { lock, ..*setting })?;
                Ok(hold(&machine, lock, setting.workers))
            });
            let holds: Vec<Option<ZeroHold>> = holds.collect::<Result<_, Refusal>>()?;
            Ok(ZeroPick {
                goal: goal.to_owned(),
                pool: ZeroPool::of(setting),
                predicted: candidate.predicted,
                longest_take_pages,
                longest_take_ns: longest_take_pages as f64 * bounds.zero_ns,
                holds: holds.into_iter().flatten().collect(),
                checked: None,
            })
        };
        let picks = self.picks.iter();
        Ok(ZeroAdvice {
            on: model.name().to_owned(),
            model_only,
            pages: self.pages,
            considered: self.considered as u64,
            ideal_gb_per_cpu_s: bounds.core_gb_per_s,
            picks: picks
                .map(|(goal, candidate)| pick(goal.name(), candidate))
                .collect::<Result<_, Refusal>>()?,
            naive: ZeroForecast {
                pool: ZeroPool::of(&self.naive.setting),
                predicted: self.naive.predicted,
            },
            bounds,
        })
    }
}

/// The pool without any thought: the smallest take, the simplest lock that spins, and a thread
/// on every CPU.
pub fn naive(cpus: usize) -> Setting {
    Setting::new(cpus, LockKind::Tas, Batch::One)
}

fn none() -> Refusal {
    Refusal::new("there is no pool to advise")
}

/// How long Linux zeroes without offering the CPU to others: up to 32 MiB, which
/// take some 3 ms (its series on clearing ranges of pages, January 2026: units of
/// that size where the kernel is not pre-emptible).
const LONGEST_TAKE: Nanos = Nanos::from_ms(3);

/// See above, in pages.
const LARGEST_TAKE: u64 = (32 << 20) / PAGE_BYTES;

pub(super) fn of_model(model: &dyn Model) -> Result<ZeroBounds, Refusal> {
    // Of one thread that nobody disturbs.
    let alone = Setting::new(1, LockKind::Tas, Batch::One);
    Ok(bounds(&model.machine(&alone)?))
}

/// `N <= BW_total / BW_core`, and the most pages of a batch.
fn bounds(machine: &Machine) -> ZeroBounds {
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
    // What it takes at a time makes no difference to the lock.
    let setting = Setting::new(workers, lock, Batch::One);
    let hold_ns = match lock {
        LockKind::Counter => {
            // Its line goes from one who wants it to the next.
            let transfer = machine.mean_transfer_ns(workers).ok()?;
            let queued = transfer * machine.value(Quantity::QueuedShare);
            machine.value(Quantity::CounterExtra) + machine.value(Quantity::Rmw) + queued
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

/// Puts beside each measurement what the model says of the same pool.
pub fn with_predictions<'c>(
    measurements: &mut [ZeroRow],
    candidates: impl Iterator<Item = &'c Candidate>,
) {
    for candidate in candidates {
        let pool = ZeroPool::of(&candidate.setting);
        for measurement in measurements.iter_mut().filter(|m| pool.is_of(m)) {
            if let Some(zeroed) = measurement.zeroed_mut() {
                zeroed.zero.predicted = Some(candidate.predicted);
            }
        }
    }
}

/// Says of each advised pool that was measured whether it is the best of all
/// measured ones: whether its interval overlaps that of the greatest median, which is
/// the luckiest of many as well as the best. Pools with more workers than CPUs do not
/// count.
pub fn check(advice: &mut ZeroAdvice, measurements: &[ZeroRow]) {
    let goals = Goal::ALL.into_iter();
    let named = |name: &str| goals.clone().find(|goal| goal.name() == name);
    for pick in &mut advice.picks {
        pick.checked = named(&pick.goal).and_then(|goal| checked(&pick.pool, goal, measurements));
    }
}

fn checked(pool: &ZeroPool, goal: Goal, measurements: &[ZeroRow]) -> Option<ZeroChecked> {
    let scored: Vec<(&ZeroRow, Interval)> = measurements
        .iter()
        .filter_map(|m| Some((m, score(goal, m)?)))
        .collect();
    let median = |(_, score): &&(&ZeroRow, Interval)| score.median;
    let best = scored
        .iter()
        .max_by(|a, b| median(a).total_cmp(&median(b)))?;
    let (_, this) = scored.iter().find(|(m, _)| pool.is_of(m))?;
    Some(ZeroChecked {
        measured: scored.len() as u64,
        this: *this,
        best: of(best.0)?,
        best_measured: best.1,
        is_best: this.high >= best.1.low,
    })
}

fn score(goal: Goal, measurement: &ZeroRow) -> Option<Interval> {
    let zeroing = measurement
        .zeroing()
        .filter(|zeroing| !zeroing.oversubscribed)?;
    let rounds = zeroing.rounds.iter();
    let scores: Vec<f64> = rounds
        .map(|round| goal.score(round.gb_per_cpu_s, round.wall_gb_per_s))
        .collect();
    Interval::of(&scores)
}

fn of(measurement: &ZeroRow) -> Option<ZeroPool> {
    let of = &measurement.zeroed()?.pool;
    Some(ZeroPool {
        threads: of.threads,
        batch: of.batch.clone(),
        lock: measurement.subject.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_sim::model::Confidence;
    use punctual_zero_sim::{Figure, Topology};

    use crate::rows::{ZeroedPages, ZeroingPrediction, ZeroingRound};

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
            let predicted = machine.central(&setting, pages).unwrap();
            Candidate { setting, predicted }
        });
        let advised = Advised::of(&machine, &candidates, &Goal::ALL, pages).unwrap();
        let advice = advised.record(&machine, true).unwrap();
        let goals: Vec<_> = advice.picks.iter().map(|p| p.goal.as_str()).collect();
        assert_eq!(goals, ["cpu", "wall", "balanced"]);
        assert_eq!(advice.picks[0].pool, ZeroPool::of(&settings[0]));
        assert_eq!(advice.picks[1].pool, ZeroPool::of(&settings[1]));
        let naive = &advice.naive;
        assert_eq!(naive.pool, ZeroPool::of(&settings[2]));
        let advised = &advice.picks[1].predicted;
        assert!(advice.wasted(&naive.predicted) > advice.wasted(advised));
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
            (Quantity::TicketExtra, 7.0),
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
        assert_eq!(of_model(&machine()), Ok(bounds.clone()));
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
        // Nobody waits for one thread, and no line travels.
        let alone = hold(&machine(), LockKind::Tas, 1).unwrap();
        assert_eq!(alone.hold_ns, 20.0);
    }

    const ADVISED: Setting = Setting::new(1, LockKind::Tas, Batch::Fixed(64));
    const OTHER: Setting = Setting::new(2, LockKind::Mcs, Batch::GUIDED);

    /// Rounds of GB per CPU-second; per second that passed it is twice that.
    fn measured(setting: &Setting, rounds: [f64; 3]) -> ZeroRow {
        let rounds = rounds.map(|gb_per_cpu_s| ZeroingRound {
            gb_per_cpu_s,
            wall_gb_per_s: 2.0 * gb_per_cpu_s,
        });
        let mut zeroed = ZeroedPages::default();
        zeroed.zero.rounds = rounds.to_vec();
        zeroed.pool.threads = setting.workers as u64;
        zeroed.pool.batch = setting.batch.to_string();
        ZeroRow::pool(setting.lock, zeroed)
    }

    fn verdict(goal: Goal, measurements: &[ZeroRow]) -> Option<ZeroChecked> {
        let mut advice = ZeroAdvice {
            picks: vec![ZeroPick {
                goal: goal.name().to_owned(),
                pool: ZeroPool::of(&ADVISED),
                ..ZeroPick::default()
            }],
            ..ZeroAdvice::default()
        };
        check(&mut advice, measurements);
        advice.picks.remove(0).checked
    }

    #[test]
    fn an_interval_that_overlaps_that_of_the_best_is_as_good() {
        let best = measured(&OTHER, [10.0, 11.0, 12.0]);
        for (rounds, is_best) in [([8.0, 9.0, 10.0], true), ([8.0, 9.0, 9.9], false)] {
            let both = [measured(&ADVISED, rounds), best.clone()];
            let checked = verdict(Goal::Cpu, &both).unwrap();
            assert_eq!(checked.is_best, is_best);
            assert_eq!(checked.best, ZeroPool::of(&OTHER));
            assert_eq!((checked.best_measured.median, checked.measured), (11.0, 2));
            assert_eq!(checked.this.median, 9.0);
        }
        let wall = verdict(Goal::Wall, &[measured(&ADVISED, [1.0; 3])]).unwrap();
        assert_eq!((wall.best_measured.median, wall.is_best), (2.0, true));
    }

    #[test]
    fn what_was_not_measured_has_no_verdict_and_the_scheduler_does_not_count() {
        let mut best = measured(&OTHER, [10.0; 3]);
        assert_eq!(verdict(Goal::Cpu, std::slice::from_ref(&best)), None);
        best.zeroed_mut().unwrap().zero.oversubscribed = true;
        let both = [measured(&ADVISED, [1.0; 3]), best];
        assert!(verdict(Goal::Cpu, &both).unwrap().is_best);
    }

    #[test]
    fn predictions_stand_beside_their_pools() {
        let mut measurements = [measured(&ADVISED, [1.0; 3]), measured(&OTHER, [1.0; 3])];
        let candidate = Candidate {
            setting: OTHER,
            predicted: ZeroingPrediction::default(),
        };
        with_predictions(&mut measurements, [&candidate].into_iter());
        let predicted = measurements.map(|m| m.zeroing().unwrap().predicted);
        assert_eq!(predicted, [None, Some(candidate.predicted)]);
    }
}
