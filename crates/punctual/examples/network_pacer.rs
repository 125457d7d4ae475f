//! Sends packets at 50,000 a second, then at 100,000, in batches that wait for 200 us at
//! most.
//!
//!     cargo run --release -p punctual --example network_pacer

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use punctual::{Pacer, Period};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    let mut pacer = Pacer::new(Period::hz(50_000)?);
    for next_rate in [100_000, 50_000] {
        let (mut packets, mut batches, mut spun) = (0_u64, 0, Duration::ZERO);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(1) {
            let batch = pacer.next_batch(64, Duration::from_micros(200));
            (batches, spun) = (batches + 1, spun + batch.outcome().spun());
            for slot in batch {
                sender.send(&slot.number().to_le_bytes())?;
                packets += 1;
            }
        }
        let each = packets / batches;
        println!(
            "{packets} packets, {each} a batch, {} owed, {spun:?} spun",
            pacer.counts().owed
        );
        pacer.set_period(Period::hz(next_rate)?);
    }
    Ok(())
}
