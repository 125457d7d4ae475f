//! What each generation of Windows does differently.

use punctual_core::Method;

use super::parameters;
use super::tolerance::Encoding;
use crate::model::{Confidence, Override, Parameter};

/// A generation of Windows.
#[derive(Debug)]
pub(crate) struct Generation {
    /// The parameters of its rule.
    pub(crate) parameters: &'static [Parameter],
    /// Where its parameters differ from the usual.
    pub(crate) overrides: &'static [Override],
    /// The calls that block, `Sleep` first and its best timer last. The timeouts
    /// of all of them are checked in the same ticks (timer-rule article).
    pub(super) methods: &'static [Method],
    /// It knows `CREATE_WAITABLE_TIMER_HIGH_RESOLUTION`.
    pub(super) has_high_resolution_timers: bool,
    /// Processes without a request of their own get default scans only.
    pub(super) has_classes: bool,
    /// The requests of processes that nobody sees or hears do not count.
    pub(super) throttles: bool,
    /// It knows the registry key `GlobalTimerResolutionRequests`.
    pub(super) honours_global_key: bool,
    /// Idle CPUs have no ticks. It came with Windows 8, as its switch did
    /// (Microsoft, "BCDEdit /set", `disabledynamictick`). Before, every CPU has
    /// ticks, idle or not.
    pub(super) has_dynamic_tick: bool,
    /// What it keeps of the tolerance of a timer.
    pub(super) tolerance: Encoding,
}

/// No coalescing yet. The ticks of old machines come from the real-time clock,
/// in 1024ths of a second (golang/go issue 17696: 976.5 us).
pub(crate) const WINDOWS_XP: Generation = Generation {
    parameters: parameters::PLAIN,
    overrides: &[RTC, YIELD, WAKE, JITTER],
    methods: &[
        Method::WindowsSleep,
        Method::WindowsSleepEx,
        Method::WaitForSingleObject,
        Method::WaitForMultipleObjects,
        Method::WindowsMessageTimer,
        Method::WaitableTimer,
    ],
    has_high_resolution_timers: false,
    has_classes: false,
    throttles: false,
    honours_global_key: false,
    has_dynamic_tick: false,
    tolerance: Encoding::None,
};

/// `Sleep(1)` takes 1.0 ms here and 2.0 ms on XP and 1909 (timer-rule
/// article), so the granted interval is no less than a millisecond. Condition
/// variables came with Vista (Microsoft, `SleepConditionVariableSRW`).
pub(crate) const WINDOWS_7: Generation = Generation {
    overrides: &[EXACT_7, YIELD, WAKE, JITTER],
    methods: &[
        Method::WindowsSleep,
        Method::WindowsSleepEx,
        Method::WaitForSingleObject,
        Method::WaitForMultipleObjects,
        Method::ConditionVariable,
        Method::WindowsMessageTimer,
        Method::WaitableTimer,
    ],
    tolerance: Encoding::PowersOfTwo,
    ..WINDOWS_XP
};

/// As Windows 7, but for the dynamic tick and what it keeps of a tolerance.
pub(crate) const WINDOWS_8: Generation = Generation {
    has_dynamic_tick: true,
    tolerance: Encoding::Steps,
    ..WINDOWS_7
};

/// The last on which a request counts for everybody. High-resolution timers
/// have been there since 1803 (Microsoft, "High-Resolution Timers").
pub(crate) const WINDOWS_10_1909: Generation = Generation {
    parameters: parameters::WITH_HIGH_RESOLUTION,
    overrides: &[AMD, YIELD, WAKE, JITTER],
    methods: &[
        Method::WindowsSleep,
        Method::WindowsSleepEx,
        Method::WaitForSingleObject,
        Method::WaitForMultipleObjects,
        Method::ConditionVariable,
        Method::WindowsMessageTimer,
        Method::WaitableTimer,
        Method::HighResolutionTimer,
    ],
    has_high_resolution_timers: true,
    ..WINDOWS_8
};

/// Requests count for those who made them (Microsoft, `timeBeginPeriod`;
/// timer-rule article). It does not know the global key: set on 21H2 it changes
/// nothing (PC-Tuning, research.md).
pub(crate) const WINDOWS_10_2004: Generation = Generation {
    parameters: parameters::WITH_CLASSES,
    has_classes: true,
    ..WINDOWS_10_1909
};

/// `Sleep(1)` takes 1.495 ms at an interval of exactly 0.5 ms (PC-Tuning,
/// research.md), as it does if lengths count from the call.
pub(crate) const WINDOWS_11: Generation = Generation {
    overrides: &[EXACT_11, FROM_CALL, YIELD, WAKE, JITTER],
    throttles: true,
    honours_global_key: true,
    ..WINDOWS_10_2004
};

/// The kernel of Windows 11 with the global key on (PC-Tuning, research.md), and the quanta of
/// a server.
pub(crate) const SERVER_2022: Generation = Generation {
    overrides: &[
        EXACT_11, FROM_CALL, GLOBAL, LONG, FIXED, YIELD, WAKE, JITTER,
    ],
    ..WINDOWS_11
};

const YIELD: Override = Override {
    key: "yield",
    value: "2500ns",
    confidence: Confidence::C,
    source: "Sleep(0) took 2 to 3 us when nobody else wanted the CPU (thread-scheduling article)",
};

const WAKE: Override = Override {
    key: "wake",
    value: "20us",
    confidence: Confidence::C,
    source: "Sleep(1) took 1.021 to 1.023 ms at an interval of 0.5 ms, 20 us more than two ticks (thread-scheduling article)",
};

const JITTER: Override = Override {
    key: "jitter",
    value: "500ns",
    confidence: Confidence::C,
    source: "sleeps of as many ticks differed by up to 2 us on quiet computers (PC-Tuning, research.md); on busy ones far more: try wake=13us,jitter=13us",
};

/// The hardware of a generation, as far as the intervals that were measured on
/// it say.
const fn hardware(value: &'static str, source: &'static str) -> Override {
    Override {
        key: "hardware",
        value,
        confidence: Confidence::C,
        source,
    }
}

const RTC: Override = hardware(
    "rtc",
    "inferred from an interval of 976.5 us (golang/go issue 17696)",
);

const EXACT_7: Override = hardware(
    "exact",
    "inferred from a Sleep(1) of 1.0 ms (timer-rule article)",
);

const AMD: Override = hardware(
    "amd",
    "inferred from an interval of 0.4992 ms (PC-Tuning, research.md)",
);

const EXACT_11: Override = hardware(
    "exact",
    "inferred from an interval of exactly 0.5 ms (PC-Tuning, research.md)",
);

const FROM_CALL: Override = Override {
    key: "base",
    value: "now",
    confidence: Confidence::C,
    source: "inferred from a Sleep(1) of 1.495 ms at an interval of exactly 0.5 ms (PC-Tuning, research.md)",
};

const GLOBAL: Override = Override {
    key: "global",
    value: "1",
    confidence: Confidence::B,
    source: "PC-Tuning, research.md: requests count for everybody here",
};

const LONG: Override = Override {
    key: "quantum",
    value: "12",
    confidence: Confidence::A,
    source: SERVERS,
};

const FIXED: Override = Override {
    key: "quanta",
    value: "fixed",
    confidence: Confidence::A,
    source: SERVERS,
};

const SERVERS: &str = "servers have long, fixed quanta, of 36 thirds (Microsoft, \"Master Your Quantum\" and Win32_OperatingSystem)";
