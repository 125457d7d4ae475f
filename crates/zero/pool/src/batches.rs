//! How many pages a worker takes at a time.
//!
//! Each is a pure function of what is left; a few remember something between two takes,
//! in two words that the lock protects.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The most pages of a pool and of a take: 4 TiB. The sums and products of the
/// policies stay far from 2^64, and both ends of a backlog fit into one word.
pub(crate) const MOST_PAGES: u64 = 1 << 30;

/// A policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Batch {
    /// One page, as Windows 10 does.
    One,
    /// This many pages.
    Fixed(u64),
    /// As many as there are workers: the article's rule for when handing out takes
    /// as long as zeroing a page.
    Workers,
    /// Twice as many.
    TwiceWorkers,
    /// Half of the remaining pages. From one central backlog the first worker takes half of all,
    /// so the speedup is never more than two.
    Half,
    /// The pages left, divided by `share` times the number of workers, rounded up, and at least
    /// `floor` pages (Polychronopoulos and Kuck 1987).
    Guided {
        /// 1 as in GCC's libgomp, 2 as in Taskflow.
        share: u64,
        /// The fewest pages.
        floor: u64,
    },
    /// Rounds of equal takes, one for each worker, that together take half of
    /// what was left at the begin of the round (Flynn Hummel 1992).
    Factoring,
    /// From an even share of half of all down to one page, in equal steps (Tzeng
    /// and Ni 1993).
    Trapezoid,
    /// Each take is one page more than the previous one, but at most an even share of the
    /// remaining pages: the article's third proposal.
    Growing,
    /// Each worker has a backlog of its own and takes from it page by page. When it is empty the
    /// worker takes half of another's (Hendler and Shavit 2002).
    StealHalf,
}

/// The state that a policy keeps between two takes; zeros at first.
pub(crate) type Memory = [u64; 2];

impl Batch {
    /// Guided as punctual means it where nothing else is said: an even share of
    /// half of what is left, and 64 pages at least.
    pub const GUIDED: Self = Self::Guided {
        share: 2,
        floor: 64,
    };

    /// The pages that the owner takes from its backlog where others steal from it: one. Thus half of
    /// the rest can be stolen.
    pub(crate) const OWN: u64 = 1;

    /// Whether there can be such a policy.
    pub(crate) fn check(self) -> Result<(), String> {
        let is_possible = match self {
            Self::Fixed(pages) => can_be(pages),
            Self::Guided { share, floor } => can_be(share) && can_be(floor),
            _ => true,
        };
        if is_possible {
            return Ok(());
        }
        Err(format!(
            "there is no batch {self}; its numbers are from 1 to {MOST_PAGES}"
        ))
    }

    /// Whether what it takes depends on what it took.
    pub(crate) const fn remembers(self) -> bool {
        matches!(self, Self::Factoring | Self::Trapezoid | Self::Growing)
    }

    /// The size of every take; `None` if it depends on the pages that are left.
    pub const fn constant(self, workers: u64) -> Option<u64> {
        match self {
            Self::One => Some(1),
            Self::Fixed(pages) => Some(pages),
            Self::Workers => Some(workers),
            Self::TwiceWorkers => Some(2 * workers),
            _ => None,
        }
    }

    /// How many takes the policy plans for a backlog of so many pages. As many as there
    /// [are](Self::takes), except for the trapezoid, whose plan knows no rounding.
    pub fn planned(self, pages: u64, workers: u64) -> u64 {
        match self {
            Self::Trapezoid => Policy::new(self, pages, workers).planned_by_trapezoid(),
            _ => self.takes(pages, workers).count() as u64,
        }
    }

    /// Each take of a backlog of so many pages, where it is central.
    pub fn takes(self, pages: u64, workers: u64) -> impl Iterator<Item = u64> {
        let policy = Policy::new(self, pages, workers);
        let (mut rest, mut memory) = (pages, Memory::default());
        std::iter::from_fn(move || {
            let taken = policy.take(rest, &mut memory);
            rest -= taken;
            (taken > 0).then_some(taken)
        })
    }

    /// The policies whose name is one word; the others are numbers.
    const NAMED: [(&str, Self); 9] = [
        ("1", Self::One),
        ("n", Self::Workers),
        ("2n", Self::TwiceWorkers),
        ("half", Self::Half),
        ("guided", Self::GUIDED),
        ("factoring", Self::Factoring),
        ("trapezoid", Self::Trapezoid),
        ("growing", Self::Growing),
        ("steal-half", Self::StealHalf),
    ];
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(pages) => f.pad(&pages.to_string()),
            Self::Guided { share, floor } if *self != Self::GUIDED => {
                f.pad(&format!("guided:share={share}+floor={floor}"))
            }
            _ => {
                let named = Self::NAMED.iter().find(|(_, batch)| batch == self);
                f.pad(named.map_or("", |(name, _)| *name))
            }
        }
    }
}

