//! Events as text, a line each, which can be read without punctual.
//!
//! The first line is `punctual-events 1`, the second has the length of a tick of the timer
//! wheel. Each further line is an
//! event: the time in nanoseconds, the CPU, the thread that it ran, a word, and what belongs to it.

use std::fmt::Write as _;

use crate::call::{Call, Clock, Timeout};
use crate::engine::Engine;
use crate::event::{Event, Left, Name, Offsets, What};

/// The beginning of a file of events.
pub const HEAD: &str = "punctual-events 1";

/// The first two lines, of a computer whose timer wheel has ticks of this length.
pub fn head(tick_ns: Option<u64>) -> String {
    format!("{HEAD}\ntick_ns={}\n", shown(tick_ns))
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or("unknown".to_owned(), |value| value.to_string())
}

/// The line of an event, with its end.
pub fn line(event: &Event) -> String {
    let Event {
        time, cpu, thread, ..
    } = event;
    let mut text = format!("{time} {cpu} {thread} ");
    // Writing to a text never fails.
    let _ = match event.what {
        What::Enter {
            process,
            call,
            timeout,
        } => write!(text, "enter {process} {} {}", call.name(), words(timeout)),
        What::Exit { result } => write!(text, "exit {result}"),
        What::Arm {
            timer,
            soft,
            hard,
            is_relative,
        } => {
            let mode = if is_relative { "relative" } else { "absolute" };
            write!(text, "arm {timer:x} {soft} {hard} {mode}")
        }
        What::ArmWheel {
            timer,
            now,
            expires,
            slot,
        } => write!(text, "arm-wheel {timer:x} {now} {expires} {slot}"),
        What::Expire { timer } => write!(text, "expire {timer:x}"),
        What::Waking {
            thread,
            by_interrupt,
        } => {
            let by = if by_interrupt { "interrupt" } else { "thread" };
            write!(text, "waking {thread} {by}")
        }
        What::Ready { thread, on } => write!(text, "ready {thread} {on}"),
        What::Migrate { thread, to } => write!(text, "migrate {thread} {to}"),
        What::Switch {
            left,
            next,
            name,
            is_real_time,
        } => {
            let class = if is_real_time { "real-time" } else { "fair" };
            write!(text, "switch {} {next} {class} {name}", state(left))
        }
        What::Clocks(Offsets {
            realtime,
            boottime,
            tai,
        }) => {
            let [realtime, boottime, tai] = [realtime, boottime, tai].map(shown);
            write!(text, "clocks {realtime} {boottime} {tai}")
        }
        What::Due {
            deadline,
            leeway,
            in_wheel,
        } => {
            let kind = if in_wheel { "wheel" } else { "timer" };
            write!(text, "due {deadline} {} {kind}", shown(leeway))
        }
        What::Waited { ns } => write!(text, "waited {ns}"),
        What::Off { left } => write!(text, "off {}", state(left)),
        What::On => write!(text, "on"),
        What::SeenStopped { since } => write!(text, "seen-stopped {since}"),
        What::Named(name) => write!(text, "named {name}"),
        What::End => write!(text, "end"),
        What::Throttled { ns } => write!(text, "throttled {ns}"),
        What::Lost { n } => write!(text, "lost {n}"),
    };
    text.push('\n');
    text
}

/// Reads a file of events.
///
/// # Errors
/// It is none, or a line is not that of an event. The message is one line and names the line of the
/// file.
pub fn read(text: &str) -> Result<Engine, String> {
    read_with(text, Engine::new, Engine::feed)
}

/// The same: `new` makes the engine for a computer with these ticks of the timer wheel, in nanoseconds, and `take` gives
/// each event to it.
///
/// # Errors
/// As of [`read`].
pub fn read_with(
    text: &str,
    new: impl FnOnce(Option<u64>) -> Engine,
    mut take: impl FnMut(&mut Engine, &Event),
) -> Result<Engine, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!(
            "this is no file of events: it does not begin with `{HEAD}`"
        ));
    }
    let tick_ns = lines.next().and_then(|line| line.strip_prefix("tick_ns="));
    let tick_ns = tick_ns.and_then(optional);
    let tick_ns = tick_ns.filter(|ns| *ns != Some(0));
    let tick_ns = tick_ns.ok_or("line 2 must be tick_ns=N, or tick_ns=unknown")?;
    let mut engine = new(tick_ns);
    for (at, line) in lines.enumerate() {
        let event = event(line).ok_or_else(|| {
            let at = at + 3;
            let shown: String = line.chars().take(60).collect();
            let shown = punctual_record::visible(&shown);
            format!("line {at} is not that of an event: `{shown}`")
        })?;
        take(&mut engine, &event);
    }
    engine.close();
    Ok(engine)
}

/// A number, or `unknown`.
fn optional<T: std::str::FromStr>(word: &str) -> Option<Option<T>> {
    match word {
        "unknown" => Some(None),
        word => word.parse().ok().map(Some),
    }
}

