use punctual_record::regimes::Verdict;
use punctual_record::sweep::Row;

use super::*;
use crate::scenario::shipped;

fn find(name: &str) -> Result<Scenario, String> {
    let known = shipped::ALL.iter().find(|it| it.name == name);
    let known = known.ok_or_else(|| format!("there is no scenario `{name}`"))?;
    Scenario::read(known.name, known.text).map_err(|why| why.to_string())
}

fn read(text: &str) -> Result<Plan, String> {
    Plan::read("plan", text, &find).map_err(|why| why.to_string())
}

const STRATEGIES: &str = r#"
title = "three ways to wait"
on = ["linux"]
strategies = ["adaptive:weight={weight}", "fixed-margin", "spin"]
waits = ["1000Hz", "mixed"]
load = [0, 1]
weight = [1, 10, 100]
warm_up = 20
count = 40
seeds = { first = 3, least = 2, most = 4 }

[model]
cpus = 1
wake = { from = "8us", to = "100us", times = 5 }
jitter = ["500ns", "50% of wake"]
"#;

/// All units, in any order.
fn run(plan: &Plan, units: impl IntoIterator<Item = usize>) -> Kept<'_> {
    let mut kept = Kept::new(plan);
    for unit in units {
        kept.add(unit, plan.run(&plan.units()[unit]).unwrap());
    }
    kept
}

fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_plan_comes_to_every_place_on_its_axes() {
    let plan = read(STRATEGIES).unwrap();
    // wake is 8 us or 40 us.
    assert_eq!((plan.units().len(), plan.cells()), (2 * 2 * 2 * 2, 48));
    let models: Vec<&str> = plan
        .units()
        .iter()
        .map(|unit| unit.model.as_str())
        .collect();
    assert_eq!(models[0], "linux,cpus=1,wake=8us,jitter=500ns");
    assert_eq!(models[15], "linux,cpus=1,wake=40us,jitter=20us");
    let axes: Vec<_> = plan
        .nothing
        .axes
        .iter()
        .map(|axis| axis.name.as_str())
        .collect();
    assert_eq!(axes, ["wake", "jitter", "waits", "load", "weight"]);
}

#[test]
fn a_range_ends_where_it_says() {
    for (range, values) in [
        ("from = 0.1, to = 0.3, step = 0.1", "0.1 0.2 0.3"),
        ("from = 0.01, to = 10.0, times = 10.0", "0.01 0.1 1 10"),
        ("from = 1, to = 1.4, times = 1.1", "1 1.1 1.21 1.331"),
        ("from = 1, to = 2.5, step = 1", "1 2"),
    ] {
        let weight = format!("weight = {{ {range} }}");
        let plan = read(&STRATEGIES.replace("weight = [1, 10, 100]", &weight)).unwrap();
        let axis = plan.nothing.axes.last().unwrap();
        let got: Vec<_> = (0..axis.values.len()).map(|i| axis.label(i)).collect();
        assert_eq!(got.join(" "), values, "{range}");
    }
}

