//! Any file is refused in one line or read as a Run that can be written.

use proptest::prelude::*;
use punctual_import::{Hints, events, read};
use punctual_record::{Experiment, Measurement, Run};
use punctual_trace::Engine;

/// A file of each format, of which the properties change something. The fuzzer begins with them, too.
const FILES: [&str; 11] = [
    include_str!("../files/cyclictest-histogram.txt"),
    include_str!("../files/cyclictest-summary.txt"),
    include_str!("../files/cyclictest-verbose.txt"),
    include_str!("../files/cyclictest.json"),
    include_str!("../files/mangohud.csv"),
    include_str!("../files/presentmon.csv"),
    include_str!("../files/strace.txt"),
    include_str!("../files/perf-switches.txt"),
    include_str!("../files/perf-tracepoints.txt"),
    include_str!("../files/hdr-histogram.hlog"),
    include_str!("../files/plain.csv"),
];

/// A change to a file.
const PARTS: [&str; 16] = [
    "",
    "-1",
    "NaN",
    "1e308",
    "18446744073709551616",
    "99999999999999999999999",
    "\u{1b}[2J",
    "\u{202e}",
    "\0",
    "\n",
    ",",
    "\"",
    "{",
    "é",
    "0",
    "<",
];

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    check_events(&String::from_utf8_lossy(bytes))?;
    match read(bytes, &Hints::default()) {
        Err(why) => {
            prop_assert!(
                !why.contains('\n') && why.chars().all(punctual_record::is_visible),
                "{}",
                why
            );
        }
        Ok(run) => {
            let text = run.to_json();
            let again: Run<Measurement> = Run::from_json(&text).map_err(TestCaseError::fail)?;
            prop_assert_eq!(again.to_json(), text);
            let names = run
                .results
                .iter()
                .map(|m| &m.subject)
                .chain(run.beside.imported.iter().flat_map(|it| &it.untold));
            prop_assert!(
                names
                    .flat_map(|name| name.chars())
                    .all(punctual_record::is_visible)
            );
        }
    }
    Ok(())
}

/// The same file as events, of which waits are made.
fn check_events(text: &str) -> Result<(), TestCaseError> {
    match events(text) {
        Err(why) => {
            prop_assert!(why.chars().all(punctual_record::is_visible), "{}", why);
        }
        Ok(events) => {
            prop_assert!(events.events.is_sorted_by_key(|event| event.time));
            let mut engine = Engine::new(events.tick_ns);
            events.events.iter().for_each(|event| engine.feed(event));
            engine.close();
            for row in engine.rows() {
                if let Experiment::Trace(of) = &row.experiment {
                    prop_assert_eq!(of.late_total_ns, of.all.parts_ns.sum());
                }
            }
        }
    }
    Ok(())
}

#[test]
fn each_of_these_is_read() {
    for file in FILES {
        let run = read(file.as_bytes(), &Hints::default()).unwrap();
        assert!(!run.results.is_empty(), "{file}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_file_that_was_changed_or_cut_is_read_or_refused(
        file in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..PARTS.len()), 0..6),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut text = FILES[file].to_owned();
        for (at, length, part) in changes {
            let at = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.floor_char_boundary((at + length).min(text.len())).max(at);
            text.replace_range(at..end, PARTS[part]);
        }
        let end = end.map_or(text.len(), |end| end.index(text.len() + 1));
        check(&text.as_bytes()[..end])?;
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), file in 0..FILES.len()) {
        check(&bytes)?;
        let mut behind = FILES[file].as_bytes().to_vec();
        behind.extend(&bytes);
        check(&behind)?;
    }

    #[test]
    fn lines_of_two_formats_are_read_or_refused(lines in prop::collection::vec((0..FILES.len(), 0..9_usize), 0..12)) {
        let line = |(file, line): (usize, usize)| FILES[file].lines().nth(line).unwrap_or_default();
        let text: Vec<&str> = lines.into_iter().map(line).collect();
        check(text.join("\n").as_bytes())?;
    }
}
