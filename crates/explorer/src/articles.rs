//! The articles that punctual began with: their claims, the outcomes, and the data of the pictures.

use std::sync::OnceLock;

use punctual_lab::articles::{self, Article, Check, Claim};
use punctual_lab::scenario::shipped;
use punctual_lab::validation::{self, Preset, Row};
use punctual_zero::article;
use punctual_zero::validation::{Evidence, Validation, bursts_of_the_test};
use punctual_zero_sim::System;
use serde::Deserialize;
use serde_json::{Value, json};

/// A claim of an article.
#[derive(Debug, Deserialize)]
pub(crate) struct ClaimOf {
    article: String,
    /// Its number, counted from 0.
    claim: usize,
}

/// The seed of every picture, as of the commands.
const SEED: u64 = 1;

/// Each article in one sentence, with `{V04}` for what comes out of its first claim that this row
/// holds, and `{V48:2}` for the second.
const ANSWERS: [(&str, &str); 4] = [
    (
        "timers",
        "Where another program asks for 2 ms, a loop of Sleep(1) wakes {V04} on Windows 10 1909, but {V25} since Windows \
         10 2004.",
    ),
    (
        "zeroing",
        "Threads that zero one page at a time under one spin lock keep {Z09} busy; in a trace of them {Z05} for that lock.",
    ),
    (
        "sleep",
        "A 60 Hz loop that sleeps for most of each frame and spins for the rest takes {A14} of a CPU; one that only spins \
         takes {A13}.",
    ),
    (
        "scheduling",
        "A sleep of 1 ms takes {V22} on Windows, {V62} on a Mac with an M1 and {V48:2} on Linux.",
    ),
];

/// The validation rows, read once.
struct Rows {
    waits: Vec<Row>,
    pools: Validation,
}

fn rows() -> Result<&'static Rows, String> {
    static ROWS: OnceLock<Rows> = OnceLock::new();
    if let Some(rows) = ROWS.get() {
        return Ok(rows);
    }
    let waits = validation::rows().map_err(|why| why.to_string())?;
    let pools = Validation::load();
    Ok(ROWS.get_or_init(|| Rows { waits, pools }))
}

/// The articles, with their claims.
pub(crate) fn all() -> Vec<Value> {
    let claim = |claim: &Claim| {
        json!({
            "says": claim.says,
            "figure": claim.figure,
            "command": format!("punctual {}", claim.command),
            "why": claim.why,
            "computed": matches!(claim.check, Check::Row { .. }),
        })
    };
    let all = articles::ALL.iter().map(|article| {
        json!({
            "name": article.name,
            "about": article.about,
            "title": sentence(article.title),
            "claims": article.claims.iter().map(claim).collect::<Vec<_>>(),
        })
    });
    all.collect()
}

/// Words as a sentence or a heading begins with them.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The lines of the page-zeroing story: what each is about, and its pool.
pub(crate) fn lines() -> Vec<Value> {
    let lines = article::lines();
    let lines = lines.iter().map(|line| {
        json!({
            "what": line.what,
            "threads": line.setting.workers,
            "lock": line.setting.lock.name(),
            "batch": line.setting.batch.to_string(),
        })
    });
    lines.collect()
}

fn find(name: &str) -> Result<&'static Article, String> {
    let found = articles::ALL.iter().find(|article| article.name == name);
    found
        .copied()
        .ok_or_else(|| format!("there is no article `{name}`"))
}

/// An article in one sentence.
pub(crate) fn answer(name: &str) -> Result<String, String> {
    let article = find(name)?;
    let answer = ANSWERS.iter().find(|(article, _)| *article == name);
    let mut text = String::new();
    let mut rest = answer.map_or(article.about, |(_, answer)| answer);
    while let Some((before, (of, after))) = split(rest) {
        text += before;
        text += &articles::brief(&told(held_by(article, of)?)?.0);
        rest = after;
    }
    Ok(text + rest)
}

