//! Lays cells out as text: the one layout of all tables.
//!
//! A table is as wide as its cells where there is room for that. Elsewhere cells are broken between
//! words; where that is not enough, later columns come in a table of their own below, with the
//! names of the rows again. No row is lost, and no number or word is broken, except a single word
//! that no line has room for.

use super::cells::Cells;
use crate::prose;

/// The space between two columns, and more between two groups and before words.
const BETWEEN: usize = 2;
const BETWEEN_GROUPS: usize = 4;
const BEFORE_WORDS: usize = 3;

/// Numbers of so many characters, and words of so many, are not broken for more room elsewhere.
const NUMBERS: usize = 24;
const WORDS: usize = 14;

/// How cells are laid out.
#[derive(Clone, Copy, Default)]
pub(super) struct Layout {
    /// The number of columns at the left that hold names, at least one; the others hold numbers,
    /// and are right-aligned.
    pub(super) names: usize,
    pub(super) words_last: bool,
    /// Lines are no longer, for which cells are broken.
    pub(super) within: Option<usize>,
}

/// A column, and how wide it can be.
#[derive(Clone)]
struct Column {
    /// Where it is among the cells of a row.
    at: usize,
    /// The space before it.
    gap: usize,
    is_left: bool,
    /// Whether a group begins with it.
    begins: bool,
    /// As wide as its widest line.
    natural: usize,
    /// As wide as reads well.
    soft: usize,
    /// As wide as its longest word.
    least: usize,
    width: usize,
}

/// The lines of a table, each with its end and none wider than `layout.within`.
pub(super) fn lines(cells: &Cells, layout: Layout) -> String {
    let tables = tables(cells, layout);
    let tables = tables.iter().map(|columns| table(cells, columns));
    tables.collect::<Vec<_>>().join("\n")
}

/// The columns of the tables that it takes.
fn tables(cells: &Cells, layout: Layout) -> Vec<Vec<Column>> {
    let columns = columns(cells, layout);
    let Some(within) = layout.within.filter(|within| natural(&columns) > *within) else {
        return vec![columns];
    };
    let several = below_each_other(&columns, layout, within);
    // One table with numbers broken too is easier to read, if it is no longer.
    let mut one = columns;
    narrow(&mut one, within);
    let is_broken = one.iter().any(|column| column.width < column.least);
    let high = |columns: &[Column]| table(cells, columns).lines().count();
    let most: usize = several.iter().map(|columns| high(columns) + 1).sum();
    match is_broken || high(&one) >= most {
        true => several,
        false => vec![one],
    }
}

/// The cells with words cut as far as it takes for each row to have one line; numbers are not cut,
/// and neither are short words.
pub(super) fn shortened(cells: &Cells, within: usize) -> Cells {
    let mut columns = columns(cells, Layout::default());
    for column in &mut columns {
        let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(prose::width).max();
        let of_rows = cells.rows.iter().filter_map(|row| row.get(column.at));
        let in_cells = widest(&mut of_rows.map(String::as_str)).unwrap_or(0);
        let in_head = widest(&mut cells.head[column.at].lines()).unwrap_or(0);
        let is_words = column.is_left || in_cells > NUMBERS;
        let least = if is_words {
            in_cells.min(WORDS)
        } else {
            in_cells
        };
        column.least = least.max(in_head);
        column.width = in_cells.max(in_head);
    }
    narrow_to(&mut columns, within, |column| column.least);
    let mut cells = cells.clone();
    for row in &mut cells.rows {
        for (cell, column) in row.iter_mut().zip(&columns) {
            if prose::width(cell) > column.width {
                *cell = cut(cell, column.width);
            }
        }
    }
    cells
}

/// The begin and the end of a text, which often tell names apart.
fn cut(text: &str, width: usize) -> String {
    const DOTS: &str = "...";
    let kept = width.saturating_sub(DOTS.len());
    let begin = prose::pieces(text, kept.div_ceil(2))[0];
    let ends = text.char_indices().map(|(at, _)| &text[at..]);
    let end = ends.skip(1).find(|end| prose::width(end) <= kept / 2);
    format!("{begin}{DOTS}{}", end.unwrap_or_default())
}

/// How wide a table is that is not broken.
pub(super) fn width(cells: &Cells, layout: Layout) -> usize {
    natural(&columns(cells, layout))
}

fn natural(columns: &[Column]) -> usize {
    sum(columns, |column| column.natural)
}

/// The sum of some widths, and of the space between.
fn sum(columns: &[Column], width: impl Fn(&Column) -> usize) -> usize {
    let gaps = columns.iter().skip(1).map(|column| column.gap);
    columns.iter().map(width).sum::<usize>() + gaps.sum::<usize>()
}

