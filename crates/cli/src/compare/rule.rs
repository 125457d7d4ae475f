//! Rules for CI, `sleep/usleep@asked=1ms: late_p50 > 1.2x`, `late > 1ms at most 1 %` or `gb_per_cpu_s < 0.8x`.

use std::fmt;
use std::str::FromStr;

use punctual_core::Nanos;
use punctual_record::Value;
use punctual_record::compare::{Metric, Quantity, Row};
use punctual_report::prose;

use super::metrics;

/// A condition that a number must not meet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// In the words of the user.
    text: String,
    selector: Selector,
    pub(crate) of: Judged,
    pub(super) beyond: Beyond,
    pub(crate) limit: Limit,
}

/// The figure that a rule judges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Judged {
    /// A number.
    Metric(Metric),
    /// The deadlines that are later than so much.
    LaterThan(Nanos),
}

impl Judged {
    /// As the user writes it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Metric(metric) => metric.name.to_owned(),
            Self::LaterThan(length) => format!("late > {length}"),
        }
    }

    pub(super) fn quantity(self) -> Quantity {
        match self {
            Self::Metric(metric) => metric.quantity,
            Self::LaterThan(_) => Quantity::Deadlines,
        }
    }
}

/// Where a rule applies.
#[derive(Clone, Debug, PartialEq)]
struct Selector {
    experiment: String,
    subject: String,
    params: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beyond {
    /// `<` or `<=`: it forbids what is low.
    pub(super) is_low: bool,
    /// `>=` or `<=`: it forbids the limit too.
    with_limit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Nanoseconds, a share, or GB per second.
    Value(f64),
    /// A number of deadlines.
    Count(f64),
    /// A multiple of the first run's number.
    Factor(f64),
}

impl Beyond {
    pub(super) fn holds(self, value: f64, limit: f64) -> bool {
        let is_beyond = match self.is_low {
            true => value < limit,
            false => value > limit,
        };
        is_beyond || self.with_limit && value == limit
    }
}

impl Rule {
    /// Whether it applies to a row.
    pub(super) fn selects(&self, row: &Row) -> bool {
        let Selector {
            experiment,
            subject,
            params,
        } = &self.selector;
        matches(experiment, &row.experiment)
            && row.subjects.iter().any(|name| matches(subject, name))
            && params.iter().all(|(key, value)| has_param(row, key, value))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

const GRAMMAR: &str =
    "a rule is [SELECTOR:]METRIC > VALUE, as `sleep/*: late_p50 > 1.2x`, or < where more is better";

/// The words between a length and how many deadlines may be later.
const AT_MOST: &str = " at most ";

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sign = text
            .rfind(['<', '>'])
            .ok_or_else(|| format!("it has no `>`, `>=`, `<` or `<=`; {GRAMMAR}"))?;
        let (what, value) = text.split_at(sign);
        let is_low = value.starts_with('<');
        let (with_limit, value) = match value[1..].strip_prefix('=') {
            Some(value) => (true, value),
            None => (false, &value[1..]),
        };
        // Subjects have colons, too: `system:method=timerfd`.
        let (selector, metric) = what.rsplit_once(':').unwrap_or(("*", what));
        let (metric, value) = (metric.trim(), value.trim());
        let (of, limit) = match metric {
            "late" => deadlines_later(value, !is_low && !with_limit)?,
            _ => {
                let metric = metric_of(metric)?;
                has_its_sign(metric, is_low)?;
                (Judged::Metric(metric), limit_of(metric, value)?)
            }
        };
        Ok(Self {
            text: text.trim().to_owned(),
            selector: selector.trim().parse()?,
            of,
            beyond: Beyond { is_low, with_limit },
            limit,
        })
    }
}

/// Forbids what is worse: what more of is better, is worse when it is low.
fn has_its_sign(metric: Metric, is_low: bool) -> Result<(), String> {
    if metric.more_is_better != is_low {
        let (which, signs) = match is_low {
            true => ("less", "`>` or `>=`"),
            false => ("more", "`<` or `<=`"),
        };
        return Err(format!(
            "{which} {} is better, and a rule says what fails; give {signs}",
            metric.name
        ));
    }
    Ok(())
}

/// `late > LENGTH at most MANY`, of which `value` is what follows the sign.
fn deadlines_later(value: &str, is_greater: bool) -> Result<(Judged, Limit), String> {
    const FORM: &str = "give `late > 1ms at most 1 %`, or one number, as late_p99";
    let (length, most) = value
        .split_once(AT_MOST)
        .filter(|_| is_greater)
        .ok_or_else(|| format!("`late` is the lateness of each deadline; {FORM}"))?;
    let length: Nanos = (length.trim().parse())
        .map_err(|_| format!("`{}` is no length with its unit; {FORM}", length.trim()))?;
    Ok((Judged::LaterThan(length), many(most.trim())?))
}

/// A number of deadlines: `1 %`, or `20`.
fn many(text: &str) -> Result<Limit, String> {
    let percent = text.strip_suffix('%').and_then(number);
    let share = percent.filter(|percent| *percent <= 100.0);
    let share = share.map(|percent| Limit::Value(percent / 100.0));
    let count = || {
        let count: Option<u32> = text.parse().ok();
        count.map(|count| Limit::Count(count.into()))
    };
    share.or_else(count).ok_or_else(|| {
        format!("`{text}` is no limit for deadlines; give how many (20), or per cent of them (1%)")
    })
}

/// A number that is neither negative nor endless.
fn number(text: &str) -> Option<f64> {
    let number: Option<f64> = text.trim().parse().ok();
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

fn metric_of(name: &str) -> Result<Metric, String> {
    let is_meant = |metric: &Metric| {
        let full = metric.name;
        full == name || full.strip_prefix("late_") == Some(name)
    };
    let metric = metrics().find(is_meant);
    metric.ok_or_else(|| {
        let names = prose::list(metrics().map(|metric| metric.name));
        format!("there is no metric `{name}`; the metrics are {names} (without late_ too)")
    })
}

fn limit_of(metric: Metric, text: &str) -> Result<Limit, String> {
    if let Some(factor) = text.strip_suffix('x') {
        if !metric.has_intervals {
            let give = match metric.quantity {
                Quantity::Deadlines => "how many (20), or per cent of the deadlines (1%)",
                _ => "a length",
            };
            return Err(format!(
                "{} has no interval by which a factor could be judged; give {give}",
                metric.name
            ));
        }
        let factor = number(factor).filter(|factor| *factor > 0.0);
        return factor
            .map(Limit::Factor)
            .ok_or_else(|| format!("`{text}` is no factor above zero, such as 1.2x"));
    }
    let name = metric.name;
    match metric.quantity {
        Quantity::Deadlines => return many(text),
        Quantity::Share => {
            let percent = text.strip_suffix('%').and_then(number);
            percent.map(|percent| percent / 100.0).ok_or_else(|| {
                format!("`{text}` is no limit for CPU time; give per cent (5%) or a factor (1.2x)")
            })
        }
        Quantity::Rate => text.strip_suffix("GB/s").and_then(number).ok_or_else(|| {
            format!(
                "`{text}` is no limit for {name}; give GB per second (5GB/s) or a factor (0.8x)"
            )
        }),
        Quantity::Length => {
            let length: Result<Nanos, _> = text.parse();
            length.map(|length| length.as_ns() as f64).map_err(|_| {
                format!(
                    "`{text}` is no limit; give a length with its unit (500us) or a factor (1.2x)"
                )
            })
        }
    }
    .map(Limit::Value)
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('@');
        let path = parts.next().unwrap_or_default().trim();
        let (experiment, subject) = path.split_once('/').unwrap_or((path, "*"));
        if experiment.is_empty() || subject.is_empty() {
            return Err(format!(
                "`{text}` selects nothing; give EXPERIMENT or EXPERIMENT/SUBJECT, and * for any"
            ));
        }
        let param = |param: &str| match param.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(format!("`@{param}` has no PARAM=VALUE, such as @asked=1ms")),
        };
        Ok(Self {
            experiment: experiment.to_owned(),
            subject: subject.to_owned(),
            params: parts.map(param).collect::<Result<_, _>>()?,
        })
    }
}