/// The claim that a row holds: `V48:2` is the second of those.
fn held_by(article: &'static Article, of: &str) -> Result<&'static Claim, String> {
    let (row, nth) = of.split_once(':').unwrap_or((of, "1"));
    let is_held = |claim: &&Claim| matches!(claim.check, Check::Row { id, .. } if id == row);
    let nth: usize = nth.parse().unwrap_or(1);
    let found = article
        .claims
        .iter()
        .filter(is_held)
        .nth(nth.saturating_sub(1));
    found.ok_or_else(|| format!("no claim is held by {of}"))
}

/// The text before the next braces, in them and after them.
fn split(text: &str) -> Option<(&str, (&str, &str))> {
    let (before, rest) = text.split_once('{')?;
    Some((before, rest.split_once('}')?))
}

/// The outcome of a claim, and whether it agrees.
fn told(claim: &Claim) -> Result<(String, &'static str), String> {
    let rows = rows()?;
    let told = claim.told(&rows.waits, &|id| rows.pools.finding(id));
    let told = told.map_err(|why| why.to_string())?;
    Ok((told.got, told.found.word()))
}

impl ClaimOf {
    fn claim(&self) -> Result<&'static Claim, String> {
        let claims = find(&self.article)?.claims;
        let claim = claims.get(self.claim);
        claim.ok_or_else(|| format!("{} has {} claims", self.article, claims.len()))
    }

    /// The outcome, and the address of the page that shows it.
    pub(crate) fn tell(&self) -> Result<Value, String> {
        let claim = self.claim()?;
        let (got, found) = told(claim)?;
        Ok(json!({ "got": got, "found": found, "preset": preset(claim)? }))
    }
}

/// The parameters in the address of a page: names and values.
type Address = Vec<(&'static str, String)>;

/// The page that shows a claim, if one does.
fn preset(claim: &Claim) -> Result<Option<Address>, String> {
    let on = option(claim.command, "--on");
    let mut words = claim.command.split(' ');
    if words.next() == Some("zero") {
        return Ok(pools(claim));
    }
    let named = words.next().unwrap_or_default();
    if shipped::find(named).is_some() {
        return Ok(Some(story(named, on)));
    }
    let Check::Row { id, shown } = claim.check else {
        return Ok(None);
    };
    let row = rows()?.waits.iter().find(|row| row.id == id);
    let Some(row) = row else { return Ok(None) };
    let preset = row.preset(shown).map_err(|why| why.to_string())?;
    Ok(preset.map(|preset| match preset {
        Preset::Shipped { name } => story(&name, None),
        Preset::File { on, text } => {
            let mut address = story("file", Some(&on));
            address.push(("file", text));
            address
        }
    }))
}

fn story(name: &str, on: Option<&str>) -> Address {
    let mut address = vec![("page", "timers".to_owned()), ("story", name.to_owned())];
    address.extend(on.map(|on| ("on", on.to_owned())));
    address
}

/// The pool of a claim: that of Windows 10 on the article's computer, unless the row is of
/// another one.
fn pools(claim: &Claim) -> Option<Address> {
    let id = match claim.check {
        Check::Row { id, .. } => id,
        Check::Shown => "",
        Check::Here | Check::ByHand => return None,
    };
    let row = rows().ok()?.pools.rows.iter().find(|row| row.id == id);
    if row.is_some_and(|row| row.evidence == Evidence::Arithmetic) {
        return None;
    }
    let system = match id {
        "Z13" => "windows-11",
        "Z14" => "server-2022",
        _ => "windows-10",
    };
    let system = System::parse(system).ok()?;
    let (on, threads) = match id {
        "Z15" => ("ice-lake-128", system.setting.workers),
        "Z18" => ("ryzen-7950x-32", 2),
        _ => (&*system.machine, system.setting.workers),
    };
    let besides = system.bookkeeping().value;
    Some(vec![
        ("page", "zeroing".to_owned()),
        ("on", format!("{on},bookkeeping={besides}")),
        ("threads", threads.to_string()),
        ("batch", system.setting.batch.to_string()),
        ("lock", system.setting.lock.to_string()),
    ])
}

/// The value of an option of a command.
pub(crate) fn option<'c>(command: &'c str, name: &str) -> Option<&'c str> {
    let mut words = command.split(' ').skip_while(|word| *word != name);
    words.nth(1)
}

