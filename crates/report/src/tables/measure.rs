//! The tables of `measure`: calls of the OS, clocks, timers, yields, load, CPUs, and gaps.

use punctual_record::experiment::{Clocks, Cores, Gap, Lengths, Load, Sleep, Timers, Yield};
use punctual_record::{Measurement, Mode, Run};

use super::cells::Section;
use super::columns::{
    MAX, MEAN, N, P50, P90, P99, QUEUED, STOLEN, SUBJECT, counted, named, typical,
};
use super::table::{Cell, Table, Told, Why};
use crate::histogram::{histogram_of, is_common};
use crate::select::{self, Row, asked_ns};
use crate::{prose, units};

/// A line for each clock, and below it which of them the tick writes.
pub(crate) fn clocks(measurements: &[Row<'_, Clocks>]) -> Vec<Section> {
    let table = Table::new(
        "clocks: the steps in which they move on, and what a reading takes",
        measurements,
    )
    .told([named("clock", SUBJECT)])
    .column("stated", |m| m.of.stated_ns.map(units::nominal))
    .blank(Why::NOT_STATED)
    // To the microsecond, as the tick's is known by the last digits.
    .column("step\np50", |m| median(m.of.step_ns, units::fine))
    .column("min", |m| Some(units::fine(m.of.step_ns?.min)))
    .column("max", |m| Some(units::fine(m.of.step_ns?.max)))
    .column("n", |m| how_many(m.of.step_ns))
    .column("a reading\np50", |m| median(m.of.read_cost_ns, units::duration))
    .column("n", |m| how_many(m.of.read_cost_ns))
    .column("written by", |m| Some(if m.of.tick_written? { "the tick" } else { "counter" }))
    .caption(
        "stated: the resolution that the OS claims. step: by how much the clock moved on at once, as its \
         readings show; n steps. a reading: its time, n means of many in a row. written by: a clock that moves \
         on by 500 us or more shows the time of the last tick; any other is read from a counter.",
    )
    .captions(of_the_tick(measurements));
    vec![table.section()]
}

/// The median, or why it is missing.
fn median(of: Option<Lengths>, written: fn(u64) -> String) -> Cell {
    match of {
        Some(lengths) => Cell::or(lengths.p50.map(written), Why::FEW_SAMPLES),
        None => Cell::or(None, Why::NOT_MEASURED),
    }
}

fn how_many(lengths: Option<Lengths>) -> u64 {
    lengths.map_or(0, |lengths| lengths.n)
}

/// Which clocks the tick writes, and what that says of it.
fn of_the_tick(measurements: &[Row<'_, Clocks>]) -> Option<String> {
    let written = measurements.iter().copied();
    let written = written.filter(|m| m.of.tick_written == Some(true));
    let tick = |of: &Clocks| Some(of.tick_ns.or(of.step_ns?.p50)? as f64);
    let by_step = select::grouped(written, |m| tick(m.of).map(units::fine));
    let any = !by_step.is_empty();
    let sentences: Vec<String> = by_step
        .iter()
        .filter_map(|(step, clocks)| {
            let names = prose::list(clocks.iter().map(|m| &m.m.subject));
            let verbs = if clocks.len() == 1 { ("is", "moves") } else { ("are", "move") };
            let per_second = 1e9 / tick(clocks[0].of)?;
            let longer: u64 = clocks.iter().filter_map(|m| m.of.longer_steps).sum();
            let of: u64 = clocks.iter().filter_map(|m| Some(m.of.step_ns?.n)).sum();
            let skipped = match longer > 0 {
                true => format!("; {longer} of {of} steps were longer: ticks were skipped"),
                false => String::new(),
            };
            Some(format!(
                "{} {} written by the tick and {} on by {} at a time, which is about {} ticks a second{skipped}.",
                names,
                verbs.0,
                verbs.1,
                step.as_ref()?,
                units::per_second(per_second)
            ))
        })
        .collect();
    match (sentences.is_empty(), any) {
        (false, _) => Some(sentences.join(" ")),
        (true, false) => Some("None of these clocks shows a tick.".to_owned()),
        // A median needs more steps.
        (true, true) => None,
    }
}

/// For each call and each way to begin a sleep: a line for each round, and the
/// distribution of the lengths of all of them.
pub(crate) fn timers(measurements: &[Row<'_, Timers>]) -> Vec<Section> {
    select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), m.of.asked_ns, m.of.arming.as_str())
    })
    .iter()
    .flat_map(|((call, asked, arming), rounds)| {
        let asked = units::nominal(*asked);
        let name = format!("timers: {call} asked for {asked}, {arming}");
        [
            rounds_of(&name, arming, rounds),
            lengths(&name, rounds).into(),
        ]
    })
    .collect()
}

