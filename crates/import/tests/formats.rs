//! Small files of each format, with totals that were counted by hand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_import::{Hints, Unit, read};
use punctual_record::{Experiment, Late, Logged, LoggedKind, Measurement, Run};

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

fn mangohud(frames: &str) -> String {
    format!(
        "os,cpu,gpu,ram,kernel,driver,cpuscheduler\nArch Linux,A CPU,A GPU,16314508,6.9.1-arch,driver 1,performance\n\
         fps,frametime,cpu_load,gpu_load,elapsed\n{frames}"
    )
}

#[test]
fn frame_times_of_mangohud_are_in_the_unit_that_its_rate_tells() {
    let in_ms = run(&mangohud(
        "60,16.666,10,50,1000000\n58.8,17.0,11,51,18000000\n",
    ));
    let in_us = run(&mangohud(
        "60,16666,10,50,1000000\n58.8,17000,11,51,18000000\n",
    ));
    for run in [&in_ms, &in_us] {
        let m = &run.results[0];
        assert_eq!(m.samples_slept_ns, [16_666_000, 17_000_000]);
        assert_eq!(m.samples_woke_ns, [0, 17_000_000]);
        assert_eq!(
            (m.late_ns.n, log(m).lengths_ns.n, log(m).of),
            (0, 2, LoggedKind::Frames)
        );
        assert_eq!(
            run.machine.in_words(),
            "A CPU, Arch Linux, kernel 6.9.1-arch"
        );
        assert!(!untold(run).contains("every frame"), "{}", untold(run));
    }
    let sampled = run(&mangohud(
        "60,16.666,10,50,1000000\n60,16.666,10,50,101000000\n60,16.6,1",
    ));
    assert!(untold(&sampled).contains("has not every frame"));
    assert!(untold(&sampled).contains("last line is cut off"));
    assert!(refusal(&mangohud("60,x,1,1,1\n60,16.6,1,1,1\n")).contains("line 4"));
}

#[test]
fn frames_of_presentmon_are_told_apart_by_program() {
    let head =
        "Application,ProcessID,SwapChainAddress,PresentRuntime,MsBetweenPresents,MsUntilDisplayed";
    let run = run(&format!(
        "{head}\ngame.exe,7,0xA,DXGI,16.5,20\n\"dwm, really.exe\",9,0xB,DXGI,7,1\ngame.exe,7,0xA,DXGI,17.5,NA\n\
         game.exe,7,0xA,DXGI,NA,NA\ngame.exe,7,0xA,DX"
    ));
    assert_eq!(subjects(&run), ["game.exe", "dwm, really.exe"]);
    assert_eq!(run.results[0].samples_slept_ns, [16_500_000, 17_500_000]);
    assert_eq!(run.machine.os, "Windows");
    assert!(untold(&run).contains("Of 1 of its frames"));
    let newer = "Application,ProcessID,CPUStartTime,FrameTime,CPUBusy,CPUWait\ngame.exe,7,1.0,8.25,8,0.25\n";
    assert_eq!(self::run(newer).results[0].samples_slept_ns, [8_250_000]);
    let parts = "Application,ProcessID,MsCPUBusy,MsCPUWait\ngame.exe,7,8,0.25\n";
    assert_eq!(self::run(parts).results[0].samples_slept_ns, [8_250_000]);
}

const STRACE: &str = r#"
7 1795717833.000000 execve("/usr/bin/x", ["x", ", {tv_sec=9, tv_nsec=9}"], 0x7ffe /* 9 vars */) = 0 <0.000700>
7 1795717833.100000 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=2000000}, NULL) = 0 <0.002131>
7 1795717833.200000 clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=26593, tv_nsec=1000000}, NULL) = 0 <0.002100>
8 1795717833.200100 futex(0x7f4, FUTEX_WAIT_PRIVATE, 0, {tv_sec=0, tv_nsec=5000000} <unfinished ...>
7 1795717833.203000 clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=26593, tv_nsec=4000000}, NULL) = 0 <0.002150>
8 1795717833.205300 <... futex resumed>) = -1 ETIMEDOUT (Connection timed out) <0.005200>
7 1795717833.300000 poll([{fd=3, events=POLLIN}], 1, 3) = 0 (Timeout) <0.003250>
7 1795717833.310000 poll([{fd=3, events=POLLIN}], 1, 3) = 1 ([{fd=3, revents=POLLIN}]) <0.000250>
7 1795717833.400000 read(3, "a) = 0 <9", 8) = 8 <0.000250>
7 1795717833.500000 exit_group(0)       = ?
7 1795717833.600000 +++ exited with 0 +++
"#;

