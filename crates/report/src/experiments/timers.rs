//! The lengths of short sleeps, round by round.

use punctual_record::experiment::{Arming, Timers};
use punctual_record::{Mode, Run, nearest_rank};

use crate::histogram::{histogram_of, is_common};
use crate::select::{self, Row, Sleeps, asked_ns};
use crate::tables::Section;
use crate::tables::table::{Cell, Table, Why};
use crate::verdict::Verdict;
use crate::{prose, units};

/// For each call and each way to begin a sleep: a line for each round, and the
/// distribution of the lengths of all of them.
pub(crate) fn tables(measurements: &[Row<'_, Timers>]) -> Vec<Section> {
    select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), m.of.asked_ns, m.of.arming)
    })
    .iter()
    .flat_map(|((call, asked, arming), rounds)| {
        let asked = units::nominal(*asked);
        let name = format!("timers: {call} asked for {asked}, {}", arming.name());
        [
            rounds_of(&name, *arming, rounds),
            lengths(&name, rounds).into(),
        ]
    })
    .collect()
}

fn rounds_of(name: &str, arming: Arming, group: &[Row<'_, Timers>]) -> Section {
    let clocks = select::grouped(group.iter().copied(), |m| m.of.step_clock.as_deref());
    let clocks: Vec<&str> = clocks.iter().filter_map(|(clock, _)| *clock).collect();
    let step = match clocks[..] {
        [] => String::new(),
        _ => format!(
            "tick step: the median step of {}, which the tick writes.",
            clocks.join(", ")
        ),
    };
    let slept = |few: Why| {
        move |m: &Row<'_, Timers>, value: Option<String>| match m.of.slept_ns {
            Some(_) => Cell::or(value, few),
            None => Cell::or(value, Why::NOT_MEASURED),
        }
    };
    let (median, common) = (slept(Why::FEW_SAMPLES), slept(Why::NO_MODE));
    let several =
        |m: &Row<'_, Timers>| (m.of.modes.iter()).filter(|mode| mode.share >= 0.1).count() > 1;
    let table = Table::new(format!("{name}, timed by the precise clock"), group)
        .words_last()
        .column("round", |m| m.of.round)
        .column("stated", |m| m.of.stated_ns.map(stated_in_words))
        .blank(Why::NOT_STATED)
        .in_words("stated: the timer interval that the OS says is in force.")
        .if_known()
        .column("slack", |m| m.of.slack_ns.map(stated_in_words))
        .blank(Why::NOT_STATED)
        .in_words("slack: by how much the OS may put off this thread's timers.")
        .if_known()
        .column("tick\nstep", |m| m.of.step_ns.map(units::fine))
        .in_words(step)
        .column("slept\npredicted", |m| {
            let late = m.predicted_late_ns?;
            Some(units::fine(asked_ns(m.of) + late as f64))
        })
        .blank(Why::NOT_PREDICTED)
        .in_words("predicted: what the timer rule in force gives if waking up cost nothing.")
        .if_known()
        .column("slept\nmean", |m| Some(units::fine(m.of.slept_ns?.mean)))
        .column("p50", move |m| median(m, m.of.slept_ns.and_then(|slept| slept.p50).map(units::fine)))
        .column("n", |m| m.of.slept_ns.map_or(0, |slept| slept.n))
        .column("first", |m| m.of.first_slept_ns.map(units::fine))
        .in_words("first: the first sleep of the round, which is not among the n.")
        .column("lengths", move |m| common(m, modes_in_words(&m.of.modes)))
        .in_words("lengths: those that are common.")
        .caption(match arming {
            Arming::AfterWake => {
                "Each sleep begins as soon as the one before it has ended: just after a tick, where ticks end sleeps."
            }
            Arming::RandomPhase => "Each sleep begins after work of a random length.",
        })
        .captions(group.iter().any(several).then_some(
            "The mean of several lengths is a length that no sleep may have had.",
        ));
    match table.width() > crate::tables::width() {
        true => table.within(crate::tables::width()).section(),
        false => table.section(),
    }
}

/// Windows states its interval in units of 100 ns, and the last one counts. A sleep of 1 ms takes
/// one interval of 1.0000 ms and two of 0.9996 ms.
fn stated_in_words(ns: u64) -> String {
    let ns = ns as f64;
    if ns < 100_000.0 {
        units::nominal(ns)
    } else {
        units::ms(ns, 4)
    }
}

/// The number of modes in a cell; if there are more, the cell says so.
const SHOWN_MODES: usize = 4;

