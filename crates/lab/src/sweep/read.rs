//! From TOML to a plan.

use std::collections::BTreeMap;

use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_record::sweep::{Axis, By, Sweep};
use punctual_record::{Cost, Value};
use punctual_sim::Model;
use punctual_sim::model::{Parameter, Value as Set};

use super::kept::{hash, written};
use super::values::{numbers, share, text, values};
use super::waits::subject;
use super::{Plan, Seeds, Strategies, Unit, What, scenarios};
use crate::experiments::Ask;
use crate::scenario::error::{Error, Flaw};
use crate::scenario::table::{Field, Table, parse};
use crate::scenario::{self, Scenario};
use crate::workload::Regime;

const WHOSE: &str = "a plan";

const KEYS: [&str; 17] = [
    "title",
    "on",
    "model",
    "strategies",
    "waits",
    "load",
    "asks",
    "weight",
    "warm_up",
    "count",
    "lateness",
    "scenarios",
    "judge",
    "seeds",
    "within",
    "maps",
    "length",
];

/// More would take days, and gigabytes.
const CELLS: usize = 1_000_000;

/// Finds a scenario by its name or path.
type Find<'f> = &'f dyn Fn(&str) -> Result<Scenario, String>;

/// Everything about a plan but its units.
struct Parts {
    on: Vec<String>,
    /// The parameters of the model.
    model: Vec<Axis>,
    waits: Vec<Value>,
    load: Vec<Value>,
    asks: Vec<Value>,
    /// For the hash: what the rows depend on besides.
    other: String,
}

impl Plan {
    /// Reads the plan `name` from the text of its file; `find` knows scenarios by their name or
    /// path.
    ///
    /// # Errors
    /// The text is no plan, or one that no model could run.
    pub fn read(
        name: &str,
        text: &str,
        find: &dyn Fn(&str) -> Result<Scenario, String>,
    ) -> Result<Self, Error> {
        let build = || -> Result<Self, Flaw> {
            let root = parse(text)?;
            let table = Table::new(0, &root);
            table.only(WHOSE, &KEYS)?;
            plan(&table, find)
        };
        build().map_err(|flaw| Error::new(name, text, flaw))
    }
}

fn plan(table: &Table<'_>, find: Find<'_>) -> Result<Plan, Flaw> {
    let on_field = table.need(WHOSE, "on")?;
    let on = words(&on_field)?;
    let model = table.get("model", parameters)?.unwrap_or_default();
    let (what, by, scenarios) = what(table, find)?;
    let [waits, load, asks, weights] = match &what {
        What::Strategies(of) => {
            let waits = waits(&table.need(WHOSE, "waits")?)?;
            let asks = table.get("asks", asks)?.unwrap_or_default();
            [waits, load(table)?, asks, of.weights.clone()]
        }
        What::Scenarios(_) => [vec![], vec![], vec![], vec![]],
    };
    let seeds = seeds(table)?;
    let named = |name: &str, values: Vec<Value>| Axis {
        name: name.to_owned(),
        values,
    };
    let on_values = on.iter().map(|it| it.as_str().into()).collect();
    let mut axes = vec![named("on", on_values), named("scenario", scenarios.clone())];
    axes.extend(model.iter().cloned());
    axes.push(named("waits", waits.clone()));
    axes.push(named("load", load.clone()));
    axes.push(named("asks", asks.clone()));
    axes.push(named("weight", weights));
    let lengths = axes.iter().map(|axis| axis.values.len().max(1));
    let cells = lengths.fold(1, usize::saturating_mul);
    if cells > CELLS {
        return Err(on_field.flaw(format!(
            "the plan has {cells} cells; a plan has at most {CELLS}: leave values out"
        )));
    }
    axes.retain(|axis| axis.values.len() > 1);
    let nothing = Sweep {
        title: table.need(WHOSE, "title")?.line()?,
        by,
        maps: maps(table, &axes)?,
        axes,
        cells: vec![],
        unjudged: 0,
    };
    let other = match &what {
        What::Strategies(of) => format!("{of:?}"),
        What::Scenarios(of) => format!("{:?} {of:?}", nothing.by),
    };
    let Seeds {
        first,
        least,
        most,
        within,
    } = seeds;
    let parts = Parts {
        other: format!("{first} {least} {most} {within}\n{}", written(hash(&other))),
        on,
        model,
        waits,
        load,
        asks,
    };
    let units = parts.units(&scenarios).map_err(|why| on_field.flaw(why))?;
    let keys = units.iter().map(|unit| unit.key);
    let by_key: BTreeMap<u64, usize> = keys.zip(0..).collect();
    if by_key.len() < units.len() {
        return Err(on_field.flaw("two of its cells have the same hash; begin with another seed"));
    }
    let plan = Plan {
        nothing,
        what,
        seeds,
        units,
        by_key,
    };
    plan.check().map_err(|why| on_field.flaw(why))?;
    Ok(plan)
}

