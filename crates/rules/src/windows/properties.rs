//! The rule against models of it that are too simple to be wrong.

use proptest::prelude::*;
use punctual_core::{Method, Nanos};

use crate::setting::{Power, Requester, Throttling};
use crate::testing::described;
use crate::windows::default_scan::Cycles;
use crate::windows::interval::{Hardware, stated};
use crate::windows::rule::Windows;
use crate::windows::ticks::Class;
use crate::{Answer, Description, OsClock, Random, Request, Rule, Setting, Time};

/// The differences between the models of 10 2004 and 11.
const AMD: &str = "base=now hardware=amd";
const NEW: &str = "base=now";

const PROCESSES: usize = 3;
const THREADS: usize = 6;
const DEFAULT: Time = Time::from_ns(15_625_000);
const UNIT: Time = Time::from_ns(100);

/// All requests in a list, of which everything is counted anew each time.
#[derive(Default)]
struct Ledger {
    throttles: bool,
    on_battery: bool,
    /// Process, interval, interval on the battery, requester.
    requests: Vec<(usize, Nanos, Option<Nanos>, Requester)>,
    unnoticed: [bool; PROCESSES],
    throttling: [Throttling; PROCESSES],
}

impl Ledger {
    fn set(&mut self, process: usize, setting: Setting) -> Answer {
        match setting {
            Setting::Request {
                interval,
                on_battery,
                by,
            } => self.requests.push((process, interval, on_battery, by)),
            Setting::Release { interval, by } => {
                let same = |request: &(usize, Nanos, Option<Nanos>, Requester)| {
                    (request.0, request.1, request.3) == (process, interval, by)
                };
                let made = self.requests.iter().enumerate();
                let made = made.filter(|(_, request)| same(request));
                let Some((place, _)) = made.max_by_key(|(_, request)| request.2) else {
                    return Answer::Denied;
                };
                self.requests.remove(place);
            }
            Setting::Window {
                visible, audible, ..
            } => {
                self.unnoticed[process] = !(visible || audible);
            }
            Setting::Throttling(throttling) => self.throttling[process] = throttling,
            Setting::Power(power) => self.on_battery = power == Power::Battery,
            Setting::Slack(_)
            | Setting::Priority(_)
            | Setting::Nice(_)
            | Setting::Slice(_)
            | Setting::Policy(_)
            | Setting::Quota { .. }
            | Setting::Weight(_) => {}
        }
        Answer::Accepted
    }

    fn end(&mut self, process: usize) {
        self.requests.retain(|request| request.0 != process);
        self.unnoticed[process] = false;
        self.throttling[process] = Throttling::BySystem;
    }

    fn counts(&self, process: usize, by: Requester) -> bool {
        by == Requester::Driver
            || !self.throttles
            || match self.throttling[process] {
                Throttling::BySystem => !self.unnoticed[process],
                Throttling::HonourRequests => true,
                Throttling::IgnoreRequests => false,
            }
    }

    fn interval(&self, hardware: Hardware) -> Time {
        let counted = self.requests.iter().filter(|r| self.counts(r.0, r.3));
        let lengths = counted.map(|&(_, interval, on_battery, _)| match on_battery {
            Some(longer) if self.on_battery => interval.max(longer),
            _ => interval,
        });
        match lengths
            .min()
            .map(|shortest| shortest.max(Nanos::from_us(500)))
        {
            Some(shortest) if Time::from(shortest) < DEFAULT => hardware.grant(shortest),
            _ => DEFAULT,
        }
    }

    fn has_asked(&self, process: usize) -> bool {
        let own = (process, Requester::Process);
        let mut requests = self.requests.iter();
        requests.any(|r| (r.0, r.3) == own && self.counts(r.0, r.3))
    }

    fn has_driver(&self) -> bool {
        self.requests.iter().any(|r| r.3 == Requester::Driver)
    }
}

fn interval() -> impl Strategy<Value = Nanos> {
    prop::sample::select(vec![
        Nanos::from_us(100),
        Nanos::from_us(500),
        Nanos::from_us(507),
        Nanos::from_ms(1),
        Nanos::from_ms(2),
        Nanos::from_ms(6),
        Nanos::from_ms(7),
        Nanos::from_ms(12),
        Nanos::from_ms(40),
    ])
}

fn setting() -> impl Strategy<Value = Setting> {
    let by = || {
        prop::sample::select(vec![
            Requester::Process,
            Requester::Process,
            Requester::Driver,
        ])
    };
    prop_oneof![
        4 => (interval(), prop::option::of(interval()), by()).prop_map(
            |(interval, on_battery, by)| Setting::Request { interval, on_battery, by }
        ),
        4 => (interval(), by()).prop_map(|(interval, by)| Setting::Release { interval, by }),
        2 => any::<[bool; 3]>().prop_map(
            |[visible, foreground, audible]| Setting::Window { visible, foreground, audible }
        ),
        1 => prop::sample::select(vec![
            Setting::Throttling(Throttling::BySystem),
            Setting::Throttling(Throttling::HonourRequests),
            Setting::Throttling(Throttling::IgnoreRequests),
            Setting::Power(Power::Mains),
            Setting::Power(Power::Battery),
        ]),
    ]
}

