//! The page-zeroing article's case, told with the simulator: what it cost, what
//! each of its proposals would have brought, and what became of it since.

use punctual_program::Refusal;
use punctual_record::MachineFacts;
use punctual_report::tables::{self, table::Table};
use punctual_report::{Verdict, prose};
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Active, Job, Machine, PoolResult, Prediction, System, predict, simulate};

use super::{distinct, simulation};
use crate::published::{CostItem, FIGURES, filled};
use crate::report::{NOT_VALIDATED, lock_in_words, states_in_words, with_names_explained};
use crate::rows::ZeroRow;
use crate::validation::bursts_of_the_test;

/// The proposal of more pages at a time.
const BATCHES: &str = "bigger batches";

/// One line of the story.
#[derive(Clone, Debug)]
pub struct Line {
    /// The difference.
    pub what: &'static str,
    /// The computer.
    pub machine: Machine,
    /// The pool.
    pub setting: Setting,
    /// Whether it is a proposal, so that its gain over the first line is of interest.
    pub is_proposal: bool,
}

/// The story.
///
/// # Panics
/// Never: the systems it is about are known.
pub fn lines() -> Vec<Line> {
    let system = |name| System::parse(name).expect("a system of the simulator");
    let windows_10 = system("windows-10");
    let first = windows_10.setting;
    let (all, spin) = (first.workers, first.lock);
    let proposal = |what, workers, lock, batch| Line {
        what,
        machine: windows_10.machine(),
        setting: Setting {
            workers,
            lock,
            batch,
            ..first
        },
        is_proposal: true,
    };
    let version = |what, name| Line {
        what,
        machine: system(name).machine(),
        setting: system(name).setting,
        is_proposal: false,
    };
    vec![
        version("Windows 10", "windows-10"),
        proposal("fewer threads", 1, spin, Batch::One),
        proposal("fewer threads", 4, spin, Batch::One),
        proposal("fewer threads", 12, spin, Batch::One),
        proposal(BATCHES, all, spin, Batch::Workers),
        proposal(BATCHES, all, spin, Batch::TwiceWorkers),
        proposal(BATCHES, all, spin, Batch::Half),
        proposal("queued lock", all, LockKind::Mcs, Batch::One),
        proposal("blocking lock", all, LockKind::Mutex, Batch::One),
        proposal("three remedies", 4, LockKind::Mutex, Batch::Growing),
        version("Windows 11", "windows-11"),
        version("Server 2022", "server-2022"),
    ]
}

impl Line {
    fn job(&self, seed: u64) -> Job {
        Job {
            seed,
            ..Job::new(self.setting, FIGURES.test.pages())
        }
    }

    /// Simulates it as the computer is thought to be, without the intervals of
    /// [`tell`](Self::tell).
    ///
    /// # Errors
    /// As of [`simulate`]; not for lines of the story.
    pub fn central(&self, seed: u64) -> Result<PoolResult, Refusal> {
        simulate(&self.machine, &self.job(seed))
    }

    /// Simulates it.
    ///
    /// # Errors
    /// As of [`predict`]; not for lines of the story.
    pub fn tell(&self, seed: u64) -> Result<(Prediction, ZeroRow), Refusal> {
        let job = self.job(seed);
        // The number of threads of a system at work was not observed.
        let active = match self.is_proposal {
            true => Active::All,
            false => Active::HalfToAll,
        };
        let prediction = predict(&self.machine, &job, active)?;
        let mut zeroed = simulation::of_prediction(&self.machine, &job, &prediction);
        zeroed.simulated.line = Some(self.what.to_owned());
        Ok((prediction, ZeroRow::pool(self.setting.lock, zeroed)))
    }
}

/// The facts of the computers of the story, for its Run.
pub fn machine_facts() -> MachineFacts {
    let lines = lines();
    let names = distinct(lines.iter().map(|line| &*line.machine.name));
    MachineFacts {
        name: names.join(", "),
        os: "simulated".to_owned(),
        clock: "virtual time".to_owned(),
        cpu_time: "exact".to_owned(),
        ..MachineFacts::default()
    }
}

