//! What a file says in short, written out: `$name` for a text, a word for the
//! steps it stands for, and `sweep` for the same steps with one length after
//! the other.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_sim::{Random, Time};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::scenario::error::Flaw;
use crate::scenario::table::Table;

/// What short forms stand for.
#[derive(Clone, Default)]
pub(super) struct Words<'t> {
    steps: BTreeMap<&'t str, &'t DeArray<'t>>,
    texts: BTreeMap<String, String>,
}

type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Words<'t> {
    /// Those of a table, in which texts are strings and steps are lists.
    pub(super) fn of(table: &'t DeTable<'t>) -> Self {
        let mut words = Self::default();
        for (key, value) in table {
            match value.get_ref() {
                DeValue::String(text) => words.set(key.get_ref(), text),
                DeValue::Array(steps) => _ = words.steps.insert(key.get_ref(), steps),
                _ => {}
            }
        }
        words
    }

    /// From here on `$name` is `text`.
    pub(super) fn set(&mut self, name: &str, text: &str) {
        self.texts.insert(format!("${name}"), text.to_owned());
    }

    /// A text written out.
    pub(super) fn text(&self, text: &str) -> String {
        if !text.contains('$') {
            return text.to_owned();
        }
        let texts = self.texts.iter();
        texts.fold(text.to_owned(), |text, (name, is)| text.replace(name, is))
    }

    /// A value written out.
    pub(super) fn expand(&self, value: &Value<'t>) -> Result<Value<'t>, Flaw> {
        let expanded = match value.get_ref() {
            DeValue::String(text) => DeValue::String(self.text(text).into()),
            DeValue::Array(items) => {
                let mut all = DeArray::new();
                self.items(items, &mut all)?;
                DeValue::Array(all)
            }
            DeValue::Table(table) => {
                let expand = |(key, value): (&Spanned<_>, _)| -> Result<_, Flaw> {
                    Ok((key.clone(), self.expand(value)?))
                };
                DeValue::Table(table.iter().map(expand).collect::<Result<_, _>>()?)
            }
            other => other.clone(),
        };
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
                _ => all.push(self.expand(item)?),
            }
        }
        Ok(())
    }

    /// The steps of a sweep `times` over, with `$sweep` for lengths from `from` to
    /// `to`, evenly spread or drawn at random, and `$nth` for the number of the
    /// turn. `stride` is how many lengths on the next turn is, so that
    /// neighbours differ; `odd` is a turn with a length of its own.
    fn sweep(&self, at: usize, table: &DeTable<'t>, all: &mut DeArray<'t>) -> Result<(), Flaw> {
        const WHOSE: &str = "a sweep";
        let short = |(key, value): (&Spanned<_>, &Value<'t>)| -> Option<Result<_, Flaw>> {
            let is_body = AsRef::<str>::as_ref(key.get_ref()) == "sweep";
            (!is_body).then(|| Ok((key.clone(), self.expand(value)?)))
        };
        let settings: DeTable<'_> = table.iter().filter_map(short).collect::<Result<_, _>>()?;
        let settings = Table::new(at, &settings);
        settings.only(WHOSE, &["times", "from", "to", "stride", "odd", "random"])?;
        let times = settings.need(WHOSE, "times")?.whole(2..=1_000)?;
        let from = settings.need(WHOSE, "from")?.length()?;
        let range = settings.need(WHOSE, "to")?.length()? - from;
        let stride = settings.find("stride").map(|field| field.whole(1..=times));
        let stride = stride.transpose()?.unwrap_or(1);
        let odd = settings.find("odd").map(|field| -> Result<_, Flaw> {
            let odd = field.table()?;
            let nth = odd.need(WHOSE, "nth")?.whole(0..=times)?;
            Ok((nth, odd.need(WHOSE, "length")?.length()?))
        });
        let odd = odd.transpose()?;
        let random = settings.find("random").map(|field| field.number_or_word());
        let mut random = match random.transpose()? {
            Some(draw) => {
                let draw = draw.parse();
                let draw = draw.map_err(|_| Flaw::new(at, "`random` is a whole number"))?;
                Some(Random::new(draw))
            }
            None => None,
        };
        let body = table
            .get("sweep")
            .and_then(|body| body.get_ref().as_array());
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