fn rounds_of(name: &str, arming: &str, group: &[Row<'_, Timers>]) -> Section {
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
            "after-wake" => {
                "Each sleep begins as soon as the one before it has ended: just after a tick, where ticks end sleeps."
            }
            "random-phase" => "Each sleep begins after work of a random length.",
            _ => "",
        })
        .captions(group.iter().any(several).then_some(
            "The mean of several lengths is a length that no sleep may have had.",
        ));
    match table.width() > super::width() {
        true => table.within(super::width()).section(),
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

/// The length whose distribution is shown.
const SHOWN_NS: f64 = 1e6;

/// The number of early returns that are listed one by one.
const MOST_EARLY: usize = 8;

/// The overshoot of each call by the time asked for: the median, a high
/// percentile, the largest; and the distributions of the plain calls at 1 ms.
pub(crate) fn sleep(run: &Run, measurements: &[Row<'_, Sleep>]) -> Vec<Section> {
    let calls = select::by_subject(measurements);
    let asked = select::values(measurements, asked_ns);
    let mut sections = Vec::new();
    for of in backed(measurements) {
        let lines = lines(of, &calls, measurements);
        let table = |lengths: &[f64]| {
            let heads = lengths.iter().map(|&ns| (units::nominal(ns), ns));
            let title = format!("sleep: how much longer than asked, {}", of.0);
            Table::new(title, &lines)
                .column(format!("{} by the time asked", of.0), |line| line.0)
                .each(heads, |(_, cell), &asked| cell(asked))
                .caption(caption_of(of.0, lengths, measurements))
        };
        sections.extend(in_lines_that_fit(&asked, table));
    }
    sections.extend(remarks(measurements).map(Section::from));
    sections.extend(distributions(run, &calls));
    sections
}

/// A column for each length, in as many tables as it takes.
fn in_lines_that_fit<'t, R: 't>(
    lengths: &[f64],
    table: impl Fn(&[f64]) -> Table<'t, R>,
) -> Vec<Section> {
    let tables = |each: usize| lengths.chunks(each).map(&table).collect::<Vec<_>>();
    let fits =
        |tables: &Vec<Table<'_, R>>| tables.iter().all(|table| table.width() <= super::width());
    let mut parts = (1..lengths.len()).map(|parts| tables(lengths.len().div_ceil(parts)));
    let tables = parts.find(fits).unwrap_or_else(|| tables(1));
    tables.into_iter().map(Table::section).collect()
}

const MEDIAN: Told = ("p50", |m| {
    let early = if m.late_ns.early > 0 { " e" } else { "" };
    typical(m).map(|late| late + early).into()
});

/// The median, the highest of the percentiles that there are samples for
/// somewhere, and the largest.
fn backed(measurements: &[Row<'_, Sleep>]) -> Vec<Told> {
    let any = |of: fn(&Measurement) -> Option<i64>| measurements.iter().any(|m| of(m).is_some());
    let high = if any(|m| m.late_ns.p99) {
        Some(P99)
    } else {
        any(|m| m.late_ns.p90).then_some(P90)
    };
    [Some(MEDIAN), high, Some(MAX)]
        .into_iter()
        .flatten()
        .collect()
}

/// A line of a table: a name, and a cell for each length.
type Line<'a> = (&'a str, Box<dyn Fn(f64) -> Cell + 'a>);

fn lines<'a>(
    (head, of): Told,
    calls: &'a [(&'a str, Vec<Row<'a, Sleep>>)],
    measurements: &'a [Row<'a, Sleep>],
) -> Vec<Line<'a>> {
    fn asked<'a>(rows: &'a [Row<'a, Sleep>], ns: f64) -> impl Iterator<Item = &'a Row<'a, Sleep>> {
        rows.iter().filter(move |m| asked_ns(m.of) == ns)
    }
    let predicted = |name: &'a str, rows: &'a [Row<'a, Sleep>]| -> Line<'a> {
        let cell = move |ns| {
            let predicted = asked(rows, ns).find_map(|m| m.predicted_late_ns);
            Cell::or(predicted.map(units::duration), Why::NOT_PREDICTED)
        };
        (name, Box::new(cell))
    };
    let predicts = predicts(head, measurements);
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (call, rows) in calls {
        let cell = move |ns| asked(rows, ns).next().map(|m| of(m)).into();
        lines.push((call, Box::new(cell)));
        if predicts == Predicted::Differently {
            lines.push(predicted("  predicted", rows));
        }
    }
    if predicts == Predicted::Alike {
        lines.push(predicted("(predicted)", measurements));
    }
    let counts = move |ns| {
        let counts = select::counts(asked(measurements, ns).map(|m| m.late_ns.n));
        // `90 to 100` would widen the column.
        counts.replace(" to ", "-").into()
    };
    lines.push(("n", Box::new(counts)));
    lines
}

#[derive(PartialEq)]
enum Predicted {
    Not,
    Alike,
    Differently,
}

/// Whether a rule predicts the median, and whether the same for all calls.
fn predicts(of: &str, measurements: &[Row<'_, Sleep>]) -> Predicted {
    let predicted = measurements.iter().copied();
    let predicted = predicted.filter(|m| m.predicted_late_ns.is_some());
    let by_length = select::grouped(predicted, |m| asked_ns(m.of));
    if of != MEDIAN.0 || by_length.is_empty() {
        return Predicted::Not;
    }
    let same = |m: &Row<'_, Sleep>, n: &Row<'_, Sleep>| m.predicted_late_ns == n.predicted_late_ns;
    match by_length
        .iter()
        .all(|(_, group)| group.iter().all(|m| same(m, &group[0])))
    {
        true => Predicted::Alike,
        false => Predicted::Differently,
    }
}

fn caption_of(of: &str, lengths: &[f64], measurements: &[Row<'_, Sleep>]) -> String {
    let what = match of {
        "p50" => "Median overshoot of n waits of each length.",
        "p90" => "90 % of n waits of each length are at most so much longer.",
        "p99" => "99 % of n waits of each length are at most so much longer.",
        _ => "The largest overshoot of n waits of each length.",
    };
    let mut words = what.to_owned();
    if of == MEDIAN.0 {
        let is_mean = |m: &Row<'_, Sleep>| {
            let is_here = lengths.contains(&asked_ns(m.of));
            is_here && select::is_mean(m)
        };
        if measurements.iter().any(is_mean) {
            words += " `m`: the mean, as fewer than 20 samples allow no median.";
        }
        if measurements.iter().any(|m| m.late_ns.early > 0) {
            words += " `e`: some returned early.";
        }
        if predicts(of, measurements) != Predicted::Not {
            words += " predicted: what the timer rule in force gives if waking up cost nothing.";
        }
    }
    words
}

/// Which calls returned early.
fn remarks(measurements: &[Row<'_, Sleep>]) -> Option<String> {
    let early: Vec<String> = measurements
        .iter()
        .filter(|m| m.late_ns.early > 0)
        .map(|m| {
            let late = &m.late_ns;
            let asked = units::nominal(asked_ns(m.of));
            let by = units::duration(-(late.min as f64));
            format!(
                "{} at {asked} {} of {} (by up to {by})",
                m.subject, late.early, late.n
            )
        })
        .collect();
    let told = early.iter().take(MOST_EARLY).map(String::as_str);
    let told = told.collect::<Vec<_>>().join("; ");
    let more = early.len().saturating_sub(MOST_EARLY);
    let more = prose::when(more > 0, || format!("; and {more} more"));
    let early_returns = || prose::paragraph(&format!("Early returns: {told}{more}."));
    (!early.is_empty()).then(early_returns)
}

/// The distributions of the plain sleep call and of the timer at 1 ms.
fn distributions(run: &Run, calls: &[(&str, Vec<Row<'_, Sleep>>)]) -> Vec<Section> {
    let machine = &run.machine;
    let plain = called(calls, "sleep", &machine.sleep_method).or(calls.first());
    let timer = called(calls, "timer", &machine.timer_method);
    let timer = timer.filter(|timer| plain.is_none_or(|plain| plain.0 != timer.0));
    [plain, timer]
        .into_iter()
        .flatten()
        .filter_map(|(call, of_call)| {
            let m = select::at(of_call, asked_ns, SHOWN_NS)?;
            let samples = &m.m.samples_late_ns;
            let asked = units::nominal(SHOWN_NS);
            let title = format!("sleep: how much longer than asked {call} took for {asked}");
            (!samples.is_empty()).then(|| histogram_of(&title, "waits", samples, &[]).into())
        })
        .collect()
}

/// The call of the library by that name, which the machine says is `method`.
fn called<'a, 'b>(
    calls: &'b [(&'a str, Vec<Row<'a, Sleep>>)],
    name: &str,
    method: &str,
) -> Option<&'b (&'a str, Vec<Row<'a, Sleep>>)> {
    let by_name = |wanted: &str| calls.iter().find(|(call, _)| *call == wanted);
    let first_word = method.split([' ', ',']).next().unwrap_or("");
    by_name(name)
        .or_else(|| by_name(method))
        .or_else(|| by_name(first_word))
}

/// A longer yield let another thread have a turn.
const LONG_NS: i64 = 1_000_000;

/// A line for yields alone and one for yields beside a competitor.
pub(crate) fn yields(measurements: &[Row<'_, Yield>]) -> Vec<Section> {
    let table = Table::new("yield: how long a yield takes", measurements)
        .names(2)
        .told([named("call", SUBJECT)])
        .column("on its CPU", |m| select::background(m.of))
        .told([N, P50, P90, P99, MAX])
        .column("longer than\n1 ms, %", |m| {
            let samples = &m.samples_late_ns;
            let long = samples.iter().filter(|&&ns| ns > LONG_NS).count();
            (!samples.is_empty()).then(|| units::percent(long as f64 / samples.len() as f64))
        })
        .caption("n: yields. on its CPU: whether a thread that computes shares the CPU of the one that yields.");
    vec![table.section()]
}

const OF_LOAD: &str = "load: threads that compute, for each CPU. waited: the time per wait that the thread could run \
    and had no CPU. stolen: the time per wait that a hypervisor gave the CPU to another guest, which is \
    counted in steps of 10 ms. unexplained: the mean less these two; timer slack and waking up are in it.";

/// For each call: lateness by load and priority, split as far as the OS counts.
pub(crate) fn load(measurements: &[Row<'_, Load>]) -> Vec<Section> {
    let calls = select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), asked_ns(m.of))
    });
    let last = calls.len().saturating_sub(1);
    let table = |(i, call): (usize, &(_, Vec<Row<'_, Load>>))| {
        let ((name, asked), group): &((&str, f64), _) = call;
        let priorities = select::grouped(group.iter().copied(), |m| m.of.priority.as_str());
        let by_load =
            |(_, group): &(_, Vec<_>)| select::ascending(group, |of: &Load| of.load_per_cpu);
        let rows: Vec<_> = priorities.iter().flat_map(by_load).collect();
        let asked = units::nominal(*asked);
        Table::new(format!("load: lateness of {name} asked for {asked}"), &rows)
            .column("priority", |m| m.of.priority.as_str())
            .column("load\nper CPU", |m| units::plain(m.of.load_per_cpu))
            .told([N, P50, P99, MAX, MEAN])
            .told([named("waited\nfor a CPU", QUEUED), STOLEN])
            .column("unexplained", |m| counted(unexplained_ns(m)))
            .captions((i == last).then_some(OF_LOAD))
            .section()
    };
    calls.iter().enumerate().map(table).collect()
}

/// The part of the mean lateness that no counter explains; nothing where the OS does not count
/// both. The counters are of whole batches, so the part can be slightly below zero.
fn unexplained_ns(m: &Measurement) -> Option<f64> {
    let explained = m.queued_per_wait_ns? + m.stolen_per_wait_ns?;
    (m.late_ns.n > 0).then_some(m.late_ns.mean - explained)
}

/// A line for each CPU, with its type.
pub(crate) fn cores(measurements: &[Row<'_, Cores>]) -> Vec<Section> {
    let lengths = select::grouped(measurements.iter().copied(), |m| asked_ns(m.of));
    let tables = lengths.iter().map(|(asked, group)| cores_at(*asked, group));
    tables.collect()
}

fn cores_at(asked: f64, group: &[Row<'_, Cores>]) -> Section {
    let asked = units::nominal(asked);
    Table::new(
        format!("cores: lateness of a wait asked for {asked} on each CPU"),
        group,
    )
    .names(2)
    .told([named("CPU", SUBJECT)])
    .column("type", |m| m.of.core_type.clone())
    .blank(Why::NOT_STATED)
    .told([N, P50, P90, P99, MAX])
    .caption("n: waits of a thread that is pinned to the CPU.")
    .captions(extremes(group))
    .section()
}

/// The quickest and the slowest.
fn extremes(group: &[Row<'_, Cores>]) -> Option<String> {
    let medians = || {
        let rows = group.iter();
        rows.filter_map(|m| Some((m.late_ns.p50?, m.m.subject.as_str())))
    };
    let ((low, quick), (high, slow)) = (medians().min()?, medians().max()?);
    let [low, high] = [low, high].map(units::duration);
    (quick != slow).then(|| format!("Lowest p50: {low}, {quick}. Highest: {high}, {slow}."))
}

/// For each call: a line for each time asleep, and how the latency grows.
pub(crate) fn gap(measurements: &[Row<'_, Gap>]) -> Vec<Section> {
    let calls = select::by_subject(measurements);
    let table = |(call, group): &(&str, Vec<Row<'_, Gap>>)| {
        let group = select::ascending(group, asked_ns);
        let title = format!("gap: latency of waking up with {call}, by the time asleep");
        Table::new(title, &group)
            .column("asleep", |m| units::nominal(asked_ns(m.of)))
            .told([N, P50, P90, MAX])
            .caption("Latency: how much longer than asked. n: waits.")
            .captions(growth(&group).map(|growth| format!("With {call}, {growth}")))
            .section()
    };
    calls.iter().map(table).collect()
}

/// How the latency after the longest time asleep compares with that after the
/// shortest, as the end of a sentence.
pub(crate) fn growth(group: &[Row<'_, Gap>]) -> Option<String> {
    let known = group.iter().filter_map(|m| {
        let (late, is_median) = select::typical_late_ns(m)?;
        Some((asked_ns(m.of), late, is_median))
    });
    let known: Vec<(f64, f64, bool)> = known.collect();
    let [(short, first, is_median), .., (long, last, last_is_median)] = known[..] else {
        return None;
    };
    let what = if is_median && last_is_median {
        "median"
    } else {
        "typical"
    };
    let [short, long] = [short, long].map(units::nominal);
    let times = if first > 0.0 && last > 0.0 {
        format!(": {} times as much", units::ratio(last / first))
    } else {
        String::new()
    };
    let [first, last] = [first, last].map(units::duration);
    Some(format!(
        "the {what} latency is {first} after {short} asleep and {last} after {long}{times}."
    ))
}
