//! Whether a computer is noisy, and who disturbs it.

use punctual_record::Run;
use punctual_record::experiment::{Cause, Watch};

use super::Verdict;
use crate::select::{self, Row};
use crate::tables::{CAUSES, HOW_NAMED, who_had_it};
use crate::units;

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    let watches = select::of_run::<Watch>(run);
    let row = *watches.first()?;
    let (of, late) = (row.of, &row.m.late_ns);
    let limit = units::nominal(of.threshold_ns);
    let every = units::nominal(of.period_ns);
    if late.n == 0 {
        return None;
    }
    let noise = match of.hiccups_in_all {
        0 => format!(
            "Quiet: none of {} waits was more than {limit} late.",
            late.n
        ),
        n => format!(
            "Noisy: {n} of {} waits ({} %) were more than {limit} late.",
            late.n,
            units::percent(n as f64 / late.n as f64)
        ),
    };
    let shares = [("p99", late.p99), ("p99.9", late.p999)].into_iter();
    let shares =
        shares.filter_map(|(name, ns)| Some(format!("{} at {name}", units::duration(ns?))));
    let spread = late
        .p50
        .map(|ns| format!("{} late in the median", units::duration(ns)));
    let spread: Vec<String> = spread.into_iter().chain(shares).collect();
    let worst = format!("{} at most", units::duration(late.max));
    let mut sentences = vec![
        noise,
        format!(
            "A wait every {every} for {}: {}.",
            units::duration(of.elapsed_ns),
            [&spread[..], &[worst]].concat().join(", ")
        ),
    ];
    if of.lost_waits > 0 {
        sentences.push(format!("Of {} more waits nothing is known.", of.lost_waits));
    }
    let causes = causes(row);
    let most = causes.first().map(|(cause, _)| *cause);
    Some(Verdict::new(sentences, next(most, of)).table(
        ["cause", "waits", "worst"],
        causes.into_iter().map(|(_, told)| told),
        HOW_NAMED,
    ))
}

/// The causes that there were, the most frequent first.
fn causes(row: Row<'_, Watch>) -> Vec<(Cause, Vec<String>)> {
    let count = |cause: Cause| row.of.hiccups_by_cause.get(cause.name());
    let mut causes: Vec<(u64, Cause, Vec<String>)> = CAUSES
        .into_iter()
        .filter_map(|(cause, words)| {
            let n = *count(cause).filter(|n| **n > 0)?;
            let of_cause = row.of.hiccups.iter().filter(|it| it.cause == cause);
            let worst = of_cause.map(|hiccup| hiccup.late_ns).max();
            let who = match cause {
                Cause::Queued => who_had_it(row),
                _ => String::new(),
            };
            Some((
                n,
                cause,
                vec![
                    format!("{words}{who}"),
                    n.to_string(),
                    units::duration_or_dash(worst),
                ],
            ))
        })
        .collect();
    causes.sort_by_key(|(n, ..)| std::cmp::Reverse(*n));
    causes
        .into_iter()
        .map(|(_, cause, told)| (cause, told))
        .collect()
}

/// What to do about the most frequent one.
fn next(most: Option<Cause>, of: &Watch) -> &'static str {
    match most {
        Some(Cause::Throttled) => {
            "Next: raise the quota of its cgroup (cpu.max); punctual doctor says what is in force."
        }
        Some(Cause::Queued) => {
            "Next: stop what had the CPU, or watch another CPU with --cpu N; punctual measure load says what a raised \
             priority brings."
        }
        Some(Cause::Stolen) => {
            "Next: the host of this virtual machine is busy: nothing in here helps. --full has each hiccup."
        }
        Some(_) => "Next: punctual doctor says what the timer rule allows; --full has each hiccup.",
        // A short watch has not seen what is rare.
        None if of.elapsed_ns < 60_000_000_000 => {
            "Next: punctual watch --for 10m sees what is rare; --full has the histogram."
        }
        None => {
            "Next: punctual bench says which way to wait costs least here; --full has the histogram."
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use punctual_record::experiment::Hiccup;
    use punctual_record::{Experiment, Late, Measurement};

    use super::*;

    fn run(hiccups: &[(Cause, u64)]) -> Run {
        let by_cause: BTreeMap<String, u64> = hiccups
            .iter()
            .map(|(cause, n)| (cause.name().to_owned(), *n))
            .collect();
        let kept = hiccups.iter().map(|(cause, n)| Hiccup {
            late_ns: 2_000_000 + n,
            cause: *cause,
            ..Hiccup::default()
        });
        let watch = Watch {
            period_ns: 1_000_000,
            threshold_ns: 1_000_000,
            elapsed_ns: 10_000_000_000,
            hiccups: kept.collect(),
            hiccups_in_all: by_cause.values().sum(),
            hiccups_by_cause: by_cause,
            ..Watch::default()
        };
        Run {
            results: vec![Measurement {
                late_ns: Late::of(&[60_000; 10_000]),
                ..Measurement::of(Experiment::Watch(Box::new(watch)), "sleep")
            }],
            ..Run::default()
        }
    }

    #[test]
    fn a_quiet_computer_is_called_quiet_by_how_many_waits() {
        let verdict = verdict(&run(&[])).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Quiet: none of 10000 waits was more than 1 ms late."
        );
        assert_eq!(verdict.overview, None);
        assert!(verdict.next.contains("--for 10m"));
    }

    #[test]
    fn a_noisy_one_says_who_it_was_the_most_frequent_first() {
        let verdict = verdict(&run(&[(Cause::Unknown, 3), (Cause::Stolen, 37)])).unwrap();
        assert_eq!(
            verdict.sentences[0],
            "Noisy: 40 of 10000 waits (0.40 %) were more than 1 ms late."
        );
        let rows = verdict.overview.unwrap().rows;
        assert_eq!(rows[0], ["stolen by the hypervisor", "37", "2.00 ms"]);
        assert_eq!(rows[1][0], "unknown");
        assert!(verdict.next.contains("nothing in here helps"));
    }
}
