//! How long a short sleep is.

use punctual_record::Run;
use punctual_record::experiment::Timers;

use super::Verdict;
use crate::select::{self, Row, asked_ns};
use crate::units;

pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<Timers>(run);
    let groups = select::grouped(rows.iter().copied(), |row| {
        (
            row.m.subject.as_str(),
            asked_ns(row.of),
            row.of.arming.as_str(),
        )
    });
    let told: Vec<Told> = groups
        .iter()
        .filter_map(|(_, rows)| Told::of(rows))
        .collect();
    let first = told.first()?;
    let mut sentences = vec![format!(
        "{} asked for {} takes {} in the median{}.",
        first.call,
        units::nominal(first.asked_ns),
        units::fine(first.median_ns),
        first.in_ticks()
    )];
    let random = told.iter().find(|told| told.arming == "random-phase");
    sentences.extend(random.filter(|told| told.call == first.call).map(|random| {
        format!(
            "Begun at a random moment it takes {} in the median, from {} to {}.",
            units::fine(random.median_ns),
            units::fine(random.ends_ns.0),
            units::fine(random.ends_ns.1)
        )
    }));
    let next = "Next: punctual doctor says why it is as long as that, and what helps; --full has all rounds.";
    Some(Verdict::new(sentences, next).table(
        ["call, begun", "asked", "p50", "min", "max", "predicted"],
        told.iter().map(Told::row),
        "after-wake: each begins as soon as the one before it has ended; random-phase: after work of a random length. \
         predicted: by the timer rule in force, if waking up cost nothing.",
    ))
}

/// The sleeps of one kind, of all rounds.
struct Told<'r> {
    call: &'r str,
    arming: &'r str,
    asked_ns: f64,
    median_ns: f64,
    ends_ns: (f64, f64),
    /// How many ticks most of them are long, and how many most are.
    ticks: Option<(u64, f64)>,
    predicted_ns: Option<f64>,
}

impl<'r> Told<'r> {
    fn of(rows: &[Row<'r, Timers>]) -> Option<Self> {
        let first = rows.first()?;
        let (mut slept, modes) = select::lengths(rows);
        slept.sort_unstable();
        let asked_ns = asked_ns(first.of);
        let most = modes.iter().max_by(|a, b| a.share.total_cmp(&b.share));
        let late_ns = rows.iter().find_map(|row| row.m.predicted_late_ns);
        Some(Self {
            call: &first.m.subject,
            arming: &first.of.arming,
            asked_ns,
            median_ns: *slept.get(slept.len() / 2)? as f64,
            ends_ns: (*slept.first()? as f64, *slept.last()? as f64),
            ticks: most.and_then(|mode| Some((mode.ticks?, mode.share))),
            predicted_ns: late_ns.map(|late_ns| asked_ns + late_ns as f64),
        })
    }

    fn in_ticks(&self) -> String {
        match self.ticks {
            Some((ticks, share)) => {
                let plural = if ticks == 1 { "" } else { "s" };
                format!(", {} % of them {ticks} tick{plural}", units::percent(share))
            }
            None => String::new(),
        }
    }

    fn row(&self) -> Vec<String> {
        let (least, most) = self.ends_ns;
        vec![
            format!("{}, {}", self.call, self.arming),
            units::nominal(self.asked_ns),
            units::fine(self.median_ns),
            units::fine(least),
            units::fine(most),
            units::or_dash(self.predicted_ns.map(units::fine)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::{Experiment, Measurement};

    use super::*;

    fn run(slept_ns: &[u64], stated_ns: Option<u64>) -> Run {
        let timers = Timers {
            asked_ns: 1_000_000,
            arming: "after-wake".to_owned(),
            stated_ns,
            ..Timers::default()
        };
        Run {
            results: vec![Measurement {
                samples_slept_ns: slept_ns.to_vec(),
                ..Measurement::of(Experiment::Timers(timers), "Sleep(1)")
            }],
            ..Run::default()
        }
    }

    #[test]
    fn a_sleep_of_whole_ticks_says_how_many() {
        let told = verdict(&run(&[15_625_000; 40], Some(15_625_000))).unwrap();
        assert_eq!(
            told.sentences,
            ["Sleep(1) asked for 1 ms takes 15.625 ms in the median, 100 % of them 1 tick."]
        );
    }

    #[test]
    fn without_ticks_only_the_length_is_said_and_of_nothing_nothing() {
        let told = verdict(&run(&[1_058_000; 40], None)).unwrap();
        assert_eq!(
            told.sentences,
            ["Sleep(1) asked for 1 ms takes 1.058 ms in the median."]
        );
        assert_eq!(verdict(&run(&[], None)), None);
    }
}
