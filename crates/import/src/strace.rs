//! `strace -f -ttt -T`: waiting calls with what they asked for, when they began and how long they took.

use std::collections::BTreeMap;

use punctual_record::LoggedKind;
use punctual_trace::{Clock, Ended, Event, Name, Timeout, What};

use crate::Hints;
use crate::events::Events;
use crate::number::{Unit, at, length};
use crate::series::{Log, Series, Wait};

/// Calls that wait, and how each says for how long: by the place of that argument.
const CALLS: [(&str, Argument); 13] = [
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
    match text.lines().any(is_one) {
        true => Some(of(text)),
        false => unusable(text).map(Err),
    }
}

/// Whether a line is a call of `strace -ttt`.
fn is_one(line: &str) -> bool {
    begin(line).is_some_and(|line| is_rest(line.rest))
}

/// Whether this is a call, or another thing that strace writes in its place.
fn is_rest(rest: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let others = ["<... ", "+++ ", "--- SIG"];
    others.iter().any(|other| rest.starts_with(other))
        || rest.split_once('(').is_some_and(|(name, _)| is_name(name))
}

/// Why output of strace with other options is not read; `None` if it is none.
fn unusable(text: &str) -> Option<String> {
    const AGAIN: &str = "run it again as `strace -f -ttt -T`";
    let is_summary =
        |line: &str| line.starts_with("% time") && line.trim_end().ends_with("syscall");
    if text.lines().any(is_summary) {
        return Some(format!(
            "this is the summary of strace -c, which has no single calls: {AGAIN}"
        ));
    }
    let waits = |line: &str| {
        let (_, rest) = owner(line.trim_start());
        // A time of -t, -tt or -r, or none.
        let is_of_time = |c: char| c.is_ascii_digit() || [':', '.', ' '].contains(&c);
        let call = without_columns(rest.trim_start_matches(is_of_time));
        let is_wait = |(name, _): &(&str, Argument)| {
            let rest = call.strip_prefix(name);
            rest.is_some_and(|rest| {
                rest.strip_prefix("_time64")
                    .unwrap_or(rest)
                    .starts_with('(')
            })
        };
        CALLS.iter().any(is_wait)
            && [" = ", "<unfinished ...>"]
                .iter()
                .any(|end| call.contains(end))
    };
    text.lines().any(waits).then(|| {
        format!("this strace has no times in seconds since 1970, to the microsecond: {AGAIN}")
    })
}

/// A thread as strace names it: its number, and its name with `-Y`.
#[derive(Clone, Copy, Default)]
struct Thread<'t> {
    /// Empty without `-f`.
    number: &'t str,
    name: &'t str,
}

/// A line with a time.
struct Line<'t> {
    thread: Thread<'t>,
    time: &'t str,
    /// The call and all behind it.
    rest: &'t str,
}

/// The thread that a line begins with, if any, and the rest: `[pid 7] `, `7 `, `7<name> `.
fn owner(line: &str) -> (Thread<'_>, &str) {
    let none = (Thread::default(), line);
    let (head, end) = match line.strip_prefix("[pid") {
        Some(head) => (head.trim_start(), ']'),
        None => (line, ' '),
    };
    let digits = head.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = head.split_at(digits);
    // A `>` in a name is written as an escape.
    let (name, rest) = match rest.strip_prefix('<').and_then(|name| name.split_once('>')) {
        Some(of) => of,
        None => ("", rest),
    };
    match rest.strip_prefix(end) {
        Some(rest) if digits > 0 => (Thread { number, name }, rest.trim_start()),
        _ => none,
    }
}

/// The beginning of `[pid 7<name>] 1795683261.268383 poll(...`.
fn begin(line: &str) -> Option<Line<'_>> {
    let (thread, rest) = owner(line.trim_start());
    let (time, rest) = rest.split_once(' ')?;
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (s, fraction) = time.split_once('.')?;
    let is_time = s.len() >= 6 && fraction.len() >= 6 && is_number(s) && is_number(fraction);
    is_time.then(|| Line {
        thread,
        time,
        rest: without_columns(rest.trim_start()),
    })
}

