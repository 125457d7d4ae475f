//! The accounts that are charged for fresh memory, and the two processes that allocate a page over
//! and over, beside the article's.

use punctual_record::Interval;
use punctual_report::tables::Section;
use punctual_report::tables::table::Why;
use punctual_report::tables::table::{Cell, Table};
use punctual_report::{prose, units};

use super::account;
use crate::published::FIGURES;
use crate::report::tables::why;
use crate::rows::{
    Account, PAGE_BYTES, Paid, Payments, ProcessesAccount, ZeroProbe, ZeroRow, over_rounds,
};

/// CPUs that everybody kept busy, a row for each thing that was done; that of
/// the two processes is among them.
pub(super) fn payers(measurements: &[&ZeroRow]) -> Option<Section> {
    let accounts = measurements.iter();
    let accounts: Vec<(&str, &Account)> = accounts
        .filter_map(|m| Some((m.subject.as_str(), m.account()?)))
        .collect();
    let cpus = |cpus: f64| format!("{cpus:.3}");
    let of_children = |account: &Account, used: Option<f64>| {
        let why = match account.rounds.iter().any(|round| round.children.is_some()) {
            true => Why::NOT_COUNTED,
            false => why::NO_CHILDREN,
        };
        Cell::or(used.map(cpus), why)
    };
    let rate = |account: &Account, rate: Option<Interval>| {
        let why = match account.rounds.iter().any(|round| round.bytes > 0) {
            true => Why::NOT_COUNTED,
            false => why::NOTHING_WRITTEN,
        };
        Cell::or(rate.map(|rate| units::ratio(rate.median)), why)
    };
    let table = Table::new(
        "zero probe, payers: CPUs kept busy, by whom (CPU time over the time that passed)",
        &accounts,
    )
    .column("what is done", |(done, _)| *done)
    .column("this process:\nits own", |(_, of)| {
        of.own_user_cpus.map(cpus)
    })
    .blank(Why::NO_CPU_TIME)
    .column("in the\nsystem", |(_, of)| of.own_system_cpus.map(cpus))
    .blank(Why::NO_CPU_TIME)
    .column("its children:\ntheir own", |(_, of)| {
        of_children(of, of.children_user_cpus)
    })
    .column("in the\nsystem", |(_, of)| {
        of_children(of, of.children_system_cpus)
    })
    .column("the System\nprocess", |(_, of)| {
        of.system_process_cpus.map(cpus)
    })
    .blank(why::NO_SYSTEM_PROCESS)
    .column("everybody\nelse", |(_, of)| of.others_cpus.map(cpus))
    .blank(Why::NOT_COUNTED)
    .column("the\ncomputer", |(_, of)| of.computer_cpus.map(cpus))
    .blank(Why::NOT_COUNTED)
    .column("GB per\nCPU-s", |(_, of)| rate(of, of.gb_per_cpu_s))
    .column("of the\ncomputer", |(_, of)| {
        rate(of, of.gb_per_cpu_s_of_computer)
    })
    .caption(CAPTION)
    .captions(seen(measurements));
    (!accounts.is_empty()).then(|| table.section())
}

const CAPTION: &str = "fresh: map, fill and unmap blocks. reused: fill one block again and again. nothing: sleep, so that \
     what others use shows. The System process is where Windows zeroes what was freed. Everybody else is what the \
     whole computer used less all of these; it is counted in steps of 10 ms or more, so that a little is nothing, \
     and can be below zero. GB per CPU-s: bytes written over the CPU time of this process and its children; then \
     over that of the whole computer.";

/// More CPUs than this in use at rest hide what others pay.
const BUSY: f64 = 0.15;

/// The accounts that were charged for a fresh page and for one used again, in a sentence. The use
/// of others is counted above their use at rest.
fn seen(measurements: &[&ZeroRow]) -> Option<String> {
    let [fresh, reused] = ["fresh", "reused"].map(|subject| account(measurements, subject));
    let (fresh, reused) = (fresh?, reused?);
    let rest = account(measurements, "nothing").and_then(|nothing| nothing.others_cpus);
    let others = match rest {
        Some(rest) if rest > BUSY => " Others were too busy to see whether they paid.".to_owned(),
        Some(rest) => {
            let ns =
                |account: &Account| Some((account.others_cpus? - rest) * ns_per_page(account)?);
            let both = ns(fresh).zip(ns(reused));
            both.map_or_else(String::new, |(fresh, reused)| {
                format!(
                    " Everybody else: {} and {}, less what they use at rest.",
                    units::duration(fresh),
                    units::duration(reused)
                )
            })
        }
        None => String::new(),
    };
    Some(format!(
        "Seen here, CPU time for each page that was written: fresh, {}; used again, {}.{others}",
        charged(fresh)?,
        charged(reused)?
    ))
}

