//! `scenarios/README.md` is complete, and its example is a scenario.

use super::{read, shipped_files};
use crate::scenario::Figure;
use crate::scenario::verbs::{BARE, VERBS};

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
