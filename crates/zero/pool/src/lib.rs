//! A pool of workers that zero pages, written once.
//!
//! The locks, the ways of handing out work and the worker's loop are `async` functions
//! over a computer of cache lines. On a simulated one each operation suspends until its
//! line has been served: that is [`suspending`]. On the threads of a real one, and under
//! loom, every operation is done when it returns: [`blocking`] is the same text, compiled
//! without `async` and `await`.
//!
//! A [`Setting`] says which lock ([`LockKind`]), how many pages a worker takes at
//! a time ([`Batch`]) and who hands them out; a `Pool` is one backlog under
//! such a setting; each worker keeps its [`Accounting`].

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod accounting;
mod batches;
mod setting;
pub mod suspending;
#[cfg(test)]
mod tests;

include!(concat!(env!("OUT_DIR"), "/blocking.rs"));

pub use accounting::{Accounting, Sample};
pub use batches::Batch;
pub use setting::{Dequeue, LockKind, Setting};
