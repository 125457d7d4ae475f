//! The remedies for late waits, the most helpful first.
//!
//! Each remedy is given only where the facts say that it applies, with the effect that the
//! measurements predict. Unchecked effects are not claimed.

use punctual_core::setting::Throttling;
use punctual_core::{Method, Nanos};
use punctual_record::{
    Change, Disturbance, FoundTier, Late, LatencyTier, Remedy, Situation, System,
};

/// Facts about waits of 1 ms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// How late the sleep is.
    pub sleep: Late,
    /// How late the timer is, if it is another call.
    pub timer: Option<Late>,
    /// The cost of a wake-up.
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
    /// The latency tier of macOS, and how late the sleep would be in tier 0, in nanoseconds.
    pub tier: Option<(FoundTier, i64)>,
}

impl Seen {
    /// The sleep as it is, and so late instead.
    fn late(&self, to_ns: i64) -> Option<Change> {
        let from_ns = self.sleep.p50?;
        Some(Change { from_ns, to_ns })
    }

    fn wake_ns(&self) -> Option<i64> {
        self.wake.as_ref()?.p50
    }
}

/// A gain of less is not worth a change, and neither is one of less than one in
/// so many of the lateness there is.
const WORTH_NS: i64 = 1_000;
const WORTH_ONE_IN: i64 = 20;

/// All that applies: what keeps the CPU from this process, if that was too much to tell anything
/// else; what was measured to help, the most first; what is expected to; last what nothing tells of.
pub fn advice(
    situation: &Situation,
    seen: &Seen,
    disturbance: Option<&Disturbance>,
) -> Vec<Remedy> {
    let none = Disturbance::default();
    let disturbance = disturbance.unwrap_or(&none);
    let helps = [
        strategy(seen),
        slack(situation, seen),
        timer(situation, seen),
        request(situation, seen),
        honour(situation, seen),
        quality_of_service(situation, seen),
        real_time(situation, seen),
        preemption(situation, seen),
        sched_ext(situation),
        clock(situation),
        niceness(situation, seen),
        idle_states(situation, seen),
        halt_polling(situation, seen),
        governor(situation, seen),
        mains(situation),
    ]
    .into_iter()
    .flatten()
    .filter(|remedy| is_worth_it(remedy, seen.sleep.p50));
    let lost = lost(situation, disturbance).into_iter().flatten();
    let mut all: Vec<Remedy> = lost.chain(helps).collect();
    let is_busy = disturbance.is_too_busy();
    // Stable: of equal effects, what comes first above does.
    all.sort_by_key(|remedy| {
        let is_first = is_busy && is_about_the_cpu(remedy);
        std::cmp::Reverse((is_first, remedy.is_measured(), remedy.gain_ns()))
    });
    all
}

/// The causes that keep the CPU from this process: a quota, other programs, a hypervisor with
/// other guests. The last two count from a twentieth on; every system has less than that.
fn lost(situation: &Situation, disturbance: &Disturbance) -> [Option<Remedy>; 3] {
    let others = disturbance.others_fraction;
    [
        can_throttle(situation, disturbance).then_some(Remedy::LiftQuota),
        others
            .filter(|_| disturbance.is_notable())
            .map(Remedy::CloseOthers),
        disturbance.notably_stolen().map(Remedy::UnsharedCpus),
    ]
}

/// Whether a quota stopped this process, or can: on the CPUs that it may use, and if the kernel
/// enforces it.
fn can_throttle(situation: &Situation, disturbance: &Disturbance) -> bool {
    let stopped = disturbance.throttled.is_some_and(|it| it.periods > 0);
    let cpus = situation.host.logical_cpus;
    let quota = disturbance.quota;
    quota.is_some_and(|quota| stopped || quota.can_bind(cpus) && !disturbance.is_quota_a_stub())
}

const fn is_about_the_cpu(remedy: &Remedy) -> bool {
    matches!(
        remedy,
        Remedy::LiftQuota | Remedy::CloseOthers(_) | Remedy::UnsharedCpus(_)
    )
}

