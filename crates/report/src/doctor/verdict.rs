//! Why a measurement agrees with its prediction or does not.

use punctual_core::Nanos;
use punctual_record::{Allowance, Doubt, Ground, Judgement, Verdict};

/// What a judgement rests on, as a sentence without its end.
pub(super) fn in_words(judgement: &Judgement) -> String {
    let ground = ground(judgement);
    match judgement.verdict {
        Verdict::TooBusy => {
            format!("others had the CPU, or a quota kept it, as the warnings say; {ground}")
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
        Ground::Sooner(less) => format!("the median is {less} less than predicted"),
        Ground::Compared { apart_ns: 0, .. } => {
            "the median is as predicted, to the nanosecond".to_owned()
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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
                "others had the CPU, or a quota kept it, as the warnings say; 3 waits are too few for a median",
            ),
            (
                Verdict::Inconclusive,
                compared(40_000, Some(Doubt::RoundsDiffer)),
                "the median is 40 us more than predicted, not within 31.5 us (the p90 of the measured wake cost), but \
                 the medians of the rounds differ by as much",
            ),
        ] {
            assert_eq!(in_words(&Judgement { verdict, ground }), words);
        }
    }
}
