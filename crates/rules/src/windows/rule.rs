use std::collections::BTreeSet;

use punctual_core::wait::Reason;
use punctual_core::{Method, Nanos};

use super::cpu::{Cpu, Queue};
use super::default_scan::Cycles;
use super::generations::Generation;
use super::interval::{self, Hardware};
use super::lengths;
use super::options::Options;
use super::requests::Requests;
use super::ticks::{Class, Ticks};
use super::tolerance;
use crate::rule::earlier;
use crate::setting::Priority;
use crate::table::Table;
use crate::{
    Answer, Expired, Grid, OsClock, Outstanding, ProcessId, Random, Request, Rule, Setting,
    ThreadId, Time, Timers, Why, units,
};

/// The interval of the interrupts that high-resolution timers have of their
/// own, before the hardware rounds it. Their granularity is half a millisecond
/// (rust-lang/rust issue 43376).
const HIGH_RESOLUTION: Nanos = Nanos::from_us(500);

/// The CPU that owns the clock. On one computer it was the last one more often
/// than the first (GamingPCSetup): confidence D.
const CLOCK_OWNER: usize = 0;

/// The unit of `timeGetTime` and `GetTickCount`.
const MS: Time = Time::from_ns(1_000_000);

/// The unit of Windows' times.
const UNIT: Time = Time::from_ns(100);

/// The timers of a generation of Windows.
#[derive(Clone, Debug)]
pub struct Windows {
    generation: &'static Generation,
    how: How,
    requests: Requests,
    ticks: Ticks,
    threads: Table<Thread>,
    /// The threads of each process.
    threads_of: BTreeSet<(ProcessId, ThreadId)>,
    /// The timer of each thread that has one.
    armed: Table<Armed>,
    cpus: Vec<Cpu>,
    /// For each CPU, the timers that were armed on it and go off on another, by the instant
    /// at which they are due.
    elsewhere: Vec<BTreeSet<(Time, ThreadId)>>,
    /// When each CPU has its next interrupt.
    next: Vec<Option<Time>>,
    /// The CPUs that have one, the next first.
    order: Timers<Time>,
    /// Empty between two interrupts.
    scratch: Vec<ThreadId>,
}

/// The values of the parameters.
#[derive(Clone, Copy, Debug)]
struct How {
    default_interval: Time,
    counts_from_call: bool,
    hardware: Hardware,
    cycles: Cycles,
    slip: u64,
    is_class_fixed: bool,
    has_classes: bool,
    expires_where_armed: bool,
    high_resolution_late: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    process: ProcessId,
    is_background: bool,
}

#[derive(Clone, Copy, Debug)]
struct Armed {
    /// Where it was armed, and where it goes off.
    from: usize,
    cpu: usize,
    queue: Queue,
    class: Class,
    called: Time,
    base: Time,
    due: Time,
    /// The end of its tolerance.
    until: Time,
}

impl Windows {
    /// The timers of such a Windows.
    pub fn new(options: &Options) -> Self {
        let how = How::new(options);
        // If every request counts for every process, the visibility of a process does not matter
        // either, as in the old rule. This was never tried: confidence D.
        let throttles = options.generation.throttles && how.has_classes;
        Self {
            generation: options.generation,
            how,
            requests: Requests::new(throttles, options.finest),
            ticks: Ticks::every(how.default_interval),
            threads: Table::default(),
            threads_of: BTreeSet::new(),
            armed: Table::default(),
            cpus: vec![],
            elsewhere: vec![],
            next: vec![],
            order: Timers::default(),
            scratch: vec![],
        }
    }

    /// The settings of a thread. A thread that the rule does not know is of the first process.
    fn thread(&self, thread: ThreadId) -> Thread {
        self.threads.get(thread).copied().unwrap_or_default()
    }

    /// Which ticks look at the timers of a process, if that is settled now.
    pub(super) fn class(&self, process: ProcessId) -> Class {
        if self.how.has_classes && !self.requests.is_honoured(process) {
            Class::DefaultScans
        } else {
            Class::EveryTick
        }
    }

    /// The ticks without any request for shorter ones.
    fn default_ticks(&self) -> Grid {
        Grid {
            anchor: Time::ZERO,
            period: self.how.default_interval,
        }
    }

    /// The interval that the requests that count ask for.
    fn wanted_interval(&self) -> Time {
        match self.requests.shortest() {
            Some(shortest) if Time::from(shortest) < self.how.default_interval => {
                self.how.hardware.grant(shortest)
            }
            _ => self.how.default_interval,
        }
    }

