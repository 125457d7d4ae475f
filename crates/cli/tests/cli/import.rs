//! `punctual import`, and the commands that read logs of other programs.

use std::fs;
use std::path::Path;

use crate::common::{printed, run, stderr, stdout};

/// 10,000 waits every 1 ms, of which two were later than 5 us.
const HISTOGRAM: &str = "\
T: 0 (  811) P:80 I:1000 C:  10000 Min:      1 Act:    2 Avg:    2 Max:      40
# Histogram
000001 004000
000002 005900
000003 000090
000004 000008
# Total: 000009998
# Min Latencies: 00001
# Avg Latencies: 00002
# Max Latencies: 00040
# Histogram Overflows: 00002
";

/// Makes a log of `n` waits of 1 ms.
fn pairs(n: u64) -> String {
    let row = |i: u64| format!("1000,{}\n", 1_055 + i * 7 % 20);
    "asked_us,got_us\n".to_owned() + &(0..n).map(row).collect::<String>()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("cyclictest.txt", HISTOGRAM);
    write("waits.csv", &pairs(2_000));
    write("frames.csv", "frame_ms\n16.6\n16.7\n33.4\n");
    write("words.txt", "hello\n");
    folder
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_log_is_told_on_a_screen_and_written_as_a_run() {
    let folder = folder();
    let text = words(&printed(&run(
        folder.path(),
        "import cyclictest.txt --json run.json",
    )));
    let says = "10000 waits in this cyclictest histogram: 2.00 us late in the median, 2.00 us at p99, 3.00 us at p99.9, \
                40.0 us at most.";
    assert!(text.contains(says), "{text}");
    assert!(
        text.contains("2 waits lay beyond its histogram, which ends at 4 us"),
        "{text}"
    );
    // The Run says the same as the log.
    let of = |file: &str| {
        printed(&run(
            folder.path(),
            &format!("import cyclictest.txt --full {file}"),
        ))
    };
    let page = |file: &str| {
        printed(&run(
            folder.path(),
            &format!("report {file} --output {file}.html"),
        ));
        fs::read_to_string(folder.path().join(format!("{file}.html"))).unwrap()
    };
    assert!(of("").contains("log: lateness of deadlines"));
    for file in ["cyclictest.txt", "run.json"] {
        assert!(
            page(file).contains("10000 waits in this cyclictest histogram"),
            "{file}"
        );
    }
}

#[test]
fn a_log_of_cyclictest_stands_beside_a_watch() {
    let folder = folder();
    let watch = "watch --for 50ms --quiet --json watch.json";
    assert!(
        matches!(run(folder.path(), watch).status.code(), Some(0)),
        "{watch}"
    );
    let text = printed(&run(
        folder.path(),
        "compare cyclictest.txt watch.json --full",
    ));
    assert!(text.contains("cyclictest / "), "{text}");
    assert!(text.contains("p50 over A's"), "{text}");
    // A log that does not say how far its deadlines are apart stands beside any watch.
    let (_, quiet) = HISTOGRAM.split_once('\n').unwrap();
    fs::write(folder.path().join("quiet.txt"), quiet).unwrap();
    printed(&run(folder.path(), "compare quiet.txt watch.json"));
    let other = HISTOGRAM.replace("I:1000", "I:300");
    fs::write(folder.path().join("other.txt"), other).unwrap();
    let output = run(folder.path(), "compare other.txt watch.json");
    assert!(
        stderr(&output).contains("nothing in common"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn rules_judge_logs_and_know_what_they_do_not_tell() {
    let folder = folder();
    for (rule, code) in [
        ("late_p99 > 1us", 1),
        ("late_p99 > 5us", 0),
        ("late > 3us at most 1 %", 0),
        ("late > 3us at most 5", 1),
        // Two were later than that, and how late is not known.
        ("late > 100us at most 1 %", 3),
    ] {
        let output = run(
            folder.path(),
            &format!("compare cyclictest.txt --fail-if '{rule}'"),
        );
        assert_eq!(
            output.status.code(),
            Some(code),
            "{rule}: {}",
            stdout(&output)
        );
    }
    let output = run(
        folder.path(),
        "compare cyclictest.txt --fail-if 'missed > 0'",
    );
    assert!(
        stderr(&output).contains("no missed to judge"),
        "{}",
        stderr(&output)
    );
    let output = run(
        folder.path(),
        "compare frames.csv --fail-if 'length_max > 20ms'",
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_log_is_replayed_where_it_has_the_lateness_of_each_wait() {
    let folder = folder();
    let text = printed(&run(
        folder.path(),
        "bench --quick --rounds 1 --rate 100 --strategy system --on recorded,file=waits.csv",
    ));
    assert!(text.contains("recorded"), "{text}");
    let output = run(folder.path(), "bench --on recorded,file=cyclictest.txt");
    assert!(
        stderr(&output).contains("2 of the waits of `cyclictest` lie beyond its histogram"),
        "{}",
        stderr(&output)
    );
    fs::write(
        folder.path().join("whole.txt"),
        HISTOGRAM.replace("Overflows: 00002", "Overflows: 00000"),
    )
    .unwrap();
    printed(&run(
        folder.path(),
        "bench --quick --rounds 1 --rate 100 --strategy system --on recorded,file=whole.txt",
    ));
}

#[test]
fn several_logs_are_one_run_with_the_names_of_the_files() {
    let folder = folder();
    printed(&run(
        folder.path(),
        "import waits.csv frames.csv --json run.json",
    ));
    let json = fs::read_to_string(folder.path().join("run.json")).unwrap();
    for subject in ["waits.csv: waits", "frames.csv: frames"] {
        assert!(
            json.contains(&format!("\"subject\": \"{subject}\"")),
            "{subject}"
        );
    }
}

#[test]
fn what_is_no_log_is_refused_in_a_line() {
    let folder = folder();
    for command in [
        "import words.txt",
        "compare words.txt",
        "report words.txt",
        "doctor words.txt",
        "bench --on recorded,file=words.txt",
    ] {
        let output = run(folder.path(), command);
        let why = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(
            why.contains("it looks like plain text. Read are Runs of punctual"),
            "{command}: {why}"
        );
        assert_eq!(why.lines().count(), 1, "{why}");
    }
    assert_no_page(folder.path());
}

fn assert_no_page(folder: &Path) {
    assert!(!folder.join("punctual-report.html").exists());
}
