//! The situation of this process on this host.

use punctual_core::setting::Priority;
use punctual_core::{Method, Nanos};
use punctual_os::cgroups::CpuGroups;
use punctual_os::wait::Sleeper;
use punctual_os::{clock, facts, priority, resolution, spin, throttling};
use punctual_record::{HostFacts, Situation, System, Throttled, TimerInterval};

use crate::host::recorded;

/// Asks for a timer interval until what it returns is dropped.
pub use punctual_os::resolution::hold;

/// Reads the situation of the calling thread and its process. What is not
/// allowed to be read is not told.
pub fn situation() -> Situation {
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
        quota: groups.quota().map(recorded),
        throttled: groups.throttled().map(|throttled| Throttled {
            periods: throttled.periods,
            time_ns: throttled.time.as_ns(),
        }),
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

/// Tries a real-time policy on Linux, with a thread that ends at once: limits and
/// capabilities do not tell all that refuses it, as a control group or a sandbox.
fn real_time() -> Option<Result<(), String>> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return None;
    }
    let tried = std::thread::spawn(|| priority::set(Priority::RealTime));
    let answer = tried.join().ok()?;
    Some(answer.map_err(|why| why.to_string()))
}

/// Whose timers those of this host are.
pub(crate) fn system(host: &HostFacts) -> System {
    match (std::env::consts::OS, &host.wine) {
        ("linux" | "android", _) => System::Linux,
        ("windows", Some(version)) => System::Wine(version.clone()),
        ("windows", None) => System::Windows,
        ("macos", _) => System::MacOs,
        (other, _) => System::Other(other.to_owned()),
    }
}

/// What one reading of the clock takes: the least of a few means.
fn clock_read_cost() -> Nanos {
    const READINGS: u64 = 1_000;
    let mean = |_| {
        let begin = clock::now();
        let last = (1..READINGS).fold(begin, |_, _| clock::now());
        Nanos::new(last.since(begin).as_ns() / (READINGS - 1))
    };
    (0..5).map(mean).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_on_every_system_is_told() {
        let here = situation();
        assert_ne!(here.system, System::Unknown);
        assert!(here.sleep.is_some() && here.timer.is_some());
        assert!(!here.clock.is_empty() && !here.clock_read.is_zero());
        assert_eq!(here.host.slack.is_some(), here.system == System::Linux);
    }
}
