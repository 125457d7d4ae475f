//! A run that never happened. Its numbers are invented: they are of the size
//! that real ones have, and they say nothing about any machine.

use punctual_record::experiment::{
    Deadlines, Decades, Frames, IntervalLength, Learning, Pace, Robustness,
};
use punctual_record::{
    CAP_NS, Cost, Cpu, Experiment, Late, Measurement, NAP_PENALTIES_NS, Round, Run, Weights,
};

pub(crate) use crate::invented::{Dice, of};

/// How an invented subject behaves.
struct Subject {
    name: &'static str,
    /// The least lateness, and about the median of what comes on top.
    late_ns: (f64, f64),
    /// CPU time of a wait: this much, and this share of the wait.
    cpu: (f64, f64),
    naps: f64,
    /// Whether its naps are not counted.
    peer: bool,
}

const SUBJECTS: [Subject; 6] = [
    subject("system", (51_000.0, 12_000.0), (4_800.0, 0.0), 1.0),
    subject("spin", (25.0, 30.0), (0.0, 0.997), 0.0),
    subject("precise", (30.0, 60.0), (61_000.0, 0.21), 14.0),
    subject("timer", (40.0, 2_400.0), (64_000.0, 0.0), 1.2),
    subject("adaptive", (40.0, 90.0), (38_000.0, 0.0), 2.1),
    Subject {
        peer: true,
        ..subject("spin_sleep", (35.0, 80.0), (131_000.0, 0.0), 1.0)
    },
];

const fn subject(name: &'static str, late_ns: (f64, f64), cpu: (f64, f64), naps: f64) -> Subject {
    Subject {
        name,
        late_ns,
        cpu,
        naps,
        peer: false,
    }
}

/// Every experiment, on an invented machine.
pub(crate) fn run() -> Run {
    let mut dice = Dice(1);
    let mut results = Vec::new();
    for rate_hz in [60.0, 1_000.0] {
        results.extend(pace(&mut dice, rate_hz));
    }
    results.extend(frames(&mut dice));
    results.extend(decades(&mut dice));
    results.extend(intervals(&mut dice));
    results.extend(robustness(&mut dice));
    of(results)
}

impl Dice {
    /// A lateness with a long tail.
    pub(crate) fn late_ns(&mut self, (least, more): (f64, f64)) -> i64 {
        let even = self.even();
        let stall = if self.even() < 0.002 { 2.5e6 } else { 0.0 };
        (least + more * even / (1.02 - even) + stall * self.even()) as i64
    }
}

/// One measurement from its samples, in `rounds` rounds.
fn measurement(
    dice: &mut Dice,
    subject: &Subject,
    of: Experiment,
    period_ns: u64,
    waits: (usize, usize),
) -> Measurement {
    let (rounds, waits) = waits;
    let period_ns = period_ns as f64;
    let (fixed, share) = subject.cpu;
    let cpu_ns = (fixed + share * period_ns).min(period_ns * 0.997);
    let mut samples = Vec::new();
    let mut each = Vec::new();
    for _ in 0..rounds {
        let late: Vec<i64> = (0..waits).map(|_| dice.late_ns(subject.late_ns)).collect();
        let cpu_ns = cpu_ns * waits as f64 * (0.95 + 0.1 * dice.even());
        let naps = (!subject.peer).then_some((subject.naps * waits as f64) as u64);
        each.push(Round::of(&late, naps, Some(cpu_ns as u64)));
        samples.extend(late);
    }
    let capped = |nap_penalty_ns| Cost {
        capped: true,
        nap_penalty_ns,
    };
    let medians = |cost: Cost| {
        let costs = cost.of(&each)?;
        let [w1, w10, w100] = costs.each().map(|cost| cost.median);
        Some(Weights { w1, w10, w100 })
    };
    Measurement {
        late_ns: Late::of(&samples),
        late_over_1ms_fraction: Some(
            samples.iter().filter(|late| **late > CAP_NS).count() as f64 / samples.len() as f64,
        ),
        cpu: Cpu {
            fraction: Some(cpu_ns / period_ns),
            per_wait_ns: Some(cpu_ns),
            busy_fraction: Some((cpu_ns * 1.1 / period_ns).min(1.0)),
            approximate: false,
        },
        wakes_per_wait: (!subject.peer).then_some(subject.naps),
        missed: 0,
        cost_ns: medians(Cost::default()),
        cost_interval_ns: Cost::default().of(&each),
        cost_capped_interval_ns: capped(0.0).of(&each),
        cost_capped_nap_plus_5us_ns: medians(capped(NAP_PENALTIES_NS[0])),
        cost_capped_nap_plus_20us_ns: medians(capped(NAP_PENALTIES_NS[1])),
        rounds: each,
        samples_late_ns: samples,
        ..Measurement::of(of, subject.name)
    }
}

