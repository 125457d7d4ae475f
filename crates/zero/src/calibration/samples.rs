//! What the rounds of a calibration add up to.

use std::collections::BTreeMap;

use punctual_record::Interval;
use punctual_zero_pool::{LockKind, Setting};

use super::operations::Between;
use super::operations::Operations;
use super::operations::Parking;
use super::takes::Take;
use super::zeroing::{Field, Sample};
use crate::rows::{LineCost, ParkingCost, TakeCost, ZeroCalibration, ZeroCost};
use crate::run::Area;

/// The samples of all rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    rounds: u32,
    operations: Vec<Operations>,
    between: BTreeMap<(usize, usize), Vec<Between>>,
    parking: Vec<Parking>,
    takes: Vec<(Setting, Vec<Take>)>,
    zeroing: Vec<(Area, Field, Vec<Sample>)>,
}

impl Samples {
    pub(super) fn operations(&mut self, sample: Operations) {
        self.operations.push(sample);
    }

    pub(super) fn between(&mut self, from: usize, to: usize, sample: Between) {
        self.between.entry((from, to)).or_default().push(sample);
    }

    pub(super) fn parking(&mut self, sample: Parking) {
        self.parking.push(sample);
    }

    pub(super) fn take(&mut self, setting: &Setting, sample: Take) {
        let known = self.takes.iter_mut().find(|(of, _)| of == setting);
        match known {
            Some((_, samples)) => samples.push(sample),
            None => self.takes.push((*setting, vec![sample])),
        }
    }

    pub(super) fn zeroing(&mut self, area: Area, field: &Field, sample: Sample) {
        let is_it = |(of, with, _): &&mut (Area, Field, _)| *of == area && with == field;
        match self.zeroing.iter_mut().find(is_it) {
            Some((.., samples)) => samples.push(sample),
            None => self.zeroing.push((area, field.clone(), vec![sample])),
        }
    }

    pub(super) fn end_round(&mut self) {
        self.rounds += 1;
    }

    /// The medians.
    pub(super) fn calibration(&self) -> ZeroCalibration {
        let operation = |of: fn(&Operations) -> f64| median(&self.operations, of);
        ZeroCalibration {
            rounds: self.rounds,
            hit_ns: operation(|o| o.hit),
            rmw_ns: operation(|o| o.rmw),
            relax_ns: operation(|o| o.relax),
            clock_ns: operation(|o| o.clock),
            lines: self.lines(),
            start_apart_ns: self.start_apart(),
            parking: (!self.parking.is_empty()).then(|| ParkingCost {
                cpu_ns: median(&self.parking, |p| p.cpu),
                turnaround_ns: median(&self.parking, |p| p.turn),
            }),
            takes: self.take_costs(),
            zeroing: self.zero_costs(),
            ..ZeroCalibration::default()
        }
    }

    fn lines(&self) -> Vec<LineCost> {
        let each = self.between.iter();
        let cost = |(&(from, to), samples): (_, &Vec<Between>)| LineCost {
            from,
            to,
            read_ns: median(samples, |b| b.read),
            taken_ns: median(samples, |b| b.taken),
            upgraded_ns: median(samples, |b| b.upgraded),
            contended_ns: median(samples, |b| b.contended),
        };
        each.map(cost).collect()
    }

    fn start_apart(&self) -> Option<Interval> {
        let all: Vec<f64> = self.between.values().flatten().map(|b| b.apart).collect();
        Interval::of(&all)
    }

    fn take_costs(&self) -> Vec<TakeCost> {
        let each = self.takes.iter();
        let cost = |(setting, samples): &(Setting, Vec<Take>)| TakeCost {
            lock: setting.lock.name().to_owned(),
            batch: setting.batch.to_string(),
            dequeue: setting.dequeue.name().to_owned(),
            take_ns: median(samples, |t| t.take),
            timed_ns: median(samples, |t| t.timed),
            pages: median(samples, |t| t.pages).median,
        };
        each.map(cost).collect()
    }

