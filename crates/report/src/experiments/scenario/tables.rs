//! Scenarios: what the threads of each name did, phase by phase, what the computer did under
//! them, and whether that is what was expected.

use std::collections::BTreeSet;

use punctual_record::experiment::{Range, ScenarioComputer, ScenarioThreads, Tail};
use punctual_record::{Expectation, Measurement, Mode};

use crate::select::{self, Row, model, phase};
use crate::tables::Section;
use crate::tables::table::{Cell, Column, Table, Why};
use crate::{prose, units};

/// With more names than this, tables of a line or two become one.
const MANY_NAMES: usize = 3;

/// A table for each name of threads, and one for the computer.
pub(crate) fn tables(measurements: &[&Measurement]) -> Vec<Section> {
    let of = || measurements.iter().copied();
    let (threads, computer): (Vec<Row<ScenarioThreads>>, Vec<Row<ScenarioComputer>>) =
        (select::rows(of()), select::rows(of()));
    let (active, idle): (Vec<_>, Vec<_>) = select::by_subject(&threads)
        .into_iter()
        .partition(|(_, group)| group.iter().any(|m| is_active(*m)));
    let several = Several::of(measurements);
    let mut sections = of_all_threads(&active, several);
    let mut quiet: Vec<&str> = idle.iter().map(|(subject, _)| *subject).collect();
    quiet.sort_unstable();
    if !quiet.is_empty() {
        let quiet = prose::list(quiet);
        let words = format!("No sleeps, and less than 1 % of a CPU: {quiet}.");
        sections.push(prose::paragraph(&words).into());
    }
    if !computer.is_empty() {
        let columns = of_computer(&computer);
        sections.push(laid_out("the computer", &computer, &columns, several));
    }
    sections
}

