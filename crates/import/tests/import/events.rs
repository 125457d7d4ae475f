//! Files of other tracers as waits, whose lateness was counted by hand.

use punctual_import::{Events, events};
use punctual_record::{Experiment, LateParts, Measurement, Traced, TracedTimeout};
use punctual_trace::Engine;

fn rows(events: &Events) -> Vec<Measurement> {
    let mut engine = Engine::new(events.tick_ns);
    events.events.iter().for_each(|event| engine.feed(event));
    engine.close();
    engine.rows()
}

fn traced(row: &Measurement) -> &Traced {
    match &row.experiment {
        Experiment::Trace(of) => of,
        other => panic!("{other:?}"),
    }
}

const STRACE: &str = "\
7 1795717833.200000 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=2000000}, NULL) = 0 <0.002100>
8 1795717833.200100 futex(0x7f4, FUTEX_WAIT_PRIVATE, 0, {tv_sec=0, tv_nsec=5000000} <unfinished ...>
8 1795717833.205400 <... futex resumed>) = -1 ETIMEDOUT (Connection timed out) <0.005300>
7 1795717833.300000 poll([{fd=3, events=POLLIN}], 1, 3) = 1 ([{fd=3, revents=POLLIN}]) <0.001000>
7 1795717833.310000 poll([{fd=3, events=POLLIN}], 1, 0) = 0 (Timeout) <0.000004>
7 1795717833.320000 poll([{fd=3, events=POLLIN}], 1, -1) = 1 ([{fd=3, revents=POLLIN}]) <0.000400>
7 1795717833.400000 nanosleep({tv_sec=0, tv_nsec=9000000}, NULL) = ? ERESTART_RESTARTBLOCK (Interrupted by signal) <0.001000>
7 1795717833.410000 write(1, \"poll(\", 5) = 5 <0.000010>
";

/// The row of a call with a kind of timeout.
fn row<'r>(rows: &'r [Measurement], call: &str, timeout: TracedTimeout) -> &'r Measurement {
    let is_it = |row: &&Measurement| {
        let of = traced(row);
        of.call == call && of.timeout == timeout
    };
    rows.iter().find(is_it).unwrap()
}

#[test]
fn strace_tells_how_late_each_call_was_and_no_part_of_it() {
    let events = events(STRACE).unwrap();
    assert_eq!(events.format, "strace");
    assert!(events.more.is_some());
    let rows = rows(&events);
    let (length, none) = (TracedTimeout::Relative, TracedTimeout::None);
    for (call, late) in [("clock_nanosleep", 100_000), ("futex", 300_000)] {
        let row = row(&rows, call, length);
        assert_eq!((row.late_ns.n, row.late_ns.max), (1, late));
        let unknown = LateParts {
            unknown: late as u64,
            ..LateParts::default()
        };
        let of = traced(row);
        assert_eq!(of.all.parts_ns, unknown);
        assert_eq!((of.slack_ns, of.cause), (None, None));
    }
    assert_eq!(traced(row(&rows, "poll", length)).ended_by_event, 1);
    assert_eq!(traced(row(&rows, "nanosleep", length)).ended_by_signal, 1);
    let of = traced(row(&rows, "poll", none));
    assert_eq!((of.polled, of.ended_by_event), (1, 1));
}

#[test]
fn deadlines_on_a_clock_that_strace_does_not_show_count_from_the_earliest() {
    let line = |at: &str, deadline: u64, took: &str| {
        format!(
            "{at} clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {{tv_sec=9, tv_nsec={deadline}}}, NULL) = 0 <{took}>\n"
        )
    };
    let text = line("1795717833.200000", 5_000_000, "0.005060")
        + &line("1795717833.210000", 15_000_000, "0.005560");
    let events = events(&text).unwrap();
    assert!(
        events
            .more
            .as_ref()
            .unwrap()
            .contains("counts from the earliest")
    );
    let rows = rows(&events);
    let late = &rows[0].late_ns;
    assert_eq!((late.n, late.min, late.max), (2, 0, 500_000));
    // Without such deadlines nothing is said of them.
    let others = punctual_import::events(STRACE).unwrap();
    assert!(!others.more.unwrap().contains("earliest"));
}

const PERF: &str = "\
x 7 [001] 5.000000000: syscalls:sys_enter_clock_nanosleep: which_clock: 0x00000001, flags: 0x00000000, rqtp: 0x7ffd, rmtp: 0x00000000
x 7 [001] 5.000001000: timer:hrtimer_start: hrtimer=0xf00 function=hrtimer_wakeup expires=5002051000 softexpires=5002001000 mode=0x1 was_armed=0
x 7 [001] 5.000003000: sched:sched_switch: prev_comm=x prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=y z next_pid=9 next_prio=120
y z 9 [001] 5.002053000: timer:hrtimer_expire_entry: hrtimer=0xf00 function=hrtimer_wakeup now=5002052500
y z 9 [001] 5.002054000: sched:sched_waking: comm=x pid=7 prio=120 target_cpu=001
y z 9 [001] 5.002055000: sched:sched_wakeup: comm=x pid=7 prio=120 target_cpu=001
y z 9 [001] 5.002155000: sched:sched_switch: prev_comm=y z prev_pid=9 prev_prio=120 prev_state=R ==> next_comm=x next_pid=7 next_prio=120
x 7 [001] 5.002158000: syscalls:sys_exit_clock_nanosleep: 0x0
x 7 [001] 5.004001000: timer:hrtimer_expire_entry: hrtimer=0xf99 function=tick_nohz_handler now=5004000000
";

