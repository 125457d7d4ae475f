//! `punctual resolution`.

use anyhow::{Error, Result, anyhow, bail};
use clap::{Args, Subcommand};
use punctual_core::Nanos;
use punctual_os::facts::{facts, global_timer_requests};
use punctual_os::resolution::Resolution;
use punctual_os::{resolution, throttling};
use punctual_program::setting::Throttling;
use punctual_record::HostFacts;
use punctual_report::Verdict;

use crate::options::on_a_screen;
use crate::stop::{Each, End, HowLong, until};
use crate::{Done, print, session};

/// Runs the command.
pub(crate) fn run(args: &ResolutionArgs) -> Result<Done> {
    let now = query()?;
    match args.action {
        Action::Show => show(now),
        Action::Hold { interval, how_long } => hold(interval, how_long.length),
        Action::Cycle { from, to, each } => cycle(now, from, to, each.each),
    }
}

fn show(now: Resolution) -> Result<Done> {
    let throttling = throttling::state().map_err(|error| error.to_string());
    print(&on_a_screen(&answer(now, &throttling, &facts())))?;
    Ok(Done::Whole)
}

fn hold(interval: Nanos, length: Option<Nanos>) -> Result<Done> {
    let end = End::listen()?;
    let guard = resolution::hold(interval).map_err(Error::msg)?;
    let granted = guard.granted().map_err(Error::msg)?;
    print(&format!(
        "asked {interval}, granted {granted}, {}\n{}",
        until(length),
        wine_line(&facts())
    ))?;
    Ok(Done::unless(end.within(length) && length.is_some()))
}

fn cycle(now: Resolution, from: Nanos, to: Nanos, each: Nanos) -> Result<Done> {
    let rows = rows(from, to);
    let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else {
        bail!("nothing to ask for: --from {from} is longer than --to {to}");
    };
    if first < now.finest || last > now.coarsest {
        bail!(
            "this system has intervals of {} to {}: choose --from and --to between them",
            now.finest,
            now.coarsest
        );
    }
    let end = End::listen()?;
    let unseen = unseen(&rows, now);
    let total = each.times(rows.len() as u64);
    print(&format!(
        "{} rows of {each} each, {total} in all; Ctrl-C ends it\n{}{}",
        rows.len(),
        warning(&unseen, now),
        wine_line(&facts())
    ))?;
    for row in rows {
        let guard = resolution::hold(row).map_err(Error::msg)?;
        let granted = guard.granted().map_err(Error::msg)?;
        print(&format!("asked {row}, granted {granted}\n"))?;
        if end.within(Some(each)) {
            return Ok(Done::Interrupted);
        }
    }
    Ok(if unseen.is_empty() {
        Done::Whole
    } else {
        Done::Inconclusive
    })
}

/// From the first interval, a millisecond more each, up to the last. A thousand
/// are more than any system has.
fn rows(from: Nanos, to: Nanos) -> Vec<Nanos> {
    let more = |n: u64| from + Nanos::from_ms(n);
    (0..1_000).map(more).take_while(|row| *row <= to).collect()
}

/// The rows that a shorter request of another process hides. Without any request the coarsest
/// interval is in force, and hides nothing.
fn unseen(rows: &[Nanos], now: Resolution) -> Vec<Nanos> {
    let hidden = |row: &&Nanos| now.current < now.coarsest && now.current < **row;
    rows.iter().filter(hidden).copied().collect()
}

fn warning(unseen: &[Nanos], now: Resolution) -> String {
    let Some(first) = unseen.first() else {
        return String::new();
    };
    let names: Vec<String> = unseen.iter().map(Nanos::to_string).collect();
    format!(
        "cannot be seen: {}\n  {} is in force, so another process asks for less than {first}; `powercfg /energy` names it\n",
        names.join(", "),
        now.current
    )
}

fn answer(now: Resolution, throttling: &Result<Throttling, String>, facts: &HostFacts) -> Verdict {
    let throttling = match throttling {
        Ok(Throttling::BySystem) => {
            "the system decides whether they count while it is neither visible nor audible"
        }
        Ok(Throttling::HonourRequests) => "they always count",
        Ok(Throttling::IgnoreRequests) => "they never count",
        Err(why) => why,
    };
    let why = match now.current < now.coarsest {
        true => "because a process asks for that",
        false => "the most there is: no process asks for less",
    };
    let wine = wine_line(facts);
    let mut sentences = vec![
        format!(
            "Clock interrupts, on which waits end, are {} apart, {why}.",
            now.current
        ),
        format!("Requests of this process: {throttling}."),
    ];
    sentences.extend((!wine.is_empty()).then(|| wine.trim_end().to_owned()));
    let global = match global_timer_requests() {
        Some(true) => "1: a request counts for every process",
        Some(false) => "0: a request counts for its own process",
        None => "not set",
    };
    let rows = [
        ("coarsest", now.coarsest.to_string()),
        ("finest", now.finest.to_string()),
        ("current", now.current.to_string()),
        ("GlobalTimerResolutionRequests", global.to_owned()),
    ];
    let next = "Next: punctual measure timers says how long sleeps are then; punctual resolution hold 1ms asks for less.";
    Verdict {
        heading: session::command_line(),
        ..Verdict::new(sentences, next)
    }
    .table(
        ["timer interval", "is"],
        rows.map(|(name, is)| vec![name.to_owned(), is]),
        "Since Windows 10 2004 the current one counts for processes that ask themselves; others wait as if there were no request. \
         The last is in the registry.",
    )
}

