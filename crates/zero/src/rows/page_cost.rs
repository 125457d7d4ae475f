//! What it costs to get, touch and give back pages.

use punctual_record::Interval;
use serde::{Deserialize, Serialize};

/// The bytes of the pages that costs are stated for, whatever pages the system
/// has.
pub const PAGE_BYTES: u64 = 4096;

/// What one step cost, for each page of 4096 bytes that it was about. GB are
/// 1e9 bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageCost {
    /// The time that passed: the median over the rounds.
    pub wall_ns_per_page: Interval,
    /// The CPU time of the thread that did it, its own and the system's on its
    /// behalf; `None` where that is not counted.
    pub cpu_ns_per_page: Option<Interval>,
    /// Bytes per second of that CPU time.
    pub gb_per_cpu_s: Option<Interval>,
    /// What of the CPU time was the thread's own, of all rounds together.
    ///
    /// Systems divide it by what their ticks found, so that it takes many of
    /// them: `None` also where all rounds together took less than 0.1 s.
    pub user_ns_per_page: Option<f64>,
    /// What of it was the system's, as above.
    pub system_ns_per_page: Option<f64>,
    /// Page faults, of all rounds together.
    pub faults_per_page: Option<f64>,
    /// Whether the CPU time is only approximate.
    #[serde(default)]
    pub approximate: bool,
    /// Each round by itself.
    #[serde(default)]
    pub rounds: Vec<Spent>,
}

/// The least CPU time whose parts mean something: 25 ticks of 4 ms, so that a
/// part is right to a tenth of the whole.
const LEAST_DIVIDED_NS: u64 = 100_000_000;

/// What was spent in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// Pages of 4096 bytes; the same one may be among them many times.
    pub pages: u64,
    /// The time that passed.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// CPU time in the program itself, as the system divides it.
    pub user_ns: Option<u64>,
    /// CPU time in the system.
    pub system_ns: Option<u64>,
    /// Page faults.
    pub faults: Option<u64>,
}

impl PageCost {
    /// Of some rounds; `None` if there are none, or one of them had no pages.
    pub fn of(rounds: &[Spent], approximate: bool) -> Option<Self> {
        let each = |of: fn(&Spent) -> Option<f64>| -> Option<Interval> {
            let values: Option<Vec<f64>> = rounds.iter().map(of).collect();
            Interval::of(&values?)
        };
        let pages: u64 = rounds.iter().map(|round| round.pages).sum();
        let all = |of: fn(&Spent) -> Option<u64>| -> Option<f64> {
            let sum: Option<u64> = rounds.iter().map(of).sum();
            Some(sum? as f64 / pages as f64)
        };
        let cpu: Option<u64> = rounds.iter().map(|round| round.cpu_ns).sum();
        let is_divided = cpu.is_some_and(|ns| ns >= LEAST_DIVIDED_NS);
        Some(Self {
            wall_ns_per_page: each(|round| round.per_page(round.wall_ns))?,
            cpu_ns_per_page: each(|round| round.per_page(round.cpu_ns?)),
            gb_per_cpu_s: each(Spent::gb_per_cpu_s),
            user_ns_per_page: all(|round| round.user_ns).filter(|_| is_divided),
            system_ns_per_page: all(|round| round.system_ns).filter(|_| is_divided),
            faults_per_page: all(|round| round.faults),
            approximate,
            rounds: rounds.to_vec(),
        })
    }

    /// What a page costs in CPU time, or where that is not counted, in time.
    pub fn ns_per_page(&self) -> Interval {
        self.cpu_ns_per_page.unwrap_or(self.wall_ns_per_page)
    }
}

impl Spent {
    fn per_page(&self, ns: u64) -> Option<f64> {
        (self.pages > 0).then(|| ns as f64 / self.pages as f64)
    }

    /// `None` also where it took no CPU time that shows.
    fn gb_per_cpu_s(&self) -> Option<f64> {
        let cpu_ns = self.cpu_ns.filter(|ns| *ns > 0)?;
        // Bytes per nanosecond are GB per second.
        Some((self.pages * PAGE_BYTES) as f64 / cpu_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(wall_ns: u64, cpu_ns: Option<u64>) -> Spent {
        Spent {
            pages: 10,
            wall_ns,
            cpu_ns,
            user_ns: cpu_ns.map(|ns| ns / 4),
            system_ns: cpu_ns.map(|ns| ns - ns / 4),
            faults: Some(5),
        }
    }

    #[test]
    fn costs_are_those_of_a_page() {
        let rounds = [
            round(5_000, Some(4_000)),
            round(7_000, Some(8_192)),
            round(6_000, Some(4_096)),
        ];
        let cost = PageCost::of(&rounds, false).unwrap();
        assert_eq!(cost.wall_ns_per_page.median, 600.0);
        assert_eq!(cost.cpu_ns_per_page.unwrap().median, 409.6);
        assert_eq!(cost.ns_per_page().median, 409.6);
        assert_eq!(cost.gb_per_cpu_s.unwrap().median, 10.0);
        assert_eq!(cost.gb_per_cpu_s.unwrap().low, 5.0);
        assert_eq!(cost.faults_per_page, Some(0.5));
    }

    #[test]
    fn it_takes_a_while_to_tell_who_used_it() {
        for (ns, divided) in [(99_000_000, false), (100_000_000, true)] {
            let cost = PageCost::of(&[round(ns, Some(ns))], false).unwrap();
            let (user, system) = (cost.user_ns_per_page, cost.system_ns_per_page);
            assert_eq!((user.is_some(), system.is_some()), (divided, divided));
        }
        let cost = PageCost::of(&[round(1, Some(400_000_000))], false).unwrap();
        assert_eq!(cost.user_ns_per_page, Some(1e7));
        assert_eq!(cost.system_ns_per_page, Some(3e7));
    }

    #[test]
    fn what_is_not_counted_is_none() {
        let cost = PageCost::of(&[round(5_000, None), round(5_000, Some(1))], true).unwrap();
        assert_eq!((cost.cpu_ns_per_page, cost.user_ns_per_page), (None, None));
        assert_eq!(cost.ns_per_page().median, 500.0);
        assert_eq!(PageCost::of(&[], false), None);
        assert_eq!(PageCost::of(&[Spent::default()], false), None);
        let free = PageCost::of(&[round(5_000, Some(0))], false).unwrap();
        assert_eq!(free.gb_per_cpu_s, None);
    }
}
