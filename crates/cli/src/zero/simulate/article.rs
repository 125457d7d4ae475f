//! The page-zeroing article's case as a table.

use anyhow::{Result, anyhow};
use punctual_record::Run;
use punctual_zero::article::{self, Line, Told, published};
use punctual_zero::published::allocation::ZEROING_GB_PER_CPU_S;
use punctual_zero::rows::{PAGE_BYTES, ZeroRow};
use punctual_zero_sim::System;

use super::args::SimulateArgs;
use crate::Done;
use crate::progress::Progress;
use crate::session::{self, Outputs};

/// Tells it.
pub(super) fn run(args: &SimulateArgs) -> Result<Done> {
    let outputs = Outputs::new(&args.output)?;
    let lines = article::lines();
    let mut bar = Progress::alike(lines.len());
    let mut told = Vec::new();
    let mut results: Vec<ZeroRow> = Vec::new();
    for line in &lines {
        bar.step(line.what);
        let (outcomes, measurement) = line.tell(args.seed).map_err(|why| anyhow!(why))?;
        told.push(outcomes);
        results.push(measurement);
    }
    drop(bar);
    let run = Run {
        machine: article::machine_facts(),
        results,
        ..session::run()
    };
    outputs.deliver(&run, &text(&lines, &told))
}

fn text(lines: &[Line], told: &[Told]) -> String {
    let title = "\
The page-zeroing article's worst case and what would have helped, simulated: 6.13 GiB in pages of 4 KiB, as Windows 10 \
zeroed them on 96 CPUs. GB: 1e9 bytes; GiB: 2^30 bytes.";
    let head = [
        "",
        "CPUs",
        "threads",
        "batch",
        "lock",
        "us/page",
        "GiB/CPU-s",
        "GB/CPU-s",
        "between",
        "wait %",
        "wall GB/s",
        "gain",
    ];
    let rows = lines.iter().zip(told).map(|(line, now)| {
        let setting = &line.setting;
        let lock = match setting.returns {
            Some(returns) => format!("{} + {returns}", setting.lock),
            None => setting.lock.to_string(),
        };
        let gain = now.gb_per_cpu_s.central / told[0].gb_per_cpu_s.central;
        vec![
            line.what.to_owned(),
            line.machine.topology().cpus().to_string(),
            setting.workers.to_string(),
            setting.batch.to_string(),
            lock,
            number(now.cpu_us_per_page.central),
            number(now.gib_per_cpu_s.central),
            number(now.gb_per_cpu_s.central),
            format!(
                "{}..{}",
                number(now.gb_per_cpu_s.low),
                number(now.gb_per_cpu_s.high)
            ),
            number(now.waiting.central * 100.0),
            number(now.wall_gb_per_s.central),
            match line.is_proposal {
                true => format!("{}x", number(gain)),
                false => String::new(),
            },
        ]
    });
    let mut text = punctual_report::table(title, &head, std::iter::once(seen()).chain(rows));
    text += &conclusions(told);
    text
}

/// What the article saw.
fn seen() -> Vec<String> {
    let bytes = (article::PAGES * PAGE_BYTES) as f64;
    let us = published::CPU_S * 1e6 / article::PAGES as f64;
    vec![
        "published".to_owned(),
        "96".to_owned(),
        "39+".to_owned(),
        "1".to_owned(),
        "spin lock".to_owned(),
        number(us),
        number(bytes / GIB / published::CPU_S),
        number(bytes / 1e9 / published::CPU_S),
        String::new(),
        format!("{} *", number(published::WAITING * 100.0)),
        String::new(),
        String::new(),
    ]
}

const GIB: f64 = 1_073_741_824.0;

fn conclusions(told: &[Told]) -> String {
    let first = &told[0];
    let serial = ZEROING_GB_PER_CPU_S / first.gb_per_cpu_s.central;
    let without = 1.0 / (1.0 - first.waiting.central);
    let windows_10 = System::parse("windows-10").expect("a system of the simulator");
    let besides = windows_10.bookkeeping;
    format!(
        "\
published: what follows from the article's 6.13 GiB in 162 s of CPU time. us/page: CPU time of all
threads together. between: GB/CPU-s over what is not known of the computer, one thing at a time; of the
systems that were seen, half of the threads may have been at work. gain: GB/CPU-s over that of Windows
10. all of them: four threads, takes that grow, a mutex that spins up to 5 us, then sleeps.
*: in its first case, where there was less to do at a time. Windows 11 waited about {} % of its CPU
time there. That Server 2022 has 39 threads is a guess.
Windows 10 and Server 2022, and with them the gains, have {} us of work a page besides zeroing and the
lock ({} to {}): fitted with this simulator to the article's first trace. Windows 11 has none, as
otherwise it would hardly wait.
Windows 10 takes {}x the CPU time of zeroing at 150 us/MiB, as one thread did in 2014 (the article: up
to 150x), and {}x that of the same pool without waiting (its later version: about 24x).
What of each computer is measured, guessed or fitted: --list.
",
        (published::WINDOWS_11_WAITING * 100.0).round(),
        besides.value / 1e3,
        besides.low / 1e3,
        besides.high / 1e3,
        number(serial),
        number(without),
    )
}

/// Three digits.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.1 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}
