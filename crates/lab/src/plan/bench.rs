//! Ways of waiting compared: at a rate, by length, by interval.

use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_program::Machine;
use punctual_program::program::Subject;
use punctual_record::MachineFacts;

use super::Interleaved;
use crate::experiments::lengths::{Repeats, Waits, decade_cases, interval_cases};
use crate::experiments::pace::Batch;
use crate::experiments::{Conditions, ladders, pace};
use crate::rounds::Case;

/// The subjects of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Loops at some rates.
    Pace,
    /// Single waits of every length.
    Decades,
    /// CPU time by the interval.
    Interval,
    /// Calls of the OS instead of strategies.
    Naps,
    /// Schedulers that steal time; that is simulated, whatever the machine.
    Robustness,
    /// The accurate-sleep article at its own sizes, robustness included.
    Article,
    /// `adaptive` beside the best of the others, which has a plan of its own.
    Regimes,
}

impl Experiment {
    /// As the user types it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pace => "pace",
            Self::Decades => "decades",
            Self::Interval => "interval",
            Self::Naps => "naps",
            Self::Robustness => "robustness",
            Self::Article => "article",
            Self::Regimes => "regimes",
        }
    }

    /// Whether robustness is simulated at its end.
    pub const fn ends_with_robustness(self) -> bool {
        matches!(self, Self::Robustness | Self::Article)
    }

    /// The subjects if none is named: all strategies, and the `peers`.
    pub fn subjects(self, peers: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
        match self {
            Self::Article => ARTICLE.to_vec(),
            _ => {
                let all = StrategySpec::ALL.iter().map(|spec| spec.name());
                all.chain(peers).collect()
            }
        }
    }
}

/// The user's request.
#[derive(Debug)]
pub struct Bench {
    /// The experiment.
    pub experiment: Experiment,
    /// The rates of loops, where some are named.
    pub rates: Option<Vec<Rate>>,
    /// The subjects; never empty.
    pub subjects: Vec<Subject>,
    /// Whether those were named.
    pub are_named: bool,
    /// Whether there is little time.
    pub is_quick: bool,
    /// Whether it runs in real time.
    pub is_here: bool,
    /// Rounds, where the user says how many.
    pub rounds: Option<u32>,
    /// Under which conditions.
    pub conditions: Conditions,
}

/// The time of the rounds by default: less than a minute, including threads and counters.
const BUDGET: Nanos = Nanos::from_secs(54);
const QUICK: Nanos = Nanos::from_secs(12);
const ROUNDS: u32 = 6;

/// The longest they may take, with warm-up, where percentiles need that.
const LONGEST: Nanos = Nanos::from_secs(115);

/// Waits of which ten lie above the 99th percentile.
const FOR_P99: u64 = 1_000;

/// This number of waits of a slow loop takes a quarter of a minute for each subject. Unless more
/// are asked for, only the usual choices of games are measured. These are `std::thread::sleep`,
/// the accurate-sleep article's function, the crate that does likewise, and the library's own.
const SLOW: Nanos = Nanos::from_ms(10);
const OF_A_GAME: [&str; 4] = ["system", "precise", "spin_sleep", "adaptive-balanced"];

/// The subjects where many threads wait, if none is named: common solutions, and the library's
/// own. A subject that spins all the time would only make the others late.
pub const IN_CROWDS: [&str; 6] = [
    "system",
    "spin_sleep",
    "quantile:weight=10",
    "adaptive-frugal",
    "adaptive-balanced",
    "adaptive-exact",
];

/// The functions of the accurate-sleep article.
const ARTICLE: [&str; 4] = ["system", "spin", "precise", "timer"];

