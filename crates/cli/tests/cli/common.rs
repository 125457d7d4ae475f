//! The executable, as these tests start it.

use std::path::Path;
use std::process::Command;

/// The `punctual` command, to run in `directory`.
pub(crate) fn punctual(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.current_dir(directory);
    if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
        // Wine 8 lacks a DLL, which `.ci/wine-runner` puts beside each program
        // it runs; the executable finds it beside this test.
        let this = std::env::current_exe().unwrap();
        command.env("PATH", this.parent().unwrap());
    }
    command
}
