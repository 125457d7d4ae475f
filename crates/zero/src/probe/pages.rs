//! Many pages, one step after the other.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::{Advice, Mapping, PAGE, huge_page_bytes};

use super::ledger::{Case, of_steps};
use super::ledger::{Ledger, apart, refusal};
use super::warm_up::Order;
use super::{ProbePart, warm_up};
use crate::rows::{HugePages, PageStep, ZeroProbe, ZeroRow};

/// A way to go through the life of pages, some of whose steps are measured.
#[derive(Clone, Debug)]
pub(super) enum Way {
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

impl Way {
    /// Every way, for so many pages.
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

    fn name(&self) -> String {
        match self {
            Self::Write(order) => format!("touch-{}", order.name()),
            Self::Read => "touch-read".to_owned(),
            Self::Populate => Advice::Populate.name().to_owned(),
            Self::Release(advice) => advice.name().to_owned(),
        }
    }
}

/// Goes one way with a span of memory in each round.
#[derive(Debug)]
pub(super) struct Pages {
    way: Way,
    bytes: usize,
    /// Whether huge pages are asked for, or ordinary ones only.
    huge: bool,
    cpu: Option<usize>,
    rounds: Vec<Ledger>,
}

impl Pages {
    pub(super) fn new(way: Way, bytes: usize, huge: bool, cpu: Option<usize>) -> Self {
        Self {
            way,
            bytes,
            huge,
            cpu,
            rounds: Vec::new(),
        }
    }

    fn go(&self) -> Result<Ledger, Refusal> {
        let mut ledger = Ledger::new(self.cpu);
        let pages = self.bytes / PAGE;
        self.warm_up()?;
        let mapping = ledger.step("map", pages, || self.map())?;
        self.choose_pages(&mapping)?;
        let write = |order: &Order| {
            order.write_touch(&mapping);
            Ok(())
        };
        let tell = |advice| mapping.advise(advice).map_err(refusal);
        match &self.way {
            Way::Write(order) => {
                ledger.step(touch(order), pages, || write(order))?;
                if matches!(order, Order::Forward) {
                    ledger.step("touch-again", pages, || write(order))?;
                }
            }
            Way::Read => ledger.step("touch-read", pages, || {
                mapping.read_touch(0..pages);
                Ok(())
            })?,
            Way::Populate => ledger.step("populate", pages, || tell(Advice::Populate))?,
            Way::Release(advice) => {
                let [released, after] = release(*advice);
                apart(self.cpu, || write(&Order::Forward))?;
                ledger.step(released, pages, || tell(*advice))?;
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
        apart(self.cpu, || {
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

    /// Mapping and unmapping are measured once, with the first way.
    fn is_of_this_way(&self, step: &str) -> bool {
        let first = matches!(self.way, Way::Write(Order::Forward));
        first || !["map", "unmap"].contains(&step)
    }
}

impl Case for Pages {
    fn part(&self) -> ProbePart {
        ProbePart::Pages
    }

    fn name(&self) -> String {
        let huge = if self.huge { ", huge pages" } else { "" };
        format!("{}{huge}", self.way.name())
    }

    fn length(&self, ns_per_page: f64) -> Nanos {
        let touched = match self.way {
            // What was told to be free may have to be given again.
            Way::Release(_) => 3.0,
            _ => 2.0,
        };
        // A huge page saves the faults, which are more than half.
        let share = if self.huge { 0.5 } else { 1.0 };
        warm_up::pages_take(self.bytes / PAGE, ns_per_page * touched * share)
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.rounds.push(self.go()?);
        Ok(())
    }

    fn measurements(&self) -> Vec<ZeroRow> {
        let huge_pages = match self.huge {
            true => HugePages::On,
            false => HugePages::Off,
        };
        let order = |step: &str| match &self.way {
            Way::Write(order) if step.starts_with("touch-") => Some(order.name().to_owned()),
            _ => None,
        };
        let mut all = of_steps(&self.rounds, |step, page_cost| {
            ZeroProbe::Pages(PageStep {
                bytes: self.bytes as u64,
                huge_pages: Some(huge_pages),
                order: order(step),
                kernel: None,
                at_once_bytes: None,
                page_cost,
            })
        });
        all.retain(|measurement| self.is_of_this_way(&measurement.subject));
        all
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
        let group = match huge {
            Some(HugePages::Off) => 0,
            Some(HugePages::On) => 1,
            None => 2,
        };
        let step = STEPS.iter().position(|step| *step == measurement.subject);
        (group, step)
    });
}

fn touch(order: &Order) -> &'static str {
    match order {
        Order::Forward => "touch-forward",
        Order::Backward => "touch-backward",
        Order::Random(_) => "touch-random",
    }
}

/// The names of the step that tells the system, and of the one after it.
fn release(advice: Advice) -> [&'static str; 2] {
    match advice {
        Advice::Free => ["free", "touch-after-free"],
        _ => ["dont-need", "touch-after-dont-need"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::PageCost;
    use punctual_zero_memory::page_bytes;

    const BYTES: usize = 4 << 20;
    const PAGES: f64 = (BYTES / PAGE) as f64;

    /// The steps of a way with what they cost, or nothing if this system does
    /// not have it.
    fn seen(way: Way, huge: bool) -> Vec<(String, PageCost)> {
        if let Some(advice) = way.needs()
            && Mapping::new(PAGE).unwrap().advise(advice).is_err()
        {
            return Vec::new();
        }
        let mut case = Pages::new(way, BYTES, huge, None);
        case.run().unwrap();
        case.run().unwrap();
        let measured = case.measurements();
        let cost = |m: &ZeroRow| (m.subject.clone(), m.page_cost().unwrap().clone());
        measured.iter().map(cost).collect()
    }

    #[test]
    fn every_way_has_its_steps_with_all_numbers() {
        for way in Way::all(BYTES / PAGE, 1) {
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
            steps(Way::Write(Order::Forward)),
            ["map", "touch-forward", "touch-again", "unmap"]
        );
        assert_eq!(steps(Way::Write(Order::Backward)), ["touch-backward"]);
        assert_eq!(steps(Way::Read), ["touch-read"]);
    }

    /// Each ordinary page is a fault, whatever the order and whether it is
    /// written or read, and none when it is there.
    #[cfg(target_os = "linux")]
    #[test]
    fn every_first_touch_is_a_fault() {
        // Pages may be larger than the unit of account.
        let faults = PAGE as f64 / page_bytes().unwrap() as f64;
        for way in Way::all(BYTES / PAGE, 1) {
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
}