/// Whether it changes more than wake-ups vary. An unmeasured effect may.
fn is_worth_it(remedy: &Remedy, sleep: Option<i64>) -> bool {
    remedy.gain_ns().is_none_or(|gain| {
        gain >= WORTH_NS && gain.saturating_mul(WORTH_ONE_IN) >= sleep.unwrap_or(0)
    })
}

/// The library, which hides what the OS adds.
fn strategy(seen: &Seen) -> Option<Remedy> {
    let (late, cpu_fraction) = seen.strategy.as_ref()?;
    Some(Remedy::UseLibrary {
        late: seen.late(late.p50?)?,
        cpu_fraction: *cpu_fraction,
    })
}

/// Slack of which a thread under a real-time policy has none.
fn slack(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    if situation.system != System::Linux || situation.is_real_time() {
        return None;
    }
    let slack = i64::try_from(situation.host.slack?.as_ns()).ok()?;
    let late_ns = seen.sleep.p50?;
    // Interrupts of others may have made the sleep shorter than its slack.
    let beyond_wake = late_ns - seen.wake_ns().unwrap_or(0);
    Some(Remedy::LowerSlack {
        slack_ns: slack.min(beyond_wake),
        late_ns,
    })
}

/// The better of the machine's two calls. Where it differs from the other in slack
/// alone, that is advice enough.
fn timer(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    if situation.timer? != Method::HighResolutionTimer {
        return None;
    }
    let late = seen.late(seen.timer.as_ref()?.p50?)?;
    Some(Remedy::HighResolutionTimer(late))
}

/// A shorter timer interval, in the process that needs it.
fn request(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    if situation.system != System::Windows || situation.own_request.is_some() {
        return None;
    }
    let (interval, predicted) = seen.if_asked?;
    Some(Remedy::RequestInterval {
        interval,
        is_own: situation.has_classes(),
        late: seen.late(predicted)?,
    })
}

/// Requests that this process has told Windows to ignore.
fn honour(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    if !situation.throttles() || situation.throttling != Some(Throttling::IgnoreRequests) {
        return None;
    }
    situation.own_request?;
    let late = seen.if_honoured.and_then(|predicted| seen.late(predicted));
    Some(Remedy::HonourRequests(late))
}

/// A tier of macOS with less slop.
fn quality_of_service(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    let (found, in_tier_0) = seen.tier?;
    if situation.system != System::MacOs || found.tier == LatencyTier::Least {
        return None;
    }
    Some(Remedy::QualityOfService(seen.late(in_tier_0)?))
}

/// For threads that wait for a CPU.
fn real_time(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    let is_known = situation.scheduling.is_some();
    if situation.system != System::Linux || !is_known || situation.is_real_time() {
        return None;
    }
    Some(Remedy::RealTimePolicy(seen.queued_ns? as i64))
}

/// For threads that wait until who runs comes out of the kernel, or for a tick, where that can be
/// changed.
fn preemption(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    let host = &situation.host;
    let is_chosen = host.preemption.as_deref() == Some("PREEMPT_DYNAMIC");
    let is_late = matches!(
        host.preemption_mode.as_deref(),
        Some("none" | "voluntary" | "lazy")
    );
    let queued = seen.queued_ns? as i64;
    (is_chosen && is_late && queued >= WORTH_NS).then_some(Remedy::PreemptAtOnce(queued))
}

/// A foreign scheduler, which no rule here knows.
fn sched_ext(situation: &Situation) -> Option<Remedy> {
    let state = situation.host.sched_ext.as_deref()?;
    (state != "disabled").then_some(Remedy::KernelScheduler)
}

/// For clocks that are read from a chip: each reading is a transfer over a bus.
fn clock(situation: &Situation) -> Option<Remedy> {
    let is_slow = matches!(situation.host.clock_source.as_deref()?, "hpet" | "acpi_pm");
    is_slow.then_some(Remedy::FastClock(situation.clock_read))
}

