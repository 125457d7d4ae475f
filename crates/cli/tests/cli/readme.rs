//! The transcripts in the documentation are what the executable prints.
//!
//! A transcript is a fenced block marked `console`. Each line `$ punctual ...` in it is run, and
//! what follows is its standard output, to the byte; a line `...` stands for any number of lines.
//! Output that differs each time, such as a race on the reader's machine, belongs into a block
//! marked otherwise. A block marked `toml NAME` or `text NAME` is a file that the commands find.

use std::fs;
use std::path::Path;

use punctual_record::{Measurement, Run};

use crate::common::{punctual, stdout};

/// A command, without its `$`, and what it is shown to print.
#[derive(Debug, PartialEq)]
struct Transcript {
    command: String,
    shown: Vec<String>,
}

/// The transcripts of a Markdown text.
fn transcripts(text: &str) -> Vec<Transcript> {
    let mut transcripts: Vec<Transcript> = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(mark)) => fence = Some(mark.trim()),
            (Some(_), Some(_)) => fence = None,
            (Some("console"), None) => match (line.strip_prefix("$ "), transcripts.last_mut()) {
                (Some(command), _) => transcripts.push(Transcript {
                    command: command.trim().to_owned(),
                    shown: vec![],
                }),
                (None, Some(last)) => last.shown.push(line.to_owned()),
                (None, None) => panic!("`{line}` has no command before it"),
            },
            _ => {}
        }
    }
    transcripts
}

/// The files of a Markdown text, each with its name.
fn files(text: &str) -> Vec<(&str, &str)> {
    let blocks = ["\n```toml ", "\n```text "]
        .into_iter()
        .flat_map(|fence| text.split(fence).skip(1));
    let file = |block| str::split_once(str::split_once(block, "\n```")?.0, '\n');
    blocks.filter_map(file).collect()
}

/// Whether `printed` is what is `shown`, with `...` for any number of lines.
fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], _) => printed.is_empty(),
        (["...", shown @ ..], _) => {
            (0..=printed.len()).any(|skipped| matches(shown, &printed[skipped..]))
        }
        ([first, shown @ ..], [line, printed @ ..]) => first == line && matches(shown, printed),
        (_, []) => false,
    }
}

/// Runs the transcripts of one file; returns how many there were.
fn check(file: &Path) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(file).unwrap();
    for (name, text) in files(&text) {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let transcripts = transcripts(&text);
    let ours = transcripts
        .iter()
        .filter_map(|t| Some((t, t.command.strip_prefix("punctual")?)));
    let mut count = 0;
    for (transcript, arguments) in ours {
        let output = punctual(directory.path())
            .args(arguments.split_whitespace())
            .output()
            .unwrap();
        let printed = stdout(&output);
        let shown: Vec<&str> = transcript.shown.iter().map(String::as_str).collect();
        assert!(
            matches(&shown, &printed.lines().collect::<Vec<_>>()),
            "{}: `{}` now prints\n{printed}\n{}",
            file.display(),
            transcript.command,
            String::from_utf8_lossy(&output.stderr),
        );
        count += 1;
    }
    count
}

#[test]
fn transcripts_in_the_documentation_are_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for directory in [root.clone(), root.join("docs")] {
        let files = fs::read_dir(&directory).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let count: usize = files
            .filter(|file| file.extension().is_some_and(|e| e == "md"))
            .map(|file| check(&file))
            .sum();
        let name = directory.display();
        assert!(count > 0, "no file in {name} has a transcript");
    }
}

/// The README shows the first screen of a Run and a figure of it. After a change that is
/// intended: `punctual report` of that Run has both.
#[test]
fn the_readme_shows_what_was_measured() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let measured = root.join("runs/2026-11-23-epyc-kvm-2cpu");
    let run = fs::read_to_string(measured.join("bench.json")).unwrap();
    let run = Run::<Measurement>::from_json(&run).unwrap();
    let answer = punctual_report::verdict(&run).unwrap().text(80);
    assert!(
        readme.contains(&format!("```text\n{answer}```\n")),
        "the README does not have\n{answer}"
    );
    let figures = punctual_report::figures(&run);
    let cost = figures.iter().find(|figure| figure.name == "cost-1000hz");
    let shown = fs::read_to_string(measured.join("figures/cost-1000hz.svg")).unwrap();
    assert!(cost.unwrap().svg == shown, "cost-1000hz.svg differs");
}

#[test]
fn the_study_of_sweeps_is_told_as_it_came_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let summary = read("runs/2026-11-30-xeon-kvm-2cpu/sweep-adaptive.txt");
    let document = read("docs/sweeping.md");
    assert!(
        document.contains(&format!("```text\n{summary}```\n")),
        "docs/sweeping.md does not have\n{summary}"
    );
}

#[test]
fn named_blocks_are_files() {
    let text = "a\n```toml\nb = 1\n```\n```toml c.toml\nd = 1\n\ne = 2\n```\nf\n";
    assert_eq!(files(text), [("c.toml", "d = 1\n\ne = 2")]);
    assert_eq!(files("\n```text a.log\n1\n```\n"), [("a.log", "1")]);
}

#[test]
fn commands_are_found_in_console_blocks_only() {
    let text = "\
$ punctual --no
```sh
$ punctual --no
```
```console
$ punctual --version
punctual 1

$ cargo build
...
```
out
";
    let transcript = |command: &str, shown: &[&str]| Transcript {
        command: command.to_owned(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        transcripts(text),
        [
            transcript("punctual --version", &["punctual 1", ""]),
            transcript("cargo build", &["..."]),
        ]
    );
}

#[test]
fn three_dots_stand_for_any_number_of_lines_and_the_rest_is_exact() {
    let lines = |text: &'static str| text.split_terminator('|').collect::<Vec<_>>();
    for (shown, printed) in [
        ("", ""),
        ("a|b", "a|b"),
        ("...", ""),
        ("...", "a|b"),
        ("...|c", "a|b|c"),
        ("a|...|c|...", "a|c"),
        ("a|...|c|...", "a|b|c|c|d"),
    ] {
        assert!(
            matches(&lines(shown), &lines(printed)),
            "{shown}, {printed}"
        );
    }
    for (shown, printed) in [
        ("", "a"),
        ("a", ""),
        ("a", "a|b"),
        ("a", "a "),
        ("a|...", "b|a"),
        ("...|c", "a|c|b"),
        ("a|...|b|...|c", "a|c|b"),
    ] {
        assert!(
            !matches(&lines(shown), &lines(printed)),
            "{shown}, {printed}"
        );
    }
}

/// The library's page on crates.io begins with the example of the README, which its doc tests run.
#[test]
fn the_readme_begins_with_the_example_of_the_library() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = |name: &str| {
        let text = fs::read_to_string(root.join(name)).unwrap();
        let begin = text.find("```rust\n").unwrap();
        let end = begin + text[begin..].find("```\n").unwrap();
        text[begin..end].to_owned()
    };
    assert_eq!(example("README.md"), example("crates/punctual/README.md"));
}
