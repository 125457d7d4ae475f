//! The page: complete, harmless, small, and the same each time.

use base64::Engine;
use punctual_record::compare::Comparison;
use punctual_record::experiment::{
    Cause, Hiccup, Phase, RanMeanwhile, ScenarioThreads, Sleep, Watch,
};

use punctual_record::{
    Disturbance, Expectation, Experiment, Late, Measurement, ModelFacts, OtherProcess, Run,
    ScenarioFacts, Warning, is_visible,
};
use punctual_report::{Page, disturbed, text, verdict};
use sha2::{Digest, Sha256};

use crate::{made_up, made_up_measure};

fn page(runs: &[Run]) -> String {
    let mut page = Page::new("punctual report");
    runs.iter().for_each(|run| page.add(run));
    page.html()
}

/// The texts between two of these, each time.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> Vec<&'t str> {
    let parts = text.split(begin).skip(1);
    parts.map(|part| part.split(end).next().unwrap()).collect()
}

#[test]
fn a_page_has_answers_figures_and_tables_and_is_the_same_each_time() {
    let runs = [made_up::run(), made_up_measure::run()];
    let html = page(&runs);
    assert_eq!(html, page(&runs));
    for needed in [
        "In a 60 Hz loop",
        "Warning: ",
        "<title>Lateness against CPU time at 60 Hz</title>",
        "<summary>pace at 60 Hz: lateness</summary>",
        "<th scope=\"row\" role=\"rowheader\">adaptive</th>",
        "data-l=\"spin\"",
        "aria-label=\"The answers as Markdown\"",
    ] {
        assert!(html.contains(needed), "{needed}");
    }
    // Answers first.
    let at = |words: &str| html.find(words).unwrap();
    assert!(at("class=\"answer\"") < at("<figure>"));
    // Nothing from elsewhere.
    let mut elsewhere = html
        .match_indices("://")
        .map(|(at, _)| &html[at - 4..at + 22]);
    assert!(elsewhere.all(|url| url == "http://www.w3.org/2000/svg"));
    assert!(html.len() < 1_000_000, "{}", html.len());
}

/// A reader who gets a page by mail has no command.
#[test]
fn a_reader_without_the_command_gets_no_lines_for_it() {
    let run = || Run {
        started_at: Some("2026-11-26T15:21:56Z".to_owned()),
        warnings: [1, 2, 3]
            .map(|n| {
                Warning::new(
                    format!("Noise {n}. It was loud."),
                    "Use --rounds 6 or more.",
                )
            })
            .into(),
        ..made_up::run()
    };
    assert!(
        verdict(&run())
            .unwrap()
            .text(80)
            .contains("(2 more warnings: --full)")
    );
    let html = page(&[run()]);
    for command in ["--full", "--cpu", "--rounds 6", "Next:"] {
        assert!(!html.contains(command), "{command}");
    }
    // How many more warnings there are leads to them.
    assert!(html.contains("<a href=\"#run-1-warnings\">2 more warnings</a>"));
    assert!(html.contains("<div id=\"run-1-warnings\">\n<div class=\"warning\">"));
    // Where and when, in the title and above all else.
    let machine = run().machine.in_words();
    let what = format!("{machine}, 2026-11-26");
    assert!(
        html.contains(&format!("<title>punctual: {what}</title>")),
        "{what}"
    );
    assert!(html.contains(&format!("<p class=\"what\">{what}</p>")));
    // A picture beside each answer.
    let answers = between(&html, "<section class=\"answer\">", "</section>");
    assert!(answers.iter().all(|answer| answer.contains("<svg ")));
    // On a phone each cell says of what it is.
    assert!(html.contains("data-h=\""));
}

#[test]
fn the_browser_is_told_what_is_the_pages_own() {
    let html = page(&[]);
    for (element, directive) in [("style", "style-src"), ("script", "script-src")] {
        let [own] = between(&html, &format!("<{element}>"), &format!("</{element}>"))[..] else {
            panic!("{element}");
        };
        let hash = base64::prelude::BASE64_STANDARD.encode(Sha256::digest(own));
        assert!(
            html.contains(&format!("{directive} 'sha256-{hash}'")),
            "{directive} is 'sha256-{hash}' now: write that in page/mod.rs"
        );
    }
    assert!(html.contains("default-src 'none'"));
}

/// A Run of a call with this name, in which each text is it too.
fn of_text(words: &str) -> Run {
    let sleep = Sleep {
        method: words.to_owned(),
        asked_ns: 1_000_000,
    };
    let samples: Vec<i64> = (0..100).map(|i| 50_000 + i).collect();
    Run {
        command: words.to_owned(),
        warnings: vec![Warning {
            what: words.to_owned(),
            remedy: words.to_owned(),
        }],
        results: vec![Measurement {
            late_ns: Late::of(&samples),
            samples_late_ns: samples,
            ..Measurement::of(Experiment::Sleep(sleep), words)
        }],
        ..made_up_measure::run()
    }
}

