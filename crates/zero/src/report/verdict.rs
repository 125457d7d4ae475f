//! The answer before all else: which pool zeroes most, what fresh memory costs, what to use.

use punctual_record::Run;
use punctual_report::tables::table::{Cell as TableCell, Table};
use punctual_report::{Verdict, prose, select, units};

use super::{
    Cell, NOT_VALIDATED, PoolGroup, duration_within as within, find, lock_in_words, of_run,
    states_in_words, threads_in_words,
};
use crate::distinct;
use crate::rows::{HugePages, PageCost, ZeroAdvice, ZeroPool, ZeroRow};

pub(super) fn verdict(run: &Run<ZeroRow>) -> Option<Verdict> {
    if let Some(advice) = &run.beside.zero_advice {
        return Some(of_advice(advice));
    }
    of_pools(run).or_else(|| of_probe(run))
}

/// The meaning of the column.
const POOL: &str =
    "pool: its lock, its batch (the pages that a thread takes at a time) and its threads.";

/// The meaning of words in a pool's name, where it has them.
const IN_NAMES: [(&str, &str); 9] = [
    ("tas", "tas: a spin lock."),
    ("mcs", "mcs: a spin lock with a queue."),
    ("ticket", "ticket: a spin lock in the order of arrival."),
    ("counter", "counter: an atomic counter, no lock."),
    ("batch n", "n: as many pages as threads."),
    ("batch 2n", "2n: twice as many pages as threads."),
    ("half", "half: half of the pages left."),
    (
        "guided",
        "guided: a batch is half of the pages left, divided by the number of threads.",
    ),
    (
        "growing",
        "growing: each batch has one page more than the one before.",
    ),
];

/// With the meaning of the words that its names have.
pub(crate) fn with_names_explained<'a, R>(table: Table<'a, R>) -> Table<'a, R> {
    let explain = |table: Table<'a, R>, (word, meaning): &(&'static str, &'static str)| {
        table.mark_in_words(word, meaning)
    };
    IN_NAMES.iter().fold(table, explain)
}

/// The best of each group in a sentence, and the pools of the first.
fn of_pools(run: &Run<ZeroRow>) -> Option<Verdict> {
    const GROUPS: usize = 2;
    let groups = of_run(run);
    let mut sentences: Vec<String> = groups
        .iter()
        .take(GROUPS)
        .filter_map(|group| best_of(group, &groups))
        .collect();
    let first = groups.first()?;
    let ranked = first.ranked();
    let (best, worst) = (ranked.first()?, ranked.last()?);
    let rounds = best.zeroing.rounds.len();
    sentences.extend(
        (ranked.len() > 1 && first.model().is_none() && rounds < ROUNDS).then(|| {
            format!(
                "{rounds} rounds are too few to tell whether pools differ; {ROUNDS} are enough."
            )
        }),
    );
    sentences.splice(0..0, busy(first));
    sentences.extend(matrix(run));
    let whose = match ranked.len() {
        1 => String::new(),
        _ => {
            let among = first.among(&groups);
            let begin = match among.is_empty() {
                true => "The least efficient pool".to_owned(),
                false => format!("{}: least efficient", prose::capitalised(&among)),
            };
            format!("{begin} is \"{}\". ", worst.in_words())
        }
    };
    sentences.push(format!(
        "{whose}It spends {} % of its CPU time waiting for its lock, {} % zeroing, the rest on bookkeeping.",
        units::percent(worst.zeroing.cpu.waiting),
        units::percent(worst.zeroing.cpu.zeroing),
    ));
    let mut states = ranked
        .iter()
        .filter_map(|cell| cell.simulated.states_gb_per_cpu_s);
    let states = states
        .next()
        .map(|first| match (states.count(), ranked.len()) {
            (_, 1) => format!("It has two stable rates: {}.", states_in_words(first)),
            (0, _) => "One pool has two stable rates: --full has them.".to_owned(),
            (more, _) => format!("{} pools have two stable rates: --full has them.", more + 1),
        });
    sentences.extend(states);
    if groups.len() > GROUPS {
        let more = groups.len() - GROUPS;
        sentences.push(format!(
            "--full has {more} more kinds of memory or computers."
        ));
    }
    let of = first.among(&groups);
    let of = prose::when(!of.is_empty(), || format!("In the table: {of}, "));
    let others = Others::of(first);
    let mark = |cell: &Cell| match std::ptr::eq(cell, *best) {
        true => (others.all > 0 && others.unjudged == 0).then_some("most"),
        false => (told(first, best, cell) == Told::Alike).then_some("alike"),
    };
    let table = Table::new("", &ranked)
        .column("pool", |cell| cell.in_words())
        .in_words(POOL)
        .mark_in_words("not validated", NOT_VALIDATED)
        .mark_in_words("alike", "alike: not significantly below the highest.")
        .column("GB per CPU-s", |cell| {
            TableCell::from(cell.gb_per_cpu_s().written(units::gb)).marked(mark(cell))
        })
        .column("GB per s", |cell| {
            units::gb(cell.zeroing.wall_gb_per_s.median)
        })
        .column("waiting %", |cell| units::percent(cell.zeroing.cpu.waiting))
        .in_words("waiting: for the lock or counter.");
    let counts = ranked.iter().map(|cell| cell.zeroing.rounds.len() as u64);
    let counts = match first.model() {
        Some(_) => {
            "One simulated pass each. In brackets: the range when hardware figures without a published value are varied"
                .to_owned()
        }
        None => {
            let fewest = counts.clone().min().unwrap_or(0);
            let rounds = select::counts(counts);
            format!("{rounds} rounds. In brackets: {}", interval(fewest))
        }
    };
    let next = match first.model() {
        Some(_) => "Next: punctual zero run measures it here; --full has all tables.",
        None => "Next: punctual zero advise says which pool to use; --full has all tables.",
    };
    let table = with_names_explained(table);
    Some(Verdict::new(sentences, next).told(table, format!("{of}{counts}. GB: 1e9 bytes zeroed.")))
}

