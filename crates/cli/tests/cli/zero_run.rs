//! `punctual zero run` as its user meets it.

use std::path::Path;
use std::process::Output;

use crate::common::{self, printed, run, stderr};
use crate::schema;
use punctual_record::{Run, RunRow, Value};
use punctual_zero::rows::{ZeroRow, Zeroing};

fn zero_run(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("zero run {arguments}"))
}

/// Its output, and the Run that it writes with `--json`.
fn measured(arguments: &str) -> (String, Run<ZeroRow>) {
    let directory = tempfile::tempdir().unwrap();
    let output = zero_run(directory.path(), &format!("{arguments} --json run.json"));
    assert!(output.status.success(), "{arguments}: {output:?}");
    let json = std::fs::read_to_string(directory.path().join("run.json")).unwrap();
    let text = stderr(&output);
    (text, schema::read_zero(&json))
}

fn zeroing(measurement: &ZeroRow) -> &Zeroing {
    let zeroing = measurement.zeroing();
    zeroing.unwrap_or_else(|| panic!("{measurement:?}"))
}

/// The number of settings that were given up, as a pass took too long: on a busy computer some are.
/// One has a result all the same if it had done a pass before.
fn given_up(run: &Run<ZeroRow>) -> usize {
    let warned = run.warnings.iter();
    warned.filter(|w| w.what.contains(" was given up")).count()
}

/// Each of so many settings has a result, or was given up.
fn assert_all_ran(run: &Run<ZeroRow>, settings: usize) {
    let measured = run.results.len();
    assert!((settings - given_up(run)..=settings).contains(&measured));
}

fn assert_refused(arguments: &str, words: &str) {
    common::assert_refused(&format!("zero run {arguments}"), words);
}

const TINY: &str = "--size 256KiB --rounds 1";

#[test]
fn every_lock_and_batch_measures_a_whole_pool() {
    let batches = "1,7,n,2n,half,guided,factoring,trapezoid,growing,steal-half";
    let (said, run) = measured(&format!("{TINY} --threads 2 --batch {batches}"));
    // A counter remembers nothing, which three of these have to.
    assert_all_ran(&run, 6 * 10 - 3);
    for batch in ["factoring", "trapezoid", "growing"] {
        assert!(
            said.contains(&format!("{batch} batches need a lock")),
            "{said}"
        );
        let warned = |w: &punctual_record::Warning| w.what.contains(batch);
        assert!(run.warnings.iter().any(warned), "{batch}");
    }
    for measurement in &run.results {
        let pool = &measurement.zeroed().unwrap().pool;
        assert_eq!(pool.bytes, 256 << 10);
        for (name, value) in [
            ("threads", Value::from(2)),
            ("memory", "hot".into()),
            ("arrivals", "closed".into()),
            ("dequeue", "range".into()),
            ("kernel", "memset".into()),
        ] {
            assert_eq!(measurement.params()[name], value, "{name}");
        }
        let z = zeroing(measurement);
        assert_eq!((z.pages, z.rounds.len()), (64, 1));
        assert!(z.gb_per_cpu_s.median > 0.0 && z.wall_gb_per_s.median > 0.0);
        let cpu = z.cpu;
        let sum = cpu.zeroing + cpu.hold + cpu.waiting + cpu.other;
        assert!((sum - 1.0).abs() < 1e-9, "{z:?}");
        assert!((0.0..=1.0).contains(&z.parked_share), "{z:?}");
        assert!(z.acquisitions >= 3.0 && z.sampled_every >= 1, "{z:?}");
        let acquisitions = |n: f64| assert_eq!(z.acquisitions, n, "{measurement:?}");
        match pool.batch.as_str() {
            // Each worker finds once that there is nothing left.
            "1" => acquisitions(64.0 + 2.0),
            "n" => acquisitions(32.0 + 2.0),
            "7" => acquisitions(10.0 + 2.0),
            _ => {}
        }
    }
}

#[test]
fn the_run_says_what_it_depends_on() {
    let (said, run) = measured(&format!("{TINY} --threads 1 --lock mcs --batch 64"));
    assert!(
        said.contains("256 KiB of hot memory") && said.contains("one setting in 1 round, about"),
        "{said}"
    );
    for fact in ["zero_kernels", "quick_clock", "quick_clock_cost_ns"] {
        assert!(run.machine.other.contains_key(fact), "{fact}");
    }
    let planned = &run.beside;
    assert!(planned.pinned.is_some() && planned.batch_length_ns.is_some());
    assert!(!planned.cpus.is_empty() && planned.memory_limit_bytes.is_some());
    assert_eq!(
        (planned.hot_bytes, planned.rounds),
        (Some(256 << 10), Some(1))
    );
    assert!(!run.interrupted && run.started_at.is_some());
    let warned = |words: &str| run.warnings.iter().any(|w| w.what.contains(words));
    assert!(warned("(1 of 6)"));
}

#[test]
fn lists_kernels_and_a_second_lock_are_settings_too() {
    let (_, run) = measured(&format!(
        "{TINY} --threads 2 --lock tas,mutex --batch 3 --dequeue range,list --kernel all --returns mcs"
    ));
    let kernels = run.machine.other["zero_kernels"].as_array().unwrap().len();
    assert_all_ran(&run, 2 * 2 * kernels);
    assert!(run.results.iter().all(|m| m.params()["returns"] == "mcs"));
    let lists = run
        .results
        .iter()
        .filter(|m| m.params()["dequeue"] == "list");
    let lists = lists.count();
    assert!((2 * kernels - given_up(&run)..=2 * kernels).contains(&lists));
}

