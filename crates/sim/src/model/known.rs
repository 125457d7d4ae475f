//! The models there are, and the idle states that CPUs can have.

use punctual_core::Nanos;

use super::parameters::{Confidence, Domain, Override, Parameter, Parameters};
use super::{AnyRule, Scheduling, Steal};
use crate::clock::Time;
use crate::rules::windows::Generation;
use crate::rules::{Linux, MacOs, Windows, Wine, linux, windows};

/// A model by name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What the user types.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// The parameters of its rule.
    pub(super) own: &'static [Parameter],
    /// Those of its scheduler.
    pub(super) scheduler: &'static [Parameter],
    /// Where its parameters differ from the usual.
    pub(super) overrides: &'static [Override],
    pub(super) build: fn(&Parameters) -> AnyRule,
    pub(super) scheduling: fn(&Parameters) -> Scheduling,
}

impl Known {
    /// Its parameters at their defaults: the rule's own, its scheduler's, then the computer's.
    pub fn parameters(&self) -> Parameters {
        let of_os = self.own.iter().chain(self.scheduler);
        Parameters::new(of_os.chain(COMPUTER), self.overrides)
    }

    /// How a hypervisor takes the CPUs away, if one does.
    pub(super) fn steal(&self, parameters: &Parameters) -> Option<Steal> {
        let is_known = self.scheduler.iter().any(|known| known.key == "steal");
        let steal = || Steal {
            length: parameters.length("steal").into(),
            every: parameters.length("steal_every").into(),
        };
        is_known
            .then(steal)
            .filter(|steal| steal.length > Time::ZERO)
    }
}

/// All models with a name of their own; `fake-Nms` is one for each N.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        name: "linux",
        what: "Linux: high-resolution timers with slack",
        own: Linux::PARAMETERS,
        scheduler: Linux::SCHEDULER,
        overrides: &[],
        build: |parameters| AnyRule::Linux(Linux::new(parameters)),
        scheduling: Linux::scheduling,
    },
    Known {
        name: "linux-6.1",
        what: "Linux before 6.6: as linux, with CFS",
        own: Linux::PARAMETERS,
        scheduler: Linux::SCHEDULER,
        overrides: linux::V6_1,
        build: |parameters| AnyRule::Linux(Linux::new(parameters)),
        scheduling: Linux::scheduling,
    },
    Known {
        name: "linux-6.6",
        what: "Linux 6.6: as linux, EEVDF without slices of threads",
        own: Linux::PARAMETERS,
        scheduler: Linux::SCHEDULER,
        overrides: linux::V6_6,
        build: |parameters| AnyRule::Linux(Linux::new(parameters)),
        scheduling: Linux::scheduling,
    },
    Known {
        name: "linux-6.12",
        what: "Linux 6.12: as 6.6, with slices of threads, delayed dequeueing and the fair server",
        own: Linux::PARAMETERS,
        scheduler: Linux::SCHEDULER,
        overrides: linux::V6_12,
        build: |parameters| AnyRule::Linux(Linux::new(parameters)),
        scheduling: Linux::scheduling,
    },
    Known {
        name: "linux-6.18",
        what: "Linux 6.18: as 6.12, protected for the shortest slice only",
        own: Linux::PARAMETERS,
        scheduler: Linux::SCHEDULER,
        overrides: linux::V6_18,
        build: |parameters| AnyRule::Linux(Linux::new(parameters)),
        scheduling: Linux::scheduling,
    },
    Known {
        name: "linux-7.1",
        what: "Linux 7.1: as 6.18, with lazy preemption and HRTICK",
        own: Linux::PARAMETERS,
        scheduler: Linux::SCHEDULER,
        overrides: linux::V7_1,
        build: |parameters| AnyRule::Linux(Linux::new(parameters)),
        scheduling: Linux::scheduling,
    },
    Known {
        name: "macos",
        what: "macOS: timers coalesced by the class of the thread",
        own: MacOs::PARAMETERS,
        scheduler: &[],
        overrides: MACOS,
        build: |parameters| AnyRule::MacOs(MacOs::new(parameters)),
        scheduling: MacOs::scheduling,
    },
    Known {
        name: "wine",
        what: "Wine on Linux: Windows calls, the waits of the host",
        own: Wine::PARAMETERS,
        scheduler: Linux::SCHEDULER,
        overrides: &[],
        build: |parameters| AnyRule::Wine(Wine::new(parameters)),
        scheduling: Wine::scheduling,
    },
    Known {
        name: "windows-xp",
        what: "Windows XP: every tick looks at every timer, and one request counts for all",
        own: windows::WINDOWS_XP.parameters,
        scheduler: &[],
        overrides: windows::WINDOWS_XP.overrides,
        build: |parameters| windows(&windows::WINDOWS_XP, parameters),
        scheduling: Windows::scheduling,
    },
    Known {
        name: "windows-7",
        what: "Windows 7: as XP, with tolerances",
        own: windows::WINDOWS_7.parameters,
        scheduler: &[],
        overrides: windows::WINDOWS_7.overrides,
        build: |parameters| windows(&windows::WINDOWS_7, parameters),
        scheduling: Windows::scheduling,
    },
    Known {
        name: "windows-8",
        what: "Windows 8: as 7, with tolerances in steps of 26 ms",
        own: windows::WINDOWS_8.parameters,
        scheduler: &[],
        overrides: windows::WINDOWS_8.overrides,
        build: |parameters| windows(&windows::WINDOWS_8, parameters),
        scheduling: Windows::scheduling,
    },
    Known {
        name: "windows-10-1909",
        what: "Windows 10 1803 to 1909: as 8, with high-resolution timers",
        own: windows::WINDOWS_10_1909.parameters,
        scheduler: &[],
        overrides: windows::WINDOWS_10_1909.overrides,
        build: |parameters| windows(&windows::WINDOWS_10_1909, parameters),
        scheduling: Windows::scheduling,
    },
    Known {
        name: "windows-10-2004",
        what: "Windows 10 2004 to 22H2: default scans for processes without a request",
        own: windows::WINDOWS_10_2004.parameters,
        scheduler: &[],
        overrides: windows::WINDOWS_10_2004.overrides,
        build: |parameters| windows(&windows::WINDOWS_10_2004, parameters),
        scheduling: Windows::scheduling,
    },
    Known {
        name: "windows-11",
        what: "Windows 11: as 10 2004, and requests of unnoticed processes do not count",
        own: windows::WINDOWS_11.parameters,
        scheduler: &[],
        overrides: windows::WINDOWS_11.overrides,
        build: |parameters| windows(&windows::WINDOWS_11, parameters),
        scheduling: Windows::scheduling,
    },
    Known {
        name: "windows-server-2022",
        what: "Windows Server 2022: as 11, with requests that count for all",
        own: windows::SERVER_2022.parameters,
        scheduler: &[],
        overrides: windows::SERVER_2022.overrides,
        build: |parameters| windows(&windows::SERVER_2022, parameters),
        scheduling: Windows::scheduling,
    },
];

