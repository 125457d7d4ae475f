//! How many timers the simulator expires a second, beside a bare binary heap
//! and nexosim with the same timers, in rounds of one run.
//!
//!     cargo bench --bench simulator [-- TIMERS...]
//!
//! An event is one armed timer that expires and resumes its thread, which arms
//! it again. The timers all have the same period and phases of their own, one
//! microsecond apart. A bare heap only pops and pushes; the simulator keeps a
//! CPU, its scheduler, its idle stretches and a sample of each wake beside it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use nexosim::model::{Context, Model as Actor, schedulable};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use punctual_core::{Method, Nanos};
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Machine, Program};
use punctual_sim::{Model, SimMachine};

/// From the phase of one timer to that of the next.
const APART: Nanos = Nanos::from_us(1);
const ROUNDS: usize = 6;

type Engine = fn(timers: u64, wakes: u64) -> Measured;

/// The events of one engine, and the time they took without what came before
/// the first.
struct Measured {
    events: u64,
    took: Duration,
}

impl Measured {
    fn per_second(&self) -> f64 {
        self.events as f64 / self.took.as_secs_f64()
    }
}

const ENGINES: [(&str, Engine); 5] = [
    ("bare BinaryHeap", heap),
    ("nexosim, one thread", nexosim),
    ("punctual, fake OS", |timers, wakes| {
        simulator("fake-1us", timers, wakes)
    }),
    ("punctual, linux", |timers, wakes| {
        let model = "linux,cpus=1,slack=1ns,wake=0ns,jitter=0ns,nap=0ns,read=1ns";
        simulator(model, timers, wakes)
    }),
    ("punctual, windows-7", |timers, wakes| {
        simulator(
            "windows-7,cpus=1,wake=0ns,jitter=0ns,nap=0ns,read=1ns",
            timers,
            wakes,
        )
    }),
];

fn main() {
    let numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut sizes: Vec<u64> = numbers.collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 1_000_000];
    }
    for timers in sizes {
        let wakes = (4_000_000 / timers).clamp(2, 4_000);
        let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); ENGINES.len()];
        for _ in 0..ROUNDS {
            for (rates, (_, engine)) in rounds.iter_mut().zip(ENGINES) {
                rates.push(engine(timers, wakes).per_second());
            }
        }
        println!("{timers} timers, {wakes} wakes each, {ROUNDS} rounds:");
        for (rates, (name, _)) in rounds.iter().zip(ENGINES) {
            let ratios = rates.iter().zip(&rounds[0]).map(|(rate, heap)| rate / heap);
            println!(
                "  {name:20} {:8.2} M events/s, {:5.3} of the heap",
                median(rates.iter().copied()) / 1e6,
                median(ratios),
            );
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

fn heap(timers: u64, wakes: u64) -> Measured {
    let period = timers * APART.as_ns();
    let mut armed: BinaryHeap<Reverse<(u64, u32)>> = (0..timers)
        .map(|timer| Reverse((timer * APART.as_ns(), timer as u32)))
        .collect();
    let mut woken = vec![0_u64; timers as usize];
    let begin = Instant::now();
    let events = timers * wakes;
    for _ in 0..events {
        if let Some(Reverse((at, timer))) = armed.pop() {
            woken[timer as usize] += at;
            armed.push(Reverse((at + period, timer)));
        }
    }
    black_box(woken);
    Measured {
        events,
        took: begin.elapsed(),
    }
}

fn simulator(model: &str, timers: u64, wakes: u64) -> Measured {
    let period = APART.times(timers);
    let sleeper = Program::from(vec![Op::repeat(u64::MAX, [Op::nap(Method::Sleep, period)])]);
    let spawn = Op::spawn(SpawnKind::Thread, "sleeper", sleeper);
    let spawner = Program {
        subjects: vec![],
        ops: vec![
            Op::Loop {
                times: timers,
                // With what reading the clock takes, about as far apart.
                body: vec![spawn, Op::Work(Nanos::new(995))],
            },
            Op::Until(Nanos::MAX),
        ],
    };
    let end = APART.times(timers * (wakes + 1));
    let program = Program::from(vec![
        Op::spawn(SpawnKind::Process, "spawner", spawner),
        Op::Until(end),
        Op::Exit,
    ]);
    let model = Model::parse(model).expect("a model of the simulator");
    let mut machine = SimMachine::new(model, 1);
    let begin = Instant::now();
    let observed = machine.run(&program).expect("a program that it can run");
    let took = begin.elapsed();
    let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
    Measured {
        events: sections.map(|section| section.samples.len() as u64).sum(),
        took,
    }
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Sleeper {
    phase_ns: u64,
    period_ns: u64,
    woken: u64,
}

#[Actor]
impl Sleeper {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>, _: &mut ()) {
        let phase = Duration::from_nanos(1 + self.phase_ns);
        cx.schedule_event(phase, schedulable!(Self::wake), ())
            .expect("an instant that is still to come");
    }

    #[nexosim(schedulable)]
    async fn wake(&mut self, _: (), cx: &Context<Self>) {
        self.woken += 1;
        let period = Duration::from_nanos(self.period_ns);
        cx.schedule_event(period, schedulable!(Self::wake), ())
            .expect("an instant that is still to come");
    }
}

fn nexosim(timers: u64, wakes: u64) -> Measured {
    let mut bench = SimInit::with_num_threads(1);
    for timer in 0..timers {
        let sleeper = Sleeper {
            phase_ns: timer * APART.as_ns(),
            period_ns: timers * APART.as_ns(),
            woken: 0,
        };
        bench = bench.add_model(sleeper, Mailbox::new(), "sleeper");
    }
    let mut simulation = bench
        .init(MonotonicTime::EPOCH)
        .expect("models that can be initialised");
    let end = Duration::from_nanos(timers * wakes * APART.as_ns());
    let begin = Instant::now();
    simulation.step_until(end).expect("models that go on");
    Measured {
        events: timers * wakes,
        took: begin.elapsed(),
    }
}
