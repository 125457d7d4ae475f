//! Scenarios: experiments on a whole computer, written as TOML.
//!
//! A file has a timeline of phases, processes with what they do, and what its
//! sources say comes out of it. `scenarios/README.md` explains every key; the
//! files beside it are the ones that come with punctual. A file goes through
//! these hands:
//!
//! | file | what it does |
//! |---|---|
//! | `table` | text to TOML, with a bound on how deep it is, and its values as a scenario wants them |
//! | `read`, `verbs` | TOML to what the file says (`file`) |
//! | `parameters` | what is written once and stands for several |
//! | `checks` | finds what could never run or never end |
//! | `compile` | what the file says to one [`Program`], what it expects to [`Expect`]s |
//! | [`run`], [`run_on`] | runs it on a model, or any machine, measures, and compares with the [`Expect`]s; `group` and `seen` are what it looks at |
//! | [`who_asked`] | which processes asked for a timer interval, and whose request ruled when |
//! | [`explain`] | why a wake came when it did, and what the Run file says of a scenario |
//!
//! The scenarios that come with punctual are in [`shipped`].
//!
//! # Limits
//! A file has at most 256 KiB, 10,000 steps nested at most 16 deep, 1,000 phases, 100 models and
//! 10,000 expectations; names have at most 200 characters, sources 1,000. An experiment starts at
//! most 100,000 threads and lasts at most one hour. Any file is read or refused in a moment, with
//! the line of the error. The number of events of a simulation is not bounded here: a week of
//! sleeps of 1 us is a scenario too.

mod asked;
mod checks;
pub(crate) mod compile;
pub(crate) mod error;
mod expect;
mod explain;
mod file;
mod group;
mod limits;
pub(crate) mod parameters;
pub(crate) mod read;
mod run;
mod seen;
pub mod shipped;
pub(crate) mod table;
pub(crate) mod verbs;

#[cfg(test)]
mod tests;

pub use asked::{Asked, WhoAsked, who_asked};
pub use error::Error;
pub use expect::{Expect, Figure, Series, Stat, Target, Unit};
pub use explain::{Question, Which, explain, of_model};
pub use file::Phase;
pub use limits::THREADS;
pub use run::{LIMITS, Ran, check, run, run_on, simulate};
pub use seen::COMPUTER;

use punctual_core::Nanos;
use punctual_program::Program;
use punctual_sim::Model;

use error::Flaw;
use explain::machine_facts;
use file::{File, System};

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name: that of its file.
    pub name: String,
    /// One line.
    pub title: String,
    /// Some sentences on what to look at; empty if there are none.
    pub about: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// The models it is meant for, as [`Model::name`] has them.
    pub on: Vec<String>,
    /// The timeline.
    pub phases: Vec<Phase>,
    /// The whole experiment. Its first thread, which has no name, only starts
    /// the others and begins the phases.
    pub program: Program,
    /// The names of all other threads, in order of first appearance. Several
    /// threads can have the same.
    pub names: Vec<String>,
    /// The expectations of its sources.
    pub expects: Vec<Expect>,
    /// The parsed file, so that it can be compiled at another length.
    file: File,
}

impl Scenario {
    /// Reads the scenario `name` from the text of its file.
    ///
    /// # Errors
    /// The text is no scenario, or is beyond the [limits](self#limits).
    pub fn read(name: &str, text: &str) -> Result<Self, Error> {
        Self::read_for(name, text, &|model| {
            Ok(Model::parse(model)?.name().to_owned())
        })
    }

    /// The same where there are other models than the simulator's own: `models` says of
    /// each that the file names what it calls itself, or why there is no such model.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_for(
        name: &str,
        text: &str,
        models: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, Error> {
        let build = || -> Result<Self, Flaw> {
            let root = table::parse(text)?;
            let file = read::file(&root, models)?;
            checks::check(&file)?;
            let compiled =
                compile::compile(&file, compile::total(&file.phases), System::ELSEWHERE)?;
            Ok(Self {
                name: name.to_owned(),
                title: file.title.clone(),
                about: file.about.clone(),
                source: file.source.clone(),
                on: file.on.clone(),
                phases: compiled.phases,
                program: compiled.program,
                expects: compile::expects(&file, &compiled.names, text)?,
                names: compiled.names,
                file,
            })
        };
        build().map_err(|flaw| Error::new(name, text, flaw))
    }

    /// How long the experiment lasts.
    pub fn length(&self) -> Nanos {
        compile::total(&self.phases)
    }

    /// The experiment on a model, with its OS calls and its defaults of strategies; [`program`](Self::program) has those
    /// of Linux and macOS, and of several calls the first.
    pub fn program_on(&self, model: &Model) -> Program {
        let system = System {
            defaults: model.strategy_defaults(),
            has: &|method| model.resolve(method).is_some(),
        };
        let compiled = compile::compile(&self.file, self.length(), system);
        // It has been put together before, and nothing in it depends on these.
        compiled.map_or_else(|_| self.program.clone(), |compiled| compiled.program)
    }

    /// The same scenario lasting for `length`. All phases are stretched or shortened alike, and
    /// the instants that steps wait for with them. Lengths of sleeps and numbers of repetitions
    /// stay. The expectations stay too: they are rates and lengths that do not depend on the
    /// duration. A very short run may miss them.
    ///
    /// # Errors
    /// A phase would be over before it began, or the experiment would last
    /// for more than a week.
    pub fn with_length(&self, length: Nanos) -> Result<Self, String> {
        if length > limits::LENGTH {
            return Err(format!(
                "{length} is too long: a scenario lasts at most {}",
                limits::LENGTH
            ));
        }
        let compiled = compile::compile(&self.file, length, System::ELSEWHERE)
            .map_err(|flaw| Error::new(&self.name, "", flaw).to_string())?;
        if let Some(phase) = compiled.phases.iter().find(|phase| phase.length.is_zero()) {
            return Err(format!(
                "{length} is too short: nothing would be left of the phase `{}`",
                phase.name
            ));
        }
        Ok(Self {
            phases: compiled.phases,
            program: compiled.program,
            ..self.clone()
        })
    }
}
