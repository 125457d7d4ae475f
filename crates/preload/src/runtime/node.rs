//! Node 18, 20, 22 and 24.
//!
//! Each source is a file of libuv and a function in it. libuv 1.43.0 to 1.52.1 was read, a version of each minor number:
//! the part of `uv__poll` that waits again is the same in all of them. No file calls `timeBeginPeriod`. The timers of
//! JavaScript are counted in the same code on all systems, in whole milliseconds of an exact clock.

use std::ops::RangeInclusive;

use memchr::memmem;
use punctual_core::Method;

use super::{Again, EPOLL, Instead, KEVENT, Line, Runtime};

/// The major versions that have lines; the odd ones between them have none.
pub const VERSIONS: (u8, u8) = (18, 24);

/// The table of Node.
pub const RUNTIME: Runtime = Runtime {
    name: "Node ",
    versions: VERSIONS,
    lines: LINES,
    own: &[],
    alike: ALIKE,
    alike_in_short: "libuv and other users of epoll",
    requests: "it requests no timer interval by itself",
    requested: None,
};

/// The waits. `Atomics.wait` has no line: as in a C program it is a condition variable, on Windows
/// `SleepConditionVariableSRW`.
pub const LINES: &[Line] = &[Line {
    versions: VERSIONS,
    what: "the event loop: timers and all that awaits them",
    here: EPOLL,
    windows: Instead {
        call: "GetQueuedCompletionStatusEx",
        methods: &[Method::WaitForSingleObject, Method::WindowsSleep],
        again: Again::UntilMillisecond,
    },
    macos: KEVENT,
    source: "libuv 1.43 to 1.52, src/win/core.c, uv__poll; src/unix/kqueue.c, uv__io_poll",
}];

/// Waits that look alike below the program, a sentence each.
pub const ALIKE: &[&str] = &[
    "a wait by epoll is taken for libuv's, also if an add-on makes it",
    "Atomics.wait is a condition variable, on Windows SleepConditionVariableSRW, as that of a C program",
];

/// The minor versions of libuv 1 whose event loop was read.
const LIBUV: RangeInclusive<u32> = 43..=52;

/// The major version of Node with this version of V8 and of libuv, in the words of their functions.
pub fn of_parts(v8: &str, libuv: &str) -> Option<u8> {
    let mut numbers = libuv.split('.').map(str::parse::<u32>);
    let (Some(Ok(1)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return None;
    };
    if !LIBUV.contains(&minor) {
        return None;
    }
    // As `process.versions` states them.
    let majors = [("10.2.", 18), ("11.3.", 20), ("12.4.", 22), ("13.6.", 24)];
    let known = majors.iter().find(|(version, _)| v8.starts_with(version));
    known.map(|(_, major)| *major)
}

/// The major version in a program's file: the address of its sources has it.
pub fn in_file(file: &[u8]) -> Option<u8> {
    const MARK: &[u8] = b"nodejs.org/download/release/v";
    let at = memmem::find(file, MARK)?;
    super::number(&file[at + MARK.len()..])
}

/// Whether a major version has lines.
pub const fn has(major: u8) -> bool {
    matches!(major, 18 | 20 | 22 | 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_follows_from_those_of_its_parts() {
        for (v8, libuv, major) in [
            ("10.2.154.26-node.39", "1.44.2", Some(18)),
            ("11.3.244.8-node.38", "1.46.0", Some(20)),
            ("12.4.254.21-node.57", "1.51.0", Some(22)),
            ("13.6.233.17-node.53", "1.52.1", Some(24)),
            ("13.6.233.17-node.53", "1.53.0", None),
            ("11.8.172.17-node.1", "1.46.0", None),
            ("13.6.1", "2.50.0", None),
            ("13.6.1", "", None),
        ] {
            assert_eq!(of_parts(v8, libuv), major, "{v8} {libuv}");
            assert!(major.is_none_or(has));
        }
        let file = b"\0https://nodejs.org/download/release/v20.20.2/node-v20.20.2.tar.gz";
        assert_eq!((in_file(file), in_file(b"node")), (Some(20), None));
    }
}
