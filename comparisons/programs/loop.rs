//! Ticks of `tokio::time::interval`. Prints as accurate/loop.c does.
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().unwrap()).collect();
    let mut interval = tokio::time::interval(Duration::from_nanos(arguments[0]));
    let begin = Instant::now();
    let mut late = Vec::new();
    for _ in 0..arguments[1] {
        let due = interval.tick().await;
        late.push(due.elapsed().as_nanos());
    }
    println!("0 {}", begin.elapsed().as_nanos());
    for each in late {
        println!("{each}");
    }
}
