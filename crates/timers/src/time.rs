//! Sleeps, intervals and timeouts for tasks of any async runtime, named as in tokio.
//!
//! They are functions of this module only, so that `use punctual::*; use punctual_timers::*;`
//! does not clash: [`punctual::sleep`] blocks a thread, and [`time::sleep`](sleep) suspends a task.
//!
//! ```
//! use std::time::Duration;
//! use punctual_timers::time;
//!
//! # async fn task() {
//! time::sleep(Duration::from_micros(500)).await;
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
//! ```

pub use crate::interval::{interval, interval_at};
pub use crate::sleep::{sleep, sleep_until};
pub use crate::timeout::{timeout, timeout_at};