impl Bench {
    /// The rounds that answer it, one after the other.
    pub fn interleaved(&self, machine: &dyn Machine, facts: &MachineFacts) -> Vec<Interleaved> {
        let Self {
            subjects,
            conditions,
            ..
        } = self;
        let few = |quick, whole| if self.is_quick { quick } else { whole };
        let interval = |waits| interval_cases(subjects, waits, *conditions);
        let lasting = || {
            // In virtual time as beside nine others, however many there are.
            let beside = if self.is_here { subjects.len() } else { 10 };
            let each = Nanos::new(self.budget().as_ns() / (25 * beside as u64));
            Waits::Lasting(each.min(Nanos::from_ms(500)))
        };
        let decades = |repeats| decade_cases(subjects, repeats, *conditions);
        let interleaved = match self.experiment {
            Experiment::Pace => vec![(self.pace(), ROUNDS)],
            Experiment::Decades => vec![(decades(Repeats::Short), few(1, 3))],
            Experiment::Interval => vec![(interval(lasting()), 1)],
            Experiment::Naps => {
                let calls = ladders::nap_methods(machine, facts);
                vec![(
                    ladders::nap_cases(&calls, *conditions),
                    few(2, ladders::NAP_ROUNDS),
                )]
            }
            Experiment::Article => {
                let sixty = Rate::from_hz(60).into_iter().collect::<Vec<_>>();
                let (frames, waits, repeats) = match self.is_quick {
                    true => (100, lasting(), Repeats::Short),
                    false => (1_000, Waits::Exactly(100), Repeats::Article),
                };
                let frames = pace::cases(subjects, &sixty, Batch::Frames(frames), *conditions);
                vec![(frames, 1), (interval(waits), 1), (decades(repeats), 1)]
            }
            Experiment::Robustness | Experiment::Regimes => vec![],
        };
        let interleaved = interleaved.into_iter().map(|(cases, rounds)| Interleaved {
            cases,
            rounds: self.rounds.unwrap_or(rounds),
        });
        interleaved.collect()
    }

    fn budget(&self) -> Nanos {
        if self.is_quick { QUICK } else { BUDGET }
    }

    fn pace(&self) -> Vec<Case> {
        let usual = || [60, 1_000].into_iter().flat_map(Rate::from_hz).collect();
        let rates = self.rates.clone().unwrap_or_else(usual);
        let whole = self.rates.is_some() || self.are_named;
        let of_rate = |rate: Rate| {
            let all = whole || rate.period() < SLOW;
            let at_this = |subject: &&Subject| all || is_of_a_game(subject);
            let subjects = self.subjects.iter().filter(at_this);
            (rate, subjects.cloned().collect())
        };
        let cells: Vec<(Rate, Vec<Subject>)> = rates.into_iter().map(of_rate).collect();
        let effort = Effort {
            is_quick: self.is_quick,
            is_here: self.is_here,
        };
        let warm_up = effort.warm_up();
        let lengths = effort.batch_lengths(&cells);
        let cases = cells
            .iter()
            .zip(lengths)
            .flat_map(|((rate, subjects), length)| {
                let batch = Batch::Lasting { length, warm_up };
                pace::cases(subjects, &[*rate], batch, self.conditions)
            });
        cases.collect()
    }
}

fn is_of_a_game(subject: &Subject) -> bool {
    OF_A_GAME.contains(&subject.to_string().as_str())
}

/// How long a comparison at rates may take.
#[derive(Clone, Copy, Debug)]
struct Effort {
    is_quick: bool,
    is_here: bool,
}

impl Effort {
    /// The longest warm-up: in real time 128 waits from 60 Hz on, or 18 of them if it is quick.
    const fn warm_up(self) -> Nanos {
        match (self.is_here, self.is_quick) {
            (false, _) => Nanos::MAX,
            (true, false) => Nanos::from_ms(2_200),
            (true, true) => Nanos::from_ms(300),
        }
    }

