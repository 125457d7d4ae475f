//! Two cores and one lock, transfer by transfer.

use std::cell::RefCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use punctual_core::Nanos;
use punctual_sim::model::Confidence::D;
use punctual_zero_pool::suspending::{AnyLock, Computer, Line, Lock};
use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting};

use super::super::computer::{SimComputer, Task};
use super::super::costs::Costs;
use super::super::world::World;
use super::super::{Figure, Job, Machine, Preemption, Quantity, Topology, simulate};

/// Cores of one cache. A line takes 30 ns, 20 for who had to queue; 80 from
/// memory. A hit takes 1, a read-modify-write 5, a PAUSE 10, a page 300.
pub(super) fn machine(cores: usize) -> Machine {
    let figures = [
        (Quantity::SameCache, 30.0),
        (Quantity::Hit, 1.0),
        (Quantity::Rmw, 5.0),
        (Quantity::QueuedShare, 2.0 / 3.0),
        (Quantity::Relax, 10.0),
        (Quantity::Zero, 300.0),
        (Quantity::Bandwidth, 1e6),
        (Quantity::Miss, 80.0),
        (Quantity::Park, 700.0),
        (Quantity::Wake, 900.0),
        (Quantity::Turnaround, 2_300.0),
        (Quantity::Spread, 0.0),
    ];
    let machine = Machine::new("by hand", "a test", Topology::of_cores(cores));
    figures
        .into_iter()
        .fold(machine, |machine, (quantity, value)| {
            with(machine, quantity, value)
        })
}

/// The same except for one figure.
pub(super) fn with(machine: Machine, quantity: Quantity, value: f64) -> Machine {
    machine.with(quantity, Figure::new(value, D, "a test"))
}

/// When each worker had the lock and when it had given it back, where all want it
/// from the begin, for so long.
fn turns(
    workers: usize,
    kind: LockKind,
    held_ns: u64,
    preemption: Option<Preemption>,
) -> Vec<(u64, u64)> {
    turns_on(&machine(workers), workers, kind, held_ns, preemption)
}

