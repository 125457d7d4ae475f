//! The Run file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compare::RunRow;
use crate::cost::{Round, Weights};
use crate::disturbance::Disturbance;
use crate::emulated::Emulated;
use crate::experiment::{Experiment, RegimeBatch};
use crate::findings::Diagnosis;
use crate::findings::Expectation;
use crate::identity::Identity;
use crate::interval::Interval;
use crate::late::Late;
use crate::learned::Learned;
use crate::logged::Imported;
use crate::replayed::Replayed;
use crate::scenario::{ModelFacts, ScenarioFacts};
use crate::situation::HostFacts;
use crate::traced::TraceFacts;
use crate::tried::Tried;
use crate::visible::{is_visible, visible, visible_lines};

/// The version of the Run file that this crate writes and reads.
pub const SCHEMA: &str = "punctual-run/2";

/// The results of one invocation of punctual. Each product has [rows](RunRow) of its own; those of
/// waiting are [`Measurement`]s.
///
/// Every number carries its unit in its key. Fields this version does not know
/// are kept in `other` and written again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(bound = "R: RunRow + schemars::JsonSchema, R::Beside: schemars::JsonSchema")
)]
#[serde(bound = "R: RunRow")]
pub struct Run<R: RunRow = Measurement> {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of punctual that wrote the file.
    pub punctual_version: String,
    /// When it began, in UTC after RFC 3339. Simulated runs have none: they do
    /// not happen at a time.
    pub started_at: Option<String>,
    /// The command line, in the words of the user.
    pub command: String,
    /// Whether it ended before its end, so that results are partial.
    #[serde(default)]
    pub interrupted: bool,
    /// The request that the machine could not carry out, if that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Where it ran.
    pub machine: MachineFacts,
    /// Facts to know before the results are believed.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Other activity of this computer during the measurement; a simulated one has only the
    /// activity of its scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Disturbance>,
    /// The measurements.
    pub results: Vec<R>,
    /// Further results of its product.
    #[serde(flatten)]
    pub beside: R::Beside,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The results of a run of waits beside its measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    /// The knowledge of strategies by its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<Learned>,
    /// The expectations of a scenario's source, with their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// The diagnosis of `punctual doctor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doctor: Option<Diagnosis>,
    /// The rule that `punctual identify` recognises in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The log of another program that it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The command that ran under the timers of another system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<Emulated>,
    /// The trace of other programs that it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<TraceFacts>,
    /// The change of a traced program that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Tried>,
    /// The scenario that was made of a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
    /// The CPU that was measured on, if it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<usize>,
    /// The names of the experiments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<String>,
    /// The threads that computed beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_threads: Option<usize>,
    /// The timer interval that the process held a request for while it waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_ns: Option<u64>,
    /// The models that the scenario ran on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelFacts>,
    /// How long the batches of regimes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<BatchLengths>,
    /// The scenario, if the Run is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioFacts>,
    /// Scenarios beside other measurements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<ScenarioFacts>,
    /// The seed of random numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// The settings that make the batches of two runs of regimes comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchLengths {
    /// Beside load, and in quotas.
    pub loaded_ns: u64,
    /// On a quiet computer.
    pub quiet_ns: u64,
    /// Before each batch.
    pub warm_up_ns: u64,
}

impl<R: RunRow> Default for Run<R> {
    fn default() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            punctual_version: String::new(),
            started_at: None,
            command: String::new(),
            interrupted: false,
            failed: None,
            machine: MachineFacts::default(),
            warnings: vec![],
            disturbance: None,
            results: vec![],
            beside: R::Beside::default(),
            other: BTreeMap::new(),
        }
    }
}