proptest! {
    #[test]
    fn who_asks_for_what_is_kept_as_in_a_list(
        is_11 in any::<bool>(),
        steps in prop::collection::vec((0..PROCESSES, prop::option::weighted(0.9, setting())), 0..80),
    ) {
        let name = if is_11 { "windows-11" } else { "windows-10-2004" };
        let hardware = if is_11 { Hardware::Exact } else { Hardware::Amd };
        let Description::Windows(options) = described(name, if is_11 { NEW } else { AMD }) else {
            panic!("{name} is no Windows");
        };
        let mut rule = Windows::new(&options);
        (0..PROCESSES).for_each(|number| rule.created(number, number, None));
        let mut ledger = Ledger { throttles: is_11, ..Ledger::default() };
        for (step, (process, setting)) in steps.into_iter().enumerate() {
            let now = Time::from_ns(1_234_567).times(step as u64);
            match setting {
                Some(setting) if rule.refuses(&setting).is_none() => prop_assert_eq!(
                    rule.set(process, process, setting, now),
                    ledger.set(process, setting)
                ),
                Some(_) => {}
                None => {
                    rule.ended(process, now);
                    ledger.end(process);
                }
            }
            prop_assert_eq!(rule.interval(), Some(stated(ledger.interval(hardware))));
            for process in 0..PROCESSES {
                let class = if ledger.has_asked(process) {
                    Class::EveryTick
                } else {
                    Class::DefaultScans
                };
                prop_assert_eq!(rule.class(process), class);
            }
        }
    }
}

