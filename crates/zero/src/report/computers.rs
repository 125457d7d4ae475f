//! Computers for a person to read: those that pools are simulated on, and how this one
//! pages, where a report on waiting says how timers go off.

use punctual_record::{Run, Value};
use punctual_report::tables::WIDTH;
use punctual_report::tables::table::Table;
use punctual_report::text::labelled;
use punctual_report::units;
use punctual_zero_sim::{Figure, Machine, Quantity, presets, systems};

use crate::rows::ZeroRow;

/// All of them, with their figures.
pub fn computers() -> String {
    let machines: Vec<Machine> = presets().iter().map(|preset| preset.machine()).collect();
    // What every computer has at the same number is said once.
    let is_common = |(quantity, figure): &(Quantity, &Figure)| {
        let mut others = machines.iter().map(|machine| machine.figure(*quantity));
        others.all(|other| other == Some(*figure))
    };
    let own = machines.iter().map(|machine| {
        let title = format!("{}: {}", machine.name(), machine.what());
        let figures = machine.figures().filter(|figure| !is_common(figure));
        table(&title, figures)
    });
    let mut sections: Vec<String> = own.collect();
    let common = machines.iter().take(1).flat_map(Machine::figures);
    sections.push(table("All of these", common.filter(is_common)));
    sections.push(of_windows());
    sections.push(
        "\
Figures follow the name of a computer, separated by commas: --on cascade-lake-96,zero=150ns.
How sure a figure is: A documented by the vendor or read in the source; B measured by somebody, and
consistent with another source; C one measurement or an inference; D unverified.
"
        .to_owned(),
    );
    sections.join("\n")
}

fn of_windows() -> String {
    let title = "The systems of the article: what they do for each page besides zeroing it, all of confidence D";
    Table::new(title, systems())
        .column("system", |system| system.what.clone())
        .column("on", |system| system.machine.clone())
        .column("a page besides", |system| {
            format!("{} ns", system.bookkeeping().value)
        })
        .column("between", |system| {
            let Figure { low, high, .. } = system.bookkeeping();
            format!("{low} to {high}")
        })
        .column("source of that", |system| {
            system.bookkeeping().source.to_string()
        })
        .column("source", |system| system.source.clone())
        .names(6)
        .within(WIDTH)
        .section()
        .text
}

fn table<'f>(title: &str, figures: impl Iterator<Item = (Quantity, &'f Figure)>) -> String {
    let figures: Vec<_> = figures.collect();
    Table::new(title, &figures)
        .column("figure", |(quantity, _)| quantity.key())
        .column("is", |(quantity, figure)| {
            let value = format!("{} {}", figure.value, quantity.unit());
            value.trim_end().to_owned()
        })
        .column("between", |(_, figure)| match figure.low < figure.high {
            true => format!("{} to {}", figure.low, figure.high),
            false => String::new(),
        })
        .column("sure", |(_, figure)| figure.confidence.to_string())
        .column("what", |(quantity, _)| quantity.what())
        .column("source", |(_, figure)| figure.source.to_string())
        .names(6)
        .within(WIDTH)
        .section()
        .text
}

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
