//! What this OS takes for fresh memory: faults, zeroing and giving it back, by
//! the page and by the block, and who pays.
//!
//! There are four parts, each of cases that take turns in rounds:
//!
//! | file | what is measured |
//! |---|---|
//! | `pages` | one step after the other with many pages: map, touch in some order, advise, unmap; zeroing in the process itself, to compare with; the warm-up |
//! | `blocks` | blocks of 4 KiB to 2 GiB that are fresh, used again, or from the allocator |
//! | `processes` | two processes that map, fill and unmap one page, over and over |
//! | `payers` | the CPU time of this process and of the whole computer with fresh memory, with the same again, and at rest |
//!
//! What a fault costs without zeroing, and zeroing without a fault, no system
//! tells. They follow from steps that differ in one of them; whoever shows the
//! results says from which. `plan` says what is measured, how much of it and how often,
//! and what this system does not have, `ledger` what a step is charged, and `warnings` what a reader has to know.
//!
//! All memory was touched once before anything is measured, and again right
//! before each case: under a hypervisor the first touch of a page is a fault in
//! its host too, and so is the first since the host took back what was free.

mod blocks;
mod ledger;
mod pages;
mod payers;
mod plan;
mod processes;
mod warnings;

pub(crate) use plan::in_words;
pub use plan::{ProbePlan, Settings};
pub use processes::serve;
pub use warnings::{memory_facts, warnings};

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbePart {
    /// Steps with many pages.
    Pages,
    /// Blocks of memory by their size.
    Blocks,
    /// Two processes that allocate one page, over and over.
    Processes,
    /// Who is charged.
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
