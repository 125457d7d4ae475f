//! The actions of a thread, and how they are written.

use punctual_core::strategies::Defaults;
use punctual_core::{Method, Nanos, StrategySpec};
use punctual_program::Setting;
use punctual_program::lengths::{Law, Lengths};
use punctual_program::probe::Probe;
use punctual_program::program::{Due, LoopClock, Op, SpawnKind};
use punctual_program::setting::{Policy, Power, Priority, Requester, Reservation, Throttling};

use super::error::{Flaw, list, short};
use super::file::{Methods, Step, Verb, When, With};
use super::limits;
use super::table::{Field, Table};

/// Each verb with the keys that can stand beside it.
pub(super) const VERBS: [(&str, &[&str]); 25] = [
    ("sleep", &["method", "tolerance"]),
    ("timeout", &["method", "clock"]),
    ("wait", &["with", "or"]),
    ("work", &[]),
    ("pace", &[]),
    ("until", &[]),
    ("request", &["by", "on_battery"]),
    ("release", &["by"]),
    ("hold", &["until", "by", "on_battery"]),
    ("slack", &[]),
    ("priority", &[]),
    ("nice", &[]),
    ("slice", &[]),
    ("policy", &["at", "runtime", "deadline", "period"]),
    ("quota", &["period", "burst"]),
    ("weight", &[]),
    ("window", &["audible"]),
    ("throttling", &[]),
    ("power", &[]),
    ("pin", &[]),
    ("read", &[]),
    ("signal", &[]),
    ("await", &[]),
    ("loop", &["times"]),
    ("spawn", &["as", "do"]),
];

/// The verbs that are written as a string, having nothing beside them.
pub(super) const BARE: [&str; 2] = ["yield", "exit"];

fn verb_names() -> String {
    list(VERBS.into_iter().map(|(verb, _)| verb).chain(BARE))
}

/// Reads the steps of one file, and counts them.
#[derive(Default)]
pub(crate) struct Steps {
    count: usize,
    /// Further steps that are written as a string here.
    words: &'static [(&'static str, Op)],
}

