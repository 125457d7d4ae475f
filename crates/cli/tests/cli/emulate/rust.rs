//! A program of Rust's standard library under the timer rules of other systems. The test compiles it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use punctual_core::Method;
use punctual_preload::Call;
use punctual_preload::page::Settings;
use punctual_preload::runtime::{Again, Way};

use super::{Wait, check, emulate};
use crate::common::{stderr, stdout};

pub(super) const WAITS: &str = r#"
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let ms = Duration::from_millis;
    let begin = Instant::now();
    let (_sender, receiver) = mpsc::channel::<()>();
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    for _ in 0..2 {
        thread::sleep(ms(2));
        thread::park_timeout(ms(30));
        let _ = receiver.recv_timeout(ms(40));
        let _ = condition.wait_timeout(lock.lock().unwrap(), ms(50)).unwrap();
    }
    assert!(begin.elapsed() >= ms(2 * 2));
    print!("done");
}
"#;

/// The program, compiled with what else the compiler is told.
fn compiled(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("waits.rs"), folder.join("waits"));
    fs::write(&source, WAITS).unwrap();
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    compiler
        .args(["--edition", "2021", "-o"])
        .arg(&program)
        .arg(&source);
    let done = compiler
        .output()
        .expect("the compiler that built this test");
    assert!(done.status.success(), "{done:?}");
    program
}

/// Runs it under a model, and replays its log.
fn replayed(program: &Path, model: &str, options: &[&str]) -> Vec<Wait> {
    let all = [&[model, "-q", "--seed", "6", "--log", "log.tsv"], options].concat();
    let done = emulate(&all, program, &[]);
    assert_eq!(
        (done.status.code(), stdout(&done)),
        (Some(0), "done".to_owned()),
        "{done:?}"
    );
    let log = program.with_file_name("log.tsv");
    check(model, 6, Settings::default(), &log)
}

#[test]
fn each_wait_ends_as_that_of_the_port() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path());
    let exact = (Method::HighResolutionTimer, Again::Never);
    let plain = (Method::WindowsSleep, Again::Never);
    let twice = (Method::WindowsSleep, Again::OneMillisecond);
    for (model, options, (method, again)) in [
        ("windows-11", &[][..], exact),
        ("windows-10-2004", &["--as", "rust-1.75"], exact),
        ("windows-10-2004", &["--as", "rust-1.74"], plain),
        ("windows-8", &["--as", "rust-1.94"], plain),
        ("windows-8", &["--as", "rust-1.95"], twice),
        ("macos", &[], (Method::Nanosleep, Again::Never)),
    ] {
        let waits = replayed(&program, model, options);
        let is_sleep = |wait: &&Wait| [Call::Nanosleep, Call::ClockNanosleep].contains(&wait.call);
        let sleeps: Vec<&Wait> = waits.iter().filter(is_sleep).collect();
        assert_eq!(sleeps.len(), 2, "{model} {waits:?}");
        for wait in sleeps {
            assert_eq!(wait.way, Way { method, again }, "{model} {options:?}");
            let is_tick = wait.end.is_multiple_of(15_625_000);
            assert_eq!(is_tick, method == Method::WindowsSleep, "{model} {wait:?}");
            assert!(
                again == Again::Never || wait.end >= wait.called + wait.asked,
                "{wait:?}"
            );
        }
        let others: Vec<&Wait> = waits.iter().filter(|wait| !is_sleep(wait)).collect();
        assert!(!others.is_empty(), "{model} {waits:?}");
        for wait in others {
            assert_eq!(
                (wait.call, wait.way.method),
                (Call::Futex, Method::ConditionVariable)
            );
        }
    }
}

#[test]
fn a_program_is_known_by_its_compiler_and_else_by_what_the_user_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path());
    let shown = |program: &Path, options: &[&str], arguments: &[&str]| {
        let done = emulate(&[&["windows-11"], options].concat(), program, arguments);
        (done.status.code(), stderr(&done))
    };
    let (code, said) = shown(&program, &["-v"], &[]);
    assert_eq!(code, Some(0), "{said}");
    for words in [
        "Rust 1.",
        "thread::sleep (here nanosleep or clock_nanosleep): a high-resolution",
        "sys/thread/windows.rs",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // A child is known too.
    let child = program.display().to_string();
    let (_, said) = shown(
        Path::new("/bin/sh"),
        &[],
        &["-c", &format!("{child}; true")],
    );
    assert!(said.contains("Rust 1."), "{said}");
    let removed = Command::new("objcopy")
        .args(["--remove-section", ".comment"])
        .arg(&program)
        .output();
    assert!(
        removed.unwrap().status.success(),
        "`apt-get install binutils`"
    );
    let (code, said) = shown(&program, &[], &[]);
    assert_eq!(code, Some(125), "{said}");
    assert!(
        said.contains("of an unknown version") && said.contains("`--as rust-1.96`"),
        "{said}"
    );
    let (code, said) = shown(&program, &["--as", "rust-1.74"], &[]);
    assert!(code == Some(0) && said.contains("Rust 1.74"), "{said}");
    // A child of an unknown version is named, and keeps its timers.
    let (_, said) = shown(
        Path::new("/bin/sh"),
        &[],
        &["-c", &format!("{child}; true")],
    );
    assert!(said.contains("not emulated: waits, whose"), "{said}");
}
