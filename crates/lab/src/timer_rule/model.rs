//! The situation of a process on a simulated computer.

use punctual_core::setting::Throttling;
use punctual_core::{Method, Nanos};
use punctual_record::{CpuQuota, HostFacts, Situation, System, TimerInterval};
use punctual_sim::Model;
use punctual_sim::model::Value;

/// The situation of an ordinary process on a simulated computer.
///
/// # Errors
/// It follows no timer rule of an operating system.
pub fn situation(model: &Model) -> Result<Situation, String> {
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
            .map(|(time, period)| CpuQuota {
                time_ns: time.as_ns(),
                period_ns: period.as_ns(),
            }),
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
