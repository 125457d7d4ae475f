//! Lines of strace, and the calls that they say.

use std::collections::BTreeMap;

use crate::number::{Unit, at, instant, length};

/// A thread as strace names it: its number, and its name with `-Y`.
#[derive(Clone, Copy, Default)]
pub(super) struct Thread<'t> {
    /// Empty without `-f`.
    pub(super) number: &'t str,
    pub(super) name: &'t str,
}

/// A line with a time.
pub(super) struct Line<'t> {
    thread: Thread<'t>,
    time: &'t str,
    /// The call and all behind it.
    pub(super) rest: &'t str,
}

/// The thread that a line begins with, if any, and the rest: `[pid 7] `, `7 `, `7<name> `.
pub(super) fn owner(line: &str) -> (Thread<'_>, &str) {
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
pub(super) fn begin(line: &str) -> Option<Line<'_>> {
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
pub(super) fn without_columns(mut rest: &str) -> &str {
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

/// A call that ended, as one line or two say it.
pub(super) struct Call<'t> {
    pub(super) name: &'t str,
    pub(super) arguments: String,
    pub(super) began_ns: u64,
    pub(super) took_ns: Option<u64>,
    pub(super) result: &'t str,
}

/// Gives each call that ended to `take`, with its thread.
pub(super) fn calls<'t>(
    text: &'t str,
    mut take: impl FnMut(Thread<'t>, Call<'t>),
) -> Result<(), String> {
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

/// Whether a call ended as its time was up.
pub(super) fn has_timed_out(call: &Call<'_>) -> bool {
    let result = call.result.trim();
    match call.name {
        "nanosleep" | "clock_nanosleep" => result == "0",
        "futex" => result.starts_with("-1 ETIMEDOUT"),
        "rt_sigtimedwait" | "semtimedop" => result.starts_with("-1 EAGAIN"),
        _ => result == "0" || result.starts_with("0 (Timeout)"),
    }
}