fn of_all_threads(
    names: &[(&str, Vec<Row<'_, ScenarioThreads>>)],
    several: Several,
) -> Vec<Section> {
    let all: Vec<_> = names.iter().flat_map(|(_, group)| group.clone()).collect();
    let lines = names.iter().map(|(_, group)| group.len());
    if names.len() > MANY_NAMES && lines.max() <= Some(2) {
        return vec![section("the threads", &all, several)];
    }
    names
        .iter()
        .map(|(name, group)| {
            let many = select::counts(group.iter().map(|m| m.of.threads));
            let title = match many.as_str() {
                "0" | "1" => format!("thread {name}"),
                many => format!("threads {name}: {many} of them, rates and CPU of each"),
            };
            section(&title, group, several)
        })
        .collect()
}

fn section(title: &str, group: &[Row<'_, ScenarioThreads>], several: Several) -> Section {
    let mut section = laid_out(title, group, &of_threads(group), several);
    section.add(&several_lengths(group));
    section.add(&several_readings(group));
    section
}

/// A word of a measurement.
type Word = fn(&Measurement) -> &str;

/// The highest number of a column that there need not be room for.
const SPARE_MAX: u8 = 3;

/// The things of which a run has several, so that a line must name its own.
#[derive(Clone, Copy)]
struct Several {
    phases: bool,
    models: bool,
}

impl Several {
    fn of(all: &[&Measurement]) -> Self {
        Self {
            phases: differ(all, phase),
            models: differ(all, model),
        }
    }
}

fn differ(all: &[&Measurement], of: Word) -> bool {
    all.iter().any(|m| of(m) != of(all[0]))
}

/// The columns of `group`: phases below and models beside each other, if there
/// are several of both and that fits; else a line for each measurement.
fn laid_out<'r, E>(
    title: &str,
    group: &[Row<'r, E>],
    columns: &[Column<'_, Row<'r, E>>],
    several: Several,
) -> Section {
    let all = select::plain(group);
    let subjects = differ(&all, |m| &m.subject);
    let threads: Vec<Row<ScenarioThreads>> = select::rows(all);
    let n = select::counts(threads.iter().map(|m| m.of.wakes));
    let counts = format!("n = {n} sleeps and waits.");
    let read = readings_in_words(&threads);
    if !subjects && several.phases && several.models {
        let mut phases = select::grouped(group.iter().copied(), |m| phase(m.m));
        phases.sort_by_key(|(_, of_phase)| index(of_phase[0].m));
        for most in (0..=SPARE_MAX).rev() {
            let table = models_beside(title, group, &phases, columns, most);
            if table.width() <= crate::tables::width() {
                let counts = (n != "0" && !table.has("n")).then(|| counts.clone());
                return table.captions(counts).ending(read).section();
            }
        }
    }
    let labels: [(&str, bool, Word); 3] = [
        ("thread", subjects, |m| &m.subject),
        ("phase", several.phases, phase),
        (
            "computer",
            several.models || !(subjects || several.phases),
            model,
        ),
    ];
    let labels = labels.into_iter().filter(|(_, is_told, _)| *is_told);
    let labels: Vec<_> = labels.map(|(head, _, of)| (head, of)).collect();
    let table = Table::new(title, group)
        .names(labels.len())
        .each(labels, |m, of| of(m.m).to_owned())
        .with(columns.iter().cloned());
    let counts = (n != "0" && !table.has("n")).then_some(counts);
    table.captions(counts).ending(read).section()
}

/// A phase, and what was measured in it.
type InPhase<'r, E> = (&'r str, Vec<Row<'r, E>>);

fn models_beside<'p, 'r, E>(
    title: &str,
    group: &[Row<'r, E>],
    phases: &'p [InPhase<'r, E>],
    columns: &[Column<'p, Row<'r, E>>],
    most: u8,
) -> Table<'p, InPhase<'r, E>> {
    let models = select::grouped(group.iter().copied(), |m| model(m.m));
    let models: Vec<&'r str> = models.into_iter().map(|(model, _)| model).collect();
    let of_model = |on: &'r str| {
        let find =
            move |(_, rows): &InPhase<'r, E>| rows.iter().find(|m| model(m.m) == on).copied();
        columns.iter().map(move |column| column.over(find))
    };
    Table::new(title, phases)
        .column("phase", |(phase, _)| *phase)
        .with(models.iter().flat_map(|on| of_model(on)))
        .groups(models.iter().copied())
        .without_spare(most)
}

fn index(m: &Measurement) -> u64 {
    m.experiment.phase().map_or(u64::MAX, |at| at.phase_index)
}

/// With a smaller share of a CPU a thread that never slept did nothing but start
/// and end, which takes real ones a little.
const ACTIVE_CPU: f64 = 0.01;

/// A share of a CPU below this is not worth a column.
const LEAST_CPU: f64 = 0.000_5;

/// Whether threads did anything that a table can show.
fn is_active(m: Row<'_, ScenarioThreads>) -> bool {
    m.of.wakes > 0
        || m.of.denied > 0
        || !m.of.readings.is_empty()
        || m.cpu.fraction >= Some(ACTIVE_CPU)
}

type Threads<'r> = Row<'r, ScenarioThreads>;
type Computer<'r> = Row<'r, ScenarioComputer>;

/// A figure of lengths of time.
type Figure = fn(Tail) -> Option<u64>;

const P50: (&str, Figure) = ("p50", |tail| tail.p50);
const P99: (&str, Figure) = ("p99", |tail| tail.p99);
const MAX: (&str, Figure) = ("max", |tail| Some(tail.max));

/// Heads of such figures, where there `is` something to tell.
fn tails<const N: usize>(is: bool, what: &str, of: [(&str, Figure); N]) -> Vec<(String, Figure)> {
    let told = of.into_iter().filter(|_| is);
    told.map(|(head, of)| (format!("{what}\n{head}"), of))
        .collect()
}

/// The columns of threads that say something about any of `group`.
fn of_threads<'a, 'r>(group: &'a [Threads<'r>]) -> Vec<Column<'a, Threads<'r>>> {
    let any = |says: &dyn Fn(Threads) -> bool| group.iter().any(|m| says(*m));
    let (wakes, is_read) = (
        any(&|m| m.of.wakes > 0),
        any(&|m| !m.of.readings.is_empty()),
    );
    let slept = any(&|m| m.of.slept_ns.is_some() && !varies(m) && !is_signalled(m));
    let late = any(&|m| varies(m) && !is_signalled(m));
    let few = |ns: Option<i64>| Cell::or(ns.map(units::duration), Why::FEW_SAMPLES);
    let busiest = match any(&|m| unequal(m).is_some()) {
        true => "CPU: of each thread on average, and of the least and the busiest.",
        false => "",
    };
    Table::new("", group)
        .column("n", |m| m.of.wakes)
        .spare(1)
        .in_words("n: sleeps and waits.")
        .only_if(wakes)
        .column("wakes\n/s", |m| m.of.wakes_per_s.map(units::per_second))
        // With readings it is lengths that are compared.
        .spare(if is_read { 2 } else { 0 })
        .only_if(wakes)
        .each(readings(group), |m, key| {
            Some(units::fine(m.of.readings.get(key)?.mean))
        })
        .column("slept\nmean", |m| Some(units::fine(m.of.slept_ns?.mean)))
        .only_if(slept && is_read)
        .column("slept\np50", |m| typical_sleep(*m))
        .only_if(slept && !is_read)
        .column("in\nticks", |m| ticks(*m))
        .in_words("in ticks: the length in intervals of the timer, of each mode with 1 % or more.")
        .blank(Why::NO_TICKS)
        .only_if(slept && any(&has_ticks))
        .column("late\np50", move |m| few(m.late_ns.p50))
        .only_if(late)
        .column("late\np99", move |m| few(m.late_ns.p99))
        .only_if(late)
        .column("late\nmax", move |m| {
            few((m.late_ns.n > 0).then_some(m.late_ns.max))
        })
        .only_if(late)
        .each(tails(late, "frame", [P50, MAX]), |m, of| {
            let frame = m.of.frame_ns.and_then(of);
            Cell::or(frame.map(units::fine), Why::FEW_SAMPLES)
        })
        .in_words_of(
            "frame\n",
            "frame: from the end of one wait to the end of the next.",
        )
        .column("cycles\nmissed", |m| m.missed)
        .only_if(late && any(&|m| m.missed > 0))
        .each(
            tails(any(&is_signalled), "signal", [P50, P99, MAX]),
            |m, of| {
                let since = m.of.since_signal_ns.and_then(of);
                Cell::or(since.map(units::duration), Why::FEW_SAMPLES)
            },
        )
        .in_words_of(
            "signal\n",
            "signal: from the signal to the end of the wait.",
        )
        .column("denied", |m| m.of.denied)
        .in_words("denied: settings to which the OS answered with an error.")
        .only_if(any(&|m| m.of.denied > 0))
        .column("CPU\n%", |m| cpu_percent(*m))
        .in_words(busiest)
        .spare(3)
        .only_if(any(&|m| m.cpu.fraction > Some(LEAST_CPU)))
        .into_columns()
}

/// The columns of the computer that say something about any of `group`.
fn of_computer<'a, 'r>(group: &'a [Computer<'r>]) -> Vec<Column<'a, Computer<'r>>> {
    let states = idle_states(group).into_iter();
    Table::new("", group)
        .column("interrupts\n/s", |m| {
            m.of.interrupts_per_s.map(units::per_second)
        })
        .in_words("interrupts: timer interrupts and clock ticks of all CPUs.")
        .if_known()
        .column("switches\n/s", |m| {
            m.of.switches_per_s.map(units::per_second)
        })
        .in_words("switches: how often a CPU went from one thread to another, or to rest and back.")
        .spare(1)
        .if_known()
        .column("wakeups\n/s", |m| m.of.wakeups_per_s.map(units::per_second))
        .in_words("wakeups: how often an idle CPU was woken.")
        .if_known()
        .column("busy\n%", |m| m.of.busy.map(units::percent))
        .in_words("busy: the share of the time of all CPUs in which a thread ran.")
        .if_known()
        .column("good\nidle %", |m| m.of.good_idle.map(units::percent))
        .in_words("good idle: the share of the idle time in stretches of 8 ms or more.")
        .blank(Why::NEVER_IDLE)
        // A computer that was never idle has stretches to tell of, but no share.
        .only_if(group.iter().any(|m| m.of.idle_stretches.is_some()))
        .each(
            states.map(|state| (format!("in {state}\n%"), state)),
            |m, state| share_of(m.of, state).map(units::percent),
        )
        .in_words_of("in ", "in a state: the share of the idle time.")
        .column("power\nW", |m| m.of.power_w.map(units::watts))
        .in_words("power: of all cores, by what one takes in each state.")
        .if_known()
        .column("interval\nat end", |m| Some(units::fine(m.of.interval_ns?)))
        .blank(Why::NO_INTERVAL)
        .if_known()
        .into_columns()
}

