//! `strace -f -ttt -T`: waiting calls with what they asked for, when they began and how long they took.

use std::collections::BTreeMap;

use punctual_record::LoggedKind;
use punctual_trace::{Clock, Ended, Event, Timeout, What};

use crate::Hints;
use crate::events::Events;
use crate::number::{Unit, at, length};
use crate::series::{Log, Series, Wait};

/// Calls that wait, and how each says for how long: by the place of that argument.
const CALLS: [(&str, Argument); 14] = [
    ("nanosleep", Argument::Length(0)),
    ("clock_nanosleep", Argument::Clock),
    ("select", Argument::Length(4)),
    ("pselect6", Argument::Length(4)),
    ("poll", Argument::Ms(2)),
    ("ppoll", Argument::Length(2)),
    ("epoll_wait", Argument::Ms(3)),
    ("epoll_pwait", Argument::Ms(3)),
    ("epoll_pwait2", Argument::Length(3)),
    ("futex", Argument::Futex),
    ("rt_sigtimedwait", Argument::Length(2)),
    ("semtimedop", Argument::Length(3)),
    ("io_getevents", Argument::Length(4)),
    ("clock_nanosleep_time64", Argument::Clock),
];

/// How a call says for how long it waits.
#[derive(Clone, Copy, PartialEq)]
enum Argument {
    /// A `timespec` or `timeval` in this place.
    Length(usize),
    /// Milliseconds in this place.
    Ms(usize),
    /// `clock_nanosleep`: a length, or an instant of the clock that it names.
    Clock,
    /// `futex`: by its operation.
    Futex,
}

/// The request of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Length(u64),
    /// An instant of the clock of `-ttt`.
    Realtime(u64),
    /// An instant of a clock that strace does not show.
    Monotonic(u64),
}

/// A call that ended, as one line or two say it.
struct Call<'t> {
    name: &'t str,
    arguments: String,
    began_ns: u64,
    took_ns: Option<u64>,
    result: &'t str,
}

/// Reads it.
pub(crate) fn read(text: &str, _: &Hints) -> Option<Result<Log, String>> {
    let lines = text.lines().take(200);
    let known = lines.filter(|line| is_one(line)).count();
    (known > 0).then(|| of(text))
}

/// Whether a line is a call of `strace -ttt`.
fn is_one(line: &str) -> bool {
    let Some((_, _, rest)) = begin(line) else {
        return false;
    };
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    rest.starts_with("<... ")
        || rest.starts_with("+++ ")
        || rest.split_once('(').is_some_and(|(name, _)| is_name(name))
}