/// Wine answers without knowing, and that must not pass for a measurement.
fn wine_line(facts: &HostFacts) -> String {
    let Some(version) = &facts.wine else {
        return String::new();
    };
    format!(
        "This is Wine {version}: its answer is constant, and waits end as the system underneath has it.\n"
    )
}

fn query() -> Result<Resolution> {
    resolution::query().map_err(|error| {
        let see = match std::env::consts::OS {
            "linux" | "android" => "; see `punctual slack`",
            "windows" => "",
            _ => "; see `punctual measure sleep`",
        };
        anyhow!("{error}{see}")
    })
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Show and request the timer interval: the time between two clock interrupts, on which waits end. Windows only.

The shortest timer interval that any process requests is in force. Since Windows 10 2004 only processes with a request of \
their own get it, so `hold` and `cycle` do not change the waits of other programs there. They change waits on older Windows, \
the steps of timeGetTime, and the power that the computer takes.";

/// The end of its help.
pub(crate) const AFTER: &str = "\
A request ends with its process, however that ends.

Exit codes: 0 done (without --for, Ctrl-C is the end of `hold`), 2 could not run, 3 ended by Ctrl-C before its end, or some \
steps of `cycle` had no effect.

Examples:
  punctual resolution show
  punctual resolution hold 1ms
  punctual resolution hold 0.5ms --for 10s
  punctual resolution cycle --from 1ms --to 4ms --each 10s";

/// The end of the help of what is below it.
const MORE: &str = "`punctual resolution --help` has the exit codes and examples.";

#[derive(Debug, Args)]
pub(crate) struct ResolutionArgs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the coarsest, the finest and the current timer interval, and whether requests of this process count
    #[command(after_help = MORE)]
    Show,
    /// Request a timer interval, until Ctrl-C or the end of --for
    #[command(after_help = MORE)]
    Hold {
        /// The timer interval: 1ms, 0.5ms
        #[arg(value_name = "LENGTH", allow_hyphen_values = true)]
        interval: Nanos,

        #[command(flatten)]
        how_long: HowLong,
    },
    /// Request 1, 2, 3, ... 15 ms in turn (15 times --each: 60 s)
    ///
    /// A `punctual measure timers --rounds 60` meanwhile shows each step. A step has no effect while another process
    /// requests a shorter timer interval: such steps are named before it begins.
    #[command(after_help = MORE)]
    Cycle {
        /// The first timer interval; each step requests 1 ms more
        #[arg(
            long,
            value_name = "LENGTH",
            default_value = "1ms",
            allow_hyphen_values = true
        )]
        from: Nanos,

        /// The last timer interval
        #[arg(
            long,
            value_name = "LENGTH",
            default_value = "15ms",
            allow_hyphen_values = true
        )]
        to: Nanos,

        #[command(flatten)]
        each: Each,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(current: Nanos) -> Resolution {
        Resolution {
            coarsest: Nanos::new(15_625_000),
            finest: Nanos::from_us(500),
            current,
        }
    }

    #[test]
    fn rows_are_a_millisecond_apart() {
        let ms = Nanos::from_ms;
        assert_eq!(rows(ms(1), ms(3)), [ms(1), ms(2), ms(3)]);
        let half = Nanos::from_us(500);
        assert_eq!(rows(half, ms(2)), [half, Nanos::from_us(1_500)]);
        assert_eq!(rows(ms(2), ms(1)), []);
        assert_eq!(rows(ms(1), Nanos::MAX).len(), 1_000);
    }

    #[test]
    fn rows_above_a_request_of_somebody_else_cannot_be_seen() {
        let ms = Nanos::from_ms;
        let all = rows(ms(1), ms(4));
        assert_eq!(unseen(&all, now(ms(2))), [ms(3), ms(4)]);
        assert_eq!(unseen(&all, now(Nanos::new(15_625_000))), []);
        let text = warning(&unseen(&all, now(ms(2))), now(ms(2)));
        assert!(
            text.starts_with("cannot be seen: 3 ms, 4 ms\n  2 ms is in force"),
            "{text}"
        );
        assert_eq!(warning(&[], now(ms(2))), "");
    }

    #[test]
    fn show_answers_in_a_screen_and_names_wine() {
        let throttled = Ok(Throttling::BySystem);
        let mut facts = facts();
        facts.wine = Some("8.0".to_owned());
        let asked = answer(now(Nanos::from_ms(1)), &throttled, &facts);
        assert_eq!(
            asked.sentences[0],
            "Clock interrupts, on which waits end, are 1 ms apart, because a process asks for that."
        );
        assert!(asked.sentences[2].contains("Wine 8.0"), "{asked:?}");
        let text = asked.text(80);
        assert!(
            text.lines().count() < 24 && text.contains("15.625 ms"),
            "{text}"
        );
        let unasked = answer(now(Nanos::new(15_625_000)), &throttled, &facts);
        assert!(unasked.sentences[0].ends_with("no process asks for less."));
    }
}
