//! Entries that are written once and stand for several, each with parameters of its own.

use toml::Spanned;
use toml::de::DeValue;

use super::error::Flaw;
use super::limits;
use super::table::{Field, Table};

/// Reads the tables of a list, of which there must be some, but not too many; a table with `for`
/// is read with each of its lists of parameters.
pub(super) fn each<T>(
    field: &Field<'_>,
    most: usize,
    mut read: impl FnMut(&Table<'_>) -> Result<T, Flaw>,
) -> Result<Vec<T>, Flaw> {
    let mut all = Vec::new();
    for item in field.filled(most)? {
        for list in parameters(&item.table()?)? {
            let value = written(item.value(), &list);
            all.push(read(&item.with(&value).table()?)?);
        }
    }
    Ok(all)
}

/// One list of parameters for each time that a table is read; an empty one if it has no `for`.
pub(crate) fn parameters<'t>(table: &Table<'t>) -> Result<Vec<Vec<&'t str>>, Flaw> {
    let Some(field) = table.find("for") else {
        return Ok(vec![vec![]]);
    };
    let texts = |item: &Field<'t>| {
        let items = item.filled_or_one(limits::PARAMETERS)?;
        items.iter().map(text).collect()
    };
    field
        .filled(limits::PARAMETER_LISTS)?
        .iter()
        .map(texts)
        .collect()
}

/// None stands in another, or a few could be written out to any length.
fn text<'t>(parameter: &Field<'t>) -> Result<&'t str, Flaw> {
    let text = parameter.number_or_word()?;
    match text.contains('$') {
        true => Err(parameter.flaw("there is no `$` in a parameter")),
        false => Ok(text),
    }
}

/// A value in whose strings `$1` is the first of these, `$2` the second, and so on.
fn written<'t>(value: &DeValue<'t>, list: &[&str]) -> DeValue<'t> {
    let there = |value: &Spanned<_>| Spanned::new(value.span(), written(value.get_ref(), list));
    match value {
        DeValue::String(text) => {
            let numbered = (1..).zip(list);
            let text = numbered.fold(text.to_string(), |text, (nth, parameter)| {
                text.replace(&format!("${nth}"), parameter)
            });
            DeValue::String(text.into())
        }
        DeValue::Array(items) => DeValue::Array(items.iter().map(there).collect()),
        DeValue::Table(table) => {
            let field = |(key, value): (&Spanned<_>, _)| (key.clone(), there(value));
            DeValue::Table(table.iter().map(field).collect())
        }
        other => other.clone(),
    }
}
