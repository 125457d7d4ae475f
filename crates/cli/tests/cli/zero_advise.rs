//! `punctual zero advise` as its user meets it.

use std::path::Path;
use std::process::Output;

use crate::common::{assert_refused, printed, run};
use crate::schema;

fn advise(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("zero advise {arguments} --full"))
}

#[test]
fn the_best_of_this_computer_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&advise(
        directory.path(),
        "--size 256KiB --quick --json advice.json",
    ));
    assert!(text.contains("To zero 256 KiB"), "{text}");
    let run = schema::read_zero_file(directory.path().join("advice.json"));
    let advice = run.beside.zero_advice.unwrap();
    assert!(!advice.model_only);
    assert_eq!(advice.picks.len(), 3);
    assert!(advice.considered > run.results.len() as u64);
    for pick in &advice.picks {
        let measured = run.results.iter().find(|m| pick.pool.is_of(m));
        let zeroing = measured.unwrap().zeroing().unwrap();
        assert_eq!(zeroing.gb_per_cpu_s, pick.rates.gb_per_cpu_s);
        assert_eq!(zeroing.rounds.len(), 3);
    }
}

/// The same on every system, to the byte.
#[test]
fn another_computer_is_advised_by_its_model() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&advise(directory.path(), "--on cascade-lake-96"));
    assert!(text.lines().all(|line| line.chars().count() <= 120));
    // Its version and its path are not of interest.
    let advice = text.split_once("To zero").unwrap().1;
    insta::assert_snapshot!(advice);
}

#[test]
fn a_bandwidth_that_nobody_reaches_is_no_rule_of_thumb() {
    let directory = tempfile::tempdir().unwrap();
    let arguments =
        "--on ryzen-7950x-32,bandwidth=100000 --goal cpu --size 4MiB --json advice.json";
    let text = printed(&advise(directory.path(), arguments));
    assert!(
        text.contains("Threads: as many as there are CPUs."),
        "{text}"
    );
    assert!(!text.contains("BW_total"), "{text}");
    let json = std::fs::read_to_string(directory.path().join("advice.json")).unwrap();
    let bounds = schema::read_zero(&json).beside.zero_advice.unwrap().bounds;
    assert_eq!((bounds.total_gb_per_s, bounds.threads), (None, None));
}

#[test]
fn one_goal_is_advised_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "--on ryzen-7950x-32,zero=150ns --goal cpu --size 64MiB --json advice.json";
    let text = printed(&advise(directory.path(), arguments));
    assert!(!text.contains("use 16"), "{text}");
    let run = schema::read_zero_file(directory.path().join("advice.json"));
    assert!(run.results.is_empty());
    let advice = run.beside.zero_advice.unwrap();
    assert!(advice.model_only);
    assert_eq!((advice.pages, advice.picks.len()), (16_384, 1));
    let pick = &advice.picks[0];
    assert_eq!((pick.goal.as_str(), pick.pool.threads), ("cpu", 1));
    let naive = advice.naive.rates.gb_per_cpu_s;
    assert!(pick.rates.gb_per_cpu_s.median > naive.median);
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    // No CPU has both.
    let foreign = match cfg!(target_arch = "aarch64") {
        true => "--kernel clzero",
        false => "--kernel dc-zva",
    };
    for (arguments, why) in [
        (foreign, "this CPU"),
        ("--goal latency", "latency"),
        ("--on pdp-11", "there is no computer `pdp-11`"),
        ("--on rome-256,speed=3", "there is no `speed`"),
        ("--on rome-256 --size 0", "512MiB or 2GB"),
        ("--on rome-256 --memory hot", "--memory"),
        ("--kernel bzero", "`bzero`"),
        ("--size 0", "512MiB or 2GB"),
        ("--size 900TB", "give less"),
        ("--memory-limit 900TB", "give less"),
        ("--size 1GiB --memory hot", "--memory"),
    ] {
        assert_refused(&format!("zero advise {arguments}"), why);
    }
}
