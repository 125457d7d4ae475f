//! `punctual exec --accurate`: a program whose waits end when they were asked to end.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use punctual_preload::accurate::{Accurate, BINS, Class, Lateness, ONE_IN, SPIN, WEIGHT, at};
use punctual_report::units;

use super::run::{read, watched};
use super::stage::{Stage, cannot_write};
use super::{By, Failure};
use crate::exec::{self, ExecArgs, REFUSED, Share, code};
use crate::say;

/// The number of waits of a class that are left alone, to compare with.
const LEFT_ALONE: u64 = 200;

pub(super) fn run(args: &ExecArgs) -> Result<u8, Failure> {
    let accurate = Accurate {
        spin: args.spin.unwrap_or(Share(SPIN)).0,
        weight: args.weight.unwrap_or(WEIGHT),
        only_sleeps: args.only.is_some(),
        left_alone: if args.quiet { 0 } else { LEFT_ALONE },
    };
    let stage = Stage::new(&args.command, None, Some(By::Preload))?;
    let (mut command, page) = stage.with_page(&accurate.page(), 0)?;
    let begin = Instant::now();
    let mut failure = None;
    let status = exec::on_its_thread(args, || {
        watched(&mut command, &stage, None).map_err(|why| {
            failure = Some(why);
            anyhow!("it did not start")
        })
    });
    let refused = |why: anyhow::Error| Failure::new(REFUSED, format!("{why:#}"));
    let status = status.map_err(|why| failure.take().unwrap_or_else(|| refused(why)))?;
    if !args.quiet {
        let words = read(&page, at::WORDS).map_err(cannot_write("the summary"))?;
        for line in summary(&accurate, &words, begin.elapsed()) {
            say!("{line}");
        }
    }
    Ok(code(status))
}

/// The summary of a run that took so long, a line each.
fn summary(accurate: &Accurate, words: &[u64], took: Duration) -> Vec<String> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let late = |class: Class, were_left_alone| {
        let begin = class.books(were_left_alone);
        Lateness(words.get(begin..begin + BINS).unwrap_or_default())
    };
    let mut lines = vec![];
    for class in Class::ALL {
        lines.extend(compared(class, late(class, false), late(class, true)));
    }
    if word(at::PROCESSES) == 0 {
        return vec!["no process loaded the library: no wait was changed".to_owned()];
    }
    if lines.is_empty() {
        lines.push(
            "no timed wait of glibc ended by its timer. Waits of programs that call the kernel themselves, as Go does, are not changed. Waits of another user are not counted."
                .to_owned(),
        );
    }
    let share = word(at::SPUN) as f64 / took.as_nanos().max(1) as f64;
    let processes = word(at::PROCESSES);
    let all = match processes {
        1 => "waits".to_owned(),
        _ => format!("waits of {processes} processes"),
    };
    lines.push(format!(
        "{all} spun for {:.2} % of a CPU; the limit is {} % for each process, plus its unused spin time of the last second",
        share * 100.0,
        accurate.spin * 100.0
    ));
    let limited = word(at::LIMITED);
    if limited > 0 && accurate.spin > 0.0 {
        lines.push(format!(
            "{limited} waits began with less than 20 us of spin time left, and hardly spun (--spin allows more)"
        ));
    }
    let by_event = word(at::BY_EVENT);
    if by_event > 0 {
        lines.push(format!(
            "{by_event} waits were ended by an event or a signal"
        ));
    }
    lines
}

/// How late waits of a class are natively and were now, if there were any.
fn compared(class: Class, now: Lateness<'_>, alone: Lateness<'_>) -> Option<String> {
    if now.count() + alone.count() == 0 {
        return None;
    }
    let what = match class {
        Class::Sleep => "sleeps",
        Class::Event => "timeouts of waits for events",
        Class::Lock => "timeouts of condition variables and locks",
    };
    let natively = figures(alone).map(|figures| {
        let waits = alone.count();
        format!("natively {figures} ({waits} waits: one in {ONE_IN} of the first was not changed)")
    });
    let now = figures(now).map(|figures| format!("now {figures} ({} waits)", now.count()));
    let late = match (now, natively) {
        (Some(now), Some(natively)) => format!("{now}; {natively}"),
        (Some(now), None) => format!("{now}; all were changed, so there is none to compare with"),
        (None, natively) => natively?,
    };
    Some(format!("{what}: {late}"))
}

/// Lateness in two figures: the median, and the 99th percentile or, of few waits, the most.
fn figures(late: Lateness<'_>) -> Option<String> {
    let (name, part) = match late.count() {
        0..100 => ("at most", 1.0),
        _ => ("at p99", 0.99),
    };
    let shown = |part| {
        late.quantile(part)
            .map(|late| units::duration(late.as_ns()))
    };
    Some(format!(
        "{} late at p50, {} {name}",
        shown(0.5)?,
        shown(part)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::Nanos;
    use punctual_preload::accurate::bin;

    const RUN: Accurate = Accurate {
        spin: 0.05,
        weight: 10.0,
        only_sleeps: false,
        left_alone: LEFT_ALONE,
    };

    fn words(waits: &[(Class, bool, u64, u64)]) -> Vec<u64> {
        let mut words = RUN.page();
        words[at::PROCESSES] = 1;
        for &(class, alone, us, count) in waits {
            words[class.books(alone) + bin(Nanos::from_us(us))] += count;
        }
        words
    }

    #[test]
    fn the_summary_compares_waits_with_those_that_were_left_alone() {
        let mut words = words(&[
            (Class::Sleep, true, 102, 190),
            (Class::Sleep, true, 1_900, 10),
            (Class::Sleep, false, 2, 5_900),
            (Class::Sleep, false, 40, 100),
            (Class::Lock, false, 60, 3),
        ]);
        words[at::SPUN] = 130_000_000;
        words[at::LIMITED] = 7;
        words[at::BY_EVENT] = 9;
        let said = summary(&RUN, &words, Duration::from_secs(10)).join("\n");
        insta::assert_snapshot!(said, @r"
        sleeps: now 2.02 us late at p50, 39.9 us at p99 (6000 waits); natively 100 us late at p50, 1.87 ms at p99 (200 waits: one in 8 of the first was not changed)
        timeouts of condition variables and locks: now 60.4 us late at p50, 60.4 us at most (3 waits); all were changed, so there is none to compare with
        waits spun for 1.30 % of a CPU; the limit is 5 % for each process, plus its unused spin time of the last second
        7 waits began with less than 20 us of spin time left, and hardly spun (--spin allows more)
        9 waits were ended by an event or a signal
        ");
    }

    #[test]
    fn a_run_without_waits_says_so() {
        let said = summary(&RUN, &words(&[]), Duration::from_secs(1));
        assert!(said[0].contains("as Go does"), "{said:?}");
        let said = summary(&RUN, &RUN.page(), Duration::from_secs(1));
        assert!(
            said[0].contains("no process loaded the library"),
            "{said:?}"
        );
    }
}
