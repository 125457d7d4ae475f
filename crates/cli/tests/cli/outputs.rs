//! Outputs that are no files, and files that others have made; inputs from a pipe.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{assert_refused, assert_refused_in, printed, punctual, stderr};
use punctual_record::{Measurement, Run};
use punctual_zero::rows::ZeroRow;

const BENCH: &str = "bench --on linux --rate 60 --strategy system";

fn run(directory: &Path, arguments: &str) -> Output {
    with_input(directory, arguments, "")
}

fn with_input(directory: &Path, arguments: &str, input: &str) -> Output {
    let mut child = punctual(directory)
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Input that is refused before it is read is not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn is_run(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap();
    Run::<Measurement>::from_json(text).is_ok() || Run::<ZeroRow>::from_json(text).is_ok()
}

#[test]
fn a_dash_is_standard_output_and_the_report_makes_room() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &format!("{BENCH} --json -"),
        "doctor --quick --on linux --share -",
        "zero simulate --on cascade-lake-96 --threads 2 --size 1MiB --json -",
        "watch --for 20ms --json -",
    ] {
        let output = run(directory.path(), arguments);
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert!(is_run(&output.stdout), "{arguments}: {output:?}");
        let stderr = stderr(&output);
        assert!(stderr.contains("punctual "), "{arguments}: {stderr}");
    }
    let scenario = "simulate game-loop --on linux --for 100ms";
    let output = run(directory.path(), &format!("{scenario} --trace -"));
    let trace: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(trace["traceEvents"].is_array());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_refused(&format!("{scenario} --trace - --json -"), "two outputs");
    assert_refused(&format!("{BENCH} --plots -"), "several files");
}

#[test]
fn a_dash_is_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let json = run(directory, &format!("{BENCH} --json -")).stdout;
    let json = String::from_utf8(json).unwrap();
    let text = printed(&with_input(
        directory,
        "compare --full -",
        &format!("\u{feff}{json}"),
    ));
    assert!(text.contains("standard input"), "{text}");
    // As PowerShell writes what a command prints.
    let utf_16: Vec<u8> = format!("\u{feff}{json}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let file = directory.join("run.json");
    fs::write(&file, utf_16).unwrap();
    let said = printed(&with_input(directory, "compare --full run.json", ""));
    assert!(said.contains("run.json"), "{said}");
    fs::remove_file(&file).unwrap();
    let replay = "bench --rate 60 --strategy system --on recorded,file=-";
    let output = with_input(directory, replay, &json);
    assert!(output.status.success(), "{output:?}");
    let output = with_input(directory, "simulate -", SCENARIO);
    let answer = printed(&output);
    assert!(
        answer.contains("punctual simulate - --explain p:10"),
        "{answer}"
    );
    let output = with_input(directory, "simulate -", "title = 5");
    assert!(
        stderr(&output).contains("standard input, line 1"),
        "{output:?}"
    );
    let output = with_input(directory, "compare - -", &json);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("two inputs"), "{output:?}");
}

/// A plan of a sweep that takes no time.
const PLAN: &str = r#"
title = "a small plan"
on = ["linux"]
strategies = ["spin", "fixed-margin"]
waits = ["500Hz"]
count = 20
seeds = 1
"#;

const SCENARIO: &str = r#"
title = "a small scenario"
on = ["linux"]

[[phase]]
name = "all"
for = "10ms"

[[process]]
name = "p"
do = [{ loop = [{ sleep = "1ms" }] }]
"#;

