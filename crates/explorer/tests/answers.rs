//! The answers that the page gets. A browser checks that they are those of the command
//! (`.ci/site`).

use punctual_explorer::answer;
use serde_json::{Value, json};

fn asked(question: Value) -> Value {
    serde_json::from_str(&answer(&question.to_string(), &mut |_| {})).unwrap()
}

#[test]
fn the_catalogue_has_what_there_is() {
    let catalogue = &asked(json!({ "ask": "catalogue" }))["ok"];
    let names = |of: &str| -> Vec<String> {
        let all = catalogue[of].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert!(names("scenarios").contains(&"lowest-request-wins".to_owned()));
    assert!(names("models").contains(&"windows-11".to_owned()));
    assert!(names("computers").contains(&"cascade-lake-96".to_owned()));
    // Readers of a page have no options.
    for scenario in catalogue["scenarios"].as_array().unwrap() {
        let about = scenario["about"].as_str().unwrap();
        assert!(!about.contains("--"), "{about}");
    }
    let tas = &catalogue["locks"][0];
    assert_eq!(tas["name"], "tas");
    assert!(tas["about"].as_str().unwrap().starts_with("test-and-set"));
}

#[test]
fn a_simulation_says_how_far_it_is() {
    let pools = json!({
        "ask": "pools", "on": "cascade-lake-96", "threads": [1, 4], "locks": ["tas", "mcs"],
        "batches": ["1"], "mib": 1, "seed": 1,
    });
    let scenario = json!({
        "ask": "simulate", "scenario": "thousand-timers-coalescing", "on": ["linux", "linux-6.12"], "seed": 1,
    });
    for (question, at_least) in [(pools, 4), (scenario, 10)] {
        let mut shares = Vec::new();
        answer(&question.to_string(), &mut |share| shares.push(share));
        assert!(shares.len() >= at_least, "{question}: {shares:?}");
        assert_eq!(shares[0], 0.0);
        assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)));
        assert!(
            shares.iter().any(|share| (0.4..0.6).contains(share)),
            "{shares:?}"
        );
    }
}

#[test]
fn a_scenario_comes_with_its_command_and_its_run() {
    let text = "title = \"T\"\nsource = \"S\"\non = [\"linux\"]\nphase = [{ name = \"p\", for = \"1s\" }]\n\
                [[process]]\nname = \"A\"\ndo = [{ loop = [{ sleep = \"1ms\" }] }]\n";
    let question = json!({
        "ask": "simulate", "scenario": "my own.toml", "text": text,
        "on": ["linux,slack=1ns"], "seed": 7, "length": "500ms",
    });
    let answer = &asked(question)["ok"];
    let command = "punctual simulate 'my own.toml' --on linux,slack=1ns --for 500ms --seed 7";
    assert_eq!(answer["command"], format!("{command} --json run.json"));
    let run: Value = serde_json::from_str(answer["run"].as_str().unwrap()).unwrap();
    assert_eq!(run["command"], answer["command"]);
    assert_eq!(run["scenario"]["length_ns"], 500_000_000);
    assert!(answer["text"].as_str().unwrap().contains("linux,slack=1ns"));
    assert_eq!(answer["answer"][0], "The median sleep was 1.008 ms.");
}

#[test]
fn what_is_wrong_is_one_sentence() {
    let pools = |threads: &[usize], batch: &str, mib: u64| {
        json!({
            "ask": "pools", "on": "cascade-lake-96", "threads": threads, "locks": ["tas"],
            "batches": [batch], "mib": mib, "seed": 1,
        })
    };
    let simulate = |scenario: &str, on: &str| json!({ "ask": "simulate", "scenario": scenario, "on": [on], "seed": 1 });
    for (question, said) in [
        (json!({ "ask": "me" }), "no question"),
        (simulate("nothing", "linux"), "no scenario `nothing`"),
        (simulate("lowest-request-wins", "amiga"), "amiga"),
        (
            simulate("lowest-request-wins", "linux"),
            "no resolution to ask for",
        ),
        (pools(&[1], "many", 1), "many"),
        (pools(&[1], "1", 0), "from 1 to 1024 MiB"),
        (pools(&[0], "1", 1), "one worker at least"),
        (
            json!({ "ask": "explain", "scenario": "game-loop", "on": ["linux"], "seed": 1, "wake": "nobody:1" }),
            "no thread `nobody`",
        ),
    ] {
        let why = asked(question);
        let why = why["error"]
            .as_str()
            .unwrap_or_else(|| panic!("{said}: answered"));
        assert!(why.contains(said) && !why.contains('\n'), "{why}");
    }
}
