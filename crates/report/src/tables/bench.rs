//! The tables of `bench`: waits at a rate, single waits and naps, regimes, and the knowledge of
//! strategies.

use punctual_record::experiment::{
    Decades, Frames, IntervalLength, Learning, Naps, Pace, RegimeBatch, Regimes, Robustness,
};
use punctual_record::regimes::{self, Cell, ROUNDS_MIN, Verdict};
use punctual_record::{
    CAP_NS, Estimate, LateTarget, Learned, LearnedCall, LearnedClass, Measurement, median,
};

use super::cells::Section;
use super::columns::{
    CPU, CPU_PER_WAIT, EARLY, MAX, MEAN, MEAN_CAPPED, MIN, MISSED, N, OVER_1MS, P50, P75, P90, P99,
    P999, PREDICTED, QUEUED, STOLEN, SUBJECT, named, typical,
};
use super::cost::{self, Counted, ratio_within};
use super::table::{Table, Why};
use crate::select::{self, Row, asked_ns};
use crate::{prose, units};

/// For each rate: lateness, CPU time, the cost of a wait in each way to count
/// it, and the time that was lost to others.
pub(crate) fn pace(measurements: &[Row<'_, Pace>]) -> Vec<Section> {
    select::grouped(measurements.iter().copied(), select::rate)
        .iter()
        .flat_map(|(rate, group)| {
            let name = format!("pace at {rate}");
            let all = select::plain(group);
            let mut sections = vec![lateness(&name, group), cpu_and_wakes(&name, &all)];
            sections.extend(cost::per_wait(&name, &all, Counted::Capped));
            sections.extend(cost::over_informed(&name, &all));
            sections.extend(cost::per_wait(&name, &all, Counted::Whole));
            sections.extend(cost::with_naps(&name, &all));
            sections.extend(causes(&name, &all));
            sections
        })
        .collect()
}

fn lateness(name: &str, group: &[Row<'_, Pace>]) -> Section {
    let every = group.first().map_or_else(String::new, |m| {
        format!("One wait every {}. ", units::nominal(m.of.period_ns))
    });
    Table::new(format!("{name}: lateness"), group)
        .told([SUBJECT, N, PREDICTED])
        .note(
            "predicted: the p50 that the timer rule in force gives a timer alone on its CPU, if waking \
             up cost nothing.",
        )
        .if_known()
        .told([MIN, P50, P75, P90, P99, P999, MAX, OVER_1MS])
        .each(targets(group), |m, target| later(m, target))
        .told([MEAN, MEAN_CAPPED])
        .caption(format!(
            "{every}n: waits. > 1 ms: the waits that ended more than 1 ms late. mean capped: each lateness \
             counted as at most {}.",
            units::nominal(CAP_NS)
        ))
        .captions((!targets(group).is_empty()).then_some(
            "late > X at most Y %: the share of deadlines that were later, missed ones included. A subject with \
             this target has `met` or `not met` behind; chance may add two standard deviations.",
        ))
        .caption(warm_up(group))
        .section()
}

/// The targets of subjects about lateness, each once, as the head of a column.
fn targets(group: &[Row<'_, Pace>]) -> Vec<(String, LateTarget)> {
    let mut targets: Vec<(String, LateTarget)> = Vec::new();
    for target in group
        .iter()
        .filter_map(|row| LateTarget::of_subject(&row.m.subject))
    {
        let head = format!(
            "late > {}\nat most {} %",
            units::nominal(target.late.as_ns()),
            units::plain(100.0 * target.share)
        );
        if targets.iter().all(|(_, known)| *known != target) {
            targets.push((head, target));
        }
    }
    targets
}

/// The share of deadlines that were later than a target allows. Behind it, of the subject that has
/// the target, whether it was met.
fn later(row: &Row<'_, Pace>, target: &LateTarget) -> Option<String> {
    let later = format!("{} %", units::percent(target.later(row.m)?));
    match LateTarget::of_subject(&row.m.subject) == Some(*target) {
        true => Some(format!("{later} {}", target.reached(row.m)?.name())),
        false => Some(later),
    }
}

/// How batches start, and how many waits come before those that count.
fn warm_up(group: &[Row<'_, Pace>]) -> String {
    let waits = select::counts(group.iter().map(|m| m.of.warm_up_waits));
    let plural = if waits == "1" { "" } else { "s" };
    let keeps_state = |m: &Row<'_, Pace>| m.of.learning == Learning::KeepsState;
    match group.iter().all(keeps_state) {
        true => format!(
            "A subject's first batch starts cold, later ones with what it learned, each with {waits} warm-up \
             wait{plural}."
        ),
        false => format!(
            "Each round has a fresh waiter of each subject, with {waits} warm-up wait{plural}."
        ),
    }
}

fn cpu_and_wakes(name: &str, group: &[&Measurement]) -> Section {
    Table::new(format!("{name}: CPU and wakes"), group)
        .told([SUBJECT, N, CPU])
        .column("busy %", |m| m.cpu.busy_fraction.map(units::percent))
        .blank(Why::NOT_PINNED)
        .note("busy: share of the time its CPU was not idle, for any reason.")
        .if_known()
        .told([CPU_PER_WAIT])
        .column("naps\nper wait", |m| m.wakes_per_wait.map(units::plain))
        .blank(Why::NAPS_NOT_COUNTED)
        .told([MISSED, EARLY])
        .note("early: waits that ended before their deadline.")
        .only_if(group.iter().any(|m| m.late_ns.early > 0))
        .caption(
            "CPU: time billed to the thread. naps: calls that block; of a subject whose calls are not \
             seen, how often its thread gave up the CPU. missed: deadlines that had passed before \
             their wait began.",
        )
        .section()
}

/// The parts of the lateness that the OS counted. Nothing if it counted none.
fn causes(name: &str, group: &[&Measurement]) -> Option<Section> {
    let mut counted = group
        .iter()
        .map(|m| m.queued_per_wait_ns.or(m.stolen_per_wait_ns));
    counted.find(Option::is_some)?;
    let title = format!("{name}: lost time that the OS counted, per wait");
    let table = Table::new(title, group)
        .told([SUBJECT, N, named("mean lateness", MEAN)])
        .told([named("waited for a CPU", QUEUED), STOLEN])
        .caption(
            "waited for a CPU: the thread could run, but another one did. stolen: the \
             hypervisor gave the CPU to another guest; known to 10 ms in total. Both count the whole \
             wait, its spins too, so they can exceed the lateness.",
        );
    Some(table.section())
}

/// For each rate: the shortest and the longest frame, and how far they are off.
pub(crate) fn frames(measurements: &[Row<'_, Pace>]) -> Vec<Section> {
    let rates = select::grouped(measurements.iter().copied(), select::rate);
    let tables = rates.iter().map(|(rate, group)| frames_at(rate, group));
    tables.collect()
}

fn frames_at(rate: &str, group: &[Row<'_, Pace>]) -> Section {
    let wanted = group.first().map_or_else(String::new, |m| {
        format!(" A frame should take {}.", units::nominal(m.of.period_ns))
    });
    Table::new(format!("frames at {rate}"), group)
        .told([SUBJECT, N])
        // Three digits would make all frames the same: what tells them apart comes after.
        .column("frame min", |m| Some(units::ms(known(m)?.min_ns, 3)))
        .column("frame max", |m| Some(units::ms(known(m)?.max_ns, 3)))
        .column("mean absolute error", |m| Some(units::duration(known(m)?.mean_abs_error_ns)))
        .told([named("> 1 ms %", OVER_1MS), CPU])
        .caption(format!(
            "n: waits. frame: the time from one wake to the next.{wanted} > 1 ms: the waits that ended \
             more than 1 ms late. CPU: time billed to the thread."
        ))
        .section()
}

fn known(m: &Row<'_, Pace>) -> Option<Frames> {
    m.of.frames.filter(|_| m.late_ns.n > 0)
}

/// Median lateness by the time asked for, a column per subject.
pub(crate) fn decades(measurements: &[Row<'_, Decades>]) -> Vec<Section> {
    let lengths = select::by_value(measurements, asked_ns);
    let any_mean = measurements.iter().any(|m| select::is_mean(m));
    let table = Table::new("decades: lateness by the time asked for", &lengths)
        .column("asked", |(asked, _)| units::nominal(*asked))
        .column("n", |(_, of_length)| select::waits(of_length))
        .each(select::subjects(measurements), |(_, of_length), subject| {
            select::of_subject(of_length, subject).and_then(|m| typical(&m))
        })
        .caption("Median lateness of n requests of each length.")
        .captions(any_mean.then_some("`m`: the mean, as fewer than 20 samples allow no median."));
    vec![table.section()]
}

/// CPU time billed by the interval between two waits, a column per subject.
pub(crate) fn interval(measurements: &[Row<'_, IntervalLength>]) -> Vec<Section> {
    let periods = select::by_value(measurements, |of| of.period_ns as f64);
    let table = Table::new(
        "interval: CPU % by the interval between two waits",
        &periods,
    )
    .column("interval\nms", |(period, _)| units::plain(period / 1e6))
    .column("n", |(_, of_period)| select::waits(of_period))
    .each(select::subjects(measurements), |(_, of_period), subject| {
        select::of_subject(of_period, subject).map(|m| CPU.1(&m))
    })
    .caption("CPU time billed to the thread, in % of the time that passed; n waits each.");
    vec![table.section()]
}

const OF_NAPS: &str = "CPU: time billed to the thread, with the readings of the clock before and after. wakes: how \
    often the thread gave up its CPU, as the OS counted.";

/// For each OS call: overshoot and CPU time by the length asked for.
pub(crate) fn naps(measurements: &[Row<'_, Naps>]) -> Vec<Section> {
    let calls = select::by_subject(measurements);
    let table = |(i, (call, group)): (usize, &(&str, Vec<Row<'_, Naps>>))| {
        let title = format!("naps with {call}: how much longer they were than asked");
        Table::new(title, &select::ascending(group, asked_ns))
            .column("asked", |m| units::nominal(asked_ns(m.of)))
            .told([N, P50, P90, P99, MAX, named("CPU\nper nap", CPU_PER_WAIT)])
            .column("wakes\nper nap", |m| m.wakes_per_wait.map(units::plain))
            .blank(Why::NOT_COUNTED)
            .captions((i + 1 == calls.len()).then_some(OF_NAPS))
            .section()
    };
    calls.iter().enumerate().map(table).collect()
}

/// Per subject: relative error by the time asked for and the period of the
/// scheduler.
pub(crate) fn robustness(measurements: &[Row<'_, Robustness>]) -> Vec<Section> {
    let subjects = select::by_subject(measurements);
    let blocks = subjects
        .iter()
        .map(|(subject, of_it)| robustness_of(subject, of_it));
    blocks.collect()
}

fn robustness_of(subject: &str, measurements: &[Row<'_, Robustness>]) -> Section {
    let periods = select::values(measurements, select::scheduler_ns).into_iter();
    let lengths = select::by_value(measurements, asked_ns);
    let title = format!("robustness of {subject}: relative error in %");
    Table::new(title, &lengths)
        .column("asked", |(asked, _)| units::nominal(*asked))
        .column("n", |(_, of_length)| select::waits(of_length))
        .each(
            periods.map(|period| (units::nominal(period), period)),
            |(_, of_length), period| {
                let m = select::at(of_length, select::scheduler_ns, *period)?;
                let error = m.of.relative_error.filter(|_| m.late_ns.n > 0);
                error.map(units::error_percent)
            },
        )
        .caption(format!(
            "Mean |lateness| / asked, n requests each, by the scheduler's period.{}",
            select::simulated_in_words(measurements)
        ))
        .section()
}

/// The cells, lost ones first; the means over the quiet regimes; traps.
pub(crate) fn regimes(measurements: &[Row<'_, Regimes>]) -> Vec<Section> {
    let results: Vec<Measurement> = measurements.iter().map(|m| m.m.clone()).collect();
    let mut sections = Vec::new();
    let cells = regimes::cells(&results);
    if !cells.is_empty() {
        sections.push(beside_best(&cells));
    }
    sections.extend(overall(&results));
    sections.extend(trapped(&results));
    sections.push(each_subject(&results));
    sections
}

fn beside_best(cells: &[Cell<'_>]) -> Section {
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    let widest = cells.iter().map(Cell::spread).fold(0.0, f64::max);
    let counts = format!(
        "Of {} cells {} dearer, {} undecided, {} the same, {} cheaper.",
        cells.len(),
        count(Verdict::Dearer),
        count(Verdict::Undecided),
        count(Verdict::Same),
        count(Verdict::Cheaper),
    );
    let meaning = format!(
        "Cost per wait, CPU time + w x lateness as the caller sees it, each at most 1 ms: the median over n \
         rounds. ratio: adaptive's over that of the other, round by round, with the interval that holds it with \
         95 %. dearer: all of the interval lies above 1.03, or 1.05 in other conditions than quiet; cheaper: all of it \
         below 1; same: it ends at or below that limit; undecided: it does not tell, or is of fewer than {ROUNDS_MIN} rounds."
    );
    let width = format!(
        "The widest interval reaches {} % to either side of its ratio{}.",
        units::percent(widest),
        if widest > 0.15 {
            "; for 15 % take more --rounds, or a quieter machine"
        } else {
            ""
        }
    );
    Table::new(
        "regimes: adaptive beside the best of the others, lost cells first",
        cells,
    )
    .column("regime", |cell| cell.regime)
    .column("condition", |cell| cell.condition)
    .column("w", |cell| cell.weight.to_string())
    .column("adaptive", |cell| units::duration(cell.cost.median))
    .column("best other", |cell| units::duration(cell.best_cost.median))
    .column("", |cell| cell.best.subject.as_str())
    .column("ratio", |cell| ratio_within(&cell.ratio))
    .column("n", |cell| cell.rounds.to_string())
    .column("verdict", |cell| cell.verdict.name())
    .captions([counts, meaning, width])
    .section()
}

fn overall(results: &[Measurement]) -> Option<Section> {
    let overall = regimes::overall(results);
    overall.first()?;
    let table = Table::new("regimes: what each other costs over adaptive, quiet", &overall)
        .column("w", |o| o.weight.to_string())
        .column("subject", |o| o.subject)
        .column("regimes", |o| o.regimes.to_string())
        .column("ratio", |o| ratio_within(&o.ratio))
        .caption(
            "The geometric mean over the quiet regimes that both were measured in, with its interval over the \
             rounds: above 1 adaptive costs less.",
        );
    Some(table.section())
}

fn trapped(results: &[Measurement]) -> Option<Section> {
    let looked: Vec<&Measurement> = (results.iter())
        .filter(|m| m.batches.iter().any(|b| b.load_ended))
        .collect();
    looked.first()?;
    let table = in_regimes("regimes: traps", &looked)
        .told([SUBJECT])
        .column("trapped", |m| {
            let trapped = seconds(m).filter(|s| *s > 0).count();
            format!("{trapped} of {}", batches(m).count())
        })
        .column("seconds", |m| seconds(m).sum::<u32>())
        .column("back after", |m| {
            let back = batches(m).filter_map(|b| b.back_after_waits).max();
            units::or_dash(back.map(|waits| format!("{waits} waits")))
        })
        .column("never back", |m| batches(m).filter(|b| b.back_after_waits.is_none()).count())
        .caption(
            "Batches with a second in which the subject took more than three times the share of a CPU that it took \
             before the load, or quiet if that was less, and was more than 0.5 ms late on the average; such seconds; the most waits after the load until 8 in \
             a row cost no more, on the average, than twice what they cost before it; batches without that in the 60 waits that \
             were looked at.",
        );
    Some(table.section())
}

/// The batches of a subject that a load ended in.
fn batches(m: &Measurement) -> impl Iterator<Item = &RegimeBatch> {
    m.batches.iter().filter(|b| b.load_ended)
}

fn seconds(m: &Measurement) -> impl Iterator<Item = u32> {
    batches(m).filter_map(|b| b.trapped_s)
}

fn each_subject(results: &[Measurement]) -> Section {
    let results: Vec<&Measurement> = results.iter().collect();
    in_regimes("regimes: each subject", &results)
        .told([SUBJECT, N])
        .column("CPU/wait", |m| units::duration_or_dash(m.cpu.per_wait_ns))
        .column("late p50", |m| units::duration_or_dash(m.late_ns.p50))
        .column("reported", |m| {
            let all = m.batches.iter().filter_map(|b| b.reported_late_ns_p50);
            units::duration_or_dash(median(&all.collect::<Vec<_>>()))
        })
        .column("mean", |m| units::duration(m.late_ns.mean_capped))
        .column("missed", |m| m.missed)
        .caption(
            "Means and medians over the rounds. late: by the caller's clock after the call has returned; reported: what \
             the waiter said of the same waits. mean: each lateness at most 1 ms. missed: cycles skipped because they had passed.",
        )
        .section()
}

/// A table that begins with where it was measured.
fn in_regimes<'a>(title: &str, rows: &'a [&'a Measurement]) -> Table<'a, &'a Measurement> {
    Table::new(title, rows)
        .column("regime", |m| regimes::place(m).unwrap_or_default().0)
        .column("condition", |m| regimes::place(m).unwrap_or_default().1)
}

/// A section that says what the numbers mean, and one for each strategy and
/// rate.
pub(crate) fn learned(all: &[Learned]) -> Vec<Section> {
    let mut sections = vec![opening(all).into()];
    sections.extend(all.iter().map(|learned| {
        if learned.calls.is_empty() {
            estimated(learned)
        } else {
            weighed(learned)
        }
    }));
    sections
}

const TITLE: &str = "What had been learned by the end\n";

fn opening(all: &[Learned]) -> String {
    let prose = if all.is_empty() {
        "Nothing: none of these strategies keeps anything from one wait to the next."
    } else if all.iter().all(|learned| learned.calls.is_empty()) {
        "The strategies that are not listed keep nothing from one wait to the next."
    } else {
        "A line is for naps that begin with so much time left, up to twice that. p50, p90, p99: how \
         much longer than asked they take. CPU: what one takes of the CPU. ends before: how long \
         before the deadline it is asked to end. cost: what the wait is then expected to cost from \
         there on, CPU + late weight x lateness; if that is more than the time left, the strategy spins \
         instead. Strategies that are not listed \
         keep nothing from one wait to the next."
    };
    TITLE.to_owned() + &prose::paragraph(prose)
}

/// `pace at 1000 Hz: adaptive-exact`
fn title_of(learned: &Learned) -> String {
    let rate = learned.period_ns.map(|ns| select::hertz(1e9 / ns as f64));
    let at = rate.map_or_else(String::new, |rate| format!(" at {rate}"));
    format!("{}{at}: {}", learned.experiment, learned.subject)
}

/// A strategy that weighs lateness against CPU time, call by call.
fn weighed(learned: &Learned) -> Section {
    let weight = learned.late_weight.map_or_else(String::new, |weight| {
        format!(
            ", late weight {}: 1 ns late costs as much as {} ns of CPU time",
            units::plain(weight),
            units::plain(weight)
        )
    });
    // In the order in which a wait reaches them.
    let rows = learned.calls.iter().flat_map(|call| {
        let classes = call.classes.iter().rev().enumerate();
        classes.map(move |(i, class)| (call, class, i == 0))
    });
    let rows: Vec<(&LearnedCall, &LearnedClass, bool)> = rows.collect();
    let by_length = (rows.iter()).any(|(_, class, _)| class.over_share_of_length > 0.0);
    let planned =
        move |call: &LearnedCall, ns: u64| call.grid_ns.is_none().then(|| units::duration(ns));
    Table::new(title_of(learned) + &weight, &rows)
        .column("call", |(call, _, is_first)| if *is_first { &call.method } else { "" })
        .column("time left", |(_, class, _)| match (class.left_from_ns, class.left_below_ns) {
            (0, Some(below)) => format!("< {}", units::nominal(below)),
            (from, _) => units::nominal(from),
        })
        .column("naps", |(_, class, _)| class.naps)
        .column("p50", |(_, class, _)| units::duration(class.over_ns_p50))
        .column("p90", |(_, class, _)| units::duration(class.over_ns_p90))
        .column("p99", |(_, class, _)| units::duration(class.over_ns_p99))
        .column("of its\nlength", |(_, class, _)| {
            format!("{} %", units::percent(class.over_share_of_length))
        })
        .only_if(by_length)
        .column("CPU", |(_, class, _)| units::duration(class.cpu_ns))
        .column("ends\nbefore", move |(call, class, _)| planned(call, class.margin_ns))
        .blank(Why::BY_TICKS)
        .column("cost", move |(call, class, _)| planned(call, class.cost_ns))
        .blank(Why::BY_TICKS)
        .captions(by_length.then_some(
            "of its length: p50, p90 and p99 are those of the shortest naps of a line; a longer nap takes \
             longer by this part of the difference.",
        ))
        .captions(ticks(&learned.calls))
        .section()
}

fn ticks(calls: &[LearnedCall]) -> Option<String> {
    let on_ticks: Vec<String> = calls
        .iter()
        .filter_map(|call| {
            let period = units::duration(call.grid_ns?);
            Some(format!(
                "Naps with {} are aimed at ticks {period} apart.",
                call.method
            ))
        })
        .collect();
    (!on_ticks.is_empty()).then(|| on_ticks.join(" "))
}

/// A strategy that learns one mean and its deviation.
fn estimated(learned: &Learned) -> Section {
    let mut text = prose::paragraph(&title_of(learned));
    let kinds = [
        (
            &learned.nap,
            "",
            "It naps while more than that is left, then spins.",
        ),
        (
            &learned.over,
            " longer than asked",
            "Its naps are asked to end that long before the deadline, while more is left; then it spins.",
        ),
    ];
    for (estimate, than_asked, then) in kinds {
        if let Some(estimate) = estimate {
            text += &prose::paragraph(&format!(
                "It expects a nap to take {}{than_asked}{}. {then}",
                units::duration(estimate.mean_ns),
                with_deviations(estimate)
            ));
        }
    }
    text.into()
}

fn with_deviations(estimate: &Estimate) -> String {
    // Naps differ, so that there is a deviation after the first.
    if estimate.mean_ns == estimate.bound_ns && estimate.deviations > 0.0 {
        return ", as at the beginning: it has not napped".to_owned();
    }
    let plural = if estimate.deviations == 1.0 { "" } else { "s" };
    format!(
        ", {} with {} standard deviation{plural} on top",
        units::duration(estimate.bound_ns),
        units::plain(estimate.deviations)
    )
}