/// Reads the line of an event; `None` if it is none.
pub fn event(line: &str) -> Option<Event> {
    // A name may have spaces, and is the last.
    let mut words = line.splitn(8, ' ');
    let number = |word: Option<&str>| word?.parse::<u64>().ok();
    let small = |word: Option<&str>| word?.parse::<u32>().ok();
    let address = |word: Option<&str>| u64::from_str_radix(word?, 16).ok();
    let is = |word: Option<&str>, yes: &str, no: &str| match word? {
        word if word == yes => Some(true),
        word if word == no => Some(false),
        _ => None,
    };
    let time = number(words.next())?;
    let cpu = small(words.next())?;
    let thread = small(words.next())?;
    let what = match words.next()? {
        "enter" => What::Enter {
            process: small(words.next())?,
            call: Call::named(words.next()?)?,
            timeout: timeout(words.next()?)?,
        },
        "exit" => What::Exit {
            result: words.next()?.parse().ok()?,
        },
        "arm" => What::Arm {
            timer: address(words.next())?,
            soft: number(words.next())?,
            hard: number(words.next())?,
            is_relative: is(words.next(), "relative", "absolute")?,
        },
        "arm-wheel" => What::ArmWheel {
            timer: address(words.next())?,
            now: number(words.next())?,
            expires: number(words.next())?,
            slot: number(words.next())?,
        },
        "expire" => What::Expire {
            timer: address(words.next())?,
        },
        "waking" => What::Waking {
            thread: small(words.next())?,
            by_interrupt: is(words.next(), "interrupt", "thread")?,
        },
        "ready" => What::Ready {
            thread: small(words.next())?,
            on: small(words.next())?,
        },
        "migrate" => What::Migrate {
            thread: small(words.next())?,
            to: small(words.next())?,
        },
        "switch" => What::Switch {
            left: left(words.next()?)?,
            next: small(words.next())?,
            is_real_time: is(words.next(), "real-time", "fair")?,
            name: Name::new(words.next()?.as_bytes()),
        },
        "clocks" => What::Clocks(Offsets {
            realtime: optional(words.next()?)?,
            boottime: optional(words.next()?)?,
            tai: optional(words.next()?)?,
        }),
        "due" => What::Due {
            deadline: number(words.next())?,
            leeway: optional(words.next()?)?,
            in_wheel: is(words.next(), "wheel", "timer")?,
        },
        "waited" => What::Waited {
            ns: number(words.next())?,
        },
        "off" => What::Off {
            left: left(words.next()?)?,
        },
        "on" => What::On,
        "seen-stopped" => What::SeenStopped {
            since: number(words.next())?,
        },
        "named" => {
            let name = line.splitn(5, ' ').nth(4)?;
            words = "".splitn(8, ' ');
            words.next();
            What::Named(Name::new(name.as_bytes()))
        }
        "end" => What::End,
        "throttled" => What::Throttled {
            ns: number(words.next())?,
        },
        "lost" => What::Lost {
            n: number(words.next())?,
        },
        _ => return None,
    };
    words.next().is_none().then_some(Event {
        time,
        cpu,
        thread,
        what,
    })
}

/// States of threads that left their CPU, with their words.
const STATES: [(Left, &str); 3] = [
    (Left::Ready, "ready"),
    (Left::Asleep, "asleep"),
    (Left::Stopped, "stopped"),
];

fn state(left: Left) -> &'static str {
    let mut states = STATES.iter();
    let state = states.find(|(of, _)| *of == left);
    state.map_or("asleep", |(_, word)| word)
}

fn left(word: &str) -> Option<Left> {
    let mut states = STATES.iter();
    Some(states.find(|(_, of)| *of == word)?.0)
}

/// Clocks, with their words.
const CLOCKS: [(Clock, &str); 5] = [
    (Clock::Monotonic, "until-monotonic"),
    (Clock::Realtime, "until-realtime"),
    (Clock::Boottime, "until-boottime"),
    (Clock::Tai, "until-tai"),
    (Clock::Other, "until-other"),
];

fn words(timeout: Timeout) -> String {
    match timeout {
        Timeout::Never => "never".to_owned(),
        Timeout::Zero => "zero".to_owned(),
        Timeout::Length(ns) => ns.to_string(),
        Timeout::Relative => "relative".to_owned(),
        Timeout::OfFile => "of-file".to_owned(),
        Timeout::Until(clock) => {
            let mut words = CLOCKS.iter();
            let words = words.find(|(of, _)| *of == clock);
            words.map_or("until-other", |(_, word)| word).to_owned()
        }
    }
}

fn timeout(word: &str) -> Option<Timeout> {
    Some(match word {
        "never" => Timeout::Never,
        "zero" => Timeout::Zero,
        "relative" => Timeout::Relative,
        "of-file" => Timeout::OfFile,
        word => match CLOCKS.iter().find(|(_, of)| *of == word) {
            Some((clock, _)) => Timeout::Until(*clock),
            None => Timeout::Length(word.parse().ok()?),
        },
    })
}
