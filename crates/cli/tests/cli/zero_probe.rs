//! `punctual zero probe` as its user meets it, with little memory and few iterations. Durations
//! are not tested here.

use std::path::Path;
use std::process::Output;

use crate::common::{self, punctual, run, stderr, stdout};
use crate::schema;
use punctual_record::{Run, RunRow};
use punctual_zero::rows::ZeroRow;

fn probe(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("zero probe {arguments} --full"))
}

/// Its output, and the Run that it writes with `--json`.
fn probed(arguments: &str) -> (String, Run<ZeroRow>) {
    let directory = tempfile::tempdir().unwrap();
    let arguments = format!("{arguments} --memory-limit 8MiB --json run.json");
    let output = probe(directory.path(), &arguments);
    assert!(output.status.success(), "{arguments}: {output:?}");
    let json = std::fs::read_to_string(directory.path().join("run.json")).unwrap();
    let text = stdout(&output);
    for line in text.lines() {
        assert!(line.len() <= 120 && line.trim_end() == line, "{line}");
    }
    (text, schema::read_zero(&json))
}

fn assert_refused(arguments: &str, words: &str) {
    common::assert_refused(&format!("zero probe {arguments} --full"), words);
}

fn of_part<'r>(run: &'r Run<ZeroRow>, part: &str) -> Vec<&'r ZeroRow> {
    let results = run.results.iter();
    results.filter(|m| m.params()["part"] == part).collect()
}

fn find<'r>(run: &'r Run<ZeroRow>, part: &str, subject: &str) -> &'r ZeroRow {
    let mut found = of_part(run, part).into_iter();
    let found = found.find(|m| m.subject == subject);
    found.unwrap_or_else(|| panic!("no {subject} in {part}"))
}

#[test]
fn a_quick_probe_measures_every_part() {
    let (text, run) = probed("--quick --iterations 200");
    for title in [
        "zero probe, warm-up: ",
        "zero probe, pages: ordinary pages",
        "zero probe, blocks: ",
        "zero probe, processes: ",
        "zero probe, payers: ",
        "zero probe: what fresh memory costs",
    ] {
        assert!(text.contains(title), "{title}\n{text}");
    }
    assert!(run.results.iter().all(|m| m.experiment() == "zero-probe"));
    for m in of_part(&run, "pages")
        .into_iter()
        .chain(of_part(&run, "blocks"))
    {
        let cost = m.page_cost().unwrap();
        assert_eq!(cost.rounds.len(), 3, "{}", m.subject);
    }
    for m in of_part(&run, "payers") {
        assert_eq!(m.account().unwrap().rounds.len(), 1);
    }
    assert_eq!(run.beside.memory_limit_bytes, Some(8 << 20));
    assert!(run.machine.other.contains_key("allocator"));
    let largest = of_part(&run, "blocks").into_iter();
    let largest = largest.filter_map(|m| m.params()["bytes"].as_u64()).max();
    assert_eq!(largest, Some(4 << 20));
}

#[test]
fn two_processes_fill_every_page_that_they_get() {
    let (text, run) = probed("processes --rounds 2 --iterations 300");
    let m = find(&run, "processes", "zeropage-test");
    assert_eq!(m.params()["iterations"], 300);
    assert_eq!(m.params()["processes"], 2);
    let account = m.account().unwrap();
    assert_eq!(account.rounds.len(), 2);
    for round in &account.rounds {
        assert_eq!(round.bytes, 2 * 300 * 4096);
        assert!(round.wall_ns > 0);
        if cfg!(target_os = "linux") {
            // Pages of the system may be larger than what is filled.
            let faults = round.children.unwrap().faults.unwrap();
            assert!(faults >= 2 * 300, "{faults}");
        }
    }
    assert!(text.contains("2 x 300"), "{text}");
    assert!(text.contains("162"), "the article's is beside it: {text}");
    // Parts that were not requested are absent.
    assert!(of_part(&run, "pages").is_empty() && of_part(&run, "payers").is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn faults_of_fresh_memory_are_counted() {
    let (_, run) = probed("pages blocks --rounds 1 --quick");
    for (part, subject) in [
        ("warm-up", "ordinary-pages"),
        ("pages", "touch-forward"),
        ("pages", "touch-backward"),
        ("pages", "touch-random"),
        ("pages", "touch-read"),
        ("blocks", "fresh"),
    ] {
        let cost = find(&run, part, subject).page_cost().unwrap();
        let round = cost.rounds[0];
        let pages = round.pages * 4096 / run.machine.other["page_bytes"].as_u64().unwrap();
        assert!(round.faults.unwrap() >= pages, "{subject}: {round:?}");
        assert!(cost.cpu_ns_per_page.is_some(), "{subject}");
    }
    let again = find(&run, "pages", "touch-again").page_cost().unwrap();
    assert!(again.faults_per_page.unwrap() < 0.1);
}

#[test]
fn figures_are_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "pages blocks --quick --rounds 1 --memory-limit 4MiB --plots figures";
    let output = probe(directory.path(), arguments);
    assert!(output.status.success(), "{output:?}");
    for name in ["zero-probe-pages.svg", "zero-probe-blocks.svg"] {
        let svg = std::fs::read_to_string(directory.path().join("figures").join(name)).unwrap();
        assert!(svg.starts_with("<svg "), "{name}");
    }
}

#[test]
fn it_says_what_it_is_about_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let output = probe(
        directory.path(),
        "blocks --quick --rounds 1 --memory-limit 4MiB",
    );
    let announced = stderr(&output);
    assert!(
        announced.contains("touches 4 MiB once before it measures"),
        "{announced}"
    );
    assert!(
        announced.contains("6 runs in 1 round, about "),
        "{announced}"
    );
}

