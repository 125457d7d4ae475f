//! The answer before all else: what a run says, in one screen.
//!
//! Here is its layout; the sentences are with their experiments. A sentence says what the numbers
//! support, or that they support nothing. A way to wait is called the cheapest only where the
//! interval of every other one's cost over it lies above 1.

mod compare;

pub use compare::comparison_verdict;

use std::borrow::Cow;
use std::collections::BTreeSet;

use punctual_record::{Measurement, Run, RunRow, SubjectId, visible};

use crate::tables::Cells;
use crate::tables::table::{Table, has_word, is_best};
use crate::{prose, select, units};

/// The answer of a run, in one screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The command, and where it ran.
    pub heading: String,
    /// One to five sentences that answer what the command is for.
    pub sentences: Vec<String>,
    /// The comparison, with a word at the best.
    pub overview: Option<Overview>,
    /// The next step, with a command.
    pub next: String,
    /// A line to copy behind that, if there is one: it is never broken.
    pub line: Option<String>,
    /// The number of the sentence that goes first where there is no room.
    pub spare: Option<usize>,
}

/// The table of a verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// The heads of the columns; names are in the first.
    pub head: Vec<String>,
    /// The rows, the most important first; later ones are left out where there is no room.
    pub rows: Vec<Vec<String>>,
    /// The explanation to read first.
    pub caption: String,
    /// The marks of rows, with the sentences that explain them behind the caption.
    pub marks: Vec<(&'static str, &'static str)>,
    /// Whether the rows that sentences name, and that of the plain sleep, are shown even where
    /// there is no room.
    pub shows_named: bool,
}

/// The verdict of a run, with its facts and doubts.
pub(crate) fn of_run<R: RunRow>(run: &Run<R>, mut verdict: Verdict) -> Verdict {
    let machine = [run.machine.name.as_str(), run.machine.os.as_str()];
    let machine = prose::list(machine.into_iter().filter(|it| !it.is_empty()));
    verdict.heading = format!("{}: {machine}", asked(&run.command));
    match &run.failed {
        Some(why) => verdict
            .sentences
            .push(format!("Partial results: the run stopped early: {why}.")),
        None if run.interrupted => {
            let early = "Partial results: the run was ended early.";
            verdict.sentences.push(early.to_owned());
        }
        None => {}
    }
    let evidence = &run.machine.evidence;
    // The room is for the table where there are many.
    let shown = if evidence.len() > MODELS { 1 } else { MODELS };
    verdict
        .sentences
        .extend(evidence.iter().take(shown).cloned());
    if evidence.len() > shown {
        let more = evidence.len() - shown;
        verdict.sentences.push(match more {
            1 => "--full says how sure one more model is.".to_owned(),
            _ => format!("--full says how sure {more} more models are."),
        });
    }
    if let Some((first, others)) = run.warnings.split_first() {
        let n = others.len();
        let more = prose::when(n > 0, || {
            let others = prose::counted(n as u64, "more warning");
            format!(" ({others}: --full)")
        });
        // Only the first part: all of it, with the remedy, is in the report.
        let ends = [". ", ": "]
            .into_iter()
            .filter_map(|end| first.what.find(end));
        let end = ends.min().unwrap_or(first.what.len());
        let what = first.what[..end].trim_end_matches('.');
        verdict.sentences.push(format!("Warning: {what}.{more}"));
    }
    verdict.cut()
}

/// The number of kinds of models whose evidence is shown, where there are no more.
const MODELS: usize = 2;

/// No sentence that is made here is longer, in characters, and no name in a table: a file may
/// have some.
const LONGEST_SENTENCE: usize = 600;
const LONGEST_CELL: usize = 80;

/// The command without the options for its results.
fn asked(command: &str) -> String {
    let mut words = command.split(' ');
    let mut asked = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "--json" | "-j" | "--plots" | "-p" => {
                // A name with spaces is in quotes.
                let is_quoted = words.next().is_some_and(|name| name.starts_with('\''));
                let _ = is_quoted && words.any(|word| word.ends_with('\''));
            }
            word if word.starts_with("--json=") || word.starts_with("--plots=") => {}
            word => asked.push(word),
        }
    }
    asked.join(" ")
}

