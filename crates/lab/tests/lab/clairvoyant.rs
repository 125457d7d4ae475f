//! Recordings of naps: replayed, they are what they were, and nobody waits for
//! less on them than the clairvoyant.

use punctual_core::program::Subject;
use punctual_core::{Lateness, Method, Nanos, Rate, Spec};
use punctual_lab::experiments::pace::{self, Batch};
use punctual_lab::experiments::{Conditions, naps};
use punctual_lab::{clairvoyant, model_facts, race};
use punctual_record::Measurement;
use punctual_sim::rules::Bank;
use punctual_sim::{Model, Random, SimMachine, Time};

const METHODS: [Method; 3] = [
    Method::ClockNanosleep,
    Method::SlacklessNanosleep,
    Method::Timerfd,
];

/// A recording whose naps of each length cost, and overshoot by, what `nap`
/// says, in nanoseconds.
fn recorded(name: &str, mut nap: impl FnMut(Method, u64, &mut Dice) -> (u64, u64)) -> Model {
    let mut dice = Dice(Random::new(1));
    let mut bank = |method, asked: Nanos| {
        let naps: Vec<_> = (0..200)
            .map(|_| nap(method, asked.as_ns(), &mut dice))
            .collect();
        let late = |&(_, over): &(u64, u64)| Lateness::new(over as i64);
        Bank {
            method,
            asked,
            overshoots: naps.iter().map(late).collect(),
            cpu: Some(Nanos::new(naps[0].0)),
        }
    };
    let banks = METHODS
        .iter()
        .flat_map(|method| naps::LENGTHS.map(|asked| (*method, asked)))
        .map(|(method, asked)| bank(method, asked))
        .collect();
    Model::recorded_naps(name, banks, METHODS[0], METHODS[2]).unwrap()
}

struct Dice(Random);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(Time::from_ns(bound)).floor_ns()
    }
}

/// As short naps on a quiet Linux, with a stall now and then.
fn quiet() -> Model {
    recorded("quiet", |method, asked, dice| {
        let cpu = 2_000 + asked.ilog2() as u64 * 100;
        let slack = match method {
            Method::ClockNanosleep => 50_000,
            _ => 0,
        };
        let stall = match dice.below(100) {
            0 => dice.below(3_000_000),
            _ => 0,
        };
        (cpu, cpu + 4_000 + slack + dice.below(10_000) + stall)
    })
}

fn recordings() -> Vec<Model> {
    vec![
        quiet(),
        // As on a grid of 15.6 ms.
        recorded("coarse", |_, _, dice| (5_000, dice.below(15_625_000))),
        // As where timers are put off by a part of their length.
        recorded("in proportion", |_, asked, dice| {
            (4_000, 5_000 + asked / 10 + dice.below(20_000))
        }),
        // Where two short naps are cheaper than a long one.
        recorded("cold", |_, asked, dice| {
            (
                2_000 + asked / 200,
                90_000 + asked / 200 + dice.below(50_000),
            )
        }),
        // As on a host that has no time.
        recorded("busy", |_, _, dice| {
            let turn = 4_000_000 * (1 - dice.below(3).min(1));
            (20_000, 30_000 + dice.below(100_000) + turn)
        }),
    ]
}

/// Loops at a fixed rate, and each subject's mean cost of a wait at each weight
/// over the clairvoyant's, with that.
fn loops(model: &Model, hz: u64, seconds: u64, rounds: u32) -> Vec<(Measurement, [f64; 3])> {
    let subjects: Vec<_> = Spec::ALL.into_iter().map(Subject::Strategy).collect();
    let heats = pace::heats(
        &subjects,
        &[Rate::from_hz(hz).unwrap()],
        Batch::Lasting(Nanos::from_secs(seconds)),
        Conditions::default(),
    );
    let mut machine = SimMachine::new(model.clone(), 1);
    let raced = race::run(&mut machine, &heats, rounds, &mut |_| {});
    let mut measurements = raced.unwrap().measurements;
    clairvoyant::compare(model.recording().unwrap(), &mut measurements);
    let over = |m: Measurement| {
        let bound = m.clairvoyant_cost_ns.unwrap();
        let cpu = m.cpu.per_wait_ns.unwrap();
        let ratios = [(1.0, bound.w1), (10.0, bound.w10), (100.0, bound.w100)]
            .map(|(weight, bound)| (cpu + weight * m.late_ns.mean_capped) / bound);
        (m, ratios)
    };
    measurements.into_iter().map(over).collect()
}

#[test]
fn no_strategy_waits_for_less_than_the_clairvoyant() {
    for model in recordings() {
        for hz in [60, 1_000, 5_000] {
            for (m, ratios) in loops(&model, hz, 1, 2) {
                let cheaper = ratios.iter().any(|ratio| *ratio < 1.0);
                assert!(
                    !cheaper,
                    "{} at {hz} Hz: {} {ratios:?}",
                    model.name(),
                    m.subject
                );
            }
        }
    }
}

/// The bound is of some use: where naps are all alike, who knows that they are
/// pays hardly more.
#[test]
fn where_there_is_nothing_to_know_the_clairvoyant_knows_no_more() {
    let model = recorded("even", |_, _, _| (3_000, 10_000));
    let margin = Spec::FixedMargin {
        method: Method::Timer,
        margin: Nanos::from_us(10),
    };
    let over = loops(&model, 1_000, 1, 1);
    assert!(
        over.iter()
            .all(|(_, ratios)| ratios.iter().all(|r| *r >= 1.0))
    );
    let heats = pace::heats(
        &[Subject::Strategy(margin)],
        &[Rate::from_hz(1_000).unwrap()],
        Batch::Lasting(Nanos::from_secs(1)),
        Conditions::default(),
    );
    let mut machine = SimMachine::new(model.clone(), 1);
    let mut raced = race::run(&mut machine, &heats, 1, &mut |_| {}).unwrap();
    clairvoyant::compare(model.recording().unwrap(), &mut raced.measurements);
    let over = raced.measurements[0].cost_over_clairvoyant.unwrap();
    assert!(over.w1.median < 1.05, "{over:?}");
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
    let heats = naps::heats(&methods, Conditions::default());
    let raced = race::run(&mut machine, &heats, rounds, &mut |_| {}).unwrap();
    let measured = raced.measurements.into_iter().map(|m| {
        let mut late = m.samples_late_ns;
        late.sort_unstable();
        let asked = m.params["asked_ns"].as_u64().unwrap();
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
