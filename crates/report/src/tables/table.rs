//! A table by declaration: columns over typed rows, and what they mean.
//!
//! ```
//! use punctual_report::{tables::table::{Table, Why}, units};
//!
//! struct Call {
//!     name: &'static str,
//!     took_ns: Option<f64>,
//! }
//!
//! let calls = [
//!     Call { name: "sleep", took_ns: Some(1.08e6) },
//!     Call { name: "yield", took_ns: None },
//! ];
//! let text = Table::new("What calls take", &calls)
//!     .column("call", |call| call.name)
//!     .column("took", |call| call.took_ns.map(units::duration))
//!     .blank(Why::NOT_COUNTED)
//!     .in_words("took: with two readings of the clock.")
//!     .section();
//! assert_eq!(
//!     text.text,
//!     "\
//! What calls take
//! call      took
//! --------------
//! sleep  1.08 ms
//! yield        -
//! took: with two readings of the clock.
//! `-`: the OS does not count it.
//! "
//! );
//! ```

use std::borrow::Cow;
use std::ops::Deref;
use std::rc::Rc;

use punctual_record::Measurement;

use super::cells::{Cells, Section};
use super::layout::{self, Layout};

/// Why a value is missing: where that stands among the reasons below a table, and what it is.
/// The reasons of other products come after these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Why(pub u8, pub &'static str);

impl Why {
    /// A percentile that fewer than ten samples lie above.
    pub const FEW_SAMPLES: Self = Self(0, "too few samples for this percentile");
    /// CPU time, or what is computed from it, where the OS gives none.
    pub const NO_CPU_TIME: Self = Self(1, "no CPU time is known");
    /// How busy the CPU was, where the OS does not tell or the thread was not
    /// pinned to one.
    pub const NOT_PINNED: Self = Self(
        2,
        "the OS does not tell how busy a CPU is, or the thread was not pinned to one",
    );
    /// Naps that were not counted, or a cost that includes them.
    pub const NAPS_NOT_COUNTED: Self = Self(3, "the naps are not counted");
    /// A lateness that no known rule predicts.
    pub const NOT_PREDICTED: Self = Self(4, "there is no prediction");
    /// A time that the OS does not count.
    pub const NOT_COUNTED: Self = Self(5, "the OS does not count it");
    /// The OS could state it and does not.
    pub const NOT_STATED: Self = Self(6, "the OS does not state it");
    /// Sleeps that are no whole number of ticks long.
    pub const NO_TICKS: Self = Self(7, "no whole number of ticks");
    /// An OS without a timer interval.
    pub const NO_INTERVAL: Self = Self(8, "this OS has no timer interval");
    /// Naps are planned by ticks, not by length.
    pub const BY_TICKS: Self = Self(9, "naps with this call are aimed at ticks");
    /// A share of the idle time of CPUs that had none.
    pub const NEVER_IDLE: Self = Self(10, "no CPU was idle");
    /// The frequent lengths of sleeps that have none.
    pub const NO_MODE: Self = Self(11, "no length is frequent");
    /// Nothing was measured there.
    pub const NOT_MEASURED: Self = Self(12, "not measured");
    /// There is no second CPU.
    pub const ONE_CPU: Self = Self(13, "there is only one CPU");
    /// A run that has no measurement of what another run has.
    pub const NOT_IN_RUN: Self = Self(14, "the run has no such measurement");
    /// A ratio to a number that the first run does not have.
    pub const NOT_IN_FIRST: Self = Self(15, "the first run has no such number");
    /// A ratio of what is early or takes no time.
    pub const NO_MULTIPLE: Self = Self(16, "no ratio, as a wait was early or took no time");
    /// A cost that follows from rounds, of which there are none.
    pub const NO_ROUNDS: Self = Self(17, "the run has no rounds that a cost could follow from");
    /// A published figure does not tell it.
    pub const NOT_PUBLISHED: Self = Self(18, "not published");
    /// Lateness from which missed deadlines were left out.
    pub const WITHOUT_MISSED: Self = Self(
        19,
        "the file is of an older version, whose lateness leaves out missed deadlines",
    );
    /// A percentile among values that a log did not tell apart.
    pub const BEYOND: Self = Self(20, "it lies beyond the histogram of the log");
    /// A way of waiting that was left out at one of the rates, as slow loops take long.
    pub const NOT_AT_RATE: Self = Self(21, "left out to save time");
    /// The last one; the reasons of other products come after it.
    pub const LAST: u8 = 21;
}

