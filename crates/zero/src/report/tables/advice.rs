//! Which pool to zero pages with, what the model and a run say of it, and the rules of thumb
//! behind it; and what the parts of a pool cost on this computer: what its model is made of.

use punctual_record::{Interval, Run};
use punctual_report::tables::table::{Table, Why};
use punctual_report::tables::{Section, interval_in_words};
use punctual_report::{prose, units};

use super::signed_percent;
use crate::rows::{
    PAGE_BYTES, TakeCost, ZeroAdvice, ZeroBounds, ZeroCalibration, ZeroCost, ZeroPick, ZeroPool,
    ZeroRow, Zeroing, ZeroingPrediction,
};
use crate::{distinct, report};

pub(crate) fn advice(run: &Run<ZeroRow>) -> Vec<Section> {
    let Some(advice) = &run.beside.zero_advice else {
        return vec![];
    };
    let mut sections = vec![in_words(advice).into(), predicted(advice)];
    sections.extend(measured(run, advice));
    sections.extend(verdicts(advice).map(Section::from));
    sections.push(rules(advice).into());
    sections
}

/// `use 8 threads, batch 64, lock counter`, for each goal.
fn in_words(advice: &ZeroAdvice) -> String {
    let pages = units::bytes((advice.pages * PAGE_BYTES) as f64);
    let mut text = prose::paragraph(&format!(
        "To zero {pages} on {}: the best of {} pools by its model{}",
        advice.on,
        advice.considered,
        match advice.model_only {
            true => ". Nothing was measured: it is another computer than this one.",
            false => ", made of measurements of its parts and of no pool.",
        }
    ));
    for pick in &advice.picks {
        let lead = format!("  {:<10}", pick.goal);
        let pool = &pick.pool;
        let use_this = format!(
            "use {}, batch {}, lock {} ({})",
            report::threads_in_words(pool.threads),
            pool.batch,
            report::lock_in_words(&pool.lock, pick.predicted.not_validated),
            goal(&pick.goal)
        );
        text += &prose::indented(&lead, &use_this);
    }
    text
}

fn goal(name: &str) -> &'static str {
    match name {
        "cpu" => "the most GB per CPU-s",
        "wall" => "the most GB per second that passes",
        "balanced" => "the least CPU-s x seconds per GB^2, half-way between the two",
        _ => "another goal",
    }
}

/// A pool by the name of the goal that it is advised for, or `naive`, and what the
/// model says of it.
type Forecast<'a> = (&'a str, &'a ZeroPool, &'a ZeroingPrediction);

