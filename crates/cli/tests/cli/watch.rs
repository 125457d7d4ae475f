//! `punctual watch` as its user meets it: what it writes and when, what it
//! serves, and how it ends.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{Running, assert_refused, punctual, run, stderr, stdout};
use crate::schema;
use punctual_record::experiment::{Cause, Watch};
use punctual_record::{Measurement, OfExperiment, Run};

fn watch(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("watch {arguments} --full"))
}

/// The one result of the Run in `run.json`.
fn result_in(directory: &Path) -> (Run, Measurement) {
    let run = schema::read_file(directory.join("run.json"));
    assert_eq!(run.results.len(), 1);
    let result = run.results[0].clone();
    (run, result)
}

/// The counts of a Run agree with each other.
fn assert_consistent(result: &Measurement) {
    let seen = seen(result);
    let counted: u64 = seen.histogram_late_ns.iter().map(|(_, n)| n).sum();
    assert_eq!(counted, result.late_ns.n);
    assert_eq!(seen.waits, Some(result.late_ns.n - result.missed));
    assert_eq!(result.late_ns.early, 0);
    let kept = seen.hiccups.iter();
    let kept = kept.filter(|hiccup| hiccup.cause != Cause::OwnStop);
    assert_eq!(seen.hiccups_in_all, kept.count() as u64);
    for hiccup in &seen.hiccups {
        let late = hiccup.late_ns;
        assert!(late > seen.threshold_ns);
        if hiccup.cause == Cause::OwnStop {
            continue;
        }
        assert!(i64::try_from(late).unwrap() <= result.late_ns.max);
        let covers = |part: Option<u64>| part.is_some_and(|ns| 2 * ns >= late);
        let queued = covers(hiccup.queued_ns);
        // Stolen time is counted in steps of 10 ms.
        let stolen = covers(hiccup.stolen_ns) && late >= 5_000_000;
        match hiccup.cause {
            Cause::Throttled => assert!(covers(hiccup.throttled_ns), "{hiccup:?}"),
            Cause::Queued => assert!(queued, "{hiccup:?}"),
            Cause::Stolen => assert!(stolen && !queued, "{hiccup:?}"),
            Cause::Unknown => assert!(!stolen && !queued, "{hiccup:?}"),
            Cause::OwnStop => unreachable!("it was left out above"),
        }
    }
}

fn seen(result: &Measurement) -> &Watch {
    Watch::of(result).unwrap()
}

fn start(directory: &Path, arguments: &str) -> Running {
    Running::start(directory, &format!("watch {arguments}"), Stdio::null())
}

#[test]
fn each_deadline_is_in_the_run_once() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let output = watch(
        directory,
        "--for 300ms --period 2ms --threshold 1us --json run.json",
    );
    assert!(output.status.success(), "{output:?}");
    let (run, result) = result_in(directory);
    assert!(!run.interrupted && run.machine.name == "host");
    let of = seen(&result);
    assert_eq!((of.period_ns, of.threshold_ns), (2_000_000, 1_000));
    assert!(result.late_ns.n > 0);
    let lost = seen(&result).lost_waits;
    assert_eq!(result.late_ns.n + lost, 150);
    assert_consistent(&result);

    let text = stdout(&output);
    let wide = |line: &&str| line.chars().count() > 120 || line.ends_with(' ');
    assert_eq!(text.lines().find(wide), None);
    let live = text.split_once("\n\n").unwrap().0;
    assert_eq!(live.lines().find(|line| line.chars().count() > 80), None);
    assert!(live.contains("\nhiccup "), "{text}");
    let told = live.lines().filter(|line| line.starts_with("hiccup "));
    let told = told.count();
    assert!(told <= 10, "{text}");
    // On a busy computer most deadlines are missed, and few are hiccups.
    let others = seen(&result).hiccups_in_all > told as u64;
    assert_eq!(live.contains("\nand "), others, "{text}");
    assert!(text.contains("watch: lateness of all deadlines"), "{text}");
}

