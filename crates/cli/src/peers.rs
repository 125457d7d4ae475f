//! What else is compared with the strategies: the library as its users call it, and
//! what others wait with.

use punctual_lab::host::{HostMachine, MakePeer, Peer};
use punctual_record::LIBRARY;

const ALL: &[(&str, MakePeer)] = &[
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
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// Makes the one of this name.
pub(crate) fn make(name: &str) -> Option<MakePeer> {
    let of_name = ALL.iter().find(|(peer, _)| *peer == name);
    of_name.map(|(_, make)| *make)
}

/// Lets programs on `machine` wait with them.
pub(crate) fn register(machine: HostMachine) -> HostMachine {
    (ALL.iter()).fold(machine, |machine, (name, make)| {
        machine.with_peer(name, *make)
    })
}
