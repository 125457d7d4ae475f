//! A pool of workers that zero pages, written once.
//!
//! The locks, the ways of handing out work and the worker's loop are `async`
//! functions over a [`Computer`]: on the threads of a real one every operation
//! is done when it is called and each take is [finished](ready) on the spot, so
//! that the compiler makes of it what it makes of atomics; on a simulated one
//! each operation suspends until its cache line has been served; under loom the
//! atomics are loom's.
//!
//! A [`Setting`] says which lock ([`locks`]), how many pages a worker takes at
//! a time ([`batches`]) and who hands them out; a [`Pool`] is one backlog under
//! such a setting; each worker keeps its [`Books`].

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

#[cfg(test)]
mod alone;
mod backlog;
pub mod batches;
mod books;
mod computer;
pub mod locks;
mod pool;
mod setting;

pub use batches::Batch;
pub use books::Books;
pub use computer::{Computer, Line, Lock, ready};
pub use locks::{AnyLock, Backoff, LockKind};
pub use pool::Pool;
pub use setting::{Dequeue, Setting};
