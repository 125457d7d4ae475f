//! From the files of `scenarios/validation` to rows.

use std::collections::BTreeMap;

use punctual_program::program::Op;
use punctual_sim::Model;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::expand::Words;
use super::row::{Evidence, Row, Run};
use super::see::See;
use crate::scenario::compile;
use crate::scenario::error::{Error, Flaw};
use crate::scenario::table::{Field, Table};
use crate::scenario::toml_text;
use crate::scenario::verbs::Steps;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$((
            concat!("validation/", $name),
            include_str!(concat!("../../../../scenarios/validation/", $name, ".toml")),
        )),*]
    };
}

/// What the rows share: their sources, and their words.
const SHARED: (&str, &str) = files!["shared"][0];

const ROWS: [(&str, &str); 5] = files![
    "windows-requests",
    "windows-sleeps",
    "windows-other",
    "linux",
    "macos",
];

/// What is written as a string among the steps of a row, beside what is so in a
/// scenario.
const MARKS: &[(&str, Op)] = &[("record", Op::Record), ("phase", Op::Phase)];

/// All rows, in the order of their names.
///
/// # Errors
/// None in a release: the tests read all files.
pub fn rows() -> Result<Vec<Row>, Error> {
    let shared = parse(SHARED)?;
    let words = table(&shared, "words").map_or_else(Words::default, Words::of);
    let mut rows = Vec::new();
    for file in ROWS {
        rows.extend(rows_of(file, &words)?);
    }
    rows.sort_by_key(|row: &Row| (row.id.len(), row.id.clone()));
    Ok(rows)
}

fn rows_of((name, text): (&str, &'static str), words: &Words<'_>) -> Result<Vec<Row>, Error> {
    let root = parse((name, text))?;
    let rows = root.get("row").and_then(|rows| rows.get_ref().as_array());
    let rows = rows.into_iter().flat_map(|rows| rows.iter());
    rows.map(|item| row(item, words))
        .collect::<Result<_, _>>()
        .map_err(|flaw| Error::new(name, text, flaw))
}

/// What the short names of sources in the rows stand for.
///
/// # Errors
/// None in a release: the tests read all files.
pub fn sources() -> Result<BTreeMap<String, String>, Error> {
    let shared = parse(SHARED)?;
    let read = |table| {
        let sources = Table::new(0, table);
        let fields = sources.fields().iter();
        fields
            .map(|field| Ok((field.key.to_owned(), field.line()?)))
            .collect()
    };
    table(&shared, "sources")
        .map_or_else(|| Ok(BTreeMap::new()), read)
        .map_err(|flaw| Error::new(SHARED.0, SHARED.1, flaw))
}

fn parse((name, text): (&str, &'static str)) -> Result<DeTable<'static>, Error> {
    toml_text::parse(text).map_err(|flaw| Error::new(name, text, flaw))
}

fn table<'t>(root: &'t DeTable<'t>, key: &str) -> Option<&'t DeTable<'t>> {
    root.get(key)?.get_ref().as_table()
}

fn row<'t>(item: &'t Spanned<DeValue<'t>>, words: &Words<'t>) -> Result<Row, Flaw> {
    const WHOSE: &str = "a row";
    let at = item.span().start;
    let raw = item.get_ref().as_table();
    let raw = raw.ok_or_else(|| Flaw::new(at, "a row is a table"))?;
    let table = Table::new(at, raw);
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
    let some_line = |key| table.find(key).map(|field| field.line()).transpose();
    let runs = table.need(WHOSE, "run")?.list_or_one();
    let values = match raw.get("run").map(Spanned::get_ref) {
        Some(DeValue::Array(items)) => items.iter().collect(),
        _ => raw.get("run").into_iter().collect::<Vec<_>>(),
    };
    let mut all = Vec::new();
    for (field, value) in runs.iter().zip(values) {
        read_run(field, value, words, &mut all)?;
    }
    if !all.iter().any(Run::is_held) {
        return Err(Flaw::new(at, "nothing in this row can differ"));
    }
    Ok(Row {
        id: line("id")?,
        rule: line("rule")?,
        input: line("input")?,
        expected: line("expected")?,
        tolerance: match some_line("tolerance")? {
            Some(tolerance) => tolerance,
            None => tolerance(&all).ok_or_else(|| Flaw::new(at, "this row needs `tolerance`"))?,
        },
        kind: table.need(WHOSE, "kind")?.choice(&Evidence::NAMED)?,
        fitted: some_line("fitted")?,
        source: line("source")?,
        note: some_line("note")?.unwrap_or_default(),
        got: some_line("got")?,
        runs: all,
    })
}

/// How far from the first figure is still the same.
fn tolerance(runs: &[Run]) -> Option<String> {
    runs.iter().flat_map(Run::sees).find_map(See::tolerance)
}

/// Reads a run on each of its models and with each of its parameters.
fn read_run<'t>(
    field: &Field<'t>,
    value: &Spanned<DeValue<'t>>,
    words: &Words<'t>,
    all: &mut Vec<Run>,
) -> Result<(), Flaw> {
    const WHOSE: &str = "a run";
    let table = field.table()?;
    if let Some(probe) = table.find("probe") {
        table.only(WHOSE, &["probe"])?;
        all.push(
            probe
                .choice(&[("robustness", ())])
                .map(|()| Run::Robustness)?,
        );
        return Ok(());
    }
    table.only(WHOSE, &["on", "for", "together", "do", "see"])?;
    let together = table.find("together").map(|field| field.truth());
    let together = together.transpose()?.unwrap_or(false);
    for model in table.need(WHOSE, "on")?.list_or_one() {
        let mut runs = Vec::new();
        for parameters in parameters(&table)? {
            let mut words = words.clone();
            for (nth, parameter) in (1..).zip(parameters) {
                words.set(&format!("{nth}"), parameter);
            }
            let on = words.text(model.word()?);
            Model::parse(&on).map_err(|why| model.flaw(why))?;
            let expanded = words.expand(value)?;
            let run = expanded.get_ref().as_table();
            let run = run.map(|run| Table::new(value.span().start, run));
            let run = run.ok_or_else(|| field.flaw("a run is a table"))?;
            let steps = Steps::with(MARKS).read(run.need(WHOSE, "do")?, 1)?;
            let sees = run.need(WHOSE, "see")?.list_or_one();
            let sees = sees.iter().map(|see| See::read(&see.table()?));
            runs.push(Run::Seen {
                experiments: vec![(on, compile::alone(&steps)?)],
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

/// One list of parameters for each time that a run is made.
fn parameters<'t>(run: &Table<'t>) -> Result<Vec<Vec<&'t str>>, Flaw> {
    let Some(field) = run.find("for") else {
        return Ok(vec![vec![]]);
    };
    let texts = |item: &Field<'t>| {
        let items = item.list_or_one();
        items.iter().map(|item| item.number_or_word()).collect()
    };
    field.list()?.iter().map(texts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a row that has these lines besides those that it needs.
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
                run("linux", "\"record\"", held) + "\ntolerance = \"t\"",
                "there was nothing to see",
            ),
        ] {
            let error = wrong(&lines);
            assert!(error.contains(says), "{lines}: {error}");
        }
    }
}