/// For threads that everybody else comes before.
fn niceness(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    let scheduling = situation.scheduling.as_deref()?;
    let nice = scheduling
        .split_once("nice ")
        .and_then(|(_, nice)| nice.parse::<i32>().ok());
    let is_last = scheduling.starts_with("SCHED_IDLE") || scheduling.starts_with("SCHED_BATCH");
    let is_behind = is_last || nice.is_some_and(|nice| nice > 0);
    let queued = seen.queued_ns.map(|queued| queued as i64);
    (situation.system == System::Linux && is_behind).then_some(Remedy::OrdinaryPriority(queued))
}

/// For guests whose CPUs halt at once.
fn halt_polling(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    situation.host.halt_poll.filter(|poll| poll.is_zero())?;
    seen.wake_ns().map(Remedy::PollBeforeHalt)
}

/// For CPUs that sleep deeply.
fn idle_states(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    let host = &situation.host;
    let exit = host.deepest_idle_exit.filter(|exit| !exit.is_zero())?;
    let held = host.cpu_dma_latency.is_some_and(|held| held < exit);
    if situation.system != System::Linux || held {
        return None;
    }
    let wake_ns = seen.wake_ns()?;
    Some(Remedy::NoDeepIdle {
        most_ns: i64::try_from(exit.as_ns()).ok()?.min(wake_ns),
        wake_ns,
        exit,
    })
}

/// For CPUs that are slow when they wake.
fn governor(situation: &Situation, seen: &Seen) -> Option<Remedy> {
    let governor = situation.host.governor.as_deref()?;
    (governor != "performance").then_some(Remedy::PerformanceGovernor(seen.wake_ns()))
}

