//! The observed figures of a row, and their bounds.

use punctual_core::Nanos;
use punctual_program::machine::{Section, ThreadObservations};
use punctual_program::probe::Probe;
use punctual_program::{Observations, Program, Refusal};
use punctual_record::nearest_rank;
use punctual_sim::trace::{Happened, Trace};
use punctual_sim::{Model, SimMachine};

use crate::scenario::error::Flaw;
use crate::scenario::read::{quantity, target};
use crate::scenario::table::{Field, Table};
use crate::scenario::{Target, Unit};

/// Every row is run once, always with the same chances.
pub(super) const SEED: u64 = 1;

/// One figure to look at.
#[derive(Clone, Debug)]
pub(super) struct See {
    what: What,
    stat: Stat,
    /// Of which thread; of the first, if it is empty.
    of: String,
    /// Which section of it, which is a phase if phases are all that begins one;
    /// the last, if there is none.
    section: Option<usize>,
    /// The amount that this subtracts from each value.
    less: Less,
    /// How many of the first values do not count.
    skip: usize,
    /// Only values from here to there count.
    over: i64,
    under: i64,
    /// Each value is so many times what is looked for.
    divide: i64,
    /// How long a count took.
    per: Nanos,
    /// In which unit values are shown, rounded down; without one, in their own.
    unit: Option<i64>,
    /// Whether it is shown only where the row names its number.
    quiet: bool,
    held: Held,
    /// How the file says how far from it is still the same.
    within: Option<String>,
}

/// The things to observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// How long sleeps and waits last, from the call to the end.
    Slept,
    /// How long after the time asked for they end.
    Late,
    /// When they end, counted from the beginning of the section.
    Woke,
    /// From the end of one to the end of the next.
    Frame,
    /// How many a second end.
    Wakes,
    /// A reading of the OS.
    Reading(Probe),
    /// Settings that the OS refused, section by section.
    Denied,
    /// The share of a CPU.
    Cpu,
    /// Interrupts of the computer.
    Interrupts,
    /// The deepest idle state that a CPU entered.
    IdleState,
    /// How long turns on the first CPU are. The first two may begin anywhere,
    /// and the end cuts the last ones short.
    Turns,
}

/// The statistics of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stat {
    /// All of them, shown as the least and the most.
    All,
    /// All of them, one after the other.
    Each,
    Mean,
    Min,
    Max,
    P50,
    P99,
    /// The most less the least.
    Spread,
    /// How many there are.
    Count,
    /// How many too many or too few the worst tenth of the range has.
    Unevenness,
}

#[derive(Clone, Debug)]
enum Less {
    Nothing,
    Length(i64),
    /// The figure of this number.
    Figure(usize),
}

/// The bounds of each value.
#[derive(Clone, Debug)]
enum Held {
    /// No bounds.
    ToNothing,
    To(Target),
    /// Exactly these, in order.
    ToEach(Vec<f64>),
    ToState(String),
}

/// The observed figure.
#[derive(Debug, Default)]
pub(super) struct Figure {
    pub(super) values: Vec<i64>,
    pub(super) shown: String,
    pub(super) quiet: bool,
    pub(super) holds: bool,
}

const KEYS: [&str; 19] = [
    "what", "of", "section", "skip", "less", "over", "under", "divide", "per", "in", "quiet", "is",
    "within", "from", "to", "at_least", "at_most", "each", "state",
];

const STATS: [(&str, Stat); 10] = [
    ("", Stat::All),
    ("_each", Stat::Each),
    ("_mean", Stat::Mean),
    ("_min", Stat::Min),
    ("_max", Stat::Max),
    ("_p50", Stat::P50),
    ("_p99", Stat::P99),
    ("_spread", Stat::Spread),
    ("_count", Stat::Count),
    ("_unevenness", Stat::Unevenness),
];

impl What {
    fn named() -> impl Iterator<Item = (&'static str, Self)> {
        let readings = Probe::IN_SCENARIOS.map(|probe| (probe.name(), Self::Reading(probe)));
        let others = [
            ("slept", Self::Slept),
            ("late", Self::Late),
            ("woke", Self::Woke),
            ("frame", Self::Frame),
            ("wakes_per_s", Self::Wakes),
            ("denied", Self::Denied),
            ("cpu", Self::Cpu),
            ("interrupts", Self::Interrupts),
            ("idle_state", Self::IdleState),
            ("turns", Self::Turns),
        ];
        others.into_iter().chain(readings)
    }