/// The same on another machine.
fn turns_on(
    machine: &Machine,
    workers: usize,
    kind: LockKind,
    held_ns: u64,
    preemption: Option<Preemption>,
) -> Vec<(u64, u64)> {
    let costs = Costs::new(machine, workers, kind).unwrap();
    let computer = SimComputer::new(World::new(costs, 0, preemption, 0, 1 << 20));
    let lock = AnyLock::new(kind, &computer, workers).unwrap();
    let turns = RefCell::new(vec![(0, 0); workers]);
    let work = async |worker| {
        let had = lock
            .section(worker, async || {
                let now = computer.now();
                computer.pause(Nanos::new(held_ns)).await;
                now
            })
            .await;
        turns.borrow_mut()[worker] = (had.as_ns(), computer.now().as_ns());
    };
    let tasks = (0..workers).map(|worker| Box::pin(work(worker)) as Task<'_>);
    computer.run(tasks.collect()).unwrap();
    turns.into_inner()
}

#[test]
fn tas() {
    // The first swap fetches the line from memory (80). The second, which had to
    // queue, has it 20 later, fails, and from then on swaps its own line every 10 + 5,
    // at 110, 125, ... When the lock is given back at 180, its line is fetched from
    // there (30). The swap at 185 finds the line on its way, queues, and has it 20
    // after that, with the lock. The line is its own when it gives the lock back.
    assert_eq!(turns(2, LockKind::Tas, 100, None), [(80, 210), (230, 331)]);
}

#[test]
fn who_posts_its_stores_goes_on_and_the_line_is_written_when_it_comes() {
    // As above, but the first starts over 1 after it released the lock at 180. The line reaches it
    // at 210, and is written in spite of the queue: the swap of 185 finds the lock free.
    let machine = with(machine(2), Quantity::Posted, 1.0);
    assert_eq!(
        turns_on(&machine, 2, LockKind::Tas, 100, None),
        [(80, 181), (230, 331)]
    );
}

#[test]
fn a_lock_that_many_hammer_is_given_back_by_a_posted_store() {
    let machine = with(machine(8), Quantity::Posted, 1.0);
    for lock in [LockKind::Tas, LockKind::Ticket, LockKind::Mcs] {
        let turns = turns_on(&machine, 8, lock, 100, None);
        assert!(turns.iter().all(|(had, _)| *had > 0), "{lock}: {turns:?}");
    }
}

#[test]
fn the_owner_uses_a_line_until_it_is_told_that_it_has_to_go() {
    // As above, but that the swaps of 185 and 200 find the line still there. The one of
    // 215 fetches it (30).
    let machine = with(machine(2), Quantity::NoticeShare, 1.0);
    assert_eq!(
        turns_on(&machine, 2, LockKind::Tas, 100, None),
        [(80, 210), (245, 346)]
    );
}

#[test]
fn who_spins_sees_it_at_its_next_look() {
    // As with a ticket below, where it is seen at once and fetched at 241.
    let machine = with(machine(2), Quantity::Look, 40.0);
    let turns = turns_on(&machine, 2, LockKind::Ticket, 100, None);
    assert_eq!(turns[0], (81, 211));
    assert!((242..281).contains(&turns[1].0), "{turns:?}");
}

#[test]
fn a_take_of_many_pages_is_one_turn() {
    let cpu = |turn, dequeue| {
        let machine = with(machine(1), Quantity::Turn, turn);
        let setting = Setting {
            dequeue,
            ..Setting::new(1, LockKind::Tas, Batch::Fixed(5))
        };
        simulate(&machine, &Job::new(setting, 10)).unwrap().cpu
    };
    for dequeue in [Dequeue::Range, Dequeue::List] {
        let more = cpu(1_000.0, dequeue) - cpu(0.0, dequeue);
        assert_eq!(more, Nanos::new(2_000), "{dequeue:?}");
    }
}

#[test]
fn a_lock_is_taken_when_the_stores_to_the_page_are_done() {
    let wall = |workers, batch, drain, turn| {
        let machine = with(machine(2), Quantity::Drain, drain);
        let machine = with(machine, Quantity::Turn, turn);
        let setting = Setting::new(workers, LockKind::Counter, batch);
        let outcome = simulate(&machine, &Job::new(setting, 4)).unwrap();
        outcome.wall.as_ns()
    };
    let (each, all) = (Batch::One, Batch::Fixed(4));
    // Each take but the first comes after a page or more.
    for (batch, after_pages) in [(each, 4), (all, 1)] {
        let without = wall(1, batch, 0.0, 0.0);
        assert_eq!(wall(1, batch, 200.0, 0.0) - without, after_pages * 200);
        // Meanwhile other things are done.
        assert_eq!(wall(1, batch, 200.0, 50.0) - without, after_pages * 200);
        assert_eq!(wall(1, batch, 200.0, 250.0) - without, after_pages * 250);
    }
    // But not the line, which the other has had meanwhile: it is asked for afterwards.
    let fetched = wall(2, Batch::Fixed(2), 30.0, 0.0) - wall(2, Batch::Fixed(2), 0.0, 0.0);
    assert_eq!(fetched, 30);
}

#[test]
fn the_line_of_a_lock_comes_with_those_of_the_stores_before_it() {
    // The node is written twice and the tail swapped, both from memory (80). Where stores are
    // posted (1 each), the line of the tail is requested at 2, and used (1) on arrival. After the
    // section the worker finds no successor (1), and its own number in the tail (5).
    let posts = |posted| {
        let machine = with(machine(1), Quantity::Posted, posted);
        turns_on(&machine, 1, LockKind::Mcs, 100, None)[0]
    };
    assert_eq!(posts(0.0), (161, 267));
    assert_eq!(posts(1.0), (83, 189));
}

#[test]
fn what_a_lock_guards_is_read_while_the_lock_is_waited_for() {
    let read = |posted, paused_ns| {
        let machine = with(machine(1), Quantity::Posted, posted);
        let costs = Costs::new(&machine, 1, LockKind::Tas).unwrap();
        let computer = SimComputer::new(World::new(costs, 0, None, 0, 1 << 20));
        let (lock, guarded) = (computer.line([0; 4]), computer.line([0; 4]));
        let read = RefCell::new(0);
        let work = async {
            guarded.read_ahead();
            computer.pause(Nanos::new(paused_ns)).await;
            if paused_ns == 0 {
                lock.swap(0, 1, Acquire).await;
            }
            guarded.load(0, Relaxed).await;
            *read.borrow_mut() = computer.now().as_ns();
        };
        computer.run(vec![Box::pin(work) as Task<'_>]).unwrap();
        read.into_inner()
    };
    // Both lines come from memory (80), one after the other or at the same time.
    assert_eq!((read(0.0, 0), read(1.0, 0)), (160, 80));
    // A load finds the line on its way.
    assert_eq!((read(0.0, 30), read(1.0, 30)), (110, 80));
}

#[test]
fn ticket() {
    // Both draw (80, and 20 more for who had to queue) and read from what they have
    // (1). The store takes the line back (30), and who waits fetches it again (30).
    // Its own store has to reach the copy of the other (30).
    assert_eq!(
        turns(2, LockKind::Ticket, 100, None),
        [(81, 211), (241, 371)]
    );
}

#[test]
fn mcs() {
    // Each writes its own node (80 and 1); then the first swaps the tail (80), and the second, who
    // had to queue, 20 after. It writes its number into the first's node (30). At the end of the
    // section at 261 the first reads that (30) and writes into the second's node (30), who fetches
    // it (30). It has its section; then it has no successor (1), and finds its own number in the
    // tail (5).
    assert_eq!(turns(2, LockKind::Mcs, 100, None), [(161, 321), (351, 457)]);
}

#[test]
fn a_ticket_is_served_half_way_and_the_store_after_all_reads() {
    // Four waiters read the line again after each release, in an order of chance: the
    // first of them after 30, each other 20 later. The next holder has it at one of
    // these.
    let turns = turns(5, LockKind::Ticket, 1_000, None);
    let (_, given_back) = turns[0];
    let (had, _) = turns[1];
    assert!([30, 50, 70, 90].contains(&(had - given_back)), "{turns:?}");
}

#[test]
fn the_mutex_sleeps_and_is_woken() {
    // The second looks a hundred times and more, every 1 + 10, before it sleeps; the
    // lock is held for longer than that.
    let turns = turns(2, LockKind::Mutex, 10_000, None);
    let (_, given_back) = turns[0];
    let (had, _) = turns[1];
    // The waking call of 900 is made when the lock has been given back.
    let woken = given_back - 900;
    assert!(had >= woken + 2_300, "{turns:?}");
    assert!(had < woken + 2_300 + 200, "{turns:?}");
}

#[test]
fn who_holds_the_lock_without_a_cpu_keeps_all_waiting() {
    let preemption = Preemption {
        every: Nanos::from_us(20),
        length: Nanos::from_us(5),
    };
    // The section of 100 us needs the CPU: it loses it for 5 us in every 20.
    let turns = turns(2, LockKind::Ticket, 100_000, Some(preemption));
    let (had, given_back) = turns[0];
    let lasted = given_back - had;
    assert!((125_000..=140_000).contains(&lasted), "{turns:?}");
    assert!(turns[1].0 > given_back, "{turns:?}");
}
