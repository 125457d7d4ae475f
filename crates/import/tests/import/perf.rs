//! Switches of perf.

use super::{run, subjects, untold};

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
