//! Pools that zero pages on simulated computers.

use punctual_zero::rows::PAGE_BYTES;
use punctual_zero::{Grid, simulation};
use punctual_zero_pool::{Batch, Dequeue, LockKind};
use punctual_zero_sim::{Job, Machine, presets};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Progress, Simulated, quoted};

/// Pools of all these numbers of threads with all these locks and batches.
#[derive(Debug, Deserialize)]
pub(crate) struct Pools {
    /// The computer.
    on: String,
    threads: Vec<usize>,
    locks: Vec<String>,
    batches: Vec<String>,
    /// How many MiB are to be zeroed.
    mib: u64,
    seed: u64,
}

/// The most that is zeroed for a page: a minute of work on a slow machine.
const MIB_MAX: u64 = 1024;

impl Pools {
    fn command(&self) -> String {
        let threads: Vec<String> = self.threads.iter().map(usize::to_string).collect();
        format!(
            "punctual zero simulate --on {} --threads {} --lock {} --batch {} --size {}MiB --seed {}",
            quoted(&self.on),
            threads.join(","),
            self.locks.join(","),
            self.batches.join(","),
            self.mib,
            self.seed
        )
    }

    pub(crate) fn run(&self, progress: Progress) -> Result<Simulated, String> {
        if !(1..=MIB_MAX).contains(&self.mib) {
            return Err(format!("give from 1 to {MIB_MAX} MiB to be zeroed"));
        }
        let machine = Machine::parse(&self.on).map_err(|why| why.to_string())?;
        let grid = Grid {
            threads: self.threads.clone(),
            locks: parsed::<LockKind>(&self.locks)?,
            batches: parsed::<Batch>(&self.batches)?,
            dequeue: Dequeue::Range,
            returns: None,
        };
        let (settings, left_out) = grid.settings();
        if settings.is_empty() {
            return Err(left_out.join("; "));
        }
        let pages = (self.mib << 20).div_ceil(PAGE_BYTES);
        let all: f64 = settings.iter().map(simulation::effort).sum();
        let mut done = 0.0;
        let results = settings.into_iter().map(|setting| {
            progress(done / all);
            done += simulation::effort(&setting);
            let job = Job {
                seed: self.seed,
                ..Job::new(setting, pages)
            };
            simulation::measure(&machine, &job).map_err(|why| why.to_string())
        });
        let results = results.collect::<Result<Vec<_>, _>>()?;
        let command = self.command() + " --json run.json";
        let run = simulation::run(&machine, results, command.clone());
        Ok(Simulated::of(command, &run))
    }
}

fn parsed<T: std::str::FromStr<Err = String>>(words: &[String]) -> Result<Vec<T>, String> {
    words.iter().map(|word| word.parse()).collect()
}

/// The computers there are.
pub(crate) fn computers() -> Vec<Value> {
    let all = presets().iter().map(|preset| {
        json!({
            "name": preset.name,
            "what": preset.what,
            "cpus": preset.machine().topology.cpus(),
        })
    });
    all.collect()
}

/// The locks there are.
pub(crate) fn locks() -> Vec<Value> {
    let all = LockKind::ALL.iter();
    all.map(|lock| json!({ "name": lock.name(), "about": lock.facts().about }))
        .collect()
}
