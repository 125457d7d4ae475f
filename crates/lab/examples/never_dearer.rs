//! The cost of `adaptive` over the cheapest of the simple strategies, in virtual time, for models,
//! rates and other workloads.
//!
//! ```sh
//! cargo run --release -p punctual-lab --example never_dearer -- 3 'windows-11;macos,tier=0' '60 59.94 log'
//! ```
//!
//! The first argument is the number of seeds. `24..1000` stands for all whole rates, and
//! `24..1000/13` for each thirteenth. Models are separated by semicolons. After a model comes a
//! request for a timer interval, as in a sweep: `windows-7+1ms by another`.

use std::env;

use yardsticks::others::{Over, Place};

#[allow(dead_code, reason = "each example and the tests look at a part")]
mod yardsticks;

fn main() -> Result<(), String> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [seeds, places, workloads] = &args[..] else {
        return Err("give the number of seeds, models, and workloads".to_owned());
    };
    let seeds = seeds
        .parse()
        .map_err(|_| "the first argument is a number")?;
    let workloads: Vec<String> = workloads.split(' ').flat_map(expanded).collect();
    for name in places.split(';') {
        let place = Place::parse(name)?;
        let mut all: Vec<(&str, Over)> = Vec::new();
        for workload in &workloads {
            for of in place.over_others(workload, seeds)? {
                println!(
                    "{name} {workload} w {} {:.3} of {} at {:.1} us",
                    of.weight,
                    of.over,
                    of.other,
                    of.least_ns / 1e3
                );
                all.push((workload, of));
            }
        }
        for weight in [1.0, 10.0, 100.0] {
            let of_weight: Vec<_> = all.iter().filter(|(_, of)| of.weight == weight).collect();
            let logs = of_weight.iter().map(|(_, of)| of.over.ln()).sum::<f64>();
            let dearer = of_weight.iter().filter(|(_, of)| of.over > 1.05).count();
            let worst = (of_weight.iter()).max_by(|a, b| a.1.over.total_cmp(&b.1.over));
            let (worst_of, worst) = worst.map_or(("-", 0.0), |(of, over)| (of, over.over));
            println!(
                "{name} w {weight}: geometric mean {:.3}, worst {worst:.3} ({worst_of}), above 1.05 in {dearer} of {}",
                (logs / of_weight.len() as f64).exp(),
                of_weight.len(),
            );
        }
    }
    Ok(())
}

/// A range of rates as rates.
fn expanded(workload: &str) -> Vec<String> {
    let range = || {
        let (from, to) = workload.split_once("..")?;
        let (to, step) = to.split_once('/').unwrap_or((to, "1"));
        let rates = (from.parse::<u64>().ok()?..=to.parse().ok()?).step_by(step.parse().ok()?);
        Some(rates.map(|rate| rate.to_string()).collect())
    };
    range().unwrap_or_else(|| vec![workload.to_owned()])
}
