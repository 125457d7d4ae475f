//! Lines with cells.

/// The cells of a line, without the quotes around them. A quote within quotes is doubled.
pub(crate) fn cells(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.trim_end_matches('\r').chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut().expect("there is one from the beginning");
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            _ if letter == separator && !quoted => cells.push(String::new()),
            _ => cell.push(letter),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The cells of a row that has as many as there are columns, or fewer. Empty ones at the end do not count.
///
/// # Errors
/// It has more: its values are in other columns than they seem.
pub(crate) fn row(line: &str, separator: char, columns: usize) -> Result<Vec<String>, String> {
    let cells = cells(line, separator);
    match cells.iter().skip(columns).all(String::is_empty) {
        true => Ok(cells),
        false => Err(format!(
            "it has {} cells, and there are {columns} columns; decimals need a point, not a comma",
            cells.len()
        )),
    }
}

/// The place of the first of these columns that there is, in whatever case.
pub(crate) fn column(head: &[String], names: &[&str]) -> Option<usize> {
    let place = |name: &&str| head.iter().position(|cell| cell.eq_ignore_ascii_case(name));
    names.iter().find_map(place)
}

/// Whether a line is no row: CapFrameX begins its files with facts behind `//`.
pub(crate) fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("//") || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_separators() {
        assert_eq!(cells("a, \"b,c\",\"d\"\"e\"\r", ','), ["a", "b,c", "d\"e"]);
        assert_eq!(cells("", ','), [""]);
        assert_eq!(row("a,b,,", ',', 2).map(|cells| cells.len()), Ok(4));
        assert!(row("1,5", ',', 1).unwrap_err().contains("2 cells"));
        assert_eq!(
            column(&cells("Fps;FrameTime", ';'), &["x", "frametime"]),
            Some(1)
        );
    }
}
