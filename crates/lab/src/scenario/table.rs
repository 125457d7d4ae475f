//! Text to TOML, and its values as a scenario wants them, or what is wrong with them.

use std::ops::RangeInclusive;

use punctual_core::Nanos;
use punctual_record::is_visible;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};
use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};

use super::error::{Flaw, list, short};
use super::limits;
use super::seen::COMPUTER;

/// Something in the file, and the byte it begins at.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

/// A table, its keys in the order of the file.
pub(crate) struct Table<'t> {
    pub(crate) at: usize,
    fields: Vec<Field<'t>>,
}

/// A value, and the key it is under; an item of a list has the list's.
#[derive(Clone, Copy)]
pub(crate) struct Field<'t> {
    pub(crate) key: &'t str,
    pub(super) key_at: usize,
    at: usize,
    value: &'t DeValue<'t>,
}

impl<'t> Table<'t> {
    pub(crate) fn new(at: usize, table: &'t DeTable<'t>) -> Self {
        let mut fields: Vec<_> = table
            .iter()
            .map(|(key, value)| Field {
                key: key.get_ref(),
                key_at: key.span().start,
                at: value.span().start,
                value: value.get_ref(),
            })
            .collect();
        fields.sort_by_key(|field| field.key_at);
        Self { at, fields }
    }

    pub(crate) fn fields(&self) -> &[Field<'t>] {
        &self.fields
    }

    pub(crate) fn find(&self, key: &str) -> Option<Field<'t>> {
        self.fields.iter().find(|field| field.key == key).copied()
    }

    /// Reads the value of a key, if it is there.
    pub(crate) fn get<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Field<'t>) -> Result<T, Flaw>,
    ) -> Result<Option<T>, Flaw> {
        self.find(key).map(|field| read(&field)).transpose()
    }

    /// The value of a key that has to be there; `whose` is as in "a process".
    pub(crate) fn need(&self, whose: &str, key: &str) -> Result<Field<'t>, Flaw> {
        self.find(key)
            .ok_or_else(|| Flaw::new(self.at, format!("{whose} needs `{key}`")))
    }

    /// Refuses all other keys; `whose` is as in "a process".
    pub(crate) fn only(&self, whose: &str, keys: &[&str]) -> Result<(), Flaw> {
        match self.fields.iter().find(|field| !keys.contains(&field.key)) {
            None => Ok(()),
            Some(other) => Err(Flaw::new(
                other.key_at,
                format!(
                    "{whose} has no key `{}`; its keys are {}",
                    short(other.key),
                    list(keys.iter().copied())
                ),
            )),
        }
    }
}

impl<'t> Field<'t> {
    /// An error at this value.
    pub(crate) fn flaw(&self, message: impl Into<String>) -> Flaw {
        Flaw::new(self.at, message)
    }

    /// It is of the wrong type: `wanted` is as in "a string".
    fn not(&self, wanted: &str) -> Flaw {
        let article = match self.value {
            DeValue::Integer(_) | DeValue::Array(_) => "an",
            _ => "a",
        };
        self.flaw(format!(
            "`{}` must be {wanted}, but here is {article} {}",
            self.key,
            self.value.type_str()
        ))
    }

    pub(super) fn placed<T>(&self, value: T) -> Placed<T> {
        Placed { at: self.at, value }
    }

    /// Sentences of any length.
    pub(super) fn prose(&self) -> Result<String, Flaw> {
        match self.value.as_str() {
            Some(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            Some(_) => Err(self.flaw(format!("`{}` is empty", self.key))),
            None => Err(self.not("a string")),
        }
    }

    /// Reads a source, in some sentences.
    pub(super) fn source(&self) -> Result<String, Flaw> {
        let text = self.prose()?;
        self.bounded(&text, limits::SOURCE_CHARS)?;
        Ok(text)
    }

    /// One line of any length.
    pub(crate) fn line(&self) -> Result<String, Flaw> {
        let text = self.prose()?;
        if text.contains(|c| !is_visible(c)) {
            return Err(self.flaw(format!("`{}` must be one line", self.key)));
        }
        Ok(text)
    }

    /// Whether it is a string.
    pub(crate) fn is_word(&self) -> bool {
        self.value.is_str()
    }

    /// A string short enough to be quoted in a message.
    pub(crate) fn word(&self) -> Result<&'t str, Flaw> {
        let text = self.value.as_str().ok_or_else(|| self.not("a string"))?;
        if text.is_empty() || text.trim() != text || text.contains(|c| !is_visible(c)) {
            return Err(self.flaw(format!(
                "`{}` must be one line, not empty and without spaces around it",
                self.key
            )));
        }
        self.bounded(text, limits::WORD_CHARS)?;
        Ok(text)
    }

    fn bounded(&self, text: &str, most: usize) -> Result<(), Flaw> {
        if text.chars().count() <= most {
            return Ok(());
        }
        let message = format!("`{}` has more than {most} characters", self.key);
        Err(self.flaw(message))
    }

    /// A name.
    pub(super) fn name(&self) -> Result<Placed<String>, Flaw> {
        let name = self.word()?;
        if name == COMPUTER {
            return Err(self.flaw(format!(
                "`{name}` is what stands for the whole computer; choose another name"
            )));
        }
        Ok(self.placed(name.to_owned()))
    }

    /// A length of time, possibly zero.
    pub(crate) fn length(&self) -> Result<Nanos, Flaw> {
        if !self.is_word() {
            return Err(self.not("a length in quotes, like \"50us\", \"1.5ms\" or \"2s\""));
        }
        let length = self.word()?.parse().map_err(|why: String| self.flaw(why))?;
        if length > limits::LENGTH {
            return Err(self.flaw(format!(
                "`{}` is longer than an experiment can be, {}",
                self.key,
                limits::LENGTH.exact()
            )));
        }
        Ok(length)
    }

