//! The cost of fresh memory in this OS: faults, zeroing and giving it back, by page and by block,
//! and the accounts that are charged.
//!
//! There are four parts, each of cases that take turns in rounds:
//!
//! | file | what is measured |
//! |---|---|
//! | `pages` | one step after the other with many pages: map, touch in some order, advise, unmap; zeroing in the process itself, to compare with; the warm-up |
//! | `blocks` | blocks of 4 KiB to 2 GiB that are fresh, used again, or from the allocator; the CPU time of this process and of the whole computer with fresh ones, with the same again, and at rest |
//! | `processes` | two processes that map, fill and unmap one page, over and over |
//!
//! No system states the cost of a fault without zeroing, or of zeroing without a fault. They
//! follow from steps that differ in one of them; the report says from which. `plan` decides on the
//! measurements, their amounts and rounds, and lists the features that this system lacks; `ledger`
//! does the accounts of a step.
//!
//! All memory was touched once before anything is measured, and again right before each case.
//! Under a hypervisor the first touch of a page is a fault in its host too. The same holds for the
//! first touch since the host took back free memory.

mod blocks;
mod ledger;
mod pages;
mod plan;
mod processes;

use punctual_record::{MachineFacts, Warning};

use crate::ZeroFacts;
use crate::rows::{HugePages, ZeroRow};

pub(crate) use ledger::in_words;
pub use plan::{ProbePlan, Settings};
pub use processes::serve;

/// The parts that can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbePart {
    /// Steps with many pages.
    Pages,
    /// Blocks of memory by their size.
    Blocks,
    /// Two processes that allocate one page, over and over.
    Processes,
    /// The processes that are charged.
    Payers,
}

impl ProbePart {
    /// All of them, in the order in which they are measured and shown.
    pub const ALL: [Self; 4] = [Self::Pages, Self::Blocks, Self::Processes, Self::Payers];

    /// The name the user gives and reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Blocks => "blocks",
            Self::Processes => "processes",
            Self::Payers => "payers",
        }
    }
}

/// The warnings that a probe on this computer deserves, where the most rounds of
/// a part were so many.
pub fn warnings(facts: &MachineFacts, results: &[ZeroRow], rounds: u32) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String, remedy| warnings.push(Warning::new(what, remedy));
    let of_memory = ZeroFacts::of(facts);
    if facts.host.wine.is_some() {
        warn(
            "This is Wine: memory is that of the system underneath.".to_owned(),
            "Measure on Windows itself to learn about Windows.",
        );
    }
    if facts.host.virtual_machine == Some(true) {
        warn(
            "This is a virtual machine: memory that its host has not given it yet is faulted in there, too. As \
             much as a step takes was therefore touched right before it; what was not is the warm-up."
                .to_owned(),
            "Trust ratios within this run rather than absolute costs; expect the costs of the warm-up for memory that was \
             free for long.",
        );
    }
    for (setting, is_on, when) in [
        ("init_on_alloc", of_memory.init_on_alloc, "handed out"),
        ("init_on_free", of_memory.init_on_free, "given back"),
    ] {
        if is_on == Some(true) {
            warn(
                format!("The kernel was told to zero all memory that is {when} ({setting})."),
                "Compare with a kernel that was not told so.",
            );
        }
    }
    if rounds < 6 && !results.is_empty() {
        warn(
            punctual_report::too_few_rounds(rounds),
            "Use --rounds 6 or more.",
        );
    }
    if results.iter().any(has_no_huge_pages) {
        warn(
            "Huge pages were asked for, and less than half of the memory got some.".to_owned(),
            "Free memory, or let the kernel join pages: echo 1 > /proc/sys/vm/compact_memory",
        );
    }
    if let Some(cpus) = results.iter().find_map(busy_at_rest) {
        warn(
            format!("Others kept {cpus:.2} CPUs busy while this program did nothing."),
            "Close other programs.",
        );
    }
    warnings
}

/// Whether a first touch with huge pages had nearly as many faults as without.
fn has_no_huge_pages(measurement: &ZeroRow) -> bool {
    measurement.page_step().is_some_and(|step| {
        step.huge_pages == Some(HugePages::On)
            && measurement.subject == "touch-forward"
            && step.page_cost.faults_per_page.is_some_and(|n| n > 0.5)
    })
}

/// How many CPUs were busy while nothing was done here, if that is more than
/// would go unnoticed.
fn busy_at_rest(measurement: &ZeroRow) -> Option<f64> {
    /// As the warnings of waits have it.
    const SHARE: f64 = 0.15;
    let nothing = measurement.subject == "nothing";
    let account = measurement.account().filter(|_| nothing)?;
    account.others_cpus.filter(|cpus| *cpus > SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{
        Account, PAGE_BYTES, PageCost, PageStep, Paid, PayersAccount, Payments, Spent, ZeroProbe,
    };

    fn facts(key: &str) -> MachineFacts {
        let mut facts = MachineFacts::default();
        facts.other.insert(key.to_owned(), true.into());
        facts
    }

    /// Huge pages, with so many faults of a first touch of 1024.
    fn touched(faults: u64) -> ZeroRow {
        let spent = Spent {
            pages: 1024,
            wall_ns: 1,
            faults: Some(faults),
            ..Spent::default()
        };
        let step = PageStep {
            bytes: 1024 * PAGE_BYTES,
            huge_pages: Some(HugePages::On),
            page_cost: PageCost::of(&[spent], false).unwrap(),
            ..PageStep::default()
        };
        ZeroRow::probe("touch-forward", ZeroProbe::Pages(step))
    }

    #[test]
    fn a_quiet_computer_with_six_rounds_deserves_none() {
        let quiet = touched(0);
        assert_eq!(
            warnings(&MachineFacts::default(), std::slice::from_ref(&quiet), 6),
            []
        );
        let warned = warnings(&MachineFacts::default(), &[quiet], 3);
        assert!(warned[0].what.contains("(3 of 6)"));
    }

    #[test]
    fn the_machine_and_its_settings_are_told_of() {
        for (key, words) in [
            ("init_on_alloc", "handed out (init_on_alloc)"),
            ("init_on_free", "given back (init_on_free)"),
        ] {
            let warned = warnings(&facts(key), &[], 6);
            assert!(warned[0].what.contains(words), "{warned:?}");
        }
        let mut guest = MachineFacts::default();
        guest.host.virtual_machine = Some(true);
        let warned = warnings(&guest, &[], 6);
        assert!(warned[0].what.contains("virtual machine"), "{warned:?}");
    }

    #[test]
    fn huge_pages_that_were_not_given_show_by_their_faults() {
        for (faults, warned) in [(1024, true), (4, false)] {
            let warnings = warnings(&MachineFacts::default(), &[touched(faults)], 6);
            assert_eq!(!warnings.is_empty(), warned, "{warnings:?}");
        }
    }

    #[test]
    fn others_show_while_nothing_is_done() {
        let payments = Payments {
            wall_ns: 100,
            own: Some(Paid::default()),
            computer_ns: Some(50),
            ..Payments::default()
        };
        let payers = ZeroProbe::Payers(PayersAccount {
            block_bytes: 0,
            account: Account::of(&[payments]).unwrap(),
        });
        let mut nothing = ZeroRow::probe("nothing", payers);
        let warned = warnings(&MachineFacts::default(), std::slice::from_ref(&nothing), 6);
        assert!(warned[0].what.contains("0.50 CPUs"), "{warned:?}");
        nothing.subject = "fresh".to_owned();
        assert_eq!(warnings(&MachineFacts::default(), &[nothing], 6), []);
    }
}