impl Parts {
    /// Every place on the axes but the weight's.
    fn units(&self, scenarios: &[Value]) -> Result<Vec<Unit>, String> {
        let or_nothing = |values: &[Value]| match values {
            [] => vec![Value::Null],
            some => some.to_vec(),
        };
        let mut units = Vec::new();
        let with_settings = |on| self.settings().map(move |setting| (on, setting));
        for (on, setting) in self.on.iter().flat_map(with_settings) {
            let (model, columns) = self.model(on, &setting)?;
            for (scenario, name) in or_nothing(scenarios).iter().enumerate() {
                for waits in or_nothing(&self.waits) {
                    let loads = or_nothing(&self.load);
                    let asks = or_nothing(&self.asks);
                    let here = loads
                        .iter()
                        .flat_map(|load| asks.iter().map(move |ask| (load, ask)));
                    for (load, ask) in here {
                        let mut columns = columns.clone();
                        let here = [
                            ("scenario", name),
                            ("waits", &waits),
                            ("load", load),
                            ("asks", ask),
                        ];
                        for (column, value) in here.into_iter().filter(|it| !it.1.is_null()) {
                            columns.insert(column.to_owned(), value.clone());
                        }
                        let hashed = format!(
                            "{}\n{model}\n{columns:?}\n{scenario}\n{}",
                            env!("CARGO_PKG_VERSION"),
                            self.other
                        );
                        units.push(Unit {
                            key: hash(&hashed),
                            model: model.clone(),
                            columns,
                            waits: waits.as_str().map(regime).transpose()?,
                            load: load.as_u64().unwrap_or(0),
                            ask: ask.as_str().map_or(Ok(Ask::Nobody), str::parse)?,
                            scenario,
                        });
                    }
                }
            }
        }
        Ok(units)
    }

    /// Every choice of the model's parameters.
    fn settings(&self) -> impl Iterator<Item = Vec<&Value>> {
        let count: usize = self.model.iter().map(|axis| axis.values.len()).product();
        (0..count).map(|mut number| {
            let mut setting: Vec<&Value> = Vec::new();
            // The last axis varies first.
            for axis in self.model.iter().rev() {
                setting.push(&axis.values[number % axis.values.len()]);
                number /= axis.values.len();
            }
            setting.reverse();
            setting
        })
    }

    /// The model `on` so set, and what its rows say of that.
    fn model(
        &self,
        on: &str,
        setting: &[&Value],
    ) -> Result<(String, BTreeMap<String, Value>), String> {
        let with = |pairs: &[(&str, String)]| {
            let given = pairs.iter().map(|(key, value)| format!(",{key}={value}"));
            Model::parse(&format!("{on}{}", given.collect::<String>()))
        };
        let names = self.model.iter().map(|axis| axis.name.as_str());
        let pairs = || names.clone().zip(setting);
        let plain = pairs().filter(|(_, value)| share(value).is_none());
        let mut given: Vec<_> = plain.map(|(key, value)| (key, text(value))).collect();
        let mut model = with(&given)?;
        for (key, value) in pairs() {
            let Some((part, of)) = share(value) else {
                continue;
            };
            let length = |(it, value): &(Parameter, Set)| match value {
                Set::Length(length) if it.key == of => Some(length.as_ns()),
                _ => None,
            };
            let whole = (model.parameters().iter().find_map(length)).ok_or_else(|| {
                format!("`{key}`: {on} has no length `{of}` that {value} could be of")
            })?;
            given.push((key, Nanos::new((whole as f64 * part) as u64).exact()));
            model = with(&given)?;
        }
        let mut columns = BTreeMap::new();
        if self.on.len() > 1 {
            columns.insert("on".to_owned(), on.into());
        }
        for (key, value) in pairs() {
            columns.insert(key.to_owned(), (*value).clone());
            let set = model.parameters().iter().find(|(it, _)| it.key == key);
            if let Some((_, Set::Length(length))) = set {
                columns.insert(format!("{key}_ns"), length.as_ns().into());
            }
        }
        Ok((model.name().to_owned(), columns))
    }
}

