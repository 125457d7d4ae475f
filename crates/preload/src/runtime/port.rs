//! The calls of one process under one rule.

use punctual_core::{Method, Nanos};
use punctual_rules::setting::Requester;
use punctual_rules::{Host, OsClock, Setting, Time};

use super::{Again, TakenFor};
use crate::Call;

/// How a call of a process waits under the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The call that the rule knows.
    pub method: Method,
    /// Whether the port waits again.
    pub again: Again,
}

/// The way of each call of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port([Option<Way>; Call::ALL.len()]);

impl Port {
    /// That of a program, for an OS with these methods. A call without a line in the table of a runtime is that of
    /// a C program: an extension can make it.
    pub fn new(taken_for: TakenFor, methods: &[Method]) -> Self {
        Self(std::array::from_fn(|number| {
            let call = Call::ALL[number];
            let plain = Way {
                method: call.method(methods),
                again: Again::Never,
            };
            let Some((runtime, minor)) = taken_for.runtime() else {
                return Some(plain);
            };
            if runtime.own.contains(&call) {
                return None;
            }
            let mut lines = runtime.lines.iter();
            let line = lines.find(|line| line.has(minor) && line.here.contains(&call));
            let instead = line.and_then(|line| line.instead(methods));
            let found = instead.and_then(|instead| {
                let mut known = instead.methods.iter().copied();
                let method = known.find(|method| methods.contains(method))?;
                // Only a plain `Sleep` is followed by another.
                let is_once =
                    instead.again == Again::OneMillisecond && method != Method::WindowsSleep;
                let again = if is_once { Again::Never } else { instead.again };
                Some(Way { method, again })
            });
            Some(found.unwrap_or(plain))
        }))
    }

    /// The way of a call; `None` if the runtime makes it for itself only, so that it keeps its length.
    pub const fn way(&self, call: Call) -> Option<Way> {
        self.0[call as usize]
    }
}

const MS: u64 = 1_000_000;

/// The time that a thread can take from where the port reads a length to where this library does. A length that is less
/// short of whole milliseconds counts as whole. It is guessed: thread switches take longer, and function calls far less.
const ON_THE_WAY: u64 = 20_000;

/// The end of waits until the clock of libuv shows the end. A timeout has whole milliseconds.
fn until_millisecond(mut wait: impl FnMut(Time, u64) -> Time, now: Time, asked: u64) -> Time {
    let shows = |time: Time| time.floor_ns() / MS;
    let due = shows(now).saturating_add(asked.div_ceil(MS));
    let (mut end, mut timeout) = (now, asked);
    for round in 0_u32.. {
        end = wait(end, timeout);
        let Some(left) = due.checked_sub(shows(end)).filter(|left| *left > 0) else {
            break;
        };
        let longer = round.checked_sub(1).map_or(0, |power| 1 << power.min(20));
        timeout = (left + longer) * MS;
    }
    end
}

impl Way {
    /// The end of a wait that begins at `called` and asks for a length, both in nanoseconds.
    pub fn end(self, host: &mut Host, called: u64, asked: u64) -> Time {
        let now = Time::from_ns(called);
        let mut wait = |from: Time, ns: u64| host.end(self.method, from, from + Time::from_ns(ns));
        match self.again {
            Again::Never => wait(now, asked),
            Again::UntilOver => {
                let due = Time::from_ns(called.saturating_add(asked.next_multiple_of(MS)));
                let mut end = wait(now, asked);
                while end < due {
                    let left = (due - end).floor_ns() / MS * MS;
                    if left == 0 {
                        return due;
                    }
                    end = wait(end, left);
                }
                end
            }
            Again::OneMillisecond => match wait(now, asked) {
                early if early < now + Time::from_ns(asked) => wait(early, MS),
                end => end,
            },
            Again::UntilMillisecond => until_millisecond(wait, now, asked),
            Again::FineMeanwhile => self.with_request(host, now, asked),
            Again::RoundedDown => {
                let ms = asked.saturating_add(ON_THE_WAY) / MS;
                wait(now, ms.max(1) * MS)
            }
            Again::UntilTickCount => self.until_tick_count(host, now, asked),
        }
    }

