//! CPython 3.9 to 3.14.
//!
//! Each source is a file of CPython's repository and a function in it. It requests no timer interval in any of these
//! versions: no file calls `timeBeginPeriod`. Versions before 3.9 differ and have no lines.

use punctual_core::Method;
use punctual_rules::OsClock;

use super::{Again, Clock, EPOLL, Instead, KEVENT, Line, Runtime, WINSOCK_SELECT};
use crate::Call;

/// The minor versions that have lines.
pub const VERSIONS: (u8, u8) = (9, 14);

/// The table of CPython.
pub const RUNTIME: Runtime = Runtime {
    name: "CPython 3.",
    versions: VERSIONS,
    lines: LINES,
    own: &[],
    alike: ALIKE,
    alike_in_short: "waits of subprocess and time.sleep, of asyncio and other selectors",
    requests: "it requests no timer interval by itself",
    requested: None,
};

/// `PyCOND_TIMEDWAIT` on Windows: a condition variable on a semaphore, or `SleepConditionVariableSRW` in builds without
/// `_PY_EMULATED_WIN_CV`. Both take whole milliseconds and end on the same ticks.
const SEMAPHORE: Instead = Instead::once(
    "WaitForSingleObjectEx",
    &[Method::WaitForSingleObject, Method::WindowsSleep],
);

/// The waits.
pub const LINES: &[Line] = &[
    Line {
        versions: (9, 10),
        what: "time.sleep",
        here: SLEEPS,
        windows: Instead::once(
            "WaitForSingleObjectEx, in other threads Sleep",
            &[Method::WaitForSingleObject, Method::WindowsSleep],
        ),
        macos: Instead::once("select", &[Method::Select]),
        source: "Modules/timemodule.c, pysleep",
    },
    Line {
        versions: (11, 14),
        what: "time.sleep",
        here: SLEEPS,
        // Where Windows has no such timers, it takes a plain one.
        windows: Instead::once(
            "SetWaitableTimerEx, high-resolution",
            &[
                Method::HighResolutionTimer,
                Method::WaitableTimer,
                Method::WindowsSleep,
            ],
        ),
        macos: Instead::once("nanosleep", &[Method::Nanosleep]),
        source: "Modules/timemodule.c, pysleep and time_exec",
    },
    Line {
        versions: (9, 13),
        what: "timeouts of threading and queue",
        here: LOCKS,
        windows: Instead {
            again: Again::UntilOver,
            ..SEMAPHORE
        },
        macos: Instead::once("pthread_cond_timedwait", &[Method::ConditionVariable]),
        source: "Python/thread_nt.h, EnterNonRecursiveMutex; Python/condvar.h; Python/thread_pthread.h",
    },
    Line {
        versions: (14, 14),
        what: "timeouts of threading and queue",
        here: LOCKS,
        windows: SEMAPHORE,
        macos: Instead::once(
            "pthread_cond_timedwait_relative_np",
            &[Method::ConditionVariable],
        ),
        source: "Modules/_threadmodule.c, lockobject; Python/parking_lot.c, _PySemaphore_PlatformWait",
    },
    Line {
        versions: VERSIONS,
        what: "the switch interval of the global lock",
        here: &[Call::CondTimedwait, Call::CondClockwait],
        windows: SEMAPHORE,
        macos: Instead::once("pthread_cond_timedwait", &[Method::ConditionVariable]),
        source: "Python/ceval_gil.h or ceval_gil.c, take_gil; Python/condvar.h, PyCOND_TIMEDWAIT",
    },
    Line {
        versions: VERSIONS,
        what: "select.select",
        here: &[Call::Select, Call::Pselect],
        windows: WINSOCK_SELECT,
        macos: Instead::once("select", &[Method::Select]),
        source: "Modules/selectmodule.c, select_select_impl",
    },
    Line {
        versions: VERSIONS,
        what: "asyncio and other users of epoll",
        here: EPOLL,
        windows: Instead::once(
            "GetQueuedCompletionStatus",
            &[Method::WaitForSingleObject, Method::WindowsSleep],
        ),
        macos: KEVENT,
        source: "Lib/asyncio/windows_events.py, IocpProactor._poll; Modules/overlapped.c; Lib/selectors.py, KqueueSelector",
    },
    Line {
        versions: VERSIONS,
        what: "timeouts of sockets, pipes and processes",
        here: &[Call::Poll, Call::Ppoll],
        windows: Instead::once(
            "select of Winsock, or WaitForMultipleObjects",
            &[Method::WaitForMultipleObjects, Method::WindowsSleep],
        ),
        macos: Instead::once("poll", &[Method::Poll]),
        source: "Modules/socketmodule.c, internal_select; Lib/multiprocessing/connection.py, wait",
    },
];

/// `time.sleep`: `clock_nanosleep` since 3.11, before `select` without sets.
const SLEEPS: &[Call] = &[Call::ClockNanosleep, Call::SelectNothing];

/// Locks: `sem_clockwait`, where libc has none `sem_timedwait`.
const LOCKS: &[Call] = &[Call::SemClockwait, Call::SemTimedwait];

/// The clocks that moved in steps on Windows up to 3.12 (python/cpython#88494).
pub const CLOCKS: &[Clock] = &[
    Clock {
        versions: (9, 12),
        what: "monotonic",
        windows: OsClock::GetTickCount,
        stated: "GetTickCount64()",
        source: "Python/pytime.c, py_get_monotonic_clock",
    },
    Clock {
        versions: (9, 12),
        what: "time",
        windows: OsClock::SystemTime,
        stated: "GetSystemTimeAsFileTime()",
        source: "Python/pytime.c, py_get_system_clock",
    },
];

/// Waits that look alike below the interpreter, a sentence each.
pub const ALIKE: &[&str] = &[
    "a wait by epoll is taken for asyncio's proactor loop, also if another selector makes it",
    "subprocess.Popen.wait with a timeout sleeps in steps here, which look like time.sleep; on Windows it waits for the \
     process",
    "select.select without any file looks like time.sleep of 3.9 and 3.10; on Windows it is an error",
    "a timeout of a lock of multiprocessing looks like one of threading",
];