fn mains(situation: &Situation) -> Option<Remedy> {
    (situation.on_battery == Some(true)).then_some(Remedy::PlugIn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer_rule::tests as situations;
    use punctual_record::{CpuQuota, Throttled};

    fn late(us: i64) -> Late {
        Late::of(&vec![us * 1_000; 400])
    }

    fn linux() -> Situation {
        Situation {
            scheduling: Some("SCHED_OTHER, nice 0".to_owned()),
            timer: Some(Method::SlacklessFutex),
            ..situations::linux(Nanos::from_us(50))
        }
    }

    fn windows(build: u32, current_us: u64) -> Situation {
        Situation {
            timer: Some(Method::HighResolutionTimer),
            ..situations::windows(build, current_us)
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

    /// The names of the remedies, in order.
    fn names(situation: &Situation, seen: &Seen) -> Vec<String> {
        let all = advice(situation, seen, None);
        let gains: Vec<_> = (all.iter())
            .map(|remedy| (remedy.is_measured(), remedy.gain_ns()))
            .collect();
        assert!(gains.is_sorted_by_key(|gain| std::cmp::Reverse(*gain)));
        let name = |remedy: &Remedy| {
            let text = format!("{remedy:?}");
            text.split(['(', ' ']).next().unwrap().to_owned()
        };
        all.iter().map(name).collect()
    }

    const LIBRARY: &str = "UseLibrary";
    const SLACK: &str = "LowerSlack";
    const HIGH_RESOLUTION: &str = "HighResolutionTimer";
    const REQUEST: &str = "RequestInterval";

    #[test]
    fn a_linux_desktop_is_told_of_its_slack_its_idle_states_and_its_governor() {
        let mut situation = linux();
        situation.host.governor = Some("powersave".to_owned());
        situation.host.deepest_idle_exit = Some(Nanos::from_us(890));
        assert_eq!(
            names(&situation, &on_linux()),
            [LIBRARY, SLACK, "NoDeepIdle", "PerformanceGovernor"]
        );
        let all = advice(&situation, &on_linux(), None);
        let late = Change {
            from_ns: 78_000,
            to_ns: 400,
        };
        assert_eq!(all[0].gain_ns(), Some(77_600));
        assert!(matches!(all[0], Remedy::UseLibrary { late: is, .. } if is == late));
        let (slack_ns, late_ns) = (50_000, 78_000);
        assert_eq!(all[1], Remedy::LowerSlack { slack_ns, late_ns });
        assert_eq!(all[2].gain_ns(), Some(28_000));
        assert_eq!(all[3], Remedy::PerformanceGovernor(Some(28_000)));
    }

    #[test]
    fn what_does_not_apply_is_not_said() {
        let mut situation = linux();
        situation.host.governor = Some("performance".to_owned());
        situation.host.deepest_idle_exit = Some(Nanos::ZERO);
        assert_eq!(names(&situation, &on_linux()), [LIBRARY, SLACK]);

        // Another process holds the latency down already.
        situation.host.deepest_idle_exit = Some(Nanos::from_us(890));
        situation.host.cpu_dma_latency = Some(Nanos::ZERO);
        assert_eq!(names(&situation, &on_linux()), [LIBRARY, SLACK]);

        // Sleeps that are no later than the timer.
        situation.host.slack = Some(Nanos::new(1));
        let mut seen = on_linux();
        seen.sleep = late(28);
        assert_eq!(names(&situation, &seen), [LIBRARY]);

        // Nothing measured, nothing claimed.
        assert!(advice(&linux(), &Seen::default(), None).is_empty());
    }

    /// A quota of so many CPUs in 4 s, with the times it throttled the process.
    fn quota(cpus: f64, throttled: Option<Throttled>) -> Disturbance {
        Disturbance {
            elapsed_ns: 4_000_000_000,
            quota: Some(CpuQuota {
                time_ns: (cpus * 1e8) as u64,
                period_ns: 100_000_000,
            }),
            throttled,
            ..Disturbance::default()
        }
    }

    /// Stopped in so many of 40 periods, for 1 ms each.
    const fn stopped(periods: u64) -> Option<Throttled> {
        Some(Throttled {
            periods,
            time_ns: periods * 1_000_000,
            periods_counted: Some(40),
        })
    }

    #[test]
    fn what_keeps_the_cpu_from_this_process_comes_first_where_it_is_too_much() {
        let disturbance = Disturbance {
            others_fraction: Some(0.5),
            ..quota(0.2, stopped(20))
        };
        let all = advice(&linux(), &on_linux(), Some(&disturbance));
        assert_eq!(all[..2], [Remedy::LiftQuota, Remedy::CloseOthers(0.5)]);
        let quiet = advice(&linux(), &on_linux(), Some(&Disturbance::default()));
        assert_eq!(quiet, advice(&linux(), &on_linux(), None));
        // A tenth is notable, and no reason to doubt what was measured to help.
        let notable = Disturbance {
            others_fraction: Some(0.1),
            ..Disturbance::default()
        };
        let all = advice(&linux(), &on_linux(), Some(&notable));
        assert!(matches!(all[0], Remedy::UseLibrary { .. }));
        assert_eq!(all.last(), Some(&Remedy::CloseOthers(0.1)));
    }

    /// On two CPUs, or on one of them by its affinity.
    #[test]
    fn a_quota_is_blamed_if_it_stopped_the_process_and_named_if_it_can() {
        let stub = Some(Throttled {
            periods_counted: Some(0),
            ..Throttled::default()
        });
        for (cpus_of_quota, cpus, throttled, at) in [
            (0.2, 2, stopped(20), Some(0)),
            (0.2, 2, stopped(1), Some(2)),
            (0.2, 2, stopped(0), Some(2)),
            (0.2, 2, None, Some(2)),
            (0.2, 2, stub, None),
            (2.0, 2, stopped(0), None),
            (4.0, 2, stopped(0), None),
            (128.0, 2, stopped(0), None),
            (1.0, 1, stopped(0), None),
            (1.0, 2, stopped(0), Some(2)),
            (1.8e11, 2, stopped(0), None),
            // Others of its group may use other CPUs.
            (1.0, 1, stopped(20), Some(0)),
        ] {
            let mut situation = linux();
            situation.host.logical_cpus = Some(cpus);
            let seen = quota(cpus_of_quota, throttled);
            let all = advice(&situation, &on_linux(), Some(&seen));
            let found = all.iter().position(|it| *it == Remedy::LiftQuota);
            assert_eq!(found, at, "{cpus_of_quota} on {cpus}: {throttled:?}");
        }
    }

    #[test]
    fn what_a_hypervisor_takes_is_blamed_where_it_is_much() {
        let stolen = |ms: u64| {
            let disturbance = Disturbance {
                elapsed_ns: 1_000_000_000,
                cpus: vec![0, 1],
                stolen_ns: Some(ms * 1_000_000),
                ..Disturbance::default()
            };
            let all = advice(&linux(), &on_linux(), Some(&disturbance));
            let is_stolen = |remedy: &Remedy| matches!(remedy, Remedy::UnsharedCpus(_));
            all.iter().position(is_stolen)
        };
        // As it was recorded: 1.6 %, beside which the library took 108 us to 248 ns.
        assert_eq!(stolen(32), None);
        assert_eq!(stolen(200), Some(2));
        assert_eq!(stolen(600), Some(0));
    }

    #[test]
    fn what_was_measured_comes_before_a_prediction_of_more() {
        let mut seen = on_windows();
        seen.timer = Some(late(1_550));
        let all = names(&windows(19_045, 500), &seen);
        assert_eq!(all, [HIGH_RESOLUTION, REQUEST]);
    }

    #[test]
    fn how_the_kernel_lets_others_run_is_told_where_it_makes_waits_late() {
        let mut situation = linux();
        let mut seen = on_linux();
        seen.queued_ns = Some(70_000.0);
        situation.host.preemption = Some("PREEMPT_DYNAMIC".to_owned());
        for (mode, is_told) in [
            ("none", true),
            ("voluntary", true),
            ("lazy", true),
            ("full", false),
            ("rt", false),
        ] {
            situation.host.preemption_mode = Some(mode.to_owned());
            let all = advice(&situation, &seen, None);
            assert_eq!(
                all.contains(&Remedy::PreemptAtOnce(70_000)),
                is_told,
                "{mode}"
            );
        }
        // One that does not wait for a CPU, and a kernel that has one mode only.
        situation.host.preemption_mode = Some("none".to_owned());
        assert!(!names(&situation, &on_linux()).contains(&"PreemptAtOnce".to_owned()));
        situation.host.preemption = Some("PREEMPT".to_owned());
        assert!(!names(&situation, &seen).contains(&"PreemptAtOnce".to_owned()));
    }

    #[test]
    fn a_foreign_scheduler_and_a_slow_clock_are_told() {
        for (state, source, told) in [
            ("disabled", "tsc", &[][..]),
            ("disabled", "kvm-clock", &[]),
            ("enabled, rusty", "tsc", &["KernelScheduler"]),
            ("disabled", "hpet", &["FastClock"]),
            ("disabled", "acpi_pm", &["FastClock"]),
        ] {
            let mut situation = linux();
            situation.host.sched_ext = Some(state.to_owned());
            situation.host.clock_source = Some(source.to_owned());
            assert_eq!(
                names(&situation, &on_linux())[2..],
                *told,
                "{state}, {source}"
            );
        }
    }

    #[test]
    fn a_low_priority_and_a_guest_that_halts_at_once_are_told() {
        let mut situation = linux();
        situation.scheduling = Some("SCHED_OTHER, nice 19".to_owned());
        situation.host.halt_poll = Some(Nanos::ZERO);
        let all = advice(&situation, &on_linux(), None);
        for remedy in [
            Remedy::OrdinaryPriority(None),
            Remedy::PollBeforeHalt(28_000),
        ] {
            assert!(all.contains(&remedy), "{remedy:?}");
        }
        situation.scheduling = Some("SCHED_OTHER, nice 0".to_owned());
        situation.host.halt_poll = Some(Nanos::from_us(200));
        assert_eq!(names(&situation, &on_linux()), [LIBRARY, SLACK]);
    }

    #[test]
    fn slack_that_others_cut_short_is_not_all_to_be_had() {
        let mut situation = linux();
        situation.host.slack = Some(Nanos::from_ms(2));
        let all = advice(&situation, &on_linux(), None);
        let is_slack = |remedy: &&Remedy| matches!(remedy, Remedy::LowerSlack { .. });
        let slack = all.iter().find(is_slack).unwrap();
        assert_eq!(slack.gain_ns(), Some(50_000));
    }

    #[test]
    fn under_a_real_time_policy_there_is_no_slack_and_no_better_policy() {
        let mut situation = linux();
        let mut seen = on_linux();
        seen.queued_ns = Some(9_000.0);
        let all = advice(&situation, &seen, None);
        assert!(all.contains(&Remedy::RealTimePolicy(9_000)));
        situation.scheduling = Some("SCHED_FIFO, priority 1".to_owned());
        seen.sleep = late(28);
        assert_eq!(names(&situation, &seen), [LIBRARY]);
        // Unknown is not ordinary.
        situation.scheduling = None;
        let all = advice(&situation, &seen, None);
        assert!(!all.contains(&Remedy::RealTimePolicy(9_000)));
    }

    #[test]
    fn on_windows_anothers_request_helps_before_2004_only() {
        assert_eq!(
            names(&windows(19_045, 500), &on_windows()),
            [HIGH_RESOLUTION, REQUEST]
        );
        let all = advice(&windows(19_045, 500), &on_windows(), None);
        let is_own = |remedy: &Remedy| match remedy {
            Remedy::RequestInterval { is_own, .. } => *is_own,
            other => panic!("{other:?}"),
        };
        assert!(is_own(&all[1]));
        assert_eq!(all[1].gain_ns(), Some(14_600_000 - 999_000));
        let all = advice(&windows(18_363, 15_625), &on_windows(), None);
        assert!(!is_own(&all[1]));
        // It is asked for already, and counts.
        let mut asks = windows(19_045, 500);
        asks.own_request = Some(Nanos::from_us(500));
        assert_eq!(names(&asks, &on_windows()), [HIGH_RESOLUTION]);
        // Another's request serves this process too.
        let mut served = on_windows();
        served.sleep = late(1_000);
        assert_eq!(names(&windows(18_363, 1_000), &served), [HIGH_RESOLUTION]);
    }

    #[test]
    fn a_throttled_process_is_told_to_opt_out_on_windows_11_only() {
        let mut situation = windows(22_631, 15_625);
        situation.own_request = Some(Nanos::from_ms(1));
        situation.throttling = Some(Throttling::IgnoreRequests);
        let mut seen = on_windows();
        seen.if_honoured = Some(999_000);
        assert_eq!(
            names(&situation, &seen),
            [HIGH_RESOLUTION, "HonourRequests"]
        );
        for fine in [
            Some(Throttling::BySystem),
            Some(Throttling::HonourRequests),
            None,
        ] {
            situation.throttling = fine;
            assert_eq!(names(&situation, &seen), [HIGH_RESOLUTION]);
        }
        situation.throttling = Some(Throttling::IgnoreRequests);
        situation.host.kernel = Some("10.0.19045".to_owned());
        assert_eq!(names(&situation, &seen), [HIGH_RESOLUTION]);
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
        assert_eq!(names(&situation, &seen), [LIBRARY]);
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
        assert_eq!(names(&situation, &seen), [LIBRARY]);
        let tier = |tier| FoundTier {
            tier,
            at_the_edge: true,
        };
        seen.tier = Some((tier(LatencyTier::One), 125_000));
        assert_eq!(names(&situation, &seen), [LIBRARY, "QualityOfService"]);
        seen.tier = Some((tier(LatencyTier::Least), 125_000));
        assert_eq!(names(&situation, &seen), [LIBRARY]);
    }

    #[test]
    fn a_battery_is_named_if_it_is_known_to_be_in_use() {
        for (on_battery, is_named) in [(None, false), (Some(false), false), (Some(true), true)] {
            let situation = Situation {
                on_battery,
                ..linux()
            };
            let last = advice(&situation, &on_linux(), None).pop();
            assert_eq!(last == Some(Remedy::PlugIn), is_named, "{on_battery:?}");
        }
    }
}
