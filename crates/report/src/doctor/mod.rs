//! The report of `punctual doctor`. [`in_words`] makes the sentences of a [`Diagnosis`].
//! `sections` lays it out as text: the rule in force with its facts, prediction beside
//! measurement, and the remedies. [`anonymous`] is a Run that can be shown to strangers.

mod advice;
mod rule;

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_record::{
    Advice, Allowance, Diagnosis, DoctorFindings, Doubt, Experiment, FoundTier, Ground, Judgement,
    LatencyTier, Measurement, Run, Verdict,
};

pub use rule::{clock_interrupts, rule_in_force, timer_rule};

use crate::prose;
use crate::tables::Section;
use crate::warnings::nameless;

/// The findings in words: the diagnosis, and why each of the `results` that was judged
/// agrees with its prediction or does not.
pub fn in_words(findings: &DoctorFindings, results: &mut [Measurement]) -> Diagnosis {
    for (i, judgement) in &findings.judgements {
        if let Some(Experiment::Doctor(doctor)) = results.get_mut(*i).map(|m| &mut m.experiment) {
            doctor.agreement = Some(judged(judgement));
        }
    }
    let (facts, not_told) = rule::facts(&findings.situation, findings.disturbance.as_ref());
    Diagnosis {
        rule: rule_in_force(&findings.situation),
        model: findings.model.clone(),
        no_prediction: (findings.no_prediction.as_ref())
            .map(|why| rule::no_prediction(why, &findings.situation)),
        cpu: findings.cpu.and_then(|cpu| u64::try_from(cpu).ok()),
        facts,
        not_told,
        evidence: findings.tier.map(evidence).into_iter().collect(),
        advice: advice::in_words(findings),
    }
}

fn evidence(found: FoundTier) -> String {
    let confidence = if found.at_the_edge {
        "the sleeps ended at the late edge of that tier, so it is likely"
    } else {
        "the sleeps ended sooner than that tier ends them when nothing else interrupts the CPU, so a larger one is \
         possible as well"
    };
    let tier = match found.tier {
        LatencyTier::Least => "tier 0, 4, 5 or none: 12.5 %, at most 1 ms",
        LatencyTier::One => "tier 1: 25 %, at most 5 ms",
        LatencyTier::Two => "tier 2: 50 %, at most 20 ms",
        LatencyTier::Three => "tier 3: 400 %, at most 75 ms",
    };
    format!(
        "A sleep of 100 ms tells the latency tiers of macOS apart by their caps. It points to {tier}; {confidence}."
    )
}

/// The grounds of a judgement, as a sentence without its end.
fn judged(judgement: &Judgement) -> String {
    let ground = ground(judgement);
    match judgement.verdict {
        Verdict::TooBusy => {
            format!(
                "others or a hypervisor had the CPU, or a quota kept it, as the warnings say; {ground}"
            )
        }
        Verdict::Sooner => format!(
            "{ground}: other interrupts of this CPU came inside the slack and ended the waits, as the rule allows"
        ),
        _ => ground,
    }
}

fn ground(judgement: &Judgement) -> String {
    match judgement.ground {
        Ground::NoRule => "no rule predicts this wait".to_owned(),
        Ground::FewWaits(n) => format!("{n} waits are too few for a median"),
        Ground::NoWakeCost => "what waking up costs was not measured".to_owned(),
        Ground::FewWakes(n) => {
            format!("waking up was measured {n} times, too few to tell how much it differs")
        }
        Ground::Restless(times) => format!(
            "the host is too restless: the p90 of the wake cost is more than {times} times its median"
        ),
        Ground::LongWakes(wake) => format!(
            "the p90 of the wake cost, {wake}, is longer than waking up takes, so nearly any prediction would fit"
        ),
        Ground::Sooner(less) => format!("the median is {less} less than predicted"),
        Ground::Compared { apart_ns: 0, .. } => {
            "the median is as predicted, to the nanosecond".to_owned()
        }
        Ground::Compared {
            apart_ns,
            allowance: Allowance::Nothing,
            doubt: None,
            ..
        } if judgement.verdict == Verdict::Agrees => format!(
            "the median differs by {} from the prediction, as the medians of the rounds do",
            Nanos::new(apart_ns.unsigned_abs())
        ),
        Ground::Compared {
            apart_ns,
            allowed_ns,
            allowance,
            doubt,
        } => {
            let length = |ns: i64| Nanos::new(ns.unsigned_abs());
            let doubt = match doubt {
                None => "",
                Some(Doubt::RoundsUnknown) => ", but by how much rounds differ is not known",
                Some(Doubt::RoundsDiffer) => ", but the medians of the rounds differ by as much",
            };
            format!(
                "the median is {} {} than predicted, {} {} ({}){doubt}",
                length(apart_ns),
                if apart_ns < 0 { "less" } else { "more" },
                match judgement.verdict {
                    Verdict::Agrees => "within",
                    _ => "not within",
                },
                length(allowed_ns),
                source(allowance),
            )
        }
    }
}