/// The head of a column that any measurement can have, and what is below it.
pub(crate) type Told = (&'static str, fn(&Measurement) -> Cell);

/// The marks of the best value of a column.
const BEST: [&str; 4] = ["least", "most", "lowest", "cheapest"];

/// Whether a written cell has the mark of the best value of its column.
pub fn is_best(cell: &str) -> bool {
    let mark = cell.split(' ').next();
    mark.is_some_and(|mark| BEST.contains(&mark))
}

/// Whether a text has this word, or words, between blanks or punctuation.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_within = |c: char| c.is_alphanumeric() || c == '-';
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + found.len()..].chars().next();
        !before.is_some_and(is_within) && !behind.is_some_and(is_within)
    })
}

/// The content of a column in one row.
#[derive(Clone)]
pub struct Cell {
    /// The words; without any the reason, if it is not that of the whole column.
    text: Result<String, Option<Why>>,
    approximate: bool,
    /// How the value compares with the best of its column, in a word.
    mark: Option<&'static str>,
}

impl Cell {
    fn new(text: Result<String, Option<Why>>) -> Self {
        Self {
            text,
            approximate: false,
            mark: None,
        }
    }

    /// The value, or why it is missing.
    pub fn or(value: Option<String>, why: Why) -> Self {
        Self::new(value.ok_or(Some(why)))
    }

    /// A value that was computed from CPU time, which is approximate or not.
    pub fn of_cpu(approximate: bool, value: Option<String>) -> Self {
        Self {
            approximate: approximate && value.is_some(),
            ..Self::or(value, Why::NO_CPU_TIME)
        }
    }

    /// The value with a word before it.
    pub fn marked(self, mark: Option<&'static str>) -> Self {
        Self { mark, ..self }
    }

    /// As it stands in its table, whose `marks` need a word below it.
    fn written(self, blank: Why, marks: &mut Marks) -> String {
        let mark = self.mark.map(|mark| format!("{mark} ")).unwrap_or_default();
        marks.approximate |= self.approximate;
        match self.text {
            Ok(text) if self.approximate => format!("{mark}~{text}"),
            Ok(text) => mark + &text,
            Err(why) => {
                marks.blanks.push(why.unwrap_or(blank));
                mark + "-"
            }
        }
    }
}

macro_rules! written {
    ($($type:ty),*) => {$(
        impl From<$type> for Cell {
            fn from(value: $type) -> Self {
                Self::new(Ok(value.to_string()))
            }
        }
    )*};
}

written!(String, &str, char, u8, u32, u64, usize);

/// Nothing is blank for the reason of the whole column.
impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self::new(Err(None)), Into::into)
    }
}

/// A column over rows of one type.
pub struct Column<'a, R> {
    head: String,
    cell: Rc<dyn Fn(&R) -> Cell + 'a>,
    blank: Why,
    in_words: Cow<'static, str>,
    note: &'static str,
    spare: u8,
}

impl<R> Clone for Column<'_, R> {
    fn clone(&self) -> Self {
        Self {
            head: self.head.clone(),
            cell: Rc::clone(&self.cell),
            in_words: self.in_words.clone(),
            ..*self
        }
    }
}

