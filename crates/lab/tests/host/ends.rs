//! How experiments end: by themselves, by the user, by a failure.

use super::*;

/// A wait of ten minutes does not outlive the experiment, whatever it is made
/// of, nor leave a sample.
#[test]
fn the_end_of_the_experiment_ends_every_wait_without_a_sample() {
    let length = Nanos::from_secs(600);
    let waits = StrategySpec::ALL.map(|spec| with(Subject::Strategy(spec), vec![wait(length)]));
    let block = plain(vec![Op::nap(Method::Sleep, length)]);
    let others = waits
        .into_iter()
        .chain([block, plain(vec![Op::Until(length)])]);
    let mut ops: Vec<_> = others.map(spawn).collect();
    ops.push(Op::Until(Nanos::from_ms(50)));
    let observed = run(&plain(ops));
    assert_eq!(observed.threads.len(), 3 + StrategySpec::ALL.len());
    for thread in &observed.threads {
        assert_eq!(samples(thread), [], "{thread:?}");
    }
}

#[test]
fn a_stop_before_the_start_leaves_nothing_observed() {
    let stop = Stop::new();
    stop.request();
    let program = system(vec![forever(vec![wait(Nanos::from_ms(1))])]);
    let observed = HostMachine::new(stop).run(&program).unwrap();
    assert!(observed.interrupted);
    assert_eq!(samples(&observed.threads[0]), []);
}

#[test]
fn a_stop_ends_an_endless_program_and_keeps_what_it_observed() {
    static STOP: OnceLock<Stop> = OnceLock::new();
    let stop = STOP.get_or_init(Stop::new).clone();
    // The third wait is the user who has seen enough.
    let mut machine = HostMachine::new(stop).with_peer("user", || {
        let mut waits = 0;
        Box::new(move |_| {
            waits += 1;
            if waits == 3 {
                STOP.wait().request();
            }
        })
    });
    let hog = plain(vec![forever(vec![Op::Work(Nanos::from_ms(1))])]);
    let program = with(
        peer("user"),
        vec![spawn(hog), forever(vec![wait(Nanos::ZERO)])],
    );
    let observed = machine.run(&program).unwrap();
    assert!(observed.interrupted);
    assert_eq!(samples(&observed.threads[0]).len(), 3);
    assert_eq!(observed.threads.len(), 2);
}

#[test]
fn a_stop_ends_what_waits_for_an_event() {
    static STOP: OnceLock<Stop> = OnceLock::new();
    let stop = STOP.get_or_init(Stop::new).clone();
    let mut machine =
        HostMachine::new(stop).with_peer("user", || Box::new(|_| STOP.wait().request()));
    let user = with(peer("user"), vec![wait(Nanos::ZERO)]);
    let hour = Due::After(Nanos::from_secs(3_600));
    let never = Op::Wait {
        with: 0,
        due: hour,
        or: Some(Event(1)),
    };
    for last in [never, Op::Await(Event(1))] {
        let observed = machine
            .run(&system(vec![spawn(user.clone()), last]))
            .unwrap();
        assert!(observed.interrupted);
    }
}

#[test]
fn exit_ends_a_program_in_the_middle() {
    let program = system(vec![forever(vec![wait(Nanos::ZERO), Op::Exit])]);
    let observed = run(&program);
    assert_eq!(samples(&observed.threads[0]).len(), 1);
    assert!(!observed.interrupted);
}

#[test]
fn all_threads_end_when_the_first_one_does() {
    let hog = plain(vec![forever(vec![Op::Work(Nanos::from_ms(1))])]);
    let examined = plain(vec![Op::Await(Event(9)), forever(vec![Op::Yield])]);
    let waiter = system(vec![Op::Wait {
        with: 0,
        due: Due::After(Nanos::from_secs(600)),
        or: Some(Event(10)),
    }]);
    let program = system(vec![
        spawn(hog.clone()),
        spawn(hog),
        spawn(examined),
        spawn(waiter),
        times(3, vec![wait(Nanos::from_ms(1))]),
    ]);
    let observed = run(&program);
    assert_eq!(observed.threads.len(), 5);
    assert_eq!(samples(&observed.threads[0]).len(), 3);
    assert!(!observed.interrupted);
}

/// The child process answers, but not with observations; nothing else would end the first thread.
#[test]
fn a_process_that_fails_ends_the_experiment() {
    let tests = std::env::current_exe().unwrap();
    let lists_them = ProcessCommand::new(tests, ["--list".into()]);
    let process = Op::spawn(SpawnKind::Process, "lister", plain(vec![]));
    let never = Op::Await(Event(1));
    let mut machine = host().with_processes(lists_them);
    let why = machine.run(&plain(vec![process, never])).unwrap_err();
    let why = why.to_string();
    assert!(
        why.contains("`lister` did not say what it observed"),
        "{why}"
    );
}

/// As `systemctl stop` does to a process that just starts. (Ctrl-C counts the same,
/// but whatever a script puts into the background ignores it.)
#[cfg(unix)]
#[test]
fn a_process_that_is_told_to_end_before_it_listens_ends_the_experiment_as_the_user_does() {
    let dies = ProcessCommand::new("sh", ["-c", "kill -TERM $$"].map(Into::into));
    let process = Op::spawn(SpawnKind::Process, "dies", plain(vec![]));
    let mut machine = host().with_processes(dies);
    let never = Op::Await(Event(1));
    let observed = machine.run(&plain(vec![process, never])).unwrap();
    assert!(observed.interrupted);
    assert_eq!(observed.threads.len(), 1);
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_thread_that_panics_ends_the_experiment() {
    let peer = with(peer("broken"), vec![wait(Nanos::from_us(1))]);
    let never = Op::Await(Event(1));
    let program = plain(vec![spawn(peer), never]);
    let mut machine = host().with_peer("broken", || Box::new(|_| panic!("it is broken")));
    let _ = machine.run(&program);
}
