//! The report as plain text.

use punctual_record::{Disturbance, Experiment, Measurement, Run, RunRow, Warning};

#[cfg(not(target_family = "wasm"))]
use crate::figures::{Figure, of_waits};
use crate::tables::Section;
use crate::verdict::{self, Verdict};
use crate::{doctor, experiments, hiccup, prose, tables};

/// The answer of a run; `None` where no rule knows its purpose.
pub fn verdict<R: Report>(run: &Run<R>) -> Option<Verdict> {
    R::verdict(run).map(|verdict| verdict::of_run(run, verdict))
}

/// Rows of which there are tables and figures.
pub trait Report: RunRow {
    /// The head above the tables: the author, machine and time of the measurement.
    fn head(run: &Run<Self>) -> String;

    /// The tables, and what they mean.
    fn sections(run: &Run<Self>) -> Vec<Section>;

    /// The answer of the run, in one screen; `None` where no rule knows its purpose.
    fn verdict(run: &Run<Self>) -> Option<Verdict>;

    /// The run without the names of what else ran and of folders, as far as its results have any.
    #[cfg(not(target_family = "wasm"))]
    fn nameless(run: Run<Self>) -> Run<Self> {
        run
    }

    /// The figures for which the run has data.
    #[cfg(not(target_family = "wasm"))]
    fn figures(run: &Run<Self>) -> Vec<Figure>;

    /// A small picture of the run for its answer, as HTML, if it has what that shows.
    #[cfg(not(target_family = "wasm"))]
    fn glance(run: &Run<Self>) -> Option<String> {
        let _ = run;
        None
    }
}

/// The report of a run: the machine, the tables, and last the warnings.
///
/// The layout does not depend on a terminal. It has no colour, and no line ends
/// in a space.
pub fn text<R: Report>(run: &Run<R>) -> String {
    with(run, vec![])
}

/// The same, and what the strategies that learn had learned by the end of the
/// run.
pub fn explained(run: &Run) -> String {
    with(run, tables::learned(&run.beside.learned))
}

/// The sections whose title contains one of these names, in either case.
///
/// # Errors
/// None has one of them; the titles there are.
pub fn tables_named(mut sections: Vec<Section>, names: &[String]) -> Result<String, String> {
    let is_named = |section: &Section, name: &str| {
        let title = section.title().to_lowercase();
        title.contains(&name.to_lowercase())
    };
    let is_missing = |name: &&String| !sections.iter().any(|it| is_named(it, name));
    if let Some(name) = names.iter().find(is_missing) {
        let titles: Vec<&str> = sections.iter().map(Section::title).collect();
        let titles = titles.join("; ");
        return Err(format!(
            "no table has `{name}` in its title; there are: {titles}"
        ));
    }
    sections.retain(|section| names.iter().any(|name| is_named(section, name)));
    Ok(Section::joined(&sections))
}

/// The figures a run has data for.
///
/// Values beyond an axis are drawn at its end, and the caption says so.
#[cfg(not(target_family = "wasm"))]
pub fn figures<R: Report>(run: &Run<R>) -> Vec<Figure> {
    R::figures(run)
}

/// The report with more sections before the warnings.
fn with<R: Report>(run: &Run<R>, more: Vec<Section>) -> String {
    let mut sections = vec![Section::from(R::head(run))];
    sections.extend(R::sections(run));
    sections.extend(more);
    sections.extend(warnings(run).map(Section::from));
    Section::joined(&sections)
}

/// The only section of a run without results.
pub const NO_RESULTS: &str = "This run has no results.\n";

impl Report for Measurement {
    fn head(run: &Run) -> String {
        if run.beside.doctor.is_some() || run.beside.imported.is_some() {
            return head(run);
        }
        let of_a_scenario =
            experiments::scenario::header(run).filter(|_| experiments::scenario::is_alone(run));
        of_a_scenario.unwrap_or_else(|| header(run, true))
    }

    fn sections(run: &Run) -> Vec<Section> {
        if let Some(diagnosis) = &run.beside.doctor {
            return doctor::sections(run, diagnosis);
        }
        let mut sections = Vec::from_iter(experiments::emulated::section(run));
        sections.extend(experiments::tables(run));
        sections.extend(experiments::trace::sections(run));
        sections.extend(run.beside.traced.iter().flat_map(experiments::trace::facts));
        if run.results.is_empty() {
            sections.push(NO_RESULTS.to_owned().into());
        }
        sections.extend(experiments::scenario::expectations(
            &run.beside.expectations,
        ));
        sections
    }

    fn verdict(run: &Run) -> Option<Verdict> {
        experiments::answer(run)
    }

