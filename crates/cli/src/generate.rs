//! `punctual completions` and `punctual man`: what is made of the definition of
//! the command line.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::{Done, files, print};

/// How a shell is told.
pub(crate) const AFTER: &str = "\
Examples:
  punctual completions bash > /etc/bash_completion.d/punctual
  punctual completions zsh > ~/.zfunc/_punctual    (a directory of $fpath)
  punctual completions fish > ~/.config/fish/completions/punctual.fish
  punctual completions powershell >> $PROFILE";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Where the pages go; `man DIR/punctual.1` shows the first
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Prints the script for a shell.
pub(crate) fn completions(args: &CompletionsArgs, mut definition: Command) -> Result<Done> {
    let mut script = Vec::new();
    generate(args.shell, &mut definition, "punctual", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Done::Whole)
}

/// Writes a page for each command.
pub(crate) fn man(args: &ManArgs, definition: Command) -> Result<Done> {
    files::directory(&args.directory)?;
    clap_mangen::generate_to(definition, &args.directory)
        .with_context(|| format!("cannot write into {}", args.directory.display()))?;
    Ok(Done::Whole)
}
