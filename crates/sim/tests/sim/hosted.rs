//! Threads whose operations come from outside, one by one.

use punctual_core::{Limit, Method, Nanos};
use punctual_program::program::Op;
use punctual_program::{Machine, Program};
use punctual_sim::{Doing, Hosted, Model, SimMachine};

const MS: Nanos = Nanos::from_ms(1);

fn hosted(model: &str) -> Hosted {
    Hosted::new(Model::parse(model).unwrap(), 7)
}

/// Does something with the thread whose turn it is, and lets things happen.
fn does(computer: &mut Hosted, id: usize, what: Doing) -> usize {
    computer.does(id, what);
    computer.turn().unwrap()
}

#[test]
fn code_from_outside_meets_what_a_program_meets() {
    let block = Op::nap(Method::Sleep, MS);
    let program = Program::from(vec![Op::repeat(200, [block])]);
    for model in ["windows-7", "windows-11", "linux", "linux,cpus=1", "macos"] {
        let mut machine = SimMachine::new(Model::parse(model).unwrap(), 7);
        let observed = machine.run(&program).unwrap();
        let samples = &observed.threads[0].sections[0].samples;
        let expected: Vec<_> = samples.iter().map(|sample| sample.outcome.slept).collect();

        let mut computer = hosted(model);
        let id = computer.turn().unwrap();
        let mut slept = vec![];
        for _ in 0..200 {
            does(&mut computer, id, Doing::Read);
            let begin = computer.now();
            does(
                &mut computer,
                id,
                Doing::Block(Method::Sleep, Limit::For(MS)),
            );
            does(&mut computer, id, Doing::Read);
            slept.push(computer.now().since(begin));
        }
        assert_eq!(slept, expected, "{model}");
    }
}

#[test]
fn one_that_is_notified_ends_its_block_and_no_other() {
    let mut computer = hosted("linux,cpus=2");
    let first = computer.turn().unwrap();
    // No thread blocks: nothing is remembered.
    computer.notify(first);
    let second = computer.spawn("second");
    let long = Doing::Block(Method::Sleep, Limit::For(Nanos::from_secs(9)));
    let began = computer.now();
    assert_eq!(does(&mut computer, first, long), second);
    computer.notify(first);
    assert_eq!(does(&mut computer, second, Doing::Work(MS)), first);
    assert!(computer.now().since(began) < MS);
    // A spin too.
    let spin = Doing::Spin(computer.now() + Nanos::from_secs(9));
    assert_eq!(does(&mut computer, first, spin), second);
    computer.notify(first);
    assert_eq!(does(&mut computer, second, Doing::Work(MS)), first);
    assert!(computer.now().since(began) < MS.times(3));
}

#[test]
fn work_contends_for_cpus() {
    for (hogs, least, most) in [(0, 100, 101), (1, 180, 220), (3, 350, 450)] {
        let mut computer = hosted("linux,cpus=1");
        let id = computer.turn().unwrap();
        for _ in 0..hogs {
            computer.spawn_hog();
        }
        let began = computer.now();
        let used = computer.cpu_time(id);
        does(&mut computer, id, Doing::Work(MS.times(100)));
        let took = computer.now().since(began);
        assert!(
            MS.times(least) <= took && took <= MS.times(most),
            "{took:?}"
        );
        assert_eq!(computer.cpu_time(id) - used, MS.times(100));
    }
}

#[test]
fn threads_wait_for_each_others_ends_and_a_ring_of_them_is_found() {
    let mut computer = hosted("linux");
    let first = computer.turn().unwrap();
    let second = computer.spawn("second");
    assert_eq!(does(&mut computer, first, Doing::Join(second)), second);
    assert_eq!(does(&mut computer, second, Doing::Exit), first);
    assert!(computer.has_ended(second));
    // An ended thread is not waited for.
    assert_eq!(does(&mut computer, first, Doing::Join(second)), first);

    computer.spawn_hog();
    let third = computer.spawn("third");
    assert_eq!(does(&mut computer, first, Doing::Join(third)), third);
    computer.does(third, Doing::Join(first));
    let refused = computer.turn().unwrap_err();
    assert!(refused.to_string().contains("deadlock"), "{refused}");
}
