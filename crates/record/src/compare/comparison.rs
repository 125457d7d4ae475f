//! Several runs, row by row.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::RunRow;
use super::estimate::{Estimate, Missing};
use super::metric::Metric;
use crate::published::{self, Published};
use crate::punctuality::Punctuality;
use crate::run::Run;

/// The version of the comparison that this crate writes.
pub const SCHEMA: &str = "punctual-comparison/1";

/// The measurements of several runs, thing by thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The version of punctual that compares.
    pub punctual_version: String,
    /// The command line, in the words of the user.
    pub command: String,
    /// The runs, in the order in which they were given. All ratios are to the
    /// first of them.
    pub columns: Vec<Column>,
    /// The rows, in the order of the runs.
    pub rows: Vec<Row>,
    /// Published figures of the same things, if they are wanted; the rows refer to them by their
    /// index in this list.
    pub published: Vec<Published>,
    /// The results of the user's rules.
    pub rules: Vec<Judgement>,
}

/// A run, or one machine of a run that was simulated on several.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Column {
    /// `A`, `B`, ...
    pub label: String,
    /// Where the run was read from.
    pub file: String,
    /// Which machine: [`MachineFacts::in_words`](crate::MachineFacts::in_words),
    /// or the name of the model.
    pub machine: String,
    /// The operating system.
    pub os: String,
    /// The timer rule in force.
    pub timer_rule: String,
    /// When it was measured; simulations do not happen at a time.
    pub started_at: Option<String>,
    /// The command that measured it.
    pub command: String,
    /// The version of punctual that measured it.
    pub punctual_version: String,
    /// Whether it was ended before its end.
    pub interrupted: bool,
    /// The warnings.
    pub warnings: Vec<String>,
}

impl Column {
    /// The first word of its OS in published figures; `None` where only a model
    /// knows what it is.
    fn family(&self) -> Option<&'static str> {
        let simulated = ["", "simulated"].contains(&self.os.as_str());
        let system = if simulated { &self.machine } else { &self.os }.to_lowercase();
        let named = |(word, family)| system.starts_with(word).then_some(family);
        let families = [
            ("windows", "Windows"),
            ("macos", "macOS"),
            ("linux", "Linux"),
        ];
        let family = families.into_iter().find_map(named);
        // Distributions have names of their own.
        family.or((!simulated).then_some("Linux"))
    }
}

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Which experiment.
    pub experiment: String,
    /// The names of the subject: one, or one per OS where each has its own.
    pub subjects: Vec<String>,
    /// The parameters that make a difference.
    pub params: BTreeMap<String, Value>,
    /// The value of each run; `None` where it has no such measurement.
    pub cells: Vec<Option<Cell>>,
    /// The published figures of it, by their index in the list.
    pub published: Vec<usize>,
}

/// One measurement of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Samples of lateness.
    pub n: u64,
    /// Whether the CPU time is only approximate.
    pub cpu_is_approximate: bool,
    /// Whether there were more workers than CPUs, so that it tells of the
    /// scheduler.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub oversubscribed: bool,
    /// How punctually deadlines were served, where there are any: for rules on how many may be late.
    #[serde(skip)]
    pub punctuality: Option<Punctuality>,
    /// The known values.
    #[serde(flatten)]
    pub known: BTreeMap<Metric, Estimate>,
    /// The unknown values, with the reason. Metrics that have no meaning for the measurement are
    /// in neither.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<Metric, Missing>,
}

/// The result of a rule in one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The rule, in the words of the user.
    pub rule: String,
    /// The label of the run.
    pub run: String,
    /// Which row, counted from 0.
    pub row: usize,
    /// The outcome.
    pub outcome: RuleOutcome,
    /// The numbers behind it.
    pub why: String,
}

/// The outcome of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleOutcome {
    /// The forbidden condition does not hold.
    Passes,
    /// It is.
    Fails,
    /// The numbers do not tell.
    Inconclusive,
}

impl RuleOutcome {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Fails => "fails",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl Comparison {
    /// Sets the results of `runs` side by side; each comes with the name of its
    /// file.
    pub fn of<R: RunRow>(runs: &[(&str, &Run<R>)]) -> Self {
        let parts: Vec<RunColumn<R>> = runs
            .iter()
            .flat_map(|(file, run)| parts(file, run))
            .collect();
        let rows = rows(&parts);
        Self {
            schema: SCHEMA,
            punctual_version: String::new(),
            command: String::new(),
            columns: parts
                .into_iter()
                .enumerate()
                .map(|(i, part)| Column {
                    label: label(i),
                    ..part.column
                })
                .collect(),
            rows,
            published: vec![],
            rules: vec![],
        }
    }

