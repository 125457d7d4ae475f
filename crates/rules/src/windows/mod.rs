//! The timers of Windows, from XP to Windows 11.
//!
//! A clock interrupt, the tick, comes at regular intervals. They are 15.625 ms apart unless a
//! process has asked for less (`requests`) and the hardware can do it (`interval`). A call
//! takes a length in units of its own (`lengths`), which becomes the instant at which the timer
//! is due; the first tick at which that instant has passed and which looks at the timer expires it
//! (`ticks`).
//!
//! Until Windows 10 1909 every tick looks at every timer, so that one process makes the sleeps of
//! all others finer. Since Windows 10 2004 this holds for the processes that have asked
//! themselves. The timers of the others are looked at in default scans, every k-th tick
//! (`default_scan`). Since Windows 11 the request of a process that is neither visible nor
//! audible does not count. The differences between generations are a table (`generations`).
//!
//! Two kinds of timers are apart. High-resolution waitable timers have interrupts of their own,
//! and waitable timers with a tolerance choose among the ticks of their window (`tolerance`).

mod cpu;
mod default_scan;
mod generations;
mod interval;
pub(crate) mod lengths;
mod options;
/// Of the rule as a whole.
#[cfg(test)]
mod properties;
mod requests;
mod rule;
mod ticks;
mod tolerance;

pub use default_scan::Cycles;
pub(crate) use generations::BEFORE_HIGH_RESOLUTION;
pub use generations::Generation;
pub use interval::Hardware;
pub use options::Options;
pub use rule::Windows;
