//! Naps on Linux where something is in their way: refused calls, `fork`, closed
//! descriptors, signal handlers.
//!
//! Each test has a process of its own, because filters, handlers and refusals stay
//! with a process.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod apart;

use apart::{FUTEX, NANOSLEEP, OWN_SLACK, PPOLL, PRCTL, apart, refuse};
use libc::{c_int, c_long, c_void};
use punctual_core::{Nanos, Reason};
use punctual_sys::nap::{Cancel, Nap, Slack};
use punctual_sys::{clock, slack};
use std::os::unix::thread::JoinHandleExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, ptr, thread};

/// The last rung, which no filter can refuse.
const YIELD: c_long = libc::SYS_sched_yield;

const SLACKS: [Slack; 3] = [Slack::PerNap, Slack::KeepThread, Slack::Leave];

fn wait(nap: &mut Nap, length: Nanos, slack: Slack, cancel: Option<&Cancel>) {
    let deadline = clock::now() + length;
    loop {
        let reason = nap.until(deadline, slack, cancel);
        assert_ne!(reason, Reason::Event);
        let now = clock::now();
        if now >= deadline {
            return;
        }
        // Both are on one clock here.
        assert_ne!(reason, Reason::Timer, "{} early", deadline.since(now));
    }
}

/// Whether a thread is in this call soon: the last rung of the ladder is in none for long.
/// Some sandboxes do not tell; that counts as yes.
fn is_soon_in(call: c_long, thread: libc::pid_t) -> bool {
    let file = format!("/proc/self/task/{thread}/syscall");
    (0..2_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        fs::read_to_string(&file).map_or(true, |now| {
            let number = now.split_whitespace().next();
            number == Some(&call.to_string()) || call == YIELD && number == Some("running")
        })
    })
}

/// Naps of every kind, where these calls are refused, and what it blocks with then.
fn naps_all_the_same(calls: &[c_long], errno: c_int, blocks_with: c_long) {
    let cancel = Cancel::new();
    let theirs = cancel.clone();
    // SAFETY: takes nothing.
    let napper = unsafe { libc::gettid() };
    // Not refused anything, as it was there before.
    let (begin, begun) = std::sync::mpsc::channel();
    let canceller = thread::spawn(move || {
        begun.recv().unwrap();
        let is_there = is_soon_in(blocks_with, napper);
        theirs.cancel();
        is_there
    });
    refuse(calls, errno);
    let before = slack::current();
    assert_eq!(before.is_none(), calls.contains(&libc::SYS_prctl));
    for slack in SLACKS {
        let mut nap = Nap::new();
        for us in [1, 300, 2_000, 12_000] {
            wait(&mut nap, Nanos::from_us(us), slack, None);
            wait(&mut nap, Nanos::from_us(us), slack, Some(&cancel));
        }
        let deadline = clock::now() + Nanos::from_ms(2);
        while clock::now() < deadline {
            nap.ordinary(deadline.since(clock::now()), None);
        }
        drop(nap);
        assert_eq!(slack::current(), before);
    }
    begin.send(()).unwrap();
    let far = clock::now() + Nanos::from_secs(3_600);
    let mut nap = Nap::new();
    while nap.until(far, Slack::PerNap, Some(&cancel)) != Reason::Event {}
    assert!(canceller.join().unwrap(), "blocks with another call");
    assert_eq!(slack::current(), before);
}

#[test]
fn nothing_is_refused() {
    apart("nothing_is_refused", || naps_all_the_same(&[], 0, FUTEX));
}

#[test]
fn the_futex_is_refused() {
    apart("the_futex_is_refused", || {
        naps_all_the_same(&[FUTEX], libc::EPERM, NANOSLEEP);
    });
}

#[test]
fn the_sleep_is_refused() {
    apart("the_sleep_is_refused", || {
        naps_all_the_same(&[NANOSLEEP], libc::EACCES, FUTEX);
    });
}

#[test]
fn the_futex_and_the_sleep_are_refused() {
    apart("the_futex_and_the_sleep_are_refused", || {
        naps_all_the_same(&[FUTEX, NANOSLEEP], libc::ENOSYS, PPOLL);
    });
}

#[test]
fn everything_that_blocks_is_refused() {
    apart("everything_that_blocks_is_refused", || {
        naps_all_the_same(&[FUTEX, NANOSLEEP, PPOLL], libc::EPERM, YIELD);
    });
}

#[test]
fn the_slack_cannot_be_changed() {
    apart("the_slack_cannot_be_changed", || {
        naps_all_the_same(&[PRCTL], libc::EPERM, FUTEX);
    });
}

#[test]
fn nothing_at_all_is_allowed() {
    apart("nothing_at_all_is_allowed", || {
        naps_all_the_same(&[FUTEX, NANOSLEEP, PPOLL, PRCTL], libc::EPERM, YIELD);
    });
}

/// Forks, and returns how the child ended, which does this and no more.
fn forked(child: impl FnOnce() -> bool) -> c_int {
    // SAFETY: the child has this thread alone, and calls nothing that could wait
    // for another one.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            libc::alarm(60);
            libc::_exit(if child() { 0 } else { 1 });
        }
        pid
    }
}

