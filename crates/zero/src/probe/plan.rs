//! The measurements and their rounds.

use punctual_core::Nanos;
use punctual_lab::host::{ProcessCommand, Stop, Witness, usual_cpu};
use punctual_os::thread;
use punctual_program::Refusal;
use punctual_record::Warning;
use punctual_zero_memory::{Advice, Mapping, PAGE, free_bytes, huge_page_bytes, huge_pages};

use crate::probe::ProbePart;
use crate::probe::blocks::{Doing, blocks, payers};
use crate::probe::ledger::{Case, GIB, KIB, MIB, Place, in_words};
use crate::probe::pages::{Lifecycle, WarmUp, pages, references, sort};
use crate::probe::processes::{BLOCK, processes};
use crate::published::FIGURES;
use crate::rows::{ZeroFindings, ZeroRow};
use crate::{Progress, Ran, take_turns, usual_rounds};

/// Everything that is going to be measured.
pub struct ProbePlan {
    /// Each with how often it gets its turn.
    cases: Vec<(Case, u32)>,
    /// The features that this system lacks, one line each.
    pub left_out: Vec<Warning>,
    amounts: Amounts,
    parts: Vec<ProbePart>,
    place: Place,
    warm_up: Option<WarmUp>,
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
        let mut plan = Self {
            cases: Vec::new(),
            left_out: Vec::new(),
            amounts,
            parts: settings.parts.clone(),
            place: Place {
                cpu: usual_cpu(),
                stop,
            },
            warm_up: None,
        };
        let iterations = plan.amounts.iterations;
        for part in &settings.parts {
            match part {
                ProbePart::Pages => plan.add_pages(),
                ProbePart::Blocks => plan.add_blocks(),
                ProbePart::Processes => {
                    let case = processes(command.clone(), iterations, plan.place.clone());
                    plan.add(case, plan.amounts.few_rounds);
                }
                ProbePart::Payers => plan.add_payers(),
            }
        }
        Ok(plan)
    }

    /// How much memory is used at a time, in words.
    pub fn memory_in_words(&self) -> String {
        in_words(self.amounts.used_at_once(&self.parts) as u64)
    }

    /// Touches so much memory once, unless the user wants an end.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn warm_up(&mut self) -> Result<(), Refusal> {
        let bytes = self.amounts.used_at_once(&self.parts);
        self.warm_up = match WarmUp::run(bytes, &self.place) {
            Err(_) if self.place.stop.is_requested() => None,
            warm_up => Some(warm_up?),
        };
        Ok(())
    }

    /// About how long the rest takes, by what the warm-up took.
    pub fn length(&self) -> Nanos {
        let ns_per_page = self
            .warm_up
            .as_ref()
            .map_or(1e3, |warm_up| warm_up.ns_per_page);
        let cases = self.cases.iter();
        cases.fold(Nanos::ZERO, |sum, (case, rounds)| {
            sum + (case.length)(ns_per_page).times((*rounds).into())
        })
    }

    /// How many turns there are in all.
    pub fn turns(&self) -> usize {
        self.cases.iter().map(|(_, rounds)| *rounds as usize).sum()
    }

    /// The rounds of each part, the most that there are.
    pub fn rounds(&self) -> u32 {
        let rounds = self.cases.iter().map(|(_, rounds)| *rounds);
        rounds.max().unwrap_or(0)
    }

    /// The decisions of the plan, for the Run.
    pub fn findings(&self) -> ZeroFindings {
        let parts = self.parts.iter().map(|part| part.name().to_owned());
        ZeroFindings {
            parts: parts.collect(),
            memory_limit_bytes: Some(self.amounts.limit),
            iterations: Some(self.amounts.iterations),
            cpu: self.place.cpu,
            ..ZeroFindings::default()
        }
    }

    /// Lets all take turns until every round is done, the user wants an end, or the system refuses
    /// something. Earlier measurements are kept.
    pub fn run(mut self, progress: &mut dyn FnMut(Progress)) -> Ran {
        let witness = Witness::default();
        let cpus = thread::allowed_cpus();
        let (rounds, count, mut done) = (self.rounds(), self.cases.len(), 0);
        let stop = &self.place.stop;
        let end = take_turns(rounds, count, stop, &mut |round, i| {
            let (case, rounds) = &mut self.cases[i];
            if round < *rounds {
                let next = case.name.clone();
                progress(Progress { done, next, round });
                match witness.during(&cpus, || case.run()) {
                    Err(_) if stop.is_requested() => return Ok(()),
                    ran => ran?,
                }
                done += 1;
            }
            Ok(())
        });
        self.place.stop.end();
        let warm_up = self.warm_up.iter().flat_map(WarmUp::measurements);
        let mut measurements: Vec<ZeroRow> = warm_up.collect();
        for part in ProbePart::ALL {
            let cases = self.cases.iter().filter(|(case, _)| case.part == part);
            let of_part = cases.flat_map(|(case, _)| case.measurements());
            let mut of_part: Vec<ZeroRow> = of_part.collect();
            if part == ProbePart::Pages {
                sort(&mut of_part);
            }
            measurements.extend(of_part);
        }
        Ran {
            measurements,
            disturbance: witness.disturbance(),
            end,
            ..Ran::default()
        }
    }

    fn add(&mut self, case: Case, rounds: u32) {
        self.cases.push((case, rounds));
    }

    fn add_pages(&mut self) {
        let (span, rounds) = (self.amounts.span, self.amounts.rounds);
        let place = self.place.clone();
        let mut ways = Lifecycle::all(span / PAGE, SEED);
        ways.retain(|way| way.needs().is_none_or(|advice| self.has(advice)));
        for way in &ways {
            self.add(pages(way.clone(), span, false, place.clone()), rounds);
        }
        match huge_pages_of(span) {
            Ok(()) => {
                for way in ways {
                    self.add(pages(way, span, true, place.clone()), rounds);
                }
            }
            Err(why) => self.leave_out("Huge pages were", &why),
        }
        for reference in references(span, &place) {
            self.add(reference, rounds);
        }
    }

    fn add_blocks(&mut self) {
        for bytes in self.amounts.blocks.clone() {
            let case = blocks(bytes, self.amounts.batch, self.place.clone());
            self.add(case, self.amounts.rounds_of_block(bytes));
        }
    }

    fn add_payers(&mut self) {
        let (length, rounds) = (self.amounts.phase, self.amounts.few_rounds);
        let block = self.amounts.payers_block();
        for doing in Doing::ALL {
            self.add(payers(doing, length, block, self.place.clone()), rounds);
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
        let what = format!("{what} left out: {why}.");
        let remedy = "Measure it on a system that has it.";
        self.left_out.push(Warning::new(what, remedy));
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

/// The wishes of the user.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The parts to measure.
    pub parts: Vec<ProbePart>,
    /// Whether to measure less of everything.
    pub quick: bool,
    /// How often each case gets its turn, if the user says.
    pub rounds: Option<u32>,
    /// The most memory to use at a time, in bytes, if the user says.
    pub memory_limit: Option<u64>,
    /// The iterations of each of the two processes, if the user chose them.
    pub iterations: Option<u64>,
}

/// The amounts on a computer with so much free memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Amounts {
    pub(super) limit: u64,
    /// The bytes that a step of `pages` is about.
    pub(super) span: usize,
    pub(super) blocks: Vec<usize>,
    /// The bytes of blocks in a batch, or one block if that is larger.
    pub(super) batch: usize,
    pub(super) iterations: u64,
    pub(super) phase: Nanos,
    /// The rounds of what takes less than a second.
    pub(super) rounds: u32,
    /// The rounds of large blocks and of what watches the whole computer.
    pub(super) few_rounds: u32,
}

