//! Which timer rule made a log of waits.
//!
//! - `grid` looks whether all waits end on ticks;
//! - `candidates` lists the rules: models of the simulator with parameters, which run the very waits of
//!   the log and so predict how late each is;
//! - `likelihood` fits what waking up cost and holds each rule against a description that needs none;
//! - `stalls` looks at waits that were much later than the others. A quota and a busy CPU end
//!   them on a grid of their own.
//!
//! Thresholds were set on logs that simulated models made (docs/identifying.md), unless a comment says
//! where they come from.
//!
//! A rule is named only if it fits, and if no other rule fits about as well. The log must have
//! more than one length, because any constant delay could have made a single one.

mod candidates;
mod frames;
mod grid;
mod likelihood;
mod stalls;

use punctual_core::Nanos;
use punctual_record::{Identity, IdentityCandidate, IdentityOutcome};

use candidates::Candidate;
use likelihood::{Fit, Observed};
use stalls::Stalls;

/// Waits of a log, in order.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The length that each asked for, in nanoseconds; empty for frames, where it is not known.
    pub asked_ns: Vec<u64>,
    /// The length that each took, in nanoseconds.
    pub got_ns: Vec<u64>,
    /// When each ended, in nanoseconds from any instant; empty if the log does not say it.
    pub ended_ns: Vec<u64>,
}

impl Waits {
    /// How late each was, in nanoseconds.
    fn late_ns(&self) -> impl Iterator<Item = i64> + '_ {
        let pairs = self.got_ns.iter().zip(&self.asked_ns);
        pairs.map(|(got, asked)| signed(*got) - signed(*asked))
    }

    /// When each ended, if the log says it of all.
    fn times(&self) -> Option<&[u64]> {
        (self.ended_ns.len() == self.got_ns.len()).then_some(&self.ended_ns)
    }
}

/// A length, of 73 years at the most.
fn signed(ns: u64) -> i64 {
    ns.min(u64::MAX / 8) as i64
}

/// No rule is named by fewer waits.
const FEWEST: usize = 40;

/// More waits than that tell no more.
const MOST: usize = 400;

/// A rule fits if it describes the waits at most this much worse than a description without a rule, in
/// nats per wait.
const FITS: f64 = 0.25;

/// Another rule must fit worse than the best one by this much over all waits, in nats.
const APART: f64 = 8.0;

/// The usual tick of Windows is this much likelier beforehand than any other rule, in nats:
/// computers have it by default.
const USUAL: f64 = 2.0 * APART;

/// A wait so much later than usual is a stall. Of more of them than this share, only their times would tell what
/// made them.
const STALL_NS: i64 = 700_000;
const STALLS: f64 = 0.02;

/// The share of the waits that lie near a constant delay, if the others are few or if they are
/// stalls at random.
const NEAR: f64 = 0.93;
const NEAR_WITH_STALLS: f64 = 0.8;

/// Slow wake-ups alone make most waits late by at most this, and leave no more stalls than this share.
const SLOW_WAKE_NS: i64 = 300_000;
const SOME_STALLS: f64 = 0.05;

/// A rule whose lateness has another distribution than that of the log, as chance would make it this rarely, in
/// nats, is not named.
const STRANGE: f64 = 6.0;

/// The tick that most computers with Windows have without a request. Another one is not named for a few delays that
/// are 0.1 ms apart, which anything else makes too. Of a short tick, waking up makes a large part: its
/// waits must lie within a twentieth of it beside the prediction.
const USUAL_TICK_NS: u64 = 15_625_000;
const SHORT_TICK_NS: u64 = 2_000_000;
const FEW_DELAYS: usize = 4;

/// Which rule made these waits.
pub fn identify(waits: &Waits) -> Identity {
    if waits.got_ns.len() < FEWEST {
        return cannot_tell(
            format!(
                "{} of the {FEWEST} waits that are needed are in the log.",
                waits.got_ns.len()
            ),
            "A longer log would decide.",
        );
    }
    if waits.asked_ns.len() != waits.got_ns.len() {
        return frames::identify(&waits.got_ns);
    }
    let by_ends = grid::identify(waits).or_else(|| stalls::identify(waits));
    by_ends.unwrap_or_else(|| by_likelihood(waits))
}