impl FromStr for Batch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "`{text}` is no batch; give a number of pages, n, 2n, half, guided, guided:share=1+floor=1, factoring, \
                 trapezoid, growing or steal-half"
            )
        };
        let number = |digits: &str, range: &str| {
            if !is_number(digits) {
                return Err(wrong());
            }
            let number = digits.parse().ok().filter(|&number| can_be(number));
            number.ok_or_else(|| format!("`{text}` is no batch; {range}"))
        };
        if let Some((_, batch)) = Self::NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*batch);
        }
        let Some(numbers) = text.strip_prefix("guided:share=") else {
            return Ok(
                match number(text, &format!("a batch has 1 to {MOST_PAGES} pages"))? {
                    1 => Self::One,
                    pages => Self::Fixed(pages),
                },
            );
        };
        let (share, floor) = numbers.split_once("+floor=").ok_or_else(wrong)?;
        let range = format!("its numbers are from 1 to {MOST_PAGES}");
        Ok(Self::Guided {
            share: number(share, &range)?,
            floor: number(floor, &range)?,
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) batch: Batch,
    /// The size of every take, if it is constant.
    pub(crate) constant: Option<u64>,
    /// How many pages there were at first.
    pub(crate) total: u64,
    workers: u64,
}

impl Policy {
    pub(crate) fn new(batch: Batch, total: u64, workers: u64) -> Self {
        Self {
            batch,
            constant: batch.constant(workers),
            total,
            workers,
        }
    }

    /// How many of the `rest` that is left are taken: one at least, and none if there is
    /// none. With what the policy remembers from take to take, if it does.
    pub(crate) fn take(&self, rest: u64, memory: &mut Memory) -> u64 {
        if let Some(count) = self.constant {
            return count.min(rest);
        }
        if rest == 0 {
            return 0;
        }
        let wanted = match self.batch {
            Batch::Half => rest / 2,
            Batch::Guided { share, floor } => rest.div_ceil(share * self.workers).max(floor),
            Batch::Factoring => self.factoring(rest, memory),
            Batch::Trapezoid => self.trapezoid(memory),
            Batch::Growing => self.growing(rest, memory),
            _ => Batch::OWN,
        };
        wanted.clamp(1, rest)
    }

    /// The most that are taken at once: no take is more than both the first and
    /// an even share of all.
    pub(crate) fn most(&self) -> u64 {
        let first = self.take(self.total, &mut Memory::default());
        match self.constant {
            Some(_) => first,
            None => first.max(self.total.div_ceil(self.workers)),
        }
    }

    /// It remembers the pages of each take of the round, and how many are left of the
    /// round.
    fn factoring(&self, rest: u64, [pages, left]: &mut Memory) -> u64 {
        if *left == 0 {
            *pages = rest.div_ceil(2 * self.workers);
            *left = self.workers;
        }
        *left -= 1;
        *pages
    }

    fn trapezoid(&self, [done, _]: &mut Memory) -> u64 {
        let first = self.first_of_trapezoid();
        let steps = self.planned_by_trapezoid() - 1;
        // Steps are fractions of pages; whatever takes are rounded up by is missing
        // at the end.
        let less = ((first - 1) * *done).checked_div(steps).unwrap_or(0);
        *done += 1;
        first.saturating_sub(less)
    }

    /// How many takes the method plans; rounding spares the last few.
    fn planned_by_trapezoid(&self) -> u64 {
        (2 * self.total).div_ceil(self.first_of_trapezoid() + 1)
    }

    fn first_of_trapezoid(&self) -> u64 {
        (self.total / (2 * self.workers)).max(1)
    }

    /// It remembers the last take. The even share at the end keeps the last worker from
    /// working alone.
    fn growing(&self, rest: u64, [last, _]: &mut Memory) -> u64 {
        *last = (*last + 1).min(rest.div_ceil(self.workers));
        *last
    }
}

/// With [`Batch::StealHalf`], the backlog of a worker at first: an even share, in one
/// piece.
pub(crate) fn even_share(pages: u64, worker: u64, workers: u64) -> Range<u64> {
    let from = |worker: u64| (u128::from(pages) * u128::from(worker) / u128::from(workers)) as u64;
    from(worker)..from(worker + 1)
}

/// Cuts a backlog into what its owner takes and what is left.
pub(crate) fn cut_first(own: Range<u64>) -> (Range<u64>, Range<u64>) {
    let next = (own.start + Batch::OWN).min(own.end);
    (own.start..next, next..own.end)
}

