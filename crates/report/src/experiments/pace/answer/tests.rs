use proptest::prelude::*;
use punctual_record::Experiment;
use punctual_record::experiment::Learning;
use punctual_record::{Late, Round, Weights};

use super::*;

/// A way to wait that cost so much in each round, all of it CPU time.
fn measured(subject: &str, costs: &[f64]) -> Measurement {
    let rounds: Vec<Round> = costs
        .iter()
        .map(|cpu| Round {
            n: 10,
            cpu_per_wait_ns: Some(*cpu),
            ..Round::default()
        })
        .collect();
    let pace = Pace {
        period_ns: 16_666_667,
        rate_hz: 60.0,
        deadlines: Deadlines::Absolute,
        warm_up_waits: 8,
        learning: Learning::KeepsState,
        frames: None,
        crowd: None,
    };
    Measurement {
        late_ns: Late::of(&[17; 60]),
        cost_capped_interval_ns: Cost::CAPPED.of(&rounds),
        rounds,
        ..Measurement::of(Experiment::Pace(pace), subject)
    }
}

fn said(of: &[(&str, Vec<f64>)]) -> String {
    let rows = of.iter().map(|(subject, costs)| measured(subject, costs));
    answer(&Run::of(rows)).unwrap().sentences[0].clone()
}

#[test]
fn what_is_told_apart_is_named_with_its_interval() {
    let sentence = said(&[
        ("a", vec![100.0; 6]),
        ("b", vec![250.0; 6]),
        ("c", vec![300.0; 6]),
    ]);
    assert!(sentence.contains(", a is cheapest ("), "{sentence}");
    assert!(
        sentence.contains(
            "Of the other measured ways, b is cheapest: it costs 2.50 times as much [2.50..2.50]."
        ),
        "{sentence}"
    );
}

/// At so many Hz.
fn at(rate_hz: f64, mut m: Measurement) -> Measurement {
    let Experiment::Pace(pace) = &mut m.experiment else {
        unreachable!("all are of one experiment")
    };
    pace.rate_hz = rate_hz;
    m
}

#[test]
fn the_lowest_is_that_of_the_medians_and_no_row_is_below_it() {
    // Round by round b is cheaper than a four times of six; its median is 150 beside 100.
    let a = vec![100.0, 100.0, 100.0, 100.0, 300.0, 300.0];
    let b = vec![90.0, 90.0, 250.0, 250.0, 200.0, 200.0];
    let run = Run::of([measured("a", &a), measured("b", &b)]);
    let verdict = answer(&run).unwrap();
    assert!(verdict.sentences[0].contains(", a has the lowest cost ("));
    let rows = &verdict.overview.unwrap().rows;
    assert_eq!(rows[0], ["a", "lowest"]);
    assert!(rows[1][1].starts_with("alike 2.00 [0.667.."), "{rows:?}");
}

#[test]
fn ways_are_ordered_by_the_rate_that_has_most_of_them() {
    let all = [("a", 1.0), ("b", 4.0), ("c", 2.0), ("d", 3.0)];
    let at_1000 = all.map(|(name, cost)| at(1000.0, measured(name, &[cost; 6])));
    let at_60 = [("a", 1.0), ("b", 2.0)].map(|(name, cost)| measured(name, &[cost; 6]));
    let verdict = answer(&Run::of(at_60.into_iter().chain(at_1000))).unwrap();
    let rows = verdict.overview.unwrap().rows;
    let names: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["a", "c", "d", "b"]);
}

/// Each rate has its own best, and fourteen others at both cost less in the mean.
#[test]
fn the_best_of_each_loop_has_a_row() {
    let mut results = Vec::new();
    for (rate_hz, best) in [(60.0, "a"), (144.0, "b"), (1000.0, "c")] {
        for name in ["a", "b", "c"] {
            let costs = if name == best { 10.0 } else { 900.0 };
            results.push(at(rate_hz, measured(name, &[costs; 6])));
        }
        let others = (0..14).map(|n| measured(&format!("other {n}"), &[20.0; 6]));
        results.extend(others.map(|m| at(rate_hz, m)));
    }
    for loops in 2..=3 {
        let run = Run::of(results[..17 * loops].to_vec());
        let verdict = crate::verdict(&run).unwrap();
        let text = verdict.text(80);
        for row in ["a ", "b ", "c "].into_iter().take(loops) {
            let mut table = text.lines().skip_while(|line| !line.contains("-----"));
            let line = table.find(|line| line.starts_with(row));
            assert!(
                line.is_some_and(|line| line.contains("cheapest")),
                "{row}: {text}"
            );
        }
        assert!(text.contains("-----"), "no table: {text}");
    }
}

