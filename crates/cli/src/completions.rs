//! `punctual completions`: the command line for a shell, with the names that options take.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Args, Command as Definition};
use clap_complete::{Shell, generate};
use punctual_core::{Method, StrategySpec};
use punctual_lab::scenario::shipped;
use punctual_sim::Model;
use punctual_zero_pool::LockKind;
use punctual_zero_sim::presets;

use crate::{Done, host, print};

/// How a shell reads it.
pub(crate) const AFTER: &str = "\
bash, zsh and fish complete the names of models, computers, scenarios, strategies, calls and locks too. PowerShell and Elvish \
complete commands and options only: the generator of their scripts, clap_complete, writes no values.

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

/// Prints the script for a shell.
pub(crate) fn run(args: &CompletionsArgs, definition: Definition) -> anyhow::Result<Done> {
    let mut script = Vec::new();
    let mut definition = with_names(definition, "");
    generate(args.shell, &mut definition, "punctual", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Done::Whole)
}

/// The same command line with the names that its options take, in `zero` those of its computers.
/// More than such a name is a value too: parameters, a list, a file.
fn with_names(command: Definition, above: &str) -> Definition {
    let path = format!("{above} {}", command.get_name());
    let named = |arg: Arg| match names(arg.get_id().as_str(), &path) {
        Some(names) => arg.value_parser(PossibleValuesParser::new(names)),
        None => arg,
    };
    command
        .mut_args(named)
        .mut_subcommands(|below| with_names(below, &path))
}

/// The names that are values of an option or argument of a command, each with what it is.
fn names(id: &str, command: &str) -> Option<Vec<PossibleValue>> {
    let named = |name: &'static str, what: &str| PossibleValue::new(name).help(what.to_owned());
    let plain = |name: &'static str| PossibleValue::new(name);
    Some(match id {
        "on" if command.contains(" zero ") => {
            let all = presets().iter();
            all.map(|computer| named(&computer.name, &computer.what))
                .collect()
        }
        "on" => {
            let all = Model::known().iter();
            all.map(|model| named(model.name, model.what)).collect()
        }
        "scenario" => {
            let all = shipped::ALL.iter();
            let titled = all.filter_map(|scenario| {
                let title = scenario.read().ok()?.title;
                Some(named(scenario.name, &title))
            });
            let others = [
                (
                    "article",
                    "the claims of the articles, beside what comes out",
                ),
                (
                    "robustness",
                    "strategies against a scheduler that steals time",
                ),
            ];
            let others = others
                .into_iter()
                .filter(|_| command.ends_with(" simulate"));
            titled
                .chain(others.map(|(name, what)| named(name, what)))
                .collect()
        }
        "strategy" => {
            let strategies = StrategySpec::ALL.into_iter().map(StrategySpec::name);
            strategies.chain(host::peers()).map(plain).collect()
        }
        "method" => Method::ALL
            .into_iter()
            .map(Method::name)
            .map(plain)
            .collect(),
        "lock" | "returns" => {
            let all = LockKind::ALL.iter();
            all.map(|lock| named(lock.name(), lock.facts().about))
                .collect()
        }
        _ => return None,
    })
}
