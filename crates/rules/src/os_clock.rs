//! The clocks of OSes.

use std::str::FromStr;

macro_rules! clocks {
    ($($(#[$doc:meta])* $clock:ident = $name:literal,)*) => {
        /// A clock of an OS.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum OsClock {
            $($(#[$doc])* #[cfg_attr(feature = "serde", serde(rename = $name))] $clock,)*
        }

        impl OsClock {
            /// All of them, in the order in which they are listed to the user.
            pub const ALL: &[Self] = &[$(Self::$clock),*];

            /// The name the user types and reads: that of the OS call, or of the
            /// clock that is passed to it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$clock => $name,)*
                }
            }
        }

        impl FromStr for OsClock {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$clock),)*
                    _ => Err(format!("there is no clock `{text}`")),
                }
            }
        }
    };
}

clocks! {
    /// Unix: what deadlines are measured by.
    Monotonic = "CLOCK_MONOTONIC",
    /// Linux: the same without the adjustments of NTP.
    MonotonicRaw = "CLOCK_MONOTONIC_RAW",
    /// Linux: shows the time of the last tick.
    MonotonicCoarse = "CLOCK_MONOTONIC_COARSE",
    /// Linux: goes on while the computer is suspended.
    Boottime = "CLOCK_BOOTTIME",
    /// Unix: the time of day.
    Realtime = "CLOCK_REALTIME",
    /// Linux: the time of day at the last tick.
    RealtimeCoarse = "CLOCK_REALTIME_COARSE",
    /// Unix: the CPU time of the thread.
    ThreadCpuTime = "CLOCK_THREAD_CPUTIME_ID",
    /// Unix: the CPU time of the process.
    ProcessCpuTime = "CLOCK_PROCESS_CPUTIME_ID",
    /// Windows: `QueryPerformanceCounter`, what deadlines are measured by.
    PerformanceCounter = "QueryPerformanceCounter",
    /// Windows: `timeGetTime`, in whole milliseconds, written at each tick.
    TimeGetTime = "timeGetTime",
    /// Windows: `GetTickCount64`, in whole milliseconds, written at ticks.
    GetTickCount = "GetTickCount",
    /// Windows: `GetSystemTimeAsFileTime`, the time of day at the last tick.
    SystemTime = "GetSystemTimeAsFileTime",
    /// Windows 8 and later: `GetSystemTimePreciseAsFileTime`.
    SystemTimePrecise = "GetSystemTimePreciseAsFileTime",
    /// Windows: `QueryUnbiasedInterruptTime`, the time since the start at the
    /// last tick.
    InterruptTime = "QueryUnbiasedInterruptTime",
    /// macOS: `mach_absolute_time`, what deadlines are measured by.
    MachAbsoluteTime = "mach_absolute_time",
    /// macOS: `mach_approximate_time`, written now and then.
    MachApproximateTime = "mach_approximate_time",
    /// macOS: `mach_continuous_time`, which goes on while the computer sleeps.
    MachContinuousTime = "mach_continuous_time",
    /// The counter of an x86 CPU, without any OS.
    TimeStampCounter = "rdtsc",
}
