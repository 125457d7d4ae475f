use std::collections::BTreeMap;

use punctual_core::{Method, Nanos};

use super::options::{AppNap, Options};
use crate::setting::Priority;
use crate::soft_hard::SoftHard;
use crate::table::Table;
use crate::units;
use crate::{
    Answer, Expired, OsClock, ProcessId, Random, Request, Rule, Setting, ThreadId, Time, Timers,
};

/// macOS timers, which are coalesced by the class of the thread that waits.
///
/// A timer may fire from its deadline on and for its slop after that. The slop is a part of the
/// length asked for, up to a cap, both by the class of the thread (XNU, osfmk/arm/arm_timer.c and
/// osfmk/kern/timer_call.c). A computer whose user is idle adds up to the same again. Any timer
/// interrupt of the CPU inside the window will do. A timer that is alone fires at the late edge:
/// 25 % late in an ordinary thread, up to 5 ms. A leeway that the caller gives replaces the slop
/// if it is larger; `mach_wait_until` itself gives none.
///
/// Neither do the other calls, and all have the urgency of an ordinary wait of a program:
///
/// - `select` (`selprocess`, bsd/kern/sys_generic.c);
/// - a condition variable (`psynch_wait_prepare`, bsd/pthread/pthread_shims.c);
/// - a timer of `kevent` (`filt_timerarm`, bsd/kern/kern_event.c), and `poll`, which waits as
///   `kevent` does (confidence C);
/// - the semaphore (osfmk/kern/sync_sema.c) of `nanosleep` and `usleep` (confidence C).
///
/// An idle CPU has no tick, and a busy one has only the end of a quantum. But no Mac is alone:
/// other programs and devices interrupt its CPUs, now and then inside the window of a timer
/// (`interrupts`). They come independently of each other here; those that find no timer in its
/// window are not simulated, nor counted.
///
/// The class follows from the QoS of the thread (`thread_qos_policy_params`, osfmk/kern/
/// thread_policy.c). A thread that a program starts and whose QoS it leaves alone is `LEGACY`:
/// tier 1, 25 %. The first thread of an app is user-interactive (`task_compute_main_thread_qos`,
/// osfmk/kern/task_policy.c): tier 0, 12.5 %. Here a process that has a window is an app. A
/// program started from an app, such as one in a terminal, inherits that (`task_policy_create`);
/// here its first thread says so itself, with `Priority::Interactive`.
///
/// A process that is neither visible nor audible naps (App Nap). All its timers have the class
/// that `app_nap` says, and its threads matter no more than `MAXPRI_SUPPRESSED` (XNU, osfmk/kern/
/// sched.h). The system decides that by more criteria, and not at once (Apple, Energy Efficiency
/// Guide for Mac Apps, "Extend App Nap"); here it does at once. Its timers have a queue of their
/// own, which interrupts for other timers leave alone; `nap_look` says how often it is checked.
/// The queue is inferred from measured lateness (confidence C).
#[derive(Clone, Debug)]
pub struct MacOs {
    /// The class of an ordinary thread.
    ordinary: Class,
    /// The class of a thread whose process naps, if any does.
    napping: Option<Class>,
    /// Of 128.
    idle_level: u64,
    threads: Table<Thread>,
    processes: BTreeMap<ProcessId, Process>,
    /// The timers of processes that are awake, and of those that nap.
    queues: [Queue; 2],
    /// The next interrupt of each CPU that expires a timer.
    next: Timers<Time>,
    /// When that is.
    next_on: Vec<Option<Time>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    process: ProcessId,
    /// The priority that its program asked for.
    priority: Option<Priority>,
    /// Whether its process began with it.
    is_first: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Process {
    has_window: bool,
    naps: bool,
}

/// Timers, and what else looks at them besides interrupts of their own.
#[derive(Clone, Debug, Default)]
struct Queue {
    timers: SoftHard,
    /// From one look by others at those of a CPU to the next on average, if there is any.
    others: Option<Time>,
    /// The next look by others at those of each CPU that matters.
    noise: Vec<Noise>,
}

/// A look by others: the first after an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Noise {
    after: Time,
    at: Time,
}

/// How timers of a class of threads are coalesced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    /// The slop is the length shifted right by this, or left if negative.
    shift: i32,
    /// The slop is at most this long.
    cap: Nanos,
}

