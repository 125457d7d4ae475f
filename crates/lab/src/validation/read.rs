//! From the files of `scenarios/validation` to rows, with lists of parameters and shared
//! steps written out.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_program::program::Op;
use punctual_sim::{Model, Random, Time};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::see::See;
use super::{Evidence, Row, Run};
use crate::scenario::error::{Error, Flaw};
use crate::scenario::parameters::parameters;
use crate::scenario::table::{Field, Table};
use crate::scenario::verbs::Steps;
use crate::scenario::{Expect, compile, shipped, table};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$((
            concat!("validation/", $name),
            include_str!(concat!("../../scenarios/validation/", $name, ".toml")),
        )),*]
    };
}

/// The shared parts of rows: their sources, and their words.
const SHARED: (&str, &str) = files!["shared"][0];

const ROWS: [(&str, &str); 8] = files![
    "articles",
    "windows-requests",
    "windows-sleeps",
    "windows-other",
    "linux",
    "linux-scheduling",
    "macos",
    "computers",
];

/// The steps of a row that are written as a string, besides those of a scenario.
const MARKS: &[(&str, Op)] = &[("record", Op::Record), ("phase", Op::Phase)];

/// All rows, in the order of their names.
///
/// # Errors
/// None in a release: the tests read all files.
pub fn rows() -> Result<Vec<Row>, Error> {
    let shared = parse(SHARED)?;
    let words = Table::new(0, &shared).get("words", Words::of);
    let words = words.map_err(|flaw| Error::new(SHARED.0, SHARED.1, flaw))?;
    let words = words.unwrap_or_default();
    let mut rows = Vec::new();
    for file in ROWS {
        rows.extend(rows_of(file, &words)?);
    }
    rows.sort_by_key(|row: &Row| (row.id.len(), row.id.clone()));
    Ok(rows)
}

fn rows_of((name, text): (&str, &'static str), words: &Words<'_>) -> Result<Vec<Row>, Error> {
    let root = parse((name, text))?;
    let read = |rows: &Field<'_>| rows.list()?.iter().map(|item| row(item, words)).collect();
    let rows = Table::new(0, &root).get("row", read);
    let rows = rows.map_err(|flaw| Error::new(name, text, flaw))?;
    Ok(rows.unwrap_or_default())
}

/// The full text of the sources' short names.
///
/// # Errors
/// None in a release: the tests read all files.
pub fn sources() -> Result<BTreeMap<String, String>, Error> {
    let shared = parse(SHARED)?;
    let read = |sources: &Field<'_>| {
        let sources = sources.table()?;
        let fields = sources.fields().iter();
        fields
            .map(|field| Ok((field.key.to_owned(), field.line()?)))
            .collect()
    };
    let sources = Table::new(0, &shared).get("sources", read);
    let sources = sources.map_err(|flaw| Error::new(SHARED.0, SHARED.1, flaw))?;
    Ok(sources.unwrap_or_default())
}

