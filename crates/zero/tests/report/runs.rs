//! Runs to be told and drawn: of a computer, as they are kept in `runs/`, and of a simulated
//! one.

use std::path::Path;
use std::sync::LazyLock;

use punctual_record::Run;
use punctual_zero::rows::{ZeroRow, ZeroedPages};
use punctual_zero::{Grid, simulation};
use punctual_zero_pool::{Batch, Dequeue, LockKind};
use punctual_zero_sim::{Job, Machine};

/// A Run that is kept.
pub(crate) fn kept(name: &str) -> Run<ZeroRow> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs/2026-11-22-xeon-kvm-2cpu");
    let json = std::fs::read_to_string(folder.join(name)).unwrap();
    Run::from_json(&json).unwrap()
}

/// A grid on a computer with two CPUs, with predictions; one of three numbers of threads is
/// made up, and more than there are CPUs.
pub(crate) fn host() -> Run<ZeroRow> {
    let mut run = kept("zero-model.json");
    run.command = "punctual zero run --predict".to_owned();
    let mut more: Vec<ZeroRow> = run.results.clone();
    more.retain(|row| row.zeroed().unwrap().pool.threads == 2);
    for zeroed in more.iter_mut().filter_map(ZeroRow::zeroed_mut) {
        zeroed.pool.threads = 4;
        zeroed.zero.oversubscribed = true;
        zeroed.zero.predicted = None;
    }
    run.results.extend(more);
    run
}

/// Few of its pools, which need no matrix.
pub(crate) fn few() -> Run<ZeroRow> {
    let mut run = host();
    run.beside.zero_calibration = None;
    run.results.retain(|row| {
        let ZeroedPages { pool, .. } = row.zeroed().unwrap();
        let wanted = [("mcs", 1), ("mcs", 2), ("counter", 4)];
        let is_wanted = wanted.contains(&(&row.subject[..], pool.threads));
        is_wanted && pool.batch == "64" && pool.memory == "cold"
    });
    run
}

/// A simulated computer of many CPUs.
pub(crate) fn simulated() -> Run<ZeroRow> {
    static RUN: LazyLock<Run<ZeroRow>> = LazyLock::new(simulate);
    RUN.clone()
}

fn simulate() -> Run<ZeroRow> {
    let machine = Machine::parse("ryzen-7950x-32").unwrap();
    let grid = Grid {
        threads: vec![1, 4, 32],
        locks: vec![LockKind::Tas, LockKind::Mcs, LockKind::Counter],
        batches: vec![Batch::One, Batch::Workers, Batch::Half, Batch::GUIDED],
        dequeue: Dequeue::Range,
        returns: None,
    };
    let settings = grid.settings().0.into_iter();
    let rows = settings.map(|setting| simulation::measure(&machine, &Job::new(setting, 2_000)));
    let rows = rows.collect::<Result<_, _>>().unwrap();
    let command = "punctual zero simulate".to_owned();
    simulation::run(&machine, rows, command)
}
