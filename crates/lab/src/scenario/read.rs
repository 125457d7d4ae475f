//! From TOML to a [`File`]: every key read, checked by itself, and no other.

use punctual_core::Nanos;
use toml::de::DeTable;

use super::error::{Flaw, list};
use super::expect::{Figure, Scope, Target, Unit};
use super::file::{Expected, File, Phase, Process};
use super::limits;
use super::parameters::each;
use super::table::{Field, Placed, Table};
use super::verbs::Steps;

/// Checks the name of a model, and returns how the model calls itself.
pub(super) type Models<'m> = &'m dyn Fn(&str) -> Result<String, String>;

const KEYS: [&str; 7] = [
    "title", "about", "source", "on", "phase", "process", "expect",
];

/// Reads a whole file.
pub(super) fn file(root: &DeTable<'_>, models: Models<'_>) -> Result<File, Flaw> {
    let table = Table::new(0, root);
    table.only("a scenario", &KEYS)?;
    let title = table.need("a scenario", "title")?.line()?;
    let source = table.get("source", Field::source)?;
    let about = table.get("about", Field::prose)?.unwrap_or_default();
    let on = on(&table.need("a scenario", "on")?, models)?;
    Ok(File {
        title,
        about,
        phases: phases(&table.need("a scenario", "phase")?)?,
        processes: processes(&table.need("a scenario", "process")?)?,
        expects: table
            .get("expect", |field| {
                expects(field, source.as_deref(), &on, models)
            })?
            .unwrap_or_default(),
        source,
        on,
    })
}

fn on(field: &Field<'_>, models: Models<'_>) -> Result<Vec<String>, Flaw> {
    let items = field.filled(limits::MODELS)?;
    let mut on = Vec::new();
    for item in items {
        let name = model(&item, models)?;
        if on.contains(&name.value) {
            return Err(item.flaw(format!("the model `{}` is named twice", name.value)));
        }
        on.push(name.value);
    }
    Ok(on)
}

fn model(field: &Field<'_>, models: Models<'_>) -> Result<Placed<String>, Flaw> {
    let name = models(field.word()?).map_err(|why| field.flaw(why))?;
    Ok(field.placed(name))
}

fn phases(field: &Field<'_>) -> Result<Vec<Phase>, Flaw> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut total = Nanos::ZERO;
    for item in field.filled(limits::PHASES)? {
        let table = item.table()?;
        table.only("a phase", &["name", "for"])?;
        let names = table.need("a phase", "name")?;
        let length_field = table.need("a phase", "for")?;
        let length = length_field.some_length()?;
        for name_field in names.filled_or_one(limits::PHASES)? {
            let name = name_field.name()?.value;
            if name.parse::<Nanos>().is_ok() {
                return Err(name_field.flaw(format!(
                    "`{name}` is a length; give the phase a name that `until` cannot mistake for one"
                )));
            }
            if phases.iter().any(|phase| phase.name == name) {
                return Err(name_field.flaw(format!("there are two phases `{name}`")));
            }
            if phases.len() == limits::PHASES {
                let message = format!("a scenario has at most {} phases", limits::PHASES);
                return Err(name_field.flaw(message));
            }
            total += length;
            if total > limits::LENGTH {
                return Err(length_field.flaw(format!(
                    "the phases are longer than {} together",
                    limits::LENGTH.exact()
                )));
            }
            phases.push(Phase { name, length });
        }
    }
    Ok(phases)
}

fn processes(field: &Field<'_>) -> Result<Vec<Process>, Flaw> {
    let mut steps = Steps::default();
    let read = |table: &Table<'_>| {
        table.only("a process", &["for", "name", "count", "do"])?;
        Ok(Process {
            name: table.need("a process", "name")?.name()?,
            count: table
                .get("count", |count| count.whole(1..=limits::COUNT))?
                .unwrap_or(1),
            steps: steps.read(table.need("a process", "do")?, 1)?,
        })
    };
    each(field, limits::STEPS, read)
}

fn expects(
    field: &Field<'_>,
    source: Option<&str>,
    on: &[String],
    models: Models<'_>,
) -> Result<Vec<Expected>, Flaw> {
    let mut count = 0;
    let read = |table: &Table<'_>| {
        let expected = expect(table, source, on, models)?;
        count += expected.phases.len().max(1) * expected.on.len().max(1);
        if count > limits::EXPECTS {
            let message = format!(
                "a scenario expects at most {} things, lists of phases and models taken apart",
                limits::EXPECTS
            );
            return Err(Flaw::new(table.at, message));
        }
        Ok(expected)
    };
    each(field, limits::EXPECTS, read)
}

