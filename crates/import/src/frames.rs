//! Frame logs: MangoHud (Linux) and PresentMon (Windows).

use std::collections::BTreeMap;

use punctual_record::LoggedKind;

use crate::Hints;
use crate::csv::{cells, column, is_comment, row};
use crate::number::{Unit, at, length, ns};
use crate::series::{Log, Series, Wait};

/// Reads a log of MangoHud: two lines on the computer, then `fps,frametime,...,elapsed`.
pub(crate) fn mangohud(text: &str, _: &Hints) -> Option<Result<Log, String>> {
    let is_head = |line: &str| {
        let head = cells(line, ',');
        column(&head, &["fps"]).is_some() && column(&head, &["frametime"]).is_some()
    };
    let at = text.lines().take(8).position(is_head)?;
    Some(of_mangohud(text, at))
}

fn of_mangohud(text: &str, head_at: usize) -> Result<Log, String> {
    let mut log = Log::new("MangoHud CSV");
    let lines: Vec<&str> = text.lines().collect();
    // Newer versions have a title before them.
    let is_facts = |line: &&str| {
        let names = cells(line, ',');
        column(&names, &["os"]).is_some() && column(&names, &["cpu"]).is_some()
    };
    let facts_at = lines[..head_at].iter().position(is_facts);
    if let Some([names, values, ..]) = facts_at.map(|at| &lines[at..head_at]) {
        let (names, values) = (cells(names, ','), cells(values, ','));
        let fact = |name: &str| {
            column(&names, &[name])
                .and_then(|place| values.get(place))
                .cloned()
        };
        log.os = fact("os").unwrap_or_default();
        log.kernel = fact("kernel");
        log.cpu_model = fact("cpu");
    }
    let head = cells(lines[head_at], ',');
    let [fps, frame, elapsed] = ["fps", "frametime", "elapsed"].map(|name| column(&head, &[name]));
    let (fps, frame) = fps
        .zip(frame)
        .ok_or("this MangoHud log has no frame times")?;
    let mut rows = Vec::new();
    for (i, line) in rows_below(&lines, head_at) {
        let cells = at(i, row(line, ',', head.len()))?;
        let number =
            |place: usize| at(i, ns(cells.get(place).map_or("", String::as_str), Unit::Ns));
        let real = |place: usize| cells.get(place).and_then(|cell| cell.parse::<f64>().ok());
        let at_ns = elapsed.map(number).transpose();
        // The last line may be cut off.
        match (real(fps), real(frame), at_ns) {
            (Some(fps), Some(frame), Ok(at_ns)) => rows.push((i, fps, frame, at_ns)),
            _ if i + 1 == lines.len() => log.cannot_tell("The log's last line is cut off."),
            _ => return at(i, Err("there is no frame time here".to_owned())),
        }
    }
    // Microseconds or milliseconds, by version: frames a second tell (MangoHud issue 506).
    let mut products: Vec<f64> = rows.iter().map(|(_, fps, frame, _)| fps * frame).collect();
    products.retain(|product| product.is_finite() && *product > 0.0);
    products.sort_by(f64::total_cmp);
    let unit = match products.get(products.len() / 2) {
        Some(product) if *product > 30_000.0 => Unit::Us,
        _ => Unit::Ms,
    };
    let mut frames = Vec::new();
    for (i, _, frame, at_ns) in &rows {
        frames.push(Wait {
            length: Some(at(*i, length(&frame.to_string(), unit))?),
            at: at_ns.and_then(|ns| u64::try_from(ns).ok()),
            ..Wait::default()
        });
    }
    let lengths = frames.iter().filter_map(|frame| frame.length);
    let sum: f64 = lengths.map(|ns| ns as f64).sum();
    let ends = [frames.first(), frames.last()].map(|frame| frame.and_then(|frame| frame.at));
    if let [Some(first), Some(last)] = ends
        && last.saturating_sub(first) as f64 > sum * 1.5
    {
        log.cannot_tell(
            "The log was written at an interval and has not every frame (log_interval=0 would).",
        );
    }
    log.cannot_tell(NO_WAITS);
    log.series
        .push(Series::of("frames", LoggedKind::Frames, frames));
    Ok(log)
}

