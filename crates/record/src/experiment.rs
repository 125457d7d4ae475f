//! The experiments: each with its parameters, and its findings besides the lateness and cost of
//! its waits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::disturbance::CpuQuota;
use crate::findings::Verdict;
use crate::late::{Mode, percentile};
use crate::logged::{Logged, LoggedKind};
use crate::traced::Traced;

/// One experiment each. Files name them by the tag `experiment`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "experiment", rename_all = "kebab-case")]
pub enum Experiment {
    /// Waits at a rate.
    Pace(Pace),
    /// Requests of every length.
    Decades(Decades),
    /// CPU time by the length of the interval.
    Interval(IntervalLength),
    /// Naps by OS call and length.
    Naps(Naps),
    /// Relative error by the request and the scheduler's period.
    Robustness(Robustness),
    /// `adaptive` beside the best of the others, by regime and condition.
    Regimes(Regimes),
    /// Steps of clocks and what reading them takes.
    Clocks(Clocks),
    /// The lengths of short sleeps, and the ticks behind them.
    Timers(Timers),
    /// Waits with each call of the OS.
    Sleep(Sleep),
    /// Yields alone and beside a competitor.
    Yield(Yield),
    /// Waits on a loaded computer.
    Load(Load),
    /// Waits on each CPU.
    Cores(Cores),
    /// Waking up by the time asleep.
    Gap(Gap),
    /// The threads of a scenario in one phase.
    Scenario(Box<ScenarioThreads>),
    /// The computer under them in one phase.
    ScenarioComputer(Box<ScenarioComputer>),
    /// How late a host's timers were while it was watched.
    Watch(Box<Watch>),
    /// Waits beside what the timer rule in force predicts.
    Doctor(Doctor),
    /// Waits or frames that another program logged.
    Log(Box<Logged>),
    /// Waits of another program, by thread, call and length.
    Trace(Box<Traced>),
}

/// A default that was never measured: nothing of any clock.
impl Default for Experiment {
    fn default() -> Self {
        Self::Clocks(Clocks::default())
    }
}

/// Waits at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pace {
    /// The time from one deadline to the next.
    pub period_ns: u64,
    /// The waits per second.
    pub rate_hz: f64,
    /// The start from which deadlines are counted.
    pub deadlines: Deadlines,
    /// Waits of each batch before those that count.
    pub warm_up_waits: u64,
    /// How batches after the first begin.
    pub learning: Learning,
    /// The times from one wake to the next; of several threads those of the first.
    pub frames: Option<Frames>,
    /// The threads that waited at this rate, if more than one; all were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Crowd>,
}

/// Threads of one process that wait at the same rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crowd {
    /// How many.
    pub threads: u32,
    /// Whether all wait for the same instants. Otherwise their instants are spread over the
    /// period.
    pub same: bool,
}

/// The start from which deadlines are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Deadlines {
    /// The beginning: they are the cycles of the rate.
    Absolute,
    /// The end of the wait before: the article's frames.
    Relative,
}

/// How a batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Learning {
    /// With what the subject has learned in those before, as older versions measured. Their
    /// rounds are of one waiter, so their intervals do not tell what another one costs.
    #[serde(rename = "keeps state")]
    KeepsState,
    /// With a fresh waiter, so that the rounds are independent.
    #[serde(rename = "starts over")]
    StartsOver,
}

/// The times from one wake to the next, as a player of a game sees them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The mean distance from the period.
    pub mean_abs_error_ns: f64,
}

/// Requests of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decades {
    /// The length.
    pub asked_ns: u64,
}

/// Waits at one interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalLength {
    /// The time from one deadline to the next.
    pub period_ns: u64,
    /// The times from one wake to the next.
    pub frames: Option<Frames>,
}

/// Naps of one length with one OS call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Naps {
    /// The call.
    pub method: String,
    /// The length.
    pub asked_ns: u64,
}

/// Requests of one length under a scheduler that steals time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Robustness {
    /// The length.
    pub asked_ns: u64,
    /// The period of the scheduler.
    pub scheduler_period_ns: u64,
    /// The mean distance from the deadline, over the length; `None` if no wait ended.
    pub relative_error: Option<f64>,
}

/// Waits in a regime under a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Regimes {
    /// The waits.
    pub regime: String,
    /// The other load.
    pub condition: String,
}

/// Further findings about the subject of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegimeBatch {
    /// The median lateness on the caller's clock.
    pub late_ns_p50: i64,
    /// The same as the waiter itself reported it; peers report none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_late_ns_p50: Option<i64>,
    /// The seconds in which it was trapped; `None` where that was not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trapped_s: Option<u32>,
    /// The number of waits after the end of the load until waits were normal again; `None` where
    /// that was not measured, or never happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_after_waits: Option<u32>,
    /// Whether that was looked for.
    #[serde(default)]
    pub load_ended: bool,
}