/// How late waits usually were: `58.0 us late in the median`, or `14 ns early`.
pub(crate) fn typical_in_words(m: &Measurement) -> Option<String> {
    let (ns, is_median) = select::typical_late_ns(m)?;
    let of = if is_median {
        "in the median"
    } else {
        "on average"
    };
    let way = if ns < 0.0 { "early" } else { "late" };
    Some(format!("{} {way} {of}", units::duration(ns.abs())))
}

/// The lines of a screen that are the verdict's; the last has the prompt.
const LINES: usize = 23;
/// Of a table so many lines are there in any case; more where the terminal is narrow, as there is
/// no screen that all has room on.
const FEWEST: usize = 3;
const FEWEST_OF_NARROW: usize = 9;
/// A verdict is no wider, whatever the terminal.
const WIDTH: usize = 80;
/// And no narrower: lines are broken by the terminal then.
const NARROWEST: usize = 32;

impl Verdict {
    /// A verdict of sentences, and the next step.
    pub fn new(sentences: Vec<String>, next: impl Into<String>) -> Self {
        Self {
            sentences,
            next: next.into(),
            ..Self::default()
        }
    }

    /// With a table, if there are rows for it.
    pub fn table<H: Into<String>>(
        mut self,
        head: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = Vec<String>>,
        caption: impl Into<String>,
    ) -> Self {
        let overview = Overview {
            head: head.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().collect(),
            caption: caption.into(),
            marks: vec![],
            shows_named: false,
        };
        self.overview = (!overview.rows.is_empty()).then_some(overview);
        self
    }

    /// With the rows of a table, if it has any, without columns that are blank in all of them. The
    /// meaning of its columns and marks follows the caption.
    pub fn told<R>(self, table: Table<'_, R>, caption: impl Into<String>) -> Self {
        let (cells, marks) = table.known().cells_and_marks();
        let Cells {
            head, rows, words, ..
        } = cells;
        let mut caption = vec![caption.into()];
        caption.extend(words);
        caption.retain(|words| !words.is_empty());
        let mut verdict = self.table(head, rows, caption.join(" "));
        if let Some(overview) = &mut verdict.overview {
            overview.marks = marks;
        }
        verdict
    }

    /// Never leaves out the row of the plain sleep, nor one that a sentence names. The sentence
    /// with the number `spare` is left out instead where all of that is more than a screen.
    pub(crate) fn shows_named(mut self, spare: Option<usize>) -> Self {
        self.spare = spare;
        if let Some(overview) = &mut self.overview {
            overview.shows_named = true;
        }
        self
    }

    fn cut(mut self) -> Self {
        let cut = |texts: &mut [String], most| {
            for text in texts {
                *text = prose::cut(std::mem::take(text), most);
            }
        };
        cut(std::slice::from_mut(&mut self.heading), LONGEST_SENTENCE);
        cut(&mut self.sentences, LONGEST_SENTENCE);
        for row in self.overview.iter_mut().flat_map(|it| &mut it.rows) {
            cut(row, LONGEST_CELL);
        }
        self
    }

    /// As text in at most so many columns, and 80; 23 lines of them at 80.
    pub fn text(&self, columns: usize) -> String {
        let text = self.laid_out(columns);
        let Some(spare) = self.spare.filter(|_| text.lines().count() > LINES) else {
            return text;
        };
        let mut shorter = self.clone();
        shorter.sentences.remove(spare);
        shorter.laid_out(columns)
    }

