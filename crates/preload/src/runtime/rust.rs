//! Rust's standard library, 1.63 to 1.96, with the event loop of tokio.
//!
//! Each source is a file of rust-lang/rust and a function in it, or one of mio. The files of 1.63, 1.74, 1.75, 1.94, 1.95
//! and 1.96 were read. No file calls `timeBeginPeriod`.

use memchr::memmem;
use punctual_core::Method;

use super::{Again, EPOLL, Instead, KEVENT, Line, Runtime, WINSOCK_SELECT, elf};
use crate::Call;

/// The minor versions of Rust 1 that have lines.
pub const VERSIONS: (u8, u8) = (63, 96);

/// The table of Rust.
pub const RUNTIME: Runtime = Runtime {
    name: "Rust 1.",
    versions: VERSIONS,
    lines: LINES,
    own: &[],
    alike: ALIKE,
    alike_in_short: "park_timeout and condition variables",
    requests: "its standard library requests no timer interval by itself",
    requested: None,
};

const SLEEPS: &[Call] = &[Call::Nanosleep, Call::ClockNanosleep];

/// A high-resolution timer, or `Sleep` where Windows has none: before Windows 10 1803.
const HIGH_RESOLUTION: Instead = Instead::once(
    "a high-resolution waitable timer, or Sleep where there is none",
    &[Method::HighResolutionTimer, Method::WindowsSleep],
);

const NANOSLEEP: Instead = Instead::once("nanosleep", &[Method::Nanosleep]);

/// The waits.
pub const LINES: &[Line] = &[
    Line {
        versions: (63, 74),
        what: "thread::sleep",
        here: SLEEPS,
        windows: Instead::once("Sleep", &[Method::WindowsSleep]),
        macos: NANOSLEEP,
        source: "library/std/src/sys/windows/thread.rs, Thread::sleep",
    },
    Line {
        versions: (75, 94),
        what: "thread::sleep",
        here: SLEEPS,
        windows: HIGH_RESOLUTION,
        macos: NANOSLEEP,
        source: "library/std/src/sys/windows/thread.rs, Thread::sleep (rust-lang/rust#116461)",
    },
    Line {
        versions: (95, 96),
        what: "thread::sleep",
        here: SLEEPS,
        // `Sleep` alone can end too early.
        windows: Instead {
            again: Again::OneMillisecond,
            ..HIGH_RESOLUTION
        },
        macos: NANOSLEEP,
        source: "library/std/src/sys/thread/windows.rs, sleep (rust-lang/rust#150842)",
    },
    Line {
        versions: VERSIONS,
        what: "timeouts of park, condition variables and channels",
        here: &[Call::Futex],
        // Both take whole milliseconds, rounded up, and end on the same ticks.
        windows: Instead::once(
            "WaitOnAddress or SleepConditionVariableSRW",
            &[
                Method::ConditionVariable,
                Method::WaitForSingleObject,
                Method::WindowsSleep,
            ],
        ),
        macos: Instead::once(
            "dispatch_semaphore_wait, or a condition variable of pthread",
            &[Method::ConditionVariable],
        ),
        source: "library/std/src/sys/pal/windows/futex.rs, wait_on_address; sys/sync/thread_parking and condvar; before \
                 sys/windows/thread_parker.rs and locks/condvar.rs",
    },
    Line {
        versions: VERSIONS,
        what: "tokio and other users of mio",
        here: EPOLL,
        windows: Instead::once(
            "GetQueuedCompletionStatusEx",
            &[Method::WaitForSingleObject, Method::WindowsSleep],
        ),
        macos: KEVENT,
        source: "mio 0.8.11 to 1.2, src/sys/windows/iocp.rs, get_many and duration_millis; src/sys/unix/selector/kqueue.rs",
    },
    Line {
        versions: VERSIONS,
        what: "TcpStream::connect_timeout",
        here: &[Call::Poll, Call::Ppoll],
        windows: WINSOCK_SELECT,
        macos: Instead::once("poll", &[Method::Poll]),
        source: "library/std/src/sys/net/connection/socket/windows.rs, connect_timeout; before sys/windows/net.rs",
    },
];

/// Waits that look alike below the program, a sentence each.
pub const ALIKE: &[&str] = &[
    "on Linux park_timeout and a condition variable are both a futex; on Windows they end on the same ticks, on macOS they \
     are different calls that end alike",
    "a wait by epoll is taken for mio's; its length is in whole milliseconds, on macOS too",
    "C code inside of a Rust program, and Rust code inside of a C program, wait by the same calls",
];

/// The mark that a compiler leaves in each program.
const MARK: &[u8] = b"rustc version 1.";

/// The mark of Rust in the file of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFile {
    /// Nothing.
    None,
    /// It is of this minor version of Rust 1.
    Version(u8),
    /// It has parts of Rust's standard library, and its version was removed.
    Unknown,
}

/// Finds Rust in a program's file. Compilers name themselves in a section that some distributions remove; only then is
/// all of the file searched for the paths of the standard library, up to so many bytes.
pub fn in_file(file: &[u8]) -> InFile {
    const MOST: usize = 64 << 20;
    if let Some(comment) = elf::section(file, b".comment") {
        let version = memmem::find(comment, MARK).and_then(|at| {
            let digits = &comment[at + MARK.len()..];
            super::number(digits)
        });
        return version.map_or(InFile::None, InFile::Version);
    }
    match memmem::find(
        &file[..file.len().min(MOST)],
        &[b"/rus", &b"tc/"[..]].concat(),
    ) {
        Some(_) => InFile::Unknown,
        None => InFile::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_of_rust_names_its_compiler() {
        // This test is one.
        let file = std::fs::read("/proc/self/exe").unwrap();
        let InFile::Version(minor) = in_file(&file) else {
            panic!("{:?}", in_file(&file));
        };
        assert!(minor > 80, "{minor}");
        for len in (0..file.len()).step_by(file.len() / 97) {
            let _ = in_file(&file[..len]);
        }
    }

    #[test]
    fn a_program_without_the_name_is_found_by_a_path() {
        let path = [&b"\0/rustc"[..], b"/59807616e/library/std/src/thread.rs"].concat();
        assert_eq!(in_file(&path), InFile::Unknown);
        assert_eq!(in_file(b"\x7fELF"), InFile::None);
    }
}
