//! The summary of runs: their waits, and the limits of the emulation.

use punctual_core::Nanos;
use punctual_core::setting::Throttling;
use punctual_lab::doctor::Examined;
use punctual_preload::runtime::{Instead, Line};
use punctual_record::{Emulated, EmulatedSettings, EmulatedWaits};
use punctual_report::doctor::{clock_interrupts, rule_in_force};
use punctual_report::prose;
use punctual_sim::Model;

use super::books::Books;

/// How many calls and lengths are listed.
const LISTED: usize = 12;

/// The summary, a line each.
pub(super) fn summary(
    model: &Model,
    books: &Books,
    emulated: &Emulated,
    is_verbose: bool,
) -> Vec<String> {
    let mut lines = vec![format!(
        "emulated {} in {}",
        model.name(),
        counted(books.processes, "process", "processes"),
    )];
    lines.extend(rule(model, &emulated.settings));
    lines.extend(table(&emulated.waits));
    let by_event: u64 = (emulated.waits.iter())
        .map(|waits| waits.ended_by_event)
        .sum();
    if by_event > 0 {
        lines.push(format!(
            "{} ended by an event or a signal, as without the rule",
            counted(by_event, "wait", "waits")
        ));
    }
    lines.extend(of_runtimes(model, books, is_verbose));
    lines.extend(emulated.limits.iter().cloned());
    lines.extend(punctual_lab::evidence_of_sleeps(model));
    lines
}

/// The rule that processes with these settings meet, in lines of prose.
fn rule(model: &Model, settings: &EmulatedSettings) -> Vec<String> {
    let request = settings.request_ns.map(Nanos::new);
    let examined =
        Examined::simulated(model, request).or_else(|_| Examined::simulated(model, None));
    let Ok(Examined { mut situation, .. }) = examined else {
        return vec![];
    };
    let text = match (request, situation.interval) {
        (Some(request), Some(interval)) if settings.hidden && situation.throttles() => format!(
            "{}. Each process asks for {request}, but it is hidden, so Windows ignores that.",
            clock_interrupts(interval.coarsest)
        ),
        _ => {
            if situation.throttles() {
                situation.throttling = Some(Throttling::HonourRequests);
            }
            rule_in_force(&situation)
        }
    };
    prose::paragraph(&text).lines().map(str::to_owned).collect()
}

/// The limits of emulated runs, a line each.
pub(super) fn limits(books: &Books) -> Vec<String> {
    let [wanted, replaced] = books.clocks;
    let clocks = if replaced == 0 {
        "the clocks"
    } else {
        "other clocks"
    };
    let mut lines = vec![format!(
        "not emulated: the scheduling and {clocks} of that system, and timers of different threads that expire at the same time"
    )];
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
    let left_out = [
        (
            books.timers,
            "settings of timers of file descriptors, which kept their lengths",
        ),
        (
            books.unruled,
            "waits whose times or rules were out of reach",
        ),
    ];
    for (count, what) in left_out.into_iter().filter(|(count, _)| *count > 0) {
        lines.push(format!("not emulated: {count} {what}"));
    }
    let unobserved = books.unobserved();
    if unobserved > 0 {
        lines.push(format!(
            "{} by ptrace: the return was not observed, so an event may have ended some of them at or after the end by the \
             rule; the slack of Linux is added to that, mostly 50 us",
            counted(unobserved, "wait", "waits")
        ));
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
            "not emulated: {}, whose ports wait by other calls (`--as plain` takes them for C programs; `--by ptrace` reaches \
             those of Go)",
            books.runtimes.join(", ")
        ));
    }
    if books.processes == 0 && books.runtimes.is_empty() {
        lines.push("no process loaded the library: nothing was emulated".to_owned());
    }
    lines
}

