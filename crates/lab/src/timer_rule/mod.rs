//! The timer rule in force, for predictions.
//!
//! A [`Situation`] is the facts that decide it: [read](situation) of
//! this host or of a model. A [`Rule`] is the simulator's, fed with them; it alone predicts.

pub mod situation;

/// Asks for a timer interval until what it returns is dropped.
pub use punctual_os::resolution::hold;

use crate::rounds::Case;
use punctual_core::{Event, Nanos};
use punctual_program::Probe;
use punctual_program::program::{Op, SpawnKind};
use punctual_program::setting::Priority;
use punctual_program::{Machine, Program, Setting};
use punctual_record::{CpuQuota, NoRule, Situation, System, TimerInterval};
use punctual_sim::{Model, SimMachine};

/// This computer's timer rule for the calling thread, if the simulator knows it. It predicts the
/// lateness of a timer that is alone on its CPU.
pub fn rule_in_force() -> Option<Rule> {
    Rule::in_force(&situation::of_host()).ok()
}

/// The same rule for a thread with this timer slack.
pub(crate) fn rule_at_slack(slack: Nanos) -> Option<Rule> {
    let mut situation = situation::of_host();
    situation.host.slack = Some(slack);
    Rule::in_force(&situation).ok()
}

/// A timer rule as the simulator knows it, in the situation of one process.
#[derive(Clone, Debug)]
pub struct Rule {
    model: Model,
    before: Vec<Op>,
}

/// A model as it is, with nothing around a program.
impl From<Model> for Rule {
    fn from(model: Model) -> Self {
        Self {
            model,
            before: vec![],
        }
    }
}

impl Rule {
    /// The rule that `situation` decides, with nothing for waking up: what it
    /// predicts is the lateness of a timer that is alone on its CPU.
    ///
    /// # Errors
    /// Says why no rule is known.
    pub fn in_force(situation: &Situation) -> Result<Self, NoRule> {
        match &situation.system {
            System::Linux => linux(situation),
            System::Windows => windows(situation),
            System::Wine(_) | System::MacOs | System::Other(_) | System::Unknown => {
                Err(NoRule::System)
            }
        }
    }

    /// The same while this process asks for a timer interval itself.
    #[must_use]
    pub fn asking(mut self, interval: Nanos) -> Self {
        self.before.push(Op::Set(Setting::request(interval)));
        self
    }

    /// `case` as it is in this situation.
    #[must_use]
    pub(crate) fn case(&self, case: &Case) -> Case {
        Case {
            program: self.around(&case.program),
            ..case.clone()
        }
    }

    /// The model that follows the rule.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// `program` as it is in this situation, without the load and on no
    /// particular CPU.
    pub(crate) fn around(&self, program: &Program) -> Program {
        let stays = |op: &&Op| !matches!(op, Op::Pin(_) | Op::Spawn { .. });
        let own = program.ops.iter().filter(stays);
        Program {
            ops: self.before.iter().chain(own).cloned().collect(),
            ..program.clone()
        }
    }
}

/// Slack decides, and real-time policies have none. The nice value affects `poll` only. Scheduling
/// depends on the kernel's version, its mode of preemption, the slice, the quota, and autogroups.
fn linux(situation: &Situation) -> Result<Rule, NoRule> {
    linux_with(situation, &bare(situation))
}

/// Linux as it is here, for threads with this timer slack, whose wake-ups take so long.
///
/// # Errors
/// Says why no rule is known.
pub fn linux_here(slack: Nanos, wake: Nanos) -> Result<Model, NoRule> {
    let mut situation = situation::of_host();
    situation.host.slack = Some(slack);
    linux_with(&situation, &waking(wake)).map(|rule| rule.model)
}

/// Any Linux, for threads with this timer slack, whose wake-ups take so long.
///
/// # Errors
/// They are too long for a model.
pub fn linux_elsewhere(slack: Nanos, wake: Nanos) -> Result<Model, String> {
    let slack = slack.max(Nanos::new(1)).exact();
    Model::parse(&format!("linux,slack={slack},{}", waking(wake)))
}

fn waking(wake: Nanos) -> String {
    format!("wake={},nap=0ns", wake.exact())
}

