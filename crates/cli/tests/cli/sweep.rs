//! `punctual sweep`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::punctual;

const PLAN: &str = r#"
title = "a small plan"
on = ["linux", "macos"]
strategies = ["adaptive:weight={weight}", "fixed-margin", "spin"]
waits = ["500Hz", "1000Hz"]
load = [0, 1]
weight = [1, 100]
warm_up = 20
count = 20
seeds = 6

[model]
cpus = 1
wake = ["8us", "30us"]
"#;

/// The exit code, and what is said on either output.
fn sweep(folder: &Path, options: &[&str]) -> (Option<i32>, String) {
    let mut command = punctual(folder);
    command.args(["sweep", "plan.toml"]).args(options);
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

/// The contents of a folder, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true => {
                let below = files(&path).into_iter();
                all.extend(below.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
            }
            false => {
                all.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn shards_in_turn_and_all_at_once_end_in_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("plan.toml"), PLAN).unwrap();
    let (code, said) = sweep(here, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" of 32 cells"), "{said}");
    let whole = files(&here.join("plan.sweep"));
    let names: Vec<&str> = whole.keys().map(String::as_str).collect();
    let map = "map-on-wake.svg";
    assert_eq!(
        names,
        [
            "cells.csv",
            map,
            "model=linux/rows.ndjson",
            "model=macos/rows.ndjson",
            "summary.txt"
        ]
    );
    let summary = String::from_utf8(whole["summary.txt"].clone()).unwrap();
    assert!(
        summary.lines().count() <= 24 && summary.lines().all(|line| line.len() <= 80),
        "{summary}"
    );

    let rows = here.join("rows");
    let shard = |k: &str, more: &[&str]| {
        let options = [&["--out", "rows", "--jobs", "1", "--shard", k], more].concat();
        sweep(here, &options)
    };
    for k in ["3/3", "1/3"] {
        assert_eq!(shard(k, &[]).0, Some(0));
    }
    assert_eq!(files(&rows).len(), 2);
    // Shards are not run again unless asked, and then not either.
    let (code, said) = shard("1/3", &[]);
    assert!(
        code == Some(2) && said.contains("--resume runs what is missing"),
        "{said}"
    );
    let (code, said) = shard("1/3", &["--resume"]);
    assert!(code == Some(0) && said.contains("0 of "), "{said}");
    // Nor are they replaced by all of it.
    let (code, said) = sweep(here, &["--out", "rows"]);
    assert!(code == Some(2) && said.contains("--resume"), "{said}");
    assert_eq!(files(&rows).len(), 2);
    // The remains of another turn after the last one: a row, and half of one and of a letter.
    let part = fs::read(rows.join("parts/1-of-3.ndjson")).unwrap();
    let left = [&part[..part.len() / 3], b"\xc3"].concat();
    fs::write(rows.join("parts/2-of-3.unfinished"), left).unwrap();
    fs::write(rows.join("parts/notes.ndjson"), "of somebody else").unwrap();
    let (code, said) = sweep(here, &["--out", "rows", "--resume"]);
    assert!(
        code == Some(0) && said.contains("rows are left out"),
        "{said}"
    );
    let mut left = files(&rows);
    assert!(left.remove("parts/notes.ndjson").is_some());
    assert_eq!(left, whole);

    let (code, said) = sweep(here, &[]);
    assert!(code == Some(2) && said.contains("--resume"), "{said}");
    // Of a plan that has one value more, only that is run.
    let more = PLAN.replace("[0, 1]", "[0, 1, 2]");
    fs::write(here.join("plan.toml"), more).unwrap();
    let (code, said) = sweep(here, &["--resume"]);
    assert!(code == Some(0) && said.contains("8 of 24 places"), "{said}");
}

#[test]
fn a_figure_that_no_cell_has_costs_no_rows() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    // The power of these idle states is not published.
    let plan = r#"
title = "no power"
on = ["linux"]
scenarios = ["linux-slack-sweep"]
judge = { figure = "power_w", of = "(computer)" }
length = "700ms"
seeds = 1
[model]
wake = ["8us", "40us"]
"#;
    fs::write(here.join("plan.toml"), plan).unwrap();
    let (code, said) = sweep(here, &[]);
    assert_eq!(code, Some(0), "{said}");
    let summary = said.replace('\n', " ");
    assert!(summary.contains("left out: 2."), "{said}");
    let files = files(&here.join("plan.sweep"));
    assert!(files.contains_key("model=linux/rows.ndjson"));
}

#[test]
fn who_asks_for_what_cannot_be_is_told_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mistyped = PLAN.replace("\"spin\"", "\"spinn\"");
    for (text, options, want) in [
        (mistyped.as_str(), &[][..], "plan.toml, line 3"),
        (PLAN, &["--shard", "4/3"], "write 3/8"),
        (PLAN, &["--jobs", "0"], "0"),
        (PLAN, &["--out", "-"], "name a folder"),
    ] {
        fs::write(here.join("plan.toml"), text).unwrap();
        let (code, said) = sweep(here, options);
        assert!(code == Some(2) && said.contains(want), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert!(!here.join("plan.sweep").exists());
}

#[test]
fn the_plan_of_a_scenario_in_the_documentation_has_cells() {
    let text = include_str!("../../../../docs/sweeping.md");
    let quoted = |begin: &str| {
        let (_, after) = text.split_once(&format!("`{begin} = ")).unwrap();
        format!("{begin} = {}\n", after.split_once('`').unwrap().0)
    };
    let directory = tempfile::tempdir().unwrap();
    let lines = ["scenarios", "judge", "length"].map(quoted).concat();
    let plan = format!("title = \"a scenario\"\non = [\"linux\"]\n{lines}seeds = 2\n");
    fs::write(directory.path().join("plan.toml"), plan).unwrap();
    let (code, said) = sweep(directory.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("late_ns_p99 of precise in frames"), "{said}");
}
