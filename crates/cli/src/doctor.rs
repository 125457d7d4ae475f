//! `punctual doctor`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use punctual_core::Nanos;
use punctual_import::Hints;
use punctual_lab::doctor::{Examined, Pace, ROUNDS, diagnose, examine};
use punctual_lab::energy_report;
use punctual_lab::plan::Interleaved;
use punctual_lab::scenario;
use punctual_lab::timer_rule;
use punctual_record::{Findings, Measurement, Run};
use punctual_report::doctor::{anonymous, in_words};

use crate::files::{self, Target};
use crate::options::{Effort, Output, Place, refuse};
use crate::session::{self, Outputs, Session};
use crate::simulate::list::{Found, find};
use crate::{Done, asked, print, say};

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs) -> Result<Done> {
    match (&args.file, &args.scenario) {
        (Some(file), _) => show(args, file),
        (None, Some(scenario)) => who_asked(args, scenario),
        (None, None) => examined(args),
    }
}

/// Names the processes of a scenario that ask for a timer interval.
fn who_asked(args: &DoctorArgs, named: &str) -> Result<Done> {
    let DoctorArgs {
        effort,
        place,
        output,
        ..
    } = args;
    let given = [
        ("--hold", args.hold.is_some()),
        ("--share", args.share.is_some()),
        ("--quick", effort.quick),
        ("--rounds", effort.rounds.is_some()),
        ("--cpu", place.cpu.is_some()),
        ("--json", output.json.is_some()),
        ("--plots", output.plots.is_some()),
    ];
    refuse(
        given,
        "for a scenario, whose own processes ask; leave it out",
    )?;
    let Some(model) = &place.on else {
        bail!("--scenario runs on a model: add --on windows-10-1909, or another of Windows");
    };
    let Found::Scenario(scenario) = find(named)? else {
        bail!("no process of {named} asks for a timer interval");
    };
    let who = scenario::who_asked(&scenario, model, place.seed()).map_err(|why| anyhow!(why))?;
    print(&asked::in_scenario(&who, &scenario.name, model.name()))?;
    Ok(Done::Whole)
}

/// The beginning of a report of `powercfg /energy`, as of any other page.
fn is_page(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"<")
}

/// Shows what was found out before, here or elsewhere.
fn show(args: &DoctorArgs, file: &Path) -> Result<Done> {
    let DoctorArgs { effort, place, .. } = args;
    let given = [
        ("--hold", args.hold.is_some()),
        ("--share", args.share.is_some()),
        ("--quick", effort.quick),
        ("--rounds", effort.rounds.is_some()),
        ("--cpu", place.cpu.is_some()),
        ("--on", place.on.is_some()),
        ("--seed", place.seed.is_some()),
        ("--scenario", args.scenario.is_some()),
    ];
    refuse(given, "beside a file, which is shown as it is")?;
    let name = files::name(file);
    let bytes = files::bytes(file, files::LONGEST)?;
    if is_page(&bytes) {
        let report = energy_report::read(&String::from_utf8_lossy(&bytes))
            .map_err(|why| anyhow!("{name}: {why}"))?;
        print(&asked::in_report(&report))?;
        return Ok(Done::Whole);
    }
    let run = Run::<Measurement>::from_json(&files::run_in(file, bytes, &Hints::default())?)
        .map_err(|why| anyhow!("{name}: {why}"))?;
    if run.beside.doctor.is_none() {
        bail!("{name} is a Run of another command than doctor; punctual report {name} shows it");
    }
    Outputs::new(&args.output)?.answer(&run)
}

/// Examines this computer, or a simulated one.
fn examined(args: &DoctorArgs) -> Result<Done> {
    // Held until the end, as a program would.
    let _held = match (args.hold, &args.place.on) {
        (Some(interval), None) => Some(
            timer_rule::hold(interval)
                .with_context(|| format!("cannot hold a timer interval of {interval}"))?,
        ),
        _ => None,
    };
    args.place.check()?;
    let model = args.place.on.as_ref();
    let on = session::machine(model, args.place.seed())?;
    let mut examined = match model {
        Some(model) => Examined::simulated(model, args.hold).map_err(|why| anyhow!(why))?,
        None => Examined::here(args.hold),
    };
    examined.cpu = args.place.cpu.or(examined.cpu);
    let pace = match args.effort.quick {
        true => Pace::Quick,
        false => Pace::Usual,
    };
    let rounds = args.effort.rounds.unwrap_or(ROUNDS);
    let cases = examined.cases(&*on.machine, pace);
    for case in &cases {
        on.machine.check(&case.program)?;
    }
    let mut session = Session::begin(on, &args.output)?;
    let share = args.share.as_deref().map(Target::new).transpose()?;
    let parts = [Interleaved { cases, rounds }];
    if args.place.is_here() {
        session.announce(&parts, |part| {
            let (kinds, rounds) = (part.cases.len(), session::rounds(rounds));
            Some(format!("doctor: {kinds} kinds of waits in {rounds}"))
        });
    }
    let results = session.measure(&parts, |part, on, progress| {
        let (machine, watch) = (&mut *on.machine, &mut progress.turns());
        Ok(examine(&examined, machine, &part.cases, rounds, watch)?)
    });
    let (run, outputs) = session.end(results, Findings::default(), vec![]);
    let run = diagnosed(&examined, run);
    let delivered = outputs.answer(&run);
    if let Some(share) = share.filter(|_| !run.results.is_empty()) {
        let mut shared = anonymous(&run, &options(args));
        shared.other.insert("open_with".to_owned(), OPENED.into());
        share.write(&shared.to_json())?;
        say!("shared: {SHARED}; to open it: {OPENED}");
    }
    delivered
}

