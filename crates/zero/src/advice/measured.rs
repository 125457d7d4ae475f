//! Advice from pools that were measured on this computer.

use punctual_record::Interval;
use punctual_zero_pool::Setting;

use super::advised::{LARGEST_TAKE, LONGEST_TAKE};
use super::{Goal, longest_take, naive, pick};
use crate::rows::{
    PAGE_BYTES, RatedPool, ZeroAdvice, ZeroBounds, ZeroPick, ZeroPool, ZeroRates, ZeroRow, Zeroing,
};

/// A pool this much worse than the best for every goal is not measured again.
const FAR: f64 = 0.9;

/// The settings that are worth more rounds after `results` of all of `settings`: those near the
/// best for one of `goals`, and the naive one.
pub fn finalists(settings: &[Setting], results: &[ZeroRow], goals: &[Goal]) -> Vec<Setting> {
    let measured = measured(settings, results);
    let is_near = |setting: &Setting, zeroing: &Zeroing| {
        goals.iter().any(|goal| {
            let scores = measured
                .iter()
                .map(|(_, zeroing)| score(*goal, zeroing).median);
            let best = scores.fold(0.0, f64::max);
            score(*goal, zeroing).median >= FAR * best
        }) || *setting == naive(most_workers(settings))
    };
    let near = measured
        .iter()
        .filter(|(setting, zeroing)| is_near(setting, zeroing));
    near.map(|(setting, _)| *setting).collect()
}

/// The best of `results` for each of `goals`, where so many `pages` are zeroed. `considered` pools
/// were measured at all. `None` if one of `settings` has no result, or there is no single thread
/// among them.
pub fn best_measured(
    settings: &[Setting],
    results: &[ZeroRow],
    goals: &[Goal],
    pages: u64,
    considered: usize,
) -> Option<ZeroAdvice> {
    let measured = measured(settings, results);
    let alone = measured.iter().filter(|(setting, _)| setting.workers == 1);
    let ideal = alone.map(|(_, zeroing)| zeroing.gb_per_cpu_s.median);
    let ideal = ideal.max_by(f64::total_cmp)?;
    if measured.len() < settings.len() {
        return None;
    }
    let bounds = bounds(ideal, &measured);
    let picks = goals.iter().filter_map(|goal| {
        let scored = measured.iter();
        let scored = scored.map(|(setting, zeroing)| (*setting, score(*goal, zeroing)));
        let setting = pick(&scored.collect::<Vec<_>>(), pages)?;
        let longest_take_pages = longest_take(&setting, pages);
        Some(ZeroPick {
            goal: goal.name().to_owned(),
            pool: ZeroPool::of(&setting),
            rates: rates(&measured, &setting)?,
            longest_take_pages,
            longest_take_ns: longest_take_pages as f64 * bounds.zero_ns,
            holds: vec![],
        })
    });
    let naive = naive(most_workers(settings));
    Some(ZeroAdvice {
        on: "this computer".to_owned(),
        model_only: false,
        pages,
        considered: considered as u64,
        ideal_gb_per_cpu_s: ideal,
        picks: picks.collect(),
        naive: RatedPool {
            pool: ZeroPool::of(&naive),
            rates: rates(&measured, &naive)?,
        },
        bounds,
    })
}

type Measured<'r> = (Setting, &'r Zeroing);

fn measured<'r>(settings: &[Setting], results: &'r [ZeroRow]) -> Vec<Measured<'r>> {
    let found = settings.iter().filter_map(|setting| {
        let pool = ZeroPool::of(setting);
        let row = results.iter().find(|row| pool.is_of(row))?;
        Some((*setting, row.zeroing()?))
    });
    found.collect()
}

fn most_workers(settings: &[Setting]) -> usize {
    let workers = settings.iter().map(|setting| setting.workers);
    workers.max().unwrap_or(1)
}

/// The interval over rounds of how good a pool is for a goal.
fn score(goal: Goal, zeroing: &Zeroing) -> Interval {
    let rounds = zeroing.rounds.iter();
    let scores = rounds.map(|round| goal.score(round.gb_per_cpu_s, round.wall_gb_per_s));
    Interval::of(&scores.collect::<Vec<_>>()).unwrap_or_default()
}