#[test]
fn no_output_replaces_an_input() {
    let directory = tempfile::tempdir().unwrap();
    let there = |name: &str| directory.path().join(name);
    let json = run(directory.path(), &format!("{BENCH} --json -")).stdout;
    fs::write(there("a.json"), &json).unwrap();
    fs::write(there("b.json"), &json).unwrap();
    fs::write(there("own.toml"), PLAN).unwrap();
    fs::create_dir(there("folder")).unwrap();
    fs::write(there("s.toml"), SCENARIO).unwrap();
    let matrix = format!("{}\n", vec!["50"; 96].join(",")).repeat(96);
    fs::write(there("96.csv"), matrix).unwrap();
    let zero = "zero simulate --on cascade-lake-96 --threads 2 --lock tas --size 1MiB --matrix";
    for (arguments, input) in [
        ("report a.json -o a.json", "a.json"),
        ("report a.json b.json --output ./b.json", "b.json"),
        ("report b.json -o folder/../b.json", "b.json"),
        ("compare a.json b.json --json b.json", "b.json"),
        ("bench --on recorded,file=a.json --json a.json", "a.json"),
        ("simulate s.toml --json s.toml", "s.toml"),
        ("simulate s.toml --trace s.toml", "s.toml"),
        (&format!("{zero} 96.csv --json 96.csv"), "96.csv"),
    ] {
        let words = format!("replace the input {input}; name another file");
        assert_refused_in(directory.path(), arguments, &words);
    }
    let same = "doctor --on linux --json a.json --share folder/../a.json";
    assert_refused_in(directory.path(), same, "two outputs go to that file");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.json", there("link")).unwrap();
        fs::hard_link(there("a.json"), there("hard")).unwrap();
        for (input, output) in [("a.json", "link"), ("link", "a.json"), ("hard", "a.json")] {
            let words = format!("replace the input {input}; name another file");
            let arguments = format!("report {input} --output {output}");
            assert_refused_in(directory.path(), &arguments, &words);
        }
        let mut command = punctual(directory.path());
        let command = command.args(["report", "-", "-o", "a.json"]);
        let output = command
            .stdin(fs::File::open(there("a.json")).unwrap())
            .output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(fs::read(there("a.json")).unwrap(), json);
    }
    let rows = "sweep own.toml --out a.json";
    assert_refused_in(directory.path(), rows, "cannot write rows into a.json");
    assert_refused("man file", "cannot write manual pages into file");
    // A sweep chooses the names of its files.
    fs::rename(there("own.toml"), there("folder/cells.csv")).unwrap();
    let output = run(directory.path(), "sweep folder/cells.csv --out folder");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(fs::read_to_string(there("folder/cells.csv")).unwrap(), PLAN);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    fn is_link(path: &Path) -> bool {
        fs::symlink_metadata(path).unwrap().is_symlink()
    }

    /// As root, `--json /dev/stdout` would replace that for the whole computer.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_to_standard_output_stays_and_what_it_leads_to_gets_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("stdout");
        symlink("/proc/self/fd/1", &link).unwrap();
        let output = run(directory.path(), &format!("{BENCH} --json stdout"));
        assert!(output.status.success(), "{output:?}");
        assert!(is_link(&link));
        assert!(is_run(&output.stdout), "{output:?}");
        assert!(stderr(&output).contains("machine"), "{output:?}");

        symlink("/proc/self/fd/2", directory.path().join("stderr")).unwrap();
        let output = run(directory.path(), &format!("{BENCH} --json stderr"));
        let stderr = stderr(&output);
        let json = &stderr[stderr.find("{\n").unwrap()..];
        assert!(is_run(json.as_bytes()), "{stderr}");
        assert!(is_link(&directory.path().join("stderr")));
    }

    #[test]
    fn a_named_pipe_gets_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut text = vec![];
                let read = fs::File::open(pipe).unwrap().read_to_end(&mut text);
                read.map(|_| text)
            })
        };
        let output = run(directory.path(), &format!("{BENCH} --json pipe"));
        assert!(output.status.success(), "{output:?}");
        assert!(is_run(&reader.join().unwrap().unwrap()));
        assert!(!fs::metadata(pipe).unwrap().is_file());
    }

    #[test]
    fn what_is_replaced_keeps_its_links_and_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let there = |name: &str| directory.path().join(name);
        let bench = |to: &str| run(directory.path(), &format!("{BENCH} --json {to}"));
        fs::create_dir(there("runs")).unwrap();
        symlink("runs/new.json", there("link")).unwrap();
        symlink("nowhere/new.json", there("lost")).unwrap();
        assert!(bench("link").status.success());
        assert!(is_link(&there("link")) && is_run(&fs::read(there("runs/new.json")).unwrap()));
        assert!(stderr(&bench("lost")).contains("name a file in a directory"));

        let file = there("runs/new.json");
        for mode in [0o600, 0o664] {
            fs::write(&file, "before").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert!(bench("link").status.success());
            assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, mode);
        }
        // Also by root, who may write to it.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        let before = fs::read(&file).unwrap();
        let output = bench("link");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("read-only"), "{output:?}");
        assert!(output.stdout.is_empty() && before == fs::read(&file).unwrap());
        assert!(is_link(&there("link")));
    }
}