/// The readings of the OS: the head of each column, and its name.
fn readings(group: &[Threads<'_>]) -> Vec<(String, String)> {
    let keys: BTreeSet<String> = group
        .iter()
        .flat_map(|m| m.of.readings.keys().cloned())
        .collect();
    // The interval first, then the clocks that it makes step.
    let (stated, steps): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|key| key == "resolution_ns");
    let head = |key: &str| match key.trim_end_matches("_ns") {
        "resolution" => "interval\nread".to_owned(),
        "slack" => "slack\nread".to_owned(),
        "CLOCK_MONOTONIC_COARSE" => "coarse clock\nstep".to_owned(),
        clock => format!("{clock}\nstep"),
    };
    let keys = stated.into_iter().chain(steps);
    keys.map(|key| (head(&key), key)).collect()
}

/// How often each thing was read, in words; nothing if nothing was.
fn readings_in_words(group: &[Row<'_, ScenarioThreads>]) -> String {
    let all = group.iter().flat_map(|m| m.of.readings.values());
    let n = select::counts(all.map(|reading| reading.n));
    if n == "0" {
        return String::new();
    }
    format!(" What is read is shown as the mean of {n} readings.")
}

/// The share of a CPU, and where threads differ much, from which to which.
fn cpu_percent(m: Threads) -> Option<String> {
    let mean = units::percent(m.cpu.fraction?);
    Some(match unequal(m) {
        Some([min, max]) => {
            let [min, max] = [min, max].map(units::percent);
            format!("{mean} ({min}-{max})")
        }
        None => mean,
    })
}

/// The least and the greatest share of a CPU among threads of one name, if
/// they are more than 10 % of the mean apart.
fn unequal(m: Threads) -> Option<[f64; 2]> {
    let (Range { min, max }, mean) = (m.of.cpu_fractions?, m.cpu.fraction?);
    (mean > LEAST_CPU && max - min > 0.1 * mean).then_some([min, max])
}

/// The median, or where the samples are too few for one, the mean.
fn typical_sleep(m: Threads) -> Option<String> {
    let slept = m.of.slept_ns?;
    let median = slept.p50.map(units::fine);
    Some(median.unwrap_or_else(|| format!("mean {}", units::fine(slept.mean))))
}

/// The idle states that were entered, in order.
fn idle_states(group: &[Row<'_, ScenarioComputer>]) -> Vec<String> {
    let states = group.iter().flat_map(|m| &m.of.idle_states);
    let entered = states.filter(|state| state.share > Some(0.0));
    let names = select::grouped(entered, |state| &state.name).into_iter();
    names.map(|(name, _)| name.clone()).collect()
}

fn share_of(computer: &ScenarioComputer, state: &str) -> Option<f64> {
    let mut states = computer.idle_states.iter();
    states.find(|known| known.name == state)?.share
}

/// The number of modes that are shown; if there are more, the cell says so.
const SHOWN: usize = 4;

/// The share of a mode that is more than an accident.
const LEAST_SHARE: f64 = 0.01;

fn common(m: Threads<'_>) -> Vec<Mode> {
    let mut modes = m.of.modes.clone();
    modes.retain(|mode| mode.share >= LEAST_SHARE);
    modes
}

/// Whether the length asked for is another each time, so that it is the
/// lateness that tells.
fn varies(m: Threads<'_>) -> bool {
    m.of.asked_ns.is_some_and(|asked| asked.min != asked.max)
}

/// Whether events ended waits.
fn is_signalled(m: Threads<'_>) -> bool {
    m.of.since_signal_ns.is_some()
}

/// Whether any sleep can be told in ticks.
fn has_ticks(m: Threads<'_>) -> bool {
    m.of.modes.iter().any(|mode| mode.ticks.is_some())
}

/// The lengths of the sleeps in ticks, the commonest first: `1`, `2, 3`.
fn ticks(m: Threads<'_>) -> Option<String> {
    let common = common(m);
    let ticks: Option<Vec<String>> = common
        .iter()
        .take(SHOWN)
        .map(|mode| Some(mode.ticks?.to_string()))
        .collect();
    let mut text = ticks?.join(", ");
    if common.len() > SHOWN {
        text += ", ...";
    }
    Some(text).filter(|text| !text.is_empty())
}

/// The modes of each measurement whose sleeps have several, as lines below the
/// table.
fn several_lengths(group: &[Threads<'_>]) -> String {
    let lines: Vec<(String, String)> = group
        .iter()
        .filter(|m| common(**m).len() > 1 && !is_signalled(**m) && !varies(**m))
        .map(|m| (whose(m, group), in_words(&m.of.modes)))
        .collect();
    under("Sleeps of several lengths:", &lines)
}

/// The readings that varied, as lines below the table.
fn several_readings(group: &[Threads<'_>]) -> String {
    let mut lines = Vec::new();
    for m in group {
        for (key, reading) in &m.of.readings {
            let modes = &reading.modes;
            if modes.len() > 1 {
                let whose = [whose(m, group), key.trim_end_matches("_ns").to_owned()];
                let whose = whose.into_iter().filter(|part| !part.is_empty());
                lines.push((prose::list(whose), in_words(modes)));
            }
        }
    }
    under("Readings of several values:", &lines)
}

/// Lines below a table, each with whose it is; nothing if there are none.
fn under(title: &str, lines: &[(String, String)]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines = prose::pairs(lines.iter().map(|(whose, modes)| (whose, modes)));
    format!("{title}\n{lines}")
}

/// The name that distinguishes a measurement from the others of its table.
fn whose(m: &Measurement, group: &[Threads<'_>]) -> String {
    let differs = |of: fn(&Measurement) -> &str| group.iter().any(|other| of(other) != of(m));
    let parts: [fn(&Measurement) -> &str; 3] = [|m| m.subject.as_str(), phase, model];
    let parts = parts.into_iter().filter(|of| differs(*of));
    prose::list(parts.map(|of| of(m)))
}

/// `2 ticks (1.999 ms) 70 %, 3 ticks (2.999 ms) 30 %`.
fn in_words(modes: &[Mode]) -> String {
    let told = modes.iter().filter(|mode| mode.share >= LEAST_SHARE);
    let told: Vec<String> = told.take(SHOWN).map(one_in_words).collect();
    let others = (modes.len() > told.len()).then(|| "and others".to_owned());
    let n: u64 = modes.iter().map(|m| m.n).sum();
    format!("{} (n = {n})", prose::list(told.into_iter().chain(others)))
}

fn one_in_words(mode: &Mode) -> String {
    let length = units::fine(mode.center_ns);
    let share = mode.share * 100.0;
    match mode.ticks {
        Some(n) => format!("{} ({length}) {share:.0} %", prose::counted(n, "tick")),
        None => format!("{length} {share:.0} %"),
    }
}

/// A word of an expectation.
type Told = fn(&Expectation) -> &str;

/// A line for each thing that is expected, and the sources by number. Nothing
/// if nothing is expected.
pub(crate) fn expectations(all: &[Expectation]) -> Option<Section> {
    let first = all.first()?;
    let differs = |of: Told| all.iter().any(|e| of(e) != of(first));
    let labels: Vec<(&str, Told)> = [
        ("of", (|e| &e.subject) as Told),
        ("phase", |e| &e.phase),
        ("computer", |e| &e.on),
    ]
    .into_iter()
    .filter(|(head, of)| *head == "of" || differs(*of))
    .collect();
    let (stated, compared): (Vec<_>, Vec<_>) = all.iter().partition(|e| e.stated);
    let hold = |of: &[&Expectation]| of.iter().filter(|e| e.holds).count();
    let hold_of = |of: &[&Expectation]| format!("{} of {}", hold(of), of.len());
    let title = match (stated.is_empty(), compared.is_empty()) {
        (_, true) => format!("Figures of the sources: {} agree", hold_of(&stated)),
        (true, _) => format!(
            "Figures that the sources state for other models: {} agree here",
            hold_of(&compared)
        ),
        _ => format!(
            "Figures of the sources: {} agree; on models that the sources do not cover, {} agree",
            hold_of(&stated),
            hold_of(&compared)
        ),
    };
    let sources = select::grouped(all, |e| e.source.as_str());
    let number = |e: &Expectation| sources.iter().position(|(source, _)| *source == e.source);
    let mut section = Table::new(title, all)
        .names(labels.len() + 2)
        .column("", |e| match (e.holds, e.stated) {
            (true, true) => "ok",
            (true, false) => "same",
            (false, _) => "differs",
        })
        .each(labels, |e, of| Cell::from(of(e)))
        .column("figure", |e| e.figure.clone())
        .column("expected", |e| e.expected.clone())
        .column("got", |e| e.got.clone())
        .column("source", |e| Some(format!("[{}]", number(e)? + 1)))
        .section();
    for (i, (source, _)) in sources.iter().enumerate() {
        section.add(&prose::indented(
            &format!("{:>4} ", format!("[{}]", i + 1)),
            source,
        ));
    }
    Some(section)
}
