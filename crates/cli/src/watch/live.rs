//! The live output of a watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::JoinHandle;

use punctual_core::Nanos;
use punctual_lab::host::keep_off;
use punctual_lab::watch::Tally;
use punctual_record::Late;
use punctual_record::experiment::{Cause, Hiccup};
use punctual_report::{hiccup, prose, units};

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
                // A closed output is no error here; the summary reports it.
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

/// The columns of a line with what was seen from the beginning.
const ALL: usize = 79;

/// The head of the lines that [`second`] gives.
pub(super) fn head(width: usize) -> String {
    let last = format!(
        "{:>8}{:>7}{:>8}{:>9}{:>9}{:>9}",
        "time", "due", "missed", "p50", "p90", "max"
    );
    let all = format!("{:>11}{:>9}{:>9}", "hiccups", "p99.9", "max");
    let [over_last, over_all] = [
        format!("{:>8}{:-^42}", "", " deadlines of the last second "),
        format!("  {:-^27}", " from the beginning "),
    ];
    match width < ALL {
        true => format!("{over_last}\n{last}"),
        false => format!("{over_last}{over_all}\n{last}{all}"),
    }
}

/// A line about the second before `elapsed`, and since the beginning. A
/// percentile that fewer than ten deadlines lie above is `-`.
pub(super) fn second(
    elapsed: Nanos,
    late: &Late,
    missed: u64,
    tally: &Tally,
    width: usize,
) -> String {
    let so_far = tally.whole.late();
    let max = |late: &Late| units::duration_or_dash((late.n > 0).then_some(late.max));
    let last = format!(
        "{:>6} s{:>7}{missed:>8}{:>9}{:>9}{:>9}",
        elapsed.as_ns() / 1_000_000_000,
        late.n,
        units::duration_or_dash(late.p50),
        units::duration_or_dash(late.p90),
        max(late),
    );
    match width < ALL {
        true => last,
        false => format!(
            "{last}{:>11}{:>9}{:>9}",
            tally.hiccups_in_all(),
            units::duration_or_dash(so_far.p999),
            max(&so_far),
        ),
    }
}

/// Lists hiccups one by one while they are few, and sums up the others every ten seconds. On a
/// noisy host their lines would hide everything else.
pub(super) struct Teller {
    width: usize,
    /// The number that may be listed one by one before the next sum.
    left: u32,
    untold: u64,
    worst: Option<Hiccup>,
    summed_up: Nanos,
}

impl Teller {
    /// The number that is listed one by one at the start, and after a quiet time.
    const AT_ONCE: u32 = 10;

    /// How often the others are summed up, and one more may be told.
    const EVERY: Nanos = Nanos::from_secs(10);

    /// For lines of this width.
    pub(super) const fn new(width: usize) -> Self {
        Self {
            width,
            left: Self::AT_ONCE,
            untold: 0,
            worst: None,
            summed_up: Nanos::ZERO,
        }
    }

    /// The lines for `news` at `elapsed`; `date` writes when each happened.
    pub(super) fn lines(
        &mut self,
        elapsed: Nanos,
        news: Vec<Hiccup>,
        date: impl Fn(Nanos) -> String,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for told in news {
            // Their number is up to the user.
            let is_own = told.cause == Cause::OwnStop;
            if !is_own && self.left == 0 {
                self.put_off(told);
                continue;
            }
            self.left -= u32::from(!is_own);
            let at = date(Nanos::new(told.at_ns));
            let text = format!("hiccup {at}  {}", hiccup(&told));
            lines.push(fitted(&text, self.width));
        }
        if elapsed >= self.summed_up + Self::EVERY {
            self.summed_up = elapsed;
            self.left = (self.left + 1).min(Self::AT_ONCE);
            lines.extend(self.sum());
        }
        lines
    }

    /// The hiccups that were not told one by one since the last sum.
    pub(super) fn sum(&mut self) -> Option<String> {
        let worst = self.worst.take()?;
        let more = match std::mem::take(&mut self.untold) {
            1 => "and 1 more hiccup, ".to_owned(),
            n => format!("and {n} more hiccups, the worst "),
        };
        Some(fitted(&(more + &hiccup(&worst)), self.width))
    }

