//! Every command ends when it is told to, whatever it waits for: here under a monotonic clock that
//! stops, as `faketime` can set one. Under one that is another from the beginning nothing is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::common::Running;

/// A library that stops the monotonic clock of a program once it has run for so long. The dynamic
/// loader puts it before the C library.
const STANDS: &str = r#"
#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }

extern "C" { fn syscall(number: i64, ...) -> i64; }

static mut BEGAN: i64 = 0;

#[no_mangle]
unsafe extern "C" fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32 {
    const SYS_CLOCK_GETTIME: i64 = if cfg!(target_arch = "x86_64") { 228 } else { 113 };
    let answer = syscall(SYS_CLOCK_GETTIME, clock, time);
    if answer == 0 && clock == 1 {
        let now = (*time)[0] * 1_000_000_000 + (*time)[1];
        if BEGAN == 0 { BEGAN = now; }
        let most = BEGAN + RUNS_NS;
        if now > most { *time = [most / 1_000_000_000, most % 1_000_000_000]; }
    }
    answer as i32
}
"#;

/// That library, made once for all tests: of a clock that stops after a moment, or at once.
fn library(stops_at_once: bool) -> &'static Path {
    static LIBRARIES: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    LIBRARIES[usize::from(stops_at_once)].get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (name, runs_ns) = match stops_at_once {
            true => ("stands", 0),
            false => ("stops", 300_000_000),
        };
        let source = folder.join(format!("{name}.rs"));
        let library = folder.join(format!("lib{name}.so"));
        let text = format!("{STANDS}const RUNS_NS: i64 = {runs_ns};\n");
        std::fs::write(&source, text).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let made = Command::new(rustc)
            .args([
                "--edition=2021",
                "--crate-type=cdylib",
                "-Cpanic=abort",
                // Without checks, which would need the unwinder.
                "-Copt-level=1",
                "-o",
            ])
            .args([&library, &source])
            .status();
        assert!(made.unwrap().success());
        let loaded = Command::new("date").env("LD_PRELOAD", &library).output();
        let loaded = loaded.unwrap();
        assert!(
            loaded.status.success() && loaded.stderr.is_empty(),
            "{loaded:?}"
        );
        library
    })
}

const MEASURE: [&str; 8] = [
    "bench --quick",
    "bench decades",
    "bench regimes",
    "doctor",
    "measure timers",
    "measure jobs",
    "zero run --quick",
    "zero probe processes",
];

const HOLD_OR_SIMULATE: [&str; 5] = [
    "watch",
    "slack hold 2ms",
    "sweep plan.toml",
    "simulate game-loop",
    "zero simulate",
];

fn under_a_clock_that_stops(arguments: &str, signals: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let plan = r#"
        on = ["linux-6.18"]
        title = "long"
        strategies = ["adaptive:weight={weight}", "spin"]
        waits = ["1000Hz"]
        weight = [1, 2, 3, 4, 5, 6, 7, 8]
        count = 100000
        seeds = { least = 600, most = 1200 }
    "#;
    std::fs::write(directory.path().join("plan.toml"), plan).unwrap();
    let mut command = crate::common::punctual(directory.path());
    command
        .args(arguments.split_whitespace())
        .env("LD_PRELOAD", library(false))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    // Wherever in it the signals come.
    std::thread::sleep(std::time::Duration::from_millis(600));
    for signal in signals {
        if running.0.try_wait().unwrap().is_none() {
            running.send(signal);
        }
        // Two signals are one where the first has not been handled yet.
        while running.0.try_wait().unwrap().is_none() && has_pending(running.0.id()) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    running.end();
}

/// Whether a signal waits for a process or for its first thread.
fn has_pending(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let of = |line: &str| {
        let (name, signals) = line.split_once(':')?;
        let signals = u64::from_str_radix(signals.trim(), 16).ok()?;
        Some(["SigPnd", "ShdPnd"].contains(&name) && signals != 0)
    };
    status.lines().filter_map(of).any(|is_pending| is_pending)
}

/// If it did not, this test would not end.
#[test]
fn a_termination_ends_every_command() {
    for arguments in MEASURE.into_iter().chain(HOLD_OR_SIMULATE) {
        under_a_clock_that_stops(arguments, &["-TERM"]);
    }
}

#[test]
fn a_second_ctrl_c_ends_every_command() {
    for arguments in MEASURE.into_iter().chain(HOLD_OR_SIMULATE) {
        under_a_clock_that_stops(arguments, &["-INT", "-INT"]);
    }
}

/// Its figures would say nothing, and some of the calls that it measures would not end.
#[test]
fn nothing_is_measured_by_a_faked_clock() {
    for arguments in MEASURE.into_iter().chain(["watch"]) {
        let mut command = crate::common::punctual(Path::new("."));
        command
            .args(arguments.split_whitespace())
            .env("LD_PRELOAD", library(true));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains("not the kernel's"), "{said}");
    }
}

#[test]
fn what_is_held_is_held_by_any_clock() {
    let mut command = crate::common::punctual(Path::new("."));
    command
        .args(["slack", "hold", "2ms", "--for", "500ms"])
        .env("LD_PRELOAD", library(true));
    assert!(command.output().unwrap().status.success());
}
