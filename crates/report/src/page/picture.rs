//! A picture beside an answer: how late waits were, and what the timer rule predicts, small enough
//! for a phone.
//!
//! A strip for each subject, all on one logarithmic axis, with its name above it so that no name is
//! too long.

use std::fmt::Write;

use punctual_record::experiment::Watch;
use punctual_record::{Experiment, Late, Measurement, Run, Value, visible};

use crate::figures::svg::escaped;
use crate::{prose, units};

/// All lengths are in pixels of a picture that is this wide.
const WIDTH: f64 = 340.0;
const EDGE: f64 = 6.0;
/// A strip with its name.
const HIGH: f64 = 38.0;
const NAME: f64 = 12.0;
const BAR: f64 = 18.0;
const AXIS: f64 = 20.0;
const BINS: usize = 62;

/// There is room beside an answer for so many.
const STRIPS: usize = 7;
const LONGEST_NAME: usize = 34;

/// A wait that is not late, or early, stands at the left end.
const LEAST_NS: f64 = 10.0;

/// One subject.
struct Strip<'r> {
    name: String,
    late: &'r Late,
    /// How late, and how many waits were.
    waits: Vec<(f64, f64)>,
    predicted_ns: Option<i64>,
}

/// The picture of a run whose waits have a lateness.
pub(crate) fn of(run: &Run) -> Option<String> {
    let first = run.results.iter().find(|m| m.late_ns.n > 0)?;
    let strips = strips(run, first);
    let has_rule = strips.iter().any(|strip| strip.predicted_ns.is_some());
    let range = Range::of(&strips);
    let height = HIGH * strips.len() as f64 + AXIS;
    let what = what(first);
    let mut svg = format!(
        "<svg class=\"glance\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\" aria-label=\"{}\">\n",
        escaped(&format!("How late {what} were, by {}", subjects(&strips)))
    );
    range.axis(&mut svg, HIGH * strips.len() as f64);
    for (i, strip) in strips.iter().enumerate() {
        strip.draw(&mut svg, &range, HIGH * i as f64);
    }
    svg += "</svg>\n";
    let rule = prose::when(has_rule, || {
        " Dashed: the median that the timer rule predicts, if waking up cost nothing.".to_owned()
    });
    let caption = format!(
        "How late {what} were: the higher, the more of them, on a logarithmic scale. The line is the median.{rule}"
    );
    Some(format!(
        "{svg}<p class=\"faint\">{}</p>\n",
        escaped(&caption)
    ))
}

/// The first measurement of each subject at what `first` was measured at; of a scenario, of each
/// thread in each phase on each model.
fn strips<'r>(run: &'r Run, first: &Measurement) -> Vec<Strip<'r>> {
    let at = at(first);
    let alike = run
        .results
        .iter()
        .filter(|m| m.late_ns.n > 0 && self::at(m) == at);
    let alike: Vec<&Measurement> = alike.collect();
    let parts: [fn(&Measurement) -> &str; 3] = [
        |m| m.experiment.on().unwrap_or_default(),
        |m| &m.subject,
        |m| m.experiment.phase().map_or("", |at| &at.phase),
    ];
    let differ = parts.map(|part| alike.iter().any(|m| part(m) != part(first)));
    let name = |m: &Measurement| {
        let told = parts.iter().zip(differ).filter(|(_, differ)| *differ);
        let told: Vec<&str> = told.map(|(part, _)| part(m)).collect();
        match told.is_empty() {
            true => m.subject.clone(),
            false => told.join(", "),
        }
    };
    let mut strips: Vec<Strip<'r>> = Vec::new();
    for m in alike {
        let name = name(m);
        if strips.len() < STRIPS && strips.iter().all(|strip| strip.name != name) {
            strips.push(Strip {
                name,
                late: &m.late_ns,
                waits: waits(m),
                predicted_ns: m.predicted_late_ns,
            });
        }
    }
    strips
}

/// The parameters that distinguish lengths and rates.
fn at(m: &Measurement) -> (&'static str, Vec<Value>) {
    const KEYS: [&str; 5] = ["asked_ns", "rate_hz", "period_ns", "threads", "scenario"];
    let params = m.experiment.params();
    let values = KEYS.iter().filter_map(|key| params.get(*key).cloned());
    (m.experiment.name(), values.collect())
}

