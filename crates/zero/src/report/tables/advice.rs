//! Which pool to zero pages with, its rates, and the rules of thumb behind it.

use punctual_record::{Interval, Run};
use punctual_report::tables::Section;
use punctual_report::tables::table::Table;
use punctual_report::{prose, units};

use crate::rows::{PAGE_BYTES, ZeroAdvice, ZeroBounds, ZeroPick, ZeroRow};
use crate::{distinct, report};

pub(crate) fn advice(run: &Run<ZeroRow>) -> Vec<Section> {
    let Some(advice) = &run.beside.zero_advice else {
        return vec![];
    };
    vec![in_words(advice).into(), rated(advice), rules(advice).into()]
}

/// `use 8 threads, batch 64, lock counter`, for each goal.
fn in_words(advice: &ZeroAdvice) -> String {
    let pages = units::bytes((advice.pages * PAGE_BYTES) as f64);
    let mut text = prose::paragraph(&format!(
        "To zero {pages} on {}: the best of {} {}",
        advice.on,
        advice.considered,
        match advice.model_only {
            true =>
                "pools by its model. Nothing was measured: it is another computer than this one.",
            false =>
                "measured pools. Of those that do not differ significantly, it is the simplest.",
        }
    ));
    for pick in &advice.picks {
        let lead = format!("  {:<10}", pick.goal);
        let pool = &pick.pool;
        let use_this = format!(
            "use {}, batch {}, lock {} ({})",
            report::threads_in_words(pool.threads),
            pool.batch,
            report::lock_in_words(&pool.lock, pick.rates.not_validated),
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

/// The rates of each advised pool, and of the naive one.
fn rated(advice: &ZeroAdvice) -> Section {
    let rows: Vec<_> = advice.rated().collect();
    let (title, between_words) = match advice.model_only {
        true => (
            "The rates by the model",
            "over what is not known of the computer, one thing at a time",
        ),
        false => (
            "The rates",
            "the interval over rounds, with 95 % from six rounds on",
        ),
    };
    Table::new(title, &rows)
        .column("goal", |(goal, ..)| *goal)
        .column("threads", |(_, pool, _)| pool.threads)
        .column("batch", |(_, pool, _)| pool.batch.as_str())
        .column("lock", |(_, pool, of)| report::lock_in_words(&pool.lock, of.not_validated))
        .names(4)
        .within(punctual_report::tables::width())
        .column("GB per\nCPU-s", |(.., of)| units::gb(of.gb_per_cpu_s.median))
        .column("between", |(.., of)| between(of.gb_per_cpu_s))
        .column("wall\nGB/s", |(.., of)| units::gb(of.wall_gb_per_s.median))
        .column("between", |(.., of)| between(of.wall_gb_per_s))
        .column("waiting\n%", |(.., of)| units::percent(of.wait_share.median))
        .column("x ideal\nthread", |(.., of)| or_dash(advice.over_ideal(of).map(units::ratio)))
        .column("x without\nwaiting", |(.., of)| or_dash(of.over_no_waiting().map(units::ratio)))
        .caption(format!("GB: 1e9 bytes. between: {between_words}."))
        .caption(format!(
            "x ideal thread: the CPU time of a GB over that of the best single thread of this machine, {} GB per CPU-s. \
             x without waiting: over that of the same pool without waiting, 1 / (1 - waiting).",
            units::gb(advice.ideal_gb_per_cpu_s)
        ))
        .caption(naive_way(advice))
        .captions(states(advice))
        .captions(not_validated(advice))
        .section()
}

/// The pools whose begin decides what they settle to.
fn states(advice: &ZeroAdvice) -> Vec<String> {
    let states = advice.rated().filter_map(|(goal, _, of)| {
        let states = report::states_in_words(of.states_gb_per_cpu_s?);
        Some(format!("{goal}, two stable rates: {states}."))
    });
    states.collect()
}

/// The meaning of the mark, where it stands anywhere in the advice.
fn not_validated(advice: &ZeroAdvice) -> Option<&'static str> {
    let is_any = advice.rated().any(|(.., of)| of.not_validated);
    let mut holds = advice.picks.iter().flat_map(|pick| &pick.holds);
    (is_any || holds.any(|hold| hold.not_validated)).then_some(report::NOT_VALIDATED)
}

fn naive_way(advice: &ZeroAdvice) -> String {
    let naive = &advice.naive.rates;
    let wasted = advice.wasted(naive).unwrap_or(0.0);
    format!(
        "naive: one page at a time under a spin lock, and a thread on every CPU. It zeroes {} GB per CPU-s: of its CPU \
         time {} % is wasted, as one ideal thread would do the same with the rest.",
        units::gb(naive.gb_per_cpu_s.median),
        units::percent(wasted)
    )
}

/// A ratio that may have no value, without the reason.
fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
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
    if advice.model_only {
        text += &prose::indented(
            "  ",
            "Batch: B >= N h(N) / (e z), so that less than a share e of the time goes into waiting for the lock; h(N) is \
             how long a lock is with one holder while N threads want it.",
        );
    }
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
