//! Tables and figures of pools that zero pages.

use punctual_record::compare::Comparison;
use punctual_record::{Interval, Run};
use punctual_report::{comparison, figures, text};
use punctual_zero::COMPARED;
use punctual_zero::rows::{CpuSplit, PoolOf, ZeroRow, Zeroing};

use crate::looks::{leave_to_look_at, sections, texts};
use crate::{few, host, simulated};

#[test]
fn the_default_grid_of_a_small_host() {
    insta::assert_snapshot!("host", sections(&host()));
}

#[test]
fn few_cells_are_told_in_full_without_a_matrix() {
    insta::assert_snapshot!("few", sections(&few()));
}

#[test]
fn a_simulated_computer_of_many_cpus() {
    insta::assert_snapshot!("simulated", sections(&simulated()));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let json = few()
        .to_json()
        .replacen("\"zero\": {", "\"zero\": \"dust\", \"other\": {", 1);
    let why = Run::<ZeroRow>::from_json(&json).unwrap_err();
    assert!(why.contains("this Run file cannot be read"), "{why}");
}

#[test]
fn pools_are_compared_with_those_of_their_own_memory_only() {
    let text = sections(&host());
    let ideal: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("The ideal thread"))
        .collect();
    assert_eq!(ideal.len(), 2);
    assert_ne!(ideal[0], ideal[1]);
    assert!(text.contains("Best: ") && text.contains("> "));
}

#[test]
fn pools_have_two_figures_of_each_memory() {
    let run = host();
    let figures = figures(&run);
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "zero-scaling-hot-memory",
            "zero-scaling-cold-memory",
            "zero-split-hot-memory",
            "zero-split-cold-memory",
        ]
    );
    for figure in &figures {
        let texts = texts(figure).replace('\n', " ");
        for needed in ["n = 6 rounds", "Debian GNU/Linux 12 (bookworm)"] {
            assert!(texts.contains(needed), "{}: {texts}", figure.name);
        }
    }
    let all = |name: &str| texts(figures.iter().find(|f| f.name == name).unwrap());
    let scaling = all("zero-scaling-cold-memory");
    for needed in [
        "batch 1\n",
        "batch guided\n",
        "mcs\n",
        "one ideal thread\n",
        "threads\n",
    ] {
        assert!(scaling.contains(needed), "{needed}: {scaling}");
    }
    assert!(
        scaling
            .replace('\n', " ")
            .contains("24 pools of more threads than CPUs")
    );
    let split = all("zero-split-hot-memory");
    for needed in [
        "CPU time of 2 threads",
        "waiting for the lock",
        "share of the CPU time (%)",
    ] {
        assert!(split.contains(needed), "{needed}: {split}");
    }
    leave_to_look_at(&figures, "zero-host");
}

fn pool(m: &ZeroRow) -> &PoolOf {
    &m.zeroed().unwrap().pool
}

/// A lone point says nothing of scaling, so its number is said instead of drawn; and a
/// figure names no computer but its own.
#[test]
fn pools_of_one_number_of_threads_are_told_and_not_drawn() {
    let mut run = simulated();
    let on = pool(&run.results[0]).on.clone().unwrap();
    run.machine.os = format!("{on}, another-96");
    let is_largest = |m: &ZeroRow| pool(m).threads == 32;
    run.results
        .retain(|m| pool(m).batch == "1" || is_largest(m));
    let figures_of = figures(&run);
    assert_eq!(figures_of[0].name, "zero-scaling");
    let told = texts(&figures_of[0]).replace('\n', " ");
    assert!(told.contains("batch 1 "), "{told}");
    assert!(!told.contains(" batch n GB"), "{told}");
    assert!(told.contains("batch n, 32 threads "), "{told}");
    assert!(
        told.contains(&format!("Machine: {on}, simulated.")),
        "{told}"
    );
    assert!(!told.contains(", another-96"), "{told}");
    run.results.retain(is_largest);
    let names: Vec<String> = figures(&run).into_iter().map(|f| f.name).collect();
    assert_eq!(names, ["zero-split"]);
}

#[test]
fn few_pools_and_those_of_many_cpus_are_drawn_too() {
    for (folder, run, drawn) in [("few", few(), 2), ("simulated", simulated(), 2)] {
        let figures = figures(&run);
        assert_eq!(figures.len(), drawn);
        for figure in &figures {
            texts(figure);
            assert!(figure.svg.len() < 300_000, "{}", figure.name);
        }
        leave_to_look_at(&figures, &format!("zero-{folder}"));
    }
    let figures = figures(&simulated());
    assert!(texts(&figures[0]).contains("32\n") && texts(&figures[1]).contains("32 threads"));
}

/// One pool of everything a file can hold.
fn edge(zeroing: &Zeroing, lock: &str) -> Run<ZeroRow> {
    let mut run = few();
    run.results.truncate(1);
    run.results[0].subject = lock.to_owned();
    run.results[0].zeroed_mut().unwrap().zero = zeroing.clone();
    run
}

#[test]
fn numbers_that_no_pool_has_are_drawn_somehow_and_names_are_escaped() {
    let odd = |value: f64| {
        let interval = Interval::exactly(value);
        Zeroing {
            gb_per_cpu_s: interval,
            wall_gb_per_s: interval,
            cpu: CpuSplit {
                waiting: value,
                ..CpuSplit::default()
            },
            ..Zeroing::default()
        }
    };
    for value in [0.0, -1.0, 1.0, 1e300, 1e-300] {
        let run = edge(&odd(value), "<b> & \"co\" ]]>");
        assert!(text(&run).contains("<b> & \"co\" ]]>"));
        for figure in figures(&run) {
            let texts = texts(&figure);
            assert!(texts.contains("<b> & \"co\" ]]>"), "{texts}");
        }
    }
    let crowded = Zeroing {
        oversubscribed: true,
        ..odd(1.0)
    };
    let run = edge(&crowded, "mcs");
    assert!(figures(&run).is_empty());
    assert!(text(&run).contains("more threads than CPUs"));
}

#[test]
fn two_runs_of_pools_side_by_side() {
    let first = few();
    let mut second = few();
    for m in &mut second.results {
        let zeroed = m.zeroed_mut().unwrap();
        for round in &mut zeroed.zero.rounds {
            round.gb_per_cpu_s *= 0.5;
        }
        // Another machine needs more memory for it to be cold.
        zeroed.pool.bytes = 2 << 30;
    }
    let compared = Comparison::of(&[("first.json", &first), ("second.json", &second)]);
    let compared = compared.beside_published(true, &[]);
    let text = comparison(&compared, &[COMPARED]);
    assert!(text.lines().all(|line| line.chars().count() <= 120));
    insta::assert_snapshot!("compared", text);
}
