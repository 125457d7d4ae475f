//! What can be done about late waits, what helps most first.
//!
//! Each piece is given only where the facts say that it applies, with the
//! effect that what was just measured lets expect. What was not checked is not
//! claimed.

use punctual_core::{Method, Nanos};
use punctual_program::setting::Throttling;
use punctual_record::{Advice, Disturbance, Late};

use super::tier::Tier;
use crate::disturbed;
use crate::timer_rule::{Situation, System};

/// What is known of waits of 1 ms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// How late the sleep is.
    pub sleep: Late,
    /// How late the timer is, if it is another call.
    pub timer: Option<Late>,
    /// What waking up costs.
    pub wake: Option<Late>,
    /// How late the library's default strategy is, and its share of a CPU.
    pub strategy: Option<(Late, Option<f64>)>,
    /// How long each wait could run but waited for a CPU.
    pub queued_ns: Option<f64>,
    /// How late the rule predicts the sleep if this process asked for this
    /// interval.
    pub if_asked: Option<(Nanos, i64)>,
    /// How late the rule predicts it if the requests of this process counted.
    pub if_honoured: Option<i64>,
    /// The latency tier of macOS, and how late the sleep would be in tier 0.
    pub tier: Option<(Tier, Nanos)>,
}

/// A gain of less is not worth a change, and neither is one of less than one in
/// so many of the lateness there is.
const WORTH_NS: u64 = 1_000;
const WORTH_ONE_IN: u64 = 20;

/// All that applies: what keeps the CPU from this process, then what helps most, and
/// last what was not measured.
pub fn advice(
    situation: &Situation,
    seen: &Seen,
    disturbance: Option<&Disturbance>,
) -> Vec<Advice> {
    let mut all: Vec<Advice> = [
        strategy(situation, seen),
        slack(situation, seen),
        timer(situation, seen),
        request(situation, seen),
        honour(situation, seen),
        quality_of_service(situation, seen),
        real_time(situation, seen),
        niceness(situation, seen),
        idle_states(situation, seen),
        halt_polling(situation, seen),
        governor(situation, seen),
        mains(situation),
    ]
    .into_iter()
    .flatten()
    .collect();
    // Stable: of equal effects, what comes first above does.
    all.sort_by_key(|advice| std::cmp::Reverse(advice.gain_ns));
    all.retain(|advice| is_worth_it(advice, seen.sleep.p50));
    let kept_from = disturbance.map(|disturbance| [quota(disturbance), others(disturbance)]);
    all.splice(0..0, kept_from.into_iter().flatten().flatten());
    all
}

/// A quota, which stops the process sooner or later.
fn quota(disturbance: &Disturbance) -> Option<Advice> {
    let by = disturbed::quota(disturbance)?;
    let throttled = disturbance.throttled.unwrap_or_default();
    let expected = match throttled.time_ns.checked_div(throttled.periods) {
        Some(each) => format!(
            "it stopped this process {} times, for {} each on average; no wait can be exact beyond it",
            throttled.periods,
            Nanos::new(each)
        ),
        None => "it did not stop this process now; it will once so much is used up, and no wait can be exact beyond it"
            .to_owned(),
    };
    new(
        &format!("Raise or lift the CPU quota of the cgroup: {by}."),
        expected,
        None,
        "echo max > /sys/fs/cgroup/GROUP/cpu.max  # version 1: echo -1 > .../cpu.cfs_quota_us",
    )
}

/// Programs that had the CPU.
fn others(disturbance: &Disturbance) -> Option<Advice> {
    let share = disturbance
        .others_fraction
        .filter(|_| disturbance.is_notable())?;
    let first = disturbance.processes.first();
    new(
        &format!(
            "Close what else runs on this CPU, or measure on another{}.",
            disturbed::names(disturbance)
        ),
        format!("others had {:.0} % of it meanwhile", share * 100.0),
        None,
        &match first {
            Some(first) => format!("ps -p {}  # and: punctual doctor --cpu N", first.pid),
            None => "punctual doctor --cpu N".to_owned(),
        },
    )
}

/// Whether it changes more than wake-ups differ by. What was not measured may.
fn is_worth_it(advice: &Advice, sleep: Option<i64>) -> bool {
    let sleep = sleep.and_then(|sleep| u64::try_from(sleep).ok());
    advice.gain_ns.is_none_or(|gain| {
        gain >= WORTH_NS && gain.saturating_mul(WORTH_ONE_IN) >= sleep.unwrap_or(0)
    })
}