/// The properties of one clock of the OS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocks {
    /// The resolution that the OS states.
    pub stated_ns: Option<u64>,
    /// By how much it moves on at once.
    pub step_ns: Option<Lengths>,
    /// Whether it shows the time of the last tick.
    pub tick_written: Option<bool>,
    /// The length of one tick, for a clock that ticks write.
    pub tick_ns: Option<u64>,
    /// How many of its steps were of several ticks.
    pub longer_steps: Option<u64>,
    /// The cost of one reading.
    pub read_cost_ns: Option<Lengths>,
}

/// When a sleep begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arming {
    /// As soon as the one before it has ended.
    #[default]
    AfterWake,
    /// After work of a random length.
    RandomPhase,
}

impl Arming {
    /// Its name in a Run.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfterWake => "after-wake",
            Self::RandomPhase => "random-phase",
        }
    }
}

/// Sleeps of one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timers {
    /// The length asked for.
    pub asked_ns: u64,
    /// When a sleep begins.
    pub arming: Arming,
    /// Which round, counted from 0.
    pub round: u32,
    /// The timer interval that the OS says is in force.
    pub stated_ns: Option<u64>,
    /// The timer slack of the thread.
    pub slack_ns: Option<u64>,
    /// The clock that the tick writes.
    pub step_clock: Option<String>,
    /// The median of its steps.
    pub step_ns: Option<u64>,
    /// How long the first sleep was, which does not count.
    pub first_slept_ns: Option<u64>,
    /// How long the others were.
    pub slept_ns: Option<Lengths>,
    /// The few lengths that they had.
    pub modes: Vec<Mode>,
}

/// Waits of one length with one call of the OS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sleep {
    /// The call.
    pub method: String,
    /// The length.
    pub asked_ns: u64,
}

/// Yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Yield {
    /// How many threads compute on the same CPU.
    pub competitors: u64,
}

/// Waits beside threads that compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// The length.
    pub asked_ns: u64,
    /// Threads that compute, for each CPU.
    pub load_per_cpu: f64,
    /// The priority of who waits.
    pub priority: String,
}

/// Waits on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cores {
    /// The number of the CPU.
    pub on_cpu: u64,
    /// The length.
    pub asked_ns: u64,
    /// The kind of core, where the OS tells kinds apart.
    pub core_type: Option<String>,
}

/// Waits after a rest of their own length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// The call.
    pub method: String,
    /// The length.
    pub asked_ns: u64,
}

/// Where in a scenario something was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// The scenario.
    pub scenario: String,
    /// The machine.
    pub on: String,
    /// The phase.
    pub phase: String,
    /// Which it is, counted from 0.
    pub phase_index: u64,
}

/// The threads of one name in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioThreads {
    /// Where.
    #[serde(flatten)]
    pub at: Phase,
    /// How many there were.
    pub threads: u64,
    /// Their CPU time.
    pub cpu_total_ns: u64,
    /// Sleeps and waits of all of them.
    pub wakes: u64,
    /// The same per second, of each.
    pub wakes_per_s: Option<f64>,
    /// The shares of a CPU of the least and of the busiest, of several.
    pub cpu_fractions: Option<Range<f64>>,
    /// Settings to which the OS answered with an error.
    pub denied: u64,
    /// How long sleeps were.
    pub slept_ns: Option<Lengths>,
    /// The shortest and the longest that was asked for.
    pub asked_ns: Option<Range<u64>>,
    /// The few lengths that sleeps had.
    pub modes: Vec<Mode>,
    /// The times from the end of one wait to the end of the next.
    pub frame_ns: Option<Tail>,
    /// The times from a signal to the end of the wait for it.
    pub since_signal_ns: Option<Tail>,
    /// The readings of the OS, in nanoseconds, by name.
    pub readings: BTreeMap<String, Reading>,
    /// The sleeps and waits that ended in this phase and began in an earlier one. They are
    /// wakes of this phase, and in none of its lengths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub began_before: Vec<BeganBefore>,
    /// The length that each of `samples_slept_ns` asked for. Empty where no event ended any:
    /// there it is what was slept, less the lateness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_asked_ns: Vec<u64>,
}

/// A sleep or wait during which a phase began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeganBefore {
    /// The length that was asked for.
    pub asked_ns: u64,
    /// The length from the call to the end.
    pub slept_ns: u64,
    /// When it ended, counted from the beginning of the experiment.
    pub woke_ns: u64,
}

