//! What changes from one moment to the next: a hypervisor moves CPUs to other
//! cores, neighbours come and go. A few micro-measurements beside each batch tell
//! how things stand.

use punctual_record::{Interval, LineCost, ZeroCalibration, ZeroCost};

use crate::zero::calibration::Glance;

/// How things stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// What was seen.
    pub(super) glance: Glance,
    /// The memory that was looked at: `hot`, `warm` or `cold`.
    pub(super) memory: &'static str,
}

impl Gauge {
    /// A calibration as it would be had things stood so all the time. `usual` is
    /// what glances saw on average of memory beyond the caches, of which a glance
    /// sees too little to be believed by itself, but how it changes.
    pub(super) fn applied(
        &self,
        calibration: &ZeroCalibration,
        usual: Option<&Glance>,
    ) -> ZeroCalibration {
        let mut applied = calibration.clone();
        if let Some(between) = self.glance.between {
            let base = applied.lines.first().cloned().unwrap_or_default();
            let [seen, taken, contended] = [
                (between.seen, base.seen_ns),
                (between.taken, base.taken_ns),
                (between.contended, base.contended_ns),
            ]
            .map(|(now, base)| now / base.median);
            for line in &mut applied.lines {
                *line = LineCost {
                    seen_ns: scaled(line.seen_ns, seen),
                    taken_ns: scaled(line.taken_ns, taken),
                    contended_ns: scaled(line.contended_ns, contended),
                    ..*line
                };
            }
        }
        for elsewhere in [false, true] {
            let Some(factor) = self.factor(calibration, usual, elsewhere) else {
                continue;
            };
            for cost in &mut applied.zeroing {
                if self.is_of(cost, elsewhere) {
                    cost.page_ns = scaled(cost.page_ns, factor);
                }
            }
        }
        applied
    }

    fn is_of(&self, cost: &ZeroCost, elsewhere: bool) -> bool {
        cost.memory == self.memory
            && cost.workers == self.glance.workers
            && cost.elsewhere == elsewhere
    }

    /// By how much zeroing takes longer than usual: the geometric mean over what
    /// was seen of goes of several lengths.
    fn factor(
        &self,
        calibration: &ZeroCalibration,
        usual: Option<&Glance>,
        elsewhere: bool,
    ) -> Option<f64> {
        let now = self.glance.pages(elsewhere);
        let ratios: Vec<f64> = match usual {
            Some(usual) => {
                let pairs = now.zip(usual.pages(elsewhere));
                pairs
                    .filter_map(|((_, now), (_, usual))| Some(now? / usual?))
                    .collect()
            }
            None => now
                .filter_map(|(pages, now)| {
                    let is_it =
                        |cost: &&ZeroCost| self.is_of(cost, elsewhere) && cost.pages == pages;
                    let cost = calibration.zeroing.iter().find(is_it)?;
                    Some(now? / cost.page_ns.median)
                })
                .collect(),
        };
        let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        (!ratios.is_empty()).then(|| (logs / ratios.len() as f64).exp())
    }
}

fn scaled(interval: Interval, by: f64) -> Interval {
    Interval {
        median: interval.median * by,
        low: interval.low * by,
        high: interval.high * by,
    }
}