/// The library, which hides what the OS adds.
fn strategy(situation: &Situation, seen: &Seen) -> Option<Advice> {
    let (late, cpu) = seen.strategy.as_ref()?;
    let (sleep, own) = (seen.sleep.p50?, late.p50?);
    let cpu = match cpu {
        Some(share) => format!(" at {:.1} % of a CPU", share * 100.0),
        None => String::new(),
    };
    new(
        "Wait with punctual's library: it sleeps for most of the time and spins for the rest.",
        format!(
            "{}: {} late instead of {}{cpu}",
            measured(situation),
            length(own),
            length(sleep)
        ),
        Some(sleep - own),
        "cargo add punctual --git URL  # URL: where you cloned this from; then: punctual::sleep(Duration::from_millis(1));",
    )
}

/// Slack of which a thread under a real-time policy has none.
fn slack(situation: &Situation, seen: &Seen) -> Option<Advice> {
    if situation.system != System::Linux || situation.is_real_time() {
        return None;
    }
    let slack = i64::try_from(situation.slack?.as_ns()).ok()?;
    let sleep = seen.sleep.p50?;
    // Interrupts of others may have made the sleep shorter than its slack.
    let beyond_wake = sleep - seen.wake.as_ref().and_then(|wake| wake.p50).unwrap_or(0);
    let gain = slack.min(beyond_wake);
    new(
        "Lower the timer slack of the program.",
        format!("{} of the {} are slack", length(gain), length(sleep)),
        Some(gain),
        "punctual exec --slack 1ns -- COMMAND",
    )
}

/// The better of the machine's two calls. Where it differs from the other in slack
/// alone, that is advice enough.
fn timer(situation: &Situation, seen: &Seen) -> Option<Advice> {
    let (sleep, timer) = (seen.sleep.p50?, seen.timer.as_ref()?.p50?);
    if situation.timer? != Method::HighResolutionTimer {
        return None;
    }
    new(
        "Wait on a high-resolution timer, which needs no request for a timer interval.",
        format!(
            "{}: {} late instead of {}",
            measured(situation),
            length(timer),
            length(sleep)
        ),
        Some(sleep - timer),
        "CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);",
    )
}

/// A shorter timer interval, in the process that needs it.
fn request(situation: &Situation, seen: &Seen) -> Option<Advice> {
    if situation.system != System::Windows || situation.own_request.is_some() {
        return None;
    }
    let (interval, predicted) = seen.if_asked?;
    let sleep = seen.sleep.p50?;
    let what = if situation.has_classes() {
        format!(
            "Ask for a timer interval of {interval} in your own process: since Windows 10 2004 another's request, or \
             a timer tool, does not help it."
        )
    } else {
        format!("Ask for a timer interval of {interval}; it counts for all processes.")
    };
    new(
        &what,
        format!(
            "the rule predicts {} late instead of the measured {}",
            length(predicted),
            length(sleep)
        ),
        Some(sleep - predicted),
        "timeBeginPeriod(1);  /* and timeEndPeriod(1); when it is over */",
    )
}

/// Requests that this process has told Windows to ignore.
fn honour(situation: &Situation, seen: &Seen) -> Option<Advice> {
    if !situation.throttles() || situation.throttling != Some(Throttling::IgnoreRequests) {
        return None;
    }
    situation.own_request?;
    let gain = seen
        .if_honoured
        .zip(seen.sleep.p50)
        .map(|(predicted, sleep)| (predicted, sleep - predicted));
    new(
        "Opt out of timer throttling (4, IGNORE_TIMER_RESOLUTION, off): this process has told Windows to ignore its \
         request.",
        match (gain, seen.sleep.p50) {
            (Some((predicted, _)), Some(sleep)) => format!(
                "the rule predicts {} late instead of the measured {}",
                length(predicted),
                length(sleep)
            ),
            _ => "not measured".to_owned(),
        },
        gain.map(|(_, gain)| gain),
        "SetProcessInformation(GetCurrentProcess(), ProcessPowerThrottling, \
         &(PROCESS_POWER_THROTTLING_STATE){1, 4, 0}, 12);",
    )
}

