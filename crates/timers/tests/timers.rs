//! The thread that serves timers. No real duration is asserted beyond "never early".

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use punctual::{Budget, Waiter};
use punctual_timers::{Grid, Timers, WeakTimers};

const HOUR: Duration = Duration::from_secs(3_600);

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Counts how often it was dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn nobody_is_called_early() {
    let napper = Waiter::builder().budget(Budget::NeverSpin).build().unwrap();
    let grid = Grid::new(us(500), 1);
    for builder in [
        Timers::builder(),
        Timers::builder().waiter(napper).capacity(400).grid(grid),
    ] {
        let timers = builder.spawn().unwrap();
        let (tell, told) = mpsc::channel();
        let begin = Instant::now();
        for n in 0..400 {
            let tell = tell.clone();
            let earliest = begin + us(n * 7_919 % 10_000);
            let tolerance = us(n % 3 * 700);
            timers.call_within(earliest, tolerance, move |late| {
                let now = Instant::now();
                tell.send((now, earliest, tolerance, late)).unwrap();
            });
        }
        drop(tell);
        let called: Vec<_> = told.iter().collect();
        assert_eq!(called.len(), 400);
        for (now, earliest, tolerance, late) in called {
            assert!(now >= earliest);
            assert!(late.is_zero() || earliest + tolerance + late <= now);
        }
        assert_eq!((timers.len(), timers.counts().served), (0, 400));
    }
}

/// In every state that the thread has: before it sleeps, asleep, and at work.
#[test]
fn an_earlier_timer_wakes_the_thread() {
    let timers = Timers::spawn().unwrap();
    timers.call_at(Instant::now() + HOUR, |_| unreachable!());
    for n in 0..200 {
        let (tell, told) = mpsc::channel();
        let deadline = Instant::now() + us(n % 5 * 20);
        timers.call_at(deadline, move |_| tell.send(Instant::now()).unwrap());
        assert!(told.recv().unwrap() >= deadline);
    }
    assert_eq!(timers.len(), 1);
}

#[test]
fn many_threads_insert_and_cancel() {
    let timers = Timers::spawn().unwrap();
    let called = Arc::new(AtomicUsize::new(0));
    let dropped = Arc::new(AtomicUsize::new(0));
    let cancelled: usize = thread::scope(|scope| {
        let threads = [0, 1, 2].map(|seed| {
            let (timers, called, dropped) = (timers.clone(), called.clone(), dropped.clone());
            scope.spawn(move || {
                let mut cancelled = 0;
                for n in 0..300 {
                    let (called, dropped) = (called.clone(), Dropped(dropped.clone()));
                    let deadline = Instant::now() + us((seed + n * 17) % 400);
                    let key = timers.call_at(deadline, move |_| {
                        called.fetch_add(1, Ordering::SeqCst);
                        drop(dropped);
                    });
                    cancelled += usize::from(n % 3 == 0 && timers.cancel(key));
                    assert!(n % 3 != 0 || !timers.cancel(key));
                }
                cancelled
            })
        });
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let (tell, told) = mpsc::channel();
    timers.call_at(Instant::now() + us(500), move |_| tell.send(()).unwrap());
    told.recv().unwrap();
    assert_eq!(called.load(Ordering::SeqCst) + cancelled, 900);
    assert_eq!(dropped.load(Ordering::SeqCst), 900);
}

#[test]
fn a_panic_is_the_functions_own() {
    let timers = Timers::spawn().unwrap();
    let now = Instant::now();
    struct Again;
    impl Drop for Again {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("not told by the hook"));
        }
    }
    timers.call_at(now, |_| std::panic::resume_unwind(Box::new(Again)));
    let (tell, told) = mpsc::channel();
    timers.call_at(now, move |_| tell.send(()).unwrap());
    told.recv().unwrap();
}

/// Counts how often it is dropped, and panics each time.
struct Fragile(Arc<AtomicUsize>);

impl Drop for Fragile {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::panic::resume_unwind(Box::new("not told by the hook"));
    }
}

/// Two of them, or a caller that is panicking itself, would end the process.
#[test]
fn a_panic_as_a_function_is_dropped_stays_with_it() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let insert = |timers: &Timers, at| {
        let value = Fragile(dropped.clone());
        timers.call_at(at, move |_| drop(value))
    };
    let count = || dropped.load(Ordering::SeqCst);
    let later = Instant::now() + HOUR;

    let timers = Timers::spawn().unwrap();
    let key = insert(&timers, later);
    assert!(timers.cancel(key));
    assert_eq!(count(), 1);
    let other = timers.clone();
    (0..3).for_each(|_| _ = insert(&timers, later));
    timers.shutdown();
    assert_eq!(count(), 4);
    insert(&other, later);
    assert_eq!(count(), 5);

    let timers = Timers::spawn().unwrap();
    (0..3).for_each(|_| _ = insert(&timers, later));
    drop(timers);
    assert_eq!(count(), 8);

    let timers = Timers::spawn().unwrap();
    (0..3).for_each(|_| _ = insert(&timers, later));
    let panicking = std::thread::spawn(move || {
        let _timers = timers;
        std::panic::resume_unwind(Box::new("the thread's own"));
    });
    let own = panicking.join().unwrap_err();
    assert_eq!(own.downcast_ref(), Some(&"the thread's own"));
    assert_eq!(count(), 11);

    // The thread drops the functions that were due together with one that shuts down.
    let timers = Timers::spawn().unwrap();
    let at_work = Arc::new(Barrier::new(2));
    let (own, in_function) = (timers.clone(), Arc::clone(&at_work));
    let past = Instant::now();
    timers.call_at(past, move |_| {
        in_function.wait();
        in_function.wait();
        own.shutdown();
    });
    at_work.wait();
    (0..3).for_each(|_| _ = insert(&timers, past));
    at_work.wait();
    timers.shutdown();
    while count() < 14 {
        std::thread::yield_now();
    }
}

