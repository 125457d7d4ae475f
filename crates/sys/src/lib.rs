//! Every system call that punctual waits with, or measures.
//!
//! The strategies of `punctual-core` only say what to do next; this crate does
//! it on the machine it runs on. [`Host`] marks the clock of that machine, and
//! [`wait::Sleeper`] is the [`Carrier`](punctual_core::Carrier) that blocks and
//! spins the calling thread. Around it stand the things a waiter wants to know
//! about its host, [`clock`], [`probe`], [`spin`], [`thread`], [`meter`],
//! [`event`] and [`facts`], and those it may change: [`slack`], [`priority`],
//! [`resolution`], [`throttling`], [`latency`] and [`program`]. Apart from these
//! stand [`usage`], what the system charges; and what others do to a measurement: [`processes`] that run
//! beside it, [`cgroups`] that limit it, [`stops`].
//!
//! Each folder is one concern. Its `mod.rs` picks one file, `linux`, `macos`,
//! `windows`, `unix` or `fallback`, and nothing else in the crate asks which
//! system it was built for. The fallback uses the standard library alone, so
//! the crate builds everywhere and then reports honestly what it cannot do.
//!
//! ```
//! use punctual_core::{Carrier, Limit, Method, Nanos};
//! use punctual_sys::{clock, wait::Sleeper};
//!
//! let mut sleeper = Sleeper::new();
//! println!("a timer is a {} here", sleeper.prepare(Method::Timer)?);
//!
//! let deadline = clock::now() + Nanos::from_ms(1);
//! while clock::now() < deadline {
//!     sleeper.block(Method::Timer, Limit::Until(deadline), None);
//! }
//! println!("{} late", clock::now().since(deadline));
//! # Ok::<(), punctual_sys::Error>(())
//! ```
//!
//! Of what users of the library compile, unsafe code is in this crate only.
//! Each block names the invariant that it relies on.

pub mod cgroups;
pub mod clock;
mod cpuid;
mod error;
pub mod event;
pub mod facts;
pub mod latency;
pub mod meter;
pub mod nap;
pub mod priority;
pub mod probe;
pub mod processes;
pub mod program;
pub mod quick;
pub mod resolution;
pub mod scale;
pub mod slack;
pub mod spin;
pub mod stops;
pub mod thread;
pub mod throttling;
pub mod usage;
pub mod wait;

pub use clock::{Host, Tick};
pub use error::Error;
