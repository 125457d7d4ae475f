//! The lab's knowledge of its OS, and its ways to change settings of it.
//!
//! Waiting itself is `punctual-sys`, all of which is here too, so that the lab has one
//! name for the OS. What comes on top is what no wait needs: [`wait::Sleeper`], which
//! blocks with any call that this system has, to compare them; what is known of the
//! machine, [`facts`], [`probe`], [`thread`]; what something costs, [`meter`] and
//! [`usage`]; what others do to a measurement, [`processes`] that run beside it,
//! [`cgroups`] that limit it, [`stops`], [`ClockSets`], [`signals`] that end it; and [`program`], which
//! starts one in the place of this.
//!
//! Each module is one concern, which says in one place what each system has of it; what a
//! system does not have is `None` or an error that says so. The crate is for Unix and Windows.
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
mod clock_sets;
mod cpuid;
pub mod event;
pub mod facts;
pub mod meter;
pub mod probe;
pub mod processes;
pub mod program;
pub mod quick;
pub mod signals;
pub mod slack;
pub mod stops;
pub mod thread;
pub mod usage;
pub mod wait;

pub use clock_sets::ClockSets;
pub use punctual_sys::{
    Error, Host, Tick, clock, crowd, latency, nap, priority, resolution, scale, spin, throttling,
};
#[cfg(windows)]
pub use punctual_sys::{handles, wine};
