//! The summary of a run: its waits, and the limits of the emulation.

use punctual_core::Nanos;
use punctual_lab::timer_rule;
use punctual_preload::Call;
use punctual_preload::page::{self, Run, at};
use punctual_preload::runtime::{Instead, Line, cpython};
use punctual_rules::Host;
use punctual_sim::{Model, Time};

/// The books of a run.
#[derive(Debug, Default)]
pub(super) struct Books {
    waits: Vec<Waits>,
    processes: u64,
    unruled: u64,
    timers: u64,
    others: u64,
    unlogged: u64,
    pub(super) logged: u64,
    runtimes: Vec<String>,
    /// The minor versions of CPython.
    pythons: Vec<u8>,
    /// In how many processes there were clocks to replace, and in how many they were replaced.
    clocks: [u64; 2],
}

/// Waits by one call for one length.
#[derive(Clone, Copy, Debug)]
struct Waits {
    call: Call,
    asked: Nanos,
    by_timer: u64,
    by_event: u64,
    /// Of those that their timer ended: what they asked for, what the rule made of it, what they took.
    sums: [u64; 3],
}

impl Books {
    /// The books in the bytes of a page.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
            .collect();
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let waits = (0..page::BOOKS).filter_map(|entry| {
            let entry = at::BOOKS + 8 * entry;
            let (call, asked) = page::of_key(word(entry))?;
            Some(Waits {
                call,
                asked,
                by_timer: word(entry + 1),
                by_event: word(entry + 2),
                sums: [3, 4, 5].map(|sum| word(entry + sum)),
            })
        });
        let mut waits: Vec<Waits> = waits.collect();
        waits.sort_by_key(|waits| (std::cmp::Reverse(waits.by_timer), waits.call, waits.asked));
        let names = (0..page::RUNTIMES).map(|place| {
            let begin = at::RUNTIMES + 4 * place;
            let bytes = (begin..begin + 4).flat_map(|at| word(at).to_ne_bytes());
            let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            waits,
            processes: word(at::PROCESSES),
            unruled: word(at::UNRULED),
            timers: word(at::TIMERS),
            others: word(at::OTHERS),
            unlogged: word(at::UNLOGGED),
            logged: word(at::LOGGED),
            pythons: (0..64)
                .filter(|minor| word(at::PYTHONS) >> minor & 1 == 1)
                .collect(),
            clocks: [word(at::CLOCKS_WANTED), word(at::CLOCKS_REPLACED)],
            runtimes: names.filter(|name| !name.is_empty()).collect(),
        }
    }
}

/// How many calls and lengths are listed.
const LISTED: usize = 12;

/// The summary, a line each.
pub(super) fn summary(model: &Model, run: &Run, books: &Books, is_verbose: bool) -> Vec<String> {
    let mut lines = vec![format!(
        "emulated {} in {}: {}",
        model.name(),
        counted(books.processes, "process", "processes"),
        model.rule_in_words()
    )];
    let by_timer: Vec<&Waits> = books
        .waits
        .iter()
        .filter(|waits| waits.by_timer > 0)
        .collect();
    if by_timer.is_empty() {
        lines.push("no wait was ended by its timer".to_owned());
    } else {
        lines.push(row([
            "waits",
            "call",
            "asked",
            "here about",
            "by the rule",
            "took",
        ]));
    }
    for waits in by_timer.iter().take(LISTED) {
        let mean = |sum: usize| shown(waits.sums[sum] / waits.by_timer);
        let asked = waits.sums[0] / waits.by_timer;
        lines.push(row([
            &waits.by_timer.to_string(),
            waits.call.name(),
            &shown(asked),
            &native(waits.call, asked).map_or_else(|| "?".to_owned(), shown),
            &mean(1),
            &mean(2),
        ]));
    }
    if let Some(more) = by_timer.get(LISTED..).filter(|more| !more.is_empty()) {
        let waits: u64 = more.iter().map(|waits| waits.by_timer).sum();
        lines.push(format!("and {waits} waits of {} other kinds", more.len()));
    }
    let by_event: u64 = books.waits.iter().map(|waits| waits.by_event).sum();
    if by_event > 0 {
        lines.push(format!(
            "{} ended by an event or a signal, as without the rule",
            counted(by_event, "wait", "waits")
        ));
    }
    lines.extend(of_runtimes(model, books, is_verbose));
    let clocks = match books.clocks {
        [_, 0] => "the clocks",
        _ => "other clocks",
    };
    lines.push(format!(
        "not emulated: the scheduling and {clocks} of that system, and timers of one thread that meet those of another"
    ));
    let left_out = [
        (books.timers, "settings of timers of file descriptors"),
        (
            books.unruled,
            "waits while all rules of a process were taken",
        ),
    ];
    for (count, what) in left_out.into_iter().filter(|(count, _)| *count > 0) {
        lines.push(format!("not emulated: {count} {what}"));
    }
    if books.others > 0 {
        lines.push(format!(
            "not listed: {} waits of too many different lengths",
            books.others
        ));
    }
    if books.unlogged > 0 {
        lines.push(format!("not in the log: the last {} waits", books.unlogged));
    }
    if !books.runtimes.is_empty() {
        lines.push(format!(
            "not emulated: {}, whose ports wait by other calls (`--as plain` takes them for C programs)",
            books.runtimes.join(", ")
        ));
    }
    if books.processes == 0 && books.runtimes.is_empty() {
        lines.push("no process loaded the library: nothing was emulated".to_owned());
    }
    lines.extend(punctual_lab::evidence(std::slice::from_ref(model)));
    lines.push(format!("seed {}", run.seed));
    lines
}

