//! The operations that this computer refuses.

use super::*;

fn refusal(program: &Program) -> String {
    let refused = |refusal: Refusal| refusal.to_string();
    let checked = host().check(program).map_err(refused).unwrap_err();
    let run = host().run(program).map_err(refused).unwrap_err();
    assert_eq!(checked, run);
    assert!(!run.contains('\n'), "{run}");
    run
}

#[test]
fn what_this_host_cannot_do_it_refuses_by_name() {
    let foreign = if cfg!(windows) {
        Method::Timerfd
    } else {
        Method::WindowsSleep
    };
    let foreign_clock = if cfg!(windows) {
        OsClock::Boottime
    } else {
        OsClock::GetTickCount
    };
    let no_cpu = format!("no CPU {}", usize::MAX);
    let process = Op::spawn(SpawnKind::Process, "", plain(vec![]));
    let block = Op::nap(foreign, Nanos::ZERO);
    for (op, says) in [
        (Op::Pin(usize::MAX), no_cpu.as_str()),
        (Op::Set(Setting::Power(Power::Battery)), "`power`"),
        (
            Op::Set(Setting::Request {
                interval: Nanos::from_ms(1),
                on_battery: None,
                by: Requester::Driver,
            }),
            "driver",
        ),
        (Op::Read(Probe::Stated(foreign_clock)), foreign_clock.name()),
        (process, "processes"),
        (block, foreign.name()),
    ] {
        for program in [
            plain(vec![op.clone()]),
            plain(vec![Op::Exit, times(2, vec![op.clone()])]),
            plain(vec![spawn(plain(vec![op.clone()]))]),
        ] {
            let refusal = refusal(&program);
            assert!(refusal.contains(says), "{op:?}: {refusal}");
        }
    }
    let unknown = with(peer("nobody"), vec![]);
    assert!(refusal(&unknown).contains("`nobody`"));
    let strategy = with(
        Subject::Strategy(StrategySpec::System { method: foreign }),
        vec![],
    );
    assert!(refusal(&strategy).contains(foreign.name()));
    assert!(refusal(&plain(vec![wait(Nanos::ZERO)])).contains("subject 0"));
}

#[test]
fn only_linux_has_a_slack_to_set() {
    let program = plain(vec![Op::Set(Setting::Slack(Nanos::new(1)))]);
    if cfg!(target_os = "linux") {
        assert_eq!(run(&program).threads.len(), 1);
    } else {
        assert!(refusal(&program).contains("timer slack"));
    }
}

#[test]
fn nothing_runs_of_a_program_that_is_refused() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut machine = host().with_peer("counter", || {
        CALLS.fetch_add(1, Ordering::SeqCst);
        Box::new(|_| ())
    });
    let program = with(
        peer("counter"),
        vec![wait(Nanos::ZERO), Op::Pin(usize::MAX)],
    );
    machine.run(&program).unwrap_err();
    assert_eq!(CALLS.load(Ordering::SeqCst), 0);
}
