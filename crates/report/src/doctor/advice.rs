//! The advice: an action, its expected effect, and a line to copy.

use punctual_core::Nanos;
use std::borrow::Cow;

use punctual_record::{
    Advice, Change, Disturbance, DoctorFindings, QuotaFile, Remedy, Situation, SubjectId,
};

use crate::experiments::doctor::USUAL_NS;
use crate::units::duration;
use crate::{prose, units, warnings};

/// All remedies, in their order.
pub(super) fn in_words(findings: &DoctorFindings) -> Vec<Advice> {
    let none = Disturbance::default();
    let disturbance = findings.disturbance.as_ref().unwrap_or(&none);
    let remedies = findings.remedies.iter();
    remedies
        .map(|remedy| {
            let situation = &findings.situation;
            let (what, expected, line) = words(remedy, situation, disturbance);
            let path = situation.quota_file.as_ref().map(|file| &file.path);
            Advice {
                what,
                expected,
                gain_ns: remedy.gain_ns().and_then(|gain| u64::try_from(gain).ok()),
                line: line.into_owned(),
                path: path.filter(|_| *remedy == Remedy::LiftQuota).cloned(),
            }
        })
        .collect()
}

/// The action, its expected effect, and a complete line to copy.
type Words = (String, String, Cow<'static, str>);

fn words(remedy: &Remedy, situation: &Situation, disturbance: &Disturbance) -> Words {
    let scheduling = situation.scheduling.as_deref().unwrap_or_default();
    match remedy {
        Remedy::LiftQuota => lift_quota(situation, disturbance),
        // Their names are in the warnings, which can be shared without names.
        Remedy::CloseOthers(share) => (
            "Measure on another CPU, or close the other programs on this CPU.".into(),
            format!("they used {:.0} % of this CPU", share * 100.0),
            match disturbance.quieter_cpu {
                Some(cpu) => format!("punctual doctor --cpu {cpu}  # which was idle more").into(),
                None => "ps -eo psr,pcpu,pid,comm --sort=-pcpu | head  # psr is the CPU of each".into(),
            },
        ),
        Remedy::UnsharedCpus(share) => (
            "Have CPUs of this virtual machine that its host gives to no other guest: dedicated or pinned ones. Nothing inside \
             it prevents that."
                .into(),
            format!("the hypervisor took {:.1} % of them during the measurement", share * 100.0),
            "vmstat 1  # st is the share that was stolen".into(),
        ),
        Remedy::PreemptAtOnce(queued) => (
            format!(
                "Let the kernel preempt at once: in mode {} who wakes waits {}.",
                situation.host.preemption_mode.as_deref().unwrap_or_default(),
                match situation.host.preemption_mode.as_deref() {
                    Some("lazy") => "for a tick, if another CPU wakes it",
                    _ => "until who runs comes out of the kernel, or to a place where it looks",
                }
            ),
            format!("{}; how much of that is due to it was not measured", waited(*queued)),
            "echo full | sudo tee /sys/kernel/debug/sched/preempt  # for ever: preempt=full at boot".into(),
        ),
        Remedy::KernelScheduler => (
            format!(
                "Try it with the kernel's own scheduler: sched_ext is {}, which no prediction here knows.",
                situation.host.sched_ext.as_deref().unwrap_or_default()
            ),
            not_measured(),
            // Kernel documentation, "Extensible Scheduler Class".
            "echo S | sudo tee /proc/sysrq-trigger  # takes it out".into(),
        ),
        Remedy::FastClock(read) => {
            let host = &situation.host;
            let sources = host.clock_sources.as_deref().unwrap_or_default();
            let has_tsc = sources.split(' ').any(|source| source == "tsc");
            let source = host.clock_source.as_deref().unwrap_or_default();
            (
                match has_tsc {
                    true => format!("Have the clock read from the TSC instead of {source}."),
                    false => format!(
                        "Find out why the kernel does not trust the TSC, and reads the clock from {source}."
                    ),
                },
                format!("a reading takes {read}, and every wait takes some; the TSC's was not measured"),
                match has_tsc {
                    true => "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource".into(),
                    false => "sudo dmesg | grep -i tsc".into(),
                },
            )
        }
        Remedy::UseLibrary { late, cpu_fraction } => (
            format!(
                "Wait with punctual's library ({}): it sleeps for most of the time and spins for the rest.",
                SubjectId::DEFAULT.name()
            ),
            match cpu_fraction {
                Some(share) => format!(
                    "{}, and a {} loop uses {:.1} % of a CPU",
                    measured(*late, situation),
                    units::nominal(USUAL_NS),
                    share * 100.0
                ),
                None => measured(*late, situation),
            },
            match &situation.model {
                Some(model) => format!("punctual bench --on {model} {BESIDE}"),
                None => format!("punctual bench {BESIDE}"),
            }
            .into(),
        ),
        Remedy::LowerSlack { slack_ns, late_ns } => (
            "Lower the timer slack of the program.".into(),
            format!("{} of the {} are slack", duration(*slack_ns), duration(*late_ns)),
            "punctual exec --slack 1ns -- punctual doctor --quick  # or your program instead of doctor".into(),
        ),
        Remedy::HighResolutionTimer(late) => (
            "Wait on a high-resolution timer, which needs no request for a timer interval.".into(),
            measured(*late, situation),
            "CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);".into(),
        ),
        Remedy::RequestInterval {
            interval,
            is_own,
            late,
        } => (
            match is_own {
                true => format!(
                    "Ask for a timer interval of {interval} in your own process: since Windows 10 2004 another's \
                     request, or a timer tool, does not help it."
                ),
                false => format!("Ask for a timer interval of {interval}; it counts for all processes."),
            },
            predicted(*late),
            "timeBeginPeriod(1);  /* and timeEndPeriod(1); when it is over */".into(),
        ),
        Remedy::HonourRequests(late) => (
            "Opt out of timer throttling (4, IGNORE_TIMER_RESOLUTION, off): this process has told Windows to ignore \
             its request."
                .into(),
            late.map_or_else(not_measured, predicted),
            "SetProcessInformation(GetCurrentProcess(), ProcessPowerThrottling, \
             &(PROCESS_POWER_THROTTLING_STATE){1, 4, 0}, 12);".into(),
        ),
        Remedy::QualityOfService(Change { from_ns, to_ns }) => (
            "Give the thread the quality of service user-interactive, whose latency tier is 0.".into(),
            format!(
                "by the rule the lateness falls from the measured {} to {} and the wake-up",
                duration(*from_ns),
                duration(*to_ns)
            ),
            "pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);".into(),
        ),
        Remedy::RealTimePolicy(queued) => (
            "Run the program under a real-time policy: it need not wait for a CPU, and has no slack.".into(),
            waited(*queued),
            match situation.real_time {
                // As a thread of this user was granted it.
                Some(Ok(())) => "chrt -f 1 punctual doctor --quick  # or your program instead of doctor".into(),
                // Where root finds programs, this one need not be.
                _ => "sudo chrt -f 1 $(command -v punctual) doctor --quick  # or your program instead of doctor".into(),
            },
        ),
        Remedy::OrdinaryPriority(queued) => (
            format!(
                "Run it at an ordinary priority: this process has {scheduling}, and others come before it."
            ),
            queued.map_or_else(not_measured, waited),
            "sudo renice -n 0 -p $$; sudo chrt -o -p 0 $$  # this shell, and what it starts from then on".into(),
        ),
        Remedy::NoDeepIdle {
            most_ns,
            wake_ns,
            exit,
        } => (
            "Keep the CPUs out of deep idle states while it matters; it costs power.".into(),
            format!(
                "at most {} of the {} that waking up takes: leaving {} takes up to {exit}",
                duration(*most_ns),
                duration(*wake_ns),
                situation.host.deepest_idle_state.as_deref().unwrap_or_default()
            ),
            r"sudo bash -c 'exec 3>/dev/cpu_dma_latency; printf \\0\\0\\0\\0 >&3; sleep infinity'".into(),
        ),
        Remedy::PollBeforeHalt(wake) => (
            "Let idle CPUs of this virtual machine poll for a while before they halt; it costs the host CPU time.".into(),
            some_of(*wake),
            "echo 200000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns".into(),
        ),
        Remedy::PerformanceGovernor(wake) => (
            format!(
                "Use the frequency governor performance; {} lets CPUs wake up slow.",
                situation.host.governor.as_deref().unwrap_or_default()
            ),
            wake.map_or_else(not_measured, some_of),
            "sudo cpupower frequency-set -g performance".into(),
        ),
        Remedy::PlugIn => (
            "Plug the computer in, and look again: on its battery it saves power where it can.".into(),
            not_measured(),
            "punctual doctor".into(),
        ),
    }
}

/// The library beside the call that everybody makes.
const BESIDE: &str = "--strategy system,adaptive-balanced";

fn lift_quota(situation: &Situation, disturbance: &Disturbance) -> Words {
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
    (
        format!(
            "Raise or lift the CPU quota of the cgroup: {}.",
            warnings::quota(disturbance).unwrap_or_default()
        ),
        expected,
        match &situation.quota_file {
            Some(QuotaFile { path, lifted }) => {
                format!("echo {lifted} | sudo tee {}", prose::quoted(path)).into()
            }
            None => "cat /proc/self/cgroup  # the group that has it, or one around it".into(),
        },
    )
}

fn measured(late: Change, situation: &Situation) -> String {
    let here = match situation.model {
        Some(_) => "in this model",
        None => "as measured here",
    };
    let Change { from_ns, to_ns } = late;
    format!(
        "{here} the lateness falls from {} to {}",
        duration(from_ns),
        duration(to_ns)
    )
}

fn predicted(Change { from_ns, to_ns }: Change) -> String {
    format!(
        "by the rule the lateness falls from the measured {} to {}",
        duration(from_ns),
        duration(to_ns)
    )
}

fn waited(queued: i64) -> String {
    format!(
        "each wait could run but waited {} for a CPU, on average",
        duration(queued)
    )
}

fn some_of(wake: i64) -> String {
    format!(
        "some of the {} that waking up takes; how much was not measured",
        duration(wake)
    )
}

fn not_measured() -> String {
    "not measured".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::{CpuQuota, HostFacts, OtherProcess, Throttled};

    const LATE: Change = Change {
        from_ns: 78_000,
        to_ns: 400,
    };

    fn all() -> Vec<Remedy> {
        vec![
            Remedy::LiftQuota,
            Remedy::CloseOthers(0.5),
            Remedy::UseLibrary {
                late: LATE,
                cpu_fraction: Some(0.041),
            },
            Remedy::LowerSlack {
                slack_ns: 50_000,
                late_ns: 78_000,
            },
            Remedy::HighResolutionTimer(LATE),
            Remedy::RequestInterval {
                interval: Nanos::from_ms(1),
                is_own: true,
                late: LATE,
            },
            Remedy::HonourRequests(None),
            Remedy::QualityOfService(LATE),
            Remedy::RealTimePolicy(9_000),
            Remedy::OrdinaryPriority(None),
            Remedy::NoDeepIdle {
                most_ns: 28_000,
                wake_ns: 28_000,
                exit: Nanos::from_us(890),
            },
            Remedy::PollBeforeHalt(28_000),
            Remedy::PerformanceGovernor(Some(28_000)),
            Remedy::PlugIn,
            Remedy::UnsharedCpus(0.0317),
            Remedy::PreemptAtOnce(70_000),
            Remedy::KernelScheduler,
            Remedy::FastClock(Nanos::from_us(2)),
        ]
    }

    fn said(disturbance: Disturbance) -> Vec<Advice> {
        in_words(&DoctorFindings {
            disturbance: Some(disturbance),
            remedies: all(),
            ..DoctorFindings::default()
        })
    }

    #[test]
    fn who_was_granted_a_real_time_policy_needs_no_sudo() {
        for (tried, line) in [
            (None, "sudo chrt -f 1 $(command -v punctual) doctor"),
            (Some(Err("no".to_owned())), "sudo chrt -f 1 $(command"),
            (Some(Ok(())), "chrt -f 1 punctual doctor"),
        ] {
            let advice = in_words(&DoctorFindings {
                situation: Situation {
                    real_time: tried,
                    ..Situation::default()
                },
                remedies: vec![Remedy::RealTimePolicy(9_000)],
                ..DoctorFindings::default()
            });
            assert!(advice[0].line.starts_with(line), "{}", advice[0].line);
        }
    }

    #[test]
    fn each_remedy_has_a_line_to_copy_and_says_what_to_expect() {
        let all = said(Disturbance::default());
        for advice in &all {
            // Behind its indent it still fits into a line of the report.
            assert!((1..=116).contains(&advice.line.len()), "{}", advice.line);
            assert!(!advice.line.contains('\n'));
            assert!(!advice.what.is_empty() && !advice.expected.is_empty());
            // Nothing is to be put into it: what is in capitals are names of C.
            let command = advice.line.split("  #").next().unwrap();
            for blank in ["COMMAND", "PID", "URL", "GROUP", "--cpu N", "...", "<"] {
                assert!(!command.contains(blank), "{command}");
            }
        }
        let expected = |i: usize| all[i].expected.as_str();
        assert_eq!(
            expected(2),
            "as measured here the lateness falls from 78.0 us to 400 ns, and a 1 ms loop uses 4.1 % of a CPU"
        );
        assert_eq!(expected(3), "50.0 us of the 78.0 us are slack");
        assert!(expected(10).starts_with("at most 28.0 us of the 28.0 us"));
        assert_eq!(all[2].gain_ns, Some(77_600));
        assert_eq!(all[13].gain_ns, None);
    }

    /// The line of the first remedy.
    fn line(situation: Situation, disturbance: Disturbance, remedy: Remedy) -> String {
        let advice = in_words(&DoctorFindings {
            situation,
            disturbance: Some(disturbance),
            remedies: vec![remedy],
            ..DoctorFindings::default()
        });
        advice[0].line.clone()
    }

    #[test]
    fn the_quota_is_lifted_where_it_is_and_another_cpu_has_its_number() {
        for (path, lifted, expected) in [
            (
                "/sys/fs/cgroup/app.slice/cpu.max",
                "max",
                "echo max | sudo tee /sys/fs/cgroup/app.slice/cpu.max",
            ),
            (
                "/sys/fs/cgroup/cpu/it's $mine/cpu.cfs_quota_us",
                "-1",
                r"echo -1 | sudo tee '/sys/fs/cgroup/cpu/it'\''s $mine/cpu.cfs_quota_us'",
            ),
        ] {
            let situation = Situation {
                quota_file: Some(QuotaFile {
                    path: path.to_owned(),
                    lifted: lifted.to_owned(),
                }),
                ..Situation::default()
            };
            let got = line(situation, Disturbance::default(), Remedy::LiftQuota);
            assert_eq!(got, expected);
        }
        for (quieter_cpu, begins) in [(Some(3), "punctual doctor --cpu 3 "), (None, "ps -eo psr,")]
        {
            let seen = Disturbance {
                quieter_cpu,
                ..Disturbance::default()
            };
            let got = line(Situation::default(), seen, Remedy::CloseOthers(0.5));
            assert!(got.starts_with(begins), "{got}");
        }
        let on = Situation {
            model: Some("linux-6.6".to_owned()),
            ..Situation::default()
        };
        let library = Remedy::UseLibrary {
            late: LATE,
            cpu_fraction: None,
        };
        let got = line(on, Disturbance::default(), library);
        assert!(
            got.starts_with("punctual bench --on linux-6.6 --strategy "),
            "{got}"
        );
    }

    #[test]
    fn how_linux_is_set_up_is_said_with_what_to_do() {
        let said = |host: HostFacts, remedy| {
            let advice = in_words(&DoctorFindings {
                situation: Situation {
                    host,
                    ..Situation::default()
                },
                remedies: vec![remedy],
                ..DoctorFindings::default()
            });
            let [advice] = <[Advice; 1]>::try_from(advice).unwrap();
            (advice.what, advice.expected, advice.line)
        };
        let mode = |mode: &str| HostFacts {
            preemption_mode: Some(mode.to_owned()),
            ..HostFacts::default()
        };
        for (name, waits) in [("none", "until who runs comes out"), ("lazy", "for a tick")] {
            let (what, expected, line) = said(mode(name), Remedy::PreemptAtOnce(70_000));
            assert!(
                what.contains(&format!("in mode {name} who wakes waits {waits}")),
                "{what}"
            );
            assert!(expected.contains("waited 70.0 us for a CPU"), "{expected}");
            assert!(line.starts_with("echo full"), "{line}");
        }
        let foreign = HostFacts {
            sched_ext: Some("enabled, rusty".to_owned()),
            ..HostFacts::default()
        };
        assert!(
            said(foreign, Remedy::KernelScheduler)
                .0
                .contains("sched_ext is enabled, rusty")
        );
        for (sources, begins) in [
            ("tsc hpet acpi_pm", "echo tsc |"),
            ("hpet acpi_pm", "sudo dmesg"),
        ] {
            let slow = HostFacts {
                clock_source: Some("hpet".to_owned()),
                clock_sources: Some(sources.to_owned()),
                ..HostFacts::default()
            };
            let (what, _, line) = said(slow, Remedy::FastClock(Nanos::from_us(2)));
            assert!(
                what.contains("hpet") && line.starts_with(begins),
                "{what} {line}"
            );
        }
        let (_, expected, _) = said(HostFacts::default(), Remedy::UnsharedCpus(0.0317));
        assert_eq!(
            expected,
            "the hypervisor took 3.2 % of them during the measurement"
        );
    }

    #[test]
    fn what_keeps_the_cpu_from_this_process_is_told_without_names() {
        let mut disturbance = Disturbance {
            processes: vec![OtherProcess {
                name: "mary-secret".to_owned(),
                pid: 4711,
                fraction: 0.5,
            }],
            quota: Some(CpuQuota {
                time_ns: 20_000_000,
                period_ns: 100_000_000,
            }),
            ..Disturbance::default()
        };
        let unused = said(disturbance.clone());
        assert!(
            unused[0]
                .what
                .contains("quota of the cgroup: 20 ms of CPU time in 100 ms")
        );
        assert!(unused[0].expected.contains("did not stop"));
        let all = format!("{unused:?}");
        assert!(
            !all.contains("mary-secret") && !all.contains("4711"),
            "{all}"
        );
        assert_eq!(unused[1].expected, "they used 50 % of this CPU");
        disturbance.throttled = Some(Throttled {
            periods: 2,
            time_ns: 160_000_000,
            periods_counted: None,
        });
        let used = &said(disturbance)[0].expected;
        assert!(
            used.contains("stopped this process 2 times, for 80 ms each"),
            "{used}"
        );
    }
}
