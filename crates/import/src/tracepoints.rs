//! `perf script` of tracepoints: system calls, timers and the scheduler, as events.

use std::collections::BTreeMap;

use punctual_trace::{Call, Event, Left, Name, What};

use crate::clock::Comparisons;
use crate::events::Events;
use crate::perf::{Line, Switch, event, named};

/// The recording that tells most.
const RECORD: &str = "perf record -k CLOCK_MONOTONIC -a -e \
    'syscalls:sys_enter_clock_nanosleep,syscalls:sys_exit_clock_nanosleep,timer:*,sched:sched_switch,sched:sched_waking,\
    sched:sched_wakeup,sched:sched_migrate_task'";

/// Ticks of the timer wheel a second that Linux can have (kernel/Kconfig.hz, and 1024 of Alpha).
const TICKS: [u64; 5] = [100, 250, 300, 1000, 1024];

/// Reads it; `None` if the file is another.
pub(crate) fn events(text: &str) -> Option<Result<Events, String>> {
    let is_one = |line: &str| {
        let Some(Line { event, .. }) = event(line) else {
            return false;
        };
        let begins = ["syscalls:sys_", "timer:", "sched:sched_", "PERF_RECORD_"];
        begins.iter().any(|begin| event.starts_with(begin))
    };
    text.lines().any(is_one).then(|| of(text))
}

/// The facts that the lines tell beside their events.
#[derive(Default)]
struct Seen {
    /// The clock of the file beside that of the timers.
    clocks: Comparisons,
    /// The first and the last tick with its time.
    ticks: Option<[(u64, u64); 2]>,
    arms: u64,
}

fn of(text: &str) -> Result<Events, String> {
    let mut seen = Seen::default();
    let mut events = Vec::new();
    let mut running: BTreeMap<u32, u32> = BTreeMap::new();
    for line in text.lines() {
        let Some(line) = event(line) else { continue };
        let Some((kind, rest)) = line.event.split_once(": ") else {
            continue;
        };
        seen.note(kind, rest, line.at_ns);
        let cpu = line.cpu.unwrap_or(0);
        // A thread that has just ended has no number, and still runs until the switch.
        let thread = line.thread.or_else(|| running.get(&cpu).copied());
        let what = what(kind, rest, line.process);
        let left = match what {
            Some(What::Switch { next, .. }) => {
                running.insert(cpu, next);
                Switch::of(rest).map(|switch| switch.left)
            }
            _ => None,
        };
        if let Some((thread, what)) = left.or(thread).zip(what) {
            seen.arms += u64::from(matches!(what, What::Arm { .. }));
            events.push(Event {
                time: line.at_ns,
                cpu,
                thread,
                what,
            });
        }
    }
    if !events
        .iter()
        .any(|event| matches!(event.what, What::Enter { .. }))
    {
        return Err(format!(
            "this perf script has no system calls that wait, and without them nothing says what was asked for: record \
             them too, as {RECORD}; punctual import shows for how long threads were off their CPU"
        ));
    }
    let mut untold = vec![
        "perf script does not tell who wakes whom from an interrupt, so there are no counts of wake-ups.".to_owned(),
    ];
    let tick_ns = seen.tick_ns();
    untold.extend(set_clock(&mut events, seen));
    events.sort_by_key(|event| event.time);
    Ok(Events {
        format: "perf script",
        events,
        tick_ns,
        untold,
        more: None,
    })
}

/// Sets the events to the clock of the timers, and returns the facts that the file does not tell of it.
fn set_clock(events: &mut Vec<Event>, seen: Seen) -> Vec<String> {
    let mut untold = Vec::new();
    let Some(ahead) = seen.clocks.settle() else {
        if seen.arms > 0 {
            events.retain(|event| !matches!(event.what, What::Arm { .. }));
            untold.push(
                "It has no interrupt of a tick (timer:hrtimer_expire_entry), which shows how its clock and that of the timers \
                 differ: deadlines of sleeps are unknown."
                    .to_owned(),
            );
        }
        return untold;
    };
    if ahead.is_same() {
        return untold;
    }
    let times = || events.iter().map(|event| event.time);
    let ends = times().min().zip(times().max());
    let is_unknown = ends.is_some_and(|(first, last)| ahead.is_unknown(first, last));
    for event in events {
        event.time = ahead.on_other(event.time);
    }
    untold.push(
        "Its clock is another than that of the timers; it was set by their interrupts once a second, to some microseconds. \
         perf record -k CLOCK_MONOTONIC has the same."
            .to_owned(),
    );
    if is_unknown {
        untold.push(
            "Some of it is more than 10 s away from an interrupt of a tick: there the two clocks may have drifted apart, by \
             up to some microseconds a second."
                .to_owned(),
        );
    }
    untold
}

impl Seen {
    fn note(&mut self, kind: &str, rest: &str, at: u64) {
        match kind {
            "timer:hrtimer_expire_entry" if function(rest).is_some_and(is_tick) => {
                if let Some(now) = number(rest, "now=") {
                    self.clocks.note(at, now);
                }
            }
            "timer:timer_expire_entry" => {
                if let Some(tick) = number(rest, "now=") {
                    let [first, _] = self.ticks.unwrap_or([(tick, at); 2]);
                    self.ticks = Some([first, (tick, at)]);
                }
            }
            _ => {}
        }
    }

