//! This computer as a machine, with everything that programs can use on it.

use std::io::{BufReader, ErrorKind};

use anyhow::{Context, Result};
use punctual_lab::host::{HostMachine, ProcessCommand, Stop};
use punctual_zero::probe;

use crate::{Done, peers, stop};

/// What makes this command one process of an experiment, and no user types.
const RUN_PROGRAM: &str = "run-program";

/// What makes it one process of those that allocate pages.
const RUN_PAGES: &str = "run-pages";

/// This computer, to be stopped by `stop`: with the peers, and with processes,
/// each of which is this command again.
pub(crate) fn host_machine(stop: Stop) -> Result<HostMachine> {
    Ok(peers::register(HostMachine::new(stop)).with_processes(again(RUN_PROGRAM)?))
}

/// One process of those that allocate pages, which is this command again.
pub(crate) fn page_process() -> Result<ProcessCommand> {
    again(RUN_PAGES)
}

fn again(command: &str) -> Result<ProcessCommand> {
    let this = std::env::current_exe().context("cannot find the file of this command")?;
    Ok(ProcessCommand::new(this, [command.into()]))
}

/// Is a process of an experiment, if it was started as one.
pub(crate) fn process() -> Option<Result<Done>> {
    match std::env::args_os().nth(1)?.to_str()? {
        RUN_PROGRAM => Some(run_program()),
        RUN_PAGES => Some(run_pages()),
        _ => None,
    }
}

/// Is one process of an experiment, for whoever started it with
/// [`host_machine`].
fn run_program() -> Result<Done> {
    let machine = host_machine(stop::on_ctrl_c()?)?;
    let input = BufReader::new(std::io::stdin());
    served(machine.serve(input, &mut std::io::stdout().lock()))
}

/// Is one process of those that allocate pages, for whoever started it with
/// [`page_process`].
fn run_pages() -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    let input = BufReader::new(std::io::stdin());
    served(probe::serve(input, &mut std::io::stdout().lock(), &stop))
}

fn served(served: std::io::Result<()>) -> Result<Done> {
    match served {
        // Whoever started it is gone, before it had said all, or since.
        Err(why) if matches!(why.kind(), ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => {
            Ok(Done::Interrupted)
        }
        served => served
            .map(|()| Done::Whole)
            .context("cannot be a process of an experiment"),
    }
}
