//! What `punctual doctor` found out, for people: [`in_words`] makes the sentences of a
//! [`Diagnosis`], and `sections` lays it out as text. [`anonymous`] is a Run that can be
//! shown to strangers.

mod advice;
mod anonymous;
mod rule;
mod sections;
mod verdict;

pub use anonymous::anonymous;
pub use rule::timer_rule;
pub(crate) use sections::sections;

use punctual_record::{Diagnosis, DoctorFindings, Experiment, FoundTier, LatencyTier, Measurement};

/// The findings in words: the diagnosis, and why each of the `results` that was judged
/// agrees with its prediction or does not.
pub fn in_words(findings: &DoctorFindings, results: &mut [Measurement]) -> Diagnosis {
    for (i, judgement) in &findings.judgements {
        if let Some(Experiment::Doctor(doctor)) = results.get_mut(*i).map(|m| &mut m.experiment) {
            doctor.agreement = Some(verdict::in_words(judgement));
        }
    }
    let (facts, not_told) = rule::facts(&findings.situation);
    Diagnosis {
        rule: rule::rule(&findings.situation),
        model: findings.model.clone(),
        no_prediction: findings.no_prediction.clone(),
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
