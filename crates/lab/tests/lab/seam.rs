//! Strategies, experiments and the conformance suite never ask where they run:
//! their sources name no machine and nothing of the operating system.

use std::fs;
use std::path::{Path, PathBuf};

/// Names that none of those files may use.
const NAMES: [&str; 6] = [
    "HostMachine",
    "SimMachine",
    "punctual_sys",
    "punctual_sim",
    "Instant",
    "SystemTime",
];

/// Names that may not be part of a path: modules of this workspace that reach
/// a machine, and modules of `std` that reach the operating system.
const MODULES: [&str; 8] = ["host", "sys", "thread", "env", "fs", "process", "net", "os"];

/// Operating systems, as `std::env::consts::OS` names them: text that is one of
/// these is there to be compared with the place.
const SYSTEMS: [&str; 3] = ["linux", "macos", "windows"];

/// What `source` says of the place where it runs: first the code, then the
/// text in it, each in order.
fn places_named_in(source: &str) -> Vec<String> {
    let (code, texts) = code_and_texts(source);
    let mut places = Vec::new();
    let mut importing = false;
    let mut rest = code.as_str();
    while let Some(start) = rest.find(is_of_a_word) {
        let (gap, tail) = rest.split_at(start);
        let end = tail.find(|c| !is_of_a_word(c)).unwrap_or(tail.len());
        let (word, after) = tail.split_at(end);
        importing &= !gap.contains(';');
        let in_a_path =
            importing || gap.trim_end().ends_with("::") || after.trim_start().starts_with("::");
        importing |= word == "use";
        if NAMES.contains(&word) || MODULES.contains(&word) && in_a_path {
            places.push(word.to_owned());
        } else if let Some(condition) = condition(word, after).filter(|c| !is_anywhere(c)) {
            places.push(format!("{word}({condition})"));
        }
        rest = after;
    }
    let systems = texts.iter().filter(|text| SYSTEMS.contains(text));
    places.extend(systems.map(|text| format!("{text:?}")));
    places
}

/// Whether it is no place that a condition asks for: tests, and what a feature
/// derives.
fn is_anywhere(condition: &str) -> bool {
    condition == "test" || condition.starts_with("feature=\"\",derive(")
}

/// The condition in `cfg(...)`, `cfg!(...)` and `cfg_attr(...)`.
fn condition(word: &str, after: &str) -> Option<String> {
    let call = after.trim_start().trim_start_matches('!').trim_start();
    if !matches!(word, "cfg" | "cfg_attr") || !call.starts_with('(') {
        return None;
    }
    let mut depth = 0;
    let end = call.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    Some(call[1..end].split_whitespace().collect())
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The source without comments and with nothing in its strings, and what is in
/// its strings.
fn code_and_texts(source: &str) -> (String, Vec<&str>) {
    let mut code = String::new();
    let mut texts = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            code.push_str("\"\"");
            let end = end_of_text(rest);
            texts.push(rest[1..end].trim_end_matches('"'));
            end
        } else if rest.starts_with("'\"'") {
            3
        } else {
            code.push(c);
            c.len_utf8()
        };
        rest = &rest[skip..];
    }
    (code, texts)
}

/// The length of the string literal that `source` begins with.
fn end_of_text(source: &str) -> usize {
    let mut escaped = false;
    let end = source.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(source.len(), |(at, _)| at + 1)
}

/// The Rust files of a folder of this workspace, and of the folders in it.
fn sources(folder: &str) -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![crates.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files
}

fn assert_that_no_place_is_named_in(files: &[PathBuf]) {
    for file in files {
        let places = places_named_in(&fs::read_to_string(file).unwrap());
        assert!(places.is_empty(), "{}: {places:?}", file.display());
    }
}

#[test]
fn no_strategy_asks_where_it_runs() {
    let files = sources("core/src/strategies");
    assert!(files.len() > 7, "{files:?}");
    assert_that_no_place_is_named_in(&files);
}

#[test]
fn no_estimator_asks_where_it_runs() {
    let files = sources("core/src/estimators");
    assert!(files.len() > 1, "{files:?}");
    assert_that_no_place_is_named_in(&files);
}

#[test]
fn no_experiment_asks_where_it_runs() {
    let files = sources("lab/src/experiments");
    assert!(files.len() > 4, "{files:?}");
    assert_that_no_place_is_named_in(&files);
}

#[test]
fn the_conformance_suite_does_not_ask_where_it_runs() {
    let mut files = sources("core/src");
    files.retain(|path| path.ends_with("conformance.rs"));
    assert_eq!(files.len(), 1);
    assert_that_no_place_is_named_in(&files);
}

#[test]
fn code_that_asks_is_found() {
    for (bad, places) in [
        ("use crate::host::HostMachine;", "host HostMachine"),
        ("use punctual_sys::clock;", "punctual_sys"),
        (
            "let m = punctual_sim::SimMachine::new(a, b);",
            "punctual_sim SimMachine",
        ),
        ("use std::time::{Duration, Instant};", "Instant"),
        ("use std::{env, thread};", "env thread"),
        ("std :: thread\n::sleep(length);", "thread"),
        ("let a = 1; std::env::var(name)", "env"),
        ("#[cfg(windows)]\nfn f() {}", "cfg(windows)"),
        (
            "if cfg!( target_os = \"linux\") {}",
            "cfg(target_os=\"\") \"linux\"",
        ),
        (
            "match os { \"windows\" => a, \"macos\" | \"linux\" => b }",
            "\"windows\" \"macos\" \"linux\"",
        ),
        ("let here = os == r\"linux\";", "\"linux\""),
        ("#[cfg(all(unix, test))]", "cfg(all(unix,test))"),
        (
            "#[cfg_attr(unix, path = \"a.rs\")]",
            "cfg_attr(unix,path=\"\")",
        ),
        ("let a = \"//\"; sys::clock::now()", "sys"),
        ("let a = '\"'; let b = \"\\\"\"; fs::read(b)", "fs"),
    ] {
        assert_eq!(places_named_in(bad).join(" "), places, "{bad}");
    }
}

#[test]
fn code_that_does_not_ask_is_left_alone() {
    for good in [
        "// HostMachine\n/// std::thread::sleep\n//! std::env\n/* sys::\n cfg(unix) */",
        "let a = \"std::thread::sleep and cfg(windows)\";",
        "let a = \"the timers of linux and of windows\"; // \"linux\"",
        "use std::time::Duration;\nlet host = 1; let os = host;",
        "#[cfg(test)]\nmod tests { if cfg!(test) { a[0] } }",
        "observed.threads.first().map(|thread| &thread.sections)",
        "let hostile = punctual_system::sysop();",
    ] {
        assert_eq!(places_named_in(good), Vec::<String>::new(), "{good}");
    }
}
