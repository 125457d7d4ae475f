//! The lab's knowledge of its OS, and its ways to change settings of it.
//!
//! Waiting itself is `punctual-sys`, which is re-exported here, so that the lab has one name for
//! the OS. This crate adds the parts that no wait needs: [`wait::Sleeper`], which blocks with any
//! call that this system has, to compare them; facts of the machine in [`facts`], [`probe`] and
//! [`thread`]; costs in [`meter`] and [`usage`]; disturbances of a measurement in [`processes`],
//! [`cgroups`], [`stops`] and [`ClockSets`]; [`signals`] that end it; events of the kernel in `perf` (64-bit Linux); and [`program`], which starts a program in
//! the place of this one.
//!
//! Each module is one concern, which says in one place what each system has of it; what a
//! system does not have is `None` or an error that says so. The crate is for Unix and Windows.
//!
//! ```
//! use punctual_core::{Driver, Limit, Method, Nanos};
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
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub mod perf;
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