/// Less than this has no two huge pages of x86-64, and is gone in less than a
/// millisecond.
const LEAST_LIMIT: u64 = 4 * MIB;

/// Where the system does not tell what is free.
const UNTOLD_LIMIT: u64 = 256 * MIB;

impl Amounts {
    pub(super) fn of(settings: &Settings, free: Option<u64>) -> Result<Self, Refusal> {
        let limit = limit(settings.memory_limit, free)?;
        let quick = settings.quick;
        let pick = |whole: u64, less: u64| if quick { less } else { whole };
        // Whole huge pages of x86-64; others are looked at where they are used.
        let span = pick(256 * MIB, 64 * MIB).min(limit) / (2 * MIB) * (2 * MIB);
        let largest = pick(2 * GIB, 64 * MIB).min(limit);
        let rounds = settings.rounds;
        Ok(Self {
            limit,
            span: bytes(span),
            blocks: sizes(largest).map(bytes).collect(),
            batch: bytes(pick(32 * MIB, 4 * MIB)),
            iterations: settings
                .iterations
                .unwrap_or(pick(FIGURES.test.iterations, 50_000)),
            phase: Nanos::from_ms(pick(1_000, 200)),
            rounds: rounds.unwrap_or(usual_rounds(quick)),
            few_rounds: rounds.unwrap_or(if quick { 1 } else { 3 }),
        })
    }

    /// How often a block of so many bytes gets its turn.
    pub(super) fn rounds_of_block(&self, bytes: usize) -> u32 {
        if bytes as u64 > 256 * MIB {
            self.few_rounds
        } else {
            self.rounds
        }
    }

