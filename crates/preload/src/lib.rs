//! The library that `punctual emulate`, `punctual exec --accurate` and `punctual trace` start other programs with.
//!
//! The modules that are public need no library: `punctual-supervise` holds the waits of programs that cannot load it to
//! the same rule, by the same page and books.
//!
//! Under `emulate` each timed wait of libc ends when the [rule](punctual_rules) of another system ends it. A wait that the rule
//! ends later asks the real function for more; one that it ends sooner asks for less. A wait that an
//! event ends, ends then. Under `exec --accurate` it ends [when it was asked to end](accurate). Under `trace` it is the
//! real call, and is [logged](traced).
//!
//! - No wrapper waits for a lock, except for the mutex that the real function would take, or calls an allocator of the program.
//!   Wrappers run in signal handlers, after a fork, and while other threads hold any lock. A wait tries one rule after the other until one is free.
//!   The memory of rules is a part of this library. The interpreter alone calls the functions that replace its own,
//!   and they use its memory.
//! - Wrappers keep `errno`, what is left of a sleep, cancellation (a thread that is cancelled unwinds
//!   through them, and they hold nothing meanwhile), and absolute times on the clock of the caller.
//! - All processes of a run share one page, [`page`], with the rule, the instant of its first tick, and the books.
//!
//! | file | what is in it |
//! |---|---|
//! | [`accurate`] | waits that end when they were asked to end: their page, lateness, limit of spinning |
//! | [`books`] | the books of a run: what waits were asked for and how they ended |
//! | [`page`] | the page that the command and its processes share |
//! | [`traced`] | waits that are only logged: their page and its ring |
//! | `wait` | a wait, under a rule, on time, or only logged |
//! | `interpose/traced` | waits that are only logged, in a process that has the library |
//! | `delay` | for how long a thread waited for CPUs |
//! | `sockets` | calls on sockets with a timeout |
//! | `on_time` | waits that end on time |
//! | `strategies` | the strategies of the threads that wait so |
//! | `notifications` | notifications of condition variables, for waits that spin |
//! | `interpose/books` | a wait under a rule, in a process that has the library |
//! | `calls` | the functions of libc that wait |
//! | `exec` | programs are started with the library, also with an environment of their own |
//! | `lines` | the lines of a Python program that sleep |
//! | `memory` | the memory of the rules |
//! | `java` | the version of OpenJDK, and the kinds of its waits |
//! | `node` | the version of Node |
//! | `real` | the functions that the wrappers stand before |
//! | `slots` | the rules of a process |
//! | `process` | the page of a process, and its clocks |
//! | `python` | functions of CPython, replaced inside the interpreter |
//! | [`runtime`] | the calls by which ports of runtimes wait elsewhere |

pub mod accurate;
pub mod books;
pub mod call;
pub mod page;
pub mod runtime;
pub mod traced;

#[cfg(all(feature = "interpose", target_os = "linux"))]
mod interpose {
    mod books;
    mod calls;
    mod delay;
    mod exec;
    mod java;
    mod lines;
    mod memory;
    mod node;
    mod notifications;
    mod on_time;
    mod process;
    mod python;
    mod real;
    mod slots;
    mod sockets;
    mod strategies;
    mod traced;
    mod wait;
}

pub use call::Call;
