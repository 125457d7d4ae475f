//! How far predictions are from what was measured.

use crate::rows::{ZeroRow, ZeroedPages};

/// The geometric mean of the errors should be no more than this.
pub const TARGET_MEAN: f64 = 0.15;
/// And no error more than this.
pub const TARGET_WORST: f64 = 0.25;

/// Of one number of one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The setting, in words.
    pub cell: String,
    /// Which number.
    pub what: &'static str,
    /// Predicted over measured.
    pub ratio: f64,
}

/// Of all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Each number of each setting.
    pub ratios: Vec<Ratio>,
}

impl Ratio {
    /// By what share the larger of the two is larger; infinite where one of them is
    /// nothing.
    pub fn error(&self) -> f64 {
        if self.ratio.is_finite() && self.ratio > 0.0 {
            self.ratio.max(1.0 / self.ratio) - 1.0
        } else {
            f64::INFINITY
        }
    }
}

impl Agreement {
    /// By what share predictions are off: the geometric mean.
    pub fn mean_error(&self) -> f64 {
        if self.ratios.is_empty() {
            return 0.0;
        }
        let logs: f64 = self.ratios.iter().map(|ratio| ratio.error().ln_1p()).sum();
        (logs / self.ratios.len() as f64).exp() - 1.0
    }

    /// The one that is off the most.
    pub fn worst(&self) -> Option<&Ratio> {
        let ratios = self.ratios.iter();
        ratios.max_by(|a, b| a.error().total_cmp(&b.error()))
    }

    /// Whether there is something to go by, and both targets are met.
    pub fn is_met(&self) -> bool {
        let worst = self.worst().map(Ratio::error);
        self.mean_error() <= TARGET_MEAN && worst.is_some_and(|error| error <= TARGET_WORST)
    }
}

/// How the measurements that have predictions agree with them, in GB per second of
/// CPU time and per second that passes, with at most `threads` workers.
pub fn agreement(measurements: &[ZeroRow], threads: u64) -> Agreement {
    let mut agreement = Agreement::default();
    for measurement in measurements {
        let zeroed = measurement.zeroed();
        let Some(ZeroedPages { pool, zero, .. }) = zeroed.filter(|of| of.pool.threads <= threads)
        else {
            continue;
        };
        let Some(predicted) = zero.predicted else {
            continue;
        };
        for (what, predicted, measured) in [
            ("GB per CPU-s", predicted.gb_per_cpu_s, zero.gb_per_cpu_s),
            ("GB/s", predicted.wall_gb_per_s, zero.wall_gb_per_s),
        ] {
            agreement.ratios.push(Ratio {
                cell: format!(
                    "{} x {}, batch {}, {}",
                    pool.threads, measurement.subject, pool.batch, pool.memory
                ),
                what,
                ratio: predicted.median / measured.median,
            });
        }
    }
    agreement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{PoolOf, Zeroing, ZeroingPrediction};
    use punctual_record::Interval;

    fn at(median: f64) -> Interval {
        Interval {
            median,
            low: median,
            high: median,
        }
    }

    fn measurement(threads: u64, measured: f64, predicted: Option<[f64; 2]>) -> ZeroRow {
        let zero = Zeroing {
            gb_per_cpu_s: at(measured),
            wall_gb_per_s: at(measured),
            predicted: predicted.map(|[cpu, wall]| ZeroingPrediction {
                gb_per_cpu_s: at(cpu),
                wall_gb_per_s: at(wall),
                ..ZeroingPrediction::default()
            }),
            ..Zeroing::default()
        };
        let pool = PoolOf {
            threads,
            batch: "1".to_owned(),
            memory: "hot".to_owned(),
            ..PoolOf::default()
        };
        let zeroed = ZeroedPages {
            pool,
            zero,
            ..ZeroedPages::default()
        };
        ZeroRow::pool("tas", zeroed)
    }

    #[test]
    fn errors_are_relative_in_both_directions() {
        let measurements = [
            measurement(1, 10.0, Some([12.0, 10.0])),
            measurement(2, 10.0, Some([8.0, 10.0])),
            measurement(4, 10.0, Some([1.0, 1.0])),
            measurement(1, 10.0, None),
        ];
        let agreement = agreement(&measurements, 2);
        assert_eq!(agreement.ratios.len(), 4);
        let worst = agreement.worst().unwrap();
        assert_eq!(worst.cell, "2 x tas, batch 1, hot");
        assert!((worst.error() - 0.25).abs() < 1e-9);
        // The fourth root of 1.2 x 1.25.
        assert!((agreement.mean_error() - (1.5_f64.powf(0.25) - 1.0)).abs() < 1e-9);
        assert!(agreement.is_met());
    }

    #[test]
    fn one_cell_too_far_off_misses_the_target() {
        let measurements = [measurement(1, 10.0, Some([12.6, 10.0]))];
        assert!(!agreement(&measurements, 2).is_met());
        assert!(!agreement(&[], 2).is_met());
    }

    #[test]
    fn a_prediction_of_nothing_is_as_far_off_as_can_be() {
        let measurements = [measurement(1, 10.0, Some([0.0, 10.0]))];
        let agreement = agreement(&measurements, 2);
        assert_eq!(agreement.worst().map(Ratio::error), Some(f64::INFINITY));
        assert!(!agreement.is_met() && agreement.mean_error().is_infinite());
    }
}
