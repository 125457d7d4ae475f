//! What happens on a simulated computer, in which order.
//!
//! | file | what it is about |
//! |---|---|
//! | `order` | the computer, and whose turn it is |
//! | `worker` | what each worker does, and where its time goes |
//! | `transfers` | lines that travel between workers |
//! | `stores` | stores that are posted |
//! | `memory` | workers that zero pages |
//! | `sleep` | workers that give up their CPU and are woken |
//!
//! Every worker does one thing at a time. A line serves one request at a time,
//! so at most one of those who want it has a timer; all others just wait. What
//! falls due at one instant happens in the order of the workers' numbers, then
//! that of the memory, then lines that are brought for stores.

mod memory;
mod order;
mod sleep;
mod stores;
mod transfers;
mod worker;

pub(crate) use order::World;
pub(crate) use worker::Wanted;
