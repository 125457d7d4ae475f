//! What the lab knows of the OS it runs on, and does to it.
//!
//! Waiting itself is `punctual-sys`, all of which is here too, so that the lab has one
//! name for the OS. What comes on top is what no wait needs: [`wait::Sleeper`], which
//! blocks with any call that this system has, to compare them; what is known of the
//! machine, [`facts`], [`probe`], [`thread`]; what something costs, [`meter`] and
//! [`usage`]; what others do to a measurement, [`processes`] that run beside it,
//! [`cgroups`] that limit it, [`stops`]; and [`program`], which starts one in the place
//! of this.
//!
//! Each folder is one concern. Its `mod.rs` picks the file of the platform, and nothing
//! else in the crate asks which system it was built for. Without one the standard
//! library has to do, so the crate builds everywhere and then reports honestly what it
//! cannot do.
//!
//! ```
//! use punctual_core::{Carrier, Limit, Method, Nanos};
//! use punctual_os::{clock, wait::Sleeper};
//!
//! let mut sleeper = Sleeper::new();
//! println!("a timer is a {} here", sleeper.prepare(Method::Timer)?);
//!
//! let deadline = clock::now() + Nanos::from_ms(1);
//! while clock::now() < deadline {
//!     sleeper.block(Method::Timer, Limit::Until(deadline), None);
//! }
//! println!("{} late", clock::now().since(deadline));
//! # Ok::<(), punctual_os::Error>(())
//! ```

pub mod cgroups;
mod cpuid;
pub mod event;
pub mod facts;
pub mod meter;
pub mod probe;
pub mod processes;
pub mod program;
pub mod quick;
pub mod slack;
pub mod stops;
pub mod thread;
pub mod usage;
pub mod wait;

pub use punctual_sys::{
    Error, Host, Tick, clock, latency, nap, priority, resolution, scale, spin, throttling,
};
#[cfg(windows)]
pub use punctual_sys::{handles, wine};
