//! Scenarios: what the threads of each name did, phase by phase, and what the
//! computer did under them.

mod columns;
mod layout;
mod modes;

use punctual_record::Measurement;
use punctual_record::experiment::{ScenarioComputer, ScenarioThreads};

use crate::prose;
use crate::select::{self, Row};
use crate::tables::Passage;
use columns::{of_computer, of_threads};
use layout::Several;

/// With more names than this, tables of a line or two become one.
const MANY_NAMES: usize = 3;

/// A table for each name of threads, and one for the computer.
pub(crate) fn scenario(measurements: &[&Measurement]) -> Vec<Passage> {
    let of = || measurements.iter().copied();
    let (threads, computer): (Vec<Row<ScenarioThreads>>, Vec<Row<ScenarioComputer>>) =
        (select::rows(of()), select::rows(of()));
    let (active, idle): (Vec<_>, Vec<_>) = select::by_subject(&threads)
        .into_iter()
        .partition(|(_, group)| group.iter().any(|m| columns::is_active(*m)));
    let several = Several::of(measurements);
    let mut sections = of_all_threads(&active, several);
    let mut quiet: Vec<&str> = idle.iter().map(|(subject, _)| *subject).collect();
    quiet.sort_unstable();
    if !quiet.is_empty() {
        let words = format!(
            "No sleeps, and less than 1 % of a CPU: {}.",
            quiet.join(", ")
        );
        sections.push(prose::paragraph(&words).into());
    }
    if !computer.is_empty() {
        let columns = of_computer(&computer);
        sections.push(layout::table("the computer", &computer, &columns, several));
    }
    sections
}

fn of_all_threads(
    names: &[(&str, Vec<Row<'_, ScenarioThreads>>)],
    several: Several,
) -> Vec<Passage> {
    let all: Vec<_> = names.iter().flat_map(|(_, group)| group.clone()).collect();
    let lines = names.iter().map(|(_, group)| group.len());
    if names.len() > MANY_NAMES && lines.max() <= Some(2) {
        return vec![section("the threads", &all, several)];
    }
    names
        .iter()
        .map(|(name, group)| {
            let many = select::counts(group.iter().map(|m| m.of.threads));
            let title = match many.as_str() {
                "0" | "1" => format!("thread {name}"),
                many => format!("threads {name}: {many} of them, rates and CPU of each"),
            };
            section(&title, group, several)
        })
        .collect()
}

fn section(title: &str, group: &[Row<'_, ScenarioThreads>], several: Several) -> Passage {
    let mut passage = layout::table(title, group, &of_threads(group), several);
    passage.add(&modes::several(group));
    passage.add(&modes::several_readings(group));
    passage
}