fn windows(generation: &'static Generation, parameters: &Parameters) -> AnyRule {
    AnyRule::Windows(Box::new(Windows::new(generation, parameters)))
}

const MACOS: &[Override] = &[Override {
    key: "wake",
    value: "8us",
    confidence: Confidence::C,
    source: "sleeps of 0.3 and 1 ms ended 4 to 20 us after the late edge (thread-scheduling article)",
}];

const MS: Nanos = Nanos::from_ms(1);

/// The computer under the OS.
pub(super) const COMPUTER: &[Parameter] = &[
    Parameter {
        key: "cpus",
        what: "CPUs",
        kind: Domain::Count(1, 1_024),
        default: "4",
        confidence: Confidence::D,
        source: "a small machine",
    },
    Parameter {
        key: "efficient",
        what: "how many of the CPUs, the last ones, are efficiency cores: for threads that save energy and no others if a faster one is free",
        kind: Domain::Count(0, 1_023),
        default: "0",
        confidence: Confidence::D,
        source: "a small machine; who saves energy: Microsoft, \"Quality of Service\" (EcoQoS, Windows 11); XNU, osfmk/kern/sched_amp_common.c; nobody on Linux",
    },
    Parameter {
        key: "efficient_speed",
        what: "what an efficiency core gets done, in per cent of the others",
        kind: Domain::Count(1, 100),
        default: "79",
        confidence: Confidence::C,
        source: "at the same clock, on Intel's Alder Lake: 78.741 MHz to 100 (Linux, drivers/cpufreq/intel_pstate.c, HYBRID_SCALING_FACTOR_ADL); less where they are clocked lower",
    },
    Parameter {
        key: "wake",
        what: "from the interrupt to running, on a CPU that is free and not in a deep idle state",
        kind: Domain::Length(Nanos::ZERO, Nanos::from_secs(1)),
        default: "8us",
        confidence: Confidence::C,
        source: "57.8 us for a sleep of 0.1 us with 50 us of slack (OpenJDK pull request 13889); 3 to 30 us elsewhere",
    },
    Parameter {
        key: "jitter",
        what: "of `wake`, either way, each length equally likely; at most `wake`",
        kind: Domain::Length(Nanos::ZERO, Nanos::from_secs(1)),
        default: "500ns",
        confidence: Confidence::C,
        source: "of the order of the +-0.15 to 0.62 us measured on Linux (OpenJDK pull request 13889)",
    },
    Parameter {
        key: "nap",
        what: "CPU time of a blocking call, the end of `wake` and at most that",
        kind: Domain::Length(Nanos::ZERO, Nanos::from_secs(1)),
        default: "3us",
        confidence: Confidence::C,
        source: "2 to 5 us on bare metal; more in a virtual machine",
    },
    Parameter {
        key: "read",
        what: "one reading of the clock",
        kind: Domain::Length(Nanos::new(1), MS),
        default: "31ns",
        confidence: Confidence::B,
        source: "a clock loop on a Ryzen 5800X (spin_sleep issue 12)",
    },
    Parameter {
        key: "yield",
        what: "offering the CPU when nobody wants it",
        kind: Domain::Length(Nanos::new(1), MS),
        default: "184ns",
        confidence: Confidence::B,
        source: "the same loop with sched_yield: 215 ns",
    },
    Parameter {
        key: "idle",
        what: "idle states: a CPU enters the deepest whose target residency fits before its next interrupt; leaving it adds to `wake`",
        kind: Domain::Choice(TABLES),
        default: "none",
        confidence: Confidence::A,
        source: "Linux, drivers/idle/intel_idle.c; of skylake-server also what they take, confidence C: 4 W busy, 1.44, 0.88 and 0.1 W (Haj-Yahya et al., \"AgileWatts\", MICRO 2022)",
    },
];