    /// The length of a tick that Linux can have and that fits what was seen, to a hundredth.
    fn tick_ns(&self) -> Option<u64> {
        let [first, last] = self.ticks?;
        let ticks = last.0.checked_sub(first.0).filter(|ticks| *ticks >= 40)?;
        let per_s = ticks as f64 * 1e9 / last.1.checked_sub(first.1)? as f64;
        let fits = |hz: &u64| (per_s / *hz as f64 - 1.0).abs() < 0.01;
        let found = TICKS.into_iter().find(fits)?;
        Some(1_000_000_000 / found)
    }
}

/// The function of a timer, behind which libtraceevent writes an offset: `tick_nohz_handler/0x0`.
fn function(rest: &str) -> Option<&str> {
    text(rest, "function=")?.split('/').next()
}

/// The function of the tick, which is on the monotonic clock (kernel/time/tick-sched.c).
fn is_tick(function: &str) -> bool {
    ["tick_nohz_handler", "tick_sched_timer"].contains(&function)
}

/// The event of a line; `None` of one that does not matter.
fn what(kind: &str, rest: &str, process: u32) -> Option<What> {
    let small = |name: &str| u32::try_from(number(rest, name)?).ok();
    let calls = |name: &str| (function(rest)? == name).then_some(());
    if let Some(call) = kind.strip_prefix("syscalls:sys_enter_") {
        let call = Call::named(call)?;
        let timeout = call.timeout(&arguments(rest))?;
        return Some(What::Enter {
            process,
            call,
            timeout,
        });
    }
    if let Some(call) = kind.strip_prefix("syscalls:sys_exit_") {
        Call::named(call)?;
        return Some(What::Exit {
            result: whole(rest.trim())? as i64,
        });
    }
    Some(match kind {
        "timer:hrtimer_start" => {
            calls("hrtimer_wakeup")?;
            // libtraceevent writes none. As an instant, it leaves out the time from the call to the arming.
            let mode = text(rest, "mode=").unwrap_or_default();
            What::Arm {
                timer: number(rest, "hrtimer=")?,
                soft: number(rest, "softexpires=")?,
                hard: number(rest, " expires=")?,
                is_relative: mode.contains("REL") || whole(mode).is_some_and(|mode| mode & 1 == 1),
            }
        }
        "timer:timer_start" => {
            calls("process_timeout")?;
            let expires = number(rest, " expires=")?;
            What::ArmWheel {
                timer: number(rest, "timer=")?,
                now: expires.checked_sub(number(rest, "[timeout=")?)?,
                expires,
                slot: number(rest, "bucket_expiry=")?,
            }
        }
        "timer:hrtimer_expire_entry" => What::Expire {
            timer: number(rest, "hrtimer=")?,
        },
        "timer:timer_expire_entry" => What::Expire {
            timer: number(rest, "timer=")?,
        },
        "sched:sched_waking" => What::Waking {
            thread: small(" pid=")?,
            by_interrupt: false,
        },
        "sched:sched_wakeup" => match rest.rsplit_once(" CPU:") {
            // Of libtraceevent: `x:7 [120] success=1 CPU:001`.
            Some((head, cpu)) => What::Ready {
                thread: named(head.rsplit_once(']')?.0)?.1,
                on: cpu.trim().parse().ok()?,
            },
            None => What::Ready {
                thread: small(" pid=")?,
                on: small("target_cpu=")?,
            },
        },
        "sched:sched_migrate_task" => What::Migrate {
            thread: small(" pid=")?,
            to: small("dest_cpu=")?,
        },
        "sched:sched_switch" => switch(rest)?,
        "sched:sched_process_exit" => What::End,
        _ => return None,
    })
}

fn switch(rest: &str) -> Option<What> {
    let switch = Switch::of(rest)?;
    Some(What::Switch {
        left: match switch.state {
            state if state.starts_with('R') => Left::Ready,
            state if state.contains(['T', 't']) => Left::Stopped,
            _ => Left::Asleep,
        },
        next: switch.next,
        name: Name::new(switch.next_name.as_bytes()),
        is_real_time: switch.is_real_time(),
    })
}

/// The values of `which_clock: 0x00000001, flags: 0x00000001, ...`.
fn arguments(rest: &str) -> [u64; 6] {
    let mut values = rest.split(", ").map(|argument| {
        let value = argument.rsplit(": ").next().and_then(whole);
        value.unwrap_or(0)
    });
    std::array::from_fn(|_| values.next().unwrap_or(0))
}

/// The last word after this in a line: a name of a thread may have anything in it, and comes before.
fn text<'t>(rest: &'t str, name: &str) -> Option<&'t str> {
    let value = rest.rsplit_once(name)?.1;
    value.split([' ', ']']).next()
}

fn number(rest: &str, name: &str) -> Option<u64> {
    whole(text(rest, name)?)
}

/// A whole number, which is signed or of base 16.
fn whole(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => match text.parse::<i64>() {
            Ok(signed) => Some(signed as u64),
            Err(_) => text.parse().ok(),
        },
    }
}