/// The contents of a shared Run.
const SHARED: &str = "the measurements with all samples, the diagnosis, OS and kernel release, CPU model, hypervisor \
                      and timer settings; no names of hosts or users, no paths";

/// The command that shows a shared Run; the Run names it too.
const OPENED: &str = "punctual doctor FILE, or punctual report FILE for a page";

fn diagnosed(examined: &Examined, mut run: Run) -> Run {
    let findings = diagnose(examined, &mut run.results, run.disturbance.as_ref());
    run.beside.doctor = Some(in_words(&findings, &mut run.results));
    run
}

/// The options that say how it was measured, without names of files.
fn options(args: &DoctorArgs) -> Vec<String> {
    let DoctorArgs { effort, place, .. } = args;
    let options = [
        effort.quick.then(|| "--quick".to_owned()),
        effort.rounds.map(|rounds| format!("--rounds {rounds}")),
        place.cpu.map(|cpu| format!("--cpu {cpu}")),
        args.hold.map(|hold| format!("--hold {}", hold.exact())),
        (place.on.as_ref()).map(|model| format!("--on {}", model.name())),
        place.seed.map(|seed| format!("--seed {seed}")),
    ];
    options.into_iter().flatten().collect()
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Say why waits are late here: the timer rule in force for this process, the facts that decide it, and what helps. For waits \
of 1 ms and 16.67 ms, the lateness that the rule predicts is compared with the measured lateness.

Takes about 10 s; --quick under 4 s. Needs no privileges; facts that it may not read are named. On Windows only an \
administrator can see which processes asked for a timer interval: run `powercfg /energy`, then `punctual doctor \
energy-report.html`. Where doctor knows no rule, as on macOS, `punctual identify` looks for one in the waits alone.";

/// How the verdicts come about.
pub(crate) const AFTER: &str = "\
The prediction is the simulator's rule with the facts of this host, for a wake-up that costs nothing. On Linux it agrees with \
the measurement if the medians differ by at most the p90 of the wake cost. The wake cost is the lateness of waits with a slack \
of 1 ns in the same rounds; they are as long as the wait and its slack together. On Windows, where waits end on ticks, half a \
timer interval is allowed.

The verdict is `sooner` if other interrupts of the CPU ended waits inside their slack, as the rule allows. It is `inconclusive` \
if there are too few waits, or if the medians of the rounds differ as much as the median from the prediction. It is also \
`inconclusive` if the p90 of the wake cost is too high: above ten times its median, or above 1 ms and the exit latency of the \
deepest idle state. It is `too busy to tell` if others or a hypervisor had a quarter of the CPU, or a quota stopped this process \
in a twentieth of its periods. It is `no prediction` if no rule is known, as on macOS, under Wine, or with another scheduler of \
Linux (sched_ext, or liquorix, zen or bore in the name of the release).

Exit codes: 0 done, whatever the verdicts are; 2 could not run; 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual doctor
  punctual doctor --quick --share doctor.json
  punctual doctor doctor.json
  punctual doctor --hold 1ms
  punctual doctor --on windows-10-2004
  punctual doctor --on windows-10-1909 --scenario lowest-request-wins
  punctual doctor energy-report.html";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Show a Run that --share or --json wrote, or the energy-report.html of `powercfg /energy`
    ///
    /// The file can be of another computer; - is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Hold a request for this timer interval meanwhile: 1ms. On Windows and on models of Windows
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = interval)]
    pub(crate) hold: Option<Nanos>,

    /// Write the Run without host names, user names and paths, for a bug report (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) share: Option<PathBuf>,

    /// Show which processes of this scenario request a timer interval, and when it is in force; with --on
    ///
    /// Nothing is measured.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) scenario: Option<String>,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) place: Place,

    #[command(flatten)]
    pub(crate) output: Output,
}

fn interval(text: &str) -> Result<Nanos, String> {
    let interval: Nanos = text.parse()?;
    if interval.is_zero() {
        return Err("give an interval longer than nothing, such as 1ms".to_owned());
    }
    Ok(interval)
}
