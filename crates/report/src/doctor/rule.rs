//! A situation in words: the rule, the facts that decide it, and what the
//! system does not tell.

use punctual_core::Nanos;
use punctual_core::setting::Throttling;
use punctual_record::{Disturbance, Fact, HostFacts, NoRule, Situation, System, Throttled, Untold};

use crate::warnings::quota_in_words;

/// The timer rule in force, in a few sentences.
pub fn rule_in_force(situation: &Situation) -> String {
    match &situation.system {
        System::Linux => linux(situation),
        System::Windows => windows(situation),
        System::Wine(version) => format!(
            "Wine {version}: the calls are those of Windows, the timers those of the system underneath. Nothing here \
             is said of Windows' own rule."
        ),
        System::MacOs => "macOS: a timer is late by a share of its length, up to a cap, or less if something else \
                          interrupts its CPU. The latency tier of the thread decides both: 25 % and 5 ms in an \
                          ordinary one (tier 1), 0 under the time-constraint policy."
            .to_owned(),
        System::Other(name) => format!("{name}: punctual knows no timer rule of this system."),
        System::Unknown => "The system is not known.".to_owned(),
    }
}

/// Why nothing is predicted, as a sentence without its end.
pub(super) fn no_prediction(why: &NoRule, situation: &Situation) -> String {
    let why = match (why, &situation.system) {
        (NoRule::System, System::Wine(version)) => {
            return format!(
                "Wine {version} waits with the timers of the system underneath, of which it shows nothing, so no \
                 prediction is made; run punctual there, outside of Wine"
            );
        }
        (NoRule::System, System::MacOs) => {
            "macOS does not tell the latency tier of a thread, which decides by how much its timers are late"
                .to_owned()
        }
        (NoRule::System, System::Other(name)) => format!("punctual knows no timer rule of {name}"),
        (NoRule::System, _) => "the system is not known".to_owned(),
        (NoRule::Scheduler(name), _) => format!(
            "this kernel has a scheduler that no model is of, as {name} tells; it is not predicted as the mainline \
             of its number"
        ),
        (NoRule::Slack, _) => "Linux did not tell the timer slack".to_owned(),
        (NoRule::Build, _) => match situation.build() {
            Some(build) => format!("punctual has no model of Windows build {build}"),
            None => "Windows did not tell its build".to_owned(),
        },
        (NoRule::Interval, _) => "Windows did not tell its timer interval".to_owned(),
        (NoRule::Clock(interval), _) => {
            format!("the simulator knows no clock with an interval of {interval}")
        }
        (NoRule::Model(why), _) => return why.clone(),
    };
    format!("{why}, so no prediction is made")
}

/// The timer rule of a host, in the line that stands above every report.
pub fn timer_rule(system: &System, host: &HostFacts) -> String {
    match (system, host.slack) {
        (System::Linux, Some(slack)) => {
            format!("Linux hrtimers, fire at deadline + timer slack when alone; slack {slack}")
        }
        (System::Linux, None) => "not known for linux".to_owned(),
        (System::Wine(wine), _) => {
            format!("Wine {wine}: the rule is that of the system underneath, not that of Windows")
        }
        (System::Windows, _) => {
            "Windows: timers fire at clock interrupts; which interval is in force is not known"
                .to_owned()
        }
        (System::MacOs, _) => {
            "macOS: timers are late by a share of their length; which share is not known".to_owned()
        }
        (System::Other(os), _) => format!("not known for {os}"),
        (System::Unknown, _) => "not known".to_owned(),
    }
}

fn linux(situation: &Situation) -> String {
    if situation.is_real_time() {
        return format!(
            "Linux, {}: timers have no slack under a real-time policy and fire at their deadline. The time to \
             wake up is added.",
            situation.scheduling.as_deref().unwrap_or_default()
        );
    }
    let slack = match situation.host.slack {
        Some(slack) => format!("the timer slack of the thread, {slack},"),
        None => "the timer slack of the thread".to_owned(),
    };
    format!(
        "Linux: {slack} delays the end of a sleep. Waking up adds to that. Another interrupt on the same CPU can end the \
         delay sooner. timerfd has no slack."
    )
}

