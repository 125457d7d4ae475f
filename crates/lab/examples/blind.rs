//! How often `identify` names the rule of a log that it does not know: the table of
//! docs/identifying.md.
//!
//! ```sh
//! cargo run --release -p punctual-lab --example blind -- 10000..11000
//! ```
//!
//! The argument is the seeds of the logs.

use std::env;

use blind::{Score, Scores};

#[path = "../tests/lab/blind/mod.rs"]
mod blind;

fn main() -> Result<(), String> {
    let seeds = env::args().nth(1).unwrap_or_default();
    let ends = seeds.split_once("..");
    let ends = ends.and_then(|(begin, end)| Some(begin.parse().ok()?..end.parse().ok()?));
    let seeds = ends.ok_or("give the seeds of the logs, such as 10000..11000")?;
    let Scores { with, without, by } = Scores::of(seeds);
    println!("| made by | logs | right | not named | wrong |");
    println!("|---|---|---|---|---|");
    let all = [
        ("**all with a rule**".to_owned(), with),
        ("**all without a rule**".to_owned(), without),
    ];
    for (name, score) in by.into_iter().chain(all) {
        let Score {
            right,
            abstained,
            wrong,
        } = score;
        let [right, abstained, wrong] =
            [right, abstained, wrong].map(|n| f64::from(n) * 100.0 / f64::from(score.all().max(1)));
        let n = score.all();
        println!("| {name} | {n} | {right:.1} | {abstained:.1} | {wrong:.1} |");
    }
    Ok(())
}