impl Steps {
    /// Steps among which these words stand for operations too.
    pub(crate) fn with(words: &'static [(&'static str, Op)]) -> Self {
        Self { count: 0, words }
    }

    /// The steps of a list, which is at this depth.
    pub(crate) fn read(&mut self, field: Field<'_>, depth: usize) -> Result<Vec<Step>, Flaw> {
        let items = field.list()?;
        if items.is_empty() {
            return Err(field.flaw(format!("there is nothing to do in this `{}`", field.key)));
        }
        if depth > limits::DEPTH {
            return Err(field.flaw(format!(
                "loops and spawned threads are nested more than {} deep",
                limits::DEPTH
            )));
        }
        items.iter().map(|item| self.step(item, depth)).collect()
    }

    fn step(&mut self, item: &Field<'_>, depth: usize) -> Result<Step, Flaw> {
        self.count += 1;
        if self.count > limits::STEPS {
            return Err(item.flaw(format!("a scenario has at most {} steps", limits::STEPS)));
        }
        if item.is_word() {
            return Ok(Step {
                at: item.placed(()).at,
                verb: Verb::Plain(self.bare(item)?),
            });
        }
        let table = item.table().map_err(|_| {
            item.flaw("a step is a table like { sleep = \"1ms\" }, or \"yield\" or \"exit\"")
        })?;
        let verb = verb_of(&table)?;
        Ok(Step {
            at: verb.key_at,
            verb: self.verb(&table, verb, depth)?,
        })
    }

    fn bare(&self, item: &Field<'_>) -> Result<Op, Flaw> {
        let word = item.word()?;
        if let Some((_, op)) = self.words.iter().find(|(known, _)| *known == word) {
            return Ok(op.clone());
        }
        match word {
            "yield" => Ok(Op::Yield),
            "exit" => Ok(Op::Exit),
            verb if VERBS.iter().any(|(known, _)| *known == verb) => {
                Err(item.flaw(format!("`{verb}` needs a value: write {{ {verb} = ... }}")))
            }
            other => Err(item.flaw(format!(
                "`{other}` is no verb; the verbs are {}",
                verb_names()
            ))),
        }
    }

    fn verb(&mut self, table: &Table<'_>, field: Field<'_>, depth: usize) -> Result<Verb, Flaw> {
        Ok(match field.key {
            "wait" => self.wait(table, field)?,
            "sleep" if is_cycle(&field)? => sleep_cycle(table)?,
            "until" => Verb::Until(when(&field)?),
            "hold" => Verb::Hold {
                interval: field.some_length()?,
                on_battery: on_battery(table)?,
                by: requester(table)?,
                until: when(&table.need("`hold`", "until")?)?,
            },
            "signal" => Verb::Signal(field.word()?.to_owned()),
            "await" => Verb::Await(field.name()?),
            "loop" => Verb::Loop {
                times: table
                    .get("times", |times| times.whole(1..=limits::TIMES))?
                    .unwrap_or(u64::MAX),
                body: self.read(field, depth + 1)?,
            },
            "spawn" => Verb::Spawn {
                name: field.name()?,
                kind: table.need("`spawn`", "as")?.choice(&[
                    ("thread", SpawnKind::Thread),
                    ("process", SpawnKind::Process),
                ])?,
                body: self.read(table.need("`spawn`", "do")?, depth + 1)?,
            },
            "sleep" => {
                let (length, drawn) = self.length(&field)?;
                Verb::Sleep {
                    length,
                    drawn,
                    tolerance: table.get("tolerance", Field::length)?.unwrap_or_default(),
                    methods: methods(table)?,
                }
            }
            "timeout" => Verb::Plain(Op::Timeout {
                clock: table
                    .need("`timeout`", "clock")?
                    .choice(&[("precise", LoopClock::Precise), ("ticks", LoopClock::Ticks)])?,
                method: method(table)?,
                length: field.some_length()?,
            }),
            "work" => {
                let (length, drawn) = self.length(&field)?;
                Verb::Plain(with_length(drawn, Op::Work(length)))
            }
            "pace"
                if field.table().is_ok()
                    || field.is_word() && field.word()?.parse::<Nanos>().is_ok() =>
            {
                let (length, drawn) = self.length(&field)?;
                let gaps = drawn.unwrap_or(Lengths {
                    law: Law::Fixed(length),
                    min: Nanos::ZERO,
                    stream: 0,
                });
                if gaps.mean() < limits::GAP {
                    return Err(field.flaw(format!(
                        "`pace` has gaps of less than {} on average",
                        limits::GAP.exact()
                    )));
                }
                Verb::Plain(Op::Cycles(gaps))
            }
            "pace" => {
                let rate = field.number_or_word()?.parse();
                Verb::Plain(Op::Pace(rate.map_err(|why: String| field.flaw(why))?))
            }
            "pin" => Verb::Plain(Op::Pin(field.whole(0..=limits::CPU)? as usize)),
            "read" => Verb::Plain(Op::Read(
                field.choice(&Probe::IN_SCENARIOS.map(|probe| (probe.name(), probe)))?,
            )),
            // The remaining verbs change a setting.
            _ => Verb::Plain(Op::Set(setting(table, field)?)),
        })
    }
}

/// Whether this is a step until the next cycle.
fn is_cycle(field: &Field<'_>) -> Result<bool, Flaw> {
    Ok(field.is_word() && field.word()? == "cycle")
}

/// The operation with a length that is drawn, if one is.
fn with_length(drawn: Option<Lengths>, op: Op) -> Op {
    match drawn {
        Some(lengths) => Op::Drawn(lengths, Box::new(op)),
        None => op,
    }
}

/// The one verb in a step's table, nothing else being in it but what belongs
/// to the verb.
fn verb_of<'t>(table: &Table<'t>) -> Result<Field<'t>, Flaw> {
    let known = |key| VERBS.iter().find(|(verb, _)| *verb == key);
    let mut found: Vec<_> = table
        .fields()
        .iter()
        .filter_map(|field| Some((*field, known(field.key)?.1)))
        .collect();
    // One verb's key is another's modifier: `until` beside `hold`.
    let beside: Vec<_> = found.iter().flat_map(|(_, keys)| *keys).collect();
    found.retain(|(field, _)| !beside.contains(&&field.key));
    match &found[..] {
        [] => Err(no_verb(table)),
        [(verb, keys)] => {
            let all: Vec<_> = [verb.key].into_iter().chain(keys.iter().copied()).collect();
            table.only(&format!("`{}`", verb.key), &all)?;
            Ok(*verb)
        }
        [(first, _), (second, _), ..] => Err(Flaw::new(
            second.key_at,
            format!(
                "`{}` and `{}` are two verbs; write each in braces of its own",
                first.key, second.key
            ),
        )),
    }
}

fn no_verb(table: &Table<'_>) -> Flaw {
    let verbs = verb_names();
    match table.fields().first() {
        None => Flaw::new(
            table.at,
            format!("there is no verb here; the verbs are {verbs}"),
        ),
        Some(field) if BARE.contains(&field.key) => Flaw::new(
            field.key_at,
            format!("`{0}` is written \"{0}\", without braces", field.key),
        ),
        Some(field) => Flaw::new(
            field.key_at,
            format!("`{}` is no verb; the verbs are {verbs}", short(field.key)),
        ),
    }
}

