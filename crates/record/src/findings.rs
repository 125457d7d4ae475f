//! The findings of `punctual doctor` about waiting on a computer, as numbers, and the
//! [`Diagnosis`] that the report makes of them.

use punctual_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::disturbance::Disturbance;
use crate::situation::Situation;

/// The situation of the process, how what was measured compares with its timer rule,
/// and what can be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoctorFindings {
    /// The facts that decide the rule.
    pub situation: Situation,
    /// The model that made the predictions; `None` where nothing is predicted.
    pub model: Option<String>,
    /// Why nothing is predicted.
    pub no_prediction: Option<NoRule>,
    /// The CPU that the waits were kept on; `None` if the OS chose.
    pub cpu: Option<usize>,
    /// Other activity of the computer meanwhile.
    pub disturbance: Option<Disturbance>,
    /// The latency tier of macOS that long sleeps point to.
    pub tier: Option<FoundTier>,
    /// Each measurement that can be compared with the rule, by its number among the
    /// results.
    pub judgements: Vec<(usize, Judgement)>,
    /// The causes that keep the CPU from this process, if they matter; then the measured remedies
    /// for a wait of 1 ms, the best first; then the predicted ones; then those without a
    /// prediction.
    pub remedies: Vec<Remedy>,
}

/// Why no timer rule is known for a situation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoRule {
    /// The system has none, or does not tell what decides it.
    System,
    /// The kernel has this scheduler instead of its own, and no model is of it.
    Scheduler(String),
    /// Linux did not tell the timer slack.
    Slack,
    /// Windows did not tell its build, or told one that no model is of.
    Build,
    /// Windows did not tell its timer interval.
    Interval,
    /// No clock of the models has this interval.
    Clock(Nanos),
    /// The prediction of the simulator for a model with these facts.
    Model(String),
}

/// A latency tier of macOS, by how late it lets a sleep be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatencyTier {
    /// Tiers 0, 4 and 5, and none.
    Least,
    /// Tier 1.
    One,
    /// Tier 2.
    Two,
    /// Tier 3.
    Three,
}

/// A tier that a measurement points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundTier {
    /// The one with the least cap that allows what was measured.
    pub tier: LatencyTier,
    /// Whether the sleeps ended where the tier ends them, and not sooner.
    pub at_the_edge: bool,
}

/// The result of comparing a measurement with its prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// The difference is within the tolerance.
    #[serde(rename = "agrees")]
    Agrees,
    /// The waits ended sooner than by a timer alone, and not early: any interrupt of the CPU
    /// inside the slack may end them.
    #[serde(rename = "sooner")]
    Sooner,
    /// The difference is not within the tolerance.
    #[serde(rename = "does not agree")]
    Disagrees,
    /// Too few samples, or too restless a host, to tell.
    #[serde(rename = "inconclusive")]
    Inconclusive,
    /// Others had so much of the CPU that what was measured tells of them.
    #[serde(rename = "too busy to tell")]
    TooBusy,
    /// There is nothing to compare with.
    #[serde(rename = "no prediction")]
    NoPrediction,
}

impl Verdict {
    /// In a word, for tables; the file has the same.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Sooner => "sooner",
            Self::Disagrees => "does not agree",
            Self::Inconclusive => "inconclusive",
            Self::TooBusy => "too busy to tell",
            Self::NoPrediction => "no prediction",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Its grounds.
    pub ground: Ground,
}

/// The grounds of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ground {
    /// No rule predicts this wait.
    NoRule,
    /// Too few waits for a median: this many.
    FewWaits(u64),
    /// The wake cost was not measured.
    NoWakeCost,
    /// The wake cost was measured so often, too seldom to tell how much it differs.
    FewWakes(u64),
    /// The wake cost has a p90 of more than so many times its median.
    Restless(i64),
    /// The p90 of the wake cost is too long for the cost of a wake-up.
    LongWakes(Nanos),
    /// The median is less than predicted by so much, whatever the wake cost is.
    Sooner(Nanos),
    /// The medians were compared.
    Compared {
        /// The measured median less the predicted one.
        apart_ns: i64,
        /// How far apart they may be.
        allowed_ns: i64,
        /// Where that comes from.
        allowance: Allowance,
        /// The reason why it is open whether they are farther apart.
        doubt: Option<Doubt>,
    },
}

/// Where the allowed difference of two medians comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Allowance {
    /// The p90 of the measured wake cost.
    WakeCostP90,
    /// Its p75, where so few samples have no p90.
    WakeCostP75,
    /// Half a timer interval.
    HalfATick,
    /// None is needed: both medians are of one model.
    Nothing,
}

/// Why the medians of few rounds do not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doubt {
    /// How much rounds differ is not known.
    RoundsUnknown,
    /// They differ by as much as the medians are apart.
    RoundsDiffer,
}

/// The median lateness of a wait of 1 ms, as it is and as it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// As it was measured.
    pub from_ns: i64,
    /// As it was measured otherwise, or is predicted.
    pub to_ns: i64,
}

impl Change {
    const fn gain_ns(self) -> i64 {
        self.from_ns - self.to_ns
    }
}

