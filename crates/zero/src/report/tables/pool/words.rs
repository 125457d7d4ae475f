//! What the numbers of pools mean.

use punctual_report::tables::interval_in_words;
use punctual_report::{prose, select, units};

use crate::report;
use crate::report::{Cell, Section};

/// What the columns of all sections are, once for all of them.
pub(super) fn all(sections: &[Section]) -> String {
    let cells = || sections.iter().flat_map(|section| &section.cells);
    let mut words = vec![HEADLINE, BATCH, RATIOS];
    if cells().any(|cell| cell.zeroing.predicted.is_some()) {
        words.push(PREDICTED);
    }
    if cells().any(|cell| cell.closed_form.is_some()) {
        words.push(CLOSED_FORM);
    }
    if cells().any(|cell| cell.arriving.is_some()) {
        words.push(ARRIVING);
    }
    words.extend([CPU, LOCK, BEST]);
    if cells().any(Cell::is_oversubscribed) {
        words.push(OVERSUBSCRIBED);
    }
    let words = words.into_iter();
    let words: String = words.map(|words| prose::indented("  ", words)).collect();
    format!("What the columns of zero-pool are\n{words}")
}

const HEADLINE: &str = "GB per CPU-s: GB (1e9 bytes) zeroed per second of the CPU time that all workers used \
    together. wall: per second that passed.";

const BATCH: &str = "batch: the pages of 4096 bytes that a worker takes at a time; n: as many as there are workers.";

const RATIOS: &str = "x ideal thread: the CPU time of a GB over that of one ideal thread, the best of one thread with \
    the same memory, whatever the kernel. x without waiting: over that of the same pool if nobody waited, \
    1 / (1 - waiting).";

const PREDICTED: &str = "predicted: by the model of the computer, from measurements of its parts and of no pool. \
    error: by how much that is more than what came out.";

const CLOSED_FORM: &str = "closed form: GB per CPU-s after the birth-death chain of Boyd-Wickizer and others (2012), fed \
    with the same figures.";

const ARRIVING: &str = "CPUs busy: on average, of bursts and the time between them. duty: the share of time in which there \
    is a burst. keeps up: whether all that arrives gets zeroed.";

const CPU: &str = "zeroing, hold, waiting, other: shares of the CPU time. hold: holding the lock. waiting: for the \
    lock, spinning or on the way to be parked. parked: the share of the workers' time that they were off the CPU.";

const LOCK: &str = "takes: how often pages were taken, those that found none included. wait, hold: of single takes.";

const BEST: &str = "`>`: the most of its section, or an interval that reaches it.";

const OVERSUBSCRIBED: &str = "`*`: more threads than CPUs, which measures the scheduler: ticket and mcs hand the lock \
    over to a worker who may not be on a CPU, and all wait for it. With a CPU for each thread that does not happen. \
    Such pools are never the best or the worst.";

/// A number of threads, with the mark of too many.
pub(super) fn threads(section: &Section, threads: u64) -> String {
    let mut of_threads = section.cells.iter().filter(|c| c.threads == threads);
    match of_threads.any(Cell::is_oversubscribed) {
        true => format!("{threads}*"),
        false => threads.to_string(),
    }
}

/// How many rounds there were, and what an interval is.
pub(super) fn rounds(section: &Section) -> String {
    let rounds = || section.cells.iter().map(|cell| cell.zeroing.rounds.len());
    if section.cells.iter().any(Cell::has_a_models_interval) {
        return "One pass each, simulated [what would come out if one of the figures that are not known of the computer \
            were at an end of its interval]."
            .to_owned();
    }
    if rounds().all(|n| n <= 1) {
        return "One pass each, so there are no intervals.".to_owned();
    }
    interval_in_words(rounds())
}