    /// Changes the requests, and what follows from them for a process and for
    /// the ticks.
    fn change(
        &mut self,
        process: ProcessId,
        now: Time,
        change: impl FnOnce(&mut Requests) -> Answer,
    ) -> Answer {
        let before = self.class(process);
        let answer = change(&mut self.requests);
        let class = self.class(process);
        let moves = class != before && !self.how.is_class_fixed;
        let interval = self.wanted_interval();
        let by_drivers = self.requests.are_by_drivers();
        if moves || interval != self.ticks.interval() || by_drivers != self.ticks.are_all_scans() {
            let cycle = self.how.cycles.ticks(self.how.default_interval, interval);
            self.ticks.change(now, interval, cycle, by_drivers);
            if moves {
                self.reclassify(process, class);
            }
            self.reschedule(now);
        }
        answer
    }

    /// Has other ticks look at the timers of a process.
    fn reclassify(&mut self, process: ProcessId, class: Class) {
        let all = (process, ThreadId::MIN)..=(process, ThreadId::MAX);
        for &(_, thread) in self.threads_of.range(all) {
            let Some(armed) = self.armed.get_mut(thread) else {
                continue;
            };
            armed.class = class;
            if matches!(armed.queue, Queue::EveryTick | Queue::DefaultScans) {
                let cpu = &mut self.cpus[armed.cpu];
                cpu.remove(thread, armed.queue);
                armed.queue = class.into();
                cpu.insert(thread, armed.queue, armed.due);
            }
        }
    }

    /// The ticks, or those that look at a timer, are others from `now` on.
    fn reschedule(&mut self, now: Time) {
        for number in 0..self.cpus.len() {
            let cpu = &mut self.cpus[number];
            cpu.move_slip(now, &self.ticks);
            for thread in cpu.drain_tolerant() {
                if let Some(armed) = self.armed.get(thread) {
                    cpu.insert(thread, Queue::Tolerant, armed.meeting(&self.ticks));
                }
            }
            self.refresh(number);
        }
    }

    /// Finds out anew when a CPU has its next interrupt.
    fn refresh(&mut self, cpu: usize) {
        let next = self.cpus[cpu].next(&self.ticks);
        if next != self.next[cpu] {
            self.next[cpu] = next;
            self.order.remove(cpu);
            if let Some(at) = next {
                self.order.insert(cpu, at);
            }
        }
    }

    /// The timer of a request, and what its queue is ordered by.
    fn timer(&self, request: &Request) -> (Armed, Time) {
        let Request {
            now, cpu, method, ..
        } = *request;
        let length = lengths::taken(method, request.due - now);
        let own = Armed {
            from: cpu,
            cpu,
            queue: Queue::Own,
            class: Class::EveryTick,
            called: now,
            base: now,
            due: now,
            until: now,
        };
        if length == Time::ZERO {
            // Sleep(0) only offers the CPU. A wait for objects checks them and returns. A timer
            // whose due time is not in the future is set at once.
            return (own, now);
        }
        if method == Method::HighResolutionTimer {
            let due = now + length + self.how.late(length);
            let at = now + self.how.high_resolution_length(length);
            return (Armed { due, ..own }, at);
        }
        let base = if self.how.counts_from_call {
            now
        } else {
            self.ticks.last_tick(now)
        };
        let due = base + length;
        let tolerance = match method {
            Method::WaitableTimer => self.generation.tolerance.kept(request.tolerance),
            _ => Time::ZERO,
        };
        let class = self.class(self.thread(request.thread).process);
        let mut armed = Armed {
            cpu: if self.how.expires_where_armed {
                cpu
            } else {
                CLOCK_OWNER
            },
            queue: class.into(),
            class,
            base,
            due,
            until: due + tolerance,
            ..own
        };
        if armed.until > due {
            armed.queue = Queue::Tolerant;
            (armed, armed.meeting(&self.ticks))
        } else {
            (armed, due)
        }
    }

    /// The timer of a thread, which is not armed any more.
    fn taken(&mut self, thread: ThreadId) -> Option<Armed> {
        let armed = self.armed.remove(thread)?;
        if let Some(elsewhere) = self.elsewhere.get_mut(armed.from) {
            elsewhere.remove(&(armed.due, thread));
        }
        Some(armed)
    }

    /// Why a timer goes off, in an interrupt whose default scan came a tick
    /// late or not.
    fn why(&self, armed: &Armed, is_scan_late: bool) -> Why {
        let Armed {
            called,
            base,
            due,
            until,
            ..
        } = *armed;
        match armed.queue {
            Queue::Own if due == called => Why::AtOnce { called },
            Queue::Own => {
                let late = self.how.late(due - called);
                let due = due - late;
                Why::OwnInterrupt { due, called, late }
            }
            _ => Why::Tick {
                due,
                called,
                base,
                until,
                interval: self.ticks.interval(),
                every: self.ticks.one_in(armed.class),
                slipped: is_scan_late && armed.queue == Queue::DefaultScans,
            },
        }
    }
}

