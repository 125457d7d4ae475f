//! This computer as a machine, with everything that programs can use on it; and what else is compared
//! with the strategies: the library as its users call it, and what others wait with.

use std::io::{BufReader, ErrorKind};

use anyhow::{Context, Result, ensure};
use punctual_lab::host::{HostMachine, MakePeer, Peer, ProcessCommand, Stop};
use punctual_os::clock;
use punctual_record::LIBRARY;
use punctual_zero::probe;

use crate::{Done, stop};

/// The hidden argument that makes this command one process of an experiment.
const RUN_PROGRAM: &str = "run-program";

/// The hidden argument that makes it one of the processes that allocate pages.
const RUN_PAGES: &str = "run-pages";

/// This computer, to be stopped by `stop`: with the peers, and with processes,
/// each of which is this command again.
pub(crate) fn host_machine(stop: Stop) -> Result<HostMachine> {
    refuse_a_faked_clock()?;
    Ok(with_peers(HostMachine::new(stop)).with_processes(again(RUN_PROGRAM)?))
}

/// Refuses to measure where times say nothing of this computer, and calls that are measured may
/// never end.
pub(crate) fn refuse_a_faked_clock() -> Result<()> {
    ensure!(
        clock::is_the_kernels(),
        "the monotonic clock of this process is not the kernel's, as under faketime: what is measured by it says nothing of this \
         computer; run it without faketime, or with FAKETIME_DONT_FAKE_MONOTONIC=1"
    );
    Ok(())
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

/// Is one process of an experiment, for the parent that started it with [`host_machine`].
fn run_program() -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    stop::end_after(&stop);
    let machine = host_machine(stop)?;
    let input = BufReader::new(std::io::stdin());
    served(machine.serve(input, &mut std::io::stdout().lock()))
}

/// Is one process of those that allocate pages, for the parent that started it with
/// [`page_process`].
fn run_pages() -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    stop::end_after(&stop);
    let input = BufReader::new(std::io::stdin());
    served(probe::serve(input, &mut std::io::stdout().lock(), &stop))
}

fn served(served: std::io::Result<()>) -> Result<Done> {
    match served {
        // The parent process is gone: before it had sent everything, or since.
        Err(why) if matches!(why.kind(), ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => {
            Ok(Done::Interrupted)
        }
        served => served
            .map(|()| Done::Whole)
            .context("cannot be a process of an experiment"),
    }
}

const PEERS: &[(&str, MakePeer)] = &[
    (LIBRARY, library),
    #[cfg(feature = "peers")]
    ("std", others::std),
    #[cfg(feature = "peers")]
    ("spin_sleep", others::spin_sleep),
    #[cfg(feature = "peers")]
    ("tokio", others::tokio),
];

/// `punctual::sleep_until`, with the waiter of the thread.
fn library() -> Peer {
    Box::new(|deadline| {
        punctual::sleep_until(deadline);
    })
}

#[cfg(feature = "peers")]
mod others {
    use std::time::Instant;

    use punctual_lab::host::Peer;

    /// `std::thread::sleep`.
    pub(super) fn std() -> Peer {
        Box::new(|deadline| std::thread::sleep(deadline.saturating_duration_since(Instant::now())))
    }

    /// `SpinSleeper` with its defaults.
    pub(super) fn spin_sleep() -> Peer {
        let sleeper = spin_sleep::SpinSleeper::default();
        Box::new(move |deadline| sleeper.sleep_until(deadline))
    }

    /// `tokio::time::sleep_until` on a current-thread runtime.
    pub(super) fn tokio() -> Peer {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a current-thread runtime with a timer needs no resource that can be missing");
        Box::new(move |deadline| {
            // Inside a future, because it needs the runtime that drives it.
            runtime.block_on(async { tokio::time::sleep_until(deadline.into()).await });
        })
    }
}

/// Their names.
pub(crate) fn peers() -> impl Iterator<Item = &'static str> {
    PEERS.iter().map(|(name, _)| *name)
}

/// Makes the one of this name.
pub(crate) fn peer(name: &str) -> Option<MakePeer> {
    let of_name = PEERS.iter().find(|(peer, _)| *peer == name);
    of_name.map(|(_, make)| *make)
}

/// Lets programs on `machine` wait with them.
pub(crate) fn with_peers(machine: HostMachine) -> HostMachine {
    (PEERS.iter()).fold(machine, |machine, (name, make)| {
        machine.with_peer(name, *make)
    })
}
