//! Observations, and the sections that they belong to.

use super::*;

/// A nap that took 1 ms, a hundred times: enough for `precise` to nap in waits
/// for which it is too cautious at first.
fn taught(spec: StrategySpec) -> AnyStrategy {
    let mut strategy = spec.build();
    let now = Tick::from_ns(0);
    let goal = Goal::<Host>::until(now + Nanos::from_ms(3));
    let nap = Wake {
        asked: Nanos::from_ms(1),
        slept: Nanos::from_ms(1),
        now,
        reason: Reason::Timer,
        cpu: None,
    };
    for _ in 0..100 {
        strategy.next(&goal, &Turn::Woke(nap));
    }
    strategy
}

#[test]
fn a_thread_begins_with_what_its_strategy_has_learned_and_tells_what_it_learns() {
    let granted = Sleeper::new().prepare(Method::Sleep).unwrap();
    let spec = StrategySpec::parse("precise", Defaults::ELSEWHERE).unwrap();
    let spec = spec.with_method(granted);
    let learn = |subject| {
        let program = Program {
            subjects: vec![subject, peer("idle")],
            ops: vec![wait(Nanos::from_ms(3))],
        };
        let mut machine = host().with_peer("idle", || Box::new(|_| ()));
        let seen = machine.run(&program).unwrap();
        let thread = seen.threads.into_iter().next().unwrap();
        (samples(&thread)[0].outcome.naps, thread.learned)
    };
    let (naps, learned) = learn(Subject::Strategy(spec));
    assert_eq!((naps, learned), (0, vec![Some(spec.build()), None]));
    let taught = taught(spec);
    let (naps, learned) = learn(Subject::Learned(spec, Box::new(taught.clone())));
    assert!(naps > 0);
    assert_eq!(learned.len(), 2);
    assert!(
        learned[0].is_some() && learned[0] != Some(taught),
        "{learned:?}"
    );
    assert_eq!(learned[1], None);
}

#[test]
fn each_phase_begins_a_section_of_every_thread() {
    let nap = Op::nap(Method::Sleep, Nanos::from_ms(1));
    let named = |name: &str, ops| Op::spawn(SpawnKind::Thread, name, plain(ops));
    let ms = |ms| Op::Until(Nanos::from_ms(ms));
    let observed = run(&plain(vec![
        named("naps", vec![forever(vec![nap])]),
        named("works", vec![forever(vec![Op::Work(Nanos::from_ms(1))])]),
        named("waits", vec![ms(250), Op::Yield, ms(600_000)]),
        named("ends", vec![Op::Yield]),
        ms(100),
        Op::Phase,
        ms(200),
        Op::Phase,
        named("comes", vec![ms(600_000)]),
        ms(300),
    ]));
    let director = &observed.threads[0];
    assert_eq!(director.sections.len(), 3);
    // A phase begins when it was to, and a section with it.
    let lengths = || director.sections.iter().map(|s| s.cpu.elapsed);
    let ends: Vec<Nanos> = lengths()
        .scan(director.began, |end, length| {
            *end += length;
            Some(*end)
        })
        .collect();
    assert_eq!(ends[..2], [100, 200].map(Nanos::from_ms));
    for thread in &observed.threads[1..4] {
        let sections = &thread.sections;
        assert_eq!((thread.first_phase, sections.len()), (0, 3), "{thread:?}");
        let middle = sections[1].cpu;
        assert_eq!(middle.elapsed, director.sections[1].cpu.elapsed);
        // It had no more CPU time than there was.
        assert!(middle.thread <= Some(middle.elapsed), "{thread:?}");
        for sample in sections.iter().flat_map(|section| &section.samples) {
            assert_eq!(thread.name, "naps", "{sample:?}");
        }
    }
    assert_eq!(observed.threads[4].sections.len(), 1);
    let comes = &observed.threads[5];
    assert_eq!((comes.first_phase, comes.sections.len()), (2, 1));
    assert!(comes.began >= Nanos::from_ms(200));
    // Where the computer is counted, it is in each phase.
    assert!([0, 3].contains(&observed.computer.len()));
    for used in &observed.computer {
        assert!(used.cpus > 0 && !used.elapsed.is_zero(), "{used:?}");
    }
}

