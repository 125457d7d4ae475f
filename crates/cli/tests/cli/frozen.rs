//! Every command ends when it is told to, whatever it waits for: here under a monotonic clock that
//! stands still, as `faketime` can set one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::common::Running;

/// A library for the dynamic loader to put before the C library's. The monotonic clock of a
/// program then stands still once it has reached this time.
const STANDS: &str = r#"
#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }

extern "C" { fn syscall(number: i64, ...) -> i64; }

#[no_mangle]
unsafe extern "C" fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32 {
    const SYS_CLOCK_GETTIME: i64 = if cfg!(target_arch = "x86_64") { 228 } else { 113 };
    let answer = syscall(SYS_CLOCK_GETTIME, clock, time);
    if answer == 0 && clock == 1 { *time = [5_000, 0]; }
    answer as i32
}
"#;

/// That library, made once for all tests.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (source, library) = (folder.join("stands.rs"), folder.join("libstands.so"));
        std::fs::write(&source, STANDS).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let made = Command::new(rustc)
            .args([
                "--edition=2021",
                "--crate-type=cdylib",
                "-Cpanic=abort",
                "-o",
            ])
            .args([&library, &source])
            .status();
        assert!(made.unwrap().success());
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

fn under_a_clock_that_stands(arguments: &str, signals: &[&str]) {
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
        .env("LD_PRELOAD", library())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    // Wherever in it the signals come.
    std::thread::sleep(std::time::Duration::from_millis(400));
    for signal in signals {
        if running.0.try_wait().unwrap().is_none() {
            running.send(signal);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    running.end();
}

/// If it did not, this test would not end.
#[test]
fn a_termination_ends_every_command() {
    for arguments in MEASURE.into_iter().chain(HOLD_OR_SIMULATE) {
        under_a_clock_that_stands(arguments, &["-TERM"]);
    }
}

#[test]
fn a_second_ctrl_c_ends_every_command() {
    for arguments in MEASURE.into_iter().chain(HOLD_OR_SIMULATE) {
        under_a_clock_that_stands(arguments, &["-INT", "-INT"]);
    }
}
