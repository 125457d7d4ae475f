//! Many pages, one step after the other; zeroing in the process itself, to compare with; and
//! touching memory before it is measured.

use std::sync::Arc;

use punctual_program::Refusal;
use punctual_sim::Random;
use punctual_zero_memory::{Advice, Kernel, Mapping, PAGE, caches, huge_page_bytes};

use super::ProbePart;
use super::ledger::{Case, Ledger, Place, Rounds, apart, of_steps, pages_take};
use crate::refusal;
use crate::rows::{HugePages, MemoryCost, PageStep, Spent, ZeroProbe, ZeroRow};

/// A way to go through the life of pages, some of whose steps are measured.
#[derive(Clone, Debug)]
pub(super) enum Lifecycle {
    /// Map, write to each page in this order, and unmap; after the first order,
    /// also write to each once more, which takes no fault.
    Write(Order),
    /// Read each page, forward: a fault, and nothing of its own to be zeroed.
    Read,
    /// Let the system give memory to all of them in one call.
    Populate,
    /// Write to each page, tell the system that they are not needed, and write
    /// to each again.
    Release(Advice),
}

impl Lifecycle {
    pub(super) fn all(pages: usize, seed: u64) -> Vec<Self> {
        vec![
            Self::Write(Order::Forward),
            Self::Write(Order::Backward),
            Self::Write(Order::random(pages, seed)),
            Self::Read,
            Self::Populate,
            Self::Release(Advice::DontNeed),
            Self::Release(Advice::Free),
        ]
    }

    /// The advice without which there is no such way.
    pub(super) fn needs(&self) -> Option<Advice> {
        match self {
            Self::Write(_) | Self::Read => None,
            Self::Populate => Some(Advice::Populate),
            Self::Release(advice) => Some(*advice),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Write(order) => order.step(),
            Self::Read => "touch-read",
            Self::Populate => Advice::Populate.name(),
            Self::Release(advice) => advice.name(),
        }
    }
}

/// Goes one way with a span of memory in each round, of huge pages or of ordinary ones
/// only.
pub(super) fn pages(way: Lifecycle, bytes: usize, huge: bool, place: Place) -> Case {
    let span = Span { bytes, huge, place };
    let touched = match way {
        // Memory that was marked as free may have to be given again.
        Lifecycle::Release(_) => 3.0,
        _ => 2.0,
    };
    // A huge page saves the faults, which are more than half.
    let share = if huge { 0.5 } else { 1.0 };
    let huge_pages = match huge {
        true => HugePages::On,
        false => HugePages::Off,
    };
    let (is_first, order) = match &way {
        Lifecycle::Write(order) => (matches!(order, Order::Forward), Some(order.step())),
        _ => (false, None),
    };
    let part = move |step: &'static str, page_cost| {
        // Mapping and unmapping are measured once, with the first way.
        let is_of_this_way = is_first || !["map", "unmap"].contains(&step);
        let is_touch = step.starts_with("touch-");
        let order = order.filter(|_| is_touch);
        is_of_this_way.then(|| {
            ZeroProbe::Pages(PageStep {
                bytes: bytes as u64,
                huge_pages: Some(huge_pages),
                order: order.map(|order| order.trim_start_matches("touch-").to_owned()),
                page_cost,
                ..PageStep::default()
            })
        })
    };
    Case {
        part: ProbePart::Pages,
        name: format!("{}{}", way.name(), if huge { ", huge pages" } else { "" }),
        length: Box::new(move |ns_per_page| {
            pages_take(bytes / PAGE, ns_per_page * touched * share)
        }),
        rounds: Rounds::Steps {
            go: Box::new(move || span.go(&way)),
            part: Box::new(part),
            done: Vec::new(),
        },
    }
}

#[derive(Clone, Debug)]
struct Span {
    bytes: usize,
    huge: bool,
    place: Place,
}

impl Span {
    fn go(&self, way: &Lifecycle) -> Result<Ledger, Refusal> {
        let mut ledger = Ledger::new(&self.place);
        let pages = self.bytes / PAGE;
        self.warm_up()?;
        let mapping = ledger.step("map", pages, || self.map())?;
        self.choose_pages(&mapping)?;
        let write = |order: &Order| {
            order.write_touch(&mapping);
            Ok(())
        };
        let tell = |advice| mapping.advise(advice).map_err(refusal);
        match way {
            Lifecycle::Write(order) => {
                ledger.step(order.step(), pages, || write(order))?;
                if matches!(order, Order::Forward) {
                    ledger.step("touch-again", pages, || write(order))?;
                }
            }
            Lifecycle::Read => ledger.step("touch-read", pages, || {
                mapping.read_touch(0..pages);
                Ok(())
            })?,
            Lifecycle::Populate => ledger.step("populate", pages, || tell(Advice::Populate))?,
            Lifecycle::Release(advice) => {
                let after = match advice {
                    Advice::Free => "touch-after-free",
                    _ => "touch-after-dont-need",
                };
                apart(&self.place, || write(&Order::Forward))?;
                ledger.step(advice.name(), pages, || tell(*advice))?;
                ledger.step(after, pages, || write(&Order::Forward))?;
            }
        }
        ledger.step("unmap", pages, || mapping.unmap().map_err(refusal))?;
        Ok(ledger)
    }

