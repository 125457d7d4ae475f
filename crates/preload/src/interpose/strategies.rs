//! The strategies of the threads of a process whose waits end on time. Each thread has one of its own.
//!
//! A thread uses its strategy only for the moments in which a wait begins or a step of it ends. In between it may be
//! cancelled, or leave its wait by `longjmp`.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use punctual_core::Method;
use punctual_core::strategies::{Adaptive, Budget};

/// The strategy of a thread, with the number of its last wait.
struct Place {
    /// The thread by its `pthread_self`; zero while there is none.
    owner: AtomicUsize,
    is_taken: AtomicBool,
    /// The last wait, and when it was; the numbers go on with another owner.
    wait: AtomicU64,
    used_ns: AtomicU64,
    strategy: UnsafeCell<MaybeUninit<Adaptive>>,
}

// SAFETY: only what has set `is_taken` uses the strategy.
unsafe impl Sync for Place {}

/// More threads than this that wait at the same time lose what they learned to each other. Places that nothing
/// touches take no memory.
const PLACES: usize = 1_024;
/// A thread looks for its place in so many.
const TRIED: usize = 16;

static ALL: [Place; PLACES] = [const {
    Place {
        owner: AtomicUsize::new(0),
        is_taken: AtomicBool::new(false),
        wait: AtomicU64::new(0),
        used_ns: AtomicU64::new(0),
        strategy: UnsafeCell::new(MaybeUninit::uninit()),
    }
}; PLACES];

/// One wait of a thread.
#[derive(Clone, Copy)]
pub(super) struct Ticket {
    place: &'static Place,
    wait: u64,
}

/// The name under which strategies know naps without timer slack.
const NAP: Method = Method::SlacklessFutex;

/// A wait begins `now`: asks the strategy of this thread. `None` if there is none: a signal handler interrupted it.
pub(super) fn begin<T>(
    weight: f64,
    now: u64,
    ask: impl FnOnce(&mut Adaptive) -> T,
) -> Option<(Ticket, T)> {
    // SAFETY: it has no arguments.
    let me = unsafe { libc::pthread_self() } as usize;
    // Threads lie far apart: the upper bits of the product depend on all bits of the address.
    let first = (me as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let places = || (0..TRIED).map(|n| &ALL[(first as usize + n) % PLACES]);
    let of = |owner: usize| places().find(|place| place.owner.load(Relaxed) == owner);
    let oldest = || places().min_by_key(|place| place.used_ns.load(Relaxed));
    let place = of(me).or_else(|| of(0)).or_else(oldest)?;
    taken(place, |strategy| {
        // Another thread may have been faster.
        if place.owner.swap(me, Relaxed) != me {
            strategy.write(Adaptive::new(weight, NAP, Budget::Unlimited));
        }
        place.used_ns.store(now, Relaxed);
        let wait = place.wait.load(Relaxed) + 1;
        place.wait.store(wait, Relaxed);
        // SAFETY: a place that has an owner has a strategy.
        let strategy = unsafe { strategy.assume_init_mut() };
        (Ticket { place, wait }, ask(strategy))
    })
}

/// A step of the wait ended: asks again. `None` if another wait began meanwhile, in a signal handler or in a thread
/// that took the place.
pub(super) fn again<T>(ticket: Ticket, ask: impl FnOnce(&mut Adaptive) -> T) -> Option<T> {
    taken(ticket.place, |strategy| {
        let is_same = ticket.place.wait.load(Relaxed) == ticket.wait;
        // SAFETY: the place had an owner when the ticket was given.
        is_same.then(|| ask(unsafe { strategy.assume_init_mut() }))
    })?
}

fn taken<T>(place: &Place, use_it: impl FnOnce(&mut MaybeUninit<Adaptive>) -> T) -> Option<T> {
    if place.is_taken.swap(true, Acquire) {
        return None;
    }
    // SAFETY: this thread has taken the place.
    let answer = use_it(unsafe { &mut *place.strategy.get() });
    place.is_taken.store(false, Release);
    Some(answer)
}
