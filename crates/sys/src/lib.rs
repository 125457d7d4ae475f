//! Every system call that punctual waits with, and that its guards make.
//!
//! The strategies of `punctual-core` only say what to do next; this crate does it on its machine.
//! [`nap`] blocks, [`spin`] spins, [`clock`] tells the time, [`thread`] the cost of a nap. The
//! settings that a process may hold for a while are [`slack`], [`priority`], [`resolution`],
//! [`throttling`] and [`latency`].
//!
//! Each module is one concern. Its top picks the implementation of the platform, in a file beside
//! it or a module below where that is short. Nothing else in the crate asks which system it was
//! built for. On other platforms the standard library has to do. The crate therefore builds
//! everywhere, and reports honestly what is missing.
//!
//! ```
//! use punctual_core::Nanos;
//! use punctual_sys::clock;
//! use punctual_sys::nap::{Nap, Slack};
//!
//! let mut nap = Nap::new();
//! let deadline = clock::now() + Nanos::from_ms(1);
//! while clock::now() < deadline {
//!     nap.until(deadline, Slack::PerNap, None);
//! }
//! println!("{} late", clock::now().since(deadline));
//! ```
//!
//! Unsafe code is allowed here. Each block names the invariant that it relies on.

pub mod agreed;
pub mod clock;
pub mod crowd;
mod error;
#[cfg(windows)]
pub mod handles;
pub mod latency;
pub mod nap;
pub mod priority;
pub mod resolution;
pub mod scale;
pub mod slack;
pub mod spin;
pub mod thread;
pub mod throttling;
#[cfg(windows)]
pub mod wine;

pub use clock::{Host, Tick};
pub use error::Error;
