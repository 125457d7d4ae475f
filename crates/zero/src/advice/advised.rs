//! All of the advice together.

use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};

use super::bounds::{hold, of_model};
use super::considered::pick;
use super::{Candidate, Goal, Model};
use crate::rows::{ZeroAdvice, ZeroForecast, ZeroHold, ZeroPick, ZeroPool};

/// A pool for each goal.
#[derive(Clone, Debug)]
pub struct Advised {
    /// With intervals.
    picks: Vec<(Goal, Candidate)>,
    careless: Candidate,
    pages: u64,
    considered: usize,
}

impl Advised {
    /// Picks from `candidates` for `goals`, and asks the model of the computer once
    /// more about what it picked, now with intervals; and about the careless way.
    ///
    /// # Errors
    /// There are no candidates, or as of [`Candidate::within`].
    pub fn of(
        model: &dyn Model,
        candidates: &[Candidate],
        goals: &[Goal],
        pages: u64,
    ) -> Result<Self, Refusal> {
        let mut picks: Vec<(Goal, Candidate)> = Vec::new();
        for &goal in goals {
            let best = pick(candidates, goal, pages);
            let best = best.ok_or_else(|| Refusal::new("there is no pool to advise"))?;
            let same = picks.iter().find(|(_, c)| c.setting == best.setting);
            let with_interval = match same {
                Some((_, known)) => *known,
                None => Candidate::within(model, best.setting, pages)?,
            };
            picks.push((goal, with_interval));
        }
        let careless = careless(model.cpus());
        Ok(Self {
            picks,
            careless: Candidate::within(model, careless, pages)?,
            pages,
            considered: candidates.len(),
        })
    }

    /// Asks the model about each of `settings`, and picks for `goals`; `next` hears of each
    /// before, and says whether to go on: `None` if not.
    ///
    /// # Errors
    /// As of [`Self::of`] and [`Candidate::of`].
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
            candidates.push(Candidate::of(model, setting, pages)?);
        }
        let advised = Self::of(model, &candidates, goals, pages)?;
        Ok(Some((advised, candidates)))
    }

    /// What is advised, each pool once, and last the careless way.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings: Vec<Setting> = Vec::new();
        for candidate in self.candidates() {
            if !settings.contains(&candidate.setting) {
                settings.push(candidate.setting);
            }
        }
        settings
    }

    /// These, and all others of `candidates`.
    pub fn and_all(&self, candidates: &[Candidate]) -> Vec<Setting> {
        let mut settings = self.settings();
        let all = candidates.iter().map(|candidate| candidate.setting);
        let others: Vec<Setting> = all.filter(|s| !settings.contains(s)).collect();
        settings.extend(others);
        settings
    }

    /// What is advised, with what the model says of it, some of them twice.
    pub fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        let picks = self.picks.iter().map(|(_, candidate)| candidate);
        picks.chain([&self.careless])
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
            let longest_take_pages = candidate.longest_take(self.pages);
            let mut locks = vec![LockKind::Tas, setting.lock];
            locks.dedup();
            let holds = locks.into_iter().map(|lock| {
                let machine = model.machine(&Setting { lock, ..*setting })?;
                Ok(hold(&machine, lock, setting.workers))
            });
            let holds: Vec<Option<ZeroHold>> = holds.collect::<Result<_, Refusal>>()?;
            Ok(ZeroPick {
                goal: goal.to_owned(),
                pool: pool(setting),
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
            careless: ZeroForecast {
                pool: pool(&self.careless.setting),
                predicted: self.careless.predicted,
            },
            bounds,
        })
    }
}

/// What comes of not thinking about it: the smallest take, the simplest lock that
/// spins, and a thread on every CPU.
fn careless(cpus: usize) -> Setting {
    Setting::new(cpus, LockKind::Tas, Batch::One)
}

pub(super) fn pool(setting: &Setting) -> ZeroPool {
    ZeroPool {
        threads: setting.workers as u64,
        batch: setting.batch.to_string(),
        lock: setting.lock.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use punctual_zero_sim::Machine;

    use super::*;

    #[test]
    fn a_pool_is_advised_for_each_goal_and_compared_with_the_careless_way() {
        let machine = Machine::parse("ryzen-7950x-32").unwrap();
        let pages = 10_000;
        let settings = [
            Setting::new(1, LockKind::Counter, Batch::Fixed(64)),
            Setting::new(4, LockKind::Tas, Batch::Fixed(64)),
            Setting::new(32, LockKind::Tas, Batch::One),
        ];
        let ask = |setting| Candidate::of(&machine, setting, pages).unwrap();
        let candidates = settings.map(ask);
        let advised = Advised::of(&machine, &candidates, &Goal::ALL, pages).unwrap();
        let advice = advised.record(&machine, true).unwrap();
        let goals: Vec<_> = advice.picks.iter().map(|p| p.goal.as_str()).collect();
        assert_eq!(goals, ["cpu", "wall", "balanced"]);
        assert_eq!(advice.picks[0].pool, pool(&settings[0]));
        assert_eq!(advice.picks[1].pool, pool(&settings[1]));
        let careless = &advice.careless;
        assert_eq!(careless.pool, pool(&settings[2]));
        let advised = &advice.picks[1].predicted;
        assert!(advice.wasted(&careless.predicted) > advice.wasted(advised));
        assert_eq!(advice.considered, 3);
        assert!(Advised::of(&machine, &[], &Goal::ALL, pages).is_err());
    }
}