    /// Adds published figures of the same things, for the OS of one of the runs or for every OS.
    /// They are those of waits, and `more` of another product.
    pub fn beside_published(mut self, every_os: bool, more: &'static [Published]) -> Self {
        let families: Vec<_> = self.columns.iter().filter_map(Column::family).collect();
        let figures = published::all().chain(more);
        let wanted = figures.filter(|figure| every_os || families.contains(&figure.family()));
        self.published = published::beside(&mut self.rows, wanted);
        self
    }

    /// The document's text: JSON, ending in a line feed.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("a comparison has only string keys and finite numbers");
        text.push('\n');
        text
    }
}

/// A column with its measurements.
struct RunColumn<'r, R> {
    column: Column,
    measurements: Vec<&'r R>,
}

/// A run as a column, or as one per model where it was simulated on several.
fn parts<'r, R: RunRow>(file: &str, run: &'r Run<R>) -> Vec<RunColumn<'r, R>> {
    let mut models: Vec<&str> = Vec::new();
    for model in run.results.iter().filter_map(RunRow::on) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let whole = Column {
        label: String::new(),
        file: file.to_owned(),
        machine: run.machine.in_words(),
        os: run.machine.os.clone(),
        timer_rule: run.machine.timer_rule.clone(),
        started_at: run.started_at.clone(),
        command: run.command.clone(),
        punctual_version: run.punctual_version.clone(),
        interrupted: run.interrupted,
        warnings: run.warnings.iter().map(|w| w.what.clone()).collect(),
    };
    if models.len() < 2 {
        return vec![RunColumn {
            column: whole,
            measurements: run.results.iter().collect(),
        }];
    }
    // A row without a machine was measured on the machine of the run.
    let here = run.machine.name.as_str();
    let on = |row: &R| row.on().unwrap_or(here).to_owned();
    if run.results.iter().any(|m| m.on().is_none()) && !models.contains(&here) {
        models.insert(0, here);
    }
    let of_model = |(i, machine): (usize, &&str)| RunColumn {
        column: Column {
            machine: (*machine).to_owned(),
            // The facts of such a run are those of all its models.
            os: String::new(),
            timer_rule: String::new(),
            warnings: if i == 0 {
                whole.warnings.clone()
            } else {
                vec![]
            },
            ..whole.clone()
        },
        measurements: run.results.iter().filter(|m| on(m) == *machine).collect(),
    };
    models.iter().enumerate().map(of_model).collect()
}

/// `A` to `Z`, `AA`, `AB`, ...
fn label(i: usize) -> String {
    let letter = char::from(b'A' + (i % 26) as u8);
    match i / 26 {
        0 => letter.to_string(),
        more => label(more - 1) + &letter.to_string(),
    }
}

fn rows<R: RunRow>(parts: &[RunColumn<'_, R>]) -> Vec<Row> {
    let mut places = BTreeMap::new();
    let mut found: Vec<Vec<Vec<&R>>> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        for measurement in &part.measurements {
            let place = *places.entry(key(*measurement)).or_insert(found.len());
            if place == found.len() {
                found.push(vec![vec![]; parts.len()]);
            }
            found[place][i].push(measurement);
        }
    }
    beside_others(&mut found);
    let rows = found.iter().filter_map(|columns| row(columns));
    rows.filter(|row| {
        row.cells
            .iter()
            .flatten()
            .any(|cell| !cell.known.is_empty())
    })
    .collect()
}

/// Moves each row that is alone to the only one that it [stands beside](RunRow::stands_beside) and
/// that lacks its column.
fn beside_others<R: RunRow>(found: &mut [Vec<Vec<&R>>]) {
    for place in 0..found.len() {
        let Some((column, row)) = (found[place].iter().enumerate())
            .find_map(|(column, rows)| Some((column, *rows.first()?)))
        else {
            continue;
        };
        let is_one = |columns: &Vec<Vec<&R>>| {
            let mut others = columns.iter().flatten();
            columns[column].is_empty() && others.any(|other| row.stands_beside(other))
        };
        let mut others = (0..found.len()).filter(|other| is_one(&found[*other]));
        if let (Some(other), None) = (others.next(), others.next()) {
            for column in 0..found[place].len() {
                if found[other][column].is_empty() {
                    found[other][column] = std::mem::take(&mut found[place][column]);
                }
            }
        }
    }
}