    /// The end of a wait with a request for 1 ms, unless it takes a multiple of 10 ms. The request is withdrawn at its
    /// begin: waits of other threads, of which the rule hears later, can begin before its end.
    fn with_request(self, host: &mut Host, now: Time, asked: u64) -> Time {
        let interval = Nanos::from_ms(1);
        let request = Setting::request(interval);
        let is_whole = asked.div_ceil(MS).is_multiple_of(10);
        let requests = !is_whole && host.rule().refuses(&request).is_none();
        if requests {
            host.set(request, now);
        }
        let end = host.end(self.method, now, now + Time::from_ns(asked));
        if requests {
            let by = Requester::Process;
            host.set(Setting::Release { interval, by }, now);
        }
        end
    }

    /// The end of waits until GetTickCount64 shows the end.
    fn until_tick_count(self, host: &mut Host, now: Time, asked: u64) -> Time {
        let shows = |host: &Host, time: Time| {
            let shown = host.rule().shows(OsClock::GetTickCount, time);
            shown.unwrap_or(time).floor_ns() / MS
        };
        let due = shows(host, now).saturating_add(asked.div_ceil(MS));
        let (mut end, mut left) = (now, asked);
        while left > 0 {
            end = host.end(self.method, end, end + Time::from_ns(left));
            left = due.saturating_sub(shows(host, end)) * MS;
        }
        end
    }

    /// It as a number of the log.
    pub fn word(self) -> u64 {
        let mut all = Method::ALL.iter();
        let number = all.position(|method| *method == self.method);
        number.unwrap_or_default() as u64 | self.again.number() << 16
    }