#[test]
fn quiet_shows_the_summary_only() {
    let directory = tempfile::tempdir().unwrap();
    let output = watch(directory.path(), "--for 50ms --threshold 1us --quiet");
    let text = stdout(&output);
    assert!(text.starts_with("punctual "), "{text}");
    assert!(text.contains("watch: hiccups"), "{text}");
}

/// No timer ends a wait within the nanosecond, and none of a second late.
#[test]
fn a_wait_that_is_too_late_fails_the_watch() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let arguments = "--for 50ms --json run.json --fail-over";
    let output = watch(directory, &format!("{arguments} 1ns"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = stderr(&output);
    let n = result_in(directory).1.late_ns.n;
    let says =
        format!("fails: {n} of {n} deadlines later than the 1 ns of --fail-over, the worst ");
    assert!(
        stderr.lines().last().unwrap().starts_with(&says),
        "{stderr}"
    );
    assert_eq!(seen(&result_in(directory).1).failed, Some(true));

    let output = watch(directory, &format!("{arguments} 1000s"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(seen(&result_in(directory).1).failed, Some(false));
}

#[test]
fn rules_fail_a_watch_too_and_each_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let ends = |rules: &[&str]| {
        let output = punctual(directory.path())
            .args(["watch", "--for", "60ms", "--json", "run.json"])
            .args(rules.iter().flat_map(|rule| ["--fail-if", rule]))
            .output()
            .unwrap();
        let stderr = stderr(&output);
        (output.status.code(), stderr)
    };
    let (code, said) = ends(&["max > 1ns", "watch: late_max > 1000s"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("\nfails: max > 1ns: "), "{said}");
    assert!(
        said.contains("\npasses: watch: late_max > 1000s: "),
        "{said}"
    );
    assert_eq!(seen(&result_in(directory.path()).1).failed, Some(true));
    for rule in [
        "missed > 61",
        "hiccups > 100 %",
        "late > 1000s at most 0 %",
        "watch/*: late > 1ns at most 60",
        "p90 > 1000s",
    ] {
        let (code, said) = ends(&[rule]);
        assert_eq!(
            code,
            Some(if rule.contains("p90") { 3 } else { 0 }),
            "{said}"
        );
        assert!(said.contains(&format!("{rule}: ")), "{said}");
    }
    let (code, said) = ends(&["late > 1ns at most 1 %", "missed >= 0"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("\nfails: late > 1ns at most 1 %: 60 of 60 deadlines (100.00 %), 100"),
        "{said}"
    );
    assert!(said.contains("\nfails: missed >= 0: "), "{said}");
    assert_eq!(ends(&["max > 1000s"]).0, Some(0));
    assert_eq!(seen(&result_in(directory.path()).1).failed, Some(false));
    // There are sixty waits, and a p99 takes a thousand.
    let (code, said) = ends(&["p99 > 1000s"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("\ninconclusive: p99 > 1000s: "), "{said}");
}

/// With nothing else left to do: where `--for` says how long and a file wants all of
/// it, the watch goes on.
#[test]
fn a_watch_ends_when_its_reader_has_gone() {
    let directory = tempfile::tempdir().unwrap();
    let unread = |arguments: &str| {
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        punctual(directory.path())
            .args(arguments.split_whitespace())
            .stdout(closed)
            .output()
            .unwrap()
    };
    for arguments in ["watch", "watch --for 1000s", "watch --json run.json"] {
        let output = unread(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {output:?}");
    }
    assert!(!result_in(directory.path()).0.interrupted);
    let output = unread("watch --for 300ms --json run.json");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result = result_in(directory.path()).1;
    let lost = seen(&result).lost_waits;
    assert_eq!(result.late_ns.n + lost, 300);
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line_and_nothing_is_written() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--for 1s --listen {}", taken.local_addr().unwrap());
    for arguments in [
        "--for 0s",
        "--for -1s",
        "--for 10",
        "--for 1us",
        "--period 1us",
        "--period 61s",
        "--period 0ms",
        "--period x",
        "--method nap",
        "--method SO_MUCH",
        "--cpu 1000000",
        "--cpu 4095",
        "--cpu x",
        "--threshold 0us",
        "--threshold soon",
        "--fail-over 0s",
        "--fail-if p99>1.2x",
        "--fail-if step>1ms",
        "--fail-if p99<1ms",
        "--fail-if missed>1.2x",
        "--fail-if late>1ms",
        "--fail-if cost_w1>1ms",
        "--listen 127.0.0.1",
        "--listen 99999",
        "--listen here:80",
        "--json missing/run.json",
        "--json folder",
        "--json file/run.json",
        "--rounds 3",
        "10s",
        &taken,
    ] {
        assert_refused(&format!("watch {arguments}"), "");
    }
}

#[test]
fn a_method_of_another_system_is_refused_by_name() {
    let foreign = if cfg!(windows) { "timerfd" } else { "Sleep" };
    let arguments = format!("watch --for 1s --method {foreign}");
    assert_refused(&arguments, &format!("`{foreign}`"));
}

/// Signals are Unix's, and so is its `kill`.
#[cfg(unix)]
mod ended {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::time::{Duration, Instant};

    /// The contents of the file before the run.
    const BEFORE: &str = "what was there before";

    /// The exit code of a command that did not end within a second of a termination.
    const TERMINATED: i32 = 143;

    /// Spends so much time: the moment at which a signal comes is what varies.
    fn let_pass(length: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < length {
            std::thread::yield_now();
        }
    }

    fn unfinished_files(directory: &Path) -> usize {
        let entries = fs::read_dir(directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "run.json").count()
    }

    /// From the first wait to after the end of `--for`: whenever the signal
    /// comes, there is a whole Run, which says how it ended.
    #[test]
    fn termination_at_any_moment_leaves_a_whole_run() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        for moment in 0..50 {
            fs::write(directory.join("run.json"), BEFORE).unwrap();
            let mut running = start(directory, "--for 25ms --quiet --json run.json");
            running.until_it_says("watching ");
            let_pass(Duration::from_millis(moment));
            // It may have ended by now; its number is still its own.
            running.send("-TERM");
            let (_, code) = running.end();
            if code == Some(TERMINATED) {
                // On a busy computer its wait did not end in time: nothing is written, and nothing is lost.
                let kept = fs::read_to_string(directory.join("run.json")).unwrap();
                assert_eq!(kept, BEFORE, "{moment}");
                continue;
            }
            let (run, result) = result_in(directory);
            assert_eq!(code, Some(if run.interrupted { 3 } else { 0 }), "{moment}");
            assert_consistent(&result);
            assert_eq!(unfinished_files(directory), 0);
        }
    }

    /// Ctrl-Z is no fault of the system: it is told, and counts in no figure.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_stop_of_its_own_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        // It ends by itself if the line that is waited for never comes.
        let watch = "watch --json run.json --for 60s";
        let mut running = Running::start(directory.path(), watch, Stdio::piped());
        let lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        // With the line after the head a wait has ended: on a busy computer the first takes its time.
        lines.nth(1).unwrap();
        let stat = format!("/proc/{}/stat", running.0.id());
        let mut stopped = || {
            running.send("-STOP");
            crate::common::until(|| fs::read_to_string(&stat).unwrap().contains(") T "));
            // Several deadlines, and longer than it waits for a CPU afterwards.
            let_pass(Duration::from_millis(200));
            running.send("-CONT");
            // On a busy computer other hiccups have lines before it.
            let mut soon = lines.by_ref().take(10);
            soon.any(|line| line.contains("punctual itself was stopped"))
        };
        // On a busy computer it may wait for a CPU for longer than it was stopped.
        assert!((0..5).any(|_| stopped()));
        // While its lines still have a reader, whose end would be its own.
        running.send("-INT");
        assert_eq!(running.end().1, Some(3));
        drop(lines);
        let (run, result) = result_in(directory.path());
        assert_consistent(&result);
        let stops = run.disturbance.unwrap().own_stops;
        assert!(stops.waits >= 1 && stops.late_ns >= 10_000_000, "{stops:?}");
        assert!(seen(&result).hiccups_by_cause["own_stop"] >= 1);
    }

    #[test]
    fn without_a_length_ctrl_c_is_the_end_and_not_an_interruption() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let mut running = start(directory, "--json run.json --period 60s");
        running.until_it_says("watching ");
        running.send("-INT");
        assert_eq!(running.end().1, Some(0));
        let (run, result) = result_in(directory);
        assert!(!run.interrupted);
        // It ended in its first wait.
        assert_eq!((result.late_ns.n, result.missed), (0, 0));
    }

    /// From its start to after its end: a killed run leaves the old file or a whole Run.
    /// Unfinished files do not pile up.
    #[test]
    fn being_killed_at_any_moment_leaves_the_old_file_or_a_whole_one() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        for moment in 0..50 {
            fs::write(directory.join("run.json"), BEFORE).unwrap();
            let running = start(directory, "--for 20ms --quiet --json run.json");
            let_pass(Duration::from_millis(moment));
            drop(running);
            if fs::read_to_string(directory.join("run.json")).unwrap() != BEFORE {
                assert_consistent(&result_in(directory).1);
            }
            assert!(unfinished_files(directory) <= 1);
        }
        let output = watch(directory, "--for 20ms --json run.json");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(unfinished_files(directory), 0);
    }
}

/// A client as plain as they come, and a strict reader of what it gets.
mod scraped {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// The address that a watch says it serves.
    fn address(running: &mut Running) -> String {
        let line = running.until_it_says("metrics at ");
        let said = line.strip_prefix("metrics at http://").unwrap();
        let (address, whom) = said.split_once("/metrics, ").unwrap();
        let port = address.rsplit(':').next().unwrap();
        let here = format!("for this machine only; --listen 0.0.0.0:{port} serves others too");
        assert_eq!(whom, here);
        address.to_owned()
    }

    /// The head and the body of an answer.
    fn ask(address: &str, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    fn scrape(address: &str) -> Metrics {
        let (head, body) = ask(address, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let kind = "Content-Type: text/plain; version=0.0.4";
        assert!(head.contains(kind), "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())));
        Metrics::of(&body)
    }

    /// Samples by name and labels, and the type of each metric.
    #[derive(Default)]
    struct Metrics {
        types: BTreeMap<String, String>,
        samples: Vec<(String, BTreeMap<String, String>, f64)>,
    }

    impl Metrics {
        /// HELP, TYPE, samples, in that order for each metric, and nothing else.
        fn of(text: &str) -> Self {
            assert!(text.ends_with('\n') && !text.contains("\n\n"));
            let mut metrics = Self::default();
            let (mut helped, mut current) = (String::new(), String::new());
            for line in text.lines() {
                if let Some(help) = line.strip_prefix("# HELP ") {
                    let (name, words) = help.split_once(' ').unwrap();
                    assert!(words.ends_with('.'), "{line}");
                    assert!(!metrics.types.contains_key(name), "{line}");
                    helped = name.to_owned();
                } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                    let (name, kind) = kind.split_once(' ').unwrap();
                    assert_eq!(name, helped);
                    assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                    metrics.types.insert(name.to_owned(), kind.to_owned());
                    current = name.to_owned();
                } else {
                    let (name, labels, value) = sample(line);
                    let after = name.strip_prefix(&current).unwrap();
                    let histogram = metrics.types[&current] == "histogram";
                    assert_eq!(histogram, !after.is_empty(), "{line}");
                    assert!(["", "_bucket", "_sum", "_count"].contains(&after), "{line}");
                    metrics.samples.push((name, labels, value));
                }
            }
            metrics
        }

        fn all(&self, name: &str) -> impl Iterator<Item = (&BTreeMap<String, String>, f64)> {
            let named = self.samples.iter().filter(move |(own, ..)| own == name);
            named.map(|(_, labels, value)| (labels, *value))
        }

        fn one(&self, name: &str) -> f64 {
            let found: Vec<f64> = self.all(name).map(|(_, value)| value).collect();
            assert_eq!(found.len(), 1, "{name}");
            found[0]
        }
    }

    /// `name{label="value",...} number`
    fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
            None => (series, ""),
        };
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(name.chars().all(is_name), "{line}");
        let labels = labels.split_terminator(',').map(|label| {
            let (label, value) = label.split_once("=\"").unwrap();
            assert!(label.chars().all(is_name), "{line}");
            let value = value.strip_suffix('"').unwrap();
            assert!(!value.contains(['"', '\\']), "{line}");
            (label.to_owned(), value.to_owned())
        });
        let value = value.parse().unwrap();
        (name.to_owned(), labels.collect(), value)
    }

    #[test]
    fn what_is_served_is_what_prometheus_reads() {
        let directory = tempfile::tempdir().unwrap();
        let arguments = "--listen 0 --method timer --period 5ms";
        let mut running = start(directory.path(), arguments);
        let address = address(&mut running);
        let metrics = scrape(&address);

        let name = "punctual_lateness_seconds";
        assert_eq!(metrics.types[name], "histogram");
        let count = metrics.one(&format!("{name}_count"));
        assert!(metrics.one(&format!("{name}_sum")) >= 0.0);
        let buckets = metrics.all("punctual_lateness_seconds_bucket");
        let bound = |le: &str| match le {
            "+Inf" => f64::INFINITY,
            number => number.parse().unwrap(),
        };
        let buckets: Vec<_> = buckets
            .map(|(labels, n)| (bound(&labels["le"]), n))
            .collect();
        assert!(
            buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
            "{buckets:?}"
        );
        assert_eq!((buckets[0].0, buckets[15].0), (1e-6, 0.1));
        assert_eq!(buckets[16], (f64::INFINITY, count));
        assert_eq!(buckets.len(), 17);

        let hiccups = metrics.all("punctual_hiccups_total");
        let causes: Vec<_> = hiccups
            .map(|(labels, _)| labels["cause"].as_str())
            .collect();
        assert_eq!(causes, ["throttled", "queued", "stolen", "unknown"]);
        metrics.one("punctual_missed_deadlines_total");
        metrics.one("punctual_own_stops_total");
        let (labels, one) = metrics.all("punctual_watch_info").next().unwrap();
        assert_eq!((labels["period_seconds"].as_str(), one), ("0.005", 1.0));
        assert_ne!(labels["method"], "timer");
        assert!(scrape(&address).one(&format!("{name}_count")) >= count);
    }

    #[test]
    fn other_paths_are_not_there_and_nothing_can_be_written() {
        let directory = tempfile::tempdir().unwrap();
        let mut running = start(directory.path(), "--listen 127.0.0.1:0");
        let address = address(&mut running);
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404 "),
            ("GET /metrics/all HTTP/1.1\r\n\r\n", "404 "),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 "),
            ("nonsense\r\n\r\n", "400 "),
        ] {
            let (head, _) = ask(&address, request);
            assert!(
                head.starts_with(&format!("HTTP/1.1 {status}")),
                "{request}: {head}"
            );
        }
        let (head, body) = ask(&address, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(
            head.starts_with("HTTP/1.1 200") && body.is_empty(),
            "{head}\n{body}"
        );
    }

    /// Clients that say nothing, and one that says half a request.
    #[test]
    fn silent_clients_hold_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        let mut running = start(directory.path(), "--listen 127.0.0.1:0");
        let address = address(&mut running);
        let mut silent: Vec<_> = (0..5)
            .map(|_| TcpStream::connect(&address).unwrap())
            .collect();
        silent[0].write_all(b"GET /metrics HT").unwrap();
        scrape(&address);
        // Each is cut off in the end.
        for stream in &mut silent {
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            assert!(!answer.starts_with(b"HTTP/1.1 200"));
        }
    }
}