/// The known facts of the machine of a run. Unknown facts are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineFacts {
    /// `host`, or the model's name with its parameters.
    pub name: String,
    /// The operating system, or the one that is modelled.
    pub os: String,
    /// The timer rule in force, in words.
    pub timer_rule: String,
    /// The clock deadlines are measured by.
    pub clock: String,
    /// The OS call behind `sleep`.
    pub sleep_method: String,
    /// The OS call behind `timer`.
    pub timer_method: String,
    /// How a spin passes the time.
    pub spin: String,
    /// Where the CPU time of a thread comes from.
    pub cpu_time: String,
    /// On what each model rests, and whether it was compared with a computer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The facts of the computer itself, if it is not simulated.
    #[serde(flatten)]
    pub host: HostFacts,
    /// Everything else, by name: the parameters of a model, and what bears on memory.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl MachineFacts {
    /// Which machine, in one line: the CPU and how many there are, whether it is
    /// a virtual machine, the OS and its kernel; a model by its name.
    pub fn in_words(&self) -> String {
        let host = &self.host;
        let cpus = host
            .logical_cpus
            .map(|n| format!("{n} CPU{}", if n == 1 { "" } else { "s" }));
        let is_virtual = host.virtual_machine.map(|is| match (is, &host.hypervisor) {
            (true, Some(hypervisor)) => format!("virtual machine ({})", known_as(hypervisor)),
            (true, None) => "virtual machine".to_owned(),
            (false, _) => "no virtual machine".to_owned(),
        });
        let kernel = host
            .kernel
            .as_ref()
            .map(|kernel| format!("kernel {kernel}"));
        // Every host is called `host`, which tells nothing where its CPU is known.
        let name = host.cpu_model.as_ref().unwrap_or(&self.name).clone();
        let words = [Some(name), cpus, is_virtual, Some(self.os.clone()), kernel];
        let words = words.into_iter().flatten().filter(|word| !word.is_empty());
        match words.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "not named".to_owned(),
            words => words,
        }
    }
}

/// The common name of a hypervisor with this signature (Linux, arch/x86/kernel/cpu/hypervisor.c
/// and the files it names).
fn known_as(signature: &str) -> &str {
    match signature.trim_end_matches('\0') {
        "KVMKVMKVM" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "TCGTCGTCGTCG" => "QEMU",
        other => other,
    }
}

/// Something to know before the numbers are believed, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// The problem.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

impl Warning {
    /// A warning with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

/// The result of one subject in one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// Which experiment, with its parameters and what it alone has to say.
    #[serde(flatten)]
    pub experiment: Experiment,
    /// Strategy, peer, method, clock: whatever was compared.
    pub subject: String,
    /// The model on which it was simulated beside measurements of another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_on: Option<String>,
    /// How late the waits ended; n is 0 where nothing waited. Of a watch also how late missed
    /// deadlines were given up.
    #[serde(default)]
    pub late_ns: Late,
    /// The share of the waits that ended more than 1 ms late, where that was
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_over_1ms_fraction: Option<f64>,
    /// Their cost.
    #[serde(default)]
    pub cpu: Cpu,
    /// The median lateness that the timer rule in force predicts for a timer
    /// alone on its CPU and a wake-up that costs nothing. `None` where no rule
    /// is known, and for subjects whose steps are not known.
    #[serde(default)]
    pub predicted_late_ns: Option<i64>,
    /// Blocking calls per wait; for a peer, whose calls are not seen, how often
    /// its thread gave up its CPU. `None` where that is not counted.
    pub wakes_per_wait: Option<f64>,
    /// The time per wait that the thread could run but waited for a CPU,
    /// as the OS counted it.
    #[serde(default)]
    pub queued_per_wait_ns: Option<f64>,
    /// The time per wait that the hypervisor gave the thread's CPU to another guest, as the OS
    /// counted it, in steps of 10 ms.
    #[serde(default)]
    pub stolen_per_wait_ns: Option<f64>,
    /// Deadlines skipped because they had passed before their wait began.
    #[serde(default)]
    pub missed: u64,
    /// CPU ns + weight x lateness ns per wait: the median over the rounds.
    pub cost_ns: Option<Weights<f64>>,
    /// The intervals of `cost_ns`.
    pub cost_interval_ns: Option<Weights<Interval>>,
    /// As `cost_interval_ns`, with every lateness counted as at most 1 ms.
    pub cost_capped_interval_ns: Option<Weights<Interval>>,
    /// As `cost_capped_interval_ns`, with 5 us added for each nap, and 20 us.
    #[serde(default)]
    pub cost_capped_nap_plus_5us_ns: Option<Weights<f64>>,
    /// See above.
    #[serde(default)]
    pub cost_capped_nap_plus_20us_ns: Option<Weights<f64>>,
    /// The capped cost over that of the cheapest subject of the same
    /// experiment and weight, round by round.
    #[serde(default)]
    pub cost_over_best: Option<Weights<Interval>>,
    /// The least mean cost of a waiter that knows the distributions of the overshoots, on a
    /// recording or a model, capped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub informed_cost_ns: Option<Weights<f64>>,
    /// The capped cost over that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_over_informed: Option<Weights<Interval>>,
    /// The cost of a nanosecond of lateness for the subject, where it has a weight of its own and
    /// was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_weight: Option<f64>,
    /// Each round by itself.
    #[serde(default)]
    pub rounds: Vec<Round>,
    /// Further observations in each round of `bench regimes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<RegimeBatch>,
    /// Every sample of lateness, in order, round after round.
    #[serde(default)]
    pub samples_late_ns: Vec<i64>,
    /// How long each wait took, from the call to its end, where that was noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_slept_ns: Vec<u64>,
    /// When each of these ended, counted from the beginning of the experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_woke_ns: Vec<u64>,
}