/// A line of the page-zeroing story, counted from 0: where its CPU time went.
pub(crate) fn line(nth: usize) -> Result<Value, String> {
    let lines = article::lines();
    let line = lines.get(nth).ok_or("the story has no such line")?;
    let central = line.central(SEED).map_err(|why| why.to_string())?;
    Ok(json!({ "gb_per_cpu_s": central.gb_per_cpu_s(), "cpu": central.split }))
}

/// The article's test: when all threads zero, and how many CPUs are busy.
pub(crate) fn bursts() -> Result<Value, String> {
    let bursts = bursts_of_the_test().map_err(|why| why.to_string())?;
    Ok(json!({
        "threads": bursts.burst.setting.workers,
        "every_ns": bursts.period.as_ns(),
        "duty": bursts.duty(),
        "cpus": bursts.cpus(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_lab::scenario::Scenario;
    use punctual_zero_sim::Machine;

    #[test]
    fn each_article_has_an_answer_with_figures() {
        for article in articles::ALL {
            let answer = answer(article.name).unwrap();
            assert_ne!(answer, article.about);
            assert!(answer.contains(|c: char| c.is_ascii_digit()), "{answer}");
            assert!(!answer.contains(['{', '}']), "{answer}");
        }
        assert!(answer("tea").is_err());
    }

    /// The preset of a row is a scenario that runs on its model.
    #[test]
    fn each_computed_claim_has_a_preset_that_runs() {
        let mut without = Vec::new();
        for article in articles::ALL {
            for claim in article.claims {
                let Some(address) = preset(claim).unwrap() else {
                    without.push(claim);
                    continue;
                };
                let of = |key| {
                    let found = address.iter().find(|(name, _)| *name == key);
                    found.map(|(_, value)| value.clone())
                };
                if let Some(text) = of("file") {
                    let scenario = Scenario::read("mine.toml", &text);
                    let scenario = scenario.unwrap_or_else(|why| panic!("{why}\n{text}"));
                    assert_eq!(of("on"), scenario.on.first().cloned());
                    let model = punctual_sim::Model::parse(&scenario.on[0]).unwrap();
                    let ran = punctual_lab::scenario::run(&scenario, &model, SEED, false);
                    ran.unwrap_or_else(|why| panic!("{why}\n{text}"));
                }
                if of("page").as_deref() == Some("zeroing") {
                    Machine::parse(&of("on").unwrap()).unwrap();
                }
            }
        }
        // Arithmetic, and an experiment that is no single program.
        let computed = without
            .iter()
            .filter_map(|claim| match claim.check {
                Check::Row { id, .. } => Some(id),
                _ => None,
            })
            .collect::<Vec<_>>();
        assert_eq!(computed, ["Z08", "Z06", "Z20", "V70"]);
    }

    #[test]
    fn a_claim_that_is_none_is_refused() {
        let of = |article: &str, claim| ClaimOf {
            article: article.to_owned(),
            claim,
        };
        assert!(of("timers", 0).tell().is_ok());
        assert!(of("timers", 1_000).tell().is_err());
        assert!(of("tea", 0).tell().is_err());
        assert!(line(1_000).is_err());
    }

    #[test]
    fn the_pictures_of_zeroing_have_what_they_show() {
        let first = line(0).unwrap();
        assert!(first["cpu"]["waiting"].as_f64().unwrap() > 0.9);
        let (told, _) = article::lines()[0].tell(SEED).unwrap();
        assert_eq!(first["gb_per_cpu_s"], told.central.gb_per_cpu_s());
        let bursts = bursts().unwrap();
        let duty = bursts["duty"].as_f64();
        assert!(
            duty.is_some_and(|duty| (0.5..1.0).contains(&duty)),
            "{bursts}"
        );
    }
}