/// The lines about runtimes.
fn of_runtimes(model: &Model, books: &Books, is_verbose: bool) -> Vec<String> {
    let rule = model.build_rule();
    let mut lines = vec![];
    for (runtime, minor) in books.ports.iter().filter_map(|port| port.runtime()) {
        let of_version = runtime.lines.iter().filter(|line| line.has(minor));
        let ported: Vec<String> = of_version
            .filter_map(|line| Some(ported(line, line.instead(rule.methods())?)))
            .collect();
        // Each call is itself on that system.
        if ported.is_empty() {
            continue;
        }
        let name = format!("{}{minor}", runtime.name);
        if !is_verbose {
            lines.push(format!(
                "{name}: its waits are those of its port to that system (-v lists them)"
            ));
            lines.push(format!(
                "cannot be told apart below the program: {}",
                runtime.alike_in_short
            ));
            continue;
        }
        lines.push(format!(
            "{name}: its waits there, and where its code has them"
        ));
        lines.extend(ported);
        lines.push(format!("  {}", runtime.requests));
        let alike = runtime.alike.iter();
        lines.extend(alike.map(|alike| format!("cannot be told apart: {alike}")));
    }
    let [_, replaced] = books.clocks;
    if replaced > 0 {
        lines.push(format!(
            "time.time and time.monotonic moved in the steps of Windows in {}; datetime.now and datetime.utcnow stayed exact",
            counted(replaced, "process of CPython", "processes of CPython")
        ));
    }
    lines
}

/// A line of the table of a runtime in words.
fn ported(line: &Line, Instead { call, again, .. }: Instead) -> String {
    let here: Vec<&str> = line.here.iter().map(|call| call.name()).collect();
    format!(
        "  {} (here {}): {call}{} [{}]",
        line.what,
        here.join(" or "),
        again.in_words(),
        line.source
    )
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A length in milliseconds.
pub(super) fn shown(ns: Option<u64>) -> String {
    ns.map_or_else(|| "?".to_owned(), |ns| punctual_report::units::ms(ns, 3))
}

/// The waits that their timer ended, most frequent first.
fn table(waits: &[EmulatedWaits]) -> Vec<String> {
    let by_timer: Vec<&EmulatedWaits> =
        (waits.iter().filter(|waits| waits.not_by_event() > 0)).collect();
    let Some((listed, more)) = by_timer.split_at_checked(LISTED.min(by_timer.len())) else {
        return vec![];
    };
    if listed.is_empty() {
        return vec![
            "no wait was ended by its timer (waits of another user are not counted)".to_owned(),
        ];
    }
    let head = ["waits", "asked", "natively", "by the rule", "took", "call"];
    let mut lines = vec![row(head.map(str::to_owned))];
    lines.extend(listed.iter().map(|waits| {
        row([
            waits.not_by_event().to_string(),
            shown(Some(waits.asked_ns)),
            shown(waits.native_ns),
            shown(waits.by_rule_ns),
            shown(waits.took_ns),
            waits.name(),
        ])
    }));
    if !more.is_empty() {
        let waits: u64 = more.iter().map(|waits| waits.not_by_event()).sum();
        lines.push(format!("and {waits} waits of {} other kinds", more.len()));
    }
    lines
}

fn row([waits, asked, native, rule, took, call]: [String; 6]) -> String {
    format!("{waits:>8} {asked:>12} {native:>12} {rule:>12} {took:>12}  {call}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_that_of_the_request_unless_it_is_ignored() {
        let rule = |model: &str, request_ns, hidden| {
            let settings = EmulatedSettings {
                request_ns,
                hidden,
                ..EmulatedSettings::default()
            };
            rule(&Model::parse(model).unwrap(), &settings).join(" ")
        };
        let none = rule("windows-11", None, false);
        assert!(
            none.contains("15.625 ms apart, as no process asks for less"),
            "{none}"
        );
        let heard = rule("windows-11", Some(1_000_000), false);
        assert!(
            heard.contains("because this process asks for that"),
            "{heard}"
        );
        let ignored = rule("windows-11", Some(1_000_000), true);
        assert!(
            ignored.contains("15.625 ms apart. Each process asks for 1 ms, but it is hidden"),
            "{ignored}"
        );
        // Older versions have no such rule, and other systems no request.
        let old = rule("windows-10-2004", Some(1_000_000), true);
        assert!(old.contains("because this process asks for that"), "{old}");
        assert!(rule("linux", Some(1_000_000), false).contains("timer slack"));
    }
}