fn columns(cells: &Cells, layout: Layout) -> Vec<Column> {
    let last = cells.head.len().saturating_sub(1);
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(prose::width).max().unwrap_or(0);
    let mut columns: Vec<Column> = Vec::new();
    for (at, head) in cells.head.iter().enumerate() {
        let is_words = layout.words_last && at == last;
        let begins = cells.begins().any(|(_, first, _)| first == at);
        let is_left = at < layout.names.max(1) || is_words;
        let of_rows = || cells.rows.iter().filter_map(|row| row.get(at));
        let in_cells = widest(&mut of_rows().flat_map(|cell| cell.lines()));
        let texts = of_rows().chain([head]).flat_map(|cell| cell.lines());
        let longest = texts.flat_map(tokens).map(prose::width).max();
        let natural = in_cells.max(widest(&mut head.lines()));
        let least = longest.unwrap_or(0);
        let kept = match is_left {
            true => natural.min(WORDS),
            false => in_cells.min(NUMBERS),
        };
        columns.push(Column {
            at,
            gap: match (is_words, begins) {
                (true, _) => BEFORE_WORDS,
                (_, true) => BETWEEN_GROUPS,
                _ => BETWEEN,
            },
            is_left,
            begins,
            natural,
            soft: kept.max(least),
            least,
            width: natural,
        });
    }
    // A group is as wide as its name.
    for (name, first, n) in cells.begins() {
        let own = sum(&columns[first..first + n], |column| column.natural);
        let lacking = prose::width(name).saturating_sub(own);
        let last = &mut columns[first + n - 1];
        last.natural += lacking;
        last.width = last.natural;
    }
    columns
}

/// The columns in as many tables as it takes, each with the names of the rows.
fn below_each_other(columns: &[Column], layout: Layout, within: usize) -> Vec<Vec<Column>> {
    // Several names that leave no room are columns like others.
    let has_room = |names: usize| {
        names < columns.len() && {
            let (names, others) = columns.split_at(names);
            let least = others.iter().map(|column| column.gap + column.least).max();
            sum(names, |column| column.least) + least.unwrap_or(0) <= within
        }
    };
    let names = match layout.names.max(1) {
        names if has_room(names) => names,
        _ => 1.min(columns.len()),
    };
    let (names, others) = columns.split_at(names);
    let soft = |columns: &[Column]| sum(columns, |column| column.soft);
    let mut tables: Vec<Vec<Column>> = Vec::new();
    let mut table = names.to_vec();
    let mut rest = others;
    while let Some((first, after)) = rest.split_first() {
        // A group that has room in a table of its own is not broken.
        let group = after.iter().take_while(|column| !column.begins).count();
        let group = if first.begins {
            &rest[..=group]
        } else {
            &rest[..1]
        };
        let whole = [&table[..], group].concat();
        let alone = [names, group].concat();
        let is_full = table.len() > names.len();
        let take = match soft(&whole) <= within {
            true => group.len(),
            false if is_full && (group.len() == 1 || soft(&alone) <= within) => 0,
            false => 1,
        };
        if take == 0 || is_full && soft(&[&table[..], &rest[..take]].concat()) > within {
            tables.push(std::mem::replace(&mut table, names.to_vec()));
            continue;
        }
        table.extend_from_slice(&rest[..take]);
        rest = &rest[take..];
    }
    if table.len() > names.len() || tables.is_empty() {
        tables.push(table);
    }
    for table in &mut tables {
        narrow(table, within);
    }
    tables
}

/// Narrows the widest columns until all of them have room: first as far as reads well, then to
/// their longest words, and last to less.
fn narrow(columns: &mut [Column], within: usize) {
    let least: [fn(&Column) -> usize; 3] = [|column| column.soft, |column| column.least, |_| 1];
    for least in least {
        narrow_to(columns, within, least);
    }
}

/// The same as far as `least` allows.
fn narrow_to(columns: &mut [Column], within: usize, least: fn(&Column) -> usize) {
    while sum(columns, |column| column.width) > within {
        let wide = columns.iter_mut().filter(|it| it.width > least(it).max(1));
        let Some(widest) = wide.max_by_key(|column| column.width) else {
            return;
        };
        widest.width -= 1;
    }
}

/// A table of these columns.
fn table(cells: &Cells, columns: &[Column]) -> String {
    let mut text = names_of_groups(cells, columns);
    let head: Vec<&str> = columns
        .iter()
        .map(|column| cells.head[column.at].as_str())
        .collect();
    text += &row(&head, columns);
    text += &"-".repeat(sum(columns, |column| column.width));
    text.push('\n');
    for cells in &cells.rows {
        let cell = |column: &Column| cells.get(column.at).map_or("", String::as_str);
        text += &row(&columns.iter().map(cell).collect::<Vec<_>>(), columns);
    }
    text
}