fn parse((name, text): (&str, &'static str)) -> Result<DeTable<'static>, Error> {
    table::parse(text).map_err(|flaw| Error::new(name, text, flaw))
}

fn row<'t>(item: &Field<'t>, words: &Words<'t>) -> Result<Row, Flaw> {
    const WHOSE: &str = "a row";
    let table = item.table()?;
    table.only(
        WHOSE,
        &[
            "id",
            "rule",
            "input",
            "expected",
            "tolerance",
            "kind",
            "fitted",
            "source",
            "note",
            "got",
            "run",
        ],
    )?;
    let line = |key| table.need(WHOSE, key)?.line();
    let some_line = |key| table.get(key, Field::line);
    let id = line("id")?;
    let mut all = Vec::new();
    for run in table.need(WHOSE, "run")?.list_or_one() {
        read_run(&run, &id, words, &mut all)?;
    }
    if !all.iter().any(Run::is_held) {
        return Err(item.flaw("nothing in this row can differ"));
    }
    Ok(Row {
        id,
        rule: line("rule")?,
        input: line("input")?,
        expected: line("expected")?,
        tolerance: match some_line("tolerance")? {
            Some(tolerance) => tolerance,
            None => {
                let first = all.iter().find_map(Run::tolerance);
                first.ok_or_else(|| item.flaw("this row needs `tolerance`"))?
            }
        },
        kind: table.need(WHOSE, "kind")?.choice(&Evidence::NAMED)?,
        fitted: some_line("fitted")?,
        source: line("source")?,
        note: some_line("note")?.unwrap_or_default(),
        got: some_line("got")?,
        runs: all,
    })
}

/// Reads a run on each of its models and with each of its parameters.
fn read_run<'t>(
    field: &Field<'t>,
    id: &str,
    words: &Words<'t>,
    all: &mut Vec<Run>,
) -> Result<(), Flaw> {
    const WHOSE: &str = "a run";
    let table = field.table()?;
    if let Some(probe) = table.find("probe") {
        table.only(WHOSE, &["probe"])?;
        probe.choice(&[("robustness", ())])?;
        all.push(Run::Robustness);
        return Ok(());
    }
    if let Some(name) = table.find("scenario") {
        table.only(WHOSE, &["scenario"])?;
        let shipped: Vec<_> = shipped::ALL.iter().map(|file| (file.name, file)).collect();
        let read = name.choice(&shipped)?.read();
        let mut scenario = read.map_err(|error| name.flaw(error.to_string()))?;
        scenario.expects.retain(|expect| names(expect, id));
        if scenario.expects.is_empty() {
            return Err(name.flaw(format!("nothing that is expected there names {id}")));
        }
        all.push(Run::Expected(Box::new(scenario)));
        return Ok(());
    }
    table.only(WHOSE, &["on", "for", "together", "do", "see"])?;
    let together = table.get("together", Field::truth)?.unwrap_or(false);
    for model in table.need(WHOSE, "on")?.list_or_one() {
        let mut runs = Vec::new();
        for parameters in parameters(&table)? {
            let mut words = words.clone();
            for (nth, parameter) in (1..).zip(parameters) {
                words.set(&format!("{nth}"), parameter);
            }
            let on = words.text(model.word()?);
            Model::parse(&on).map_err(|why| model.flaw(why))?;
            let expanded = words.expand(field.value())?;
            let run = expanded.as_table();
            let run = run.ok_or_else(|| field.flaw("a run is a table"))?;
            let run = Table::new(table.at, run);
            let steps = run.need(WHOSE, "do")?;
            let text = written(steps.value());
            let steps = Steps::with(MARKS).read(steps, 1)?;
            let sees = run.need(WHOSE, "see")?.list_or_one();
            let sees = sees.iter().map(|see| See::read(&see.table()?));
            runs.push(Run::Seen {
                experiments: vec![(on, compile::alone(&steps)?)],
                steps: text,
                sees: sees.collect::<Result<_, Flaw>>()?,
            });
        }
        match together {
            true => all.extend(runs.into_iter().reduce(Run::and)),
            false => all.extend(runs),
        }
    }
    Ok(())
}