/// The rule of timers on Windows, where the clock interrupts have this interval. The last
/// sentence is open, for what the interval is due to.
pub fn clock_interrupts(interval: Nanos) -> String {
    format!("{WINDOWS} The interrupts are {interval} apart")
}

const WINDOWS: &str =
    "Windows: a sleep ends at the first clock interrupt after its length has passed.";

fn windows(situation: &Situation) -> String {
    let Some(interval) = situation.interval else {
        return format!("{WINDOWS} Their interval is not known.");
    };
    let mut text = clock_interrupts(interval.current);
    // A clock rounds what this process asks for down by less than that.
    let is_rounded = |own: Nanos| own.as_ns() * 20 <= interval.current.as_ns() * 21;
    let asked_by_others =
        interval.current < interval.coarsest && !situation.own_request.is_some_and(is_rounded);
    text += match (asked_by_others, situation.own_request) {
        (true, _) => ", because another process or a driver asks for that. ",
        (false, Some(_)) => ", because this process asks for that. ",
        (false, None) => ", as no process asks for less. ",
    };
    let is_ignored =
        situation.throttles() && situation.throttling == Some(Throttling::IgnoreRequests);
    text += &match situation.own_request {
        Some(own) if is_ignored => format!(
            "This process asks for {own}, and has told Windows to ignore that: its sleeps end as if the default of \
             {} were in force.",
            interval.coarsest
        ),
        _ if !situation.has_classes() => {
            "The shortest request of any process counts for all of them.".to_owned()
        }
        Some(own)
            if situation.throttles()
                && situation.throttling != Some(Throttling::HonourRequests) =>
        {
            format!(
                "This process asks for {own}, so each interrupt counts for it, unless Windows ignores that because \
                 its window is out of sight and silent, which was not checked."
            )
        }
        Some(own) => format!("This process asks for {own}, so each interrupt counts for it."),
        None => format!(
            "Since Windows 10 2004 a request counts for the process that made it, and this one has none: its sleeps \
             end as if the default of {} were in force. (A driver's request would count for all.)",
            interval.coarsest
        ),
    };
    text
}

/// The facts that decide, and the unknown ones. The counters of the measurement show whether a
/// quota is enforced.
pub(super) fn facts(
    situation: &Situation,
    disturbance: Option<&Disturbance>,
) -> (Vec<Fact>, Vec<Untold>) {
    let mut list = List {
        is_model: situation.model.is_some(),
        ..List::default()
    };
    list.add("model", situation.model.as_ref());
    match situation.system {
        System::Linux => of_linux(situation, disturbance, &mut list),
        System::Windows => of_windows(situation, &mut list),
        System::MacOs => list.lacks(
            "latency tier",
            "macOS does not show it; the long sleep below tells some of them apart",
        ),
        _ => {}
    }
    of_machine(situation, &mut list);
    (list.facts, list.untold)
}

