//! The header that is kept is the one that the sources make.

use std::path::Path;
use std::{env, fs};

/// `PUNCTUAL_WRITE_HEADER=1 cargo test -p punctual-capi` writes it anew.
#[test]
fn the_header_is_that_of_the_sources() {
    let this = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(this.join("cbindgen.toml")).unwrap();

    config.after_includes = Some(version());
    let made = cbindgen::Builder::new()
        .with_crate(this)
        .with_config(config)
        .generate()
        .unwrap();
    let mut text = Vec::new();
    made.write(&mut text);
    let text = about() + &String::from_utf8(text).unwrap();
    let kept = this.join("include/punctual.h");
    if env::var_os("PUNCTUAL_WRITE_HEADER").is_some() {
        fs::write(&kept, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&kept).unwrap() == text,
        "include/punctual.h is another: PUNCTUAL_WRITE_HEADER=1 cargo test -p punctual-capi"
    );
}

/// A reader of the header knows C, and neither the language nor the names of the sources.
#[test]
fn the_headers_speak_c() {
    for header in [
        include_str!("../include/punctual.h"),
        include_str!("../include/punctual.hpp"),
    ] {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        for (number, line) in header.lines().enumerate() {
            let comment = line.trim_start().trim_start_matches("//");
            let is_comment =
                comment.len() < line.trim_start().len() || line.trim_start().starts_with('*');
            let mut words = comment.split(|c| !is_word(c));
            let foreign = words.find(|word| FOREIGN.contains(word));
            let has_path = comment.contains("punctual_result::") || comment.contains("[`");
            assert!(
                !is_comment || foreign.is_none() && !has_path,
                "line {}: {line}",
                number + 1
            );
        }
    }
}

/// Words of the language of the sources.
const FOREIGN: [&str; 14] = [
    "Option", "None", "Some", "Result", "Err", "Vec", "trait", "crate", "mut", "panic", "panics",
    "unwind", "unwinds", "Rust",
];

/// From which threads it may be called.
#[test]
fn each_function_says_of_threads() {
    let header = include_str!("../include/punctual.h");
    let mut functions = 0;
    for declared in header.split("\n\n").filter(|block| block.ends_with(");")) {
        let (said, function) = declared.split_once(" */\n").unwrap();
        if function.starts_with("typedef") {
            continue;
        }
        assert!(said.contains("thread"), "{function}");
        functions += 1;
    }
    assert!(functions > 50, "{functions}");
}

/// A function that the list lacks is not exported.
#[test]
fn the_list_of_symbols_has_each_function() {
    let header = include_str!("../include/punctual.h");
    let mut declared: Vec<&str> = header
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(')
        .filter_map(|word| word.split_once('('))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("punctual_"))
        .collect();
    declared.sort_unstable();
    declared.dedup();
    let list = include_str!("../libpunctual.map");
    let lines = list.lines().filter_map(|line| line.strip_prefix("    "));
    let listed: Vec<&str> = lines.filter_map(|line| line.strip_suffix(';')).collect();
    assert_eq!(listed, declared, "libpunctual.map");
    let [major, minor, _] = [0, 1, 2].map(|n| env!("CARGO_PKG_VERSION").split('.').nth(n).unwrap());
    let version = format!("\nPUNCTUAL_{major}.{minor} {{\n");
    assert!(list.contains(&version), "libpunctual.map lacks {version}");
}

/// A newer cargo-c may need a newer Rust than the one that is pinned.
#[test]
fn the_readme_installs_the_cargo_c_of_ci() {
    let this = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ci = fs::read_to_string(this.join("../../.ci/cinstall")).unwrap();
    let version = ci.lines().find_map(|line| line.strip_prefix("cargo_c="));
    let command = format!(
        "cargo install --locked cargo-c --version {} ",
        version.unwrap()
    );
    assert!(include_str!("../README.md").contains(&command), "{command}");
}

/// The documentation of the whole library, as a comment.
fn about() -> String {
    let source = include_str!("../src/lib.rs");
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let said: String = lines.map(|line| format!(" *{line}\n")).collect();
    // Links of Rust are none here.
    let said = said.replace("[`", "`").replace("`]", "`");
    let mut plain = said;
    for (rust, c) in [
        ("`Ok`(punctual_result::Ok)", "`PUNCTUAL_RESULT_OK`"),
        ("`Busy`(punctual_result::Busy)", "`PUNCTUAL_RESULT_BUSY`"),
    ] {
        plain = plain.replace(rust, c);
    }
    format!("/*\n{plain} */\n\n")
}

fn version() -> String {
    let parts = ["MAJOR", "MINOR", "PATCH"].into_iter();
    let parts = parts.zip(env!("CARGO_PKG_VERSION").split('.'));
    let lines = parts.map(|(name, number)| format!("#define PUNCTUAL_VERSION_{name} {number}\n"));
    let sized = "/* A structure that knows its size, else of zeroes; C, and C++20. */\n\
                 #define PUNCTUAL_INIT(structure) { .size = sizeof(structure) }\n";
    format!("\n{}\n{sized}", lines.collect::<String>())
}
