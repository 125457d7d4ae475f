//! Readings of clocks, the timer slack and other settings.

use punctual_core::Nanos;
use punctual_program::probe::OsClock;
use punctual_program::program::{Op, SpawnKind};
use punctual_program::setting::Priority;
use punctual_program::{Machine, Probe, Program, Setting};
use punctual_sim::{Model, SimMachine};

use crate::machine::run;

/// The readings of the first thread of a program.
fn readings(model: &str, ops: Vec<Op>) -> Vec<Nanos> {
    let program = Program::from(ops);
    let section = &run(model, &program).threads[0].sections[0];
    let values = section.readings.iter().map(|reading| reading.value);
    values.collect()
}

#[test]
fn a_thread_of_linux_reads_its_own_slack() {
    let read = || Op::Read(Probe::Slack);
    let child = Op::spawn(
        SpawnKind::Thread,
        "child",
        vec![read(), Op::Set(Setting::Slack(Nanos::from_us(3))), read()],
    );
    let real_time = Op::Set(Setting::Priority(Priority::RealTime));
    let program = Program::from(vec![
        read(),
        Op::Set(Setting::Slack(Nanos::from_us(7))),
        child,
        Op::Work(Nanos::from_ms(1)),
        read(),
        Op::Set(Setting::Slack(Nanos::ZERO)),
        read(),
        real_time,
        read(),
    ]);
    let observed = run("linux,slack=20us", &program);
    let of_thread = |thread: usize| {
        let readings = &observed.threads[thread].sections[0].readings;
        let values = readings.iter().map(|reading| reading.value.as_ns());
        values.collect::<Vec<_>>()
    };
    assert_eq!(of_thread(0), [20_000, 7_000, 20_000, 0]);
    assert_eq!(of_thread(1), [7_000, 3_000]);
}

#[test]
fn the_coarse_clocks_of_linux_step_by_what_is_stated() {
    for clock in [OsClock::MonotonicCoarse, OsClock::RealtimeCoarse] {
        let read = [Probe::Stated(clock), Probe::Step(clock)].map(Op::Read);
        let seen = readings("linux,hz=100", read.to_vec());
        assert_eq!(seen, [Nanos::from_ms(10); 2], "{}", clock.name());
    }
}

#[test]
fn the_clocks_of_windows_step_with_the_tick() {
    let clocks = [OsClock::SystemTime, OsClock::InterruptTime];
    let read = clocks.map(|clock| Op::Read(Probe::Step(clock)));
    let request = Op::Set(Setting::request(Nanos::from_us(1_500)));
    let ops = [&read[..], &[request], &read[..]].concat();
    let default = Nanos::new(15_625_000);
    let asked = Nanos::from_us(1_500);
    assert_eq!(
        readings("windows-10-2004,hardware=exact", ops),
        [default, default, asked, asked]
    );
}

#[test]
fn the_clock_of_a_model_costs_what_a_reading_takes() {
    for (model, clock) in [
        ("linux,read=25ns", OsClock::Monotonic),
        ("windows-11,read=25ns", OsClock::PerformanceCounter),
        ("macos,read=25ns", OsClock::MachAbsoluteTime),
        ("wine,read=25ns", OsClock::PerformanceCounter),
    ] {
        let read = Op::Read(Probe::Cost(clock));
        assert_eq!(readings(model, vec![read]), [Nanos::new(25)], "{model}");
    }
}

#[test]
fn what_a_model_cannot_tell_is_refused_by_name() {
    for (model, probe, why) in [
        ("windows-11", Probe::Slack, "there is no slack to read"),
        (
            "linux",
            Probe::Step(OsClock::TimeGetTime),
            "there is no timeGetTime to read",
        ),
        (
            "linux",
            Probe::Stated(OsClock::Monotonic),
            "nothing is stated about CLOCK_MONOTONIC",
        ),
        (
            "macos",
            Probe::Cost(OsClock::Monotonic),
            "it is not known what CLOCK_MONOTONIC costs",
        ),
    ] {
        let program = Program::from(vec![Op::Read(probe)]);
        let machine = SimMachine::new(Model::parse(model).unwrap(), 1);
        let refusal = machine.check(&program).unwrap_err().to_string();
        assert!(refusal.ends_with(why), "{refusal}");
    }
}