impl How {
    fn new(options: &Options) -> Self {
        Self {
            default_interval: options.interval.into(),
            counts_from_call: options.counts_from_call,
            hardware: options.hardware,
            cycles: options.cycles,
            slip: options.slip,
            is_class_fixed: options.is_class_fixed,
            has_classes: options.generation.has_classes && !options.is_global,
            expires_where_armed: options.expires_where_armed,
            high_resolution_late: options.high_resolution_late.into(),
        }
    }

    /// When a high-resolution timer has its interrupt, counted from the call.
    ///
    /// The system raises the clock only while such timers are armed (Microsoft, "High-Resolution
    /// Timers"). Therefore the clock is assumed to start as they are armed. The first interrupt is
    /// programmed for the timer that is due by then: waits of 0.25 and 0.5 ms took 0.520 to 0.532
    /// ms (haesy/rust_waitable_timer). A later timer gets `hires_late` more, and fires at a
    /// multiple of the interval: calibrated, confidence C.
    fn high_resolution_length(&self, length: Time) -> Time {
        let interval = self.hardware.grant(HIGH_RESOLUTION);
        if length <= HIGH_RESOLUTION.into() {
            length.max(interval)
        } else {
            units::round_up(length + self.high_resolution_late, interval)
        }
    }

    /// The amount that is added to the length of a high-resolution timer.
    fn late(&self, length: Time) -> Time {
        if length <= HIGH_RESOLUTION.into() {
            Time::ZERO
        } else {
            self.high_resolution_late
        }
    }
}

impl Armed {
    /// The tick that a timer with a tolerance chooses.
    fn meeting(&self, ticks: &Ticks) -> Time {
        let first = ticks.look_at(self.class, self.due);
        tolerance::meeting(ticks.looks(self.class), first, self.until)
    }
}

impl Rule for Windows {
    fn methods(&self) -> &[Method] {
        self.generation.methods
    }

    fn yields_for_nothing(&self, method: Method) -> bool {
        matches!(method, Method::WindowsSleep | Method::WindowsSleepEx)
    }

    fn arm(&mut self, request: &Request, _random: &mut Random) {
        let (armed, key) = self.timer(request);
        if self.cpus.len() <= armed.cpu {
            self.cpus.resize_with(armed.cpu + 1, Cpu::default);
            self.next.resize(armed.cpu + 1, None);
        }
        self.cpus[armed.cpu].insert(request.thread, armed.queue, key);
        if armed.from != armed.cpu {
            if self.elsewhere.len() <= armed.from {
                self.elsewhere.resize_with(armed.from + 1, BTreeSet::new);
            }
            self.elsewhere[armed.from].insert((armed.due, request.thread));
        }
        self.armed.insert(request.thread, armed);
        self.refresh(armed.cpu);
    }

    fn disarm(&mut self, thread: ThreadId) {
        if let Some(armed) = self.taken(thread) {
            self.cpus[armed.cpu].remove(thread, armed.queue);
            self.refresh(armed.cpu);
        }
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        self.order.first()
    }

    fn next_interrupt_on(&self, cpu: usize) -> Option<Time> {
        self.next.get(cpu).copied().flatten()
    }

    /// With the dynamic tick the owner of the clock has the interrupts, and the system knows
    /// whom it will wake by them.
    fn next_wake_on(&self, cpu: usize) -> Option<Time> {
        let first = self.elsewhere.get(cpu).and_then(BTreeSet::first);
        let armed = first.and_then(|(_, thread)| self.armed.get(*thread));
        let elsewhere = armed.map(|armed| match armed.queue {
            Queue::Tolerant => armed.meeting(&self.ticks),
            _ => self.ticks.look_at(armed.class, armed.due),
        });
        earlier(self.next_interrupt_on(cpu), elsewhere)
    }

    /// With `slip`, an interrupt can find that the default scan for which it
    /// was meant comes a tick later, and expire nothing.
    fn interrupt(
        &mut self,
        cpu: usize,
        now: Time,
        random: &mut Random,
        expired: &mut Vec<Expired>,
    ) {
        let Some(queues) = self.cpus.get_mut(cpu) else {
            return;
        };
        let mut threads = std::mem::take(&mut self.scratch);
        let is_late = queues.interrupt(now, &self.ticks, self.how.slip, random, &mut threads);
        threads.sort_unstable_by_key(|&thread| {
            (self.armed.get(thread).map(|armed| armed.due), thread)
        });
        for thread in threads.drain(..) {
            if let Some(armed) = self.taken(thread) {
                expired.push(Expired {
                    thread,
                    reason: Reason::Timer,
                    why: self.why(&armed, is_late),
                });
            }
        }
        self.scratch = threads;
        self.refresh(cpu);
    }