#[test]
fn waits_of_strace_have_what_was_asked_for_and_what_was_got() {
    let all = run(STRACE);
    assert_eq!(
        subjects(&all),
        ["clock_nanosleep until", "clock_nanosleep", "futex", "poll"]
    );
    let late: Vec<&[i64]> = all
        .results
        .iter()
        .map(|m| m.samples_late_ns.as_slice())
        .collect();
    // Of the deadlines, the first was 2.1 ms after a beginning that is not known; the second one 3.05 ms later, for a
    // deadline 3 ms later.
    assert_eq!(late, [&[0, 50_000][..], &[131_000], &[200_000], &[250_000]]);
    assert_eq!(all.results[2].samples_slept_ns, [5_200_000]);
    assert_eq!(all.results[0].samples_woke_ns, [0, 3_050_000]);
    let untold = untold(&all);
    assert!(
        untold.contains("counted from the earliest of these waits"),
        "{untold}"
    );
    assert!(
        untold.contains("1 more calls ended before their time"),
        "{untold}"
    );
    // As strace writes it to a terminal, with -f.
    let seen = STRACE
        .replace("\n7 ", "\n[pid     7] ")
        .replace("\n8 ", "\n[pid     8] ");
    assert_eq!(run(&seen).results, all.results);
    let without = STRACE
        .lines()
        .map(|line| line.rsplit_once(" <0.").map_or(line, |(line, _)| line));
    let without: Vec<&str> = without.collect();
    assert!(refusal(&without.join("\n")).contains("strace -f -ttt -T"));
}