    fn put_off(&mut self, told: Hiccup) {
        self.untold += 1;
        let is_worst = |worst: &Hiccup| told.late_ns > worst.late_ns;
        if self.worst.as_ref().is_none_or(is_worst) {
            self.worst = Some(told);
        }
    }
}

/// As many counters of a hiccup as fit on a line; its cause in any case, on several lines if it is
/// long.
fn fitted(text: &str, width: usize) -> String {
    let ends = text.match_indices("; ").map(|(at, _)| at);
    let mut ends = ends.chain([text.len()]);
    let first = ends.next().unwrap_or_default();
    let fits = |end: &usize| text[..*end].chars().count() <= width;
    if !fits(&first) {
        let indent = "\n    ";
        let within = width.saturating_sub(indent.len());
        return prose::lines(&text[..first], within).join(indent);
    }
    text[..ends.filter(fits).last().unwrap_or(first)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_lab::watch::{Missed, Seen, Wake};

    fn tally(late_us: impl IntoIterator<Item = u64>) -> Tally {
        let mut tally = Tally::new(Nanos::from_us(500), Nanos::from_ms(1), Default::default());
        for (i, late_us) in late_us.into_iter().enumerate() {
            tally.add(&Seen::Wake(Wake {
                due: Nanos::from_ms(i as u64 + 1),
                late: Nanos::from_us(late_us),
                counts: Default::default(),
            }));
        }
        tally
    }

    #[test]
    fn a_second_is_a_line_below_its_head() {
        let mut tally = tally((0..97).map(|i| 50 + i));
        tally.add(&Seen::Missed(Missed {
            first: Nanos::from_ms(98),
            count: 3,
            given_up: Nanos::from_us(100_700),
        }));
        tally.finish();
        let late = tally.take_window();
        let lines = |width| {
            let seconds =
                [7, 100_007].map(|s| second(Nanos::from_secs(s), &late, 3, &tally, width));
            [head(width), seconds.join("\n")].join("\n")
        };
        let expected =
            "        ------ deadlines of the last second ------  --- from the beginning ----
    time    due  missed      p50      p90      max    hiccups    p99.9      max
     7 s    100       3  99.0 us   139 us  2.70 ms          0        -  2.70 ms
100007 s    100       3  99.0 us   139 us  2.70 ms          0        -  2.70 ms";
        assert_eq!(lines(80), expected, "\n{}", lines(80));
        let narrow = lines(ALL - 1);
        assert!(narrow.lines().all(|line| line.len() <= 50), "{narrow}");
    }

    #[test]
    fn a_noisy_host_gets_a_line_now_and_then() {
        let news = || {
            let mut tally = tally([600; 22]);
            tally.finish();
            tally.take_news()
        };
        let mut teller = Teller::new(80);
        let mut lines = Vec::new();
        for second in 1..=40 {
            lines.extend(teller.lines(Nanos::from_secs(second), news(), |at| format!("at {at}")));
        }
        // Ten at once, and every ten seconds a sum, after which one more is told.
        assert_eq!(lines.len(), 10 + 4 + 3, "{lines:#?}");
        assert_eq!(lines[0], "hiccup at 1.6 ms  600 us late: cause unknown");
        assert_eq!(
            lines[10],
            "and 210 more hiccups, the worst 600 us late: cause unknown"
        );
        assert_eq!(lines[11], lines[0]);
        assert_eq!(teller.sum(), None);
    }

    #[test]
    fn a_hiccup_is_a_line_with_what_fits() {
        let text =
            "9 ms late: waited 8.9 ms for a CPU; stolen 0 ms in 120 ms; preempted 1; faults 0";
        for (width, fitted) in [
            (100, text),
            (
                70,
                "9 ms late: waited 8.9 ms for a CPU; stolen 0 ms in 120 ms; preempted 1",
            ),
            (40, "9 ms late: waited 8.9 ms for a CPU"),
            (20, "9 ms late:\n    waited 8.9 ms\n    for a CPU"),
        ] {
            assert_eq!(super::fitted(text, width), fitted);
        }
    }
}
