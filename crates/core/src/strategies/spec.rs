//! The parameters of a strategy, as data and as text.

use std::fmt;

use super::{Budget, StrategySpec, Target, adaptive};
use crate::method::Method;
use crate::time::Nanos;

/// The defaults of strategies on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// How long before the deadline `fixed-margin` stops sleeping.
    pub margin: Nanos,
    /// The OS call it sleeps with.
    pub margin_method: Method,
}

impl Defaults {
    /// Windows, as spin_sleep 1.3 has it: `Sleep` could not end 700 us before a
    /// deadline, its high-resolution timer can.
    pub const WINDOWS: Self = Self {
        margin: Nanos::from_us(700),
        margin_method: Method::Timer,
    };
    /// Everything else, as spin_sleep 1.3 has it.
    pub const ELSEWHERE: Self = Self {
        margin: Nanos::from_us(125),
        margin_method: Method::Sleep,
    };

    /// `fixed-margin` with these.
    pub const fn fixed_margin(self) -> StrategySpec {
        StrategySpec::FixedMargin {
            method: self.margin_method,
            margin: self.margin,
        }
    }
}

/// Weights that have names.
pub(super) const NAMED: [(&str, f64); 3] = [
    ("adaptive-frugal", 1.0),
    ("adaptive-balanced", 10.0),
    ("adaptive-exact", 100.0),
];

/// The name of `adaptive` with a weight.
pub(super) const fn adaptive_name(weight: f64) -> &'static str {
    let mut i = 0;
    while i < NAMED.len() {
        if NAMED[i].1 == weight {
            return NAMED[i].0;
        }
        i += 1;
    }
    "adaptive"
}

impl StrategySpec {
    /// `adaptive` with any weight, no budget and the machine's timer.
    pub const fn adaptive(weight: f64) -> Self {
        Self::Adaptive {
            weight,
            budget: Budget::Unlimited,
            target: Target {
                late: None,
                spin: None,
            },
            method: Method::Timer,
        }
    }

    /// `quantile` with any weight, and the usual call. It is a yardstick, and
    /// not among [`ALL`](Self::ALL).
    pub const fn quantile(weight: f64) -> Self {
        Self::Quantile {
            weight,
            method: Method::Timer,
        }
    }

    /// Reads a strategy; what the text does not say is taken from `defaults`.
    ///
    /// # Errors
    /// The text names no strategy, or gives it a parameter it does not have.
    pub fn parse(text: &str, defaults: Defaults) -> Result<Self, String> {
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name.trim(), split(parameters)),
            None => (text.trim(), vec![]),
        };
        let mut spec = (Self::ALL.into_iter().find(|s| s.name() == name))
            // The strategies with any weight, which are not among the usual ones.
            .or(match name {
                "adaptive" => Some(Self::adaptive(NAMED[1].1)),
                "quantile" => Some(Self::quantile(NAMED[1].1)),
                "spin_sleep" => Some(Self::SpinSleep { defaults }),
                _ => None,
            })
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|s| s.name()).collect();
                format!(
                    "there is no strategy `{name}`; the strategies are {}, adaptive:weight=W and quantile:weight=W",
                    names.join(", ")
                )
            })?;
        if let Self::FixedMargin { .. } = spec {
            spec = defaults.fixed_margin();
        }
        for parameter in &parameters {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            spec.set(name, key.trim(), value.trim())?;
        }
        Ok(spec)
    }

    /// Sets a parameter of the strategy that the user calls `name`.
    fn set(&mut self, name: &str, key: &str, value: &str) -> Result<(), String> {
        if let ("method", Some(method)) = (key, self.method_mut()) {
            *method = value.parse()?;
            return Ok(());
        }
        match (key, self) {
            ("budget", Self::Adaptive { budget, .. }) => *budget = value.parse()?,
            ("late", Self::Adaptive { target, .. }) => {
                target.late = Some(value.parse::<adaptive::LateAtMost>()?.0);
                target
                    .check()
                    .map_err(|why| format!("`{name}:late={value}`: {why}"))?;
            }
            ("spin", Self::Adaptive { target, .. }) => {
                let share = adaptive::percent(value);
                target.spin = Some(share.ok_or_else(|| {
                    format!("`{name}:spin={value}`: write at most how much of a CPU, like 5%")
                })?);
                target
                    .check()
                    .map_err(|why| format!("`{name}:spin={value}`: {why}"))?;
            }
            ("weight", Self::Adaptive { weight, .. } | Self::Quantile { weight, .. })
                if matches!(name, "adaptive" | "quantile") =>
            {
                *weight = value
                    .parse()
                    .ok()
                    .filter(|w| Self::WEIGHTS.contains(w))
                    .ok_or_else(|| {
                        format!("`{name}:weight={value}`: a weight is a number from 0.01 to 10000")
                    })?;
            }
            ("x", Self::Precise { x, .. } | Self::Timer { x, .. }) => {
                *x = value
                    .parse()
                    .ok()
                    .filter(|x: &f64| (0.0..=100.0).contains(x))
                    .ok_or_else(|| format!("`{name}:x={value}`: x is a number from 0 to 100"))?;
            }
            ("margin", Self::FixedMargin { margin, .. }) => *margin = value.parse()?,
            _ => return Err(format!("`{name}` has no parameter `{key}`")),
        }
        Ok(())
    }

    /// The weights that make sense, for [`StrategySpec::Adaptive`] and [`StrategySpec::Quantile`].
    pub const WEIGHTS: std::ops::RangeInclusive<f64> = 0.01..=10_000.0;

    /// The OS call this strategy blocks with, if it ever blocks.
    pub const fn method(mut self) -> Option<Method> {
        match self.method_mut() {
            Some(method) => Some(*method),
            None => None,
        }
    }

    /// This strategy with the call that a machine `has` for the one it names.
    ///
    /// # Errors
    /// The call that the machine does not have.
    pub fn granted(self, has: &mut dyn FnMut(Method) -> Option<Method>) -> Result<Self, Method> {
        match self.method() {
            Some(method) => Ok(self.with_method(has(method).ok_or(method)?)),
            None => Ok(self),
        }
    }

    /// This strategy blocking with another OS call. Strategies that never
    /// block stay as they are.
    #[must_use]
    pub fn with_method(mut self, new: Method) -> Self {
        if let Some(method) = self.method_mut() {
            *method = new;
        }
        self
    }
}

