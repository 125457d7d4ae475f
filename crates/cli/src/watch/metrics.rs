//! A watch in the text format of Prometheus, version 0.0.4
//! (prometheus.io/docs/instrumenting/exposition_formats).

use std::fmt::{Display, Write};

use punctual_core::Nanos;
use punctual_lab::watch::Tally;
use punctual_record::experiment::Cause;

/// What is watched, for the labels of `punctual_watch_info`.
#[derive(Clone, Debug)]
pub(super) struct Info {
    pub(super) method: &'static str,
    pub(super) period: Nanos,
    pub(super) cpu: Option<usize>,
}

/// All metrics, each with what it means and its type.
pub(super) fn exposition(tally: &Tally, info: &Info) -> String {
    let mut text = String::new();
    histogram(&mut text, tally);
    let causes = Cause::ALL.map(|cause| {
        let labels = format!("{{cause=\"{}\"}}", cause.name());
        (labels, tally.hiccups_by(cause))
    });
    metric(
        &mut text,
        "punctual_hiccups_total",
        "counter",
        "Waits that ended later than the threshold, by cause.",
        causes,
    );
    metric(
        &mut text,
        "punctual_missed_deadlines_total",
        "counter",
        "Deadlines that had passed before their wait began.",
        [(String::new(), tally.missed())],
    );
    metric(
        &mut text,
        "punctual_lost_waits_total",
        "counter",
        "Waits that were not collected in time and are in no other metric.",
        [(String::new(), tally.lost())],
    );
    metric(
        &mut text,
        "punctual_watch_info",
        "gauge",
        "What is watched: the OS call, the period and the threshold in seconds, the CPU.",
        [(labels(tally, info), 1)],
    );
    text
}

fn histogram(text: &mut String, tally: &Tally) {
    let (count, sum) = (tally.whole().n(), tally.whole().sum_ns());
    let bounds = tally.cumulative().map(|(bound, count)| {
        let labels = format!("_bucket{{le=\"{}\"}}", seconds(bound));
        (labels, count.to_string())
    });
    let rest = [
        ("_bucket{le=\"+Inf\"}".to_owned(), count.to_string()),
        ("_sum".to_owned(), (sum as f64 / 1e9).to_string()),
        ("_count".to_owned(), count.to_string()),
    ];
    metric(
        text,
        "punctual_lateness_seconds",
        "histogram",
        "How long after its deadline each wait ended.",
        bounds.chain(rest),
    );
}

/// One metric and its samples: what follows the name, and the value.
fn metric<V: Display>(
    text: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    samples: impl IntoIterator<Item = (String, V)>,
) {
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("a String takes everything");
    };
    line(format_args!("# HELP {name} {help}"));
    line(format_args!("# TYPE {name} {kind}"));
    for (after, value) in samples {
        line(format_args!("{name}{after} {value}"));
    }
}

fn labels(tally: &Tally, info: &Info) -> String {
    let cpu = info.cpu.map_or_else(String::new, |cpu| cpu.to_string());
    format!(
        "{{version=\"{}\",method=\"{}\",period_seconds=\"{}\",threshold_seconds=\"{}\",cpu=\"{cpu}\"}}",
        env!("CARGO_PKG_VERSION"),
        info.method,
        seconds(info.period),
        seconds(tally.threshold()),
    )
}

/// Seconds, exactly, as the shortest number that says so.
fn seconds(length: Nanos) -> f64 {
    length.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_lab::watch::Wake;

    #[test]
    fn a_watch_reads_as_the_format_says() {
        let mut tally = Tally::new(Nanos::from_us(500), Nanos::from_ms(1), Default::default());
        for late in [900, 1_000, 55_000, 700_000, 250_000_000] {
            tally.wake(&Wake {
                due: Nanos::from_ms(1),
                late: Nanos::new(late),
                counts: Default::default(),
            });
        }
        tally.finish();
        let info = Info {
            method: "clock_nanosleep+slack=1ns",
            period: Nanos::from_us(1_500),
            cpu: Some(3),
        };
        let text = exposition(&tally, &info);
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        assert_eq!(text, EXPECTED);
    }

    const EXPECTED: &str = r#"# HELP punctual_lateness_seconds How long after its deadline each wait ended.
# TYPE punctual_lateness_seconds histogram
punctual_lateness_seconds_bucket{le="0.000001"} 2
punctual_lateness_seconds_bucket{le="0.000002"} 2
punctual_lateness_seconds_bucket{le="0.000005"} 2
punctual_lateness_seconds_bucket{le="0.00001"} 2
punctual_lateness_seconds_bucket{le="0.00002"} 2
punctual_lateness_seconds_bucket{le="0.00005"} 2
punctual_lateness_seconds_bucket{le="0.0001"} 3
punctual_lateness_seconds_bucket{le="0.0002"} 3
punctual_lateness_seconds_bucket{le="0.0005"} 3
punctual_lateness_seconds_bucket{le="0.001"} 4
punctual_lateness_seconds_bucket{le="0.002"} 4
punctual_lateness_seconds_bucket{le="0.005"} 4
punctual_lateness_seconds_bucket{le="0.01"} 4
punctual_lateness_seconds_bucket{le="0.02"} 4
punctual_lateness_seconds_bucket{le="0.05"} 4
punctual_lateness_seconds_bucket{le="0.1"} 4
punctual_lateness_seconds_bucket{le="+Inf"} 5
punctual_lateness_seconds_sum 0.2507569
punctual_lateness_seconds_count 5
# HELP punctual_hiccups_total Waits that ended later than the threshold, by cause.
# TYPE punctual_hiccups_total counter
punctual_hiccups_total{cause="own_stop"} 0
punctual_hiccups_total{cause="throttled"} 0
punctual_hiccups_total{cause="queued"} 0
punctual_hiccups_total{cause="stolen"} 0
punctual_hiccups_total{cause="unknown"} 2
# HELP punctual_missed_deadlines_total Deadlines that had passed before their wait began.
# TYPE punctual_missed_deadlines_total counter
punctual_missed_deadlines_total 0
# HELP punctual_lost_waits_total Waits that were not collected in time and are in no other metric.
# TYPE punctual_lost_waits_total counter
punctual_lost_waits_total 0
# HELP punctual_watch_info What is watched: the OS call, the period and the threshold in seconds, the CPU.
# TYPE punctual_watch_info gauge
punctual_watch_info{version="VERSION",method="clock_nanosleep+slack=1ns",period_seconds="0.0015",threshold_seconds="0.0005",cpu="3"} 1
"#;
}
