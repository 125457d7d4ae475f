//! How a computer shares out its CPUs.

use punctual_rules::{Time, linux};

use super::Parameters;

/// The scheduling when there are more threads than CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Each thread has a CPU of its own.
    Unlimited,
    /// One queue for each priority, the same for all CPUs. A thread that is
    /// more important takes the CPU at once; threads of the same priority take
    /// turns of a quantum.
    Quantum {
        /// How long a turn is.
        length: Time,
        /// The turns of equals and of lower priorities.
        turns: Turns,
    },
    /// Linux: a queue for each CPU, in which every thread gets its share.
    Fair(Fair),
}

/// How a Linux shares out its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fair {
    /// The slice, from which deadlines follow, or the least granularity of CFS.
    pub slice: Time,
    /// The grid on which slices end; `None` if they end by a timer of their own.
    pub tick: Option<Time>,
    /// From one tick to the next.
    pub jiffy: Time,
    /// CFS instead of EEVDF.
    pub is_cfs: bool,
    /// Up to where who runs is safe from who wakes.
    pub parity: Parity,
    /// Whether who sleeps takes part until what it had too much is made up for.
    pub delays: bool,
    /// Whether a thread that yields gives up the rest of its slice, and not only its place.
    pub forfeits: bool,
    /// Whether who is woken from another CPU waits for a tick.
    pub is_lazy: bool,
    /// Whether a thread of the kernel ends the waits of ordinary threads (`PREEMPT_RT`).
    pub has_timer_thread: bool,
    /// The limit of real-time threads.
    pub real_time: RealTimeLimit,
    /// The quota that all processes share.
    pub quota: Option<Quota>,
    /// Whether those that are in no control group are one competitor beside those that are.
    pub has_autogroup: bool,
}

/// Up to where the thread that runs is safe from those that wake (`RUN_TO_PARITY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// Nowhere.
    Off,
    /// Its slice, while it has not had more than its share.
    Slice,
    /// The shortest slice in its queue, likewise.
    Shortest,
}

/// The limit that keeps real-time threads from taking all of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTimeLimit {
    /// Nothing.
    None,
    /// They get 950 ms of each second and no more.
    Throttled,
    /// Ordinary threads that waited for 950 ms get 50.
    Server,
}

/// The CPU time that a group of processes gets in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// How much, of all CPUs together.
    pub time: Time,
    /// How often.
    pub period: Time,
    /// How much of what earlier periods left one may use on top.
    pub burst: Time,
}

/// How turns of a quantum end, and how those that matter less come to a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// At the ticks of the rule only; who has waited or starved is raised. Windows.
    AtTicks(Boosts),
    /// Anywhere; each priority has a deadline by which it has a turn. macOS.
    Buckets {
        /// Whether who used much of a CPU comes after others of the same priority.
        decays: bool,
    },
}

/// The boosts of Windows for threads that waited, and for the process in the foreground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boosts {
    /// How long the turn of a raised thread is.
    pub tick: Time,
    /// The levels of priority for a wait that an event ended.
    pub by_event: usize,
    /// The levels for any wait in the foreground.
    pub in_foreground: usize,
    /// How many usual turns a turn in the foreground is.
    pub turns_in_foreground: u64,
}

/// How a Linux shares out its CPUs.
///
/// A slice grows with the binary logarithm of the number of
/// CPUs, of which at most eight count (`get_update_sysctl_factor`,
/// kernel/sched/fair.c).
pub(super) fn of_linux(parameters: &Parameters) -> Scheduling {
    let counted = parameters.count("cpus").min(8).ilog2();
    let slice = parameters.length("slice").times(u64::from(1 + counted));
    let hz = parameters.choice("hz").parse();
    let jiffy = linux::jiffy(hz.expect("a choice of numbers"));
    let is = |key, word| parameters.choice(key) == word;
    let quota = Quota {
        time: parameters.length("quota").into(),
        period: parameters.length("quota_period").into(),
        burst: parameters.length("quota_burst").into(),
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
        forfeits: is("yields", "slice"),
        is_lazy: is("preempt", "lazy"),
        has_timer_thread: is("preempt", "rt"),
        real_time: match parameters.choice("rt_limit") {
            "throttled" => RealTimeLimit::Throttled,
            "server" => RealTimeLimit::Server,
            _ => RealTimeLimit::None,
        },
        quota: Some(quota).filter(|quota| quota.time > Time::ZERO),
        has_autogroup: is("autogroup", "on"),
    })
}

/// How macOS shares out its CPUs.
pub(super) fn of_macos(parameters: &Parameters) -> Scheduling {
    Scheduling::Quantum {
        length: parameters.length("quantum").into(),
        turns: Turns::Buckets {
            decays: parameters.choice("decay") == "on",
        },
    }
}

/// How Windows shares out its CPUs.
pub(super) fn of_windows(parameters: &Parameters) -> Scheduling {
    let interval = Time::from(parameters.length("interval"));
    let foreground = parameters.count("foreground");
    // One tick. That is the next one also for a thread that runs so long after the tick that
    // woke it, so that much less (confidence C).
    let waking = Time::from(parameters.length("wake") + parameters.length("jitter"));
    let tick = (interval - waking).max(Time::from_thirds(interval.as_thirds() / 2));
    Scheduling::Quantum {
        length: interval.times(parameters.count("quantum")),
        turns: Turns::AtTicks(Boosts {
            tick,
            by_event: parameters.count("boost") as usize,
            in_foreground: foreground as usize,
            turns_in_foreground: match parameters.choice("quanta") {
                "variable" => 1 + foreground,
                _ => 1,
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    fn parameters(model: &str, given: &str) -> Parameters {
        let model = Model::parse(&[model, given].join(","));
        model.unwrap().parameters().clone()
    }

    fn scheduling(given: &str) -> Fair {
        match of_linux(&parameters("linux", given)) {
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

    #[test]
    fn macos_has_buckets_and_decay() {
        let model = Model::parse("macos").unwrap();
        assert_eq!(
            of_macos(model.parameters()),
            Scheduling::Quantum {
                length: Time::from_ns(6_000_000),
                turns: Turns::Buckets { decays: true },
            }
        );
    }
}
