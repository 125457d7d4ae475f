//! What allocating memory was found to cost on Windows, and which processes
//! paid. None of it was measured by punctual.
//!
//! The MB of the article are taken as 2^20 bytes, so that a page is a 256th of
//! one; if they were 1e6 bytes, it would be a 244th, and cost 4.9 % more.

use crate::rows::PAGE_BYTES;

/// The bytes of the article's MB.
pub const MB_BYTES: u64 = 1 << 20;

/// GB (1e9 bytes) that its thread zeroed per second of CPU time.
pub const ZEROING_GB_PER_CPU_S: f64 = MB_BYTES as f64 / (ZEROING_US * 1e3);

/// What that follows from: microseconds for a MB.
const ZEROING_US: f64 = 150.0;

/// A part of what memory costs from the allocation to the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenCost {
    /// Which part.
    pub part: CostItem,
    /// Microseconds for a MB; of [`CostItem::Pair`], for a block of any size.
    pub us: f64,
    /// Who was charged.
    pub payer: &'static str,
}

/// A part of what memory costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostItem {
    /// `new[]` and `delete[]` alone, for blocks of 8 to 32 MB: 5.0 and 2.5 us,
    /// whatever the size.
    Pair,
    /// Page faults when it is first touched.
    Faults,
    /// Filling it with zeros.
    Zeroing,
    /// Giving it back.
    Unmap,
    /// All but the pair.
    Sum,
}

/// The parts, on Windows 7, one thread.
pub const HIDDEN_COSTS: [HiddenCost; 5] = [
    cost(CostItem::Pair, 7.5, "the caller"),
    cost(CostItem::Faults, 175.0, "the caller"),
    cost(CostItem::Zeroing, ZEROING_US, "the System process"),
    cost(CostItem::Unmap, 75.0, "the caller"),
    cost(CostItem::Sum, 400.0, ""),
];

/// Where these are from.
pub const HIDDEN_COSTS_SOURCE: &str = "\"Hidden Costs of Memory Allocation\" (Bruce Dawson, randomascii.wordpress.com, \
                                       2014), Windows 7 or of its time, one thread";

/// What is not sure about them: two were not looked up again in the article of
/// 2014. Their ratio is what the one of 2022 reckons with: 13.7 % of a core for
/// zeroing beside 16 % for faults.
pub const HIDDEN_COSTS_DOUBT: &str = "Of the published us, 175 and 150 were not looked up again; their ratio is that \
                                      of the page-zeroing article's 16 and 13.7 % of a core.";

/// Two processes that allocate, fill and free one page, over and over, on
/// Windows 10 in a virtual machine with 96 CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZeropageTest {
    /// Processes at once.
    pub processes: u64,
    /// What each of them does.
    pub iterations: u64,
    /// CPU seconds of the System process.
    pub system_process_s: f64,
    /// CPUs that the System process kept busy.
    pub system_process_cpus: f64,
}

/// As it was published.
pub const ZEROPAGE_TEST: ZeropageTest = ZeropageTest {
    processes: 2,
    iterations: 800_000,
    system_process_s: 162.0,
    system_process_cpus: 29.0,
};

/// Where it is from.
pub const ZEROPAGE_TEST_SOURCE: &str = "\"Slower Memory Zeroing Through Parallelism\" (Bruce Dawson, \
                                        randomascii.wordpress.com, 2022), Windows 10, 96 CPUs; its program is \
                                        github.com/randomascii/blogstuff, zeropage_test";

impl HiddenCost {
    /// Of one part.
    pub fn of(part: CostItem) -> Self {
        let found = HIDDEN_COSTS.into_iter().find(|cost| cost.part == part);
        found.expect("every part is there")
    }

    /// Microseconds for a page of 4 KiB; `None` for what is one sum for a block.
    pub fn us_per_page(self) -> Option<f64> {
        let pages = (MB_BYTES / PAGE_BYTES) as f64;
        (self.part != CostItem::Pair).then_some(self.us / pages)
    }
}

impl ZeropageTest {
    /// The bytes that are allocated in all, in pages of 4096.
    pub const fn bytes(self) -> u64 {
        self.processes * self.iterations * PAGE_BYTES
    }

    /// How long it took, as follows from the CPU time and the CPUs.
    pub fn wall_s(self) -> f64 {
        self.system_process_s / self.system_process_cpus
    }

    /// Microseconds of an iteration, as follows from that.
    pub fn us_per_iteration(self) -> f64 {
        self.wall_s() * 1e6 / self.iterations as f64
    }

    /// GB (1e9 bytes) per second of the CPU time of the System process.
    pub fn gb_per_cpu_s(self) -> f64 {
        self.bytes() as f64 / 1e9 / self.system_process_s
    }
}

const fn cost(part: CostItem, us: f64, payer: &'static str) -> HiddenCost {
    HiddenCost { part, us, payer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_the_sum() {
        let us = |part| HiddenCost::of(part).us;
        assert_eq!(
            us(CostItem::Faults) + us(CostItem::Zeroing) + us(CostItem::Unmap),
            us(CostItem::Sum)
        );
        let pages = HIDDEN_COSTS.map(|cost| cost.us_per_page().map(|us| (us * 100.0).round()));
        assert_eq!(
            pages,
            [None, Some(68.0), Some(59.0), Some(29.0), Some(156.0)]
        );
        // Bytes in nanoseconds are GB in a second.
        let page_ns = HiddenCost::of(CostItem::Zeroing).us_per_page().unwrap() * 1e3;
        let gb_per_cpu_s = PAGE_BYTES as f64 / page_ns;
        assert!((gb_per_cpu_s - ZEROING_GB_PER_CPU_S).abs() < 1e-12);
    }

    #[test]
    fn the_test_is_of_6_104_gib_and_takes_about_7_us_a_page() {
        let test = ZEROPAGE_TEST;
        assert_eq!(test.bytes(), 6_553_600_000);
        let gib = test.bytes() as f64 / f64::from(1 << 30);
        assert_eq!((gib * 1e3).round(), 6_104.0);
        assert!((5.5..5.7).contains(&test.wall_s()));
        assert_eq!(test.us_per_iteration().round(), 7.0);
        assert!((0.040..0.041).contains(&test.gb_per_cpu_s()));
    }
}
