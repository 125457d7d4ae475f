//! The cost of getting, touching and giving back pages, and the accounts that are charged.

use punctual_record::Interval;
use serde::{Deserialize, Serialize};

/// The bytes of the pages that costs are stated for, whatever pages the system
/// has.
pub const PAGE_BYTES: u64 = 4096;

/// The cost of one step for each page of 4096 bytes that it handled. GB are 1e9 bytes.
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
    /// The part of the CPU time that was the thread's own, of all rounds together.
    ///
    /// Systems divide it by what their ticks found, so that it takes many of
    /// them: `None` also where all rounds together took less than 0.1 s.
    pub user_ns_per_page: Option<f64>,
    /// The part of it that was the system's, as above.
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

/// The CPU time of one round.
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

/// The median over rounds; `None` if one of them does not have it.
pub(crate) fn over_rounds<R>(rounds: &[R], of: impl Fn(&R) -> Option<f64>) -> Option<Interval> {
    let values: Option<Vec<f64>> = rounds.iter().map(of).collect();
    Interval::of(&values?)
}

impl PageCost {
    /// Of some rounds; `None` if there are none, or one of them had no pages.
    pub fn of(rounds: &[Spent], approximate: bool) -> Option<Self> {
        let each = |of: fn(&Spent) -> Option<f64>| over_rounds(rounds, of);
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

    /// The cost of a page in CPU time, or in time where CPU time is not counted.
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

/// The CPU time that each account used meanwhile. GB are 1e9 bytes.
///
/// A number of CPUs is CPU time over elapsed time, of all rounds together. Systems count the CPU
/// time of others in steps of up to 10 ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// The seconds that one round took: the median.
    pub wall_s: Interval,
    /// Bytes that were written to, per second of the CPU time of this process
    /// and its children.
    pub gb_per_cpu_s: Option<Interval>,
    /// The same per second of everybody's CPU time, on the whole computer.
    pub gb_per_cpu_s_of_computer: Option<Interval>,
    /// CPUs that this process kept busy with its own work.
    pub own_user_cpus: Option<f64>,
    /// The CPUs that the system kept busy on its behalf.
    pub own_system_cpus: Option<f64>,
    /// As `own_user_cpus`, of its children.
    pub children_user_cpus: Option<f64>,
    /// As `own_system_cpus`, of its children.
    pub children_system_cpus: Option<f64>,
    /// The CPUs of the process in which Windows does its own work.
    pub system_process_cpus: Option<f64>,
    /// The CPUs of all other processes: those of the whole computer less all of these. A value can
    /// be slightly below zero, because they are counted apart.
    pub others_cpus: Option<f64>,
    /// All of them.
    pub computer_cpus: Option<f64>,
    /// Each round by itself.
    #[serde(default)]
    pub rounds: Vec<Payments>,
}

/// The charges of one round, in nanoseconds of CPU time; `None` is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Payments {
    /// The time that passed.
    pub wall_ns: u64,
    /// Bytes that were written to.
    pub bytes: u64,
    /// By this process.
    pub own: Option<Paid>,
    /// By processes that it started.
    pub children: Option<Paid>,
    /// By the process in which Windows does its own work.
    pub system_process_ns: Option<u64>,
    /// By everybody.
    pub computer_ns: Option<u64>,
}

/// CPU time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Paid {
    /// In its program.
    pub user_ns: u64,
    /// In the system on its behalf.
    pub system_ns: u64,
    /// Page faults, where they are counted.
    pub faults: Option<u64>,
}

