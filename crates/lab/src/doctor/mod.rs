//! Why waits are as late as they are here, and what can be done.
//!
//! [`examine`] measures and predicts; [`diagnose`] [judges](verdict) each measurement
//! against what the [timer rule](crate::timer_rule) in force predicts, and finds the
//! [`advice`] that applies. All of it is pure but what [`Examined::here`] reads. The
//! words for it are in the report.

pub mod advice;
mod cases;
pub mod verdict;

pub use cases::{Pace, ROUNDS, cases};

use punctual_core::{Method, Nanos};
use punctual_program::{Machine, Refusal};
use punctual_record::experiment::{Doctor, WakeCost};
use punctual_record::{
    Disturbance, DoctorFindings, Experiment, Interval, Judgement, Late, Measurement, NoRule,
    OfExperiment, Situation, System, Verdict, median,
};
use punctual_sim::Model;

use crate::host::{HostMachine, Stop};
use crate::prediction::predict;
use crate::rounds::{self, Case, Progress, Results};
use crate::timer_rule::{Rule, situation, stated_interval};
use advice::Seen;
use cases::predicted_late;
use verdict::{Evidence, Tolerance};

/// The subject of an examination: a situation, and the rule that is in force in it.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The facts.
    pub situation: Situation,
    /// The rule, or why none is known.
    pub rule: Result<Rule, NoRule>,
    /// The CPU that the waits are kept on.
    pub cpu: Option<usize>,
}

impl Examined {
    /// This process on this host, asking for a timer interval while `held`, if
    /// it does.
    pub fn here(held: Option<Nanos>) -> Self {
        let situation = Situation {
            own_request: held,
            ..situation::of_host()
        };
        Self {
            rule: Rule::in_force(&situation),
            situation,
            cpu: crate::host::usual_cpu(),
        }
    }

    /// An ordinary process on a simulated computer, asking for a timer interval
    /// if one is to be `held`.
    ///
    /// # Errors
    /// The model has no timer rule of an operating system, or no timer interval
    /// to ask for.
    pub fn simulated(computer: &Model, held: Option<Nanos>) -> Result<Self, String> {
        let mut situation = situation::of_model(computer)?;
        if let Some(interval) = &mut situation.interval {
            interval.finest = stated_interval(computer, interval.finest)?;
        }
        let mut rule = Rule::from(computer.clone());
        if let Some(held) = held {
            let stated = stated_interval(computer, held)?;
            situation.own_request = Some(held);
            if let Some(interval) = &mut situation.interval {
                interval.current = stated;
            }
            rule = rule.asking(held);
        }
        Ok(Self {
            situation,
            rule: Ok(rule),
            cpu: None,
        })
    }

    /// The cases to measure on `machine`, each as long as the rule makes it
    /// expect.
    pub fn cases(&self, machine: &dyn Machine, pace: Pace) -> Vec<Case> {
        let late = |method, length| {
            let late = predicted_late(self.rule.as_ref().ok()?, method, length)?;
            u64::try_from(late).ok().map(Nanos::new)
        };
        let late = |method, length| late(method, length).unwrap_or_default();
        cases(&self.situation, machine, pace, self.cpu, &late)
    }
}

/// Examines this process on this host: the timer rule in force, its prediction, the measurements,
/// and the remedies, each tried where possible. Takes about 10 s, or under 4 with [`Pace::Quick`].
/// This thread and one beside it wait meanwhile.
///
/// # Errors
/// A wait of the examination is refused here.
///
/// # Examples
///
/// ```no_run
/// use punctual_lab::doctor::{Pace, doctor};
///
/// let findings = doctor(Pace::Quick)?;
/// for (_, judgement) in &findings.judgements {
///     println!("{:?}", judgement.verdict);
/// }
/// for remedy in &findings.remedies {
///     println!("{remedy:?}, {:?} ns less late", remedy.gain_ns());
/// }
/// println!("SCHED_FIFO: {:?}", findings.situation.real_time);
/// # Ok::<(), punctual_program::Refusal>(())
/// ```
pub fn doctor(pace: Pace) -> Result<DoctorFindings, Refusal> {
    let mut machine = HostMachine::new(Stop::default());
    let examined = Examined::here(None);
    let cases = examined.cases(&machine, pace);
    let mut results = examine(&examined, &mut machine, &cases, ROUNDS, &mut |_| ())?;
    if let Some(refusal) = results.end.failed {
        return Err(refusal);
    }
    let disturbance = machine.witness().disturbance();
    Ok(diagnose(
        &examined,
        &mut results.measurements,
        disturbance.as_ref(),
    ))
}