/// Cuts a backlog into what a thief takes, the half at the end, rounded up, and
/// what is left.
pub(crate) fn cut_half(victim: Range<u64>) -> (Range<u64>, Range<u64>) {
    let left = (victim.end - victim.start) / 2;
    let cut = victim.start + left;
    (cut..victim.end, victim.start..cut)
}

/// Whether a text is a number, however large; it may have a plus as `parse` has it.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a number of a policy can be that.
fn can_be(number: u64) -> bool {
    (1..=MOST_PAGES).contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of the article's 6.13 GiB.
    const PAGES: u64 = 1_606_943;

    #[test]
    fn a_policy_reads_back_as_it_is_written() {
        for text in [
            "1",
            "64",
            "n",
            "2n",
            "half",
            "guided",
            "guided:share=1+floor=1",
            "factoring",
            "trapezoid",
            "growing",
            "steal-half",
        ] {
            let batch: Batch = text.parse().unwrap();
            assert_eq!(batch.to_string(), text);
        }
        for text in ["01", "+1", "1"] {
            assert_eq!(text.parse(), Ok(Batch::One), "{text}");
        }
        let refused = |text: &str| text.parse::<Batch>().unwrap_err();
        for text in ["-1", "+", "", "guided:share=1", "guided:share=1+floor=x"] {
            let error = refused(text);
            assert!(error.contains("is no batch; give a number"), "{error}");
        }
        let beyond = "99999999999999999999999999";
        for text in ["0", "1073741825", beyond] {
            let error = format!("`{text}` is no batch; a batch has 1 to 1073741824 pages");
            assert_eq!(refused(text), error);
        }
        let error = refused("guided:share=0+floor=1");
        assert!(
            error.ends_with("its numbers are from 1 to 1073741824"),
            "{error}"
        );
    }

    /// Table 2.6 of the facts on zeroing.
    #[test]
    fn so_many_takes() {
        let expected = [
            ("1", [PAGES, PAGES, PAGES, PAGES, PAGES]),
            ("n", [401_736, 41_204, 16_739, 12_555, 5_908]),
            ("2n", [200_868, 20_602, 8_370, 6_278, 2_954]),
            ("half", [22; 5]),
            ("guided:share=1+floor=1", [48, 432, 985, 1_277, 2_515]),
            ("guided:share=2+floor=1", [96, 815, 1_841, 2_382, 4_658]),
            ("guided", [69, 525, 1_124, 1_426, 2_623]),
            ("factoring", [75, 611, 1_439, 1_695, 3_503]),
            ("trapezoid", [16, 156, 384, 512, 1_088]),
        ];
        for (text, counts) in expected {
            let batch: Batch = text.parse().unwrap();
            let seen = [4, 39, 96, 128, 272].map(|workers| batch.planned(PAGES, workers));
            assert_eq!(seen, counts, "{text}");
        }
    }

    /// Steps are rounded, so there are fewer takes than are planned.
    #[test]
    fn a_trapezoid_goes_down_in_equal_steps() {
        let trapezoid = Batch::Trapezoid;
        let seen = [4, 39, 96, 128, 272].map(|workers| trapezoid.takes(PAGES, workers).count());
        assert_eq!(seen, [15, 155, 379, 503, 1_068]);
        let takes: Vec<u64> = trapezoid.takes(PAGES, 39).collect();
        assert_eq!(takes[..3], [20_601, 20_469, 20_336]);
        assert_eq!(takes[152..], [400, 267, 47]);
    }

    #[test]
    fn growing_takes_grow_up_to_an_even_share() {
        let takes: Vec<u64> = Batch::Growing.takes(30, 3).collect();
        assert_eq!(takes, [1, 2, 3, 4, 5, 5, 4, 2, 2, 1, 1]);
    }

    #[test]
    fn all_is_taken_and_no_take_is_more_than_the_most() {
        let others = ["7", "guided:share=1+floor=1"].map(|text| text.parse().unwrap());
        for batch in Batch::NAMED
            .map(|(_, batch)| batch)
            .into_iter()
            .chain(others)
        {
            for (pages, workers) in [(0, 2), (1, 1), (1, 39), (10, 3), (1_000, 1), (16_069, 39)] {
                let most = Policy::new(batch, pages, workers).most();
                let takes: Vec<u64> = batch.takes(pages, workers).collect();
                assert_eq!(takes.iter().sum::<u64>(), pages, "{batch}");
                let largest = takes.into_iter().max().unwrap_or(0);
                assert!(largest <= most, "{batch}, {pages}, {workers}");
                let is_constant = batch.constant(workers).is_some();
                assert!(!is_constant || largest == most, "{batch}");
            }
        }
    }
}
