//! Naps of the OS: how much longer than asked, and the margin that costs least.

use punctual_record::Run;
use punctual_record::experiment::Naps;

use super::lengths::{Points, lateness};
use crate::select::{self, Row, asked_ns};
use crate::tables::Section;
use crate::tables::columns::{CPU_PER_WAIT, MAX, N, P50, P90, P99, named};
use crate::tables::table::{Table, Why};
use crate::units;
use crate::verdict::Verdict;

const OF_NAPS: &str = "CPU: time billed to the thread, with the readings of the clock before and after. wakes: how \
    often the thread gave up its CPU, as the OS counted.";

/// For each OS call: overshoot and CPU time by the length asked for.
pub(crate) fn tables(measurements: &[Row<'_, Naps>]) -> Vec<Section> {
    let calls = select::by_subject(measurements);
    let table = |(i, (call, group)): (usize, &(&str, Vec<Row<'_, Naps>>))| {
        let title = format!("naps with {call}: how much longer they were than asked");
        Table::new(title, &select::ascending(group, asked_ns))
            .column("asked", |m| units::nominal(asked_ns(m.of)))
            .told([N, P50, P90, P99, MAX, named("CPU\nper nap", CPU_PER_WAIT)])
            .column("wakes\nper nap", |m| m.wakes_per_wait.map(units::plain))
            .blank(Why::NOT_COUNTED)
            .captions((i + 1 == calls.len()).then_some(OF_NAPS))
            .section()
    };
    calls.iter().enumerate().map(table).collect()
}

const NAPS: Points = Points {
    low: "had the least median excess",
    points: "lengths",
    caption: "Median excess of naps over the length that was asked for.",
    written: units::duration,
};

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    NAPS.of(lateness(&select::of_run::<Naps>(run), asked_ns))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use libm::{exp, log};
    use punctual_record::Measurement;

    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::plot::{Plot, Point, Series};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// Naps of about this length are shown.
    const LENGTH_NS: f64 = 1e6;

    /// The cost of a nanosecond of lateness, in nanoseconds of CPU time: the weights of the strategies
    /// that have names.
    const WEIGHTS: [f64; 3] = [1.0, 10.0, 100.0];

    /// No shorter margin is drawn.
    const LEAST_NS: f64 = 1_000.0;

    /// How many points a curve has.
    const POINTS: usize = 400;

    /// The expected cost of a wait with one nap and a spin, by the margin of the nap: a curve per
    /// weight. Overshoots are as recorded with the first call.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let naps = select::of_run::<Naps>(run);
        let (call, naps) = select::by_subject(&naps).into_iter().next()?;
        let naps = of_about(LENGTH_NS, &naps)?;
        let overshoots = Overshoots::of(naps.m)?;
        let curves = WEIGHTS.map(|weight| Curve::of(&overshoots, weight));

        let asked = units::nominal(asked_ns(naps.of));
        let points = || curves.iter().flat_map(|curve| &curve.points);
        // Whole decades would leave much of the chart empty.
        let axis = |name: &str, values: Vec<f64>| Axis::log_fine(name, &values, units::nominal);
        let series = WEIGHTS.iter().zip(&curves).enumerate();
        let plot = Plot {
            title: format!("Expected cost by margin: naps of {asked} with {call}"),
            caption: caption_of_margins(&overshoots),
            x: axis("margin", points().map(|p| p.0).collect()),
            y: axis("expected cost of a wait", points().map(|p| p.1).collect()),
            series: series
                .map(|(i, (weight, curve))| curve.series(format!("w = {weight}"), Look::nth(i)))
                .collect(),
        };
        Some(figure("margin", plot.draw(run)))
    }

    /// The measurement whose length is nearest to this one, as a ratio.
    fn of_about<'r>(length_ns: f64, naps: &[Row<'r, Naps>]) -> Option<Row<'r, Naps>> {
        let off = |m: Row<'_, Naps>| log(asked_ns(m.of).max(1.0) / length_ns).abs();
        let naps = naps.iter().filter(|m| !m.samples_late_ns.is_empty());
        let naps = naps.copied();
        naps.min_by(|a, b| off(*a).total_cmp(&off(*b)))
    }

    fn caption_of_margins(overshoots: &Overshoots) -> String {
        let cpu = match overshoots.cpu_ns {
            Some(cpu_ns) => format!("the nap's CPU time ({})", units::duration(cpu_ns)),
            None => "the nap's CPU time, which is not known,".to_owned(),
        };
        format!(
            "A nap that is asked to end so long before the deadline (the margin), then a spin: {cpu} + \
         the time spun + w x lateness, on average over n = {} overshoots of naps as recorded. The \
         marker is the least of each curve. The line is at the margin that the part w / (1 + w) of \
         the overshoots, {}, does not exceed, whatever they cost.",
            overshoots.sorted_ns.len(),
            WEIGHTS
                .map(|w| format!("{:.0} %", part_of(w) * 100.0))
                .join(", ")
        )
    }

    /// The part of the overshoots that should be no longer than the margin.
    fn part_of(weight: f64) -> f64 {
        weight / (1.0 + weight)
    }

    /// How much longer than asked naps were, and what they cost.
    struct Overshoots {
        /// From the shortest; there is one at least.
        sorted_ns: Vec<f64>,
        cpu_ns: Option<f64>,
    }

    impl Overshoots {
        fn of(naps: &Measurement) -> Option<Self> {
            let samples = naps.samples_late_ns.iter();
            let mut sorted_ns: Vec<f64> = samples.map(|&ns| ns as f64).collect();
            sorted_ns.sort_by(f64::total_cmp);
            let cpu_ns = naps.cpu.per_wait_ns.filter(|ns| ns.is_finite());
            (!sorted_ns.is_empty()).then_some(Self { sorted_ns, cpu_ns })
        }

        /// The mean cost of a wait with this margin.
        fn cost_ns(&self, margin_ns: f64, weight: f64) -> f64 {
            let of = |over_ns: &f64| match margin_ns - over_ns {
                left if left < 0.0 => -left * weight,
                left => left,
            };
            let sum: f64 = self.sorted_ns.iter().map(of).sum();
            sum / self.sorted_ns.len() as f64 + self.cpu_ns.unwrap_or(0.0)
        }

        /// The shortest of them that this part of all does not exceed.
        fn quantile_ns(&self, part: f64) -> f64 {
            let n = self.sorted_ns.len();
            let rank = (part * n as f64).ceil() as usize;
            self.sorted_ns[rank.clamp(1, n) - 1]
        }
    }

    struct Curve {
        /// Margin and cost, in nanoseconds.
        points: Vec<Point>,
        /// The point that costs least.
        least: Point,
        /// The margin that the part of the overshoots is no longer than.
        quantile_ns: f64,
    }

    impl Curve {
        fn of(overshoots: &Overshoots, weight: f64) -> Self {
            let cost = |margin_ns: f64| (margin_ns, overshoots.cost_ns(margin_ns, weight));
            let all = &overshoots.sorted_ns;
            let from = (all[0] / 2.0).max(LEAST_NS);
            let to = (all[all.len() - 1] * 1.25).max(2.0 * from);
            let step = log(to / from) / (POINTS - 1) as f64;
            let points = (0..POINTS).map(|i| cost(from * exp(step * i as f64)));
            // Between two overshoots the cost is a straight line, so the least is at
            // one of them.
            let corners = all.iter().filter(|ns| **ns >= LEAST_NS).copied();
            let corners = corners.map(cost).min_by(|a, b| a.1.total_cmp(&b.1));
            Self {
                points: points.collect(),
                least: corners.unwrap_or(cost(LEAST_NS)),
                quantile_ns: overshoots.quantile_ns(part_of(weight)).max(LEAST_NS),
            }
        }

        fn series(&self, name: String, look: Look) -> Series {
            let words = format!("{name}: {}", units::duration(self.quantile_ns));
            Series {
                marks: vec![self.least],
                upright: Some((self.quantile_ns, words)),
                ..Series::new(name, look, self.points.clone())
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use punctual_record::Experiment;

        use super::*;

        fn of_length(asked_ns: u64) -> Measurement {
            let method = "poll".to_owned();
            Measurement::of(Experiment::Naps(Naps { method, asked_ns }), "poll")
        }

        /// From 30 us on, the more the rarer, in a mixed order: 7 919 is prime.
        fn overshoots(n: i64) -> Overshoots {
            let over = |i: i64| {
                let part = i as f64 / n as f64;
                30e3 + 20e3 * part / (1.001 - part)
            };
            let samples = (0..n).map(|i| over(i * 7_919 % n) as i64).collect();
            let naps = Measurement {
                samples_late_ns: samples,
                ..of_length(1_000_000)
            };
            Overshoots::of(&naps).unwrap()
        }

        #[test]
        fn the_least_of_each_curve_is_at_its_quantile() {
            for n in [1, 2, 7, 2_000] {
                let overshoots = overshoots(n);
                for weight in WEIGHTS {
                    let curve = Curve::of(&overshoots, weight);
                    // Where two margins cost the same, either is the least.
                    let at_quantile = overshoots.cost_ns(curve.quantile_ns, weight);
                    assert!(at_quantile <= curve.least.1 * (1.0 + 1e-9), "{n} {weight}");
                    let lowest = curve
                        .points
                        .iter()
                        .map(|p| p.1)
                        .fold(f64::INFINITY, f64::min);
                    assert!(curve.least.1 <= lowest, "{n} {weight}");
                }
            }
        }

        #[test]
        fn a_cost_is_cpu_time_spun_and_lateness_times_weight() {
            let overshoots = Overshoots {
                sorted_ns: vec![10e3, 20e3, 60e3],
                cpu_ns: Some(5e3),
            };
            let cost = overshoots.cost_ns(20e3, 10.0);
            assert!(
                (cost - (5e3 + (10e3 + 0.0 + 400e3) / 3.0)).abs() < 1e-6,
                "{cost}"
            );
        }

        #[test]
        fn the_length_nearest_to_a_millisecond_is_shown() {
            let naps = |asked_ns: u64, n: usize| Measurement {
                samples_late_ns: vec![50_000; n],
                ..of_length(asked_ns)
            };
            let all = [naps(640_000, 5), naps(1_280_000, 5), naps(1_000_000, 0)];
            let all = select::rows(&all);
            let found = of_about(LENGTH_NS, &all).unwrap();
            assert_eq!(found.of.asked_ns, 1_280_000);
        }
    }
}
