//! What bears on the cost of zeroing here.

use std::collections::BTreeMap;

use punctual_os::quick::QuickClock;
use punctual_record::Value;
use punctual_zero_memory::Kernel;

use crate::probe::memory_facts;

/// The facts of this computer that a pool depends on, by name: its memory and
/// caches, its ways to zero, and the clock that its workers read.
pub fn facts() -> BTreeMap<String, Value> {
    let kernels = Kernel::ALL
        .into_iter()
        .filter(|kernel| kernel.is_supported());
    let kernels: Vec<&str> = kernels.map(Kernel::name).collect();
    let clock = QuickClock::new();
    let mut facts = memory_facts();
    facts.insert("zero_kernels".to_owned(), kernels.into());
    facts.insert("quick_clock".to_owned(), clock.name().into());
    facts.insert("quick_clock_cost_ns".to_owned(), clock.cost_ns().into());
    facts
}
