//! What `punctual measure` takes.

use clap::{Args, ValueEnum};

use crate::options::{Effort, Output, Place};

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Measure what the clocks, timers and scheduler of this OS really do.

Without a name: clocks, timers, sleep, yield, gap, wakeups and jobs, in about 50 s. With names: these, each as long as it \
says below. With --quick: less of each, the default set in under 10 s; percentiles that so few samples do not back stay \
blank. It says how long it takes before it begins. The same experiments run on a simulated OS, in virtual time, with --on MODEL.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
`measure timers` by itself says on standard error what each round was like when it is over, beside a `slack cycle` or \
`resolution cycle`; the report has it again.

What a system does not have is left out of a set, with one line that says so, and refused where it was asked for by name. \
A priority that this user may not raise is left out of load, with such a line.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual measure
  punctual measure --quick --json quick.json --plots figures
  punctual measure sleep gap --cpu 0
  punctual measure timers --rounds 20    (change the slack meanwhile)
  punctual measure all --json all.json
  punctual measure sleep --on windows-10-2004";

#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// What to measure, instead of the default set
    #[arg(value_name = "NAME", value_enum, hide_default_value = true)]
    pub(crate) names: Vec<Name>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Everything below (about 2.5 minutes)
    All,
    /// By how much each clock of the OS moves at once, what the OS says of that, what a reading takes, and which clocks the tick writes (about 2 s)
    Clocks,
    /// How long a sleep of 1 ms is and how many ticks that is, a line per second: the interval or slack in force, the step of the tick's clock, the lengths that are frequent (about 6 s)
    Timers,
    /// How late every wait call of the OS is for lengths from 0 to 100 ms, what CPU time it takes, and whether it returns early (about 60 s)
    Sleep,
    /// When a thread that yields is back on its CPU, alone and beside one that computes there (about 2 s)
    Yield,
    /// Waits of 1 ms beside 0, 0.5, 1 and 2 threads per CPU that compute, at normal and raised priority: how late, and for what reason as far as the OS counts it (about 30 s)
    Load,
    /// Waits of 1 ms on each CPU in turn, with the types of the cores where the OS tells them (2 to 20 s)
    Cores,
    /// Whether waking takes longer after a longer rest, 1 ms to 1 s, without timer slack (about 25 s)
    Gap,
    /// Whether a thread, a child process and another process get a thread's timer slack or resolution (about 4 s)
    Inherit,
    /// Interrupts, context switches and idle states of the computer, for each style of waiting (about 7 s)
    Wakeups,
    /// How soon a worker that spins, yields or blocks sees a job, and the CPU time it takes, idle and loaded (about 7 s)
    Jobs,
}

impl Name {
    /// What is measured if nothing is named.
    pub(super) const DEFAULT: [Self; 7] = [
        Self::Clocks,
        Self::Timers,
        Self::Sleep,
        Self::Yield,
        Self::Gap,
        Self::Wakeups,
        Self::Jobs,
    ];

    /// Everything, in the order of the help.
    pub(super) const EVERY: [Self; 10] = [
        Self::Clocks,
        Self::Timers,
        Self::Sleep,
        Self::Yield,
        Self::Load,
        Self::Cores,
        Self::Gap,
        Self::Inherit,
        Self::Wakeups,
        Self::Jobs,
    ];

    /// As the user types it.
    pub(super) fn typed(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
