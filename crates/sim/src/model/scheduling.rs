//! How a computer shares out its CPUs.

use crate::clock::Time;

/// The scheduling when there are more threads than CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Each thread has a CPU of its own.
    Unlimited,
    /// One queue for each priority, the same for all CPUs. A thread that is
    /// more important takes the CPU at once; threads of the same priority take
    /// turns of a quantum.
    Quantum {
        /// How long a turn is.
        length: Time,
        /// The turns of equals and of lower priorities.
        turns: Turns,
    },
    /// Linux: a queue for each CPU, in which every thread gets its share.
    Fair(Fair),
}

/// How a Linux shares out its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fair {
    /// The slice, from which deadlines follow, or the least granularity of CFS.
    pub slice: Time,
    /// The grid on which slices end; `None` if they end by a timer of their own.
    pub tick: Option<Time>,
    /// From one tick to the next.
    pub jiffy: Time,
    /// CFS instead of EEVDF.
    pub is_cfs: bool,
    /// Up to where who runs is safe from who wakes.
    pub parity: Parity,
    /// Whether who sleeps takes part until what it had too much is made up for.
    pub delays: bool,
    /// Whether a thread that yields gives up the rest of its slice, and not only its place.
    pub forfeits: bool,
    /// Whether who is woken from another CPU waits for a tick.
    pub is_lazy: bool,
    /// The limit of real-time threads.
    pub real_time: RealTimeLimit,
    /// The quota that all processes share.
    pub quota: Option<Quota>,
    /// Whether those that are in no control group are one competitor beside those that are.
    pub has_autogroup: bool,
}

/// Up to where the thread that runs is safe from those that wake (`RUN_TO_PARITY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// Nowhere.
    Off,
    /// Its slice, while it has not had more than its share.
    Slice,
    /// The shortest slice in its queue, likewise.
    Shortest,
}

/// The limit that keeps real-time threads from taking all of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTimeLimit {
    /// Nothing.
    None,
    /// They get 950 ms of each second and no more.
    Throttled,
    /// Ordinary threads that waited for 950 ms get 50.
    Server,
}

/// The CPU time that a group of processes gets in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// How much, of all CPUs together.
    pub time: Time,
    /// How often.
    pub period: Time,
    /// How much of what earlier periods left one may use on top.
    pub burst: Time,
}

/// How turns of a quantum end, and how those that matter less come to a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// At the ticks of the rule only; who has waited or starved is raised. Windows.
    AtTicks(Boosts),
    /// Anywhere; each priority has a deadline by which it has a turn. macOS.
    Buckets {
        /// Whether who used much of a CPU comes after others of the same priority.
        decays: bool,
    },
}

/// The boosts of Windows for threads that waited, and for the process in the foreground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boosts {
    /// How long the turn of a raised thread is.
    pub tick: Time,
    /// The levels of priority for a wait that an event ended.
    pub by_event: usize,
    /// The levels for any wait in the foreground.
    pub in_foreground: usize,
    /// How many usual turns a turn in the foreground is.
    pub turns_in_foreground: u64,
}