#[test]
fn strace_is_read_whatever_it_writes_beside() {
    let plain = run(STRACE).results;
    // -Y, -r, -n, -i, and on a terminal.
    let with = |begin: &str, end: &str, column: &str| {
        let columns = STRACE.lines().map(|line| {
            let mut words = line.splitn(3, ' ');
            match [words.next(), words.next(), words.next()] {
                [Some(thread), Some(time), Some(rest)] => {
                    format!("{begin}{thread}{end} {time} {column}{rest}\n")
                }
                _ => String::new(),
            }
        });
        columns.collect::<String>()
    };
    for (begin, end, column) in [
        ("", "<Web Content>", ""),
        ("[pid     ", "<a b>]", ""),
        ("", "", "(+     0.000016) "),
        ("", "", "[ 230] "),
        ("", "", "[00007f72b5d7a2ad] "),
        ("", "<x>", "(+     0.000016378) [   0] [????????????????] "),
    ] {
        assert_eq!(
            run(&with(begin, end, column)).results,
            plain,
            "{begin}{end}{column}"
        );
    }
    // A program that changes its name within a call.
    let renamed = with("", "<a>", "").replace("8<a> 1795717833.205300", "8<b> 1795717833.205300");
    assert_eq!(run(&renamed).results, plain);
    // Behind the output of the program, with stacks of -k and \r\n at the ends of lines.
    let stacks = STRACE.replace('\n', "\n > /usr/lib/libc.so.6(poll+0x4f) [0x1] = 0 <0.1>\n");
    let others = "# a line of the program\n".repeat(999) + &stacks;
    assert_eq!(run(&others).results, plain);
    assert_eq!(run(&STRACE.replace('\n', "\r\n")).results, plain);
    // Of a computer whose other times have 32 bits.
    let mut of_64_bits = STRACE.to_owned();
    for call in ["futex", "ppoll", "clock_nanosleep"] {
        of_64_bits = of_64_bits.replace(&format!(" {call}("), &format!(" {call}_time64("));
        of_64_bits = of_64_bits.replace(&format!("... {call} "), &format!("... {call}_time64 "));
    }
    assert_ne!(of_64_bits, STRACE);
    assert_eq!(run(&of_64_bits).results, plain);
    // With -y and -yy.
    for of in [
        "socket:[1]",
        "TCP:[127.0.0.1:1->10.0.0.1:2]",
        "UNIX:[1->2,\"/a>, b\"]",
        "/a, {b",
    ] {
        let files = STRACE
            .replace("fd=3", &format!("fd=3<{of}>"))
            .replace("read(3", &format!("read(3<{of}>"));
        assert_eq!(run(&files).results, plain, "{of}");
    }
    let epoll = |fd: &str| {
        let text = format!(
            "7 1795717833.3 epoll_wait({fd}, [{{events=EPOLLIN, data={{u32=1<<20}}}}], 8, 3) = 0 <0.003250>\n"
        );
        run(&text.replace("33.3 ", "33.300000 ")).results
    };
    assert_eq!(epoll("5<anon_inode:[eventpoll]>"), epoll("5"));
    assert_eq!(epoll("5").len(), 1);
    // With -X raw and -X verbose.
    for (name, number) in [
        ("CLOCK_REALTIME, 0", "0, 0"),
        ("CLOCK_MONOTONIC, TIMER_ABSTIME", "0x1, 0x1"),
        ("FUTEX_WAIT_PRIVATE", "0x80"),
    ] {
        assert_eq!(run(&STRACE.replace(name, number)).results, plain);
        let numbers: Vec<&str> = number.split(", ").collect();
        let both = name
            .split(", ")
            .zip(numbers)
            .map(|(name, number)| format!("{number} /* {name} */"));
        let verbose = both.collect::<Vec<_>>().join(", ");
        assert_eq!(run(&STRACE.replace(name, &verbose)).results, plain);
    }
}

#[test]
fn strace_with_other_options_is_refused_with_the_right_ones() {
    let sleep = "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=2000000}, NULL) = 0";
    let times = "no times in seconds since 1970";
    let durations = "no durations of calls to the microsecond";
    for (line, why) in [
        (format!("7 12:43:46 {sleep} <0.002068>"), times),
        (format!("7 12:43:46.657318 {sleep} <0.002068>"), times),
        (format!("7<x>      0.000034 {sleep} <0.002068>"), times),
        (format!("7 1795783426.272 {sleep} <0.002068>"), times),
        (format!("7 1795783426 [ 230] {sleep} <0.002068>"), times),
        (format!("[pid 7] {sleep} <0.002068>"), times),
        (sleep.to_owned(), times),
        (
            "7 12:43:46 epoll_wait(5,  <unfinished ...>".to_owned(),
            times,
        ),
        (format!("7 1795783426.272000 {sleep}"), durations),
        (format!("7 1795783426.272000 {sleep} <0.002>"), durations),
        (
            "7 1795783426.272000 clock_nanosleep(0x1, 0x1, 0x7f15, 0) = 0 <0.002030>".to_owned(),
            "addresses instead of the lengths",
        ),
        (
            "% time     seconds  usecs/call     calls    errors syscall\n------\n".to_owned(),
            "the summary of strace -c",
        ),
    ] {
        let text = format!("{line}\n");
        let refused = [refusal(&text), punctual_import::events(&text).unwrap_err()];
        for refused in refused {
            assert!(
                refused.contains(why) && refused.contains("`strace -f -ttt -T`"),
                "{line}: {refused}"
            );
        }
    }
    // A name that looks like a duration, and a call that the end of the process cut off.
    let odd = "7 1795783426.272000 getpid() = 5<1234>\n7 1795783426.272000 nanosleep({tv_sec=1, tv_nsec=0},  <unfinished ...>) = ?\n";
    assert!(refusal(odd).contains("no waits"));
    let some = STRACE.replace(" <0.003250>", "");
    assert!(untold(&run(&some)).contains("1 more calls have no duration"));
}

