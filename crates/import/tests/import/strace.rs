//! Calls of strace, with any of its options.

use super::{refusal, run, subjects, untold};

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