    /// The unit of its values; rates are in tenths, shares in thousandths.
    fn unit(self) -> Option<Unit> {
        match self {
            Self::Wakes => Some(Unit::PerSecond),
            Self::Cpu => Some(Unit::Share),
            Self::Denied | Self::Interrupts | Self::IdleState => None,
            _ => Some(Unit::Length),
        }
    }
}

impl See {
    pub(super) fn read(table: &Table<'_>) -> Result<Self, Flaw> {
        const WHOSE: &str = "what is seen";
        table.only(WHOSE, &KEYS)?;
        let all = |(name, what)| STATS.map(|(end, stat)| (format!("{name}{end}"), (what, stat)));
        let names: Vec<_> = What::named().flat_map(all).collect();
        let names = names.iter().map(|(name, what)| (name.as_str(), *what));
        let names: Vec<_> = names.collect();
        let (what, stat) = table.need(WHOSE, "what")?.choice(&names)?;
        let length = |key| table.get(key, |field| Ok(ns(field.length()?)));
        let whole = |key| table.get(key, |field| Ok(field.whole(0..=1_000)? as usize));
        let word = |key| table.get(key, Field::word);
        let less = match table.find("less") {
            None => Less::Nothing,
            Some(field) if field.is_word() => Less::Length(ns(field.length()?)),
            Some(field) => Less::Figure(field.whole(1..=1_000)? as usize),
        };
        let unit = match stat {
            Stat::Count | Stat::Unevenness => None,
            _ => what.unit(),
        };
        // A plain number is held to as a rate is.
        let unit = unit.unwrap_or(Unit::PerSecond);
        let has_target = |key: &&str| table.find(key).is_some();
        let held = match (table.find("each"), word("state")?) {
            (Some(each), _) => {
                let each = each.list()?;
                let each = each.iter().map(|each| quantity(each, unit));
                Held::ToEach(each.collect::<Result<_, _>>()?)
            }
            (_, Some(state)) => Held::ToState(state.to_owned()),
            _ if ["is", "from", "at_least", "at_most"].iter().any(has_target) => {
                Held::To(target(table, unit)?)
            }
            _ => Held::ToNothing,
        };
        Ok(Self {
            what,
            stat,
            of: word("of")?.unwrap_or_default().to_owned(),
            section: whole("section")?,
            less,
            skip: whole("skip")?.unwrap_or_default(),
            over: length("over")?.unwrap_or(i64::MIN),
            under: length("under")?.unwrap_or(i64::MAX),
            divide: whole("divide")?.unwrap_or(1).max(1) as i64,
            per: Nanos::new(length("per")?.unwrap_or(1_000_000_000) as u64),
            unit: length("in")?.filter(|unit| *unit > 0),
            quiet: table.get("quiet", Field::truth)?.unwrap_or(false),
            held,
            within: table
                .get("within", Field::number_or_word)?
                .map(str::to_owned),
        })
    }

    pub(super) fn is_held(&self) -> bool {
        !matches!(self.held, Held::ToNothing)
    }

    /// How far from it is still the same, in words.
    pub(super) fn tolerance(&self) -> Option<String> {
        let within = self.within.as_deref()?;
        let digits = within.trim_end_matches(|c: char| c == '%' || c.is_alphabetic());
        Some(match digits {
            "0" => "exact".to_owned(),
            _ => format!("{digits} {}", &within[digits.len()..]),
        })
    }

    fn figure(&self, seen: &[Seen], before: &[Figure]) -> Result<Figure, Refusal> {
        let mut values = Vec::new();
        let mut state = None;
        for seen in seen {
            match self.what {
                What::IdleState => state = Some(deepest(&seen.observations)?),
                _ => values.extend(self.values(seen)?),
            }
        }
        values.drain(..self.skip.min(values.len()));
        if let Less::Length(less) = self.less {
            values.iter_mut().for_each(|value| *value -= less);
        }
        values.retain(|value| (self.over..=self.under).contains(value));
        values.iter_mut().for_each(|value| *value /= self.divide);
        if values.is_empty() && state.is_none() && self.stat != Stat::Count {
            return Err(Refusal::new("there was nothing to see"));
        }
        let mut values = self.stat(values);
        if let Less::Figure(nth) = self.less {
            let less = before.get(nth - 1).and_then(|figure| figure.values.first());
            let less = less.ok_or_else(|| Refusal::new(format!("there is no figure {nth}")))?;
            values.iter_mut().for_each(|value| *value -= less);
        }
        let shown = state.unwrap_or_else(|| self.show(&values));
        Ok(Figure {
            holds: self.holds(&values, &shown),
            quiet: self.quiet,
            values,
            shown,
        })
    }