/// The rest without the columns of other options: `(+ 0.000016)` of -r, `[ 230]` of -n, `[00007f72b5d7a2ad]` of -i.
fn without_columns(mut rest: &str) -> &str {
    let number = |c: char| c.is_ascii_hexdigit() || [' ', '?'].contains(&c);
    let relative = |c: char| c.is_ascii_digit() || ['+', '.', ' '].contains(&c);
    loop {
        let column = match rest.as_bytes().first() {
            Some(b'(') => rest[1..].trim_start_matches(relative).strip_prefix(')'),
            Some(b'[') => rest[1..].trim_start_matches(number).strip_prefix(']'),
            _ => None,
        };
        match column {
            Some(behind) => rest = behind.trim_start(),
            None => return rest,
        }
    }
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
fn calls<'t>(text: &'t str, mut take: impl FnMut(Thread<'t>, Call<'t>)) -> Result<(), String> {
    let mut open: BTreeMap<&str, (&str, String, u64)> = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        let Some(Line { thread, time, rest }) = begin(line) else {
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
            let Some((begun, mut arguments, began_ns)) = open.remove(thread.number) else {
                continue;
            };
            let name = of_any_time(name);
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
            let name = of_any_time(name);
            if let Some(arguments) = rest.trim_end().strip_suffix("<unfinished ...>") {
                open.insert(thread.number, (name, arguments.to_owned(), began_ns));
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
        // A call that the end of its process cut off.
        if call.result.trim() != "?" {
            take(thread, call);
        }
    }
    Ok(())
}

/// The name of a call whose times have 64 bits, on computers where others have 32.
fn of_any_time(name: &str) -> &str {
    name.strip_suffix("_time64").unwrap_or(name)
}

/// The calls that cannot be waits of a log, counted.
#[derive(Default)]
struct Unusable {
    without_length: u64,
    with_address: u64,
}

impl Unusable {
    /// How long a call took; `None` is counted.
    fn took(&mut self, call: &Call<'_>) -> Option<u64> {
        self.without_length += u64::from(call.took_ns.is_none());
        call.took_ns
    }

    /// Counts a call that shows the address of its length.
    fn note_address(&mut self, call: &Call<'_>) {
        let of = CALLS.iter().find(|(name, _)| *name == call.name);
        let place = of.and_then(|(_, argument)| match argument {
            Argument::Length(at) => Some(*at),
            Argument::Ms(_) => None,
            Argument::Clock => Some(2),
            Argument::Futex => Some(3),
        });
        let argument = place.and_then(|place| arguments(&call.arguments).get(place).copied());
        let is_wait = call.name != "futex" || call.result.trim().starts_with("-1 ETIMEDOUT");
        let is_address = argument.is_some_and(|argument| argument.starts_with("0x"));
        self.with_address += u64::from(is_wait && is_address);
    }

    /// Why a file has no waits.
    fn refusal(&self) -> Option<&'static str> {
        match (self.without_length, self.with_address) {
            (1.., _) => Some(NO_LENGTHS),
            (0, 1..) => Some(ADDRESSES),
            (0, 0) => None,
        }
    }

    /// Adds the sentence on them, beside waits.
    fn untold(&self) -> Option<String> {
        let n = self.without_length + self.with_address;
        (n > 0).then(|| {
            format!(
                "{n} more calls have no duration (-T), or the address of their length instead of it; they are not in it."
            )
        })
    }
}

const NO_LENGTHS: &str = "this strace has no durations of calls to the microsecond: run it again with -T, as `strace -f -ttt -T`";

const ADDRESSES: &str = "this strace shows addresses instead of the lengths of waits: run it again without -e raw and -e verbose=none, \
                         as `strace -f -ttt -T`";

const MEASURED: &str = "Tracing itself makes each call longer, by tens of microseconds; times are in whole microseconds.";

