//! The memory for a grid, how long it takes, and its rounds.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_lab::host::{Stop, Witness};
use punctual_program::Refusal;
use punctual_record::Warning;
use punctual_zero_memory::{Kernel, PAGE, caches, free_bytes};
use punctual_zero_pool::blocking::Computer;
use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting};

use crate::host::{CpuClock, Cpus, HostComputer, HostMemory, Job, Links, Team, mean_transfer};
use crate::probe::in_words;
use crate::rows::ZeroFindings;
use crate::run::cells::Cells;
use crate::run::tally::Tally;
use crate::run::{Area, Bursts, Cell, Memory, Settings, Sizes};
use crate::{Progress, Ran, distinct, refusal, take_turns, usual_rounds};

/// Everything that is going to be measured.
#[derive(Debug)]
pub struct PoolPlan {
    /// The cells to measure.
    pub cells: Vec<Cell>,
    /// The reasons why something cannot be measured, or not well, one line each.
    pub left_out: Vec<Warning>,
    /// How often each cell gets its turn.
    pub rounds: u32,
    /// How long a batch of closed passes goes on.
    length: Nanos,
    limit: Option<u64>,
    cpus: usize,
    stop: Stop,
    ground: Option<Ground>,
}

impl PoolPlan {
    /// Sees how much memory and which caches there are, and what can be measured.
    /// `stop` ends it between two passes.
    ///
    /// # Errors
    /// The request is impossible.
    pub fn of(settings: &Settings, stop: Stop) -> Result<Self, Refusal> {
        let cpus = Cpus::of_this_process();
        let sizes = Sizes {
            caches: caches(),
            cpus: cpus.at_once,
            free: free_bytes(),
        };
        let cells = Cells::of(settings, &sizes)?;
        Ok(Self {
            cells: cells.cells,
            left_out: cells.left_out.into_iter().chain(cpus.quota()).collect(),
            rounds: settings.rounds.unwrap_or(usual_rounds(settings.quick)),
            length: batch_length(settings.quick),
            limit: Some(sizes.limit(settings)?),
            cpus: sizes.cpus,
            stop,
            ground: None,
        })
    }

    /// These cells, whatever memory they take.
    ///
    /// # Errors
    /// There is none, or one of them cannot be.
    pub fn of_cells(
        cells: Vec<Cell>,
        rounds: u32,
        quick: bool,
        stop: Stop,
    ) -> Result<Self, Refusal> {
        if cells.is_empty() {
            return Err(Refusal::new("there is nothing to measure"));
        }
        for cell in &cells {
            cell.setting.check().map_err(Refusal::new)?;
            cell.kernel.check().map_err(refusal)?;
        }
        let cpus = Cpus::of_this_process();
        Ok(Self {
            cells,
            left_out: cpus.quota().into_iter().collect(),
            rounds,
            length: batch_length(quick),
            limit: None,
            cpus: cpus.at_once,
            stop,
            ground: None,
        })
    }

    /// How many batches there are in all.
    pub fn batches(&self) -> usize {
        self.cells.len() * self.rounds as usize
    }

    /// How much memory a pass is about, in words: `512 KiB of hot memory, 256 MiB of cold memory`.
    pub fn memory_in_words(&self) -> String {
        let words: Vec<String> = self
            .areas()
            .iter()
            .map(|area| {
                format!(
                    "{} of {} memory",
                    in_words(area.bytes()),
                    area.memory.name()
                )
            })
            .collect();
        words.join(", ")
    }