/// A tier of macOS with less slop.
fn quality_of_service(situation: &Situation, seen: &Seen) -> Option<Advice> {
    if situation.system != System::MacOs {
        return None;
    }
    let (tier, in_tier_0) = seen.tier?;
    let sleep = seen.sleep.p50?;
    let in_tier_0 = i64::try_from(in_tier_0.as_ns()).ok()?;
    if tier.name == "none" {
        return None;
    }
    new(
        "Give the thread the quality of service user-interactive, whose latency tier is 0.",
        format!(
            "the rule predicts {} late, and waking up, instead of the measured {}",
            length(in_tier_0),
            length(sleep)
        ),
        Some(sleep - in_tier_0),
        "pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);",
    )
}

/// For threads that wait for a CPU.
fn real_time(situation: &Situation, seen: &Seen) -> Option<Advice> {
    let is_known = situation.scheduling.is_some();
    if situation.system != System::Linux || !is_known || situation.is_real_time() {
        return None;
    }
    let queued = seen.queued_ns? as i64;
    new(
        "Run the program under a real-time policy: it need not wait for a CPU, and has no slack.",
        format!(
            "each wait could run but waited {} for a CPU, on average",
            length(queued)
        ),
        Some(queued),
        "sudo chrt -f 1 COMMAND",
    )
}

/// For threads that everybody else comes before.
fn niceness(situation: &Situation, seen: &Seen) -> Option<Advice> {
    let scheduling = situation.scheduling.as_deref()?;
    let nice = scheduling
        .split_once("nice ")
        .and_then(|(_, nice)| nice.parse::<i32>().ok());
    let is_last = scheduling.starts_with("SCHED_IDLE") || scheduling.starts_with("SCHED_BATCH");
    if situation.system != System::Linux || !(is_last || nice.is_some_and(|nice| nice > 0)) {
        return None;
    }
    new(
        &format!(
            "Run it at an ordinary priority: this process has {scheduling}, and others come before it."
        ),
        match seen.queued_ns {
            Some(queued) => format!(
                "each wait could run but waited {} for a CPU, on average",
                length(queued as i64)
            ),
            None => "not measured".to_owned(),
        },
        None,
        "sudo renice -n 0 -p PID; sudo chrt -o -p 0 PID",
    )
}

/// For guests whose CPUs halt at once.
fn halt_polling(situation: &Situation, seen: &Seen) -> Option<Advice> {
    situation.halt_poll.filter(|poll| poll.is_zero())?;
    let wake = seen.wake.as_ref()?.p50?;
    new(
        "Let idle CPUs of this virtual machine poll for a while before they halt; it costs the host CPU time.",
        format!(
            "some of the {} that waking up takes; how much was not measured",
            length(wake)
        ),
        None,
        "echo 200000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns",
    )
}

/// For CPUs that sleep deeply.
fn idle_states(situation: &Situation, seen: &Seen) -> Option<Advice> {
    let exit = situation.deepest_idle_exit.filter(|exit| !exit.is_zero())?;
    let held = situation.cpu_dma_latency.is_some_and(|held| held < exit);
    if situation.system != System::Linux || held {
        return None;
    }
    let wake = seen.wake.as_ref()?.p50?;
    let most = i64::try_from(exit.as_ns()).ok()?.min(wake);
    let state = situation.deepest_idle_state.as_deref().unwrap_or_default();
    new(
        "Keep the CPUs out of deep idle states while it matters; it costs power.",
        format!(
            "at most {} of the {} that waking up takes: leaving {state} takes up to {exit}",
            length(most),
            length(wake)
        ),
        Some(most),
        r"sudo bash -c 'exec 3>/dev/cpu_dma_latency; printf \\0\\0\\0\\0 >&3; sleep infinity'",
    )
}

/// For CPUs that are slow when they wake.
fn governor(situation: &Situation, seen: &Seen) -> Option<Advice> {
    let governor = situation.governor.as_deref()?;
    if governor == "performance" {
        return None;
    }
    let wake = seen.wake.as_ref().and_then(|wake| wake.p50);
    new(
        &format!("Use the frequency governor performance; {governor} lets CPUs wake up slow."),
        match wake {
            Some(wake) => format!(
                "some of the {} that waking up takes; how much was not measured",
                length(wake)
            ),
            None => "not measured".to_owned(),
        },
        None,
        "sudo cpupower frequency-set -g performance",
    )
}

