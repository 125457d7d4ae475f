//! Runtimes: the calls by which their ports to other systems wait.
//!
//! A program of a runtime waits on Linux by calls of its port to Linux. Its port to Windows can use other calls, with
//! other rules. The table of a runtime says which, by version; [`Port`] is the part of it that one process needs.
//!
//! | file | what is in it |
//! |---|---|
//! | `cpython` | CPython 3.9 to 3.14 |
//! | `go` | Go 1.19 to 1.26 |
//! | `java` | OpenJDK 11, 17, 21 and 25 |
//! | `node` | Node 18, 20, 22 and 24 |
//! | `rust` | Rust's standard library 1.63 to 1.96, and tokio |
//! | `elf` | sections of the file of a program |
//! | `port` | the calls of one process under one rule |
//! | `program` | the runtime of a program, by its file |

pub mod cpython;
pub mod elf;
pub mod go;
pub mod java;
pub mod node;
mod port;
pub mod program;
pub mod rust;

pub use port::{Port, Way};

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use punctual_core::{Method, Nanos};
use punctual_rules::OsClock;

use crate::Call;

/// The table of a runtime.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    /// Its name, as it stands before its version: `CPython 3.`.
    pub name: &'static str,
    /// The first and the last version with lines: minor versions, or major ones.
    pub versions: (u8, u8),
    /// The waits. Each call has one line at most in each version.
    pub lines: &'static [Line],
    /// Calls that it makes for itself only. They keep their lengths.
    pub own: &'static [Call],
    /// Waits that look alike below it, a sentence each.
    pub alike: &'static [&'static str],
    /// The same in a few words.
    pub alike_in_short: &'static str,
    /// Which timer interval it requests by itself, in a sentence.
    pub requests: &'static str,
    /// The interval that it requests where Windows has no high-resolution timers, if any.
    pub requested: Option<Nanos>,
}

/// A line of the table of a runtime: one kind of wait, in a range of versions.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The first and the last version.
    pub versions: (u8, u8),
    /// The name of the wait for users of the runtime.
    pub what: &'static str,
    /// The calls that it makes on Linux, in any version.
    pub here: &'static [Call],
    /// On Windows.
    pub windows: Instead,
    /// On macOS.
    pub macos: Instead,
    /// Where the code of the runtime has it.
    pub source: &'static str,
}

/// The call of a port, and how its wait ends.
#[derive(Clone, Copy, Debug)]
pub struct Instead {
    /// The call, as the runtime's code has it.
    pub call: &'static str,
    /// The calls of the rule that end alike, the best first.
    pub methods: &'static [Method],
    /// Whether the port waits again.
    pub again: Again,
}

impl Instead {
    /// A call that does not wait again.
    const fn once(call: &'static str, methods: &'static [Method]) -> Self {
        Self {
            call,
            methods,
            again: Again::Never,
        }
    }
}

/// `select` of Winsock. The length of its timeout is in microseconds; that it ends on ticks is an inference.
const WINSOCK_SELECT: Instead = Instead::once(
    "select of Winsock",
    &[Method::WaitableTimer, Method::WindowsSleep],
);

/// The event loop of a port to macOS.
const KEVENT: Instead = Instead::once("kevent", &[Method::Kevent]);

/// The calls of an event loop on Linux.
const EPOLL: &[Call] = &[Call::EpollWait, Call::EpollPwait, Call::EpollPwait2];

/// The way in which a port repeats a wait that ended too early, or prepares one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Nothing.
    Never,
    /// For the whole milliseconds of what is left by an exact clock, and it spins for the rest (CPython,
    /// `EnterNonRecursiveMutex`).
    UntilOver,
    /// By `Sleep`, once, for a millisecond (Rust, `sleep`). No other call of the port waits again.
    OneMillisecond,
    /// Until an exact clock that shows whole milliseconds shows the end; the third wait and later ones are longer
    /// (libuv, `uv__poll`). The clock counts from zero of the rule.
    UntilMillisecond,
    /// It waits once. While it waits it requests a timer interval of 1 ms, unless its length is a multiple of
    /// 10 ms (HotSpot, `HighResolutionInterval`). The request counts for this wait alone.
    FineMeanwhile,
    /// It waits once. The length has whole milliseconds, rounded down, one at least (HotSpot, `Parker::park`).
    RoundedDown,
    /// Until GetTickCount64 shows the end, which moves in steps (wepoll, `port_wait`).
    UntilTickCount,
}