fn by_likelihood(waits: &Waits) -> Identity {
    let observed = Observed::of(waits, MOST);
    let all = candidates::all(&observed.asked);
    let asked = candidates::often_enough(&observed.asked);
    let fitted = all.iter().filter_map(|candidate| {
        let predicted = candidate.overshoots(&asked)?;
        let mut fit = likelihood::fit(&observed, &predicted, candidate)?;
        fit.log_likelihood += if candidate.grid_ns == Some(USUAL_TICK_NS) {
            USUAL
        } else {
            0.0
        };
        Some((candidate, fit))
    });
    let mut fitted: Vec<(&Candidate, Fit)> = fitted.collect();
    fitted.sort_by(|(_, one), (_, other)| other.log_likelihood.total_cmp(&one.log_likelihood));
    let free = likelihood::without_rule(&observed);
    let n = observed.late.len() as f64;
    let misfit = |fit: &Fit| (free - fit.log_likelihood) / n;
    let candidates = grouped(&fitted, misfit);
    let none_fits = fitted.first().is_none_or(|(_, fit)| misfit(fit) > FITS);
    if none_fits
        && observed.late_percentile(10) >= 0
        && observed.late_percentile(90) <= SLOW_WAKE_NS
        && Stalls::of(waits).share() <= SOME_STALLS
    {
        let why = format!(
            "They are late by {}. Slow wake-ups alone can do that, with a timer slack or without.",
            usual_lateness(&observed)
        );
        let nearest = fitted.first().map(|(_, fit)| fit.predicted_of(&observed));
        return Identity {
            candidates,
            predicted_late_ns: nearest.unwrap_or_default(),
            ..cannot_tell(
                why,
                "Run `punctual doctor` on the computer of the log: it tells the timer slack.",
            )
        };
    }
    let Some((best, fit)) = fitted.first() else {
        return Identity {
            outcome: IdentityOutcome::NoneFits,
            evidence: vec![none_reaches(&observed)],
            further: OTHER_LENGTHS.to_owned(),
            ..Identity::default()
        };
    };
    let rival = fitted
        .iter()
        .find(|(candidate, _)| !candidate.is_like(best));
    let told_apart =
        rival.is_none_or(|(_, rival)| fit.log_likelihood - rival.log_likelihood >= APART);
    // Waits of one rule can begin in other ways than those that fit best.
    let mut alike = (fitted.iter()).filter(|(it, fit)| it.is_like(best) && misfit(fit) <= FITS);
    let shows = alike.any(|(it, fit)| is_evidence(it, fit, waits, &observed));
    let outcome = match (misfit(fit) <= FITS, told_apart && shows) {
        (false, _) => IdentityOutcome::NoneFits,
        (true, true) => IdentityOutcome::Named,
        (true, false) => IdentityOutcome::CannotTell,
    };
    let mut evidence = vec![match outcome {
        IdentityOutcome::NoneFits => none_reaches(&observed),
        _ => near(best, fit),
    }];
    evidence.extend(match (outcome, rival) {
        (IdentityOutcome::NoneFits, _) => Some(format!("{} is the nearest.", capital(&best.rule))),
        (_, Some((rival, other))) if told_apart => Some(format!(
            "{} does not fit: {}.",
            capital(&rival.rule),
            would_be(&observed, fit, other)
        )),
        (_, rival) => {
            rival.map(|(rival, _)| format!("{} fits about as well.", capital(&rival.rule)))
        }
    });
    if outcome == IdentityOutcome::CannotTell && told_apart {
        evidence.push(
            "This is no proof: a constant delay or other load can have the same effect.".to_owned(),
        );
    }
    Identity {
        rule: (outcome == IdentityOutcome::Named)
            .then(|| best.grid_ns.map_or_else(|| best.rule.clone(), grid::name)),
        outcome,
        evidence,
        further: match outcome {
            IdentityOutcome::Named => best.remedy.to_owned(),
            _ => OTHER_LENGTHS.to_owned(),
        },
        predicted_late_ns: fit.predicted_of(&observed),
        candidates,
    }
}

/// Whether a rule that makes all waits alike explains all except stalls, which are few or at random.
fn explains_most(waits: &Waits, fit: &Fit) -> bool {
    let stalls = Stalls::of(waits);
    match stalls.are_random() {
        true => fit.near >= NEAR_WITH_STALLS,
        false => stalls.share() <= STALLS && fit.near >= NEAR,
    }
}

