//! Waits at a steady rate: how late, and for how much CPU time.

use punctual_record::Measurement;

use super::blank::{Marks, Why};
use super::cost;
use super::grid::Grid;
use crate::{select, units};

/// For each rate: lateness and CPU time, the cost of a wait, and whether that
/// ranking holds.
pub(crate) fn pace(measurements: &[&Measurement]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), select::rate)
        .iter()
        .flat_map(|(rate, group)| {
            let name = format!("pace at {rate}");
            let mut sections = vec![lateness_and_cpu(&name, group)];
            sections.extend(cost::per_wait(&name, group));
            sections.extend(cost::other_counts(&name, group));
            sections.extend(causes(&name, group));
            sections
        })
        .collect()
}

fn lateness_and_cpu(name: &str, group: &[&Measurement]) -> String {
    let any_predicted = group.iter().any(|m| m.predicted_late_ns.is_some());
    let any_busy = group.iter().any(|m| m.cpu.busy_fraction.is_some());
    let any_early = group.iter().any(|m| m.late_ns.early > 0);
    let mut head = vec![
        "subject",
        "n",
        "p50",
        "p90",
        "p99",
        "max",
        "mean",
        "CPU %",
        "naps\nper wait",
        "missed",
    ];
    if any_busy {
        head.insert(8, "busy %");
    }
    if any_predicted {
        head.insert(2, "predicted");
    }
    if any_early {
        head.push("early");
    }
    let mut grid = Grid::new(format!("{name}: lateness and CPU"), &head);
    let mut marks = Marks::default();
    for m in group {
        let late = &m.late_ns;
        let mut row = vec![
            m.subject.clone(),
            late.n.to_string(),
            marks.percentile(late.p50),
            marks.percentile(late.p90),
            marks.percentile(late.p99),
            marks.measured(m, late.max as f64),
            marks.measured(m, late.mean),
            marks.cpu_percent(&m.cpu),
            marks.or_blank(m.wakes_per_wait.map(units::plain), Why::NapsNotCounted),
            m.missed.to_string(),
        ];
        if any_busy {
            let busy = m.cpu.busy_fraction.map(units::percent);
            row.insert(8, marks.or_blank(busy, Why::NotPinned));
        }
        if any_predicted {
            let predicted = m.predicted_late_ns.map(|ns| units::duration(ns as f64));
            row.insert(2, marks.or_blank(predicted, Why::NotPredicted));
        }
        if any_early {
            row.push(late.early.to_string());
        }
        grid.row(row);
    }
    let period = group.iter().find_map(|m| select::period_ns(m));
    let every = period.map_or_else(String::new, |ns| {
        format!("One wait every {}. ", units::nominal(ns))
    });
    let caption = format!(
        "{every}n: waits. CPU: time billed to the thread. missed: deadlines that had passed before \
         their wait began."
    );
    let mut caption = vec![caption];
    if any_busy {
        caption.push("busy: share of the time its CPU was not idle, whoever used it.".to_owned());
    }
    if any_predicted {
        caption.push(
            "predicted: the p50 that the timer rule in force allows at best, if waking up cost \
             nothing."
                .to_owned(),
        );
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