    /// Touches as much memory of the same kind, and gives it back. The warm-up
    /// before all else would not do: Linux tells a hypervisor that wants to know
    /// it what has been free for two seconds (`mm/page_reporting.c`), which may
    /// take it back.
    fn warm_up(&self) -> Result<(), Refusal> {
        apart(&self.place, || {
            let mapping = self.map()?;
            self.choose_pages(&mapping)?;
            Order::Forward.write_touch(&mapping);
            mapping.unmap().map_err(refusal)
        })
    }

    fn map(&self) -> Result<Mapping, Refusal> {
        let alignment = huge_page_bytes().filter(|_| self.huge).unwrap_or(PAGE);
        Mapping::aligned(self.bytes, alignment).map_err(refusal)
    }

    /// A system that has no such advice has ordinary pages only.
    fn choose_pages(&self, mapping: &Mapping) -> Result<(), Refusal> {
        if self.huge {
            return mapping.advise(Advice::HugePages).map_err(refusal);
        }
        match mapping.advise(Advice::NoHugePages) {
            Err(error) if !error.is_unsupported() => Err(refusal(error)),
            _ => Ok(()),
        }
    }
}

/// Puts what was measured of pages in the order in which it is read: ordinary
/// pages, huge ones, and the rest; of each what gives memory, then what takes it.
pub(super) fn sort(measurements: &mut [ZeroRow]) {
    const STEPS: [&str; 12] = [
        "map",
        "touch-forward",
        "touch-backward",
        "touch-random",
        "populate",
        "touch-read",
        "touch-again",
        "unmap",
        "dont-need",
        "touch-after-dont-need",
        "free",
        "touch-after-free",
    ];
    measurements.sort_by_key(|measurement| {
        let huge = measurement.page_step().and_then(|step| step.huge_pages);
        let step = STEPS.iter().position(|step| *step == measurement.subject);
        (huge.is_none(), huge, step)
    });
}

/// The least cost for a kernel without faults and locks: zeroes memory in this process that is in
/// a cache, or is not; page by page, as systems do it, or all at once, which some CPUs do without
/// bringing it into their caches.
///
/// The memory was filled with other words before, because some CPUs are faster where zeros are
/// written over zeros (Downs, "Hardware Store Elimination", 2020).
pub(super) fn references(span: usize, place: &Place) -> [Case; 3] {
    let hot = hot_bytes().min(span);
    [
        reference("memset-cold", [1, span, 1], place),
        reference("memset-cold-at-once", [1, span, span / PAGE], place),
        // Over and over, until it is as much as a tenth of the span.
        reference("memset-hot", [(span / 10 / hot).max(1), hot, 1], place),
    ]
}

/// Zeroes so many bytes, so often in a round, and so many pages in one go.
fn reference(step: &'static str, [times, bytes, at_once]: [usize; 3], place: &Place) -> Case {
    let place = place.clone();
    let go = move || {
        let mut ledger = Ledger::new(&place);
        let mapping = Mapping::new(bytes).map_err(refusal)?;
        let pages = mapping.pages();
        mapping.dirty(0..pages);
        ledger.prepared(
            step,
            [times, pages],
            || mapping.dirty(0..pages),
            || {
                for page in (0..pages).step_by(at_once) {
                    mapping.zero(page..page + at_once, Kernel::Memset);
                }
            },
        )?;
        Ok(ledger)
    };
    let part = move |_, page_cost| {
        Some(ZeroProbe::Pages(PageStep {
            bytes: bytes as u64,
            kernel: Some(Kernel::Memset.name().to_owned()),
            at_once_bytes: Some((at_once * PAGE) as u64),
            page_cost,
            ..PageStep::default()
        }))
    };
    Case {
        part: ProbePart::Pages,
        name: step.to_owned(),
        length: Box::new(move |ns_per_page| pages_take(bytes / PAGE * times, ns_per_page)),
        rounds: Rounds::Steps {
            go: Box::new(go),
            part: Box::new(part),
            done: Vec::new(),
        },
    }
}

