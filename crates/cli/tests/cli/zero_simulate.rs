//! `punctual zero simulate` as its user meets it.

use std::path::Path;
use std::process::Output;

use crate::common::{assert_refused, printed, run, stderr};
use crate::schema;

fn simulate(directory: &Path, arguments: &str) -> Output {
    run(directory, &format!("zero simulate {arguments} --full"))
}

/// The same on every system, to the byte.
#[test]
fn the_article_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&simulate(directory.path(), "article --json article.json"));
    insta::assert_snapshot!(text);
    let run = schema::read_zero_file(directory.path().join("article.json"));
    let rates: Vec<f64> = run
        .results
        .iter()
        .map(|m| m.zeroing().unwrap().gb_per_cpu_s.median)
        .collect();
    // Within 15 % of the article, and every proposal is one.
    assert!((rates[0] / 0.0406 - 1.0).abs() < 0.15, "{rates:?}");
    assert!(rates[1..10].iter().all(|rate| *rate > 5.0 * rates[0]));
    let blocking = text.lines().find(|line| line.starts_with("blocking lock"));
    assert!(blocking.is_some_and(|line| line.contains("mutex (not validated)")));
    let of = |row: usize| &run.results[row].zeroed().unwrap().simulated.not_validated;
    assert_eq!(
        (of(0).as_slice(), of(8).as_slice()),
        (&[][..], &["mutex".to_owned()][..])
    );
}

/// In the answer, in all tables, in figures and on the page, with the meaning.
#[test]
fn a_lock_that_is_not_validated_is_marked_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let grid = "zero simulate --on milan-192 --threads 4 --lock mutex --batch 1 --size 8MiB";
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let answer = one_line(printed(&run(directory.path(), grid)));
    for words in [
        "mutex (not validated), batch 1",
        "not validated: no published measurement",
    ] {
        assert!(answer.contains(words), "{answer}");
    }
    let files = format!("{grid} --full --json grid.json --plots figures");
    let text = printed(&run(directory.path(), &files));
    let marked = text
        .lines()
        .filter(|line| line.starts_with("mutex (not validated)"));
    assert_eq!(marked.count(), 2, "{text}");
    assert!(
        text.contains("All 2048 pages of a pool were simulated."),
        "{text}"
    );
    run(directory.path(), "report grid.json --output page.html");
    let page = std::fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("mutex (not validated)"));
    for figure in directory.path().join("figures").read_dir().unwrap() {
        let figure = std::fs::read_to_string(figure.unwrap().path()).unwrap();
        let texts = figure.split('>').filter_map(|text| text.split('<').next());
        let texts = one_line(texts.collect::<Vec<_>>().join(" "));
        assert!(texts.contains("Not validated: mutex"), "{texts}");
    }
    let advice = "zero advise --on xeon-48 --size 16MiB --full";
    let advice = printed(&run(directory.path(), advice));
    let naive = advice.lines().find(|line| line.starts_with("naive"));
    assert!(
        naive.is_some_and(|line| line.contains("tas (not validated)")),
        "{advice}"
    );
    assert!(one_line(advice).contains("no published measurement"));
}

#[test]
fn two_stable_rates_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let near_the_knee = "--threads 46 --lock tas --batch n";
    let text = printed(&simulate(directory.path(), near_the_knee));
    assert!(
        text.contains("Pools with two stable rates: tas, batch n, 46 threads: 1.56 GB"),
        "{text}"
    );
}

#[test]
fn a_grid_is_simulated_and_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "--on ice-lake-128,zero=150ns --threads 1,12,128 --lock tas,counter --batch 1,growing --size 64MiB \
                     --json grid.json --plots figures";
    let output = simulate(directory.path(), arguments);
    let text = printed(&output);
    assert!(text.contains("ice-lake-128"), "{text}");
    let errors = stderr(&output);
    let left_out = "Impossible pools are left out: growing batches need a lock";
    assert!(errors.contains(left_out), "{errors}");
    // Of the usual pools no word about those.
    let usual = simulate(directory.path(), "--on lockhammer-48 --size 1MiB");
    assert!(!stderr(&usual).contains("left out"), "{usual:?}");
    let run = schema::read_zero_file(directory.path().join("grid.json"));
    assert_eq!(run.results.len(), 9);
    for measurement in &run.results {
        let zeroing = measurement.zeroing().unwrap();
        assert_eq!(zeroing.pages, 16_384);
        let rate = zeroing.gb_per_cpu_s;
        assert!(0.0 < rate.low && rate.low <= rate.median && rate.median <= rate.high);
    }
    assert!(directory.path().join("figures").read_dir().unwrap().count() >= 2);
}

#[test]
fn bursts_keep_so_many_cpus_busy() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "--threads 39 --lock tas --batch 1 --arrive 1.17 --json bursts.json";
    let text = printed(&simulate(directory.path(), arguments));
    for column in ["CPUs", "duty", "keeps"] {
        assert!(text.contains(column), "{text}");
    }
    assert!(!text.contains("faster than they are zeroed"), "{text}");
    let run = schema::read_zero_file(directory.path().join("bursts.json"));
    let simulated = &run.results[0].zeroed().unwrap().simulated;
    assert_eq!(simulated.keeps_up, Some(true));
    assert!((0.5..1.0).contains(&simulated.duty.unwrap()));
}

