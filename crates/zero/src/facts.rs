//! Facts of a Run about the machine's memory and its ways to zero.

use punctual_os::quick::QuickClock;
use punctual_record::{MachineFacts, Value};
use punctual_zero_memory::{self as memory, Kernel};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How this system pages, and other facts that pools on it depend on. Unknown facts are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZeroFacts {
    /// The default allocator of Rust programs (the documentation of `std::alloc::System`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocator: Option<String>,
    /// The caches that data goes through, the smallest level first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheFacts>,
    /// The memory that is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// The size of a huge page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_page_bytes: Option<u64>,
    /// Where the system puts huge pages in on its own, in its own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<String>,
    /// Whether memory is zeroed when it is handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_on_alloc: Option<bool>,
    /// Whether memory is zeroed when it is given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_on_free: Option<bool>,
    /// The size of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// The clock that workers read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_clock: Option<String>,
    /// The cost of reading it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_clock_cost_ns: Option<f64>,
    /// The ways to zero that this CPU has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zero_kernels: Vec<String>,
}

/// A cache that data goes through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheFacts {
    /// Its size.
    pub bytes: u64,
    /// Its contents.
    pub kind: String,
    /// 1 is the one next to the CPU.
    pub level: u8,
}

impl ZeroFacts {
    /// How this system pages.
    pub fn of_memory() -> Self {
        let caches = memory::caches().into_iter().map(|cache| CacheFacts {
            bytes: cache.bytes,
            kind: cache.kind.name().to_owned(),
            level: cache.level,
        });
        Self {
            allocator: Some(ALLOCATOR.to_owned()),
            caches: caches.collect(),
            free_bytes: memory::free_bytes(),
            huge_page_bytes: memory::huge_page_bytes().map(|bytes| bytes as u64),
            huge_pages: memory::huge_pages(),
            init_on_alloc: memory::init_on_alloc(),
            init_on_free: memory::init_on_free(),
            page_bytes: memory::page_bytes().map(|bytes| bytes as u64),
            ..Self::default()
        }
    }

    /// The same, and what pools depend on.
    pub fn of_pools() -> Self {
        let supported = |kernel: &Kernel| kernel.is_supported();
        let kernels = Kernel::ALL.into_iter().filter(supported);
        let clock = QuickClock::new();
        Self {
            quick_clock: Some(clock.name().to_owned()),
            quick_clock_cost_ns: Some(clock.cost_ns()),
            zero_kernels: kernels.map(|kernel| kernel.name().to_owned()).collect(),
            ..Self::of_memory()
        }
    }

    /// The facts of a Run's machine. Values of another type are left out.
    pub fn of(machine: &MachineFacts) -> Self {
        let mut facts = machine.other.clone();
        facts.retain(|name, fact| Self::deserialize(json!({ name: fact })).is_ok());
        let facts = facts.into_iter().collect();
        serde_json::from_value(Value::Object(facts)).unwrap_or_default()
    }

    /// Adds them to what a Run says of its machine.
    pub fn add_to(&self, machine: &mut MachineFacts) {
        let facts = serde_json::to_value(self).expect("it has only string keys");
        if let Value::Object(facts) = facts {
            machine.other.extend(facts);
        }
    }
}

const ALLOCATOR: &str = if cfg!(windows) {
    "HeapAlloc"
} else if cfg!(target_env = "gnu") {
    "malloc of glibc"
} else if cfg!(target_env = "musl") {
    "malloc of musl"
} else {
    "malloc"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_there() {
        let mut machine = MachineFacts::default();
        let facts = ZeroFacts::of_pools();
        facts.add_to(&mut machine);
        assert_eq!(ZeroFacts::of(&machine), facts);
        assert!(machine.other.contains_key("allocator"));
        if cfg!(target_os = "linux") {
            assert!(facts.page_bytes.is_some() && facts.free_bytes.is_some());
        }
        assert!(machine.other.values().all(|value| !value.is_null()));

        machine.other.insert("page_bytes".to_owned(), "4K".into());
        let page_bytes = None;
        assert_eq!(
            ZeroFacts::of(&machine),
            ZeroFacts {
                page_bytes,
                ..facts
            }
        );
    }
}
