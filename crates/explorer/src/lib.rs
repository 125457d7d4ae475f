//! The simulator for a page in a browser: questions and answers in JSON.
//!
//! The page is `site/`; what it gets is what the
//! command `punctual` prints and writes for the same scenario, model and seed, to the byte.

mod articles;
#[cfg(target_arch = "wasm32")]
mod export;
mod pools;
mod scenarios;
mod sleep;

use articles::ClaimOf;
use punctual_record::Run;
use punctual_report::Report;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use pools::Pools;
use scenarios::{Simulation, WakeOf};

/// A question of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
enum Question {
    /// Which articles, scenarios, models and computers there are.
    Catalogue,
    /// The Run of `punctual simulate` with a scenario.
    Simulate(Simulation),
    /// The answer of `punctual simulate --explain` about a wake.
    Explain(WakeOf),
    /// The Run of `punctual zero simulate` with some pools.
    Pools(Pools),
    /// An article in one sentence.
    Answer { article: String },
    /// The outcome of a claim of an article.
    Claim(ClaimOf),
    /// A line of `punctual zero simulate article`.
    Line { line: usize },
    /// The CPUs that zero at each instant of the page-zeroing article's test.
    Bursts,
    /// The figures of `punctual bench article`.
    Figures,
}

/// The outcome of a simulation.
#[derive(Debug, Serialize)]
struct Simulated {
    /// The command that does the same.
    command: String,
    /// The Run file that it writes.
    run: String,
    /// The answer, in sentences.
    answer: Vec<String>,
    /// The text that it prints if there is no terminal.
    text: String,
}

impl Simulated {
    fn of<R: Report>(command: String, run: &Run<R>) -> Self {
        let verdict = punctual_report::verdict(run);
        Self {
            command,
            run: run.to_json(),
            text: match &verdict {
                Some(verdict) => verdict.text(usize::MAX),
                None => punctual_report::text(run),
            },
            answer: verdict.map_or_else(Vec::new, |verdict| verdict.sentences),
        }
    }
}

/// Takes the share of an answer that is done, from 0 to 1.
pub type Progress<'a> = &'a mut (dyn FnMut(f64) + Send);

/// The answer to a question: an object with `ok`, or with `error`, one sentence for people.
/// A simulation says now and then how far it is.
pub fn answer(question: &str, progress: Progress) -> String {
    let answered = serde_json::from_str(question)
        .map_err(|why| format!("this is no question that the explorer knows: {why}"))
        .and_then(|question| match question {
            Question::Catalogue => Ok(catalogue()),
            Question::Simulate(simulation) => simulation.run(progress).map(|ran| json!(ran)),
            Question::Explain(wake) => wake.explain().map(Value::from),
            Question::Pools(pools) => pools.run(progress).map(|ran| json!(ran)),
            Question::Answer { article } => articles::answer(&article).map(Value::from),
            Question::Claim(claim) => claim.tell(),
            Question::Line { line } => articles::line(line),
            Question::Bursts => articles::bursts(),
            Question::Figures => sleep::figures(),
        });
    match answered {
        Ok(answer) => json!({ "ok": answer }),
        Err(why) => json!({ "error": why }),
    }
    .to_string()
}

fn catalogue() -> Value {
    json!({
        "articles": articles::all(),
        "lines": articles::lines(),
        "scenarios": scenarios::shipped(),
        "models": scenarios::models(),
        "computers": pools::computers(),
        "locks": pools::locks(),
    })
}

/// An argument as a shell takes it, and as a Run repeats it.
fn quoted(argument: &str) -> String {
    match argument.is_empty() || argument.contains(char::is_whitespace) {
        true => format!("'{argument}'"),
        false => argument.to_owned(),
    }
}