/// `waits of 1 ms`, `waits at 60 Hz`.
fn what(m: &Measurement) -> String {
    let params = m.experiment.params();
    let number = |key| params.get(key).and_then(Value::as_f64);
    match (number("asked_ns"), number("rate_hz"), number("period_ns")) {
        (Some(ns), ..) => format!("waits of {}", units::nominal_fine(ns)),
        (_, Some(hz), _) => format!("waits at {} Hz", units::plain(hz)),
        (.., Some(ns)) => format!("waits every {}", units::nominal_fine(ns)),
        _ => "waits".to_owned(),
    }
}

fn waits(m: &Measurement) -> Vec<(f64, f64)> {
    match &m.experiment {
        Experiment::Watch(watch) => {
            let Watch {
                histogram_late_ns, ..
            } = &**watch;
            let bins = histogram_late_ns.iter();
            bins.map(|&(ns, n)| (ns as f64, n as f64)).collect()
        }
        Experiment::Log(log) if !log.histogram_ns.is_empty() => {
            let bins = log.histogram_ns.iter();
            bins.map(|&(ns, n)| (ns as f64, n as f64)).collect()
        }
        _ => m
            .samples_late_ns
            .iter()
            .map(|&ns| (ns as f64, 1.0))
            .collect(),
    }
}

fn subjects(strips: &[Strip]) -> String {
    prose::list(strips.iter().map(|strip| visible(&strip.name)))
}

/// A name as text in HTML.
fn name(name: &str) -> String {
    escaped(&prose::cut(visible(name).into_owned(), LONGEST_NAME))
}

/// Whole decades, two at least.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(strips: &[Strip]) -> Self {
        let of_strip = |strip: &Strip| {
            let ends = [strip.late.min, strip.late.max].into_iter();
            ends.chain(strip.predicted_ns).collect::<Vec<_>>()
        };
        let logs = strips.iter().flat_map(of_strip);
        let logs = logs.map(|ns| libm::log10((ns as f64).max(LEAST_NS)));
        let (low, high) = logs.fold((f64::INFINITY, 0.0_f64), |(low, high), log| {
            (low.min(log), high.max(log))
        });
        let low = libm::floor(low);
        Self {
            low,
            high: libm::ceil(high).max(low + 2.0),
        }
    }

    /// From the left end to the right one, 0 to 1.
    fn share(&self, ns: f64) -> f64 {
        let log = libm::log10(ns.max(LEAST_NS));
        ((log - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn x(&self, ns: f64) -> f64 {
        EDGE + self.share(ns) * (WIDTH - 2.0 * EDGE)
    }

    fn axis(&self, svg: &mut String, bottom: f64) {
        let decades = (self.high - self.low) as usize;
        // Labels have room for six.
        let step = decades.div_ceil(6).max(1);
        for i in (0..=decades).step_by(step) {
            let ns = libm::pow(10.0, self.low + i as f64);
            let x = self.x(ns);
            let anchor = match i {
                0 => "start",
                i if i == decades => "end",
                _ => "middle",
            };
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} 0V{bottom:.1}\" stroke=\"#E1E1E1\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"#505050\">{}</text>",
                bottom + 14.0,
                units::nominal(ns)
            );
        }
    }
}