#[test]
fn lines_of_another_format_within_strace_are_not_read() {
    let perf = r#"7 1795717833.100000 write(1, "x 7 [001] 5.1: sched:sched_switch: prev_comm=x", 10) = 10 <0.000030>"#;
    assert_eq!(
        run(&format!("{perf}\n{STRACE}")).results,
        run(STRACE).results
    );
}

#[test]
fn switches_of_perf_are_lengths_off_the_cpu() {
    let run = run(
        "  my game 11 [-01] 5.000000: PERF_RECORD_SWITCH OUT\n  my game 11 [-01] 5.002000: PERF_RECORD_SWITCH IN\n\
         \n  my game 11 [-01] 5.003000: PERF_RECORD_SWITCH OUT preempt\n  my game 11 [-01] 5.004000: PERF_RECORD_SWITCH IN\n\
         other 12 [001] 5.1: PERF_RECORD_SWITCH IN\n",
    );
    assert_eq!(subjects(&run), ["my game 11"]);
    assert_eq!(run.results[0].samples_slept_ns, [2_000_000]);
    assert!(untold(&run).contains("1 times a thread was preempted"));
    let plugin = "x 1 [000] 9.000001: sched:sched_switch: x:4 [120] S ==> y z:5 [-1]\nx 1 [000] 9.000101: sched:sched_switch: y:5 [-1] R ==> x:4 [120]\n";
    assert_eq!(subjects(&self::run(plugin)), ["x 4"]);
    let switch = |at: &str, from: &str, to: &str| {
        format!(
            "x 1 [000] {at}: sched:sched_switch: prev_comm=x prev_pid={from} prev_prio=120 ==> next_comm=y z next_pid={to} next_prio=1\n"
        )
    };
    let text =
        switch("9.000001", "4 prev_state=S", "0") + &switch("9.000101", "0 prev_state=R", "4");
    let run = self::run(&text);
    assert_eq!(
        (subjects(&run), &run.results[0].samples_slept_ns[..]),
        (vec!["x 4"], &[100_000][..])
    );
}

/// A histogram of two digits as HdrHistogram encodes it, from its counts by bin.
fn encoded(counts: &[i64], compressed: bool) -> String {
    let mut payload = Vec::new();
    for count in counts {
        let mut left = ((count << 1) ^ (count >> 63)) as u64;
        loop {
            let more = left > 0x7f;
            payload.push((left & 0x7f) as u8 | if more { 0x80 } else { 0 });
            left >>= 7;
            if !more {
                break;
            }
        }
    }
    let mut plain = 0x1c84_9313_u32.to_be_bytes().to_vec();
    plain.extend((payload.len() as u32).to_be_bytes());
    plain.extend([0; 4]);
    plain.extend(2_u32.to_be_bytes());
    plain.extend(1_u64.to_be_bytes());
    plain.extend(3_600_000_000_000_u64.to_be_bytes());
    plain.extend(1.0_f64.to_be_bytes());
    plain.extend(payload);
    if !compressed {
        return STANDARD.encode(plain);
    }
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&plain, 6);
    let mut all = 0x1c84_9314_u32.to_be_bytes().to_vec();
    all.extend((packed.len() as u32).to_be_bytes());
    all.extend(packed);
    STANDARD.encode(all)
}

fn hlog(rows: &[String]) -> String {
    let head = "#[Histogram log format version 1.3]\n#[StartTime: 1441812279.474 (seconds since epoch), x]\n\
                \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
    head.to_owned() + &rows.join("\n")
}

