//! The scenarios that come with punctual can be read.

use std::collections::BTreeSet;

use punctual_program::Program;
use punctual_program::program::Op;

use super::{read, shipped_files};

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