fn ended(pid: c_int) -> c_int {
    let mut status = -1;
    // SAFETY: `status` is a valid place for a number.
    while unsafe { libc::waitpid(pid, &mut status, 0) } < 0 {}
    status
}

#[test]
fn parent_and_child_wait_beside_each_other() {
    apart("parent_and_child_wait_beside_each_other", || {
        let cancel = Cancel::new();
        for slack in SLACKS {
            let mut nap = Nap::new();
            wait(&mut nap, Nanos::from_ms(1), slack, None);
            let mut waits = |us| {
                for _ in 0..100 {
                    wait(&mut nap, Nanos::from_us(us), slack, None);
                    wait(&mut nap, Nanos::from_us(us), slack, Some(&cancel));
                }
                true
            };
            let child = forked(|| waits(700) && slack::reset().unwrap() == OWN_SLACK);
            waits(500);
            assert_eq!(ended(child), 0);
            drop(nap);
            assert_eq!(slack::current(), Some(OWN_SLACK));
        }
    });
}

/// As the documentation of `Slack` states about programs.
#[test]
fn programs_inherit_a_slack_that_is_kept() {
    apart("programs_inherit_a_slack_that_is_kept", || {
        let theirs = || {
            let cat = Command::new("cat").arg("/proc/self/timerslack_ns").output();
            let text = String::from_utf8(cat.unwrap().stdout).unwrap();
            text.trim().parse().map(Nanos::new).ok()
        };
        let mut nap = Nap::new();
        wait(&mut nap, Nanos::from_us(50), Slack::PerNap, None);
        assert_eq!(theirs(), Some(OWN_SLACK));
        wait(&mut nap, Nanos::from_us(50), Slack::KeepThread, None);
        assert_eq!(theirs(), Some(Nanos::new(1)));
        drop(nap);
        assert_eq!(theirs(), Some(OWN_SLACK));
    });
}

#[test]
fn a_nap_has_no_descriptor_that_somebody_could_close() {
    apart("a_nap_has_no_descriptor_that_somebody_could_close", || {
        let open = || fs::read_dir("/proc/self/fd").unwrap().count();
        let (mut nap, cancel) = (Nap::new(), Cancel::new());
        let before = open();
        for slack in SLACKS {
            wait(&mut nap, Nanos::from_us(100), slack, Some(&cancel));
        }
        assert_eq!(open(), before);
        // SAFETY: nothing here uses a descriptor above the first three again. Where
        // the kernel is too old for the call there is nothing to test.
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
        let left = open();
        for slack in SLACKS {
            wait(&mut nap, Nanos::from_us(100), slack, Some(&cancel));
        }
        assert_eq!(open(), left);
    });
}

/// Handles a signal, without SA_RESTART.
fn handle(handler: extern "C" fn(c_int)) {
    // SAFETY: an all-zero sigaction is valid; what the handlers here do is allowed
    // in one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut());
    }
}

/// Signals this thread every 300 us while it does this.
fn signalled<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: takes nothing.
    let this = unsafe { libc::pthread_self() };
    let (is_over, theirs) = {
        let flag = std::sync::Arc::new(AtomicBool::new(false));
        (flag.clone(), flag)
    };
    let storm = thread::spawn(move || {
        while !theirs.load(Ordering::Acquire) {
            // SAFETY: that thread waits for this one to end.
            unsafe { libc::pthread_kill(this, libc::SIGUSR1) };
            thread::sleep(Duration::from_micros(300));
        }
    });
    assert_ne!(storm.as_pthread_t(), this);
    let done = act();
    is_over.store(true, Ordering::Release);
    storm.join().unwrap();
    done
}

static HANDLED_IN_NAP: AtomicU32 = AtomicU32::new(0);

/// Naps until the handler has run in so many naps without slack.
fn nap_until_handled(times: u32, nap: &mut Nap, slack: Slack) {
    signalled(|| {
        while HANDLED_IN_NAP.load(Ordering::Relaxed) < times {
            wait(nap, Nanos::from_ms(2), slack, None);
        }
    });
}

