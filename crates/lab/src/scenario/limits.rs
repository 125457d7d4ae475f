//! How large a scenario can be.
//!
//! A scenario can come from anybody, so reading one takes little memory and
//! ends soon, whatever is in it. Real ones are far below these limits.

use punctual_core::Nanos;

/// The longest file, in bytes.
pub(super) const FILE_BYTES: usize = 256 * 1024;

/// The longest name, method, event or length, in characters; an error message
/// quotes them.
pub(super) const WORD_CHARS: usize = 200;

/// The longest source, in characters; each expectation has a copy of its own.
pub(super) const SOURCE_CHARS: usize = 1_000;

/// How many steps there are in a file.
pub(super) const STEPS: usize = 10_000;

/// How deep lists of steps are nested, a process's own being the first. The
/// compiler and the machines walk through them by recursion.
pub(super) const DEPTH: usize = 16;

/// How many threads an experiment starts in all, on any machine.
pub const THREADS: u64 = 100_000;

/// How many alike processes one table stands for.
pub(super) const COUNT: u64 = THREADS;

/// How often a loop with an end is repeated.
pub(super) const TIMES: u64 = 1_000_000_000_000;

/// The shortest mean of the gaps between cycles.
pub(super) const GAP: Nanos = Nanos::from_us(1);

/// How many lengths a recorded list has.
pub(super) const RECORDED: usize = 10_000;

/// How many OS calls a step names.
pub(super) const METHODS: usize = 16;

/// The highest number of a CPU.
pub(super) const CPU: u64 = 1_023;

/// How many times a process or an expectation is read with other parameters.
pub(super) const PARAMETER_LISTS: usize = 100;

/// How many parameters it has, of one digit each.
pub(super) const PARAMETERS: usize = 9;

/// How many phases an experiment has.
pub(super) const PHASES: usize = 1_000;

/// How many expectations a file has, lists of phases and models taken apart.
pub(super) const EXPECTS: usize = 10_000;

/// How many models it is meant for.
pub(super) const MODELS: usize = 100;

/// The longest experiment, and so the longest length in one: a week.
pub(super) const LENGTH: Nanos = Nanos::from_secs(7 * 24 * 3_600);