/// Whether `text` is what `pattern` says, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(tail)
}

/// Whether a row has a parameter, whose unit need not be named.
fn has_param(row: &Row, key: &str, value: &str) -> bool {
    let mut params = row.params.iter().filter(|(name, _)| {
        let unit = name.strip_prefix(key);
        unit.is_some_and(|unit| ["", "_ns", "_hz"].contains(&unit))
    });
    params.any(|(name, param)| match param {
        Value::String(word) => word == value,
        Value::Number(number) => {
            let length = || value.parse::<Nanos>().ok().map(|l| l.as_ns() as f64);
            let plain = || value.parse::<f64>().ok();
            let wanted = if name.ends_with("_ns") {
                length().or_else(plain)
            } else {
                plain()
            };
            wanted.is_some() && wanted == number.as_f64()
        }
        Value::Bool(flag) => value.parse() == Ok(*flag),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beyond(is_low: bool, with_limit: bool) -> Beyond {
        Beyond { is_low, with_limit }
    }

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    #[test]
    fn rules_read_as_they_are_meant() {
        let plain = rule("late_p99>500us");
        assert_eq!(
            (plain.of, plain.beyond),
            (Judged::Metric(Metric::LATE_P99), beyond(false, false))
        );
        assert_eq!(plain.limit, Limit::Value(500_000.0));
        let full = rule(" pace/system:method=timerfd@rate=60@load=1 : cpu >= 5 % ");
        assert_eq!(full.limit, Limit::Value(0.05));
        assert_eq!(full.beyond, beyond(false, true));
        assert_eq!(full.selector.experiment, "pace");
        assert_eq!(full.selector.subject, "system:method=timerfd");
        assert_eq!(full.selector.params.len(), 2);
        for (text, metric) in [
            ("p99 > 1ms", Metric::LATE_P99),
            ("p99.9 > 1ms", Metric::LATE_P999),
            ("missed > 1 %", Metric::MISSED),
            ("watch: hiccups >= 3", Metric::HICCUPS),
        ] {
            assert_eq!(rule(text).of, Judged::Metric(metric), "{text}");
        }
        assert_eq!(rule("cost_w10 > 1.25x").limit, Limit::Factor(1.25));
        let zeroed = rule("zero-pool/mcs@batch=64: gb_per_cpu_s < 5 GB/s");
        assert_eq!(
            (zeroed.limit, zeroed.beyond),
            (Limit::Value(5.0), beyond(true, false))
        );
        assert_eq!(rule("wall_gb_per_s <= 0.8x").beyond, beyond(true, true));
    }

    #[test]
    fn rules_on_deadlines_have_how_many_or_per_cent() {
        for (text, limit) in [
            ("missed > 0", Limit::Count(0.0)),
            ("missed > 20", Limit::Count(20.0)),
            ("hiccups > 0.5%", Limit::Value(0.005)),
            ("late > 1ms at most 1 %", Limit::Value(0.01)),
            ("watch/*: late > 200us at most 3", Limit::Count(3.0)),
        ] {
            assert_eq!(rule(text).limit, limit, "{text}");
        }
        let late = rule("pace/spin@rate=60: late > 1.5ms at most 1 %");
        assert_eq!(late.of, Judged::LaterThan(Nanos::from_us(1_500)));
        assert_eq!(
            (late.selector.subject.as_str(), late.beyond),
            ("spin", beyond(false, false))
        );
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_would_be_one() {
        for (text, says) in [
            ("", "no `>`"),
            ("late_p50 < 5us", "less late_p50 is better"),
            ("gb_per_cpu_s > 0.8x", "more gb_per_cpu_s is better"),
            ("gb_per_cpu_s < 5us", "5GB/s"),
            ("gb_per_cpu_s < 5", "5GB/s"),
            ("gb_per_cpu_s < 0x", "1.2x"),
            ("late_p50 = 5us", "no `>`"),
            ("late > 5us", "late_p99"),
            ("late < 5us at most 1 %", "late > 1ms at most 1 %"),
            ("late >= 5us at most 1 %", "late > 1ms at most 1 %"),
            ("late > 5 at most 1 %", "no length"),
            ("late > 5us at most 1ms", "per cent"),
            ("late > 5us at most 101 %", "per cent"),
            ("late > 5us at most -1 %", "per cent"),
            ("late > 5us at most 1.2x", "per cent"),
            ("missed > 1.2x", "per cent"),
            ("missed > 5us", "per cent"),
            ("missed < 5", "less missed is better"),
            ("hiccups > 0.5", "per cent"),
            ("late_p50 > 5", "500us"),
            ("late_p50 > 5%", "500us"),
            ("late_p50 > -5us", "500us"),
            ("late_p50 > 0x", "1.2x"),
            ("late_p50 > infx", "1.2x"),
            ("late_max > 1.2x", "no interval"),
            ("cpu > 5us", "5%"),
            ("cpu > nan%", "5%"),
            ("/: late_p50 > 5us", "selects nothing"),
            (": late_p50 > 5us", "selects nothing"),
            ("sleep@asked: late_p50 > 5us", "@asked=1ms"),
        ] {
            let why = text.parse::<Rule>().unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "any"),
            ("adaptive-*", "adaptive-exact"),
            ("*-exact", "adaptive-exact"),
            ("a*ve*ct", "adaptive-exact"),
            ("a**t", "adaptive-exact"),
            ("spin", "spin"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("spin", "spin_sleep"),
            ("*spin", "spin_sleep"),
            ("ab*ba", "aba"),
            ("a*b*c", "acb"),
            ("", "spin"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn parameters_are_named_with_or_without_their_unit() {
        let row = Row {
            experiment: "load".to_owned(),
            subjects: vec!["poll".to_owned()],
            params: [
                ("asked_ns".to_owned(), 1_000_000.into()),
                ("load_per_cpu".to_owned(), 0.5.into()),
                ("priority".to_owned(), "raised".into()),
                ("rate_hz".to_owned(), 60.0.into()),
            ]
            .into(),
            cells: vec![],
            published: vec![],
        };
        for selector in [
            "load@asked=1ms",
            "load/poll@asked_ns=1000us",
            "*@asked=1000000",
            "load@load_per_cpu=0.5@priority=raised",
            "load@rate=60",
        ] {
            assert!(
                rule(&format!("{selector}: late_p50 > 1us")).selects(&row),
                "{selector}"
            );
        }
        for selector in [
            "load@asked=2ms",
            "load@ask=1ms",
            "load@load_per_cpu=1",
            "load@cpu=3",
            "sleep",
            "load/select",
        ] {
            assert!(
                !rule(&format!("{selector}: late_p50 > 1us")).selects(&row),
                "{selector}"
            );
        }
    }
}