fn charged(account: &Account) -> Option<String> {
    let wall = ns_per_page(account)?;
    let parts = [
        ("in this process itself", Some(account.own_user_cpus?)),
        (
            "in the system on its behalf",
            Some(account.own_system_cpus?),
        ),
        ("in the System process", account.system_process_cpus),
    ];
    let words = parts.into_iter().filter_map(|(who, cpus)| {
        let length = units::duration(cpus? * wall);
        Some(format!("{length} {who}"))
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

/// The time that passed for each page that was written.
fn ns_per_page(account: &Account) -> Option<f64> {
    let bytes: u64 = account.rounds.iter().map(|round| round.bytes).sum();
    let wall: u64 = account.rounds.iter().map(|round| round.wall_ns).sum();
    (bytes > 0).then(|| wall as f64 * PAGE_BYTES as f64 / bytes as f64)
}

/// The CPU time of the System process for each page of fresh memory; `None` where there is no such
/// process.
pub(super) fn system_process_ns_per_page(measurements: &[&ZeroRow]) -> Option<f64> {
    let fresh = account(measurements, "fresh")?;
    let rest = account(measurements, "nothing").and_then(|nothing| nothing.system_process_cpus);
    Some((fresh.system_process_cpus? - rest.unwrap_or(0.0)) * ns_per_page(fresh)?)
}

pub(super) fn processes(measurement: &ZeroRow) -> Option<Section> {
    let Some(ZeroProbe::Processes(of)) = measurement.part() else {
        return None;
    };
    let account = &of.account;
    let caption = format!(
        "Medians over {}, and {}. s of CPU are per round. In the article's test the System process zeroed, and most \
         of its CPU time went into waiting for a lock; its GB per CPU-s are of that alone, here they are of everybody \
         on the computer. Published: {}; its time and us follow from its CPU time and CPUs.",
        prose::counted(account.rounds.len() as u64, "round"),
        match account.rounds.len() {
            0..6 => "all of them",
            _ => "the intervals that hold them with 95 %",
        },
        FIGURES.test.source,
    );
    let title = "zero probe, processes: each maps, fills and unmaps one page, over and over";
    let rows = rows(of);
    let table = Table::new(title, &rows)
        .column("", |row| row.name)
        .column("here", |row| row.here.clone())
        .column("published", |row| row.published.clone())
        .blank(Why::NOT_PUBLISHED)
        .caption(caption);
    Some(table.section())
}

/// A figure, here and as it was published.
struct Row {
    name: &'static str,
    here: Cell,
    published: Option<String>,
}

impl Row {
    fn of(name: &'static str, here: impl Into<Cell>) -> Self {
        Self {
            name,
            here: here.into(),
            published: None,
        }
    }

    fn beside(self, published: String) -> Self {
        Self {
            published: Some(published),
            ..self
        }
    }
}

fn rows(of: &ProcessesAccount) -> Vec<Row> {
    let account = &of.account;
    let processes = of.processes;
    let bytes = |bytes: f64| {
        format!(
            "{:.2} GB = {:.3} GiB",
            bytes / 1e9,
            bytes / f64::from(1 << 30)
        )
    };
    let each = |of: &dyn Fn(&Payments) -> Option<f64>| over_rounds(&account.rounds, of);
    let iteration = each(&|round| {
        let iterations = round.bytes as f64 / PAGE_BYTES as f64;
        (iterations > 0.0).then(|| round.wall_ns as f64 * processes as f64 / iterations)
    });
    let iteration = iteration.map(|ns| ns.scaled(1e-3));
    let written = each(&|round| Some(round.bytes as f64)).unwrap_or_default();
    let faults = each(&|round| {
        Some(round.children?.faults? as f64 * PAGE_BYTES as f64 / round.bytes as f64)
    });
    let or = |value: Option<Interval>, why| Cell::or(value.map(number), why);
    let seconds = |ns: &dyn Fn(&Payments) -> Option<u64>, why| {
        or(each(&|round| Some(ns(round)? as f64 / 1e9)), why)
    };
    let paid = |of: fn(&Paid) -> u64| {
        let ns = |round: &Payments| round.children.as_ref().map(of);
        seconds(&ns, Why::NO_CPU_TIME)
    };
    let process = seconds(&|round| round.system_process_ns, why::NO_SYSTEM_PROCESS);
    let computer = seconds(&|round| round.computer_ns, Why::NOT_COUNTED);
    let cpus = |value: Option<f64>, why| Cell::or(value.map(units::ratio), why);
    let system_cpus = cpus(account.system_process_cpus, why::NO_SYSTEM_PROCESS);
    let others = cpus(others(account), Why::NOT_COUNTED);
    let of_two = or(account.gb_per_cpu_s, Why::NO_CPU_TIME);
    let of_all = or(account.gb_per_cpu_s_of_computer, Why::NOT_COUNTED);
    let test = &FIGURES.test;
    vec![
        Row::of(
            "processes x iterations",
            format!("{processes} x {}", of.iterations),
        )
        .beside(format!("{} x {}", test.processes, test.iterations)),
        Row::of("memory, in all", bytes(written.median)).beside(bytes(test.bytes() as f64)),
        Row::of("time, s", number(account.wall_s)).beside(format!("about {:.1}", test.wall_s())),
        Row::of("us per iteration", or(iteration, Why::NOT_MEASURED))
            .beside(format!("about {:.0}", test.us_per_iteration())),
        Row::of("faults per iteration", or(faults, Why::NOT_COUNTED)),
        Row::of("CPU of the two, their own, s", paid(|paid| paid.user_ns)),
        Row::of(
            "CPU of the two, in the system, s",
            paid(|paid| paid.system_ns),
        ),
        Row::of("CPU of the System process, s", process)
            .beside(format!("more than {:.0}", test.cpu_s)),
        Row::of("CPU of the computer, s", computer),
        Row::of("CPUs of the System process", system_cpus).beside(format!("{:.0}", test.cpus)),
        Row::of("CPUs of everybody but the two", others),
        Row::of("GB per CPU-s of the two", of_two),
        Row::of("GB per CPU-s of everybody", of_all).beside(format!("{:.4}", test.gb_per_cpu_s())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::PayersAccount;

    fn of(subject: &str, bytes: u64, system_ns: u64, computer_ns: u64) -> ZeroRow {
        let payments = Payments {
            wall_ns: 1_000_000,
            bytes,
            own: Some(Paid {
                user_ns: 100_000,
                system_ns,
                faults: None,
            }),
            system_process_ns: Some(if bytes > 0 { 50_000 } else { 10_000 }),
            computer_ns: Some(computer_ns),
            ..Payments::default()
        };
        let payers = PayersAccount {
            block_bytes: PAGE_BYTES,
            account: Account::of(&[payments]).unwrap(),
        };
        ZeroRow::probe(subject, ZeroProbe::Payers(payers))
    }

    fn phases(at_rest_ns: u64) -> [ZeroRow; 3] {
        [
            of("fresh", 1_000 * PAGE_BYTES, 700_000, 950_000),
            of("reused", 10_000 * PAGE_BYTES, 0, 250_000),
            of("nothing", 0, 0, at_rest_ns),
        ]
    }

    #[test]
    fn who_was_charged_is_told_by_the_page() {
        // 100 us are of this process, 10 of the System process, and 90 of others.
        let phases = phases(200_000);
        let all: Vec<&ZeroRow> = phases.iter().collect();
        assert_eq!(
            seen(&all).unwrap(),
            "Seen here, CPU time for each page that was written: fresh, 100 ns in this process itself, 700 ns \
             in the system on its behalf, 50 ns in the System process; used again, 10 ns in this process \
             itself, 0 ns in the system on its behalf, 5 ns in the System process. Everybody else: 10.0 ns \
             and 1.00 ns, less what they use at rest."
        );
        assert_eq!(system_process_ns_per_page(&all).map(f64::round), Some(40.0));
    }

    #[test]
    fn who_is_busy_anyway_hides_what_it_pays() {
        let phases = phases(900_000);
        let all: Vec<&ZeroRow> = phases.iter().collect();
        let seen = seen(&all).unwrap();
        assert!(
            seen.ends_with("Others were too busy to see whether they paid."),
            "{seen}"
        );
    }

    #[test]
    fn without_both_nothing_is_said() {
        let fresh = of("fresh", PAGE_BYTES, 1, 1);
        assert_eq!(seen(&[&fresh]), None);
    }
}