#[test]
fn a_log_of_hdr_histogram_adds_its_intervals_up() {
    // 3 values of 1, none from 2 to 255, 2 of 256 and 257.
    let first = encoded(&[0, 3, -254, 2], true);
    let second = encoded(&[0, 0, 5], false);
    let text = hlog(&[
        format!("0.127,1.007,0.000,{first}"),
        format!("1.134,0.999,0.000,{second}"),
        format!("Tag=other,0.1,1.0,0.000,{first}"),
    ]);
    let all = run(&text);
    assert_eq!(subjects(&all), ["values", "other"]);
    let values = log(&all.results[0]);
    assert_eq!(values.histogram_ns, [(1, 3), (2, 5), (257, 2)]);
    assert_eq!(
        (values.of, values.lengths_ns.n, values.lengths_ns.max),
        (LoggedKind::Lengths, 10, 257)
    );
    assert_eq!(all.results[0].late_ns, Late::default());
    let hiccups = run(&format!("#[Logged with jHiccup version 2.0.7S]\n{text}"));
    assert_eq!(
        (hiccups.results[0].late_ns.n, subjects(&hiccups)[0]),
        (10, "jHiccup")
    );
    let in_us = with(
        &text,
        &Hints {
            unit: Some(Unit::Us),
            ..Hints::default()
        },
    );
    assert_eq!(log(&in_us.results[0]).lengths_ns.max, 257_000);
    // A log that a killed program left.
    let cut = run(&text[..text.len() - 9]);
    assert_eq!(subjects(&cut), ["values"]);
    assert!(untold(&cut).contains("last line is cut off"));
    let run_of_none = encoded(&[i64::MIN, i64::MIN, 0, 0], false);
    assert_eq!(
        run(&hlog(&[
            format!("0,1,0,{run_of_none}"),
            format!("0,1,0,{first}")
        ]))
        .results
        .len(),
        1
    );
    let wrong = hlog(&["0,1,0,HISTFAAA!".to_owned(), format!("0,1,0,{first}")]);
    assert!(refusal(&wrong).contains("line 4: `HISTFAAA!` is no histogram"));
}

#[test]
fn a_histogram_never_grows_beyond_its_limit() {
    let zeros = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 64 << 20], 9);
    let mut all = 0x1c84_9314_u32.to_be_bytes().to_vec();
    all.extend((zeros.len() as u32).to_be_bytes());
    all.extend(zeros);
    let rows = [
        format!("0,1,0,{}", STANDARD.encode(all)),
        format!("0,1,0,{}", encoded(&[1], true)),
    ];
    assert!(refusal(&hlog(&rows)).contains("cannot be decompressed"));
}

#[test]
fn plain_columns_have_a_unit() {
    let pairs = run("# mine\nasked_us,slept (us)\n1000,1058.5\n1000,1100\n");
    assert_eq!(pairs.results[0].samples_late_ns, [58_500, 100_000]);
    assert_eq!(pairs.results[0].samples_slept_ns, [1_058_500, 1_100_000]);
    let timed = run("asked_us,got_us,ended_us\n1000,1058,5000\n1000,1100,6200\n");
    assert_eq!(timed.results[0].samples_woke_ns, [0, 1_200_000]);
    let late = run("Lateness [ms];note\n-0.5;x\n2;y\n");
    assert_eq!(late.results[0].samples_late_ns, [-500_000, 2_000_000]);
    assert_eq!(late.results[0].late_ns.early, 1);
    let frames = run("frame\tframe_time_ms\n1\t16.6\n2\t17\n");
    assert_eq!(frames.results[0].samples_slept_ns, [16_600_000, 17_000_000]);
    assert_eq!(log(&frames.results[0]).of, LoggedKind::Frames);
    assert!(refusal("asked,got\n1,2\n").contains("have no unit"));
    let hints = |columns: &str, unit| Hints {
        columns: Some(columns.to_owned()),
        unit,
        period_ns: None,
    };
    let named = with("1,2\n3,5\n", &hints("asked_ms,got_ms", None));
    assert_eq!(named.results[0].samples_late_ns, [1_000_000, 2_000_000]);
    let named = with("asked,got\n1,2\n", &hints("asked,got", Some(Unit::S)));
    assert_eq!(named.results[0].samples_late_ns, [1_000_000_000]);
    assert!(refusal("1,2\n3,4\n").contains("--columns asked_us,got_us"));
    for (text, why) in [
        ("late_us\nNaN\n", "line 2: `NaN` is not a number"),
        (
            "asked_us,got_us\n1,-5\n",
            "line 2: `-5` is a negative length",
        ),
        ("late_s\n1e300\n", "line 2: `1e300` s is more than 11 days"),
        ("late_us\n\n", "has no waits and no frames"),
        ("asked_us,other\n1,1\n", "not enough"),
    ] {
        assert!(refusal(text).contains(why), "{text}: {}", refusal(text));
    }
}