fn of_linux(situation: &Situation, disturbance: Option<&Disturbance>, list: &mut List) {
    let host = &situation.host;
    list.add("timer slack", host.slack)
        .or("prctl(PR_GET_TIMERSLACK) failed");
    list.add("scheduling", situation.scheduling.as_ref())
        .or("the policy of the thread could not be read");
    let real_time = situation.real_time.as_ref().map(|tried| match tried {
        Ok(()) => "granted to a thread that tried".to_owned(),
        Err(why) => format!("refused to a thread that tried: {why}"),
    });
    list.add("SCHED_FIFO", real_time);
    list.add("tick", host.tick_hz.map(|hz| format!("{hz} Hz")))
        .or("clock_getres(CLOCK_MONOTONIC_COARSE) failed");
    let preemption = match (&host.preemption, &host.preemption_mode) {
        (Some(kind), Some(mode)) => Some(format!("{kind}, mode {mode}")),
        (Some(kind), None) => Some(format!("{kind}, in a mode that is not told")),
        (None, mode) => mode.as_ref().map(|mode| format!("mode {mode}")),
    };
    list.add("preemption", preemption)
        .or("neither the build line of the kernel nor its configuration names a mode");
    let sched_ext = host.sched_ext.as_deref().map(|state| match state {
        "disabled" => "disabled: the kernel's own scheduler".to_owned(),
        state => format!("{state}: a scheduler that no prediction here knows"),
    });
    list.add("sched_ext", sched_ext);
    let stolen = situation.stolen_fraction.map(|share| share * 100.0);
    let steal = stolen.map(|it| format!("{it:.2} % of the time of all CPUs since the start"));
    list.add("steal", steal)
        .or("the kernel does not tell, or counts more than the time since the start allows");
    list.add("cgroup quota", quota_of(situation, disturbance));
    list.add("idle driver", host.cpuidle_driver.as_ref())
        .or("there is no readable /sys/devices/system/cpu/cpuidle/current_driver");
    let halt_poll = host.halt_poll.map(|poll| match poll.is_zero() {
        true => "off".to_owned(),
        false => format!("up to {poll}"),
    });
    list.add("guest halt polling", halt_poll);
    let deepest = host.deepest_idle_state.as_ref();
    let deepest = deepest.map(|name| match host.deepest_idle_exit {
        Some(exit) => format!("{name}, {exit} to leave"),
        None => name.clone(),
    });
    list.add("deepest idle state", deepest)
        .or("CPU 0 shows no idle state that is enabled");
    let dma_latency = host.cpu_dma_latency.map(|limit| match limit >= NO_LIMIT {
        true => "no limit is asked for".to_owned(),
        false => limit.to_string(),
    });
    list.add("cpu_dma_latency", dma_latency)
        .or("/dev/cpu_dma_latency cannot be read; as root it can");
    list.add("frequency governor", host.governor.as_ref())
        .or("CPU 0 shows none in /sys, as is usual in a virtual machine");
}

/// The quota, and how it stopped this process and those beside it in its group.
fn quota_of(situation: &Situation, disturbance: Option<&Disturbance>) -> Option<String> {
    let throttled = situation.throttled;
    let Some(quota) = situation.quota else {
        return throttled.map(|_| "none".to_owned());
    };
    let is_stub = disturbance.is_some_and(Disturbance::is_quota_a_stub);
    let what = match throttled {
        Some(Throttled {
            periods, time_ns, ..
        }) if periods > 0 => format!(
            "; it has stopped this group in {periods} periods, for {} in all",
            Nanos::new(time_ns)
        ),
        _ if situation.binding_quota().is_none() => {
            "; no less than the CPUs have that this process may use, so it cannot stop it"
                .to_owned()
        }
        _ if is_stub => {
            "; the kernel counts no periods of it (cpu.stat), so nothing seems to enforce it"
                .to_owned()
        }
        _ => String::new(),
    };
    Some(quota_in_words(quota) + &what)
}

/// The value of `/dev/cpu_dma_latency` without any request (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`,
/// include/linux/pm_qos.h).
const NO_LIMIT: Nanos = Nanos::from_secs(2_000);