fn pace(dice: &mut Dice, rate_hz: f64) -> Vec<Measurement> {
    let period_ns = (1e9 / rate_hz).round() as u64;
    let is_slow = rate_hz < 100.0;
    let waits = if is_slow { (7, 60) } else { (7, 500) };
    let subjects = SUBJECTS.iter().enumerate();
    let mut all: Vec<Measurement> = subjects
        .map(|(i, subject)| {
            let of = Pace {
                period_ns,
                rate_hz,
                deadlines: Deadlines::Absolute,
                warm_up_waits: if is_slow { 3 } else { 20 + i as u64 },
                learning: match is_slow {
                    true => Learning::StartsOver,
                    false => Learning::KeepsState,
                },
                frames: None,
                crowd: None,
            };
            measurement(dice, subject, Experiment::Pace(of), period_ns, waits)
        })
        .collect();
    mark_the_best(&mut all);
    if rate_hz < 100.0 {
        // An OS with fewer counters leaves these out.
        let mut silent = all.remove(5);
        silent.cpu = Cpu::default();
        silent.cost_ns = None;
        silent.cost_interval_ns = None;
        silent.cost_capped_interval_ns = None;
        silent.cost_over_best = None;
        silent.cost_capped_nap_plus_5us_ns = None;
        silent.cost_capped_nap_plus_20us_ns = None;
        all.push(silent);
        all[0].predicted_late_ns = Some(50_000);
        all[0].queued_per_wait_ns = Some(3_150.0);
        all[0].stolen_per_wait_ns = Some(0.0);
        all[0].cpu.approximate = true;
        all[0].missed = 2;
        all[3].late_ns.early = 1;
    }
    all
}

fn mark_the_best(all: &mut [Measurement]) {
    let cost = Cost {
        capped: true,
        nap_penalty_ns: 0.0,
    };
    let rounds: Vec<Vec<Round>> = all.iter().map(|m| m.rounds.clone()).collect();
    let order = |weight: usize| {
        move |a: &&Vec<Round>, b: &&Vec<Round>| {
            let [a, b] = [a, b].map(|r| cost.of(r).unwrap().each()[weight].median);
            a.total_cmp(&b)
        }
    };
    for (m, own) in all.iter_mut().zip(&rounds) {
        let mut weight = 0..3;
        m.cost_over_best = Weights::try_of(|w| {
            let best = rounds.iter().min_by(order(weight.next()?))?;
            cost.ratio_at(w, own, best)
        });
    }
}

fn frames(dice: &mut Dice) -> Vec<Measurement> {
    let period_ns = 16_666_667;
    let of = Pace {
        period_ns,
        rate_hz: 1e9 / period_ns as f64,
        deadlines: Deadlines::Relative,
        warm_up_waits: 0,
        learning: Learning::StartsOver,
        frames: None,
        crowd: None,
    };
    SUBJECTS[..5]
        .iter()
        .map(|subject| {
            let experiment = Experiment::Pace(of.clone());
            let mut m = measurement(dice, subject, experiment, period_ns, (1, 1_000));
            let frames = Frames {
                min_ns: period_ns.saturating_add_signed(m.late_ns.min),
                max_ns: period_ns.saturating_add_signed(m.late_ns.max),
                mean_abs_error_ns: m.late_ns.mean,
            };
            m.experiment = Experiment::Pace(Pace {
                frames: Some(frames),
                ..of.clone()
            });
            m
        })
        .collect()
}

fn decades(dice: &mut Dice) -> Vec<Measurement> {
    let mut all = Vec::new();
    for subject in &SUBJECTS[..5] {
        for power in 0..=9 {
            let asked_ns = 10_u64.pow(power);
            // A hundred seconds would be too long for the last.
            let waits = if power == 9 { 10 } else { 100 };
            let of = Experiment::Decades(Decades { asked_ns });
            all.push(measurement(dice, subject, of, asked_ns, (1, waits)));
        }
    }
    all
}

fn intervals(dice: &mut Dice) -> Vec<Measurement> {
    let mut all = Vec::new();
    for subject in &SUBJECTS[..5] {
        for ms in 1..=25 {
            let period_ns = ms * 1_000_000;
            let of = Experiment::Interval(IntervalLength {
                period_ns,
                frames: None,
            });
            all.push(measurement(dice, subject, of, period_ns, (1, 50)));
        }
    }
    all
}

fn robustness(dice: &mut Dice) -> Vec<Measurement> {
    let mut all = Vec::new();
    for subject in [&SUBJECTS[2], &SUBJECTS[4]] {
        for power in 3..=9 {
            for ms in 1..=10 {
                let of = Robustness {
                    asked_ns: 10_u64.pow(power),
                    scheduler_period_ns: ms * 1_000_000,
                    relative_error: None,
                };
                let experiment = Experiment::Robustness(of);
                let mut m = measurement(dice, subject, experiment, of.asked_ns, (1, 20));
                let [asked, scheduler] = [of.asked_ns, of.scheduler_period_ns].map(|ns| ns as f64);
                let late_ns = scheduler * scheduler / (asked + 40.0 * scheduler);
                m.experiment = Experiment::Robustness(Robustness {
                    relative_error: Some((60.0 + late_ns * dice.even()) / asked),
                    ..of
                });
                all.push(m);
            }
        }
    }
    all
}