fn expect(
    table: &Table<'_>,
    source: Option<&str>,
    on: &[String],
    models: Models<'_>,
) -> Result<Expected, Flaw> {
    const WHOSE: &str = "an expectation";
    table.only(
        WHOSE,
        &[
            "for", "phase", "on", "of", "what", "is", "within", "from", "to", "at_least",
            "at_most", "source",
        ],
    )?;
    let what_field = table.need(WHOSE, "what")?;
    let what = what_field.choice(&Figure::NAMED)?;
    let of = table.find("of");
    match of {
        Some(of) if what.scope() == Scope::Computer => {
            return Err(of.flaw(format!("`{what}` is of the computer: leave out `of`")));
        }
        None if what.scope() == Scope::Threads => {
            return Err(what_field.flaw(format!("`{what}` needs `of`: the name of its threads")));
        }
        _ => {}
    }
    let source = match table.find("source") {
        Some(field) => field.source()?,
        None => source.map(str::to_owned).ok_or_else(|| {
            Flaw::new(
                table.at,
                "an expectation needs `source`, as the scenario has none",
            )
        })?,
    };
    Ok(Expected {
        at: table.at,
        phases: some_names(table, "phase", &|field| field.name())?,
        on: some_names(table, "on", &|field| listed(field, on, models))?,
        of: of.map(|of| of.name()).transpose()?,
        what,
        target: target(table, what.unit())?,
        source,
    })
}

/// A name, or a list of them; none if the key is not there.
fn some_names(
    table: &Table<'_>,
    key: &str,
    read: &dyn Fn(&Field<'_>) -> Result<Placed<String>, Flaw>,
) -> Result<Vec<Placed<String>>, Flaw> {
    let names = table.get(key, |field| match &field.list_or_one()[..] {
        [] => Err(field.flaw(format!("`{key}` is empty: leave it out, or name one"))),
        items => items.iter().map(read).collect(),
    })?;
    Ok(names.unwrap_or_default())
}

/// A model that the scenario is meant for. An expectation of another model would never be checked.
fn listed(field: &Field<'_>, on: &[String], models: Models<'_>) -> Result<Placed<String>, Flaw> {
    let name = model(field, models)?;
    if !on.contains(&name.value) {
        return Err(field.flaw(format!(
            "the scenario is not meant for `{}`; it is for {}",
            name.value,
            list(on.iter().map(String::as_str))
        )));
    }
    Ok(name)
}

pub(crate) fn target(table: &Table<'_>, unit: Unit) -> Result<Target, Flaw> {
    let find = |key| table.find(key);
    let keys = ["is", "from", "to", "within", "at_least", "at_most"];
    let given: Vec<_> = keys.into_iter().filter_map(find).collect();
    match &given[..] {
        [is, within] if (is.key, within.key) == ("is", "within") => {
            let value = quantity(is, unit)?;
            let within = distance(within, value, unit)?;
            Ok(Target::Near { value, within })
        }
        [from_field, to_field, within @ ..]
            if (from_field.key, to_field.key) == ("from", "to")
                && within.iter().all(|field| field.key == "within") =>
        {
            let (from, to) = (quantity(from_field, unit)?, quantity(to_field, unit)?);
            if from > to {
                return Err(to_field.flaw("`to` is less than `from`"));
            }
            let beyond = |edge| within.first().map_or(Ok(0.0), |w| distance(w, edge, unit));
            Ok(Target::Between {
                from: from - beyond(from)?,
                to: to + beyond(to)?,
            })
        }
        [field] if field.key == "at_least" => Ok(Target::AtLeast(quantity(field, unit)?)),
        [field] if field.key == "at_most" => Ok(Target::AtMost(quantity(field, unit)?)),
        _ => Err(Flaw::new(
            table.at,
            "an expectation has `is` and `within`, or `from` and `to`, or `at_least`, or `at_most`",
        )),
    }
}

/// A length or a number, whichever the figure is.
pub(crate) fn quantity(field: &Field<'_>, unit: Unit) -> Result<f64, Flaw> {
    let number = match unit {
        Unit::Length => return Ok(field.length()?.as_ns() as f64),
        _ => field.number(),
    };
    let wanted = || field.flaw(format!("`{}` must be a number for this figure", field.key));
    let number = number.ok_or_else(wanted)??;
    if number < 0.0 || unit == Unit::Share && number > 1.0 {
        return Err(field.flaw(match unit {
            Unit::Share => format!("`{}` must be a share, from 0 to 1", field.key),
            _ => format!("`{}` cannot be below zero", field.key),
        }));
    }
    Ok(number)
}

/// How far from `value`: a quantity, or per cent of it.
fn distance(field: &Field<'_>, value: f64, unit: Unit) -> Result<f64, Flaw> {
    if !field.is_word() {
        return quantity(field, unit);
    }
    let Some(per_cent) = field.word()?.strip_suffix('%') else {
        return quantity(field, unit);
    };
    let per_cent = per_cent.trim_end();
    let plain = per_cent.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let per_cent: Option<f64> = per_cent.parse().ok().filter(|_| plain);
    per_cent
        .map(|per_cent| value * per_cent / 100.0)
        .ok_or_else(|| field.flaw("a percentage is written like \"1%\" or \"0.5%\""))
}
