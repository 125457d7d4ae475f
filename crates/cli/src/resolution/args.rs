//! What `punctual resolution` takes.

use clap::{Args, Subcommand};
use punctual_core::Nanos;

use crate::values::length;

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Show and ask for the timer interval: the time between two clock interrupts, on which waits end. Windows only.

The shortest interval that any process asks for is in force, and since Windows 10 2004 only processes that ask themselves \
get it. So what `hold` and `cycle` ask for changes the waits of older Windows, what timeGetTime shows, and the power that \
the computer takes; not the waits of other programs on newer Windows.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
A request ends with its process, however that ends.

Exit codes: 0 done, 2 could not run, 3 ended by the user before its end, or some rows of `cycle` could not be seen.

Examples:
  punctual resolution show
  punctual resolution hold 1ms
  punctual resolution hold 0.5ms --for 10s
  punctual resolution cycle --from 1ms --to 4ms --each 10s";

#[derive(Debug, Args)]
pub(crate) struct ResolutionArgs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the coarsest, the finest and the current interval, and what is done with the requests of this process (at once)
    Show,
    /// Ask for an interval, until Ctrl-C or for so long
    Hold {
        /// The interval: 1ms, 0.5ms
        #[arg(value_name = "LENGTH", allow_hyphen_values = true)]
        interval: Nanos,

        /// End by itself after so long: 500ms, 10s
        #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
        length: Option<Nanos>,
    },
    /// Ask for 1, 2, 3, ... 15 ms in turn (15 times --each: 60 s)
    ///
    /// Whoever measures meanwhile sees each step. A row cannot be seen while somebody else asks for a shorter interval: those
    /// rows are named before it begins.
    Cycle {
        /// The first interval; each row asks for a millisecond more
        #[arg(
            long,
            value_name = "LENGTH",
            default_value = "1ms",
            allow_hyphen_values = true
        )]
        from: Nanos,

        /// The last interval
        #[arg(
            long,
            value_name = "LENGTH",
            default_value = "15ms",
            allow_hyphen_values = true
        )]
        to: Nanos,

        /// How long each is held
        #[arg(
            long,
            value_name = "LENGTH",
            default_value = "4s",
            allow_hyphen_values = true,
            value_parser = length
        )]
        each: Nanos,
    },
}