    #[cfg(not(target_family = "wasm"))]
    fn nameless(mut run: Run) -> Run {
        for row in &mut run.results {
            match &mut row.experiment {
                Experiment::Watch(watch) => {
                    for late in &mut watch.hiccups {
                        for other in &mut late.others {
                            (other.name, other.pid) = ("another".to_owned(), 0);
                        }
                        late.in_words = hiccup(late);
                    }
                }
                Experiment::Scenario(of) => of.at.on = prose::model_without_folders(&of.at.on),
                Experiment::ScenarioComputer(of) => {
                    of.at.on = prose::model_without_folders(&of.at.on)
                }
                _ => {}
            }
        }
        run.beside.doctor = run.beside.doctor.map(crate::doctor::for_a_reader);
        if let Some(emulated) = &mut run.beside.emulated {
            let lines = emulated
                .waits
                .iter_mut()
                .filter_map(|waits| waits.line.as_mut());
            // Paths in the folder of the command begin there.
            for line in lines.filter(|line| line.starts_with('/')) {
                *line = prose::last_parts([line.as_str()].into_iter(), "");
            }
        }
        let expected = run.beside.expectations.iter_mut().map(|it| &mut it.on);
        let models = run.beside.models.iter_mut().map(|it| &mut it.name);
        for name in expected.chain(models) {
            *name = prose::model_without_folders(name);
        }
        run
    }

    #[cfg(not(target_family = "wasm"))]
    fn figures(run: &Run) -> Vec<Figure> {
        of_waits(run)
    }

    #[cfg(not(target_family = "wasm"))]
    fn glance(run: &Run) -> Option<String> {
        crate::page::picture::of(run)
    }
}

/// The head of the run; with the unknown facts of its timers if it `waits`.
pub fn header<R: RunRow>(run: &Run<R>, waits: bool) -> String {
    let machine = &run.machine;
    let mut text = head(run);
    for (label, value) in [
        ("timer rule", &machine.timer_rule),
        ("clock", &machine.clock),
        ("sleep", &machine.sleep_method),
        ("timer", &machine.timer_method),
        ("spin", &machine.spin),
        ("CPU time", &machine.cpu_time),
    ] {
        if waits || !value.is_empty() {
            text += &labelled(label, value);
        }
    }
    text
}

/// The program and machine of the run.
pub fn head<R: RunRow>(run: &Run<R>) -> String {
    let when = match &run.started_at {
        Some(time) => format!("started {time}"),
        None => String::new(),
    };
    let mut text = prose::paragraph(&format!("punctual {} {when}", run.punctual_version));
    text += &labelled("command", &run.command);
    text += &prose::listed("machine     ", &run.machine.in_words());
    for evidence in &run.machine.evidence {
        text += &labelled("rests on", evidence);
    }
    if let Some(doubt) = run.disturbance.as_ref().and_then(doubt) {
        text += &labelled("doubt", &doubt);
    }
    text
}

/// The doubts to state before the numbers of a run.
fn doubt(disturbance: &Disturbance) -> Option<String> {
    let why = match disturbance.is_throttled() {
        true => "a quota of its cgroup stopped this process".to_owned(),
        false => format!(
            "others{} had {:.0} % of the CPUs that were measured on",
            prose::when(disturbance.notably_stolen().is_some(), || {
                " and the hypervisor".to_owned()
            }),
            disturbance.busy_fraction() * 100.0
        ),
    };
    let is_busy = disturbance.is_too_busy();
    is_busy.then(|| {
        format!(
            "the computer was busy, so these results include the effect of other load: {why} (see Warnings)"
        )
    })
}

/// A line of the head: a label, and its value or `unknown`.
pub fn labelled(label: &str, value: &str) -> String {
    let value = if value.is_empty() { "unknown" } else { value };
    prose::indented(&format!("{label:<12}"), value)
}

/// The warnings to read before the results are believed.
pub(crate) fn all_warnings<R: RunRow>(run: &Run<R>) -> Vec<Warning> {
    let partial = match &run.failed {
        Some(why) => Some(Warning::new(
            format!("The run could not go on, so the results are partial: {why}."),
            "Mend that, and run it again.",
        )),
        None => run.interrupted.then(|| {
            Warning::new(
                "The run was ended before its end: the results are partial.",
                "Run it again and let it finish.",
            )
        }),
    };
    partial.into_iter().chain(run.warnings.clone()).collect()
}

fn warnings<R: RunRow>(run: &Run<R>) -> Option<String> {
    let all = all_warnings(run);
    if all.is_empty() {
        return None;
    }
    let mut text = "Warnings\n".to_owned();
    for (i, Warning { what, remedy }) in all.iter().enumerate() {
        text += &prose::indented(&format!("{:>2}. ", i + 1), what);
        if !remedy.is_empty() {
            text += &prose::indented("    ", &format!("Remedy: {remedy}"));
        }
    }
    Some(text)
}