/// Asleep for an hour, or calling a function.
#[test]
fn shutdown_drops_what_waits_and_ends_the_thread() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let timers = Timers::spawn().unwrap();
    let other = timers.clone();
    let begun = Arc::new(Barrier::new(2));
    let in_function = Arc::clone(&begun);
    let value = Dropped(dropped.clone());
    timers.call_at(Instant::now(), move |_| {
        in_function.wait();
        drop(value);
    });
    begun.wait();
    let value = Dropped(dropped.clone());
    timers.call_at(Instant::now() + HOUR, move |_| drop(value));
    timers.shutdown();
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
    let value = Dropped(dropped.clone());
    let key = other.call_at(Instant::now(), move |_| drop(value));
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
    assert!(!other.cancel(key) && other.is_empty());
    other.shutdown();
}

/// Nor is who was due together with the one that shuts down.
#[test]
fn nobody_is_called_after_shutdown() {
    let timers = Timers::spawn().unwrap();
    let at_work = Arc::new(Barrier::new(2));
    let (own, in_function) = (timers.clone(), Arc::clone(&at_work));
    let (tell, told) = mpsc::channel();
    let past = Instant::now();
    timers.call_at(past, move |_| {
        in_function.wait();
        in_function.wait();
    });
    at_work.wait();
    timers.call_at(past + us(1), move |_| own.shutdown());
    timers.call_at(past + us(2), move |_| tell.send(()).unwrap());
    while Instant::now() < past + us(2) {}
    at_work.wait();
    assert_eq!(told.iter().count(), 0);
}

#[test]
fn the_last_handle_may_go_anywhere() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let timers = Timers::spawn().unwrap();
    let value = Dropped(dropped.clone());
    timers.call_at(Instant::now() + HOUR, move |_| drop(value));
    drop(timers.clone());
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(timers);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);

    // On its own thread: it cannot wait for itself.
    let timers = Timers::spawn().unwrap();
    let (tell, told) = mpsc::channel();
    let own = timers.clone();
    timers.call_at(Instant::now(), move |_| {
        own.shutdown();
        tell.send(()).unwrap();
    });
    drop(timers);
    // Unless the handle had gone before, and the function with it.
    let _ = told.recv();
}

#[test]
fn a_function_that_inserts_itself_again_does_not_keep_the_thread() {
    fn repeat(timers: &WeakTimers, tell: mpsc::Sender<()>) {
        let handle = timers.upgrade().unwrap();
        let timers = timers.clone();
        handle.call_at(Instant::now(), move |_| {
            tell.send(()).unwrap();
            if timers.upgrade().is_some() {
                repeat(&timers, tell);
            }
        });
    }
    let timers = Timers::spawn().unwrap();
    let (tell, told) = mpsc::channel();
    repeat(&timers.downgrade(), tell);
    told.iter().take(3).for_each(drop);
    drop(timers);
    // Ends when the sender has gone with the function.
    told.iter().for_each(drop);
}

#[test]
fn two_may_shut_down_at_once() {
    for _ in 0..50 {
        let timers = Timers::spawn().unwrap();
        let begun = Arc::new(Barrier::new(2));
        let (own, in_function) = (timers.clone(), Arc::clone(&begun));
        timers.call_at(Instant::now(), move |_| {
            in_function.wait();
            own.shutdown();
        });
        begun.wait();
        timers.shutdown();
    }
}

#[test]
fn instants_of_any_time_are_fine() {
    let timers = Timers::spawn().unwrap();
    let (tell, told) = mpsc::channel();
    let past = Instant::now().checked_sub(us(1_000)).unwrap();
    timers.call_within(past, Duration::MAX, |_| ());
    timers.call_at(past, move |late| tell.send(late).unwrap());
    assert!(told.recv().unwrap() >= us(1_000));
    timers.call_within(
        Instant::now() + 1_000 * HOUR,
        Duration::MAX,
        |_| unreachable!(),
    );
}

#[test]
fn within_the_capacity_nothing_is_allocated() {
    let timers = Timers::builder().capacity(100).spawn().unwrap();
    let allocated = allocation_counter::measure(|| {
        for round in 0..10 {
            let mut keys = [None; 100];
            for (n, key) in keys.iter_mut().enumerate() {
                let deadline = Instant::now() + HOUR / (round + 1) + us(n as u64);
                *key = Some(timers.wake_at(deadline, Waker::noop().clone()));
            }
            assert!(keys.into_iter().flatten().all(|key| timers.cancel(key)));
        }
    });
    assert_eq!(allocated.count_total, 0);
}
