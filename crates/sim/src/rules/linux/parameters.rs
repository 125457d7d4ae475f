use punctual_core::Nanos;

use super::rule::{Linux, NoHz};
use super::versions::SCHEDULER;
use super::wheel::Wheel;
use crate::clock::Time;
use crate::model::{
    Confidence, Domain, Fair, Parameter, Parameters, Parity, Quota, RealTimeLimit, Scheduling,
};

impl Linux {
    pub(crate) const PARAMETERS: &[Parameter] = &[
        Parameter {
            key: "slack",
            what: "timer slack of a thread that nobody changed",
            kind: Domain::Length(Nanos::new(1), Nanos::from_secs(1)),
            default: "50us",
            confidence: Confidence::A,
            source: "prctl(2), PR_SET_TIMERSLACK",
        },
        Parameter {
            key: "hz",
            what: "ticks a second; a tick is a jiffy",
            kind: Domain::Choice(&["100", "250", "300", "1000"]),
            default: "250",
            confidence: Confidence::C,
            source: "the default of kernel/Kconfig.hz; distributions choose, often 250 or 1000",
        },
        Parameter {
            key: "nohz",
            what: "which CPUs do not tick: idle ones, none, or busy ones either",
            kind: Domain::Choice(&["idle", "periodic", "full"]),
            default: "idle",
            confidence: Confidence::A,
            source: "Documentation/timers/no_hz.rst",
        },
        Parameter {
            key: "highres",
            what: "high-resolution timers; without them every timer waits for a tick",
            kind: Domain::Choice(&["on", "off"]),
            default: "on",
            confidence: Confidence::A,
            source: "time(7); Documentation/timers/highres.rst",
        },
        Parameter {
            key: "slice",
            what: "EEVDF slice on one CPU, before it is scaled by the number of CPUs",
            kind: Domain::Length(Nanos::from_us(100), Nanos::from_ms(100)),
            default: "700us",
            confidence: Confidence::A,
            source: "kernel/sched/fair.c, sysctl_sched_base_slice; 750 us in older kernels",
        },
    ];

    pub(crate) const SCHEDULER: &[Parameter] = SCHEDULER;

    pub(crate) fn new(parameters: &Parameters) -> Self {
        let nohz = match parameters.choice("nohz") {
            "periodic" => NoHz::Periodic,
            "full" => NoHz::Full,
            _ => NoHz::Idle,
        };
        let is_high_resolution = parameters.choice("highres") == "on";
        Self::configured(
            parameters.length("slack"),
            wheel(parameters),
            nohz,
            is_high_resolution,
        )
        .with_slices(parameters.choice("slices") == "own")
        .with_migration(parameters.choice("timer_migration") == "on")
    }

    /// A slice grows with the binary logarithm of the number of
    /// CPUs, of which at most eight count (`get_update_sysctl_factor`,
    /// kernel/sched/fair.c).
    pub(crate) fn scheduling(parameters: &Parameters) -> Scheduling {
        let counted = parameters.count("cpus").min(8).ilog2();
        let slice = parameters.length("slice").times(u64::from(1 + counted));
        let jiffy = wheel(parameters).jiffy();
        let is = |key, word| parameters.choice(key) == word;
        let quota = Quota {
            time: parameters.length("quota").into(),
            period: parameters.length("quota_period").into(),
        };
        Scheduling::Fair(Fair {
            slice: slice.into(),
            tick: is("hrtick", "off").then_some(jiffy),
            jiffy,
            is_cfs: is("scheduler", "cfs"),
            parity: match parameters.choice("parity") {
                "slice" => Parity::Slice,
                "shortest" => Parity::Shortest,
                _ => Parity::Off,
            },
            delays: is("dequeue", "delayed"),
            is_lazy: is("preempt", "lazy"),
            real_time: match parameters.choice("rt_limit") {
                "throttled" => RealTimeLimit::Throttled,
                "server" => RealTimeLimit::Server,
                _ => RealTimeLimit::None,
            },
            quota: Some(quota).filter(|quota| quota.time > Time::ZERO),
            has_autogroup: is("autogroup", "on"),
        })
    }
}

fn wheel(parameters: &Parameters) -> Wheel {
    Wheel::new(
        parameters
            .choice("hz")
            .parse()
            .expect("a choice of numbers"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing;

    fn scheduling(given: &str) -> Fair {
        match Linux::scheduling(&testing::parameters("linux", given)) {
            Scheduling::Fair(fair) => fair,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn slices_grow_with_the_logarithm_of_up_to_eight_cpus() {
        for (cpus, us) in [(1, 700), (2, 1_400), (4, 2_100), (8, 2_800), (16, 2_800)] {
            let fair = scheduling(&format!("cpus={cpus}"));
            assert_eq!(fair.slice, Time::from_ns(1_000 * us), "{cpus} CPUs");
            assert_eq!(fair.tick, Some(Time::from_ns(4_000_000)));
        }
        let fair = scheduling("slice=3ms,hz=300,cpus=1");
        assert_eq!(fair.slice, Time::from_ns(3_000_000));
        assert_eq!(fair.tick, Some(Time::from_thirds(10_000_000)));
        assert_eq!(scheduling("hrtick=on").tick, None);
    }
}