/// The names above the groups that these columns are of.
fn names_of_groups(cells: &Cells, columns: &[Column]) -> String {
    let mut names = Vec::new();
    let mut spans: Vec<Column> = Vec::new();
    let of = |column: &Column| {
        let mut groups = cells.begins();
        groups.find(|(_, first, n)| (*first..first + n).contains(&column.at))
    };
    for column in columns {
        let group = of(column);
        let is_new = group.is_none_or(|(name, ..)| names.last() != Some(&name));
        match spans.last_mut() {
            Some(span) if !is_new => span.width += column.gap + column.width,
            _ => {
                names.push(group.map_or("", |(name, ..)| name));
                spans.push(Column {
                    is_left: true,
                    ..column.clone()
                });
            }
        }
    }
    match cells.groups.is_empty() {
        true => String::new(),
        false => row(&names, &spans),
    }
}

/// The lines of a row: those of its cells beside each other.
fn row(cells: &[&str], columns: &[Column]) -> String {
    let broken = cells.iter().zip(columns);
    let broken: Vec<Vec<String>> = broken.map(|(cell, of)| broken_at(cell, of.width)).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut text = String::new();
    for i in 0..height {
        let mut line = String::new();
        for (j, (lines, column)) in broken.iter().zip(columns).enumerate() {
            let cell = lines.get(i).map_or("", String::as_str);
            let space = " ".repeat(column.width.saturating_sub(prose::width(cell)));
            let gap = " ".repeat(if j == 0 { 0 } else { column.gap });
            line += &match column.is_left {
                true => gap + cell + &space,
                false => gap + &space + cell,
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A cell in lines of at most `width`.
fn broken_at(cell: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in cell.lines() {
        if prose::width(line) <= width {
            lines.push(line.to_owned());
            continue;
        }
        let pieces = tokens(line).flat_map(|token| prose::pieces(token, width));
        lines.extend(prose::fill(pieces, width));
    }
    lines
}

/// The unbreakable parts: a word, a number with its unit, a mark with its value.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        let mut end = 0;
        loop {
            let from = rest.get(end..)?;
            let word = from.find(' ').map_or(rest.len(), |at| end + at);
            let next = rest[word..].trim_start();
            let unit = next.split(' ').next().unwrap_or_default();
            if next.is_empty() || !is_one(&rest[end..word], unit) {
                let (token, after) = rest.split_at(word);
                rest = after.trim_start();
                return (!token.is_empty()).then_some(token);
            }
            end = rest.len() - next.len();
        }
    })
}

/// Whether these two words are one: a number and its unit, or a mark and a value.
fn is_one(word: &str, next: &str) -> bool {
    const UNITS: [&str; 18] = [
        "ns", "us", "ms", "s", "min", "h", "%", "Hz", "kHz", "MHz", "B", "KiB", "MiB", "GiB", "GB",
        "GB/s", "x", "e",
    ];
    const MARKS: [&str; 9] = [
        "least", "lowest", "most", "alike", "tied", "~", "+", "<", ">",
    ];
    let is_mark = MARKS.contains(&word);
    let next = next.trim_end_matches([',', ';', ')', '.', ':']);
    is_mark && next.starts_with(|c: char| c == '~' || c.is_ascii_digit())
        || word.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&next)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn laid_out(cells: &Cells, layout: Layout) -> Vec<String> {
        lines(cells, layout).lines().map(str::to_owned).collect()
    }

    fn cells(head: &[&str], rows: &[&[&str]]) -> Cells {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Cells {
            head: owned(head),
            rows: rows.iter().map(|row| owned(row)).collect(),
            ..Cells::default()
        }
    }

    const fn within(width: usize) -> Layout {
        Layout {
            names: 1,
            words_last: false,
            within: Some(width),
        }
    }

    #[test]
    fn cells_are_broken_between_words_before_columns_go_below() {
        let table = cells(
            &["what happened to it", "late", "p90"],
            &[
                &[
                    "waited for a CPU that another process had",
                    "58.0 us",
                    "1.20 ms",
                ],
                &["nothing", "least 8.00 us", "9 us"],
            ],
        );
        assert_eq!(
            laid_out(&table, within(44)),
            [
                "what happened to it            late      p90",
                "--------------------------------------------",
                "waited for a CPU            58.0 us  1.20 ms",
                "that another process",
                "had",
                "nothing               least 8.00 us     9 us",
            ]
        );
        let numbers: Vec<String> = (0..6).map(|n| format!("{n}.00 [0.90..1.10]")).collect();
        let row: Vec<&str> = std::iter::once("a way to wait")
            .chain(numbers.iter().map(String::as_str))
            .collect();
        let table = cells(&["way", "1", "2", "3", "4", "5", "6"], &[&row]);
        let text = laid_out(&table, within(60));
        assert_eq!(
            text.iter().filter(|line| line.starts_with("a way")).count(),
            3
        );
        assert!(text.iter().any(|line| line.contains("2.00 [0.90..1.10]")));
    }

    #[test]
    fn a_group_that_has_room_in_a_line_of_its_own_is_not_broken() {
        let mut table = cells(
            &["phase", "n", "late", "n", "late"],
            &[&["one", "100", "58.0 us", "100", "14.6 ms"]],
        );
        table.groups = vec![("linux".to_owned(), 2), ("windows-10-2004".to_owned(), 2)];
        assert_eq!(
            laid_out(&table, within(30)),
            [
                "         linux",
                "phase      n     late",
                "---------------------",
                "one      100  58.0 us",
                "",
                "         windows-10-2004",
                "phase      n        late",
                "------------------------",
                "one      100     14.6 ms",
            ]
        );
        assert_eq!(laid_out(&table, within(80)).len(), 4);
    }

    #[test]
    fn numbers_and_their_units_are_one_word() {
        let of = |line| tokens(line).collect::<Vec<_>>();
        assert_eq!(
            of("least 1.00 us at 4 % of it"),
            ["least 1.00 us", "at", "4 %", "of", "it"]
        );
        assert_eq!(of("1 ms clock_nanosleep"), ["1 ms", "clock_nanosleep"]);
        assert_eq!(of("alike ~5 ms; 3 times"), ["alike ~5 ms;", "3", "times"]);
        assert_eq!(of("  "), [""; 0]);
    }

    fn cell() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            4 => "[a-z]{1,9}",
            2 => "[0-9]{1,3}\\.[0-9]{2}",
            1 => "[0-9]{1,3} (us|ms|%)",
            1 => "\\* [0-9]{1,3}",
            1 => "[a-z_=,]{10,60}",
        ];
        proptest::collection::vec(word, 1..9).prop_map(|words| words.join(" "))
    }

    fn any_table() -> impl Strategy<Value = Cells> {
        (1_usize..9, 0_usize..7, 0_usize..3).prop_flat_map(|(columns, rows, groups)| {
            let row = || proptest::collection::vec(cell(), columns);
            let names = proptest::collection::vec("[a-z-]{1,30}", groups);
            (row(), proptest::collection::vec(row(), rows), names).prop_map(
                move |(head, rows, names)| {
                    let each = (columns - 1).checked_div(names.len()).unwrap_or(0);
                    let names = names.into_iter().filter(|_| each > 0);
                    Cells {
                        groups: names.map(|name| (name, each)).collect(),
                        head,
                        rows,
                        ..Cells::default()
                    }
                },
            )
        })
    }

    proptest! {
        #[test]
        fn no_row_vanishes_no_line_is_too_wide_and_no_word_is_broken(
            cells in any_table(),
            width in 40_usize..=200,
            names in 0_usize..4,
            words_last: bool,
        ) {
            let layout = Layout { names, words_last, within: Some(width) };
            let text = lines(&cells, layout);
            for line in text.lines() {
                prop_assert!(prose::width(line) <= width, "{width}: {line}\n{text}");
            }
            let tables = tables(&cells, layout);
            // Each column is in one of them, the names in all.
            for at in 0..cells.head.len() {
                let times = tables.iter().filter(|columns| columns.iter().any(|it| it.at == at));
                prop_assert!(times.count() >= 1, "{at}");
            }
            for columns in &tables {
                for column in columns {
                    let texts = cells.rows.iter().map(|row| &row[column.at]).chain([&cells.head[column.at]]);
                    for cell in texts {
                        let lines = broken_at(cell, column.width);
                        // All of it is there, and a word is broken only if no line has room for it.
                        let all = |text: &str| text.replace(' ', "");
                        prop_assert_eq!(all(&lines.concat()), all(cell));
                        for token in tokens(cell) {
                            let is_whole = lines.iter().any(|line| line.contains(token));
                            prop_assert!(is_whole || prose::width(token) > column.width, "{token}: {lines:?}");
                        }
                        // It is narrower than its longest word only where that and the first name
                        // have no room beside each other.
                        let has_room = sum(columns, |it| it.least) <= width;
                        prop_assert!(column.width >= column.least || columns.len() <= 2 && !has_room, "{text}");
                        for line in &lines {
                            prop_assert!(text.contains(line.as_str()), "{line}\n{text}");
                        }
                    }
                }
            }
        }
    }
}
