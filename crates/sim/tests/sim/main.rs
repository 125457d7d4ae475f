//! Simulated computers: what they do to the nanosecond, and what holds on each.

mod computer;
mod conformance;
mod groups;
mod hosted;
mod machine;
mod policies;
mod properties;
mod readings;
mod windows;
