//! How punctually deadlines were served, missed ones included.

use crate::experiment::{Cause, Experiment, OfExperiment as _, Watch};
use crate::logged::{Logged, LoggedKind};
use crate::run::Measurement;

/// All deadlines that fell due, and how many of them were later than a length.
///
/// This is the population of the headline, the rules and the tables of a watch. A deadline is
/// *missed* if it had passed before its wait began. A missed deadline is as late as the time from
/// the deadline until it was given up, when the thread was ready to wait again. Waits in which
/// punctual itself was stopped, and the deadlines that were missed by that, are in no count.
#[derive(Clone, Debug, PartialEq)]
pub struct Punctuality {
    due: u64,
    /// `None` of a log, which does not say it.
    missed: Option<u64>,
    hiccups: Option<u64>,
    /// Lateness and how many deadlines had it, in rising order; `None` where a file has not kept it.
    late: Option<Vec<(i64, u64)>>,
    /// Lateness greater than this is not told apart.
    told_up_to: Option<u64>,
}

impl Punctuality {
    /// Of measurements of the same thing, one or more; `None` where nothing has deadlines.
    pub fn of(parts: &[&Measurement]) -> Option<Self> {
        let with_deadlines = parts.iter().filter(|m| has_deadlines(&m.experiment));
        with_deadlines
            .map(|m| Self::of_one(m))
            .reduce(|all, one| all.and(one))
            .filter(|all| all.due > 0)
    }

    fn of_one(m: &Measurement) -> Self {
        let watch = Watch::of(m);
        let missed_among_late = watch.is_some_and(|watch| watch.waits.is_some());
        let unknown = if missed_among_late { 0 } else { m.missed };
        let log = Logged::of(m);
        let bins = watch.map(|watch| &watch.histogram_late_ns);
        let bins = bins.or(log.map(|log| &log.histogram_ns));
        let beyond = log.and_then(|log| log.beyond);
        let late = match bins.filter(|bins| !bins.is_empty() || watch.is_some()) {
            Some(bins) => {
                let bins = bins.iter().map(|&(ns, n)| (signed(ns), n));
                known(bins.chain(beyond.map(|beyond| (i64::MAX, beyond.n))))
            }
            None => known(m.samples_late_ns.iter().map(|ns| (*ns, 1))),
        };
        let counted = |late: &Vec<(i64, u64)>| {
            let counted = late
                .iter()
                .fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
            counted == m.late_ns.n
        };
        let mut late = Some(late).filter(counted);
        if let Some(late) = late.as_mut().filter(|_| unknown > 0) {
            // The file does not say how late: later than any length.
            late.push((i64::MAX, unknown));
        }
        Self {
            due: m.late_ns.n.saturating_add(unknown),
            missed: log.is_none().then_some(m.missed),
            hiccups: watch.map(Watch::hiccups),
            late,
            told_up_to: beyond.map(|beyond| beyond.above_ns),
        }
    }

    fn and(self, other: Self) -> Self {
        let late = self.late.zip(other.late);
        Self {
            due: self.due.saturating_add(other.due),
            missed: (self.missed.zip(other.missed)).map(|(a, b)| a.saturating_add(b)),
            hiccups: self
                .hiccups
                .zip(other.hiccups)
                .map(|(a, b)| a.saturating_add(b)),
            late: late.map(|(a, b)| known(a.into_iter().chain(b))),
            told_up_to: self.told_up_to.into_iter().chain(other.told_up_to).min(),
        }
    }

    /// Deadlines that fell due.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The missed deadlines; `None` for a log, which does not state them.
    pub fn missed(&self) -> Option<u64> {
        self.missed
    }

    /// Waits that ended later than the threshold of a watch; `None` of anything else.
    pub fn hiccups(&self) -> Option<u64> {
        self.hiccups
    }

    /// Deadlines that were later than `ns` nanoseconds; `None` where the file has not kept how late
    /// each was, or has no lateness as great as that. A missed deadline counts as later where the file does not say how late it was.
    ///
    /// The lateness of a watch is counted in bins of three digits. A deadline that was earlier
    /// than `ns` by less than 0.1 % may therefore be counted too.
    pub fn later_than(&self, ns: u64) -> Option<u64> {
        if self.told_up_to.is_some_and(|told_up_to| ns > told_up_to) {
            return None;
        }
        let late = self.late.as_ref()?;
        let first = late.partition_point(|(late_ns, _)| *late_ns <= signed(ns));
        Some(late[first..].iter().map(|(_, n)| n).sum())
    }

    /// The share of a count in the deadlines.
    pub fn share(&self, count: u64) -> f64 {
        count as f64 / self.due.max(1) as f64
    }
}

