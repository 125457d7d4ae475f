//! The yardsticks of `adaptive`. They are the informed waiter, which knows the distributions of
//! all overshoots, the cost of spins where others want the CPU, and the simple strategies. The
//! examples `replay` and `never_dearer` show all of it.

pub(crate) mod crowd;
pub(crate) mod loaded;
pub(crate) mod others;
pub(crate) mod replayed;
