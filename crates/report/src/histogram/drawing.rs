//! Draws the lines of a histogram.

use crate::prose;

/// No line is longer than this.
const WIDTH: usize = 100;

/// The longest bar, where what is noted behind bars leaves room for it.
const LONGEST: usize = 60;
const LEAST_LONGEST: usize = 10;

/// A bar that is too short for a `#`.
const TRACE: &str = ".";

/// A bin, or those outside of all bins.
pub(super) struct Line {
    label: String,
    count: u64,
    /// What stands behind the bar.
    note: String,
}

impl Line {
    pub(super) fn new(label: String, count: u64) -> Self {
        Self {
            label,
            count,
            note: String::new(),
        }
    }

    pub(super) fn with(mut self, note: String) -> Self {
        self.note = note;
        self
    }
}

/// The title, n with the bins in words, and the lines.
pub(super) fn drawn(title: &str, counted: &str, bins: &str, lines: &[Line]) -> String {
    let n: u64 = lines.iter().map(|line| line.count).sum();
    let mut text = prose::paragraph(title);
    if n == 0 {
        text += &prose::paragraph(&format!("No {counted}: not measured."));
        return text;
    }
    text += &prose::paragraph(&format!("n = {n} {counted}; {bins}."));
    let most = lines.iter().map(|line| line.count).max().unwrap_or(0);
    let widest = |of: fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let label = widest(|line| line.label.chars().count());
    let count = widest(|line| line.count.to_string().len());
    let note = widest(|line| line.note.chars().count());
    // Two spaces, the label, the count, the share, and the signs between them.
    let before = 2 + label + 2 + count + 2 + 7 + 2;
    let room = WIDTH.saturating_sub(before + 1 + note);
    let longest = room.clamp(LEAST_LONGEST, LONGEST);
    for line in lines {
        let share = line.count as f64 / n as f64 * 100.0;
        let bar = bar(line.count, most, longest);
        let space = if bar.is_empty() || line.note.is_empty() {
            ""
        } else {
            " "
        };
        let written = format!(
            "  {:>label$}  {:>count$}  {share:>5.1} % |{bar}{space}{}",
            line.label, line.count, line.note
        );
        text += written.trim_end();
        text.push('\n');
    }
    text
}

fn bar(count: u64, most: u64, longest: usize) -> String {
    let length = (count as f64 / most.max(1) as f64 * longest as f64).round() as usize;
    match (count, length) {
        (0, _) => String::new(),
        (_, 0) => TRACE.to_owned(),
        (_, length) => "#".repeat(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_none_is_lost() {
        assert_eq!(bar(0, 1_000, 60), "");
        assert_eq!(bar(1, 1_000, 60), ".");
        assert_eq!(bar(500, 1_000, 60).len(), 30);
        assert_eq!(bar(1_000, 1_000, 60).len(), 60);
    }

    #[test]
    fn nothing_measured_is_said() {
        assert_eq!(
            drawn("title", "waits", "", &[]),
            "title\nNo waits: not measured.\n"
        );
    }
}
