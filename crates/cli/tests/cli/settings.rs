//! The commands that change something of this computer bring it back, however
//! they end.

use std::process::Output;

use crate::common::{self, assert_refused, printed, stdout};

fn run(arguments: &str) -> Output {
    common::run(tempfile::tempdir().unwrap().path(), arguments)
}

#[test]
fn every_action_says_how_long_it_takes_and_how_it_ends() {
    for (command, says) in [
        ("slack", &["until Ctrl-C", "28 s", "SIGTERM"][..]),
        ("resolution", &["until Ctrl-C", "60 s"][..]),
        ("exec", &["takes the place of punctual", "ulimit -r"][..]),
    ] {
        let help = printed(&run(&format!("{command} --help")));
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for says in says {
            assert!(words.contains(says), "{command}, {says}: {help}");
        }
        assert!(help.lines().all(|line| line == line.trim_end()), "{help}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let (no_process, not_a_length) = ("give the number of a process", "is not a length of time");
    // Systems without timer intervals say that first.
    let order = match cfg!(windows) {
        true => "--from",
        false => "has no timer interval",
    };
    for (arguments, words) in [
        ("slack hold soon", not_a_length),
        ("slack show --pid 0", no_process),
        ("slack show --pid -3", no_process),
        ("slack cycle --each long", not_a_length),
        ("slack cycle --each 0s", "longer than nothing"),
        ("slack hold 1ns --for 0s", "longer than nothing"),
        ("resolution hold 1", not_a_length),
        ("resolution cycle --from 3ms --to 2ms", order),
        ("exec --slack 1ns", "<COMMAND>"),
        (
            "exec --priority urgent -- true",
            "there is no priority `urgent`",
        ),
        ("exec --slack 0ns -- true", "slack"),
    ] {
        assert_refused(arguments, words);
    }
    assert_refused(
        "exec -- true",
        "add --slack LENGTH, --priority P, or --accurate",
    );
}

/// The names of the calls differ, so what one system lacks is told by what it
/// has instead.
#[test]
fn where_there_is_nothing_to_set_it_says_what_there_is() {
    for (command, there, instead) in [
        ("resolution show", cfg!(windows), "punctual"),
        ("slack show", cfg!(target_os = "linux"), "punctual"),
        ("slack hold 1ns", cfg!(target_os = "linux"), "punctual"),
        (
            "exec --slack 1ns -- true",
            cfg!(target_os = "linux"),
            "Linux",
        ),
    ] {
        if !there {
            assert_refused(command, instead);
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::common::Running;
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    const STEPS_NS: [u64; 7] = [
        1, 50_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000,
    ];

    /// A process of the test's own, which does nothing. It ends with the test.
    fn idler() -> Running {
        Running(Command::new("sleep").arg("600").spawn().unwrap())
    }

    /// `None` for a user who must not look.
    fn slack_ns(of: &Running) -> Option<u64> {
        let path = format!("/proc/{}/timerslack_ns", of.0.id());
        let text = fs::read_to_string(path).ok()?;
        Some(text.trim().parse().unwrap())
    }

    /// Starts `punctual`, and returns it with what it prints.
    fn start(arguments: &str) -> (Running, impl Iterator<Item = String> + use<>) {
        let directory = tempfile::tempdir().unwrap();
        let mut running = Running::start(directory.path(), arguments, Stdio::piped());
        let lines = BufReader::new(running.0.stdout.take().unwrap());
        (running, lines.lines().map(Result::unwrap))
    }

    /// Only a privileged user may change another process; others are told how.
    fn may_change(idler: &Running) -> bool {
        if slack_ns(idler).is_some() {
            return true;
        }
        let hold = format!("slack hold 1ns --pid {}", idler.0.id());
        assert_refused(&hold, "run as root");
        false
    }

    /// The main thread, whose slack is held, would wait for a year.
    #[test]
    fn a_hold_ends_in_time_whatever_slack_it_holds() {
        let output = run("slack hold 31536000s --for 100ms");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }

    #[test]
    fn show_tells_what_the_kernel_tells() {
        let output = run("slack show");
        assert!(output.status.success(), "{output:?}");
        let idler = idler();
        if let Some(ns) = slack_ns(&idler) {
            let output = run(&format!("slack show --pid {}", idler.0.id()));
            let text = stdout(&output);
            let slack = punctual_core::Nanos::new(ns);
            let said = format!("may end up to {slack} later than asked");
            let thread = format!("1 thread, number {}", idler.0.id());
            let text = text.replace('\n', " ");
            assert!(text.contains(&said) && text.contains(&thread), "{text}");
        }
    }

    #[test]
    fn termination_ends_a_hold_and_brings_back_what_was() {
        let idler = idler();
        if !may_change(&idler) {
            return;
        }
        let before = slack_ns(&idler);
        let (mut running, mut lines) = start(&format!("slack hold 3ms --pid {}", idler.0.id()));
        let line = lines.next().unwrap();
        assert!(
            line.starts_with("asked 3 ms, granted for 1 of 1 thread of process"),
            "{line}"
        );
        assert_eq!(slack_ns(&idler), Some(3_000_000));
        running.send("-TERM");
        assert_eq!(running.end().1, Some(0));
        assert_eq!(slack_ns(&idler), before);
    }

    #[test]
    fn a_hold_that_is_cut_short_says_so() {
        let (mut running, mut lines) = start("slack hold 1ns --for 600s");
        let line = lines.next().unwrap();
        assert!(
            line.contains("of punctual itself") && line.contains("for 600 s"),
            "{line}"
        );
        running.send("-TERM");
        assert_eq!(running.end().1, Some(3));
        let output = run("slack hold 1ns --for 1ms");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }

    #[test]
    fn a_cycle_is_seen_from_outside_and_leaves_nothing() {
        let idler = idler();
        if !may_change(&idler) {
            return;
        }
        let before = slack_ns(&idler);
        let (mut running, lines) =
            start(&format!("slack cycle --pid {} --each 100ms", idler.0.id()));
        let mut seen = vec![before.unwrap()];
        while running.0.try_wait().unwrap().is_none() {
            let now = slack_ns(&idler).unwrap();
            if *seen.last().unwrap() != now {
                seen.push(now);
            }
        }
        assert_eq!(running.end().1, Some(0));
        assert_eq!(slack_ns(&idler), before);
        let granted = lines.filter(|line| line.contains("granted for 1 of 1 thread"));
        assert_eq!(granted.count(), STEPS_NS.len());
        // The observed steps depend on the time of looking, but their order does not.
        let mut steps = STEPS_NS.iter();
        let of_cycle = seen.iter().skip(1).filter(|seen| Some(**seen) != before);
        let of_cycle: Vec<_> = of_cycle.collect();
        assert!(
            of_cycle.iter().all(|seen| steps.any(|step| step == *seen)),
            "{seen:?}"
        );
        assert!(of_cycle.len() >= 2, "{seen:?}");
    }

    #[test]
    fn termination_ends_a_cycle_and_brings_back_what_was() {
        let idler = idler();
        if !may_change(&idler) {
            return;
        }
        let before = slack_ns(&idler);
        let (mut running, mut lines) =
            start(&format!("slack cycle --pid {} --each 600s", idler.0.id()));
        let line = lines.nth(1).unwrap();
        assert!(
            line.starts_with("asked 1 ns, granted for 1 of 1 thread"),
            "{line}"
        );
        assert_eq!(slack_ns(&idler), Some(1));
        running.send("-TERM");
        assert_eq!(running.end().1, Some(3));
        assert_eq!(slack_ns(&idler), before);
    }

    #[test]
    fn a_program_is_started_with_its_slack_and_priority() {
        let output = run("exec --slack 1ns -- cat /proc/self/timerslack_ns");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{output:?}");
        let output = run("exec --slack 7us --priority background -- nice");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "19\n",
            "{output:?}"
        );
        let output = run("exec --slack 1ns false");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }

    /// A thread that was real-time for a while, as cyclictest tries out, goes
    /// back to its default.
    #[test]
    fn a_program_is_started_with_its_slack_as_its_default_too() {
        use std::io::{Read, Write};
        use std::process::{Command, Stdio};

        use punctual_core::Nanos;
        use punctual_program::Probe;
        use punctual_program::Setting;
        use punctual_program::machine::ThreadObservations;
        use punctual_program::program::{Op, Program};

        let back_to_the_default = Program::from(vec![
            Op::Set(Setting::Slack(Nanos::ZERO)),
            Op::Read(Probe::Slack),
        ]);
        let start = serde_json::json!({
            "name": "",
            "program": back_to_the_default,
            "phase": 0,
            "cpus": [],
        });
        let this = env!("CARGO_BIN_EXE_punctual");
        let mut child = Command::new(this)
            .args(["exec", "--slack", "7us", "--", this, "run-program"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{start}\n1").unwrap();
        let mut text = String::new();
        let mut output = child.stdout.take().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success());
        let answer: Result<Vec<ThreadObservations>, String> = serde_json::from_str(&text).unwrap();
        let readings = &answer.unwrap()[0].sections[0].readings;
        assert_eq!(readings[0].value, Nanos::from_us(7));
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let missing = "exec --slack 1ns -- punctual-is-no-program";
        assert_refused(missing, "`punctual-is-no-program`");
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        assert_refused("slack show --pid 4294967295", "no process 4294967295");
    }
}

#[cfg(windows)]
mod windows {
    use super::*;

    fn under_wine() -> bool {
        std::env::var_os("PUNCTUAL_UNDER_WINE").is_some()
    }

    #[test]
    fn show_names_wine_and_claims_nothing_for_it() {
        let text = printed(&run("resolution show"));
        assert!(
            text.contains("coarsest") && text.contains("15.625 ms"),
            "{text}"
        );
        assert_eq!(
            text.contains("This is Wine ") && text.contains("answer is constant"),
            under_wine(),
            "{text}"
        );
    }

    #[test]
    fn hold_says_what_was_granted() {
        let text = printed(&run("resolution hold 5ms --for 1ms"));
        assert!(text.starts_with("asked 5 ms, granted "), "{text}");
        assert_refused("resolution hold 40ms --for 1ms", "15.625 ms");
    }

    /// Wine says that 1 ms is in force, so nothing above it can be seen.
    #[test]
    fn a_cycle_names_the_rows_that_cannot_be_seen() {
        let output = run("resolution cycle --to 3ms --each 1ms");
        let text = stdout(&output);
        let rows = text.lines().filter(|line| line.starts_with("asked "));
        assert_eq!(rows.count(), 3, "{text}");
        if under_wine() {
            assert_eq!(output.status.code(), Some(3), "{text}");
            assert!(text.contains("cannot be seen: 2 ms, 3 ms"), "{text}");
        }
    }
}
