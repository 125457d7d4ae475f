//! The two processes that allocate a page, over and over, beside the article's.

use punctual_record::Interval;
use punctual_report::tables::blank::Why;
use punctual_report::tables::table::{Cell, Table};
use punctual_report::units;

use crate::published::allocation::{ZEROPAGE_TEST, ZEROPAGE_TEST_SOURCE};
use crate::report::tables::why;
use crate::rows::{Account, PAGE_BYTES, Payments, ProcessesAccount, ZeroProbe, ZeroRow};

/// What they did and what it took.
pub(super) fn table(measurement: &ZeroRow) -> Option<String> {
    let Some(ZeroProbe::Processes(of)) = measurement.part() else {
        return None;
    };
    let account = &of.account;
    let caption = format!(
        "Medians over {}, and {}. s of CPU are per round. In the article's test the System process zeroed, and most \
         of its CPU time went into waiting for a lock; its GB per CPU-s are of that alone, here they are of everybody \
         on the computer. Published: {ZEROPAGE_TEST_SOURCE}; its time and us follow from its CPU time and CPUs.",
        rounds(account.rounds.len()),
        match account.rounds.len() {
            0..6 => "all of them",
            _ => "the intervals that hold them with 95 %",
        }
    );
    let title = "zero probe, processes: each maps, fills and unmaps one page, over and over";
    let rows = rows(of);
    let table = Table::new(title, &rows)
        .column("", |(name, ..)| *name)
        .column("here", |(_, here, _)| here.clone())
        .column("published", |(.., published)| published.clone())
        .blank(Why::NotPublished)
        .caption(caption);
    Some(table.section())
}

/// What is told, here and in the article.
fn rows(of: &ProcessesAccount) -> Vec<(&'static str, Cell, Option<String>)> {
    let account = &of.account;
    let test = ZEROPAGE_TEST;
    let processes = of.processes;
    let bytes = |bytes: f64| {
        format!(
            "{:.2} GB = {:.3} GiB",
            bytes / 1e9,
            bytes / f64::from(1 << 30)
        )
    };
    let each = |of: &dyn Fn(&Payments) -> Option<f64>| -> Option<Interval> {
        let values: Option<Vec<f64>> = account.rounds.iter().map(of).collect();
        Interval::of(&values?)
    };
    let seconds =
        |ns: &dyn Fn(&Payments) -> Option<u64>| each(&|round| Some(ns(round)? as f64 / 1e9));
    let iteration = each(&|round| {
        let iterations = round.bytes as f64 / PAGE_BYTES as f64;
        (iterations > 0.0).then(|| round.wall_ns as f64 * processes as f64 / iterations)
    });
    let written = each(&|round| Some(round.bytes as f64)).unwrap_or_default();
    let user = seconds(&|round| round.children.map(|paid| paid.user_ns));
    let system = seconds(&|round| round.children.map(|paid| paid.system_ns));
    let process = seconds(&|round| round.system_process_ns);
    let computer = seconds(&|round| round.computer_ns);
    let faults = each(&|round| {
        Some(round.children?.faults? as f64 * PAGE_BYTES as f64 / round.bytes as f64)
    });
    vec![
        (
            "processes x iterations",
            format!("{processes} x {}", of.iterations).into(),
            Some(format!("{} x {}", test.processes, test.iterations)),
        ),
        (
            "memory, in all",
            bytes(written.median).into(),
            Some(bytes(test.bytes() as f64)),
        ),
        (
            "time, s",
            number(account.wall_s).into(),
            Some(format!("about {:.1}", test.wall_s())),
        ),
        (
            "us per iteration",
            Cell::or(
                iteration.map(|ns| number(ns.scaled(1e-3))),
                Why::NotMeasured,
            ),
            Some(format!("about {:.0}", test.us_per_iteration())),
        ),
        (
            "faults per iteration",
            Cell::or(faults.map(number), Why::NotCounted),
            None,
        ),
        (
            "CPU of the two, their own, s",
            Cell::or(user.map(number), Why::NoCpuTime),
            None,
        ),
        (
            "CPU of the two, in the system, s",
            Cell::or(system.map(number), Why::NoCpuTime),
            None,
        ),
        (
            "CPU of the System process, s",
            Cell::or(process.map(number), why::NO_SYSTEM_PROCESS),
            Some(format!("more than {:.0}", test.system_process_s)),
        ),
        (
            "CPU of the computer, s",
            Cell::or(computer.map(number), Why::NotCounted),
            None,
        ),
        (
            "CPUs of the System process",
            Cell::or(
                account.system_process_cpus.map(units::ratio),
                why::NO_SYSTEM_PROCESS,
            ),
            Some(format!("{:.0}", test.system_process_cpus)),
        ),
        (
            "CPUs of everybody but the two",
            Cell::or(others(account).map(units::ratio), Why::NotCounted),
            None,
        ),
        (
            "GB per CPU-s of the two",
            Cell::or(account.gb_per_cpu_s.map(number), Why::NoCpuTime),
            None,
        ),
        (
            "GB per CPU-s of everybody",
            Cell::or(
                account.gb_per_cpu_s_of_computer.map(number),
                Why::NotCounted,
            ),
            Some(format!("{:.4}", test.gb_per_cpu_s())),
        ),
    ]
}

/// This process, which waits, and the System process are not the two either.
fn others(account: &Account) -> Option<f64> {
    let two = account.children_user_cpus? + account.children_system_cpus?;
    Some(account.computer_cpus? - two)
}

fn number(interval: Interval) -> String {
    interval.written(units::ratio)
}

fn rounds(rounds: usize) -> String {
    match rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    }
}
