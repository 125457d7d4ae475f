//! What others wait with, for comparison.

use punctual_lab::host::{HostMachine, MakePeer};

#[cfg(feature = "peers")]
mod registered {
    use std::time::Instant;

    use punctual_lab::host::{MakePeer, Peer};

    pub(super) const ALL: &[(&str, MakePeer)] =
        &[("std", std), ("spin_sleep", spin_sleep), ("tokio", tokio)];

    /// `std::thread::sleep`.
    fn std() -> Peer {
        Box::new(|deadline| std::thread::sleep(deadline.saturating_duration_since(Instant::now())))
    }

    /// `SpinSleeper` with its defaults.
    fn spin_sleep() -> Peer {
        let sleeper = spin_sleep::SpinSleeper::default();
        Box::new(move |deadline| sleeper.sleep_until(deadline))
    }

    /// `tokio::time::sleep_until` on a current-thread runtime.
    fn tokio() -> Peer {
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

#[cfg(not(feature = "peers"))]
mod registered {
    use punctual_lab::host::MakePeer;

    pub(super) const ALL: &[(&str, MakePeer)] = &[];
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    registered::ALL.iter().map(|(name, _)| *name)
}

/// Makes the one of this name.
pub(crate) fn make(name: &str) -> Option<MakePeer> {
    let of_name = registered::ALL.iter().find(|(peer, _)| *peer == name);
    of_name.map(|(_, make)| *make)
}

/// Lets programs on `machine` wait with them.
pub(crate) fn register(machine: HostMachine) -> HostMachine {
    registered::ALL
        .iter()
        .fold(machine, |machine, (name, make)| {
            machine.with_peer(name, *make)
        })
}
