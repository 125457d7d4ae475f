//! The command's descriptions of itself: help, hints, completions and manual.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::punctual;

/// Its output, on standard output or error.
fn says(arguments: &[&str]) -> String {
    let output = punctual(Path::new(".")).args(arguments).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Commands that others are below, and some that none is below.
const COMMANDS: [&[&str]; 5] = [
    &[],
    &["bench"],
    &["bench", "naps"],
    &["zero", "run"],
    &["slack", "hold"],
];

#[test]
fn help_is_a_command_too() {
    for command in COMMANDS {
        let asked = says(&[&["help"], command].concat());
        assert_eq!(asked, says(&[command, &["--help"]].concat()), "{command:?}");
        assert!(asked.contains("\nUsage: punctual"), "{asked}");
    }
    assert!(says(&[]).contains("Start with doctor."));
}

#[test]
fn targets_are_in_the_help_of_bench() {
    let help = says(&["bench", "--help"]);
    for target in ["adaptive:late=50us/1%", "adaptive:spin=5%"] {
        assert!(help.contains(target), "{help}");
    }
}

#[test]
fn what_a_command_takes_is_told_the_same_everywhere() {
    let all = says(&["--help"])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for (command, time) in [
        ("measure", "about 50 s"),
        ("bench", "about 110 s"),
        ("doctor", "about 10 s"),
    ] {
        assert!(all.contains(&format!("({time})")), "{command}: {all}");
        let help = says(&[command, "--help"]);
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let (about, _) = help.split_once("Usage:").unwrap();
        assert!(about.contains(time), "{about}");
    }
}

#[test]
fn who_mistypes_is_told_what_was_meant() {
    for (typed, meant) in [
        ("bnech", "bench"),
        ("bench --rats 60", "--rate"),
        ("bench artcile", "article"),
        ("bench --on lunix", "linux"),
        ("bench --on linux,slak=1ns", "slack"),
        ("bench --strategy sytsem", "system"),
        ("measure slep", "sleep"),
        ("simulate game-lop", "game-loop"),
        ("watch --method timrfd", "timerfd"),
        ("zero simulate --on casade-lake-96", "cascade-lake-96"),
        ("zero simulate --lock tickt", "ticket"),
        ("exec --priority realtime -- true", "real-time"),
    ] {
        let said = says(&typed.split(' ').collect::<Vec<_>>());
        let hint = format!("; did you mean `{meant}`?\n");
        assert!(said.ends_with(&hint) && said.lines().count() == 1, "{said}");
    }
    for unlike in ["qwertz", "bench --qwertz", "exec true"] {
        let said = says(&unlike.split(' ').collect::<Vec<_>>());
        assert!(!said.contains("did you mean"), "{said}");
    }
    assert!(says(&["qwertz"]).ends_with("; try --help\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_cpu_that_is_not_there_is_refused_in_the_same_words() {
    for command in ["bench", "doctor", "measure sleep", "watch"] {
        let arguments = format!("{command} -c 4095");
        let said = says(&arguments.split(' ').collect::<Vec<_>>());
        let words = "there is no CPU 4095 for this process; it may use 0";
        assert!(said.contains(words), "{said}");
    }
}

/// Of the shells that are not there, that there is something for them.
#[test]
fn completions_are_what_a_shell_reads() {
    for (name, marks, check) in [
        ("bash", "complete -F _punctual", "-n"),
        ("zsh", "#compdef punctual", "-n"),
        ("fish", "complete -c punctual", "--no-execute"),
        ("powershell", "Register-ArgumentCompleter", ""),
    ] {
        let script = says(&["completions", name]);
        assert!(script.contains(marks), "{name}");
        for word in ["doctor", "quick", "probe"] {
            assert!(script.contains(word), "{name}: {word}");
        }
        // Models, computers, scenarios, strategies, peers, calls, locks.
        let names = [
            "windows-10-2004",
            "cascade-lake-96",
            "lowest-request-wins",
            "adaptive-balanced",
            "spin_sleep",
            "timerfd",
            "ticket",
        ];
        let missing = names.iter().find(|word| !script.contains(**word));
        // clap_complete has no values for PowerShell.
        assert_eq!(
            missing.is_some(),
            name == "powershell",
            "{name}: {missing:?}"
        );
        assert!(!script.contains("run-program"), "{name}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("script");
        fs::write(&file, script).unwrap();
        let read = Command::new(name).arg(check).arg(&file).output();
        if let (Ok(read), false) = (read, check.is_empty()) {
            assert!(read.status.success(), "{name}: {read:?}");
        }
    }
}

/// As a user of bash meets them: what is offered after the beginning of a value.
#[test]
fn bash_completes_names() {
    let script = says(&["completions", "bash"]);
    for (line, offered) in [
        (
            "bench --on windows-1",
            "windows-10-1909 windows-10-2004 windows-11",
        ),
        ("zero simulate --on casc", "cascade-lake-96"),
        ("simulate lowest", "lowest-request-wins"),
        ("simulate artic", "article"),
        ("bench --strategy adaptive-b", "adaptive-balanced"),
        ("watch --method timerf", "timerfd"),
        ("zero run --lock ti", "ticket"),
    ] {
        let line = format!("punctual {line}");
        let words: Vec<&str> = line.split(' ').collect();
        let asked = format!(
            "{script}\nCOMP_WORDS=({line}); COMP_CWORD={last}; _punctual punctual {word} {before}; echo \"${{COMPREPLY[*]}}\"",
            last = words.len() - 1,
            word = words[words.len() - 1],
            before = words[words.len() - 2],
        );
        // Where there is no bash, it is not needed.
        let Ok(said) = Command::new("bash").args(["-c", &asked]).output() else {
            return;
        };
        assert_eq!(
            String::from_utf8_lossy(&said.stdout).trim(),
            offered,
            "{line}"
        );
    }
}

#[test]
fn an_experiment_does_not_offer_what_it_refuses() {
    for (experiment, refused) in [
        (
            "regimes",
            &[
                "--load 1",
                "--on linux",
                "--seed 2",
                "--cpu 0",
                "--plots figures",
            ][..],
        ),
        ("robustness", &["--on linux", "--rounds 7", "--quick"]),
        ("naps", &["--strategy spin"]),
    ] {
        let help = says(&["bench", experiment, "--help"]);
        assert!(help.contains("--json"), "{help}");
        for option in refused {
            let name = option.split(' ').next().unwrap();
            assert!(!help.contains(name), "{experiment} offers {name}");
            let line = format!("bench {experiment} {option}");
            let said = says(&line.split(' ').collect::<Vec<_>>());
            assert!(
                said.contains(&format!("{name} has no meaning")),
                "{line}: {said}"
            );
        }
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man1");
    let wrote = punctual(directory.path()).args(["man", "man1"]).status();
    assert!(wrote.unwrap().success());
    for (page, text) in [
        ("punctual.1", "Start with doctor"),
        ("punctual-bench.1", "\\-\\-strategy"),
        ("punctual-bench-naps.1", "punctual\\-bench\\-naps"),
        ("punctual-zero-simulate.1", "\\-\\-matrix"),
        ("punctual-man.1", "DIR"),
    ] {
        let page = fs::read_to_string(pages.join(page)).unwrap();
        assert!(page.starts_with(".ie") && page.contains(text), "{page}");
    }
    let names = fs::read_dir(&pages)
        .unwrap()
        .map(|page| page.unwrap().file_name());
    let of_help: Vec<_> = names
        .filter(|name| name.to_string_lossy().contains("-help"))
        .collect();
    assert!(of_help.is_empty(), "{of_help:?}");
}