    fn zero_costs(&self) -> Vec<ZeroCost> {
        let mut costs = Vec::new();
        for (area, field, samples) in &self.zeroing {
            let jitters: Vec<f64> = samples.iter().filter_map(|sample| sample.jitter).collect();
            let jitter = Interval::of(&jitters).map(|interval| interval.median);
            let settled: Vec<f64> = samples.iter().filter_map(|sample| sample.settled).collect();
            let settled_ns = Interval::of(&settled);
            let mut add = |elsewhere, lock: Option<&LockKind>, of: &dyn Fn(&Sample) -> _| {
                let seen: Vec<f64> = samples.iter().filter_map(of).collect();
                costs.extend(Interval::of(&seen).map(|page_ns| ZeroCost {
                    memory: area.memory.name().to_owned(),
                    bytes: area.bytes(),
                    workers: field.workers,
                    elsewhere,
                    lock: lock.map(|lock| lock.name().to_owned()),
                    jitter: jitter.filter(|_| lock.is_none()),
                    settled_ns: settled_ns.filter(|_| lock.is_none()),
                    page_ns,
                }));
            };
            add(false, None, &|sample| sample.here);
            add(true, None, &|sample| sample.elsewhere);
            for (index, lock) in field.locks.iter().enumerate() {
                add(false, Some(lock), &|sample| sample.under[index]);
            }
        }
        costs
    }
}

/// The median of something of all samples; nothing where there are none.
fn median<T>(samples: &[T], of: impl Fn(&T) -> f64) -> Interval {
    let values: Vec<f64> = samples.iter().map(of).collect();
    Interval::of(&values).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Memory;
    use punctual_zero_pool::Batch;

    #[test]
    fn rounds_add_up_to_medians() {
        let mut samples = Samples::default();
        let setting = Setting::new(1, LockKind::Mcs, Batch::One);
        let area = Area {
            memory: Memory::Hot,
            pages: 128,
        };
        let field = Field {
            pages: 128,
            workers: 2,
            locks: vec![LockKind::Mcs],
        };
        for ns in [3.0, 1.0, 8.0] {
            samples.operations(Operations {
                rmw: ns,
                ..Operations::default()
            });
            samples.between(
                0,
                1,
                Between {
                    read: 2.0 * ns,
                    taken: ns,
                    upgraded: ns,
                    contended: ns,
                    apart: 10.0 * ns,
                },
            );
            samples.parking(Parking {
                cpu: 100.0 * ns,
                turn: 1_000.0 * ns,
            });
            let take = Take {
                take: ns,
                timed: 4.0 * ns,
                pages: 1.0,
            };
            samples.take(&setting, take);
            let sample = Sample {
                here: Some(ns),
                elsewhere: None,
                jitter: Some(ns / 10.0),
                settled: Some(5.0 * ns),
                under: vec![Some(2.0 * ns)],
            };
            samples.zeroing(area, &field, sample);
            samples.end_round();
        }
        let calibration = samples.calibration();
        let of_three = Interval {
            median: 3.0,
            low: 1.0,
            high: 8.0,
        };
        assert_eq!((calibration.rounds, calibration.rmw_ns), (3, of_three));
        let line = &calibration.lines[0];
        assert_eq!((line.from, line.to, line.taken_ns), (0, 1, of_three));
        assert_eq!(line.read_ns.median, 6.0);
        assert_eq!(calibration.start_apart_ns.map(|ns| ns.median), Some(30.0));
        let parking = calibration.parking.unwrap();
        assert_eq!(parking.turnaround_ns.median, 3_000.0);
        let take = &calibration.takes[0];
        assert_eq!((&take.lock[..], &take.batch[..]), ("mcs", "1"));
        assert_eq!(take.take_ns, of_three);
        assert_eq!(take.timed_ns.median, 12.0);
        let zeroing = calibration.zeroing.iter();
        let zeroing: Vec<_> = zeroing
            .map(|cost| {
                let lock = cost.lock.as_deref();
                let page_ns = cost.page_ns.median;
                let settled = cost.settled_ns.map(|ns| ns.median);
                (cost.workers, cost.jitter, settled, lock, page_ns)
            })
            .collect();
        assert_eq!(
            zeroing,
            [
                (2, Some(0.3), Some(15.0), None, 3.0),
                (2, None, None, Some("mcs"), 6.0)
            ]
        );
    }

    #[test]
    fn one_cpu_has_no_lines() {
        let calibration = Samples::default().calibration();
        assert!(calibration.lines.is_empty() && calibration.start_apart_ns.is_none());
        assert_eq!(calibration.parking, None);
    }
}
