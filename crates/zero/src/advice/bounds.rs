//! Rules of thumb: how many threads the memory keeps up with, and how large a
//! batch has to be and may be.

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Machine, Quantity};

use super::Model;
use crate::rows::{PAGE_BYTES, ZeroBounds, ZeroHold};
use crate::simulation;

/// How long Linux zeroes without offering the CPU to others: up to 32 MiB, which
/// take some 3 ms (its series on clearing ranges of pages, January 2026: units of
/// that size where the kernel is not pre-emptible).
const LONGEST_TAKE: Nanos = Nanos::from_ms(3);

/// See above, in pages.
const LARGEST_TAKE: u64 = (32 << 20) / PAGE_BYTES;

/// How many threads the memory of a computer keeps up with; `None` where that is
/// no fewer than there are CPUs.
///
/// # Errors
/// As of [`Model::machine`].
pub(super) fn knee(model: &dyn Model) -> Result<Option<f64>, Refusal> {
    Ok(of_model(model)?.threads)
}

/// The bounds of a computer.
pub(super) fn of_model(model: &dyn Model) -> Result<ZeroBounds, Refusal> {
    // Of one thread that nobody disturbs.
    let alone = Setting::new(1, LockKind::Tas, Batch::One);
    Ok(bounds(&model.machine(&alone)?))
}

/// `N <= BW_total / BW_core`, and the most pages of a batch.
fn bounds(machine: &Machine) -> ZeroBounds {
    let zero_ns = machine.value(Quantity::Zero);
    // Bytes in nanoseconds are GB in a second.
    let core_gb_per_s = PAGE_BYTES as f64 / zero_ns;
    let total_gb_per_s = machine.value(Quantity::Bandwidth);
    let threads = total_gb_per_s / core_gb_per_s;
    // A bandwidth that was made of that of all CPUs is no limit, however rounded.
    let all = machine.topology().cpus() as f64 * (1.0 - 1e-9);
    let is_limit = threads < all;
    let in_time = LONGEST_TAKE.as_ns() as f64 / zero_ns;
    ZeroBounds {
        zero_ns,
        core_gb_per_s,
        total_gb_per_s: is_limit.then_some(total_gb_per_s),
        threads: is_limit.then_some(threads),
        most_pages: (in_time as u64).clamp(1, LARGEST_TAKE),
    }
}

/// How long a lock is with one holder while all workers of a pool want it, and
/// `B >= N h(N) / (e z)`; `None` of a lock that has no closed form.
pub(super) fn hold(machine: &Machine, lock: LockKind, workers: usize) -> Option<ZeroHold> {
    let hold_ns = hold_ns(machine, lock, workers)?;
    let pages = |share: f64| workers as f64 * hold_ns / (share * machine.value(Quantity::Zero));
    Some(ZeroHold {
        lock: lock.to_string(),
        hold_ns,
        pages_for_5_percent: pages(0.05),
        pages_for_10_percent: pages(0.1),
    })
}

fn hold_ns(machine: &Machine, lock: LockKind, workers: usize) -> Option<f64> {
    if lock == LockKind::Counter {
        // Its line goes from one who wants it to the next.
        let transfer = machine.mean_transfer_ns(workers).ok()?;
        let queued = transfer * machine.value(Quantity::QueuedShare);
        let extra = machine.value(Quantity::CounterExtra);
        return Some(extra + machine.value(Quantity::Rmw) + queued);
    }
    // What it takes at a time makes no difference to the lock.
    let setting = Setting::new(workers, lock, Batch::One);
    let chain = simulation::closed_form(machine, &setting)?;
    Some(chain.service(workers))
}

#[cfg(test)]
mod tests {
    use punctual_sim::model::Confidence;
    use punctual_zero_sim::{Figure, Numbering, Topology};

    use super::*;

    /// Four cores at one cache, all figures round.
    fn machine() -> Machine {
        let topology = Topology {
            sockets: 1,
            caches: 1,
            cores: 4,
            threads: 1,
            numbering: Numbering::SiblingsLast,
        };
        let figures = [
            (Quantity::SameCache, 50.0),
            (Quantity::QueuedShare, 0.5),
            (Quantity::Rmw, 5.0),
            (Quantity::Section, 15.0),
            (Quantity::TicketExtra, 7.0),
            (Quantity::Zero, 400.0),
            (Quantity::Bandwidth, 25.6),
        ];
        let machine = Machine::new("four", "a test", topology);
        figures
            .into_iter()
            .fold(machine, |machine, (quantity, value)| {
                machine.with(quantity, Figure::new(value, Confidence::D, "a test"))
            })
    }

    #[test]
    fn memory_keeps_up_with_so_many_threads() {
        let bounds = bounds(&machine());
        assert_eq!(bounds.core_gb_per_s, 10.24);
        assert_eq!(bounds.total_gb_per_s, Some(25.6));
        assert_eq!(bounds.threads, Some(2.5));
        assert_eq!(knee(&machine()), Ok(Some(2.5)));
        // 3 ms / 400 ns.
        assert_eq!(bounds.most_pages, 7_500);
        let fast = machine().with(Quantity::Zero, Figure::new(100.0, Confidence::D, "a test"));
        assert_eq!(super::bounds(&fast).most_pages, 8_192);
    }

    #[test]
    fn a_bandwidth_that_nobody_reaches_is_no_limit() {
        for gb_per_s in [40.96, 1e6] {
            let figure = Figure::new(gb_per_s, Confidence::D, "a test");
            let bounds = bounds(&machine().with(Quantity::Bandwidth, figure));
            assert_eq!((bounds.total_gb_per_s, bounds.threads), (None, None));
        }
    }

    #[test]
    fn a_batch_has_to_be_so_large() {
        // 15 + 5 + 2 x 50 ns, and 25 ns for each who waits.
        let tas = hold(&machine(), LockKind::Tas, 4).unwrap();
        assert_eq!(tas.hold_ns, 120.0 + 3.0 * 25.0);
        // 4 x 195 / (0.05 x 400)
        assert!((tas.pages_for_5_percent - 39.0).abs() < 1e-9, "{tas:?}");
        assert!((tas.pages_for_10_percent - 19.5).abs() < 1e-9, "{tas:?}");
        let ns = |lock| hold(&machine(), lock, 4).map(|hold| hold.hold_ns);
        assert_eq!(ns(LockKind::Ticket), Some(7.0 + 120.0 + 3.0 * 25.0));
        assert_eq!(ns(LockKind::Mcs), Some(120.0 + 2.0 * 50.0));
        assert_eq!(ns(LockKind::Counter), Some(5.0 + 25.0));
        assert_eq!(ns(LockKind::Mutex), None);
        // Nobody waits for one thread, and no line travels.
        let alone = hold(&machine(), LockKind::Tas, 1).unwrap();
        assert_eq!(alone.hold_ns, 20.0);
    }
}
