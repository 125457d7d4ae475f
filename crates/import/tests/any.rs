//! Any file is refused in one line or read as a Run that can be written.

use proptest::prelude::*;
use punctual_import::{Hints, events, read};
use punctual_record::{Experiment, Measurement, Run};
use punctual_trace::Engine;

/// A file of each format, of which the properties change something.
const FILES: [&str; 11] = [
    "# Histogram\n000001 3\t4\n000002 1\t0\n# Total: 4 4\n# Min Latencies: 1 1\n# Avg Latencies: 1 1\n# Max Latencies: 2 1\n# Histogram Overflows: 0 3\n",
    "T: 0 (24453) P: 0 I:500 C:    280 Min:     66 Act:   76 Avg:  288 Max:    8538\n",
    "Thread 0 Interval: 1500\n       0:       0:    2036\n       0:       1:      82\n",
    r#"{"cmdline:": "cyclictest -h 9 -i 200", "rt_test_version:": "2", "resolution_in_ns": 0, "thread": {"0": {"histogram": {"3": 19, "8": 1}, "cycles": 21, "min": 3, "max": 250, "avg": 4.5}}}"#,
    "os,cpu,gpu,ram,kernel,driver\nA,B,C,1,6.9,x\nfps,frametime,elapsed\n60,16666,100\n59,17000,17000100\n",
    "Application,ProcessID,SwapChainAddress,MsBetweenPresents\na.exe,7,0xA,16.5\nb.exe,8,0xB,NA\n",
    "7 1795717833.200000 clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=26593, tv_nsec=1000000}, NULL) = 0 <0.002100>\n8 1795717833.200100 futex(0x7f4, FUTEX_WAIT_PRIVATE, 0, {tv_sec=0, tv_nsec=5000000} <unfinished ...>\n8 1795717833.205300 <... futex resumed>) = -1 ETIMEDOUT (Connection timed out) <0.005200>\n7 1795717833.300000 poll([{fd=3, events=POLLIN}], 1, 3) = 0 (Timeout) <0.003250>\n",
    "x 11 [-01] 5.000000: PERF_RECORD_SWITCH OUT\nx 11 [-01] 5.002000: PERF_RECORD_SWITCH IN\ny 1 [000] 9.1: sched:sched_switch: prev_comm=x prev_pid=4 prev_prio=120 prev_state=S ==> next_comm=y next_pid=5 next_prio=1\n",
    "x 7 [001] 5.1: syscalls:sys_enter_poll: ufds: 0x7, nfds: 0x1, timeout_msecs: 0x2\nx 7 [001] 5.1001: timer:hrtimer_start: hrtimer=0xf00 function=hrtimer_wakeup expires=5102051000 softexpires=5102001000 mode=ABS\nx 7 [001] 5.1002: sched:sched_switch: prev_comm=x prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=y z next_pid=9 next_prio=120\ny z 9 [001] 5.1020: timer:hrtimer_expire_entry: hrtimer=0xf00 function=tick_nohz_handler now=5102052500\ny z 9 [001] 5.1021: sched:sched_switch: prev_comm=y z prev_pid=9 prev_prio=120 prev_state=R ==> next_comm=x next_pid=7 next_prio=120\nx 7 [001] 5.1022: timer:timer_start: timer=0x1 function=process_timeout expires=9 [timeout=2] bucket_expiry=10 cpu=0\nx 7 [001] 5.1022: syscalls:sys_exit_poll: 0x0\n",
    "#[Histogram log format version 1.3]\n0.127,1.007,2.769,HISTEwAAAAMAAAAAAAAAAgAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAAGBA==\n",
    "asked_us,got_us,note\n1000,1058.5,a\n1000,\"1100\",b\n",
];

/// A change to a file.
const PARTS: [&str; 16] = [
    "",
    "-1",
    "NaN",
    "1e308",
    "18446744073709551616",
    "99999999999999999999999",
    "\u{1b}[2J",
    "\u{202e}",
    "\0",
    "\n",
    ",",
    "\"",
    "{",
    "é",
    "0",
    "<",
];

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    check_events(&String::from_utf8_lossy(bytes))?;
    match read(bytes, &Hints::default()) {
        Err(why) => {
            prop_assert!(
                !why.contains('\n') && why.chars().all(punctual_record::is_visible),
                "{}",
                why
            );
        }
        Ok(run) => {
            let text = run.to_json();
            let again: Run<Measurement> = Run::from_json(&text).map_err(TestCaseError::fail)?;
            prop_assert_eq!(again.to_json(), text);
            let names = run
                .results
                .iter()
                .map(|m| &m.subject)
                .chain(run.beside.imported.iter().flat_map(|it| &it.untold));
            prop_assert!(
                names
                    .flat_map(|name| name.chars())
                    .all(punctual_record::is_visible)
            );
        }
    }
    Ok(())
}

/// The same file as events, of which waits are made.
fn check_events(text: &str) -> Result<(), TestCaseError> {
    match events(text) {
        Err(why) => {
            prop_assert!(why.chars().all(punctual_record::is_visible), "{}", why);
        }
        Ok(events) => {
            prop_assert!(events.events.is_sorted_by_key(|event| event.time));
            let mut engine = Engine::new(events.tick_ns);
            events.events.iter().for_each(|event| engine.feed(event));
            engine.close();
            for row in engine.rows() {
                if let Experiment::Trace(of) = &row.experiment {
                    prop_assert_eq!(of.late_total_ns, of.all.parts_ns.sum());
                }
            }
        }
    }
    Ok(())
}

#[test]
fn each_of_these_is_read() {
    for file in FILES {
        let run = read(file.as_bytes(), &Hints::default()).unwrap();
        assert!(!run.results.is_empty(), "{file}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_file_that_was_changed_or_cut_is_read_or_refused(
        file in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..PARTS.len()), 0..6),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut text = FILES[file].to_owned();
        for (at, length, part) in changes {
            let at = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.floor_char_boundary((at + length).min(text.len())).max(at);
            text.replace_range(at..end, PARTS[part]);
        }
        let end = end.map_or(text.len(), |end| end.index(text.len() + 1));
        check(&text.as_bytes()[..end])?;
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), file in 0..FILES.len()) {
        check(&bytes)?;
        let mut behind = FILES[file].as_bytes().to_vec();
        behind.extend(&bytes);
        check(&behind)?;
    }

    #[test]
    fn lines_of_two_formats_are_read_or_refused(lines in prop::collection::vec((0..FILES.len(), 0..9_usize), 0..12)) {
        let line = |(file, line): (usize, usize)| FILES[file].lines().nth(line).unwrap_or_default();
        let text: Vec<&str> = lines.into_iter().map(line).collect();
        check(text.join("\n").as_bytes())?;
    }
}