/// An idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Its name.
    pub name: &'static str,
    /// From an interrupt to running.
    pub exit_latency: Time,
    /// It is entered for what is expected to last at least this long.
    pub target_residency: Time,
}

/// The idle states of a computer, the shallowest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleTable {
    pub(crate) states: &'static [IdleState],
    pub(crate) power: Option<Power>,
}

/// What a core takes, in milliwatts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Power {
    /// While it runs, or is on its way out of an idle state.
    pub(crate) awake: u64,
    /// In each idle state.
    pub(crate) idle: [u64; SKYLAKE_SERVER.len()],
}

impl IdleTable {
    /// No idle states.
    pub(crate) const NONE: Self = Self::of(&[]);

    const fn of(states: &'static [IdleState]) -> Self {
        Self {
            states,
            power: None,
        }
    }
}

/// The names of the tables.
pub(crate) const TABLES: &[&str] = &["none", "skylake", "skylake-server", "broadwell"];

const fn state(name: &'static str, exit_us: u64, residency_us: u64) -> IdleState {
    IdleState {
        name,
        exit_latency: Time::from_ns(Nanos::from_us(exit_us).as_ns()),
        target_residency: Time::from_ns(Nanos::from_us(residency_us).as_ns()),
    }
}

/// `drivers/idle/intel_idle.c`, Skylake client; without C9 and C10, whose
/// figures are not at hand.
const SKYLAKE: &[IdleState] = &[
    state("C1", 2, 2),
    state("C1E", 10, 20),
    state("C3", 70, 100),
    state("C6", 85, 200),
    state("C7s", 124, 800),
    state("C8", 200, 800),
];

/// `drivers/idle/intel_idle.c`, Skylake server.
const SKYLAKE_SERVER: &[IdleState] = &[
    state("C1", 2, 2),
    state("C1E", 10, 20),
    state("C6", 133, 600),
];

/// Of one core of it at its base frequency (table 1 of "AgileWatts", MICRO 2022, where latencies and residencies are
/// those above).
const SKYLAKE_SERVER_POWER: Power = Power {
    awake: 4_000,
    idle: [1_440, 880, 100],
};

/// `drivers/idle/intel_idle.c`, Broadwell; only its deep states are at hand.
const BROADWELL: &[IdleState] = &[
    state("C7s", 166, 500),
    state("C8", 300, 900),
    state("C9", 600, 1_800),
    state("C10", 2_600, 7_700),
];

/// The table of a name.
pub(crate) fn table(name: &str) -> IdleTable {
    match name {
        "skylake" => IdleTable::of(SKYLAKE),
        "skylake-server" => IdleTable {
            states: SKYLAKE_SERVER,
            power: Some(SKYLAKE_SERVER_POWER),
        },
        "broadwell" => IdleTable::of(BROADWELL),
        _ => IdleTable::NONE,
    }
}
