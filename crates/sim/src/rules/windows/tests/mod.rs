//! Tests of the rule as a whole.

mod behaviour;
mod os;
mod properties;