#[test]
fn rates_can_be_a_range_beside_others() {
    let waits = r#"waits = [{ from = "59Hz", to = "61Hz", step = "1Hz" }, "59.94Hz", "mixed"]"#;
    let plan = read(&STRATEGIES.replace(r#"waits = ["1000Hz", "mixed"]"#, waits)).unwrap();
    let axis = &plan.nothing.axes[2];
    let got: Vec<_> = (0..axis.values.len()).map(|i| axis.label(i)).collect();
    assert_eq!(got.join(" "), "59Hz 60Hz 61Hz 59.94Hz mixed");
    let every = plan.units().iter().find_map(|unit| match unit.waits {
        Some(Regime::Every(period)) => Some(period.as_nanos()),
        _ => None,
    });
    assert_eq!(every, Some(16_683_350));
    for wrong in [
        r#"["0.0001Hz"]"#,
        r#"[{ from = "59Hz", to = "61", step = "1Hz" }]"#,
    ] {
        let waits = format!("waits = {wrong}");
        let plan = STRATEGIES.replace(r#"waits = ["1000Hz", "mixed"]"#, &waits);
        assert!(read(&plan).is_err(), "{wrong}");
    }
}

/// On Windows 10 2004 a request counts for the process that made it, unlike on Windows 7; a
/// minimised process of Windows 11 asks in vain.
#[test]
fn strategies_wait_while_somebody_asks_for_an_interval() {
    let late_ms = |model: &str, ask: &str| {
        let text = format!(
            r#"
title = "requests"
on = ["{model}"]
strategies = ["system", "spin"]
waits = ["60Hz"]
asks = ["nobody", "{ask}"]
weight = [1]
warm_up = 2
count = 40
seeds = 2
"#
        );
        let plan = read(&text).unwrap();
        let late = |unit: &Unit| {
            let rows = rows(&plan.run(unit).unwrap());
            rows[0].columns["late_ns_max"].as_f64().unwrap() / 1e6
        };
        let late: Vec<f64> = plan.units().iter().map(late).collect();
        assert!(late[0] > 10.0, "{model}: {late:?}");
        late[1]
    };
    for (model, ask, is_fine) in [
        ("windows-7", "1ms by another", true),
        ("windows-10-2004", "1ms by another", false),
        ("windows-10-2004", "1ms by itself", true),
        ("windows-10-2004", "1ms minimised", true),
        ("windows-11", "1ms by itself", true),
        ("windows-11", "1ms minimised", false),
    ] {
        let late = late_ms(model, ask);
        assert_eq!(late < 2.5, is_fine, "{model}, {ask}: {late} ms");
    }
    let of_macos = STRATEGIES.replace(r#"load = [0, 1]"#, r#"asks = ["1ms by itself"]"#);
    let refused = read(&of_macos).unwrap_err().to_string();
    assert!(refused.contains("no resolution to ask for"), "{refused}");
    let wrong = STRATEGIES.replace(r#"load = [0, 1]"#, r#"asks = ["1ms by magic"]"#);
    let refused = read(&wrong).unwrap_err().to_string();
    assert!(refused.contains("write nobody, 1ms by itself"), "{refused}");
}

fn sweeps_folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sweeps")
}

#[test]
fn the_plans_that_are_shipped_can_be_run() {
    let mut cells = BTreeMap::new();
    for entry in std::fs::read_dir(sweeps_folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "toml") {
            let plan = read(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            cells.insert(name, plan.cells());
        }
    }
    let root = sweeps_folder().join("..");
    let docs = std::fs::read_to_string(root.join("docs/sweeping.md")).unwrap();
    for thin in ["rates-thin", "rates-elsewhere-thin"] {
        let said = std::fs::read_to_string(root.join(format!("sweeps/{thin}.txt"))).unwrap();
        assert!(
            docs.contains(&said),
            "docs/sweeping.md lacks what {thin} said"
        );
    }
    // As they say themselves, and docs/sweeping.md.
    let want = [
        ("adaptive", 10_125),
        ("rates", 141_552),
        ("rates-elsewhere", 14_745),
        ("rates-elsewhere-thin", 450),
        ("rates-thin", 4_320),
    ];
    let want = want.map(|(name, cells)| (name.to_owned(), cells));
    assert_eq!(cells, BTreeMap::from(want));
}

#[test]
fn a_unit_gives_a_row_for_each_subject_and_weight() {
    let plan = read(STRATEGIES).unwrap();
    let rows = rows(&plan.run(&plan.units()[15]).unwrap());
    let of: Vec<_> = rows
        .iter()
        .map(|row| (row.subject.as_str(), row.columns["weight"].as_u64()))
        .collect();
    let each = ["adaptive", "fixed-margin", "spin"];
    let want: Vec<_> = [1, 10, 100]
        .iter()
        .flat_map(|w| each.map(|it| (it, Some(*w))))
        .collect();
    assert_eq!(of, want);
    for row in &rows {
        assert_eq!(
            (row.rows, row.columns["jitter_ns"].as_u64()),
            (9, Some(20_000))
        );
        assert_eq!(row.columns["jitter"], "50% of wake");
        assert_eq!(row.by_seed.len() as u64, row.seeds);
        assert!((2..=4).contains(&row.seeds));
    }
    // Only the price of its lateness differs.
    assert_eq!(rows[2].columns["cpu_ns"], rows[8].columns["cpu_ns"]);
}

#[test]
fn a_lateness_counts_up_to_1_ms_or_whole() {
    // Naps of Windows 7 end up to 15.6 ms late.
    let plan = |lateness: &str| {
        read(&format!(
            "title = \"late\"\non = [\"windows-7\"]\nstrategies = [\"system\", \"spin\"]\nwaits = [\"60Hz\"]\n\
             weight = [1]\nwarm_up = 2\ncount = 20\nseeds = 1\n{lateness}"
        ))
    };
    let cost_ms = |lateness| {
        let plan = plan(lateness).unwrap();
        let rows = rows(&plan.run(&plan.units()[0]).unwrap());
        (rows[0].columns["cost_ns"].as_f64().unwrap() / 1e6).floor()
    };
    assert_eq!(cost_ms(""), 0.0);
    assert!(cost_ms("lateness = \"whole\"") >= 4.0);
    let refused = plan("lateness = \"half\"").unwrap_err();
    assert!(refused.contains("`lateness` is \"whole\""), "{refused}");
}

#[test]
fn narrow_intervals_end_a_cell_and_wide_ones_do_not() {
    let seeds = |within: &str| {
        let plan = read(&format!("within = \"{within}\"\n{STRATEGIES}")).unwrap();
        let rows = rows(&plan.run(&plan.units()[15]).unwrap());
        rows.iter().map(|row| row.seeds).collect::<Vec<_>>()
    };
    assert_eq!(seeds("100%"), [2; 9]);
    assert_eq!(seeds("0%"), [4; 9]);
}

#[test]
fn shards_are_all_of_it_and_share_nothing() {
    let plan = read(STRATEGIES).unwrap();
    let kept = Kept::new(&plan);
    let shard = |number| Shard { number, of: 3 };
    let mut all: Vec<usize> = (1..=3).flat_map(|n| kept.missing(shard(n))).collect();
    let sizes: Vec<usize> = (1..=3).map(|n| kept.count(shard(n))).collect();
    assert!(sizes.iter().all(|size| *size > 0), "{sizes:?}");
    all.sort_unstable();
    assert_eq!(all, (0..16).collect::<Vec<_>>());
    // Another version would need a reason to change this.
    assert_eq!(kept::written(kept::hash("punctual")), "5ddebf44209ce015");
    // It is a hash of the seed too.
    let other = read(&STRATEGIES.replace("first = 3", "first = 4")).unwrap();
    assert_ne!(plan.units()[0].key, other.units()[0].key);
}

#[test]
fn shards_in_any_order_and_a_kill_at_any_byte_end_in_the_same_bytes() {
    let plan = read(
        &STRATEGIES
            .replace("\"mixed\"", "\"500Hz\"")
            .replace("count = 40", "count = 4"),
    )
    .unwrap();
    let whole = run(&plan, 0..16).partitions();
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].0, "linux");
    let backwards = run(&plan, (0..16).rev());
    assert_eq!(backwards.partitions(), whole);

    let text = &whole[0].1;
    for end in (0..text.len()).step_by(997).chain([text.len() - 1]) {
        let mut kept = Kept::new(&plan);
        kept.read(&text[..end]);
        for unit in kept.missing(Shard::WHOLE) {
            kept.add(unit, plan.run(&plan.units()[unit]).unwrap());
        }
        assert_eq!(kept.partitions(), whole, "killed at byte {end}");
    }
    let mut kept = Kept::new(&plan);
    assert_eq!(kept.read(text), 0);
    assert!(kept.missing(Shard::WHOLE).is_empty());
    // Rows of another seed are others.
    let other = read(&STRATEGIES.replace("first = 3", "first = 4")).unwrap();
    assert_eq!(Kept::new(&other).read(text), text.lines().count());
}

#[test]
fn what_the_rows_say_is_judged_cell_by_cell() {
    let plan = read(&STRATEGIES.replace("least = 2, most = 4", "least = 6, most = 6")).unwrap();
    let sweep = run(&plan, 0..16).sweep().unwrap();
    assert_eq!(sweep.cells.len(), plan.cells());
    // On a quiet computer of 8 us a spinning subject at 1 kHz pays for all of it.
    let quiet = &sweep.cells[1];
    assert_eq!(quiet.at, [0, 0, 0, 0, 1]);
    assert_eq!(
        (quiet.best.as_deref(), quiet.verdict()),
        (Some("fixed-margin"), Verdict::Cheaper)
    );
    assert!(quiet.value.high < 0.5, "{:?}", quiet.value);
}

const SCENARIOS: &str = r#"
title = "how late sleeps are"
on = ["linux"]
scenarios = ["linux-slack-sweep"]
judge = { figure = "late_ns_mean", of = "1 ms", phase = "PHASE" }
length = "700ms"
seeds = 2
[model]
wake = ["8us", "40us"]
"#;

#[test]
fn scenarios_are_swept_by_a_figure() {
    let phase = find("linux-slack-sweep").unwrap().phases[0].name.clone();
    let plan = read(&SCENARIOS.replace("PHASE", &phase)).unwrap();
    let kept = run(&plan, 0..2);
    let sweep = kept.sweep().unwrap();
    let means: Vec<f64> = sweep.cells.iter().map(|cell| cell.value.median).collect();
    // All of what the wake-up takes, and nothing else, is later.
    assert!(
        (means[1] - means[0] - 32_000.0).abs() < 1_000.0,
        "{means:?}"
    );
    let rows = rows(&kept.rows(Shard::WHOLE));
    let computer = rows
        .iter()
        .find(|row| row.subject == crate::scenario::COMPUTER)
        .unwrap();
    assert!(computer.columns["interrupts_per_s"].as_f64() > Some(1.0));

    let bad = |from: &str, to: &str| {
        read(&SCENARIOS.replace("PHASE", &phase).replace(from, to)).unwrap_err()
    };
    for (from, to, want) in [
        ("\"1 ms\"", "\"2 ms\"", "no threads `2 ms`; it has "),
        (&phase, "nowhere", "no phase `nowhere`"),
        ("late_ns_mean", "lateness", "not `lateness`"),
        ("late_ns_mean", "busy", "is of \"(computer)\""),
        ("slack-sweep\"", "slack-swoop\"", "there is no scenario"),
        ("700ms", "700000s", "longer"),
        ("seeds", "waits", "no meaning"),
    ] {
        let why = bad(from, to);
        assert!(why.contains(want), "{why}");
    }
}

#[test]
fn bad_plans_say_what_is_wrong_and_what_to_do() {
    let with = |from: &str, to: &str| {
        assert!(STRATEGIES.contains(from), "{from}");
        read(&STRATEGIES.replace(from, to)).unwrap_err()
    };
    for (from, to, want) in [
        (
            "on = [\"linux\"]",
            "on = [\"lunix\"]",
            "there is no model `lunix`",
        ),
        ("on = [\"linux\"]\n", "", "a plan needs `on`"),
        (
            "cpus = 1",
            "cpus = 0",
            "`cpus=0`: it can be a whole number from 1",
        ),
        ("cpus = 1", "slak = \"1ms\"", "it has no parameter `slak`"),
        ("\"500ns\"", "\"50% of hz\"", "no length `hz`"),
        ("\"500ns\"", "\"50% of wake\"", "twice"),
        ("\"spin\"", "\"spinn\"", "there is no strategy `spinn`"),
        ("\"spin\"", "\"system:method=Sleep\"", "Sleep"),
        (
            "\"spin\"",
            "\"adaptive\"",
            "the same name for `adaptive:weight={weight}` and `adaptive`",
        ),
        (", \"fixed-margin\", \"spin\"", "", "name two or more"),
        ("\"mixed\"", "\"burst\"", "leave it out"),
        ("\"mixed\"", "\"0Hz\"", "`0Hz` is not a rate"),
        ("[1, 10, 100]", "[0]", "0 is not a weight"),
        (
            "load = [0, 1]",
            "load = [0.5]",
            "0.5 is not a number of threads",
        ),
        ("times = 5", "times = 1", "lead nowhere"),
        ("times = 5", "", "either `step`, to add, or `times`"),
        (
            "least = 2, most = 4",
            "least = 4, most = 2",
            "`most` must be a whole number from 4",
        ),
        ("count = 40", "count = 0", "`count` cannot be zero"),
        ("waits =", "wait =", "a plan has no key `wait`"),
        (
            "load = [0, 1]",
            "maps = [[\"load\", \"wake\"]]",
            "`load` does not vary",
        ),
        (
            "waits = [",
            "scenarios = [",
            "`strategies` has no meaning in a plan of scenarios",
        ),
    ] {
        let why = with(from, to);
        assert!(why.contains(want), "{why}");
        assert!(why.starts_with("plan, line "), "{why}");
    }
}
