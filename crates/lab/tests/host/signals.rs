//! Signals that end the naps of a thread, from a thread of the same program.

use super::*;
use std::process::Command;

static STOP: Mutex<Option<Stop>> = Mutex::new(None);
static SLEEPER: Mutex<String> = Mutex::new(String::new());

/// Notes the number of the thread it runs on.
fn note() -> Box<dyn FnMut(Instant)> {
    Box::new(|_| {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        let number = link.file_name().unwrap().to_str().unwrap();
        number.clone_into(&mut SLEEPER.lock().unwrap());
    })
}

/// Sends 20 signals to that thread, which a signal to a thread's number
/// reaches first on Linux, over several of its naps, then ends the experiment.
fn disturb() -> Box<dyn FnMut(Instant)> {
    Box::new(|_| {
        let thread = SLEEPER.lock().unwrap().clone();
        for _ in 0..20 {
            let kill = Command::new("kill").args(["-INT", &thread]).status();
            assert!(kill.unwrap().success());
            std::thread::sleep(Duration::from_millis(5));
        }
        STOP.lock().unwrap().take().unwrap().request();
    })
}

/// The thread is nearly always in a nap of 20 ms, so of 20 signals some end
/// one early; the strategy then sleeps for the rest.
#[test]
fn a_signal_ends_a_nap_but_not_the_wait() {
    punctual_os::signals::on_ask(|_| ()).unwrap();
    let disturbed = |method| {
        let stop = Stop::new();
        *STOP.lock().unwrap() = Some(stop.clone());
        let mut machine = HostMachine::new(stop)
            .with_peer("note", note)
            .with_peer("disturb", disturb);
        let program = Program {
            subjects: vec![
                peer("note"),
                Subject::Strategy(StrategySpec::System { method }),
            ],
            ops: vec![
                wait(Nanos::ZERO),
                spawn(with(peer("disturb"), vec![wait(Nanos::ZERO)])),
                Op::Record,
                forever(vec![Op::Wait {
                    with: 1,
                    due: Due::After(Nanos::from_ms(20)),
                    or: None,
                }]),
            ],
        };
        let observed = machine.run(&program).unwrap();
        let samples = observed.threads[0].sections[1].samples.clone();
        for sample in &samples {
            assert!(!sample.outcome.late.is_early(), "{method}: {sample:?}");
        }
        let naps: usize = samples.iter().map(|s| s.outcome.naps as usize).sum();
        naps - samples.len()
    };
    assert!(disturbed(Method::ClockNanosleep) > 0);
    // The kernel goes on with a read after these handlers.
    assert_eq!(disturbed(Method::Timerfd), 0);
}
