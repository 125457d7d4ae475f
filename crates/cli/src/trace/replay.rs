//! `punctual trace --scenario`: the recorded waits as a scenario, on simulated computers.

use anyhow::{Result, anyhow};
use punctual_core::Nanos;
use punctual_lab::scenario::{self, Scenario};
use punctual_lab::timer_rule;
use punctual_record::{
    Experiment, Measurement, Replayed, ReplayedThread, ReplayedWaits, Run, Traced,
};
use punctual_sim::Model;
use punctual_trace::{Call, Engine, Head};

use crate::files::Target;
use crate::session;

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
    /// this one, or is not known.
    pub(super) fn finish(self, engine: &Engine, run: &mut Run, is_here: bool) -> Result<()> {
        let model = model_of(&run.results, is_here)?;
        let (text, replayed) = replayed(engine, &model, self.on)?;
        self.to.write(&text)?;
        run.beside.replayed = Some(replayed);
        Ok(())
    }
}

/// The scenario, and how it ran.
fn replayed(engine: &Engine, model: &Model, on: &[Model]) -> Result<(String, Replayed)> {
    let replay = engine.replay(Head {
        source: &session::command_line(),
        on: model.name(),
    });
    let replay = replay.ok_or_else(|| anyhow!("no waits were recorded"))?;
    if replay.threads.is_empty() {
        return Err(anyhow!(
            "no wait ended because its time was over, so there is nothing to replay: trace for longer"
        ));
    }
    let scenario = Scenario::read("recorded", &replay.text).map_err(|why| anyhow!("{why}"))?;
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
    for model in std::iter::once(model).chain(on) {
        let ran = scenario::run(&scenario, model, SEED, false).map_err(|why| anyhow!(why))?;
        for thread in &mut threads {
            let mut rows = ran.measurements.iter();
            let row = rows.find(|row| row.subject == thread.thread);
            thread.simulated.push(waits(model, row));
        }
    }
    let replayed = Replayed {
        model: model.name().to_owned(),
        threads,
        left_out: replay.left_out,
        length_ns: replay.length_ns,
    };
    Ok((replay.text, replayed))
}

/// The waits of a thread on a model.
fn waits(model: &Model, row: Option<&Measurement>) -> ReplayedWaits {
    let per_s = row.and_then(|row| match &row.experiment {
        Experiment::Scenario(threads) => threads.wakes_per_s,
        _ => None,
    });
    ReplayedWaits {
        on: model.name().to_owned(),
        per_s: per_s.unwrap_or(0.0),
        late_ns_p50: row.and_then(|row| row.late_ns.p50),
        late_ns_p99: row.and_then(|row| row.late_ns.p99),
    }
}

/// The model of the computer: its facts, the slack of most waits, and the wake-up of usual waits. That is their time from
/// the interrupt that is due until the call returned, without others on the CPU.
fn model_of(rows: &[Measurement], is_here: bool) -> Result<Model> {
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
    }
    let wake = Nanos::new(wake.checked_div(n).unwrap_or(0));
    // No model knows a foreign scheduler.
    let here = is_here.then(|| timer_rule::linux_here(slack, wake).ok());
    let model = here
        .flatten()
        .map_or_else(|| timer_rule::linux_elsewhere(slack, wake), Ok);
    model.map_err(|why| anyhow!("there is no model of this computer: {why}"))
}
