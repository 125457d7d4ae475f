//! `clock_nanosleep` alone.

use punctual_core::Method;

pub(super) use super::clock_nanosleep::block as call;
pub(super) use super::one_call::{Calls, METHODS};

pub(super) const CALL: Method = Method::ClockNanosleep;