/// The screen has no room for all, and the plain sleep is the dearest.
#[test]
fn the_plain_sleep_and_all_that_sentences_name_have_a_row() {
    let mut results = Vec::new();
    for (rate_hz, best, second) in [(60.0, "a", "b"), (1000.0, "c", "d")] {
        let cheap = |name: &str, cost| at(rate_hz, measured(name, &[cost; 6]));
        results.extend([cheap(best, 1.0), cheap(second, 2.0)]);
        let others = (0..14).map(|n| cheap(&format!("other {n}"), 20.0));
        results.extend(others.chain([cheap("system", 9_000.0)]).collect::<Vec<_>>());
    }
    let text = answer(&Run::of(results)).unwrap().text(80);
    for row in ["a ", "b ", "c ", "d ", "system "] {
        assert!(
            text.lines().any(|line| line.starts_with(row)),
            "{row}: {text}"
        );
    }
    assert!(text.contains("more: --full"), "{text}");
}

#[test]
fn one_way_of_waiting_is_told_without_others() {
    let alone = |subject: &str| answer(&Run::of([measured(subject, &[2.0; 6])])).unwrap();
    let ours = alone("adaptive-exact");
    assert_eq!(ours.sentences.len(), 1);
    assert!(
        ours.sentences[0].starts_with("In a 60 Hz loop: adaptive-exact, "),
        "{:?}",
        ours.sentences
    );
    assert!(ours.next.contains("--strategy system,adaptive-exact"));
    let sleep = alone("system").next;
    assert!(sleep.contains("--strategy adaptive-balanced,system"));
}

#[test]
fn targets_are_met_or_missed() {
    let told = |late_ns: i64| {
        let mut m = measured("adaptive:late=50us/1%", &[2.0; 6]);
        let Experiment::Pace(pace) = &mut m.experiment else {
            unreachable!("it is of a loop")
        };
        pace.warm_up_waits = 1_200;
        m.samples_late_ns = vec![17; 950];
        m.samples_late_ns.extend([late_ns; 50]);
        m.late_ns = Late::of(&m.samples_late_ns);
        let run = Run::of([m, measured("a", &[1.0; 6])]);
        answer(&run).unwrap().sentences.last().unwrap().clone()
    };
    assert_eq!(
        told(50_001),
        "The target of adaptive:late=50us/1% at 60 Hz was not met: 5.00 % of deadlines were later than 50 us."
    );
    assert!(told(50_000).contains("was met: 0.00 %"), "{}", told(50_000));
}

#[test]
fn what_is_not_told_apart_is_said() {
    let noisy = vec![90.0, 120.0, 80.0, 130.0, 95.0, 110.0];
    let sentence = said(&[("a", vec![100.0; 6]), ("b", noisy), ("c", vec![900.0; 6])]);
    assert!(
        sentence.contains("It does not differ significantly from b."),
        "{sentence}"
    );
    let few = said(&[("a", vec![100.0; 3]), ("b", vec![900.0; 3])]);
    assert!(
        few.contains("3 rounds are too few for an interval; 6 are enough."),
        "{few}"
    );
}

#[test]
fn kin_are_no_rivals() {
    let sentence = said(&[
        ("adaptive-frugal", vec![100.0; 6]),
        ("adaptive-balanced", vec![101.0; 6]),
        ("punctual", vec![102.0; 6]),
        ("spin", vec![400.0; 6]),
    ]);
    assert!(
        sentence.contains(
            "Of the measured ways that do not adapt, spin is cheapest: it costs 4.00 times as much"
        ),
        "{sentence}"
    );
    // All the same, none of them is the best for certain that others may equal.
    let close = said(&[
        ("adaptive-frugal", vec![100.0; 6]),
        (
            "adaptive-balanced",
            vec![90.0, 101.0, 101.0, 101.0, 101.0, 101.0],
        ),
        ("spin", vec![400.0; 6]),
    ]);
    assert!(
        close.contains(
            "It does not differ significantly from adaptive-balanced. Of the measured ways that do not adapt, spin is cheapest:"
        ),
        "{close}"
    );
    assert!(!sentence.contains("differ significantly"), "{sentence}");
    let close = Run::of([
        measured("adaptive-frugal", &[100.0; 6]),
        measured("adaptive-exact", &[90.0, 101.0, 101.0, 101.0, 101.0, 101.0]),
        measured("spin", &[400.0; 6]),
    ]);
    let weights = &answer(&close).unwrap().sentences[1];
    assert!(
        weights.contains("; if 100 us, perhaps adaptive-frugal"),
        "{weights}"
    );
}