/// The table of latencies between CPUs that was simulated, if it was.
pub(super) fn matrix(run: &Run<ZeroRow>) -> Option<String> {
    let fact = |key: &str| run.machine.other.get(key);
    let ns = |key| Some(units::duration(fact(key)?.as_f64()?));
    let pair: Vec<u64> = fact("matrix_slowest_pair")?
        .as_array()?
        .iter()
        .filter_map(|cpu| cpu.as_u64())
        .collect();
    let [from, to] = pair[..] else { return None };
    Some(format!(
        "By the table of {} CPUs, a cache line takes {} between two CPUs on average, and {} between {from} and {to}, the slowest pair.",
        fact("matrix_cpus")?.as_u64()?,
        ns("matrix_mean_ns")?,
        ns("matrix_slowest_ns")?,
    ))
}

/// How many CPUs the pool keeps busy that needs most, where pages come in bursts.
fn busy(group: &PoolGroup) -> Option<String> {
    let cpus = |cell: &Cell| cell.simulated.busy_cpus.unwrap_or_default();
    let cells = group.cells.iter().filter(|_| group.is_in_bursts());
    let most = cells.max_by(|a, b| cpus(a).total_cmp(&cpus(b)))?;
    Some(format!(
        "Zeroing with the pool {} keeps {} CPUs busy on average: its threads work for {} % of the time.",
        most.in_words(),
        units::ratio(cpus(most)),
        units::percent(most.simulated.duty?),
    ))
}

/// The fewest rounds whose interval holds the median with 95 %.
const ROUNDS: usize = 6;

/// The meaning of an interval of so many rounds.
fn interval(rounds: u64) -> &'static str {
    match rounds < ROUNDS as u64 {
        true => "the lowest and highest of the rounds",
        false => "the 95 % interval",
    }
}

/// Whether one pool is more than another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Beyond what rounds differ by; of a model, by what it says.
    Apart,
    /// Their intervals overlap.
    Alike,
    /// One of them has too few rounds for an interval.
    Unjudged,
}