/// A class by its shift and its cap in milliseconds.
const fn class(shift: i32, cap_ms: u64) -> Class {
    Class {
        shift,
        cap: Nanos::from_ms(cap_ms),
    }
}

/// Time-constraint threads; "critical" timers.
const REAL_TIME: Class = class(0, 0);

/// The latency tiers of macOS on Apple silicon (`tcoal_prio_params_init`,
/// osfmk/arm/arm_timer.c). i386 and iOS give tiers 4 and 5 a shift of -15 and
/// 10 s.
const TIERS: [Class; 6] = [
    class(3, 1),
    class(2, 5),
    class(1, 20),
    class(-2, 75),
    class(3, 1),
    class(3, 1),
];

/// Time-share threads without a tier; also fixed-priority and kernel threads.
const NO_TIER: Class = class(3, 1);

/// Tier 5 of i386 and iOS: a timer may be as late as another interrupt is, up to 10 s.
const DEEP: Class = class(-15, 10_000);

/// Threads in Darwin-background.
const BACKGROUND: Class = class(-5, 100);

impl MacOs {
    /// The timers of such a computer.
    ///
    /// # Panics
    /// There is no such tier.
    pub fn new(options: &Options) -> Self {
        let second = Time::from_ns(1_000_000_000);
        let others = match options.interrupts {
            0 => None,
            interrupts => Some(Time::from_thirds(second.as_thirds() / interrupts)),
        };
        let nap_look = Time::from(options.nap_look);
        let naps = Some(nap_look).filter(|look| *look > Time::ZERO);
        Self {
            ordinary: options.tier.map_or(NO_TIER, |tier| TIERS[tier]),
            napping: match options.app_nap {
                AppNap::Off => None,
                AppNap::Deep => Some(DEEP),
                AppNap::Tier(tier) => Some(TIERS[tier]),
            },
            idle_level: options.idle_level,
            threads: Table::default(),
            processes: BTreeMap::new(),
            queues: [others, naps].map(|others| Queue {
                others,
                ..Queue::default()
            }),
            next: Timers::default(),
            next_on: Vec::new(),
        }
    }

    /// The settings of a thread. A thread that the rule does not know is an ordinary one.
    fn thread(&self, thread: ThreadId) -> Thread {
        self.threads.get(thread).copied().unwrap_or_default()
    }

    fn process(&self, process: ProcessId) -> Process {
        self.processes.get(&process).copied().unwrap_or_default()
    }

    /// The class of a thread's timers if its process naps.
    fn napping(&self, thread: ThreadId) -> Option<Class> {
        let Thread {
            process, priority, ..
        } = self.thread(thread);
        let naps = self.process(process).naps && priority != Some(Priority::RealTime);
        self.napping.filter(|_| naps)
    }

    fn class(&self, thread: ThreadId) -> Class {
        let Thread {
            process,
            priority,
            is_first,
        } = self.thread(thread);
        let is_of_app = is_first && self.process(process).has_window;
        self.napping(thread).unwrap_or(match priority {
            Some(Priority::RealTime) => REAL_TIME,
            Some(Priority::Background) => BACKGROUND,
            Some(Priority::Utility) => TIERS[3],
            Some(Priority::Interactive) => TIERS[0],
            None if is_of_app => TIERS[0],
            Some(Priority::Normal) | None => self.ordinary,
        })
    }

    /// How far the hard expiry is behind the soft one.
    fn slop(&self, request: &Request) -> Time {
        let slop = self.class(request.thread).slop(request.due - request.now);
        let slop = slop.as_thirds();
        // A slop is at most 10 s, so this does not overflow.
        let while_idle = Time::from_thirds(slop + slop * self.idle_level / 128);
        while_idle.max(request.tolerance)
    }

    /// Finds out anew when a CPU has its next interrupt that expires a timer. Without `random`
    /// nothing is drawn: a look by others may then be one that finds no timer.
    fn refresh(&mut self, cpu: usize, now: Time, mut random: Option<&mut Random>) {
        if self.next_on.len() <= cpu {
            self.next_on.resize(cpu + 1, None);
        }
        let queues = self.queues.iter_mut();
        let nexts = queues.filter_map(|queue| queue.next(cpu, now, random.as_deref_mut()));
        let next = nexts.min();
        if next != self.next_on[cpu] {
            self.next_on[cpu] = next;
            self.next.remove(cpu);
            if let Some(at) = next {
                self.next.insert(cpu, at);
            }
        }
    }
}