/// A table that begins with which pools they are.
fn table<'a, M>(title: &str, rows: &'a [(Forecast<'a>, M)]) -> Table<'a, (Forecast<'a>, M)> {
    Table::new(title, rows)
        .column("goal", |((goal, ..), _)| *goal)
        .column("threads", |((_, pool, _), _)| pool.threads)
        .column("batch", |((_, pool, _), _)| pool.batch.as_str())
        .column("lock", |((_, pool, of), _)| {
            report::lock_in_words(&pool.lock, of.not_validated)
        })
        .names(4)
        .within(punctual_report::tables::width())
}

/// The predictions for each advised pool, and for the naive one.
fn predicted(advice: &ZeroAdvice) -> Section {
    let rows: Vec<_> = advice.forecasts().map(|forecast| (forecast, ())).collect();
    table("What the model says of it", &rows)
        .column("GB per\nCPU-s", |((.., of), ())| units::gb(of.gb_per_cpu_s.median))
        .column("between", |((.., of), ())| between(of.gb_per_cpu_s))
        .column("wall\nGB/s", |((.., of), ())| units::gb(of.wall_gb_per_s.median))
        .column("between", |((.., of), ())| between(of.wall_gb_per_s))
        .column("waiting\n%", |((.., of), ())| units::percent(of.wait_share.median))
        .column("x ideal\nthread", |((.., of), ())| or_dash(advice.over_ideal(of).map(units::ratio)))
        .column("x without\nwaiting", |((.., of), ())| {
            or_dash(of.over_no_waiting().map(units::ratio))
        })
        .caption("GB: 1e9 bytes. between: over what is not known of the computer, one thing at a time.")
        .caption(format!(
            "x ideal thread: the CPU time of a GB over that of one thread of this machine that does nothing but zero, {} \
             GB per CPU-s. x without waiting: over that of the same pool if nobody waited, 1 / (1 - waiting).",
            units::gb(advice.ideal_gb_per_cpu_s)
        ))
        .caption(naive_way(advice))
        .captions(states(advice))
        .captions(not_validated(advice))
        .section()
}

/// The pools whose begin decides what they settle to.
fn states(advice: &ZeroAdvice) -> Vec<String> {
    let states = advice.forecasts().filter_map(|(goal, _, of)| {
        let states = report::states_in_words(of.states_gb_per_cpu_s?);
        Some(format!("{goal}: {states}, by how the workers begin."))
    });
    states.collect()
}

/// The meaning of the mark, where it stands anywhere in the advice.
fn not_validated(advice: &ZeroAdvice) -> Option<&'static str> {
    let mut forecasts = advice.forecasts();
    let is_any = forecasts.any(|(.., of)| of.not_validated);
    let mut holds = advice.picks.iter().flat_map(|pick| &pick.holds);
    (is_any || holds.any(|hold| hold.not_validated)).then_some(report::NOT_VALIDATED)
}

fn naive_way(advice: &ZeroAdvice) -> String {
    let naive = &advice.naive.predicted;
    let wasted = advice.wasted(naive).unwrap_or(0.0);
    format!(
        "naive: one page at a time under a spin lock, and a thread on every CPU. It zeroes {} GB per CPU-s: of its CPU \
         time {} % is wasted, as one ideal thread would do the same with the rest.",
        units::gb(naive.gb_per_cpu_s.median),
        units::percent(wasted)
    )
}

/// Predictions beside measurements; nothing where none of these was measured.
fn measured(run: &Run<ZeroRow>, advice: &ZeroAdvice) -> Option<Section> {
    let rows = advice.forecasts().filter_map(|forecast| {
        let mut of_pool = run.results.iter().filter(|m| forecast.1.is_of(m));
        Some((forecast, of_pool.find_map(ZeroRow::zeroing)?))
    });
    let rows: Vec<(Forecast, &Zeroing)> = rows.collect();
    let error = |predicted: Interval, measured: Interval| {
        let error = predicted.median / measured.median - 1.0;
        or_dash(error.is_finite().then(|| signed_percent(error)))
    };
    let table = table("The same, measured here", &rows)
        .column("GB per CPU-s\npredicted", |((.., of), _)| {
            units::gb(of.gb_per_cpu_s.median)
        })
        .column("measured", |(_, zeroing)| {
            zeroing.gb_per_cpu_s.written(units::gb)
        })
        .column("error\n%", |((.., of), zeroing)| {
            error(of.gb_per_cpu_s, zeroing.gb_per_cpu_s)
        })
        .column("wall GB/s\npredicted", |((.., of), _)| {
            units::gb(of.wall_gb_per_s.median)
        })
        .column("measured", |(_, zeroing)| {
            zeroing.wall_gb_per_s.written(units::gb)
        })
        .column("error\n%", |((.., of), zeroing)| {
            error(of.wall_gb_per_s, zeroing.wall_gb_per_s)
        })
        .caption(interval_in_words(
            rows.iter().map(|(_, zeroing)| zeroing.rounds.len()),
            "",
        ))
        .caption("error: by how much the prediction is more than what came out.");
    (!rows.is_empty()).then(|| table.section())
}

/// A ratio that may have no value, which is not said why.
fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

/// Whether each is the best of what was measured, where all was.
fn verdicts(advice: &ZeroAdvice) -> Option<String> {
    let mut text = String::new();
    for pick in &advice.picks {
        let Some(checked) = &pick.checked else {
            continue;
        };
        let (best, measured) = (&checked.best, checked.measured);
        let threads = report::threads_in_words(best.threads);
        let named = format!("{threads}, batch {}, {}", best.batch, best.lock);
        let this = checked.this.written(units::gb);
        let most = checked.best_measured.written(units::gb);
        let told = match checked.is_best {
            true if *best == pick.pool => {
                format!("yes, it is the best of {measured} measured pools")
            }
            true => format!(
                "yes, {this} overlaps the best of {measured} measured pools: {named}, {most}"
            ),
            false => format!(
                "no: {this} is less than {named}, {most}, the best of {measured} measured pools"
            ),
        };
        text += &prose::indented(&format!("  {:<10}", pick.goal), &told);
    }
    (!text.is_empty()).then(|| {
        let unit =
            "in GB per CPU-s, in GB per second, and for balanced in the geometric mean of both";
        let title = format!("Whether it is the best that can be measured, {unit}:");
        prose::paragraph(&title) + &text
    })
}

/// The rules of thumb, with the numbers of the computer put in.
fn rules(advice: &ZeroAdvice) -> String {
    let bounds = &advice.bounds;
    let mut text = prose::paragraph(&format!(
        "Rules of thumb, with the numbers of {}: a page takes one thread z = {}",
        advice.on,
        units::duration(bounds.zero_ns)
    ));
    text += &prose::indented("  ", &threads(bounds));
    text += &prose::indented(
        "  ",
        "Batch: B >= N h(N) / (e z), so that less than a share e of the time goes into waiting for the lock; h(N) is how \
         long a lock is with one holder while N threads want it.",
    );
    let mut picks: Vec<&ZeroPick> = advice.picks.iter().collect();
    picks.sort_by_key(|pick| pick.pool.threads);
    let lines = picks.into_iter().flat_map(|pick| {
        pick.holds.iter().map(|hold| {
            format!(
                "    N = {:<3} {:<8} h = {:<8} B >= {} (e = 0.05), {} (e = 0.1)\n",
                pick.pool.threads,
                report::lock_in_words(&hold.lock, hold.not_validated),
                units::duration(hold.hold_ns),
                whole(hold.pages_for_5_percent),
                whole(hold.pages_for_10_percent)
            )
        })
    });
    text += &distinct(lines).concat();
    text += &prose::indented(
        "  ",
        &format!(
            "Latency: B <= {} pages: Linux zeroes 32 MiB, or for some 3 ms, before others have the CPU. {}",
            bounds.most_pages,
            longest_takes(advice)
        ),
    );
    text
}

fn threads(bounds: &ZeroBounds) -> String {
    let (Some(total), Some(threads)) = (bounds.total_gb_per_s, bounds.threads) else {
        return "Threads: as many as there are CPUs. No bandwidth that all share is a limit here, as where the pages are in \
            caches of their own."
            .to_owned();
    };
    format!(
        "Threads: N <= BW_total / BW_core = {} / {} GB/s = {}. More of them wait for the memory, whatever the lock.",
        units::gb(total),
        units::gb(bounds.core_gb_per_s),
        units::ratio(threads)
    )
}

fn longest_takes(advice: &ZeroAdvice) -> String {
    let too_long = |pick: &&ZeroPick| pick.longest_take_pages > advice.bounds.most_pages;
    let too_long: Vec<String> = advice
        .picks
        .iter()
        .filter(too_long)
        .map(|pick| {
            format!(
                "the first take for {} is {} pages, {}",
                pick.goal,
                pick.longest_take_pages,
                units::duration(pick.longest_take_ns)
            )
        })
        .collect();
    match too_long.is_empty() {
        true => "What is advised keeps within that.".to_owned(),
        false => format!(
            "Mind that {}: give a fixed batch where latency counts.",
            too_long.join("; ")
        ),
    }
}

fn between(Interval { low, high, .. }: Interval) -> String {
    format!("{}..{}", units::gb(low), units::gb(high))
}

/// Pages, of which there are no parts.
fn whole(pages: f64) -> String {
    format!("{:.0}", pages.ceil())
}

/// The sections of a calibration; none of a run without one, or of one that was
/// ended before its first round.
pub(crate) fn calibration(run: &Run<ZeroRow>) -> Vec<Section> {
    let calibration = run
        .beside
        .zero_calibration
        .as_ref()
        .filter(|calibration| calibration.rounds > 0);
    let Some(calibration) = calibration else {
        return vec![];
    };
    vec![
        operations(calibration),
        pages(calibration),
        takes(calibration),
        words(calibration).into(),
    ]
}

/// The operations of CPUs besides zeroing, alone and between each other.
fn operations(calibration: &ZeroCalibration) -> Section {
    let cpus = match calibration.cpus {
        1 => "one CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let title = format!("zero-pool, parts of the model: {cpus}");
    let mut rows = vec![
        ("hit", calibration.hit_ns),
        ("read-modify-write", calibration.rmw_ns),
        ("clock", calibration.clock_ns),
    ];
    let line = |part, of| calibration.line(of).map(|ns| (part, ns));
    let lines = [
        line("line read", |line| line.read_ns),
        line("line taken", |line| line.taken_ns),
        line("line upgraded", |line| line.upgraded_ns),
        line("line contended", |line| line.contended_ns),
    ];
    rows.extend(lines.into_iter().flatten());
    if let Some(parking) = calibration.parking {
        rows.push(("parking, CPU time", parking.cpu_ns));
        rows.push(("parking, turnaround", parking.turnaround_ns));
    }
    rows.extend(
        calibration
            .start_apart_ns
            .map(|apart| ("start apart", apart)),
    );
    Table::new(title, &rows)
        .column("part", |(part, _)| *part)
        .column("ns [interval]", |(_, ns)| within(*ns))
        .caption(rounds(calibration))
        .section()
}

/// The memories whose pages were zeroed, in the order of the calibration: what a
/// page of many costs one CPU by itself.
fn memories(calibration: &ZeroCalibration) -> Vec<&ZeroCost> {
    let costs = calibration.zeroing.iter();
    let alone = costs.filter(|cost| cost.workers == 1 && cost.lock.is_none());
    alone.collect()
}

/// All CPUs, where there is more than one, and why something of all is missing.
fn all_at_work(calibration: &ZeroCalibration) -> (Option<usize>, Why) {
    match calibration.cpus {
        1 => (None, Why::ONE_CPU),
        cpus => (Some(cpus), Why::NOT_MEASURED),
    }
}

fn pages(calibration: &ZeroCalibration) -> Section {
    let (all, why) = all_at_work(calibration);
    let at_work = |alone: &ZeroCost, elsewhere| calibration.page(&alone.memory, all?, elsewhere);
    let title = format!(
        "zero-pool, parts of the model: ns of zeroing a page, {}",
        calibration.kernel
    );
    Table::new(title, &memories(calibration))
        .column("memory", |alone| alone.memory.as_str())
        .column("size", |alone| units::bytes(alone.bytes as f64))
        .column("alone", |alone| within(alone.page_ns))
        .column("all at work,\nwritten here", |alone| {
            at_work(alone, false).map(|cost| within(cost.page_ns))
        })
        .blank(why)
        .column("all at work,\nelsewhere", |alone| {
            at_work(alone, true).map(|cost| within(cost.page_ns))
        })
        .blank(why)
        .column("jitter\n%", |alone| {
            let cost = at_work(alone, false).unwrap_or(alone);
            cost.jitter.map(units::percent)
        })
        .column("stores", |alone| {
            let stores = calibration.stores_ns(&alone.memory, calibration.cpus);
            stores.map(within)
        })
        .caption(rounds(calibration))
        .section()
}

/// The cost of a take under each lock, alone and after a page of each memory.
fn takes(calibration: &ZeroCalibration) -> Section {
    let (all, why) = all_at_work(calibration);
    let single = calibration.takes.iter().filter(|take| take.batch == "1");
    let rows: Vec<(&str, &TakeCost)> = memories(calibration)
        .into_iter()
        .flat_map(|cost| single.clone().map(|take| (cost.memory.as_str(), take)))
        .collect();
    let after_page = |(memory, take): &(&str, &TakeCost), workers| {
        let cost = calibration.take_after_page(memory, &take.lock, workers);
        cost.map(within)
    };
    let title = "zero-pool, parts of the model: ns of a take that nobody else wants, batch 1";
    Table::new(title, &rows)
        .column("memory", |(memory, _)| *memory)
        .column("lock", |(_, take)| take.lock.as_str())
        .names(2)
        .column("by itself", |(_, take)| within(take.take_ns))
        .column("after a page,\nalone", |row| after_page(row, 1))
        .column("after a page,\nall at work", |row| after_page(row, all?))
        .blank(why)
        .caption(rounds(calibration))
        .section()
}

fn rounds(calibration: &ZeroCalibration) -> String {
    interval_in_words(std::iter::once(calibration.rounds as usize), "")
}

/// Explanations of the parts and columns that are shown.
fn words(calibration: &ZeroCalibration) -> String {
    let mut words = vec![OPERATIONS];
    if !calibration.lines.is_empty() {
        words.push(BETWEEN);
    }
    if calibration.parking.is_some() {
        words.push(PARKING);
    }
    if calibration.start_apart_ns.is_some() {
        words.push(APART);
    }
    words.extend([PAGES, JITTER, STORES, TAKES, MORE]);
    let words = words.into_iter();
    let words: String = words.map(|words| prose::indented("  ", words)).collect();
    format!("What the parts of the model and their columns are\n{words}")
}

const OPERATIONS: &str = "hit, read-modify-write: of a cache line that the CPU has to itself. clock: reading the one \
    that takes are timed by.";

const BETWEEN: &str = "line: a cache line between two CPUs. read: reading what the other wrote last. taken: a \
    read-modify-write of that. upgraded: a read-modify-write by who has just read it. contended: each of the \
    additions of both, who do nothing else; less than taken, as who has the line does several in a row. \
    Medians over the pairs of CPUs [medians of the ends of their intervals]; the JSON has each pair.";

const PARKING: &str = "parking: CPU time of waking somebody and giving up the CPU, together; turnaround: from the call \
    that wakes somebody to the other running.";

const APART: &str = "start apart: how far apart two workers go on that waited for each other.";

const PAGES: &str = "alone: one CPU at work; all at work: every CPU at the same time, each on other pages. A page is one \
    of many that are zeroed in one go. written here, elsewhere: last by the same CPU, by another.";

const JITTER: &str = "jitter: by which share of that a single page takes longer or shorter at most, were all lengths in \
    between equally likely: twice the median absolute deviation, with as many at work as there are CPUs.";

const STORES: &str = "stores: how much longer a page takes until its stores are done [the interval of such pages, less \
    one of many], with as many at work as there are CPUs. A lock that comes from another CPU waits for them.";

const TAKES: &str = "by itself: getting the lock, taking, giving it back, with nothing else under way. after a page: \
    what a page that is taken by itself costs more than one of many [the interval of such pages, less the same]; \
    the stores to the page have to be done first. All at work have a lock each, and zero pages that any of them \
    wrote. Less than 0: pages differ more than a take costs.";

const MORE: &str = "The JSON has other batches too, and what it costs to time a take.";

fn within(ns: Interval) -> String {
    ns.written(units::ns)
}
