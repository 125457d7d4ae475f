//! `std::thread::sleep` alone.

use punctual_core::Method;

pub(super) use super::one_call::{Calls, METHODS};
pub(super) use super::sleeper::common::thread_sleep as call;

pub(super) const CALL: Method = Method::ThreadSleep;