impl Queue {
    /// When a timer of a CPU goes off next.
    fn next(&mut self, cpu: usize, now: Time, random: Option<&mut Random>) -> Option<Time> {
        let (hard, soft) = self.timers.front(cpu)?;
        let Some(mean) = self.others else {
            return Some(hard);
        };
        if self.noise.len() <= cpu {
            self.noise.resize(cpu + 1, Noise::default());
        }
        let from = soft.max(now);
        let noise = &mut self.noise[cpu];
        if let Some(random) = random
            && !(noise.after..=noise.at).contains(&from)
        {
            // Independent arrivals do not depend on earlier ones.
            *noise = Noise {
                after: from,
                at: from + random.exponential(mean),
            };
        }
        Some(hard.min(noise.at))
    }

    /// Whether an interrupt of a CPU at `now` looks at its timers.
    fn is_looked_at(&self, cpu: usize, now: Time) -> bool {
        let is_due = |(hard, _): (Time, Time)| hard <= now;
        let noise = self.noise.get(cpu);
        self.timers.front(cpu).is_some_and(is_due) || noise.is_some_and(|noise| noise.at == now)
    }
}

impl Class {
    fn slop(self, length: Time) -> Time {
        let part = match u32::try_from(self.shift) {
            Ok(shift) => Time::from_thirds(length.as_thirds() >> shift),
            Err(_) => length.times(1 << self.shift.unsigned_abs()),
        };
        part.min(self.cap.into())
    }
}

/// The unit of a call's timeout.
fn unit(method: Method) -> Time {
    match method {
        Method::Usleep | Method::Select => units::US,
        Method::Poll => units::MS,
        _ => units::EXACT,
    }
}

impl Rule for MacOs {
    fn clock(&self) -> Option<OsClock> {
        Some(OsClock::MachAbsoluteTime)
    }

    fn methods(&self) -> &[Method] {
        &[
            Method::MachWaitUntil,
            Method::Nanosleep,
            Method::Usleep,
            Method::Select,
            Method::Poll,
            Method::ConditionVariable,
            Method::Kevent,
        ]
    }

    fn timer(&self) -> Option<Method> {
        Some(Method::MachWaitUntil)
    }

    fn arm(&mut self, request: &Request, random: &mut Random) {
        let request = &units::in_units(request, unit(request.method));
        let hard = request.due + self.slop(request);
        let (cpu, thread) = (request.cpu, request.thread);
        let naps = self.napping(thread).is_some();
        self.queues[usize::from(naps)]
            .timers
            .arm(cpu, thread, hard, request.due);
        self.refresh(cpu, request.now, Some(random));
    }

    fn disarm(&mut self, thread: ThreadId) {
        let mut queues = self.queues.iter_mut();
        if let Some(cpu) = queues.find_map(|queue| queue.timers.disarm(thread)) {
            self.refresh(cpu, Time::ZERO, None);
        }
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        self.next.first()
    }

    fn next_interrupt_on(&self, cpu: usize) -> Option<Time> {
        self.next_on.get(cpu).copied().flatten()
    }

    fn interrupt(
        &mut self,
        cpu: usize,
        now: Time,
        random: &mut Random,
        expired: &mut Vec<Expired>,
    ) {
        let [awake, napping] = &mut self.queues;
        awake.timers.interrupt(cpu, now, expired);
        if napping.is_looked_at(cpu, now) {
            napping.timers.interrupt(cpu, now, expired);
        }
        self.refresh(cpu, now, Some(random));
    }