/// The facts that no log of frames states.
const NO_WAITS: &str =
    "The log has frame times and no waits: how late each wait was, it does not say.";

/// The lines below the head that are not empty, each with its place.
fn rows_below<'l>(lines: &'l [&str], head_at: usize) -> impl Iterator<Item = (usize, &'l str)> {
    let lines = lines.iter().copied().enumerate().skip(head_at + 1);
    lines.filter(|(_, line)| !line.trim().is_empty())
}

/// The columns with a frame's time, in ms, by version of PresentMon.
const FRAME: [&str; 2] = ["FrameTime", "MsBetweenPresents"];

/// Reads a log of PresentMon: a row per frame, of all programs.
pub(crate) fn presentmon(text: &str, _: &Hints) -> Option<Result<Log, String>> {
    let (head_at, head) = text
        .lines()
        .enumerate()
        .find(|(_, line)| !is_comment(line))?;
    let head = cells(head, ',');
    let is_one =
        column(&head, &["Application"]).is_some() && column(&head, &["ProcessID"]).is_some();
    let parts = [["CPUBusy", "CPUWait"], ["MsCPUBusy", "MsCPUWait"]];
    let parts = parts
        .iter()
        .find_map(|[busy, wait]| Some([column(&head, &[busy])?, column(&head, &[wait])?]));
    let frame = column(&head, &FRAME).map(|frame| vec![frame]);
    let frame = frame.or(parts.map(Vec::from)).filter(|_| is_one)?;
    Some(of_presentmon(text, (head_at, &head), &frame))
}

fn of_presentmon(
    text: &str,
    (head_at, head): (usize, &[String]),
    frame: &[usize],
) -> Result<Log, String> {
    let mut log = Log::new("PresentMon CSV");
    log.os = "Windows".to_owned();
    let [program, process, chain] =
        ["Application", "ProcessID", "SwapChainAddress"].map(|name| column(head, &[name]));
    let lines: Vec<&str> = text.lines().collect();
    let mut programs: BTreeMap<[String; 3], Vec<Wait>> = BTreeMap::new();
    let mut unknown = 0;
    for (i, line) in rows_below(&lines, head_at) {
        let cells = at(i, row(line, ',', head.len()))?;
        if cells.len() < head.len() && i + 1 == lines.len() {
            log.cannot_tell("The log's last line is cut off.");
            break;
        }
        let cell = |place: usize| cells.get(place).map_or("", String::as_str);
        if frame.iter().any(|place| ["NA", ""].contains(&cell(*place))) {
            unknown += 1;
            continue;
        }
        let parts = frame.iter().map(|place| length(cell(*place), Unit::Ms));
        let parts = at(i, parts.collect::<Result<Vec<u64>, _>>())?;
        let name = [program, process, chain].map(|place| place.map_or("", cell).to_owned());
        programs.entry(name).or_default().push(Wait {
            length: Some(parts.iter().sum()),
            ..Wait::default()
        });
    }
    if unknown > 0 {
        log.cannot_tell(format!(
            "Of {unknown} of its frames it does not say how long they took."
        ));
    }
    log.cannot_tell(NO_WAITS);
    let mut programs: Vec<_> = programs.into_iter().collect();
    programs.sort_by_key(|(_, frames)| std::cmp::Reverse(frames.len()));
    let names: Vec<String> = programs
        .iter()
        .map(|([name, ..], _)| name.clone())
        .collect();
    for ([name, process, chain], frames) in programs {
        let subject = match names.iter().filter(|other| **other == name).count() {
            1 => name,
            _ => format!("{name} {process} {chain}"),
        };
        log.series
            .push(Series::of(subject, LoggedKind::Frames, frames));
    }
    Ok(log)
}
