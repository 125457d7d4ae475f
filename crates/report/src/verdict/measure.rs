//! The answers of `measure`, one for each of its experiments, in the order in which people ask.

use punctual_record::compare::{MARGIN, Metric};
use punctual_record::experiment::{Clocks, Cores, Gap, Load, Sleep, Timers, Yield};
use punctual_record::{Measurement, OfExperiment, Run, RunRow, nearest_rank};

use super::{Verdict, typical_in_words};
use crate::select::{self, Row, Sleeps, asked_ns};
use crate::tables::columns::{MAX, P50, P90, P99, SUBJECT, named};
use crate::tables::growth;
use crate::tables::table::{Cell, Table, Why};
use crate::{prose, units};

/// By the first of its experiments, with what the others say in a sentence each.
pub(super) fn verdict(run: &Run) -> Option<Verdict> {
    super::first_of(run, &[waits, timers, load, cores, gap, yields, clocks])
}

const TABLES: &str = "--full has all tables.";

/// The rows of an experiment that have waits; `None` without any.
fn measured<E: OfExperiment>(run: &Run) -> Option<Vec<Row<'_, E>>> {
    let mut rows = select::of_run::<E>(run);
    rows.retain(|row| row.m.late_ns.n > 0);
    (!rows.is_empty()).then_some(rows)
}

/// A waiting thread, by call and priority.
type Waiter<'r> = (&'r str, &'r str);

/// The effect of computing threads on a wait, and of a priority.
fn load(run: &Run) -> Option<Verdict> {
    let rows = measured::<Load>(run)?;
    let loads = select::values(&rows, |of| of.load_per_cpu);
    let most = *loads.last()?;
    let waiters = select::grouped(rows.iter().copied(), |row| -> Waiter {
        (row.m.subject.as_str(), row.of.priority.as_str())
    });
    let at = |group: &[Row<'_, Load>], load: f64| -> Option<(f64, i64)> {
        let row = select::at(group, |of| of.load_per_cpu, load)?;
        Some((row.m.late_ns.mean, row.m.late_ns.max))
    };
    let told = |(mean, max): (f64, i64)| {
        format!(
            "{} late on average and {} at most",
            units::duration(mean),
            units::duration(max)
        )
    };
    let ((call, _), usual) = waiters.first()?;
    let asked = units::nominal(asked_ns(usual[0].of));
    let loaded = at(usual, most)?;
    let idle = at(usual, 0.0).filter(|_| most > 0.0);
    let mut sentences = vec![format!(
        "With {} computing threads for each CPU, a {asked} wait with {call} ends {}{}.",
        units::plain(most),
        told(loaded),
        idle.map_or_else(String::new, |idle| format!(
            "; without them, {}",
            told(idle)
        ))
    )];
    let counted = select::at(usual, |of| of.load_per_cpu, most);
    if let Some(ns) = counted.and_then(|row| row.m.queued_per_wait_ns) {
        sentences.push(format!(
            "It spends {} of that in the run queue, ready but without a CPU.",
            units::duration(ns)
        ));
    }
    let best = waiters
        .iter()
        .filter_map(|(who, group)| Some((at(group, most)?, *who)));
    let best = best.min_by(|a, b| a.0.0.total_cmp(&b.0.0));
    if let Some((least, (call, priority))) = best {
        sentences.push(match least.0 < loaded.0 / 2.0 {
            true => format!(
                "Least affected is {call} at {priority} priority: {}.",
                told(least)
            ),
            false => "No other call or priority that was measured halves this mean.".to_owned(),
        });
    }
    let heads = loads
        .iter()
        .map(|load| (format!("load {}", units::plain(*load)), *load));
    let table = Table::new("", &waiters)
        .column("call, priority", |((call, priority), _)| {
            format!("{call}, {priority}")
        })
        .each(heads, |(_, group), load| {
            let (mean, _) = at(group, *load)?;
            Some(units::duration(mean))
        });
    let next = format!(
        "Next: punctual bench --load 1 says which way to wait costs least under load; {TABLES}"
    );
    Some(Verdict::new(sentences, next).told(
        table,
        format!(
            "Mean lateness of {asked} waits; load: computing threads for each CPU. Small differences may be \
             chance: there are no intervals."
        ),
    ))
}

