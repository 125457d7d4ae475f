//! The executable as its users meet it, a module per command; and what holds of
//! the workspace as a whole.

mod answers;
mod articles;
mod bench;
mod common;
mod compare;
#[cfg(target_os = "linux")]
mod console;
mod doctor;
mod edges;
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod emulate;
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod frozen;
mod help;
mod identify;
mod import;
mod measure;
mod outputs;
mod processes;
mod readme;
mod regimes;
mod report;
mod schema;
mod settings;
mod simulate;
mod sweep;
mod trace;
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod trace_library;
mod watch;
mod zero_advise;
mod zero_probe;
mod zero_run;
mod zero_simulate;