impl Plan {
    /// Whether the first unit of each model, and of each request, can be run.
    fn check(&self) -> Result<(), String> {
        let kinds = self
            .units
            .iter()
            .map(|unit| ((unit.partition(), unit.ask), unit));
        let first: BTreeMap<_, _> = kinds.rev().collect();
        for unit in first.values() {
            match &self.what {
                What::Strategies(of) => super::waits::check(of, unit)?,
                What::Scenarios(of) => {
                    let model = Model::parse(&unit.model)?;
                    of.iter().try_for_each(|it| scenario::check(it, &model))?;
                }
            }
        }
        Ok(())
    }
}

/// The content, the measure, and the names of the scenarios.
fn what(table: &Table<'_>, find: Find<'_>) -> Result<(What, By, Vec<Value>), Flaw> {
    let only_for = |keys: &[&str], other: &str| {
        let given = keys.iter().find_map(|key| table.find(key));
        given.map_or(Ok(()), |field| {
            Err(field.flaw(format!(
                "`{}` has no meaning in a plan of {other}; leave it out",
                field.key
            )))
        })
    };
    let Some(field) = table.find("scenarios") else {
        let field = table.need("a plan without `scenarios`", "strategies")?;
        only_for(&["judge", "length"], "strategies")?;
        let of = strategies(table, &field)?;
        let by = By::Cost {
            of: subject(&of.texts[0]),
            cost: of.cost,
        };
        return Ok((What::Strategies(of), by, vec![]));
    };
    only_for(
        &[
            "strategies",
            "waits",
            "load",
            "asks",
            "weight",
            "warm_up",
            "count",
            "lateness",
        ],
        "scenarios",
    )?;
    let names = words(&field)?;
    let length = table.get("length", |at| Ok((at.length()?, *at)))?;
    let found = |name: &String| {
        let scenario = find(name).map_err(|why| field.flaw(why))?;
        match length {
            Some((length, at)) => scenario.with_length(length).map_err(|why| at.flaw(why)),
            None => Ok(scenario),
        }
    };
    let found: Vec<Scenario> = names.iter().map(found).collect::<Result<_, _>>()?;
    let by = scenarios::judge(&table.need("a plan of scenarios", "judge")?, &found)?;
    let names = found.iter().map(|it| it.name.as_str().into()).collect();
    Ok((What::Scenarios(found), by, names))
}

fn strategies(table: &Table<'_>, field: &Field<'_>) -> Result<Strategies, Flaw> {
    let texts = words(field)?;
    if texts.len() < 2 {
        return Err(field.flaw(
            "a plan compares the first of its strategies with the others: name two or more",
        ));
    }
    for (i, text) in texts.iter().enumerate() {
        if let Some(other) = texts[..i].iter().find(|it| subject(it) == subject(text)) {
            return Err(field.flaw(format!(
                "rows have the same name for `{other}` and `{text}`; leave one of them out"
            )));
        }
    }
    let of_weights = |it| StrategySpec::WEIGHTS.contains(&it);
    let weights = |field: &Field<'_>| numbers(field, "a weight from 0.01 to 10000", of_weights);
    let weights = table.get("weight", weights)?.unwrap_or_else(|| {
        let usual = punctual_record::WEIGHTS;
        usual.map(|it| Value::from(it as u64)).into()
    });
    let count = |key| table.get(key, |field| field.whole(0..=100_000));
    let warm_up = count("warm_up")?.unwrap_or(200);
    let counted = count("count")?.unwrap_or(400);
    if counted == 0 {
        return Err(field.flaw("`count` cannot be zero: nothing would count"));
    }
    let cost = table.get("lateness", |field| match field.word()? {
        "whole" => Ok(Cost::default()),
        _ => {
            Err(field.flaw("`lateness` is \"whole\"; without it at most 1 ms of a lateness counts"))
        }
    })?;
    Ok(Strategies {
        texts,
        weights,
        waits: (warm_up as usize, counted as usize),
        cost: cost.unwrap_or(Cost::CAPPED),
    })
}

fn words(field: &Field<'_>) -> Result<Vec<String>, Flaw> {
    let words = values(field)?;
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let words: Option<Vec<String>> = words.iter().map(word).collect();
    words.ok_or_else(|| field.flaw(format!("`{}` must be names in quotes", field.key)))
}

