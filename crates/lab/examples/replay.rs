//! The costs of strategies in virtual time over the optimum with known distributions of the
//! overshoots. They are for every recording of naps under `runs`, some invented ones, and models
//! of Linux.
//!
//! ```sh
//! cargo run --release -p punctual-lab --example replay -- 'adaptive:weight={weight}' fixed-margin
//! ```
//!
//! `{weight}` is each of the weights. Without arguments it shows some strategies. The
//! same strategies give the same table each time.

use std::env;

use punctual_core::strategies::Defaults;
use punctual_lab::rounds::at_weight;
use punctual_record::WEIGHTS;
use punctual_sim::Model;
use yardsticks::loaded;
use yardsticks::replayed::{self, Cell};

#[allow(dead_code, reason = "each example and the tests look at a part")]
mod yardsticks;

const STRATEGIES: [&str; 6] = [
    "adaptive:weight={weight}",
    "quantile:weight={weight}",
    "fixed-margin",
    "fixed-margin:margin=60us:method=clock_nanosleep+slack=1ns",
    "max-nap",
    "system",
];

fn main() -> Result<(), String> {
    let mut strategies: Vec<String> = env::args().skip(1).collect();
    if strategies.is_empty() {
        strategies = STRATEGIES.map(str::to_owned).to_vec();
    }
    println!("Cost of a wait over the informed optimum (us), which is in the first column.");
    for (i, strategy) in strategies.iter().enumerate() {
        println!("  {i}: {strategy}");
    }
    show("recordings", &replayed::recordings()?, &strategies)?;
    show("made up", &replayed::made_up(), &strategies)?;
    show("models", &replayed::models()?, &strategies)?;
    show_beside_a_hog(&strategies)?;
    show_in_quotas(&strategies)
}

fn show(what: &str, models: &[Model], strategies: &[String]) -> Result<(), String> {
    let each: Vec<Result<Vec<Cell>, String>> = std::thread::scope(|scope| {
        let running: Vec<_> = models
            .iter()
            .map(|model| scope.spawn(|| replayed::cells(model, strategies)))
            .collect();
        let join = running.into_iter().map(|run| run.join());
        join.map(|cells| cells.unwrap_or_else(|_| Err("panicked".to_owned())))
            .collect()
    });
    let mut all = Vec::new();
    for (model, cells) in models.iter().zip(each) {
        let cells = cells?;
        println!("\n{}", model.name());
        for cell in &cells {
            print!(
                "  {:<8} w {:>3}  {:>8.1} ",
                cell.regime.to_string(),
                cell.weight,
                cell.least_ns / 1e3
            );
            for i in 0..strategies.len() {
                match cell.over_informed(i) {
                    Some(over) => print!(" {over:>7.2}"),
                    None => print!(" {:>7}", "-"),
                }
            }
            println!();
        }
        summary(model.name(), &cells, strategies);
        all.extend(cells);
    }
    println!();
    summary(what, &all, strategies);
    Ok(())
}

/// The first waits of a waiter's life are set apart: without knowledge they cannot be as cheap as
/// with all of it.
fn summary(what: &str, cells: &[Cell], strategies: &[String]) {
    for (i, strategy) in strategies.iter().enumerate() {
        for (kind, is_cold) in [("", false), (", cold", true)] {
            let cells = cells.iter().filter(|cell| cell.is_cold == is_cold);
            let Some((mean, worst)) = replayed::over_informed(cells, i) else {
                continue;
            };
            println!(
                "{what}{kind}: {strategy}: geometric mean {mean:.3}, worst {:.2} ({}, w {})",
                worst.over_informed(i).unwrap_or_default(),
                worst.regime,
                worst.weight
            );
        }
    }
}

/// Their cost over the best of the ways that learn nothing.
fn show_beside_a_hog(strategies: &[String]) -> Result<(), String> {
    println!(
        "\nBeside a busy program: cost over the best constant way, and the part of the seconds with \
         more than a fifth of a CPU"
    );
    for strategy in strategies {
        let cells = loaded::over_constant(strategy).map_err(|refusal| refusal.to_string())?;
        for cell in &cells {
            println!(
                "  {:<20} {:>5} Hz  w {:>3}  {:>6.2}  {:>3.0} %  {strategy}",
                cell.model,
                cell.hz,
                cell.late_weight,
                cell.over,
                cell.trapped * 100.0
            );
        }
        let mean = |part: fn(&loaded::Beside) -> f64| {
            cells.iter().map(part).sum::<f64>() / cells.len() as f64
        };
        println!(
            "beside a hog: {strategy}: geometric mean {:.3}, worst {:.2}, trapped {:.1} %",
            mean(|cell| cell.over.ln()).exp(),
            cells.iter().map(|cell| cell.over).fold(0.0, f64::max),
            mean(|cell| cell.trapped) * 100.0
        );
    }
    Ok(())
}

/// Loops where spinning has a price.
fn show_in_quotas(strategies: &[String]) -> Result<(), String> {
    println!(
        "\nLoops of 16 s at 1 kHz: waits made of those there were cycles for, CPU, mean lateness, \
         seconds with more than a fifth of a CPU"
    );
    for strategy in strategies {
        let mut before = None;
        for weight in WEIGHTS {
            let spec = at_weight(strategy, weight, Defaults::ELSEWHERE)?;
            if before.replace(spec) == Some(spec) {
                continue;
            }
            print!("  {:<30}", spec.to_string());
            for (name, quota) in [("quota 5 %", 0.05), ("quota 50 %", 0.5)] {
                let seen = loaded::in_a_quota(spec, quota, 1_000, 16, 1);
                let seen = seen.map_err(|why| why.to_string())?;
                print!(
                    "  {name}: {:>3.0} % {:>5.1} % {:>8.1} us {:>3.0} %",
                    seen.done * 100.0,
                    seen.cpu * 100.0,
                    seen.late_ns / 1e3,
                    seen.trapped * 100.0
                );
            }
            println!();
        }
    }
    Ok(())
}