fn row<R: RunRow>(columns: &[Vec<&R>]) -> Option<Row> {
    let first = columns.iter().flatten().next()?;
    let mut subjects: Vec<String> = Vec::new();
    for subject in columns.iter().flatten().map(|row| row.subject()) {
        if !subjects.iter().any(|known| known == subject) {
            subjects.push(subject.to_owned());
        }
    }
    let cell = |rows: &Vec<&R>| (!rows.is_empty()).then(|| R::cell(rows));
    let mut cells: Vec<Option<Cell>> = columns.iter().map(cell).collect();
    if let [Some(first), others @ ..] = cells.as_mut_slice() {
        for cell in others.iter_mut().flatten() {
            for (metric, estimate) in &mut cell.known {
                let first = first.known.get(metric);
                estimate.over_first = first.map(|first| estimate.over(first));
            }
        }
    }
    Some(Row {
        experiment: first.experiment().to_owned(),
        subjects,
        params: first.params(),
        cells,
        published: vec![],
    })
}

impl Cell {
    /// Adds a number, or why it is missing.
    pub fn add(&mut self, metric: Metric, found: Result<Estimate, Missing>) {
        // Only what a file made up is no number.
        let found = found.and_then(|estimate| {
            let is_number = estimate.value.is_finite();
            is_number.then_some(estimate).ok_or(Missing::NotMeasured)
        });
        match found {
            Ok(known) => drop(self.known.insert(metric, known)),
            Err(why) => drop(self.missing.insert(metric, why)),
        }
    }
}

/// The identity of a measurement across runs: experiment, subject and parameters. Numbers are
/// equal whether they are written as whole ones or not.
fn key(row: &impl RunRow) -> (String, String, Vec<(String, String)>) {
    let params = row.params().into_iter();
    let params = params.map(|(key, value)| (key, canonical(&value)));
    let (experiment, subject) = (row.experiment(), row.subject_anywhere());
    (experiment.to_owned(), subject.to_owned(), params.collect())
}

