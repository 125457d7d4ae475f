//! Requests for a timer interval during a measurement.

use std::str::FromStr;

use punctual_core::{Method, Nanos};
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Program, Setting};

/// A request for a timer interval, and whose it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// There is none.
    #[default]
    Nobody,
    /// The process that waits.
    Itself(Nanos),
    /// Another process, which does nothing else.
    Another(Nanos),
    /// The process that waits, whose window is minimised.
    Minimised(Nanos),
}

impl Ask {
    /// The interval that is asked for.
    pub fn interval(self) -> Option<Nanos> {
        match self {
            Self::Nobody => None,
            Self::Itself(interval) | Self::Another(interval) | Self::Minimised(interval) => {
                Some(interval)
            }
        }
    }

    /// The operations before the waits. A request ends with its batch.
    pub fn ops(self) -> Vec<Op> {
        const UNSEEN: Setting = Setting::Window {
            visible: false,
            foreground: false,
            audible: false,
        };
        let request = |interval| Op::Set(Setting::request(interval));
        match self {
            Self::Nobody => vec![],
            Self::Itself(interval) => vec![request(interval)],
            Self::Minimised(interval) => vec![request(interval), Op::Set(UNSEEN)],
            Self::Another(interval) => {
                let sleep = Op::nap(Method::Sleep, Nanos::from_secs(1));
                let program: Program =
                    vec![request(interval), Op::repeat(u64::MAX, [sleep])].into();
                vec![Op::spawn(SpawnKind::Process, "another", program)]
            }
        }
    }
}

/// As a plan has it: `nobody`, `1ms by itself`, `2ms by another`, `1ms minimised`.
impl FromStr for Ask {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (length, who) = text.split_once(' ').unwrap_or((text, ""));
        let asked = |ask: fn(Nanos) -> Self| Ok(ask(length.parse::<Nanos>()?));
        match who {
            "" if length == "nobody" => Ok(Self::Nobody),
            "by itself" => asked(Self::Itself),
            "by another" => asked(Self::Another),
            "minimised" => asked(Self::Minimised),
            _ => Err(format!(
                "`{text}` is no request; write nobody, 1ms by itself, 1ms by another or 1ms minimised"
            )),
        }
    }
}
