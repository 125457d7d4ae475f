use punctual_core::wait::Reason;
use punctual_core::{Method, Nanos};

use super::options::Options;
use super::task::Task;
use super::wheel::Wheel;
use crate::per_cpu::PerCpu;
use crate::rule::earlier;
use crate::soft_hard::SoftHard;
use crate::table::Table;
use crate::{
    Answer, Expired, Grid, OsClock, ProcessId, Random, Request, Rule, Setting, ThreadId, Time, Why,
    units,
};

/// Linux timers: high-resolution ones with slack, and the jiffies wheel.
///
/// All calls but one use high-resolution timers, whose soft expiry is the deadline and whose hard
/// one is the deadline plus a slack. For a sleep or a futex, in which a condition variable waits
/// too, that is the thread's slack. It is more for a long `poll`, `select` or `epoll_wait`, and
/// none for a timerfd, a POSIX timer and real-time threads (prctl(2), PR_SET_TIMERSLACK). That
/// list is silent about POSIX timers: confidence D. A thread may lower its slack around a sleep;
/// the calls for that take no time here. Any interrupt of the CPU inside the window will do, so a
/// timer that is alone fires at the late edge. Without high resolution such a timer waits for the
/// first tick at the deadline or after, and slack does not matter.
///
/// A socket timeout is a timer on the jiffies wheel. It goes off in a tick of
/// the CPU it was armed on, idle or not.
///
/// Two things are left out. The tick of a busy CPU stands in its queue as a
/// timer without slack, where the kernel also stops looking; here it does not
/// keep earlier interrupts from timers behind it. And interrupts take no time,
/// so the guard against a storm of them never acts.
#[derive(Clone, Debug)]
pub struct Linux {
    first: Task,
    wheel: Wheel,
    jiffies: Grid,
    nohz: NoHz,
    is_high_resolution: bool,
    /// Whether threads can have slices of their own.
    has_slices: bool,
    /// Whether timers of CPUs without ticks expire on the one that keeps time.
    migrates: bool,
    tasks: Table<Task>,
    hrtimers: SoftHard,
    /// Timers that are looked at in ticks: those of the wheel, and all others
    /// too without high resolution. Of one tick, in the order of arming.
    ticked: PerCpu<Why>,
}

/// Which CPUs go without a periodic tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHz {
    /// None.
    Periodic,
    /// Idle ones.
    Idle,
    /// Idle ones, once a tick has found them idle, as some kernels do without an idle driver.
    AfterTick,
    /// Busy ones too, but the first, which keeps time and always ticks. The tick a second that remains
    /// (no_hz.rst) is left out.
    Full,
}

/// The least slack of a thread (prctl(2): zero means the default).
const LEAST_SLACK: Time = Time::from_ns(1);

impl Linux {
    /// The timers of such a kernel.
    pub fn new(options: &Options) -> Self {
        let wheel = Wheel::new(options.hz);
        Self {
            first: Task::first(options.slack, options.keeps_slack),
            wheel,
            jiffies: Grid {
                anchor: Time::ZERO,
                period: wheel.jiffy(),
            },
            nohz: options.nohz,
            is_high_resolution: options.is_high_resolution,
            has_slices: options.has_slices,
            migrates: options.migrates,
            tasks: Table::default(),
            hrtimers: SoftHard::default(),
            ticked: PerCpu::default(),
        }
    }

    /// The settings of a thread. A thread that the rule does not know is as the first.
    fn task(&self, thread: ThreadId) -> Task {
        self.tasks.get(thread).copied().unwrap_or(self.first)
    }

    fn slack(&self, request: &Request) -> Time {
        let task = self.task(request.thread);
        let length = request.due - request.now;
        match request.method {
            Method::Timerfd | Method::PosixTimer | Method::IntervalTimer => Time::ZERO,
            Method::SlacklessNanosleep => task.sleep_slack().min(LEAST_SLACK),
            Method::SlacklessFutex => task.futex_slack().min(LEAST_SLACK),
            // They look once and return (`do_poll`, fs/select.c; `ep_poll`,
            // fs/eventpoll.c).
            Method::Poll | Method::Select | Method::Epoll if length == Time::ZERO => Time::ZERO,
            Method::Poll | Method::Select | Method::Epoll => task.poll_slack(length),
            Method::Futex | Method::ConditionVariable => task.futex_slack(),
            _ => task.sleep_slack(),
        }
    }

