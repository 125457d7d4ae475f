//! Compares subjects in rounds.
//!
//! A B C A B C ...: within a round every subject meets the same host, and what
//! changes from round to round shows as the width of an interval. Each batch
//! runs in a fresh thread, and nothing is printed while one runs.

use std::collections::BTreeMap;

use punctual_core::machine::{Sample, Section};
use punctual_core::program::Subject;
use punctual_core::{Machine, Nanos, Program, Refusal};
use punctual_record::{Cost, Cpu, Interval, Late, Measurement, NAP_PENALTIES_NS, Round, Weights};
use serde_json::Value;

/// Parameters of one cell of an experiment, with their units in their names.
pub type Params = BTreeMap<String, Value>;

/// One subject's part of a round: a program, and what its sections measure.
#[derive(Clone, Debug)]
pub struct Heat {
    /// Which experiment.
    pub experiment: &'static str,
    /// Who runs.
    pub subject: Subject,
    /// What it does. What it does before its first record is warm-up; each
    /// record begins one of the `cells`.
    pub program: Program,
    /// The parameters of each section after the warm-up.
    pub cells: Vec<Params>,
    /// How long one batch takes if all its waits are on time.
    pub length: Nanos,
}

/// The result of a race.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// One for each cell of each heat, in the order of the heats.
    pub measurements: Vec<Measurement>,
    /// Whether the user ended the race before its end.
    pub interrupted: bool,
}

/// How far a race has come, told between batches.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Batches that are done.
    pub done: usize,
    /// Batches in all.
    pub of: usize,
    /// The heat that is about to run.
    pub next: &'a Heat,
}

/// The time a race takes if all waits are on time.
pub fn length(heats: &[Heat], rounds: u32) -> Nanos {
    heats
        .iter()
        .fold(Nanos::ZERO, |sum, heat| sum + heat.length)
        .times(u64::from(rounds))
}

/// Runs all `heats` on `machine`, one after the other, `rounds` times.
///
/// # Errors
/// The machine refuses one of the programs.
pub fn run(
    machine: &mut dyn Machine,
    heats: &[Heat],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    let mut tallies: Vec<Vec<Tally>> = heats
        .iter()
        .map(|heat| vec![Tally::default(); heat.cells.len()])
        .collect();
    let of = heats.len() * rounds as usize;
    let mut interrupted = false;
    'race: for round in 0..rounds as usize {
        for (i, heat) in heats.iter().enumerate() {
            watch(Progress {
                done: round * heats.len() + i,
                of,
                next: heat,
            });
            let observed = machine.run(&heat.program)?;
            let sections = observed
                .threads
                .first()
                .map_or(&[][..], |thread| &thread.sections[1..]);
            for (tally, section) in tallies[i].iter_mut().zip(sections) {
                tally.add(section, &heat.subject);
            }
            if observed.interrupted {
                interrupted = true;
                break 'race;
            }
        }
    }
    let mut measurements = Vec::new();
    for (heat, tallies) in heats.iter().zip(tallies) {
        for (params, tally) in heat.cells.iter().zip(tallies) {
            if tally.rounds.iter().any(|round| round.n > 0) {
                measurements.push(tally.measurement(heat, params.clone()));
            }
        }
    }
    compare(&mut measurements);
    Ok(Results {
        measurements,
        interrupted,
    })
}

/// What all rounds of one cell add up to.
#[derive(Clone, Debug, Default)]
struct Tally {
    rounds: Vec<Round>,
    late_ns: Vec<i64>,
    elapsed: Nanos,
    cpu: Option<Nanos>,
    approximate: bool,
    busy: Option<Nanos>,
    queued: Option<Nanos>,
    stolen: Option<Nanos>,
    naps: Option<u64>,
    missed: u64,
    frames: Frames,
}

impl Tally {
    fn add(&mut self, section: &Section, subject: &Subject) {
        let Section { samples, cpu, .. } = section;
        if samples.is_empty() {
            return;
        }
        let late_ns: Vec<i64> = samples.iter().map(|s| s.outcome.late.as_ns()).collect();
        let naps = match subject {
            Subject::Strategy(_) => Some(samples.iter().map(|s| u64::from(s.outcome.naps)).sum()),
            // A peer's calls are not seen, but each makes its thread give up
            // its CPU.
            Subject::Peer(_) => cpu.switches,
        };
        let first = self.rounds.is_empty();
        let sum = |sum: Option<Nanos>, part: Option<Nanos>| match (first, sum) {
            (true, _) => part,
            (false, sum) => sum.zip(part).map(|(sum, part)| sum + part),
        };
        self.cpu = sum(self.cpu, cpu.thread);
        self.busy = sum(self.busy, cpu.busy);
        self.queued = sum(self.queued, cpu.queued);
        self.stolen = sum(self.stolen, cpu.stolen);
        self.naps = if first {
            naps
        } else {
            self.naps.zip(naps).map(|(sum, part)| sum + part)
        };
        self.elapsed += cpu.elapsed;
        self.approximate |= cpu.approximate;
        self.missed += samples.iter().map(|s| s.missed).sum::<u64>();
        self.rounds
            .push(Round::of(&late_ns, naps, cpu.thread.map(Nanos::as_ns)));
        self.late_ns.extend(late_ns);
        self.frames.add(samples);
    }