    /// A length of time that is not zero.
    pub(super) fn some_length(&self) -> Result<Nanos, Flaw> {
        let length = self.length()?;
        if length.is_zero() {
            return Err(self.flaw(format!("`{}` cannot be zero", self.key)));
        }
        Ok(length)
    }

    /// A whole number within bounds.
    pub(crate) fn whole(&self, bounds: RangeInclusive<u64>) -> Result<u64, Flaw> {
        let DeValue::Integer(number) = self.value else {
            return Err(self.not("a whole number"));
        };
        u64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|number| bounds.contains(number))
            .ok_or_else(|| {
                self.flaw(format!(
                    "`{}` must be a whole number from {} to {}",
                    self.key,
                    bounds.start(),
                    bounds.end()
                ))
            })
    }

    /// A nice value.
    pub(super) fn nice(&self) -> Result<i8, Flaw> {
        let nice = self.number_or_word()?.parse().ok();
        nice.filter(|nice| (-20..=19).contains(nice))
            .ok_or_else(|| self.flaw("`nice` must be a whole number from -20 to 19"))
    }

    /// A number; `None` if it is none at all.
    pub(super) fn number(&self) -> Option<Result<f64, Flaw>> {
        let number: Option<f64> = match self.value {
            DeValue::Integer(number) => whole(number),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => return None,
        };
        let finite = number.filter(|number| number.is_finite());
        Some(finite.ok_or_else(|| self.flaw(format!("`{}` must be a finite number", self.key))))
    }

    /// A number or a string, as text.
    pub(crate) fn number_or_word(&self) -> Result<&'t str, Flaw> {
        match self.value {
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str()),
            DeValue::Float(number) => Ok(number.as_str()),
            DeValue::String(_) => self.word(),
            _ => Err(self.not("a number or a string")),
        }
    }

    pub(crate) fn truth(&self) -> Result<bool, Flaw> {
        self.value
            .as_bool()
            .ok_or_else(|| self.not("true or false"))
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Flaw> {
        let text = self.word()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            self.flaw(format!(
                "`{}` can be {}, not `{text}`",
                self.key,
                list(words.iter().map(|(word, _)| *word))
            ))
        })
    }

    pub(crate) fn table(&self) -> Result<Table<'t>, Flaw> {
        match self.value {
            DeValue::Table(table) => Ok(Table::new(self.at, table)),
            _ => Err(self.not("a table")),
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<Field<'t>>, Flaw> {
        match self.value {
            DeValue::Array(items) => Ok(items.iter().map(|item| self.item(item)).collect()),
            _ => Err(self.not("a list")),
        }
    }

    /// The items of a list that has some, but not too many.
    pub(super) fn filled(&self, most: usize) -> Result<Vec<Field<'t>>, Flaw> {
        let items = self.list()?;
        if items.is_empty() || items.len() > most {
            return Err(self.flaw(format!(
                "`{}` has {} entries; it can have from 1 to {most}",
                self.key,
                items.len()
            )));
        }
        Ok(items)
    }

    /// The same, or one item without the brackets.
    pub(super) fn filled_or_one(&self, most: usize) -> Result<Vec<Field<'t>>, Flaw> {
        match self.value {
            DeValue::Array(_) => self.filled(most),
            _ => Ok(vec![*self]),
        }
    }

    /// A list of any length, or one item without the brackets.
    pub(crate) fn list_or_one(&self) -> Vec<Field<'t>> {
        self.list().unwrap_or_else(|_| vec![*self])
    }

    pub(crate) fn value(&self) -> &'t DeValue<'t> {
        self.value
    }

    /// The same with another value.
    pub(super) fn with<'v>(&self, value: &'v DeValue<'v>) -> Field<'v>
    where
        't: 'v,
    {
        Field { value, ..*self }
    }

    fn item(&self, item: &'t Spanned<DeValue<'t>>) -> Self {
        Self {
            at: item.span().start,
            ..self.with(item.get_ref())
        }
    }
}

fn whole(number: &DeInteger<'_>) -> Option<f64> {
    let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
    Some(number as f64)
}

/// How deep brackets are nested, as in the crate `toml`.
const BRACKETS: u32 = 80;

/// Parses the text of a scenario.
///
/// The crate `toml` bounds how deep brackets are nested and how long a dotted key is, but not the
/// two together. Eighty brackets with eighty dots each make tables so deep that dropping them
/// overflows the stack. Scenarios have no use for dotted keys, so they are refused before any
/// table is made.
pub(crate) fn parse(text: &str) -> Result<DeTable<'_>, Flaw> {
    if text.len() > limits::FILE_BYTES {
        return Err(Flaw::new(
            0,
            format!(
                "the file has {} bytes, but a scenario has at most {}",
                text.len(),
                limits::FILE_BYTES
            ),
        ));
    }
    if let Some(at) = first_dot(text) {
        return Err(Flaw::new(
            at,
            "there are no dotted keys in a scenario; write the inner table in braces",
        ));
    }
    let parsed = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Flaw::new(at, format!("this is not TOML: {}", error.message()))
    })?;
    Ok(parsed.into_inner())
}

/// Where the first dot between two keys is.
fn first_dot(text: &str) -> Option<usize> {
    let tokens = Source::new(text).lex().into_vec();
    let mut dot = None;
    let mut see = |event: Event| {
        if event.kind() == EventKind::KeySep {
            dot.get_or_insert(event.span().start());
        }
    };
    // Text that is not TOML is found by the parse that follows.
    parse_document(
        &tokens,
        &mut RecursionGuard::new(&mut see, BRACKETS),
        &mut (),
    );
    dot
}
