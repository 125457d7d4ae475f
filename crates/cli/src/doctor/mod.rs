//! `punctual doctor`.

pub(crate) mod args;

use anyhow::{Context, Result, anyhow};
use punctual_lab::doctor::{Examined, Pace, ROUNDS, diagnose, examine};
use punctual_lab::rounds::{self, Results};
use punctual_lab::timer_rule::host;
use punctual_record::Run;
use punctual_report::doctor::{anonymous, in_words};

use crate::files::Target;
use crate::progress::Progress;
use crate::session::{self, Measured, Outputs};
use crate::{Done, say};
use args::DoctorArgs;

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs) -> Result<Done> {
    // Held until the end, as a program would.
    let _held = match (args.hold, &args.place.on) {
        (Some(interval), None) => Some(
            host::hold(interval)
                .with_context(|| format!("cannot hold a timer interval of {interval}"))?,
        ),
        _ => None,
    };
    args.place.check()?;
    let model = args.place.on.as_ref();
    let mut on = session::machine(model, args.place.seed())?;
    let mut examined = match model {
        Some(model) => Examined::simulated(model, args.hold).map_err(|why| anyhow!(why))?,
        None => Examined::here(args.hold),
    };
    examined.cpu = args.place.cpu.or(examined.cpu);
    let pace = if args.effort.quick {
        Pace::Quick
    } else {
        Pace::Usual
    };
    let rounds = args.effort.rounds.unwrap_or(ROUNDS);
    let cases = examined.cases(&*on.machine, pace);
    for case in &cases {
        on.machine.check(&case.program)?;
    }
    let outputs = Outputs::new(&args.output)?;
    let share = args.share.as_deref().map(Target::new).transpose()?;
    let started_at = args.place.is_here().then(session::now);

    if args.place.is_here() {
        say!(
            "doctor: {} kinds of waits in {}, {}",
            cases.len(),
            session::rounds(rounds),
            session::about(rounds::length(&cases, rounds), false),
        );
    }
    let length = rounds::length(&cases, rounds);
    let mut bar = Progress::new(cases.len() * rounds as usize, length);
    let results = examine(
        &examined,
        &mut *on.machine,
        &cases,
        rounds,
        &mut |progress| bar.case(progress.next),
    )?;
    drop(bar);

    let failed = results.end.failed.clone();
    let run = as_run(args, &examined, on, started_at, results);
    let delivered = outputs.deliver_until(failed, &run, &args.shown.of(&run));
    if let Some(share) = share {
        share.write(&anonymous(&run, &options(args)).to_json())?;
        say!("shared: {SHARED}");
    }
    delivered
}

/// What a shared Run has in it.
const SHARED: &str = "the measurements with all samples, the diagnosis, OS and kernel release, CPU model, hypervisor \
                      and timer settings; no names of hosts or users, no paths";

fn as_run(
    args: &DoctorArgs,
    examined: &Examined,
    on: Measured,
    started_at: Option<String>,
    results: Results,
) -> Run {
    let run = session::run_of(results, started_at);
    let mut run = on.warned(run, args.effort.rounds.unwrap_or(ROUNDS));
    let findings = diagnose(examined, &mut run.results, run.disturbance.as_ref());
    run.beside.doctor = Some(in_words(&findings, &mut run.results));
    run
}

/// The options that say how it was measured, without names of files.
fn options(args: &DoctorArgs) -> Vec<String> {
    let mut options = Vec::new();
    if args.effort.quick {
        options.push("--quick".to_owned());
    }
    if let Some(rounds) = args.effort.rounds {
        options.push(format!("--rounds {rounds}"));
    }
    if let Some(cpu) = args.place.cpu {
        options.push(format!("--cpu {cpu}"));
    }
    if let Some(hold) = args.hold {
        options.push(format!("--hold {}", hold.exact()));
    }
    if let Some(model) = &args.place.on {
        options.push(format!("--on {}", model.name()));
    }
    if let Some(seed) = args.place.seed {
        options.push(format!("--seed {seed}"));
    }
    options
}