    fn arm_on_wheel(&mut self, request: &Request) {
        let length = request.due - request.now;
        let (at, granule) = self.wheel.expiry(request.now, length);
        let why = Why::Wheel {
            due: request.due,
            jiffy: self.wheel.jiffy(),
            granule,
        };
        self.ticked.arm(request.cpu, request.thread, at, why);
    }

    fn arm_for_tick(&mut self, request: &Request) {
        let why = Why::Tick {
            due: request.due,
            called: request.now,
            base: request.now,
            until: request.due,
            interval: self.jiffies.period,
            every: 1,
            slipped: false,
        };
        let at = self.jiffies.at_or_after(request.due);
        self.ticked.arm(request.cpu, request.thread, at, why);
    }
}

/// The unit of a call's timeout. `poll` is `ppoll`, and a socket timeout becomes jiffies on the
/// [wheel](Wheel).
fn unit(method: Method) -> Time {
    match method {
        Method::Usleep | Method::Select | Method::IntervalTimer => units::US,
        Method::Epoll => units::MS,
        _ => units::EXACT,
    }
}

impl Rule for Linux {
    fn methods(&self) -> &[Method] {
        &[
            Method::ClockNanosleep,
            Method::Nanosleep,
            Method::Usleep,
            Method::ClockNanosleepAbsolute,
            Method::SlacklessNanosleep,
            Method::Select,
            Method::Poll,
            Method::Epoll,
            Method::ConditionVariable,
            Method::Futex,
            Method::Timerfd,
            Method::PosixTimer,
            Method::IntervalTimer,
            Method::SocketTimeout,
            Method::SlacklessFutex,
        ]
    }

    fn arm(&mut self, request: &Request, _random: &mut Random) {
        let mut request = units::in_units(request, unit(request.method));
        if self.migrates && self.nohz == NoHz::Full {
            // Threads do not pin the timers of their calls (`get_nohz_timer_target`).
            request.cpu = 0;
        }
        let request = &request;
        if request.method == Method::SocketTimeout {
            self.arm_on_wheel(request);
        } else if self.is_high_resolution {
            let hard = request.due + self.slack(request);
            let (cpu, thread) = (request.cpu, request.thread);
            self.hrtimers.arm(cpu, thread, hard, request.due);
        } else {
            self.arm_for_tick(request);
        }
    }

    fn disarm(&mut self, thread: ThreadId) {
        self.hrtimers.disarm(thread);
        self.ticked.disarm(thread);
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        earlier(self.hrtimers.next(), self.ticked.next())
    }

    fn next_interrupt_on(&self, cpu: usize) -> Option<Time> {
        earlier(self.hrtimers.next_on(cpu), self.ticked.next_on(cpu))
    }

    fn interrupt(
        &mut self,
        cpu: usize,
        now: Time,
        _random: &mut Random,
        expired: &mut Vec<Expired>,
    ) {
        // The wheel turns in a softirq, after the interrupt proper.
        self.hrtimers.interrupt(cpu, now, expired);
        self.ticked.expire(
            cpu,
            |at, _| at <= now,
            |thread, _, why| {
                expired.push(Expired {
                    thread,
                    reason: Reason::Timer,
                    why,
                });
            },
        );
    }

