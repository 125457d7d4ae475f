//! What is shown while a watch goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::JoinHandle;

use punctual_core::Nanos;
use punctual_lab::host::keep_off;
use punctual_lab::watch::Tally;
use punctual_record::Late;
use punctual_record::experiment::Hiccup;
use punctual_report::hiccup;

use crate::print;

/// Prints on a thread of its own, so that an output that is not read holds
/// nothing up.
pub(super) struct Printer {
    lines: SyncSender<String>,
    thread: JoinHandle<()>,
    dropped: u64,
    reader_has_gone: Arc<AtomicBool>,
}

impl Printer {
    /// Keeps off the CPU that is watched.
    pub(super) fn start(watched: Option<usize>) -> Self {
        let (lines, printed) = mpsc::sync_channel::<String>(WAITING);
        let reader_has_gone = Arc::new(AtomicBool::new(false));
        let gone = Arc::clone(&reader_has_gone);
        let thread = std::thread::spawn(move || {
            watched.inspect(|cpu| keep_off(*cpu));
            for line in printed {
                // Who cannot be printed to need not be told; the summary says so.
                if let Ok(false) = print(&line) {
                    gone.store(true, Ordering::Relaxed);
                }
            }
        });
        Self {
            lines,
            thread,
            dropped: 0,
            reader_has_gone,
        }
    }

    /// Prints a line soon, unless too many are waiting already.
    pub(super) fn line(&mut self, line: String) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(line + "\n") {
            self.dropped += 1;
        }
    }

    /// Whether what read the lines has read enough.
    pub(super) fn reader_has_gone(&self) -> bool {
        self.reader_has_gone.load(Ordering::Relaxed)
    }

    /// Waits until all is printed, and returns how many lines were not.
    pub(super) fn finish(self) -> u64 {
        drop(self.lines);
        let _ = self.thread.join();
        self.dropped
    }
}

/// Lines that may wait to be printed.
const WAITING: usize = 256;

/// More hiccups than this in a second are only counted.
const HICCUPS: usize = 10;

/// The longest line.
const WIDTH: usize = 120;

/// The head of the lines that [`second`] gives.
pub(super) fn head() -> String {
    format!(
        "{:-^71}  {:-^32}\n{:>8}{:>7}{:>12}{:>12}{:>12}{:>12}{:>8}  {:>8}{:>12}{:>12}",
        " the last second ",
        " from the beginning ",
        "time",
        "waits",
        "p50",
        "p90",
        "p99",
        "max",
        "missed",
        "hiccups",
        "p99.9",
        "max",
    )
}

/// A line about the second before `elapsed`, and since the beginning. A
/// percentile that fewer than ten samples lie above is `-`.
pub(super) fn second(elapsed: Nanos, late: &Late, missed: u64, tally: &Tally) -> String {
    let so_far = tally.whole.late();
    let length = |ns: i64| Nanos::new(ns.unsigned_abs()).to_string();
    let percentile = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), length);
    let max = |late: &Late| percentile((late.n > 0).then_some(late.max));
    format!(
        "{:>6} s{:>7}{:>12}{:>12}{:>12}{:>12}{missed:>8}  {:>8}{:>12}{:>12}",
        elapsed.as_ns() / 1_000_000_000,
        late.n,
        percentile(late.p50),
        percentile(late.p90),
        percentile(late.p99),
        max(late),
        tally.hiccups_in_all(),
        percentile(so_far.p999),
        max(&so_far),
    )
}

/// The hiccups of about a second; `date` writes when each happened.
pub(super) fn hiccups(hiccups: &[Hiccup], date: impl Fn(Nanos) -> String) -> Vec<String> {
    let told = hiccups.iter().take(HICCUPS);
    let mut lines: Vec<String> = told
        .flat_map(|told| {
            let at = date(Nanos::new(told.at_ns));
            broken(&format!("hiccup {at}  {}", hiccup(told)))
        })
        .collect();
    if let Some(more @ 1..) = hiccups.len().checked_sub(HICCUPS) {
        lines.push(format!("and {more} more hiccups in that second"));
    }
    lines
}

/// A text in lines that are not too long, broken where a counter ends.
fn broken(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive("; ") {
        match lines.last_mut() {
            Some(line) if line.len() + part.trim_end().len() <= WIDTH => line.push_str(part),
            None => lines.push(part.to_owned()),
            Some(_) => lines.push(format!("    {part}")),
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_lab::watch::Wake;

    fn tally(late_us: impl IntoIterator<Item = u64>) -> Tally {
        let mut tally = Tally::new(Nanos::from_us(500), Nanos::from_ms(1), Default::default());
        for (i, late_us) in late_us.into_iter().enumerate() {
            tally.wake(&Wake {
                due: Nanos::from_ms(i as u64 + 1),
                late: Nanos::from_us(late_us),
                counts: Default::default(),
            });
        }
        tally.finish();
        tally
    }

    #[test]
    fn a_second_is_a_line_below_its_head() {
        let mut tally = tally((0..100).map(|i| 50 + i));
        let late = tally.take_window();
        let lines = [head(), second(Nanos::from_secs(7), &late, 3, &tally)].join("\n");
        let expected = "\
--------------------------- the last second ---------------------------  ------ from the beginning ------
    time  waits         p50         p90         p99         max  missed   hiccups       p99.9         max
     7 s    100   99.007 us  139.007 us           -      149 us       3         0           -      149 us";
        assert_eq!(lines, expected, "\n{lines}");
    }

    #[test]
    fn many_hiccups_are_counted_and_long_lines_broken() {
        let mut tally = tally([600; 12]);
        let lines = hiccups(&tally.take_news(), |at| format!("at {at}"));
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[0], "hiccup at 1.6 ms  600 us late: unknown");
        assert_eq!(lines[10], "and 2 more hiccups in that second");

        let lines = broken(&"waited for a CPU; ".repeat(12));
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|l| l.len() <= WIDTH && !l.ends_with(' ')));
    }
}
