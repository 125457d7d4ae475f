//! Breaks prose into lines.

use std::cell::Cell;

use unicode_width::UnicodeWidthStr;

/// Longer lines of prose in the text report are broken here, or where the terminal ends, if that
/// is sooner. The tables take the width they need, if there is no terminal.
pub(crate) const WIDTH: usize = 100;

/// A terminal with fewer columns breaks lines itself.
const NARROWEST: usize = 40;

thread_local! {
    static COLUMNS: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Makes texts for a terminal with so many columns, or for none: whatever `make` lays out on this
/// thread has no longer lines. Lines to copy, and single words, may be longer.
pub fn within_columns<T>(columns: Option<usize>, make: impl FnOnce() -> T) -> T {
    struct Before(Option<usize>);
    impl Drop for Before {
        fn drop(&mut self) {
            COLUMNS.set(self.0);
        }
    }
    let _before = Before(COLUMNS.replace(columns.map(|columns| columns.max(NARROWEST))));
    make()
}

/// The columns of the terminal that texts are made for.
pub(crate) fn columns() -> Option<usize> {
    COLUMNS.get()
}

/// How long a line of prose is at most.
pub(crate) fn page() -> usize {
    columns().map_or(WIDTH, |columns| columns.min(WIDTH))
}

/// Names in words; of more than two how many there are, and the first.
pub(crate) fn some(names: &[&str]) -> String {
    match names {
        [first, _, _, ..] => format!("{} others, such as {first}", names.len()),
        names => names.join(" and "),
    }
}

/// The columns that a text takes in a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `prose` behind `lead`, in lines that are indented as far as the first.
pub fn indented(lead: &str, prose: &str) -> String {
    behind(lead, lines(prose, room(lead)))
}

/// The same of a list, whose lines end at its commas only.
pub fn listed(lead: &str, list: &str) -> String {
    let items = list.split_inclusive(", ").map(str::trim_end);
    behind(lead, fill(items, room(lead)))
}

/// The room that a lead leaves on a line; a lead can be from a file and of any length.
fn room(lead: &str) -> usize {
    page().saturating_sub(width(lead))
}

fn behind(lead: &str, lines: Vec<String>) -> String {
    let indent = " ".repeat(width(lead));
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let lead = if i == 0 { lead } else { &indent };
        text += format!("{lead}{line}").trim_end();
        text.push('\n');
    }
    text
}

/// Names, and what belongs to them beside them.
pub(crate) fn pairs<'a>(pairs: impl Iterator<Item = (&'a String, &'a String)> + Clone) -> String {
    let width = pairs.clone().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    let line = |(name, value): (_, &String)| indented(&format!("  {name:<width$}  "), value);
    pairs.map(line).collect()
}

/// `prose` as a paragraph.
pub fn paragraph(prose: &str) -> String {
    indented("", prose)
}

/// `prose` in lines of at most `room` columns; a word that is longer has
/// one to itself.
pub fn lines(prose: &str, room: usize) -> Vec<String> {
    fill(prose.split_whitespace(), room)
}

/// A word in pieces that a line has room for: one, unless it is longer than that.
pub(crate) fn pieces(word: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while width(rest) > room {
        let mut ends = rest.char_indices().map(|(at, _)| at).skip(1);
        let first = ends.next().unwrap_or(rest.len());
        let end = ends.take_while(|end| width(&rest[..*end]) <= room).last();
        let (piece, after) = rest.split_at(end.unwrap_or(first));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// Words in lines of at most `room` columns; a word that is longer has one to itself.
pub(crate) fn fill<'w>(words: impl Iterator<Item = &'w str>, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut filled = 0;
    for word in words {
        let length = width(word);
        if filled > 0 && filled + 1 + length > room {
            lines.push(String::new());
            filled = 0;
        }
        let line = lines.last_mut().expect("there is always a line");
        if filled > 0 {
            line.push(' ');
            filled += 1;
        }
        line.push_str(word);
        filled += length;
    }
    lines
}

/// Names, or other words, in a row.
pub fn list<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let mut text = String::new();
    for item in items {
        if !text.is_empty() {
            text += ", ";
        }
        text += item.as_ref();
    }
    text
}

/// Words for where something is so; elsewhere none.
pub fn when(is_so: bool, words: impl FnOnce() -> String) -> String {
    if is_so { words() } else { String::new() }
}

/// Words that begin a sentence.
pub fn capitalised(words: &str) -> String {
    let mut rest = words.chars();
    let first = rest.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(rest).collect()
}

/// A count with its noun: `1 tick`, `2 ticks`.
pub fn counted(n: u64, name: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {name}{plural}")
}

/// An argument as a shell takes it.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "+,-./:=@_%".contains(c);
    match !argument.is_empty() && argument.chars().all(plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

/// A text of at most so many characters, and three dots where it is cut.
pub fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text += "...";
    }
    text
}

/// A model's name without the folder of what was recorded, if that is what it replays.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn model_without_folders(name: &str) -> String {
    last_parts(name.split('='), "=")
}

/// The last part of each word that is a path; a rate, as 60000/1001, is none.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn last_parts<'w>(words: impl Iterator<Item = &'w str>, between: &str) -> String {
    let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let last = |word: &'w str| match word.split(['/', ',']).all(is_number) {
        true => word,
        false => word.rsplit(['/', '\\']).next().unwrap_or(word),
    };
    words.map(last).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_and_keeps_its_indent() {
        let text = indented("clock  ", &"monotonic ".repeat(15));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("clock  monotonic") && lines[0].len() <= WIDTH);
        assert!(lines[1].starts_with("       monotonic"));
        assert!(lines.iter().all(|l| !l.ends_with(' ')));
    }

    #[test]
    fn a_list_is_broken_between_its_items() {
        let text = listed("machine  ", &["Some CPU (of some kind)"; 5].join(", "));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("kind),") && lines[1].starts_with("         Some CPU"));
    }

    #[test]
    fn nothing_is_an_empty_line() {
        assert_eq!(lines("", 10), [""]);
        assert_eq!(indented("", ""), "\n");
    }
}