/// The parameters of the model, each with its values.
fn parameters(field: &Field<'_>) -> Result<Vec<Axis>, Flaw> {
    let table = field.table()?;
    let axis = |field: &Field<'_>| {
        Ok(Axis {
            name: field.key.to_owned(),
            values: values(field)?,
        })
    };
    table.fields().iter().map(axis).collect()
}

fn waits(field: &Field<'_>) -> Result<Vec<Value>, Flaw> {
    for word in words(field)? {
        regime(&word).map_err(|why| field.flaw(why))?;
    }
    values(field)
}

/// Requests for a timer interval.
fn asks(field: &Field<'_>) -> Result<Vec<Value>, Flaw> {
    for word in words(field)? {
        word.parse::<Ask>().map_err(|why| field.flaw(why))?;
    }
    values(field)
}

fn regime(text: &str) -> Result<Regime, String> {
    let rate = text.strip_suffix("Hz").map(str::trim);
    let whole = rate.and_then(|hz| hz.parse().ok());
    match whole.filter(|hz| (1..=1_000_000).contains(hz)) {
        Some(hz) => Ok(Regime::Rate(hz)),
        None if rate.is_some() => {
            let rate: Rate = text.parse()?;
            Ok(Regime::Every(rate.period().into()))
        }
        None => text.parse::<Regime>().and_then(|regime| match regime {
            Regime::Burst => Err("`burst` rests on the real clock; leave it out".to_owned()),
            other => Ok(other),
        }),
    }
}

fn load(table: &Table<'_>) -> Result<Vec<Value>, Flaw> {
    const WHAT: &str = "a number of threads for each CPU, from 0 to 16";
    let is_right = |it: f64| (0.0..=16.0).contains(&it) && it.fract() == 0.0;
    let load = table.get("load", |field| numbers(field, WHAT, is_right))?;
    Ok(load.unwrap_or_else(|| vec![0.into()]))
}

fn seeds(table: &Table<'_>) -> Result<Seeds, Flaw> {
    const MOST: u64 = 10_000;
    let share = |field: &Field<'_>| {
        let text = field.word()?.strip_suffix('%');
        let share = text.and_then(|it| it.trim().parse::<f64>().ok());
        let share = share.filter(|share| (0.0..=100.0).contains(share));
        share.ok_or_else(|| field.flaw("`within` is a percentage, like \"2%\""))
    };
    let within = table
        .get("within", share)?
        .map_or(0.02, |share| share / 100.0);
    let plain = Seeds {
        first: 1,
        least: 6,
        most: 24,
        within,
    };
    let Some(field) = table.find("seeds") else {
        return Ok(plain);
    };
    let Ok(range) = field.table() else {
        let count = field.whole(1..=MOST)?;
        return Ok(Seeds {
            least: count,
            most: count,
            ..plain
        });
    };
    range.only("`seeds`", &["first", "least", "most"])?;
    let read = |key, from| range.get(key, |field| field.whole(from..=MOST));
    let first = read("first", 0)?.unwrap_or(plain.first);
    let least = read("least", 1)?.unwrap_or(plain.least);
    let most = read("most", least)?.unwrap_or(plain.most.max(least));
    Ok(Seeds {
        first,
        least,
        most,
        within,
    })
}

/// The pairs of axes to draw; by default the two with the most values.
fn maps(table: &Table<'_>, axes: &[Axis]) -> Result<Vec<[usize; 2]>, Flaw> {
    let Some(field) = table.find("maps") else {
        let mut most: Vec<usize> = (0..axes.len()).collect();
        most.sort_by_key(|i| std::cmp::Reverse(axes[*i].values.len()));
        return Ok(match most[..] {
            [x, y, ..] => vec![[x, y]],
            _ => vec![],
        });
    };
    let axis = |item: &Field<'_>| {
        let name = item.word()?;
        let at = axes.iter().position(|axis| axis.name == name);
        at.ok_or_else(|| {
            let names: Vec<_> = axes.iter().map(|axis| axis.name.as_str()).collect();
            item.flaw(format!(
                "`{name}` does not vary; what does is {}",
                names.join(", ")
            ))
        })
    };
    let pair = |item: &Field<'_>| match &item.list()?[..] {
        [x, y] => Ok([axis(x)?, axis(y)?]),
        _ => Err(item.flaw("a map has two axes, as [\"waits\", \"load\"]")),
    };
    field.list()?.iter().map(pair).collect()
}