fn linux_with(situation: &Situation, costs: &str) -> Result<Rule, NoRule> {
    if let Some(name) = situation.foreign_scheduler() {
        return Err(NoRule::Scheduler(name));
    }
    let slack = situation.host.slack.ok_or(NoRule::Slack)?;
    let host = &situation.host;
    let mut text = format!(
        "{},slack={},{}",
        linux_of(host.kernel.as_deref()),
        slack.max(Nanos::new(1)).exact(),
        costs
    );
    if let Some(hz @ (100 | 250 | 300 | 1_000)) = situation.host.tick_hz {
        text += &format!(",hz={hz}");
    }
    const MODES: [&str; 5] = ["none", "voluntary", "full", "lazy", "rt"];
    let is_told = |mode: &&&str| host.preemption_mode.as_deref() == Some(**mode);
    if let Some(mode) = MODES.iter().find(is_told) {
        text += &format!(",preempt={mode}");
    }
    if let Some(cpus @ 1..=1_024) = host.logical_cpus {
        text += &format!(",cpus={cpus}");
        // The parameter is what is scaled by their number.
        let scaled = u64::from(1 + cpus.min(8).ilog2());
        if let Some(slice) = host.slice {
            text += &format!(",slice={}", Nanos::new(slice.as_ns() / scaled).exact());
        }
    }
    // One that leaves more than there is binds nothing; the kernel grants periods of 1 s at most.
    const LONGEST: Nanos = Nanos::from_secs(1);
    let is_granted = |quota: &CpuQuota| quota.period_ns <= LONGEST.as_ns();
    if let Some(quota) = situation.binding_quota().filter(is_granted) {
        let [time, period] = [quota.time_ns, quota.period_ns].map(|ns| Nanos::new(ns).exact());
        text += &format!(",quota={time},quota_period={period}");
    }
    if situation.has_autogroup {
        text += ",autogroup=on";
    }
    let mut rule = Rule::from(Model::parse(&text).map_err(NoRule::Model)?);
    if situation.is_real_time() {
        rule.before
            .push(Op::Set(Setting::Priority(Priority::RealTime)));
    }
    Ok(rule)
}

