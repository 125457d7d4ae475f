//! Arguments of calls: for how long, or until when, a call waits.

use super::lines::Call;

/// Calls that wait, and how each says for how long: by the place of that argument.
pub(super) const CALLS: [(&str, Argument); 13] = [
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
pub(super) enum Argument {
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
pub(super) enum Asked {
    Length(u64),
    /// An instant of the clock of `-ttt`.
    Realtime(u64),
    /// An instant of a clock that strace does not show.
    Monotonic(u64),
}

/// Returns the request of a call, or `None` if it waits for no time.
pub(super) fn asked(call: &Call<'_>) -> Option<Asked> {
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
pub(super) enum Operation {
    Wait,
    WaitBitset { is_realtime: bool },
}

impl Operation {
    pub(super) fn of(argument: &str) -> Option<Self> {
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
pub(super) fn arguments(text: &str) -> Vec<&str> {
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
