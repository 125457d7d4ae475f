//! Waits at a steady rate: how late, and for how much CPU time.

use punctual_record::experiment::{Learning, Pace};
use punctual_record::{CAP_NS, Measurement};

use super::blank::{Marks, Why};
use super::cost::{self, Counted};
use super::grid::Grid;
use crate::select::{self, Row};
use crate::units;

/// For each rate: lateness, CPU time, the cost of a wait in each way to count
/// it, and the time that was lost to others.
pub(crate) fn pace(measurements: &[Row<'_, Pace>]) -> Vec<String> {
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

fn lateness(name: &str, group: &[Row<'_, Pace>]) -> String {
    let any_predicted = group.iter().any(|m| m.predicted_late_ns.is_some());
    let mut head = vec![
        "subject",
        "n",
        "min",
        "p50",
        "p75",
        "p90",
        "p99",
        "p99.9",
        "max",
        "> 1 ms\n%",
        "mean",
        "mean\ncapped",
    ];
    if any_predicted {
        head.insert(2, "predicted");
    }
    let mut grid = Grid::new(format!("{name}: lateness"), &head);
    let mut marks = Marks::default();
    for m in group {
        let late = &m.late_ns;
        let mut row = vec![
            m.subject.clone(),
            late.n.to_string(),
            marks.measured(m, late.min as f64),
            marks.percentile(m, late.p50),
            marks.percentile(m, late.p75),
            marks.percentile(m, late.p90),
            marks.percentile(m, late.p99),
            marks.percentile(m, late.p999),
            marks.measured(m, late.max as f64),
            marks.over_1ms_percent(m),
            marks.measured(m, late.mean),
            marks.measured(m, late.mean_capped),
        ];
        if any_predicted {
            let predicted = m.predicted_late_ns.map(|ns| units::duration(ns as f64));
            row.insert(2, marks.or_blank(predicted, Why::NotPredicted));
        }
        grid.row(row);
    }
    let period = group.first().map(|m| m.of.period_ns as f64);
    let every = period.map_or_else(String::new, |ns| {
        format!("One wait every {}. ", units::nominal(ns))
    });
    let mut caption = vec![format!(
        "{every}n: waits. > 1 ms: the waits that ended more than 1 ms late. mean capped: each lateness \
         counted as at most {}.",
        units::nominal(CAP_NS as f64)
    )];
    caption.extend(warm_up(group));
    if any_predicted {
        caption.push(
            "predicted: the p50 that the timer rule in force gives a timer alone on its CPU, if waking \
             up cost nothing."
                .to_owned(),
        );
    }
    grid.section(&caption, marks)
}

/// How batches start, and how many waits come before those that count.
fn warm_up(group: &[Row<'_, Pace>]) -> Option<String> {
    let waits = select::values(group, |of| of.warm_up_waits as f64);
    let (least, most) = (*waits.first()?, *waits.last()?);
    let range = if least < most {
        format!("{} to {}", units::plain(least), units::plain(most))
    } else {
        units::plain(most)
    };
    let plural = if most == 1.0 { "" } else { "s" };
    let keeps_state = |m: &Row<'_, Pace>| m.of.learning == Learning::GoesOn;
    Some(if group.iter().all(keeps_state) {
        format!(
            "A subject's first batch starts cold, later ones with what it learned, each with {range} warm-up \
             wait{plural}."
        )
    } else {
        format!("Each batch starts cold, with {range} warm-up wait{plural}.")
    })
}

fn cpu_and_wakes(name: &str, group: &[&Measurement]) -> String {
    let any_busy = group.iter().any(|m| m.cpu.busy_fraction.is_some());
    let any_early = group.iter().any(|m| m.late_ns.early > 0);
    let mut head = vec![
        "subject",
        "n",
        "CPU %",
        "CPU\nper wait",
        "naps\nper wait",
        "missed",
    ];
    if any_busy {
        head.insert(3, "busy %");
    }
    if any_early {
        head.push("early");
    }
    let mut grid = Grid::new(format!("{name}: CPU and wakes"), &head);
    let mut marks = Marks::default();
    for m in group {
        let late = &m.late_ns;
        let cpu_per_wait = m.cpu.per_wait_ns.map(units::duration);
        let mut row = vec![
            m.subject.clone(),
            late.n.to_string(),
            marks.cpu_percent(&m.cpu),
            marks.cpu_based(&m.cpu, cpu_per_wait),
            marks.or_blank(m.wakes_per_wait.map(units::plain), Why::NapsNotCounted),
            marks.count(m, m.missed),
        ];
        if any_busy {
            let busy = m.cpu.busy_fraction.map(units::percent);
            row.insert(3, marks.or_blank(busy, Why::NotPinned));
        }
        if any_early {
            row.push(marks.count(m, late.early));
        }
        grid.row(row);
    }
    let mut caption = vec![
        "CPU: time billed to the thread. naps: calls that block; of a subject whose calls are not \
         seen, how often its thread gave up the CPU. missed: deadlines that had passed before \
         their wait began.",
    ];
    if any_busy {
        caption.push("busy: share of the time its CPU was not idle, whoever used it.");
    }
    if any_early {
        caption.push("early: waits that ended before their deadline.");
    }
    grid.section(&caption, marks)
}

/// The parts of the lateness that the OS counted. Nothing if it counted none.
fn causes(name: &str, group: &[&Measurement]) -> Option<String> {
    group
        .iter()
        .find_map(|m| m.queued_per_wait_ns.or(m.stolen_per_wait_ns))?;
    let mut grid = Grid::new(
        format!("{name}: lost time that the OS counted, per wait"),
        &[
            "subject",
            "n",
            "mean lateness",
            "waited for a CPU",
            "stolen",
        ],
    );
    let mut marks = Marks::default();
    for m in group {
        let mut row = vec![
            m.subject.clone(),
            m.late_ns.n.to_string(),
            marks.measured(m, m.late_ns.mean),
        ];
        for counted in [m.queued_per_wait_ns, m.stolen_per_wait_ns] {
            row.push(marks.or_blank(counted.map(units::duration), Why::NotCounted));
        }
        grid.row(row);
    }
    let caption = "waited for a CPU: the thread could run, but another one did. stolen: the \
         hypervisor gave the CPU to somebody else; known to 10 ms in total. Both count the whole \
         wait, its spins too, so they can exceed the lateness.";
    Some(grid.section(&[caption], marks))
}