    fn refuses(&self, setting: &Setting) -> Option<&'static str> {
        match setting {
            Setting::Slack(_)
            | Setting::Priority(_)
            | Setting::Power(_)
            | Setting::Nice(_)
            | Setting::Policy(_)
            | Setting::Quota { .. }
            | Setting::Weight(_) => None,
            Setting::Slice(_) => (!self.has_slices)
                .then_some("threads have slices of their own since Linux 6.12 only"),
            Setting::Request { .. } | Setting::Release { .. } => {
                Some("Linux timers have no resolution to ask for; they have slack")
            }
            Setting::Window { .. } => Some(
                "Linux treats the timers of a process alike whether its windows are seen or not",
            ),
            Setting::Throttling(_) => {
                Some("Linux knows no requests for a timer resolution that it could ignore")
            }
        }
    }

    fn set(&mut self, thread: ThreadId, _: ProcessId, setting: Setting, _: Time) -> Answer {
        let mut task = self.task(thread);
        match setting {
            Setting::Slack(slack) => task.set_slack(slack),
            Setting::Priority(priority) => task.set_priority(priority),
            Setting::Nice(nice) => task.set_nice(nice),
            Setting::Policy(policy) => task.set_policy(policy),
            _ => {}
        }
        self.tasks.insert(thread, task);
        Answer::Accepted
    }

    fn created(&mut self, thread: ThreadId, _: ProcessId, by: Option<ThreadId>) {
        let task = by.map_or(self.first, |by| self.task(by).child());
        self.tasks.insert(thread, task);
    }

    fn left(&mut self, thread: ThreadId) {
        self.tasks.remove(thread);
    }

    fn inherits(&self) -> bool {
        true
    }

    fn ticks(&self, cpu: usize, is_idle: bool) -> Option<Grid> {
        let has_ticks = match self.nohz {
            NoHz::Periodic => true,
            NoHz::Idle | NoHz::AfterTick => !is_idle,
            // `can_stop_idle_tick`, kernel/time/tick-sched.c.
            NoHz::Full => cpu == 0,
        };
        has_ticks.then_some(self.jiffies)
    }

    fn idle_tick(&self) -> Option<Grid> {
        (self.nohz == NoHz::AfterTick).then_some(self.jiffies)
    }

    fn timer_slack(&self, thread: ThreadId) -> Option<Nanos> {
        Some(self.task(thread).slack())
    }

    fn clock(&self) -> Option<OsClock> {
        Some(OsClock::Monotonic)
    }

    /// A jiffy for the coarse clocks (`posix_get_coarse_res`,
    /// kernel/time/posix-timers.c).
    fn stated_of(&self, clock: OsClock) -> Option<Nanos> {
        let jiffy = Nanos::new(self.wheel.jiffy().floor_ns());
        is_coarse(clock).then_some(jiffy)
    }

    /// The CPU whose turn it is writes the coarse clocks, as long as any is
    /// busy. The time of day is taken to have begun with the computer.
    fn shows(&self, clock: OsClock, now: Time) -> Option<Time> {
        let tick = self.jiffies.at_or_before(now);
        is_coarse(clock).then(|| tick - tick.rem(Time::from_ns(1)))
    }

    fn moves(&self, clock: OsClock, now: Time) -> Time {
        match clock {
            clock if is_coarse(clock) => self.jiffies.after(now),
            _ => now,
        }
    }
}

/// Whether the tick writes it.
fn is_coarse(clock: OsClock) -> bool {
    matches!(clock, OsClock::MonotonicCoarse | OsClock::RealtimeCoarse)
}

#[cfg(test)]
mod tests {
    use crate::setting::{Power, Priority};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{self, arm, fires, interrupt, request, woken};

    const SLEEP: Method = Method::ClockNanosleep;
    const MS: u64 = 1_000_000;

    /// Linux with some threads, all created by the first.
    fn linux(given: &str, threads: usize) -> Linux {
        let mut linux = Linux::new(&testing::linux(given));
        for thread in 0..threads {
            let by = (thread > 0).then_some(0);
            linux.created(thread, 0, by);
        }
        linux
    }

    fn set(linux: &mut Linux, thread: ThreadId, setting: Setting) {
        assert_eq!(linux.refuses(&setting), None);
        let answer = linux.set(thread, 0, setting, Time::ZERO);
        assert_eq!(answer, Answer::Accepted);
    }

    fn set_slack(linux: &mut Linux, thread: ThreadId, ns: u64) {
        set(linux, thread, Setting::Slack(Nanos::new(ns)));
    }

    /// When a lone timer of a thread that is due at once goes off: its slack.
    fn slack(linux: &mut Linux, thread: ThreadId) -> u64 {
        fires(linux, request(thread, SLEEP, 0, 0)).floor_ns()
    }

