//! `punctual simulate article`, and the page that has the same tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::common::{assert_refused, printed, run};

const NAMES: [&str; 4] = ["timers", "zeroing", "sleep", "scheduling"];

fn page() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/articles.md"
    ))
}

fn table(name: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    printed(&run(
        directory.path(),
        &format!("simulate article {name} --markdown"),
    ))
}

/// Where the table of an article stands in the page.
fn place(page: &str, name: &str) -> (usize, usize) {
    let mark = format!("<!-- simulate article {name} --markdown -->\n");
    let begin = page.find(&mark).unwrap_or_else(|| panic!("no {mark}")) + mark.len();
    let length = page[begin..]
        .find("\n\n")
        .map_or(page.len() - begin, |end| end + 1);
    (begin, begin + length)
}

/// `PUNCTUAL_WRITE_ARTICLES=1` writes the tables anew.
#[test]
fn the_page_has_each_claim_as_it_comes_out() {
    let mut page_now = fs::read_to_string(page()).unwrap();
    let is_written = std::env::var_os("PUNCTUAL_WRITE_ARTICLES").is_some();
    for name in NAMES {
        let (begin, end) = place(&page_now, name);
        let table = table(name);
        match is_written {
            true => page_now.replace_range(begin..end, &table),
            false => assert_eq!(
                page_now[begin..end],
                table,
                "PUNCTUAL_WRITE_ARTICLES=1 renews it"
            ),
        }
    }
    if is_written {
        fs::write(page(), page_now).unwrap();
    }
}

/// The commands on this computer run in `.ci/commands`, because they measure.
#[test]
fn each_command_on_a_model_runs() {
    let mut commands = BTreeSet::new();
    for row in NAMES
        .map(table)
        .iter()
        .flat_map(|table| table.lines().skip(2))
    {
        let cells: Vec<_> = row.split(" | ").collect();
        let [.., how, command] = cells[..] else {
            panic!("{row}");
        };
        if !["measured here", "by hand"].contains(&how) {
            commands.insert(command.trim_end_matches(" |").trim_matches('`').to_owned());
        }
    }
    assert!(commands.len() > 20, "{commands:?}");
    let directory = tempfile::tempdir().unwrap();
    for command in commands {
        printed(&run(directory.path(), &command));
    }
}

#[test]
fn an_article_begins_with_how_much_of_it_comes_out() {
    let directory = tempfile::tempdir().unwrap();
    let text = printed(&run(directory.path(), "simulate article timers"));
    let first = text.lines().next().unwrap();
    assert!(
        first.contains("figures of the timer-rule article"),
        "{first}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.lines().count() <= 45, "{text}");
}

#[test]
fn an_article_that_is_none_is_refused() {
    assert_refused("simulate article", "timers, zeroing, sleep, scheduling");
    assert_refused("simulate article tea", "timers, zeroing, sleep, scheduling");
    assert_refused(
        "simulate lowest-request-wins timers",
        "simulate article timers",
    );
    assert_refused("simulate article sleep --on linux", "--on");
    assert_refused("simulate --validate V01,W01", "no row has the name W01");
    assert_refused("zero simulate --validate Z1", "no row has the name Z1");
}