impl Strip<'_> {
    fn draw(&self, svg: &mut String, range: &Range, top: f64) {
        let (above, below) = (top + NAME + 3.0, top + NAME + 3.0 + BAR);
        let typical = self.late.p50.map_or(self.late.mean, |p50| p50 as f64);
        let _ = writeln!(
            svg,
            "<text x=\"{EDGE}\" y=\"{:.1}\" fill=\"#000000\">{}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#000000\">{}</text>",
            top + NAME,
            name(&self.name),
            WIDTH - EDGE,
            top + NAME,
            units::duration(typical)
        );
        for (x, width, share) in self.bars(range) {
            let high = share * BAR;
            let y = below - high;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{high:.1}\" fill=\"#0072B2\"/>"
            );
        }
        let mut line = |ns: f64, style: &str| {
            let x = range.x(ns);
            let _ = writeln!(svg, "<path d=\"M{x:.1} {above:.1}V{below:.1}\" {style}/>");
        };
        line(typical, "stroke=\"#000000\" stroke-width=\"2\"");
        if let Some(ns) = self.predicted_ns {
            line(
                ns as f64,
                "stroke=\"#D55E00\" stroke-width=\"2\" stroke-dasharray=\"3 2\"",
            );
        }
    }

    /// Where they begin, how wide they are, and how high, of the highest: the waits by how late
    /// they were; or where only percentiles are known, from the least to the median, and so on.
    fn bars(&self, range: &Range) -> Vec<(f64, f64, f64)> {
        let late = self.late;
        if self.waits.is_empty() {
            let ends = [
                (Some(late.min), 0.3),
                (late.p50, 1.0),
                (late.p90, 0.3),
                (late.p99, 0.1),
            ];
            let ends = ends
                .into_iter()
                .filter_map(|(ns, high)| Some((ns? as f64, high)));
            let ends: Vec<(f64, f64)> = ends.chain([(late.max as f64, 0.0)]).collect();
            let bar = |two: &[(f64, f64)]| {
                let (from, to) = (range.x(two[0].0), range.x(two[1].0));
                (from, (to - from).max(1.0), two[0].1)
            };
            return ends.windows(2).map(bar).collect();
        }
        let mut bins = [0.0_f64; BINS];
        for (ns, n) in &self.waits {
            let bin = (range.share(*ns) * BINS as f64) as usize;
            bins[bin.min(BINS - 1)] += n;
        }
        let most = libm::log1p(bins.iter().fold(1.0, |most, n| n.max(most)));
        let width = (WIDTH - 2.0 * EDGE) / BINS as f64;
        let bins = bins.iter().enumerate().filter(|(_, n)| **n > 0.0);
        bins.map(|(i, n)| (EDGE + width * i as f64, width, libm::log1p(*n) / most))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::experiment::Doctor;

    use super::*;

    fn run(late_ns: &[(&str, i64, Option<i64>)]) -> Run {
        let rows = late_ns.iter().map(|&(subject, late, predicted)| {
            let of = Doctor {
                asked_ns: 1_000_000,
                ..Doctor::default()
            };
            Measurement {
                late_ns: Late::of(&[late; 40]),
                samples_late_ns: vec![late; 40],
                predicted_late_ns: predicted,
                ..Measurement::of(Experiment::Doctor(of), subject)
            }
        });
        Run::of(rows)
    }

    #[test]
    fn each_subject_has_a_strip_with_its_median_and_what_is_predicted() {
        let svg = of(&run(&[
            ("sleep", 58_000, Some(50_000)),
            ("<library>", 400, None),
        ]))
        .unwrap();
        let document = svg.find("</svg>").unwrap() + "</svg>".len();
        let document = &svg[svg.find("<svg").unwrap()..document];
        let parsed = roxmltree::Document::parse(document).unwrap();
        let texts: Vec<&str> = parsed
            .descendants()
            .filter_map(|node| node.text())
            .collect();
        for words in ["sleep", "58.0 us", "<library>", "400 ns", "1 us", "100 us"] {
            assert!(texts.contains(&words), "{words}: {texts:?}");
        }
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        assert!(svg.contains("How late waits of 1 ms were") && svg.contains("Dashed: "));
        let without = of(&run(&[("sleep", 58_000, None)])).unwrap();
        assert!(!without.contains("Dashed: ") && !without.contains("dasharray"));
    }

    #[test]
    fn what_is_early_or_far_away_stays_inside() {
        let svg = of(&run(&[("a", -5_000, Some(0)), ("b", i64::MAX, None)])).unwrap();
        let x = svg
            .split(" x=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap());
        for x in x.map(|x| x.parse::<f64>().unwrap()) {
            assert!((0.0..=WIDTH).contains(&x), "{x}");
        }
        assert_eq!(of(&Run::default()), None);
    }

    #[test]
    fn where_only_percentiles_are_known_they_are_drawn() {
        let mut of_late = run(&[("sleep", 58_000, None)]);
        of_late.results[0].samples_late_ns.clear();
        assert!(of(&of_late).unwrap().contains("<rect "));
    }
}
