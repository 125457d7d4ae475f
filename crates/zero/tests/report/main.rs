//! Tables and figures of runs of page zeroing.

#[path = "../../../report/tests/report/any_run.rs"]
mod any_run;
#[path = "../../../record/tests/any_two/mod.rs"]
mod any_two;
#[path = "../../../report/tests/report/looks.rs"]
mod looks;
mod pools;
mod probe;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use punctual_record::Run;
use punctual_report::{Verdict, text, verdict};
use punctual_zero::rows::{PoolOf, ZeroRow, ZeroedPages, Zeroing, ZeroingRound};
use punctual_zero::{COMPARED, Grid, simulation};
use punctual_zero_pool::{Batch, Dequeue, LockKind};
use punctual_zero_sim::{Job, Machine};
use serde_json::json;

use any_two::{number, run};

/// The inputs that the fuzzer found, with which it begins.
#[test]
fn every_seed_is_refused_or_shown_without_what_terminals_obey() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/run");
    let files = fs::read_dir(seeds).unwrap();
    let read = files.filter(|file| {
        let file = fs::read_to_string(file.as_ref().unwrap().path()).unwrap();
        any_run::check::<ZeroRow>(&file, text, &[COMPARED])
    });
    assert!(read.count() > 2);
}

/// A Run that is kept.
pub(crate) fn kept(name: &str) -> Run<ZeroRow> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs/2026-11-22-xeon-kvm-2cpu");
    let json = std::fs::read_to_string(folder.join(name)).unwrap();
    Run::from_json(&json).unwrap()
}

/// A grid on a computer with two CPUs; one of three numbers of threads is made up, and more than
/// there are CPUs.
pub(crate) fn host() -> Run<ZeroRow> {
    let mut run = kept("zero-run.json");
    run.command = "punctual zero run".to_owned();
    let mut more: Vec<ZeroRow> = run.results.clone();
    more.retain(|row| row.zeroed().unwrap().pool.threads == 2);
    for zeroed in more.iter_mut().filter_map(ZeroRow::zeroed_mut) {
        zeroed.pool.threads = 4;
        zeroed.zero.oversubscribed = true;
    }
    run.results.extend(more);
    run
}

