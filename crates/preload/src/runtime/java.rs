//! OpenJDK 11, 17, 21 and 25 with HotSpot.
//!
//! Each source is a file of the JDK's repository and a function in it. The files of jdk11u, jdk17u, jdk21u and jdk25u
//! were read.
//!
//! HotSpot has two kinds of waits, and both are `pthread_cond_timedwait` on Linux. Its `PlatformEvent` is below
//! `Thread.sleep` and `Object.wait`; its `Parker` is below `LockSupport` and `java.util.concurrent`. On Windows the first
//! requests a timer interval of 1 ms while it waits, unless the length is a multiple of 10 ms. The second requests nothing
//! and rounds down.

use std::ffi::c_int;

use punctual_core::Method;

use super::{Again, EPOLL, Instead, KEVENT, Line, Runtime, WINSOCK_SELECT};
use crate::Call;

/// The major versions that have lines; those between them have none.
pub const VERSIONS: (u8, u8) = (11, 25);

/// Whether a major version has lines.
pub const fn has(major: u8) -> bool {
    matches!(major, 11 | 17 | 21 | 25)
}

/// The table of OpenJDK.
pub const RUNTIME: Runtime = Runtime {
    name: "OpenJDK ",
    versions: VERSIONS,
    lines: LINES,
    own: &[],
    alike: ALIKE,
    alike_in_short: "LockSupport and waits of the virtual machine itself, timeouts of processes and Object.wait",
    requests: "Thread.sleep and Object.wait request an interval of 1 ms while they wait, unless the length is a multiple of 10 ms; \
               it requests nothing else, except with -XX:+ForceTimeHighResolution and, since 24, in a thread that waits for a monitor",
    requested: None,
};

const CONDITION: &str = "pthread_cond_timedwait";

/// A wait for one object in whole milliseconds.
const ONE_OBJECT: &[Method] = &[Method::WaitForSingleObject, Method::WindowsSleep];

/// The waits.
pub const LINES: &[Line] = &[
    Line {
        versions: (11, 11),
        what: "Thread.sleep and Object.wait",
        here: &[Call::CondTimedwaitEvent],
        windows: Instead {
            call: "WaitForMultipleObjects or WaitForSingleObject",
            methods: &[
                Method::WaitForMultipleObjects,
                Method::WaitForSingleObject,
                Method::WindowsSleep,
            ],
            again: Again::FineMeanwhile,
        },
        macos: Instead::once(CONDITION, &[Method::ConditionVariable]),
        source: "src/hotspot/os/windows/os_windows.cpp, os::sleep, PlatformEvent::park and HighResolutionInterval; os/posix/os_posix.cpp",
    },
    Line {
        versions: (17, 25),
        what: "Thread.sleep and Object.wait",
        here: &[Call::CondTimedwaitEvent],
        windows: Instead {
            call: "WaitForSingleObject",
            methods: ONE_OBJECT,
            again: Again::FineMeanwhile,
        },
        macos: Instead::once(CONDITION, &[Method::ConditionVariable]),
        source: "src/hotspot/os/windows/os_windows.cpp, PlatformEvent::park, park_nanos and HighResolutionInterval; os/posix/os_posix.cpp",
    },
    Line {
        versions: VERSIONS,
        what: "LockSupport.parkNanos, java.util.concurrent",
        here: &[Call::CondTimedwait],
        windows: Instead {
            call: "WaitForSingleObject",
            methods: ONE_OBJECT,
            again: Again::RoundedDown,
        },
        macos: Instead::once(CONDITION, &[Method::ConditionVariable]),
        source: "src/hotspot/os/windows/os_windows.cpp, Parker::park; os/posix/os_posix.cpp",
    },
    Line {
        versions: (11, 11),
        what: "selectors of channels",
        here: EPOLL,
        windows: WINSOCK_SELECT,
        macos: KEVENT,
        source: "src/java.base/windows/native/libnio/ch/WindowsSelectorImpl.c, poll0; macosx/classes/sun/nio/ch/KQueueSelectorImpl.java",
    },
    Line {
        versions: (17, 25),
        what: "selectors of channels",
        here: EPOLL,
        windows: Instead {
            call: "GetQueuedCompletionStatusEx",
            methods: ONE_OBJECT,
            again: Again::UntilTickCount,
        },
        macos: KEVENT,
        source: "src/java.base/windows/native/libnio/ch/wepoll.c, port_wait; macosx/classes/sun/nio/ch/KQueueSelectorImpl.java",
    },
    Line {
        versions: VERSIONS,
        what: "timeouts of sockets",
        here: &[Call::Poll, Call::Ppoll],
        windows: WINSOCK_SELECT,
        macos: Instead::once("poll, in 11 select", &[Method::Poll]),
        source: "src/java.base/windows/native/libnio/ch/Net.c, poll; in 11 libnet/net_util_md.c, NET_Timeout",
    },
];

