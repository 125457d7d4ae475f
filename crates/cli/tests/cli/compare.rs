//! `punctual compare` as its user meets it.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{assert_refused_in, printed, punctual, stderr, stdout};
use punctual_record::Run;
use punctual_zero::rows::{ZeroRow, ZeroedPages, ZeroingRound};
use serde_json::Value;

/// Writes what a strategy does on a model, which is the same every time.
fn bench(directory: &Path, slack: &str, to: &str) {
    let model = format!("linux,slack={slack}");
    let output = punctual(directory)
        .args(["bench", "--quick", "--rate", "60,1000"])
        .args(["--strategy", "system,precise"])
        .args(["--on", &model, "--json", to])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A directory with the runs of two machines.
fn two_runs() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    bench(directory.path(), "50us", "slack.json");
    bench(directory.path(), "1ns", "none.json");
    directory
}

fn compare(directory: &Path, arguments: &[&str]) -> Output {
    punctual(directory)
        .args(["compare", "--full"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn two_machines_stand_side_by_side_with_what_is_published() {
    let directory = two_runs();
    let files = ["slack.json", "none.json"];
    let output = compare(directory.path(), &files);
    assert!(!stdout(&output).contains("published"), "{output:?}");
    let all = [&files[..], &["--published=all"]].concat();
    let output = compare(directory.path(), &all);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    let after = |text: &str, what: &str| -> String {
        let mut lines = text.lines().skip_while(|line| *line != what).skip(1);
        [lines.next().unwrap(), lines.next().unwrap()].join("\n")
    };
    let slack = after(&text, "system, 1000 Hz");
    assert!(slack.contains("58.0 us [58.0..58.1]"), "{text}");
    assert!(
        slack.contains("8.04 us [7.95..8.09]") && slack.contains("lower"),
        "{text}"
    );
    let spun = after(&text, "precise, 1000 Hz");
    assert!(spun.contains("same"), "{text}");
    assert!(text.contains("published 1") && text.contains("the accurate-sleep article (2022)"));
    assert!(
        text.lines()
            .all(|line| line.chars().count() <= 120 && !line.ends_with(' '))
    );
}

#[test]
fn one_machine_stands_beside_what_is_published() {
    let directory = tempfile::tempdir().unwrap();
    let measured = punctual(directory.path())
        .args(["measure", "timers", "--quick", "--on", "linux"])
        .args(["--json", "linux.json"])
        .output();
    assert!(measured.unwrap().status.success());
    let beside = |which| stdout(&compare(directory.path(), &["linux.json", which]));
    let same_os = beside("--published");
    assert!(
        same_os.contains("published 1, Linux") && !same_os.contains("Windows"),
        "{same_os}"
    );
    assert!(beside("--published=all").contains("published 1, Windows"));
}

#[test]
fn rules_decide_how_it_ends() {
    let directory = two_runs();
    let ends = |files: [&str; 2], rules: &[&str]| {
        let rules = rules.iter().flat_map(|rule| ["--fail-if", rule]);
        let arguments: Vec<&str> = files.into_iter().chain(rules).collect();
        let output = compare(directory.path(), &arguments);
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let better = ["slack.json", "none.json"];
    let worse = ["none.json", "slack.json"];

    // The number itself.
    assert_eq!(
        ends(better, &["pace/system@rate=1000: late_p99 > 500us"]).0,
        Some(0)
    );
    let (code, text, _) = ends(worse, &["pace/system@rate=1000: late_p99 > 50us"]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("fails") && text.contains("58.52 us"),
        "{text}"
    );
    assert_eq!(
        ends(better, &["pace/precise@rate=1000: cpu >= 100%"]).0,
        Some(1)
    );
    assert_eq!(ends(better, &["pace/sys*: cpu > 5%"]).0, Some(0));

    // A factor: 58 over 8 us.
    let factor = |files, rule| ends(files, &[rule]).0;
    assert_eq!(factor(worse, "*/system: late_p50 > 1.2x"), Some(1));
    assert_eq!(factor(better, "*/system: late_p50 > 1.2x"), Some(0));
    // The factor is known to a few hundredths.
    let unclear = "pace/system@rate=60: late_p50 > 7.1x";
    let (code, text, _) = ends(worse, &[unclear]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("inconclusive"), "{text}");
    // Too few samples for a percentile.
    assert_eq!(
        factor(better, "pace/system@rate=60: late_p99 > 1s"),
        Some(3)
    );

    // The worst of them counts: 2, then 1, then 3.
    let fails = "*/system: late_p50 > 1ns";
    assert_eq!(ends(better, &[unclear, fails]).0, Some(1));
    assert_eq!(ends(better, &[fails, unclear]).0, Some(1));
    assert_eq!(ends(better, &[fails, "nap: late_p50 > 1ns"]).0, Some(2));
}

#[test]
fn the_first_screen_says_which_rule_fails_and_by_how_much() {
    let directory = two_runs();
    let output = punctual(directory.path())
        .args(["compare", "none.json", "slack.json"])
        .args(["--fail-if", "*/system@rate=1000: late_p50 > 1.2x"])
        .args(["--fail-if", "*/system@rate=1000: late_p50 > 29us"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = stdout(&output).replace('\n', " ");
    for words in [
        "--fail-if judges 2 numbers: 2 fail and 0 are inconclusive.",
        "`*/system@rate=1000: late_p50 > 1.2x` fails for pace system, ",
        " times the first file's, 6.0",
        "`*/system@rate=1000: late_p50 > 29us` fails for pace system, ",
        ": 58.0",
        " us, 2.00",
        " times the limit.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let directory = two_runs();
    fs::write(directory.path().join("text.json"), "not JSON").unwrap();
    fs::write(
        directory.path().join("other.json"),
        r#"{"schema": "other/1"}"#,
    )
    .unwrap();
    fs::write(
        directory.path().join("empty.json"),
        Run::<ZeroRow>::of([]).to_json(),
    )
    .unwrap();
    zeroed(directory.path(), "zero.json", 0.04);
    for (arguments, says) in [
        ("", "--json FILE"),
        (
            "slack.json zero.json",
            "nothing in common: slack.json is of `punctual bench",
        ),
        (
            "zero.json slack.json --fail-if 'late_p50 > 1ms'",
            "nothing in common",
        ),
        ("slack.json empty.json", "give Runs of the same command"),
        ("empty.json empty.json", "nothing in common"),
        ("missing.json", "missing.json"),
        ("slack.json text.json", "text.json"),
        ("other.json", "other/1"),
        ("slack.json --fail-if 'late_p50 > 1.2x'", "second file"),
        ("slack.json --fail-if 'late_p50 < 5us'", "give `>` or `>=`"),
        ("slack.json --fail-if 'late_p50 > 5'", "500us"),
        ("slack.json --fail-if 'late_max > 2x'", "no interval"),
        ("slack.json --fail-if 'speed > 2us'", "late_p50"),
        (
            "slack.json --fail-if 'nap: late_p50 > 1us'",
            "pace/{system, precise}",
        ),
        ("slack.json --fail-if 'step > 1us'", "no step"),
        ("slack.json --json missing/x.json", "missing/x.json"),
        ("slack.json --plots slack.json", "slack.json"),
    ] {
        assert_refused_in(directory.path(), &format!("compare {arguments}"), says);
    }
}

#[test]
fn the_document_and_the_figures_are_written() {
    let directory = two_runs();
    let output = compare(
        directory.path(),
        &[
            "slack.json",
            "none.json",
            "--published=all",
            "--json",
            "both.json",
            "--plots",
            "figures",
            "--fail-if",
            "*/system: late_p50 > 1x",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(directory.path().join("both.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "punctual-comparison/1");
    assert_eq!(value["columns"][1]["label"], "B");
    assert_eq!(value["columns"][1]["file"], "none.json");
    let ratio = &value["rows"][0]["cells"][1]["late_p50_ns"]["over_first"];
    assert_eq!(ratio["verdict"], "lower");
    assert!(ratio["high"].as_f64().unwrap() < 0.2);
    assert_eq!(value["rules"][0]["outcome"], "passes");
    assert!(!value["published"][0]["source"].as_str().unwrap().is_empty());
    let svg = fs::read_to_string(directory.path().join("figures/compare-pace.svg")).unwrap();
    assert!(svg.contains("<svg"));
}

#[test]
fn a_simulation_on_several_models_is_compared_with_itself() {
    let directory = tempfile::tempdir().unwrap();
    let output = punctual(directory.path())
        .args(["simulate", "game-loop", "--on", "linux", "--on", "macos"])
        .args(["--for", "2s", "--json", "game.json"])
        .output()
        .unwrap();
    assert!(directory.path().join("game.json").exists(), "{output:?}");
    let text = printed(&compare(directory.path(), &["game.json"]));
    assert!(
        text.starts_with("A   game.json: linux\n") && text.contains("\nB   game.json: macos\n")
    );
    // A simulation has no rounds.
    assert!(text.contains(" not judged") && !text.contains("] higher"));
    let twice = ["game.json", "game.json"];
    let output = compare(
        directory.path(),
        &[&twice[..], &["--fail-if", "late_p50 > 1.2x"]].concat(),
    );
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(stdout(&output).contains("not judged: that takes six rounds"));
}

/// Writes a Run of a pool of workers that zeroed so much per second of CPU time.
fn zeroed(directory: &Path, to: &str, gb_per_cpu_s: f64) {
    let rounds = (0..6).map(|round| {
        let gb_per_cpu_s = gb_per_cpu_s * (1.0 + 0.01 * f64::from(round));
        ZeroingRound {
            gb_per_cpu_s,
            wall_gb_per_s: 39.0 * gb_per_cpu_s,
        }
    });
    let mut zeroed = ZeroedPages::default();
    zeroed.zero.rounds = rounds.collect();
    let pool = &mut zeroed.pool;
    (pool.threads, pool.batch, pool.memory) = (39, "1".to_owned(), "cold".to_owned());
    let run = Run::of([ZeroRow::pool("tas", zeroed)]);
    fs::write(directory.join(to), run.to_json()).unwrap();
}

#[test]
fn of_what_is_zeroed_more_is_better() {
    let directory = tempfile::tempdir().unwrap();
    zeroed(directory.path(), "spin.json", 0.04);
    zeroed(directory.path(), "queue.json", 0.35);
    let ends = |files: [&str; 2], rule: &str| {
        let output = compare(
            directory.path(),
            &[files[0], files[1], "--published=all", "--fail-if", rule],
        );
        (output.status.code(), stdout(&output))
    };
    let better = ["spin.json", "queue.json"];
    let worse = ["queue.json", "spin.json"];
    let (code, text) = ends(better, "gb_per_cpu_s < 1x");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("higher") && text.contains("More is better"));
    assert!(
        text.contains("0.0406") && text.contains("the page-zeroing article"),
        "{text}"
    );
    for (rule, code) in [
        ("gb_per_cpu_s < 0.9x", 1),
        ("zero-pool/tas@threads=39: wall_gb_per_s <= 20GB/s", 1),
        ("zero-pool: gb_per_cpu_s < 0.01GB/s", 0),
        ("gb_per_cpu_s < 0.1x", 0),
        // Between 0.109 and 0.120 times as much.
        ("gb_per_cpu_s < 0.115x", 3),
    ] {
        let (ended, text) = ends(worse, rule);
        assert_eq!(ended, Some(code), "{rule}: {text}");
    }
    let more = "compare spin.json --fail-if 'gb_per_cpu_s > 1GB/s'";
    assert_refused_in(directory.path(), more, "give `<` or `<=`");
}
