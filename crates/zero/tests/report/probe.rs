//! What `punctual zero probe` writes: tables and figures of a run that never
//! happened.

use punctual_record::{HostFacts, Run};
use punctual_report::{figures, text};
use punctual_zero::rows::{Account, HugePages, PageCost, Paid, Payments, Spent, ZeroRow};
use serde_json::{Value, json};

use crate::leave_to_look_at;
use crate::made_up;

/// A row of the probe, as files have it.
fn row(part: &str, subject: &str, mut params: Value, key: &str, measured: Value) -> ZeroRow {
    params["experiment"] = "zero-probe".into();
    params["part"] = part.into();
    params["subject"] = subject.into();
    params[key] = measured;
    serde_json::from_value(params).unwrap()
}

/// What one subject of a part cost in six rounds.
fn cost(part: &str, subject: &str, params: Value, [ns, faults]: [f64; 2]) -> ZeroRow {
    let rounds: Vec<Spent> = (0..6_u64)
        .map(|round| {
            let pages = 131_072;
            let all = ns * pages as f64 * (1.0 + round as f64 / 50.0);
            Spent {
                pages,
                wall_ns: (all * 1.1) as u64,
                cpu_ns: Some(all as u64),
                user_ns: Some((all * 0.04) as u64),
                system_ns: Some((all * 0.96) as u64),
                faults: Some((faults * pages as f64) as u64),
            }
        })
        .collect();
    let cost = PageCost::of(&rounds, false).unwrap();
    row(part, subject, params, "page_cost", json!(cost))
}

fn pages() -> Vec<ZeroRow> {
    let mut all = vec![
        cost(
            "warm-up",
            "huge-pages",
            json!({ "bytes": 2_147_483_648_u64 }),
            [912.0, 0.002],
        ),
        cost(
            "warm-up",
            "ordinary-pages",
            json!({ "bytes": 2_147_483_648_u64 }),
            [655.0, 1.0],
        ),
    ];
    for (huge, faults, factor) in [("off", 1.0, 1.0), ("on", 1.0 / 512.0, 0.3)] {
        for (step, ns, is_touch) in [
            ("map", 0.02, false),
            ("touch-forward", 520.0, true),
            ("touch-backward", 533.0, true),
            ("touch-random", 561.0, true),
            ("populate", 441.0, true),
            ("touch-read", 214.0, true),
            ("touch-again", 9.0, false),
            ("unmap", 96.0, false),
        ] {
            let params = json!({ "bytes": 536_870_912, "huge_pages": huge });
            let faults = if is_touch { faults } else { 0.0 };
            all.push(cost("pages", step, params, [ns * factor, faults]));
        }
    }
    for (step, bytes, ns) in [
        ("memset-cold", 536_870_912, 168.0),
        ("memset-cold-at-once", 536_870_912, 121.0),
        ("memset-hot", 524_288, 38.0),
    ] {
        all.push(cost("pages", step, json!({ "bytes": bytes }), [ns, 0.0]));
    }
    all
}

fn blocks() -> Vec<ZeroRow> {
    let mut all = Vec::new();
    for power in 0..10 {
        let bytes = 4096_u64 << (2 * power);
        let kept = bytes < 1 << 20;
        let calls = 900.0 * 4096.0 / bytes as f64;
        let reused = if kept { 35.0 } else { 170.0 };
        for (subject, ns, faults) in [
            ("fresh", 620.0 + calls, 1.0),
            ("reused", reused, 0.0),
            (
                "allocator",
                if kept { reused } else { 640.0 },
                if kept { 0.0 } else { 1.0 },
            ),
            ("allocator-pair", 7_500.0 * 4096.0 / bytes as f64, 0.0),
        ] {
            all.push(cost(
                "blocks",
                subject,
                json!({ "bytes": bytes }),
                [ns, faults],
            ));
        }
    }
    all
}

fn account(part: &str, subject: &str, params: Value, payments: Payments) -> ZeroRow {
    let rounds: Vec<Payments> = (0..6)
        .map(|round| Payments {
            wall_ns: payments.wall_ns + round * 1_000_000,
            ..payments
        })
        .collect();
    let account = Account::of(&rounds).unwrap();
    row(part, subject, params, "account", json!(account))
}

fn paid(user_ms: u64, system_ms: u64, faults: u64) -> Option<Paid> {
    Some(Paid {
        user_ns: user_ms * 1_000_000,
        system_ns: system_ms * 1_000_000,
        faults: Some(faults),
    })
}

