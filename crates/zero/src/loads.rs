//! The sources of pages to zero on Windows in the page-zeroing article, as loads of a simulated
//! pool.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_report::prose;
use punctual_zero_pool::Setting;
use punctual_zero_sim::{Bursts, Bursty, EVERY, Job, Machine, System};

use crate::published::{CostItem, FIGURES, MB_BYTES, filled};
use crate::rows::PAGE_BYTES;

/// A load of the article.
#[derive(Debug)]
pub struct Load {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description, in a sentence.
    pub about: &'static str,
    /// How its pages come.
    pub pages: Pages,
    /// How many of the 39 threads of Windows 10 were at work.
    pub workers: usize,
}

/// How pages to be zeroed come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pages {
    /// A steady number of bytes per second; the threads start every two seconds for what has come.
    PerSecond(f64),
    /// A number of bytes at once.
    AtOnce(u64),
}

const GIB: u64 = 1 << 30;

/// The number of threads at work in the first trace is fitted to its CPU time: it was not
/// published.
const ACTIVE: usize = 21;

/// The number of threads that were seen.
const SEEN: usize = 39;

/// The bytes that a build frees per second, inferred: as much as makes a quarter of 96 CPUs (row
/// Z16).
const BUILD_GB_PER_S: f64 = 1.01;

/// The loads of the article, in its order.
pub fn all() -> [Load; 5] {
    let (trace, test) = (&FIGURES.trace, &FIGURES.test);
    [
        Load {
            name: "browser-trace",
            about: "The article's first trace: Chrome's network test, which frees {trace.zeroed_gb} GB in {trace.s} s.",
            pages: Pages::PerSecond(trace.pages() / trace.s),
            workers: ACTIVE,
        },
        Load {
            name: "zeropage-test",
            about: "The article's test: two processes that allocate, fill and free one page, over and over.",
            pages: Pages::PerSecond(test.pages() as f64 / test.wall_s()),
            workers: SEEN,
        },
        Load {
            name: "browser-build",
            about: "A build of Chrome, during which System had up to 25 % of 96 CPUs. What it frees is not published; \
                    it is inferred from these 25 %, so that the CPUs are no finding.",
            pages: Pages::PerSecond(BUILD_GB_PER_S * 1e9 / PAGE_BYTES as f64),
            workers: SEEN,
        },
        Load {
            name: "freed-blocks",
            about: "A freed block of 2 GiB, as of the article's disk benchmark. How often it freed one is not published.",
            pages: Pages::AtOnce(2 * GIB),
            workers: SEEN,
        },
        Load {
            name: "standby-list",
            about: "An emptied standby list. How much it held is not published; --size says how much.",
            pages: Pages::AtOnce(4 * GIB),
            workers: SEEN,
        },
    ]
}

/// The load of this name.
///
/// # Errors
/// There is none of this name.
pub fn load(name: &str) -> Result<Load, Refusal> {
    let found = all().into_iter().find(|load| load.name == name);
    found.ok_or_else(|| {
        let names = all().map(|load| load.name);
        Refusal::new(format!(
            "there is no load `{name}`; there are {}",
            prose::list(names)
        ))
    })
}

impl Load {
    /// The computer of the article with Windows 10, and its pool.
    ///
    /// # Panics
    /// Never: the system is known.
    pub fn pool(&self) -> (Machine, Setting) {
        let system = System::parse("windows-10").expect("a system of the simulator");
        let setting = Setting {
            workers: self.workers,
            ..system.setting
        };
        (system.machine(), setting)
    }

    /// GB that come in a second; `None` if all come at once.
    pub fn gb_per_s(&self) -> Option<f64> {
        match self.pages {
            Pages::PerSecond(pages) => Some(pages * PAGE_BYTES as f64 / 1e9),
            Pages::AtOnce(_) => None,
        }
    }

    /// The bytes that come at once, or in the two seconds between two starts.
    pub fn bytes(&self) -> u64 {
        match self.pages {
            Pages::PerSecond(pages) => (pages * EVERY.as_secs_f64()) as u64 * PAGE_BYTES,
            Pages::AtOnce(bytes) => bytes,
        }
    }

    /// One burst of the pool of Windows 10, once each is like the one before.
    ///
    /// # Errors
    /// All its pages come at once.
    pub(crate) fn bursts(&self) -> Result<Bursty, Refusal> {
        let Pages::PerSecond(pages_per_s) = self.pages else {
            return Err(Refusal::new(format!(
                "the pages of {} come at once",
                self.name
            )));
        };
        let (machine, setting) = self.pool();
        let every: Nanos = EVERY;
        Bursts { pages_per_s, every }.simulate(&machine, &Job::new(setting, 0))
    }

    /// A description, and the expected cost of zeroing it. For `bytes` where all come at once.
    pub fn in_words(&self, bytes: u64) -> String {
        let per_byte = FIGURES.hidden_costs.of(CostItem::Zeroing).us * 1e-6 / MB_BYTES as f64;
        let expected = match (self.name, self.gb_per_s()) {
            ("browser-trace", _) => {
                let trace = &FIGURES.trace;
                let faults = trace.faults_s / trace.s;
                let zeroing = faults * per_fault();
                format!(
                    "Page faults of one thread took {:.1} % of a CPU, so zeroing was expected to take {:.1} %. All \
                     processes free twice as much: {:.2} CPUs (the article: 0.28). The article measured {:.1} CPUs.",
                    100.0 * faults,
                    100.0 * zeroing,
                    2.0 * zeroing,
                    trace.cpu_s / trace.s,
                )
            }
            (_, Some(gb_per_s)) => {
                let seen = match self.name {
                    "zeropage-test" => filled(" The article measured {test.cpus}."),
                    _ => String::new(),
                };
                format!(
                    "One thread that never waits would need {:.2} CPUs for {gb_per_s:.2} GB/s, at {} us a MiB (2014).{seen}",
                    gb_per_s * 1e9 * per_byte,
                    FIGURES.hidden_costs.of(CostItem::Zeroing).us,
                )
            }
            (_, None) => format!(
                "One thread that never waits would need {:.2} s of CPU time for {:.1} GiB, at {} us a MiB (2014).",
                bytes as f64 * per_byte,
                bytes as f64 / GIB as f64,
                FIGURES.hidden_costs.of(CostItem::Zeroing).us,
            ),
        };
        format!("{} {expected}", filled(self.about))
    }
}

/// Zeroing a page in relation to the fault that gives it to a program (2014).
fn per_fault() -> f64 {
    let us = |part| FIGURES.hidden_costs.of(part).us;
    us(CostItem::Zeroing) / us(CostItem::Faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_says_what_was_expected() {
        let words = load("browser-trace").unwrap().in_words(0);
        for figure in [
            "8.6 GB in 15.1 s",
            "16.0 %",
            "13.7 %",
            "0.27 CPUs",
            "4.0 CPUs",
        ] {
            assert!(words.contains(figure), "{figure}: {words}");
        }
        let words = load("freed-blocks").unwrap().in_words(2 * GIB);
        assert!(words.contains("0.31 s of CPU time for 2.0 GiB"), "{words}");
        assert!(
            load("tea")
                .unwrap_err()
                .to_string()
                .contains("standby-list")
        );
    }

    #[test]
    fn a_build_frees_what_a_quarter_of_the_cpus_zeroes() {
        let cpus = load("browser-build").unwrap().bursts().unwrap().cpus();
        assert!((cpus - 24.0).abs() < 0.5, "{cpus}");
    }
}
