//! This computer as a machine, with everything that programs can use on it.

use std::io::{BufReader, ErrorKind};

use anyhow::{Context, Result};
use punctual_lab::host::{HostMachine, ProcessCommand, Stop};

use crate::{Done, peers, stop};

/// The hidden command that is one process of an experiment.
const RUN_PROGRAM: &str = "run-program";

/// This computer, to be stopped by `stop`: with the peers, and with processes,
/// each of which is this command again.
pub(crate) fn host_machine(stop: Stop) -> Result<HostMachine> {
    let this = std::env::current_exe().context("cannot find the file of this command")?;
    let again = ProcessCommand::new(this, [RUN_PROGRAM.into()]);
    Ok(peers::register(HostMachine::new(stop)).with_processes(again))
}

/// Is one process of an experiment, for whoever started it with
/// [`host_machine`].
pub(crate) fn run_program() -> Result<Done> {
    let machine = host_machine(stop::on_ctrl_c()?)?;
    let input = BufReader::new(std::io::stdin());
    match machine.serve(input, &mut std::io::stdout().lock()) {
        // Whoever started it is gone, before it had said all, or since.
        Err(why) if matches!(why.kind(), ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => {
            Ok(Done::Interrupted)
        }
        served => served
            .map(|()| Done::Whole)
            .context("cannot be a process of an experiment"),
    }
}