/// Whether one CPU wakes later than another.
fn cores(run: &Run) -> Option<Verdict> {
    let rows = measured::<Cores>(run)?;
    let known = rows
        .iter()
        .filter_map(|row| Some((row.m.late_ns.p50?, row.m.subject.as_str())));
    let known: Vec<(i64, &str)> = known.collect();
    let (least, most) = (known.iter().min()?, known.iter().max()?);
    let ratio = most.0 as f64 / least.0.max(1) as f64;
    let [quick, slow] = [least.0, most.0].map(units::duration);
    let asked = units::nominal(asked_ns(rows[0].of));
    let begin = format!("A wait of {asked} ends {quick} late in the median");
    let sentence = match ratio < ALIKE {
        true => format!("{begin}; no CPU differs by more than a tenth."),
        false => format!(
            "{begin} on {}, and {slow} on {}, {} times as late.",
            least.1,
            most.1,
            units::ratio(ratio)
        ),
    };
    let table = Table::new("", &rows)
        .told([named("CPU", SUBJECT)])
        .column("type", |row| row.of.core_type.clone())
        .told([named("late p50", P50), P99, MAX]);
    let next = format!(
        "Next: punctual bench --cpu {} measures on the CPU that is least late; {TABLES}",
        least.1.trim_start_matches("CPU ")
    );
    Some(Verdict::new(vec![sentence], next).told(
        table,
        format!(
            "n = {} waits of a thread that is pinned to the CPU.",
            select::waits(&rows)
        ),
    ))
}

/// Medians nearer than this are called alike.
const ALIKE: f64 = 1.1;

/// Whether waking up takes longer after a longer rest.
fn gap(run: &Run) -> Option<Verdict> {
    let rows = measured::<Gap>(run)?;
    let calls = select::by_subject(&rows);
    let grows = |(call, group): &(&str, Vec<Row<'_, Gap>>)| {
        let growth = growth(&select::ascending(group, asked_ns))?;
        Some(format!("With {call}, {growth}"))
    };
    let sentences: Vec<String> = calls.iter().filter_map(grows).collect();
    let asleep = select::values(&rows, asked_ns);
    let groups = calls.iter().map(|(call, group)| (*call, group));
    let table = Table::new("", &asleep)
        .column("asleep", |asleep| units::nominal(*asleep))
        .each(groups, |asleep, group| {
            let row = select::at(group, asked_ns, *asleep)?;
            select::typical_ns(row.m).map(units::duration)
        });
    let next =
        format!("Next: punctual doctor says whether idle states of the CPU cause this; {TABLES}");
    (!sentences.is_empty()).then(|| {
        Verdict::new(sentences, next).told(
            table,
            "Median lateness after a sleep of each length; the mean where there are fewer than 20.",
        )
    })
}

/// When a thread that yields is back.
fn yields(run: &Run) -> Option<Verdict> {
    let rows = measured::<Yield>(run)?;
    let told = |row: &Row<'_, Yield>| {
        let late = &row.m.late_ns;
        let beside = match row.of.competitors {
            0 => "Alone,",
            1 => "Beside a thread that computes on its CPU,",
            _ => "Beside several threads that compute on its CPU,",
        };
        let typical = match late.p50 {
            Some(p50) => format!("{} in the median", units::duration(p50)),
            None => format!("{} on average", units::duration(late.mean)),
        };
        format!(
            "{beside} a yield takes {typical} and {} at most.",
            units::duration(late.max)
        )
    };
    let table = Table::new("", &rows)
        .column("on its CPU", |row| select::background(row.of))
        .told([P50, P90, P99, MAX]);
    let sentence = rows.iter().map(told).collect::<Vec<_>>().join(" ");
    let next =
        format!("Next: punctual measure jobs compares yielding, spinning and blocking; {TABLES}");
    Some(Verdict::new(vec![sentence], next).told(
        table,
        format!(
            "Time from the call to its return, n = {} yields.",
            select::waits(&rows)
        ),
    ))
}

