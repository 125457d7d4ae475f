//! The differences between generations of Windows.

use punctual_core::Method;

use super::tolerance::Encoding;

/// A generation of Windows.
#[derive(Debug, PartialEq, Eq)]
pub struct Generation {
    /// The calls that block, `Sleep` first and its best timer last. The timeouts
    /// of all of them are checked in the same ticks (timer-rule article).
    pub(super) methods: &'static [Method],
    /// It knows `CREATE_WAITABLE_TIMER_HIGH_RESOLUTION`.
    pub(super) has_high_resolution_timers: bool,
    /// Processes without a request of their own get default scans only.
    pub(super) has_classes: bool,
    /// The requests of processes that are neither visible nor audible do not count.
    pub(super) throttles: bool,
    /// It knows the registry key `GlobalTimerResolutionRequests`.
    pub(super) honours_global_key: bool,
    /// Idle CPUs have no ticks. It came with Windows 8, as its switch did
    /// (Microsoft, "BCDEdit /set", `disabledynamictick`). Before, every CPU has
    /// ticks, idle or not.
    pub(super) has_dynamic_tick: bool,
    /// How it keeps the tolerance of a timer.
    pub(super) tolerance: Encoding,
}

impl Generation {
    /// The one of a model, if it is a Windows.
    pub fn named(model: &str) -> Option<&'static Self> {
        Some(match model {
            "windows-xp" => &WINDOWS_XP,
            "windows-7" => &WINDOWS_7,
            "windows-8" => &WINDOWS_8,
            "windows-10-1909" => &WINDOWS_10_1909,
            "windows-10-2004" => &WINDOWS_10_2004,
            "windows-11" => &WINDOWS_11,
            "windows-server-2022" => &SERVER_2022,
            _ => return None,
        })
    }

    /// Whether it has a parameter of the last one.
    pub fn has(&self, parameter: &str) -> bool {
        match parameter {
            "cycles" | "cap" | "slip" | "class" | "global" => self.has_classes,
            "hires_late" => self.has_high_resolution_timers,
            _ => true,
        }
    }
}

const METHODS: &[Method] = &[
    Method::WindowsSleep,
    Method::WindowsSleepEx,
    Method::WaitForSingleObject,
    Method::WaitForMultipleObjects,
    Method::ConditionVariable,
    Method::WindowsMessageTimer,
    Method::WaitableTimer,
    Method::HighResolutionTimer,
];

/// All but the last.
pub(crate) const BEFORE_HIGH_RESOLUTION: &[Method] = METHODS.split_at(METHODS.len() - 1).0;

/// No coalescing yet. The ticks of old machines come from the real-time clock,
/// in 1024ths of a second (golang/go issue 17696: 976.5 us).
const WINDOWS_XP: Generation = Generation {
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
const WINDOWS_7: Generation = Generation {
    methods: BEFORE_HIGH_RESOLUTION,
    tolerance: Encoding::PowersOfTwo,
    ..WINDOWS_XP
};

/// As Windows 7, except for the dynamic tick and the precision of a tolerance.
const WINDOWS_8: Generation = Generation {
    has_dynamic_tick: true,
    tolerance: Encoding::Steps,
    ..WINDOWS_7
};

/// The last on which a request counts for everybody. High-resolution timers
/// have been there since 1803 (Microsoft, "High-Resolution Timers").
const WINDOWS_10_1909: Generation = Generation {
    methods: METHODS,
    has_high_resolution_timers: true,
    ..WINDOWS_8
};

/// Requests count for those who made them (Microsoft, `timeBeginPeriod`;
/// timer-rule article). It does not know the global key: set on 21H2 it changes
/// nothing (PC-Tuning, research.md).
const WINDOWS_10_2004: Generation = Generation {
    has_classes: true,
    ..WINDOWS_10_1909
};

/// `Sleep(1)` takes 1.495 ms at an interval of exactly 0.5 ms (PC-Tuning,
/// research.md), as it does if lengths count from the call.
const WINDOWS_11: Generation = Generation {
    throttles: true,
    honours_global_key: true,
    ..WINDOWS_10_2004
};

/// The kernel of Windows 11 with the global key on (PC-Tuning, research.md), and the quanta of
/// a server.
const SERVER_2022: Generation = Generation { ..WINDOWS_11 };