impl<'a, R> Column<'a, R> {
    /// The same column of rows that have such a row, or do not.
    pub fn over<Q>(&self, row: impl Fn(&Q) -> Option<R> + 'a) -> Column<'a, Q>
    where
        R: 'a,
    {
        let (cell, blank) = (Rc::clone(&self.cell), self.blank);
        let cell = move |outer: &Q| match row(outer) {
            Some(row) => {
                let told = cell(&row);
                let text = told.text.map_err(|why| why.or(Some(blank)));
                Cell { text, ..told }
            }
            None => Cell::or(None, Why::NOT_MEASURED),
        };
        Column {
            head: self.head.clone(),
            cell: Rc::new(cell),
            blank,
            in_words: self.in_words.clone(),
            note: self.note,
            spare: self.spare,
        }
    }
}

/// A table: its rows, its columns, and what they mean.
///
/// The calls that follow a column add to that column.
pub struct Table<'a, R> {
    title: String,
    rows: &'a [R],
    columns: Vec<Column<'a, R>>,
    groups: Vec<String>,
    layout: Layout,
    captions: Vec<String>,
    marks: Vec<(&'static str, &'static str)>,
    ending: String,
}

impl<'a, R> Table<'a, R> {
    /// A table without columns.
    pub fn new(title: impl Into<String>, rows: &'a [R]) -> Self {
        Self {
            title: title.into(),
            rows,
            columns: vec![],
            groups: vec![],
            layout: Layout::default(),
            captions: vec![],
            marks: vec![],
            ending: String::new(),
        }
    }

    /// Adds a column; a line feed in its head breaks it.
    pub fn column<C: Into<Cell>>(
        mut self,
        head: impl Into<String>,
        cell: impl Fn(&R) -> C + 'a,
    ) -> Self {
        self.columns.push(Column {
            head: head.into(),
            cell: Rc::new(move |row| cell(row).into()),
            blank: Why::NOT_MEASURED,
            in_words: "".into(),
            note: "",
            spare: 0,
        });
        self
    }