fn of_windows(situation: &Situation, list: &mut List) {
    list.add("build", situation.build())
        .or("RtlGetVersion failed");
    let interval = situation.interval.map(|i| {
        let (now, most, least) = (i.current, i.coarsest, i.finest);
        format!("{now} now, {most} without a request, {least} at the least")
    });
    list.add("timer interval", interval)
        .or("NtQueryTimerResolution failed");
    let own = situation.own_request.map(|own| own.to_string());
    let own = own.unwrap_or_else(|| "none".to_owned());
    list.add("request of this process", Some(own));
    let others = situation
        .interval
        .is_some_and(|i| i.current < i.coarsest && situation.own_request.is_none());
    if others {
        list.lacks(
            "who else asks",
            "Windows tells an administrator only, in a trace of 60 s: powercfg /energy; punctual doctor energy-report.html lists them",
        );
    }
    if situation.throttles() {
        let state = situation.throttling.map(|state| match state {
            Throttling::BySystem => {
                "Windows decides; not before a window is out of sight and silent"
            }
            Throttling::HonourRequests => "throttling off: requests always count",
            Throttling::IgnoreRequests => "requests are ignored",
        });
        list.add("timer throttling", state)
            .or("GetProcessInformation(ProcessPowerThrottling) failed");
        let global = situation.global_requests.map(|on| match on {
            true => "1: requests count for all",
            false => "0: requests count for who made them",
        });
        list.add("GlobalTimerResolutionRequests", global)
            .or("the registry value is not set or cannot be read");
    }
}

fn of_machine(situation: &Situation, list: &mut List) {
    let host = &situation.host;
    let clock = match &host.clock_source {
        Some(source) => format!("{} ({source})", situation.clock),
        None => situation.clock.clone(),
    };
    let cpus = host.logical_cpus.map(|n| match &host.cpu_model {
        Some(model) => format!("{n} x {model}"),
        None => n.to_string(),
    });
    list.add("CPUs", cpus);
    let read = situation.clock_read;
    list.add("clock", Some(format!("{clock}, {read} to read")));
    let is_virtual = host.virtual_machine.map(|is| match (is, &host.hypervisor) {
        (true, Some(name)) => format!("yes, {name}"),
        (true, None) => "yes".to_owned(),
        (false, _) => "no".to_owned(),
    });
    list.add("virtual machine", is_virtual)
        .or("the CPU does not tell");
    let on_battery = situation.on_battery;
    let power = on_battery.map(|battery| if battery { "battery" } else { "mains" });
    list.add("power", power)
        .or("the system shows no power supply");
    list.add("spinning waits by", Some(&situation.spin));
}

#[derive(Default)]
struct List {
    is_model: bool,
    facts: Vec<Fact>,
    untold: Vec<Untold>,
    /// The last that was to be added, where there is none.
    missing: Option<&'static str>,
}

impl List {
    /// A fact, if there is one. Where that there is none does not go without saying, `or` says why.
    fn add(&mut self, name: &'static str, value: Option<impl ToString>) -> &mut Self {
        self.missing = value.is_none().then_some(name);
        self.facts.extend(value.map(|value| Fact {
            name: name.to_owned(),
            value: value.to_string(),
        }));
        self
    }

    fn or(&mut self, why: &str) {
        if let Some(name) = self.missing {
            self.lacks(name, why);
        }
    }

