//! What bears on the cost of memory here.

use std::collections::BTreeMap;

use punctual_record::Value;
use punctual_zero_memory as memory;
use serde_json::json;

/// How this system pages, by name; what it does not tell is left out.
pub fn memory_facts() -> BTreeMap<String, Value> {
    let caches: Vec<Value> = memory::caches()
        .iter()
        .map(|cache| {
            json!({ "level": cache.level, "kind": cache.kind.name(), "bytes": cache.bytes })
        })
        .collect();
    let facts = [
        ("page_bytes", memory::page_bytes().map(Value::from)),
        ("huge_pages", memory::huge_pages().map(Value::from)),
        (
            "huge_page_bytes",
            memory::huge_page_bytes().map(Value::from),
        ),
        ("init_on_alloc", memory::init_on_alloc().map(Value::from)),
        ("init_on_free", memory::init_on_free().map(Value::from)),
        ("free_bytes", memory::free_bytes().map(Value::from)),
        ("caches", (!caches.is_empty()).then(|| caches.into())),
        ("allocator", Some(ALLOCATOR.into())),
    ];
    let told = facts
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    told.collect()
}

/// What Rust programs allocate with, unless they choose another (the
/// documentation of `std::alloc::System`).
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
        let facts = memory_facts();
        assert!(facts.contains_key("allocator"));
        if cfg!(target_os = "linux") {
            assert!(facts.contains_key("page_bytes") && facts.contains_key("free_bytes"));
        }
        assert!(facts.values().all(|value| !value.is_null()));
    }
}
