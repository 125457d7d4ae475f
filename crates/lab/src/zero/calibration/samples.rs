//! What the rounds of a calibration add up to.

use std::collections::BTreeMap;

use punctual_pool::Setting;
use punctual_record::{Interval, LineCost, ParkingCost, TakeCost, ZeroCalibration, ZeroCost};

use super::lines::Between;
use super::operations::Operations;
use super::parking::Parking;
use super::takes::Take;
use super::zeroing::{Field, GOES, Sample};
use crate::zero::run::Area;

/// The samples of all rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    rounds: u32,
    operations: Vec<Operations>,
    between: BTreeMap<(usize, usize), Vec<Between>>,
    parking: Vec<Parking>,
    takes: Vec<(Setting, u32, Vec<Take>)>,
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

    pub(super) fn take(&mut self, setting: &Setting, every: u32, sample: Take) {
        let known = self.takes.iter_mut().find(|(of, ..)| of == setting);
        match known {
            Some((.., samples)) => samples.push(sample),
            None => self.takes.push((*setting, every, vec![sample])),
        }
    }

    pub(super) fn zeroing(&mut self, area: Area, field: Field, sample: Sample) {
        let is_it = |(of, with, _): &&mut (Area, Field, _)| (*of, *with) == (area, field);
        match self.zeroing.iter_mut().find(is_it) {
            Some((.., samples)) => samples.push(sample),
            None => self.zeroing.push((area, field, vec![sample])),
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
            seen_ns: median(samples, |b| b.seen),
            taken_ns: median(samples, |b| b.taken),
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
        let cost = |(setting, every, samples): &(Setting, u32, Vec<Take>)| TakeCost {
            lock: setting.lock.name().to_owned(),
            batch: setting.batch.to_string(),
            dequeue: setting.dequeue.name().to_owned(),
            timed_every: *every,
            take_ns: median(samples, |t| t.take),
            pages: median(samples, |t| t.pages).median,
        };
        each.map(cost).collect()
    }

    fn zero_costs(&self) -> Vec<ZeroCost> {
        let mut costs = Vec::new();
        for (area, field, samples) in &self.zeroing {
            for elsewhere in [false, true] {
                for (kind, pages) in GOES.into_iter().enumerate() {
                    let of = |sample: &Sample| match elsewhere {
                        false => sample.here[kind],
                        true => sample.elsewhere[kind],
                    };
                    let seen: Vec<f64> = samples.iter().filter_map(of).collect();
                    costs.extend(Interval::of(&seen).map(|page_ns| ZeroCost {
                        memory: area.memory.name().to_owned(),
                        bytes: area.bytes(),
                        workers: field.workers,
                        elsewhere,
                        pages,
                        page_ns,
                    }));
                }
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
    use crate::zero::run::Memory;
    use punctual_pool::{Batch, LockKind};

    #[test]
    fn rounds_add_up_to_medians() {
        let mut samples = Samples::default();
        let setting = Setting::new(1, LockKind::Mcs, Batch::One);
        let area = Area {
            memory: Memory::Hot,
            pages: 128,
        };
        let field = Field::all(128, 2);
        for ns in [3.0, 1.0, 8.0] {
            samples.operations(Operations {
                rmw: ns,
                ..Operations::default()
            });
            samples.between(
                0,
                1,
                Between {
                    seen: 2.0 * ns,
                    taken: ns,
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
                pages: 1.0,
            };
            samples.take(&setting, 16, take);
            let sample = Sample {
                here: [Some(ns), None, None, None],
                elsewhere: [None, Some(2.0 * ns), None, None],
            };
            samples.zeroing(area, field, sample);
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
        assert_eq!(line.seen_ns.median, 6.0);
        assert_eq!(calibration.start_apart_ns.map(|ns| ns.median), Some(30.0));
        let parking = calibration.parking.unwrap();
        assert_eq!(parking.turnaround_ns.median, 3_000.0);
        let take = &calibration.takes[0];
        assert_eq!((&take.lock[..], &take.batch[..]), ("mcs", "1"));
        assert_eq!(take.take_ns, of_three);
        let zeroing: Vec<_> = calibration
            .zeroing
            .iter()
            .map(|cost| {
                (
                    cost.workers,
                    cost.elsewhere,
                    cost.pages,
                    cost.page_ns.median,
                )
            })
            .collect();
        assert_eq!(zeroing, [(2, false, 1, 3.0), (2, true, 4, 6.0)]);
    }

    #[test]
    fn one_cpu_has_no_lines() {
        let calibration = Samples::default().calibration();
        assert!(calibration.lines.is_empty() && calibration.start_apart_ns.is_none());
        assert_eq!(calibration.parking, None);
    }
}