    /// Why a fact is not told. A model has no secrets: what it does not have is left out.
    fn lacks(&mut self, name: &str, why: &str) {
        if !self.is_model {
            self.untold.push(Untold {
                name: name.to_owned(),
                why: why.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::CpuQuota;

    use super::*;

    #[test]
    fn where_no_rule_is_known_it_says_why() {
        let host = HostFacts {
            kernel: Some("10.0.6002".to_owned()),
            ..HostFacts::default()
        };
        for (system, why, says) in [
            (System::Wine("8.0".to_owned()), NoRule::System, "Wine 8.0"),
            (System::MacOs, NoRule::System, "latency tier"),
            (System::Other("plan9".to_owned()), NoRule::System, "plan9"),
            (System::Unknown, NoRule::System, "not known"),
            (System::Windows, NoRule::Build, "6002"),
            (
                System::Windows,
                NoRule::Clock(Nanos::from_us(123)),
                "123 us",
            ),
        ] {
            let situation = Situation {
                system,
                host: host.clone(),
                ..Situation::default()
            };
            let said = no_prediction(&why, &situation);
            assert!(
                said.contains(says) && said.contains("no prediction"),
                "{said}"
            );
        }
    }

    /// The fact of this name, or that it is not told.
    fn fact(situation: &Situation, name: &str) -> Option<String> {
        let situation = Situation {
            system: System::Linux,
            ..situation.clone()
        };
        let (facts, _) = facts(&situation, None);
        let found = facts.into_iter().find(|fact| fact.name == name);
        found.map(|fact| fact.value)
    }

    #[test]
    fn who_preempts_whom_is_said_as_far_as_it_is_told() {
        for (kind, mode, said) in [
            (
                Some("PREEMPT_DYNAMIC"),
                Some("lazy"),
                Some("PREEMPT_DYNAMIC, mode lazy"),
            ),
            (
                Some("PREEMPT_DYNAMIC"),
                None,
                Some("PREEMPT_DYNAMIC, in a mode that is not told"),
            ),
            (None, Some("voluntary"), Some("mode voluntary")),
            (None, None, None),
        ] {
            let mut situation = Situation::default();
            situation.host.preemption = kind.map(str::to_owned);
            situation.host.preemption_mode = mode.map(str::to_owned);
            assert_eq!(fact(&situation, "preemption").as_deref(), said);
        }
        let (_, untold) = facts(
            &Situation {
                system: System::Linux,
                ..Situation::default()
            },
            None,
        );
        assert!(untold.iter().any(|untold| untold.name == "preemption"));
    }

    #[test]
    fn what_else_keeps_a_cpu_from_this_process_is_said() {
        let mut situation = Situation::default();
        for name in ["sched_ext", "steal", "cgroup quota"] {
            assert_eq!(fact(&situation, name), None);
        }
        situation.throttled = Some(Throttled::default());
        assert_eq!(fact(&situation, "cgroup quota").as_deref(), Some("none"));
        situation.quota = Some(CpuQuota {
            time_ns: 20_000_000,
            period_ns: 100_000_000,
        });
        let quota = "20 ms of CPU time in 100 ms";
        assert_eq!(fact(&situation, "cgroup quota").as_deref(), Some(quota));
        situation.throttled = Some(Throttled {
            periods: 3,
            time_ns: 240_000_000,
            periods_counted: None,
        });
        assert_eq!(
            fact(&situation, "cgroup quota").unwrap(),
            format!("{quota}; it has stopped this group in 3 periods, for 240 ms in all")
        );
        situation.throttled = Some(Throttled::default());
        let said = |cpus, seen: &Disturbance| {
            let mut situation = situation.clone();
            situation.host.logical_cpus = Some(cpus);
            quota_of(&situation, Some(seen)).unwrap()
        };
        let mut situation_of_2 = situation.clone();
        situation_of_2.quota = Some(CpuQuota {
            time_ns: 200_000_000,
            period_ns: 100_000_000,
        });
        let seen = Disturbance {
            elapsed_ns: 4_000_000_000,
            quota: situation.quota,
            throttled: Some(Throttled {
                periods_counted: Some(0),
                ..Throttled::default()
            }),
            ..Disturbance::default()
        };
        assert!(said(2, &seen).ends_with("so nothing seems to enforce it"));
        assert_eq!(said(2, &Disturbance::default()), quota);
        situation_of_2.host.logical_cpus = Some(2);
        let above = quota_of(&situation_of_2, None).unwrap();
        assert!(above.ends_with("so it cannot stop it"), "{above}");
        situation.stolen_fraction = Some(0.031);
        assert!(fact(&situation, "steal").unwrap().starts_with("3.10 %"));
        for (state, says) in [
            ("disabled", "own scheduler"),
            ("enabled, rusty", "no prediction"),
        ] {
            situation.host.sched_ext = Some(state.to_owned());
            let said = fact(&situation, "sched_ext").unwrap();
            assert!(said.starts_with(state) && said.contains(says), "{said}");
        }
    }
}
