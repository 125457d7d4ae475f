//! Text from elsewhere, made harmless.

use std::borrow::Cow;

/// One line of text in which every character can be seen. Control characters, characters that
/// change the direction of writing, invisible ones and line ends are written as `\u{1b}`. XML
/// takes every character that is left.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        return text.into();
    }
    let mut seen = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_visible(c) {
            true => seen.push(c),
            false => seen.extend(c.escape_debug()),
        }
    }
    seen.into()
}

/// The same for a text of several lines, which stay.
pub fn visible_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    lines.join("\n")
}

/// Whether a character can be seen, or is a space. Characters that Unicode calls control, format,
/// separator, private or not assigned cannot, by the table that Rust has for `{:?}`. Combining
/// marks can.
pub fn is_visible(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\0'..='\u{7f}' => false,
        // Alone, what is put onto a letter would be escaped as well.
        _ => format!("a{c}").escape_debug().nth(1) == Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_obey_or_nobody_sees_is_written_out() {
        for (text, seen) in [
            ("\x1b[31mred\x07", r"\u{1b}[31mred\u{7}"),
            ("a\r\n\tb\0", r"a\r\n\tb\0"),
            ("\u{7f}\u{9b}31m", r"\u{7f}\u{9b}31m"),
            ("\u{202e}gnp.exe", r"\u{202e}gnp.exe"),
            ("\u{61c}\u{200e}\u{2066}", r"\u{61c}\u{200e}\u{2066}"),
            ("\u{2028}\u{200b}\u{feff}", r"\u{2028}\u{200b}\u{feff}"),
            ("\u{e0041}\u{fffe}\u{ffff}", r"\u{e0041}\u{fffe}\u{ffff}"),
        ] {
            assert_eq!(visible(text), seen);
        }
        assert_eq!(visible_lines("a\nb\x1b\n"), "a\nb\\u{1b}\n");
    }

    #[test]
    fn what_people_write_stays() {
        for text in ["", "C:\\a 'b' \"c\"", "µs, e\u{301}, 日本語, שלום, 🕰"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }
}