#[test]
fn other_files_are_named_for_what_they_look_like() {
    for (text, looks) in [
        ("", "it is empty"),
        ("hello\n", "plain text"),
        (
            "{\"results\": [{\"command\": \"ls\", \"mean\": 1, \"stddev\": 0}]}",
            "hyperfine, which times whole programs and not waits",
        ),
        ("command,mean,stddev,median\n", "hyperfine"),
        (
            "{\"mean\": {}, \"median\": {}, \"std_dev\": {}}",
            "criterion, which times code and not waits",
        ),
        (
            "fib 20   time:   [26.029 us 26.251 us 26.505 us]\n",
            "criterion",
        ),
        ("{\"Runs\": [], \"Info\": {}}", "CapFrameX"),
        ("{\"a\": 1", "JSON, and is cut off"),
        ("<html>", "HTML"),
        ("PERFILE2\0\0", "perf script"),
        ("\0\0", "no text"),
        (
            "name,size\na,3\n",
            "none of its columns (name, size) is known",
        ),
    ] {
        let why = refusal(text);
        assert!(
            why.contains(looks) && why.contains("cyclictest"),
            "{text}: {why}"
        );
        assert!(!why.contains('\n'), "{why}");
    }
}

#[test]
fn odd_files_are_read_or_refused_with_a_remedy() {
    let utf_16 = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(unit).collect()
    };
    let read = |bytes: &[u8]| punctual_import::read(bytes, &Hints::default());
    let late = "late_us\n1.5\n-2\n";
    let of = |bytes: &[u8]| read(bytes).unwrap().results[0].samples_late_ns.clone();
    let expected = of(late.as_bytes());
    assert_eq!(expected, [1_500, -2_000]);
    for unit in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        assert_eq!(of(&utf_16(late, unit)), expected);
        assert_eq!(of(&utf_16(&late.replace('\n', "\r\n"), unit)), expected);
    }
    assert_eq!(of(format!("\u{feff}{late}").as_bytes()), expected);
    assert_eq!(of(late.replace('\n', "\r\n").as_bytes()), expected);
    // A last line that is cut off; a name that its owner cut within a character.
    let cut = run(&format!("{late}1e"));
    assert_eq!(cut.results[0].samples_late_ns, expected);
    assert!(untold(&cut).contains("last line is cut off"));
    let name = b"\xe3\x83 11 [-01] 5.000000: PERF_RECORD_SWITCH OUT\n\xe3\x83 11 [-01] 5.002000: PERF_RECORD_SWITCH IN\n";
    assert_eq!(subjects(&read(name).unwrap()), ["\u{fffd} 11"]);
    // Times may go backwards.
    let back = run("late_us,ended_us\n1,5000\n1,200\n");
    assert_eq!(back.results[0].samples_woke_ns, [4_800_000, 0]);
    let back = run(
        "x 1 [-01] 9.0: PERF_RECORD_SWITCH OUT\nx 1 [-01] 5.0: PERF_RECORD_SWITCH IN\nx 1 [-01] 5.1: PERF_RECORD_SWITCH OUT\nx 1 [-01] 5.2: PERF_RECORD_SWITCH IN\n",
    );
    assert_eq!(back.results[0].samples_slept_ns, [100_000_000]);
    let long = |line: &str| line.repeat((5 << 20) / line.len());
    for (bytes, why) in [
        (
            b"frame_ms\n16,6\n17,1\n".to_vec(),
            "line 2: it has 2 cells, and there are 1 columns; decimals need a point",
        ),
        (
            b"frame_ms;x\n16,6;1\n".to_vec(),
            "line 2: `16,6` is not a number; decimals need a point",
        ),
        (
            mangohud("60,16,666,1,1,1\n").into_bytes(),
            "decimals need a point",
        ),
        (
            b"Application,ProcessID,MsBetweenPresents\nx,1,16,5\n".to_vec(),
            "decimals need a point",
        ),
        (
            b"late_us\n1e308\n".to_vec(),
            "line 2: `1e308` us is more than 11 days",
        ),
        (b"late_us\ninf\n".to_vec(), "line 2: `inf` is not a number"),
        (
            b"late_us\n-NaN\n".to_vec(),
            "line 2: `-NaN` is not a number",
        ),
        (
            b"late_us\n1\n\0\0\n".to_vec(),
            "line 3: `\\0\\0` is not a number",
        ),
        (b"late_us".to_vec(), "has no waits"),
        (b"\xfd7zXZ\0 late_us\n".to_vec(), "uncompress it first"),
        (b"BZh91AY".to_vec(), "uncompress it first"),
        (b"\x1f\x8b\x08late_us".to_vec(), "uncompress it first"),
        (
            b"late_us\n1\n\0\0".iter().rev().copied().collect(),
            "bytes of zero",
        ),
        (long("x").into_bytes(), "its line 1 is longer than 4 MiB"),
        (
            format!("late_us\n1\n{}", long("1,")).into_bytes(),
            "its line 3 is longer than 4 MiB",
        ),
        (
            format!("[{}", long("1,")).into_bytes(),
            "JSON, and is cut off or not correct",
        ),
        (
            long("[").into_bytes(),
            "JSON, and is cut off or not correct",
        ),
        (
            long("{\"rt_test_version\": ").into_bytes(),
            "cut off or not correct",
        ),
    ] {
        let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let refused = read(&bytes).unwrap_err();
        assert!(refused.contains(why), "{begin}: {refused}");
        assert!(!refused.contains('\n') && refused.len() < 600, "{refused}");
    }
}

