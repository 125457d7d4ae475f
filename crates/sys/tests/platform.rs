//! PLATFORM.md names each call of the system that this crate makes, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The crates that declare calls.
const BINDINGS: [&str; 3] = ["libc", "mach2", "windows_sys"];

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_a_name(c))
        .filter(|word| !word.is_empty())
}

/// The source without comments and unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let before = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
    let lines = before
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The functions of the system that a file calls or declares, and the numbers of
/// system calls in it.
fn calls(code: &str) -> BTreeSet<String> {
    let mut imported = BTreeSet::new();
    for part in code
        .split("\nuse ")
        .skip(1)
        .chain(code.split("    use ").skip(1))
    {
        let import = part.split(';').next().unwrap();
        if BINDINGS.iter().any(|binding| import.starts_with(binding)) {
            imported.extend(words(import));
        }
    }
    let mut found = BTreeSet::new();
    let mut before = "";
    let mut at = 0;
    for word in words(code) {
        at += code[at..].find(word).unwrap();
        let (path, rest) = (&code[..at], &code[at + word.len()..]);
        at += word.len();
        let is_called = rest.starts_with('(');
        let is_of_a_binding =
            path.ends_with("::") && (BINDINGS.contains(&before) || before.starts_with("mach_"));
        let is_imported = imported.contains(word) && !path.ends_with([':', '.']);
        let is_declared = before == "fn" && path.contains("extern \"") && rest.contains(';') && {
            let end = rest.find([';', '{']).unwrap();
            rest[end..].starts_with(';')
        };
        if is_called && (is_of_a_binding || is_imported || is_declared) || word.starts_with("SYS_")
        {
            found.insert(word.to_owned());
        }
        before = word;
    }
    found
}

fn sources(folder: &Path, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, all),
            false => all.extend(calls(&code(&path))),
        }
    }
}

#[test]
fn the_page_names_each_call_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut made = BTreeSet::new();
    sources(&root.join("src"), &mut made);
    // More than a handful are found, or this finds nothing.
    assert!(made.len() > 40, "{made:?}");
    let page = fs::read_to_string(root.join("../../PLATFORM.md")).unwrap();
    let spans: BTreeSet<&str> = page.split('`').skip(1).step_by(2).collect();
    let unnamed: Vec<_> = made
        .iter()
        .filter(|call| !spans.contains(call.as_str()))
        .collect();
    assert_eq!(unnamed, Vec::<&String>::new(), "not on the page");

    // The first cell of a row names a call, a file, or an argument.
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let firsts = rows.filter_map(|row| row.split(" | ").next());
    let named = firsts.flat_map(|first| first.split('`').skip(1).step_by(2));
    let gone: Vec<&str> = named
        .filter(|name| !name.starts_with('/') && !made.contains(*name))
        .collect();
    assert_eq!(gone, Vec::<&str>::new(), "no longer called");
}
