//! Who gets the CPU, and how long, by the version of the kernel.

use punctual_core::Nanos;

use crate::model::{Confidence, Domain, Override, Parameter};

/// What can be said of the scheduler. The defaults are those of no version in particular: EEVDF at
/// its simplest, which is what `linux` always was; `linux-6.12` and the others are held to a version.
pub(super) const SCHEDULER: &[Parameter] = &[
    Parameter {
        key: "scheduler",
        what: "who is next: the earliest virtual deadline, or who has run least (CFS, before 6.6, whose least granularity `slice` is)",
        kind: Domain::Choice(&["eevdf", "cfs"]),
        default: "eevdf",
        confidence: Confidence::A,
        source: "kernel/sched/fair.c, since 6.6",
    },
    Parameter {
        key: "parity",
        what: "up to where who runs is safe from who wakes, while it has not had more than its share (RUN_TO_PARITY): nowhere, its slice, or the shortest slice of its queue",
        kind: Domain::Choice(&["off", "slice", "shortest"]),
        default: "off",
        confidence: Confidence::C,
        source: "a simplification: kernel/sched/features.h has it on since 6.6",
    },
    Parameter {
        key: "dequeue",
        what: "when a thread that sleeps leaves the competition: at once, or when it has made up for what it had too much (DELAY_DEQUEUE)",
        kind: Domain::Choice(&["at-once", "delayed"]),
        default: "at-once",
        confidence: Confidence::C,
        source: "a simplification: kernel/sched/features.h has it on since 6.12",
    },
    Parameter {
        key: "slices",
        what: "whether threads can have slices of their own (sched_setattr, sched_runtime); a shorter one comes first",
        kind: Domain::Choice(&["own", "common"]),
        default: "own",
        confidence: Confidence::A,
        source: "kernel/sched/syscalls.c, since 6.12",
    },
    Parameter {
        key: "preempt",
        what: "when a thread that wakes takes the CPU: `lazy` lets an ordinary one that another CPU wakes wait for a tick; the rest differ in the kernel only, where no simulated thread is",
        kind: Domain::Choice(&["none", "voluntary", "full", "lazy", "rt"]),
        default: "full",
        confidence: Confidence::C,
        source: "Debian's and Ubuntu's kernels; kernel/Kconfig.preempt, whose default is none",
    },
    Parameter {
        key: "hrtick",
        what: "slices end by a timer of their own, not at ticks (HRTICK)",
        kind: Domain::Choice(&["off", "on"]),
        default: "off",
        confidence: Confidence::A,
        source: "kernel/sched/features.h, before 7.1",
    },
    Parameter {
        key: "rt_limit",
        what: "what keeps real-time threads from all of a CPU: nothing, 950 ms of each second, or 50 ms for others that waited for 950",
        kind: Domain::Choice(&["none", "throttled", "server"]),
        default: "none",
        confidence: Confidence::C,
        source: "a simplification: sched_rt_runtime_us is 950000 unless somebody writes -1",
    },
    Parameter {
        key: "quota",
        what: "CPU time of all processes together in each quota_period (cpu.max of a control group around them); 0ns for none",
        kind: Domain::Length(Nanos::ZERO, Nanos::from_secs(1_000)),
        default: "0ns",
        confidence: Confidence::A,
        source: "Documentation/admin-guide/cgroup-v2.rst, cpu.max",
    },
    Parameter {
        key: "quota_period",
        what: "see quota",
        kind: Domain::Length(Nanos::from_ms(1), Nanos::from_secs(1)),
        default: "100ms",
        confidence: Confidence::A,
        source: "Documentation/admin-guide/cgroup-v2.rst, cpu.max",
    },
    Parameter {
        key: "autogroup",
        what: "whether those who are in no control group are one competitor beside a group with a quota, as a session is (sched_autogroup_enabled)",
        kind: Domain::Choice(&["off", "on"]),
        default: "off",
        confidence: Confidence::C,
        source: "sched(7), autogroup: on where CONFIG_SCHED_AUTOGROUP is and nobody writes 0",
    },
    Parameter {
        key: "timer_migration",
        what: "timers of CPUs without ticks (nohz=full) expire on CPU 0, which keeps time",
        kind: Domain::Choice(&["off", "on"]),
        default: "off",
        confidence: Confidence::C,
        source: "kernel/sched/core.c, get_nohz_timer_target; kernel.timer_migration is 1 unless somebody writes 0",
    },
    Parameter {
        key: "steal",
        what: "how long a hypervisor takes the CPUs away at a time, all at once; 0ns for never",
        kind: Domain::Length(Nanos::ZERO, Nanos::from_secs(1)),
        default: "0ns",
        confidence: Confidence::D,
        source: "a computer of one's own; steal of /proc/stat tells what a guest loses",
    },
    Parameter {
        key: "steal_every",
        what: "the mean time between two of them; up to twice that, each length equally likely",
        kind: Domain::Length(Nanos::from_us(100), Nanos::from_secs(1_000)),
        default: "100ms",
        confidence: Confidence::D,
        source: "no source",
    },
];

