//! Timer rules of operating systems: when a blocked thread wakes. One rule per file.
//!
//! Nothing here reads a clock. The simulator hosts a [`Rule`] in virtual time, and another program can
//! host one on a real clock. A [`Description`] builds a rule. Its host names the threads and their
//! requests, and the rule answers when each wait ends. [`Host`] does that for a single thread.
//!
//! | rule | what it is | evidence |
//! |---|---|---|
//! | [`Fake`] | the accurate-sleep article's fake OS sleep | the article, section on robustness |
//! | [`Linux`] | hrtimers with slack, soft and hard expiry; the jiffies wheel | Linux, `kernel/time/hrtimer.c`, `timer.c` |
//! | [`MacOs`] | timers coalesced by the class of the thread | XNU, `osfmk/kern/timer_call.c` |
//! | [`Recorded`] | overshoots of a real computer by call and length, in their order | the recording |
//! | [`Scripted`] | a list of what becomes of each nap | none: it is for tests |
//! | [`Wine`] | the waits of Linux behind the calls of Windows | Wine, `dlls/ntdll/unix/sync.c` |
//! | [`Windows`] | ticks, default scans, requests for shorter ticks; by generation | Microsoft, the timer-rule article, measurements |

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod description;
mod fake;
mod grid;
pub mod heap;
mod host;
pub mod linux;
pub mod macos;
mod naps;
mod os_clock;
mod per_cpu;
mod random;
mod recorded;
mod rule;
mod scripted;
pub mod setting;
mod soft_hard;
mod table;
#[cfg(test)]
mod testing;
mod time;
mod timers;
mod units;
mod why;
pub mod windows;
mod wine;

pub use description::Description;
pub use fake::Fake;
pub use grid::Grid;
pub use host::Host;
pub use linux::Linux;
pub use macos::MacOs;
pub use naps::{Draw, Naps};
pub use os_clock::OsClock;
pub use random::Random;
pub use recorded::{Bank, Nap, Recorded};
pub use rule::{Answer, Expired, Outstanding, ProcessId, Request, Rule, ThreadId};
pub use scripted::{Fate, Scripted};
pub use setting::Setting;
pub use time::Time;
pub use timers::Timers;
pub use why::{Explanation, Ms, Why};
pub use windows::Windows;
pub use wine::Wine;

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Documentation;
