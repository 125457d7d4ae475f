//! Options that several commands have, each with one meaning and one short form.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use punctual_sim::Model;

use crate::values;

/// How much is measured.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Effort {
    /// Measure less of everything, in a fraction of the time
    #[arg(short, long, global = true)]
    pub(crate) quick: bool,

    /// How often everything gets its turn; six are the fewest for 95 % intervals [default: as announced]
    #[arg(short, long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = values::rounds)]
    pub(crate) rounds: Option<u32>,
}

/// Where it is measured: on this computer, or on a simulated one.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Place {
    /// The CPU to measure on [default: the last one]
    #[arg(short, long, value_name = "K", global = true, allow_hyphen_values = true, value_parser = values::cpu)]
    pub(crate) cpu: Option<usize>,

    /// Run on a simulated OS in virtual time instead of on this machine
    #[arg(long, value_name = "MODEL", global = true, value_parser = values::model)]
    pub(crate) on: Option<Model>,

    /// The seed of a simulation's chances; the same seed gives the same output [default: 1]
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = values::seed)]
    pub(crate) seed: Option<u64>,
}

impl Place {
    /// Whether that is this computer.
    pub(crate) fn is_here(&self) -> bool {
        self.on.is_none()
    }

    /// The seed of what is simulated.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Refuses what means nothing there.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.on {
            None if self.seed.is_some() => {
                bail!("--seed is for simulations: add --on MODEL, or leave it out")
            }
            Some(model) if self.cpu.is_some() && model.cpus().is_none() => bail!(
                "--cpu has no meaning on {}: each thread has a CPU of its own; leave it out",
                model.name()
            ),
            _ => Ok(()),
        }
    }
}

/// Where the results go besides the terminal.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Output {
    /// Write the results to a file, as JSON (- is standard output)
    #[arg(short, long, value_name = "FILE", global = true)]
    pub(crate) json: Option<PathBuf>,

    /// Draw the figures into a directory, as SVG
    #[arg(short, long, value_name = "DIR", global = true)]
    pub(crate) plots: Option<PathBuf>,
}