    /// The most memory that is really used at a time for these parts.
    pub(super) fn used_at_once(&self, parts: &[ProbePart]) -> usize {
        let of = |part: &ProbePart| match part {
            ProbePart::Pages => self.span,
            ProbePart::Blocks => self.blocks.last().copied().unwrap_or(0),
            ProbePart::Processes => 2 * BLOCK,
            ProbePart::Payers => self.payers_block(),
        };
        parts.iter().map(of).max().unwrap_or(0)
    }

    pub(super) fn payers_block(&self) -> usize {
        // This is so large that no allocator keeps it, and takes a few tens of milliseconds.
        self.span.min(bytes(64 * MIB))
    }
}

fn limit(asked: Option<u64>, free: Option<u64>) -> Result<u64, Refusal> {
    let limit = match (asked, free) {
        (Some(asked), Some(free)) if asked > free => {
            return Err(Refusal::new(format!(
                "a memory limit of {} is more than the {} that are free: give less",
                in_words(asked),
                in_words(free)
            )));
        }
        (Some(asked), _) => asked,
        (None, Some(free)) => free / 2,
        (None, None) => UNTOLD_LIMIT,
    };
    if limit >= LEAST_LIMIT {
        return Ok(limit);
    }
    let least = in_words(LEAST_LIMIT);
    Err(Refusal::new(match asked {
        Some(asked) => format!(
            "a memory limit of {} is too little to measure anything: give {least} or more",
            in_words(asked)
        ),
        None => format!(
            "there is not enough memory: half of what is free is {}, and it takes {least}; end \
             other programs",
            in_words(limit)
        ),
    }))
}

/// 4 KiB, 16 KiB, ... 1 GiB, and then 2 GiB, the article's largest.
fn sizes(largest: u64) -> impl Iterator<Item = u64> {
    let powers = (0..10).map(|i| (4 * KIB) << (2 * i));
    powers
        .chain([2 * GIB])
        .filter(move |bytes| *bytes <= largest)
}

/// On a computer that cannot address so much, as much as it can.
fn bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            parts: ProbePart::ALL.to_vec(),
            quick: false,
            rounds: None,
            memory_limit: None,
            iterations: None,
        }
    }

    #[test]
    fn half_of_what_is_free_is_the_most() {
        let amounts = Amounts::of(&settings(), Some(8 * GIB)).unwrap();
        assert_eq!(amounts.limit, 4 * GIB);
        assert_eq!(amounts.span as u64, 256 * MIB);
        assert_eq!(amounts.blocks.first(), Some(&4096));
        assert_eq!(amounts.blocks.last().map(|b| *b as u64), Some(2 * GIB));
        assert_eq!(amounts.blocks.len(), 11);
        assert_eq!((amounts.rounds, amounts.few_rounds), (6, 3));
        let large = [256 * MIB, GIB].map(|bytes| amounts.rounds_of_block(bytes as usize));
        assert_eq!(large, [6, 3]);
        assert_eq!(amounts.iterations, 800_000);

        let amounts = Amounts::of(&settings(), Some(101 * MIB)).unwrap();
        assert_eq!(amounts.limit, 101 * MIB / 2);
        assert_eq!(amounts.span as u64, 50 * MIB);
        assert_eq!(amounts.blocks.last().map(|b| *b as u64), Some(16 * MIB));
        assert_eq!(amounts.used_at_once(&ProbePart::ALL) as u64, 50 * MIB);
    }

    #[test]
    fn what_the_user_says_counts() {
        let asked = Settings {
            quick: true,
            rounds: Some(9),
            memory_limit: Some(8 * MIB),
            iterations: Some(7),
            ..settings()
        };
        let amounts = Amounts::of(&asked, Some(9 * MIB)).unwrap();
        assert_eq!(amounts.limit, 8 * MIB);
        assert_eq!((amounts.rounds, amounts.few_rounds), (9, 9));
        assert_eq!(amounts.iterations, 7);
        assert_eq!(amounts.blocks.last().map(|b| *b as u64), Some(4 * MIB));
        // The system does not tell, and is believed.
        assert_eq!(Amounts::of(&asked, None).unwrap().limit, 8 * MIB);
    }

    #[test]
    fn too_little_and_too_much_are_refused() {
        let refused = |memory_limit, free| {
            let asked = Settings {
                memory_limit,
                ..settings()
            };
            Amounts::of(&asked, free).unwrap_err().to_string()
        };
        assert_eq!(
            refused(Some(64 * GIB), Some(3 * GIB / 2)),
            "a memory limit of 64 GiB is more than the 1.50 GiB that are free: give less"
        );
        assert!(refused(Some(5000), Some(GIB)).contains("4.88 KiB is too little"));
        assert!(refused(None, Some(7 * MIB)).starts_with("there is not enough memory: half"));
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        let words = [512, 4096, 5 * MIB / 2, 2 * GIB].map(in_words);
        assert_eq!(words, ["512 bytes", "4 KiB", "2.50 MiB", "2 GiB"]);
    }
}
