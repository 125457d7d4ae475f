//! What is measured, and the rounds of it.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_lab::host::{ProcessCommand, Stop, Witness, usual_cpu};
use punctual_lab::rounds::End;
use punctual_os::thread;
use punctual_program::Refusal;
use punctual_record::{Disturbance, Value, Warning};
use punctual_zero_memory::{Advice, Mapping, PAGE, free_bytes, huge_page_bytes, huge_pages};
use serde_json::json;

use super::ProbePart;
use super::amounts::{Amounts, Settings, in_words};
use super::blocks::Blocks;
use super::ledger::Case;
use super::pages::{self, Pages, Way};
use super::payers::{Doing, Payers};
use super::processes::Processes;
use super::references::Reference;
use super::warm_up::WarmUp;
use crate::rows::ZeroRow;

/// Everything that is going to be measured.
pub struct ProbePlan {
    cases: Vec<Turns>,
    left_out: Vec<Warning>,
    amounts: Amounts,
    parts: Vec<ProbePart>,
    cpu: Option<usize>,
    stop: Stop,
    warm_up: Option<WarmUp>,
}

/// A case and how often it gets its turn.
struct Turns {
    case: Box<dyn Case>,
    rounds: u32,
}

/// How far it has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Turns that are done.
    pub done: usize,
    /// What is measured next.
    pub next: String,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Probed {
    /// What was measured, part by part.
    pub measurements: Vec<ZeroRow>,
    /// What else happened to the computer meanwhile.
    pub disturbance: Option<Disturbance>,
    /// What ended it before its end.
    pub end: End,
}

/// Of the random order of pages; the same in every run, so that runs can be
/// compared.
const SEED: u64 = 1;

impl ProbePlan {
    /// Sees how much memory there is and what this system has. Each process that
    /// is started is `command`, which calls [`serve`](super::serve).
    ///
    /// # Errors
    /// There is not that much memory, or less than makes sense.
    pub fn of(settings: &Settings, command: ProcessCommand, stop: Stop) -> Result<Self, Refusal> {
        let amounts = Amounts::of(settings, free_bytes())?;
        let mut planner = Planner {
            amounts: &amounts,
            cpu: usual_cpu(),
            cases: Vec::new(),
            left_out: Vec::new(),
        };
        for part in &settings.parts {
            match part {
                ProbePart::Pages => planner.pages(),
                ProbePart::Blocks => planner.blocks(),
                ProbePart::Processes => {
                    let case = Processes::new(command.clone(), amounts.iterations, stop.clone());
                    planner.add(case, amounts.few_rounds);
                }
                ProbePart::Payers => planner.payers(),
            }
        }
        Ok(Self {
            cpu: planner.cpu,
            cases: planner.cases,
            left_out: planner.left_out,
            parts: settings.parts.clone(),
            amounts,
            stop,
            warm_up: None,
        })
    }

    /// What this system does not have, a line for each.
    pub fn left_out(&self) -> &[Warning] {
        &self.left_out
    }

    /// How much memory is used at a time, in words.
    pub fn memory_in_words(&self) -> String {
        in_words(self.amounts.used_at_once(&self.parts) as u64)
    }

    /// Touches so much memory once.
    ///
    /// # Errors
    /// It is not to be had.
    pub fn warm_up(&mut self) -> Result<(), Refusal> {
        let bytes = self.amounts.used_at_once(&self.parts);
        self.warm_up = Some(WarmUp::run(bytes, self.cpu)?);
        Ok(())
    }

    /// About how long the rest takes, by what the warm-up took.
    pub fn length(&self) -> Nanos {
        let ns_per_page = self.warm_up.as_ref().map_or(1e3, WarmUp::ns_per_page);
        let cases = self.cases.iter();
        cases.fold(Nanos::ZERO, |sum, turns| {
            sum + turns.case.length(ns_per_page).times(turns.rounds.into())
        })
    }

    /// How many turns there are in all.
    pub fn turns(&self) -> usize {
        self.cases.iter().map(|turns| turns.rounds as usize).sum()
    }

    /// The rounds of each part, the most that there are.
    pub fn rounds(&self) -> u32 {
        let rounds = self.cases.iter().map(|turns| turns.rounds);
        rounds.max().unwrap_or(0)
    }

    /// What was decided, for the Run.
    pub fn describe(&self) -> BTreeMap<String, Value> {
        let parts: Vec<&str> = self.parts.iter().map(|part| part.name()).collect();
        let mut facts = BTreeMap::from([
            ("parts".to_owned(), json!(parts)),
            ("memory_limit_bytes".to_owned(), json!(self.amounts.limit)),
            ("iterations".to_owned(), json!(self.amounts.iterations)),
        ]);
        facts.extend(self.cpu.map(|cpu| ("cpu".to_owned(), json!(cpu))));
        facts
    }