    /// The observed values, in order.
    fn values(&self, seen: &Seen) -> Result<Vec<i64>, Refusal> {
        let thread = named(&seen.observations, &self.of)?;
        let section = || self.section(thread);
        let lengths = |all: &mut dyn Iterator<Item = Nanos>| all.map(ns).collect();
        let samples = || Ok::<_, Refusal>(section()?.samples.iter());
        Ok(match self.what {
            What::Slept => lengths(&mut samples()?.map(|sample| sample.outcome.slept)),
            What::Late => samples()?
                .map(|sample| ns(sample.outcome.slept) - ns(sample.asked))
                .collect(),
            What::Woke => lengths(&mut samples()?.map(|sample| sample.woke)),
            What::Frame => lengths(&mut section()?.samples.gaps()),
            What::Wakes => {
                let count = samples()?.count() as u64;
                vec![(10_000_000_000 * count / self.per.as_ns().max(1)) as i64]
            }
            What::Reading(probe) => {
                let readings = section()?.readings.iter();
                let of_it = readings.filter(|reading| reading.probe == probe);
                lengths(&mut of_it.map(|reading| reading.value))
            }
            What::Denied => {
                let sections = thread.sections.iter();
                sections.map(|section| section.denied as i64).collect()
            }
            What::Cpu => {
                let used = section()?.cpu;
                let thread = used.thread.unwrap_or_default().as_ns();
                vec![(1_000 * thread / used.elapsed.as_ns().max(1)) as i64]
            }
            What::Interrupts => {
                let phase = seen.observations.computer.get(self.section.unwrap_or(0));
                let interrupts = phase.and_then(|phase| phase.interrupts);
                interrupts.map(|count| count as i64).into_iter().collect()
            }
            What::Turns => {
                let turns = seen.trace.as_ref().map(turns).unwrap_or_default();
                let whole = turns.get(2..turns.len().saturating_sub(2));
                lengths(&mut whole.unwrap_or_default().iter().copied())
            }
            What::IdleState => vec![],
        })
    }

    fn section<'o>(&self, thread: &'o ThreadObservations) -> Result<&'o Section, Refusal> {
        let section = match self.section {
            Some(nth) => thread.sections.get(nth - thread.first_phase.min(nth)),
            None => thread.sections.last(),
        };
        section.ok_or_else(|| Refusal::new("this section was not observed"))
    }

    fn stat(&self, values: Vec<i64>) -> Vec<i64> {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let least = sorted.first().copied().unwrap_or_default();
        let most = sorted.last().copied().unwrap_or_default();
        let rank = |thousandths| nearest_rank(&sorted, thousandths).unwrap_or_default();
        vec![match self.stat {
            Stat::All => return sorted,
            Stat::Each => return values,
            Stat::Mean => values.iter().sum::<i64>() / values.len().max(1) as i64,
            Stat::Min => least,
            Stat::Max => most,
            Stat::P50 => rank(500),
            Stat::P99 => rank(990),
            Stat::Spread => most - least,
            Stat::Count => values.len() as i64,
            Stat::Unevenness => {
                let range = self.under.saturating_sub(self.over).max(1);
                let mut tenths = [0; 10];
                for value in &values {
                    let tenth = value.saturating_sub(self.over).saturating_mul(10) / range;
                    tenths[tenth.min(9) as usize] += 1;
                }
                let even = values.len() as i64 / 10;
                let uneven = tenths.iter().map(|n: &i64| (n - even).abs());
                uneven.max().unwrap_or_default()
            }
        }]
    }

    fn unit(&self) -> Option<Unit> {
        match self.stat {
            Stat::Count | Stat::Unevenness => None,
            _ => self.what.unit(),
        }
    }

    fn show(&self, values: &[i64]) -> String {
        let each: Vec<_> = match (self.unit, self.unit()) {
            (unit @ Some(_), _) | (unit, None) => {
                let unit = unit.unwrap_or(1);
                values.iter().map(|it| (it / unit).to_string()).collect()
            }
            (_, Some(Unit::Length)) if self.stat == Stat::All => vec![range(values)],
            (_, Some(Unit::Length)) => values.iter().map(|value| range(&[*value])).collect(),
            (_, Some(unit)) => {
                let after = if unit == Unit::PerSecond { "/s" } else { "" };
                let tenths = |value: &i64| format!("{}.{}{after}", value / 10, value % 10);
                values.iter().map(tenths).collect()
            }
        };
        each.join(" / ")
    }

    fn holds(&self, values: &[i64], shown: &str) -> bool {
        let scale = match self.unit() {
            Some(Unit::PerSecond) => 10.0,
            Some(Unit::Share) => 1_000.0,
            _ => 1.0,
        };
        let values = values.iter().map(|value| *value as f64 / scale);
        match &self.held {
            Held::ToNothing => true,
            Held::To(target) => values.into_iter().all(|value| target.holds(value)),
            Held::ToEach(each) => values.eq(each.iter().copied()),
            Held::ToState(state) => state == shown,
        }
    }
}