#[test]
fn what_more_rounds_may_tell_is_measured_again_as_it_was() {
    let next = |a: &[f64], b: &[f64]| {
        let run = Run::of([measured("a", a), measured("b", b)]);
        let verdict = answer(&run).unwrap();
        let is_open = verdict.next.contains("Next: --rounds 24");
        // At the other weights too.
        let other_weights = &verdict.sentences[1];
        assert_eq!(
            other_weights.contains("perhaps a"),
            is_open,
            "{other_weights}"
        );
        let lowest = &verdict.overview.as_ref().unwrap().rows[0][1];
        assert_eq!(lowest, if is_open { "lowest" } else { "cheapest" });
        is_open
    };
    assert!(!next(&[100.0; 6], &[900.0; 6]));
    assert!(next(
        &[100.0; 6],
        &[90.0, 110.0, 120.0, 110.0, 120.0, 110.0]
    ));
    assert!(next(&[100.0; 2], &[900.0; 2]));
}

/// Three rates, everything undecided, long warnings: the most there is to say.
#[test]
fn the_fullest_answer_is_one_screen() {
    let noisy = [100.0, 300.0, 90.0, 250.0, 120.0, 80.0];
    let mut results = Vec::new();
    for rate_hz in [59.94, 144.0, 1000.0] {
        for n in 0..13 {
            let m = measured(&format!("fixed-margin:margin={n}00us"), &noisy);
            results.push(at(rate_hz, m));
        }
    }
    let warning = punctual_record::Warning {
        what: "Other programs had much of the CPUs. ".repeat(9),
        remedy: String::new(),
    };
    let run = Run {
        command: "punctual bench --rate 59.94,144,1000 --json a-directory/a-file.json".to_owned(),
        interrupted: true,
        warnings: vec![warning; 3],
        ..Run::of(results)
    };
    let text = crate::verdict(&run).unwrap().text(80);
    assert!(text.lines().count() <= 23, "{text}");
    assert!(
        text.contains("Warning: Other programs had much of the CPUs. (2 more warnings: --full)"),
        "{text}"
    );
}

#[test]
fn without_cpu_time_there_is_no_verdict() {
    let mut m = measured("a", &[1.0; 6]);
    m.cost_capped_interval_ns = None::<Weights<Interval>>;
    assert_eq!(answer(&Run::of([m.clone(), m])), None);
    assert_eq!(answer(&Run::default()), None);
}

proptest! {
    /// A best is named only where the interval of each rival's ratio lies above 1, for any
    /// measurement, and the answer fits a screen.
    #[test]
    fn no_best_that_the_intervals_do_not_carry(
        all in proptest::collection::vec(proptest::collection::vec(50.0..150.0f64, 1..12), 2..14),
    ) {
        let rounds = all.iter().map(Vec::len).min().unwrap();
        let rows: Vec<Measurement> = all
            .iter()
            .enumerate()
            .map(|(n, costs)| measured(&format!("way {n}"), &costs[..rounds]))
            .collect();
        let run = Run::of(rows.clone());
        let verdict = crate::verdict(&run).unwrap();
        let best = rows.iter().min_by(|a, b| cost(a, 1).unwrap().total_cmp(&cost(b, 1).unwrap())).unwrap();
        let is_told = rows.iter().filter(|m| m.subject != best.subject).all(|m| {
            rounds >= 6 && Cost::CAPPED.ratio_at(10.0, &m.rounds, &best.rounds).unwrap().low > 1.0
        });
        let sentence = &verdict.sentences[0];
        prop_assert_eq!(sentence.contains("is cheapest ("), is_told, "{}", sentence);
        let says_so = ["It does not differ significantly from", "too few for an interval"].iter().any(|words| sentence.contains(words));
        prop_assert_eq!(says_so, !is_told, "{}", sentence);
        // The table says the same: nothing is below the lowest, and as many are not told apart.
        let rows = &verdict.overview.as_ref().unwrap().rows;
        prop_assert!(rows[0][0] == best.subject && ["lowest", "cheapest"].contains(&rows[0][1].as_str()), "{:?}", rows);
        let ratio = |cell: &str| -> f64 {
            cell.trim_start_matches("alike ").split(' ').next().unwrap().parse().unwrap()
        };
        prop_assert!(rows[1..].iter().all(|row| ratio(&row[1]) >= 1.0), "{:?}", rows);
        let open = rows[1..].iter().filter(|row| row[1].starts_with("alike")).count();
        let named = sentence.split("differ significantly from ").nth(1).map_or(0, |rest| {
            match rest.split_once(" others, such as ") {
                None => rest.split(" and ").count(),
                Some((all, _)) => all.parse().unwrap(),
            }
        });
        prop_assert_eq!(named, open, "{} {:?}", sentence, rows);
        let text = verdict.text(80);
        prop_assert!(text.lines().count() <= 23 && text.lines().all(|line| line.chars().count() <= 80), "{}", text);
    }
}
