//! The cost of waiting where many threads wait on few CPUs, in virtual time.
//!
//! Each spin then keeps a CPU from threads whose waits end meanwhile. A waiter that takes its
//! own lateness for a reason to spin more makes that worse for all.

use punctual_core::strategies::Defaults;
use punctual_core::{Nanos, StrategySpec};
use punctual_lab::rounds::{Waits, turn};
use punctual_program::lengths::{Law, Lengths};
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::{Program, Refusal};
use punctual_record::{Cost, Round};
use punctual_sim::{Model, SimMachine};

/// A crowd of waiting threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    /// Threads of one process, or processes of one thread.
    pub(crate) kind: SpawnKind,
    /// How many.
    pub(crate) many: usize,
    /// The mean length of a wait; each is drawn from half to one and a half times that.
    pub(crate) length: Nanos,
    /// How many other programs compute all the time.
    pub(crate) hogs: usize,
}

/// Of all waits together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// How many there were, and the means per wait.
    pub(crate) round: Round,
    /// Waits a second, of all threads together.
    pub(crate) rate: f64,
    /// The 99th percentile of lateness, in ns.
    pub(crate) late_ns_p99: i64,
}

impl Served {
    /// The cost of a wait at a weight of lateness relative to CPU time.
    pub(crate) fn cost(&self, weight: f64) -> f64 {
        let cost = Cost::CAPPED.of_round(&self.round, weight);
        cost.unwrap_or(f64::NAN)
    }
}

/// Long enough to be more than a beginning.
const LASTS: Nanos = Nanos::from_ms(300);

/// Processes begin at the same instant, long after they were started, and with code that is in no
/// cache. Threads share code and notes, and begin as they are made.
fn begin(kind: SpawnKind) -> Vec<Op> {
    match kind {
        SpawnKind::Thread => Vec::new(),
        SpawnKind::Process => vec![
            Op::wait(Due::After(Nanos::from_ms(400))),
            Op::Work(Nanos::from_us(200)),
        ],
    }
}

/// Has a crowd wait on two CPUs of a Linux; `yields` says what `sched_yield` gives up there.
///
/// # Errors
/// The strategy or `yields` is none.
pub(crate) fn run(
    crowd: Crowd,
    strategy: &str,
    yields: &str,
    seed: u64,
) -> Result<Served, Refusal> {
    let model = format!("linux-6.18,cpus=2,wake=8us,jitter=5us,nap=4us,yields={yields}");
    let model = Model::parse(&model).map_err(Refusal::new)?;
    let spec = StrategySpec::parse(strategy, Defaults::ELSEWHERE).map_err(Refusal::new)?;
    let subject = || Subject::Strategy(spec);
    let body = || {
        let (least, most) = (crowd.length.as_ns() / 2, crowd.length.as_ns() * 3 / 2);
        let lengths = Lengths {
            law: Law::Uniform(Nanos::new(least), Nanos::new(most)),
            min: Nanos::ZERO,
            stream: 0,
        };
        let wait = Op::Drawn(lengths, Box::new(Op::wait(Due::After(crowd.length))));
        let waits = LASTS.as_ns() / crowd.length.as_ns();
        let waits = [Op::Record, Op::repeat(waits, [wait])];
        begin(crowd.kind).into_iter().chain(waits).collect()
    };
    let work = Op::repeat(u64::MAX, [Op::Work(Nanos::from_ms(1))]);
    let hogs = (0..crowd.hogs).map(|_| Op::spawn(SpawnKind::Process, "hog", vec![work.clone()]));
    let others =
        (1..crowd.many).map(|_| Op::spawn(crowd.kind, "waits", Program::of(subject(), body())));
    let mut ops: Vec<Op> = hogs.chain(others).collect();
    ops.extend(body());
    let program = Program::of(subject(), ops);
    let waits = Waits::all(&turn(&mut SimMachine::new(model, seed), &program)?);
    let made = waits.late_ns.len();
    let mut late_ns = waits.late_ns.clone();
    late_ns.sort_unstable();
    Ok(Served {
        round: waits.round(),
        rate: made as f64 / waits.elapsed.as_secs_f64(),
        late_ns_p99: late_ns[made * 99 / 100],
    })
}