/// A value that was read several times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// The mean.
    pub mean: f64,
    /// How often.
    pub n: u64,
    /// The few values it had.
    pub modes: Vec<Mode>,
    /// Each by itself.
    pub samples: Vec<u64>,
}

/// The computer in one phase; `None` where the machine does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioComputer {
    /// Where.
    #[serde(flatten)]
    pub at: Phase,
    /// How many CPUs it has.
    pub cpus: u64,
    /// Timer interrupts and clock ticks of all CPUs.
    pub interrupts_per_s: Option<f64>,
    /// How often a CPU went from one thread to another, or to rest and back.
    pub switches_per_s: Option<f64>,
    /// How often an idle CPU was woken.
    pub wakeups_per_s: Option<f64>,
    /// The share of the time of all CPUs in which a thread ran.
    pub busy: Option<f64>,
    /// The share of the idle time in stretches of 8 ms or more.
    pub good_idle: Option<f64>,
    /// The stretches in which CPUs were idle, by their length.
    pub idle_stretches: Option<Vec<IdleStretch>>,
    /// The idle states.
    pub idle_states: Vec<IdleState>,
    /// The power of all cores, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// The timer interval at the end of the phase.
    pub interval_ns: Option<u64>,
}

/// Idle stretches of about one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleStretch {
    /// They are so long, and less than twice.
    pub at_least_ns: u64,
    /// How many there were.
    pub count: u64,
    /// How long they were together.
    pub total_ns: u64,
}

/// An idle state of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// How often it was entered.
    pub entered: u64,
    /// Its share of the idle time.
    pub share: Option<f64>,
}

/// The findings of a watch of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    /// The time from one deadline to the next.
    pub period_ns: u64,
    /// From which lateness on a wait is a hiccup.
    pub threshold_ns: u64,
    /// The CPU that was watched, if it was one.
    pub on_cpu: Option<u64>,
    /// From which lateness on the watch fails.
    pub fail_over_ns: Option<u64>,
    /// Whether it did, by that or a rule of the user.
    pub failed: Option<bool>,
    /// How long it lasted.
    pub elapsed_ns: u64,
    /// The lateness of all deadlines: the upper end of each bin, and how many lie in it.
    pub histogram_late_ns: Vec<(u64, u64)>,
    /// The hiccups, the first of too many.
    pub hiccups: Vec<Hiccup>,
    /// How many there were by cause; beside them, waits in which punctual itself was stopped.
    pub hiccups_by_cause: BTreeMap<String, u64>,
    /// How many there were, without those in which punctual itself was stopped.
    pub hiccups_in_all: u64,
    /// Deadlines of which nothing is known, as they were not collected in time.
    pub lost_waits: u64,
    /// Deadlines that were waited for. The others of `late_ns` and of the histogram were missed, and
    /// each is as late as it was when it was given up. Files of older versions do not have it: their
    /// lateness leaves out missed deadlines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<u64>,
}

/// A wait that was later than the threshold; `None` is what the OS does not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hiccup {
    /// When it ended.
    pub at: String,
    /// The same, counted from the beginning of the watch.
    pub at_ns: u64,
    /// How late.
    pub late_ns: u64,
    /// The time it could run but waited for a CPU.
    pub queued_ns: Option<u64>,
    /// The time the hypervisor gave its CPU to another guest.
    pub stolen_ns: Option<u64>,
    /// The time within which that was counted.
    pub stolen_within_ns: Option<u64>,
    /// The time a quota stopped it.
    pub throttled_ns: Option<u64>,
    /// That quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<CpuQuota>,
    /// The processes that had the CPU meanwhile, the longest first.
    #[serde(default)]
    pub others: Vec<RanMeanwhile>,
    /// How often it had to leave its CPU.
    pub involuntary: Option<u64>,
    /// How often it left it.
    pub voluntary: Option<u64>,
    /// Page faults that needed no disk.
    pub minor_faults: Option<u64>,
    /// Page faults that did.
    pub major_faults: Option<u64>,
    /// Why.
    pub cause: Cause,
    /// All of it in a sentence.
    pub in_words: String,
}

/// Why a wait was too late, as far as a counter shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A stop of punctual itself, as by Ctrl-Z: it does not concern the system, and counts in no
    /// lateness.
    OwnStop,
    /// The quota of its control group was used up.
    Throttled,
    /// The thread could run and waited for its CPU, which did something else.
    Queued,
    /// The hypervisor ran something else on the CPU.
    Stolen,
    /// No counter covers it.
    #[default]
    Unknown,
}

