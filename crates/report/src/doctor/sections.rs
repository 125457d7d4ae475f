//! A diagnosis as text: the rule in force with the facts that decide it, prediction
//! beside measurement, and what can be done.

use punctual_record::{Advice, Diagnosis, Run};

use crate::tables::Passage;
use crate::{prose, tables};

/// The sections of a diagnosis, without header and warnings.
pub(crate) fn sections(run: &Run, diagnosis: &Diagnosis) -> Vec<Passage> {
    let mut sections = vec![Passage::from(rule(diagnosis))];
    sections.extend(not_told(diagnosis).map(Passage::from));
    sections.extend(tables::doctor(run, diagnosis));
    sections.extend(evidence(diagnosis).map(Passage::from));
    sections.push(advice(&diagnosis.advice).into());
    sections
}

fn rule(diagnosis: &Diagnosis) -> String {
    let mut text = "The rule in force for this process\n".to_owned();
    text += &prose::indented("  ", &diagnosis.rule);
    text += &list(diagnosis.facts.iter().map(|f| (&f.name, &f.value)));
    text
}

fn not_told(diagnosis: &Diagnosis) -> Option<String> {
    let facts = &diagnosis.not_told;
    (!facts.is_empty()).then(|| {
        let list = list(facts.iter().map(|f| (&f.name, &f.why)));
        format!("Not told by this system, and not guessed\n{list}")
    })
}

/// Names, and what belongs to them beside them.
fn list<'a>(pairs: impl Iterator<Item = (&'a String, &'a String)> + Clone) -> String {
    let width = pairs.clone().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    pairs
        .map(|(name, value)| prose::indented(&format!("  {name:<width$}  "), value))
        .collect()
}

fn evidence(diagnosis: &Diagnosis) -> Option<String> {
    (!diagnosis.evidence.is_empty()).then(|| {
        diagnosis
            .evidence
            .iter()
            .map(|sentence| prose::paragraph(sentence))
            .collect()
    })
}

fn advice(all: &[Advice]) -> String {
    if all.is_empty() {
        return "Advice\n  None: nothing that was checked would make these waits better.\n"
            .to_owned();
    }
    let mut text = "Advice, what helps a wait of 1 ms most first\n".to_owned();
    for (i, advice) in all.iter().enumerate() {
        text += &prose::indented(&format!("{:>2}. ", i + 1), &advice.what);
        text += &prose::indented("    ", &format!("Expected: {}.", advice.expected));
        // One line, so that it can be copied, however long.
        text += &format!("    {}\n", advice.line);
    }
    text
}