    fn refuses(&self, setting: &Setting) -> Option<&'static str> {
        match setting {
            Setting::Priority(_) | Setting::Power(_) | Setting::Window { .. } => None,
            Setting::Slack(_) => {
                Some("macOS takes the slop of a timer from the class of its thread: set a priority")
            }
            Setting::Request { .. } | Setting::Release { .. } => {
                Some("macOS timers have no resolution to ask for; they have slop")
            }
            Setting::Nice(_)
            | Setting::Slice(_)
            | Setting::Policy(_)
            | Setting::Quota { .. }
            | Setting::Weight(_) => {
                Some("shares of a CPU are modelled for Linux only: set a priority")
            }
            Setting::Throttling(_) => {
                Some("macOS knows no requests for a timer resolution that it could ignore")
            }
        }
    }

    fn set(&mut self, thread: ThreadId, process: ProcessId, setting: Setting, _: Time) -> Answer {
        match setting {
            Setting::Priority(priority) => self.threads.entry(thread).priority = Some(priority),
            Setting::Window {
                visible, audible, ..
            } => {
                *self.processes.entry(process).or_default() = Process {
                    has_window: true,
                    naps: !visible && !audible,
                }
            }
            _ => {}
        }
        Answer::Accepted
    }

    /// Background threads, by default (XNU, osfmk/kern/sched_amp_common.c), as was measured
    /// (eclecticlight.co, 2022-03-17). That file has those of utility there too, but lets the
    /// performance controller decide otherwise, and they were seen on any core.
    fn saves_energy(&self, thread: ThreadId, _: ProcessId) -> bool {
        self.thread(thread).priority == Some(Priority::Background)
    }

    /// A new thread is an ordinary one, whatever its creator is.
    fn created(&mut self, thread: ThreadId, process: ProcessId, _: Option<ThreadId>) {
        let is_first = !self.processes.contains_key(&process);
        if is_first {
            self.processes.insert(process, Process::default());
        }
        let new = Thread {
            process,
            priority: None,
            is_first,
        };
        self.threads.insert(thread, new);
    }

    fn left(&mut self, thread: ThreadId) {
        self.threads.remove(thread);
    }

    fn ended(&mut self, process: ProcessId, _: Time) {
        self.processes.remove(&process);
    }
}

#[cfg(test)]
mod tests {
    use crate::setting::Power;

    use super::*;
    use crate::testing::{self, arm, fires, request, woken};

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    fn macos(given: &str) -> MacOs {
        let given =
            ["interrupts=0,nap_look=0ns", given].join(if given.is_empty() { "" } else { "," });
        let mut macos = MacOs::new(&testing::macos(&given));
        macos.created(0, 0, None);
        macos
    }

    fn with_priority(priority: Priority) -> MacOs {
        let mut macos = macos("");
        set(&mut macos, Setting::Priority(priority));
        macos
    }

    fn set(macos: &mut MacOs, setting: Setting) {
        assert_eq!(macos.refuses(&setting), None);
        assert_eq!(macos.set(0, 0, setting, Time::ZERO), Answer::Accepted);
    }

    /// How long a lone wait of so many microseconds lasts, in microseconds.
    fn lasts(macos: &mut MacOs, us: u64) -> u64 {
        let now = 77 * MS;
        let wait = request(0, Method::MachWaitUntil, now, us * US);
        (fires(macos, wait).floor_ns() - now) / US
    }

    #[test]
    fn each_class_is_late_by_a_part_of_the_length_up_to_a_cap() {
        for (given, want) in [
            ("tier=0", [337, 1_125, 11_000, 101_000]),
            ("tier=1", [375, 1_250, 12_500, 105_000]),
            ("tier=2", [450, 1_500, 15_000, 120_000]),
            ("tier=3", [1_500, 5_000, 50_000, 175_000]),
            ("tier=4", [337, 1_125, 11_000, 101_000]),
            ("tier=5", [337, 1_125, 11_000, 101_000]),
            ("tier=none", [337, 1_125, 11_000, 101_000]),
        ] {
            let mut macos = macos(given);
            let got = [300, 1_000, 10_000, 100_000].map(|us| lasts(&mut macos, us));
            assert_eq!(got, want, "{given}");
        }
    }

    /// Asked for 1.2004 ms, at 25 %.
    #[test]
    fn every_call_has_the_same_slop_on_its_own_unit() {
        for (method, want) in [
            (Method::MachWaitUntil, 1_500_500),
            (Method::Nanosleep, 1_500_500),
            (Method::ConditionVariable, 1_500_500),
            (Method::Kevent, 1_500_500),
            (Method::Usleep, 1_501_250),
            (Method::Select, 1_501_250),
            (Method::Poll, 2_500_000),
        ] {
            let at = fires(&mut macos(""), request(0, method, 0, 1_200_400));
            assert_eq!(at, Time::from_ns(want), "{method}");
        }
    }