#[test]
fn perf_script_of_tracepoints_tells_each_part() {
    let events = events(PERF).unwrap();
    assert_eq!((events.format, &events.more), ("perf script", &None));
    let rows = rows(&events);
    let parts = LateParts {
        before: 1_000,
        slack: 50_000,
        interrupt: 2_000,
        wake_up: 2_000,
        cpu: 100_000,
        return_: 3_000,
        ..LateParts::default()
    };
    let of = traced(&rows[0]);
    assert_eq!(of.all.parts_ns, parts);
    assert_eq!(of.thread, "x");
    assert_eq!(
        (of.all.behind[0].thread.as_str(), of.all.behind[0].on_cpu),
        ("y z", 1)
    );
}

#[test]
fn another_clock_of_perf_is_set_by_the_interrupts_of_ticks() {
    let other = PERF.replace("] 5.", "] 12.");
    let set = events(&other).unwrap();
    assert!(
        set.untold.iter().any(|it| it.contains("Its clock")),
        "{set:?}"
    );
    // The interrupt reads its clock 1 us before its event.
    let late = rows(&set)[0].late_ns.max;
    assert_eq!(late, 157_000);
    let same = events(PERF).unwrap();
    assert!(!same.untold.iter().any(|it| it.contains("Its clock")));
    // Without a tick it is not known, and so is the deadline.
    let without = other.replace("tick_nohz_handler", "another");
    let rows = rows(&events(&without).unwrap());
    assert_eq!(traced(&rows[0]).deadline_unknown, 1);
}

#[test]
fn a_clock_of_perf_that_drifts_is_followed() {
    // Sleeps of 1 ms, each 20 us late, for 5 minutes; the clock of the file gains 40 us a second and has another beginning.
    let shown = |ns: u64| {
        let at = ns + ns / 25_000 + 7_000_000_000;
        format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000)
    };
    let mut text = String::new();
    for second in 0..300_u64 {
        let enter = 5_000_000_000 + second * 1_000_000_000;
        let due = enter + 1_001_000;
        let late = due + 20_000;
        for (at, thread, event) in [
            (enter - 400_000_000, "i 0", format!("timer:hrtimer_expire_entry: hrtimer=0x1 function=tick_nohz_handler now={}", enter - 400_001_000)),
            (enter, "x 7", "syscalls:sys_enter_clock_nanosleep: which_clock: 0x1, flags: 0x0, rqtp: 0x7ffd, rmtp: 0x0".to_owned()),
            (enter + 1_000, "x 7", format!("timer:hrtimer_start: hrtimer=0xf00 function=hrtimer_wakeup expires={due} softexpires={due} mode=0x1")),
            (late - 2_000, "i 0", format!("timer:hrtimer_expire_entry: hrtimer=0xf00 function=hrtimer_wakeup now={due}")),
            (late - 1_000, "x 7", "syscalls:sys_exit_clock_nanosleep: 0x0".to_owned()),
        ] {
            text += &format!("{thread} [000] {}: {event}\n", shown(at));
        }
    }
    let all = events(&text).unwrap();
    let late = &rows(&all)[0].late_ns;
    assert_eq!(late.n, 300);
    // 20 us, up to a microsecond of the delay of the tick's event.
    assert!(late.min >= 18_000 && late.max <= 21_000, "{late:?}");
    let told = all.untold.join(" ");
    assert!(
        told.contains("once a second") && !told.contains("drifted"),
        "{told}"
    );
    // Without ticks behind the first minute, the file cannot tell the rest.
    let is_early = |line: &&str| !line.contains("tick_nohz_handler") || line < &"i 0 [000] 70";
    let cut: Vec<&str> = text.lines().filter(is_early).collect();
    let told = events(&cut.join("\n")).unwrap().untold.join(" ");
    assert!(told.contains("may have drifted"), "{told}");
}

#[test]
fn a_deadline_thread_goes_before_others_as_a_real_time_thread_does() {
    for (shown, is_real_time) in [
        ("-1", true),
        ("0", true),
        ("99", true),
        ("100", false),
        ("120", false),
    ] {
        let text = PERF.replace(
            "next_pid=9 next_prio=120",
            &format!("next_pid=9 next_prio={shown}"),
        );
        let rows = rows(&events(&text).unwrap());
        let behind = &traced(&rows[0]).all.behind[0];
        assert_eq!(
            (behind.thread.as_str(), behind.is_real_time),
            ("y z", is_real_time),
            "{shown}"
        );
    }
}