    /// Takes the memory, touches all of it once, and sees how fast it goes.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn warm_up(&mut self) -> Result<(), Refusal> {
        let lists = |area| {
            self.cells
                .iter()
                .any(|cell| is_list(cell) && cell.area == area)
        };
        let ground = Ground::new(&self.areas(), lists, self.cpus, self.stop.clone())?;
        self.ground = Some(ground);
        Ok(())
    }

    /// About how long the rest takes, by what the warm-up took.
    pub fn length(&self) -> Nanos {
        let batches = self.cells.iter().map(|cell| self.batch(cell).0);
        let round = batches.fold(Nanos::ZERO, |sum, batch| sum + batch);
        round.times(self.rounds.into())
    }

    /// The decisions of the plan, for the Run.
    pub fn findings(&self) -> ZeroFindings {
        let mut findings = ZeroFindings {
            rounds: Some(self.rounds),
            batch_length_ns: Some(self.length.as_ns()),
            memory_limit_bytes: self.limit,
            ..ZeroFindings::default()
        };
        for area in self.areas() {
            let bytes = match area.memory {
                Memory::Hot => &mut findings.hot_bytes,
                Memory::Warm => &mut findings.warm_bytes,
                Memory::Cold => &mut findings.cold_bytes,
            };
            *bytes = Some(area.bytes());
        }
        if let Some(ground) = &self.ground {
            let team = Team::new(&ground.memory, ground.cpu_clock);
            findings.cpus.clone_from(&team.cpus.order);
            findings.pinned = Some(team.cpus.pinned);
            findings.asked_for_huge_pages = Some(ground.memory.huge_pages);
            findings.line_transfer_ns = Some(ground.memory.transfer.as_ns());
        }
        findings
    }

    /// Lets all cells take turns until every round is done, the user wants an end, or something
    /// fails. Earlier measurements are kept. A cell whose pass takes far too long is given up.
    ///
    /// # Panics
    /// Before the [warm-up](Self::warm_up).
    pub fn run(&self, progress: &mut dyn FnMut(Progress)) -> Ran {
        let ground = self.ground.as_ref().expect("the warm-up comes first");
        let team = Team::new(&ground.memory, ground.cpu_clock);
        let mut tallies = vec![Tally::default(); self.cells.len()];
        let (mut ran, witness) = (Ran::default(), Witness::default());
        let mut given_up = vec![false; self.cells.len()];
        let mut done = 0;
        self.stop.begin();
        ran.end = take_turns(
            self.rounds,
            self.cells.len(),
            &self.stop,
            &mut |round, i| {
                let cell = &self.cells[i];
                if !given_up[i] {
                    let next = cell.to_string();
                    progress(Progress { done, next, round });
                    let job = self.job(cell);
                    let observed = witness.during(&team.cpus.order, || team.work(&job))?;
                    tallies[i].add(cell, &observed, job.every, ground.reading_ns);
                    given_up[i] = observed.late;
                    ran.given_up.extend(observed.late.then(|| late(cell, &job)));
                }
                done += 1;
                Ok(())
            },
        );
        self.stop.end();
        ran.disturbance = witness.disturbance();
        let approximate = ground.cpu_clock.approximate;
        for (cell, tally) in self.cells.iter().zip(tallies) {
            let crowded = team.cpus.is_oversubscribed(cell.setting.workers);
            let measured = tally.measurement(cell, crowded, approximate);
            ran.measurements.extend(measured);
        }
        if let Some(given_up) = ran.given_up.first().filter(|_| ran.measurements.is_empty()) {
            let why = format!("nothing was measured: {}", given_up.what);
            ran.end.failed.get_or_insert(Refusal::new(why));
        }
        ran
    }

    fn areas(&self) -> Vec<Area> {
        distinct(self.cells.iter().map(|cell| cell.area))
    }

    fn job(&self, cell: &Cell) -> Job<'_> {
        let links = self.ground.as_ref().filter(|_| is_list(cell));
        let links = links.and_then(|ground| ground.links.get(&cell.area.pages));
        cell.job(self.length, links, self.batch(cell).1, self.rounds)
    }

    /// How long a batch of a cell takes, and how many passes it has, about.
    fn batch(&self, cell: &Cell) -> (Nanos, u64) {
        let rates = self.ground.as_ref().map(|ground| &ground.rates);
        let rates = rates.and_then(|rates| rates.get(&cell.area.pages));
        let hands = cell.setting.workers.min(self.cpus);
        let pass = rates.unwrap_or(&Rates::UNTOLD).pass(cell.area.pages, hands);
        match cell.bursts {
            None => {
                let passes = self.length.as_ns() / pass.as_ns().max(1) + 1;
                (pass.max(self.length), passes)
            }
            Some(Bursts { every, times }) => (every.times(times.into()) + pass, times.into()),
        }
    }
}

/// Long enough that a few milliseconds of it are spent zeroing on the test machine. Making a page
/// dirty and checking it takes some five times as long there.
const fn batch_length(quick: bool) -> Nanos {
    if quick {
        Nanos::from_ms(20)
    } else {
        Nanos::from_ms(40)
    }
}

fn is_list(cell: &Cell) -> bool {
    cell.setting.dequeue == Dequeue::List
}