fn source(allowance: Allowance) -> &'static str {
    match allowance {
        Allowance::WakeCostP90 => "the p90 of the measured wake cost",
        Allowance::WakeCostP75 => "the p75 of the measured wake cost",
        Allowance::HalfATick => "half a timer interval",
        Allowance::Nothing => "nothing: both are of one model",
    }
}

/// The sections of a diagnosis, without header and warnings.
pub(crate) fn sections(run: &Run, diagnosis: &Diagnosis) -> Vec<Section> {
    let mut sections = vec![Section::from(rule_of(diagnosis))];
    sections.extend(not_told(diagnosis).map(Section::from));
    sections.extend(crate::experiments::doctor::tables(run, diagnosis));
    sections.extend(evidence_of(diagnosis).map(Section::from));
    sections.push(advice_of(&diagnosis.advice).into());
    sections
}

fn rule_of(diagnosis: &Diagnosis) -> String {
    let mut text = "The rule in force for this process\n".to_owned();
    text += &prose::indented("  ", &diagnosis.rule);
    text += &prose::pairs(diagnosis.facts.iter().map(|f| (&f.name, &f.value)));
    text
}

fn not_told(diagnosis: &Diagnosis) -> Option<String> {
    let facts = &diagnosis.not_told;
    (!facts.is_empty()).then(|| {
        let list = prose::pairs(facts.iter().map(|f| (&f.name, &f.why)));
        format!("Not told by this system, and not guessed\n{list}")
    })
}

fn evidence_of(diagnosis: &Diagnosis) -> Option<String> {
    let sentences = diagnosis.evidence.iter();
    let text: String = sentences.map(|it| prose::paragraph(it)).collect();
    Some(text).filter(|text| !text.is_empty())
}

fn advice_of(all: &[Advice]) -> String {
    if all.is_empty() {
        return "Advice\n  None: nothing that was checked would make these waits better.\n"
            .to_owned();
    }
    let mut text =
        "Advice for a wait of 1 ms: measured gains first, then expected ones, then unknown ones\n"
            .to_owned();
    for (i, advice) in all.iter().enumerate() {
        text += &prose::indented(&format!("{:>2}. ", i + 1), &advice.what);
        text += &prose::indented("    ", &format!("Expected: {}.", advice.expected));
        // One line, so that it can be copied, however long.
        if !advice.line.is_empty() {
            text += &format!("    {}\n", advice.line);
        }
    }
    text
}

/// The diagnosis without paths.
pub(crate) fn without_paths(mut diagnosis: Diagnosis) -> Diagnosis {
    for advice in &mut diagnosis.advice {
        if let Some(path) = advice.path.take() {
            let file = path.rsplit('/').next().unwrap_or_default();
            let elsewhere = format!("/sys/fs/cgroup/GROUP/{file}");
            advice.line = advice.line.replace(&prose::quoted(&path), &elsewhere);
        }
    }
    diagnosis
}

/// The diagnosis for a reader who has another computer, and no command.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn for_a_reader(diagnosis: Diagnosis) -> Diagnosis {
    let mut diagnosis = without_paths(diagnosis);
    for advice in &mut diagnosis.advice {
        if advice.line.contains("punctual") {
            advice.line.clear();
        }
    }
    diagnosis
}