    /// The early stop: A (soft 10, hard 20) stands before B (soft 5, hard 30),
    /// so an interrupt at 7 takes nothing, and one at 12 takes both.
    #[test]
    fn an_interrupt_stops_at_the_first_timer_that_is_not_due() {
        let mut linux = linux("slack=10ns", 2);
        set_slack(&mut linux, 1, 25);
        arm(&mut linux, request(0, SLEEP, 0, 10));
        arm(&mut linux, request(1, SLEEP, 0, 5));
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(20), 0)));
        assert_eq!(woken(&mut linux, 7), []);
        assert_eq!(woken(&mut linux, 12), [0, 1]);
        assert_eq!(linux.next_interrupt(), None);
    }

    #[test]
    fn an_interrupt_leaves_the_timers_of_other_cpus_alone() {
        let mut linux = linux("slack=10ns", 2);
        for cpu in 0..2 {
            let request = Request {
                cpu,
                ..request(cpu, SLEEP, 0, 5)
            };
            arm(&mut linux, request);
        }
        assert_eq!(woken(&mut linux, 15), [0]);
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(15), 1)));
        assert_eq!(linux.next_interrupt_on(0), None);
        linux.disarm(1);
        assert_eq!(linux.next_interrupt(), None);
    }

    #[test]
    fn a_sleep_ends_at_the_late_edge_and_a_timerfd_has_none() {
        let mut linux = linux("", 1);
        for (method, length, want) in [
            (SLEEP, 300, 50_300),
            (Method::SlacklessNanosleep, 300, 301),
            (Method::SlacklessFutex, 300, 301),
            (Method::Timerfd, 300, 300),
            (Method::Poll, MS, MS + 50_000),
            (Method::Poll, 200 * MS, 200 * MS + 200_000),
            (Method::Poll, 0, 0),
            (SLEEP, 0, 50_000),
            (Method::Nanosleep, 300, 50_300),
            (Method::Usleep, 300, 51_000),
            (Method::Usleep, 7_000, 57_000),
            (Method::ClockNanosleepAbsolute, 300, 50_300),
            (Method::ConditionVariable, 300, 50_300),
            (Method::Futex, 300, 50_300),
            (Method::Futex, 200 * MS, 200 * MS + 50_000),
            (Method::PosixTimer, 300, 300),
            (Method::IntervalTimer, 300, 1_000),
            (Method::Select, 300, 51_000),
            (Method::Select, 200 * MS - 1, 200 * MS + 200_000),
            (Method::Select, 0, 0),
            (Method::Epoll, 300, MS + 50_000),
            (Method::Epoll, 199 * MS + 1, 200 * MS + 200_000),
            (Method::Epoll, 0, 0),
            // The granule of so long a timeout is 8 jiffies of 4 ms.
            (Method::SocketTimeout, 300 * MS, 320 * MS),
        ] {
            let at = fires(&mut linux, request(0, method, 0, length));
            assert_eq!(at, Time::from_ns(want), "{method} {length}");
        }
        set(&mut linux, 0, Setting::Priority(Priority::Background));
        let at = fires(&mut linux, request(0, Method::Poll, 0, 200 * MS));
        assert_eq!(at, Time::from_ns(201 * MS));
    }

    #[test]
    fn windows_are_told_apart_by_their_edges() {
        let mut linux = linux("", 1);
        arm(&mut linux, request(0, SLEEP, 0, 300));
        let why = Why::Window {
            soft: Time::from_ns(300),
            hard: Time::from_ns(50_300),
        };
        assert_eq!(
            interrupt(&mut linux, 0, Time::from_ns(400)),
            [Expired {
                thread: 0,
                reason: Reason::Timer,
                why,
            }]
        );
    }

    #[test]
    fn a_real_time_thread_has_no_slack() {
        let mut linux = linux("slack=2ms", 1);
        set(&mut linux, 0, Setting::Priority(Priority::RealTime));
        for method in [SLEEP, Method::SlacklessNanosleep, Method::Poll] {
            let at = fires(&mut linux, request(0, method, 0, 500 * MS));
            assert_eq!(at, Time::from_ns(500 * MS), "{method}");
        }
        set(&mut linux, 0, Setting::Power(Power::Battery));
        set(&mut linux, 0, Setting::Priority(Priority::Interactive));
        assert_eq!(slack(&mut linux, 0), 2 * MS);
    }

    #[test]
    fn a_real_time_thread_had_slack_in_a_futex() {
        for (given, slack) in [("", 0), ("rt_slack=kept", 50_000)] {
            let mut linux = linux(given, 1);
            set(&mut linux, 0, Setting::Priority(Priority::RealTime));
            for method in [Method::Futex, Method::ConditionVariable] {
                let at = fires(&mut linux, request(0, method, 0, 300));
                assert_eq!(at, Time::from_ns(300 + slack), "{method} {given}");
            }
        }
    }

    /// A creator that set 2 ms: its thread and its process have 2 ms, current
    /// and default; what they set and reset does not come back to it.
    #[test]
    fn a_child_inherits_the_current_slack_as_its_default() {
        for [child, grandchild] in [[0, 0], [1, 2]] {
            let mut linux = linux("", 1);
            set_slack(&mut linux, 0, 2 * MS);
            linux.created(1, child, Some(0));
            assert_eq!(slack(&mut linux, 1), 2 * MS);
            set_slack(&mut linux, 1, 7);
            linux.created(2, grandchild, Some(1));
            set_slack(&mut linux, 1, 0);
            assert_eq!(slack(&mut linux, 1), 2 * MS);
            set_slack(&mut linux, 2, 9);
            set_slack(&mut linux, 2, 0);
            assert_eq!(slack(&mut linux, 2), 7);
            assert_eq!(slack(&mut linux, 0), 2 * MS);
            set_slack(&mut linux, 0, 0);
            assert_eq!(slack(&mut linux, 0), 50_000);
        }
    }

    /// A thousand deadlines over 1 ms need one interrupt for each slack of
    /// 50 us, not one each.
    #[test]
    fn timers_of_one_cpu_share_interrupts() {
        let mut linux = linux("", 1_000);
        for thread in 0..1_000 {
            arm(&mut linux, request(thread, SLEEP, 0, 1_000 * thread as u64));
        }
        let mut interrupts = 0;
        let mut woken = 0;
        while let Some((at, cpu)) = linux.next_interrupt() {
            interrupts += 1;
            woken += interrupt(&mut linux, cpu, at).len();
        }
        assert_eq!((interrupts, woken), (20, 1_000));
    }

    /// At 1000 Hz a timeout of 100 ms ends in a tick 100 to 108 ms later, at
    /// every phase of the call.
    #[test]
    fn a_socket_timeout_is_rounded_up_on_the_wheel() {
        let mut linux = linux("hz=1000", 1);
        for phase in (0..8 * MS).step_by(12_345) {
            let now = 3_600_000 * MS + phase;
            let at = fires(&mut linux, request(0, Method::SocketTimeout, now, 100 * MS));
            let lasted = at.floor_ns() - now;
            assert_eq!(at.rem(Time::from_ns(8 * MS)), Time::ZERO);
            assert!(100 * MS < lasted && lasted <= 108 * MS, "{phase}: {lasted}");
        }
    }

    #[test]
    fn a_socket_timeout_says_where_on_the_wheel_it_was() {
        let mut linux = linux("hz=100", 2);
        arm(&mut linux, request(0, Method::SocketTimeout, 0, 700 * MS));
        let at = Time::from_ns(720 * MS);
        // An earlier interrupt does not turn the wheel.
        arm(&mut linux, request(1, SLEEP, 0, 701 * MS));
        assert_eq!(woken(&mut linux, 719 * MS), [1]);
        assert_eq!(linux.next_interrupt(), Some((at, 0)));
        let expired = interrupt(&mut linux, 0, at);
        assert_eq!(
            expired[0].why,
            Why::Wheel {
                due: Time::from_ns(700 * MS),
                jiffy: Time::from_ns(10 * MS),
                granule: Time::from_ns(80 * MS),
            }
        );
        arm(&mut linux, request(0, Method::SocketTimeout, 0, 700 * MS));
        linux.disarm(0);
        assert_eq!(linux.next_interrupt(), None);
    }

    #[test]
    fn without_high_resolution_every_timer_waits_for_a_tick() {
        let mut linux = linux("highres=off,slack=3ms", 1);
        for (method, now, length, want) in [
            (SLEEP, 0, 1, 4 * MS),
            (SLEEP, 0, 4 * MS, 4 * MS),
            (SLEEP, 5 * MS, 2 * MS, 8 * MS),
            (Method::Poll, 0, 400 * MS + 1, 404 * MS),
            (Method::SlacklessNanosleep, 0, 9 * MS, 12 * MS),
            (Method::Timerfd, 0, 9 * MS, 12 * MS),
            (Method::SocketTimeout, 0, 4 * MS, 8 * MS),
        ] {
            let at = fires(&mut linux, request(0, method, now, length));
            assert_eq!(at, Time::from_ns(want), "{method} {now} {length}");
        }
        arm(&mut linux, request(0, SLEEP, 7, 1));
        let expired = interrupt(&mut linux, 0, Time::from_ns(4 * MS));
        assert_eq!(
            expired[0].why,
            Why::Tick {
                due: Time::from_ns(8),
                called: Time::from_ns(7),
                base: Time::from_ns(7),
                until: Time::from_ns(8),
                interval: Time::from_ns(4 * MS),
                every: 1,
                slipped: false,
            }
        );
    }

    #[test]
    fn the_tick_stops_where_it_is_told_to() {
        let every = |ms| {
            Some(Grid {
                anchor: Time::ZERO,
                period: Time::from_ns(ms * MS),
            })
        };
        for (given, busy, idle) in [
            ("", every(4), None),
            ("hz=100", every(10), None),
            ("nohz=periodic,hz=1000", every(1), every(1)),
        ] {
            let linux = linux(given, 1);
            assert_eq!(linux.ticks(0, false), busy, "{given}");
            assert_eq!(linux.ticks(0, true), idle, "{given}");
        }
        let full = linux("nohz=full", 1);
        for is_idle in [false, true] {
            assert_eq!([0, 1].map(|cpu| full.ticks(cpu, is_idle)), [every(4), None]);
        }
    }

    #[test]
    fn the_coarse_clock_is_written_once_a_jiffy() {
        for (given, period) in [
            ("hz=100", Time::from_ns(10 * MS)),
            ("", Time::from_ns(4 * MS)),
            ("hz=300,nohz=full", Time::from_thirds(10_000_000)),
            ("hz=1000", Time::from_ns(MS)),
        ] {
            let linux = linux(given, 1);
            let between = period.times(7) + Time::from_ns(1);
            let shown = Time::from_ns(period.times(7).floor_ns());
            for coarse in [OsClock::MonotonicCoarse, OsClock::RealtimeCoarse] {
                assert_eq!(linux.shows(coarse, between), Some(shown));
                assert_eq!(linux.moves(coarse, between), period.times(8));
                let stated = Nanos::new(period.floor_ns());
                assert_eq!(linux.stated_of(coarse), Some(stated));
            }
            assert_eq!(linux.stated_of(OsClock::Monotonic), None);
            for clock in [OsClock::TimeGetTime, OsClock::GetTickCount] {
                assert_eq!(linux.shows(clock, between), None);
            }
            assert_eq!(linux.interval(), None);
            assert_eq!(linux.stated_interval(), None);
        }
    }

    #[test]
    fn what_linux_does_not_know_is_refused_by_name() {
        let linux = linux("", 1);
        let request = Setting::request(Nanos::from_ms(1));
        assert_eq!(
            linux.refuses(&request),
            Some("Linux timers have no resolution to ask for; they have slack")
        );
        let window = Setting::Window {
            visible: false,
            foreground: false,
            audible: false,
        };
        let throttling = Setting::Throttling(Default::default());
        for setting in [Setting::release(Nanos::from_ms(1)), window, throttling] {
            assert!(linux.refuses(&setting).is_some(), "{}", setting.name());
        }
    }

    proptest! {
        /// With any call, slack and priority, on any CPU, with high resolution
        /// and without, a timer goes off at its due time or after, once.
        #[test]
        fn nothing_goes_off_early_and_everything_goes_off(
            high in any::<bool>(),
            steps in prop::collection::vec(
                (0_usize..16, 0_usize..3, 0_u64..300 * MS, 0_u64..10 * MS, 0_usize..7, any::<prop::sample::Index>()),
                0..100,
            ),
        ) {
            let mut linux = linux(if high { "" } else { "highres=off" }, 16);
            let mut due = [None; 16];
            let mut now = Time::ZERO;
            let check = |linux: &mut Linux, due: &mut [Option<Time>; 16], cpu, now| {
                for expired in interrupt(linux, cpu, now) {
                    let due = due[expired.thread].take();
                    prop_assert!(due.is_some_and(|due| due <= now));
                }
                Ok(())
            };
            for (thread, cpu, length, slack, what, method) in steps {
                match what {
                    0..4 if due[thread].is_none() => {
                        let method = *method.get(linux.methods());
                        let end = now + Time::from_ns(length);
                        let asked = request(thread, method, 0, 0);
                        arm(&mut linux, Request { cpu, now, due: end, ..asked });
                        due[thread] = Some(end);
                    }
                    4 => {
                        linux.disarm(thread);
                        due[thread] = None;
                    }
                    5 => {
                        set_slack(&mut linux, thread, slack);
                        let priority = Priority::ALL[slack as usize % 5];
                        set(&mut linux, thread, Setting::Priority(priority));
                    }
                    _ => {
                        let until = now + Time::from_ns(slack);
                        let next = linux.next_interrupt();
                        now = next.map_or(until, |(at, _)| until.min(at));
                        check(&mut linux, &mut due, cpu, now)?;
                    }
                }
            }
            while let Some((at, cpu)) = linux.next_interrupt() {
                prop_assert!(at >= now);
                now = at;
                check(&mut linux, &mut due, cpu, now)?;
                prop_assert!(linux.next_interrupt_on(cpu).is_none_or(|next| next > now));
            }
            prop_assert!(due.iter().all(Option::is_none));
        }
    }
}
