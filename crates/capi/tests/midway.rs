//! Events in the middle of a wait: signals whose handlers wait too, a `fork`, the end of the
//! thread, the end of the process. Each kind of wait lasts until its deadline, in the child too.
//! (Panics of a clock: punctual/tests/clocks.rs; of tasks and functions, and runtimes that shut
//! down: timers/tests.)
//!
//! This file is here because `fork` is unsafe, and this crate is above every crate that waits.
#![cfg(target_os = "linux")]

use std::future::Future;
use std::os::unix::thread::JoinHandleExt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use libc::c_int;
use punctual::{Cancel, FramePacer, Pacer, Period, Waiter, interval_at, ns};
use punctual_timers::Timers;

/// A wait that is made before it begins, for a deadline.
type Wait = Box<dyn FnOnce() + Send>;
type Kind = (&'static str, fn(Instant) -> Wait);

fn hz() -> Period {
    Period::hz(1_000).unwrap()
}

/// The waits of the calling thread. A child of `fork` has them, too.
const OWN: [Kind; 9] = [
    ("sleep_until", |at| {
        Box::new(move || _ = punctual::sleep_until(at))
    }),
    ("system", |at| with_strategy("system", at)),
    ("spin", |at| with_strategy("spin", at)),
    ("sleep_until_or", |at| {
        let cancel = Cancel::new();
        Box::new(move || _ = Waiter::new().sleep_until_or(at, &cancel).unwrap())
    }),
    ("sleep_until_interruptible", |at| {
        let mut waiter = Waiter::new();
        Box::new(move || while waiter.sleep_until_interruptible(at).is_err() {})
    }),
    ("coarse_until", |at| {
        Box::new(move || {
            Waiter::new().coarse_until(at);
            while Instant::now() < at {}
        })
    }),
    ("tick", |at| {
        let mut ticker = interval_at(at, hz());
        Box::new(move || _ = ticker.tick())
    }),
    ("next_batch", |at| {
        let mut pacer = Pacer::starting_at(at, hz());
        Box::new(move || _ = pacer.next_batch(8, Duration::ZERO))
    }),
    ("frame", |at| {
        let mut frames = FramePacer::at_end(hz());
        frames.reset_at(at);
        Box::new(move || {
            frames.begin();
            frames.end();
        })
    }),
];

/// The waits that the thread of the timers ends, which a child of `fork` does not have.
const WOKEN: [Kind; 2] = [
    ("sleep of a task", |at| {
        Box::new(move || block_on(punctual_timers::time::sleep_until(at)))
    }),
    ("call_at", |at| {
        let timers = Timers::spawn().unwrap();
        Box::new(move || {
            let (tell, told) = std::sync::mpsc::channel();
            timers.call_at(at, move |_| tell.send(()).unwrap());
            told.recv().unwrap();
        })
    }),
];

fn with_strategy(text: &str, at: Instant) -> Wait {
    let waiter = Waiter::builder().strategy(text.parse().unwrap()).build();
    let mut waiter = waiter.unwrap();
    Box::new(move || _ = waiter.sleep_until(at))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    let mut context = Context::from_waker(&waker);
    while future.as_mut().poll(&mut context).is_pending() {
        thread::park();
    }
}

/// The wait that is going on, and whether a handler is to fork in it, and did.
static UNTIL_NS: AtomicU64 = AtomicU64::new(0);
static FORKS: AtomicBool = AtomicBool::new(false);
static HANDLED: AtomicI32 = AtomicI32::new(0);
static CHILD: AtomicI32 = AtomicI32::new(0);
static IS_CHILD: AtomicBool = AtomicBool::new(false);

extern "C" fn handler(_: c_int) {
    punctual::sleep(Duration::from_micros(20));
    if ns::now() >= UNTIL_NS.load(SeqCst) {
        return;
    }
    HANDLED.fetch_add(1, SeqCst);
    if FORKS.swap(false, SeqCst) {
        // SAFETY: the child continues in the wait of this thread, which takes no lock and no
        // memory. Then it ends, or the alarm ends it.
        unsafe {
            let pid = libc::fork();
            match pid {
                0 => {
                    libc::alarm(60);
                    IS_CHILD.store(true, SeqCst);
                }
                _ => CHILD.store(pid, SeqCst),
            }
        }
    }
}

fn handle() {
    // SAFETY: an all-zero sigaction is valid; the handler does what is allowed in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        assert_eq!(
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()),
            0
        );
    }
}