/// The cost of reading a clock, and its resolution.
fn clocks(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<Clocks>(run);
    let cost = |row: &Row<'_, Clocks>| row.of.read_cost_ns.and_then(|cost| cost.p50);
    let step = |row: &Row<'_, Clocks>| row.of.step_ns.and_then(|step| step.p50);
    let read = rows.iter().find_map(|row| {
        let cost = units::duration(cost(row)?);
        Some(format!("Reading {} takes {cost}.", row.m.subject))
    });
    let coarse = rows.iter().filter(|row| row.of.tick_written == Some(true));
    let coarse = coarse.filter_map(|row| Some((step(row)?, row.m.subject.as_str())));
    let coarsest = coarse.max().map(|(step, clock)| {
        format!(
            "The coarsest clock, {clock}, is updated by the timer tick, {} at a time.",
            units::fine(step)
        )
    });
    let sentences: Vec<String> = [read, coarsest].into_iter().flatten().collect();
    let table = Table::new("", &rows)
        .told([named("clock", SUBJECT)])
        .column("stated", |row| row.of.stated_ns.map(units::nominal))
        .blank(Why::NOT_STATED)
        .in_words("stated: the resolution that the OS states.")
        .column("step p50", |row| step(row).map(units::fine))
        .in_words("step: the difference between two successive values.")
        .column("read cost", |row| cost(row).map(units::duration))
        .column("updated by", |row| {
            Some(if row.of.tick_written? {
                "the tick"
            } else {
                "counter"
            })
        });
    let next =
        format!("Next: punctual measure timers shows how ticks lengthen short sleeps; {TABLES}");
    (!sentences.is_empty()).then(|| Verdict::new(sentences, next).told(table, ""))
}

pub(super) fn timers(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<Timers>(run);
    let groups = select::grouped(rows.iter().copied(), |row| {
        (
            row.m.subject.as_str(),
            asked_ns(row.of),
            row.of.arming.as_str(),
        )
    });
    let told: Vec<Sleeps> = groups
        .iter()
        .filter_map(|(_, rows)| Sleeps::of(rows))
        .collect();
    let first = told.first()?;
    let random = told.iter().find(|told| told.arming == "random-phase");
    let mut sentences = vec![format!(
        "{} takes {} in the median{}{}.",
        sleep_of(first),
        figures(first)[0],
        in_ticks(first),
        prose::when(random.is_some(), || ", if it begins right after a wake-up"
            .to_owned())
    )];
    sentences.extend(random.filter(|told| told.call == first.call).map(|random| {
        let [median, least, most] = figures(random);
        format!("If it begins at a random moment, it takes {median} in the median, from {least} to {most}.")
    }));
    let next = "Next: punctual doctor says why sleeps are this long, and what helps; --full has all rounds.";
    let table = Table::new("", &told)
        .column("call, begun", |told| {
            format!("{}, {}", told.call, told.arming)
        })
        .column("wait of", |told| units::nominal(told.asked_ns))
        .only_if(told.iter().any(|other| other.asked_ns != first.asked_ns))
        .each([("p50", 0), ("min", 1), ("max", 2)], |told, which| {
            figures(told)[*which].clone()
        })
        .column("predicted", |told| told.predicted_ns.map(units::fine))
        .in_words(PREDICTED_IN_WORDS);
    Some(Verdict::new(sentences, next).told(
        table,
        "after-wake: each sleep begins as soon as the one before it has ended. random-phase: it begins after work of \
         a random length.",
    ))
}

/// The meaning of the column.
const PREDICTED_IN_WORDS: &str =
    "predicted: by the timer rule in force, without the time that waking up takes.";

/// `Sleep(1)`, or `clock_nanosleep of 1 ms` where the name does not state the length.
fn sleep_of(sleeps: &Sleeps) -> String {
    match sleeps.call.ends_with(')') {
        true => sleeps.call.to_string(),
        false => format!("{} of {}", sleeps.call, units::nominal(sleeps.asked_ns)),
    }
}

