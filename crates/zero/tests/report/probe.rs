//! The tables and figures of `punctual zero probe`: of a kept run, and of hostile files.

use punctual_record::{Run, RunRow};
use punctual_report::{figures, text};
use punctual_zero::rows::{
    Account, HugePages, PageCost, Paid, Payments, Spent, ZeroExperiment, ZeroProbe, ZeroRow,
};
use serde_json::{Value, json};

use crate::kept;
use crate::looks::{leave_to_look_at, report, texts};

/// Everything, where the system zeroes in the fault.
fn whole() -> Run<ZeroRow> {
    kept("zero-probe.json")
}

/// A row of the probe, as files have it.
fn row(part: &str, subject: &str, mut params: Value, key: &str, measured: Value) -> ZeroRow {
    params["experiment"] = "zero-probe".into();
    params["part"] = part.into();
    params["subject"] = subject.into();
    params[key] = measured;
    serde_json::from_value(params).unwrap()
}

#[test]
fn a_whole_probe_has_a_table_for_each_part_and_the_articles() {
    insta::assert_snapshot!("probe", report(&whole()));
}

/// There the fault does not zero, and another process pays.
#[test]
fn where_a_system_process_zeroes_the_costs_say_so() {
    let mut run = whole();
    run.results.retain(|row| match row.part() {
        Some(ZeroProbe::Pages(step)) => step.huge_pages != Some(HugePages::On),
        Some(ZeroProbe::Payers(_)) => true,
        _ => false,
    });
    for row in &mut run.results {
        let ZeroExperiment::ZeroProbe(probe) = &mut row.experiment else {
            continue;
        };
        if let ZeroProbe::Payers(payers) = &mut **probe {
            let mut rounds = payers.account.rounds.clone();
            for round in &mut rounds {
                let used = if row.subject == "fresh" {
                    round.wall_ns / 4
                } else {
                    0
                };
                round.system_process_ns = Some(used);
                round.computer_ns = round.computer_ns.map(|ns| ns + used);
            }
            payers.account = Account::of(&rounds).unwrap();
        }
    }
    let report = report(&run);
    let costs = report.find("zero probe: what fresh memory costs").unwrap();
    let payers = report.find("zero probe, payers").unwrap();
    insta::assert_snapshot!("probe_system_process", report[payers.min(costs)..]);
}

#[test]
fn parts_alone_have_their_own_tables_only() {
    for (part, costs) in [
        ("pages", true),
        ("blocks", false),
        ("processes", false),
        ("payers", false),
    ] {
        let mut run = whole();
        run.results.retain(|row| row.params()["part"] == part);
        let report = report(&run);
        for other in ["pages", "blocks", "processes", "payers"] {
            let title = format!("zero probe, {other}:");
            assert_eq!(report.contains(&title), other == part, "{part}, {other}");
        }
        let title = "zero probe: what fresh memory costs";
        assert_eq!(report.contains(title), costs, "{part}");
    }
}

#[test]
fn pages_and_blocks_are_drawn() {
    let figures = figures(&whole());
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["zero-probe-pages", "zero-probe-blocks"]);
    for (figure, needed) in figures.iter().zip([
        ["touch-random", "huge pages", "CPU time per page of 4 KiB"],
        ["allocator", "size of the block", "CPU time per MiB"],
    ]) {
        let texts = texts(figure).replace('\n', " ");
        for needed in needed.iter().chain(&["n = ", "Debian GNU/Linux 12"]) {
            assert!(texts.contains(needed), "{}: {needed}\n{texts}", figure.name);
        }
    }
    assert_eq!(figures, punctual_report::figures(&whole()));
    leave_to_look_at(&figures, "zero-probe");
}

/// Measurements with missing or extreme values.
#[test]
fn partial_and_extreme_measurements_are_reported_and_drawn() {
    let spent = [
        vec![],
        vec![Spent {
            pages: 1,
            ..Spent::default()
        }],
        vec![
            Spent {
                pages: u64::from(u32::MAX),
                wall_ns: 1,
                cpu_ns: Some(0),
                user_ns: None,
                system_ns: Some(u64::from(u32::MAX)),
                faults: Some(0),
            };
            7
        ],
    ];
    let payments = Payments {
        wall_ns: 1,
        bytes: 1,
        children: Some(Paid {
            user_ns: 1,
            ..Paid::default()
        }),
        computer_ns: Some(0),
        ..Payments::default()
    };
    let subjects = [
        "touch-forward",
        "unmap",
        "memset-cold",
        "fresh",
        "reused",
        "nothing",
    ];
    let account = json!(Account::of(&[payments]));
    for spent in spent {
        let cost = PageCost::of(&spent, true).unwrap_or_default();
        for params in [
            json!({ "bytes": 0 }),
            json!({ "bytes": u64::MAX, "huge_pages": "off" }),
        ] {
            let mut run: Run<ZeroRow> = Run::default();
            for subject in subjects {
                for part in ["warm-up", "pages", "blocks"] {
                    let cost = json!(cost);
                    let row = row(part, subject, params.clone(), "page_cost", cost);
                    run.results.push(row);
                }
                for (part, params) in [
                    (
                        "processes",
                        json!({ "bytes": 0, "processes": 0, "iterations": 0 }),
                    ),
                    ("payers", json!({ "block_bytes": 0 })),
                ] {
                    let row = row(part, subject, params, "account", account.clone());
                    run.results.push(row);
                }
            }
            for line in text(&run).lines() {
                assert_eq!(line, line.trim_end());
            }
            for figure in figures(&run) {
                roxmltree::Document::parse(&figure.svg).unwrap();
            }
        }
    }
}