/// The common lengths of sleeps: `2.00 ms x 61 % (2 ticks)`. Lengths of a few samples are left to
/// the histogram.
fn modes_in_words(modes: &[Mode]) -> Option<String> {
    let common = || modes.iter().filter(|mode| is_common(mode));
    let told = common().take(SHOWN_MODES).map(|mode| {
        let length = units::duration(mode.center_ns);
        let ticks = mode.ticks.map(|ticks| prose::counted(ticks, "tick"));
        let ticks = ticks.map_or_else(String::new, |ticks| format!(" ({ticks})"));
        format!("{length} x {:.0} %{ticks}", mode.share * 100.0)
    });
    let mut text = prose::list(told);
    if common().count() > SHOWN_MODES {
        text += ", ...";
    }
    Some(text).filter(|text| !text.is_empty())
}

fn lengths(name: &str, rounds: &[Row<'_, Timers>]) -> String {
    let (samples, modes) = select::lengths(rounds);
    let title = format!("{name}: lengths in all rounds");
    histogram_of(&title, "sleeps", &samples, &modes)
}

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<Timers>(run);
    let groups = select::grouped(rows.iter().copied(), |row| {
        (row.m.subject.as_str(), asked_ns(row.of), row.of.arming)
    });
    let told: Vec<Sleeps> = groups
        .iter()
        .filter_map(|(_, rows)| Sleeps::of(rows))
        .collect();
    let first = told.first()?;
    let random = told.iter().find(|told| told.arming == Arming::RandomPhase);
    let sleep = sleep_of(first);
    let begin = match random {
        Some(_) => format!("In a loop that only sleeps, {sleep}"),
        None => sleep,
    };
    let mut sentences = vec![format!(
        "{begin} takes {} in the median{}.",
        figures(first)[0],
        in_ticks(first),
    )];
    sentences.extend(random.filter(|told| told.call == first.call).map(|random| {
        let [median, least, most] = figures(random);
        format!("If it begins at a random moment, it takes {median} in the median, from {least} to {most}.")
    }));
    let next = "Next: punctual doctor says why sleeps are this long, and what helps; --full has all rounds.";
    let table = Table::new("", &told)
        .column("call, start", |told| {
            format!("{}, {}", told.call, told.arming.name())
        })
        .column("wait of", |told| units::nominal(told.asked_ns))
        .only_if(told.iter().any(|other| other.asked_ns != first.asked_ns))
        .each([("p50", 0), ("min", 1), ("max", 2)], |told, which| {
            figures(told)[*which].clone()
        })
        .column("predicted", |told| told.predicted_ns.map(units::fine))
        .in_words(PREDICTED_IN_WORDS);
    Some(Verdict::new(sentences, next).told(
        table,
        "after-wake: each sleep begins as soon as the one before it has ended. random-phase: it begins after work of \
         a random length.",
    ))
}

/// The meaning of the column.
const PREDICTED_IN_WORDS: &str =
    "predicted: by the timer rule in force, without the time that waking up takes.";

/// `Sleep(1)`, or `clock_nanosleep of 1 ms` where the name does not state the length.
fn sleep_of(sleeps: &Sleeps) -> String {
    match sleeps.call.ends_with(')') {
        true => sleeps.call.to_string(),
        false => format!("{} of {}", sleeps.call, units::nominal(sleeps.asked_ns)),
    }
}

/// How many ticks most of them are long, and how many most are.
fn in_ticks(sleeps: &Sleeps) -> String {
    let modes = sleeps.modes.iter();
    let most = modes.max_by(|a, b| a.share.total_cmp(&b.share));
    let ticks = most.and_then(|mode| Some((mode.ticks?, mode.share)));
    ticks.map_or_else(String::new, |(ticks, share)| {
        let ticks = prose::counted(ticks, "tick");
        format!(" ({} % of the sleeps last {ticks})", units::percent(share))
    })
}

