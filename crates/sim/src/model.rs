//! Which computer to simulate: a timer rule, its parameters, and what things
//! cost.

use punctual_core::{Method, Nanos};

use crate::rules::{Fake, Linux, Rule, Scripted};
use crate::time::Time;

/// A simulated computer, ready to be built any number of times.
#[derive(Clone, Debug)]
pub struct Model {
    name: String,
    rule: AnyRule,
    costs: Costs,
    clock_step: Nanos,
    frozen: Vec<(Time, Time)>,
    stalls: Vec<(Time, Time)>,
    parameters: Vec<(&'static str, Nanos)>,
}

/// What things cost a simulated thread in CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// One reading of the clock. It is never zero, so that a spin gets on.
    pub read: Nanos,
    /// Offering the CPU when nobody wants it.
    pub yielding: Nanos,
    /// A blocking call: entering it, switching away and back. It is billed to
    /// the thread; the time it takes is part of the rule's wake latency.
    pub nap: Nanos,
}

#[derive(Clone, Debug)]
enum AnyRule {
    Fake(Fake),
    Linux(Linux),
    Scripted(Scripted),
}

/// A clock loop took 31 ns a round and one with `sched_yield` 215 ns on a
/// loaded Ryzen 5800X (spin_sleep issue 12).
const READ: Nanos = Nanos::new(31);
const LINUX_YIELD: Nanos = Nanos::new(184);

/// 2 to 5 us on bare metal; more in a virtual machine.
const LINUX_NAP: Nanos = Nanos::from_us(3);

/// `Sleep(0)` took 2 to 3 us when nobody else wanted the CPU
/// (thread-scheduling article).
const WINDOWS_YIELD: Nanos = Nanos::new(2_500);

impl Model {
    /// The models that [`Model::parse`] knows, each with what it is.
    pub const KNOWN: [(&'static str, &'static str); 2] = [
        (
            "fake-Nms",
            "the accurate-sleep article's fake OS sleep; N is the scheduler period, 1 to 10 in the article",
        ),
        (
            "linux",
            "Linux hrtimers; slack=50us, wake=8us (from expiry to running), jitter=500ns (of that), nap=3us (CPU per blocking call), read=31ns (of the clock)",
        ),
    ];