    #[test]
    fn a_priority_is_a_class() {
        for (priority, want) in [
            (Priority::Background, [9_900, 33_000, 110_000, 200_000]),
            (Priority::Utility, [1_500, 5_000, 50_000, 175_000]),
            (Priority::Normal, [375, 1_250, 12_500, 105_000]),
            (Priority::Interactive, [337, 1_125, 11_000, 101_000]),
            (Priority::RealTime, [300, 1_000, 10_000, 100_000]),
        ] {
            let mut macos = with_priority(priority);
            let got = [300, 1_000, 10_000, 100_000].map(|us| lasts(&mut macos, us));
            assert_eq!(got, want, "{priority}");
        }
    }

    #[test]
    fn an_idle_user_doubles_the_slop_at_most() {
        assert_eq!(lasts(&mut macos("idle_level=64"), 1_000), 1_375);
        assert_eq!(lasts(&mut macos("idle_level=128"), 1_000), 1_500);
        // The cap comes before.
        assert_eq!(lasts(&mut macos("idle_level=128"), 100_000), 110_000);
    }

    /// How late lone waits of so many milliseconds are on average, in microseconds.
    fn late_on_average(macos: &mut MacOs, ms: u64) -> u64 {
        let mut random = Random::new(1);
        let (mut now, mut late) = (Time::from_ns(77 * MS), Time::ZERO);
        for _ in 0..10_000 {
            let due = now + Time::from_ns(ms * MS);
            let wait = request(0, Method::MachWaitUntil, 0, 0);
            macos.arm(&Request { now, due, ..wait }, &mut random);
            let (at, cpu) = macos.next_interrupt().unwrap();
            let mut expired = Vec::new();
            macos.interrupt(cpu, at, &mut random, &mut expired);
            assert_eq!((expired.len(), macos.next_interrupt()), (1, None));
            assert!(at >= due);
            (now, late) = (at, late + (at - due));
        }
        late.floor_ns() / 10_000 / US
    }

    /// With r interrupts a second and a window of w it is (1 - exp(-rw)) / r.
    #[test]
    fn interrupts_by_others_end_a_wait_inside_its_window() {
        for (given, ms, want) in [
            ("interrupts=250", 10, 1_859),
            ("interrupts=250", 100, 2_854),
            ("interrupts=250,app_nap=5", 100, 2_854),
            ("interrupts=100000", 100, 10),
        ] {
            let mut macos = MacOs::new(&testing::macos(given));
            macos.created(0, 0, None);
            let late = late_on_average(&mut macos, ms);
            assert!(late.abs_diff(want) <= want / 50, "{given}, {ms} ms: {late}");
        }
    }

    #[test]
    fn what_nobody_sees_or_hears_naps() {
        let window = |visible, audible| Setting::Window {
            visible,
            foreground: visible,
            audible,
        };
        for (given, want) in [
            ("app_nap=deep", 11_000_000),
            ("app_nap=5", 1_001_000),
            ("app_nap=3", 1_075_000),
            ("app_nap=off", 1_001_000),
        ] {
            let mut macos = macos(given);
            for (setting, want) in [
                // The first thread of an app.
                (window(true, false), 1_001_000),
                (window(false, true), 1_001_000),
                (window(false, false), want),
                (Setting::Priority(Priority::RealTime), 1_000_000),
            ] {
                set(&mut macos, setting);
                let got = lasts(&mut macos, 1_000_000);
                assert_eq!(got, want, "{given}, {setting:?}");
            }
        }
    }

    #[test]
    fn the_first_thread_of_an_app_is_interactive_until_it_says_otherwise() {
        let mut macos = macos("");
        macos.created(1, 0, Some(0));
        macos.created(2, 1, None);
        set(
            &mut macos,
            Setting::Window {
                visible: true,
                foreground: false,
                audible: false,
            },
        );
        for (thread, want) in [(0, 1_125), (1, 1_250), (2, 1_250)] {
            let at = fires(&mut macos, request(thread, Method::MachWaitUntil, 0, MS));
            assert_eq!(at, Time::from_ns(want * US), "{thread}");
        }
        set(&mut macos, Setting::Priority(Priority::Normal));
        assert_eq!(lasts(&mut macos, 1_000), 1_250);
    }