fn mains(situation: &Situation) -> Option<Advice> {
    if situation.on_battery != Some(true) {
        return None;
    }
    new(
        "Plug the computer in, and look again: on its battery it saves power where it can.",
        "not measured".to_owned(),
        None,
        "punctual doctor",
    )
}

/// Where the numbers come from.
fn measured(situation: &Situation) -> &'static str {
    if situation.model.is_some() {
        "in this model"
    } else {
        "measured here"
    }
}

/// A piece of advice, unless it would make things worse.
fn new(what: &str, expected: String, gain_ns: Option<i64>, line: &str) -> Option<Advice> {
    let gain_ns = gain_ns.map(u64::try_from).transpose().ok()?;
    Some(Advice {
        what: what.to_owned(),
        expected,
        gain_ns,
        line: line.to_owned(),
    })
}

/// Three digits that count.
fn length(ns: i64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns.abs() {
        n if n < 999.5 => return format!("{ns:.0} ns"),
        n if n < 999.5e3 => (ns / 1e3, "us"),
        _ => (ns / 1e6, "ms"),
    };
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer_rule::Interval;
    use punctual_record::{CpuQuota, OtherProcess, Throttled};

    fn late(us: i64) -> Late {
        Late::of(&vec![us * 1_000; 400])
    }

    fn linux() -> Situation {
        Situation {
            system: System::Linux,
            slack: Some(Nanos::from_us(50)),
            scheduling: Some("SCHED_OTHER, nice 0".to_owned()),
            timer: Some(Method::SlacklessFutex),
            ..Situation::default()
        }
    }

    fn windows(build: u32, current_us: u64) -> Situation {
        Situation {
            system: System::Windows,
            build: Some(build),
            interval: Some(Interval {
                coarsest: Nanos::from_us(15_625),
                finest: Nanos::from_us(500),
                current: Nanos::from_us(current_us),
            }),
            timer: Some(Method::HighResolutionTimer),
            ..Situation::default()
        }
    }

    /// Sleeps 78 us late, of which waking up is 28.
    fn on_linux() -> Seen {
        Seen {
            sleep: late(78),
            timer: Some(late(30)),
            wake: Some(late(28)),
            strategy: Some((Late::of(&[400; 400]), Some(0.041))),
            ..Seen::default()
        }
    }

    fn on_windows() -> Seen {
        Seen {
            sleep: late(14_600),
            timer: Some(late(550)),
            if_asked: Some((Nanos::from_ms(1), 999_000)),
            ..Seen::default()
        }
    }

    /// The lines in order, each by its first two words.
    fn lines(situation: &Situation, seen: &Seen) -> Vec<String> {
        let all = advice(situation, seen, None);
        for piece in &all {
            // Behind its indent it still fits into a line of the report.
            assert!((1..=116).contains(&piece.line.len()), "{}", piece.line);
            assert!(!piece.line.contains('\n'));
            assert!(!piece.what.is_empty() && !piece.expected.is_empty());
        }
        let gains: Vec<_> = all.iter().map(|a| a.gain_ns).collect();
        assert!(gains.is_sorted_by_key(|gain| std::cmp::Reverse(*gain)));
        let start = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        // A registry has no punctual, or somebody else's.
        let named = all.iter().filter(|a| a.line.starts_with(LIBRARY));
        assert!(named.into_iter().all(|a| a.line.contains(" --git URL ")));
        all.iter().map(|a| start(&a.line)).collect()
    }

    const LIBRARY: &str = "cargo add";
    const EXEC: &str = "punctual exec";
    const HIGH_RESOLUTION: &str = "CreateWaitableTimerExW(NULL, NULL,";
    const REQUEST: &str = "timeBeginPeriod(1); ";
    const GOVERNOR: &str = "sudo cpupower";

    #[test]
    fn a_linux_desktop_is_told_of_its_slack_its_idle_states_and_its_governor() {
        let situation = Situation {
            governor: Some("powersave".to_owned()),
            deepest_idle_state: Some("C10".to_owned()),
            deepest_idle_exit: Some(Nanos::from_us(890)),
            on_battery: Some(false),
            ..linux()
        };
        assert_eq!(
            lines(&situation, &on_linux()),
            [LIBRARY, EXEC, "sudo bash", GOVERNOR]
        );
        let all = advice(&situation, &on_linux(), None);
        assert_eq!(
            all[0].expected,
            "measured here: 400 ns late instead of 78.0 us at 4.1 % of a CPU"
        );
        assert_eq!(all[1].expected, "50.0 us of the 78.0 us are slack");
        assert_eq!(all[1].gain_ns, Some(50_000));
        assert!(
            all[2]
                .expected
                .starts_with("at most 28.0 us of the 28.0 us")
        );
        assert_eq!(all[3].gain_ns, None);
    }

    #[test]
    fn what_does_not_apply_is_not_said() {
        let mut situation = linux();
        situation.governor = Some("performance".to_owned());
        situation.deepest_idle_exit = Some(Nanos::ZERO);
        assert_eq!(lines(&situation, &on_linux()), [LIBRARY, EXEC]);

        // Somebody holds the latency down already.
        situation.deepest_idle_exit = Some(Nanos::from_us(890));
        situation.cpu_dma_latency = Some(Nanos::ZERO);
        assert_eq!(lines(&situation, &on_linux()), [LIBRARY, EXEC]);

        // Sleeps that are no later than the timer.
        situation.slack = Some(Nanos::new(1));
        let mut seen = on_linux();
        seen.sleep = late(28);
        assert_eq!(lines(&situation, &seen), [LIBRARY]);

        // Nothing measured, nothing claimed.
        assert!(advice(&linux(), &Seen::default(), None).is_empty());
    }

    #[test]
    fn what_keeps_the_cpu_from_this_process_comes_first() {
        let lines = |disturbance: &Disturbance| -> Vec<String> {
            let all = advice(&linux(), &on_linux(), Some(disturbance));
            all.into_iter()
                .map(|advice| advice.what + " " + &advice.expected)
                .collect()
        };
        let mut disturbance = Disturbance {
            cpus: vec![1],
            others_fraction: Some(0.5),
            processes: vec![OtherProcess {
                name: "sh".to_owned(),
                pid: 4711,
                fraction: 0.5,
            }],
            quota: Some(CpuQuota {
                time_ns: 20_000_000,
                period_ns: 100_000_000,
            }),
            ..Disturbance::default()
        };
        let unused = lines(&disturbance);
        assert!(unused[0].contains("quota of the cgroup: 20 ms of CPU time in 100 ms"));
        assert!(unused[0].contains("did not stop"), "{}", unused[0]);
        assert!(
            unused[1].contains("sh (pid 4711) 50 %. others had 50 % of it"),
            "{}",
            unused[1]
        );
        disturbance.throttled = Some(Throttled {
            periods: 2,
            time_ns: 160_000_000,
        });
        let used = lines(&disturbance);
        assert!(
            used[0].contains("stopped this process 2 times, for 80 ms each"),
            "{}",
            used[0]
        );
        assert!(!lines(&Disturbance::default())[0].contains("quota"));
    }

    #[test]
    fn a_low_priority_and_a_guest_that_halts_at_once_are_told() {
        let mut situation = linux();
        situation.scheduling = Some("SCHED_OTHER, nice 19".to_owned());
        situation.halt_poll = Some(Nanos::ZERO);
        let all = advice(&situation, &on_linux(), None);
        let has = |word: &str| all.iter().any(|advice| advice.what.contains(word));
        assert!(has("nice 19") && has("virtual machine poll"));
        situation.scheduling = Some("SCHED_OTHER, nice 0".to_owned());
        situation.halt_poll = Some(Nanos::from_us(200));
        let all = advice(&situation, &on_linux(), None);
        assert!(
            all.iter()
                .all(|advice| !advice.what.contains("nice") && !advice.what.contains("poll"))
        );
    }

    #[test]
    fn slack_that_others_cut_short_is_not_all_to_be_had() {
        let mut situation = linux();
        situation.slack = Some(Nanos::from_ms(2));
        let all = advice(&situation, &on_linux(), None);
        let exec = all.iter().find(|a| a.line.starts_with(EXEC)).unwrap();
        assert_eq!(exec.gain_ns, Some(50_000));
    }

    #[test]
    fn under_a_real_time_policy_there_is_no_slack_and_no_better_policy() {
        let mut situation = linux();
        let mut seen = on_linux();
        seen.queued_ns = Some(9_000.0);
        assert!(lines(&situation, &seen).contains(&"sudo chrt".to_owned()));
        situation.scheduling = Some("SCHED_FIFO, priority 1".to_owned());
        seen.sleep = late(28);
        assert_eq!(lines(&situation, &seen), [LIBRARY]);
        // Unknown is not ordinary.
        situation.scheduling = None;
        assert!(!lines(&situation, &seen).contains(&"sudo chrt".to_owned()));
    }

    #[test]
    fn on_windows_anothers_request_helps_before_2004_only() {
        assert_eq!(
            lines(&windows(19_045, 500), &on_windows()),
            [HIGH_RESOLUTION, REQUEST]
        );
        let all = advice(&windows(19_045, 500), &on_windows(), None);
        assert!(all[1].what.contains("does not help"), "{}", all[1].what);
        assert_eq!(all[1].gain_ns, Some(14_600_000 - 999_000));
        let all = advice(&windows(18_363, 15_625), &on_windows(), None);
        assert!(all[1].what.contains("for all"), "{}", all[1].what);
        // It is asked for already, and counts.
        let mut asks = windows(19_045, 500);
        asks.own_request = Some(Nanos::from_us(500));
        assert_eq!(lines(&asks, &on_windows()), [HIGH_RESOLUTION]);
        // Another's request serves this process too.
        let mut served = on_windows();
        served.sleep = late(1_000);
        assert_eq!(lines(&windows(18_363, 1_000), &served), [HIGH_RESOLUTION]);
    }

    #[test]
    fn a_throttled_process_is_told_to_opt_out_on_windows_11_only() {
        let mut situation = windows(22_631, 15_625);
        situation.own_request = Some(Nanos::from_ms(1));
        situation.throttling = Some(Throttling::IgnoreRequests);
        let mut seen = on_windows();
        seen.if_honoured = Some(999_000);
        let opt_out = "SetProcessInformation(GetCurrentProcess(), ProcessPowerThrottling,";
        assert_eq!(lines(&situation, &seen), [HIGH_RESOLUTION, opt_out]);
        for fine in [
            Some(Throttling::BySystem),
            Some(Throttling::HonourRequests),
            None,
        ] {
            situation.throttling = fine;
            assert_eq!(lines(&situation, &seen), [HIGH_RESOLUTION]);
        }
        situation.throttling = Some(Throttling::IgnoreRequests);
        situation.build = Some(19_045);
        assert_eq!(lines(&situation, &seen), [HIGH_RESOLUTION]);
    }

    #[test]
    fn under_wine_only_what_was_measured_counts() {
        let situation = Situation {
            system: System::Wine("8.0".to_owned()),
            timer: Some(Method::WaitableTimer),
            interval: windows(19_045, 1_000).interval,
            ..Situation::default()
        };
        let mut seen = on_linux();
        seen.if_asked = Some((Nanos::from_ms(1), 1));
        assert_eq!(lines(&situation, &seen), [LIBRARY]);
    }

    #[test]
    fn macos_is_told_of_a_better_tier_if_the_tier_was_found() {
        let situation = Situation {
            system: System::MacOs,
            timer: Some(Method::MachWaitUntil),
            ..Situation::default()
        };
        let mut seen = on_linux();
        seen.sleep = late(260);
        seen.timer = None;
        assert_eq!(lines(&situation, &seen), [LIBRARY]);
        let tier = |name| Tier {
            name,
            what: "",
            cap: Nanos::from_ms(5),
            at_the_edge: true,
        };
        seen.tier = Some((tier("1"), Nanos::from_us(125)));
        let qos = "pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);";
        assert_eq!(lines(&situation, &seen), [LIBRARY, qos]);
        seen.tier = Some((tier("none"), Nanos::from_us(125)));
        assert_eq!(lines(&situation, &seen), [LIBRARY]);
    }

    #[test]
    fn a_battery_is_named_if_it_is_known_to_be_in_use() {
        let mut situation = linux();
        let on = |situation: &Situation| {
            let lines = lines(situation, &on_linux());
            lines.contains(&"punctual doctor".to_owned())
        };
        assert!(!on(&situation));
        situation.on_battery = Some(false);
        assert!(!on(&situation));
        situation.on_battery = Some(true);
        assert!(on(&situation));
        assert_eq!(
            lines(&situation, &on_linux()).pop().unwrap(),
            "punctual doctor"
        );
    }
}
