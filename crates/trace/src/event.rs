//! The events of a kernel that waits are made of.

use std::fmt;

use crate::call::{Call, Clock, Timeout};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in nanoseconds of the monotonic clock.
    pub time: u64,
    /// The CPU that it happened on.
    pub cpu: u32,
    /// The thread that this CPU ran; 0 is the idle thread.
    pub thread: u32,
    /// The kind of the event.
    pub what: What,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread began a call that may wait.
    Enter {
        /// The process of the thread.
        process: u32,
        /// The call.
        call: Call,
        /// Its timeout, as far as its arguments tell it.
        timeout: Timeout,
    },
    /// The call ended.
    Exit {
        /// The result: an error is its number, negative.
        result: i64,
    },
    /// The thread armed a high-resolution timer. Instants are those of the timer's clock, in
    /// nanoseconds.
    Arm {
        /// The address of the timer.
        timer: u64,
        /// The first instant at which it may expire.
        soft: u64,
        /// The instant for which the interrupt is set: the slack later.
        hard: u64,
        /// Whether the kernel was given a length.
        is_relative: bool,
    },
    /// The thread armed a timer of the timer wheel. Instants are counts of ticks.
    ArmWheel {
        /// The address of the timer.
        timer: u64,
        /// The present.
        now: u64,
        /// The first tick at which it may expire.
        expires: u64,
        /// The tick at which its slot of the wheel is served.
        slot: u64,
    },
    /// A timer of either kind expired.
    Expire {
        /// The address of the timer.
        timer: u64,
    },
    /// A thread is about to be woken.
    Waking {
        /// That thread.
        thread: u32,
        /// Whether an interrupt does it, rather than the running thread.
        by_interrupt: bool,
    },
    /// A woken thread is in the run queue of a CPU.
    Ready {
        /// That thread.
        thread: u32,
        /// The CPU.
        on: u32,
    },
    /// A thread that is ready moved to the run queue of another CPU.
    Migrate {
        /// That thread.
        thread: u32,
        /// The CPU.
        to: u32,
    },
    /// The CPU runs another thread from now on.
    Switch {
        /// The state of the thread that ran.
        left: Left,
        /// The thread that runs.
        next: u32,
        /// Its name.
        name: Name,
        /// Whether it has a real-time priority.
        is_real_time: bool,
    },
    /// From now on other clocks are so far ahead of the monotonic one.
    Clocks(Offsets),
    /// The end of the wait that the thread is in, from a source that does not see its timer.
    Due {
        /// The deadline.
        deadline: u64,
        /// How late the kernel may let the timer be, in nanoseconds: the slack of the thread, or the rounding of the
        /// timer wheel. `None` is not known.
        leeway: Option<u64>,
        /// Whether the timer is in the timer wheel.
        in_wheel: bool,
    },
    /// The thread waited for a CPU for so long since its call began, in nanoseconds.
    Waited {
        /// Its run delay.
        ns: u64,
    },
    /// The thread left its CPU. The source does not see the thread that runs there next.
    Off {
        /// The state of the thread.
        left: Left,
    },
    /// The thread got this CPU.
    On,
    /// The process with the number `thread` was stopped by a signal or a debugger, at both instants.
    SeenStopped {
        /// The earlier instant.
        since: u64,
    },
    /// The thread has this name.
    Named(Name),
    /// The thread ended.
    End,
    /// Quotas of the control groups of the traced programs stopped their threads for so long in all, since the event of
    /// this kind before.
    Throttled {
        /// Nanoseconds, summed over CPUs.
        ns: u64,
    },
    /// Events of this CPU were lost before this one.
    Lost {
        /// How many.
        n: u64,
    },
}

/// How far clocks are ahead of the monotonic one, in nanoseconds; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// `CLOCK_REALTIME`.
    pub realtime: Option<i64>,
    /// `CLOCK_BOOTTIME`.
    pub boottime: Option<i64>,
    /// `CLOCK_TAI`.
    pub tai: Option<i64>,
}

impl Offsets {
    /// Of this clock.
    pub(crate) fn of(&self, clock: Clock) -> Option<i64> {
        match clock {
            Clock::Monotonic => Some(0),
            Clock::Realtime => self.realtime,
            Clock::Boottime => self.boottime,
            Clock::Tai => self.tai,
            Clock::Other => None,
        }
    }
}

/// The state of a thread that left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It could go on: others preempted it.
    Ready,
    /// It waits for something.
    Asleep,
    /// A signal or a debugger stopped it.
    Stopped,
}

/// The name of a thread: 15 bytes of any kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name([u8; 16]);

impl Name {
    /// The name in the first of these bytes, up to a zero.
    pub fn new(bytes: &[u8]) -> Self {
        let mut name = [0; 16];
        let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or(bytes);
        let n = bytes.len().min(15);
        name[..n].copy_from_slice(&bytes[..n]);
        Self(name)
    }

    /// Whether it is not known.
    pub fn is_empty(self) -> bool {
        self.0[0] == 0
    }

    /// The name, or another word if it is not known.
    pub fn in_words(self) -> String {
        match self.is_empty() {
            true => "thread".to_owned(),
            false => self.to_string(),
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        &self.0[..end.unwrap_or(16)]
    }
}

/// Anything that cannot be seen is written out.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&punctual_record::visible(&String::from_utf8_lossy(
            self.bytes(),
        )))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