/// The answer of the story: the cost of the lock, and the gain of the proposal that leaves all threads at work.
fn answer(lines: &[Line], told: &[Prediction]) -> Vec<String> {
    let (first, line) = (&told[0].central, &lines[0]);
    let mut sentences = vec![format!(
        "As in an article (docs/articles.md), {} threads on {} CPUs zero memory page by page. Simulated, they spend {} % of \
         their CPU time waiting for a spin lock.",
        line.setting.workers,
        line.machine.topology.cpus(),
        number(first.split.waiting * 100.0),
    )];
    let mut told = lines.iter().zip(told);
    let batches = told.find(|(line, _)| line.what == BATCHES);
    if let Some((line, told)) = batches {
        sentences.push(format!(
            "If each thread took {} pages at a time instead of 1, the same CPU time would zero {} times as much memory.",
            line.setting.workers,
            number(told.central.gb_per_cpu_s() / first.gb_per_cpu_s()),
        ));
    }
    if let Ok(bursts) = bursts_of_the_test() {
        let cpus = bursts.cpus();
        sentences.push(filled(&format!(
            "While programs freed pages in bursts, the author measured {{test.cpus}} busy CPUs. The simulation of these bursts gives \
             {cpus:.1}."
        )));
    }
    sentences
}

/// The next step.
const NEXT: &str = "Next: punctual zero advise finds the best pool here";

/// The answer in one screen, with the first line of each proposal.
pub fn verdict(lines: &[Line], told: &[Prediction]) -> Verdict {
    let first = told[0].central.gb_per_cpu_s();
    let mut rows: Vec<(&Line, &Prediction)> = lines.iter().zip(told).collect();
    let all = rows.len();
    rows.retain(|(line, _)| line.is_proposal || std::ptr::eq(*line, &lines[0]));
    rows.dedup_by_key(|(line, _)| line.what);
    let more = prose::when(rows.len() < all, || {
        format!("; --full has {} more rows", all - rows.len())
    });
    let next = format!("{NEXT}{more}.");
    let pages = |setting: &Setting| match setting.batch {
        Batch::Workers => setting.workers.to_string(),
        batch => batch.to_string(),
    };
    let unconfirmed = |(line, _): &(&Line, _)| line.machine.not_validated(&line.setting);
    let unconfirmed = distinct(rows.iter().flat_map(unconfirmed));
    let unconfirmed = prose::when(!unconfirmed.is_empty(), || {
        let locks: Vec<String> = unconfirmed.iter().map(ToString::to_string).collect();
        let locks = locks.join(", ");
        format!(" {locks}: its rows are unconfirmed by measurements.")
    });
    let table = Table::new("", &rows)
        .column("simulated", |(line, _)| line.what)
        .column("threads", |(line, _)| line.setting.workers.to_string())
        .column("batch", |(line, _)| pages(&line.setting))
        .column("lock", |(line, _)| locks(&line.setting))
        .column("waiting %", |(_, told)| {
            number(told.central.split.waiting * 100.0)
        })
        .column("GB per CPU-s", |(_, told)| {
            number(told.of(PoolResult::gb_per_cpu_s).median)
        })
        .column("GB per s", |(_, told)| {
            number(told.central.wall_gb_per_s())
        })
        .column("gain", |(_, told)| gain(told, first))
        .in_words(format!(
            "The table is without bursts. batch: pages taken at a time. gain: GB per CPU-s / the first row's. \
             GB: 1e9 bytes.{unconfirmed}"
        ));
    let verdict = Verdict {
        heading: "punctual zero simulate article: Windows 10 and remedies, simulated".to_owned(),
        ..Verdict::new(answer(lines, told), next)
    };
    verdict.told(with_names_explained(table), "")
}

fn gain(told: &Prediction, first: f64) -> String {
    number(told.of(PoolResult::gb_per_cpu_s).median / first)
}

/// The lock of a pool, and that of its list of zeroed pages.
fn locks(setting: &Setting) -> String {
    match setting.returns {
        Some(returns) => format!("{} + {returns}", setting.lock),
        None => setting.lock.to_string(),
    }
}

