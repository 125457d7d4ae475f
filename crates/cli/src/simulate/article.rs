//! `punctual simulate article NAME`.

use anyhow::{Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use punctual_lab::articles::{self, Article, Claim, Found};
use punctual_lab::validation;
use punctual_report::prose;
use punctual_report::tables::table::Table;
use punctual_zero::validation::Validation;

use super::SimulateArgs;
use crate::options::refuse;
use crate::progress::Progress;
use crate::{Done, print};

/// How wide an answer is.
const WIDTH: usize = 80;

/// The names of the articles.
pub(super) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(articles::ALL.map(|article| article.name))
}

pub(super) fn run(args: &SimulateArgs) -> Result<Done> {
    let names = articles::ALL.map(|article| article.name).join(", ");
    let Some(name) = &args.article else {
        bail!("which article? simulate article NAME, with one of {names}");
    };
    let article = articles::ALL
        .into_iter()
        .find(|article| article.name == name);
    let article = article.ok_or_else(|| anyhow!("the articles are {names}"))?;
    refuse(
        [
            ("--on", !args.on.is_empty()),
            ("--seed", args.seed.is_some()),
            ("--for", args.length.is_some()),
            ("--trace", args.trace.is_some()),
            ("--explain", args.explain.is_some()),
            ("--json", args.output.json.is_some()),
            ("--plots", args.output.plots.is_some()),
        ],
        "for an article, whose claims are computed one by one; leave it out",
    )?;
    let told = tell(article)?;
    let text = match (args.output.markdown, args.output.full) {
        (true, _) => markdown(&told),
        (false, true) => format!("{}\n{}", answer(article, &told), details(&told)),
        (false, false) => {
            let next = format!(
                "Next: punctual simulate article {name} --full has the command of each claim."
            );
            let answer = answer(article, &told);
            format!("{answer}{}\n{}", table(&told), paragraph(&next))
        }
    };
    print(&text)?;
    Ok(Done::of(
        told.iter().all(|told| told.verdict != Found::Differs),
    ))
}

/// A claim, and what comes out.
struct Told {
    claim: &'static Claim,
    got: String,
    verdict: Found,
}

/// Computes what comes out of each claim.
fn tell(article: &'static Article) -> Result<Vec<Told>> {
    let (waits, pools) = (validation::rows()?, Validation::load());
    let mut progress = Progress::alike(article.claims.len());
    let told = article.claims.iter().map(|claim| {
        progress.step(claim.says);
        let told = claim.told(&waits, &|id| pools.finding(id))?;
        Ok(Told {
            claim,
            got: told.got,
            verdict: told.found,
        })
    });
    told.collect()
}

/// How many figures of the article the models reproduce, and its subject.
fn answer(article: &Article, told: &[Told]) -> String {
    let of = |found: &[Found]| {
        let is_so = |told: &&Told| found.contains(&told.verdict);
        told.iter().filter(is_so).collect::<Vec<_>>()
    };
    let agree = of(&[Found::Agrees]);
    let differ = of(&[Found::Otherwise, Found::Differs]);
    let mut text = format!(
        "The models reproduce {} of {} of {}.",
        agree.len(),
        prose::counted((agree.len() + differ.len()) as u64, "figure"),
        article.title,
    );
    for told in &differ {
        text += &format!(" One differs, \"{}\". {}", told.claim.says, told.claim.why);
    }
    let rest = [
        (of(&[Found::Shown]), "without a figure (a model shows it)"),
        (of(&[Found::Here]), "to measure on your computer"),
        (of(&[Found::ByHand]), "to check on a Windows computer"),
    ];
    let rest = rest.iter().filter(|(told, _)| !told.is_empty());
    let rest: Vec<_> = rest
        .map(|(told, what)| format!("{} {what}", told.len()))
        .collect();
    text += &format!(" Other claims: {}.", prose::list(&rest));
    format!("{}\n{}", paragraph(&text), paragraph(article.about))
}

fn paragraph(text: &str) -> String {
    prose::lines(text, WIDTH).join("\n") + "\n"
}

/// A line for each claim that can be computed.
fn table(told: &[Told]) -> String {
    let told: Vec<_> = told.iter().filter(|told| !told.got.is_empty()).collect();
    let section = Table::new("", &told)
        .column("the article says", |told| told.claim.says)
        .column("its figure", |told| told.claim.figure)
        .column("punctual's figure", |told| articles::brief(&told.got))
        .column("", |told| match told.verdict {
            Found::Agrees => "",
            other => other.word(),
        })
        .within(WIDTH)
        .section();
    section.text
}

/// Each claim with its command, and why it differs.
fn details(told: &[Told]) -> String {
    let mut text = String::new();
    for Told {
        claim,
        got,
        verdict,
    } in told
    {
        let lead = format!("{:13}  ", verdict.word());
        text += &prose::indented(&lead, claim.says);
        let indent = " ".repeat(lead.len());
        if !claim.figure.is_empty() {
            let figures = format!("The article: {}. Punctual: {got}.", claim.figure);
            text += &prose::indented(&indent, &figures);
        }
        if !claim.why.is_empty() {
            text += &prose::indented(&indent, claim.why);
        }
        text += &format!("{indent}punctual {}\n", claim.command);
    }
    text
}

/// The claims as a Markdown table.
fn markdown(told: &[Told]) -> String {
    let mut text =
        "| the article says | its figure | punctual's figure | | command |\n|---|---|---|---|---|\n"
            .to_owned();
    for Told {
        claim,
        got,
        verdict,
    } in told
    {
        let why = prose::when(!claim.why.is_empty(), || format!(": {}", claim.why));
        text += &format!(
            "| {} | {} | {got} | {}{why} | `{}` |\n",
            claim.says,
            claim.figure,
            verdict.word(),
            claim.command
        );
    }
    text
}
