//! How the subjects are told apart: by colour, marker and line at once, so that
//! no figure depends on colour alone.

use std::sync::LazyLock;

use plotters::prelude::*;

use punctual_core::{Method, StrategySpec};
use punctual_record::{Experiment, Measurement, Run};

use super::svg::{self, Canvas, Drawn, Pixel};
use crate::select;

/// The palette of Okabe and Ito ("Color Universal Design", 2008), which people
/// with any common colour blindness can tell apart. Its yellow is left out, as
/// it fades on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// Subjects with a look of their own wherever they are drawn: strategies, the libraries they are
/// compared with, and the calls of the OS. Subjects that are often drawn together come first.
/// Strategies and calls that are not listed here follow, in the order of their tables.
const KNOWN: &str = "adaptive-balanced spin_sleep system precise timer spin fixed-margin adaptive-frugal tokio \
    max-nap adaptive-exact yield-spin std clock_nanosleep timerfd clock_nanosleep+slack=1ns Sleep \
    high-resolution-timer waitable-timer sleep mach_wait_until kevent nanosleep \
    clock_nanosleep+TIMER_ABSTIME usleep SleepEx WaitForSingleObject WaitForMultipleObjects \
    WM_TIMER poll select epoll_wait condition-variable futex timer_settime SO_RCVTIMEO \
    thread::sleep yield futex+slack=1ns setitimer";

/// The markers of a series. Six markers and seven colours repeat together only after 42 subjects.
const MARKERS: [Marker; 6] = [
    Marker::Disc,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Ring,
    Marker::Cross,
];

const LOOKS: usize = COLOURS.len() * MARKERS.len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Disc,
    Square,
    Triangle,
    Diamond,
    Ring,
    Cross,
}

/// The look of one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The colour of lines and marks.
    pub colour: RGBColor,
    marker: Marker,
    dashed: bool,
}

impl Look {
    /// The look of `subject`. It is the same in all figures of all runs if it is known, else in
    /// all of this run. A known subject with other parameters keeps its colour.
    pub fn of(run: &Run, subject: &str) -> Self {
        if let Some(look) = Self::known(subject) {
            return look;
        }
        let lines = run.results.iter().filter(|m| !has_other_looks(m));
        let subjects = select::grouped(lines, |m| m.subject.as_str())
            .into_iter()
            .map(|(name, _)| name);
        let (known, others): (Vec<&str>, Vec<&str>) =
            subjects.partition(|name| Self::known(name).is_some());
        let mut taken: Vec<Self> = known.into_iter().filter_map(Self::known).collect();
        for other in others {
            let family = other.split(':').next().and_then(Self::known);
            let free = match family {
                Some(look) => {
                    let looks = MARKERS.map(|marker| Self { marker, ..look });
                    looks.into_iter().find(|look| !taken.contains(look))
                }
                None => None,
            };
            let free = free.or_else(|| (0..LOOKS).map(Self::nth).find(|l| !taken.contains(l)));
            let look = free.unwrap_or(Self::nth(taken.len()));
            if other == subject {
                return look;
            }
            taken.push(look);
        }
        Self::nth(taken.len())
    }

    fn known(name: &str) -> Option<Self> {
        static ALL: LazyLock<Vec<&str>> = LazyLock::new(|| {
            let mut all: Vec<&str> = KNOWN.split(' ').collect();
            let strategies = StrategySpec::ALL.map(StrategySpec::name);
            for name in strategies.into_iter().chain(Method::ALL.map(Method::name)) {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
            all
        });
        ALL.iter().position(|known| *known == name).map(Self::nth)
    }

    /// One of the `LOOKS`, where what is told apart are not subjects.
    pub fn nth(i: usize) -> Self {
        Self {
            colour: COLOURS[i % COLOURS.len()],
            marker: MARKERS[i % MARKERS.len()],
            dashed: (i / COLOURS.len()) % 2 == 1,
        }
    }

    /// Draws a line through `points`.
    pub fn line(self, canvas: &Canvas, points: &[Pixel]) -> Drawn {
        let style = self.colour.stroke_width(2);
        if self.dashed {
            svg::dashed(canvas, [7, 4], points, style)
        } else {
            canvas.draw(&PathElement::new(points.to_vec(), style))
        }
    }

    /// Draws the marker at a point.
    pub fn marker(self, canvas: &Canvas, at: Pixel) -> Drawn {
        let (x, y) = at;
        let style = self.colour.filled();
        match self.marker {
            Marker::Disc => canvas.draw(&Circle::new(at, 4, style)),
            Marker::Square => canvas.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], style)),
            Marker::Triangle => canvas.draw(&TriangleMarker::new(at, 6, style)),
            Marker::Diamond => {
                let corners = vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)];
                canvas.draw(&Polygon::new(corners, style))
            }
            Marker::Ring => {
                canvas.draw(&Circle::new(at, 4, WHITE.filled()))?;
                canvas.draw(&Circle::new(at, 4, self.colour.stroke_width(2)))
            }
            Marker::Cross => canvas.draw(&Cross::new(at, 4, self.colour.stroke_width(2))),
        }
    }
}

/// Whether what the figure of an experiment tells apart are not its subjects.
fn has_other_looks(m: &Measurement) -> bool {
    matches!(
        m.experiment,
        Experiment::Clocks(_)
            | Experiment::Timers(_)
            | Experiment::Yield(_)
            | Experiment::Load(_)
            | Experiment::Cores(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::experiment::Decades;

    #[test]
    fn forty_two_subjects_look_different() {
        let looks: Vec<Look> = (0..LOOKS).map(Look::nth).collect();
        assert_eq!(looks.len(), 42);
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{i}");
        }
    }

    #[test]
    fn known_subjects_exist_and_are_listed_once() {
        let strategies = StrategySpec::ALL.map(StrategySpec::name);
        let calls = Method::ALL.map(Method::name);
        let libraries = ["spin_sleep", "tokio", "std"];
        let exist: Vec<&str> = strategies
            .into_iter()
            .chain(calls)
            .chain(libraries)
            .collect();
        let known: Vec<&str> = KNOWN.split(' ').collect();
        for (i, name) in known.iter().enumerate() {
            assert!(exist.contains(name), "there is no {name}");
            assert!(!known[..i].contains(name), "{name} is listed twice");
        }
    }

    /// A run of waits of these subjects.
    fn run(subjects: &[&str]) -> Run {
        let decades = Experiment::Decades(Decades { asked_ns: 1 });
        let results = subjects.iter();
        let results = results.map(|subject| Measurement::of(decades.clone(), *subject));
        Run::of(results)
    }

    #[test]
    fn a_strategy_has_one_look_whatever_else_ran() {
        let alone = Look::of(&run(&["timer"]), "timer");
        let others = run(&["mine", "precise", "timer:x=2", "timer"]);
        assert_eq!(Look::of(&others, "timer"), alone);
        let variant = Look::of(&others, "timer:x=2");
        assert_eq!(variant.colour, alone.colour);
        let looks = ["mine", "precise", "timer:x=2", "timer"].map(|s| Look::of(&others, s));
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{i}");
        }
    }
}
