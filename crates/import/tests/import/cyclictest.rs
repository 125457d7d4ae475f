//! Histograms, summaries and single waits of cyclictest.

use punctual_import::{Hints, Unit};
use punctual_record::LoggedKind;

use super::{format, log, refusal, run, subjects, untold, with};

/// Two threads: 10,000 waits and 500, of which 2 and 30 are beyond 5 us.
const HISTOGRAM: &str = "\
# /dev/cpu_dma_latency set to 0us
T: 0 (  811) P:80 I:1000 C:  10000 Min:      1 Act:    2 Avg:    2 Max:      40
T: 1 (  812) P:80 I:1500 C:    500 Min:      2 Act:    2 Avg:    3 Max:     108
# Histogram
000000 000000\t000000
000001 004000\t000000
000002 005900\t000400
000003 000090\t000060
000004 000008\t000010
# Total: 000009998 000000470
# Min Latencies: 00001 00002
# Avg Latencies: 00002 00003
# Max Latencies: 00040 00108
# Histogram Overflows: 00002 00030
# Histogram Overflow at cycle number:
# Thread 0: 00000 00017
";

#[test]
fn a_histogram_of_cyclictest_counts_what_lies_beyond_it() {
    let run = run(HISTOGRAM);
    assert_eq!(format(&run), "cyclictest histogram");
    assert_eq!(subjects(&run), ["cyclictest", "thread 0", "thread 1"]);
    let [all, first, second] = &run.results[..] else {
        panic!()
    };
    let late = &all.late_ns;
    assert_eq!((late.n, late.min, late.max), (10_500, 1_000, 108_000));
    assert_eq!(
        (late.p50, late.p90, late.p99),
        (Some(2_000), Some(2_000), Some(3_000))
    );
    // 10,490 of 10,500 do not exceed it, and that one is beyond the bins.
    assert_eq!(late.p999, None);
    assert!((late.mean - (10_000.0 * 2_000.0 + 500.0 * 3_000.0) / 10_500.0).abs() < 1e-6);
    let beyond = log(all).beyond.unwrap();
    assert_eq!((beyond.n, beyond.above_ns), (32, 4_000));
    assert_eq!(
        (log(first).period_ns, log(second).period_ns),
        (Some(1_000_000), Some(1_500_000))
    );
    assert_eq!(
        (log(all).period_ns, log(all).of),
        (None, LoggedKind::Deadlines)
    );
    assert!(log(first).is_part && !log(all).is_part);
    assert_eq!((first.late_ns.n, first.late_ns.p999), (10_000, Some(3_000)));
    assert_eq!(second.late_ns.p90, Some(3_000));
    assert!(untold(&run).contains("32 of its waits lie beyond its histogram"));
    let period = Hints {
        period_ns: Some(7),
        unit: Some(Unit::Ns),
        columns: None,
    };
    let in_ns = with(HISTOGRAM, &period);
    assert_eq!(
        (
            in_ns.results[0].late_ns.max,
            log(&in_ns.results[0]).period_ns
        ),
        (108, Some(7))
    );
}

#[test]
fn with_a_column_for_the_sum_only_threads_are_read() {
    let text = "# Histogram\n000001 3\t4\t7\n000002 1\t0\t1\n# Total: 4 4 8\n# Min Latencies: 1 1\n\
                # Avg Latencies: 1 1\n# Max Latencies: 2 1 2\n# Histogram Overflows: 0 0 0\n";
    let run = run(text);
    let counted: Vec<u64> = run.results.iter().map(|m| m.late_ns.n).collect();
    assert_eq!(counted, [8, 4, 4]);
    assert_eq!(run.results[0].late_ns.mean_capped, 1_125.0);
    assert!(log(&run.results[0]).beyond.is_none());
}

#[test]
fn a_histogram_that_was_cut_off_is_refused() {
    let (begin, _) = HISTOGRAM.split_once("# Histogram Overflows").unwrap();
    assert!(refusal(begin).contains("no line `# Histogram Overflows:`: it was cut off"));
    let twice = HISTOGRAM.replace("000004 000008", "000003 000008");
    assert!(
        refusal(&twice).contains("line 9: `000003 000008"),
        "{}",
        refusal(&twice)
    );
}

#[test]
fn the_json_of_cyclictest_tells_what_lies_beyond_by_its_cycles() {
    let text = r#"{"file_version": 1, "cmdline:": "cyclictest -h 100 -i 200 --json=x", "rt_test_version:": "2.40",
        "sysinfo": {"sysname": "Linux", "release": "6.1.0-rt", "realtime": 1}, "resolution_in_ns": 0,
        "thread": {"0": {"histogram": {"3": 1989, "99": 1}, "cycles": 2000, "min": 3, "max": 250, "avg": 4.5, "cpu": 0}}}"#;
    let all = run(text);
    let m = &all.results[0];
    assert_eq!(subjects(&all), ["cyclictest"]);
    assert_eq!(
        (m.late_ns.n, m.late_ns.max, m.late_ns.mean),
        (2_000, 250_000, 4_500.0)
    );
    assert_eq!((m.late_ns.p50, m.late_ns.p99), (Some(3_000), Some(3_000)));
    let log = log(m);
    assert_eq!(
        (log.beyond.unwrap().n, log.beyond.unwrap().above_ns),
        (10, 99_000)
    );
    assert_eq!(log.period_ns, Some(200_000));
    assert_eq!(
        (all.machine.os.as_str(), all.machine.host.kernel.as_deref()),
        ("Linux", Some("6.1.0-rt"))
    );
    assert_eq!(all.command, "cyclictest -h 100 -i 200 --json=x");
    let in_ns = run(&text.replace("resolution_in_ns\": 0", "resolution_in_ns\": 1"));
    assert_eq!(in_ns.results[0].late_ns.max, 250);
    assert!(
        refusal(&text.replace("\"cycles\": 2000", "\"cycles\": 20"))
            .contains("more waits than `cycles`")
    );
    assert!(refusal(&text[..200]).contains("cut off"));
}

#[test]
fn the_summary_of_cyclictest_has_no_percentiles() {
    let live = "T: 0 (24453) P: 0 I:500 C:    280 Min:     66 Act:   76 Avg:  288 Max:    8538\n\
                \u{1b}[3Apolicy: other/other: loadavg: 9.88 5.18 5.10 18/221 24531\n\n\
                T: 0 (24453) P: 0 I:500 C:    300 Min:     66 Act:   78 Avg:  277 Max:    8538\n";
    let run = run(live);
    let late = &run.results[0].late_ns;
    assert_eq!(
        (late.n, late.min, late.max, late.mean, late.p50),
        (300, 66_000, 8_538_000, 277_000.0, None)
    );
    assert_eq!(log(&run.results[0]).period_ns, Some(500_000));
}

#[test]
fn each_wait_of_cyclictest_is_read() {
    let run = run(
        "Max CPUs = 2\nThread 0 Interval: 1500\n       0:       0:    2036\n       0:       1:      82\n",
    );
    assert_eq!(run.results[0].samples_late_ns, [2_036_000, 82_000]);
    assert_eq!(log(&run.results[0]).period_ns, Some(1_500_000));
}
