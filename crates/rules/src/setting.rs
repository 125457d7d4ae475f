//! Settings by which a thread or a process changes how the OS treats it.

use punctual_core::Nanos;
pub use punctual_core::setting::{Priority, Throttling};

/// A change to the environment of waiting. Which of them an OS knows differs;
/// a machine refuses the others by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Setting {
    /// The timer slack of this thread; zero goes back to its default. Linux:
    /// `prctl(PR_SET_TIMERSLACK)`.
    Slack(Nanos),
    /// The priority of this thread.
    Priority(Priority),
    /// The nice value of this thread, from -20 to 19; it counts while the thread is at no
    /// real-time priority. Linux: `setpriority`.
    Nice(i8),
    /// The slice of this thread; zero goes back to that of the system. Linux since 6.12:
    /// `sched_setattr` with a `sched_runtime` at the ordinary policy.
    Slice(Nanos),
    /// The scheduling policy of this thread. Linux: `sched_setattr`.
    Policy(Policy),
    /// The CPU time that this process, and whatever it starts from now on, may use in each
    /// period, all CPUs together; no time stands for no quota. Linux: `cpu.max` of a control group.
    Quota {
        /// How much.
        time: Nanos,
        /// How often there is so much of it.
        period: Nanos,
        /// How much of what earlier periods left may be used on top in one period. Linux: `cpu.max.burst`.
        burst: Nanos,
    },
    /// The weight of this process, and of whatever it starts from now on, beside other groups, from 1 to 10000; a
    /// group has 100 by default, and zero stands for none of its own. Linux: `cpu.weight` of a control group.
    Weight(u16),
    /// Asks for a timer interval, until as many [`Setting::Release`] of the
    /// same interval or until the process ends. Windows: `timeBeginPeriod`,
    /// `NtSetTimerResolution`; by a driver, `ExSetTimerResolution`.
    Request {
        /// The longest time between two clock interrupts that will do.
        interval: Nanos,
        /// The interval that the process asks for instead while the computer runs on battery, if
        /// that is longer: Chromium asks for 8 ms then.
        on_battery: Option<Nanos>,
        /// The process that asks.
        by: Requester,
    },
    /// Withdraws a request for a timer interval.
    Release {
        /// The interval that was asked for.
        interval: Nanos,
        /// The process that had asked.
        by: Requester,
    },
    /// Whether the user sees or hears this process. A process without this setting owns no window.
    Window {
        /// Whether any part of a window of it can be seen.
        visible: bool,
        /// Whether that is the window that the user works with.
        foreground: bool,
        /// Whether it can be heard.
        audible: bool,
    },
    /// How the process wants its requests treated while it is neither visible nor audible. Windows
    /// 11: `SetProcessInformation(ProcessPowerThrottling)`.
    Throttling(Throttling),
    /// The power source of the computer. It changes for the whole computer, not for the process.
    Power(Power),
}

/// A scheduling policy of Linux (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Policy {
    /// `SCHED_OTHER`, what threads have by default.
    Other,
    /// `SCHED_BATCH`: as that, but it takes no CPU as it wakes.
    Batch,
    /// `SCHED_IDLE`: as that, with less weight than any nice value has.
    Idle,
    /// `SCHED_FIFO` at a priority from 1 to 99: it runs until it blocks.
    Fifo(u8),
    /// `SCHED_RR`, likewise: it takes turns with others of its priority.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: a bandwidth server.
    Deadline(Reservation),
}

/// CPU time that a thread reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reservation {
    /// How much it gets in each period.
    pub runtime: Nanos,
    /// How long after the beginning of a period at the latest.
    pub deadline: Nanos,
    /// How often.
    pub period: Nanos,
}

/// The process that asks for a timer interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Requester {
    /// The process the thread belongs to.
    #[default]
    Process,
    /// A driver that works for it. Its requests count for everybody.
    Driver,
}

/// The power source of a computer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Power {
    /// The mains.
    #[default]
    Mains,
    /// Its battery.
    Battery,
}

impl Setting {
    /// The name of this setting in a scenario.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Slack(_) => "slack",
            Self::Priority(_) => "priority",
            Self::Nice(_) => "nice",
            Self::Slice(_) => "slice",
            Self::Policy(_) => "policy",
            Self::Quota { .. } => "quota",
            Self::Weight(_) => "weight",
            Self::Request { .. } => "request",
            Self::Release { .. } => "release",
            Self::Window { .. } => "window",
            Self::Throttling(_) => "throttling",
            Self::Power(_) => "power",
        }
    }

    /// A request by this process, for this interval.
    pub const fn request(interval: Nanos) -> Self {
        Self::Request {
            interval,
            on_battery: None,
            by: Requester::Process,
        }
    }

    /// The end of such a request.
    pub const fn release(interval: Nanos) -> Self {
        Self::Release {
            interval,
            by: Requester::Process,
        }
    }
}