impl Cause {
    /// Every cause, in the order in which they are listed.
    pub const ALL: [Self; 5] = [
        Self::OwnStop,
        Self::Throttled,
        Self::Queued,
        Self::Stolen,
        Self::Unknown,
    ];

    /// Its name in labels; files have the same.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OwnStop => "own_stop",
            Self::Throttled => "throttled",
            Self::Queued => "queued",
            Self::Stolen => "stolen",
            Self::Unknown => "unknown",
        }
    }
}

/// Another program that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanMeanwhile {
    /// Its name.
    pub name: String,
    /// Its number.
    pub pid: u64,
    /// For how long.
    pub ran_ns: u64,
}

/// Waits of one length, and what comes of comparing them with the rule in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Doctor {
    /// The length.
    pub asked_ns: u64,
    /// How late a wait without slack was that takes about as long.
    pub wake_cost_ns: Option<WakeCost>,
    /// How far from the prediction agrees with it.
    pub tolerance_ns: Option<i64>,
    /// Whether it does, where that can be told.
    pub agrees: Option<bool>,
    /// The verdict in a word or two.
    pub verdict: Option<Verdict>,
    /// Why, in a sentence.
    pub agreement: Option<String>,
}

/// The cost of a wake-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeCost {
    /// The call without slack.
    pub method: String,
    /// Waits with it.
    pub n: u64,
    /// Their median lateness.
    pub p50: Option<i64>,
    /// The lateness that 75 % do not exceed.
    pub p75: Option<i64>,
    /// The lateness that 90 % do not exceed.
    pub p90: Option<i64>,
}

/// Lengths of time in nanoseconds, one at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lengths {
    /// How many.
    pub n: u64,
    /// The mean.
    pub mean: f64,
    /// The median, where enough samples back it.
    pub p50: Option<u64>,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
}

impl Lengths {
    /// Summed up with the same rule for percentiles as everywhere; `None` of none.
    pub fn of(lengths: &[u64]) -> Option<Self> {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable();
        let sum: u128 = sorted.iter().copied().map(u128::from).sum();
        Some(Self {
            n: sorted.len() as u64,
            mean: sum as f64 / sorted.len() as f64,
            p50: percentile(&sorted, 500),
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }
}

/// How long lengths of time are at the upper end, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tail {
    /// How many.
    pub n: u64,
    /// The median, where enough samples back it.
    pub p50: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// The greatest.
    pub max: u64,
}

/// The least and the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range<T> {
    /// The least.
    pub min: T,
    /// The greatest.
    pub max: T,
}

impl Experiment {
    /// The parameters that make a difference between two measurements of a subject.
    ///
    /// Some fields tell something of the run instead. The round and the model are
    /// pooled and set side by side; a type of core is a property of the machine; waits
    /// of the warm-up follow from the number of rounds, and learning from the deadlines;
    /// what a watch takes exception to changes no wait, and its CPU is the one of
    /// however many the machine has. (`cores` compares CPUs, so that there it counts.)
    pub fn params(&self) -> BTreeMap<String, Value> {
        let params = match self {
            Self::Pace(of) => {
                let mut params = json!({
                    "period_ns": of.period_ns, "rate_hz": of.rate_hz, "deadlines": of.deadlines,
                    "learning": of.learning,
                });
                // Where a waiter lives as long as the rounds, it warms up once.
                if of.learning == Learning::StartsOver {
                    params[WARM_UP] = json!(of.warm_up_waits);
                }
                if let Some(Crowd { threads, same }) = of.crowd {
                    params["threads"] = json!(threads);
                    params["instants"] = json!(if same { "same" } else { "spread" });
                }
                params
            }
            Self::Decades(Decades { asked_ns }) | Self::Doctor(Doctor { asked_ns, .. }) => {
                json!({ "asked_ns": asked_ns })
            }
            Self::Interval(of) => json!({ "period_ns": of.period_ns }),
            Self::Naps(Naps { method, asked_ns })
            | Self::Sleep(Sleep { method, asked_ns })
            | Self::Gap(Gap { method, asked_ns }) => {
                json!({ "method": method, "asked_ns": asked_ns })
            }
            Self::Robustness(of) => json!({
                "asked_ns": of.asked_ns, "scheduler_period_ns": of.scheduler_period_ns,
            }),
            Self::Regimes(of) => json!(of),
            Self::Clocks(_) => json!({}),
            Self::Timers(of) => json!({ "asked_ns": of.asked_ns, "arming": of.arming }),
            Self::Yield(of) => json!(of),
            Self::Load(of) => json!(of),
            Self::Cores(of) => json!({ "cpu": of.on_cpu, "asked_ns": of.asked_ns }),
            Self::Scenario(of) => of.at.params(),
            Self::ScenarioComputer(of) => of.at.params(),
            Self::Watch(of) => json!({ "period_ns": of.period_ns }),
            Self::Log(of) => match of.period_ns {
                Some(period_ns) => json!({ "of": of.of, "period_ns": period_ns }),
                None => json!({ "of": of.of }),
            },
            Self::Trace(of) => json!({ "call": of.call, "timeout": of.timeout }),
        };
        match params {
            Value::Object(params) => params.into_iter().collect(),
            _ => BTreeMap::new(),
        }
    }