/// How many ticks most of them are long, and how many most are.
fn in_ticks(sleeps: &Sleeps) -> String {
    let modes = sleeps.modes.iter();
    let most = modes.max_by(|a, b| a.share.total_cmp(&b.share));
    let ticks = most.and_then(|mode| Some((mode.ticks?, mode.share)));
    ticks.map_or_else(String::new, |(ticks, share)| {
        let ticks = prose::counted(ticks, "tick");
        format!(" ({} % of the sleeps last {ticks})", units::percent(share))
    })
}

/// The median, the shortest and the longest.
fn figures(sleeps: &Sleeps) -> [String; 3] {
    let slept = &sleeps.slept_ns;
    let median = nearest_rank(slept, 500).unwrap_or_default();
    [median, slept[0], slept[slept.len() - 1]].map(units::fine)
}

/// The length that people ask about.
const USUAL_NS: u64 = 1_000_000;

pub(super) fn waits(run: &Run) -> Option<Verdict> {
    let mut rows = select::of_run::<Sleep>(run);
    rows.retain(|row| row.of.asked_ns == USUAL_NS && row.m.late_ns.n > 0);
    rows.sort_by(|a, b| typical_ns(a).total_cmp(&typical_ns(b)));
    let ordinary = rows
        .iter()
        .find(|row| row.of.method == run.machine.sleep_method);
    let least = rows.first()?;
    let mut sentences: Vec<String> = ordinary.map(|row| in_words(row)).into_iter().collect();
    let others: Vec<(&str, Told)> = rows[1..]
        .iter()
        .map(|row| (row.of.method.as_str(), told(least, row)))
        .collect();
    sentences.extend(least_late(&rows, ordinary, &others));
    let early = rows.iter().filter(|row| row.m.late_ns.early > 0);
    let early = prose::list(early.map(|row| &row.of.method));
    if !early.is_empty() {
        sentences.push(format!("Some waits ended early: {early}."));
    }
    let are_apart = others.iter().all(|(_, told)| *told == Told::Apart);
    let table = Table::new("", &rows)
        .column("call, 1 ms", |row| row.of.method.as_str())
        .column("late", |row| {
            let is_least = std::ptr::eq(row.m, least.m);
            let mark = match (is_least, are_apart) {
                (true, true) => Some("least"),
                (true, false) => (rows.len() > 1).then_some("alike"),
                (false, _) => (told(least, row) != Told::Apart).then_some("alike"),
            };
            Cell::from(units::duration(typical_ns(row))).marked(mark)
        })
        .mark_in_words("alike", "alike: not significantly above the lowest.")
        .told([P99])
        .if_known()
        .told([MAX])
        .column("CPU per wait", |row| {
            row.m.cpu.per_wait_ns.map(units::duration)
        })
        .blank(Why::NOT_COUNTED);
    let waits = select::waits(&rows);
    let next = "Next: punctual doctor says why waits are this late, and what helps; --full has all lengths.";
    Some(Verdict::new(sentences, next).told(
        table,
        format!("n = {waits} waits of 1 ms each. late: the median, or the mean of fewer than 20."),
    ))
}

/// Whether a call is later than the least late one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// By more than rounds of one machine differ by.
    Apart,
    /// Not beyond that.
    Alike,
    /// One of them has too few rounds to tell.
    Unjudged,
}

fn told(least: &Row<'_, Sleep>, other: &Row<'_, Sleep>) -> Told {
    let interval = |row: &Row<'_, Sleep>| {
        let known = Measurement::cell(&[row.m]).known;
        let of = [Metric::LATE_P50, Metric::LATE_MEAN];
        of.iter().find_map(|metric| known.get(metric))?.interval
    };
    match (interval(least), interval(other)) {
        (Some(least), Some(other)) if other.low > least.high.max(least.high * MARGIN) => {
            Told::Apart
        }
        (Some(_), Some(_)) => Told::Alike,
        _ => Told::Unjudged,
    }
}