fn late(cell: &Cell, job: &Job<'_>) -> Warning {
    let longest = job.longest;
    Warning::new(
        format!("{cell} was given up: a pass takes longer than {longest}."),
        "Give fewer threads, larger batches or less memory.",
    )
}

#[derive(Debug)]
pub(super) struct Ground {
    pub(super) memory: HostMemory,
    pub(super) links: BTreeMap<u64, Links>,
    pub(super) cpu_clock: CpuClock,
    pub(super) reading_ns: f64,
    /// By the number of pages of a pass.
    pub(super) rates: BTreeMap<u64, Rates>,
}

/// The times of a page for one worker, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// To make it dirty, and to see that it is zero.
    around: f64,
    zeroing: f64,
}

/// Of the order of pages in lists; the same in every run, so that runs can be
/// compared.
const SEED: u64 = 1;

impl Ground {
    /// Takes memory for the largest of `areas`, touches it, tries how fast each is,
    /// and links those that pages are taken from as a list.
    pub(super) fn new(
        areas: &[Area],
        is_list: impl Fn(Area) -> bool,
        cpus: usize,
        stop: Stop,
    ) -> Result<Self, Refusal> {
        let pages = areas.iter().map(|area| area.pages).max().unwrap_or(1);
        let bytes = pages * PAGE as u64;
        let whole = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut memory = HostMemory::new(whole, stop).map_err(|why| {
            let bytes = in_words(bytes);
            Refusal::new(format!(
                "there is no memory of {bytes} to zero: {why}; ask for less"
            ))
        })?;
        let cpu_clock = CpuClock::of_this_host();
        touch(&memory, cpu_clock, cpus, pages)?;
        memory.transfer = mean_transfer(memory.clock);
        let mut rates = BTreeMap::new();
        for area in areas {
            rates.insert(area.pages, Rates::of(&memory, area.pages)?);
        }
        Ok(Self {
            links: areas
                .iter()
                .filter(|area| is_list(**area))
                .map(|area| (area.pages, Links::new(area.pages, SEED)))
                .collect(),
            cpu_clock,
            reading_ns: memory.clock.cost_ns(),
            rates,
            memory,
        })
    }
}

/// A pass by all CPUs, so that each touches its share of the memory first: that
/// is where computers with several nodes put it.
fn touch(memory: &HostMemory, cpu_clock: CpuClock, cpus: usize, pages: u64) -> Result<(), Refusal> {
    /// Under a hypervisor a first touch can take tens of microseconds.
    const PER_PAGE: Nanos = Nanos::from_ms(1);
    let once = Job {
        setting: Setting::new(cpus, LockKind::Counter, Batch::GUIDED),
        kernel: Kernel::Memset,
        pages,
        links: None,
        bursts: None,
        length: Nanos::ZERO,
        every: 1,
        room: 0,
        longest: PER_PAGE.times(pages) + Nanos::from_secs(1),
    };
    Team::new(memory, cpu_clock).work(&once).map(drop)
}

impl Rates {
    /// Where nothing was tried: what slow memory takes.
    pub(super) const UNTOLD: Self = Self {
        around: 2e3,
        zeroing: 500.0,
    };

    /// Tries it with some of the pages, twice, as the first time they come from
    /// elsewhere.
    fn of(memory: &HostMemory, pages: u64) -> Result<Self, Refusal> {
        /// 64 MiB.
        const MOST: u64 = 1 << 14;
        let computer = HostComputer::new(memory, Kernel::Memset, None)?;
        let pages = pages.min(MOST);
        let some = 0..pages as usize;
        let per_page = |work: &dyn Fn()| {
            let begun = memory.clock.now();
            work();
            (memory.clock.now() - begun).as_ns() as f64 / pages as f64
        };
        let once = || {
            let dirtying = per_page(&|| memory.mapping.dirty(some.clone()));
            let zeroing = per_page(&|| computer.zero(0..pages));
            let looking = per_page(&|| {
                std::hint::black_box(memory.mapping.first_dirty(some.clone()));
            });
            Self {
                around: dirtying + looking,
                zeroing,
            }
        };
        once();
        Ok(once())
    }

    /// How long a pass takes where so many hands make pages dirty, and zeroing is
    /// no faster with many.
    pub(super) fn pass(&self, pages: u64, hands: usize) -> Nanos {
        let per_page = self.around / hands as f64 + self.zeroing;
        Nanos::new((pages as f64 * per_page) as u64)
    }
}