    /// A look in 5 s and a limit of 10 s: 5 (1 - exp(-2)) s.
    #[test]
    fn what_ends_the_waits_of_others_does_not_look_at_those_of_who_naps() {
        let mut macos = MacOs::new(&testing::macos(""));
        macos.created(0, 0, None);
        let hidden = Setting::Window {
            visible: false,
            foreground: false,
            audible: false,
        };
        set(&mut macos, hidden);
        let late = late_on_average(&mut macos, 1_000) / 1_000;
        assert!(late.abs_diff(4_323) <= 100, "{late} ms");
        // One that is awake has the interrupts of others, and they leave it alone.
        macos.created(1, 1, None);
        let napping = request(0, Method::MachWaitUntil, 0, MS);
        let mut random = Random::new(1);
        macos.arm(&napping, &mut random);
        for _ in 0..1_000 {
            let now = macos.next_interrupt().map_or(Time::ZERO, |(at, _)| at);
            if now > Time::from_ns(MS) {
                break;
            }
            macos.arm(
                &Request {
                    thread: 1,
                    ..napping
                },
                &mut random,
            );
            let (at, _) = macos.next_interrupt().unwrap();
            let mut expired = Vec::new();
            macos.interrupt(0, at, &mut random, &mut expired);
            assert!(expired.iter().all(|expired| expired.thread == 1));
        }
    }

    #[test]
    fn a_leeway_replaces_a_smaller_slop() {
        for (priority, leeway, want) in [
            (Priority::Normal, 100, 1_250),
            (Priority::Normal, 250, 1_250),
            (Priority::Normal, 400, 1_400),
            (Priority::Normal, 9_000, 10_000),
            (Priority::RealTime, 400, 1_400),
        ] {
            let mut macos = with_priority(priority);
            let wait = Request {
                tolerance: Time::from_ns(leeway * US),
                ..request(0, Method::MachWaitUntil, 0, MS)
            };
            assert_eq!(fires(&mut macos, wait), Time::from_ns(want * US));
        }
    }

    #[test]
    fn endless_waits_do_not_overflow() {
        for priority in Priority::ALL {
            let mut macos = with_priority(priority);
            let wait = Request {
                due: Time::NEVER,
                ..request(0, Method::MachWaitUntil, 0, 0)
            };
            arm(&mut macos, wait);
            assert_eq!(macos.next_interrupt(), Some((Time::NEVER, 0)));
        }
    }

    /// As on Linux: A (soft 1000, hard 1250) stands before B (soft 1100, hard
    /// 1375).
    #[test]
    fn an_interrupt_takes_what_is_in_its_window_from_the_front() {
        let mut macos = macos("");
        macos.created(1, 0, Some(0));
        arm(&mut macos, request(0, Method::MachWaitUntil, 0, 1_000));
        arm(&mut macos, request(1, Method::MachWaitUntil, 0, 1_100));
        assert_eq!(woken(&mut macos, 999), []);
        assert_eq!(macos.next_interrupt_on(0), Some(Time::from_ns(1_250)));
        assert_eq!(woken(&mut macos, 1_250), [0, 1]);
        arm(&mut macos, request(0, Method::MachWaitUntil, 0, 1_000));
        macos.disarm(0);
        assert_eq!(macos.next_interrupt(), None);
    }

    #[test]
    fn a_new_thread_is_an_ordinary_one() {
        let mut macos = with_priority(Priority::RealTime);
        macos.created(1, 0, Some(0));
        let at = fires(&mut macos, request(1, Method::MachWaitUntil, 0, MS));
        assert_eq!(at, Time::from_ns(1_250 * US));
    }

    #[test]
    fn it_has_priorities_and_windows_and_nothing_else_to_set() {
        let mut macos = macos("");
        set(&mut macos, Setting::Power(Power::Battery));
        for setting in [
            Setting::Slack(Nanos::ZERO),
            Setting::request(Nanos::from_ms(1)),
            Setting::release(Nanos::from_ms(1)),
            Setting::Throttling(Default::default()),
        ] {
            assert!(macos.refuses(&setting).is_some(), "{}", setting.name());
        }
        assert_eq!(macos.interval(), None);
        assert_eq!(macos.ticks(0, false), None);
    }
}
