//! `punctual trace --scenario`: the recorded waits as a scenario, on simulated computers.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_lab::scenario::{self, Scenario};
use punctual_lab::timer_rule;
use punctual_record::{
    Experiment, Measurement, Replayed, ReplayedThread, ReplayedWaits, Run, Traced,
};
use punctual_sim::Model;
use punctual_trace::{Call, Engine, Head, Replay as ScenarioText};

use crate::files::Target;
use crate::{session, stop};

/// The seed of the simulations.
const SEED: u64 = 1;

/// Where the scenario goes, and the systems on which it runs besides.
pub(super) struct Replay<'a> {
    to: Target,
    on: &'a [Model],
}

impl<'a> Replay<'a> {
    /// Makes sure that it can be written.
    pub(super) fn new(file: &std::path::Path, on: &'a [Model]) -> Result<Self> {
        let to = Target::new(file)?;
        Ok(Self { to, on })
    }

    /// Writes the waits of an engine as a scenario, runs it, and notes in the Run of the trace how that went. The computer was
    /// this one, or is not known. `stop` ends the simulations.
    pub(super) fn finish(
        self,
        engine: &Engine,
        run: &mut Run,
        is_here: bool,
        stop: &Stop,
    ) -> Result<()> {
        let has_bounds = engine.has_bounds();
        let model = model_of(&run.results, is_here, has_bounds)?;
        let replay = replay(engine, &model)?;
        let scenario = Scenario::read("recorded", &replay.text).map_err(|why| anyhow!("{why}"))?;
        self.to.write(&replay.text)?;
        let models: Vec<Model> = std::iter::once(&model).chain(self.on).cloned().collect();
        run.beside.replayed = Some(replayed(replay, &scenario.into(), models, stop)?);
        Ok(())
    }
}

/// The scenario.
fn replay(engine: &Engine, model: &Model) -> Result<ScenarioText> {
    let replay = engine.replay(Head {
        source: &session::command_line(),
        on: model.name(),
    });
    let replay = replay.ok_or_else(|| anyhow!("no waits were recorded"))?;
    if replay.threads.is_empty() {
        bail!(
            "no wait ended because its time was over, so there is nothing to replay: trace for longer"
        );
    }
    Ok(replay)
}

/// How the scenario ran on each of these computers, of which the first is the traced one.
fn replayed(
    replay: ScenarioText,
    scenario: &Arc<Scenario>,
    models: Vec<Model>,
    stop: &Stop,
) -> Result<Replayed> {
    let mut threads: Vec<ReplayedThread> = (replay.threads.iter())
        .map(|thread| ReplayedThread {
            thread: thread.name.clone(),
            traced: ReplayedWaits {
                on: "traced".to_owned(),
                per_s: thread.waits_per_s,
                late_ns_p50: thread.late_ns_p50,
                late_ns_p99: thread.late_ns_p99,
            },
            simulated: vec![],
        })
        .collect();
    let name = models[0].name().to_owned();
    let scenario = Arc::clone(scenario);
    let run = move || {
        for model in models {
            let ran = scenario::run(&scenario, &model, SEED, false)?;
            for thread in &mut threads {
                let mut rows = ran.measurements.iter();
                let row = rows.find(|row| row.subject == thread.thread);
                thread.simulated.push(waits(model.name(), row));
            }
        }
        Ok(threads)
    };
    let ran: Option<Result<_, String>> = stop::unless_stopped_again(stop, run)?;
    let Some(threads) = ran else {
        bail!(
            "it was stopped before the simulations ended: the scenario was written, and not compared"
        );
    };
    Ok(Replayed {
        model: name,
        threads: threads.map_err(|why| anyhow!(why))?,
        left_out: replay.left_out,
        length_ns: Some(replay.length_ns),
    })
}

/// The waits of a thread on a model.
fn waits(model: &str, row: Option<&Measurement>) -> ReplayedWaits {
    let per_s = row.and_then(|row| match &row.experiment {
        Experiment::Scenario(threads) => threads.wakes_per_s,
        _ => None,
    });
    ReplayedWaits {
        on: model.to_owned(),
        per_s: per_s.unwrap_or(0.0),
        late_ns_p50: row.and_then(|row| row.late_ns.p50),
        late_ns_p99: row.and_then(|row| row.late_ns.p99),
    }
}

/// The model of the computer: its facts, the slack of most waits, and the wake-up of usual waits. That is their time from
/// the interrupt that is due until the call returned, without others on the CPU. Where slack is an upper bound, the
/// interrupt and the wake-up are not seen: they are the unknown time.
fn model_of(rows: &[Measurement], is_here: bool, has_bounds: bool) -> Result<Model> {
    let traced = rows.iter().filter_map(|row| match &row.experiment {
        Experiment::Trace(of) => Some(&**of),
        _ => None,
    });
    let traced: Vec<&Traced> = traced.collect();
    // The slack of waits for events grows with their length.
    let has_that_of_thread = |of: &&&Traced| {
        let call = Call::named(&of.call);
        of.slack_ns.is_some() && !call.is_some_and(Call::is_for_events)
    };
    let most = (traced.iter().filter(has_that_of_thread)).max_by_key(|of| of.all.n);
    let slack = most
        .and_then(|of| of.slack_ns)
        .map_or(Nanos::from_us(50), Nanos::new);
    let (mut n, mut wake) = (0, 0);
    for of in traced {
        let parts = &of.middle.parts_ns;
        n += of.middle.n;
        wake += parts.interrupt + parts.wake_up + parts.return_;
        if has_bounds {
            wake += parts.unknown;
        }
    }
    let wake = Nanos::new(wake.checked_div(n).unwrap_or(0));
    // No model knows a foreign scheduler.
    let here = is_here.then(|| timer_rule::linux_here(slack, wake).ok());
    let model = here
        .flatten()
        .map_or_else(|| timer_rule::linux_elsewhere(slack, wake), Ok);
    model.map_err(|why| anyhow!("there is no model of this computer: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_trace::text;

    /// A library sees neither timers nor wake-ups.
    #[test]
    fn the_wake_up_is_unknown_time_where_slack_is_a_bound() {
        let mut events = text::head(None);
        for n in 0..40_u64 {
            let at = 1_000_000 + n * 2_000_000;
            let due = at + 1_000_000;
            let rest = [
                format!("{at} 0 7 enter 7 nanosleep 1000000"),
                format!("{at} 0 7 due {due} 50000 timer"),
                format!("{} 0 7 exit 0", due + 74_000),
            ];
            events.extend(rest.map(|line| line + "\n"));
        }
        let engine = text::read(&events).unwrap();
        let model = model_of(&engine.rows(), false, engine.has_bounds()).unwrap();
        assert!(
            model.name().contains("slack=50us,wake=24us"),
            "{}",
            model.name()
        );
        let model = model_of(&engine.rows(), false, false).unwrap();
        assert!(model.name().contains("wake=0ns"), "{}", model.name());
    }
}