impl Account {
    /// Of some rounds; `None` if there are none, or one took no time.
    pub fn of(rounds: &[Payments]) -> Option<Self> {
        let wall_ns: u64 = rounds.iter().map(|round| round.wall_ns).sum();
        if wall_ns == 0 {
            return None;
        }
        let cpus = |of: &dyn Fn(&Payments) -> Option<i128>| -> Option<f64> {
            let sum: Option<i128> = rounds.iter().map(of).sum();
            Some(sum? as f64 / wall_ns as f64)
        };
        let paid = |of: fn(&Payments) -> Option<Paid>, part: fn(&Paid) -> u64| {
            cpus(&move |round| of(round).map(|paid| i128::from(part(&paid))))
        };
        let rate = |ns: fn(&Payments) -> Option<u64>| {
            over_rounds(rounds, move |round| {
                let ns = ns(round).filter(|ns| *ns > 0)?;
                Some(round.bytes as f64 / ns as f64).filter(|rate| *rate > 0.0)
            })
        };
        Some(Self {
            wall_s: over_rounds(rounds, |round| Some(round.wall_ns as f64 / 1e9))?,
            gb_per_cpu_s: rate(Payments::ours_ns),
            gb_per_cpu_s_of_computer: rate(|round| round.computer_ns),
            own_user_cpus: paid(|round| round.own, |paid| paid.user_ns),
            own_system_cpus: paid(|round| round.own, |paid| paid.system_ns),
            children_user_cpus: paid(|round| round.children, |paid| paid.user_ns),
            children_system_cpus: paid(|round| round.children, |paid| paid.system_ns),
            system_process_cpus: cpus(&|round| round.system_process_ns.map(i128::from)),
            others_cpus: cpus(&Payments::others_ns),
            computer_cpus: cpus(&|round| round.computer_ns.map(i128::from)),
            rounds: rounds.to_vec(),
        })
    }
}

impl Payments {
    /// The charges of this process and its children.
    pub fn ours_ns(&self) -> Option<u64> {
        let children = self.children.unwrap_or_default();
        Some(self.own?.cpu_ns() + children.cpu_ns())
    }

    fn others_ns(&self) -> Option<i128> {
        let known = self.ours_ns()? + self.system_process_ns.unwrap_or(0);
        Some(i128::from(self.computer_ns?) - i128::from(known))
    }
}

impl Paid {
    /// All of it.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
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

    fn paid(user_ns: u64, system_ns: u64) -> Option<Paid> {
        Some(Paid {
            user_ns,
            system_ns,
            faults: None,
        })
    }

    #[test]
    fn everybody_else_is_what_is_left() {
        let round = Payments {
            wall_ns: 1_000,
            bytes: 8_000,
            own: paid(100, 300),
            children: paid(500, 1_100),
            system_process_ns: None,
            computer_ns: Some(2_500),
        };
        let idle = Payments {
            computer_ns: Some(1_900),
            ..round
        };
        let account = Account::of(&[round, idle]).unwrap();
        assert_eq!(account.own_user_cpus, Some(0.1));
        assert_eq!(account.own_system_cpus, Some(0.3));
        assert_eq!(account.children_user_cpus, Some(0.5));
        assert_eq!(account.children_system_cpus, Some(1.1));
        assert_eq!(account.computer_cpus, Some(2.2));
        // In the second round less was counted than was paid.
        assert!((account.others_cpus.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(account.gb_per_cpu_s.unwrap().median, 4.0);
        assert_eq!(account.system_process_cpus, None);
    }

    #[test]
    fn what_the_system_process_did_is_not_everybody_elses() {
        let round = Payments {
            wall_ns: 100,
            own: paid(10, 20),
            system_process_ns: Some(900),
            computer_ns: Some(950),
            ..Payments::default()
        };
        let account = Account::of(&[round]).unwrap();
        assert_eq!(account.system_process_cpus, Some(9.0));
        assert_eq!(account.others_cpus, Some(0.2));
        // Nothing was written.
        assert_eq!(account.gb_per_cpu_s, None);
        assert_eq!(account.children_user_cpus, None);
    }

    #[test]
    fn no_time_is_no_account() {
        assert_eq!(Account::of(&[]), None);
        assert_eq!(Account::of(&[Payments::default()]), None);
    }
}
