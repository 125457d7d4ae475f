//! Simulated computers: what they do to the nanosecond, and what holds on each.

mod computer;
mod conformance;
mod groups;
mod hosted;
mod machine;
mod policies;
mod properties;
mod readings;

/// The rule of Windows with the parameters of its models.
mod windows {
    mod behaviour;
    mod os;
}