    /// Reads a model as the user writes it: `fake-5ms`, `linux`,
    /// `linux,slack=1ns,wake=30us`.
    ///
    /// # Errors
    /// There is no such model, or it has no such parameter.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let given = parts
            .map(|part| {
                let (key, value) = part.split_once('=').ok_or_else(|| {
                    format!("`{part}` in `{text}`: write parameters as key=value")
                })?;
                let value: Nanos = value.parse()?;
                Ok((key.trim(), value))
            })
            .collect::<Result<Vec<_>, String>>()?;
        if let Some(period) = name.strip_prefix("fake-") {
            let period: Nanos = period.parse()?;
            if let Some((key, _)) = given.first() {
                return Err(format!("the model `{name}` has no parameter `{key}`"));
            }
            return Self::fake(period);
        }
        match name {
            "linux" => Self::linux_with(&given),
            _ => {
                let known: Vec<_> = Self::KNOWN.iter().map(|(name, _)| *name).collect();
                Err(format!(
                    "there is no model `{name}`; the models are {}",
                    known.join(", ")
                ))
            }
        }
    }

    /// The accurate-sleep article's fake OS.
    ///
    /// # Errors
    /// The period is not between 1 us and 1 s.
    pub fn fake(period: Nanos) -> Result<Self, String> {
        if !(Nanos::from_us(1)..=Nanos::from_secs(1)).contains(&period) {
            return Err(format!(
                "a scheduler period of {period} is not between 1 us and 1 s"
            ));
        }
        // The article does not say what a nap costs, so none is charged.
        let costs = Costs {
            read: READ,
            yielding: WINDOWS_YIELD,
            nap: Nanos::ZERO,
        };
        let name = format!("fake-{}", period.exact());
        Ok(Self::new(
            name,
            AnyRule::Fake(Fake::new(period)),
            costs,
            vec![("period", period)],
        ))
    }

    /// A machine whose naps follow a list.
    pub fn scripted(rule: Scripted) -> Self {
        let costs = Costs {
            read: READ,
            yielding: LINUX_YIELD,
            nap: Nanos::ZERO,
        };
        Self::new(
            "scripted".to_owned(),
            AnyRule::Scripted(rule),
            costs,
            vec![],
        )
    }

    /// This model with a clock that shows multiples of `step`.
    #[must_use]
    pub fn with_clock_step(mut self, step: Nanos) -> Self {
        self.clock_step = step.max(Nanos::new(1));
        self
    }

    /// This model with a clock that stands still from each instant of `frozen`
    /// for as long, and then goes on as if it never had. In order of time.
    #[must_use]
    pub fn with_frozen_clock(mut self, frozen: &[(Nanos, Nanos)]) -> Self {
        self.frozen = spans(frozen);
        self
    }

    /// This model with a CPU that is taken away from each instant of `stalls`
    /// for as long. In order of time, one over before the next begins.
    #[must_use]
    pub fn with_stalls(mut self, stalls: &[(Nanos, Nanos)]) -> Self {
        self.stalls = spans(stalls);
        self
    }

    /// The name, with the parameters that were given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The timer rule in words.
    pub fn rule_in_words(&self) -> String {
        let parameters: Vec<_> = self
            .parameters
            .iter()
            .map(|(key, value)| format!("{key} {value}"))
            .collect();
        let rule = match self.rule {
            AnyRule::Fake(_) => "fake OS sleep of the accurate-sleep article",
            AnyRule::Linux(_) => "Linux hrtimers, fire at deadline + slack when alone",
            AnyRule::Scripted(_) => "scripted naps",
        };
        if parameters.is_empty() {
            rule.to_owned()
        } else {
            format!("{rule}; {}", parameters.join(", "))
        }
    }

    /// The parameters in force.
    pub fn parameters(&self) -> &[(&'static str, Nanos)] {
        &self.parameters
    }

    /// What things cost.
    pub fn costs(&self) -> Costs {
        self.costs
    }

    /// The call that `sleep` and `timer` stand for under this rule.
    pub fn resolve(&self, method: Method) -> Option<Method> {
        let methods = self.rule.as_rule().methods();
        match method {
            Method::Sleep => methods.first().copied(),
            Method::Timer => methods.last().copied(),
            named => methods.contains(&named).then_some(named),
        }
    }

    /// Whether threads have a timer slack to set.
    pub fn has_slack(&self) -> bool {
        self.rule.as_rule().has_slack()
    }

    pub(crate) fn build_rule(&self) -> Box<dyn Rule> {
        match self.rule.clone() {
            AnyRule::Fake(rule) => Box::new(rule),
            AnyRule::Linux(rule) => Box::new(rule),
            AnyRule::Scripted(rule) => Box::new(rule),
        }
    }

    pub(crate) fn clock_step(&self) -> Nanos {
        self.clock_step
    }

    pub(crate) fn frozen(&self) -> &[(Time, Time)] {
        &self.frozen
    }

    pub(crate) fn stalls(&self) -> &[(Time, Time)] {
        &self.stalls
    }

    fn new(
        name: String,
        rule: AnyRule,
        costs: Costs,
        parameters: Vec<(&'static str, Nanos)>,
    ) -> Self {
        let clock_step = Nanos::new(1);
        Self {
            name,
            rule,
            costs,
            clock_step,
            frozen: vec![],
            stalls: vec![],
            parameters,
        }
    }

    fn linux_with(given: &[(&str, Nanos)]) -> Result<Self, String> {
        let mut parameters = vec![
            ("slack", Linux::SLACK),
            ("wake", Linux::WAKE),
            ("jitter", Linux::JITTER),
            ("nap", LINUX_NAP),
            ("read", READ),
        ];
        let mut name = "linux".to_owned();
        for (key, value) in given {
            let parameter = parameters.iter_mut().find(|(known, _)| known == key).ok_or_else(|| {
                format!("the model `linux` has no parameter `{key}`; it has slack, wake, jitter, nap and read")
            })?;
            if *value > Nanos::from_secs(1) {
                return Err(format!(
                    "`{key}={}` is too long for the model `linux`: at most 1s",
                    value.exact()
                ));
            }
            parameter.1 = *value;
            name.push_str(&format!(",{key}={}", value.exact()));
        }
        let [(_, slack), (_, wake), (_, jitter), (_, nap), (_, read)] = &mut parameters[..] else {
            unreachable!("five parameters were listed above")
        };
        let (slack, wake, nap) = (*slack, *wake, *nap);
        // A wake-up cannot take less than nothing, nor a reading no time.
        *jitter = wake.min(*jitter);
        *read = Nanos::new(1).max(*read);
        let (jitter, read) = (*jitter, *read);
        let costs = Costs {
            read,
            yielding: LINUX_YIELD,
            nap,
        };
        Ok(Self::new(
            name,
            AnyRule::Linux(Linux::new(slack, wake, jitter)),
            costs,
            parameters,
        ))
    }
}

impl AnyRule {
    fn as_rule(&self) -> &dyn Rule {
        match self {
            Self::Fake(rule) => rule,
            Self::Linux(rule) => rule,
            Self::Scripted(rule) => rule,
        }
    }
}

fn spans(spans: &[(Nanos, Nanos)]) -> Vec<(Time, Time)> {
    spans
        .iter()
        .map(|&(from, length)| (from.into(), Time::from(from) + length.into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_read_and_say_what_they_are() {
        for (text, name) in [
            ("fake-5ms", "fake-5ms"),
            ("linux", "linux"),
            ("linux, slack=1ns", "linux,slack=1ns"),
            ("linux,wake=30us,slack=2ms", "linux,wake=30us,slack=2ms"),
        ] {
            assert_eq!(Model::parse(text).unwrap().name(), name);
        }
        for bad in [
            "",
            "lunix",
            "fake",
            "fake-5",
            "fake-0ms",
            "fake-2s",
            "fake-5ms,x=1ms",
            "linux,slack",
            "linux,slack=",
            "linux,slack=1",
            "linux,speed=1ms",
            "linux,slack=9999s",
        ] {
            let error = Model::parse(bad).unwrap_err();
            assert!(!error.is_empty() && !error.contains('\n'), "{bad}: {error}");
        }
    }

    #[test]
    fn sleep_and_timer_are_the_rules_own() {
        let linux = Model::parse("linux").unwrap();
        assert_eq!(linux.resolve(Method::Sleep), Some(Method::ClockNanosleep));
        assert_eq!(linux.resolve(Method::Timer), Some(Method::Timerfd));
        assert_eq!(linux.resolve(Method::Timerfd), Some(Method::Timerfd));
        assert_eq!(linux.resolve(Method::WindowsSleep), None);
    }
}
