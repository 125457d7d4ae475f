//! Tests of scenarios: those that come with punctual can be read, `scenarios/README.md` is
//! complete, and whatever a file contains, it is read or refused.

mod compiled;
mod errors;

use std::collections::BTreeSet;

use proptest::prelude::*;
use punctual_program::Program;
use punctual_program::program::Op;
use punctual_sim::Model;

use super::verbs::{BARE, VERBS};
use super::{Error, Figure, Scenario};

/// Reads a scenario that may name models of other systems, which need not
/// exist for what is tested here.
fn read(name: &str, text: &str) -> Result<Scenario, Error> {
    Scenario::read_for(name, text, &|model| {
        let first = model.split(',').next().unwrap_or_default();
        let is_known = Model::known().iter().any(|known| known.name == first);
        if !is_known && (first.starts_with("windows-") || first == "macos") {
            return Ok(model.to_owned());
        }
        Ok(Model::parse(model)?.name().to_owned())
    })
}

/// The names and texts of the scenarios that come with punctual.
fn shipped_files() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Checks a program and all that it spawns; returns the spawned names.
fn check(program: &Program, names: &mut BTreeSet<String>) {
    fn walk(ops: &[Op], names: &mut BTreeSet<String>) {
        for op in ops {
            match op {
                Op::Spawn { name, program, .. } => {
                    names.insert(name.clone());
                    check(program, names);
                }
                Op::Loop { body, .. } => walk(body, names),
                _ => {}
            }
        }
    }
    assert_eq!(program.check(), Ok(()));
    walk(&program.ops, names);
}

#[test]
fn every_shipped_scenario_can_be_read() {
    let files = shipped_files();
    assert!(files.len() >= 11, "{}", files.len());
    for (name, text) in files {
        let scenario = read(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name, name);
        assert!(!scenario.about.is_empty(), "{name}");
        assert!(scenario.source.is_some(), "{name}");
        assert!(!scenario.expects.is_empty(), "{name}");

        let mut names = BTreeSet::new();
        check(&scenario.program, &mut names);
        assert_eq!(names, scenario.names.iter().cloned().collect(), "{name}");
    }
}

#[test]
fn every_shipped_scenario_can_be_shortened() {
    for (name, text) in shipped_files() {
        let scenario = read(&name, &text).unwrap();
        let second = punctual_core::Nanos::from_secs(1);
        assert_eq!(scenario.with_length(second).unwrap().length(), second);
        assert_eq!(
            scenario.with_length(scenario.length()).unwrap().program,
            scenario.program
        );
    }
}

#[test]
fn the_expectations_point_at_their_lines() {
    for (name, text) in shipped_files() {
        for expect in read(&name, &text).unwrap().expects {
            // A table has at most one line for each of its keys.
            let lines = text.lines().skip(expect.line - 1).take(12);
            let is_there = |what: &str| lines.clone().any(|line| line.contains(what));
            assert!(is_there(expect.what.name()), "{name}, line {}", expect.line);
        }
    }
}

const README: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/README.md"));

#[test]
fn the_example_can_be_read() {
    let (_, example) = README.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let scenario = read("example", example).unwrap();
    assert_eq!(scenario.names, ["A", "B"]);
    assert_eq!(scenario.expects.len(), 2);
}

#[test]
fn the_error_is_the_one_shown() {
    let (_, shown) = README.split_once("```text\n").unwrap();
    let (shown, _) = shown.split_once(" ...").unwrap();
    let mut files = shipped_files().into_iter();
    let (name, text) = files
        .find(|(name, _)| name == "lowest-request-wins")
        .unwrap();
    let error = read(&name, &text.replace("{ sleep =", "{ slep =")).unwrap_err();
    assert!(error.to_string().starts_with(shown), "{error}");
}

#[test]
fn every_verb_key_and_figure_is_there() {
    let verbs = VERBS
        .iter()
        .flat_map(|(verb, keys)| [verb].into_iter().chain(*keys));
    for word in verbs.chain(&Figure::NAMED.map(|(name, _)| name)) {
        assert!(README.contains(&format!("`{word}`")), "{word}");
    }
    for word in BARE {
        assert!(README.contains(&format!("| `\"{word}\"` |")), "{word}");
    }
}

#[test]
fn every_shipped_scenario_is_there() {
    for (name, _) in shipped_files() {
        assert!(README.contains(&format!("| `{name}` |")), "{name}");
    }
}

/// Reads it; an error is one line and names a line there is.
fn survives(text: &str) {
    if let Err(error) = read("mutant", text) {
        let shown = error.to_string();
        assert!(!shown.contains('\n') && shown.len() < 2_000, "{shown}");
        assert!(error.line <= 1 + text.lines().count(), "{shown}");
    }
}

/// Bits that mean something to a scenario or to TOML.
const BITS: [&str; 40] = [
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "\"",
    "\"\"\"",
    "'",
    ",",
    "=",
    "\n",
    "#",
    ".",
    "0",
    "-1",
    "18446744073709551615",
    "1e999",
    "nan",
    "\"1ms\"",
    "\"0ns\"",
    "loop",
    "\"cycle\"",
    "pace",
    "uniform",
    "exponential",
    "recorded",
    "min",
    "nice",
    "slice",
    "quota",
    "period",
    "spawn",
    "until",
    "times",
    "do",
    "name",
    "for",
    "\"$1\"",
    "\\",
];

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_bits_never_panic(bits in proptest::collection::vec(0..BITS.len(), 0..60)) {
        let text: Vec<_> = bits.iter().map(|bit| BITS[*bit]).collect();
        survives(&text.join(" "));
    }

    #[test]
    fn mutated_scenarios_never_panic(
        file in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0_usize..30, 0..BITS.len(), any::<bool>()), 1..6,
        ),
    ) {
        let files = shipped_files();
        let mut text: Vec<char> = file.get(&files).1.chars().collect();
        for (at, length, bit, is_replaced) in cuts {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            let bit = if is_replaced { BITS[bit] } else { "" };
            text.splice(at..end, bit.chars());
        }
        survives(&text.into_iter().collect::<String>());
    }
}

#[test]
fn deep_files_are_refused() {
    let keys = vec!["a"; 79].join(".");
    for text in [
        "[".repeat(100_000),
        format!("a={}", "[".repeat(100_000)),
        format!("a={}", "{a=".repeat(80_000)),
        format!(
            "{keys}={}1{}",
            format!("{{{keys}=").repeat(80),
            "}".repeat(80)
        ),
        format!("[{}]", vec!["a"; 100_000].join(".")),
        "a.".repeat(100_000),
        "{ loop = [".repeat(20_000),
    ] {
        survives(&text);
        assert!(read("deep", &text).is_err());
    }
}
