//! A plain event loop: it waits for input, here from a channel, but no longer than
//! until the queue wants to be woken. A heartbeat is exact; a hundred connections
//! want a keep-alive some time within 20 ms. Prints what it achieved.
//!
//!     cargo run --release -p punctual-timers --example event_loop

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use punctual_timers::{Epoch, TimerQueue, Window};

#[derive(Clone, Copy)]
enum Timer {
    Heartbeat,
    KeepAlive,
}

const HEARTBEAT: Duration = Duration::from_millis(5);
const KEEP_ALIVE: Duration = Duration::from_millis(50);
const TOLERANCE: Duration = Duration::from_millis(20);

fn main() {
    let (input, inputs) = mpsc::channel();
    thread::spawn(move || {
        for n in 0..100 {
            thread::sleep(Duration::from_millis(10));
            if input.send(n).is_err() {
                return;
            }
        }
    });

    let epoch = Epoch::now();
    let now = || epoch.time(Instant::now());
    let mut queue = TimerQueue::with_capacity(101);
    queue.insert(now() + HEARTBEAT, Timer::Heartbeat);
    for n in 0..100 {
        let first = now() + Duration::from_micros(500 * n);
        queue.insert(Window::after(first, TOLERANCE), Timer::KeepAlive);
    }
    let (mut read, mut kept_alive, mut late) = (0, 0, Vec::new());
    loop {
        let wake = queue.next_wake().expect("there is always a heartbeat");
        // As mio, epoll and select have it: input, or a timeout.
        match inputs.recv_timeout(wake - now()) {
            Ok(_) => read += 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let served_at = now();
        while let Some(timer) = queue.pop(served_at) {
            let due = timer.window.latest();
            match timer.value {
                Timer::Heartbeat => {
                    late.push(served_at - due);
                    queue.insert(due + HEARTBEAT, Timer::Heartbeat);
                }
                Timer::KeepAlive => {
                    kept_alive += 1;
                    let next = Window::after(served_at + KEEP_ALIVE, TOLERANCE);
                    queue.insert(next, Timer::KeepAlive);
                }
            }
        }
    }
    late.sort();
    println!(
        "{read} inputs, {} heartbeats, {kept_alive} keep-alives",
        late.len()
    );
    println!(
        "heartbeats late: p50 {:?}, worst {:?}",
        late[late.len() / 2],
        late[late.len() - 1]
    );
    let counts = queue.counts();
    println!(
        "{} wake-ups for {} timers; {} is the fewest",
        counts.wakes, counts.served, counts.fewest
    );
}
