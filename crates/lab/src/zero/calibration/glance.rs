//! A quick look at what changes from one moment to the next.

use punctual_record::Interval;

use super::crew::Crew;
use super::lines::Between;
use super::zeroing::{Field, GOES, Sample};
use crate::zero::host::{HostComputer, HostMemory};
use crate::zero::run::{Area, Memory};

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glance {
    /// What a line takes between the first two CPUs, if more than one works.
    pub(in crate::zero) between: Option<Between>,
    /// What zeroing takes, of so many workers.
    pub(in crate::zero) workers: usize,
    pub(super) zeroing: Sample,
}

/// Passes over hot pages: some tens of microseconds.
const HOT_PASSES: u64 = 4;

/// What is written of memory beyond the caches: more than two of the largest last
/// caches hold of what was written first.
const COLD_WRITTEN: u64 = (64 << 20) / 4_096;
/// What is zeroed of it.
const COLD_ZEROED: u64 = (8 << 20) / 4_096;

impl Glance {
    pub(super) fn of(
        crew: &Crew,
        memory: &HostMemory,
        computer: HostComputer<'_>,
        area: Area,
        workers: usize,
    ) -> Self {
        let clock = memory.clock();
        let between = (workers > 1).then(|| Between::measure(crew, clock, 0, 1));
        // As many as were calibrated: one, or all.
        let workers = if workers > 1 { crew.cpus() } else { 1 };
        let (field, passes) = match area.memory {
            Memory::Hot => (Field::all(area.pages, workers), HOT_PASSES),
            Memory::Warm | Memory::Cold => {
                let field = Field {
                    written: area.pages.min(COLD_WRITTEN),
                    zeroed: area.pages.min(COLD_ZEROED),
                    workers,
                };
                (field, 1)
            }
        };
        Self {
            between,
            workers,
            zeroing: field.measure(crew, memory, computer, passes),
        }
    }

    /// What a page took in goes of so many.
    pub(in crate::zero) fn pages(
        &self,
        elsewhere: bool,
    ) -> impl Iterator<Item = (u64, Option<f64>)> {
        let sample = if elsewhere {
            self.zeroing.elsewhere
        } else {
            self.zeroing.here
        };
        GOES.into_iter().zip(sample)
    }

    /// The median of several, of as many workers, of what zeroing took.
    pub(in crate::zero) fn median(glances: &[&Self]) -> Self {
        let median = |of: &dyn Fn(&Sample) -> Option<f64>| {
            let seen: Vec<f64> = glances.iter().filter_map(|g| of(&g.zeroing)).collect();
            Interval::of(&seen).map(|interval| interval.median)
        };
        Self {
            between: None,
            workers: glances.first().map_or(0, |glance| glance.workers),
            zeroing: Sample {
                here: std::array::from_fn(|kind| median(&|sample| sample.here[kind])),
                elsewhere: std::array::from_fn(|kind| median(&|sample| sample.elsewhere[kind])),
            },
        }
    }
}
