//! The rules that a log may have been made by, as models of the simulator.

use punctual_core::{Method, Nanos};
use punctual_program::machine::Section;
use punctual_program::program::Op;
use punctual_program::setting::Setting;
use punctual_program::{Machine, Program};
use punctual_sim::{Model, SimMachine};

/// The costs of waking up in the models.
pub(super) const WAKE_NS: i64 = 10_000;

/// A timer slack from which on it is told apart from waking up.
pub(super) const LONG_SLACK: Nanos = Nanos::from_us(500);

/// The timer slacks that programs set. That of Android's background is 40 ms.
const SLACKS_US: [u64; 8] = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 50_000];

/// The waits of each length, in the mean, that show how late they are.
const ENOUGH: usize = 16;

/// A rule with its parameters.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The words for the user. Candidates of one rule differ in what a log cannot show.
    pub(super) rule: String,
    /// The model of the simulator, with its parameters.
    pub(super) model: String,
    /// The tick that it waits for, if it does.
    pub(super) grid_ns: Option<u64>,
    /// The timer slack, if the rule is one. It makes each wait as late as any other that nothing ends earlier.
    pub(super) slack: Option<Nanos>,
    /// The remedy for a program under it.
    pub(super) remedy: &'static str,
    setup: Vec<Op>,
    method: Method,
    /// The longest work before each wait; none if it begins as the one before ends.
    work_ns: u64,
}

/// The clock interrupts of Windows that programs ask for, and the one that is there without.
const INTERVALS_US: [u64; 8] = [15_625, 10_000, 8_000, 5_000, 4_000, 2_000, 1_000, 500];

pub(super) const REQUEST: &str = "A request for a shorter interval, or a high-resolution timer, would help: see `punctual simulate lowest-request-wins`.";
const SLACK: &str = "A timer slack of 1 ns would help: see `punctual slack` and `punctual doctor`.";
const HIGHRES: &str =
    "A high-resolution timer (clock_nanosleep, timerfd) would help: see `punctual doctor`.";
const TIER: &str =
    "A thread of a higher QoS class is coalesced less: see `punctual simulate --list`.";
const NOTHING: &str = "Nothing holds these waits back but waking up itself.";

/// Each rule, in each way that waits of these lengths can begin. `Sleep` of Windows takes whole milliseconds, and
/// its timers take others too.
pub(super) fn all(asked_ns: &[u64]) -> Vec<Candidate> {
    let are_whole_ms = asked_ns.iter().all(|ns| ns % 1_000_000 == 0);
    let by_ticks: &[Method] = match are_whole_ms {
        true => &[Method::WindowsSleep],
        false => &[Method::WindowsSleep, Method::WaitableTimer],
    };
    let mut all = Vec::new();
    let mut add = |rule: String, grid_ns, slack, model: &str, remedy, setup: &[Op], method| {
        for work_ns in [0, 300_000, 16_000_000] {
            all.push(Candidate {
                rule: rule.clone(),
                grid_ns,
                slack,
                model: format!("{model},wake=10us,jitter=1us"),
                remedy,
                setup: setup.to_vec(),
                method,
                work_ns,
            });
        }
    };
    for us in INTERVALS_US {
        let interval = Nanos::from_us(us);
        let own = match us {
            15_625 => vec![],
            _ => vec![Op::Set(Setting::request(interval))],
        };
        let rule = format!("Windows with a clock interrupt every {interval}");
        for model in [
            "windows-xp",
            "windows-7",
            "windows-10-1909",
            "windows-10-2004",
            "windows-7,base=now",
        ] {
            for method in by_ticks {
                add(
                    rule.clone(),
                    Some(us * 1_000),
                    None,
                    model,
                    REQUEST,
                    &own,
                    *method,
                );
            }
        }
    }
    let high = "Windows with a high-resolution timer".to_owned();
    add(
        high,
        None,
        None,
        "windows-10-2004",
        NOTHING,
        &[],
        Method::HighResolutionTimer,
    );
    for hz in [100, 250, 300, 1_000] {
        let jiffy = Some(1_000_000_000 / hz);
        let rule = format!("Linux timers of the wheel at {hz} Hz");
        add(
            rule,
            jiffy,
            None,
            &format!("linux,hz={hz}"),
            HIGHRES,
            &[],
            Method::SocketTimeout,
        );
        let rule = format!("Linux without high-resolution timers at {hz} Hz");
        add(
            rule,
            jiffy,
            None,
            &format!("linux,highres=off,hz={hz}"),
            HIGHRES,
            &[],
            Method::ClockNanosleep,
        );
    }
    for tier in 0..4 {
        for interrupts in [0, 250] {
            let model = format!("macos,tier={tier},interrupts={interrupts}");
            add(
                format!("macOS with latency tier {tier}"),
                None,
                None,
                &model,
                TIER,
                &[],
                Method::Nanosleep,
            );
        }
    }
    // The slack that Linux gives to each thread, none, and those that programs set.
    let set = SLACKS_US.map(Nanos::from_us);
    for slack in [Nanos::from_us(50), Nanos::new(1)].into_iter().chain(set) {
        add(
            format!("Linux with a timer slack of {slack}"),
            None,
            Some(slack),
            &format!("linux,slack={slack}").replace(' ', ""),
            if slack == Nanos::new(1) {
                NOTHING
            } else {
                SLACK
            },
            &[],
            Method::ClockNanosleep,
        );
    }
    all
}

/// The lengths of waits, several times if few waits are of one length: chance and work make those
/// differ.
pub(super) fn often_enough(asked_ns: &[u64]) -> Vec<u64> {
    let mut lengths = asked_ns.to_vec();
    lengths.sort_unstable();
    lengths.dedup();
    asked_ns.repeat((ENOUGH * lengths.len()).div_ceil(asked_ns.len().max(1)))
}

impl Candidate {
    /// Whether it is a timer slack that is longer than waking up takes.
    pub(super) fn is_long_slack(&self) -> bool {
        self.slack.is_some_and(|slack| slack >= LONG_SLACK)
    }

    /// Whether both are of one rule, as far as a log shows: of one name, or ticks of one length.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.rule == other.rule || (self.grid_ns.is_some() && self.grid_ns == other.grid_ns)
    }

    /// How late each of these waits would be, in nanoseconds, if waking up cost [`WAKE_NS`]; `None` if the
    /// model cannot wait so.
    pub(super) fn overshoots(&self, asked_ns: &[u64]) -> Option<Vec<i64>> {
        let model = Model::parse(&self.model).ok()?;
        let mut ops = self.setup.clone();
        // The first begins wherever the computer is.
        ops.extend([Op::nap(self.method, Nanos::from_ms(5)), Op::Record]);
        for (i, ns) in asked_ns.iter().enumerate() {
            if self.work_ns > 0 {
                ops.push(Op::Work(Nanos::new(self.work_ns(i as u64))));
            }
            ops.push(Op::nap(self.method, Nanos::new(*ns)));
        }
        let mut machine = SimMachine::new(model, 1);
        let mut seen = machine.run(&Program::from(ops)).ok()?;
        let section: Section = seen.threads.first_mut()?.sections.pop()?;
        let late = section
            .samples
            .iter()
            .map(|sample| sample.outcome.late.as_ns());
        let late: Vec<i64> = late.collect();
        (late.len() == asked_ns.len()).then_some(late)
    }

    /// The work before a wait: multiples of the golden ratio leave no length out.
    fn work_ns(&self, i: u64) -> u64 {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        (self.work_ns * ((i + 1).wrapping_mul(GOLDEN) >> 32)) >> 32
    }
}