fn note_if_in_nap() {
    if slack::current() == Some(Nanos::new(1)) {
        HANDLED_IN_NAP.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_handler_may_nap_in_a_nap() {
    extern "C" fn handler(_: c_int) {
        note_if_in_nap();
        // At most once within itself: the signal is blocked meanwhile.
        Nap::new().until(clock::now() + Nanos::from_us(100), Slack::PerNap, None);
    }
    apart("a_handler_may_nap_in_a_nap", || {
        handle(handler);
        for slack in [Slack::PerNap, Slack::KeepThread] {
            HANDLED_IN_NAP.store(0, Ordering::Relaxed);
            let mut nap = Nap::new();
            nap_until_handled(50, &mut nap, slack);
            drop(nap);
            assert_eq!(slack::current(), Some(OWN_SLACK));
        }
    });
}

#[test]
fn a_slack_that_a_handler_sets_stays() {
    const SET: Nanos = Nanos::from_us(123);
    extern "C" fn handler(_: c_int) {
        if slack::current() == Some(Nanos::new(1)) {
            // Allocates nothing unless it is refused.
            let _ = slack::set(SET);
            HANDLED_IN_NAP.fetch_add(1, Ordering::Relaxed);
        }
    }
    apart("a_slack_that_a_handler_sets_stays", || {
        handle(handler);
        nap_until_handled(1, &mut Nap::new(), Slack::PerNap);
        assert_eq!(slack::current(), Some(SET));
    });
}

#[test]
fn a_fork_in_a_handler_does_not_hand_on_the_slack_of_the_nap() {
    static STATUS: AtomicI32 = AtomicI32::new(0);
    extern "C" fn handler(_: c_int) {
        if slack::current() != Some(Nanos::new(1)) {
            return;
        }
        HANDLED_IN_NAP.fetch_add(1, Ordering::Relaxed);
        if STATUS.load(Ordering::Relaxed) != 0 {
            return;
        }
        // The child is in the nap, too, until it asks for its default.
        let child = forked(|| {
            slack::current() == Some(Nanos::new(1)) && slack::reset().ok() == Some(OWN_SLACK)
        });
        STATUS.store(ended(child), Ordering::Relaxed);
        // And so is the parent still.
        if slack::current() != Some(Nanos::new(1)) {
            STATUS.store(-1, Ordering::Relaxed);
        }
    }
    apart(
        "a_fork_in_a_handler_does_not_hand_on_the_slack_of_the_nap",
        || {
            handle(handler);
            let mut nap = Nap::new();
            nap_until_handled(5, &mut nap, Slack::PerNap);
            assert_eq!(slack::current(), Some(OWN_SLACK));
            nap_until_handled(10, &mut nap, Slack::KeepThread);
            assert_eq!(STATUS.load(Ordering::Relaxed), 0);
            drop(nap);
            assert_eq!(slack::current(), Some(OWN_SLACK));
        },
    );
}

#[test]
fn cancelled_in_a_storm_of_signals_a_nap_ends() {
    extern "C" fn handler(_: c_int) {}
    apart("cancelled_in_a_storm_of_signals_a_nap_ends", || {
        handle(handler);
        for slack in SLACKS {
            let cancel = Cancel::new();
            let theirs = cancel.clone();
            let canceller = thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                theirs.cancel();
            });
            signalled(|| {
                let far = clock::now() + Nanos::from_secs(3_600);
                let mut nap = Nap::new();
                while nap.until(far, slack, Some(&cancel)) != Reason::Event {}
            });
            canceller.join().unwrap();
        }
    });
}

/// The last destructor of a thread may nap, with whatever is left of it.
#[test]
fn a_destructor_of_a_thread_may_nap() {
    struct NapsInDrop(Nap);
    impl Drop for NapsInDrop {
        fn drop(&mut self) {
            for slack in SLACKS {
                wait(&mut self.0, Nanos::from_us(50), slack, None);
                wait(&mut Nap::new(), Nanos::from_us(50), slack, None);
            }
        }
    }
    thread_local!(static LAST: NapsInDrop = const { NapsInDrop(Nap::new()) });
    thread::spawn(|| LAST.with(|_| ())).join().unwrap();
}

/// Naps of both kinds in a thread of C that is cancelled already; `pthread_cancel` ends it
/// at the first cancellation point.
fn naps_while_cancelled(refused: &[c_long]) {
    extern "C" fn napper(marker: *mut c_void) -> *mut c_void {
        // SAFETY: the calling thread exists.
        unsafe { libc::pthread_cancel(libc::pthread_self()) };
        let deadline = clock::now() + Nanos::from_ms(1);
        let mut nap = Nap::new();
        nap.ordinary(Nanos::from_ms(1), None);
        wait(&mut nap, deadline.since(clock::now()), Slack::PerNap, None);
        wait(
            &mut nap,
            Nanos::from_us(300),
            Slack::PerNap,
            Some(&Cancel::new()),
        );
        marker
    }
    refuse(refused, libc::EPERM);
    let marker = ptr::without_provenance_mut(7);
    let mut returned = ptr::null_mut();
    // SAFETY: the places are valid, and the thread is joined once.
    unsafe {
        let mut thread = std::mem::zeroed();
        assert_eq!(
            libc::pthread_create(&mut thread, ptr::null(), napper, marker),
            0
        );
        assert_eq!(libc::pthread_join(thread, &mut returned), 0);
    }
    assert_eq!(returned, marker, "cancelled in a nap");
}

#[test]
fn no_nap_is_a_cancellation_point() {
    apart("no_nap_is_a_cancellation_point", || {
        naps_while_cancelled(&[])
    });
}

#[test]
fn nor_is_one_without_the_futex() {
    apart("nor_is_one_without_the_futex", || {
        naps_while_cancelled(&[FUTEX])
    });
}

#[test]
fn nor_is_one_without_futex_and_sleep() {
    apart("nor_is_one_without_futex_and_sleep", || {
        naps_while_cancelled(&[FUTEX, NANOSLEEP]);
    });
}