/// The run as it can be shown to strangers: the measurements, what bears on
/// waiting, and of the command line its name and `options` only. Names of hosts
/// and users, paths, and whatever is not known to be harmless are left out.
pub fn anonymous(run: &Run, options: &[String]) -> Run {
    let mut machine = run.machine.clone();
    // Of a model, whose name has them.
    machine.other.clear();
    let (disturbance, warnings) = nameless(run.disturbance.as_ref(), &run.warnings);
    let mut beside = run.beside.clone();
    beside.doctor = beside.doctor.map(without_paths);
    let command = std::iter::once("punctual doctor").chain(options.iter().map(String::as_str));
    Run {
        command: command.collect::<Vec<_>>().join(" "),
        machine,
        warnings,
        disturbance,
        beside,
        other: BTreeMap::new(),
        ..run.clone()
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::{Disturbance, OtherProcess};

    use super::*;
    use crate::disturbed;

    #[test]
    fn a_verdict_says_what_it_rests_on() {
        let compared = |apart_ns, doubt| Ground::Compared {
            apart_ns,
            allowed_ns: 31_500,
            allowance: Allowance::WakeCostP90,
            doubt,
        };
        let sooner = ": other interrupts of this CPU came inside the slack and ended the waits, as the rule allows";
        for (verdict, ground, words) in [
            (
                Verdict::Agrees,
                compared(0, None),
                "the median is as predicted, to the nanosecond",
            ),
            (
                Verdict::Agrees,
                compared(28_000, None),
                "the median is 28 us more than predicted, within 31.5 us (the p90 of the measured wake cost)",
            ),
            (
                Verdict::Sooner,
                compared(-40_000, None),
                &format!(
                    "the median is 40 us less than predicted, not within 31.5 us (the p90 of the measured wake cost){sooner}"
                ),
            ),
            (
                Verdict::Sooner,
                Ground::Sooner(Nanos::from_us(40)),
                &format!("the median is 40 us less than predicted{sooner}"),
            ),
            (
                Verdict::TooBusy,
                Ground::FewWaits(3),
                "others or a hypervisor had the CPU, or a quota kept it, as the warnings say; 3 waits are too few for a median",
            ),
            (
                Verdict::Inconclusive,
                compared(40_000, Some(Doubt::RoundsDiffer)),
                "the median is 40 us more than predicted, not within 31.5 us (the p90 of the measured wake cost), but \
                 the medians of the rounds differ by as much",
            ),
        ] {
            assert_eq!(judged(&Judgement { verdict, ground }), words);
        }
    }

    #[test]
    fn names_and_paths_do_not_pass() {
        let mut run: Run = Run {
            command: "punctual doctor --share /home/mary/x.json".to_owned(),
            ..Run::default()
        };
        run.machine.name = "host".to_owned();
        for (key, value) in [
            ("hostname", "marys-laptop"),
            ("user", "mary"),
            ("serial_number", "PF-MARY"),
        ] {
            run.machine.other.insert(key.to_owned(), value.into());
        }
        run.machine.host.kernel = Some("6.1.0-18-amd64".to_owned());
        run.machine.host.cpu_model = Some("A CPU".to_owned());
        run.other.insert("home".to_owned(), "/home/mary".into());
        let disturbance = Disturbance {
            cpus: vec![1],
            others_fraction: Some(0.5),
            processes: vec![OtherProcess {
                name: "mary-secret".to_owned(),
                pid: 4711,
                fraction: 0.5,
            }],
            ..Disturbance::default()
        };
        let line = "echo max | sudo tee /sys/fs/cgroup/user.slice/mary.service/cpu.max";
        run.beside.doctor = Some(Diagnosis {
            advice: vec![Advice {
                line: line.to_owned(),
                path: line.split(' ').next_back().map(str::to_owned),
                ..Advice::default()
            }],
            ..Diagnosis::default()
        });
        run.warnings = disturbed(&disturbance);
        run.disturbance = Some(disturbance);
        let shared = anonymous(&run, &["--quick".to_owned()]);
        let text = shared.to_json();
        assert!(!text.to_lowercase().contains("mary"), "{text}");
        assert!(
            text.contains("sudo tee /sys/fs/cgroup/GROUP/cpu.max"),
            "{text}"
        );
        assert!(text.contains("6.1.0-18-amd64") && text.contains("A CPU"));
        assert!(text.contains("had 50 % of CPU 1") && !text.contains("4711"));
        assert_eq!(shared.command, "punctual doctor --quick");
    }
}
