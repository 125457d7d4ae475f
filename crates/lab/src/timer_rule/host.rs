//! The situation of this process on this host.

use punctual_core::{Method, Nanos};
use punctual_os::wait::Sleeper;
use punctual_os::{Error, clock, facts, resolution, throttling};
use punctual_record::{Situation, System, TimerInterval};

/// Reads the situation of the calling thread and its process. What is not
/// allowed to be read is not told.
pub fn situation() -> Situation {
    let f = facts::facts();
    let mut sleeper = Sleeper::new();
    let mut granted = |method| sleeper.prepare(method).ok();
    Situation {
        system: match (f.os, &f.wine) {
            ("linux" | "android", _) => System::Linux,
            ("windows", Some(version)) => System::Wine(version.clone()),
            ("windows", None) => System::Windows,
            ("macos", _) => System::MacOs,
            (other, _) => System::Other(other.to_owned()),
        },
        model: None,
        release: f.os_version,
        preemption: f.preemption.map(|kind| match f.preemption_mode {
            Some(mode) => format!("{kind}, mode {mode}"),
            None => kind,
        }),
        cpus: Some(match f.cpu_model {
            Some(model) => format!("{} x {model}", f.logical_cpus),
            None => f.logical_cpus.to_string(),
        }),
        build: f.windows_build,
        slack: f.slack,
        scheduling: f.scheduling,
        interval: resolution::query().ok().map(|r| TimerInterval {
            coarsest: r.coarsest,
            finest: r.finest,
            current: r.current,
        }),
        own_request: None,
        throttling: throttling::state().ok(),
        global_requests: f.global_timer_requests,
        virtual_machine: f.virtual_machine,
        hypervisor: f.hypervisor,
        clock: f.clock.to_owned(),
        clock_source: f.clock_source,
        clock_read: clock_read_cost(),
        tick_hz: f.tick_hz,
        cpuidle_driver: f.cpuidle_driver,
        halt_poll: f.halt_poll,
        deepest_idle_state: f.deepest_idle_state,
        deepest_idle_exit: f.deepest_idle_exit,
        governor: f.governor,
        on_battery: f.on_battery,
        cpu_dma_latency: f.cpu_dma_latency,
        spin: f.spin.to_owned(),
        sleep: granted(Method::Sleep),
        timer: granted(Method::Timer),
    }
}

/// Asks for a timer interval until what this returns is dropped.
///
/// # Errors
/// Says why this system does not grant it.
pub fn hold(interval: Nanos) -> Result<resolution::Guard, Error> {
    resolution::hold(interval)
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
        assert_eq!(here.slack.is_some(), here.system == System::Linux);
    }
}