impl AsRef<Experiment> for Measurement {
    fn as_ref(&self) -> &Experiment {
        &self.experiment
    }
}

/// The CPU time of waiting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// CPU time billed to the waiting thread, as a share of the time that
    /// passed; `None` where the OS does not tell.
    pub fraction: Option<f64>,
    /// The same per wait.
    pub per_wait_ns: Option<f64>,
    /// The share of the time the thread's CPU was not idle, for any reason; `None` where the
    /// thread was not pinned or the OS does not tell.
    pub busy_fraction: Option<f64>,
    /// Whether the CPU time is only approximate.
    #[serde(default)]
    pub approximate: bool,
}

impl Measurement {
    /// A measurement that has nothing yet but what it is of.
    pub fn of(experiment: Experiment, subject: impl Into<String>) -> Self {
        Self {
            experiment,
            subject: subject.into(),
            ..Self::default()
        }
    }
}

impl<R: RunRow> Run<R> {
    /// A Run of these results, of which nothing else is known.
    pub fn of(results: impl IntoIterator<Item = R>) -> Self {
        Self {
            results: results.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A Run of this `command` without any results.
    pub fn new(command: String) -> Self {
        Self {
            punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            ..Self::default()
        }
    }

    /// The file's text: JSON, ending in a line feed.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self)
            .expect("a Run has only string keys and finite numbers");
        with_numbers_in_rows(&text)
    }

    /// Reads a file's text, whose author is unknown: characters in its strings that cannot be seen
    /// are [written out](visible()).
    ///
    /// # Errors
    /// It is no Run file, or one of a version this crate does not know.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let run = Self::parsed(text).map_err(|why| visible(&why).into_owned())?;
        // Behind a backslash there may be anything.
        let is_plain = |c| is_visible(c) && c != '\\' || ['\n', '\r', '\t'].contains(&c);
        if text.chars().all(is_plain) {
            return Ok(run);
        }
        let mut json = serde_json::to_value(run).map_err(|e| e.to_string())?;
        make_visible(&mut json);
        serde_json::from_value(json).map_err(|e| e.to_string())
    }

    fn parsed(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<String>,
        }
        // An array would do for a struct.
        if !text.trim_start().starts_with('{') {
            return Err(format!("this is no Run file: {RUN_FILE}"));
        }
        if longest_text(text) > LONGEST_TEXT {
            return Err(format!(
                "this Run file has a text of more than {LONGEST_TEXT} bytes, which nothing that punctual writes has"
            ));
        }
        let head: Head = serde_json::from_str(text)
            .map_err(|e| format!("this is no Run file, or not all of one: {e}; {RUN_FILE}"))?;
        Err(match head.schema.as_deref() {
            Some(SCHEMA) => {
                let run = serde_json::from_str(text);
                return run.map_err(|e| format!("this Run file cannot be read: {e}"));
            }
            Some("punctual-run/1") => format!(
                "this Run file was written by an older punctual (schema `punctual-run/1`); measure \
                 again with this one, which reads `{SCHEMA}`"
            ),
            Some(other) => {
                format!("this Run file has schema `{other}`; this punctual reads `{SCHEMA}`")
            }
            None => {
                format!("this is no Run file: it has no `schema` (expected `{SCHEMA}`); {RUN_FILE}")
            }
        })
    }
}

