//! Scenarios: what the threads of each name did, phase by phase, and what the
//! computer did under them.

mod columns;
mod layout;
mod modes;

use punctual_record::Measurement;

use crate::select;
use columns::{Column, of_computer, of_threads};
use layout::Several;

/// What the measurements of the whole computer have as their subject.
const COMPUTER: &str = "(computer)";

/// With more names than this, tables of a line or two become one.
const MANY_NAMES: usize = 3;

/// A table for each name of threads, and one for the computer.
pub(crate) fn scenario(measurements: &[&Measurement]) -> Vec<String> {
    let subjects = select::by_subject(measurements.iter().copied());
    let (computer, threads): (Vec<_>, Vec<_>) = subjects
        .into_iter()
        .partition(|(subject, _)| *subject == COMPUTER);
    let (active, idle): (Vec<_>, Vec<_>) = threads
        .into_iter()
        .partition(|(_, group)| group.iter().any(|m| columns::is_active(m)));
    let several = Several::of(measurements);
    let mut sections = of_all_threads(&active, several);
    let mut quiet: Vec<&str> = idle.iter().map(|(subject, _)| *subject).collect();
    quiet.sort_unstable();
    if !quiet.is_empty() {
        sections.push(crate::prose::paragraph(&format!(
            "No sleeps, and less than 1 % of a CPU: {}.",
            quiet.join(", ")
        )));
    }
    sections.extend(computer.iter().map(|(_, group)| {
        let columns = of_computer(group);
        layout::table("the computer", group, &columns, several)
    }));
    sections
}

fn of_all_threads(names: &[(&str, Vec<&Measurement>)], several: Several) -> Vec<String> {
    let all: Vec<&Measurement> = names.iter().flat_map(|(_, group)| group.clone()).collect();
    let lines = names.iter().map(|(_, group)| group.len());
    if names.len() > MANY_NAMES && lines.max() <= Some(2) {
        let columns = of_threads(&all);
        return vec![section("the threads", &all, &columns, several)];
    }
    names
        .iter()
        .map(|(name, group)| {
            let many = select::counts(group.iter().filter_map(|m| {
                let threads = select::extra(m, "threads")?;
                Some(threads as u64)
            }));
            let title = match many.as_str() {
                "0" | "1" => format!("thread {name}"),
                many => format!("threads {name}: {many} of them, rates and CPU of each"),
            };
            section(&title, group, &of_threads(group), several)
        })
        .collect()
}

fn section(title: &str, group: &[&Measurement], columns: &[Column], several: Several) -> String {
    let mut text = layout::table(title, group, columns, several);
    text += &modes::several(group);
    text += &modes::several_readings(group);
    text
}