fn told(group: &PoolGroup, best: &Cell, other: &Cell) -> Told {
    let [most, less] = [best, other].map(Cell::gb_per_cpu_s);
    let has_interval = |cell: &Cell| cell.zeroing.rounds.len() >= ROUNDS;
    let is_less = match group.model() {
        Some(_) => less.median < most.median,
        None if !has_interval(best) || !has_interval(other) => return Told::Unjudged,
        None => less.high < most.low,
    };
    match is_less {
        true => Told::Apart,
        false => Told::Alike,
    }
}

/// How many pools do not differ significantly from the best.
struct Others {
    all: usize,
    alike: usize,
    unjudged: usize,
}

impl Others {
    fn of(group: &PoolGroup) -> Self {
        let ranked = group.ranked();
        let (best, others) = ranked
            .split_first()
            .map_or((None, &[][..]), |(best, others)| (Some(best), others));
        let count = |wanted| {
            let of = others.iter();
            of.filter(|other| best.is_some_and(|best| told(group, best, other) == wanted))
                .count()
        };
        Self {
            all: others.len(),
            alike: count(Told::Alike),
            unjudged: count(Told::Unjudged),
        }
    }
}

fn best_of(group: &PoolGroup, groups: &[PoolGroup]) -> Option<String> {
    let ranked = group.ranked();
    let best = ranked.first()?;
    let among = group.among(groups);
    let among = among
        .replace("hot memory", "hot memory (in the caches)")
        .replace("cold memory", "cold memory (not in the caches)");
    let among = prose::when(!among.is_empty(), || {
        format!("{}: ", prose::capitalised(&among))
    });
    let gb = units::gb(best.gb_per_cpu_s().median);
    let Others {
        all,
        alike,
        unjudged,
    } = Others::of(group);
    let name = best.in_words();
    let begin = match ranked.len() {
        1 => format!("{among}the pool \"{name}\" zeroes {gb} GB per CPU second"),
        _ if unjudged == all => {
            format!("{among}the pool \"{name}\" measured highest, {gb} GB per CPU second")
        }
        _ => format!("{among}the pool \"{name}\" zeroes most, {gb} GB per CPU second"),
    };
    // A sentence about all pools says so of the best.
    let few = prose::when(unjudged > 0 && best.zeroing.rounds.len() >= ROUNDS, || {
        format!("; {unjudged} of {all} others have fewer than {ROUNDS} rounds, too few to compare")
    });
    let alike = prose::when(alike > 0, || {
        format!("; {alike} of {all} others do not differ significantly")
    });
    Some(prose::capitalised(&format!("{begin}{alike}{few}.")))
}

fn of_probe(run: &Run<ZeroRow>) -> Option<Verdict> {
    let rows: Vec<&ZeroRow> = run.results.iter().collect();
    let cost = |subject: &str, huge| find(&rows, subject, Some(huge)).map(PageCost::ns_per_page);
    let pages = |subject: &str| [HugePages::Off, HugePages::On].map(|huge| cost(subject, huge));
    let [ordinary, huge] = pages("touch-forward");
    let ordinary = ordinary?;
    let mut sentences = vec![format!(
        "The first write to a page of 4 KiB takes {} of CPU time.",
        within(ordinary)
    )];
    if let Some(huge) = huge {
        sentences.push(match (huge.high < ordinary.low, ordinary.high < huge.low) {
            (true, _) => format!(
                "With huge pages it takes {} for each 4 KiB: {} times less.",
                within(huge),
                units::ratio(ordinary.median / huge.median)
            ),
            (_, true) => format!(
                "With huge pages it takes more for each 4 KiB: {}.",
                within(huge)
            ),
            _ => format!(
                "With huge pages it takes {} for each 4 KiB. The two overlap, so this run shows no clear difference.",
                within(huge)
            ),
        });
    }
    let [again, _] = pages("touch-again");
    sentences.extend(again.map(|again| {
        format!(
            "A second write to an ordinary page takes {}: keep memory and use it again.",
            within(again)
        )
    }));
    let steps_of_pages = run.results.iter().filter(|row| row.page_step().is_some());
    let steps = distinct(steps_of_pages.clone().map(|row| row.subject.as_str())).into_iter();
    let steps = steps.map(|step| (step, pages(step)));
    let steps: Vec<_> = steps
        .filter(|(_, costs)| costs.iter().any(Option::is_some))
        .collect();
    let table = Table::new("", &steps)
        .column("step", |(step, _)| *step)
        .mark_in_words(
            "populate",
            "populate: one call makes the OS supply all pages.",
        )
        .mark_in_words("touch-read", "touch-read: a first read.")
        .mark_in_words("touch-again", "touch-again: a second write.")
        .column("ordinary pages", |(_, [ordinary, _])| ordinary.map(within))
        .column("huge pages", |(_, [_, huge])| huge.map(within));
    let rounds = steps_of_pages.filter_map(|row| Some(row.page_cost()?.rounds.len() as u64));
    let rounds = rounds.min().unwrap_or(0);
    let next = "Next: punctual zero run compares pools of threads that zero memory; --full has all tables.";
    Some(Verdict::new(sentences, next).told(
        table,
        format!(
            "CPU time for each 4 KiB: the median and, in brackets, {}. touch: a first write to each page.",
            interval(rounds)
        ),
    ))
}