    /// Equal for subjects that were measured under the same conditions. Each may have a warm-up
    /// of its own.
    pub fn cell(&self) -> (&'static str, BTreeMap<String, Value>) {
        let mut params = self.params();
        params.remove(WARM_UP);
        (self.name(), params)
    }

    /// The machine, where it is one of several that a scenario ran on.
    pub fn on(&self) -> Option<&str> {
        self.phase().map(|at| at.on.as_str())
    }

    /// Whether this log is of the same thing as that watch: both have the lateness of deadlines at a
    /// rate. A log that does not say its rate is beside a watch of any.
    pub fn is_log_like(&self, watch: &Self) -> bool {
        match (self, watch) {
            (Self::Log(log), Self::Watch(watch)) => {
                let is_at = |period_ns| period_ns == watch.period_ns;
                log.of == LoggedKind::Deadlines && !log.is_part && log.period_ns.is_none_or(is_at)
            }
            _ => false,
        }
    }

    /// Where in a scenario it was measured.
    pub fn phase(&self) -> Option<&Phase> {
        match self {
            Self::Scenario(of) => Some(&of.at),
            Self::ScenarioComputer(of) => Some(&of.at),
            _ => None,
        }
    }

    /// The time from one deadline to the next, of waits at a rate.
    pub const fn period_ns(&self) -> Option<u64> {
        match self {
            Self::Pace(of) => Some(of.period_ns),
            Self::Interval(of) => Some(of.period_ns),
            _ => None,
        }
    }

    /// Puts in the times from one wake to the next, where they are of interest.
    pub const fn frames_mut(&mut self) -> Option<&mut Option<Frames>> {
        match self {
            Self::Pace(of) => Some(&mut of.frames),
            Self::Interval(of) => Some(&mut of.frames),
            _ => None,
        }
    }
}

impl Phase {
    fn params(&self) -> Value {
        json!({ "scenario": self.scenario, "phase": self.phase, "phase_index": self.phase_index })
    }
}

/// The parameter that is how long a fresh waiter warms up.
const WARM_UP: &str = "warm_up_waits";

/// One experiment of the enum.
pub trait OfExperiment: Sized {
    /// The experiment of a measurement; `None` if it is of another kind.
    fn of(measurement: &impl AsRef<Experiment>) -> Option<&Self>;
}

/// An experiment with waits of one length.
pub trait OfLength: OfExperiment {
    /// The length asked for.
    fn asked_ns(&self) -> u64;
}

macro_rules! of_length {
    ($($name:ident,)*) => {
        $(
            impl OfLength for $name {
                fn asked_ns(&self) -> u64 {
                    self.asked_ns
                }
            }
        )*
    };
}

of_length! { Decades, Naps, Robustness, Timers, Sleep, Load, Cores, Gap, Doctor, }

macro_rules! of_experiment {
    ($($file_name:literal: $variant:ident($name:ident),)*) => {
        impl Experiment {
            /// Its name, as files have it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $file_name,)*
                }
            }
        }
        $(
            impl OfExperiment for $name {
                fn of(measurement: &impl AsRef<Experiment>) -> Option<&Self> {
                    match measurement.as_ref() {
                        Experiment::$variant(of) => Some(of),
                        _ => None,
                    }
                }
            }
        )*
    };
}

of_experiment! {
    "pace": Pace(Pace),
    "decades": Decades(Decades),
    "interval": Interval(IntervalLength),
    "naps": Naps(Naps),
    "robustness": Robustness(Robustness),
    "regimes": Regimes(Regimes),
    "clocks": Clocks(Clocks),
    "timers": Timers(Timers),
    "sleep": Sleep(Sleep),
    "yield": Yield(Yield),
    "load": Load(Load),
    "cores": Cores(Cores),
    "gap": Gap(Gap),
    "scenario": Scenario(ScenarioThreads),
    "scenario-computer": ScenarioComputer(ScenarioComputer),
    "watch": Watch(Watch),
    "doctor": Doctor(Doctor),
    "log": Log(Logged),
    "trace": Trace(Traced),
}