impl Again {
    const ALL: [Self; 7] = [
        Self::Never,
        Self::UntilOver,
        Self::OneMillisecond,
        Self::UntilMillisecond,
        Self::FineMeanwhile,
        Self::RoundedDown,
        Self::UntilTickCount,
    ];

    /// Its number in the log.
    pub const fn number(self) -> u64 {
        self as u64
    }

    /// That of such a number.
    pub fn of(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// It in words, behind those of the call.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::UntilOver => ", again until its time is over",
            Self::UntilMillisecond => ", again until a clock in whole milliseconds shows the end",
            Self::OneMillisecond => "; a Sleep that ends too early is followed by one of 1 ms",
            Self::FineMeanwhile => {
                ", with a request for 1 ms meanwhile unless the length is a multiple of 10 ms"
            }
            Self::RoundedDown => ", for whole milliseconds rounded down",
            Self::UntilTickCount => ", again until GetTickCount64 shows the end",
        }
    }
}

/// A clock of a runtime that moves in steps on Windows.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The first and the last version.
    pub versions: (u8, u8),
    /// Its name in the runtime.
    pub what: &'static str,
    /// The clock of Windows behind it.
    pub windows: OsClock,
    /// The name that the runtime states for it.
    pub stated: &'static str,
    /// Where the code of the runtime has it.
    pub source: &'static str,
}

impl Runtime {
    /// Whether this version has lines.
    pub fn has(&self, minor: u8) -> bool {
        has(self.versions, minor)
    }
}

impl Line {
    /// Whether it is of this version.
    pub fn has(&self, minor: u8) -> bool {
        has(self.versions, minor)
    }

    /// The call of the port to an OS with these methods; `None` on Linux, where each call is itself.
    pub fn instead(&self, methods: &[Method]) -> Option<Instead> {
        if methods.contains(&Method::WindowsSleep) {
            Some(self.windows)
        } else if methods.contains(&Method::MachWaitUntil) {
            Some(self.macos)
        } else {
            None
        }
    }
}

impl Clock {
    /// Whether it is of this version.
    pub fn has(&self, minor: u8) -> bool {
        has(self.versions, minor)
    }
}

fn has(versions: (u8, u8), minor: u8) -> bool {
    RangeInclusive::new(versions.0, versions.1).contains(&minor)
}

/// The port as which a program is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TakenFor {
    /// A C program.
    Plain,
    /// CPython 3 of this minor version.
    Python(u8),
    /// Rust 1 of this minor version.
    Rust(u8),
    /// Node of this major version.
    Node(u8),
    /// Go 1 of this minor version.
    Go(u8),
    /// OpenJDK of this major version.
    Java(u8),
}

impl TakenFor {
    /// The table of its runtime, and the minor version.
    pub const fn runtime(self) -> Option<(&'static Runtime, u8)> {
        match self {
            Self::Plain => None,
            Self::Python(minor) => Some((&cpython::RUNTIME, minor)),
            Self::Rust(minor) => Some((&rust::RUNTIME, minor)),
            Self::Node(major) => Some((&node::RUNTIME, major)),
            Self::Go(minor) => Some((&go::RUNTIME, minor)),
            Self::Java(major) => Some((&java::RUNTIME, major)),
        }
    }

    /// Whether it has lines in a table.
    pub fn has_lines(self) -> bool {
        match self {
            Self::Node(major) => node::has(major),
            Self::Java(major) => java::has(major),
            other => other
                .runtime()
                .is_some_and(|(runtime, minor)| runtime.has(minor)),
        }
    }

    /// It as a word of the page; no statement is zero.
    pub fn word(this: Option<Self>) -> u64 {
        match this {
            None => 0,
            Some(Self::Plain) => 1,
            Some(Self::Python(minor)) => 0x300 | u64::from(minor),
            Some(Self::Rust(minor)) => 0x400 | u64::from(minor),
            Some(Self::Node(major)) => 0x500 | u64::from(major),
            Some(Self::Go(minor)) => 0x600 | u64::from(minor),
            Some(Self::Java(major)) => 0x700 | u64::from(major),
        }
    }