/// The model of the nearest version up to that of a kernel; if that is unknown, the general one.
/// The behaviour of 6.18 began with 6.17.
fn linux_of(kernel: Option<&str>) -> &'static str {
    let version = |kernel: &str| -> Option<(u32, u32)> {
        let mut numbers = kernel.split(|c: char| !c.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    match kernel.and_then(version) {
        None => "linux",
        Some((..=5, _) | (6, ..6)) => "linux-6.1",
        Some((6, 6..12)) => "linux-6.6",
        Some((6, 12..17)) => "linux-6.12",
        Some((6, _) | (7, 0)) => "linux-6.18",
        Some(_) => "linux-7.1",
    }
}

/// A wake-up that costs nothing, and a clock that takes what it takes here.
fn bare(situation: &Situation) -> String {
    let read = situation.clock_read.max(Nanos::new(1));
    format!("wake=0ns,nap=0ns,read={}", read.exact())
}

/// The generation decides, and the interval in force, as if a process asked for
/// it that is not this one.
fn windows(situation: &Situation) -> Result<Rule, NoRule> {
    let generation = situation.windows().ok_or(NoRule::Build)?;
    let interval = situation.interval.ok_or(NoRule::Interval)?;
    let mut text = format!(
        "{generation},interval={},{}",
        interval.coarsest.exact(),
        bare(situation)
    );
    if situation.throttles()
        && let Some(global) = situation.global_requests
    {
        text += &format!(",global={}", u8::from(global));
    }
    let (hardware, request) = hardware(generation, &interval)?;
    text += &format!(",hardware={hardware}");
    let mut rule = Rule::from(Model::parse(&text).map_err(NoRule::Model)?);
    if interval.current < interval.coarsest {
        rule.before.push(another_process_asks(request));
    }
    if let Some(throttling) = situation.throttling.filter(|_| situation.throttles()) {
        rule.before.push(Op::Set(Setting::Throttling(throttling)));
    }
    Ok(match situation.own_request {
        Some(own) => rule.asking(own),
        None => rule,
    })
}

/// The rounding of requests, and the request from which the stated interval came.
///
/// An interval in whole requests is as stated. Less than the least request is
/// that request, rounded down by the clock (0.4992 ms, AMD; 0.496 ms, Intel);
/// which clock it is, the simulator's own rounding shows.
fn hardware(generation: &str, interval: &TimerInterval) -> Result<(&'static str, Nanos), NoRule> {
    const LEAST: Nanos = Nanos::from_us(500);
    const UNIT_NS: u64 = 100;
    if interval.current >= LEAST || interval.current >= interval.coarsest {
        return Ok(("exact", interval.current));
    }
    for hardware in ["amd", "intel"] {
        let model = Model::parse(&format!("{generation},hardware={hardware}"));
        let stated = model.and_then(|model| stated_interval(&model, LEAST));
        let stated = stated.map_err(NoRule::Model)?;
        if stated.as_ns().abs_diff(interval.current.as_ns()) <= UNIT_NS {
            return Ok((hardware, LEAST));
        }
    }
    Err(NoRule::Clock(interval.current))
}

/// The interval that a model states when a process asks for one.
///
/// # Errors
/// It has none, or the request means nothing there.
pub(crate) fn stated_interval(model: &Model, request: Nanos) -> Result<Nanos, String> {
    let asks = Op::Set(Setting::request(request));
    let ops = vec![asks, Op::Read(Probe::Resolution)];
    let seen = SimMachine::new(model.clone(), 1).run(&ops.into());
    let seen = seen.map_err(|refusal| refusal.to_string())?;
    let mut readings = seen.threads.iter().flat_map(|t| &t.sections);
    let stated = readings.find_map(|section| section.readings.first());
    stated
        .map(|reading| reading.value)
        .ok_or_else(|| format!("{} states no timer interval", model.name()))
}

fn another_process_asks(interval: Nanos) -> Op {
    let asks = Op::Set(Setting::request(interval));
    // No one signals it: the request lasts to the end.
    let ops = vec![asks, Op::Await(Event(u32::MAX))];
    Op::spawn(SpawnKind::Process, "asks", ops)
}

#[cfg(test)]
pub(crate) mod tests {
    use punctual_core::Method;
    use punctual_program::setting::Throttling;
    use punctual_record::HostFacts;

    use super::*;

    /// How long each sleep of so many milliseconds takes in a loop.
    fn sleeps(rule: &Rule, ms: u64) -> Vec<u64> {
        let naps = Op::repeat(20, [Op::nap(Method::Sleep, Nanos::from_ms(ms))]);
        let program = vec![naps].into();
        let seen = SimMachine::new(rule.model().clone(), 1).run(&rule.around(&program));
        let samples = seen.unwrap().threads.remove(0).sections.remove(0).samples;
        let ms = Nanos::from_ms(ms).as_ns();
        let slept = |late: i64| ms + late as u64;
        // The first begins anywhere between two ticks.
        let lates = samples.iter().skip(2).map(|s| s.outcome.late.as_ns());
        lates.map(slept).collect()
    }

    pub(crate) fn linux(slack: Nanos) -> Situation {
        Situation {
            system: System::Linux,
            host: HostFacts {
                slack: Some(slack),
                ..HostFacts::default()
            },
            clock_read: Nanos::new(25),
            ..Situation::default()
        }
    }

    pub(crate) fn windows(build: u32, current_us: u64) -> Situation {
        Situation {
            system: System::Windows,
            host: HostFacts {
                kernel: Some(format!("10.0.{build}")),
                ..HostFacts::default()
            },
            interval: Some(TimerInterval {
                coarsest: Nanos::from_us(15_625),
                finest: Nanos::from_us(500),
                current: Nanos::from_us(current_us),
            }),
            clock_read: Nanos::new(25),
            ..Situation::default()
        }
    }

    fn slept(situation: &Situation, ms: u64) -> Vec<u64> {
        let mut slept = sleeps(&Rule::in_force(situation).unwrap(), ms);
        slept.dedup();
        slept
    }

    #[test]
    fn on_linux_slack_decides_and_a_real_time_policy_has_none() {
        for slack in [1, 50_000, 2_000_000] {
            let late = slept(&linux(Nanos::new(slack)), 1)[0] - 1_000_000;
            assert!((slack..=slack + 50).contains(&late), "{slack}: {late}");
        }
        let mut real_time = linux(Nanos::from_us(50));
        real_time.scheduling = Some("SCHED_FIFO, priority 1".to_owned());
        assert!(slept(&real_time, 1)[0] <= 1_000_050);
    }

    #[test]
    fn the_tick_is_said_where_the_model_knows_it() {
        let named = |hz| {
            let mut situation = linux(Nanos::from_us(50));
            situation.host.tick_hz = hz;
            let rule = Rule::in_force(&situation).unwrap();
            rule.model().name().to_owned()
        };
        assert!(named(Some(1_000)).contains(",hz=1000"));
        assert!(!named(Some(128)).contains("hz="));
        assert!(!named(None).contains("hz="));
    }

    /// With a fifth of a CPU in each 100 ms.
    fn limited() -> Situation {
        Situation {
            quota: Some(punctual_record::CpuQuota {
                time_ns: 20_000_000,
                period_ns: 100_000_000,
            }),
            ..linux(Nanos::from_us(50))
        }
    }

    #[test]
    fn the_kernel_its_preemption_and_the_quota_are_said() {
        let name = |situation: &Situation| {
            let rule = Rule::in_force(situation).unwrap();
            rule.model().name().to_owned()
        };
        for (kernel, model) in [
            (None, "linux"),
            (Some("unheard of"), "linux"),
            (Some("5.15.0-91-generic"), "linux-6.1"),
            (Some("6.1.0-18-amd64"), "linux-6.1"),
            (Some("6.6.87.2-microsoft-standard-WSL2"), "linux-6.6"),
            (Some("6.16.3"), "linux-6.12"),
            (Some("6.18.44"), "linux-6.18"),
            (Some("7.0.0-rc1"), "linux-6.18"),
            (Some("7.1.2"), "linux-7.1"),
            (Some("8.0.0"), "linux-7.1"),
        ] {
            let mut situation = linux(Nanos::from_us(50));
            situation.host.kernel = kernel.map(str::to_owned);
            assert_eq!(
                name(&situation).split(',').next(),
                Some(model),
                "{kernel:?}"
            );
        }
        let without = name(&linux(Nanos::from_us(50)));
        let mut situation = limited();
        situation.host.preemption_mode = Some("lazy".to_owned());
        situation.host.logical_cpus = Some(2);
        situation.host.slice = Some(Nanos::from_us(1_400));
        situation.has_autogroup = true;
        let all = name(&situation);
        for part in [
            "preempt=lazy",
            "cpus=2",
            "slice=700us",
            "quota=20ms,quota_period=100ms",
            "autogroup=on",
        ] {
            assert!(all.contains(part), "{all}");
            assert!(!without.contains(part), "{without}");
        }
        situation.host.preemption_mode = Some("unheard of".to_owned());
        assert!(!name(&situation).contains("preempt="));
    }

    /// In a quota of a fifth a computing thread is throttled for four fifths of the time; a
    /// sleeping one is not.
    #[test]
    fn what_is_predicted_knows_the_quota() {
        let took = |situation: &Situation| {
            let rule = Rule::in_force(situation).unwrap();
            let program = vec![Op::Work(Nanos::from_ms(200))].into();
            let seen = SimMachine::new(rule.model().clone(), 1).run(&rule.around(&program));
            seen.unwrap().threads[0].sections[0].cpu.elapsed
        };
        let free = linux(Nanos::from_us(50));
        assert!(took(&limited()) > Nanos::from_ms(800));
        assert!(took(&free) < Nanos::from_ms(201));
        assert_eq!(slept(&limited(), 1), slept(&free, 1));
    }

    #[test]
    fn a_quota_that_cannot_bind_is_no_part_of_the_rule() {
        let quota = |us: u64, cpus| {
            let mut situation = linux(Nanos::from_us(50));
            situation.host.logical_cpus = Some(cpus);
            situation.quota = Some(CpuQuota::new(Nanos::from_us(us), Nanos::from_ms(100)));
            let rule = Rule::in_force(&situation).unwrap();
            rule.model().name().contains("quota=")
        };
        for (us, cpus, is_said) in [
            (20_000, 2, true),
            (100_000, 2, true),
            (100_000, 1, false),
            (200_000, 2, false),
            (12_800_000, 2, false),
            (u64::MAX, 2, false),
        ] {
            assert_eq!(quota(us, cpus), is_said, "{us} us on {cpus}");
        }
    }

    #[test]
    fn a_kernel_with_another_scheduler_is_not_predicted_as_the_mainline_of_its_number() {
        for kernel in ["6.12.9-1-liquorix-amd64", "6.10.2-zen1-1-zen"] {
            let mut situation = linux(Nanos::from_us(50));
            situation.host.kernel = Some(kernel.to_owned());
            let why = Rule::in_force(&situation).unwrap_err();
            assert!(matches!(why, NoRule::Scheduler(name) if kernel.contains(&name)));
        }
        let mut situation = linux(Nanos::from_us(50));
        situation.host.sched_ext = Some("enabled, rusty".to_owned());
        assert!(matches!(
            Rule::in_force(&situation),
            Err(NoRule::Scheduler(_))
        ));
        situation.host.sched_ext = Some("disabled".to_owned());
        assert!(Rule::in_force(&situation).is_ok());
    }

    /// The timer-rule article, and PC-Tuning for the last two.
    #[test]
    fn on_windows_the_generation_decides_what_another_request_does() {
        let ms = |situation: &Situation| slept(situation, 1)[0] as f64 / 1e6;
        let about = |ms: f64, want: f64| assert!((ms - want).abs() < 0.01, "{ms} for {want}");
        for build in [7_601, 9_600, 18_363] {
            about(ms(&windows(build, 15_625)), 15.625);
            about(ms(&windows(build, 2_000)), 2.0);
        }
        about(ms(&windows(19_045, 15_625)), 15.625);
        about(ms(&windows(19_045, 2_000)), 16.0);
        let mut asks = windows(19_045, 2_000);
        asks.own_request = Some(Nanos::from_ms(2));
        about(ms(&asks), 2.0);
        about(ms(&windows(22_631, 15_625)), 15.625);
        let mut honoured = windows(22_631, 500);
        honoured.own_request = Some(Nanos::from_us(500));
        about(ms(&honoured), 1.5);
        honoured.throttling = Some(Throttling::IgnoreRequests);
        assert!(ms(&honoured) > 15.0);
    }

    #[test]
    fn the_registry_value_brings_the_old_rule_back_where_it_is_known() {
        let mut situation = windows(22_631, 2_000);
        assert!(slept(&situation, 1)[0] > 15_000_000);
        situation.global_requests = Some(true);
        assert!(slept(&situation, 1)[0] < 4_000_001);
        situation.host.kernel = Some("10.0.20348".to_owned());
        situation.global_requests = None;
        assert!(slept(&situation, 1)[0] < 4_000_001);
    }

    #[test]
    fn an_interval_below_the_least_request_names_the_clock_that_rounds() {
        for (ns, hardware) in [(499_200, "amd"), (496_000, "intel")] {
            let mut situation = windows(18_363, 500);
            if let Some(interval) = &mut situation.interval {
                interval.current = Nanos::new(ns);
            }
            let rule = Rule::in_force(&situation).unwrap();
            let name = rule.model().name();
            assert!(name.ends_with(&format!("hardware={hardware}")), "{name}");
            let slept = slept(&situation, 1)[0];
            assert!(slept.abs_diff(3 * ns) < 1_000, "{slept}");
        }
        let mut situation = windows(18_363, 500);
        if let Some(interval) = &mut situation.interval {
            interval.current = Nanos::from_us(123);
        }
        let why = Rule::in_force(&situation).unwrap_err();
        assert_eq!(why, NoRule::Clock(Nanos::from_us(123)));
    }

    #[test]
    fn where_no_rule_is_known_it_says_why() {
        let of = |system| {
            let situation = Situation {
                system,
                ..Situation::default()
            };
            Rule::in_force(&situation).unwrap_err()
        };
        for (system, why) in [
            (System::MacOs, NoRule::System),
            (System::Unknown, NoRule::System),
            (System::Linux, NoRule::Slack),
            (System::Windows, NoRule::Build),
        ] {
            assert_eq!(of(system), why);
        }
        let vista = Rule::in_force(&windows(6_002, 15_625));
        assert_eq!(vista.unwrap_err(), NoRule::Build);
    }
}