/// The thread shares a CPU with the one that begins the phases, so it has CPU time in each.
#[test]
fn long_work_is_of_the_phases_in_which_it_was_done() {
    let pin = punctual_lab::host::usual_cpu().map(Op::Pin);
    let works = pin
        .clone()
        .into_iter()
        .chain([Op::Work(Nanos::from_secs(600))]);
    let works = Op::spawn(SpawnKind::Thread, "works", plain(works.collect()));
    let work = || Op::Work(Nanos::from_ms(40));
    let phases = [work(), Op::Phase, work(), Op::Phase, work()];
    let director = [works].into_iter().chain(pin).chain(phases);
    let observed = run(&plain(director.collect()));
    let sections = observed.threads[1].sections.iter();
    let spent: Vec<_> = sections.map(|section| section.cpu.thread).collect();
    assert_eq!(spent.len(), 3);
    assert!(!spent.contains(&Some(Nanos::ZERO)), "{spent:?}");
    // The work of the other thread is not counted. Some OSes count CPU time in long steps.
    for section in &observed.threads[0].sections {
        let done = section.cpu.thread.filter(|_| cfg!(target_os = "linux"));
        assert!(
            done.is_none_or(|done| done >= Nanos::from_ms(36)),
            "{section:?}"
        );
    }
}

#[test]
fn each_record_begins_a_section() {
    let program = system(vec![
        wait(Nanos::from_us(100)),
        Op::Record,
        times(3, vec![wait(Nanos::from_us(100))]),
        Op::Record,
        Op::Record,
        Op::nap(Method::Timer, Nanos::from_us(100)),
    ]);
    let sections = &run(&program).threads[0].sections;
    let counts: Vec<_> = sections.iter().map(|s| s.samples.len()).collect();
    assert_eq!(counts, [1, 3, 0, 1]);
    for section in sections {
        assert!(
            section
                .samples
                .iter()
                .is_sorted_by_key(|sample| sample.woke)
        );
        let last = section
            .samples
            .iter()
            .last()
            .map_or(Nanos::ZERO, |s| s.woke);
        assert!(section.cpu.elapsed >= last, "{section:?}");
    }
}

#[test]
fn the_books_of_a_wait_add_up() {
    for spec in StrategySpec::ALL {
        let program = with(
            Subject::Strategy(spec),
            vec![times(4, vec![wait(Nanos::from_us(700))])],
        );
        for sample in samples(&run(&program).threads[0]) {
            let Sample { asked, outcome, .. } = sample;
            let late = Nanos::new(outcome.late.as_ns().unsigned_abs());
            assert_eq!(asked, Nanos::from_us(700));
            // The wait's last reading is not the one its lateness is from.
            assert!(outcome.slept + outcome.spun <= asked + late, "{spec}");
        }
    }
}

#[test]
fn missed_cycles_are_skipped_and_counted() {
    let period = Nanos::from_ms(1);
    let next_cycle = Op::wait(Due::NextCycle);
    let program = system(vec![
        Op::Pace(Rate::from_period(period).unwrap()),
        // Wine counts CPU time in steps of 10 ms, so less could be no work.
        times(100, vec![next_cycle, Op::Work(Nanos::from_ms(25))]),
    ]);
    let samples = samples(&run(&program).threads[0]);
    // Each missed cycle uses up a pass.
    let missed: u64 = samples[..samples.len() - 1].iter().map(|s| s.missed).sum();
    assert!(samples.len() >= 2 && missed + (samples.len() as u64) <= 100);
    let deadline = |s: &Sample| s.woke.as_ns() - s.outcome.late.as_ns().unsigned_abs();
    for pair in samples.windows(2) {
        assert!(pair[1].missed >= 1, "{pair:?}");
        assert_eq!(
            deadline(&pair[1]) - deadline(&pair[0]),
            (pair[1].missed + 1) * period.as_ns(),
            "{pair:?}"
        );
    }
}

/// A user who may not is told so by a count; the rest of the program runs.
#[test]
fn what_the_os_does_not_let_this_user_do_is_counted() {
    let highest = Op::Set(Setting::Priority(Priority::RealTime));
    let after = Op::nap(Method::Sleep, Nanos::ZERO);
    let program = plain(vec![highest, after]);
    if host().check(&program).is_err() {
        return;
    }
    let observed = run(&program);
    let section = &observed.threads[0].sections[0];
    assert_eq!(section.samples.len(), 1);
    assert!(section.denied <= 1);
}

#[test]
fn a_reading_is_in_the_books() {
    let cost = Probe::Cost(if cfg!(windows) {
        OsClock::PerformanceCounter
    } else if cfg!(target_os = "macos") {
        OsClock::MachAbsoluteTime
    } else {
        OsClock::Monotonic
    });
    let program = plain(vec![
        Op::Read(cost),
        Op::Record,
        times(2, vec![Op::Read(cost)]),
    ]);
    let observed = run(&program);
    let sections = &observed.threads[0].sections;
    let counts: Vec<_> = sections.iter().map(|s| s.readings.len()).collect();
    assert_eq!(counts, [1, 2]);
    assert_eq!(sections[0].readings[0].probe, cost);
}
