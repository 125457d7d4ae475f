//! A command under the timers of another system.

use punctual_record::{EmulatedWaits, Run};

use crate::prose;
use crate::tables::Section;
use crate::tables::table::{Table, Why};
use crate::units;
use crate::verdict::Verdict;

pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let emulated = run.beside.emulated.as_ref()?;
    let model = run.beside.models.first();
    let model = model.map_or("the model", |model| model.name.as_str());
    let [[runs, failed], [natively, failed_natively]] = emulated.counts();
    let mut sentences = vec![match (emulated.runs.first(), natively) {
        (Some(one), 0) if runs == 1 => match (one.exit_code, one.signal) {
            (Some(code), _) => format!("Under {model} the command ended with exit code {code}."),
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                format!("Under {model} the command was ended by signal {signal}.")
            }
        },
        _ => format!(
            "The command failed in {failed} of {} under {model}, and in {failed_natively} of {natively} natively.",
            prose::counted(runs, "run"),
        ),
    }];
    let most = emulated.that_differ_most();
    let names: Vec<String> = most.iter().map(|waits| waits.name()).collect();
    if !names.is_empty() {
        let names = names.iter().map(String::as_str);
        sentences.push(format!(
            "The rule changes these waits most: {}.",
            prose::list(names)
        ));
    }
    let next = "Next: another phase of the ticks, by another --seed";
    Some(Verdict::new(sentences, next).told(
        table(&emulated.waits),
        "Here: by the timer rule of the computer itself, without the wake-up. Rule: by that of the model.",
    ))
}

/// All waits of the command.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let emulated = run.beside.emulated.as_ref()?;
    let limits = emulated.limits.join("; ");
    Some(table(&emulated.waits).in_words(limits).section())
}

fn table(waits: &[EmulatedWaits]) -> Table<'_, EmulatedWaits> {
    let ended = Table::new("Waits of the command", waits)
        .column("wait", EmulatedWaits::name)
        .column("ended by timer", |waits| waits.ended_by_timer.to_string())
        .column("by event", |waits| waits.ended_by_event.to_string());
    let ended = match waits.iter().any(|waits| waits.ended_unobserved > 0) {
        true => ended.column("by either", |waits| waits.ended_unobserved.to_string()),
        false => ended,
    };
    ended
        .column("asked", |waits| units::duration(waits.asked_ns))
        .column("here", |waits| waits.native_ns.map(units::duration))
        .blank(Why::NOT_PREDICTED)
        .column("rule", |waits| waits.by_rule_ns.map(units::duration))
        .blank(Why::NOT_MEASURED)
        .column("took", |waits| waits.took_ns.map(units::duration))
        .blank(Why::NOT_MEASURED)
}