/// Whole pages in half of the second cache, so that the rest of what a thread
/// needs has room there too; where the system does not tell of one, of 256 KiB,
/// which no server or desktop CPU of the last ten years has less of (WikiChip,
/// Skylake client and Zen).
fn hot_bytes() -> usize {
    let caches = caches();
    let second = caches.iter().find(|cache| cache.level == 2);
    let bytes = second.and_then(|cache| usize::try_from(cache.bytes).ok());
    let half = bytes.unwrap_or(256 << 10) / 2;
    (half / PAGE).max(1) * PAGE
}

/// Gives memory to so many bytes once, and back. Both huge and ordinary pages are used, because
/// the system takes them from different places. The result is a first impression. Under a
/// hypervisor it is the cost of memory that its host has not given yet.
#[derive(Debug)]
pub(super) struct WarmUp {
    bytes: usize,
    round: Ledger,
    /// The time of an ordinary page from the touch to the end, once it is warm.
    pub(super) ns_per_page: f64,
}

/// The bytes that tell how long the rest takes.
const AGAIN: usize = 64 << 20;

const ORDINARY: &str = "ordinary-pages";
const HUGE: &str = "huge-pages";

impl WarmUp {
    pub(super) fn run(bytes: usize, place: &Place) -> Result<Self, Refusal> {
        let mut round = Ledger::new(place);
        let pages = bytes / PAGE;
        let touch = |bytes, alignment, advice| {
            let mapping = Mapping::aligned(bytes, alignment).map_err(refusal)?;
            // Where there is no such advice, there are no huge pages.
            let _ = mapping.advise(advice);
            place.pieces(mapping.pages(), |pages| mapping.write_touch(pages))?;
            mapping.unmap().map_err(refusal)
        };
        if let Some(huge) = huge_page_bytes().filter(|huge| *huge <= bytes) {
            round.step(HUGE, pages, || touch(bytes, huge, Advice::HugePages))?;
        }
        round.step(ORDINARY, pages, || touch(bytes, PAGE, Advice::NoHugePages))?;

        // Of memory that is warm now.
        let mut again = Ledger::new(place);
        let less = bytes.min(AGAIN);
        again.step(ORDINARY, less / PAGE, || {
            touch(less, PAGE, Advice::NoHugePages)
        })?;
        let Spent { wall_ns, pages, .. } = again.of(ORDINARY).unwrap_or_default();
        Ok(Self {
            bytes,
            round,
            ns_per_page: wall_ns as f64 / pages.max(1) as f64,
        })
    }

    pub(super) fn measurements(&self) -> Vec<ZeroRow> {
        let bytes = self.bytes as u64;
        let round = std::slice::from_ref(&self.round);
        of_steps(round, |_, page_cost| {
            Some(ZeroProbe::WarmUp(MemoryCost { bytes, page_cost }))
        })
    }
}

#[derive(Clone, Debug)]
pub(super) enum Order {
    Forward,
    /// The last page first: a system that maps some pages ahead of a fault gains
    /// nothing by that.
    Backward,
    /// Each page once, in no order: neither does one that looks for strides.
    Random(Arc<[u32]>),
}

impl Order {
    /// Pages in a random order, which is the same for the same seed.
    ///
    /// # Panics
    /// When the number of a page has more than 32 bits: these would be 16 TiB.
    pub(super) fn random(pages: usize, seed: u64) -> Self {
        let pages = u32::try_from(pages).expect("less than 16 TiB");
        let mut order: Vec<u32> = (0..pages).collect();
        Random::new(seed).shuffle(&mut order);
        Self::Random(order.into())
    }

