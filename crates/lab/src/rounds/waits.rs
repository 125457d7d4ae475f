//! The waits of a cell in one round, and the measurement of all rounds.

use std::ops::Add;

use punctual_core::Nanos;
use punctual_program::machine::Section;
use punctual_program::program::Subject;
use punctual_record::experiment::Frames;
use punctual_record::{
    CAP_NS, Cost, Cpu, Experiment, Interval, Late, Measurement, NAP_PENALTIES_NS, Round, Weights,
};

/// The waits of one cell in one round, or in several together. A sum is unknown if one part of it
/// is.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The lateness of each.
    pub late_ns: Vec<i64>,
    /// The time from the first to the last; of the first thread where several wait.
    pub elapsed: Nanos,
    /// The CPU time of the waiting threads.
    pub cpu: Option<Nanos>,
    /// Their naps.
    pub naps: Option<u64>,
    /// The cycles that had passed before a wait for them began, from the second wait on.
    pub missed: u64,
    approximate: bool,
    busy: Option<Nanos>,
    queued: Option<Nanos>,
    stolen: Option<Nanos>,
    /// The times from one wake to the next.
    frames: Vec<Nanos>,
}

/// `None` of nothing.
fn sum<T: Add<Output = T>>(parts: impl Iterator<Item = Option<T>>) -> Option<T> {
    parts.reduce(|sum, part| Some(sum? + part?)).flatten()
}

impl Waits {
    /// The waits in the sections of threads that were measured at the same time; `None` if there
    /// are none.
    pub(super) fn of(sections: &[&Section], subject: Option<&Subject>) -> Option<Self> {
        let samples = || sections.iter().flat_map(|section| section.samples.iter());
        let first = sections.first().filter(|_| samples().next().is_some())?;
        let all = |part: fn(&Section) -> Option<Nanos>| sum(sections.iter().map(|it| part(it)));
        Some(Self {
            late_ns: samples().map(|s| s.outcome.late.as_ns()).collect(),
            elapsed: first.cpu.elapsed,
            cpu: all(|section| section.cpu.thread),
            naps: match subject {
                Some(Subject::Strategy(_) | Subject::Learned(..)) => {
                    Some(samples().map(|s| u64::from(s.outcome.naps)).sum())
                }
                // A peer's calls are not seen, but each makes its thread give up
                // its CPU. Whether a single call does is what is asked of it.
                Some(Subject::Peer(_)) | None => sum(sections.iter().map(|it| it.cpu.switches)),
            },
            // Before the first wait cycles passed while counters were read.
            missed: (sections
                .iter()
                .flat_map(|section| section.samples.iter().skip(1)))
            .map(|sample| sample.missed)
            .sum(),
            approximate: sections.iter().any(|section| section.cpu.approximate),
            busy: all(|section| section.cpu.busy),
            queued: all(|section| section.cpu.queued),
            stolen: all(|section| section.cpu.stolen),
            // A skipped cycle makes a long frame, as it would on the screen.
            frames: first.samples.gaps().collect(),
        })
    }

    /// The waits of several rounds together.
    pub fn all<'a>(rounds: impl IntoIterator<Item = &'a Self> + Clone) -> Self {
        let rounds = || rounds.clone().into_iter();
        let all = |part: fn(&Self) -> Option<Nanos>| sum(rounds().map(part));
        Self {
            late_ns: rounds().flat_map(|it| it.late_ns.iter().copied()).collect(),
            elapsed: rounds().fold(Nanos::ZERO, |sum, it| sum + it.elapsed),
            cpu: all(|it| it.cpu),
            naps: sum(rounds().map(|it| it.naps)),
            missed: rounds().map(|it| it.missed).sum(),
            approximate: rounds().any(|it| it.approximate),
            busy: all(|it| it.busy),
            queued: all(|it| it.queued),
            stolen: all(|it| it.stolen),
            frames: rounds().flat_map(|it| it.frames.iter().copied()).collect(),
        }
    }

    /// The means per wait, of which costs are made.
    pub fn round(&self) -> Round {
        Round {
            cpu_fraction: self.cpu.map(|cpu| self.share(cpu)),
            ..Round::of(&self.late_ns, self.naps, self.cpu.map(Nanos::as_ns))
        }
    }

    /// A part of the time that passed.
    fn share(&self, part: Nanos) -> f64 {
        part.as_secs_f64() / self.elapsed.as_secs_f64()
    }
}

/// The measurement of the cell of a subject in these rounds.
pub(super) fn measurement(subject: &str, mut cell: Experiment, rounds: &[Waits]) -> Measurement {
    let all = Waits::all(rounds);
    let rounds: Vec<Round> = rounds.iter().map(Waits::round).collect();
    let period_ns = cell.period_ns();
    if let (Some(period_ns), Some(of_cell)) = (period_ns, cell.frames_mut()) {
        *of_cell = frames(&all.frames, period_ns);
    }
    let n = all.late_ns.len() as f64;
    let per_wait = |total: Option<Nanos>| total.map(|total| total.as_ns() as f64 / n);
    let fraction = |part: Option<Nanos>| part.map(|part| all.share(part));
    let plain = Cost::default().of(&rounds);
    let capped = |nap_penalty_ns| {
        let cost = Cost {
            nap_penalty_ns,
            ..Cost::CAPPED
        };
        cost.of(&rounds)
    };
    let [nap_5us, nap_20us] = NAP_PENALTIES_NS;
    let over_1ms = all.late_ns.iter().filter(|late| **late > CAP_NS).count();
    Measurement {
        late_ns: Late::of(&all.late_ns),
        late_over_1ms_fraction: (n > 0.0).then(|| over_1ms as f64 / n),
        cpu: Cpu {
            fraction: fraction(all.cpu),
            per_wait_ns: per_wait(all.cpu),
            busy_fraction: fraction(all.busy),
            approximate: all.approximate,
        },
        wakes_per_wait: all.naps.map(|naps| naps as f64 / n),
        queued_per_wait_ns: per_wait(all.queued),
        stolen_per_wait_ns: per_wait(all.stolen),
        missed: all.missed,
        cost_ns: plain.map(medians),
        cost_interval_ns: plain,
        cost_capped_interval_ns: capped(0.0),
        cost_capped_nap_plus_5us_ns: capped(nap_5us).map(medians),
        cost_capped_nap_plus_20us_ns: capped(nap_20us).map(medians),
        rounds,
        samples_late_ns: all.late_ns,
        ..Measurement::of(cell, subject)
    }
}

fn medians(cost: Weights<Interval>) -> Weights<f64> {
    Weights {
        w1: cost.w1.median,
        w10: cost.w10.median,
        w100: cost.w100.median,
    }
}

/// The times from one wake to the next, as a player of a game sees them.
fn frames(times: &[Nanos], period_ns: u64) -> Option<Frames> {
    let (min, max) = (times.iter().min()?, times.iter().max()?);
    let errors = times.iter().map(|time| time.as_ns().abs_diff(period_ns));
    let errors: u64 = errors.sum();
    Some(Frames {
        min_ns: min.as_ns(),
        max_ns: max.as_ns(),
        mean_abs_error_ns: errors as f64 / times.len() as f64,
    })
}