/// The story as an answer, and a table with a line each.
pub fn text(lines: &[Line], told: &[Prediction]) -> String {
    let title = filled(
        "\
The systems of the page-zeroing article, and changes that would have helped Windows 10, simulated: each zeroes \
{test.zeroed_gib} GiB in pages of 4 KiB. GB: 1e9 bytes.",
    );
    let head = [
        "",
        "CPUs",
        "threads",
        "batch",
        "lock",
        "us/page",
        "GB/CPU-s",
        "between",
        "wait %",
        "wall GB/s",
        "gain",
    ];
    let first = told[0].central.gb_per_cpu_s();
    let rows = lines.iter().zip(told).map(|(line, told)| {
        let now = &told.central;
        let setting = &line.setting;
        let not_validated = !line.machine.not_validated(setting).is_empty();
        let lock = lock_in_words(&locks(setting), not_validated);
        let per_cpu_s = told.of(PoolResult::gb_per_cpu_s);
        vec![
            line.what.to_owned(),
            line.machine.topology.cpus().to_string(),
            setting.workers.to_string(),
            setting.batch.to_string(),
            lock,
            number(now.cpu_us_per_page()),
            number(per_cpu_s.median),
            format!("{}..{}", number(per_cpu_s.low), number(per_cpu_s.high)),
            number(now.split.waiting * 100.0),
            number(now.wall_gb_per_s()),
            match line.is_proposal {
                true => gain(told, first),
                false => String::new(),
            },
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(seen()).chain(rows).collect();
    // The first four tell the rows apart.
    let table = Table::new(&title, &rows).names(4);
    let columns = head.iter().enumerate().map(|(i, head)| (*head, i));
    let table = table.each(columns, |row, i| row[*i].clone());
    let mut text = prose::paragraph(&answer(lines, told).join(" ")) + "\n";
    text += &table.within(tables::width()).section().text;
    text += &conclusions(&told[0].central);
    let pages = told.iter().map(|told| told.central.simulated_pages);
    let (least, most) = (pages.clone().min(), pages.max());
    text += &prose::paragraph(&format!(
        "Of the {} pages of each line, {} to {} were simulated, and the others extrapolated.",
        told[0].central.pages,
        least.unwrap_or_default(),
        most.unwrap_or_default(),
    ));
    for (line, told) in lines.iter().zip(told) {
        if let Some(states) = told.states(PoolResult::gb_per_cpu_s) {
            let (what, threads) = (line.what, line.setting.workers);
            let states = states_in_words(states);
            text += &prose::paragraph(&format!(
                "{what}, {threads} threads, two stable rates: {states}."
            ));
        }
    }
    let is_marked = lines
        .iter()
        .any(|line| !line.machine.not_validated(&line.setting).is_empty());
    text += &prose::when(is_marked, || prose::paragraph(NOT_VALIDATED));
    text + &format!("\n{NEXT}.\n")
}

fn seen() -> Vec<String> {
    let cells = [
        "published",
        "96",
        "39+",
        "1",
        "spin lock",
        "{test.us_per_page:0}",
        "{test.zeroed_gb_per_cpu_s:4}",
        "",
        "{trace.spinning_percent:1} *",
        "",
        "",
    ];
    cells.map(filled).to_vec()
}

fn conclusions(first: &PoolResult) -> String {
    let serial = FIGURES.hidden_costs.zeroed_gb_per_cpu_s() / first.gb_per_cpu_s();
    let without = 1.0 / (1.0 - first.split.waiting);
    let windows_10 = System::parse("windows-10").expect("a system of the simulator");
    let besides = windows_10.bookkeeping();
    let paragraphs = [
        format!(
            "published: from the article's {} GiB in {} s of CPU time. batch: the pages that a thread takes at a time; n is the number of threads, \
             half is half of the pages left. us/page: CPU time of all threads together. \
             between: the range of GB/CPU-s, with each unknown figure of the computer varied in turn; for the three \
             systems, also with half of their threads. gain: GB/CPU-s as a multiple of that of Windows 10. \
             three remedies: four threads, batches that grow, and a mutex that spins for up to 5 us before it sleeps.",
            FIGURES.test.zeroed_gib, FIGURES.test.cpu_s,
        ),
        format!(
            "*: measured in the article's first trace, which had less to zero at a time. On Windows 11 the article \
             measured about {} % of waiting. The 39 threads of Server 2022 are a guess.",
            FIGURES.windows_11_waiting_percent,
        ),
        format!(
            "Besides zeroing and the lock, the models of Windows 10 and Server 2022 spend {} us on each page \
             ({} to {}). That was fitted to the article's first trace, and the gains depend on it. The model of \
             Windows 11 has no such work, because with it Windows 11 would hardly wait.",
            besides.value / 1e3,
            besides.low / 1e3,
            besides.high / 1e3,
        ),
        format!(
            "Windows 10 takes {}x the CPU time of one thread in 2014, which zeroed 1 MiB in {} us (the article: up to \
             150x). It takes {}x the CPU time of the same pool without waiting (a later edition: about 24x).",
            number(serial),
            FIGURES.hidden_costs.of(CostItem::Zeroing).us,
            number(without),
        ),
        "--list says which figures of each computer are measured, guessed or fitted.".to_owned(),
    ];
    paragraphs
        .iter()
        .map(|words| prose::paragraph(words))
        .collect()
}

fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.1 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}