/// Something that can be done about late waits. Lengths are of a wait of 1 ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Remedy {
    /// Lift the quota of CPU time, which stops this process or can.
    LiftQuota,
    /// Close what else runs on the CPU, which had this share of it.
    CloseOthers(f64),
    /// Get CPUs that the hypervisor does not give to others, as it did with this share.
    UnsharedCpus(f64),
    /// Have the kernel preempt at once (Linux), in mode `full`: so long each wait could run
    /// but waited for a CPU.
    PreemptAtOnce(i64),
    /// Take the scheduler out that sched_ext has loaded (Linux).
    KernelScheduler,
    /// Have the clock read from the TSC (Linux): so long a reading takes.
    FastClock(Nanos),
    /// Wait with the library, at this share of a CPU.
    UseLibrary {
        /// Both measured.
        late: Change,
        /// The CPU time that its waits took.
        cpu_fraction: Option<f64>,
    },
    /// Lower the timer slack of the program (Linux).
    LowerSlack {
        /// The lateness it adds.
        slack_ns: i64,
        /// How late the sleep is in all.
        late_ns: i64,
    },
    /// Wait on a high-resolution timer (Windows); both measured.
    HighResolutionTimer(Change),
    /// Ask for a timer interval (Windows).
    RequestInterval {
        /// The interval.
        interval: Nanos,
        /// Whether it counts for the process that asks only.
        is_own: bool,
        /// The predicted lateness.
        late: Change,
    },
    /// Have the requests of this process honoured (Windows); what the rule predicts, if
    /// the sleep was measured.
    HonourRequests(Option<Change>),
    /// Give the thread the quality of service with the least latency tier (macOS); what
    /// the rule predicts without waking up.
    QualityOfService(Change),
    /// Run under a real-time policy (Linux): so long each wait could run but waited for
    /// a CPU.
    RealTimePolicy(i64),
    /// Run at an ordinary priority (Linux): as above, if that was counted.
    OrdinaryPriority(Option<i64>),
    /// Keep the CPUs out of deep idle states (Linux).
    NoDeepIdle {
        /// The most that this spares.
        most_ns: i64,
        /// The whole cost of a wake-up.
        wake_ns: i64,
        /// How long the deepest state takes to leave.
        exit: Nanos,
    },
    /// Let idle CPUs of this guest poll before they halt: what waking up takes.
    PollBeforeHalt(i64),
    /// Use the frequency governor `performance`: what waking up takes.
    PerformanceGovernor(Option<i64>),
    /// Plug the computer in.
    PlugIn,
}

impl Remedy {
    /// Whether what it brings was measured, and is no prediction.
    pub const fn is_measured(&self) -> bool {
        matches!(self, Self::UseLibrary { .. } | Self::HighResolutionTimer(_))
    }

    /// How much less late a wait of 1 ms is expected to be; `None` where what was
    /// measured does not tell.
    pub fn gain_ns(&self) -> Option<i64> {
        match *self {
            Self::UseLibrary { late, .. }
            | Self::HighResolutionTimer(late)
            | Self::RequestInterval { late, .. }
            | Self::QualityOfService(late) => Some(late.gain_ns()),
            Self::HonourRequests(late) => late.map(Change::gain_ns),
            Self::LowerSlack { slack_ns: gain, .. }
            | Self::RealTimePolicy(gain)
            | Self::NoDeepIdle { most_ns: gain, .. } => Some(gain),
            Self::LiftQuota
            | Self::CloseOthers(_)
            | Self::UnsharedCpus(_)
            | Self::PreemptAtOnce(_)
            | Self::KernelScheduler
            | Self::FastClock(_)
            | Self::OrdinaryPriority(_)
            | Self::PollBeforeHalt(_)
            | Self::PerformanceGovernor(_)
            | Self::PlugIn => None,
        }
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expectation {
    /// The machine it was checked on.
    pub on: String,
    /// The phase of the experiment.
    pub phase: String,
    /// The subject of the figure.
    pub subject: String,
    /// The figure.
    pub figure: String,
    /// The expected value, in words, with its tolerance and its unit.
    pub expected: String,
    /// The value that came out, in words, with its unit.
    pub got: String,
    /// Whether that is as it should be.
    pub holds: bool,
    /// Whether it is stated of this machine. On another model than the scenario's own the
    /// figure is compared, and nothing fails where it differs.
    #[serde(default = "is_stated")]
    pub stated: bool,
    /// The source of the expectation.
    pub source: String,
}

/// Older Runs do not tell.
const fn is_stated() -> bool {
    true
}

/// The rule in force, what decides it, and what can be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The timer rule in force for the process, in a few sentences.
    pub rule: String,
    /// The model that made the predictions, as the user could type it; `None`
    /// where nothing is predicted.
    #[serde(default)]
    pub model: Option<String>,
    /// Why nothing is predicted.
    #[serde(default)]
    pub no_prediction: Option<String>,
    /// The CPU that the waits were kept on; `None` if the OS chose.
    #[serde(default)]
    pub cpu: Option<u64>,
    /// The facts that decide the rule.
    pub facts: Vec<Fact>,
    /// Facts that would, and that the OS does not tell.
    pub not_told: Vec<Untold>,
    /// Further measurements and their consequences.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The advice, the most helpful first.
    pub advice: Vec<Advice>,
}

/// Something the OS tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// Something the OS does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Untold {
    /// The name.
    pub name: String,
    /// Why it is not known.
    pub why: String,
}

/// Something that can be done about late waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The action.
    pub what: String,
    /// The expected change, derived from the measurements.
    pub expected: String,
    /// How much less late a wait of 1 ms is expected to be; `None` where what
    /// was measured does not tell.
    pub gain_ns: Option<u64>,
    /// A line to copy.
    pub line: String,
    /// The file in that line whose path may name a person or a container, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}