    /// Adds a column for each thing that has a head.
    pub fn each<H: Into<String>, T: 'a, C: Into<Cell>>(
        self,
        things: impl IntoIterator<Item = (H, T)>,
        cell: impl Fn(&R, &T) -> C + Copy + 'a,
    ) -> Self {
        let mut table = self;
        for (head, thing) in things {
            table = table.column(head, move |row| cell(row, &thing));
        }
        table
    }

    /// Adds columns that are made already.
    pub fn with(mut self, columns: impl IntoIterator<Item = Column<'a, R>>) -> Self {
        self.columns.extend(columns);
        self
    }

    /// Takes the columns out.
    pub fn into_columns(self) -> Vec<Column<'a, R>> {
        self.columns
    }

    /// Why cells of the last column are blank that do not say so themselves.
    pub fn blank(self, blank: Why) -> Self {
        self.last(|column| column.blank = blank)
    }

    /// Explains the head of the last column, in the first paragraph below the table.
    pub fn in_words(self, words: impl Into<Cow<'static, str>>) -> Self {
        self.last(|column| column.in_words = words.into())
    }

    /// The same of all columns whose heads begin so.
    pub fn in_words_of(mut self, head: &str, words: &'static str) -> Self {
        let columns = self.columns.iter_mut();
        for column in columns.filter(|column| column.head.starts_with(head)) {
            column.in_words = words.into();
        }
        self
    }

    /// The same, for a paragraph of its own below all others.
    pub fn note(self, words: &'static str) -> Self {
        self.last(|column| column.note = words)
    }

    /// Where there is no room for all columns, those with the highest number go
    /// first, and those with 0 never do.
    pub fn spare(self, order: u8) -> Self {
        self.last(|column| column.spare = order)
    }

    /// Leaves out the last column unless that `is` so.
    pub fn only_if(mut self, is: bool) -> Self {
        if !is {
            self.columns.pop();
        }
        self
    }

    /// Leaves out the last column where it is blank in all rows.
    pub fn if_known(self) -> Self {
        let is_known = |column: &Column<'a, R>| {
            let mut rows = self.rows.iter();
            rows.any(|row| (column.cell)(row).text.is_ok())
        };
        let any = self.columns.last().is_some_and(is_known);
        self.only_if(any)
    }

    fn last(mut self, change: impl FnOnce(&mut Column<'a, R>)) -> Self {
        if let Some(column) = self.columns.last_mut() {
            change(column);
        }
        self
    }

    /// Leaves out columns that there is less need of than that.
    pub fn without_spare(mut self, most: u8) -> Self {
        self.columns.retain(|column| column.spare <= most);
        self
    }

    /// Names above the columns after the first, as many columns for each.
    pub fn groups(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the number of columns with names, which are left-aligned; the default is one.
    pub fn names(mut self, columns: usize) -> Self {
        self.layout.names = columns;
        self
    }

    /// The last column holds words.
    pub fn words_last(mut self) -> Self {
        self.layout.words_last = true;
        self
    }

    /// In lines of at most so many characters, for which cells are broken.
    pub fn within(mut self, width: usize) -> Self {
        self.layout.within = Some(width);
        self
    }

    /// Adds a paragraph below the table.
    pub fn caption(self, words: impl Into<String>) -> Self {
        self.captions([words])
    }

    /// Adds as many as there are.
    pub fn captions(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.captions.extend(words.into_iter().map(Into::into));
        self
    }

    /// Explains a mark or a name below the table, if a cell has it.
    pub fn mark_in_words(mut self, mark: &'static str, words: &'static str) -> Self {
        self.marks.push((mark, words));
        self
    }

    /// Leaves out each column, except the first, that is blank in all rows.
    pub fn known(mut self) -> Self {
        let is_known = |column: &Column<'a, R>| {
            let mut rows = self.rows.iter();
            rows.any(|row| (column.cell)(row).text.is_ok())
        };
        let first = self.columns.first().map(|column| column.head.clone());
        let is_first = |column: &Column<'a, R>| Some(&column.head) == first.as_ref();
        self.columns
            .retain(|column| is_first(column) || is_known(column));
        self
    }

    /// Words to end the first paragraph with, behind those of the columns.
    pub fn ending(mut self, words: impl Into<String>) -> Self {
        self.ending = words.into();
        self
    }

    /// The first paragraph and the others: what the columns mean that do not say
    /// so by themselves, each once, and their notes.
    fn words(&self) -> Vec<String> {
        let (first, others) = match self.captions.split_first() {
            Some((first, others)) => (first.as_str(), others),
            None => ("", &[][..]),
        };
        let mut sentences = vec![first];
        for column in &self.columns {
            if !sentences.contains(&&*column.in_words) {
                sentences.push(&column.in_words);
            }
        }
        sentences.push(&self.ending);
        sentences.retain(|words| !words.is_empty());
        let first = Some(sentences.join(" ")).filter(|first| !first.is_empty());
        let notes = self.columns.iter().map(|column| column.note.to_owned());
        let notes = notes.filter(|note| !note.is_empty());
        let others = others.iter().cloned().chain(notes);
        first.into_iter().chain(others).collect()
    }

    /// Whether there is a column of that name.
    pub fn has(&self, head: &str) -> bool {
        self.columns.iter().any(|column| column.head == head)
    }

    /// How wide it is with no cell broken.
    pub fn width(&self) -> usize {
        layout::width(&self.cells(), self.layout)
    }

    pub(crate) fn cells(&self) -> Cells {
        let (mut cells, marks) = self.cells_and_marks();
        cells
            .words
            .extend(marks.iter().map(|(_, words)| (*words).to_owned()));
        cells
    }

    /// The cells, and apart from their words the marks in them with their explanations.
    pub(crate) fn cells_and_marks(&self) -> (Cells, Vec<(&'static str, &'static str)>) {
        let mut marks = Marks::default();
        let mut row = |row: &R| {
            let columns = self.columns.iter();
            let cells = columns.map(|c| (c.cell)(row).written(c.blank, &mut marks));
            cells.collect()
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(&mut row).collect();
        let has = |mark| rows.iter().flatten().any(|cell| has_word(cell, mark));
        let explained = self.marks.iter().filter(|(mark, _)| has(*mark));
        let explained = explained.copied().collect();
        let groups = self.groups.iter().cloned();
        let each = self.columns.len().saturating_sub(1) / self.groups.len().max(1);
        let cells = Cells {
            title: self.title.clone(),
            groups: groups.map(|name| (name, each)).collect(),
            head: self.columns.iter().map(|c| c.head.clone()).collect(),
            rows,
            words: [self.words(), marks.in_words()].concat(),
        };
        (cells, explained)
    }

    /// The section: the title, the table, and the words below it.
    pub fn section(self) -> Section {
        Section::of(self.cells(), self.layout)
    }
}

impl<'a, R: Deref<Target = Measurement>> Table<'a, R> {
    /// Adds columns that any measurement has.
    pub(crate) fn told(self, columns: impl IntoIterator<Item = Told>) -> Self {
        let add = |table: Self, (head, cell): Told| table.column(head, move |m| cell(m));
        columns.into_iter().fold(self, add)
    }
}

/// Which marks in the cells of a table need a word below it.
#[derive(Default)]
struct Marks {
    blanks: Vec<Why>,
    approximate: bool,
}

impl Marks {
    /// The meaning of the marks in the table.
    fn in_words(mut self) -> Vec<String> {
        self.blanks.sort_unstable();
        self.blanks.dedup();
        let mut words = Vec::new();
        if !self.blanks.is_empty() {
            let whys: Vec<&str> = self.blanks.iter().map(|Why(_, words)| *words).collect();
            words.push(format!("`-`: {}.", whys.join("; ")));
        }
        if self.approximate {
            words.push("`~`: approximate, as the CPU time is.".to_owned());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_no_row_knows_are_left_out_with_what_they_mean() {
        let table = |rows: &[Option<u64>]| {
            Table::new("Rows", rows)
                .column("row", |_| "a row")
                .column("known", |row| *row)
                .in_words("known: told.")
                .note("A note.")
                .if_known()
                .column("never", |_| None::<u64>)
                .blank(Why::NOT_STATED)
                .caption("Words.")
                .section()
                .text
        };
        let known = table(&[Some(1), None]);
        let below = "Words. known: told.\nA note.\n";
        let blanks = "`-`: the OS does not state it; not measured.\n";
        assert!(known.ends_with(&format!("{below}{blanks}")), "{known}");
        let unknown = table(&[None]);
        assert!(
            !unknown.contains("known") && !unknown.contains("A note"),
            "{unknown}"
        );
    }

    #[test]
    fn a_mark_is_explained_only_where_a_cell_has_it() {
        let words = |rows: &[&'static str]| {
            Table::new("Rows", rows)
                .column("row", |row| *row)
                .mark_in_words("alike", "alike: the same.")
                .cells()
                .words
        };
        assert_eq!(words(&["alike 5 us"]), ["alike: the same."]);
        assert!(words(&["5 us", "alike-ish", "unalike"]).is_empty());
    }

    #[test]
    fn a_column_that_is_blank_everywhere_is_left_out_except_the_first() {
        let table = Table::new("Rows", &[1_u64, 2])
            .column("first", |_| None::<u64>)
            .column("blank", |_| None::<u64>)
            .column("half", |row| (*row > 1).then_some(*row))
            .known();
        assert_eq!(table.cells().head, ["first", "half"]);
    }

    #[test]
    fn words_and_tildes_stand_before_a_value() {
        let cell = |value: Option<String>| Cell::of_cpu(true, value).marked(Some("least"));
        let mut marks = Marks::default();
        let value = cell(Some("5 us".to_owned())).written(Why::NOT_MEASURED, &mut marks);
        assert_eq!(value, "least ~5 us");
        assert_eq!(cell(None).written(Why::NOT_MEASURED, &mut marks), "least -");
        assert_eq!(marks.in_words().len(), 2);
    }
}