#[test]
fn bad_input_is_one_line_that_says_what_to_do() {
    for (arguments, words) in [
        ("--iterations 0", "whole number from 1"),
        ("--iterations -5", "whole number from 1"),
        ("--rounds 0", "1 to 1000"),
        ("--memory-limit 0", "such as 512MiB"),
        ("--memory-limit lots", "such as 512MiB"),
        ("--memory-limit 4096", "too little to measure anything"),
        ("--memory-limit 7999TiB", "are free: give less"),
        ("--memory-limit 99999TiB", "7PiB at most"),
        ("pages pages", "named twice"),
        ("pages --iterations 5", "--iterations is for `processes`"),
        ("cages", "'cages'"),
        ("--json /", "name a file"),
    ] {
        assert_refused(arguments, words);
    }
}

/// A process that may not have as much as the computer has.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_not_to_be_had_is_one_line_too() {
    use std::process::Command;

    // 1 GiB is more than it may have, and less than is free on any computer that
    // builds this.
    let limited =
        "ulimit -v 1000000 && exec \"$0\" zero probe pages --memory-limit 1GiB --quick --rounds 1";
    let run = |limited: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", limited, env!("CARGO_BIN_EXE_punctual")]);
        shell.output().unwrap()
    };
    assert!(run(limited).status.success(), "64 MiB are enough");
    let output = run(&limited.replace("pages", "blocks").replace("--quick ", ""));
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let error = stderr.lines().last().unwrap();
    assert!(
        error.contains("give a smaller --memory-limit: mapping"),
        "{stderr}"
    );
}

/// Its child processes end with it, also when it is killed.
#[cfg(unix)]
#[test]
fn a_probe_that_is_killed_leaves_no_process_behind() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;

    let directory = tempfile::tempdir().unwrap();
    let mut process = punctual(directory.path())
        .arg("run-pages")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    writeln!(input, "{{\"iterations\": {}}}", u64::MAX).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "\n");
    writeln!(input).unwrap();
    // As when the holder of the other end is gone: it would continue for centuries.
    drop(input);
    line.clear();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("\"iterations\":"), "{line}");
    assert!(process.wait().unwrap().success());
}

/// Ctrl-C keeps what was measured, whatever is measured, and ends the warm-up too.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_measured() {
    use crate::common::Running;
    use std::process::Stdio;

    for (command, said) in [
        (
            "processes --rounds 1 --iterations 1000000000000 --memory-limit 4MiB",
            " runs in ",
        ),
        ("blocks --rounds 1000 --memory-limit 64MiB", " runs in "),
        ("payers --rounds 1000 --memory-limit 4MiB", " runs in "),
        ("pages --rounds 1000 --memory-limit 8MiB", "touches"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let command = format!("zero probe {command} --json run.json");
        let mut running = Running::start(directory.path(), &command, Stdio::piped());
        running.until_it_says(said);
        running.send("-INT");
        let (text, code) = running.end();
        assert_eq!(code, Some(3), "{text}");
        assert!(schema::read_zero_file(directory.path().join("run.json")).interrupted);
        assert!(text.contains("ended before its end"), "{text}");
    }
}
