//! The parts of the probe.

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Steps with many pages.
    Pages,
    /// Blocks of memory by their size.
    Blocks,
    /// Two processes that allocate one page, over and over.
    Processes,
    /// Who is charged.
    Payers,
}

impl Part {
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
