//! The progress of a command and its remaining time, on standard error: a bar on a terminal, else
//! a line now and then.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use punctual_core::Nanos;
use punctual_lab::rounds::{self, Case};

use crate::console::columns;
use crate::{say, stop};

/// Is told between batches only, and shows itself only then: a steady tick would
/// wake this process in the middle of a measurement.
pub(crate) struct Progress {
    bar: Option<Bar>,
    course: Course,
    began: Instant,
    said: Duration,
}

/// Where there is no terminal, so much time is between two lines, and before the
/// first.
const PAUSE: Duration = Duration::from_secs(10);

/// The width of a terminal that does not tell it.
const USUAL_COLUMNS: usize = 80;

impl Progress {
    /// Of so many batches that take `all` together.
    pub(crate) fn new(batches: usize, all: Nanos) -> Self {
        let bar = || Bar::new(batches, ProgressDrawTarget::stderr());
        Self {
            bar: std::io::stderr().is_terminal().then(bar),
            course: Course {
                batches,
                all,
                ..Course::default()
            },
            began: Instant::now(),
            said: Duration::ZERO,
        }
    }

    /// Of so many batches of which nothing is known but that they are alike.
    pub(crate) fn alike(batches: usize) -> Self {
        Self::new(batches, Nanos::new(batches as u64))
    }

    /// A case begins.
    fn case(&mut self, case: &Case) {
        let what = format!("{} {}", case.experiment(), case.subject);
        self.next(&what, case.length);
    }

    /// Shows the case that comes next in rounds.
    pub(crate) fn turns(&mut self) -> impl FnMut(rounds::Progress<'_>) {
        move |now| self.case(now.next)
    }

    /// A batch begins that is like all others.
    pub(crate) fn step(&mut self, what: &str) {
        self.next(what, Nanos::new(1));
    }

    /// The batch after so many begins, all of which are alike.
    pub(crate) fn at(&mut self, done: usize, what: &str) {
        self.course.begun = done;
        self.course.done = Nanos::new(done as u64);
        self.course.next = Nanos::ZERO;
        self.step(what);
    }

    /// A batch begins that takes so much of all.
    pub(crate) fn next(&mut self, what: &str, length: Nanos) {
        stop::if_nobody_reads();
        self.course.next(length);
        self.show(what);
    }

    /// The batch that has begun has come so far.
    pub(crate) fn within(&mut self, what: &str, length: Nanos) {
        self.course.within = length;
        self.show(what);
    }

    fn show(&mut self, what: &str) {
        let elapsed = self.began.elapsed();
        let left = self.course.left(elapsed);
        if let Some(bar) = &mut self.bar {
            let columns = columns().unwrap_or(USUAL_COLUMNS);
            bar.show(self.course.begun - 1, &format!("{what}{left}"), columns);
        } else if elapsed >= self.said + PAUSE {
            self.said = elapsed;
            let Course { batches, begun, .. } = self.course;
            say!("{} of {batches} batches{left}: {what}", begun - 1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.0.finish_and_clear();
        }
    }
}

/// A line of a terminal, never longer than the terminal is wide.
struct Bar(ProgressBar);

impl Bar {
    fn new(batches: usize, target: ProgressDrawTarget) -> Self {
        Self(ProgressBar::with_draw_target(Some(batches as u64), target))
    }

    /// Shows that so many batches are done. The width may have changed since the last time.
    fn show(&mut self, done: usize, what: &str, columns: usize) {
        /// Below it the message needs the room of the bar.
        const WITH_BAR: usize = 70;
        let template = match columns {
            WITH_BAR.. => "{bar:30} {wide_msg}",
            _ => "{wide_msg}",
        };
        let style = ProgressStyle::with_template(template);
        let mut style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        if !has_blocks(|name| std::env::var(name).ok()) {
            style = style.progress_chars("#>-");
        }
        self.0.set_style(style);
        let batches = self.0.length().unwrap_or_default();
        self.0.set_message(format!("{done}/{batches} {what}"));
        self.0.set_position(done as u64);
    }
}

/// How far it is, and how far still.
#[derive(Default)]
struct Course {
    batches: usize,
    begun: usize,
    all: Nanos,
    done: Nanos,
    /// Of the batch that has begun.
    next: Nanos,
    /// Of that, what is done.
    within: Nanos,
}

impl Course {
    fn next(&mut self, length: Nanos) {
        self.done += std::mem::replace(&mut self.next, length);
        self.within = Nanos::ZERO;
        self.begun += 1;
    }

    /// The remaining time in words, at the pace so far; empty before there is one.
    fn left(&self, elapsed: Duration) -> String {
        let done = self.done + self.within;
        if done.is_zero() {
            return String::new();
        }
        let left = (self.all - done).as_ns() as f64 / done.as_ns() as f64;
        format!(
            ", about {:.0} s left",
            (elapsed.as_secs_f64() * left).ceil()
        )
    }
}

/// Whether the terminal shows more than ASCII, as the locale says (POSIX, locale
/// variables); Windows' does.
fn has_blocks(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    let first = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(set);
    let locale = first.and_then(variable).unwrap_or_default();
    cfg!(windows)
        || locale
            .to_ascii_lowercase()
            .replace('-', "")
            .contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use punctual_report::prose;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[test]
    fn what_is_left_goes_by_the_pace_so_far() {
        let mut course = Course {
            batches: 3,
            all: Nanos::from_secs(10),
            ..Course::default()
        };
        course.next(Nanos::from_secs(2));
        assert_eq!(course.left(Duration::ZERO), "");
        course.within = Nanos::from_secs(1);
        assert_eq!(course.left(Duration::from_secs(1)), ", about 9 s left");
        course.next(Nanos::from_secs(6));
        assert_eq!(course.left(Duration::from_secs(3)), ", about 12 s left");
        course.next(Nanos::from_secs(2));
        assert_eq!(course.left(Duration::from_secs(8)), ", about 2 s left");
    }

    /// A terminal of so many columns that keeps the lines it was given.
    #[derive(Clone, Debug)]
    struct Terminal(u16, Arc<Mutex<Vec<String>>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            self.0
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.1.lock().unwrap().push(text.to_owned());
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_is_never_wider_than_its_terminal() {
        let what = "bench a-strategy:with=a,long=name 日本語, about 3600 s left";
        for columns in (1..=130).chain([500]) {
            let terminal = Terminal(columns, Arc::default());
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let mut bar = Bar::new(100_000, target);
            bar.show(99_998, what, columns.into());
            bar.0.tick();
            let lines = terminal.1.lock().unwrap();
            assert!(columns < 4 || lines.iter().any(|line| line.contains("99")));
            for line in lines.iter() {
                assert!(prose::width(line) <= columns.into(), "{columns}: {line}");
                assert!(!line.contains('\n'));
            }
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn a_bar_is_ascii_unless_the_locale_has_more() {
        for (locale, blocks) in [
            (&[("LANG", "en_US.UTF-8")][..], true),
            (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], false),
            (&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")], true),
            (&[("LC_CTYPE", "POSIX"), ("LANG", "C.UTF-8")], false),
            (&[], false),
        ] {
            let variable = |name: &str| {
                let is = |(other, _): &&(&str, &str)| *other == name;
                locale.iter().find(is).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(has_blocks(variable), blocks, "{locale:?}");
        }
    }
}