/// The JSON Schema of a Run file of waits, as the types have it.
#[cfg(feature = "schema")]
pub fn schema() -> Value {
    schemars::schema_for!(Run).to_value()
}

/// The description of a Run file, for a user who gave another file.
const RUN_FILE: &str = "a Run file is what `--json FILE` of bench, measure, doctor, watch, simulate, emulate and zero writes";

/// No name or sentence in a Run is longer, in bytes.
const LONGEST_TEXT: usize = 1 << 16;

/// How long the longest string of a JSON text is, without reading the rest.
fn longest_text(json: &str) -> usize {
    let (mut longest, mut begin) = (0, None);
    let mut bytes = json.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (byte, begin) {
            (b'"', None) => begin = Some(at + 1),
            (b'"', Some(from)) => {
                longest = longest.max(at - from);
                begin = None;
            }
            (b'\\', Some(_)) => drop(bytes.next()),
            _ => {}
        }
    }
    longest
}

/// Makes all strings of it harmless, and all keys.
fn make_visible(json: &mut Value) {
    match json {
        Value::String(text) => *text = visible_lines(text),
        Value::Array(items) => items.iter_mut().for_each(make_visible),
        Value::Object(fields) => {
            let named = std::mem::take(fields).into_iter();
            fields.extend(named.map(|(key, mut value)| {
                make_visible(&mut value);
                (visible(&key).into_owned(), value)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Puts the numbers of an array on one line: samples take a line each
/// otherwise.
fn with_numbers_in_rows(pretty: &str) -> String {
    let is_number = |line: &str| {
        line.trim()
            .starts_with(|c: char| c == '-' || c.is_ascii_digit())
    };
    let mut text = String::with_capacity(pretty.len());
    let mut after_number = false;
    for line in pretty.lines() {
        let number = is_number(line);
        let (gap, line) = match (after_number, number) {
            (true, true) => (" ", line.trim()),
            _ => ("\n", line),
        };
        text.push_str(if text.is_empty() { "" } else { gap });
        text.push_str(line);
        after_number = number;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Sleep;

    fn sleep(call: &str) -> Measurement {
        let experiment = Sleep {
            method: call.to_owned(),
            asked_ns: 1_000,
        };
        Measurement::of(Experiment::Sleep(experiment), call)
    }

    #[test]
    fn a_run_reads_back_whatever_else_is_in_the_file() {
        let run = Run::of([Measurement {
            late_ns: Late::of(&[1, 2, 3]),
            ..sleep("poll")
        }]);
        let mut value: Value = serde_json::from_str(&run.to_json()).unwrap();
        value["weather"] = "rain".into();
        // Fields of a row that its type lacks are left out.
        value["results"][0]["colour"] = "red".into();
        let read: Run = Run::from_json(&value.to_string()).unwrap();
        assert_eq!(read.other["weather"], "rain");
        assert_eq!(read.results, run.results);
    }

    #[test]
    fn a_host_is_named_by_its_cpu_and_a_model_by_its_name() {
        let mut facts = MachineFacts {
            name: "host".to_owned(),
            os: "Debian GNU/Linux 12".to_owned(),
            ..MachineFacts::default()
        };
        assert_eq!(facts.in_words(), "host, Debian GNU/Linux 12");
        facts.host = HostFacts {
            cpu_model: Some("AMD EPYC".to_owned()),
            logical_cpus: Some(2),
            virtual_machine: Some(true),
            hypervisor: Some("KVMKVMKVM".to_owned()),
            kernel: Some("6.18.44".to_owned()),
            ..HostFacts::default()
        };
        assert_eq!(
            facts.in_words(),
            "AMD EPYC, 2 CPUs, virtual machine (KVM), Debian GNU/Linux 12, kernel 6.18.44"
        );
        let model = MachineFacts {
            name: "linux,slack=1ns".to_owned(),
            os: "simulated".to_owned(),
            ..MachineFacts::default()
        };
        assert_eq!(model.in_words(), "linux,slack=1ns, simulated");
        assert_eq!(MachineFacts::default().in_words(), "not named");
    }

    #[test]
    fn what_was_learned_reads_back_and_older_files_have_none() {
        use crate::learned::{Estimate, LearnedCall, LearnedClass};
        let learned = Learned {
            subject: "adaptive-exact".to_owned(),
            late_weight: Some(0.3),
            calls: vec![LearnedCall {
                method: "timerfd".to_owned(),
                naps: 12,
                grid_ns: Some(15_625_000),
                classes: vec![LearnedClass {
                    over_ns_p50: 8_192,
                    over_share_of_length: 0.125,
                    ..LearnedClass::default()
                }],
                ..LearnedCall::default()
            }],
            nap: Some(Estimate {
                mean_ns: 1_058_000,
                ..Estimate::default()
            }),
            ..Learned::default()
        };
        let mut run: Run = Run::default();
        run.beside.learned = vec![learned];
        let mut value: Value = serde_json::from_str(&run.to_json()).unwrap();
        assert_eq!(Run::from_json(&value.to_string()).unwrap(), run);
        value["learned"][0]["calls"][0]["classes"][0]["mood"] = "good".into();
        let read: Run = Run::from_json(&value.to_string()).unwrap();
        assert_eq!(
            read.beside.learned[0].calls[0].classes[0].other["mood"],
            "good"
        );

        value.as_object_mut().unwrap().remove("learned");
        let older: Run = Run::from_json(&value.to_string()).unwrap();
        assert!(older.beside.learned.is_empty());
        assert!(!older.to_json().contains("learned"));
    }

    #[test]
    fn what_cannot_be_seen_is_written_out_in_values_and_keys_at_any_depth() {
        let mut run = Run::of([Measurement {
            samples_late_ns: vec![i64::MIN, i64::MAX],
            ..sleep("\u{202e}nips")
        }]);
        run.command = "\x1b]52;c;bHM=\x07".to_owned();
        run.other = [("a\u{9b}".to_owned(), Value::from(vec!["\u{7f}\n"]))].into();
        let read: Run = Run::from_json(&run.to_json()).unwrap();
        assert_eq!(read.command, r"\u{1b}]52;c;bHM=\u{7}");
        assert_eq!(read.results[0].subject, r"\u{202e}nips");
        // Some texts have lines.
        assert_eq!(read.other[r"a\u{9b}"][0], "\\u{7f}\n");
        assert_eq!(read.results[0].samples_late_ns, [i64::MIN, i64::MAX]);
        assert_eq!(Run::from_json(&read.to_json()).unwrap(), read);
    }

    #[test]
    fn samples_share_a_line() {
        let run = Run::of([Measurement {
            samples_late_ns: vec![-3, 0, 12],
            ..sleep("poll")
        }]);
        let text = run.to_json();
        assert!(text.contains("\n        -3, 0, 12\n      ]"), "{text}");
        assert_eq!(Run::from_json(&text).unwrap(), run);
    }

    #[test]
    fn other_versions_and_other_files_are_refused_clearly() {
        for (text, says) in [
            ("", "no Run file"),
            ("[]", "a Run file is what `--json FILE`"),
            (r#"{"schema": "punctual-run/2""#, "not all of one"),
            ("{\"schema\": \"\u{9b}31m\"}", r"`\u{9b}31m`"),
            ("{}", "no `schema`"),
            (r#"{"schema": "punctual-run/9"}"#, "punctual-run/9"),
            (r#"{"schema": "punctual-run/1"}"#, "measure again"),
            (r#"{"schema": "punctual-run/2"}"#, "cannot be read"),
        ] {
            assert!(
                Run::<Measurement>::from_json(text)
                    .unwrap_err()
                    .contains(says),
                "{text}"
            );
        }
    }
}