    /// Reads such a number.
    pub fn of(word: u64) -> Option<Self> {
        let method = Method::ALL.get(usize::try_from(word & 0xffff).ok()?)?;
        Some(Self {
            method: *method,
            again: Again::of(word >> 16)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use punctual_rules::Description;

    use super::super::{cpython, go, java, node, rust};
    use super::*;

    fn host(text: &str) -> Host {
        Host::new(&text.parse::<Description>().unwrap(), 1)
    }

    const WINDOWS_8: &str =
        "windows-8 interval=15.625ms finest=1ms base=tick hardware=exact expiry=owner";

    const WINDOWS_11: &str = "windows-11 interval=15.625ms finest=500us base=now hardware=exact cycles=nearest cap=500us \
         slip=0 class=expiry global=0 expiry=owner hires_late=5us";

    #[test]
    fn ports_differ_by_version_and_system() {
        let windows = [
            Method::WindowsSleep,
            Method::WaitForSingleObject,
            Method::WaitForMultipleObjects,
            Method::ConditionVariable,
            Method::WaitableTimer,
            Method::HighResolutionTimer,
        ];
        let sleep = |minor, methods: &[Method]| {
            let port = Port::new(TakenFor::Python(minor), methods);
            port.way(Call::ClockNanosleep).unwrap().method
        };
        assert_eq!(sleep(10, &windows), Method::WaitForSingleObject);
        assert_eq!(sleep(11, &windows), Method::HighResolutionTimer);
        // Before Windows 10 1803.
        assert_eq!(sleep(11, &windows[..5]), Method::WaitableTimer);
        let mac = [Method::MachWaitUntil, Method::Nanosleep, Method::Select];
        assert_eq!(sleep(10, &mac), Method::Select);
        assert_eq!(sleep(13, &mac), Method::Nanosleep);
        // On Linux, and for C programs, a call is itself or its plain counterpart.
        assert_eq!(sleep(11, &[Method::ClockNanosleep]), Method::ClockNanosleep);
        let plain = Port::new(TakenFor::Plain, &windows);
        assert_eq!(
            plain.way(Call::ClockNanosleep).unwrap().method,
            Method::WindowsSleep
        );
        let python = Port::new(TakenFor::Python(11), &windows);
        assert_eq!(python.way(Call::Usleep), plain.way(Call::Usleep));
        assert_eq!(
            python.way(Call::SemClockwait).unwrap().again,
            Again::UntilOver
        );
    }

    #[test]
    fn each_call_has_one_line_in_each_version() {
        for runtime in [
            cpython::RUNTIME,
            rust::RUNTIME,
            node::RUNTIME,
            go::RUNTIME,
            java::RUNTIME,
        ] {
            let (first, last) = runtime.versions;
            for minor in first..=last {
                for call in Call::ALL {
                    let lines = runtime.lines.iter();
                    let lines = lines.filter(|line| line.has(minor) && line.here.contains(call));
                    assert!(
                        lines.count() <= 1,
                        "{}{minor} {}",
                        runtime.name,
                        call.name()
                    );
                }
            }
        }
    }

    #[test]
    fn a_port_that_waits_again_is_never_early() {
        let way = |again| Way {
            method: Method::WaitForSingleObject,
            again,
        };
        // Lengths count from the last tick, at 15.625 ms.
        let called = 31_000_000;
        let asked = 16_000_000;
        let end = |again| {
            let again = if again {
                Again::UntilOver
            } else {
                Again::Never
            };
            way(again)
                .end(&mut host(WINDOWS_8), called, asked)
                .floor_ns()
        };
        assert_eq!(end(false), 46_875_000);
        // 0.125 ms are left: less than a millisecond is spun.
        assert_eq!(end(true), 47_000_000);
        let end = way(Again::UntilOver).end(&mut host(WINDOWS_8), called, 18_000_000);
        assert_eq!(end.floor_ns(), 62_500_000);
    }

    #[test]
    fn a_sleep_of_rust_that_is_too_short_is_followed_by_another() {
        let early = |again| {
            let way = Way {
                method: Method::WindowsSleep,
                again,
            };
            way.end(&mut host(WINDOWS_8), 31_000_000, 16_000_000)
                .floor_ns()
        };
        assert_eq!(early(Again::Never), 46_875_000);
        assert_eq!(early(Again::OneMillisecond), 62_500_000);
        let windows = [
            Method::WindowsSleep,
            Method::ConditionVariable,
            Method::HighResolutionTimer,
        ];
        let sleep = |minor, methods: &[Method]| {
            let port = Port::new(TakenFor::Rust(minor), methods);
            let way = port.way(Call::Nanosleep).unwrap();
            (way.method, way.again)
        };
        let plain = (Method::WindowsSleep, Again::Never);
        let exact = (Method::HighResolutionTimer, Again::Never);
        assert_eq!(sleep(74, &windows), plain);
        assert_eq!([75, 94, 96].map(|minor| sleep(minor, &windows)), [exact; 3]);
        // Before Windows 10 1803.
        assert_eq!(sleep(94, &windows[..2]), plain);
        assert_eq!(
            sleep(95, &windows[..2]),
            (Method::WindowsSleep, Again::OneMillisecond)
        );
        let futex = Port::new(TakenFor::Rust(80), &windows).way(Call::Futex);
        assert_eq!(futex.unwrap().method, Method::ConditionVariable);
    }

    #[test]
    fn a_loop_of_node_waits_until_its_clock_shows_the_end() {
        let way = |again| Way {
            method: Method::WaitForSingleObject,
            again,
        };
        let end = |again, called| {
            way(again)
                .end(&mut host(WINDOWS_8), called, 16 * MS)
                .floor_ns()
        };
        // 0.125 ms are left, and the clock shows 46 ms of 47: another wait takes a tick.
        assert_eq!(end(Again::Never, 31 * MS), 46_875_000);
        assert_eq!(end(Again::UntilMillisecond, 31 * MS), 62_500_000);
        // The clock showed 30 ms as this one began, and shows 46 ms as it ends.
        assert_eq!(end(Again::UntilMillisecond, 30_900_000), 46_875_000);
        let windows = [Method::WindowsSleep, Method::WaitForSingleObject];
        let node = Port::new(TakenFor::Node(20), &windows).way(Call::EpollPwait);
        assert_eq!(node, Some(way(Again::UntilMillisecond)));
    }

    #[test]
    fn timers_of_go_depend_on_its_version_and_its_own_sleeps_keep_their_lengths() {
        let windows = [
            Method::WindowsSleep,
            Method::WaitForSingleObject,
            Method::WaitForMultipleObjects,
            Method::HighResolutionTimer,
        ];
        let timer = |minor, methods: &[Method]| {
            let port = Port::new(TakenFor::Go(minor), methods);
            assert_eq!(port.way(Call::Nanosleep), None);
            port.way(Call::EpollPwait).unwrap().method
        };
        assert_eq!(timer(22, &windows), Method::WaitForSingleObject);
        assert_eq!(timer(23, &windows), Method::HighResolutionTimer);
        // Before Windows 10 1803.
        assert_eq!(timer(23, &windows[..3]), Method::WaitForSingleObject);
        assert_eq!(
            timer(23, &[Method::MachWaitUntil, Method::Kevent]),
            Method::Kevent
        );
    }

    #[test]
    fn a_sleep_of_java_requests_a_millisecond_unless_it_takes_tens() {
        let windows = [Method::WindowsSleep, Method::WaitForSingleObject];
        let port = Port::new(TakenFor::Java(17), &windows);
        let way = port.way(Call::CondTimedwaitEvent).unwrap();
        assert_eq!(way.again, Again::FineMeanwhile);
        for text in [WINDOWS_8, WINDOWS_11] {
            let mut host = host(text);
            let mut took = |asked: u64, way: Way| {
                let end = way.end(&mut host, 1_000 * MS + 100_000, asked);
                end.floor_ns() - 1_000 * MS - 100_000
            };
            // The last default tick lies at 1000 ms, the next ones at 1015.625 and 1031.25 ms.
            for (asked, between) in [
                (MS - 200, 0..2 * MS),
                (9 * MS - 200, 8 * MS..10 * MS),
                (11 * MS, 10 * MS..12 * MS),
                (10 * MS - 200, 15 * MS..16 * MS),
                (20 * MS - 200, 30 * MS..32 * MS),
            ] {
                let length = took(asked, way);
                assert!(between.contains(&length), "{text}: {asked} {length}");
            }
            // The request is over.
            let park = port.way(Call::CondTimedwait).unwrap();
            assert!((15 * MS..16 * MS).contains(&took(MS, park)), "{text}");
        }
    }

    /// Threads share a rule, and the next wait can begin before the end of the last.
    #[test]
    fn a_request_of_a_long_sleep_delays_no_other_wait() {
        let way = |again| Way {
            method: Method::WaitForSingleObject,
            again,
        };
        for text in [WINDOWS_8, WINDOWS_11] {
            let (mut host, mut random) = (host(text), punctual_rules::Random::new(9));
            let mut now = 0;
            for round in 0..2_000 {
                now += random.below(Time::from_ns(3 * MS)).floor_ns();
                let asked = random.below(Time::from_ns(9_000 * MS)).floor_ns();
                let again = [Again::FineMeanwhile, Again::RoundedDown][round % 2];
                let length = way(again).end(&mut host, now, asked).floor_ns() - now;
                // From the last tick on, to the next one behind the end.
                assert!(
                    length + 16 * MS > asked && length < asked + 17 * MS,
                    "{asked} {length}"
                );
            }
        }
    }

    #[test]
    fn a_parker_of_java_rounds_down_and_a_selector_waits_for_its_clock() {
        let end = |again, host: &mut Host, called, asked| {
            let way = Way {
                method: Method::WaitForSingleObject,
                again,
            };
            way.end(host, called, asked).floor_ns()
        };
        // 31.25 ms are the second tick, and lengths count from the last one.
        let park = |asked| end(Again::RoundedDown, &mut host(WINDOWS_8), 16 * MS, asked);
        assert_eq!(park(16 * MS - 300_000), 31_250_000);
        assert_eq!(park(16 * MS - 300), 46_875_000);
        assert_eq!(park(17), 31_250_000);
        // GetTickCount64 keeps its steps under a request: it shows 31 ms at the begin and until 46.875 ms.
        let select = |again| {
            let mut host = host(WINDOWS_8);
            host.set(Setting::request(Nanos::from_ms(1)), Time::ZERO);
            end(again, &mut host, 32 * MS, 5 * MS)
        };
        assert_eq!(select(Again::Never), 37 * MS);
        assert_eq!(select(Again::UntilTickCount), 47 * MS);
    }

    #[test]
    fn ways_cross_as_words() {
        for method in Method::ALL {
            for again in Again::ALL {
                let way = Way { method, again };
                assert_eq!(Way::of(way.word()), Some(way));
            }
        }
        assert_eq!(Way::of(0xffff), None);
    }
}
