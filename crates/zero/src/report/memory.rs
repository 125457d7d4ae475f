//! What a report on memory says of the machine: how it pages, where one on
//! waiting says how its timers go off.

use punctual_record::{Run, Value};
use punctual_report::text::labelled;
use punctual_report::units;

use crate::rows::ZeroRow;

/// The facts that bear on memory, a line each.
pub(crate) fn facts(run: &Run<ZeroRow>) -> String {
    let machine = &run.machine;
    let other = |key: &str| machine.other.get(key);
    let word = |key: &str| other(key).and_then(Value::as_str).map(str::to_owned);
    let bytes = |key: &str| other(key).and_then(Value::as_f64).map(units::bytes);
    let on_or_off = |key: &str| {
        let is_on = other(key).and_then(Value::as_bool);
        is_on.map_or("not told", |is_on| if is_on { "on" } else { "off" })
    };
    let mut lines = vec![
        ("caches", caches(other("caches"))),
        ("pages", bytes("page_bytes").unwrap_or_default()),
    ];
    let huge = match (bytes("huge_page_bytes"), word("huge_pages")) {
        (Some(bytes), Some(when)) => format!("{bytes}, {}", when_in_words(&when)),
        (Some(bytes), None) => bytes,
        (None, Some(when)) => when_in_words(&when),
        (None, None) => "none that the system puts in on its own".to_owned(),
    };
    lines.push(("huge pages", huge));
    let zeroing = ["init_on_alloc", "init_on_free"].map(on_or_off);
    lines.push((
        "zeroing",
        format!("init_on_alloc {}, init_on_free {}", zeroing[0], zeroing[1]),
    ));
    let limit = run.other.get("memory_limit_bytes").and_then(Value::as_f64);
    let free = bytes("free_bytes").map(|free| format!("{free} free"));
    let limit = limit.map(|limit| format!("at most {} used at a time", units::bytes(limit)));
    let memory: Vec<String> = free.into_iter().chain(limit).collect();
    lines.push(("memory", memory.join(", ")));
    lines.push(("allocator", word("allocator").unwrap_or_default()));
    lines.push(("CPU time", machine.cpu_time.clone()));
    let lines = lines.iter().map(|(label, value)| labelled(label, value));
    lines.collect()
}

fn when_in_words(setting: &str) -> String {
    match setting {
        "always" => "everywhere (always)".to_owned(),
        "madvise" => "where a program asks for them (madvise)".to_owned(),
        other => other.to_owned(),
    }
}

/// `L1 48 KiB, L2 1 MiB`, of data.
fn caches(caches: Option<&Value>) -> String {
    let caches = caches.and_then(Value::as_array).into_iter().flatten();
    let words: Vec<String> = caches
        .filter_map(|cache| {
            let level = cache.get("level")?.as_u64()?;
            Some(format!(
                "L{level} {}",
                units::bytes(cache.get("bytes")?.as_f64()?)
            ))
        })
        .collect();
    words.join(", ")
}