/// Measures in so many rounds, and predicts.
///
/// # Errors
/// As [`rounds::run`].
pub fn examine(
    examined: &Examined,
    machine: &mut dyn Machine,
    cases: &[Case],
    rounds: u32,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Refusal> {
    // A model has no other process with a request; on this host it is so already.
    let around: Vec<Case> = match (&examined.rule, &examined.situation.model) {
        (Ok(rule), Some(_)) => cases.iter().map(|case| rule.case(case)).collect(),
        _ => cases.to_vec(),
    };
    let mut results = rounds::run(machine, &around, rounds, watch)?;
    if let Ok(rule) = &examined.rule {
        predict(rule, cases, rounds, &mut results.measurements)?;
    }
    Ok(results)
}

/// The diagnosis. The comparison with the prediction is also in [`Doctor`] of each measurement.
///
/// Too strong a `disturbance` leaves the part of the rule undecided.
pub fn diagnose(
    examined: &Examined,
    measurements: &mut [Measurement],
    disturbance: Option<&Disturbance>,
) -> DoctorFindings {
    let Examined {
        situation, rule, ..
    } = examined;
    let is_busy = disturbance.is_some_and(Disturbance::is_too_busy);
    let judgements = compare(situation, is_busy, measurements);
    let seen = seen(examined, measurements);
    DoctorFindings {
        model: rule.as_ref().ok().map(|r| r.model().name().to_owned()),
        no_prediction: rule.as_ref().err().cloned(),
        cpu: examined.cpu,
        disturbance: disturbance.cloned(),
        tier: seen.tier.map(|(found, _)| found),
        judgements,
        remedies: advice::advice(situation, &seen, disturbance),
        situation: situation.clone(),
    }
}

/// Judges the measurements of the sleep and the timer.
fn compare(
    situation: &Situation,
    is_busy: bool,
    measurements: &mut [Measurement],
) -> Vec<(usize, Judgement)> {
    let judged = |m: &Measurement| {
        let call = [situation.sleep, situation.timer];
        call.into_iter().flatten().any(|c| c.name() == m.subject)
    };
    let wakes: Vec<(u64, Late)> = measurements
        .iter()
        .filter(|m| m.subject == Method::SlacklessNanosleep.name())
        .map(|m| (asked(m), m.late_ns.clone()))
        .collect();
    let mut judgements = Vec::new();
    for (i, m) in measurements.iter_mut().enumerate() {
        if !judged(m) {
            continue;
        }
        // After a rest as long as this wait's, slack included.
        let rest = asked(m).saturating_add_signed(m.predicted_late_ns.unwrap_or(0));
        let wake = wakes.iter().min_by_key(|(asked, _)| asked.abs_diff(rest));
        let wake = wake.map(|(_, late)| late.clone());
        let wake_cost_ns = wake.as_ref().map(|wake| WakeCost {
            method: Method::SlacklessNanosleep.name().to_owned(),
            n: wake.n,
            p50: wake.p50,
            p75: wake.p75,
            p90: wake.p90,
        });
        let tolerance = tolerance(situation, &m.subject, wake);
        let judgement = verdict::judge(Evidence {
            late: &m.late_ns,
            rounds: medians(m),
            predicted_ns: m.predicted_late_ns,
            tolerance: tolerance.as_ref(),
            idle_exit: situation.host.deepest_idle_exit,
            is_busy,
        });
        let verdict = judgement.verdict;
        let is_judged = verdict != Verdict::NoPrediction;
        let Experiment::Doctor(doctor) = &mut m.experiment else {
            continue;
        };
        doctor.wake_cost_ns = wake_cost_ns;
        let tolerance = tolerance.filter(|_| is_judged);
        doctor.tolerance_ns = tolerance.as_ref().and_then(Tolerance::ns);
        doctor.agrees = match verdict {
            Verdict::Agrees => Some(true),
            Verdict::Disagrees => Some(false),
            _ => None,
        };
        doctor.verdict = Some(verdict);
        judgements.push((i, judgement));
    }
    judgements
}

/// A model is compared with itself; Windows counts in ticks, which are as short
/// as can be while a high-resolution timer waits; elsewhere what the rule leaves
/// out is the wake cost.
fn tolerance(situation: &Situation, call: &str, wake: Option<Late>) -> Option<Tolerance> {
    if situation.model.is_some() {
        return Some(Tolerance::Exact);
    }
    match (&situation.system, situation.interval) {
        (System::Windows, Some(interval)) if call == Method::HighResolutionTimer.name() => {
            Some(Tolerance::HalfATick(interval.finest))
        }
        (System::Windows, Some(interval)) => Some(Tolerance::HalfATick(interval.current)),
        _ => wake.map(Tolerance::WakeCost),
    }
}

/// The interval over the medians of the rounds.
fn medians(m: &Measurement) -> Option<Interval> {
    let mut samples = &m.samples_late_ns[..];
    let mut medians = Vec::new();
    for round in &m.rounds {
        let (round, rest) = samples.split_at_checked(usize::try_from(round.n).ok()?)?;
        medians.push(median(round)? as f64);
        samples = rest;
    }
    Interval::of(&medians)
}

/// The facts on which advice depends.
fn seen(examined: &Examined, measurements: &[Measurement]) -> Seen {
    let situation = &examined.situation;
    let find = |subject: Option<&str>, length: Nanos| {
        let mut asked = measurements.iter().filter(|m| asked(m) == length.as_ns());
        asked.find(|m| Some(m.subject.as_str()) == subject)
    };
    let [sleep, timer] = [situation.sleep, situation.timer].map(|it| it.map(Method::name));
    let timer = timer.filter(|timer| Some(*timer) != sleep);
    let late = |m: Option<&Measurement>| m.map(|m| m.late_ns.clone());
    let short = find(sleep, cases::SHORT);
    let tier = late(find(sleep, cases::LONG)).and_then(|late| verdict::tier_of(&late));
    let in_tier_0 = verdict::late_in_tier("0", cases::SHORT);
    Seen {
        sleep: late(short).unwrap_or_default(),
        timer: late(find(timer, cases::SHORT)),
        wake: late(find(Some(Method::SlacklessNanosleep.name()), cases::SHORT)),
        strategy: find(Some(cases::STRATEGY), cases::SHORT)
            .map(|m| (m.late_ns.clone(), m.cpu.fraction)),
        queued_ns: short.and_then(|m| m.queued_per_wait_ns),
        if_asked: if_asked(examined),
        if_honoured: if_honoured(examined),
        tier: tier.zip(in_tier_0),
    }
}

/// The prediction of the rule if this process asked for 1 ms.
fn if_asked(examined: &Examined) -> Option<(Nanos, i64)> {
    let rule = examined.rule.as_ref().ok()?;
    let sleep = examined.situation.sleep?;
    if examined.situation.system != System::Windows {
        return None;
    }
    let rule = rule.clone().asking(cases::SHORT);
    Some((cases::SHORT, predicted_late(&rule, sleep, cases::SHORT)?))
}

/// The prediction of the rule if the requests of this process counted.
fn if_honoured(examined: &Examined) -> Option<i64> {
    use punctual_core::setting::Throttling;
    let mut situation = examined.situation.clone();
    situation.throttling = Some(Throttling::HonourRequests);
    let rule = match examined.rule.as_ref().ok()? {
        rule if situation.model.is_some() => rule.clone(),
        _ => Rule::in_force(&situation).ok()?,
    };
    predicted_late(&rule, situation.sleep?, cases::SHORT)
}

fn asked(m: &Measurement) -> u64 {
    Doctor::of(m).map_or(0, |of| of.asked_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_told_neither_agrees_nor_differs() {
        let examined = Examined::simulated(&Model::parse("linux").unwrap(), None).unwrap();
        let call = examined.situation.sleep.unwrap().name();
        let told = |late_ns: &[i64]| {
            let mut of = Measurement {
                late_ns: Late::of(late_ns),
                predicted_late_ns: Some(50_000),
                ..Measurement::of(Experiment::Doctor(Doctor::default()), call)
            };
            let found = diagnose(&examined, std::slice::from_mut(&mut of), None);
            (
                found.judgements[0].1.verdict,
                Doctor::of(&of).unwrap().agrees,
            )
        };
        assert_eq!(told(&[50_000; 100]), (Verdict::Agrees, Some(true)));
        assert_eq!(told(&[60_000; 100]), (Verdict::Inconclusive, None));
    }
}