    /// Reads such a word.
    pub fn of(word: u64) -> Option<Self> {
        match word {
            1 => Some(Self::Plain),
            0x300..=0x3ff => Some(Self::Python(word as u8)),
            0x400..=0x4ff => Some(Self::Rust(word as u8)),
            0x500..=0x5ff => Some(Self::Node(word as u8)),
            0x600..=0x6ff => Some(Self::Go(word as u8)),
            0x700..=0x7ff => Some(Self::Java(word as u8)),
            _ => None,
        }
    }
}

impl fmt::Display for TakenFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Python(minor) => write!(f, "python-3.{minor}"),
            Self::Rust(minor) => write!(f, "rust-1.{minor}"),
            Self::Node(major) => write!(f, "node-{major}"),
            Self::Go(minor) => write!(f, "go-1.{minor}"),
            Self::Java(major) => write!(f, "java-{major}"),
        }
    }
}

impl FromStr for TakenFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let minor = |prefix: &str, runtime: &Runtime| {
            let minor = text.strip_prefix(prefix)?.parse().ok()?;
            has(runtime.versions, minor).then_some(minor)
        };
        let plain = (text == "plain").then_some(Self::Plain);
        plain
            .or_else(|| minor("python-3.", &cpython::RUNTIME).map(Self::Python))
            .or_else(|| minor("rust-1.", &rust::RUNTIME).map(Self::Rust))
            .or_else(|| minor("go-1.", &go::RUNTIME).map(Self::Go))
            .or_else(|| minor("node-", &node::RUNTIME).map(Self::Node))
            .or_else(|| minor("java-", &java::RUNTIME).map(Self::Java))
            .filter(|known| known == &Self::Plain || known.has_lines())
            .ok_or_else(|| {
                let range = |prefix: &str, (first, last): (u8, u8)| {
                    format!("`{prefix}{first}` to `{prefix}{last}`")
                };
                format!(
                    "a program can be taken for `plain`, for {}, for {}, for {}, for `node-18`, `node-20`, `node-22` \
                     and `node-24`, or for `java-11`, `java-17`, `java-21` and `java-25`",
                    range("python-3.", cpython::VERSIONS),
                    range("rust-1.", rust::VERSIONS),
                    range("go-1.", go::VERSIONS),
                )
            })
    }
}

/// The minor version in the name or the version text of CPython 3, such as `3.11.2` or `3.11`.
pub fn minor_version(text: &[u8]) -> Option<u8> {
    number(text.strip_prefix(b"3.")?)
}

/// The number at the beginning of a text.
fn number(text: &[u8]) -> Option<u8> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let len = digits.count();
    std::str::from_utf8(&text[..len]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_is_taken_for_crosses_as_a_word_and_as_text() {
        for taken_for in [
            None,
            Some(TakenFor::Plain),
            Some(TakenFor::Python(12)),
            Some(TakenFor::Rust(75)),
            Some(TakenFor::Node(24)),
            Some(TakenFor::Go(26)),
            Some(TakenFor::Java(21)),
        ] {
            assert_eq!(TakenFor::of(TakenFor::word(taken_for)), taken_for);
            if let Some(taken_for) = taken_for {
                assert_eq!(taken_for.to_string().parse(), Ok(taken_for));
            }
        }
        for wrong in [
            "",
            "python",
            "python-3.8",
            "python-3.15",
            "python-3.x",
            "rust-1.62",
            "rust-1.97",
            "rust",
            "node-19",
            "node-26",
            "node",
            "go-1.18",
            "go-1.27",
            "java-12",
            "java-26",
        ] {
            assert!(
                wrong
                    .parse::<TakenFor>()
                    .unwrap_err()
                    .contains("python-3.9"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn versions_are_found() {
        for (text, minor) in [
            ("3.11.2 (main, May 2 2024) [GCC]", Some(11)),
            ("3.9", Some(9)),
            ("3.", None),
            ("2.7", None),
            ("3.999", None),
        ] {
            assert_eq!(minor_version(text.as_bytes()), minor, "{text}");
        }
    }
}