/// The same where no interval stands beside a number.
pub(super) fn medians(section: &Section) -> String {
    let rounds = section.cells.iter().map(|cell| cell.zeroing.rounds.len());
    match select::counts(rounds.map(|n| n as u64)).as_str() {
        "0" | "1" => "One pass each.".to_owned(),
        many => format!("Medians over {many} rounds."),
    }
}

/// The best, the worst and the fastest.
pub(super) fn summary(section: &Section) -> Vec<String> {
    let ranked = section.ranked();
    let (Some(best), Some(worst)) = (ranked.first(), ranked.last()) else {
        return vec![];
    };
    let others = ranked.iter().filter(|cell| section.is_best(cell)).count() - 1;
    let reach = match others {
        0 => String::new(),
        1 => ", which the interval of another reaches".to_owned(),
        more => format!(", which the intervals of {more} others reach"),
    };
    let per_cpu_s = |cell: &Cell| {
        let zeroing = &cell.zeroing;
        let gb = units::gb(zeroing.gb_per_cpu_s.median);
        let gib = units::gb(zeroing.gib_per_cpu_s);
        format!("{gb} GB ({gib} GiB) per CPU-s")
    };
    let wall = |cell: &Cell| cell.zeroing.wall_gb_per_s.median;
    let fastest = ranked.iter().max_by(|a, b| wall(a).total_cmp(&wall(b)));
    let mut words = vec![
        format!("Best: {}: {}{reach}.", best.in_words(), per_cpu_s(best)),
        format!("Worst: {}: {}.", worst.in_words(), per_cpu_s(worst)),
    ];
    words.extend(fastest.map(|fastest| {
        format!(
            "Most per second that passed: {}: {} GB, at {}.",
            fastest.in_words(),
            units::gb(wall(fastest)),
            per_cpu_s(fastest)
        )
    }));
    words
}

/// Which thread is the ideal one.
pub(super) fn ideal(section: &Section) -> Option<String> {
    let ideal = section.ideal.as_ref()?;
    Some(format!(
        "The ideal thread: {}: {} GB per CPU-s.",
        ideal.of,
        units::gb(ideal.gb_per_cpu_s)
    ))
}

/// How many takes there are, and how many of them were timed.
pub(super) fn timed(section: &Section, cells: &[&Cell]) -> String {
    let per = match section.is_in_bursts() {
        true => "burst",
        false => "pass over the memory",
    };
    let text = format!("takes: in one {per}, the median.");
    let timed = || cells.iter().filter(|cell| cell.zeroing.wait_ns.n > 0);
    if timed().next().is_none() {
        return text;
    }
    let every = timed().map(|cell| u64::from(cell.zeroing.sampled_every));
    let which = match select::counts(every).as_str() {
        "1" => "Every take".to_owned(),
        every => format!("One take in {every}"),
    };
    let n = select::counts(timed().map(|cell| cell.zeroing.wait_ns.n));
    let overhead = timed().map(|cell| cell.zeroing.sampling_overhead);
    let overhead = match overhead.fold(0.0, f64::max) {
        // On a simulated computer that takes no time.
        0.0 => String::new(),
        share => format!(
            "; reading the clock for that took at most {} % of the CPU time",
            units::percent(share)
        ),
    };
    format!("{text} {which} was timed, n = {n} in each row{overhead}.")
}

/// Where the rest of the cells is.
pub(super) fn left_out(section: &Section, cells: &[&Cell]) -> Option<String> {
    let left_out = section.cells.len() - cells.len();
    let mut threads: Vec<u64> = cells.iter().map(|cell| cell.threads).collect();
    threads.dedup();
    let which = if threads.len() < section.threads().len() {
        let threads: Vec<String> = threads.into_iter().map(report::threads_in_words).collect();
        threads.join(" and of ")
    } else {
        "each number of threads".to_owned()
    };
    (left_out > 0).then(|| {
        format!(
            "Only the best, the worst and batch 1 of {which}; the matrix above has the {left_out} other cells, and the \
             JSON all of each."
        )
    })
}