/// Whether a rule that fits, and is the only one, explains the waits.
fn is_evidence(candidate: &Candidate, fit: &Fit, waits: &Waits, observed: &Observed) -> bool {
    if candidate.is_long_slack() {
        return observed.lengths_differ()
            && fit.near >= NEAR_WITH_STALLS
            && fit.stalled <= SOME_STALLS;
    }
    if candidate.slack.is_some() {
        return explains_most(waits, fit);
    }
    let shows = match candidate.grid_ns {
        Some(tick) if !grid::can_be(waits, tick) => false,
        Some(USUAL_TICK_NS) | None => true,
        Some(_) => fit.delays > FEW_DELAYS,
    };
    let beside_ns = match candidate.grid_ns {
        Some(tick @ ..SHORT_TICK_NS) => signed(tick) / 20,
        _ => likelihood::NEAR_NS,
    };
    shows && likelihood::strangeness(&observed.late, &fit.predicted, beside_ns) <= STRANGE
}

/// The data that would tell more.
const OTHER_LENGTHS: &str = "Log waits of several lengths, such as 1, 3 and 10 ms, or the time at which each ended; that distinguishes the rules.";

fn cannot_tell(why: String, further: &str) -> Identity {
    Identity {
        evidence: vec![why],
        further: further.to_owned(),
        ..Identity::default()
    }
}

/// Each rule once, with the models that predict it, as far as they are close.
fn grouped(fitted: &[(&Candidate, Fit)], misfit: impl Fn(&Fit) -> f64) -> Vec<IdentityCandidate> {
    const LISTED: usize = 5;
    let mut groups: Vec<IdentityCandidate> = Vec::new();
    for (candidate, fit) in fitted {
        let misfit_nats = misfit(fit);
        match groups.iter_mut().find(|group| group.rule == candidate.rule) {
            Some(group)
                if misfit_nats < group.misfit_nats + 0.05
                    && !group.models.contains(&candidate.model) =>
            {
                group.models.push(candidate.model.clone());
            }
            Some(_) => {}
            None => groups.push(IdentityCandidate {
                rule: candidate.rule.clone(),
                models: vec![candidate.model.clone()],
                misfit_nats,
            }),
        }
    }
    groups.truncate(LISTED);
    groups
}

/// The text as the begin of a sentence. The name macOS stays as it is.
fn capital(text: &str) -> String {
    if text.starts_with("macOS") {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// `97 % end within 0.1 ms of the prediction`.
fn near(candidate: &Candidate, fit: &Fit) -> String {
    let share = fit.near * 100.0;
    let (how, by, earlier) = match candidate.is_long_slack() {
        true => (
            "at most",
            "after",
            " Another timer that ends within the slack ends a wait earlier.",
        ),
        false => ("within", "of", ""),
    };
    format!(
        "{share:.0} % end {how} {} {by} the prediction for {}, plus {} for waking up.{earlier}",
        Nanos::new(likelihood::NEAR_NS.unsigned_abs()),
        candidate.rule,
        Nanos::from_us((fit.wake_ns.max(0.0) / 1e3).round() as u64)
    )
}

fn none_reaches(observed: &Observed) -> String {
    format!(
        "No rule predicts lateness from {} of these waits.",
        usual_lateness(observed)
    )
}

fn usual_lateness(observed: &Observed) -> String {
    let [low, high] =
        [10, 90].map(|percent| Nanos::new(observed.late_percentile(percent).max(0) as u64));
    format!("{low} to {high}, the 10th and 90th percentiles")
}

/// The most frequent length as another rule would have made it.
fn would_be(observed: &Observed, best: &Fit, other: &Fit) -> String {
    let asked = observed.usual_asked();
    let of = |fit: &Fit| {
        let waits = observed
            .asked
            .iter()
            .zip(&fit.predicted)
            .filter(|(length, _)| **length == asked);
        let mut late: Vec<i64> = waits.map(|(_, late)| *late).collect();
        late.sort_unstable();
        let median = late.get(late.len() / 2).copied().unwrap_or(0);
        Nanos::from_us(asked.saturating_add_signed(median) / 1_000)
    };
    let (other, best) = (of(other), of(best));
    match other.as_ns().abs_diff(best.as_ns()) < 50_000 {
        true => "it would spread the waits differently, or few computers have it".to_owned(),
        false => format!(
            "a wait of {} would take {other} in the median, instead of {best}",
            Nanos::new(asked)
        ),
    }
}