/// The result of one program.
struct Seen {
    observations: Observations,
    trace: Option<Trace>,
}

/// Runs programs on their models, and adds what is seen of them together.
pub(super) fn figures(
    experiments: &[(String, Program)],
    sees: &[See],
    figures: &mut Vec<Figure>,
) -> Result<(), Refusal> {
    let is_traced = sees.iter().any(|see| see.what == What::Turns);
    let run = |(on, program): &(String, Program)| {
        let model = Model::parse(on).map_err(Refusal::new)?;
        let mut machine = SimMachine::new(model, SEED);
        let (observations, trace) = machine.run_watched(program, is_traced, &mut |_| {})?;
        Ok(Seen {
            observations,
            trace,
        })
    };
    let seen: Result<Vec<Seen>, Refusal> = experiments.iter().map(run).collect();
    let seen = seen?;
    for see in sees {
        let figure = see.figure(&seen, figures)?;
        figures.push(figure);
    }
    Ok(())
}

/// The thread that was started with a name.
fn named<'o>(observed: &'o Observations, name: &str) -> Result<&'o ThreadObservations, Refusal> {
    let mut threads = observed.threads.iter();
    threads
        .find(|thread| thread.name == name)
        .ok_or_else(|| Refusal::new(format!("no thread {name} was observed")))
}

fn deepest(observed: &Observations) -> Result<String, Refusal> {
    let phases = observed.computer.iter();
    let mut states = phases.flat_map(|phase| &phase.idle_states);
    let entered = states.rfind(|state| state.entered > 0);
    entered
        .map(|state| state.name.clone())
        .ok_or_else(|| Refusal::new("no idle state was entered"))
}

/// The length of each turn on the first CPU, of any thread, in order.
fn turns(trace: &Trace) -> Vec<Nanos> {
    let turn = |(at, what): &(Nanos, Happened)| match what {
        Happened::Ran { cpu: 0, from, .. } => Some(*at - *from),
        _ => None,
    };
    trace.events.iter().filter_map(turn).collect()
}

fn ns(length: Nanos) -> i64 {
    length.as_ns() as i64
}

/// The least and the most of lengths in order, to the nanosecond: in
/// milliseconds from one on, else in microseconds.
fn range(sorted: &[i64]) -> String {
    let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else {
        return String::new();
    };
    let (scale, digits, unit) = match most.unsigned_abs() {
        1_000_000.. => (1_000_000, 6, "ms"),
        _ => (1_000, 3, "us"),
    };
    let decimal = |ns: i64| {
        let (whole, rest) = (ns.unsigned_abs() / scale, ns.unsigned_abs() % scale);
        let text = format!("{}{whole}.{rest:0digits$}", if ns < 0 { "-" } else { "" });
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match least < most {
        true => format!("{} to {} {unit}", decimal(*least), decimal(*most)),
        false => format!("{} {unit}", decimal(*most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = include_str!("../../scenarios/validation/README.md");

    #[test]
    fn every_key_and_figure_is_explained() {
        let names = What::named().map(|(name, _)| name);
        let ends = STATS
            .iter()
            .map(|(end, _)| *end)
            .filter(|end| !end.is_empty());
        for word in KEYS.into_iter().chain(names).chain(ends) {
            assert!(README.contains(&format!("`{word}`")), "{word}");
        }
    }

    #[test]
    fn lengths_are_shown_to_the_nanosecond() {
        for (ns, shown) in [
            (&[1_250_000][..], "1.25 ms"),
            (&[2_000_000, 2_000_000], "2 ms"),
            (&[50_001, 57_530], "50.001 to 57.53 us"),
            (&[300, 1_000_001], "0.0003 to 1.000001 ms"),
            (&[-1_500, 2_000], "-1.5 to 2 us"),
        ] {
            assert_eq!(range(ns), shown);
        }
    }
}