fn method(table: &Table<'_>) -> Result<Method, Flaw> {
    Ok(table.get("method", one_method)?.unwrap_or(Method::Sleep))
}

fn one_method(field: &Field<'_>) -> Result<Method, Flaw> {
    field.word()?.parse().map_err(|why: String| field.flaw(why))
}

/// One call, or a list.
fn methods(table: &Table<'_>) -> Result<Methods, Flaw> {
    let read = |field: &Field<'_>| {
        if field.is_word() {
            return Ok(vec![one_method(field)?]);
        }
        let all: Result<Vec<_>, _> = field.list()?.iter().map(one_method).collect();
        match all? {
            all if (1..=limits::METHODS).contains(&all.len()) => Ok(all),
            all => Err(field.flaw(format!(
                "`method` names {} calls; it can name from 1 to {}",
                all.len(),
                limits::METHODS
            ))),
        }
    };
    let all = table.get("method", read)?;
    Ok(Methods(all.unwrap_or_else(|| vec![Method::Sleep])))
}

/// One call until the next cycle: a periodic timer.
fn sleep_cycle(table: &Table<'_>) -> Result<Verb, Flaw> {
    if let Some(tolerance) = table.find("tolerance") {
        return Err(tolerance.flaw("`tolerance` is of a length, not of a cycle; leave it out"));
    }
    let system = StrategySpec::System {
        method: Method::Sleep,
    };
    Ok(Verb::Wait {
        due: Due::NextCycle,
        drawn: None,
        with: With {
            on_windows: system,
            elsewhere: system,
            call: Some(methods(table)?),
        },
        or: None,
    })
}

impl Steps {
    fn wait(&self, table: &Table<'_>, field: Field<'_>) -> Result<Verb, Flaw> {
        let (due, drawn) = if is_cycle(&field)? {
            (Due::NextCycle, None)
        } else {
            let (length, drawn) = self.length(&field)?;
            (Due::After(length), drawn)
        };
        let with = |defaults| match table.find("with") {
            Some(with) => {
                StrategySpec::parse(with.word()?, defaults).map_err(|why: String| with.flaw(why))
            }
            None => Ok(StrategySpec::System {
                method: Method::Sleep,
            }),
        };
        let with = With {
            on_windows: with(Defaults::WINDOWS)?,
            elsewhere: with(Defaults::ELSEWHERE)?,
            call: None,
        };
        let or = table.get("or", Field::name)?;
        Ok(Verb::Wait {
            due,
            drawn,
            with,
            or,
        })
    }

    /// A length, and the lengths of which one is drawn in its place each time.
    fn length(&self, field: &Field<'_>) -> Result<(Nanos, Option<Lengths>), Flaw> {
        const LAWS: [&str; 3] = ["uniform", "exponential", "recorded"];
        let Ok(table) = field.table() else {
            return Ok((field.length()?, None));
        };
        table.only(
            "a length that is drawn",
            &["uniform", "exponential", "recorded", "min"],
        )?;
        let laws: Vec<_> = LAWS.iter().filter_map(|law| table.find(law)).collect();
        let [law] = &laws[..] else {
            return Err(field.flaw(format!(
                "a length is drawn by one of {}, like {{ exponential = \"2ms\" }}",
                list(LAWS)
            )));
        };
        let lengths = || -> Result<Vec<Nanos>, Flaw> {
            law.list()?.iter().map(|length| length.length()).collect()
        };
        let law = match law.key {
            "exponential" => Law::Exponential(law.some_length()?),
            "uniform" => match lengths()?[..] {
                [from, to] if from <= to => Law::Uniform(from, to),
                _ => {
                    return Err(law.flaw(
                        "`uniform` is a list of the shortest and the longest, like [\"1ms\", \"3ms\"]",
                    ));
                }
            },
            _ => match lengths()? {
                list if (1..=limits::RECORDED).contains(&list.len()) => Law::Recorded(list),
                list => {
                    return Err(law.flaw(format!(
                        "`recorded` has {} lengths; it can have from 1 to {}",
                        list.len(),
                        limits::RECORDED
                    )));
                }
            },
        };
        let lengths = Lengths {
            law,
            min: table.get("min", Field::some_length)?.unwrap_or_default(),
            // The draws of one step are independent of those of another.
            stream: self.count,
        };
        Ok((lengths.mean(), Some(lengths)))
    }
}

/// A phase by name, or else a length.
fn when(field: &Field<'_>) -> Result<When, Flaw> {
    if field.is_word() && field.word()?.parse::<Nanos>().is_err() {
        return Ok(When::Phase(field.name()?));
    }
    Ok(When::After(field.placed(field.length()?)))
}

