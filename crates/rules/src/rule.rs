use punctual_core::wait::Reason;
use punctual_core::{Method, Nanos};

use crate::setting::Requester;
use crate::{Grid, OsClock, Random, Setting, Time, Why};

/// Names a thread of an experiment by a small number, below 2^24; a thread has at most one timer. Rules take
/// eight bytes for each 32 numbers up to the greatest.
pub type ThreadId = usize;

/// Names a process of an experiment.
pub type ProcessId = usize;

/// A request of a thread to the OS.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The requesting thread.
    pub thread: ThreadId,
    /// On which CPU.
    pub cpu: usize,
    /// With which call, one of the rule's [`methods`](Rule::methods).
    pub method: Method,
    /// When it is made.
    pub now: Time,
    /// The end asked for; not before `now`.
    pub due: Time,
    /// How much later will do, beyond what the OS allows itself anyway.
    pub tolerance: Time,
}

/// A thread whose timer went off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The thread.
    pub thread: ThreadId,
    /// Why it wakes.
    pub reason: Reason,
    /// Why it wakes now.
    pub why: Why,
}

/// The answer of the OS to a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It takes note of it.
    Accepted,
    /// It returns an error, as it does for a release without a request.
    Denied,
}

/// A request for a timer interval that was made and not withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outstanding {
    /// The process that made it, or that the driver works for.
    pub process: ProcessId,
    /// The process itself or a driver.
    pub by: Requester,
    /// The interval that was asked for.
    pub interval: Nanos,
    /// The interval that it counts as; `None` while the system ignores requests of this process.
    pub counts_as: Option<Nanos>,
    /// Whether none that counts is shorter.
    pub rules: bool,
}

/// The timer behaviour of an operating system.
///
/// A rule keeps the armed timers, says when the next timer interrupt is, and
/// which timers that interrupt expires. Its host numbers threads and processes;
/// of equal timers some rules take the lower number first. The memory of a rule is
/// proportional to the most threads that there were at once, as long as it hears of
/// those that [left](Rule::left).
pub trait Rule: std::fmt::Debug + Send {
    /// The OS calls that block under this rule. The first is what `sleep` means.
    fn methods(&self) -> &[Method];

    /// The call that `timer` stands for: the last of these, unless the rule says otherwise.
    fn timer(&self) -> Option<Method> {
        self.methods().last().copied()
    }

    /// Whether a call for no time at all does not block, but offers the CPU to
    /// the others, as `Sleep(0)` does.
    fn yields_for_nothing(&self, _method: Method) -> bool {
        false
    }

    /// The CPU time of the nap that `request` asks for, from entering the
    /// call to leaving it; `None` if this rule knows no better than the model,
    /// for which all naps cost the same.
    fn cpu_of(&self, _request: &Request) -> Option<Time> {
        None
    }

    /// Arms the timer of a thread, which is not armed.
    fn arm(&mut self, request: &Request, random: &mut Random);

    /// Disarms the timer of a thread, if it is armed.
    fn disarm(&mut self, thread: ThreadId);

    /// When the next interrupt comes that expires a timer as things stand, and
    /// on which CPU; `None` while nothing is armed. It is asked for before each
    /// event of the simulation, so the answer is kept ready.
    fn next_interrupt(&self) -> Option<(Time, usize)>;

    /// The same for one CPU.
    fn next_interrupt_on(&self, cpu: usize) -> Option<Time>;

    /// When a CPU without a thread to run is next woken, as things stand. That is by an interrupt
    /// of its own, or because one elsewhere ends the sleep of its thread.
    fn next_wake_on(&self, cpu: usize) -> Option<Time> {
        self.next_interrupt_on(cpu)
    }

    /// The requests for a timer interval in force, by process; none on systems without such
    /// requests.
    fn outstanding(&self) -> Vec<Outstanding> {
        vec![]
    }

    /// The timer interrupt of a CPU at `now`: adds the timers that it expires
    /// to `expired`, in the order in which the OS takes them.
    fn interrupt(&mut self, cpu: usize, now: Time, random: &mut Random, expired: &mut Vec<Expired>);

    /// Why this OS does not know a setting, in a half-sentence that says what
    /// it is like instead; `None` if it does.
    fn refuses(&self, setting: &Setting) -> Option<&'static str>;

    /// A thread of a process changes a setting, one that is not refused.
    fn set(
        &mut self,
        _thread: ThreadId,
        _process: ProcessId,
        _setting: Setting,
        _now: Time,
    ) -> Answer {
        Answer::Accepted
    }

    /// A thread was created, the first of `process` if its number is new, by
    /// another thread unless it is the first of all.
    fn created(&mut self, _thread: ThreadId, _process: ProcessId, _by: Option<ThreadId>) {}

    /// Whether threads and processes inherit the priority of their creator, and its CPU if that
    /// thread is pinned.
    fn inherits(&self) -> bool {
        false
    }

    /// Whether a thread of a process is for efficiency cores only, where there are some.
    fn saves_energy(&self, _thread: ThreadId, _process: ProcessId) -> bool {
        false
    }

    /// A thread has ended, whose timer is not armed. Nothing is kept of it, and its number can be that
    /// of another thread.
    fn left(&mut self, _thread: ThreadId) {}

    /// A process has ended, after all of its threads. Nothing is kept of it.
    fn ended(&mut self, _process: ProcessId, _now: Time) {}

    /// The periodic ticks of a CPU, whether they expire timers or not; `None`
    /// if it has none, as idle CPUs of many systems. It can change when a
    /// setting does.
    fn ticks(&self, _cpu: usize, _is_idle: bool) -> Option<Grid> {
        None
    }

    /// The ticks of which an idle CPU has the first one, where it has no others: it stops them with that one.
    fn idle_tick(&self) -> Option<Grid> {
        None
    }

    /// The timer interval in force; `None` if the OS has none.
    fn interval(&self) -> Option<Nanos> {
        None
    }

    /// The timer interval that the OS answers when asked; `None` if one cannot
    /// ask.
    fn stated_interval(&self) -> Option<Nanos> {
        self.interval()
    }

    /// The timer slack that the OS answers when `thread` asks for its own; `None`
    /// if one cannot ask.
    fn timer_slack(&self, _thread: ThreadId) -> Option<Nanos> {
        None
    }

    /// The name on this OS of the clock that simulated threads read; `None` if
    /// it is no particular OS.
    fn clock(&self) -> Option<OsClock> {
        None
    }

    /// The resolution that the OS states for a clock; `None` if it does not have
    /// it, or what it states is not modelled.
    fn stated_of(&self, _clock: OsClock) -> Option<Nanos> {
        None
    }

    /// The time of a clock that ticks write: its last tick up to `now`, in whole units. `None` if
    /// the OS does not have that clock.
    fn shows(&self, _clock: OsClock, _now: Time) -> Option<Time> {
        None
    }

    /// The next tick after `now` at which a clock is written, as things stand;
    /// `now` if the OS does not have it.
    fn moves(&self, _clock: OsClock, now: Time) -> Time {
        now
    }
}

/// The earlier of two instants that may not come. It is asked for with every
/// event: putting both into a list first took a third of the time of a
/// simulation.
pub(crate) fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