fn two_processes() -> ZeroRow {
    account(
        "processes",
        "zeropage-test",
        json!({ "processes": 2, "iterations": 800_000, "bytes": 4096 }),
        Payments {
            wall_ns: 1_900_000_000,
            bytes: 1_600_000 * 4096,
            own: paid(0, 1, 3),
            children: paid(240, 3_500, 1_600_004),
            system_process_ns: None,
            computer_ns: Some(3_770_000_000),
        },
    )
}

/// With what a system process used, if there is one.
fn payers(system_process_ms: Option<u64>) -> Vec<ZeroRow> {
    let of = |subject, gib: u64, own, computer_ms: u64| {
        let in_background = system_process_ms.filter(|_| subject == "fresh");
        let payments = Payments {
            wall_ns: 500_000_000,
            bytes: gib << 30,
            own,
            children: None,
            system_process_ns: system_process_ms.map(|_| in_background.unwrap_or(0) * 1_000_000),
            computer_ns: Some((computer_ms + in_background.unwrap_or(0)) * 1_000_000),
        };
        account(
            "payers",
            subject,
            json!({ "block_bytes": 67_108_864 }),
            payments,
        )
    };
    vec![
        of("fresh", 3, paid(60, 438, 786_432), 510),
        of("reused", 10, paid(498, 1, 16_384), 510),
        of("nothing", 0, paid(0, 0, 0), 10),
    ]
}

/// A run with these results on the invented machine.
fn probed(results: Vec<ZeroRow>) -> Run<ZeroRow> {
    let mut run = made_up::of(results);
    run.warnings.clear();
    run.command = "punctual zero probe".to_owned();
    run.other
        .insert("memory_limit_bytes".to_owned(), 12_884_901_888_u64.into());
    for (key, value) in [
        ("page_bytes", json!(4096)),
        ("huge_pages", json!("madvise")),
        ("huge_page_bytes", json!(2_097_152)),
        ("init_on_alloc", json!(true)),
        ("free_bytes", json!(25_769_803_776_u64)),
        ("allocator", json!("malloc of glibc")),
        (
            "caches",
            json!([{ "level": 1, "kind": "data", "bytes": 49_152 }, { "level": 2, "kind": "unified", "bytes": 1_048_576 }]),
        ),
    ] {
        run.machine.other.insert(key.to_owned(), value);
    }
    run.machine.host = HostFacts {
        cpu_model: Some("Madeup 9000".to_owned()),
        virtual_machine: Some(false),
        kernel: Some("7.1.0".to_owned()),
        ..HostFacts::default()
    };
    run
}

/// Everything, where the system zeroes in the fault.
fn whole() -> Run<ZeroRow> {
    let parts = [pages(), blocks(), vec![two_processes()], payers(None)];
    probed(parts.concat())
}

/// The report, of lines that fit a page.
fn report(run: &Run<ZeroRow>) -> String {
    let text = text(run);
    for line in text.lines() {
        assert!(line.len() <= 120 && line.trim_end() == line, "{line}");
        assert!(line.is_ascii(), "{line}");
    }
    text
}

#[test]
fn a_whole_probe_has_a_table_for_each_part_and_the_articles() {
    insta::assert_snapshot!("probe", report(&whole()));
}

/// There the fault does not zero, and somebody else pays.
#[test]
fn where_a_system_process_zeroes_the_costs_say_so() {
    let mut parts = [pages(), payers(Some(118))].concat();
    let huge = |m: &ZeroRow| m.page_step().and_then(|step| step.huge_pages);
    parts.retain(|m| huge(m) != Some(HugePages::On));
    let report = report(&probed(parts));
    let costs = report.find("zero probe: what fresh memory costs").unwrap();
    let payers = report.find("zero probe, payers").unwrap();
    insta::assert_snapshot!("probe_system_process", report[payers.min(costs)..]);
}

#[test]
fn parts_alone_have_their_own_tables_only() {
    for (part, results, costs) in [
        ("pages", pages(), true),
        ("blocks", blocks(), false),
        ("processes", vec![two_processes()], false),
        ("payers", payers(None), false),
    ] {
        let report = report(&probed(results));
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
        let document = roxmltree::Document::parse(&figure.svg).unwrap();
        let texts = document.descendants().filter_map(|n| n.text());
        let texts = texts.map(str::trim).collect::<Vec<_>>().join(" ");
        for needed in needed.iter().chain(&["n = 6", "Machine: Madeup 9000"]) {
            assert!(texts.contains(needed), "{}: {needed}\n{texts}", figure.name);
        }
    }
    assert_eq!(figures, punctual_report::figures(&whole()));
    leave_to_look_at(&figures, "zero-probe");
}

/// Whatever of a measurement is missing or extreme.
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
        children: paid(1, 0, 0),
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
