//! Foreign code that waits.

use std::time::Instant;

/// Waits until an instant with foreign code. One is made for each thread that
/// uses it.
pub type Peer = Box<dyn FnMut(Instant)>;

/// Makes a [`Peer`] on the thread that is going to use it.
pub type MakePeer = fn() -> Peer;
