//! Advice for another computer, of which only a model is here.

use anyhow::{Result, anyhow};
use punctual_record::Run;
use punctual_zero::advice::Advised;
use punctual_zero::rows::{PAGE_BYTES, ZeroFindings, ZeroRow};
use punctual_zero::simulation;
use punctual_zero_sim::Machine;

use super::advise;
use super::args::AdviseArgs;
use crate::Done;
use crate::session::{self, Outputs};

/// As much as `punctual zero simulate` zeroes.
const USUALLY: u64 = 1 << 30;

/// Asks its model.
pub(super) fn run(args: &AdviseArgs, on: &str) -> Result<Done> {
    let machine = Machine::parse(on).map_err(|why| anyhow!(why))?;
    let outputs = Outputs::new(&args.output)?;
    let pages = args.size.unwrap_or(USUALLY).div_ceil(PAGE_BYTES);
    // Ctrl-C ends the process: there is nothing yet to be kept.
    let advised = advise(&machine, args, pages, None)?;
    let record = |(advised, _): (Advised, _)| advised.record(&machine, true);
    let advice = advised
        .map(record)
        .transpose()
        .map_err(|why| anyhow!(why))?;
    let run: Run<ZeroRow> = Run {
        machine: simulation::machine_facts(&machine),
        beside: ZeroFindings {
            zero_advice: advice,
            ..ZeroFindings::default()
        },
        ..session::run()
    };
    outputs.deliver(&run, &punctual_report::text(&run))
}
