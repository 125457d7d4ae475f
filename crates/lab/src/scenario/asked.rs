//! The processes of a scenario that ask for a timer interval, and whose request rules when.

use punctual_core::Nanos;
use punctual_program::setting::Requester;
use punctual_sim::trace::Happened;
use punctual_sim::{Model, Trace};

use super::{Scenario, run};

/// The requests for a timer interval in a run of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhoAsked {
    /// Each request, in the order in which they were made.
    pub requests: Vec<Asked>,
    /// The interval of the interrupt, from each instant at which it changed.
    pub intervals: Vec<(Nanos, Nanos)>,
    /// How long the scenario lasts.
    pub length: Nanos,
}

/// A request of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The name of the process.
    pub process: String,
    /// Whether a driver asked for it.
    pub by_driver: bool,
    /// The interval that it asked for.
    pub interval: Nanos,
    /// When it asked.
    pub since: Nanos,
    /// When it withdrew the request, or ended; `None` if the scenario ended first.
    pub until: Option<Nanos>,
    /// How long the system ignored the request.
    pub ignored: Nanos,
    /// When no request that counted was shorter, from and to.
    pub ruled: Vec<(Nanos, Nanos)>,
}

/// Runs `scenario` on `model`, for the requests.
///
/// # Errors
/// As [`run`](super::run); also on a model without a timer interval, and where there are too many
/// requests to keep.
pub fn who_asked(scenario: &Scenario, model: &Model, seed: u64) -> Result<WhoAsked, String> {
    let trace = run::run(scenario, model, seed, true)?.trace;
    let trace = trace.unwrap_or_default();
    let who = of_trace(&trace, scenario.length());
    if who.intervals.is_empty() {
        return Err(format!(
            "{} has no timer interval to ask for; take a model of Windows",
            model.name()
        ));
    }
    match trace.is_cut {
        true => Err(format!(
            "{} has more events than are kept; give it a shorter time",
            scenario.name
        )),
        false => Ok(who),
    }
}

fn of_trace(trace: &Trace, length: Nanos) -> WhoAsked {
    let intervals = trace.events.iter().filter_map(|(at, event)| match event {
        Happened::Interval(interval) => Some((*at, *interval)),
        _ => None,
    });
    let name_of = |process| {
        let mut threads = trace.threads.iter();
        let first = threads.find(|thread| thread.process == process);
        first.map_or_else(String::new, |thread| thread.name.clone())
    };
    let mut requests: Vec<Asked> = Vec::new();
    // The outstanding ones, by their place among all.
    let mut open = Vec::new();
    for (i, (from, outstanding)) in trace.requests.iter().enumerate() {
        let to = trace.requests.get(i + 1).map_or(length, |(next, _)| *next);
        let key = |request: &punctual_sim::rules::Outstanding| {
            (request.process, request.by, request.interval)
        };
        open.retain(|(of, place): &(_, usize)| {
            let stays = outstanding.iter().any(|request| key(request) == *of);
            if !stays {
                requests[*place].until = Some(*from);
            }
            stays
        });
        for request in outstanding {
            let known = open.iter().find(|(of, _)| *of == key(request));
            let place = known.map_or(requests.len(), |(_, place)| *place);
            if place == requests.len() {
                open.push((key(request), place));
                requests.push(Asked {
                    process: name_of(request.process),
                    by_driver: request.by == Requester::Driver,
                    interval: request.interval,
                    since: *from,
                    until: None,
                    ignored: Nanos::ZERO,
                    ruled: vec![],
                });
            }
            let asked = &mut requests[place];
            if request.counts_as.is_none() {
                asked.ignored += to - *from;
            }
            match asked.ruled.last_mut() {
                Some((_, end)) if request.rules && *end == *from => *end = to,
                _ if request.rules => asked.ruled.push((*from, to)),
                _ => {}
            }
        }
    }
    WhoAsked {
        requests,
        intervals: intervals.collect(),
        length,
    }
}
