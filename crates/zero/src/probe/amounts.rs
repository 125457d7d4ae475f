//! How much memory, how often, and for how long.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::PAGE;

use super::ProbePart;

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to measure.
    pub parts: Vec<ProbePart>,
    /// Whether to measure less of everything.
    pub quick: bool,
    /// How often each case gets its turn, if the user says.
    pub rounds: Option<u32>,
    /// The most memory to use at a time, in bytes, if the user says.
    pub memory_limit: Option<u64>,
    /// What each of the two processes does, if the user says.
    pub iterations: Option<u64>,
}

/// What that comes to on a computer with so much free memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Amounts {
    /// The most memory to use at a time.
    pub(super) limit: u64,
    /// The bytes that a step of `pages` is about.
    pub(super) span: usize,
    /// The sizes of blocks.
    pub(super) blocks: Vec<usize>,
    /// So many bytes of blocks make a batch, or one block if that is larger.
    pub(super) batch: usize,
    /// What each of the two processes does.
    pub(super) iterations: u64,
    /// How long a case of `payers` goes on.
    pub(super) phase: Nanos,
    /// The rounds of what takes less than a second.
    pub(super) rounds: u32,
    /// The rounds of large blocks and of what watches the whole computer.
    pub(super) few_rounds: u32,
}

/// What each of the two processes allocates each time.
pub(super) const BLOCK: usize = PAGE;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Less than this has no two huge pages of x86-64, and is gone in less than a
/// millisecond.
const LEAST_LIMIT: u64 = 4 * MIB;

/// Where the system does not tell what is free.
const UNTOLD_LIMIT: u64 = 256 * MIB;

/// The page-zeroing article's program does so many.
const ITERATIONS: u64 = 800_000;

impl Amounts {
    /// # Errors
    /// There is not that much memory, or less than makes sense.
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
            iterations: settings.iterations.unwrap_or(pick(ITERATIONS, 50_000)),
            phase: Nanos::from_ms(pick(1_000, 200)),
            rounds: rounds.unwrap_or(if quick { 3 } else { 6 }),
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

    /// The blocks of `payers`.
    pub(super) fn payers_block(&self) -> usize {
        // So large that no allocator would keep it, and a few tens of
        // milliseconds long.
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

/// A size in the largest binary unit that leaves a whole number, or two digits.
pub(crate) fn in_words(bytes: u64) -> String {
    let (unit, name) = match bytes {
        GIB.. => (GIB, "GiB"),
        MIB.. => (MIB, "MiB"),
        KIB.. => (KIB, "KiB"),
        _ => return format!("{bytes} bytes"),
    };
    if bytes.is_multiple_of(unit) {
        format!("{} {name}", bytes / unit)
    } else {
        format!("{:.2} {name}", bytes as f64 / unit as f64)
    }
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