#[test]
fn more_workers_than_cpus_are_marked() {
    let cpus = punctual_os::thread::allowed_cpus().len();
    let threads = format!("1,{}", 2 * cpus);
    let (_, run) = measured(&format!("{TINY} --threads {threads} --lock tas --batch 8"));
    let marked: Vec<bool> = run
        .results
        .iter()
        .map(|m| zeroing(m).oversubscribed)
        .collect();
    assert_eq!(marked, [false, true]);
    assert!(
        run.warnings
            .iter()
            .any(|w| w.what.contains("more workers than CPUs"))
    );
}

#[test]
fn bursts_come_every_so_often() {
    let (_, run) = measured(&format!(
        "{TINY} --threads 2 --lock ticket --batch 1 --arrivals burst --every 50ms --bursts 2"
    ));
    let [burst] = &run.results[..] else {
        panic!("{:?}", run.results);
    };
    assert_eq!(burst.params()["arrivals"], "burst");
    assert_eq!(burst.params()["every_ns"], 50_000_000);
    assert_eq!(zeroing(burst).acquisitions, 66.0);
}

#[test]
fn figures_are_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = format!("{TINY} --threads 1,2 --lock tas,mcs --batch 1 --plots figures");
    let text = printed(&zero_run(directory.path(), &arguments));
    assert!(text.contains("GB per CPU-s"), "{text}");
    assert!(directory.path().join("figures").read_dir().unwrap().count() > 0);
}

#[test]
fn what_cannot_be_is_refused_in_one_line_that_says_what_to_do() {
    for (arguments, words) in [
        ("--threads 0", "give one at least with --threads"),
        ("--threads -3", "invalid value '-3' for '--threads"),
        (
            "--threads 1000000",
            "are too many for the CPUs of this process",
        ),
        ("--size 0", "'--size"),
        ("--size 100000TiB", "'--size"),
        ("--size 1000TiB", "--memory-limit"),
        ("--memory-limit 1000TiB", "are free; give less"),
        ("--memory cold --memory-limit 1MiB", "cold memory is"),
        (
            "--size 2MiB --memory-limit 1MiB",
            "the 1 MiB of --memory-limit",
        ),
        ("--lock spin", "there are tas, ttas"),
        ("--batch lots", "`lots` is no batch"),
        ("--batch 0", "`0` is no batch"),
        ("--kernel bzero", "`bzero`"),
        ("--memory tepid", "'tepid'"),
        ("--arrivals never", "'never'"),
        ("--dequeue stack", "`stack` is no way to dequeue"),
        ("--returns counter", "the list of zeroed pages needs a lock"),
        (
            "--lock counter --batch growing",
            "nothing is left to measure: growing batches",
        ),
        ("--every 1s", "add --arrivals burst"),
        ("--bursts 3", "add --arrivals burst"),
        ("--size 1MiB --memory hot", "cannot be used with"),
        ("--rounds 0", "from 1 to 1000"),
        ("--json no/such/run.json", "cannot write"),
    ] {
        assert_refused(arguments, words);
    }
    // No CPU has all of them.
    let missing = if cfg!(target_arch = "x86_64") {
        "dc-zva"
    } else {
        "clzero"
    };
    assert_refused(&format!("--kernel memset,{missing}"), "this CPU has no");
}

/// Unix has limits of memory and signals.
#[cfg(unix)]
mod unix {
    use super::*;
    use crate::common::Running;
    use std::process::{Command, Stdio};

    /// More may be addressed in all than a page of it is left.
    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_is_not_to_be_had_is_refused() {
        let punctual = env!("CARGO_BIN_EXE_punctual");
        let run = "zero run --size 300MiB --memory-limit 300MiB --threads 1 --lock tas --batch 64";
        let limited = format!("ulimit -v 300000; exec {punctual} {run}");
        let output = Command::new("sh").args(["-c", &limited]).output().unwrap();
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let last = stderr.lines().last().unwrap();
        assert!(
            last.starts_with("error: there is no memory of 300 MiB to zero: "),
            "{stderr}"
        );
        assert!(!stderr.contains("panicked"), "{stderr}");
    }

    /// Runs it until it says that it begins, and ends it. The tests of the lab cover the results
    /// that it keeps by then, which may be none.
    fn ended(directory: &Path, arguments: &str, signal: &str) -> Run<ZeroRow> {
        let command = format!("zero run {arguments} --json run.json");
        let mut running = Running::start(directory, &command, Stdio::piped());
        running.until_it_says("1000 rounds");
        running.send(signal);
        let (stdout, code) = running.end();
        assert_eq!(code, Some(3), "{stdout}");
        let run = schema::read_zero_file(directory.join("run.json"));
        assert!(run.interrupted);
        run
    }

    const LONG: &str = "--size 256KiB --rounds 1000 --threads 2 --lock mcs --batch 1";

    #[test]
    fn ctrl_c_and_termination_end_it_before_its_end() {
        for signal in ["-INT", "-TERM"] {
            let directory = tempfile::tempdir().unwrap();
            ended(directory.path(), LONG, signal);
        }
    }

    /// The next burst would come in an hour.
    #[test]
    fn ctrl_c_ends_the_wait_for_a_burst() {
        let directory = tempfile::tempdir().unwrap();
        let bursts = format!("{LONG} --arrivals burst --every 3600s");
        let run = ended(directory.path(), &bursts, "-INT");
        assert!(run.results.is_empty());
    }
}
