//! A service under tokio: one task has work every 100 us, and a hundred others await
//! answers with a timeout of 2 ms, which most get. Prints how punctual it was.
//!
//!     cargo run --release -p punctual-timers --example tokio_service

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::{Duration, Instant};

use punctual::Period;
use punctual_timers::{interval, sleep};

const RUN: Duration = Duration::from_secs(1);

/// Answers after 0.5 to 2.5 ms.
async fn answer(request: u64) {
    sleep(Duration::from_micros(500 + request * 7_919 % 2_000)).await;
}

/// Whether `future` is ready within `length`. A timeout need not be exact: it does not
/// spin.
async fn within(length: Duration, future: impl Future) -> bool {
    let mut future = pin!(future);
    let mut timeout = pin!(sleep(length).budget(Duration::ZERO));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending => timeout.as_mut().poll(context).map(|_| false),
    })
    .await
}

fn main() -> Result<(), punctual::Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime can be made");
    let (answers, timeouts) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
    for client in 0..100 {
        let (answers, timeouts) = (Arc::clone(&answers), Arc::clone(&timeouts));
        runtime.spawn(async move {
            for request in client.. {
                let is_answered = within(Duration::from_millis(2), answer(request)).await;
                let count = if is_answered { &answers } else { &timeouts };
                count.fetch_add(1, Relaxed);
            }
        });
    }
    let mut ticks = interval(Period::every(Duration::from_micros(100))?);
    let (mut late, books) = runtime.block_on(async {
        let mut late = Vec::new();
        let end = Instant::now() + RUN;
        while Instant::now() < end {
            late.push(ticks.tick().await.lateness());
        }
        (late, ticks.books())
    });
    runtime.shutdown_background();
    late.sort();
    let at = |per_mille| late[(late.len() - 1) * per_mille / 1_000];
    println!("{} ticks of 100 us, {} missed", books.ticks, books.missed);
    println!(
        "late: p50 {:?}, p90 {:?}, p99 {:?}",
        at(500),
        at(900),
        at(990)
    );
    println!(
        "{} requests answered, {} timed out",
        answers.load(Relaxed),
        timeouts.load(Relaxed)
    );
    Ok(())
}