/// One of the verbs that change a setting; the last is `power`.
fn setting(table: &Table<'_>, field: Field<'_>) -> Result<Setting, Flaw> {
    Ok(match field.key {
        "request" => Setting::Request {
            interval: field.some_length()?,
            on_battery: on_battery(table)?,
            by: requester(table)?,
        },
        "release" => Setting::Release {
            interval: field.some_length()?,
            by: requester(table)?,
        },
        "slack" => Setting::Slack(field.length()?),
        "priority" => Setting::Priority(
            field.choice(&Priority::ALL.map(|priority| (priority.name(), priority)))?,
        ),
        "nice" => Setting::Nice(field.nice()?),
        "slice" => Setting::Slice(field.length()?),
        "policy" => Setting::Policy(policy(table, field)?),
        "quota" => Setting::Quota {
            time: field.length()?,
            period: table
                .get("period", Field::some_length)?
                .unwrap_or(Nanos::from_ms(100)),
            burst: table.get("burst", Field::length)?.unwrap_or_default(),
        },
        "weight" => Setting::Weight(field.whole(0..=10_000)? as u16),
        "window" => {
            let (visible, foreground) = field.choice(&[
                ("foreground", (true, true)),
                ("visible", (true, false)),
                ("hidden", (false, false)),
            ])?;
            Setting::Window {
                visible,
                foreground,
                audible: table.get("audible", Field::truth)?.unwrap_or(false),
            }
        }
        "throttling" => Setting::Throttling(field.choice(&[
            ("by-system", Throttling::BySystem),
            ("off", Throttling::HonourRequests),
            ("on", Throttling::IgnoreRequests),
        ])?),
        _ => Setting::Power(field.choice(&[("mains", Power::Mains), ("battery", Power::Battery)])?),
    })
}

/// Each scheduling policy with the keys that belong to it.
const POLICIES: [(&str, &[&str]); 6] = [
    ("other", &[]),
    ("batch", &[]),
    ("idle", &[]),
    ("fifo", &["at"]),
    ("round-robin", &["at"]),
    ("deadline", &["runtime", "deadline", "period"]),
];

fn policy(table: &Table<'_>, field: Field<'_>) -> Result<Policy, Flaw> {
    let (name, keys) = field.choice(&POLICIES.map(|policy| (policy.0, policy)))?;
    let all = POLICIES.iter().flat_map(|(_, keys)| *keys);
    let foreign = all.filter(|key| !keys.contains(key));
    if let Some(foreign) = foreign.filter_map(|key| table.find(key)).next() {
        return Err(Flaw::new(
            foreign.key_at,
            format!("`{}` does not belong to the policy `{name}`", foreign.key),
        ));
    }
    let at = || {
        let at = table.get("at", |at| at.whole(1..=99))?;
        Ok::<_, Flaw>(at.unwrap_or(1) as u8)
    };
    Ok(match name {
        "other" => Policy::Other,
        "batch" => Policy::Batch,
        "idle" => Policy::Idle,
        "fifo" => Policy::Fifo(at()?),
        "round-robin" => Policy::RoundRobin(at()?),
        _ => Policy::Deadline(reservation(table, field)?),
    })
}

/// The reservations that the kernel accepts (`__checkparam_dl`, kernel/sched/deadline.c).
fn reservation(table: &Table<'_>, field: Field<'_>) -> Result<Reservation, Flaw> {
    let beside = r#"`policy = "deadline"`"#;
    let runtime = table.need(beside, "runtime")?.some_length()?;
    let period = table.need(beside, "period")?.some_length()?;
    let deadline = table.get("deadline", Field::some_length)?.unwrap_or(period);
    let is_taken = runtime >= Nanos::new(1_024)
        && runtime <= deadline
        && deadline <= period
        && (Nanos::from_us(100)..=Nanos::from_us(1 << 22)).contains(&period);
    if !is_taken {
        return Err(field.flaw(
            "a reservation has a runtime of at least 1024ns, at most its deadline; that is at most its \
             period; and that is from 100us to 4194304us",
        ));
    }
    Ok(Reservation {
        runtime,
        deadline,
        period,
    })
}

fn requester(table: &Table<'_>) -> Result<Requester, Flaw> {
    let all = [
        ("process", Requester::Process),
        ("driver", Requester::Driver),
    ];
    let by = table.get("by", |by| by.choice(&all))?;
    Ok(by.unwrap_or(Requester::Process))
}

fn on_battery(table: &Table<'_>) -> Result<Option<Nanos>, Flaw> {
    table.get("on_battery", Field::some_length)
}
