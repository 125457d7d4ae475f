//! Ways to wait that cost time, whatever makes the waits late.

use punctual_record::{TraceFacts, Traced, TracedTimeout};

use super::FEW;
use crate::select::Row;
use crate::units;

/// Sleeps that begin when the work before them ends.
pub(super) fn adds_up(row: Row<'_, Traced>, facts: &TraceFacts) -> Option<String> {
    let loses = row.of.late_total_ns as f64 / facts.elapsed_ns.max(1) as f64 * 3600.0;
    if !row.of.lateness_adds_up || row.late_ns.n < FEW || loses < 1.0 {
        return None;
    }
    let time = match loses {
        s if s < 120.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    };
    Some(format!(
        "Each wait begins when the work before it ends, so lateness adds up: at {} a wait on average, the loop loses {time} an hour. With deadlines at even distances it would lose nothing.",
        units::duration(row.of.late_total_ns / row.late_ns.n),
    ))
}

/// Waits that take longer to end than they ask for.
pub(super) fn longer_than_asked(row: Row<'_, Traced>) -> Option<String> {
    let asked = row.of.asked_ns?.mean;
    let late = row.late_ns.p50? as f64;
    let is_short =
        late > asked && row.late_ns.n >= FEW && row.of.timeout != TracedTimeout::Absolute;
    is_short.then(|| {
        format!(
            "A wait of {} ends {} late: it is shorter than its overshoot.",
            units::duration(asked),
            units::duration(late)
        )
    })
}

/// Timeouts that can only be whole milliseconds.
pub(super) fn whole_milliseconds(row: Row<'_, Traced>) -> Option<String> {
    let asked = row.of.asked_ns?;
    let finer = match row.of.call.as_str() {
        "poll" => "ppoll",
        "epoll_wait" | "epoll_pwait" => "epoll_pwait2",
        _ => return None,
    };
    let is_short = row.late_ns.n >= FEW && asked.max <= 10_000_000;
    is_short.then(|| {
        format!(
            "{} takes whole milliseconds, so its timeouts are rounded; {finer} takes nanoseconds.",
            row.of.call
        )
    })
}

/// Calls that return at once, again and again.
pub(super) fn spins(row: Row<'_, Traced>) -> Option<String> {
    const OFTEN: f64 = 1_000.0;
    let ended = row.late_ns.n + row.missed + row.of.ended_by_event + row.of.polled;
    let share = row.of.polled as f64 / ended.max(1) as f64;
    (row.of.polled >= FEW && row.of.per_s * share >= OFTEN).then(|| {
        format!(
            "Thread {} calls {} {} times a second with a timeout of zero: it polls instead of waiting.",
            row.of.thread,
            row.of.call,
            units::per_second(row.of.per_s * share)
        )
    })
}
