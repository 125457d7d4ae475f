//! Simulated computers: what they do to the nanosecond, and what holds on each.

mod computer;
mod conformance;
mod machine;
mod properties;
