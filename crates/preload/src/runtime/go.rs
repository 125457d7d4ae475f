//! Go 1.19 to 1.26.
//!
//! Each source is a file of golang/go below `src/runtime` and a function in it. Releases 1.19.13, 1.20.14, 1.21.13,
//! 1.22.12, 1.23.12, 1.24.13, 1.25.7 and 1.26.8 were read. Timers, `time.Sleep` and deadlines of connections are all one
//! wait: that of the network poller. The runtime asks for whole milliseconds there, rounded down, and for 1 ms if less than
//! that is left by an exact clock. It does so on Linux and on Windows alike, so the waits here are those of the port.

use memchr::memmem;
use punctual_core::{Method, Nanos};

use super::elf::{part, section};
use super::{Again, EPOLL, Instead, KEVENT, Line, Runtime};
use crate::Call;

/// The minor versions of Go 1 that have lines.
pub const VERSIONS: (u8, u8) = (19, 26);

/// The table of Go.
pub const RUNTIME: Runtime = Runtime {
    name: "Go 1.",
    versions: VERSIONS,
    lines: LINES,
    // The monitor thread naps for 20 us and more while anything runs: proc.go, sysmon; sys_linux_amd64.s, usleep.
    own: &[Call::Nanosleep],
    alike: ALIKE,
    alike_in_short: "time.Sleep, timers and deadlines of connections, which all wait in the network poller",
    // os_windows.go, osRelax and createHighResTimer.
    requests: "before Windows 10 1803 it requests an interval of 1 ms, and gives it back while all of it waits for 60 ms or longer; here it keeps it",
    requested: Some(Nanos::from_ms(1)),
};

/// The waits.
pub const LINES: &[Line] = &[
    Line {
        versions: (19, 22),
        what: "time.Sleep, timers, deadlines of connections",
        here: EPOLL,
        windows: Instead::once(
            "GetQueuedCompletionStatusEx",
            &[Method::WaitForSingleObject, Method::WindowsSleep],
        ),
        macos: KEVENT,
        source: "netpoll_windows.go, netpoll; netpoll_kqueue.go, netpoll",
    },
    Line {
        versions: (23, 26),
        what: "time.Sleep, timers, deadlines of connections",
        here: EPOLL,
        windows: Instead {
            call: "a high-resolution waitable timer, before Windows 10 1803 GetQueuedCompletionStatusEx alone",
            methods: &[
                Method::HighResolutionTimer,
                Method::WaitForSingleObject,
                Method::WindowsSleep,
            ],
            again: Again::Never,
        },
        macos: KEVENT,
        source: "netpoll_windows.go, netpollQueueTimer; os_windows.go, createHighResTimer; netpoll_kqueue.go, netpoll",
    },
    Line {
        versions: VERSIONS,
        what: "the monitor thread of an idle program, which looks for timers that are overdue",
        here: &[Call::Futex],
        windows: Instead::once(
            "WaitForMultipleObjects",
            &[Method::WaitForMultipleObjects, Method::WindowsSleep],
        ),
        macos: Instead::once(
            "pthread_cond_timedwait_relative_np",
            &[Method::ConditionVariable],
        ),
        source: "proc.go, sysmon; os_windows.go and os_darwin.go, semasleep",
    },
];

/// Waits that look alike below the program, a sentence each.
pub const ALIKE: &[&str] = &[
    "on Linux a timer waits for whole milliseconds, rounded down, and then for 1 ms if time is left; since 1.23 on Windows, \
     and on macOS, one wait has the whole length",
    "nanosleep is the runtime's own nap and keeps its length; syscall.Nanosleep of a program looks like it",
    "the monitor thread waits for whole milliseconds on Windows, rounded down; here they are rounded up",
];

/// The first bytes of the information of a build.
const MARK: &[u8] = b"\xff Go buildinf:";

/// The mark of Go in the file of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFile {
    /// Nothing.
    None,
    /// It is of this minor version of Go 1.
    Version(u8),
    /// It is a program of Go, and its version is unknown.
    Unknown,
}

/// Finds Go by a section of a program's file, which `strip` keeps.
pub fn in_section(file: &[u8]) -> InFile {
    section(file, b".go.buildinfo").map_or(InFile::None, version)
}

/// Finds Go anywhere in a program's file, whose sections may have been removed.
pub fn in_file(file: &[u8]) -> InFile {
    let at = memmem::find(file, MARK);
    at.map_or(InFile::None, |at| version(&file[at..]))
}

/// The version in the information of a build. Since Go 1.18 it is text behind a header of 32 bytes (debug/buildinfo).
fn version(info: &[u8]) -> InFile {
    const IS_TEXT: u8 = 2;
    let minor = || {
        info.strip_prefix(MARK)?;
        let [flags] = part(info, 15)?;
        let text = (flags & IS_TEXT != 0).then(|| info.get(33..))??;
        // Builds of a branch are named `devel go1.27-abcdef`.
        let text = text.strip_prefix(b"devel ").unwrap_or(text);
        super::number(text.strip_prefix(b"go1.")?)
    };
    minor().map_or(InFile::Unknown, InFile::Version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The information of a build with this version.
    fn built_with(version: &str, flags: u8) -> Vec<u8> {
        let mut info = MARK.to_vec();
        info.extend([8, flags]);
        info.resize(32, 0);
        info.push(version.len() as u8);
        info.extend(version.as_bytes());
        info
    }

    #[test]
    fn a_program_of_go_states_its_version() {
        for (version, flags, found) in [
            ("go1.26.8", 2, InFile::Version(26)),
            ("go1.19rc1", 2, InFile::Version(19)),
            ("devel go1.27-0a1b2c", 2, InFile::Version(27)),
            ("go2.1", 2, InFile::Unknown),
            // Before Go 1.18: an address instead of the text.
            ("go1.17", 0, InFile::Unknown),
        ] {
            let file = [
                b"\x7fELF\x02 some code"[..].to_vec(),
                built_with(version, flags),
            ]
            .concat();
            assert_eq!(in_file(&file), found, "{version}");
            for len in 0..file.len() {
                let _ = in_file(&file[..len]);
            }
        }
        assert_eq!(in_file(b"\x7fELF\x02 C"), InFile::None);
    }
}