    fn laid_out(&self, columns: usize) -> String {
        let width = columns.clamp(NARROWEST, WIDTH);
        let wrapped = |prose: &str| -> String {
            let lines = prose::lines(prose, width);
            lines.into_iter().map(|line| line + "\n").collect()
        };
        let mut above = prose::when(!self.heading.is_empty(), || wrapped(&self.heading) + "\n");
        let head = above.len();
        above.extend(self.sentences.iter().map(|it| wrapped(it)));
        let next = match &self.line {
            None => wrapped(&self.next),
            Some(line) => {
                let fits = prose::width(&self.next) + 1 + prose::width(line) <= width;
                match fits {
                    true => format!("{} {line}\n", self.next),
                    false => format!("{}{}", wrapped(&self.next), to_copy(line, width)),
                }
            }
        };
        if let Some(overview) = &self.overview {
            let caption = wrapped(&overview.whole_caption());
            let others = [&above, &caption, &next];
            // A longer line is broken by the terminal.
            let high = |line: &str| prose::width(line).div_ceil(width).max(1);
            let lines = others.iter().flat_map(|part| part.lines());
            let taken: usize = lines.map(high).sum();
            // Two lines of head, and an empty one above the table and above what is next.
            let fewest = if width < WIDTH {
                FEWEST_OF_NARROW
            } else {
                FEWEST
            };
            let room = LINES.saturating_sub(taken + 4).max(fewest);
            above += "\n";
            above += &overview.text(width, room, &self.sentences);
            // The heading has the name of the program.
            let below = above.get(head..).unwrap_or_default();
            above += &wrapped(&overview.caption_of(below));
        }
        format!("{above}\n{next}")
    }

    /// As Markdown, for an issue or a forum: what comes from files and arguments is not
    /// markup there either.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{}**\n\n", escaped(&self.heading));
        for sentence in &self.sentences {
            text += &format!("- {}\n", escaped(sentence));
        }
        if let Some(overview) = &self.overview {
            let row = |cells: &[String]| {
                let cells: Vec<_> = cells.iter().map(|cell| escaped(cell)).collect();
                format!("| {} |\n", cells.join(" | "))
            };
            text += &format!(
                "\n{}|{}\n",
                row(&overview.head),
                "---|".repeat(overview.head.len())
            );
            text.extend(overview.rows.iter().map(|cells| row(cells)));
            text += &format!("\n{}\n", escaped(&overview.whole_caption()));
        }
        text
    }
}

impl Overview {
    /// Lines of at most `width`, and besides the head at most so many. Cells are broken for that, or
    /// where there is no room for more lines, words are cut; only then are rows left out, and how
    /// many is said. The best is never among them, and neither is the library, nor a row that
    /// [is named](Self::shows_named).
    fn text(&self, width: usize, room: usize, sentences: &[String]) -> String {
        const HEAD: usize = 2;
        let all = self.cells(|_| true);
        // Names that are the same when they are cut say nothing.
        let short = |cells: Cells| {
            let names = |cells: &Cells| {
                let names = cells.rows.iter().filter_map(|row| row.first().cloned());
                names.collect::<BTreeSet<_>>().len()
            };
            let short = cells.shortened(width);
            if names(&short) < names(&cells) {
                cells
            } else {
                short
            }
        };
        for cells in [all.clone(), short(all)] {
            let text = cells.lines(width);
            if text.lines().count() <= HEAD + room {
                return text;
            }
        }
        let n = self.rows.len();
        let mut order: Vec<usize> = (0..n).collect();
        let library = self.rows.iter().position(|row| is_library(row));
        let is_always = |i: usize| {
            let name = &self.rows[i][0];
            let is_named = || sentences.iter().any(|sentence| names(sentence, name));
            self.shows_named && (SubjectId::of(name) == SubjectId::PlainSleep || is_named())
        };
        order.sort_by_key(|i| !has_best(&self.rows[*i]) && Some(*i) != library);
        order.sort_by_key(|i| !is_always(*i));
        let least = (0..n).filter(|i| is_always(*i)).count().max(1);
        let mut text = short(self.cells(|_| true)).lines(width);
        // The most for which there is room, and one line says how many are missing.
        for shown in (least..n).rev() {
            let cells = short(self.cells(|i| order[..shown].contains(&i)));
            text = format!("{}and {} more: --full\n", cells.lines(width), n - shown);
            if text.lines().count() <= HEAD + room {
                break;
            }
        }
        text
    }

    /// The caption, with the explanation of each mark.
    pub(crate) fn whole_caption(&self) -> String {
        self.caption_with(|_| true)
    }

