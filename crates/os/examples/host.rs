//! What this crate finds on the machine it runs on.
//!
//! ```sh
//! cargo run --release -p punctual-os --example host
//! ```

use punctual_core::{Carrier, Limit, Method, Nanos};
use punctual_os::wait::{self, Sleeper};
use punctual_os::{clock, facts, thread, usage};

fn main() {
    println!("{:#?}", facts::facts());
    println!("CPU time: {}", thread::cpu_time_source());
    println!("CPUs this thread may use: {:?}", thread::allowed_cpus());
    println!("CPU time used so far: {:?}", usage::of_process());
    println!("used by `System`: {:?}", usage::of_system_process());

    let mut sleeper = Sleeper::new();
    let general = [Method::Sleep, Method::Timer];
    for method in general.iter().chain(wait::methods()) {
        match sleeper.prepare(*method) {
            Ok(granted) => println!("{method}: {granted}, {}", two_ms(&mut sleeper, *method)),
            Err(error) => println!("{method}: {error}"),
        }
    }
}

/// One block of 2 ms, and what became of it.
fn two_ms(sleeper: &mut Sleeper, method: Method) -> String {
    let cpu = || thread::cpu_time().map(|time| time.ns);
    let (start, cpu_start) = (clock::now(), cpu());
    let reason = sleeper.block(method, Limit::For(Nanos::from_ms(2)), None);
    let slept = clock::now().since(start);
    let used = cpu()
        .zip(cpu_start)
        .map(|(end, start)| Nanos::new(end - start));
    match used {
        Some(used) => format!("2 ms asked, {slept} slept ({reason:?}), {used} of CPU time"),
        None => format!("2 ms asked, {slept} slept ({reason:?})"),
    }
}