const fn set(
    key: &'static str,
    value: &'static str,
    confidence: Confidence,
    source: &'static str,
) -> Override {
    Override {
        key,
        value,
        confidence,
        source,
    }
}

const SLICE: Override = set(
    "slice",
    "750us",
    Confidence::A,
    "kernel/sched/fair.c before 6.15: 0.75 ms",
);

const COMMON: Override = set(
    "slices",
    "common",
    Confidence::A,
    "sched_setattr(2): sched_runtime counted for SCHED_DEADLINE only before 6.12",
);

const PARITY: Override = set(
    "parity",
    "slice",
    Confidence::A,
    "kernel/sched/features.h, RUN_TO_PARITY, 6.6 to 6.16",
);

const SHORTEST: Override = set(
    "parity",
    "shortest",
    Confidence::B,
    "kernel/sched/fair.c, set_protect_slice, since 6.17",
);

const DELAYED: Override = set(
    "dequeue",
    "delayed",
    Confidence::A,
    "kernel/sched/features.h, DELAY_DEQUEUE, since 6.12",
);

const THROTTLED: Override = set(
    "rt_limit",
    "throttled",
    Confidence::A,
    "sched(7): sched_rt_runtime_us, 950000 by default",
);

const SERVER: Override = set(
    "rt_limit",
    "server",
    Confidence::A,
    "kernel/sched/deadline.c, fair_server_init, since 6.12",
);

const MIGRATION: Override = set(
    "timer_migration",
    "on",
    Confidence::A,
    "kernel/time/timer.c: timer_migration is on by default",
);

/// The last version with CFS.
pub(crate) const V6_1: &[Override] = &[
    SLICE,
    set(
        "scheduler",
        "cfs",
        Confidence::A,
        "kernel/sched/fair.c before 6.6",
    ),
    COMMON,
    THROTTLED,
    MIGRATION,
];

pub(crate) const V6_6: &[Override] = &[SLICE, PARITY, COMMON, THROTTLED, MIGRATION];

pub(crate) const V6_12: &[Override] = &[SLICE, PARITY, DELAYED, SERVER, MIGRATION];

pub(crate) const V6_18: &[Override] = &[SHORTEST, DELAYED, SERVER, MIGRATION];

pub(crate) const V7_1: &[Override] = &[
    SHORTEST,
    DELAYED,
    SERVER,
    MIGRATION,
    set(
        "preempt",
        "lazy",
        Confidence::B,
        "commits 7c70cb94d29c and 26baa1f1c4bd; the default since 7.0 where an architecture has it",
    ),
    set(
        "hrtick",
        "on",
        Confidence::B,
        "the series that ends with HRTICK by default (lore, 20260224163429.273068659@kernel.org), in 7.1",
    ),
];
