//! What a system can be told about memory.

/// What [`Mapping::advise`](super::Mapping::advise) tells the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// Back it with huge pages where that is possible: one fault then brings,
    /// and zeroes, a whole one. `MADV_HUGEPAGE`.
    HugePages,
    /// Back it with ordinary pages only. `MADV_NOHUGEPAGE`.
    NoHugePages,
    /// Give memory to all of it now, as if each page had been written to.
    /// `MADV_POPULATE_WRITE`, since Linux 5.14.
    Populate,
    /// Take the memory back at once. Every page reads as zero, and has to be
    /// given memory again. `MADV_DONTNEED` of Linux.
    DontNeed,
    /// The contents are of no use any more: until a page is written to again,
    /// the system may take its memory back whenever it likes, or never.
    /// `MADV_FREE`, `MEM_RESET`.
    Free,
}

impl Advice {
    /// Everything that can be told.
    pub const ALL: [Self; 5] = [
        Self::HugePages,
        Self::NoHugePages,
        Self::Populate,
        Self::DontNeed,
        Self::Free,
    ];

    /// The name the user reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HugePages => "huge-pages",
            Self::NoHugePages => "no-huge-pages",
            Self::Populate => "populate",
            Self::DontNeed => "dont-need",
            Self::Free => "free",
        }
    }
}
