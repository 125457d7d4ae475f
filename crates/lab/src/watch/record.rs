//! A watch as a result of a Run.

use punctual_core::Nanos;
use punctual_record::experiment::{Cause, Watch};
use punctual_record::{Cpu, Experiment, Measurement};

use super::{Settings, Tally, Watcher};

/// What `watcher` saw, by `tally`. `date` writes the instant that lies so long
/// after the beginning of the watch.
pub fn measurement(
    settings: &Settings,
    watcher: &Watcher,
    tally: &Tally,
    date: impl Fn(Nanos) -> String,
) -> Measurement {
    let late_ns = tally.whole().late();
    let n = late_ns.n.max(1) as f64;
    let elapsed = watcher.elapsed();
    let per_wait = |length: Option<Nanos>| length.map(|length| length.as_ns() as f64 / n);
    let share = |length: Nanos| length.as_secs_f64() / elapsed.as_secs_f64();
    let watch = Experiment::Watch(Box::new(watch(settings, tally, elapsed, date)));
    Measurement {
        missed: tally.missed(),
        cpu: Cpu {
            fraction: tally.cpu().map(share),
            per_wait_ns: per_wait(tally.cpu()),
            ..Cpu::default()
        },
        queued_per_wait_ns: per_wait(tally.queued()),
        stolen_per_wait_ns: per_wait(tally.stolen_in_all()),
        late_ns,
        ..Measurement::of(watch, watcher.method().name())
    }
}

fn watch(
    settings: &Settings,
    tally: &Tally,
    elapsed: Nanos,
    date: impl Fn(Nanos) -> String,
) -> Watch {
    let bins = tally.whole().bins();
    let hiccups = tally.hiccups().iter();
    let by_cause = Cause::ALL.map(|cause| (cause.name().to_owned(), tally.hiccups_by(cause)));
    Watch {
        period_ns: settings.rate.period().as_ns(),
        threshold_ns: tally.threshold().as_ns(),
        on_cpu: settings.cpu.map(|cpu| cpu as u64),
        fail_over_ns: None,
        failed: None,
        elapsed_ns: elapsed.as_ns(),
        histogram_late_ns: bins.map(|bin| (bin.upper_ns, bin.count)).collect(),
        hiccups: hiccups
            .map(|hiccup| hiccup.told(date(hiccup.woke)))
            .collect(),
        hiccups_by_cause: by_cause.into(),
        hiccups_in_all: tally.hiccups_in_all(),
        lost_waits: tally.lost(),
    }
}