    /// The caption, with the explanations of the marks that are `shown`.
    fn caption_of(&self, shown: &str) -> String {
        let words: Vec<&str> = shown.split_whitespace().collect();
        let shown = words.join(" ");
        self.caption_with(|mark| has_word(&shown, mark))
    }

    fn caption_with(&self, is_told: impl Fn(&str) -> bool) -> String {
        let marks = self.marks.iter().filter(|(mark, _)| is_told(mark));
        let explained = marks.map(|(_, explained)| *explained);
        let all = std::iter::once(self.caption.as_str()).chain(explained);
        let all: Vec<&str> = all.filter(|words| !words.is_empty()).collect();
        all.join(" ")
    }

    /// The rows that are so.
    fn cells(&self, is: impl Fn(usize) -> bool) -> Cells {
        let rows = self.rows.iter().enumerate();
        Cells {
            head: self.head.clone(),
            rows: rows
                .filter(|(i, _)| is(*i))
                .map(|(_, row)| row.clone())
                .collect(),
            ..Cells::default()
        }
    }
}

/// A command in lines that a shell takes for one, broken before its options.
fn to_copy(line: &str, width: usize) -> String {
    const INDENT: &str = "  ";
    const GOES_ON: &str = " \\";
    let room = width - INDENT.len() - GOES_ON.len();
    let mut lines = vec![String::new()];
    let mut options = line.split(" --");
    let command = options.next().map(str::to_owned);
    for part in command
        .into_iter()
        .chain(options.map(|option| format!(" --{option}")))
    {
        let last = lines.last_mut().expect("there is always a line");
        match last.is_empty() || prose::width(last) + prose::width(&part) <= room {
            true => last.push_str(&part),
            false => lines.push(format!("{INDENT}{}", part.trim_start())),
        }
    }
    let lines = lines.join(&format!("{GOES_ON}\n{INDENT}"));
    format!("{INDENT}{lines}\n")
}

/// Whether a sentence names a subject.
fn names(sentence: &str, subject: &str) -> bool {
    let words = sentence.split([' ', ',', ';']);
    words
        .map(|word| word.trim_end_matches(['.', ':']))
        .any(|word| word == subject)
}

/// Whether a row is marked as the best.
fn has_best(row: &[String]) -> bool {
    row.iter().any(|cell| is_best(cell))
}

/// Whether a row is the library's.
fn is_library(row: &[String]) -> bool {
    let is = |word| SubjectId::of(word).is_of_library();
    row.first().is_some_and(|name| name.split(' ').any(is))
}