/// Steps as the file of a scenario has them, without the marks that only rows know.
fn written(value: &DeValue<'_>) -> String {
    let is_mark = |item: &&Value<'_>| {
        let word = item.get_ref().as_str();
        word.is_some_and(|word| MARKS.iter().any(|(mark, _)| *mark == word))
    };
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(items) => {
            let items = items.iter().filter(|item| !is_mark(item));
            let items: Vec<_> = items.map(|item| written(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) => {
            let pairs = table.iter();
            let pairs = pairs
                .map(|(key, value)| format!("{} = {}", key.get_ref(), written(value.get_ref())));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Whether the source of what is expected names a row.
fn names(expect: &Expect, id: &str) -> bool {
    let mut words = expect.source.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word == id)
}

/// The full text of short forms.
#[derive(Clone, Default)]
struct Words<'t> {
    steps: BTreeMap<&'t str, &'t DeArray<'t>>,
    texts: BTreeMap<String, String>,
}

type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Words<'t> {
    /// The words of a table, in which texts are strings and steps are lists.
    fn of(table: &Field<'t>) -> Result<Self, Flaw> {
        let mut words = Self::default();
        for field in table.table()?.fields() {
            match field.value() {
                DeValue::String(text) => words.set(field.key, text),
                DeValue::Array(steps) => _ = words.steps.insert(field.key, steps),
                _ => {}
            }
        }
        Ok(words)
    }

    /// From here on `$name` is `text`.
    fn set(&mut self, name: &str, text: &str) {
        self.texts.insert(format!("${name}"), text.to_owned());
    }

    /// A text written out.
    fn text(&self, text: &str) -> String {
        if !text.contains('$') {
            return text.to_owned();
        }
        let texts = self.texts.iter();
        texts.fold(text.to_owned(), |text, (name, is)| text.replace(name, is))
    }

    /// A value written out.
    fn expand(&self, value: &DeValue<'t>) -> Result<DeValue<'t>, Flaw> {
        Ok(match value {
            DeValue::String(text) => DeValue::String(self.text(text).into()),
            DeValue::Array(items) => {
                let mut all = DeArray::new();
                self.items(items, &mut all)?;
                DeValue::Array(all)
            }
            DeValue::Table(table) => {
                let expand = |(key, value): (&Spanned<_>, _)| -> Result<_, Flaw> {
                    Ok((key.clone(), self.expand_there(value)?))
                };
                DeValue::Table(table.iter().map(expand).collect::<Result<_, _>>()?)
            }
            other => other.clone(),
        })
    }

    fn expand_there(&self, value: &Value<'t>) -> Result<Value<'t>, Flaw> {
        let expanded = self.expand(value.get_ref())?;
        Ok(Spanned::new(value.span(), expanded))
    }

    /// The items of a list, of which each may stand for several.
    fn items(&self, items: &[Value<'t>], all: &mut DeArray<'t>) -> Result<(), Flaw> {
        for item in items {
            match item.get_ref() {
                DeValue::String(word) if self.steps.contains_key(word.as_ref()) => {
                    self.items(self.steps[word.as_ref()], all)?;
                }
                DeValue::Table(table) if table.contains_key("sweep") => {
                    self.sweep(item.span().start, table, all)?;
                }
                _ => all.push(self.expand_there(item)?),
            }
        }
        Ok(())
    }

    /// The steps of a sweep `times` over. `$sweep` has lengths from `from` to `to`, evenly spread
    /// or drawn at random, and `$nth` the number of the turn. `stride` is how many lengths on the
    /// next turn is, so that neighbours differ; `odd` is a turn with a length of its own.
    fn sweep(&self, at: usize, table: &DeTable<'t>, all: &mut DeArray<'t>) -> Result<(), Flaw> {
        const WHOSE: &str = "a sweep";
        let short = |(key, value): (&Spanned<_>, &Value<'t>)| -> Option<Result<_, Flaw>> {
            let is_body = AsRef::<str>::as_ref(key.get_ref()) == "sweep";
            (!is_body).then(|| Ok((key.clone(), self.expand_there(value)?)))
        };
        let settings: DeTable<'_> = table.iter().filter_map(short).collect::<Result<_, _>>()?;
        let settings = Table::new(at, &settings);
        settings.only(WHOSE, &["times", "from", "to", "stride", "odd", "random"])?;
        let times = settings.need(WHOSE, "times")?.whole(2..=1_000)?;
        let from = settings.need(WHOSE, "from")?.length()?;
        let range = settings.need(WHOSE, "to")?.length()? - from;
        let stride = settings.get("stride", |field| field.whole(1..=times))?;
        let stride = stride.unwrap_or(1);
        let odd = settings.get("odd", |field| {
            let odd = field.table()?;
            let nth = odd.need(WHOSE, "nth")?.whole(0..=times)?;
            Ok((nth, odd.need(WHOSE, "length")?.length()?))
        })?;
        let mut random = settings.get("random", |field| {
            let draw = field.number_or_word()?.parse();
            let draw = draw.map_err(|_| Flaw::new(at, "`random` is a whole number"))?;
            Ok(Random::new(draw))
        })?;
        let body = table.get("sweep");
        let body = body.and_then(|body| body.get_ref().as_array());
        let body = body.ok_or_else(|| Flaw::new(at, "`sweep` is a list of steps"))?;
        let mut words = self.clone();
        for nth in 0..times {
            let drawn = random.as_mut().map(|random| {
                let below = random.below(Time::from_ns(range.as_ns()));
                Nanos::new(below.floor_ns())
            });
            let even = Nanos::new(range.as_ns() * (nth * stride % times) / (times - 1));
            let length = match odd {
                Some((odd, length)) if odd == nth => length,
                _ => from + drawn.unwrap_or(even),
            };
            words.set("sweep", &format!("{}ns", length.as_ns()));
            words.set("nth", &nth.to_string());
            words.items(body, all)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a row that has these lines besides the necessary ones.
    fn wrong(lines: &str) -> String {
        let text = format!(
            "[[row]]\nid = \"V01\"\nrule = \"r\"\ninput = \"i\"\nexpected = \"e\"\nkind = \"measured\"\n\
             source = \"s\"\n{lines}"
        );
        let text: &'static str = text.leak();
        match rows_of(("file", text), &Words::default()) {
            Ok(rows) => rows[0].run().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_row_that_is_wrong_says_where() {
        let run = |on: &str, step: &str, see: &str| {
            format!("run = {{ on = \"{on}\", do = [{step}], see = {{ {see} }} }}")
        };
        let (sleep, held) = (
            "{ sleep = \"1ms\" }",
            "what = \"slept\", at_least = \"1ms\"",
        );
        for (lines, says) in [
            (
                "why = \"\"".to_owned(),
                "file, line 8: a row has no key `why`",
            ),
            (
                run("linux", sleep, held),
                "line 1: this row needs `tolerance`",
            ),
            (
                run("linux", sleep, "what = \"slept\""),
                "line 1: nothing in this row can differ",
            ),
            (run("linus", sleep, held), "line 8, column 14: "),
            (
                run("linux", "\"reccord\"", held),
                "line 8, column 29: `reccord` is no verb",
            ),
            (
                run("linux", sleep, "what = \"dreamt\""),
                "`what` can be slept, ",
            ),
            (
                "run = { scenario = \"none\" }".to_owned(),
                "line 8, column 20: `scenario` can be lowest-request-wins, ",
            ),
            (
                "run = { scenario = \"game-loop\" }".to_owned(),
                "line 8, column 20: nothing that is expected there names V01",
            ),
            (
                run("linux", "\"record\"", held) + "\ntolerance = \"t\"",
                "there was nothing to see",
            ),
        ] {
            let error = wrong(&lines);
            assert!(error.contains(says), "{lines}: {error}");
        }
    }
}