    fn refuses(&self, setting: &Setting) -> Option<&'static str> {
        match setting {
            Setting::Slack(_) => {
                Some("Windows has no timer slack: a waitable timer can have a tolerance")
            }
            Setting::Throttling(_) if !self.generation.throttles => {
                Some("before Windows 11 requests count whether anybody sees the process or not")
            }
            Setting::Nice(_)
            | Setting::Slice(_)
            | Setting::Policy(_)
            | Setting::Quota { .. }
            | Setting::Weight(_) => {
                Some("shares of a CPU are modelled for Linux only: set a priority")
            }
            _ => None,
        }
    }

    fn set(&mut self, thread: ThreadId, process: ProcessId, setting: Setting, now: Time) -> Answer {
        if let Setting::Priority(priority) = setting {
            self.threads.entry(thread).is_background = priority == Priority::Background;
        }
        self.change(process, now, |requests| match setting {
            Setting::Request {
                interval,
                on_battery,
                by,
            } => requests.request(process, interval, on_battery, by),
            Setting::Release { interval, by } => requests.release(process, interval, by),
            Setting::Window {
                visible, audible, ..
            } => requests.window(process, visible, audible),
            Setting::Throttling(throttling) => requests.throttling(process, throttling),
            Setting::Power(power) => requests.power(power),
            // How much a thread matters changes nothing about its timers.
            Setting::Priority(_)
            | Setting::Slack(_)
            | Setting::Nice(_)
            | Setting::Slice(_)
            | Setting::Policy(_)
            | Setting::Quota { .. }
            | Setting::Weight(_) => Answer::Accepted,
        })
    }

    fn created(&mut self, thread: ThreadId, process: ProcessId, _: Option<ThreadId>) {
        let new = Thread {
            process,
            is_background: false,
        };
        self.threads.insert(thread, new);
        self.threads_of.insert((process, thread));
    }

    fn left(&mut self, thread: ThreadId) {
        if let Some(Thread { process, .. }) = self.threads.remove(thread) {
            self.threads_of.remove(&(process, thread));
        }
    }

    /// Microsoft, "Quality of Service". EcoQoS always prefers efficiency cores; here background
    /// threads are EcoQoS, as with the efficiency mode of the task manager, which sets both. On
    /// battery so do processes that are neither visible nor audible. Makers of computers may tune
    /// them, and other levels prefer either kind of core: confidence C.
    fn saves_energy(&self, thread: ThreadId, process: ProcessId) -> bool {
        let is_eco = || self.thread(thread).is_background;
        self.generation.throttles && (is_eco() || self.requests.is_unnoticed_on_battery(process))
    }

    fn ended(&mut self, process: ProcessId, now: Time) {
        self.change(process, now, |requests| requests.ended(process));
    }

    /// With the dynamic tick, a simplification. The owner of the clock has ticks. The others, even
    /// busy ones, have only the interrupts that expire their timers.
    fn ticks(&self, cpu: usize, _is_idle: bool) -> Option<Grid> {
        let has_ticks = !self.generation.has_dynamic_tick || cpu == CLOCK_OWNER;
        has_ticks.then(|| self.ticks.grid())
    }

    fn outstanding(&self) -> Vec<Outstanding> {
        self.requests.outstanding()
    }

    fn interval(&self) -> Option<Nanos> {
        Some(interval::stated(self.ticks.interval()))
    }

    fn clock(&self) -> Option<OsClock> {
        Some(OsClock::PerformanceCounter)
    }

    /// Each clock interrupt writes the interrupt time and the system time, in units of 100 ns
    /// (KUSER_SHARED_DATA). `timeGetTime` reads the first of them in milliseconds (timer-rule
    /// article). `GetTickCount` keeps the step of the default interval (confidence D). The time of
    /// day is assumed to start with the computer.
    fn shows(&self, clock: OsClock, now: Time) -> Option<Time> {
        let (tick, unit) = match clock {
            OsClock::TimeGetTime => (self.ticks.last_tick(now), MS),
            OsClock::GetTickCount => (self.default_ticks().at_or_before(now), MS),
            OsClock::SystemTime | OsClock::InterruptTime => (self.ticks.last_tick(now), UNIT),
            _ => return None,
        };
        Some(tick - tick.rem(unit))
    }

    fn moves(&self, clock: OsClock, now: Time) -> Time {
        match clock {
            OsClock::TimeGetTime | OsClock::SystemTime | OsClock::InterruptTime => {
                self.ticks.grid().after(now)
            }
            OsClock::GetTickCount => self.default_ticks().after(now),
            _ => now,
        }
    }
}