fn canonical(value: &Value) -> String {
    match value {
        // Zero has two signs, which read the same.
        Value::Number(number) => number.as_f64().map_or_else(
            || number.to_string(),
            |number| format!("{:?}", number + 0.0),
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::compare::Verdict;
    use crate::experiment::{Experiment, Phase, ScenarioThreads, Sleep, Timers};
    use crate::{Late, MachineFacts, Measurement, Round};

    fn sleep(subject: &str, asked_ns: u64, late_ns: &[i64]) -> Measurement {
        let rounds = late_ns.chunks(late_ns.len().div_ceil(6));
        let method = subject.to_owned();
        Measurement {
            late_ns: Late::of(late_ns),
            samples_late_ns: late_ns.to_vec(),
            rounds: rounds.map(|late| Round::of(late, None, None)).collect(),
            ..Measurement::of(Experiment::Sleep(Sleep { method, asked_ns }), subject)
        }
    }

    fn run(results: Vec<Measurement>) -> Run {
        Run {
            machine: MachineFacts {
                name: "host".to_owned(),
                ..MachineFacts::default()
            },
            results,
            ..Run::default()
        }
    }

    fn around(ns: i64) -> Vec<i64> {
        (0..1_000).map(|i| ns + i % 100).collect()
    }

    /// A thread of a scenario on a model, which was so late.
    fn on(model: &str, ns: i64) -> Measurement {
        let mut m = sleep("game", 1_000, &around(ns));
        m.experiment = Experiment::Scenario(Box::new(ScenarioThreads {
            at: Phase {
                on: model.to_owned(),
                ..Phase::default()
            },
            ..ScenarioThreads::default()
        }));
        m
    }

    #[test]
    fn what_is_the_same_thing_stands_in_one_row() {
        let a = run(vec![
            sleep("poll", 1_000, &around(50_000)),
            sleep("usleep", 7_000, &around(60_000)),
        ]);
        let b = run(vec![
            sleep("usleep", 7_000, &around(6_000)),
            sleep("usleep", 9_000, &around(6_000)),
        ]);
        let compared = Comparison::of(&[("a.json", &a), ("b.json", &b)]);
        let labels: Vec<&str> = compared.columns.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["A", "B"]);
        let there: Vec<Vec<bool>> = compared
            .rows
            .iter()
            .map(|row| row.cells.iter().map(Option::is_some).collect())
            .collect();
        assert_eq!(there, [[true, false], [true, true], [false, true]]);

        let median = compared.rows[1].cells[1].as_ref().unwrap().known[&Metric::LATE_P50];
        let ratio = median.over_first.unwrap();
        assert_eq!(ratio.verdict, Some(Verdict::Lower));
        let interval = ratio.interval.unwrap();
        assert!(interval.low <= 0.101 && interval.high >= 0.1, "{ratio:?}");
        let alone = compared.rows[2].cells[1].as_ref().unwrap();
        assert_eq!(alone.known[&Metric::LATE_P50].over_first, None);
    }

    #[test]
    fn rounds_that_are_measurements_of_their_own_are_pooled() {
        let timers = |round: u32, ns: i64| {
            let mut m = sleep("usleep", 1_000_000, &around(ns));
            m.experiment = Experiment::Timers(Timers {
                round,
                ..Timers::default()
            });
            m.rounds.clear();
            m
        };
        let rounds = (0..6)
            .map(|i| timers(i, 50_000 + 1_000 * i64::from(i)))
            .collect();
        let compared = Comparison::of(&[("a.json", &run(rounds))]);
        let [row] = &compared.rows[..] else {
            panic!("{:?}", compared.rows);
        };
        let cell = row.cells[0].as_ref().unwrap();
        assert_eq!(cell.n, 6_000);
        let bounds = cell.known[&Metric::LATE_P50].interval.unwrap();
        assert_eq!((bounds.low, bounds.high), (50_049.5, 55_049.5));
    }

    #[test]
    fn a_run_of_several_models_has_a_column_for_each() {
        let many = run(vec![on("linux", 60_000), on("macos", 120_000)]);
        let one = run(vec![on("windows-11", 15_000_000)]);
        let compared = Comparison::of(&[("many", &many), ("one", &one)]);
        let machines: Vec<&str> = compared
            .columns
            .iter()
            .map(|c| c.machine.as_str())
            .collect();
        assert_eq!(machines, ["linux", "macos", "host"]);
        assert_eq!(compared.rows.len(), 1);
        assert!(compared.rows[0].cells.iter().all(Option::is_some));
    }

    #[test]
    fn scenarios_of_a_measurement_were_measured_on_its_machine() {
        let machines = |results: Vec<Measurement>| -> Vec<String> {
            let columns = Comparison::of(&[("a", &run(results))]).columns;
            columns.into_iter().map(|c| c.machine).collect()
        };
        let plain = || sleep("poll", 1_000, &around(50_000));
        assert_eq!(machines(vec![plain(), on("host", 60_000)]), ["host"]);
        assert_eq!(
            machines(vec![on("linux", 60_000), plain(), on("host", 60_000)]),
            ["linux", "host"]
        );
    }

    #[test]
    fn published_figures_stand_beside_the_same_call_or_the_same_length() {
        let a = run(vec![
            sleep("usleep", 1_000_000, &around(50_000)),
            sleep("poll", 1_000_000, &around(50_000)),
            sleep("poll", 2_000_001, &around(50_000)),
        ]);
        let compared = Comparison::of(&[("a.json", &a)]);
        assert!(compared.published.is_empty());
        let compared = compared.beside_published(true, &[]);
        let calls = |row: usize| -> Vec<&str> {
            let places = compared.rows[row].published.iter();
            places.map(|&i| compared.published[i].call).collect()
        };
        assert_eq!(calls(0), ["usleep(1000)", "usleep(1000)"]);
        assert!(calls(1).contains(&"Sleep(1)") && !calls(1).contains(&"usleep(1000)"));
        assert!(calls(2).is_empty());
        let loops = compared.published.iter().any(|p| p.call.contains("frames"));
        assert!(!loops);
    }

    #[test]
    fn published_figures_are_of_the_same_os_unless_all_are_wanted() {
        let on = |name: &str, os: &str| {
            let mut run = run(vec![sleep("poll", 1_000_000, &around(50_000))]);
            run.machine.name = name.to_owned();
            run.machine.os = os.to_owned();
            run
        };
        let families = |runs: &[&Run], every_os| {
            let runs: Vec<(&str, &Run)> = runs.iter().map(|run| ("file", *run)).collect();
            let published = Comparison::of(&runs)
                .beside_published(every_os, &[])
                .published;
            let families = published.iter().map(Published::family);
            families.collect::<std::collections::BTreeSet<_>>()
        };
        let (debian, model) = (on("host", "Debian GNU/Linux 12"), on("linux", "simulated"));
        let windows = on("windows-10-2004,slack=1", "simulated");
        let fake = on("fake-5ms", "simulated");
        for (runs, expected) in [
            (&[&debian][..], &["Linux"][..]),
            (&[&model], &["Linux"]),
            (&[&debian, &windows], &["Linux", "Windows"]),
            (&[&on("host", "macOS 14.5")], &["macOS"]),
            (&[&fake], &[]),
        ] {
            let expected = expected.iter().copied().collect();
            assert_eq!(families(runs, false), expected);
            assert_eq!(families(runs, true).len(), 3);
        }
    }

    #[test]
    fn the_document_has_units_in_its_keys_and_says_what_is_missing() {
        let bare = sleep("poll", 1_000, &around(50_000)[..50]);
        let a = run(vec![bare]);
        let text = Comparison::of(&[("a.json", &a), ("b.json", &run(vec![]))]).to_json();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        let cell = &value["rows"][0]["cells"][0];
        assert_eq!(cell["n"], 50);
        assert_eq!(cell["late_p50_ns"]["interval_from_rounds"], 6);
        assert!(cell["late_p50_ns"]["low"].as_f64() < cell["late_p50_ns"]["high"].as_f64());
        assert_eq!(cell["missing"]["late_p99_ns"], "few-samples");
        assert_eq!(cell["missing"]["cpu_fraction"], "no-cpu-time");
        assert!(value["rows"][0]["cells"][1].is_null());
    }

    #[test]
    fn columns_have_letters_however_many_there_are() {
        let labels: Vec<String> = [0, 25, 26, 51, 52, 701, 702].map(label).into();
        assert_eq!(labels, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }
}

/// Which measurements are of the same thing.
#[cfg(test)]
mod keys {
    use crate::experiment::{
        Arming, Cores, Deadlines, Experiment, Learning, Naps, Pace, Sleep, Timers, Watch,
    };
    use crate::run::Measurement;

    fn key(experiment: Experiment, subject: &str) -> impl PartialEq + std::fmt::Debug {
        super::key(&Measurement::of(experiment, subject))
    }

    fn sleep(asked_ns: u64) -> Experiment {
        let method = "poll".to_owned();
        Experiment::Sleep(Sleep { method, asked_ns })
    }

    #[test]
    fn another_way_of_rounds_is_another_parameter() {
        let of = |warm_up_waits, rate_hz, learning| {
            let pace = Pace {
                period_ns: 16_666_667,
                rate_hz,
                deadlines: Deadlines::Absolute,
                warm_up_waits,
                learning,
                frames: None,
                crowd: None,
            };
            let experiment = Experiment::Pace(pace);
            (experiment.cell(), key(experiment, "spin"))
        };
        let [kept, fresh] = [Learning::KeepsState, Learning::StartsOver];
        assert_ne!(of(3, 60.0, kept), of(3, 50.0, kept));
        assert_ne!(of(3, 60.0, kept).1, of(3, 60.0, fresh).1);
        assert_ne!(of(3, 60.0, fresh).1, of(5, 60.0, fresh).1);
        // It warms up once, and how long that takes follows from the rounds.
        assert_eq!(of(3, 60.0, kept), of(5, 60.0, kept));
        // Within one Run subjects are compared whatever their warm-up.
        assert_eq!(of(3, 60.0, fresh).0, of(5, 60.0, fresh).0);
    }

    #[test]
    fn a_watch_is_the_same_whatever_it_takes_exception_to() {
        let plain = Watch {
            period_ns: 1_000_000,
            ..Watch::default()
        };
        let judged = Watch {
            on_cpu: Some(7),
            threshold_ns: 500_000,
            fail_over_ns: Some(1_000_000),
            ..plain.clone()
        };
        let watch = |watch| key(Experiment::Watch(Box::new(watch)), "timerfd");
        assert_eq!(watch(judged), watch(plain));
        let core = |on_cpu| {
            let core_type = None;
            let asked_ns = 1_000_000;
            let cores = Cores {
                on_cpu,
                asked_ns,
                core_type,
            };
            key(Experiment::Cores(cores), "timerfd")
        };
        assert_ne!(core(0), core(1));
    }

    #[test]
    fn everything_else_does() {
        let plain = key(sleep(1_000), "poll");
        let naps = Naps {
            method: "poll".to_owned(),
            asked_ns: 1_000,
        };
        for other in [
            key(Experiment::Naps(naps), "poll"),
            key(sleep(1_000), "select"),
            key(sleep(1_001), "poll"),
        ] {
            assert_ne!(other, plain);
        }
    }

    #[test]
    fn the_own_sleep_call_of_each_os_is_the_same_thing() {
        let on = |subject, arming| {
            let timers = Timers {
                arming,
                ..Timers::default()
            };
            key(Experiment::Timers(timers), subject)
        };
        assert_eq!(
            on("Sleep(1)", Arming::AfterWake),
            on("usleep", Arming::AfterWake)
        );
        assert_ne!(
            on("Sleep(1)", Arming::AfterWake),
            on("Sleep(1)", Arming::RandomPhase)
        );
    }
}
