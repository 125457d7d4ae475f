//! The situation of a process: of this one on this host, or of an ordinary one on a simulated
//! computer.

use punctual_core::setting::{Priority, Throttling};
use punctual_core::{Method, Nanos};
use punctual_os::cgroups::CpuGroups;
use punctual_os::wait::Sleeper;
use punctual_os::{clock, facts, priority, resolution, spin, throttling};
use punctual_record::{CpuQuota, HostFacts, Situation, System, TimerInterval};
use punctual_sim::Model;
use punctual_sim::model::Value;

/// Reads the situation of the calling thread and its process. Facts that may not be read are left
/// out.
pub fn of_host() -> Situation {
    let host = facts::facts();
    let mut sleeper = Sleeper::new();
    let mut granted = |method| sleeper.prepare(method).ok();
    let groups = CpuGroups::of_this_process();
    Situation {
        system: system(&host),
        model: None,
        host,
        scheduling: priority::current(),
        real_time: real_time(),
        quota: groups.quota(),
        quota_file: groups.quota_file(),
        throttled: groups.throttled(),
        has_autogroup: groups.is_in_autogroup(),
        stolen_fraction: facts::stolen_fraction(),
        on_battery: facts::on_battery(),
        interval: resolution::query().ok().map(|r| TimerInterval {
            coarsest: r.coarsest,
            finest: r.finest,
            current: r.current,
        }),
        own_request: None,
        throttling: throttling::state().ok(),
        global_requests: facts::global_timer_requests(),
        clock: clock::name().to_owned(),
        clock_read: clock_read_cost(),
        spin: spin::kind().name().to_owned(),
        sleep: granted(Method::Sleep),
        timer: granted(Method::Timer),
    }
}

/// Tries a real-time policy on Linux, with a thread that ends at once. Limits and capabilities do
/// not show every refusal, such as that of a control group or a sandbox.
fn real_time() -> Option<Result<(), String>> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return None;
    }
    let tried = std::thread::spawn(|| priority::set(Priority::RealTime));
    let answer = tried.join().ok()?;
    Some(answer.map_err(|why| why.to_string()))
}

/// The system whose timers this host has.
pub(crate) fn system(host: &HostFacts) -> System {
    match (std::env::consts::OS, &host.wine) {
        ("linux" | "android", _) => System::Linux,
        ("windows", Some(version)) => System::Wine(version.clone()),
        ("windows", None) => System::Windows,
        ("macos", _) => System::MacOs,
        (other, _) => System::Other(other.to_owned()),
    }
}

/// The cost of reading the clock: the least of a few means.
fn clock_read_cost() -> Nanos {
    const READINGS: u64 = 1_000;
    let mean = |_| {
        let begin = clock::now();
        let last = (1..READINGS).fold(begin, |_, _| clock::now());
        Nanos::new(last.since(begin).as_ns() / (READINGS - 1))
    };
    (0..5).map(mean).min().unwrap_or_default()
}

/// The situation of an ordinary process on a simulated computer.
///
/// # Errors
/// It follows no timer rule of an operating system.
pub fn of_model(model: &Model) -> Result<Situation, String> {
    let name = model.name().split(',').next().unwrap_or_default();
    let value = |key: &str| {
        let mut parameters = model.parameters().iter();
        let (_, value) = parameters.find(|(parameter, _)| parameter.key == key)?;
        Some(*value)
    };
    let length = |key| match value(key)? {
        Value::Length(length) => Some(length),
        _ => None,
    };
    let choice = |key| match value(key)? {
        Value::Choice(word) => Some(word),
        _ => None,
    };
    let system = match name {
        name if name == "linux" || name.starts_with("linux-") => System::Linux,
        "macos" => System::MacOs,
        "wine" => System::Wine("simulated".to_owned()),
        name if name.starts_with("windows-") => System::Windows,
        _ => {
            return Err(format!(
                "{name} follows the timer rule of no operating system, so there is nothing to explain; name one that does, such as linux or windows-11"
            ));
        }
    };
    let coarsest = length("interval");
    let mut situation = Situation {
        model: Some(model.name().to_owned()),
        host: HostFacts {
            slack: length("slack").filter(|_| system == System::Linux),
            tick_hz: choice("hz").and_then(|hz| hz.parse().ok()),
            cpuidle_driver: choice("idle").map(str::to_owned),
            ..HostFacts::default()
        },
        quota: length("quota")
            .filter(|time| !time.is_zero())
            .zip(length("quota_period"))
            .map(|(time, period)| CpuQuota::new(time, period)),
        has_autogroup: choice("autogroup") == Some("on"),
        scheduling: (system == System::Linux).then(|| "SCHED_OTHER, nice 0".to_owned()),
        interval: coarsest.map(|coarsest| TimerInterval {
            coarsest,
            finest: FINEST.min(coarsest),
            current: coarsest,
        }),
        clock: "virtual time".to_owned(),
        clock_read: model.costs().read,
        spin: format!("a clock reading every {}", model.costs().read),
        sleep: model.resolve(Method::Sleep),
        timer: model.resolve(Method::Timer),
        system,
        ..Situation::default()
    };
    if situation.throttles() {
        situation.throttling = Some(Throttling::BySystem);
        situation.global_requests = Some(matches!(value("global"), Some(Value::Count(1))));
    }
    Ok(situation)
}

/// No request of Windows gets less (`NtQueryTimerResolution`: 5000).
const FINEST: Nanos = Nanos::from_us(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_on_every_system_is_told() {
        let here = of_host();
        assert_ne!(here.system, System::Unknown);
        assert!(here.sleep.is_some() && here.timer.is_some());
        assert!(!here.clock.is_empty() && !here.clock_read.is_zero());
        assert_eq!(here.host.slack.is_some(), here.system == System::Linux);
    }
}