    /// The step in which pages are touched so.
    fn step(&self) -> &'static str {
        match self {
            Self::Forward => "touch-forward",
            Self::Backward => "touch-backward",
            Self::Random(_) => "touch-random",
        }
    }

    /// Writes to every page of a mapping in this order.
    ///
    /// # Panics
    /// When it is the random order of more pages.
    pub(super) fn write_touch(&self, mapping: &Mapping) {
        match self {
            Self::Forward => mapping.write_touch(0..mapping.pages()),
            Self::Backward => mapping.write_touch((0..mapping.pages()).rev()),
            Self::Random(order) => mapping.write_touch(order.iter().map(|&page| page as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_memory::page_bytes;

    use crate::rows::PageCost;

    const BYTES: usize = 4 << 20;
    const PAGES: f64 = (BYTES / PAGE) as f64;

    /// The steps of a way with what they cost, or nothing if this system does
    /// not have it.
    fn seen(way: Lifecycle, huge: bool) -> Vec<(String, PageCost)> {
        if let Some(advice) = way.needs()
            && Mapping::new(PAGE).unwrap().advise(advice).is_err()
        {
            return Vec::new();
        }
        let mut case = pages(way, BYTES, huge, Place::default());
        case.run().unwrap();
        case.run().unwrap();
        let measured = case.measurements();
        let cost = |m: &ZeroRow| (m.subject.clone(), m.page_cost().unwrap().clone());
        measured.iter().map(cost).collect()
    }

    #[test]
    fn every_way_has_its_steps_with_all_numbers() {
        for way in Lifecycle::all(BYTES / PAGE, 1) {
            let name = way.name();
            for (step, cost) in seen(way, false) {
                assert_eq!(cost.rounds.len(), 2, "{name}, {step}");
                assert!(cost.rounds.iter().all(|round| round.pages as f64 == PAGES));
                if cfg!(target_os = "linux") {
                    let round = cost.rounds[1];
                    assert!(round.cpu_ns.is_some() && round.faults.is_some(), "{name}");
                    assert!(
                        round.user_ns.is_some() && round.system_ns.is_some(),
                        "{name}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_way_has_mapping_and_unmapping_too() {
        let steps = |way| -> Vec<String> {
            let seen = seen(way, false).into_iter();
            seen.map(|(step, _)| step).collect()
        };
        assert_eq!(
            steps(Lifecycle::Write(Order::Forward)),
            ["map", "touch-forward", "touch-again", "unmap"]
        );
        assert_eq!(steps(Lifecycle::Write(Order::Backward)), ["touch-backward"]);
        assert_eq!(steps(Lifecycle::Read), ["touch-read"]);
    }

    /// Each ordinary page is a fault, whatever the order and whether it is
    /// written or read, and none when it is there.
    #[cfg(target_os = "linux")]
    #[test]
    fn every_first_touch_is_a_fault() {
        // Pages may be larger than the unit of account.
        let faults = PAGE as f64 / page_bytes().unwrap() as f64;
        for way in Lifecycle::all(BYTES / PAGE, 1) {
            for (step, cost) in seen(way, false) {
                let seen = cost.faults_per_page.unwrap();
                match step.as_str() {
                    // A matter of the kernel, which goes through the same code.
                    "populate" => {}
                    "touch-again" | "map" | "unmap" | "dont-need" | "free" => {
                        assert!(seen < faults / 10.0, "{step}: {seen}");
                    }
                    // The system may have taken the memory back meanwhile.
                    "touch-after-free" => assert!(seen <= faults * 1.1, "{step}: {seen}"),
                    _ => assert!(seen >= faults, "{step}: {seen}"),
                }
            }
        }
    }

    #[test]
    fn hot_and_cold_have_their_pages() {
        const SPAN: usize = 4 << 20;
        assert!(hot_bytes() >= PAGE && hot_bytes().is_multiple_of(PAGE));
        for (mut case, step) in references(SPAN, &Place::default()).into_iter().zip([
            "memset-cold",
            "memset-cold-at-once",
            "memset-hot",
        ]) {
            case.run().unwrap();
            let measured = case.measurements();
            assert_eq!(measured.len(), 1);
            assert_eq!(measured[0].subject, step);
            let (bytes, cost) = measured[0].memory_cost().unwrap();
            let (all, pages) = (SPAN / PAGE, bytes as usize / PAGE);
            let times = if step == "memset-hot" {
                (all / 10 / pages).max(1)
            } else {
                1
            };
            assert_eq!(cost.rounds[0].pages, (pages * times) as u64);
            assert!(cost.wall_ns_per_page.median > 0.0);
        }
    }

    #[test]
    fn it_touches_every_page_and_says_what_that_took() {
        let warm_up = WarmUp::run(4 << 20, &Place::default()).unwrap();
        assert!(warm_up.ns_per_page > 0.0);
        let measurements = warm_up.measurements();
        assert_eq!(measurements.last().unwrap().subject, ORDINARY);
        for measurement in measurements {
            let (bytes, cost) = measurement.memory_cost().unwrap();
            assert_eq!((bytes, cost.rounds[0].pages), (4 << 20, 1024));
        }
    }

    #[test]
    fn too_much_is_refused() {
        assert!(WarmUp::run(usize::MAX / 4, &Place::default()).is_err());
    }

    #[test]
    fn every_page_comes_once_in_no_order() {
        let Order::Random(order) = Order::random(1000, 1) else {
            panic!("it is another order");
        };
        let ascending = order.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..600).contains(&ascending), "{ascending}");
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn each_order_touches_every_page() {
        for order in [Order::Forward, Order::Backward, Order::random(100, 1)] {
            let mapping = Mapping::new(100 * PAGE).unwrap();
            order.write_touch(&mapping);
            let untouched = (0..100).find(|page| mapping.first_dirty(*page..page + 1).is_none());
            assert_eq!(untouched, None, "{}", order.step());
        }
    }
}
