//! What `punctual doctor` takes.

use std::path::PathBuf;

use clap::Args;
use punctual_core::Nanos;

use crate::options::{Effort, Output, Place, Shown};

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Says why waits are late here: which timer rule is in force for this process and which facts decide that, what the rule \
predicts for waits of 1 ms and 16.67 ms, what was measured, whether the two agree, and what can be done.

Takes about 10 s; --quick under 4 s. Needs no privileges; what it is not allowed to read it names.";

/// How the verdicts come about.
pub(crate) const AFTER: &str = "\
The prediction is the simulator's rule, fed with the facts of this host, for a wake-up that costs nothing. On Linux it \
agrees with the measurement if the medians are no further apart than the p90 of the measured wake cost: the lateness, with \
a slack of 1 ns, of a wait that takes as long, slack included, in the same rounds. On Windows, where waits end on ticks, half a timer interval is \
allowed. The verdict is `sooner` if waits ended inside their slack, because other interrupts of the CPU ended them, as \
the rule allows; `inconclusive` if the median of too many rounds lies elsewhere, the wake cost is all over the place, \
or there are too few waits for a median; and `no prediction` where no rule is known, as under Wine.

Exit codes: 0 done, whatever the verdicts are, as this is a diagnosis and not a check; 2 could not run; 3 ended by \
Ctrl-C (what was measured is kept).

Examples:
  punctual doctor
  punctual doctor --quick --share doctor.json
  punctual doctor --hold 1ms
  punctual doctor --on windows-10-2004";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Ask for this timer interval meanwhile, as a program could: 1ms, 0.5ms (Windows)
    #[arg(long, value_name = "INTERVAL", allow_hyphen_values = true, value_parser = interval)]
    pub(crate) hold: Option<Nanos>,

    /// Write the Run without names of hosts and users, and without paths, to a file, to paste into a bug report (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) share: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) shown: Shown,

    #[command(flatten)]
    pub(crate) output: Output,
}

fn interval(text: &str) -> Result<Nanos, String> {
    let interval: Nanos = text.parse()?;
    if interval.is_zero() {
        return Err("give an interval longer than nothing, such as 1ms".to_owned());
    }
    Ok(interval)
}