#[test]
fn a_load_of_the_article_says_what_was_expected_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let load = |arguments: &str| {
        let output = simulate(
            directory.path(),
            &format!("--load {arguments} --json run.json"),
        );
        let text = printed(&output);
        let run = schema::read_zero_file(directory.path().join("run.json"));
        (text, run.results[0].zeroed().unwrap().simulated.busy_cpus)
    };
    let (text, cpus) = load("browser-trace");
    assert!(text.starts_with("The article's first trace"), "{text}");
    assert!(text.contains("(the article: 0.28)"), "{text}");
    assert!((3.2..4.8).contains(&cpus.unwrap()), "{cpus:?}");
    let (text, cpus) = load("standby-list --size 64MiB --batch half");
    assert!(text.contains("is not published"), "{text}");
    assert_eq!(cpus, None);
    assert_refused("zero simulate --load tea", "freed-blocks");
    assert_refused("zero simulate --load zeropage-test --size 1GiB", "--size");
    assert_refused("zero simulate --load zeropage-test --arrive 1", "--arrive");
}

#[test]
fn a_pool_that_does_not_keep_up_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "--threads 1 --lock tas,counter --batch 1 --arrive 30 --every 10ms";
    let text = printed(&simulate(directory.path(), arguments));
    assert!(
        text.contains("faster than they are zeroed by 2 of 2 pools"),
        "{text}"
    );
    let rows = text.lines().filter(|line| line.ends_with(" no"));
    assert_eq!(rows.count(), 2, "{text}");
}

#[test]
fn a_table_of_latencies_is_read() {
    let directory = tempfile::tempdir().unwrap();
    // Three CPUs, which no computer that is known by name has.
    std::fs::write(directory.path().join("three.csv"), ",,\n50,,\n60,100,\n").unwrap();
    let wanted = "--matrix three.csv --threads 3 --lock tas --batch 1";
    for more in ["", " --full"] {
        let text = printed(&run(
            directory.path(),
            &format!("zero simulate {wanted}{more}"),
        ));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let says = "By the table of 3 CPUs, a cache line takes 70 ns between two CPUs on average, and 100 ns between 1 and 2, the slowest pair.";
        assert!(text.contains(says), "{text}");
    }
    std::fs::write(directory.path().join("two.csv"), ",\nfast,\n").unwrap();
    let output = simulate(directory.path(), "--matrix two.csv");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("line 2: `fast` is not a number"));
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    for (arguments, why) in [
        ("--on pdp-11", "there is no computer `pdp-11`"),
        ("--on rome-256,speed=3", "there is no `speed`"),
        ("--threads 0", "needs one worker"),
        ("--threads 97 --lock tas --batch 1", "97"),
        ("--threads many", "many"),
        ("--lock cas", "`cas` is no lock"),
        ("--batch 0", "`0` is no batch"),
        ("--dequeue stack", "`stack` is no way to dequeue"),
        ("--returns counter", "needs a lock"),
        ("--size 0", "a byte at least"),
        ("--preempt 1ms/10ms", "less than how often"),
        ("--arrive -1", "GB per second"),
        ("--matrix nowhere.csv", "cannot read nowhere.csv"),
        ("article --threads 3", "--threads"),
        ("novel", "novel"),
    ] {
        assert_refused(&format!("zero simulate {arguments}"), why);
    }
}

#[test]
fn the_computers_are_listed_with_their_sources() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&run(directory.path(), "zero simulate --list"));
    for name in [
        "cascade-lake-96",
        "milan-192",
        "xeon-phi-272",
        "core-to-core-latency",
    ] {
        assert!(text.contains(name), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120));
}

#[test]
fn who_spins_for_too_long_is_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "--on cascade-lake-96,across=1e9 --threads 96 --lock tas --batch half";
    let refused = simulate(directory.path(), arguments);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for words in [
        "error: 96 threads, batch half, lock tas:",
        "shorter transfers",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

/// Ctrl-C and termination keep what was simulated, whatever is simulated.
#[cfg(unix)]
#[test]
fn a_stop_keeps_what_was_simulated() {
    use crate::common::Running;
    use std::process::Stdio;

    // Its first pool takes the longest, a second in this build.
    let advise = "zero advise --on xeon-phi-272 --json run.json";
    let grid =
        "zero simulate --on xeon-phi-272 --threads 1-272 --lock tas --batch 1 --json run.json";
    for (command, signal) in [
        (grid, "-INT"),
        (grid, "-TERM"),
        ("zero simulate article --json run.json", "-INT"),
        ("zero simulate --validate", "-INT"),
        (advise, "-INT"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut running = Running::start(directory.path(), command, Stdio::piped());
        let name: Vec<&str> = command.split(' ').take(2).collect();
        running.until_it_says(&format!("{}: ", name.join(" ")));
        running.send(signal);
        let (text, code) = running.end();
        assert_eq!(code, Some(3), "{command}: {text}");
        // A table says it in other words than an answer.
        let words = [
            "ended early",
            "ended before its end",
            "Ended before its end",
        ];
        assert!(words.iter().any(|words| text.contains(words)), "{text}");
        if command.contains("--json") {
            let run = schema::read_zero_file(directory.path().join("run.json"));
            assert!(run.interrupted && run.results.len() < 272, "{command}");
        }
    }
}
