//! Values that are missing, and why.

/// Why a value is missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A percentile that fewer than ten samples lie above.
    FewSamples,
    /// CPU time, or what is computed from it, where the OS gives none.
    NoCpuTime,
    /// How busy the CPU was, where the OS does not tell or the thread was not
    /// pinned to one.
    NotPinned,
    /// Naps that nobody counted, or a cost that includes them.
    NapsNotCounted,
    /// A lateness that no known rule predicts.
    NotPredicted,
    /// A time that the OS does not count.
    NotCounted,
    /// What the OS could state and does not.
    NotStated,
    /// Sleeps that are no whole number of ticks long.
    NoTicks,
    /// An OS without a timer interval.
    NoInterval,
    /// What is planned by the length of a nap, where ticks tell more.
    ByTicks,
    /// A share of the idle time of CPUs that had none.
    NeverIdle,
    /// The frequent lengths of sleeps that have none.
    NoMode,
    /// Nothing was measured there.
    NotMeasured,
    /// What several CPUs do where there is one.
    OneCpu,
    /// A run that has no measurement of what another run has.
    NotInRun,
    /// A ratio to a number that the first run does not have.
    NotInFirst,
    /// A ratio of what is early or takes no time.
    NoMultiple,
    /// A cost that follows from rounds, of which there are none.
    NoRounds,
    /// What a published figure does not tell.
    NotPublished,
    /// A reason of another product's: where it stands among those, and what it is.
    Other(u8, &'static str),
}

impl Why {
    fn in_words(self) -> &'static str {
        match self {
            Self::FewSamples => "a percentile with fewer than ten samples above it",
            Self::NoCpuTime => "no CPU time is known",
            Self::NotPinned => {
                "the OS does not tell how busy a CPU is, or the thread was not pinned to one"
            }
            Self::NapsNotCounted => "the naps are not counted",
            Self::NotPredicted => "no timer rule predicts it",
            Self::NotCounted => "the OS does not count it",
            Self::NotStated => "the OS does not state it",
            Self::NoTicks => "no whole number of ticks",
            Self::NoInterval => "this OS has no timer interval",
            Self::ByTicks => "naps with this call are aimed at ticks",
            Self::NeverIdle => "no CPU was idle",
            Self::NoMode => "no length is frequent",
            Self::NotMeasured => "not measured",
            Self::OneCpu => "there is only one CPU",
            Self::NotInRun => "the run has no such measurement",
            Self::NotInFirst => "the first run has no such number",
            Self::NoMultiple => "no ratio, as a wait was early or took no time",
            Self::NoRounds => "the run has no rounds that a cost could follow from",
            Self::NotPublished => "not published",
            Self::Other(_, words) => words,
        }
    }
}

/// Writes the cells of one table and remembers which marks need a word below
/// it.
#[derive(Default)]
pub(crate) struct Marks {
    blanks: Vec<Why>,
    approximate: bool,
}

impl Marks {
    /// The value, or `-`.
    pub(crate) fn or_blank(&mut self, value: Option<String>, why: Why) -> String {
        value.unwrap_or_else(|| {
            self.blanks.push(why);
            "-".to_owned()
        })
    }

    /// A value, with `~` if it is approximate.
    pub(super) fn about(&mut self, approximate: bool, value: String) -> String {
        self.approximate |= approximate;
        match approximate {
            true => format!("~{value}"),
            false => value,
        }
    }

    /// What the marks in the table mean.
    pub(crate) fn in_words(mut self) -> Vec<String> {
        self.blanks.sort_unstable();
        self.blanks.dedup();
        let mut words = Vec::new();
        if !self.blanks.is_empty() {
            let whys: Vec<&str> = self.blanks.iter().map(|why| why.in_words()).collect();
            words.push(format!("`-`: {}.", whys.join("; ")));
        }
        if self.approximate {
            words.push("`~`: approximate, as the CPU time is.".to_owned());
        }
        words
    }
}