/// The parameters between colons. A part without `=` belongs to the value before it: one method is
/// called `thread::sleep`.
fn split(parameters: &str) -> Vec<String> {
    let mut split: Vec<String> = Vec::new();
    for part in parameters.split(':') {
        match split.last_mut() {
            Some(last) if !part.contains('=') => {
                last.push(':');
                last.push_str(part);
            }
            _ => split.push(part.to_owned()),
        }
    }
    split
}

/// The name with the parameters that are not the usual ones: what
/// [`StrategySpec::parse`] reads. The defaults of either kind of machine are the name
/// alone.
impl fmt::Display for StrategySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if *self == Defaults::WINDOWS.fixed_margin() {
            return Ok(());
        }
        let usual = match self {
            Self::Quantile { weight, .. } => Some(Self::quantile(*weight)),
            Self::SpinSleep { .. } => Some(*self),
            _ => Self::ALL.into_iter().find(|s| s.name() == self.name()),
        };
        match self {
            Self::Adaptive { weight, .. } | Self::Quantile { weight, .. }
                if matches!(self.name(), "adaptive" | "quantile") =>
            {
                write!(f, ":weight={weight}")?;
            }
            _ => {}
        }
        let usual_method = usual.and_then(Self::method).unwrap_or(Method::Timer);
        if let Some(method) = self.method().filter(|method| *method != usual_method) {
            write!(f, ":method={method}")?;
        }
        match self {
            Self::Adaptive { budget, target, .. } => {
                if *budget != Budget::Unlimited {
                    write!(f, ":budget={budget}")?;
                }
                if let Some(late) = target.late {
                    write!(f, ":late={}", adaptive::LateAtMost(late))?;
                }
                match target.spin {
                    Some(share) => write!(f, ":spin={}%", share * 100.0),
                    None => Ok(()),
                }
            }
            Self::Precise { x, .. } | Self::Timer { x, .. } if *x != 1.0 => write!(f, ":x={x}"),
            Self::FixedMargin { margin, .. } if *margin != Defaults::ELSEWHERE.margin => {
                write!(f, ":margin={}", margin.exact())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_read_and_print() {
        for text in [
            "system",
            "spin",
            "yield-spin",
            "precise",
            "timer",
            "fixed-margin",
            "max-nap",
            "precise:x=2",
            "timer:method=clock_nanosleep:x=0.5",
            "fixed-margin:margin=200us",
            "fixed-margin:margin=700us",
            "timer:method=thread::sleep:x=2",
            "adaptive-exact",
            "adaptive:weight=0.3",
            "adaptive:weight=3:method=timerfd",
            "quantile:weight=10",
            "quantile:weight=3:method=futex",
            "adaptive-exact:budget=never",
            "adaptive-frugal:budget=50us",
            "adaptive:weight=2:method=timerfd:budget=5%",
            "adaptive-balanced:late=50us/1%",
            "adaptive-exact:budget=50us:late=1ms/0.5%:spin=5%",
        ] {
            assert_eq!(
                StrategySpec::parse(text, Defaults::ELSEWHERE)
                    .unwrap()
                    .to_string(),
                text
            );
        }
        for bad in [
            "adaptive-exact:late=50us",
            "adaptive-exact:late=0ns/1%",
            "adaptive-exact:late=50us/60%",
            "adaptive-exact:late=50us/NaN%",
            "adaptive-exact:spin=0%",
            "adaptive-exact:spin=0.05",
            "spin:spin=5%",
            "",
            "presice",
            "spin:x=1",
            "spin:",
            "precise:x",
            "precise:x=2:",
            "precise:x=2:1",
            "system:method=thread:sleep",
            "precise:x=-1",
            "precise:x=nan",
            "precise:y=1",
            "fixed-margin:margin=5",
            "system:method=snooze",
            "adaptive-exact:weight=1",
            "adaptive:weight=nan",
            "adaptive:weight=0",
            "quantile:margin=1us",
            "adaptive-exact:budget=0%",
            "adaptive-exact:budget=101%",
            "adaptive-exact:budget=nan%",
            "adaptive-exact:budget=much",
            "spin:budget=50us",
        ] {
            assert!(
                StrategySpec::parse(bad, Defaults::ELSEWHERE).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_name_alone_means_the_defaults_of_the_machine() {
        for defaults in [Defaults::ELSEWHERE, Defaults::WINDOWS] {
            let spec = StrategySpec::parse("fixed-margin", defaults).unwrap();
            assert_eq!(spec, defaults.fixed_margin());
            assert_eq!(spec.to_string(), "fixed-margin");
        }
    }
}