/// The thread of a line, its time, and the rest: `[pid 7] 1795683261.268383 poll(...`.
fn begin(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.trim_start();
    let (thread, rest) = match line.strip_prefix("[pid") {
        Some(rest) => rest
            .split_once(']')
            .map(|(thread, rest)| (thread.trim(), rest.trim_start()))?,
        None => ("", line),
    };
    let (first, rest) = rest.split_once(' ')?;
    let is_time = |word: &str| {
        let parts = word.split_once('.');
        parts.is_some_and(|(s, us)| {
            s.len() >= 6
                && us.len() >= 6
                && [s, us]
                    .iter()
                    .all(|part| part.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    if is_time(first) {
        return Some((thread, first, rest.trim_start()));
    }
    let (time, rest) = rest.trim_start().split_once(' ')?;
    let is_thread = first.bytes().all(|b| b.is_ascii_digit());
    (is_thread && is_time(time)).then_some((first, time, rest.trim_start()))
}

/// Nanoseconds of `1795683261.268383`, exactly.
fn instant(text: &str) -> Option<u64> {
    let (s, fraction) = text.split_once('.')?;
    let digits = fraction.get(..9).unwrap_or(fraction);
    let fraction: u64 = digits.parse().ok()?;
    let ns = fraction.checked_mul(10_u64.pow(9_u32.checked_sub(digits.len() as u32)?))?;
    s.parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(ns)
}

/// Gives each call that ended to `take`, with its thread.
fn calls<'t>(text: &'t str, mut take: impl FnMut(&'t str, Call<'t>)) -> Result<(), String> {
    let mut open: BTreeMap<&str, (&str, String, u64)> = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        let Some((thread, time, rest)) = begin(line) else {
            continue;
        };
        let began_ns = at(
            i,
            instant(time).ok_or_else(|| format!("`{time}` is no time")),
        )?;
        let (head, took) = split_took(rest);
        let took_ns = took.map(|took| at(i, length(took, Unit::S))).transpose()?;
        let call = if let Some(rest) = head.strip_prefix("<... ") {
            let Some((name, rest)) = rest.split_once(" resumed>") else {
                continue;
            };
            let Some((begun, mut arguments, began_ns)) = open.remove(thread) else {
                continue;
            };
            if begun != name {
                continue;
            }
            let (more, result) = rest.rsplit_once(" = ").unwrap_or((rest, ""));
            arguments += more;
            Call {
                name,
                arguments,
                began_ns,
                took_ns,
                result,
            }
        } else {
            let Some((name, rest)) = head.split_once('(') else {
                continue;
            };
            if let Some(arguments) = rest.trim_end().strip_suffix("<unfinished ...>") {
                open.insert(thread, (name, arguments.to_owned(), began_ns));
                continue;
            }
            let Some((arguments, result)) = rest.rsplit_once(" = ") else {
                continue;
            };
            Call {
                name,
                arguments: arguments.to_owned(),
                began_ns,
                took_ns,
                result,
            }
        };
        take(thread, call);
    }
    Ok(())
}

const NO_LENGTHS: &str =
    "this strace has no lengths of calls: run it again with -T, as `strace -f -ttt -T`";

const MEASURED: &str = "Tracing itself makes each call longer, by tens of microseconds; times are in whole microseconds.";

fn of(text: &str) -> Result<Log, String> {
    let mut log = Log::new("strace");
    let mut waits: BTreeMap<String, Vec<(Asked, u64, u64)>> = BTreeMap::new();
    let (mut without_length, mut by_event) = (0_u64, 0_u64);
    calls(text, |_, call| {
        let Some(asked) = asked(&call) else { return };
        let Some(took_ns) = call.took_ns else {
            without_length += 1;
            return;
        };
        match has_timed_out(&call) {
            true => {
                let name = match asked {
                    Asked::Monotonic(_) => format!("{} until", call.name),
                    _ => call.name.to_owned(),
                };
                waits
                    .entry(name)
                    .or_default()
                    .push((asked, call.began_ns, took_ns));
            }
            false => by_event += 1,
        }
    })?;
    if waits.is_empty() && without_length > 0 {
        return Err(NO_LENGTHS.to_owned());
    }
    for (name, waits) in waits {
        series(&mut log, name, &waits);
    }
    log.series
        .sort_by_key(|series| std::cmp::Reverse(series.n()));
    log.cannot_tell(MEASURED);
    if by_event > 0 {
        log.cannot_tell(format!(
            "{by_event} more calls ended before their time, by what they waited for or by a signal; they are not in it."
        ));
    }
    Ok(log)
}

/// A wait as events have it.
struct Timed {
    thread: u32,
    call: punctual_trace::Call,
    timeout: Timeout,
    deadline: Option<Asked>,
    began: u64,
    ended: u64,
    result: i64,
}

/// Reads its waits as events; `None` if the file is another.
pub(crate) fn events(text: &str) -> Option<Result<Events, String>> {
    let mut lines = text.lines().take(200);
    lines.any(is_one).then(|| events_of(text))
}

fn events_of(text: &str) -> Result<Events, String> {
    let mut waits = Vec::new();
    let mut without_length = 0_u64;
    calls(text, |thread, call| {
        let name = call.name.trim_end_matches("_time64");
        let (Some(of), Some(timeout)) = (punctual_trace::Call::named(name), timeout(&call)) else {
            return;
        };
        let Some(took) = call.took_ns else {
            without_length += 1;
            return;
        };
        waits.push(Timed {
            // Without -f it names none.
            thread: thread.parse().unwrap_or(1),
            call: of,
            timeout,
            deadline: asked(&call),
            began: call.began_ns,
            ended: call.began_ns.saturating_add(took),
            result: of.result_of(ended(&call)),
        });
    })?;
    if waits.is_empty() {
        return Err(match without_length {
            0 => "this strace has no calls that wait".to_owned(),
            _ => NO_LENGTHS.to_owned(),
        });
    }
    // As for `series`: no wait ends before its deadline.
    let past = |wait: &Timed| match wait.deadline {
        Some(Asked::Monotonic(at)) => Some(i128::from(wait.ended) - i128::from(at)),
        _ => None,
    };
    let by_time = |wait: &&Timed| wait.call.ended(wait.result, true) == Ended::ByTime;
    let apart = waits.iter().filter(by_time).filter_map(past).min();
    let mut events = Vec::with_capacity(3 * waits.len());
    for wait in &waits {
        let mut push = |time, what| {
            events.push(Event {
                time,
                cpu: 0,
                thread: wait.thread,
                what,
            });
        };
        let enter = What::Enter {
            process: wait.thread,
            call: wait.call,
            timeout: wait.timeout,
        };
        push(wait.began, enter);
        let deadline = match wait.deadline {
            Some(Asked::Length(length)) => Some(wait.began.saturating_add(length)),
            Some(Asked::Realtime(at)) => Some(at),
            Some(Asked::Monotonic(at)) => {
                apart.and_then(|apart| u64::try_from(i128::from(at) + apart).ok())
            }
            None => None,
        };
        if let Some(deadline) = deadline {
            let due = What::Due {
                deadline,
                leeway: None,
                in_wheel: false,
            };
            push(wait.began, due);
        }
        push(
            wait.ended,
            What::Exit {
                result: wait.result,
            },
        );
    }
    events.sort_by_key(|event| event.time);
    let untold = [
        "strace shows when a call began and ended, and not what it waited for after its deadline: all of the lateness is \
         unknown.",
        "It has no names of threads.",
        MEASURED,
    ];
    let earliest = match apart {
        Some(_) => {
            "Where deadlines are on CLOCK_MONOTONIC, lateness counts from the earliest of these waits. "
        }
        None => "",
    };
    Ok(Events {
        format: "strace",
        events,
        tick_ns: None,
        untold: untold.map(str::to_owned).to_vec(),
        more: Some(format!(
            "{earliest}`sudo punctual trace -- COMMAND` tells all."
        )),
    })
}

/// The timeout of a call; `None` of one that does not wait.
fn timeout(call: &Call<'_>) -> Option<Timeout> {
    match asked(call) {
        Some(Asked::Length(ns)) => return Some(Timeout::Length(ns)),
        Some(Asked::Realtime(_)) => return Some(Timeout::Until(Clock::Realtime)),
        Some(Asked::Monotonic(_)) => return Some(Timeout::Until(Clock::Monotonic)),
        None => {}
    }
    let (_, argument) = CALLS.iter().find(|(name, _)| *name == call.name)?;
    let arguments = arguments(&call.arguments);
    let place = |place: usize| Some(arguments.get(place)?.trim_end_matches(')'));
    match argument {
        Argument::Ms(at) if place(*at)? == "0" => Some(Timeout::Zero),
        Argument::Ms(at) if place(*at)? == "-1" => Some(Timeout::Never),
        Argument::Length(at) if place(*at)? == "NULL" => Some(Timeout::Never),
        Argument::Futex if place(1)?.starts_with("FUTEX_WAIT") && place(3)? == "NULL" => {
            Some(Timeout::Never)
        }
        _ => None,
    }
}

/// How a call ended.
fn ended(call: &Call<'_>) -> Ended {
    let result = call.result.trim();
    match has_timed_out(call) {
        true => Ended::ByTime,
        false if result.starts_with("-1 EINTR") || result.starts_with("? ERESTART") => {
            Ended::BySignal
        }
        false => Ended::ByEvent,
    }
}

/// Adds the waits with one call.
fn series(log: &mut Log, name: String, waits: &[(Asked, u64, u64)]) {
    // The clock of a deadline and that of the file differ by an unknown length. The earliest wait
    // bounds it: no wait ends before its deadline.
    let past = |(asked, began, took): &(Asked, u64, u64)| match asked {
        Asked::Monotonic(deadline) => {
            Some(i128::from(began.saturating_add(*took)) - i128::from(*deadline))
        }
        _ => None,
    };
    let apart = waits.iter().filter_map(past).min();
    let wait = |wait: &(Asked, u64, u64)| {
        let (asked, began, took) = *wait;
        let ended = began.saturating_add(took);
        let late = match asked {
            Asked::Length(asked) => i128::from(took) - i128::from(asked),
            Asked::Realtime(deadline) => i128::from(ended) - i128::from(deadline),
            Asked::Monotonic(_) => past(wait)
                .zip(apart)
                .map_or(0, |(past, apart)| past - apart),
        };
        Wait {
            late: i64::try_from(late).ok(),
            length: Some(took),
            at: Some(ended),
        }
    };
    if let Some((Asked::Monotonic(_), ..)) = waits.first() {
        log.cannot_tell(format!(
            "Deadlines of `{name}` are on a clock that it does not show: lateness is counted from the earliest of these \
             waits, and the true lateness is greater by a constant."
        ));
    }
    log.series.push(Series::of(
        name,
        LoggedKind::Waits,
        waits.iter().map(wait).collect(),
    ));
}

/// A line without `<0.004043>` at its end, and that.
fn split_took(line: &str) -> (&str, Option<&str>) {
    let line = line.trim_end();
    let took = line
        .strip_suffix('>')
        .and_then(|line| line.rsplit_once('<'));
    match took {
        Some((head, took)) if took.starts_with(|c: char| c.is_ascii_digit()) => {
            (head.trim_end(), Some(took))
        }
        _ => (line, None),
    }
}

/// Whether a call ended as its time was up.
fn has_timed_out(call: &Call<'_>) -> bool {
    let result = call.result.trim();
    match call.name {
        "nanosleep" | "clock_nanosleep" | "clock_nanosleep_time64" => result == "0",
        "futex" => result.starts_with("-1 ETIMEDOUT"),
        "rt_sigtimedwait" | "semtimedop" => result.starts_with("-1 EAGAIN"),
        _ => result == "0" || result.starts_with("0 (Timeout)"),
    }
}

/// Returns the request of a call, or `None` if it waits for no time.
fn asked(call: &Call<'_>) -> Option<Asked> {
    let (_, argument) = CALLS.iter().find(|(name, _)| *name == call.name)?;
    let arguments = arguments(&call.arguments);
    let place = |place: usize| arguments.get(place).copied();
    match argument {
        Argument::Length(at) => Some(Asked::Length(timespec(place(*at)?)?)),
        Argument::Ms(at) => {
            let ms: u64 = place(*at)?.trim_end_matches(')').parse().ok()?;
            (ms > 0).then_some(Asked::Length(ms.checked_mul(1_000_000)?))
        }
        Argument::Clock => {
            let ns = timespec(place(2)?)?;
            Some(match (place(0)?, place(1)?) {
                (_, "0") => Asked::Length(ns),
                ("CLOCK_REALTIME", "TIMER_ABSTIME") => Asked::Realtime(ns),
                ("CLOCK_MONOTONIC", "TIMER_ABSTIME") => Asked::Monotonic(ns),
                _ => return None,
            })
        }
        Argument::Futex => {
            let operation = place(1)?;
            let ns = timespec(place(3)?)?;
            let is_realtime = operation.contains("FUTEX_CLOCK_REALTIME");
            match operation.starts_with("FUTEX_WAIT_BITSET") {
                true if is_realtime => Some(Asked::Realtime(ns)),
                true => Some(Asked::Monotonic(ns)),
                false => operation
                    .starts_with("FUTEX_WAIT")
                    .then_some(Asked::Length(ns)),
            }
        }
    }
}

/// Nanoseconds of `{tv_sec=0, tv_nsec=2000000}`.
fn timespec(text: &str) -> Option<u64> {
    let number = |name: &str| {
        let digits = text.split_once(name)?.1;
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        digits[..end].parse::<u64>().ok()
    };
    let fraction = number("tv_nsec=").or_else(|| number("tv_usec=")?.checked_mul(1_000))?;
    number("tv_sec=")?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction)
}

/// The arguments of a call: commas within brackets and quotes separate nothing.
fn arguments(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut quoted, mut escaped) =
        (Vec::new(), 0, 0_usize, false, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[begin..i].trim());
                begin = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked_by(name: &str, arguments: &str) -> Option<Asked> {
        asked(&Call {
            name,
            arguments: arguments.to_owned(),
            began_ns: 0,
            took_ns: None,
            result: "0",
        })
    }

    #[test]
    fn each_call_says_in_its_own_way_what_it_asks_for() {
        let ms = |ms: u64| Some(Asked::Length(ms * 1_000_000));
        assert_eq!(
            asked_by("nanosleep", "{tv_sec=0, tv_nsec=2000000}, NULL)"),
            ms(2)
        );
        assert_eq!(
            asked_by(
                "clock_nanosleep",
                "CLOCK_REALTIME, 0, {tv_sec=1, tv_nsec=0}, 0x7ffc)"
            ),
            ms(1_000)
        );
        assert_eq!(
            asked_by(
                "clock_nanosleep",
                "CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=0, tv_nsec=7}, NULL)"
            ),
            Some(Asked::Monotonic(7))
        );
        assert_eq!(
            asked_by("select", "0, NULL, NULL, NULL, {tv_sec=0, tv_usec=1000})"),
            ms(1)
        );
        assert_eq!(asked_by("poll", "[{fd=3, events=POLLIN}], 1, 3)"), ms(3));
        assert_eq!(asked_by("poll", "NULL, 0, -1)"), None);
        assert_eq!(asked_by("epoll_wait", "3, [], 1024, 4)"), ms(4));
        assert_eq!(
            asked_by(
                "futex",
                "0x7f, FUTEX_WAIT_PRIVATE, 0, {tv_sec=0, tv_nsec=5000000})"
            ),
            ms(5)
        );
        assert_eq!(
            asked_by(
                "futex",
                "0x7f, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=9}, F)"
            ),
            Some(Asked::Realtime(9))
        );
        assert_eq!(
            asked_by("read", "3, \"a, {tv_sec=1, tv_nsec=2}\", 4)"),
            None
        );
        assert_eq!(asked_by("futex", "0x7f, FUTEX_WAKE_PRIVATE, 1)"), None);
    }
}