/// Waits that look alike below the program, a sentence each.
pub const ALIKE: &[&str] = &[
    "waits of the virtual machine itself look like those of LockSupport, and end on the same ticks",
    "Process.waitFor with a timeout is Object.wait here; on Windows it waits for the process, without a request",
    "Thread.sleep waits again if it was too short; on Windows that of 11 does not",
    "a request counts for the wait that makes it, and not for other threads that wait meanwhile",
    "a length up to 0.02 ms short of whole milliseconds counts as whole, for the way to the call takes time",
];

/// The `JAVA_VERSION` in the file `release` beside a launcher; `None` if it is not HotSpot's.
pub fn of_release(release: &[u8]) -> Option<u8> {
    let text = str::from_utf8(release).unwrap_or_default();
    let mut lines = text.lines();
    let is_other = |line: &str| line.starts_with("JVM_VARIANT=") && !line.contains("otspot");
    if lines.clone().any(is_other) {
        return None;
    }
    let version = lines.find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    // Up to 8 they are 1.8.
    super::number(version.strip_prefix("1.").unwrap_or(version).as_bytes())
}

/// The path of that file for the path of a launcher, in a buffer; a zero ends it. `None` if the launcher is in no
/// folder `bin`.
pub fn release<'b>(launcher: &[u8], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    const NAME: &[u8] = b"release\0";
    let folder = launcher.iter().rposition(|byte| *byte == b'/')?;
    let home = launcher[..folder].strip_suffix(b"bin")?;
    let len = home.len() + NAME.len();
    let path = buffer.get_mut(..len)?;
    path[..home.len()].copy_from_slice(home);
    path[home.len()..].copy_from_slice(NAME);
    Some(path)
}

/// The words before the mutex of a `PlatformEvent` whose thread waits: `_event` and `_nParked` (os_posix.hpp, the same
/// in all versions). That of a `Parker` has the index of a condition there, which is not negative.
pub const EVENT: [c_int; 2] = [-1, 1];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_in_the_file_release() {
        let debian = "IMPLEMENTOR=\"Debian\"\nJAVA_RUNTIME_VERSION=\"17.0.15+6\"\nJAVA_VERSION=\"17.0.15\"\n";
        for (text, major) in [
            (debian, Some(17)),
            ("JAVA_VERSION=\"25\"\nJVM_VARIANT=\"Hotspot\"\n", Some(25)),
            ("JAVA_VERSION=\"11.0.32\"\nJVM_VARIANT=\"Openj9\"\n", None),
            ("JAVA_VERSION=\"1.8.0_412\"\n", Some(8)),
            ("", None),
        ] {
            assert_eq!(of_release(text.as_bytes()), major, "{text}");
        }
        assert!(!has(8));
    }

    #[test]
    fn the_file_release_is_beside_the_folder_of_the_launcher() {
        let mut buffer = [0; 32];
        let mut of = |launcher: &str| {
            release(launcher.as_bytes(), &mut buffer)
                .map(|path| String::from_utf8_lossy(path).into_owned())
        };
        assert_eq!(of("/jdk-17/bin/java").as_deref(), Some("/jdk-17/release\0"));
        assert_eq!(of("/jdk-17/java"), None);
        assert_eq!(of(&format!("/{}/bin/java", "long".repeat(9))), None);
        assert_eq!(of("java"), None);
    }
}