    /// How long the batches of each rate last, without their warm-up.
    ///
    /// In virtual time that depends on the rate alone, so that what is measured of a subject is the
    /// same beside any others. In real time batches are long enough for a 99th percentile if all of
    /// them take less than [`LONGEST`]. They are longer as far as the budget reaches.
    fn batch_lengths(self, cells: &[(Rate, Vec<Subject>)]) -> Vec<Nanos> {
        let needed = |rate: &Rate| rate.offset(FOR_P99.div_ceil(ROUNDS.into()) + 1);
        let (shortest, longest) = (Nanos::from_ms(100), Nanos::from_secs(2));
        if !self.is_here {
            let length = |(rate, _): &(Rate, _)| match self.is_quick {
                // As many as a percentile of a loop at 1 kHz takes.
                true => Nanos::from_ms(FOR_P99.div_ceil(ROUNDS.into()) + 1),
                false => needed(rate).max(shortest),
            };
            return cells.iter().map(length).collect();
        }
        let (budget, most) = match self.is_quick {
            true => (QUICK, QUICK),
            false => (BUDGET, LONGEST),
        };
        let sum = |of: &dyn Fn(&Rate, &Subject) -> Nanos| {
            let each = |(rate, all): &(Rate, Vec<Subject>)| {
                let sums = all.iter().map(|subject| of(rate, subject));
                sums.fold(Nanos::ZERO, |sum, one| sum + one)
            };
            let all = cells.iter().map(each);
            all.fold(Nanos::ZERO, |sum, one| sum + one)
                .times(ROUNDS.into())
        };
        let warm_ups =
            sum(&|rate, subject| rate.offset(pace::warm_up(subject, *rate, self.warm_up())));
        let in_all = sum(&|rate, _| needed(rate));
        let fits = in_all + warm_ups <= most;
        let spare = if fits { budget - in_all } else { budget };
        let batches: usize = cells.iter().map(|(_, subjects)| subjects.len()).sum();
        let batches = batches as u64 * u64::from(ROUNDS);
        let spare = Nanos::new(spare.as_ns() / batches.max(1));
        let length = |(rate, _): &(Rate, _)| {
            let needed = if fits { needed(rate) } else { Nanos::ZERO };
            (needed + spare).clamp(shortest, longest).max(needed)
        };
        cells.iter().map(length).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds;

    fn cells(of: &[(u64, usize)]) -> Vec<(Rate, Vec<Subject>)> {
        // About half of what there is learns.
        let specs = [StrategySpec::Spin, StrategySpec::quantile(10.0)];
        let subject = |i: usize| Subject::Strategy(specs[i % 2]);
        let cell = |(hz, n): &(u64, usize)| {
            let subjects = (0..*n).map(subject).collect();
            (Rate::from_hz(*hz).unwrap(), subjects)
        };
        of.iter().map(cell).collect()
    }

    const HERE: Effort = Effort {
        is_quick: false,
        is_here: true,
    };

    /// The waits of a subject in all rounds at each rate, and the seconds in all.
    fn planned(of: &[(u64, usize)], effort: Effort) -> (Vec<u64>, u64) {
        let cells = cells(of);
        let lengths = effort.batch_lengths(&cells);
        let mut waits = Vec::new();
        let mut cases = Vec::new();
        for ((rate, subjects), length) in cells.iter().zip(lengths) {
            let batch = Batch::Lasting {
                length,
                warm_up: effort.warm_up(),
            };
            let of_rate = pace::cases(subjects, &[*rate], batch, Conditions::default());
            let with_warm_up = of_rate[0].program.samples_max().unwrap();
            let punctual_record::Experiment::Pace(pace) = &of_rate[0].cells[0] else {
                panic!("{of_rate:?}");
            };
            waits.push((with_warm_up - pace.warm_up_waits) * u64::from(ROUNDS));
            cases.extend(of_rate);
        }
        (
            waits,
            rounds::length(&cases, ROUNDS).as_ns() / 1_000_000_000,
        )
    }

    #[test]
    fn a_default_bench_has_a_99th_percentile_at_each_rate_in_two_minutes() {
        let (waits, seconds) = planned(&[(60, OF_A_GAME.len()), (1_000, 13)], HERE);
        assert!(waits.iter().all(|n| *n >= FOR_P99), "{waits:?}");
        assert!((105..115).contains(&seconds), "{seconds}");
        let quick = Effort {
            is_quick: true,
            ..HERE
        };
        let (_, seconds) = planned(&[(60, OF_A_GAME.len()), (1_000, 13)], quick);
        assert!((15..25).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_race_takes_its_budget_and_warm_up_unless_percentiles_need_more() {
        for (of, p99, takes) in [
            (&[(60, 13)][..], false, 100..140),
            (&[(144, 3), (240, 3)], true, 60..85),
            (&[(60, 2), (1_000, 2)], true, 55..65),
            (&[(1_000, 2)], true, 20..27),
        ] {
            let (waits, seconds) = planned(of, HERE);
            assert_eq!(waits.iter().all(|n| *n >= FOR_P99), p99, "{of:?} {waits:?}");
            assert!(takes.contains(&seconds), "{of:?} {seconds}");
        }
    }

    #[test]
    fn in_virtual_time_a_batch_is_as_long_beside_any_others() {
        for is_quick in [true, false] {
            let effort = Effort {
                is_quick,
                is_here: false,
            };
            let alone = effort.batch_lengths(&cells(&[(60, 1)]));
            let beside = effort.batch_lengths(&cells(&[(60, 13), (1_000, 13)]));
            assert_eq!(alone[0], beside[0]);
            let (waits, _) = planned(&[(60, 13)], effort);
            assert_eq!(waits[0] >= FOR_P99, !is_quick);
        }
    }
}
