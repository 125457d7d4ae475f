//! Other machines, and other versions of Windows.

use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Active, Job, Machine, Quantity, System, predict, simulate};

use super::{Kind, Outcome, Row, Verdict};
use super::{PAGES, WORST_US, pool, windows};

/// Z13-Z15, Z17 and Z18.
pub(super) fn rows() -> Vec<Row> {
    let row = |id, input, expected, tolerance, run| Row {
        id,
        kind: Kind::Windows,
        source: "ZERO",
        input,
        expected,
        tolerance,
        run,
        same_as: None,
    };
    vec![
        row(
            "Z13",
            "Windows 11: 12 workers, one page at a time, a queued lock and a spin lock, 128 CPUs",
            "about 80 % waiting",
            "7 points",
            windows_11,
        ),
        row(
            "Z14",
            "Windows Server 2022, 39 workers, 128 CPUs",
            "like Windows 10: at least 85 % waiting, less than 0.06 GB a CPU-s",
            "one-sided",
            server_2022,
        ),
        row(
            "Z15",
            "Windows 10, 39 workers, 128 CPUs",
            "about the same as row Z01",
            "0.5 to 2 times",
            windows_10_on_128,
        ),
        row(
            "Z17",
            "Xeon Phi, 272 workers, one page at a time, a spin lock",
            "nobody knows",
            "none",
            xeon_phi,
        ),
        row(
            "Z18",
            "a desktop, 1 and 2 workers of Windows 10",
            "nobody notices: less than 10 % waiting, less than twice the CPU",
            "one-sided",
            desktop,
        ),
    ]
}

fn windows_11() -> Result<Outcome, Refusal> {
    let both = windows("windows-11", None)?;
    let percent = 100.0 * both.split.waiting;
    let queued = pool("ice-lake-128", 12, LockKind::Mcs, Batch::One)?;
    let (system, busier) = (System::parse("windows-11")?, System::parse("windows-10")?);
    let machine = system.machine();
    let machine = machine.with(Quantity::Bookkeeping, busier.bookkeeping.clone());
    let busier = simulate(&machine, &Job::new(system.setting, PAGES))?;
    Ok(Outcome {
        got: format!(
            "{percent:.1} %; with the queued lock alone {:.1} %, or {:.1} % where handing over counts as having it; \
             {:.0} % with the 2.3 us a page of Windows 10",
            100.0 * queued.split.waiting,
            100.0 * queued.waiting_without_hand_off(),
            100.0 * busier.split.waiting,
        ),
        verdict: Verdict::of((percent - 80.0).abs() <= 7.0),
        note: "from asking for a lock to having it; fitted to this row: that Windows 11 does nothing for a page besides \
               zeroing it, and that the lock where pages are put is a spin lock",
    })
}

fn server_2022() -> Result<Outcome, Refusal> {
    let outcome = windows("server-2022", None)?;
    let (percent, rate) = (100.0 * outcome.split.waiting, outcome.gb_per_cpu_s());
    Ok(Outcome {
        got: format!("{percent:.1} % waiting, {rate:.4} GB a CPU-s"),
        verdict: Verdict::of(percent >= 85.0 && rate < 0.06),
        note: "with the fitted 2.3 us a page of Windows 10 (row Z05); its 39 workers are a guess",
    })
}

fn windows_10_on_128() -> Result<Outcome, Refusal> {
    let us = pool("ice-lake-128", 39, LockKind::Tas, Batch::One)?.cpu_us_per_page();
    let times = us / WORST_US;
    Ok(Outcome {
        got: format!("{us:.0} us a page: {times:.2} times"),
        verdict: Verdict::of((0.5..=2.0).contains(&times)),
        note: "",
    })
}

fn xeon_phi() -> Result<Outcome, Refusal> {
    let machine = Machine::parse("xeon-phi-272")?;
    let of = |workers, active| {
        let setting = Setting::new(workers, LockKind::Tas, Batch::One);
        let prediction = predict(&machine, &Job::new(setting, PAGES), active)?;
        let us = prediction.of(|outcome| outcome.cpu_us_per_page());
        Ok::<_, Refusal>(format!(
            "{:.0} ({:.0} to {:.0})",
            us.central, us.low, us.high
        ))
    };
    Ok(Outcome {
        got: format!(
            "{} us of CPU a page; with 39 workers {}",
            of(272, Active::HalfToAll)?,
            of(39, Active::All)?
        ),
        verdict: Verdict::Predicted,
        note: "in brackets what one thing that is not known can make of it, half of the workers among them",
    })
}

fn desktop() -> Result<Outcome, Refusal> {
    let busy = "ryzen-7950x-32,bookkeeping=2300";
    let of = |machine, workers| pool(machine, workers, LockKind::Tas, Batch::One);
    let (one, two) = (of(busy, 1)?, of(busy, 2)?);
    let waiting = [&one, &two].map(|outcome| 100.0 * outcome.split.waiting);
    let times = two.cpu_us_per_page() / one.cpu_us_per_page();
    let bare = of("ryzen-7950x-32", 2)?;
    Ok(Outcome {
        got: format!(
            "{:.1} and {:.1} % waiting, {times:.2} times the CPU; two that do nothing but zero wait {:.0} % of the time",
            waiting[0],
            waiting[1],
            100.0 * bare.split.waiting
        ),
        verdict: Verdict::of(waiting.iter().all(|percent| *percent < 10.0) && times < 2.0),
        note: "with the fitted 2.3 us a page of Windows 10 (row Z05); the two are in different caches",
    })
}