/// As libtraceevent's plugins write the same.
const BY_PLUGINS: &str = "\
x 7 [001] 5.000000000: syscalls:sys_enter_clock_nanosleep: which_clock: 0x00000001, flags: 0x00000000, rqtp: 0x7ffd, rmtp: 0x00000000
x 7 [001] 5.000001000: timer:hrtimer_start: hrtimer=0xf00 function=hrtimer_wakeup/0x0 expires=5002051000 softexpires=5002001000
x 7 [001] 5.000003000: sched:sched_switch: x:7 [120] S ==> y z:9 [120]
y z 9 [001] 5.002053000: timer:hrtimer_expire_entry: hrtimer=0xf00 now=5002052500 function=hrtimer_wakeup/0x0
y z 9 [001] 5.002054000: sched:sched_waking: comm=x pid=7 prio=120 target_cpu=001
y z 9 [001] 5.002055000: sched:sched_wakeup: x:7 [120]<CANT FIND FIELD success> CPU:001
y z 9 [001] 5.002155000: sched:sched_switch: y z:9 [120] R ==> x:7 [120]
x 7 [001] 5.002158000: syscalls:sys_exit_clock_nanosleep: 0x0
x 7 [001] 5.004001000: timer:hrtimer_expire_entry: hrtimer=0xf99 now=5004000000 function=tick_nohz_handler/0x0
";

#[test]
fn perf_script_with_plugins_tells_the_same() {
    let [kernel, plugins] = [PERF, BY_PLUGINS].map(|text| rows(&events(text).unwrap()));
    // The plugins leave out whether the kernel was given a length: the microsecond before the arming is missing.
    let mut parts = traced(&kernel[0]).all.parts_ns;
    parts.before = 0;
    assert_eq!(traced(&plugins[0]).all.parts_ns, parts);
    assert_eq!(
        traced(&plugins[0]).all.behind,
        traced(&kernel[0]).all.behind
    );
}

#[test]
fn a_thread_that_ended_still_has_its_cpu_until_the_switch() {
    let text = PERF.replace("y z 9 [001] 5.0021", ":-1 -1 [001] 5.0021");
    assert_eq!(rows(&events(&text).unwrap()), rows(&events(PERF).unwrap()));
    let text = PERF.replace("y z 9 [001]", ":-1 -1 [001]");
    assert_eq!(rows(&events(&text).unwrap()), rows(&events(PERF).unwrap()));
}

#[test]
fn lines_before_the_events_do_not_matter() {
    let head = "# ========\n#\nhello\n".repeat(500);
    for text in [PERF, STRACE] {
        let behind = events(&format!("{head}{text}")).unwrap();
        assert_eq!(rows(&behind), rows(&events(text).unwrap()));
    }
}

#[test]
fn strace_with_names_tells_the_threads() {
    let named = STRACE
        .replace("\n8 ", "\n8<a (b> ")
        .replace("7 1795", "7<Web Content> 1795");
    let all = events(&named).unwrap();
    let untold = all.untold.join(" ");
    assert!(!untold.contains("names of threads"), "{untold}");
    let names = |call| {
        let rows = rows(&all);
        let row = row(&rows, call, TracedTimeout::Relative);
        traced(row).thread.clone()
    };
    assert_eq!(
        (names("futex"), names("poll")),
        ("a (b".to_owned(), "Web Content".to_owned())
    );
    let untold = events(STRACE).unwrap().untold.join(" ");
    assert!(untold.contains("strace -Y shows them"), "{untold}");
}

#[test]
fn ticks_are_measured_where_a_file_has_enough_of_them() {
    let line = |n: u64| {
        let (at, tick) = (n * 4_000_000 + n % 2 * 20_000, 700 + n);
        format!(
            "i 0 [000] {}.{:09}: timer:timer_expire_entry: timer=0x1 function=f now={tick} baseclk={tick}\n",
            5 + at / 1_000_000_000,
            at % 1_000_000_000
        )
    };
    let with = |n: u64| PERF.to_owned() + &(0..n).map(line).collect::<String>();
    assert_eq!(events(&with(60)).unwrap().tick_ns, Some(4_000_000));
    assert_eq!(events(&with(9)).unwrap().tick_ns, None);
}

#[test]
fn files_that_tell_no_waits_are_refused_with_a_remedy() {
    let refused = |text: &str| events(text).unwrap_err();
    assert!(refused("hello").contains("read are events of `punctual trace --events`"));
    assert!(refused("").contains("no file of events"));
    let switches: String = PERF
        .lines()
        .filter(|line| line.contains("sched_switch"))
        .collect();
    assert!(refused(&switches).contains("perf record -k CLOCK_MONOTONIC"));
    let no_lengths = "7 1795717833.200000 nanosleep({tv_sec=0, tv_nsec=2000000}, NULL) = 0\n";
    assert!(refused(no_lengths).contains("-T"));
    let no_waits = "7 1795717833.200000 write(1, \"a\", 1) = 1 <0.000100>\n";
    assert!(refused(no_waits).contains("no calls that wait"));
}
