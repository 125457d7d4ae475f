//! Pools that take single pages and zero them with `memset`: punctual's, and the
//! same written by hand for this computer alone.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use punctual_microbench::locks::{
    Apart, Guards, McsByHand, Std, TasByHand, TicketByHand, TtasByHand,
};
use punctual_zero::host::{HostComputer, HostMemory};
use punctual_zero_memory::Kernel;
use punctual_zero_pool::blocking::Pool;
use punctual_zero_pool::{Accounting, Batch, LockKind, Setting};

/// A pool of all pages of a memory.
pub trait Zeroes: Sync {
    /// Zeroes pages until there are none left. Nobody else is `worker`.
    fn work(&self, worker: usize);
}

/// Makes a pool for so many workers.
pub type New = for<'m> fn(LockKind, &'m HostMemory, usize) -> Box<dyn Zeroes + 'm>;

/// The pool that `punctual zero run` measures.
pub fn ours<'m>(lock: LockKind, memory: &'m HostMemory, workers: usize) -> Box<dyn Zeroes + 'm> {
    let computer = HostComputer::new(memory, Kernel::Memset, None);
    let computer = computer.expect("memset is everywhere");
    let setting = Setting::new(workers, lock, Batch::One);
    let pool = Pool::new(&computer, &setting, pages(memory));
    Box::new(Ours(pool.expect("every lock takes single pages")))
}

/// The same by hand.
pub fn by_hand<'m>(lock: LockKind, memory: &'m HostMemory, workers: usize) -> Box<dyn Zeroes + 'm> {
    match lock {
        LockKind::Tas => under(TasByHand::default(), memory),
        LockKind::Ttas(_) => under(TtasByHand::default(), memory),
        LockKind::Ticket => under(TicketByHand::default(), memory),
        LockKind::Mcs => under(McsByHand::new(workers), memory),
        LockKind::Mutex => under(Std::default(), memory),
        LockKind::Counter => Box::new(Counted {
            next: Apart::default(),
            memory,
        }),
    }
}

struct Ours<'m>(Pool<HostComputer<'m>>);

impl Zeroes for Ours<'_> {
    fn work(&self, worker: usize) {
        self.0.work(worker, &mut Accounting::default());
    }
}

/// The next page is under a lock. Both begin a page, as punctual's pools do.
#[repr(align(4096))]
struct Locked<'m, G> {
    lock: Apart<G>,
    next: Apart<AtomicU64>,
    memory: &'m HostMemory,
}

fn under<'m>(lock: impl Guards + 'm, memory: &'m HostMemory) -> Box<dyn Zeroes + 'm> {
    Box::new(Locked {
        lock: Apart(lock),
        next: Apart::default(),
        memory,
    })
}

impl<G: Guards> Zeroes for Locked<'_, G> {
    fn work(&self, worker: usize) {
        let (next, pages) = (&self.next.0, pages(self.memory));
        loop {
            let mut page = 0;
            self.lock.0.section(worker, || {
                page = next.load(Relaxed);
                next.store(page + u64::from(page < pages), Relaxed);
            });
            if page == pages {
                return;
            }
            zero(self.memory, page);
        }
    }
}

/// The next page is an atomic counter, at the begin of a page.
#[repr(align(4096))]
struct Counted<'m> {
    next: Apart<AtomicU64>,
    memory: &'m HostMemory,
}

impl Zeroes for Counted<'_> {
    fn work(&self, _worker: usize) {
        loop {
            let page = self.next.0.fetch_add(1, Relaxed);
            if page >= pages(self.memory) {
                return;
            }
            zero(self.memory, page);
        }
    }
}

fn pages(memory: &HostMemory) -> u64 {
    memory.mapping().pages() as u64
}

#[inline]
fn zero(memory: &HostMemory, page: u64) {
    let page = page as usize;
    memory.mapping().zero(page..page + 1, Kernel::Memset);
}