fn rates(measured: &[Measured<'_>], setting: &Setting) -> Option<ZeroRates> {
    let (_, zeroing) = measured.iter().find(|(of, _)| of == setting)?;
    Some(ZeroRates {
        wall_gb_per_s: zeroing.wall_gb_per_s,
        gb_per_cpu_s: zeroing.gb_per_cpu_s,
        wait_share: Interval::exactly(zeroing.cpu.waiting),
        ..ZeroRates::default()
    })
}

/// The memory limits the threads where no pool reaches nine tenths of what all CPUs would zero,
/// each as fast as one alone.
fn bounds(core_gb_per_s: f64, measured: &[Measured<'_>]) -> ZeroBounds {
    let rates = measured.iter();
    let rates = rates.map(|(_, zeroing)| zeroing.wall_gb_per_s.median);
    let total_gb_per_s = rates.fold(0.0, f64::max);
    let threads = total_gb_per_s / core_gb_per_s;
    let cpus = measured.iter().map(|(setting, _)| setting.workers).max();
    let is_limit = threads < 0.9 * cpus.unwrap_or(1) as f64;
    let zero_ns = PAGE_BYTES as f64 / core_gb_per_s;
    let in_time = LONGEST_TAKE.as_ns() as f64 / zero_ns;
    ZeroBounds {
        zero_ns,
        core_gb_per_s,
        total_gb_per_s: is_limit.then_some(total_gb_per_s),
        threads: is_limit.then_some(threads),
        most_pages: (in_time as u64).clamp(1, LARGEST_TAKE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{ZeroedPages, ZeroingRound};
    use punctual_zero_pool::{Batch, LockKind};

    const ALONE: Setting = Setting::new(1, LockKind::Counter, Batch::Fixed(64));
    const TWO: Setting = Setting::new(2, LockKind::Counter, Batch::Fixed(64));
    const NAIVE: Setting = Setting::new(2, LockKind::Tas, Batch::One);
    const SETTINGS: [Setting; 3] = [ALONE, TWO, NAIVE];

    /// Rounds of GB per CPU-second, and how many times that a second.
    fn row(setting: &Setting, rounds: [f64; 3], times: f64) -> ZeroRow {
        let interval = |of: [f64; 3]| Interval::of(&of).unwrap();
        let mut zeroed = ZeroedPages::default();
        zeroed.pool.threads = setting.workers as u64;
        zeroed.pool.batch = setting.batch.to_string();
        zeroed.zero.gb_per_cpu_s = interval(rounds);
        zeroed.zero.wall_gb_per_s = interval(rounds.map(|gb| times * gb));
        let rounds = rounds.map(|gb_per_cpu_s| ZeroingRound {
            gb_per_cpu_s,
            wall_gb_per_s: times * gb_per_cpu_s,
        });
        zeroed.zero.rounds = rounds.to_vec();
        ZeroRow::pool(setting.lock, zeroed)
    }

    fn results() -> [ZeroRow; 3] {
        [
            row(&ALONE, [10.0, 10.2, 10.4], 1.0),
            row(&TWO, [6.0, 6.2, 6.4], 2.0),
            row(&NAIVE, [2.0, 2.1, 2.2], 2.0),
        ]
    }

    #[test]
    fn each_goal_has_its_best_pool() {
        let advice = best_measured(&SETTINGS, &results(), &Goal::ALL, 1_000, 40).unwrap();
        let pools: Vec<_> = advice.picks.iter().map(|pick| &pick.pool).collect();
        let [alone, two] = [ALONE, TWO].map(|setting| ZeroPool::of(&setting));
        assert_eq!(pools, [&alone, &two, &alone]);
        assert_eq!(advice.naive.pool, ZeroPool::of(&NAIVE));
        assert_eq!((advice.considered, advice.ideal_gb_per_cpu_s), (40, 10.2));
        // 12.4 GB a second of 2 x 10.2.
        assert_eq!(advice.bounds.total_gb_per_s, Some(12.4));
    }

    #[test]
    fn a_pool_that_does_not_differ_from_the_best_wins_if_it_is_simpler() {
        let mut results = results();
        results[1] = row(&TWO, [10.3, 10.5, 10.6], 2.0);
        // 10.4 does not reach 0.995 x 10.5.
        let of_cpu = |results: &[ZeroRow]| {
            let advice = best_measured(&SETTINGS, results, &[Goal::Cpu], 1_000, 3);
            advice.unwrap().picks[0].pool.threads
        };
        assert_eq!(of_cpu(&results), 2);
        results[1] = row(&TWO, [10.3, 10.45, 10.6], 2.0);
        assert_eq!(of_cpu(&results), 1);
    }

    #[test]
    fn nothing_is_advised_of_half_the_pools() {
        let some = &results()[..2];
        assert_eq!(best_measured(&SETTINGS, some, &Goal::ALL, 1_000, 3), None);
        assert_eq!(best_measured(&[], &[], &Goal::ALL, 1_000, 0), None);
    }

    #[test]
    fn pools_near_the_best_and_the_naive_one_are_measured_again() {
        let of = |goals: &[Goal]| finalists(&SETTINGS, &results(), goals);
        assert_eq!(of(&[Goal::Cpu]), [ALONE, NAIVE]);
        assert_eq!(of(&[Goal::Wall]), [TWO, NAIVE]);
        assert_eq!(of(&Goal::ALL), SETTINGS);
    }
}
