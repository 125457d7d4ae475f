//! The yardsticks of `adaptive`: the informed waiter, which knows the distributions of all
//! overshoots, and the cost of spins where others want the CPU. The example `replay` shows all of
//! it.

pub(crate) mod crowd;
pub(crate) mod loaded;
pub(crate) mod replayed;
