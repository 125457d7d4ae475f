//! `punctual report` as its user meets it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{printed, punctual, run, stderr, stdout};

fn report(directory: &Path, arguments: &[&str]) -> Output {
    punctual(directory)
        .arg("report")
        .args(arguments)
        .output()
        .unwrap()
}

/// A directory with Runs of both products, of simulated computers.
fn runs() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for line in [
        "bench --quick --on linux --json linux.json",
        "bench --quick --on windows-11 --json windows.json",
        "doctor --on windows-10-2004 --json doctor.json",
        "simulate lowest-request-wins --json requests.json",
        "zero simulate --on cascade-lake-96 --threads 1,8 --size 16MiB --json zero.json",
    ] {
        let output = punctual(directory.path())
            .args(line.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    }
    directory
}

#[test]
fn runs_of_all_products_are_one_page_the_same_each_time() {
    let directory = runs();
    let files = ["doctor.json", "linux.json", "requests.json", "zero.json"];
    let output = report(directory.path(), &files);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stderr(&output), "wrote punctual-report.html\n");
    let html = fs::read_to_string(directory.path().join("punctual-report.html")).unwrap();
    for needed in [
        "<code>punctual report doctor.json linux.json requests.json zero.json</code>",
        "Lateness against CPU time at 60 Hz",
        "The rule in force for this process",
        "The shortest requested timer interval applies to all programs",
        "Where the CPU time",
    ] {
        assert!(html.contains(needed), "{needed}");
    }
    let again = report(directory.path(), &[&files[..], &["--output", "-"]].concat());
    assert_eq!(stdout(&again), html);
    assert_eq!(stderr(&again), "");
    assert!(!html.contains("Side by side"));
}

#[test]
fn what_several_runs_have_in_common_stands_side_by_side() {
    let directory = runs();
    let zoltans = directory.path().join("zoltan");
    fs::create_dir(&zoltans).unwrap();
    fs::rename(
        directory.path().join("linux.json"),
        zoltans.join("linux.json"),
    )
    .unwrap();
    let files = ["zoltan/linux.json", "windows.json"];
    let output = report(directory.path(), &[&files[..], &["--output", "-"]].concat());
    let html = stdout(&output);
    // Nothing private, as folders are named after people.
    assert!(html.contains("punctual report linux.json windows.json") && !html.contains("zoltan"));
    assert!(html.contains("Side by side"), "{html}");
    assert!(html.contains("A   linux.json: ") && html.contains("B   windows.json: "));
}

#[test]
fn what_is_no_run_is_refused_in_a_line_and_nothing_is_touched() {
    let directory = runs();
    let folder = directory.path();
    let whole = fs::read_to_string(folder.join("linux.json")).unwrap();
    fs::write(folder.join("page.html"), "mine").unwrap();
    for (name, text) in [
        ("empty.json", ""),
        ("half.json", &whole[..whole.len() / 2]),
        (
            "old.json",
            &whole.replace("punctual-run/2", "punctual-run/1"),
        ),
        ("other.json", "{\"a\": 1}"),
        (
            "huge.json",
            &whole.replacen("adaptive", &"adaptive".repeat(1_300_000), 1),
        ),
    ] {
        fs::write(folder.join(name), text).unwrap();
        let output = report(folder, &["linux.json", name, "--output", "page.html"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = stderr(&output);
        assert!(said.starts_with(&format!("error: {name}: ")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let output = report(folder, &["missing.json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = report(folder, &["linux.json", "--output", "-", "--open"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(
        fs::read_to_string(folder.join("page.html")).unwrap(),
        "mine"
    );
}

/// As the desktop would open it.
#[cfg(target_os = "linux")]
#[test]
fn a_page_is_opened_whatever_its_name() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    printed(&run(folder, "doctor --on linux --json run.json"));
    let opened = folder.join("opened");
    let made = Command::new("mkfifo").arg(&opened).status();
    assert!(made.unwrap().success());
    let opens = folder.join("opens.sh");
    fs::write(
        &opens,
        format!("#!/bin/sh\necho \"$1\" >'{}'\n", opened.display()),
    )
    .unwrap();
    fs::set_permissions(&opens, fs::Permissions::from_mode(0o755)).unwrap();
    crate::common::copy_program(&opens, &folder.join("xdg-open"));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let output = punctual(folder)
        .env("PATH", path)
        .args(["report", "run.json", "--output=-a:b.html", "--open"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // Until it has been asked to.
    let opened = fs::read_to_string(opened).unwrap();
    let page = fs::canonicalize(folder).unwrap().join("-a:b.html");
    assert_eq!(opened.trim_end(), page.display().to_string());
    assert!(page.is_file());
}
