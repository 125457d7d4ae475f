//! `punctual exec --accurate`: waits end when they were asked to end.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::compiled;
use crate::common::{Running, copy_program, punctual, stderr, stdout};

/// Runs a program with waits that end on time.
pub(super) fn accurate(options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = punctual(Path::new("/"));
    command.args(["exec", "--accurate"]).args(options).arg("--");
    command.arg(program).args(arguments).output().unwrap()
}

#[test]
fn no_wait_ends_early_by_any_call() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    for options in [
        &[][..],
        &["--spin", "100%", "--weight", "1000"],
        &["--spin", "0%"],
        &["--only", "sleep", "-q"],
    ] {
        let done = accurate(options, &program, &["early"]);
        assert_eq!(done.status.code(), Some(0), "{options:?}: {done:?}");
    }
}

#[test]
fn each_call_says_what_it_says_natively_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &["-D_FORTIFY_SOURCE=2"]);
    for what in ["calls", "others"] {
        let done = accurate(&[], &program, &[what]);
        assert_eq!(done.status.code(), Some(0), "{what}: {done:?}");
        let said = stderr(&done);
        let has = |words| said.lines().any(|line| line.starts_with(words));
        match what {
            "calls" => assert!(
                has("sleeps: ") && has("timeouts of waits") && has("timeouts of condition"),
                "{said}"
            ),
            _ => assert!(said.contains("ended by an event or a signal"), "{said}"),
        }
    }
    let done = accurate(&["--only", "sleep"], &program, &["calls"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let said = stderr(&done);
    assert!(
        said.starts_with("sleeps: ") && !said.contains("timeouts"),
        "{said}"
    );
}

#[test]
fn an_event_ends_a_wait_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let done = accurate(&[], &program, &["events"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(stderr(&done).contains("were ended by an event"), "{done:?}");
}

#[test]
fn a_notification_ends_a_wait_that_spins() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let options = ["--spin", "100%", "--weight", "10000"];
    let done = accurate(&options, &program, &["notifications"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}

#[test]
fn signals_interrupt_sleeps_and_handlers_may_sleep_too_or_leave() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    for spin in ["5%", "100%"] {
        let done = accurate(&["--spin", spin], &program, &["signals"]);
        assert_eq!(done.status.code(), Some(0), "{spin}: {done:?}");
    }
}

#[test]
fn threads_and_children_wait_on_time_and_are_cancelled_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    for spin in ["5%", "100%"] {
        let done = accurate(&["--spin", spin], &program, &["storm"]);
        assert_eq!(done.status.code(), Some(0), "{spin}: {done:?}");
    }
    let done = accurate(&[], &program, &["children"]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let said = stderr(&done);
    assert!(said.contains("waits of 3 processes spun"), "{said}");
}

#[test]
fn a_process_spins_no_more_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    for (spin, limit) in [(0.0, 0.0), (1.0, 1.0)] {
        let spin = format!("{spin}%");
        let done = accurate(&["--spin", &spin], &program, &["many", "1500"]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let said = stderr(&done);
        let spun = said
            .split("spun for ")
            .nth(1)
            .and_then(|rest| rest.split_once(" %"));
        let spun: f64 = spun.unwrap_or_else(|| panic!("{said}")).0.parse().unwrap();
        // The savings of the second before count too, and the last spin: while others have its CPU it takes longer.
        let most = limit * (1.0 + 1.0 / 1.5) + limit * 0.1 / 1.5 * 100.0;
        assert!(spun <= most, "{spun} % of a CPU, at most {most}: {said}");
    }
}

#[test]
fn what_the_program_returns_passes_through() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let done = accurate(&["-q"], &program, &["exit", "41"]);
    assert_eq!(
        (done.status.code(), stderr(&done)),
        (Some(41), String::new())
    );
    assert_eq!(
        accurate(&["-q"], &program, &["die"]).status.code(),
        Some(137)
    );
    let options = ["--slack", "7us", "--priority", "background", "-q"];
    let both = ["-c", "cat /proc/self/timerslack_ns; nice"];
    let done = accurate(&options, Path::new("/bin/sh"), &both);
    assert_eq!(stdout(&done), "7000\n19\n", "{done:?}");
    let none = accurate(&[], &program, &["exit", "0"]);
    assert!(stderr(&none).contains("as Go does"), "{none:?}");
}

#[test]
fn a_termination_goes_to_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let sleeping = format!("exec --accurate -q -- {} long", program.display());
    let mut running = Running::start(Path::new("/"), &sleeping, Stdio::piped());
    // It says which process it is as soon as it sleeps.
    let mut child = String::new();
    let mut output = BufReader::new(running.0.stdout.take().unwrap());
    output.read_line(&mut child).unwrap();
    running.send("-TERM");
    assert_eq!(running.end().1, Some(143));
    assert!(!Path::new("/proc").join(child.trim()).exists());
}

#[test]
fn what_cannot_wait_on_time_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, "waits", &[]);
    let node = folder.path().join("node");
    copy_program(&program, &node);
    // Nothing is emulated: no table of its calls is needed.
    assert_eq!(
        accurate(&["-q"], &node, &["exit", "7"]).status.code(),
        Some(7)
    );
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    let set_uid = folder.path().join("set-uid");
    copy_program(&program, &set_uid);
    let chmod = Command::new("chmod").arg("u+s").arg(&set_uid).status();
    assert!(chmod.unwrap().success());
    let fixed = compiled(&folder, "static", &["-static"]);
    for (program, code, words) in [
        (&*fixed, 125, "linked statically"),
        (&*set_uid, 125, "set-uid"),
        (Path::new("/no/such"), 127, "no such program"),
        (&*plain, 126, "not executable"),
    ] {
        let done = accurate(&[], program, &["exit", "0"]);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
    }
    for (options, words) in [
        (&["--spin", "5"][..], "from 0% to 100%"),
        (&["--weight", "0"], "0.01 to 10000"),
        (&["--only", "poll"], "sleep"),
        (&["--slack", "0ns"], "slack"),
    ] {
        let done = accurate(options, &program, &["exit", "0"]);
        assert_eq!(done.status.code(), Some(125), "{done:?}");
        assert!(stderr(&done).contains(words), "{done:?}");
    }
    let without = punctual(Path::new("/"))
        .args(["exec", "--spin", "5%", "--", "true"])
        .output();
    assert_eq!(without.unwrap().status.code(), Some(2));
}
