//! Small files of each format, with totals that were counted by hand.

mod any;
mod cyclictest;
mod events;
mod frames;
mod hlog;
mod odd;
mod perf;
mod plain;
mod strace;

use punctual_import::{Hints, read};
use punctual_record::{Experiment, Logged, Measurement, Run};

fn run(text: &str) -> Run {
    with(text, &Hints::default())
}

fn with(text: &str, hints: &Hints) -> Run {
    read(text.as_bytes(), hints).unwrap()
}

fn refusal(text: &str) -> String {
    read(text.as_bytes(), &Hints::default()).unwrap_err()
}

fn log(m: &Measurement) -> &Logged {
    match &m.experiment {
        Experiment::Log(log) => log,
        other => panic!("{other:?}"),
    }
}

fn subjects(run: &Run) -> Vec<&str> {
    run.results.iter().map(|m| m.subject.as_str()).collect()
}

fn format(run: &Run) -> &str {
    &run.beside.imported.as_ref().unwrap().format
}

fn untold(run: &Run) -> String {
    run.beside.imported.as_ref().unwrap().untold.join("\n")
}

fn mangohud(frames: &str) -> String {
    format!(
        "os,cpu,gpu,ram,kernel,driver,cpuscheduler\nArch Linux,A CPU,A GPU,16314508,6.9.1-arch,driver 1,performance\n\
         fps,frametime,cpu_load,gpu_load,elapsed\n{frames}"
    )
}