/// The median, the shortest and the longest.
fn figures(sleeps: &Sleeps) -> [String; 3] {
    let slept = &sleeps.slept_ns;
    let median = nearest_rank(slept, 500).unwrap_or_default();
    [median, slept[0], slept[slept.len() - 1]].map(units::fine)
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use std::collections::BTreeMap;

    use plotters::prelude::*;
    use plotters::style::text_anchor::HPos;

    use super::*;
    use crate::figures::axis::Axis;
    use crate::figures::chart::{Canvas, Chart, Drawn, GREY, Place, text_width, write};
    use crate::figures::panels::{Layout, Panel, Panels};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure, svg};
    use crate::histogram::{name as name_of_mode, named, usual};

    /// The names of modes above a panel: so many lines, so high.
    const LEVELS: usize = 2;
    const LEVEL: i32 = 18;

    const LAYOUT: Layout = Layout {
        high: 170 + LEVEL * LEVELS as i32,
        air: (LEVEL * LEVELS as i32, 12),
        above: 0,
        left: 16,
        right: 30,
        lines: (20, 20),
    };

    const ASKED: &str = "asked";

    /// How many bars there is room for.
    const BARS: f64 = 180.0;

    /// For each call a panel for each way to begin a sleep, on one scale.
    pub(crate) fn figures(run: &Run) -> Vec<Figure> {
        select::grouped(select::of_run::<Timers>(run), |m| {
            (m.m.subject.as_str(), asked_ns(m.of))
        })
        .iter()
        .filter_map(|((call, asked), group)| sleeps_of(run, call, *asked, group))
        .collect()
    }

    /// The sleeps of each way to begin them.
    fn panels<'r>(group: &[Row<'r, Timers>]) -> Vec<Sleeps<'r>> {
        let armings = select::grouped(group.iter().copied(), |m| m.of.arming);
        let panels = armings.iter().filter_map(|(_, rounds)| Sleeps::of(rounds));
        panels.collect()
    }

    fn sleeps_of(
        run: &Run,
        call: &str,
        asked_ns: f64,
        group: &[Row<'_, Timers>],
    ) -> Option<Figure> {
        let panels = panels(group);
        let mut all: Vec<i64> = panels
            .iter()
            .flat_map(|panel| panel.slept_ns.clone())
            .collect();
        all.sort_unstable();
        let (low, high) = usual(&all)?;
        // The asked and the predicted lengths are on the axis too.
        let lines = panels.iter().flat_map(|panel| panel.lines()).flatten();
        let lines: Vec<i64> = lines.map(|(_, ns)| ns as i64).collect();
        let low = lines.iter().copied().fold(low, i64::min);
        let high = lines.iter().copied().fold(high, i64::max);
        let beyond = all.iter().filter(|ns| **ns < low || **ns > high).count();
        let (from, to) = scale(low, high);
        let charts = panels.iter().map(|panel| {
            let shares = panel.shares((from, to));
            let highest = shares.values().copied().fold(0.0, f64::max);
            Panel {
                name: panel.arming.name(),
                lines: vec![format!("n = {}", panel.slept_ns.len())],
                y: Axis::linear("sleeps (%)", 0.0, highest * 1.05, 3),
                draw: Box::new(move |canvas, chart, place| {
                    panel.draw(canvas, chart, place, &shares, (from, to))
                }),
            }
        });
        let charts = Panels {
            title: format!("Lengths of {call} asked for {}", units::nominal(asked_ns)),
            caption: caption_of_sleeps(&panels, beyond),
            layout: LAYOUT,
            x: Axis::linear("slept (ms)", from, to, 8),
            y: "",
            above: vec![],
            panels: charts.collect(),
        };
        Some(figure(&format!("timers-{call}"), charts.draw(run)))
    }

    /// The ends of the axis in milliseconds: a little more than the sleeps need.
    fn scale(low_ns: i64, high_ns: i64) -> (f64, f64) {
        let [low, high] = [low_ns, high_ns].map(|ns| ns as f64 / 1e6);
        let edge = ((high - low) * 0.03).max(high.abs() * 1e-3).max(1e-6);
        (low - edge, high + edge)
    }

    impl Sleeps<'_> {
        fn draw(
            &self,
            canvas: &Canvas,
            chart: &Chart,
            place: Place,
            shares: &BTreeMap<usize, f64>,
            (from, to): (f64, f64),
        ) -> Drawn {
            let style = Look::nth(0).colour.filled();
            let width = (to - from) / BARS;
            for (&bar, &share) in shares {
                let (left, top) = chart.pixel(from + bar as f64 * width, share);
                let (right, bottom) = chart.pixel(from + (bar + 1) as f64 * width, 0.0);
                let corners = [(left, top.min(bottom - 1)), (right.max(left + 1), bottom)];
                canvas.draw(&Rectangle::new(corners, style))?;
            }
            let (_, bottom) = chart.pixel(from, 0.0);
            for (name, ns) in self.lines().into_iter().flatten() {
                let (x, top) = chart.pixel(ns / 1e6, f64::INFINITY);
                let dashes = if name == ASKED { [6, 3] } else { [1, 3] };
                svg::valued(canvas, &format!("{name}\n{}", units::fine(ns)), || {
                    let style = BLACK.mix(0.7).stroke_width(2);
                    svg::dashed(canvas, dashes, [(x, top), (x, bottom)], style)
                })?;
            }
            self.names(canvas, chart, place, bottom)
        }

        /// The lines upright in it.
        fn lines(&self) -> [Option<(&'static str, f64)>; 2] {
            let predicted = self.predicted_ns.map(|ns| ("predicted", ns));
            [Some((ASKED, self.asked_ns)), predicted]
        }

        /// The share of the sleeps in each bar, in per cent.
        fn shares(&self, (from, to): (f64, f64)) -> BTreeMap<usize, f64> {
            let mut shares = BTreeMap::new();
            let each = 100.0 / self.slept_ns.len().max(1) as f64;
            for &ns in &self.slept_ns {
                let share = ((ns as f64 / 1e6 - from) / (to - from)).clamp(0.0, 1.0);
                let bar = (share * BARS).floor().min(BARS - 1.0) as usize;
                *shares.entry(bar).or_insert(0.0) += each;
            }
            shares
        }

        /// The names of the modes above the panel, each with a line to its bar.
        fn names(&self, canvas: &Canvas, chart: &Chart, place: Place, bottom: i32) -> Drawn {
            let mut modes = named(&self.modes, self.slept_ns.len());
            modes.truncate(2 * LEVELS);
            modes.sort_by_key(|mode| mode.center_ns);
            let mut free = [0; LEVELS];
            for mode in modes {
                let text = format!("{}, {:.0} %", name_of_mode(mode), mode.share * 100.0);
                let (x, _) = chart.pixel(mode.center_ns as f64 / 1e6, 0.0);
                let half = text_width(&text) / 2;
                let middle = x.clamp(
                    place.left + 70 + half,
                    (place.right - half).max(place.left + 70 + half),
                );
                let level = free.iter().position(|from| middle - half >= *from);
                let Some(level) = level else { continue };
                free[level] = middle + half + 8;
                let y = place.top - LEVEL / 2 - LEVEL * level as i32 + 2;
                let ends = [(x, y + LEVEL / 2), (x, bottom)];
                svg::dashed(canvas, [2, 4], ends, GREY.mix(0.6).stroke_width(1))?;
                write(canvas, &text, (middle, y), HPos::Center, &BLACK)?;
            }
            Ok(())
        }
    }

    fn caption_of_sleeps(panels: &[Sleeps], beyond: usize) -> String {
        let n = select::counts(panels.iter().map(|panel| panel.slept_ns.len() as u64));
        let mut caption = format!(
            "How long sleeps were by the precise clock, all rounds, n = {n} in each panel. after-wake: each begins \
         as soon as the one before it has ended. random-phase: each begins after work of a random length."
        );
        caption += " The dashed line is what was asked for";
        caption += match panels.iter().any(|panel| panel.predicted_ns.is_some()) {
            true => {
                ", the dotted one what the timer rule in force predicts if waking up cost nothing."
            }
            false => ".",
        };
        if beyond > 0 {
            caption += &format!(" {beyond} beyond the axis are drawn at its ends.");
        }
        caption
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::{Experiment, Measurement};

    use super::*;

    fn of_timers(slept_ns: &[u64], stated_ns: Option<u64>) -> Run {
        let timers = Timers {
            asked_ns: 1_000_000,
            stated_ns,
            ..Timers::default()
        };
        Run::of([Measurement {
            samples_slept_ns: slept_ns.to_vec(),
            ..Measurement::of(Experiment::Timers(timers), "Sleep(1)")
        }])
    }

    #[test]
    fn a_sleep_of_whole_ticks_says_how_many() {
        let told = answer(&of_timers(&[15_625_000; 40], Some(15_625_000))).unwrap();
        assert_eq!(
            told.sentences,
            ["Sleep(1) takes 15.625 ms in the median (100 % of the sleeps last 1 tick)."]
        );
    }

    #[test]
    fn without_ticks_only_the_length_is_said_and_of_nothing_nothing() {
        let told = answer(&of_timers(&[1_058_000; 40], None)).unwrap();
        assert_eq!(told.sentences, ["Sleep(1) takes 1.058 ms in the median."]);
        assert_eq!(answer(&of_timers(&[], None)), None);
    }
}