fn of(text: &str) -> Result<Log, String> {
    let mut log = Log::new("strace");
    let mut waits: BTreeMap<String, Vec<(Asked, u64, u64)>> = BTreeMap::new();
    let (mut unusable, mut by_event) = (Unusable::default(), 0_u64);
    calls(text, |_, call| {
        let Some(asked) = asked(&call) else {
            unusable.note_address(&call);
            return;
        };
        let Some(took_ns) = unusable.took(&call) else {
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
    if let Some(why) = unusable.refusal().filter(|_| waits.is_empty()) {
        return Err(why.to_owned());
    }
    for (name, waits) in waits {
        series(&mut log, name, &waits);
    }
    log.series
        .sort_by_key(|series| std::cmp::Reverse(series.n()));
    log.cannot_tell(MEASURED);
    log.untold.extend(unusable.untold());
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
    match text.lines().any(is_one) {
        true => Some(events_of(text)),
        false => unusable(text).map(Err),
    }
}

fn events_of(text: &str) -> Result<Events, String> {
    let mut waits = Vec::new();
    let mut unusable = Unusable::default();
    let mut names: BTreeMap<u32, Name> = BTreeMap::new();
    calls(text, |thread, call| {
        let of = punctual_trace::Call::named(call.name);
        let Some((of, timeout)) = of.zip(timeout(&call)) else {
            unusable.note_address(&call);
            return;
        };
        let Some(took) = unusable.took(&call) else {
            return;
        };
        // Without -f it names none.
        let number = thread.number.parse().unwrap_or(1);
        if !thread.name.is_empty() {
            names.insert(number, Name::new(thread.name.as_bytes()));
        }
        waits.push(Timed {
            thread: number,
            call: of,
            timeout,
            deadline: asked(&call),
            began: call.began_ns,
            ended: call.began_ns.saturating_add(took),
            result: of.result_of(ended(&call)),
        });
    })?;
    if waits.is_empty() {
        let none = "this strace has no calls that wait";
        return Err(unusable.refusal().unwrap_or(none).to_owned());
    }
    // As for `series`: no wait ends before its deadline.
    let past = |wait: &Timed| match wait.deadline {
        Some(Asked::Monotonic(at)) => Some(i128::from(wait.ended) - i128::from(at)),
        _ => None,
    };
    let by_time = |wait: &&Timed| wait.call.ended(wait.result, true) == Ended::ByTime;
    let apart = waits.iter().filter(by_time).filter_map(past).min();
    let mut events = Vec::with_capacity(3 * waits.len());
    let first = waits.iter().map(|wait| wait.began).min().unwrap_or(0);
    let named = names.iter().map(|(thread, name)| Event {
        time: first,
        cpu: 0,
        thread: *thread,
        what: What::Named(*name),
    });
    events.extend(named);
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
    let mut untold = vec![
        "strace shows when a call began and ended, and not what it waited for after its deadline: all of the lateness is \
         unknown."
            .to_owned(),
    ];
    if names.is_empty() {
        untold.push("It has no names of threads; strace -Y shows them.".to_owned());
    }
    untold.push(MEASURED.to_owned());
    untold.extend(unusable.untold());
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
        untold,
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
        Argument::Futex if place(3)? == "NULL" => Operation::of(place(1)?).map(|_| Timeout::Never),
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

/// A line without `<0.004043>` at its end, and that, if it is as precise as a microsecond.
fn split_took(line: &str) -> (&str, Option<&str>) {
    let line = line.trim_end();
    let took = line
        .strip_suffix('>')
        .and_then(|line| line.rsplit_once(" <"));
    let Some((head, took)) = took else {
        return (line, None);
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match took.split_once('.') {
        Some((s, fraction)) if is_number(s) && is_number(fraction) => {
            (head.trim_end(), (fraction.len() >= 6).then_some(took))
        }
        _ => (line, None),
    }
}

/// Whether a call ended as its time was up.
fn has_timed_out(call: &Call<'_>) -> bool {
    let result = call.result.trim();
    match call.name {
        "nanosleep" | "clock_nanosleep" => result == "0",
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
            let clock = place(0)?;
            match is(place(1)?, 1, "TIMER_ABSTIME") {
                false => Some(Asked::Length(ns)),
                true if is(clock, 0, "CLOCK_REALTIME") => Some(Asked::Realtime(ns)),
                true => is(clock, 1, "CLOCK_MONOTONIC").then_some(Asked::Monotonic(ns)),
            }
        }
        Argument::Futex => {
            let ns = timespec(place(3)?)?;
            Some(match Operation::of(place(1)?)? {
                Operation::Wait => Asked::Length(ns),
                Operation::WaitBitset { is_realtime: true } => Asked::Realtime(ns),
                Operation::WaitBitset { is_realtime: false } => Asked::Monotonic(ns),
            })
        }
    }
}

/// Whether an argument is this constant, by its name or with `-X raw` by its number.
fn is(argument: &str, number: u64, name: &str) -> bool {
    let words = argument.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    whole(argument) == Some(number) || words.into_iter().any(|word| word == name)
}

/// The number that an argument begins with; `-X verbose` has its name in a comment behind.
fn whole(argument: &str) -> Option<u64> {
    let number = argument.split([' ', ')']).next()?;
    match number.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    }
}

/// An operation of `futex` that waits with a timeout (include/uapi/linux/futex.h).
enum Operation {
    Wait,
    WaitBitset { is_realtime: bool },
}

impl Operation {
    fn of(argument: &str) -> Option<Self> {
        const REALTIME: u64 = 256;
        const PRIVATE: u64 = 128;
        if let Some(number) = whole(argument) {
            return match number & !(PRIVATE | REALTIME) {
                0 => Some(Self::Wait),
                9 => Some(Self::WaitBitset {
                    is_realtime: number & REALTIME != 0,
                }),
                _ => None,
            };
        }
        let mut words = argument.split('|');
        match words.next()?.trim_end_matches("_PRIVATE") {
            "FUTEX_WAIT" => Some(Self::Wait),
            "FUTEX_WAIT_BITSET" => Some(Self::WaitBitset {
                is_realtime: words.any(|word| word == "FUTEX_CLOCK_REALTIME"),
            }),
            _ => None,
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

/// The arguments of a call: commas within brackets, quotes and annotations such as `3<TCP:[...]>` separate nothing.
fn arguments(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut quoted, mut escaped, mut annotated) = (false, false, false);
    let mut last = ' ';
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            // `->` is between the ends of a connection. Other `>` in a name are written as escapes.
            '>' if annotated => annotated = last == '-',
            _ if annotated => {}
            '<' => annotated = last.is_ascii_digit() && !text[i + 1..].starts_with('<'),
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[begin..i].trim());
                begin = i + 1;
            }
            _ => {}
        }
        last = c;
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