/// The lines about CPython.
fn of_runtimes(model: &Model, books: &Books, is_verbose: bool) -> Vec<String> {
    let rule = model.build_rule();
    let instead = |line: &Line| line.instead(rule.methods());
    if !cpython::LINES.iter().any(|line| instead(line).is_some()) {
        return vec![];
    }
    let mut lines = vec![];
    for &minor in &books.pythons {
        let text = match is_verbose {
            true => format!("CPython 3.{minor}: its waits there, and where its code has them"),
            false => format!(
                "CPython 3.{minor}: its waits are those of its port to that system (-v lists them)"
            ),
        };
        lines.push(text);
        let of_version = cpython::LINES.iter().filter(|line| line.has(minor));
        for line in of_version.filter(|_| is_verbose) {
            let Some(Instead { call, again, .. }) = instead(line) else {
                continue;
            };
            let here: Vec<&str> = line.here.iter().map(|call| call.name()).collect();
            let again = if again {
                ", again until its time is over"
            } else {
                ""
            };
            lines.push(format!(
                "  {} (here {}): {call}{again} [{}]",
                line.what,
                here.join(" or "),
                line.source
            ));
        }
        if is_verbose {
            lines.push("  it requests no timer interval by itself".to_owned());
        }
    }
    if !books.pythons.is_empty() && is_verbose {
        lines.extend(
            cpython::ALIKE
                .iter()
                .map(|alike| format!("cannot be told apart: {alike}")),
        );
    } else if !books.pythons.is_empty() {
        lines.push(
            "cannot be told apart below the interpreter: waits of subprocess and time.sleep, of asyncio and other \
             selectors"
                .to_owned(),
        );
    }
    let [wanted, replaced] = books.clocks;
    if replaced > 0 {
        lines.push(format!(
            "time.time and time.monotonic moved in the steps of Windows in {}",
            counted(replaced, "process of CPython", "processes of CPython")
        ));
    }
    if wanted > replaced {
        lines.push(format!(
            "not emulated: the clocks of {} that could not be replaced",
            counted(
                wanted - replaced,
                "process of CPython",
                "processes of CPython"
            )
        ));
    }
    lines
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn shown(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

fn row([waits, call, asked, native, rule, took]: [&str; 6]) -> String {
    format!("{waits:>8}  {call:<22} {asked:>12} {native:>12} {rule:>12} {took:>12}")
}

/// How long such a wait takes on this computer by the rule in force here, without its wake-up.
fn native(call: Call, asked: u64) -> Option<u64> {
    let rule = timer_rule::rule_in_force()?;
    let mut host = Host::new(&rule.model().description()?, 1);
    let method = call.method(host.rule().methods());
    let end = host.end(method, Time::ZERO, Time::from_ns(asked));
    Some(end.floor_ns())
}