    fn measurement(self, heat: &Heat, params: Params) -> Measurement {
        let n = self.late_ns.len() as f64;
        let per_wait = |total: Option<Nanos>| total.map(|total| total.as_ns() as f64 / n);
        let fraction =
            |part: Option<Nanos>| part.map(|part| part.as_secs_f64() / self.elapsed.as_secs_f64());
        let plain = Cost::default().of(&self.rounds);
        let capped = |nap_penalty_ns| {
            Cost {
                capped: true,
                nap_penalty_ns,
            }
            .of(&self.rounds)
        };
        let [nap_5us, nap_20us] = NAP_PENALTIES_NS;
        Measurement {
            experiment: heat.experiment.to_owned(),
            subject: heat.subject.to_string(),
            late_ns: Late::of(&self.late_ns),
            cpu: Cpu {
                fraction: fraction(self.cpu),
                per_wait_ns: per_wait(self.cpu),
                busy_fraction: fraction(self.busy),
                approximate: self.approximate,
            },
            wakes_per_wait: self.naps.map(|naps| naps as f64 / n),
            queued_per_wait_ns: per_wait(self.queued),
            stolen_per_wait_ns: per_wait(self.stolen),
            missed: self.missed,
            cost_ns: plain.map(medians),
            cost_interval_ns: plain,
            cost_capped_interval_ns: capped(0.0),
            cost_capped_nap_plus_5us_ns: capped(nap_5us).map(medians),
            cost_capped_nap_plus_20us_ns: capped(nap_20us).map(medians),
            other: self.frames.describe(&params),
            params,
            rounds: self.rounds,
            samples_late_ns: self.late_ns,
            ..Measurement::default()
        }
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
#[derive(Clone, Debug, Default)]
struct Frames(Vec<Nanos>);

impl Frames {
    fn add(&mut self, samples: &[Sample]) {
        // A skipped cycle makes a long frame, as it would on the screen.
        self.0
            .extend(samples.windows(2).map(|pair| pair[1].woke - pair[0].woke));
    }

    fn describe(&self, params: &Params) -> BTreeMap<String, Value> {
        let Some(period) = params.get("period_ns").and_then(Value::as_u64) else {
            return BTreeMap::new();
        };
        let (Some(min), Some(max)) = (self.0.iter().min(), self.0.iter().max()) else {
            return BTreeMap::new();
        };
        let errors: u64 = self
            .0
            .iter()
            .map(|frame| frame.as_ns().abs_diff(period))
            .sum();
        BTreeMap::from([
            (
                "frame_mean_abs_error_ns".to_owned(),
                (errors as f64 / self.0.len() as f64).into(),
            ),
            ("frame_min_ns".to_owned(), min.as_ns().into()),
            ("frame_max_ns".to_owned(), max.as_ns().into()),
        ])
    }
}

/// Sets each measurement's cost in relation to the cheapest of its experiment
/// and parameters, for each weight.
fn compare(measurements: &mut [Measurement]) {
    let cost = Cost {
        capped: true,
        nap_penalty_ns: 0.0,
    };
    let ratios: Vec<_> = measurements
        .iter()
        .map(|mine| {
            Weights::try_of(|weight| {
                let rivals = measurements
                    .iter()
                    .filter(|m| (&m.experiment, &m.params) == (&mine.experiment, &mine.params));
                let median = |m: &Measurement| cost.at(weight, &m.rounds).map(|c| c.median);
                let best = rivals
                    .filter_map(|m| Some((median(m)?, m)))
                    .min_by(|(a, _), (b, _)| a.total_cmp(b))?;
                cost.ratio_at(weight, &mine.rounds, &best.1.rounds)
            })
        })
        .collect();
    for (measurement, ratio) in measurements.iter_mut().zip(ratios) {
        measurement.cost_over_best = ratio;
    }
}
