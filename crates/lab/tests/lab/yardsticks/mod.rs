//! What `adaptive` is held against: who knows the distributions of all overshoots, and
//! what spins cost where others want the CPU. The example `replay` shows it whole.

pub(crate) mod crowd;
pub(crate) mod loaded;
pub(crate) mod replayed;