/// Which call is the least late, if the rounds tell; `others` are all but the first of the rows.
fn least_late(
    rows: &[Row<'_, Sleep>],
    ordinary: Option<&Row<'_, Sleep>>,
    others: &[(&str, Told)],
) -> Option<String> {
    let least = rows.first()?;
    let those = |wanted| {
        let of = others.iter().filter(move |(_, told)| *told == wanted);
        of.map(|(method, _)| *method)
    };
    let (alike, unjudged) = (those(Told::Alike).count(), those(Told::Unjudged).count());
    let is_ordinary = |method: &str| ordinary.is_some_and(|row| row.of.method == method);
    let n = rows.len();
    if n == 1 {
        let is_told = is_ordinary(&least.of.method);
        return (!is_told).then(|| format!("{} ends {}.", least.of.method, late(least)));
    }
    if alike + 1 == n {
        return Some(format!(
            "No significant difference of more than 10 % between the {n} calls."
        ));
    }
    if unjudged > 0 {
        return Some(format!(
            "Of {n} calls {} was the least late, {}; 6 rounds are needed to compare them.",
            least.of.method,
            late(least)
        ));
    }
    match alike {
        0 if is_ordinary(&least.of.method) => None,
        0 => Some(format!(
            "The least late of {n} calls is {}: {}.",
            least.of.method,
            late(least)
        )),
        _ => Some(format!(
            "The least late of {n} calls, without a significant difference, are {}: {}.",
            prose::list(
                [least.of.method.as_str()]
                    .into_iter()
                    .chain(those(Told::Alike))
            ),
            late(least)
        )),
    }
}

fn in_words(row: &Row<'_, Sleep>) -> String {
    let predicted = match row.m.predicted_late_ns {
        Some(predicted) => format!(
            " The timer rule in force predicts {}.",
            units::duration(predicted)
        ),
        None => String::new(),
    };
    format!(
        "A 1 ms wait with {} ends {}.{predicted}",
        row.of.method,
        late(row)
    )
}

fn typical_ns(row: &Row<'_, Sleep>) -> f64 {
    select::typical_ns(row.m).unwrap_or(f64::MAX)
}

/// `58.0 us late in the median, 66.0 us at p99`.
fn late(row: &Row<'_, Sleep>) -> String {
    let late = &row.m.late_ns;
    let typical = typical_in_words(row.m).unwrap_or_default();
    match late.p99 {
        Some(p99) => format!("{typical}, {} at p99", units::duration(p99)),
        None => format!("{typical}, {} at most", units::duration(late.max)),
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::experiment::Lengths;
    use punctual_record::{Experiment, Late, Measurement, Round};

    use super::*;

    fn run(results: impl IntoIterator<Item = (Experiment, &'static str, i64)>) -> Run {
        let measured = |(of, subject, late)| Measurement {
            late_ns: Late::of(&[late; 20]),
            ..Measurement::of(of, subject)
        };
        Run::of(results.into_iter().map(measured))
    }

    fn sentences(run: &Run) -> Vec<String> {
        verdict(run).unwrap().sentences
    }

    fn loaded(priority: &str, load_per_cpu: f64, late: i64) -> (Experiment, &'static str, i64) {
        let of = Load {
            asked_ns: 1_000_000,
            load_per_cpu,
            priority: priority.to_owned(),
        };
        (Experiment::Load(of), "sleep", late)
    }

    #[test]
    fn a_load_says_what_it_does_and_whether_a_priority_helps() {
        let normal = [
            loaded("normal", 0.0, 50_000),
            loaded("normal", 2.0, 2_000_000),
        ];
        let helped = run(normal.into_iter().chain([loaded("real-time", 2.0, 8_000)]));
        assert_eq!(
            sentences(&helped),
            [
                "With 2 computing threads for each CPU, a 1 ms wait with sleep ends 2.00 ms late on average and 2.00 ms at most; \
                 without them, 50.0 us late on average and 50.0 us at most.",
                "Least affected is sleep at real-time priority: 8.00 us late on average and 8.00 us at most.",
            ]
        );
        let table = verdict(&helped).unwrap().overview.unwrap();
        assert_eq!(table.rows[1], ["sleep, real-time", "-", "8.00 us"]);
        let all_alike = sentences(&run([
            loaded("normal", 1.0, 900_000),
            loaded("real-time", 1.0, 800_000),
        ]));
        assert!(
            all_alike[1].starts_with("No other call or priority"),
            "{all_alike:?}"
        );
    }

    #[test]
    fn a_slow_cpu_is_named_and_alike_ones_are_not() {
        let on = |on_cpu, name, late| {
            let of = Cores {
                on_cpu,
                asked_ns: 1_000_000,
                core_type: None,
            };
            (Experiment::Cores(of), name, late)
        };
        assert_eq!(
            sentences(&run([on(0, "CPU 0", 50_000), on(1, "CPU 1", 150_000)])),
            [
                "A wait of 1 ms ends 50.0 us late in the median on CPU 0, and 150 us on CPU 1, 3.00 times as late."
            ]
        );
        assert_eq!(
            sentences(&run([on(0, "CPU 0", 50_000), on(1, "CPU 1", 51_000)])),
            [
                "A wait of 1 ms ends 50.0 us late in the median; no CPU differs by more than a tenth."
            ]
        );
    }

    #[test]
    fn rests_and_yields_are_told_in_a_sentence_each() {
        let asleep = |asked_ns, late| {
            let of = Gap {
                method: "sleep".to_owned(),
                asked_ns,
            };
            (Experiment::Gap(of), "sleep", late)
        };
        let yields = |competitors, took| (Experiment::Yield(Yield { competitors }), "yield", took);
        let all = run([
            asleep(1_000_000, 8_000),
            asleep(1_000_000_000, 80_000),
            yields(0, 200),
            yields(1, 4_000_000),
        ]);
        assert_eq!(
            sentences(&all),
            [
                "With sleep, the median latency is 8.00 us after 1 ms asleep and 80.0 us after 1 s: 10.0 times as much.",
                "Alone, a yield takes 200 ns in the median and 200 ns at most. Beside a thread that computes on its CPU, a yield \
                 takes 4.00 ms in the median and 4.00 ms at most.",
            ]
        );
        assert_eq!(verdict(&run([asleep(1_000_000, 8_000)])), None);
    }

    #[test]
    fn of_clocks_the_cost_and_the_coarsest_are_told() {
        let lengths = |ns| {
            Some(Lengths {
                n: 20,
                p50: Some(ns),
                ..Lengths::default()
            })
        };
        let counter = Clocks {
            read_cost_ns: lengths(25),
            ..Clocks::default()
        };
        let coarse = Clocks {
            step_ns: lengths(4_000_000),
            tick_written: Some(true),
            ..Clocks::default()
        };
        let both = run([
            (Experiment::Clocks(counter), "fine", 0),
            (Experiment::Clocks(coarse), "coarse", 0),
        ]);
        assert_eq!(
            sentences(&both),
            [
                "Reading fine takes 25 ns.",
                "The coarsest clock, coarse, is updated by the timer tick, 4.000 ms at a time.",
            ]
        );
        assert_eq!(
            verdict(&run([(Experiment::Clocks(Clocks::default()), "unread", 0)])),
            None
        );
    }

    fn of_timers(slept_ns: &[u64], stated_ns: Option<u64>) -> Run {
        let timers = Timers {
            asked_ns: 1_000_000,
            arming: "after-wake".to_owned(),
            stated_ns,
            ..Timers::default()
        };
        Run::of([Measurement {
            samples_slept_ns: slept_ns.to_vec(),
            ..Measurement::of(Experiment::Timers(timers), "Sleep(1)")
        }])
    }

    #[test]
    fn a_sleep_of_whole_ticks_says_how_many() {
        let told = timers(&of_timers(&[15_625_000; 40], Some(15_625_000))).unwrap();
        assert_eq!(
            told.sentences,
            ["Sleep(1) takes 15.625 ms in the median (100 % of the sleeps last 1 tick)."]
        );
    }

    #[test]
    fn without_ticks_only_the_length_is_said_and_of_nothing_nothing() {
        let told = timers(&of_timers(&[1_058_000; 40], None)).unwrap();
        assert_eq!(told.sentences, ["Sleep(1) takes 1.058 ms in the median."]);
        assert_eq!(timers(&of_timers(&[], None)), None);
    }

    fn row(method: &str, late_ns: &[i64]) -> Measurement {
        let of = Sleep {
            method: method.to_owned(),
            asked_ns: USUAL_NS,
        };
        Measurement {
            late_ns: Late::of(late_ns),
            ..Measurement::of(Experiment::Sleep(of), method)
        }
    }

    fn of_waits(results: Vec<Measurement>) -> Run {
        let mut run = Run::of(results);
        run.machine.sleep_method = "Sleep".to_owned();
        run
    }

    /// In six rounds of 20 waits.
    fn in_rounds(method: &str, late_ns: i64) -> Measurement {
        let samples = [late_ns; 120];
        let rounds = samples.chunks(20);
        Measurement {
            rounds: rounds.map(|late| Round::of(late, None, None)).collect(),
            samples_late_ns: samples.to_vec(),
            ..row(method, &samples)
        }
    }

    #[test]
    fn no_call_is_named_that_rounds_do_not_tell_apart() {
        let said = |late: &[(&str, i64)]| {
            let rows = late.iter().map(|(method, ns)| in_rounds(method, *ns));
            let verdict = waits(&of_waits(rows.collect())).unwrap();
            (verdict.sentences, verdict.overview.unwrap().rows)
        };
        let (sentences, rows) = said(&[("poll", 258_000), ("select", 258_000)]);
        assert_eq!(
            sentences,
            ["No significant difference of more than 10 % between the 2 calls."]
        );
        assert!(rows.iter().all(|row| row[1] == "alike 258 us"), "{rows:?}");
        let (sentences, rows) = said(&[("poll", 258_000), ("select", 260_000), ("Sleep", 900_000)]);
        assert_eq!(
            sentences[1],
            "The least late of 3 calls, without a significant difference, are poll, select: 258 us late in the median, 258 us at most."
        );
        assert_eq!(rows[2][1], "900 us");
        let few = [row("poll", &[9_000; 20]), row("select", &[90_000; 20])];
        let verdict = waits(&of_waits(few.to_vec())).unwrap();
        assert!(
            verdict.sentences[0].contains("6 rounds are needed to compare them"),
            "{verdict:?}"
        );
    }

    #[test]
    fn the_ordinary_call_comes_first_and_then_the_least_late() {
        let verdict = waits(&of_waits(vec![
            in_rounds("Sleep", 14_600_000),
            in_rounds("timer", 500_000),
        ]))
        .unwrap();
        assert_eq!(
            verdict.sentences,
            [
                "A 1 ms wait with Sleep ends 14.6 ms late in the median, 14.6 ms at most.",
                "The least late of 2 calls is timer: 500 us late in the median, 500 us at most.",
            ]
        );
        let rows = verdict.overview.unwrap().rows;
        assert_eq!(
            (rows[0][0].as_str(), rows[1][0].as_str()),
            ("timer", "Sleep")
        );
    }

    #[test]
    fn a_wait_that_ends_before_its_deadline_is_early_and_not_late_by_less_than_nothing() {
        let verdict = waits(&of_waits(vec![in_rounds("Sleep", -14)])).unwrap();
        assert!(
            verdict.sentences[0].contains("Sleep ends 14 ns early in the median"),
            "{verdict:?}"
        );
    }

    #[test]
    fn who_is_least_late_already_is_named_once_and_early_waits_are_told() {
        let verdict = waits(&of_waits(vec![row("Sleep", &[-5, 1, 2])])).unwrap();
        assert_eq!(verdict.sentences.len(), 2);
        assert_eq!(verdict.sentences[1], "Some waits ended early: Sleep.");
    }

    #[test]
    fn without_such_a_length_there_is_no_verdict() {
        assert_eq!(waits(&of_waits(vec![])), None);
        assert_eq!(waits(&of_waits(vec![row("Sleep", &[])])), None);
    }
}