/// A system that goes from tick to tick and looks at all its timers.
struct Naive {
    system: System,
    ledger: Ledger,
    now: Time,
    interval: Time,
    cycle: u64,
    last_tick: Time,
    next_tick: Time,
    last_scan: Time,
    next_scan: Time,
    /// When each is due, and whether its process had asked when it was armed.
    armed: [Option<(Time, bool)>; THREADS],
    log: Vec<(Time, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct System {
    model: &'static str,
    given: &'static str,
    hardware: Hardware,
    has_classes: bool,
    is_class_fixed: bool,
    throttles: bool,
    counts_from_call: bool,
}

const PLAIN: System = System {
    model: "windows-7",
    given: "base=tick",
    hardware: Hardware::Exact,
    has_classes: false,
    is_class_fixed: false,
    throttles: false,
    counts_from_call: false,
};

const SYSTEMS: [System; 6] = [
    PLAIN,
    System {
        model: "windows-xp",
        given: "base=now hardware=rtc expiry=arming",
        hardware: Hardware::Rtc,
        counts_from_call: true,
        ..PLAIN
    },
    System {
        model: "windows-10-2004",
        given: "base=now hardware=intel",
        hardware: Hardware::Intel,
        has_classes: true,
        counts_from_call: true,
        ..PLAIN
    },
    System {
        model: "windows-10-2004",
        given: "base=tick hardware=amd class=arming expiry=arming",
        hardware: Hardware::Amd,
        has_classes: true,
        is_class_fixed: true,
        ..PLAIN
    },
    System {
        model: "windows-11",
        given: "base=now expiry=arming",
        has_classes: true,
        throttles: true,
        counts_from_call: true,
        ..PLAIN
    },
    System {
        model: "windows-11",
        given: "base=now global=1",
        counts_from_call: true,
        ..PLAIN
    },
];

impl Naive {
    fn new(system: System) -> Self {
        Self {
            system,
            ledger: Ledger {
                throttles: system.throttles,
                ..Ledger::default()
            },
            now: Time::ZERO,
            interval: DEFAULT,
            cycle: 1,
            last_tick: Time::ZERO,
            next_tick: DEFAULT,
            last_scan: Time::ZERO,
            next_scan: DEFAULT,
            armed: [None; THREADS],
            log: vec![],
        }
    }

    fn has_asked(&self, thread: usize) -> bool {
        !self.system.has_classes || self.ledger.has_asked(thread % PROCESSES)
    }

    fn arm(&mut self, thread: usize, length: Time) {
        let base = if self.system.counts_from_call {
            self.now
        } else {
            self.last_tick
        };
        self.armed[thread] = Some((base + length, self.has_asked(thread)));
    }

    fn run_until(&mut self, until: Time) {
        while self.next_tick <= until {
            let tick = self.next_tick;
            for thread in 0..THREADS {
                let Some((due, had_asked)) = self.armed[thread] else {
                    continue;
                };
                let has_asked = if self.system.is_class_fixed {
                    had_asked
                } else {
                    self.has_asked(thread)
                };
                let is_looked_at = has_asked || tick == self.next_scan || self.ledger.has_driver();
                if is_looked_at && due <= tick {
                    self.armed[thread] = None;
                    self.log.push((tick, thread));
                }
            }
            if tick == self.next_scan {
                self.last_scan = tick;
                self.next_scan = tick + self.interval.times(self.cycle);
            }
            self.last_tick = tick;
            self.next_tick = tick + self.interval;
        }
        self.now = until;
    }

    /// The requests have changed.
    fn changed(&mut self) {
        let interval = self.ledger.interval(self.system.hardware);
        if interval == self.interval {
            return;
        }
        let cap = Time::from_ns(500_000);
        self.interval = interval;
        self.cycle = Cycles::Nearest { cap }.ticks(DEFAULT, interval);
        let pending = self.next_tick;
        self.next_tick = self.last_tick + interval;
        while self.next_tick <= self.now {
            self.next_tick = (self.next_tick + interval).min(pending);
        }
        self.next_scan = self.next_tick;
        while self.next_scan < self.last_scan + interval.times(self.cycle) {
            self.next_scan = self.next_scan + interval;
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Time passes.
    Pass(Time),
    /// Time passes to a tick.
    PassToTick,
    Arm(usize, u64),
    Disarm(usize),
    Set(usize, Setting),
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..30_000_000_u64).prop_map(|thirds| Step::Pass(Time::from_thirds(thirds))),
        2 => Just(Step::PassToTick),
        8 => (0..THREADS, 1..40_u64).prop_map(|(thread, ms)| Step::Arm(thread, ms)),
        1 => (0..THREADS).prop_map(Step::Disarm),
        6 => (0..PROCESSES, setting()).prop_map(|(process, setting)| Step::Set(process, setting)),
        1 => (0..PROCESSES).prop_map(Step::End),
    ]
}

proptest! {
    #[test]
    fn timers_expire_at_the_first_tick_that_looks_at_them(
        system in prop::sample::select(SYSTEMS.to_vec()),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let mut rule = described(system.model, system.given).build();
        (0..THREADS).for_each(|thread| rule.created(thread, thread % PROCESSES, None));
        let mut random = Random::new(1);
        let mut naive = Naive::new(system);
        let mut has_ended = [false; PROCESSES];
        let mut log = vec![];
        for step in steps.into_iter().chain([Step::Pass(Time::from_ns(100_000_000))]) {
            let now = naive.now;
            match step {
                Step::Pass(_) | Step::PassToTick => {
                    let until = match step {
                        Step::Pass(length) => now + length,
                        _ => naive.next_tick,
                    };
                    while let Some((at, cpu)) = rule.next_interrupt().filter(|(at, _)| *at <= until) {
                        let mut expired = vec![];
                        rule.interrupt(cpu, at, &mut random, &mut expired);
                        prop_assert!(!expired.is_empty(), "nothing at {at:?}");
                        log.extend(expired.iter().map(|expired| (at, expired.thread)));
                    }
                    naive.run_until(until);
                    log.sort_unstable();
                    prop_assert_eq!(&log, &naive.log);
                    // It is shown in whole units.
                    let shown = rule.shows(OsClock::InterruptTime, until).unwrap();
                    prop_assert_eq!(shown, naive.last_tick - naive.last_tick.rem(UNIT));
                    prop_assert!(until - naive.last_tick < DEFAULT, "no tick for too long");
                }
                Step::Arm(thread, ms) => {
                    if naive.armed[thread].is_none() && !has_ended[thread % PROCESSES] {
                        let length = Time::from_ns(1_000_000).times(ms);
                        naive.arm(thread, length);
                        let request = Request {
                            thread,
                            cpu: thread % 2,
                            method: Method::WindowsSleep,
                            now,
                            due: now + length,
                            tolerance: Time::ZERO,
                        };
                        rule.arm(&request, &mut random);
                    }
                }
                Step::Disarm(thread) => {
                    rule.disarm(thread);
                    naive.armed[thread] = None;
                }
                Step::Set(process, setting) => {
                    if !has_ended[process] && rule.refuses(&setting).is_none() {
                        let answer = rule.set(process, process, setting, now);
                        prop_assert_eq!(answer, naive.ledger.set(process, setting));
                        naive.changed();
                    }
                }
                Step::End(process) => {
                    for thread in (0..THREADS).filter(|thread| thread % PROCESSES == process) {
                        rule.disarm(thread);
                        naive.armed[thread] = None;
                    }
                    rule.ended(process, now);
                    has_ended[process] = true;
                    naive.ledger.end(process);
                    naive.changed();
                }
            }
        }
    }
}
