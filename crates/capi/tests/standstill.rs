//! Waits where the monotonic clock stands still, as under `faketime '2020-01-01 00:00:00'`: each takes
//! about its length by the kernel's clock, instead of for ever.
//!
//! Here because the `clock_gettime` of this program takes the place of the C library's, which is
//! unsafe, and this crate is above all that waits.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use libc::{c_int, clockid_t, timespec};
use punctual::{Cancel, Period, Strategy, Waiter};
use punctual_timers::Timers;

#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: the caller's place for the time.
    let answer = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    if answer == 0 && clock == libc::CLOCK_MONOTONIC {
        // SAFETY: the call has written it.
        let time = unsafe { &mut *time };
        (time.tv_sec, time.tv_nsec) = (1_000_000, 0);
    }
    answer
}

/// The kernel's clock.
fn kernel() -> Duration {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for a timespec.
    unsafe {
        libc::syscall(
            libc::SYS_clock_gettime,
            libc::CLOCK_MONOTONIC,
            &raw mut time,
        )
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A shorter wait may be spun; a spin ends when it is found that the clock stands.
const SPUN: Duration = Duration::from_millis(10);

/// A wait that does not end is ended by an alarm.
#[test]
fn every_strategy_and_kind_of_wait_ends() {
    // SAFETY: takes a number.
    unsafe { libc::alarm(120) };
    let now = Instant::now();
    for name in [
        "adaptive",
        "precise",
        "system",
        "timer",
        "fixed-margin",
        "max-nap",
        "yield-spin",
        "quantile:weight=10",
        "spin",
    ] {
        let strategy: Strategy = name.parse().unwrap();
        let mut waiter = Waiter::builder().strategy(strategy).build().unwrap();
        for length in [1, 50, 3_000, 20_000, 150_000].map(Duration::from_micros) {
            let begun = kernel();
            waiter.sleep(length);
            let took = kernel() - begun;
            assert!(
                name == "spin" || took >= length || length < SPUN,
                "{name}: {took:?} of {length:?}"
            );
        }
        waiter
            .sleep_until_or(now + Duration::from_millis(2), &Cancel::new())
            .unwrap();
        waiter.coarse_until(now + Duration::from_millis(2));
        let interruptible = || waiter.sleep_until_interruptible(now + Duration::from_millis(2));
        std::iter::repeat_with(interruptible)
            .find(Result::is_ok)
            .unwrap()
            .unwrap();
    }
    let mut ticker = punctual::interval(Period::hz(1_000).unwrap());
    (0..3).for_each(|_| _ = ticker.tick());
    assert_eq!(Instant::now(), now);
}

/// Polls `task` again and again until it is ready.
fn run<F: Future>(task: F) -> F::Output {
    let (mut task, mut context) = (pin!(task), Context::from_waker(Waker::noop()));
    loop {
        if let Poll::Ready(output) = task.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::yield_now();
    }
}

/// A crowd of pending timers limits spinning, so that waits take other ways.
#[test]
fn every_timer_and_sleep_of_a_task_ends() {
    // SAFETY: takes a number.
    unsafe { libc::alarm(120) };
    let now = Instant::now();
    let far = now + Duration::from_secs(3_600);
    for crowd in [0, 200] {
        for of_its_own in [None, Some(Waiter::new())] {
            let mut builder = Timers::builder();
            if let Some(waiter) = of_its_own {
                builder = builder.waiter(waiter);
            }
            let timers = builder.spawn().unwrap();
            for _ in 0..crowd {
                timers.call_at(far, |_| unreachable!());
            }
            let (tell, told) = mpsc::channel();
            let begun = kernel();
            for (length, tolerance) in [(20, 0), (20, 5), (25, 0), (40, 0)] {
                let (length, tolerance) = (ms(length), ms(tolerance));
                let tell = tell.clone();
                let call = move |late| tell.send((length, late)).unwrap();
                timers.call_within(now + length, tolerance, call);
            }
            for (length, late) in told.iter().take(4) {
                assert!(kernel() - begun >= length, "{length:?}");
                assert_eq!(late, Duration::ZERO);
            }
            for length in [0, 3, 20].map(ms) {
                let begun = kernel();
                let late = run(punctual_timers::time::sleep(length));
                assert_eq!(late, Duration::ZERO);
                assert!(length < SPUN || kernel() - begun >= length - ms(1));
                run(punctual_timers::time::sleep(length).spin_at_most(Duration::ZERO));
            }
            let never = std::future::pending::<()>();
            assert!(run(punctual_timers::time::timeout(ms(20), never)).is_err());
            let mut interval = punctual_timers::time::interval(Period::hz(1_000).unwrap());
            (0..3).for_each(|_| _ = run(interval.tick()));
        }
    }
    assert_eq!(Instant::now(), now);
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