    /// Lets all take turns until every round is done, the user wants an end, or
    /// the system refuses something. What was measured until then is kept.
    pub fn run(mut self, progress: &mut dyn FnMut(Progress)) -> Probed {
        let witness = Witness::new();
        let cpus = thread::allowed_cpus();
        let mut end = End::default();
        let mut done = 0;
        'rounds: for round in 0..self.rounds() {
            for turns in self.cases.iter_mut().filter(|turns| round < turns.rounds) {
                if self.stop.is_requested() {
                    break 'rounds;
                }
                progress(Progress {
                    done,
                    next: turns.case.name(),
                });
                if let Err(refusal) = witness.during(&cpus, || turns.case.run()) {
                    end.failed = Some(refusal);
                    break 'rounds;
                }
                done += 1;
            }
        }
        // The turn under way may have less than it was to have.
        end.interrupted = self.stop.is_requested();
        let warm_up = self.warm_up.iter().flat_map(WarmUp::measurements);
        let mut measurements: Vec<ZeroRow> = warm_up.collect();
        for part in ProbePart::ALL {
            let cases = self.cases.iter().filter(|turns| turns.case.part() == part);
            let mut of_part: Vec<ZeroRow> =
                cases.flat_map(|turns| turns.case.measurements()).collect();
            if part == ProbePart::Pages {
                pages::sort(&mut of_part);
            }
            measurements.extend(of_part);
        }
        Probed {
            measurements,
            disturbance: witness.disturbance(),
            end,
        }
    }
}

/// Collects cases.
struct Planner<'a> {
    amounts: &'a Amounts,
    cpu: Option<usize>,
    cases: Vec<Turns>,
    left_out: Vec<Warning>,
}

impl Planner<'_> {
    fn add(&mut self, case: impl Case + 'static, rounds: u32) {
        let case = Box::new(case);
        self.cases.push(Turns { case, rounds });
    }

    fn pages(&mut self) {
        let (span, rounds) = (self.amounts.span, self.amounts.rounds);
        let cpu = self.cpu;
        let mut ways = Way::all(span / PAGE, SEED);
        ways.retain(|way| way.needs().is_none_or(|advice| self.has(advice)));
        for way in &ways {
            self.add(Pages::new(way.clone(), span, false, cpu), rounds);
        }
        match huge_pages_of(span) {
            Ok(()) => {
                for way in ways {
                    self.add(Pages::new(way, span, true, cpu), rounds);
                }
            }
            Err(why) => self.leave_out("Huge pages were", &why),
        }
        self.add(Reference::cold(span, cpu), rounds);
        self.add(Reference::cold_at_once(span, cpu), rounds);
        self.add(Reference::hot(span, cpu), rounds);
    }

    fn blocks(&mut self) {
        for &bytes in &self.amounts.blocks {
            let case = Blocks::new(bytes, self.amounts.batch, self.cpu);
            self.add(case, self.amounts.rounds_of_block(bytes));
        }
    }

    fn payers(&mut self) {
        let (length, rounds) = (self.amounts.phase, self.amounts.few_rounds);
        let block = self.amounts.payers_block();
        for doing in Doing::ALL {
            self.add(Payers::new(doing, length, block, self.cpu), rounds);
        }
    }

    /// Whether this system takes an advice, which a page that ends at once is
    /// asked for.
    fn has(&mut self, advice: Advice) -> bool {
        let tried = Mapping::new(PAGE).and_then(|page| page.advise(advice));
        match tried {
            Err(error) if error.is_unsupported() => {
                self.leave_out(&format!("`{}` was", advice.name()), &error.to_string());
                false
            }
            // Anything else shows when it is measured.
            _ => true,
        }
    }

    fn leave_out(&mut self, what: &str, why: &str) {
        let why = why.trim_end_matches(": leave it out");
        self.left_out.push(Warning {
            what: format!("{what} left out: {why}."),
            remedy: "Measure it on a system that has it.".to_owned(),
        });
    }
}

/// Whether a program gets huge pages in a span of memory when it asks for them,
/// or why not.
fn huge_pages_of(span: usize) -> Result<(), String> {
    let bytes = huge_page_bytes();
    match (huge_pages().as_deref(), bytes) {
        (Some("never"), _) => {
            Err("/sys/kernel/mm/transparent_hugepage/enabled says never".to_owned())
        }
        (_, None) => Err("this system puts none in on its own".to_owned()),
        (_, Some(bytes)) if bytes > span => Err(format!(
            "one is {}, and the memory limit leaves {}",
            in_words(bytes as u64),
            in_words(span as u64)
        )),
        _ => Ok(()),
    }
}

impl std::fmt::Debug for ProbePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cases: Vec<String> = self.cases.iter().map(|turns| turns.case.name()).collect();
        f.debug_struct("ProbePlan").field("cases", &cases).finish()
    }
}
