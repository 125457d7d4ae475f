//! What can be set about the timers of Windows.

use punctual_core::Nanos;

use super::interval::Hardware;
use crate::model::{Confidence, Domain, Parameter};

/// Of generations that look at every timer in every tick.
pub(super) const PLAIN: &[Parameter] = &[
    INTERVAL, BASE, HARDWARE, EXPIRY, QUANTUM, QUANTA, FOREGROUND, BOOST,
];

/// Of those that have high-resolution timers besides.
pub(super) const WITH_HIGH_RESOLUTION: &[Parameter] = &[
    INTERVAL, BASE, HARDWARE, EXPIRY, HIRES_LATE, QUANTUM, QUANTA, FOREGROUND, BOOST,
];

/// Of those that tell apart who has asked and who has not.
pub(super) const WITH_CLASSES: &[Parameter] = &[
    INTERVAL, BASE, HARDWARE, CYCLES, CAP, SLIP, CLASS, GLOBAL, EXPIRY, HIRES_LATE, QUANTUM,
    QUANTA, FOREGROUND, BOOST,
];

const INTERVAL: Parameter = Parameter {
    key: "interval",
    what: "the timer interval while nobody asks for less",
    kind: Domain::Length(Nanos::from_ms(1), Nanos::from_ms(100)),
    default: "15.625ms",
    confidence: Confidence::A,
    source: "64 Hz (timer-rule article); some old machines have 10 ms",
};

const BASE: Parameter = Parameter {
    key: "base",
    what: "from where a length counts: the last tick, or the call",
    kind: Domain::Choice(&["tick", "now"]),
    default: "tick",
    confidence: Confidence::C,
    source: "tick: Microsoft, \"Timer Accuracy\" and `Sleep`, and 1.0 ms at intervals of exactly 1 and 0.5 ms; now: the text of the timer-rule article (1.0 to 16.6 ms), and Windows 11 at an interval of exactly 0.5 ms",
};

const HARDWARE: Parameter = Parameter {
    key: "hardware",
    what: "how the clock rounds a requested interval down: not at all, to 16/3 us, to 1.28 us, to 1/1024 s",
    kind: Domain::Choice(Hardware::NAMES),
    default: "exact",
    confidence: Confidence::B,
    source: "sweeps of requests on Intel and AMD machines (GamingPCSetup, PC-Tuning); golang/go issue 17696 for the last",
};

const EXPIRY: Parameter = Parameter {
    key: "expiry",
    what: "which CPU has the interrupt of a timer: the owner of the clock, CPU 0, or the one that armed it",
    kind: Domain::Choice(&["owner", "arming"]),
    default: "owner",
    confidence: Confidence::D,
    source: "registry value SerializeTimerExpiration, whose default depends on the platform",
};

const HIRES_LATE: Parameter = Parameter {
    key: "hires_late",
    what: "what the system adds to the length of a high-resolution timer of more than 0.5 ms before it looks for a tick",
    kind: Domain::Length(Nanos::ZERO, Nanos::from_ms(1)),
    default: "5us",
    confidence: Confidence::C,
    source: "calibrated, with hardware=amd and wake=30us: 1, 10 and 100 ms took 1.551, 10.334 and 100.099 ms (Haukcode.HighResolutionTimer issue 17)",
};

const QUANTUM: Parameter = Parameter {
    key: "quantum",
    what: "default intervals in the turn of a thread: 2 (short), 4 (long); with quanta=fixed 6 (short), 12 (long)",
    kind: Domain::Count(1, 12),
    default: "2",
    confidence: Confidence::A,
    source: "short on clients, long on servers, in thirds of an interval (Microsoft, \"Master Your Quantum\" and Win32_OperatingSystem; PC-Tuning, research.md)",
};

const QUANTA: Parameter = Parameter {
    key: "quanta",
    what: "whether turns are longer in the foreground: variable (1 + foreground times as long), or fixed",
    kind: Domain::Choice(&["variable", "fixed"]),
    default: "variable",
    confidence: Confidence::A,
    source: "variable on clients, fixed on servers (Microsoft, \"Master Your Quantum\" and Win32_OperatingSystem)",
};

const FOREGROUND: Parameter = Parameter {
    key: "foreground",
    what: "levels of priority that any wait gives to a thread of the process in the foreground, and how much longer its turns are",
    kind: Domain::Count(0, 2),
    default: "2",
    confidence: Confidence::B,
    source: "Microsoft, Win32_OperatingSystem, ForegroundApplicationBoost; PsPrioritySeparation (Windows Internals, 7th edition, part 1); that the end of a Sleep counts as a wait is confidence C",
};

const BOOST: Parameter = Parameter {
    key: "boost",
    what: "levels of priority that a wait gives which an event ended; each turn takes one away",
    kind: Domain::Count(0, 15),
    default: "1",
    confidence: Confidence::B,
    source: "EVENT_INCREMENT, wdm.h (Windows Internals); Microsoft, \"Priority Boosts\"; none for timers, as sleeps under load last a default interval (spin_sleep issue 22)",
};

const CYCLES: Parameter = Parameter {
    key: "cycles",
    what: "how many ticks make a default scan, in which processes without a request are looked at: the default interval, to the nearest, less one if that is more than `cap` too long; or rounded down",
    kind: Domain::Choice(&["nearest", "floor"]),
    default: "nearest",
    confidence: Confidence::C,
    source: "calibrated on seven measured intervals, 0.499 to 15.625 ms; rounding down misses one of them",
};

const CAP: Parameter = Parameter {
    key: "cap",
    what: "how much longer than the default interval a default scan can be, with cycles=nearest",
    kind: Domain::Length(Nanos::ZERO, Nanos::from_ms(100)),
    default: "500us",
    confidence: Confidence::C,
    source: "calibrated; the measurements allow 375us to 2374us",
};

const SLIP: Parameter = Parameter {
    key: "slip",
    what: "in a hundred, how many default scans that would expire a timer come one tick late",
    kind: Domain::Count(0, 100),
    default: "0",
    confidence: Confidence::D,
    source: "there is disorder at 4 to 8 ms (timer-rule article) that nobody has explained",
};

const CLASS: Parameter = Parameter {
    key: "class",
    what: "when it is settled whether a timer gets default scans only: as it expires, or as it is armed",
    kind: Domain::Choice(&["expiry", "arming"]),
    default: "expiry",
    confidence: Confidence::D,
    source: "unknown",
};

const GLOBAL: Parameter = Parameter {
    key: "global",
    what: "registry value GlobalTimerResolutionRequests: 1 lets requests count for everybody again; Windows 10 does not know it",
    kind: Domain::Count(0, 1),
    default: "0",
    confidence: Confidence::B,
    source: "PC-Tuning, research.md",
};