impl Watch {
    /// Waits that ended later than the threshold, without those in which punctual itself was
    /// stopped.
    pub fn hiccups(&self) -> u64 {
        let own = self.hiccups_by_cause.get(Cause::OwnStop.name());
        match self.waits {
            Some(_) => self.hiccups_in_all,
            // Older versions counted them in.
            None => self
                .hiccups_in_all
                .saturating_sub(own.copied().unwrap_or(0)),
        }
    }
}

impl Measurement {
    /// Whether its lateness leaves out deadlines that were missed, as that of a watch does in files
    /// of older versions.
    pub(crate) fn leaves_out_missed(&self) -> bool {
        self.missed > 0 && Watch::of(self).is_some_and(|watch| watch.waits.is_none())
    }
}

/// Whether something is due at a rate, so that it can be missed.
fn has_deadlines(experiment: &Experiment) -> bool {
    let at_a_rate = matches!(
        experiment,
        Experiment::Watch(_) | Experiment::Scenario(_) | Experiment::Regimes(_)
    );
    let is_log = matches!(experiment, Experiment::Log(log) if log.of == LoggedKind::Deadlines);
    at_a_rate || is_log || experiment.period_ns().is_some()
}

fn known(counts: impl Iterator<Item = (i64, u64)>) -> Vec<(i64, u64)> {
    let mut counts: Vec<_> = counts.collect();
    counts.sort_unstable();
    counts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    counts
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{IntervalLength, Sleep};
    use crate::late::Late;

    fn watch(waits: Option<u64>, bins: &[(u64, u64)], missed: u64) -> Measurement {
        let watch = Watch {
            waits,
            histogram_late_ns: bins.to_vec(),
            hiccups_in_all: 7,
            hiccups_by_cause: [("own_stop".to_owned(), 2), ("queued".to_owned(), 7)].into(),
            ..Watch::default()
        };
        Measurement {
            missed,
            late_ns: Late {
                n: bins.iter().map(|(_, n)| n).sum(),
                ..Late::default()
            },
            ..Measurement::of(Experiment::Watch(Box::new(watch)), "sleep")
        }
    }

    #[test]
    fn missed_deadlines_of_a_watch_are_among_its_lateness() {
        let m = watch(Some(60), &[(50, 60), (1_000, 20), (2_000, 20)], 40);
        let all = Punctuality::of(&[&m]).unwrap();
        assert_eq!(
            (all.due(), all.missed(), all.hiccups()),
            (100, Some(40), Some(7))
        );
        let later = [49, 50, 999, 1_000, 2_000].map(|ns| all.later_than(ns).unwrap());
        assert_eq!(later, [100, 40, 40, 20, 0]);
        assert_eq!(all.share(40), 0.4);
        assert!(!m.leaves_out_missed());
    }

    #[test]
    fn of_older_files_missed_deadlines_are_later_than_any_length() {
        let m = watch(None, &[(50, 60)], 40);
        let all = Punctuality::of(&[&m]).unwrap();
        assert_eq!((all.due(), all.hiccups()), (100, Some(5)));
        assert_eq!(all.later_than(1_000_000), Some(40));
        assert!(m.leaves_out_missed());
    }

    fn interval() -> Experiment {
        Experiment::Interval(IntervalLength {
            period_ns: 1_000_000,
            frames: None,
        })
    }

    #[test]
    fn of_paces_samples_are_counted_and_missed_cycles_are_later() {
        let pace = |late: &[i64], kept: &[i64]| Measurement {
            late_ns: Late::of(late),
            samples_late_ns: kept.to_vec(),
            missed: 2,
            ..Measurement::of(interval(), "spin")
        };
        let all = pace(&[10, -5, 30, 20], &[10, -5, 30, 20]);
        let both = Punctuality::of(&[&all, &all]).unwrap();
        assert_eq!(
            (both.due(), both.missed(), both.hiccups()),
            (12, Some(4), None)
        );
        assert_eq!(both.later_than(15), Some(8));
        let dropped = Punctuality::of(&[&pace(&[10], &[])]).unwrap();
        assert_eq!((dropped.due(), dropped.later_than(15)), (3, None));
    }

    #[test]
    fn a_single_wait_has_no_deadlines_to_miss() {
        let sleep = Sleep {
            method: "usleep".to_owned(),
            asked_ns: 1,
        };
        let sleep = Measurement {
            late_ns: Late::of(&[1]),
            samples_late_ns: vec![1],
            ..Measurement::of(Experiment::Sleep(sleep), "usleep")
        };
        assert_eq!(Punctuality::of(&[&sleep]), None);
        let none = Measurement::of(interval(), "spin");
        assert_eq!(Punctuality::of(&[&none]), None);
    }
}