#[test]
fn frames_behind_a_head_of_another_program_are_read() {
    let frames = "Application,ProcessID,MsBetweenPresents\ngame.exe,7,16.5\n";
    let of = |text: &str| run(text).results;
    assert_eq!(
        of(&format!("//GameName=x\n//CPU=y, z\n\n{frames}")),
        of(frames)
    );
    // MangoHud with log_versioning.
    let plain = mangohud("60,16.666,10,50,1000000\n");
    let versioned = plain
        .replacen("os,cpu", "v1\n0.7.1\n--SYSTEM INFO--\nos,cpu", 1)
        .replacen("fps,", "--FRAME METRICS--\nfps,", 1);
    assert_eq!(run(&versioned).machine, run(&plain).machine);
    assert_eq!(of(&versioned), of(&plain));
    // Frames of more than 584 years together.
    let row = "60,999999999999,10,50,1000000\n";
    assert_eq!(
        log(&of(&mangohud(&row.repeat(20_000)))[0]).lengths_ns.n,
        20_000
    );
}

#[test]
fn nothing_that_a_file_says_is_obeyed() {
    let hostile = "\u{1b}]52;c;x\u{7}\u{202e}";
    let head = "Application,ProcessID,MsBetweenPresents";
    let run = run(&format!("{head}\n{hostile}.exe,1,2\n"));
    assert_eq!(subjects(&run), [r"\u{1b}]52;c;x\u{7}\u{202e}.exe"]);
    let why = refusal(&format!("{hostile},b\n1,2\n"));
    assert!(!why.contains('\u{1b}') && why.contains(r"\u{1b}"), "{why}");
    let run = self::run(&mangohud("60,16.6,1,1,1\n").replace("A CPU", hostile));
    assert!(!run.to_json().contains("\\u001b"), "{}", run.to_json());
}
