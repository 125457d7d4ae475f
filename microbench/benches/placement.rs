//! The cost of a counter's place in its page, when a page is zeroed between two takes. One worker
//! takes single pages from an atomic counter.
//!
//!     cargo bench --bench placement
//!
//! Ratios are per round, to the counter at the begin of its page; their interval holds
//! the median with 95 %. Needs 1 GiB of free memory.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use punctual_lab::host::Stop;
use punctual_record::Interval;
use punctual_zero::host::HostMemory;
use punctual_zero_memory::Kernel;

/// Six are the fewest for an interval of 95 %.
const ROUNDS: usize = 7;

/// Bytes from the begin of the page.
const OFFSETS: [usize; 10] = [0, 64, 128, 192, 256, 512, 1_024, 2_048, 3_072, 4_032];

/// A page of counters.
#[repr(align(4096))]
struct Page([AtomicU64; 512]);

fn main() {
    // `cargo test` comes by here as well, and wants no numbers.
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (rounds, bytes) = if is_bench {
        (ROUNDS, 1 << 30)
    } else {
        (1, 1 << 20)
    };
    let memory = HostMemory::new(bytes, Stop::new()).expect("memory is free");
    let page = Box::new(Page([const { AtomicU64::new(0) }; 512]));
    // It runs somewhere if it cannot run there.
    let _ = punctual_os::thread::pin(0);
    let mut times = vec![Vec::new(); OFFSETS.len()];
    // They take turns, and each round begins with another one.
    for round in 0..rounds {
        for i in 0..OFFSETS.len() {
            let i = (i + round) % OFFSETS.len();
            times[i].push(page_ns(&memory, &page.0[OFFSETS[i] / size_of::<u64>()]));
        }
    }
    println!("{} KiB, {rounds} rounds:", bytes >> 10);
    for (offset, own) in OFFSETS.iter().zip(&times) {
        let ratios: Vec<f64> = own.iter().zip(&times[0]).map(|(a, b)| a / b).collect();
        let interval = |values: &[f64]| Interval::of(values).expect("there are rounds");
        let Interval { median, low, high } = interval(&ratios);
        println!(
            "  counter at byte {offset:4}: {:6.1} ns a page, {median:5.3} ({low:.3} to {high:.3})",
            interval(own).median
        );
    }
}

/// The time of a page, with its take.
fn page_ns(memory: &HostMemory, next: &AtomicU64) -> f64 {
    let memory = &memory.mapping;
    memory.dirty(0..memory.pages());
    next.store(0, Relaxed);
    let begin = Instant::now();
    loop {
        let page = next.fetch_add(1, Relaxed) as usize;
        if page >= memory.pages() {
            break;
        }
        memory.zero(page..page + 1, Kernel::Memset);
    }
    begin.elapsed().as_nanos() as f64 / memory.pages() as f64
}
