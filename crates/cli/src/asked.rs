//! The processes that asked for a timer interval, as `punctual doctor` names them.

use std::fmt::Write;

use punctual_core::Nanos;
use punctual_lab::energy_report::EnergyReport;
use punctual_lab::scenario::{Asked, WhoAsked};
use punctual_record::visible;
use punctual_report::prose;
use punctual_report::tables::table::Table;

/// How wide an answer is.
const WIDTH: usize = 80;

/// The requests in a run of a scenario.
pub(crate) fn in_scenario(who: &WhoAsked, scenario: &str, model: &str) -> String {
    let rulers = who.requests.iter().flat_map(|asked| {
        let ruled = asked.ruled.iter();
        ruled.map(|(from, to)| {
            let interval = asked.interval;
            let process = &asked.process;
            let driver = prose::when(asked.by_driver, || "a driver of ".to_owned());
            (
                *from,
                format!("{driver}{process} asked for {interval}, which ruled from {from} to {to}"),
            )
        })
    });
    let mut rulers: Vec<_> = rulers.collect();
    rulers.sort_unstable();
    let mut text = format!("{model}, {scenario}: ");
    text += &match rulers.len() {
        0 if who.requests.is_empty() => "no process asks for a timer interval.".to_owned(),
        0 => "no request for a timer interval counts.".to_owned(),
        _ => {
            let rulers: Vec<_> = rulers.into_iter().map(|(_, words)| words).collect();
            format!("{}.", rulers.join("; "))
        }
    };
    let mut before = None;
    let changes = who
        .intervals
        .iter()
        .filter(|(_, interval)| before.replace(*interval) != Some(*interval));
    let changes: Vec<_> = changes
        .map(|(at, interval)| match *at {
            Nanos::ZERO => interval.to_string(),
            at => format!("{interval} from {at}"),
        })
        .collect();
    let _ = write!(
        text,
        " The interval of the interrupt: {}.",
        changes.join(", ")
    );
    let mut text = paragraph(&text);
    if !who.requests.is_empty() {
        text += &Table::new("", &who.requests.iter().collect::<Vec<_>>())
            .column("process", |asked| asked.process.clone())
            .column(
                "by",
                |asked| if asked.by_driver { "driver" } else { "itself" },
            )
            .column("asked for", |asked| asked.interval.to_string())
            .column("since", |asked| asked.since.to_string())
            .column("until", |asked| {
                asked
                    .until
                    .map_or_else(|| "the end".to_owned(), |until| until.to_string())
            })
            .column("ruled", |asked| ruled(asked, who.length))
            .within(WIDTH)
            .section()
            .text;
    }
    text += "\n";
    text + &paragraph(
        "ruled: no request that counted was shorter, so that it set the interval of the interrupt. Windows names \
         the same processes in a report: `powercfg /energy`, then punctual doctor energy-report.html.",
    )
}

/// When a request ruled, or why it did not.
fn ruled(asked: &Asked, length: Nanos) -> String {
    let stood = asked.until.unwrap_or(length) - asked.since;
    let ignored = match asked.ignored {
        Nanos::ZERO => String::new(),
        ignored if ignored == stood => return "never, as the system ignored it".to_owned(),
        ignored => format!("; ignored for {ignored}"),
    };
    let ruled: Vec<_> = asked
        .ruled
        .iter()
        .map(|(from, to)| format!("{from} to {to}"))
        .collect();
    match ruled.is_empty() {
        true => format!("never, as others asked for less{ignored}"),
        false => ruled.join(", ") + &ignored,
    }
}

/// The requests in a report of `powercfg /energy`.
pub(crate) fn in_report(report: &EnergyReport) -> String {
    let shortest = report.requests.iter().map(|request| request.interval).min();
    let name = |name: Option<&str>| {
        name.map_or_else(
            || "the kernel or a driver".to_owned(),
            |name| visible(name).into_owned(),
        )
    };
    let rulers = report
        .requests
        .iter()
        .filter(|request| Some(request.interval) == shortest);
    let rulers: Vec<_> = rulers.map(|request| name(request.name())).collect();
    let mut text = match shortest {
        None => "No process had asked for a shorter timer interval while the report was made."
            .to_owned(),
        Some(shortest) => format!(
            "{} asked for {shortest}, the shortest timer interval.",
            prose::list(&rulers)
        ),
    };
    if let Some(current) = report.current {
        let _ = write!(text, " The interval of the interrupt was {current}");
        match report.coarsest {
            Some(coarsest) => text += &format!("; while nobody asks it is {coarsest}."),
            None => text += ".",
        }
    }
    let mut text = paragraph(&text);
    if !report.requests.is_empty() {
        text += &Table::new("", &report.requests.iter().collect::<Vec<_>>())
            .column("asked for", |request| request.interval.to_string())
            .column("rules", |request| {
                match Some(request.interval) == shortest {
                    true => "yes",
                    false => "",
                }
            })
            .column("process", |request| {
                request.pid.map_or_else(String::new, |pid| pid.to_string())
            })
            .column("program", |request| name(request.path.as_deref()))
            .within(WIDTH)
            .section()
            .text;
    }
    text += "\n";
    text + &paragraph(
        "A report does not tell since when a request stands, nor whether Windows 11 ignores it as nobody sees the process. \
         It lists what stood when it was made. High-resolution timers are not in it.",
    )
}

fn paragraph(text: &str) -> String {
    prose::lines(text, WIDTH).join("\n") + "\n"
}