/// A text that is no markup in Markdown.
fn escaped(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    match text.contains(['<', '|', '`', '[', '*', '_', '\\', '&']) {
        false => text,
        true => {
            let mut plain = String::new();
            for c in text.chars() {
                match c {
                    '<' => plain += "&lt;",
                    '&' => plain += "&amp;",
                    '|' | '`' | '[' | '*' | '_' | '\\' => plain.extend(['\\', c]),
                    _ => plain.push(c),
                }
            }
            plain.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(rows: usize) -> Verdict {
        let row = |n| vec![format!("subject {n}"), format!("* {n}.00 [0.90..1.10]")];
        let sentence = "A sentence of some words that answers. ".repeat(4);
        Verdict {
            heading: "punctual bench: a computer".to_owned(),
            ..Verdict::new(vec![sentence; 3], "Next: punctual bench --full")
        }
        .table(["subject", "60 Hz"], (0..rows).map(row), "What it means.")
    }

    #[test]
    fn a_screen_is_never_overrun() {
        for rows in 0..40 {
            let text = many(rows).text(80);
            assert!(text.lines().count() <= LINES, "{rows}:\n{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            let shown = (0..rows)
                .filter(|n| text.contains(&format!("subject {n} ")))
                .count();
            let more = format!("and {} more: --full", rows - shown);
            assert_eq!(text.contains(&more), shown < rows, "{rows}:\n{text}");
            assert!(shown >= rows.min(5), "{rows}:\n{text}");
        }
    }

    #[test]
    fn narrow_terminals_get_all_rows_and_no_cut_words() {
        let text = many(3).text(30);
        assert!(
            text.lines().all(|line| line.chars().count() <= NARROWEST),
            "{text}"
        );
        for row in 0..3 {
            assert!(text.contains(&format!("subject {row}")), "{text}");
            assert!(text.contains(&format!("* {row}.00")), "{text}");
        }
    }

    /// As it was on a busy computer: with one long cell the table became prose, in which rows went.
    #[test]
    fn a_long_cell_hides_no_row() {
        let row = |name: &str, verdict: &str| {
            ["50.0 us", "3.02 ms", "8.20 ms"]
                .into_iter()
                .fold(vec![name.to_owned()], |mut row, cell| {
                    row.push(cell.to_owned());
                    row
                })
                .into_iter()
                .chain([verdict.to_owned()])
                .collect::<Vec<_>>()
        };
        let calls = [
            "1 ms clock_nanosleep",
            "1 ms clock_nanosleep+slack=1ns",
            "1 ms futex+slack=1ns",
        ];
        let rows = calls.map(|call| row(call, "too busy to tell"));
        let library = row("1 ms adaptive-balanced", "no verdict");
        let table = Verdict::new(vec!["A sentence.".to_owned()], "Next: nothing.").table(
            ["wait", "predicted", "late", "p90", "verdict"],
            rows.into_iter().chain([library]),
            "late: the median.",
        );
        let text = table.text(80);
        for call in calls.into_iter().chain(["1 ms adaptive-balanced"]) {
            assert!(text.lines().any(|line| line.starts_with(call)), "{text}");
        }
        assert!(text.lines().all(|line| prose::width(line) <= 80), "{text}");
        assert!(!text.contains("--full"), "{text}");
    }

    #[test]
    fn where_there_is_no_room_the_best_and_the_library_stay() {
        let name = |n: usize| match n {
            29 => "1 ms adaptive-balanced".to_owned(),
            n => format!("subject {n}"),
        };
        let value = |n: usize| if n == 25 { "least 1 ns" } else { "7 ns" }.to_owned();
        let verdict = many(0).table(
            ["subject", "late"],
            (0..30).map(|n| vec![name(n), value(n)]),
            "What it means.",
        );
        let text = verdict.text(80);
        for kept in [
            "adaptive-balanced",
            "subject 25",
            "subject 0",
            "more: --full",
        ] {
            assert!(text.contains(kept), "{kept}:\n{text}");
        }
        assert!(text.lines().count() <= LINES, "{text}");
    }

    #[test]
    fn a_line_to_copy_is_not_broken() {
        let line = "echo -1 | sudo tee ".to_owned() + &"/a-long-path".repeat(9);
        let verdict = Verdict {
            line: Some(line.clone()),
            ..many(3)
        };
        assert!(verdict.text(80).contains(&line));
        assert!(verdict.text(80).lines().count() < LINES);
        let options = "punctual simulate a-long-name-of-a-scenario --on a-model-with-parameters --explain a-thread:10";
        let verdict = Verdict {
            line: Some(options.to_owned()),
            ..Verdict::new(vec![], "Next: why it came when it did:")
        };
        let text = verdict.text(80);
        assert!(text.lines().all(|line| prose::width(line) <= 80), "{text}");
        // A shell takes it for one line.
        let whole = text.replace("\\\n    ", "");
        assert!(whole.contains(&format!("  {options}\n")), "{text}");
    }

    #[test]
    fn markdown_has_no_markup_of_others() {
        let bad = "</script><img onerror=x>|`a`[b](c)*_\x1b[31m";
        let verdict = Verdict {
            heading: bad.to_owned(),
            ..Verdict::new(vec![bad.to_owned()], "")
        }
        .table(["of"], [vec![bad.to_owned()]], "");
        let text = verdict.markdown();
        assert!(!text.contains('<') && !text.contains('\x1b'), "{text}");
        let row = text
            .lines()
            .find(|line| line.starts_with("| &lt;"))
            .unwrap();
        assert_eq!(
            row.matches('|').count() - row.matches("\\|").count(),
            2,
            "{row}"
        );
    }
}
