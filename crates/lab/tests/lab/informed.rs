//! Recordings of naps: replayed, they are what they were, and nobody waits for
//! less on them than who knows their distributions, but for luck.

use punctual_core::{Lateness, Method, Nanos};
use punctual_lab::experiments::{Conditions, naps};
use punctual_lab::{model_facts, rounds};
use punctual_record::OfExperiment;
use punctual_record::experiment::Naps;
use punctual_sim::rules::Bank;
use punctual_sim::{Model, SimMachine};

use crate::yardsticks::replayed;

const METHODS: [Method; 3] = [
    Method::ClockNanosleep,
    Method::SlacklessNanosleep,
    Method::SlacklessFutex,
];

/// Where overshoots are draws by themselves there is nothing else to know.
#[test]
fn no_strategy_waits_for_less_than_the_informed_waiter() {
    let strategies = [
        "system",
        "spin",
        "precise",
        "timer",
        "fixed-margin",
        "max-nap",
    ];
    let mut strategies = strategies.map(str::to_owned).to_vec();
    strategies.push("adaptive:weight={w}".to_owned());
    for model in replayed::made_up() {
        let cells = replayed::cells(&model, &strategies).unwrap();
        for (i, strategy) in strategies.iter().enumerate() {
            // A single cell can be lucky.
            let (over, _) = replayed::over_informed(&cells, i).unwrap();
            assert!(over > 0.98, "{}: {strategy} {over}", model.name());
        }
    }
}

/// Naps as they are measured, by call and length: the overshoots in order of
/// size, and the CPU time.
type Measured = Vec<(String, u64, Vec<i64>, f64)>;

fn measure(model: &Model, rounds: u32) -> Measured {
    let mut machine = SimMachine::new(model.clone(), 1);
    let methods = naps::methods(&machine, &model_facts(model));
    assert_eq!(
        methods,
        [METHODS[1], METHODS[2], METHODS[0]],
        "{}",
        model.name()
    );
    let cases = naps::cases(&methods, Conditions::default());
    let raced = rounds::run(&mut machine, &cases, rounds, &mut |_| {}).unwrap();
    let measured = raced.measurements.into_iter().map(|m| {
        let asked = Naps::of(&m).unwrap().asked_ns;
        let mut late = m.samples_late_ns;
        late.sort_unstable();
        (m.subject, asked, late, m.cpu.per_wait_ns.unwrap())
    });
    measured.collect()
}

#[test]
fn a_recording_replays_itself() {
    let model = Model::parse("linux,jitter=0ns,nap=3us").unwrap();
    let first = measure(&model, 1);
    assert_eq!(first.len(), METHODS.len() * naps::LENGTHS.len());
    let banks = first.iter().map(|(method, asked, late, cpu)| Bank {
        method: method.parse().unwrap(),
        asked: Nanos::new(*asked),
        overshoots: late.iter().map(|ns| Lateness::new(*ns)).collect(),
        cpu: Some(Nanos::new(*cpu as u64)),
    });
    let again = Model::recorded_naps("again", banks.collect(), METHODS[0], METHODS[2]).unwrap();
    for (cell, first) in measure(&again, 1).into_iter().zip(first) {
        let (method, asked, late, cpu) = cell;
        assert_eq!((method, asked, late), (first.0, first.1, first.2));
        // Each section has one reading of the clock more than its naps have,
        // and the longest naps are 14.
        assert!((cpu - first.3).abs() < 31.0 / 14.0, "{cpu} {}", first.3);
    }
}
