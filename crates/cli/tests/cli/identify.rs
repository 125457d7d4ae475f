//! `punctual identify`.

use std::fs;

use crate::common::{printed, run, stderr, stdout};

/// Sleeps of 10 ms by a clock interrupt every 15.625 ms, with when each ended.
fn windows() -> String {
    let row = |i: u64| format!("10000,{},{}\n", 15_625 + i * 7 % 11, 15_625 * i + i * 3 % 7);
    "asked_us,got_us,ended_us\n".to_owned() + &(1..400).map(row).collect::<String>()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_log_is_named_with_evidence_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("waits.csv"), windows()).unwrap();
    let text = words(&printed(&run(
        folder.path(),
        "identify waits.csv --json run.json",
    )));
    assert!(
        text.contains("These 399 waits look like Windows with a clock interrupt every 15.625 ms."),
        "{text}"
    );
    assert!(text.contains("on a grid of 15.625 ms"), "{text}");
    let json = fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(json.contains("\"outcome\": \"named\""), "{json}");
    // A Run of it is told again as it was.
    printed(&run(folder.path(), "report run.json --output page.html"));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("look like Windows with a clock interrupt"));
}

#[test]
fn what_a_model_makes_is_known_again_and_drawn_beside_the_prediction() {
    let folder = tempfile::tempdir().unwrap();
    let text = words(&printed(&run(
        folder.path(),
        "identify --on macos --plots figures",
    )));
    assert!(
        text.contains("look like macOS with latency tier 1."),
        "{text}"
    );
    let figure = fs::read_to_string(folder.path().join("figures/identity.svg")).unwrap();
    assert!(figure.contains("measured and predicted"), "{figure}");
}

#[test]
fn waits_of_this_computer_are_made_and_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), "identify");
    // Which rule a busy computer shows is not known.
    assert!([Some(0), Some(3)].contains(&output.status.code()));
    assert!(stdout(&output).contains("180 waits"), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn a_command_prints_a_log() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("waits.csv"), windows()).unwrap();
    let text = printed(&run(folder.path(), "identify -- cat waits.csv"));
    assert!(text.contains("Windows"), "{text}");
    for (command, why) in [
        (
            "identify -- nothing-of-that-name",
            "cannot start nothing-of-that-name",
        ),
        ("identify -- false", "printed nothing"),
        ("identify -- echo hello", "it looks like plain text"),
    ] {
        let output = run(folder.path(), command);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(
            stderr(&output).contains(why),
            "{command}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn what_cannot_be_told_is_said_and_is_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("few.csv", "asked_us,got_us\n1000,1058\n");
    write("late.csv", "late_us\n1000\n");
    let output = run(folder.path(), "identify few.csv");
    assert_eq!(output.status.code(), Some(3));
    assert!(
        words(&stdout(&output)).contains("1 of the 40 waits that are needed are in the log"),
        "{}",
        stdout(&output)
    );
    let output = run(folder.path(), "identify late.csv");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("asked_us,got_us"),
        "{}",
        stderr(&output)
    );
    let output = run(folder.path(), "identify few.csv --subject poll");
    assert!(
        stderr(&output).contains("has no waits of `poll`; it has those of waits"),
        "{}",
        stderr(&output)
    );
}