/// Whether a handler ran in the middle of such a wait, and forked there if it was to.
fn signalled((name, wait): Kind, length: Duration, forks: bool) -> bool {
    CHILD.store(0, SeqCst);
    HANDLED.store(0, SeqCst);
    UNTIL_NS.store(0, SeqCst);
    FORKS.store(forks, SeqCst);
    let waiting = thread::spawn(move || {
        let deadline = Instant::now() + length;
        let wait = wait(deadline);
        UNTIL_NS.store(ns::of(deadline), SeqCst);
        wait();
        let is_early = Instant::now() < deadline;
        if IS_CHILD.load(SeqCst) {
            // SAFETY: takes a number, and never returns.
            unsafe { libc::_exit(is_early.into()) };
        }
        assert!(!is_early, "{name}");
    });
    while !waiting.is_finished() {
        // SAFETY: the thread has not been joined.
        unsafe { libc::pthread_kill(waiting.as_pthread_t(), libc::SIGUSR1) };
        thread::sleep(Duration::from_micros(300));
    }
    waiting.join().unwrap();
    let child = CHILD.load(SeqCst);
    let mut status = 0;
    // SAFETY: `status` is a valid place for a number.
    while child > 0 && unsafe { libc::waitpid(child, &mut status, 0) } < 0 {}
    assert_eq!(status, 0, "{name} in the child");
    HANDLED.load(SeqCst) > 0 && (!forks || child > 0)
}

/// One test, as a process has one handler of a signal.
#[test]
fn signals_and_a_fork_in_the_middle() {
    handle();
    let own = OWN.into_iter().map(|kind| (kind, true));
    let woken = WOKEN.into_iter().map(|kind| (kind, false));
    for (kind, forks) in own.chain(woken) {
        // Where others have the CPU for all of it, it has no middle.
        let mut lengths = (0..).map(|times| Duration::from_millis(5 << times));
        assert!(lengths.any(|length| signalled(kind, length, forks)));
    }
}

#[test]
fn the_end_of_a_thread() {
    struct WaitsInDrop;
    impl Drop for WaitsInDrop {
        fn drop(&mut self) {
            for (name, wait) in OWN.into_iter().chain(WOKEN) {
                let deadline = Instant::now() + Duration::from_micros(300);
                // Told, as a panic here would end the process without a word.
                wait(deadline)();
                if Instant::now() < deadline {
                    EARLY.store(true, SeqCst);
                    eprintln!("{name} was early");
                }
            }
        }
    }
    static EARLY: AtomicBool = AtomicBool::new(false);
    thread_local!(static LAST: WaitsInDrop = const { WaitsInDrop });
    let ending = thread::spawn(|| {
        LAST.with(|_| ());
        punctual::sleep(Duration::from_micros(10));
    });
    ending.join().unwrap();
    assert!(!EARLY.load(SeqCst));
}

/// In a process of its own, which ends while its threads wait for an hour.
#[test]
fn the_end_of_the_process() {
    const IN_IT: &str = "PUNCTUAL_TEST_OF_THE_END";
    if std::env::var_os(IN_IT).is_some() {
        let deadline = Instant::now() + Duration::from_secs(3_600);
        for (_, wait) in OWN.into_iter().chain(WOKEN) {
            let wait = wait(deadline);
            thread::spawn(wait);
        }
        punctual::sleep(Duration::from_millis(5));
        std::process::exit(7);
    }
    let test = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_end_of_the_process"])
        .env(IN_IT, "1")
        .output();
    assert_eq!(test.unwrap().status.code(), Some(7));
}