/// Few of its pools, which need no matrix.
pub(crate) fn few() -> Run<ZeroRow> {
    let mut run = host();
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

/// The pools of `few` with these numbers, each from so many rounds.
fn pools(numbers: &[[f64; 3]], rounds: usize) -> Run<ZeroRow> {
    let mut run = few();
    let first = serde_json::to_value(&run.results[0]).unwrap();
    let round = first["zero"]["rounds"][0].clone();
    let row = |(i, [low, median, high]): (usize, &[f64; 3])| {
        let mut row = first.clone();
        row["subject"] = format!("lock{i}").into();
        row["zero"]["gb_per_cpu_s"] = json!({ "low": low, "median": median, "high": high });
        row["zero"]["rounds"] = vec![round.clone(); rounds].into();
        serde_json::from_value(row).unwrap()
    };
    run.results = numbers.iter().enumerate().map(row).collect();
    run
}

fn said(run: &Run<ZeroRow>) -> Verdict {
    verdict(run).unwrap()
}

#[test]
fn the_best_is_named_where_the_rounds_tell_it_apart() {
    let apart = said(&pools(&[[9.0, 10.0, 11.0], [5.0, 6.0, 7.0]], 6));
    assert!(
        apart.sentences[0].starts_with("The pool \"lock0, batch 64, 1 thread\" zeroes most, "),
        "{apart:?}"
    );
    let alike = said(&pools(&[[6.5, 10.0, 11.0], [5.0, 6.0, 7.0]], 6));
    assert!(
        alike.sentences[0].contains("; 1 of 1 others do not differ significantly"),
        "{alike:?}"
    );
    let few_rounds = said(&pools(&[[9.0, 10.0, 11.0], [5.0, 6.0, 7.0]], 3));
    let sentence = &few_rounds.sentences[0];
    assert_eq!(
        few_rounds.sentences[1],
        "3 rounds are too few to tell whether pools differ; 6 are enough."
    );
    assert!(
        !sentence.contains("do not differ significantly"),
        "{sentence}"
    );
}

proptest! {
    #[test]
    fn the_best_is_named_beside_those_that_intervals_do_not_separate(
        numbers in prop::collection::vec(prop::array::uniform3(0.1..100.0_f64), 1..8),
        rounds in 1..9_usize,
    ) {
        let numbers: Vec<[f64; 3]> = numbers
            .into_iter()
            .map(|mut ends| {
                ends.sort_by(f64::total_cmp);
                ends
            })
            .collect();
        let verdict = said(&pools(&numbers, rounds));
        let best = numbers.iter().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap();
        let rivals = numbers.iter().filter(|ends| *ends != best);
        let others = numbers.len() - 1;
        let is_judged = rounds >= 6;
        let rivals = rivals.filter(|ends| is_judged && ends[2] >= best[0]).count();
        let says = |words: &str| verdict.sentences[0].contains(words);
        prop_assert_eq!(says("do not differ significantly"), rivals > 0, "{:?}", verdict);
        let says_few = verdict.sentences.iter().any(|sentence| sentence.contains("too few to tell"));
        prop_assert_eq!(says_few, !is_judged && others > 0, "{:?}", verdict);
        let rows = verdict.overview.unwrap().rows;
        let marks = |mark| rows.iter().filter(|row| row[1].starts_with(mark)).count();
        prop_assert_eq!(marks("most "), usize::from(is_judged && others > 0));
        prop_assert_eq!(marks("alike "), rivals);
    }
}

#[test]
fn every_run_has_an_answer_that_fits() {
    for run in [host(), few(), simulated()] {
        let text = said(&run).text(80);
        assert!(text.lines().count() < 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}

/// Pages that were touched for the first time, ordinary and huge ones, in nanoseconds.
fn touched(ordinary: [f64; 3], huge: [f64; 3], rounds: usize) -> Verdict {
    let step = |[low, median, high]: [f64; 3], huge_pages: &str| {
        let interval = json!({ "low": low, "median": median, "high": high });
        serde_json::from_value(json!({
            "experiment": "zero-probe", "part": "pages", "subject": "touch-forward", "bytes": 4096,
            "huge_pages": huge_pages,
            "page_cost": {
                "wall_ns_per_page": interval, "cpu_ns_per_page": interval,
                "rounds": vec![json!({ "pages": 1, "wall_ns": 1 }); rounds],
            },
        }))
        .unwrap()
    };
    said(&Run::of([step(ordinary, "off"), step(huge, "on")]))
}

#[test]
fn huge_pages_are_called_cheaper_only_where_they_are() {
    let less = touched([1900.0, 2000.0, 2100.0], [180.0, 200.0, 220.0], 6);
    assert!(less.sentences[1].ends_with("10.0 times less."), "{less:?}");
    let more = touched([180.0, 200.0, 220.0], [1900.0, 2000.0, 2100.0], 6);
    assert!(more.sentences[1].contains("it takes more"), "{more:?}");
    let alike = touched([150.0, 200.0, 250.0], [140.0, 190.0, 260.0], 5);
    assert!(
        alike.sentences[1].contains("no clear difference"),
        "{alike:?}"
    );
    for (verdict, brackets) in [
        (less, "the 95 % interval"),
        (alike, "the lowest and highest of the rounds"),
    ] {
        let text = verdict.text(200).replace('\n', " ");
        assert!(
            text.contains(&format!("in brackets, {brackets}.")),
            "{text}"
        );
    }
}

fn zeroing() -> impl Strategy<Value = Zeroing> {
    let round = (number(), number()).prop_map(|(wall_gb_per_s, gb_per_cpu_s)| ZeroingRound {
        wall_gb_per_s,
        gb_per_cpu_s,
    });
    prop::collection::vec(round, 0..9).prop_map(|rounds| Zeroing {
        rounds,
        ..Zeroing::default()
    })
}

prop_compose! {
    fn pool()(
        subject in "mcs|tas",
        on in prop::option::of("[a-z]{0,3}"),
        (memory, bytes, threads) in ("hot|cold", 0..3_u64, 0..3_u64),
        arrive_gb_per_s in prop::option::of(number()),
        zero in zeroing(),
    ) -> ZeroRow {
        let pool = PoolOf { on, memory, bytes, threads, arrive_gb_per_s, ..PoolOf::default() };
        ZeroRow::pool(subject, ZeroedPages { pool, zero, ..ZeroedPages::default() })
    }
}

proptest! {
    #[test]
    fn any_two_runs(a in run(pool()), b in run(pool())) {
        any_two::check(&a, &b)?;
    }
}