fn of_advice(advice: &ZeroAdvice) -> Verdict {
    let picks = advice.picks.iter();
    let mut sentences: Vec<String> = picks
        .map(|pick| {
            let goal = match pick.goal.as_str() {
                "cpu" => "For least CPU time (cpu)",
                "wall" => "For most memory per second (wall)",
                _ if advice.picks.len() == 1 => "For a balance of CPU time and speed (balanced)",
                _ => "For both (balanced)",
            };
            let ZeroPool {
                lock,
                batch,
                threads,
                ..
            } = &pick.pool;
            let lock = match lock.as_str() {
                "counter" => "an atomic counter".to_owned(),
                lock => {
                    let lock = lock_in_words(lock, pick.rates.not_validated);
                    format!("a lock of type {lock}")
                }
            };
            let threads = threads_in_words(*threads);
            let batches = match batch.as_str() {
                "1" => "batches of 1 page".to_owned(),
                "n" | "2n" => format!("batches of {batch} pages"),
                pages if pages.parse::<u64>().is_ok() => format!("batches of {pages} pages"),
                "guided" => "batches that shrink (guided)".to_owned(),
                "growing" => "batches that grow".to_owned(),
                named => format!("{named} batches"),
            };
            format!("{goal}: {threads}, {batches} and {lock}.")
        })
        .collect();
    let naive = &advice.naive.rates;
    sentences.push(format!(
        "One thread without a pool zeroes {} GB per CPU-s. The naive pool takes one page at a time under a spin \
         lock, with a thread on every CPU. It zeroes {} GB per CPU-s, {} % less than one thread without a pool.",
        units::gb(advice.ideal_gb_per_cpu_s),
        units::gb(naive.gb_per_cpu_s.median),
        units::percent(advice.wasted(naive).unwrap_or(0.0))
    ));
    let rated: Vec<_> = advice.rated().collect();
    let table = Table::new("", &rated)
        .column("goal", |(goal, ..)| *goal)
        .column("pool", |(_, pool, of)| pool.in_words(of.not_validated))
        .in_words(POOL)
        .mark_in_words("not validated", NOT_VALIDATED)
        .column("GB per CPU-s", |(.., of)| units::gb(of.gb_per_cpu_s.median))
        .column("GB per s", |(.., of)| units::gb(of.wall_gb_per_s.median))
        .column("waiting %", |(.., of)| units::percent(of.wait_share.median));
    let (next, of) = match advice.model_only {
        true => (
            "Next: punctual zero advise measures pools on this computer.",
            format!(
                "Advised: the simplest of the pools within 0.5 % of the best; {} were simulated. GB: 1e9 bytes",
                advice.considered
            ),
        ),
        false => (
            "Next: punctual zero run shows all pools, and where their CPU time goes.",
            format!(
                "Advised: the simplest of the pools not significantly below the best, even if its figure is lower. {} were measured. \
                 GB: 1e9 bytes",
                advice.considered
            ),
        ),
    };
    Verdict::new(sentences, next).told(
        with_names_explained(table),
        format!("{of}. --full has the rules of thumb."),
    )
}
