//! A watch as a result of a Run.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_os::processes::Ran;
use punctual_record::{Cpu, Measurement, Value, visible};
use serde_json::json;

use super::{Cause, Hiccup, Settings, Tally, Watcher};

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
    Measurement {
        experiment: "watch".to_owned(),
        subject: watcher.method().name().to_owned(),
        params: params(settings, tally),
        missed: tally.missed(),
        cpu: Cpu {
            fraction: tally.cpu().map(share),
            per_wait_ns: per_wait(tally.cpu()),
            ..Cpu::default()
        },
        queued_per_wait_ns: per_wait(tally.queued()),
        stolen_per_wait_ns: per_wait(tally.stolen_in_all()),
        other: other(tally, elapsed, date),
        late_ns,
        ..Measurement::default()
    }
}

fn params(settings: &Settings, tally: &Tally) -> BTreeMap<String, Value> {
    let mut params = BTreeMap::from([
        (
            "period_ns".to_owned(),
            settings.rate.period().as_ns().into(),
        ),
        ("threshold_ns".to_owned(), tally.threshold().as_ns().into()),
    ]);
    if let Some(cpu) = settings.cpu {
        params.insert("cpu".to_owned(), cpu.into());
    }
    params
}

fn other(tally: &Tally, elapsed: Nanos, date: impl Fn(Nanos) -> String) -> BTreeMap<String, Value> {
    let bins = tally.whole().bins();
    let bins: Vec<_> = bins.map(|bin| json!([bin.upper_ns, bin.count])).collect();
    let hiccups: Vec<_> = tally
        .hiccups()
        .iter()
        .map(|hiccup| as_value(hiccup, date(hiccup.woke)))
        .collect();
    let by_cause: BTreeMap<_, _> = Cause::ALL
        .map(|cause| (cause.name(), tally.hiccups_by(cause)))
        .into();
    [
        ("elapsed_ns", elapsed.as_ns().into()),
        ("histogram_late_ns", bins.into()),
        ("hiccups", hiccups.into()),
        ("hiccups_by_cause", json!(by_cause)),
        ("hiccups_in_all", tally.hiccups_in_all().into()),
        ("lost_waits", tally.lost().into()),
    ]
    .map(|(key, value): (&str, Value)| (key.to_owned(), value))
    .into()
}

/// Who else had the CPU, if anybody did.
fn others(ran: &[Ran]) -> Option<Value> {
    let other = |ran: &Ran| json!({ "name": visible(&ran.name), "pid": ran.pid, "ran_ns": ran.time.as_ns() });
    (!ran.is_empty()).then(|| ran.iter().take(4).map(other).collect())
}

/// What the OS does not count is left out.
fn as_value(hiccup: &Hiccup, at: String) -> Value {
    let ns = |length: Option<Nanos>| length.map(|length| Value::from(length.as_ns()));
    let fields = [
        ("at", Some(at.into())),
        ("at_ns", Some(hiccup.woke.as_ns().into())),
        ("late_ns", Some(hiccup.late.as_ns().into())),
        ("queued_ns", ns(hiccup.queued)),
        ("stolen_ns", ns(hiccup.stolen.map(|s| s.counted))),
        ("stolen_within_ns", ns(hiccup.stolen.map(|s| s.within))),
        ("throttled_ns", ns(hiccup.throttled.map(|(time, _)| time))),
        ("others", others(&hiccup.others)),
        ("involuntary", hiccup.involuntary.map(Value::from)),
        ("voluntary", hiccup.voluntary.map(Value::from)),
        ("minor_faults", hiccup.faults.map(|f| f.minor.into())),
        ("major_faults", hiccup.faults.map(|f| f.major.into())),
        ("cause", Some(hiccup.cause().name().into())),
        ("in_words", Some(hiccup.to_string().into())),
    ];
    let told = fields.into_iter();
    told.filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