#[test]
fn text_of_others_stays_text() {
    let bad = "</script></textarea><img src=x onerror=alert(1)>\"'&\x1b[31m";
    let html = page(&[of_text(bad)]);
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(html.matches("</script").count(), 1);
    assert_eq!(html.matches("</textarea").count(), 1);
    assert!(!html.contains("<img") && !html.contains('\x1b'));
    assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;&quot;'&amp;\\u{1b}[31m"));
}

/// As commands print it, of a file.
#[test]
fn text_of_others_is_text_on_a_terminal_and_in_markdown_too() {
    let bad = "</script><img src=x onerror=alert(1)>|`a`[b](c)*_\x1b[31m\u{202e}\r";
    let run: Run = Run::from_json(&of_text(bad).to_json()).unwrap();
    let verdict = verdict(&run).unwrap();
    let markdown = verdict.markdown();
    for text in [&text(&run), &verdict.text(80), &markdown] {
        assert!(text.contains("onerror"), "{text}");
        let hidden = text.chars().find(|c| *c != '\n' && !is_visible(*c));
        assert_eq!(hidden, None, "{text}");
    }
    assert!(
        !markdown.contains('<') && markdown.contains("\\|\\`a\\`\\[b](c)\\*\\_"),
        "{markdown}"
    );
    let long: Run = Run::from_json(&of_text(&"x".repeat(60_000)).to_json()).unwrap();
    let answer = punctual_report::verdict(&long).unwrap();
    assert!(answer.text(80).len() < 5_000 && answer.markdown().len() < 5_000);
}

#[test]
fn what_is_long_is_cut_and_what_is_huge_is_refused() {
    let html = page(&[of_text(&"long ".repeat(10_000))]);
    assert!(html.len() < 1_000_000, "{}", html.len());
    let huge = of_text(&"\\huge ".repeat(2_000_000)).to_json();
    let why = Run::<Measurement>::from_json(&huge).unwrap_err();
    assert!(why.contains("a text of more than 65536 bytes"), "{why}");
}

#[test]
fn names_of_others_and_folders_are_left_out() {
    let disturbance = Disturbance {
        cpus: vec![1],
        others_fraction: Some(0.5),
        processes: vec![OtherProcess {
            name: "zoltan-secret".to_owned(),
            pid: 4711,
            fraction: 0.5,
        }],
        ..Disturbance::default()
    };
    let run = Run {
        command: "punctual bench --json /home/zoltan/x.json --plots 'C:\\Users\\zoltan p\\my figures' --rate 60,60000/1001"
            .to_owned(),
        warnings: disturbed(&disturbance),
        disturbance: Some(disturbance),
        ..made_up::run()
    };
    let hiccup = Hiccup {
        late_ns: 2_000_000,
        queued_ns: Some(1_900_000),
        cause: Cause::Queued,
        others: vec![RanMeanwhile {
            name: "zoltan-secret".to_owned(),
            pid: 4711,
            ran_ns: 1_900_000,
        }],
        in_words: "zoltan-secret (pid 4711) had it".to_owned(),
        ..Hiccup::default()
    };
    let watch = Watch {
        threshold_ns: 1_000_000,
        hiccups: vec![hiccup],
        hiccups_in_all: 1,
        hiccups_by_cause: [(Cause::Queued.name().to_owned(), 1)].into(),
        ..Watch::default()
    };
    let watched = Run::of([Measurement {
        late_ns: Late::of(&[60_000; 100]),
        ..Measurement::of(Experiment::Watch(Box::new(watch)), "sleep")
    }]);
    let on = "recorded,file=/home/zoltan/naps.json".to_owned();
    let threads = ScenarioThreads {
        at: Phase {
            scenario: "two-frames".to_owned(),
            on: on.clone(),
            phase: "all of it".to_owned(),
            phase_index: 0,
        },
        ..ScenarioThreads::default()
    };
    let mut replayed = Run::of([Measurement::of(
        Experiment::Scenario(Box::new(threads)),
        "frames",
    )]);
    replayed.beside.scenario = Some(ScenarioFacts::default());
    replayed.beside.models = vec![ModelFacts {
        name: on.clone(),
        ..ModelFacts::default()
    }];
    replayed.beside.expectations = vec![Expectation {
        on,
        phase: "all of it".to_owned(),
        subject: "frames".to_owned(),
        figure: "wakes_per_s".to_owned(),
        expected: "64".to_owned(),
        got: "64".to_owned(),
        holds: true,
        stated: true,
        source: "made up".to_owned(),
    }];
    let html = page(&[run, watched, replayed]);
    assert!(html.contains("waited for a CPU (who had it: another 1x)"));
    assert!(html.contains("recorded,file=naps.json"));
    assert!(!html.contains("zoltan") && !html.contains("4711"));
    assert!(html.contains("punctual bench --json x.json --plots my figures --rate 60,60000/1001"));
}

#[test]
fn runs_of_several_machines_are_set_side_by_side() {
    let [one, other] = [made_up::run(), made_up::run()];
    let compared = Comparison::of(&[("one", &one), ("other", &other)]);
    let mut page = Page::new("punctual report one other");
    page.add(&one);
    page.add(&other);
    page.compare(&compared, &[]);
    let html = page.html();
    assert!(html.contains("Side by side") && html.contains("Median lateness of several runs"));
}
